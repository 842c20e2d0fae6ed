"""What a memory knows of past conversations: sessions and turns as they were, recalled four ways."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from memorybook._light import Mapping, Sequence, date
    from memorybook.exchange.backup import Backup, Restored
    from memorybook.exchange.collect import Collected
    from memorybook.exchange.export import Export
    from memorybook.memory import Memory
    from memorybook.protocols import Progress
    from memorybook.results import Memorized
    from memorybook.sessions.detect import Recall
    from memorybook.sessions.ingest import Ingested
    from memorybook.sessions.recall_types import Held, Recollection, Talks


class Conversations:
    """The part of `Memory` that looks back at what was said."""

    _came_with: int | None = None

    @property
    def _talks(self) -> Memory:
        """This memory, as all of it."""
        return cast("Memory", self)

    def sessions(
        self, *, limit: int | None = 20, since: str | date | None = None, until: str | date | None = None
    ) -> Talks:
        """Sessions, newest first, those that are still open included.

        Args:
            limit: At most this many, at least 1; None takes all.
            since, until: Only those that were talked in within these days, inclusive; `YYYY-MM-DD`, a date, or words
                such as "last week" and 上周, from their first to their last day.

        Raises:
            InvalidInput: A limit below 1, or days that cannot be used.
        """
        from memorybook.sessions import recalls

        return recalls.sessions(self._talks._there, limit=limit, since=since, until=until)

    def recall_history(
        self,
        limit: int | None = None,
        *,
        since: str | date | None = None,
        until: str | date | None = None,
        current: str | None = None,
        max_tokens: int | None = None,
    ) -> Recollection:
        """The newest sessions with their summaries: what was talked about lately.

        Args:
            limit: At most this many sessions, 1..200; None takes the setting `recall.max_search_results`, 5.
            since, until: As for `sessions`.
            current: The current session, by uuid or name, which is left out.
            max_tokens: Size of the block for a prompt, at least 1; None takes 2,000.

        Raises:
            InvalidInput: A value out of range.
        """
        from memorybook.sessions import recalls

        return recalls.recall_history(
            self._talks._there, limit, since=since, until=until, current=current, max_tokens=max_tokens
        )

    def recall_topic(
        self,
        query: str,
        *,
        top: int | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        current: str | None = None,
        max_tokens: int | None = None,
    ) -> Recollection:
        """The sessions that were about something, with the turns that say so; by words and vectors.

        Args:
            query: A question or some words, in any language. Days that it names narrow the search, unless nothing
                about it was said then.
            top: At most this many sessions, and this many turns, 1..200; None takes the setting
                `recall.max_search_results`, 5.
            since, until: Only what was said within these days, inclusive; given, the question's own days do not count.
            current: The current session, by uuid or name, which is left out.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: A blank query or a value out of range.
        """
        from memorybook.sessions import recalls

        return recalls.recall_topic(
            self._talks._there, query, top=top, since=since, until=until, current=current, max_tokens=max_tokens
        )

    def recall_session(
        self, which: str, *, limit: int | None = None, current: str | None = None, max_tokens: int | None = None
    ) -> Recollection:
        """One session: its summary and its turns in order.

        Args:
            which: Its uuid, the beginning of one, its name, a day, words of time and order in English or Chinese ("last
                time", 上次, "last Tuesday", "the first session"), or its title or how that begins.
            limit: At most this many turns, the last ones, at least 1; None takes all.
            current: The current session, by uuid or name, which words of time and order do not mean.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: Blank words or a limit below 1.
            NotFound: No session is called so, or there is none of that time.
            Conflict: Several sessions are called so.
        """
        from memorybook.sessions import recalls

        return recalls.recall_session(self._talks._there, which, limit=limit, current=current, max_tokens=max_tokens)

    def recall_within(
        self, session: str, query: str, *, top: int | None = None, max_tokens: int | None = None
    ) -> Recollection:
        """The turns of one session that are about something, best first; by words and vectors.

        Args:
            session: Uuid or name, or words as for `recall_session`.
            query: A question or some words, in any language.
            top: At most this many turns, 1..200; None takes the setting `recall.max_search_results`, 5.
            max_tokens: As for `recall_history`.

        Raises:
            As `recall_topic` and `recall_session`.
        """
        from memorybook.sessions import recalls

        return recalls.recall_within(self._talks._there, session, query, top=top, max_tokens=max_tokens)

    def detect(self, text: str) -> Recall | None:
        """Which recall a text asks for, by the settings' keywords and the built-in rules; None if it asks for none."""
        from memorybook.sessions import recalls

        return recalls.detect(self._talks, text)

    def recollect(self, text: str, *, current: str | None = None, max_tokens: int | None = None) -> Recollection | None:
        """What a text asks to be recalled, see `detect`; None if it asks for nothing.

        With the setting `recall.similarity_threshold` above 0 also what is like a text that asks for nothing.

        Args:
            text: What the user just said.
            current: The current session, by uuid or name: it is searched where the text asks about this very talk, and
                left out otherwise.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: `max_tokens` is below 1.
        """
        from memorybook.sessions import recalls

        return recalls.recollect(self._talks._there, text, current=current, max_tokens=max_tokens)

    # --- sessions that are held from outside -----------------------------------------------------

    def open_session(self, name: str = "") -> Held:
        """Open a session, or go on with one of that name that is open; nobody's until something is said in it.

        Several may be open at a time. One that is not ended is remembered and closed by `close_idle`.

        Raises:
            Conflict: The name is that of a session that is over or somebody else's, or of several.
            Unavailable: Sessions are not kept.
        """
        from memorybook.sessions import live_sessions

        return live_sessions.open_session(self._talks._on, name)

    def add_messages(self, session: str, messages: Sequence[Mapping[str, Any]]) -> Held:
        """Store messages at the end of an open session, on disk on return; secrets are masked.

        Args:
            session: Its uuid or name.
            messages: `{"role"|"speaker", "content", "id", "timestamp", …}` in order. One whose id the session has
                already is left as it was, so that giving messages with ids again is safe.

        Raises:
            NotFound: No session is called so.
            Conflict: It is over, or somebody else's.
            InvalidInput: A message that cannot be read.
        """
        from memorybook.sessions import live_sessions

        return live_sessions.add_messages(self._talks._on, session, messages)

    def end_session(self, session: str, messages: Sequence[Mapping[str, Any]] = ()) -> Memorized:
        """Remember what was said in an open session, as `process_session_end` does, and close it.

        Args:
            session: Its uuid or name.
            messages: What was said last and is not stored yet, as for `add_messages`.

        Raises:
            As `add_messages`.
        """
        from memorybook.sessions import live_sessions

        return live_sessions.end_session(self._talks._on, session, messages)

    def close_idle(self, *, limit: int | None = None) -> tuple[Memorized, ...]:
        """Remember and close sessions of agents and chats in which nothing was said for longer than `idle_timeout`.

        So those that a killed process left open, and those of agent hosts, whose reports are taken in first, see
        `ingest`. The command line does it by itself after most commands.

        Args:
            limit: At most this many, the oldest first; None takes all.

        Returns:
            What each of them brought, or that it waits in the queue.
        """
        from memorybook.sessions import idle_sessions

        return idle_sessions.close_idle(self._talks._on, limit=limit)

    def ingest(self, *, limit: int | None = None) -> Ingested:
        """Take in what agent hosts reported through their hooks: sessions captured, memorized once they end.

        What cannot be taken in is set aside, and `status` says so. What another process takes in at this moment is
        left to it.

        Args:
            limit: Of at most this many sessions, the oldest report first; None takes all.
        """
        from memorybook.sessions import ingest

        return ingest.ingest(self._talks._on, limit=limit)

    # --- taking them along ---------------------------------------------------------------------

    def export(
        self, path: str | None = None, *, session: str | None = None, progress: Progress | None = None
    ) -> Export:
        """Write the sessions with their chats into one JSON document, which an export of before grows by.

        What the file has and the book has not stays in it, but for what was forgotten.

        Args:
            path: The file; `-` writes to standard output; None takes the setting `transcripts.export_path`, or the
                book's own place.
            session: Of the sessions that the file does not have yet, only this one, by uuid or name; None takes all.
            progress: Called with (sessions done, sessions in all).

        Raises:
            NotFound: There is no book, no such session, or no folder for the file.
            InvalidInput: The file holds something else than exported sessions.
            Unavailable: The disk refuses; the file is as it was.
        """
        from memorybook.exchange import export

        return export.export(self._talks._on, path, session=session, progress=progress)

    def backup(self, path: str, *, progress: Progress | None = None) -> Backup:
        """Write the whole book into one archive: documents, turns and journal, at one moment, each file with a digest.

        Others may go on to write: every line that was acknowledged before the call is in it. The index is left out.

        Args:
            path: The archive, `….tar.gz`; a backup that stands there is replaced once the new one is whole.
            progress: Called with (bytes packed, bytes in all).

        Raises:
            NotFound: There is no book, or no folder for the archive.
            InvalidInput: Something else than a backup stands there.
            Unavailable: The disk refuses, or another writer holds the book for too long.
        """
        from memorybook.exchange import backup

        return backup.backup(self._talks._on, path, progress=progress)

    def restore(
        self, path: str, *, into: str | None = None, replace: bool = False, progress: Progress | None = None
    ) -> Restored:
        """Put the book of an archive into an empty folder; it is there whole or not at all.

        Args:
            path: An archive that `backup` made.
            into: The folder; None takes this book's own.
            replace: Whether a book that stands there gives way; it is kept beside.
            progress: Called with (bytes written, bytes in all).

        Raises:
            NotFound: There is no such archive.
            InvalidInput: It is none, damaged, or has paths that no book has.
            Conflict: The folder is not empty.
            Unavailable: The disk refuses.
        """
        from memorybook.exchange import backup

        return backup.restore(self._talks._on, path, into=into, replace=replace, progress=progress)

    def sync_summaries(
        self,
        sources: str | Sequence[str] = (),
        *,
        to: str | None = None,
        sessions: Sequence[str] | None = None,
        group: str | None = None,
        node: str | None = None,
        dry_run: bool = False,
    ) -> Collected:
        """Take in what other machines wrote of their sessions, under their names; hand out what this book has.

        Masked, screened and without what was forgotten here, in one operation; a run that finds nothing new writes
        nothing. Their folders are only read. What a person edited here stays, what is gone there stays too.

        Args:
            sources: Folders, `DIR` or `NAME=DIR`: another machine's book, what it handed out, or a folder that machines
                share. The name is theirs here; without one the folder says it.
            to: A folder that machines share: this book's own summaries are handed out into `to/NODE`.
            sessions: Names or uuids of the sessions whose summaries are handed out, `()` for none; None takes all. What
                was handed out before and is not among them goes from there.
            group: Entries of this group and of those below it are collected and handed out too.
            node: The name of this machine; None takes the host's. Several books of one host need names of their own.
            dry_run: Only say what would happen.

        Raises:
            InvalidInput: Neither sources nor `to`, or one that cannot be used.
            NotFound: None of the folders is there.
            Conflict: Another book hands out under this name.
            BookLocked: Another process collected into this book all the while.
        """
        from memorybook.exchange import collect

        given = (sources,) if isinstance(sources, str) else sources
        return collect.sync_summaries(
            self._talks._on, given, to=to, sessions=sessions, group=group, node=node, dry_run=dry_run
        )

    def _begin(self) -> None:
        """Note what is there, for an export on exit of what comes."""
        if self._talks.config.transcripts.export_on_exit and self._talks.config.enabled:
            from memorybook.exchange import export

            self._came_with = export.revision(self._talks)

    def _end(self) -> None:
        """Export on exit, if anything came."""
        if self._came_with is not None:
            from memorybook.exchange import export

            before, self._came_with = self._came_with, None
            export.on_exit(self._talks, before)
