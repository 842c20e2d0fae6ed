"""Memory, the public face: every verb a method, a docstring and one call. `open` wires the parts together."""

from __future__ import annotations

import os

from memorybook import validate as given
from memorybook._light import (
    TYPE_CHECKING,
    UTC,
    Any,
    Callable,
    Literal,
    Mapping,
    Sequence,
    date,
    datetime,
    tzinfo,
)  # fmt: skip
from memorybook.book.book import Book, closed
from memorybook.config.project import book_of_layer, copied, keep, layer_of, locate
from memorybook.config.settings import LayerSettings, StorageSettings
from memorybook.context import Context, Models
from memorybook.errors import MissingDocument, NotFound
from memorybook.search.types import Answer, Query

if TYPE_CHECKING:
    import threading

    from memorybook import results
    from memorybook.config.settings import Config
    from memorybook.entries.background_tasks import Finished, Keeper, Running
    from memorybook.entries.documents import WrittenDocument
    from memorybook.entries.remember import Revised
    from memorybook.entries.review import Review, Reviewed
    from memorybook.entries.store_task import Log, Stored
    from memorybook.entries.tidy import Tidied
    from memorybook.exchange.collect import Collected
    from memorybook.exchange.export import Backup, Export, Restored
    from memorybook.formats.document import Document, DocumentInfo
    from memorybook.model import CategoryName, Importance, State, Trust
    from memorybook.prompt.inject import Injected
    from memorybook.protocols import LLM, Embedder, Function, Index, Progress, Storage
    from memorybook.results import Memorized
    from memorybook.search.search import Reranker
    from memorybook.sessions.detect import Recall
    from memorybook.sessions.ingest import Ingested
    from memorybook.sessions.recall_block import Held, Recollection, Talks


@given.check_arguments
class Memory:
    """One open memory: remember, find and keep up a book.

    Made by `open`. Safe to share between threads; use it as a context manager or `close` it.

    Attributes:
        context: What verbs work on; for adapters and doors.
        keeper: Stores finished tasks in the background; None before the first.
    """

    def __init__(self, context: Context) -> None:
        self.context = context
        self.keeper: Keeper | None = None
        self._came_with: int | None = None
        if self.config.transcripts.export_on_exit and self.config.enabled:
            from memorybook.exchange import export

            self._came_with = export.revision(context)

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def book(self) -> Book:
        """The open book."""
        return self.context.book

    @property
    def config(self) -> Config:
        """The settings."""
        return self.context.config

    @property
    def root(self) -> str:
        """Directory of the book."""
        return self.context.root

    @property
    def llm(self) -> LLM | None:
        """The language model: the one given to `open`, else the configured one; None if there is none.

        Raises:
            ConfigError: The settings of `llm` cannot be used.
            MissingExtra: The model needs a package that is not installed.
        """
        return self.context.models.get(self.config)

    def seen_by(self, *, door: str, actor: Trust, missing_ok: bool = False) -> Memory:
        """Return the same memory for another caller; it stays its opener's to close."""
        return self._with(self.context._replace(door=door, actor=actor, missing_ok=missing_ok))

    def _with(self, context: Context) -> Memory:
        seen = Memory.__new__(Memory)
        vars(seen).update(vars(self))
        seen.context = context
        return seen

    def close(self) -> None:
        """Store finished tasks, release files and connections; then verbs raise Unavailable, closing does nothing."""
        if self.keeper is not None:
            self.keeper.close()
        if self._came_with is not None:
            from memorybook.exchange import export

            before, self._came_with = self._came_with, None
            export.on_exit(self.context, before)
        project = keep(self.root, self.context.project)
        self.context.models.close()
        layers = tuple(each._replace(book=closed(each.book)) for each in self.context.layers)
        self.context = self.context._replace(book=closed(self.book), project=project, layers=layers)

    @property
    def _on(self) -> Context:
        """The context of a verb that may write. Raises Unavailable while memory is switched off."""
        self.config.check_enabled()
        self.context = self.context._replace(project=keep(self.root, self.context.project))
        return self.context

    @property
    def _there(self) -> Context:
        """The context of a verb that needs a book that is there. Raises NotFound, with the nearest ones."""
        if self.context.absent and not self.context.missing_ok:
            raise NotFound(self.context.absent)
        return self.context

    @property
    def _on_there(self) -> Context:
        """The context of a verb that changes a book that is there. Raises as `_on` and `_there`."""
        _ = self._there
        return self._on

    # --- finding -------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        category: CategoryName | None = None,
        since: str | date | None = None,
        until: str | date | None = None,
        session: str | None = None,
        explain: bool = False,
    ) -> Answer:
        """Find passages and turns, best first, and what is true now before what it replaced.

        Args:
            query: A question or some words, in any language.
            max_results: At most this many, 1..200; None takes the setting.
            min_score: Lowest relevance, 0..1; None takes the setting. Age and score never count here.
            category: Only entries of this category.
            since, until: Only what is dated within these days, inclusive; `YYYY-MM-DD` or a date.
            session: Only this session, by uuid or name.
            explain: Give each hit its `why`: component of the score -> value.

        Raises:
            InvalidInput: A blank query or a value out of range.
            NotFound, Conflict: No session is called so, or several are.
        """
        limit = given.size_of(max_results, self.config.max_results)
        least = given.relevance_of(min_score, self.config.min_score)
        asked = given.query_of(query, limit=limit, category=category, since=since, until=until, session=session)
        if not self._there.config.enabled:
            return self._nothing(least)
        unknown = self._unknown(session) if session else None
        by_words = self.context.door == "cli" and getattr(self.context.embedder, "slow", False)
        answer = self.book.search(asked._replace(meaning=not by_words), limit=limit, min_score=least, explain=explain)
        if by_words and not answer.has_relevant:  # then the embedder is worth the time that it takes to load
            answer = self.book.search(asked, limit=limit, min_score=least, explain=explain)
        if unknown and not answer.hits:
            raise unknown
        if any(hit.passage.state == "superseded" for hit in answer.hits):
            answer = self.book.renewed(asked, answer, limit=limit)
        if self.context.layers and not session:  # a session is of one book
            from memorybook.search.search import read_along

            def search_in(context: Context) -> Callable[[], Answer]:
                return lambda: self._with(context).search(
                    query, max_results=limit, min_score=least, category=category, since=since, until=until,
                    explain=explain,
                )  # fmt: skip

            others = [(each.layer, search_in(each)) for each in self.context.layers]
            return read_along(self.context.layer, answer, others, limit=limit)
        return answer

    def _unknown(self, session: str) -> NotFound | None:
        """Return the error of a session that neither the transcripts nor an entry know. Raises Conflict."""
        try:
            self.book.transcripts.session(session)
        except NotFound as error:
            return None if any(entry.session == session for entry in self.book.entries()) else error
        return None

    def recall_memory(self, query: str, *, max_results: int | None = None) -> Answer:
        """Find archived entries and entries too weak for the prompt; raises InvalidInput as `search` does."""
        limit, least = given.size_of(max_results, self.config.max_results), self.config.min_score
        asked = Query(given.words_of(query), pool=max(200, 2 * limit), sources=frozenset({"entry"}))
        if not self._there.config.enabled:
            return self._nothing(least)
        return self.book.search(asked, limit=limit, min_score=least, keep=self.book.below_prompt)

    def _nothing(self, threshold: float) -> Answer:
        state = {"fresh": True, "backend": "", "checked_files": 0, "pending_vectors": 0, "degraded": []}
        return Answer((), False, threshold, 0, "", self.root, state, disabled=True)

    def get(
        self, target: str, *, start: int = 1, lines: int | None = None
    ) -> results.Known | results.Lines | results.Said:
        """Open a document by path, an entry by id, or a turn by `turn:ID` (or `turn:SESSION/ID`).

        Args:
            target: What to open; of a document also lines, as they are told anywhere: `PATH#L3-L5` or `PATH:3-5`.
                Of a book that is read along with the layer before it, `team:MEMORY.md`.
            start: First line, from 1; for documents.
            lines: How many lines; None takes all that follow.

        Raises:
            NotFound: There is no such document, entry or turn.
            Conflict: Several sessions have a turn of that id.
            UnsafePath: A path that is not a document of this book.
        """
        from memorybook.entries import read

        layer, colon, rest = target.partition(":") if isinstance(target, str) else ("", "", "")
        if colon and layer == self.context.layer:
            target = rest
        for other in self.context.layers:
            if colon and layer == other.layer:
                return self._with(other).get(rest, start=start, lines=lines)
        try:
            return read.get(self.book, given.text_of(target, "target"), start=start, lines=lines)
        except NotFound:
            _ = self._there
            raise

    def entries(
        self,
        *,
        category: CategoryName | None = None,
        group: str | None = None,
        state: State | None = None,
        limit: int | None = None,
        at: str | date | None = None,
    ) -> results.Listed:
        """List entries, strongest first.

        Args:
            category: Only of this category.
            group: Only of this group and the groups below it.
            state: `active`, `archived` or `superseded`; None takes all.
            limit: At most this many, at least 1; None takes all.
            at: The entries as they were, and as strong, at the end of this day; what was purged since is missing.

        Raises:
            InvalidInput: An unknown category or state, a limit below 1, or no day.
        """
        from memorybook.entries import read

        wanted, book = given.category_of(category) if category else None, self._there.book
        day = given.day_of(at, "at", book.zone)
        return read.entries(book, category=wanted, group=group, state=state, limit=limit, at=day)

    def recall(self, query: str, *, max_tokens: int | None = None) -> results.Recalled:
        """Build the memory block of a prompt, by the setting `provider`; raises InvalidInput for `max_tokens` below 1.

        Args:
            query: What the user just said; if blank, nothing is searched.
            max_tokens: Size of the block, at least 1; None takes 2,000. The page of `flat` is never cut.
        """
        from memorybook.prompt.recall import build

        budget = given.budget_of(max_tokens)
        if self.config.provider == "tiered":  # without the other two, which would cost the command line time
            return build(self._there, query, max_tokens=budget).use()
        from memorybook.providers import open_provider

        return open_provider(self).recalled(query, max_tokens=budget)

    def preview(self, query: str, *, max_tokens: int | None = None) -> results.Preview:
        """Show the block that `recall` builds, line by line, and what it leaves out and why; counts no use.

        Args:
            query: What the user would say next; if blank, nothing is searched.
            max_tokens: Size of the block, at least 1; None takes 2,000.

        Raises:
            InvalidInput: `max_tokens` below 1.
        """
        from memorybook.prompt.inject import preview

        return preview(self._there, query, max_tokens=given.budget_of(max_tokens))

    # --- writing -------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        category: CategoryName = "fact",
        importance: Importance | float = "medium",
        tags: Sequence[str] = (),
        group: str | None = None,
        expires: str | date | None = None,
        metadata: Mapping[str, Any] | None = None,
        session: str | None = None,
    ) -> results.Remembered:
        """Add an entry; the same statement said again strengthens the one that is there.

        A text that says that something changed (`Correction: …`, `no longer`) replaces the entry that it speaks of.
        Where that is a guess, or an agent speaks of a person's words, prompts tell both, the new one first.

        Args:
            text: The statement; secrets in it are masked.
            category: One of `CATEGORIES` or an alias.
            importance: `high`, `medium`, `low`, or a score 0..1.
            tags: Words without spaces around; kept in order.
            group: `work/api`; None leaves it ungrouped.
            expires: Day a todo lapses.
            metadata: JSON object of your own.
            session: Session it belongs to; None for none.

        Raises:
            InvalidInput: Blank or over 20,000 characters, or a value that cannot be used.
        """
        from memorybook.entries import remember

        return remember.remember(
            self._on,
            given.statement_of(text),
            category=given.category_of(category),
            named=category,
            importance=importance,
            tags=given.tags_of(tags),
            group=given.label_of(group, "group") if group else None,
            expires=given.day_of(expires, "expires"),
            metadata=given.metadata_of(metadata) if metadata else {},
            session=session or None,
        )

    def append(
        self, text: str, *, kind: str | None = None, tags: Sequence[str] = (), section: str | None = None
    ) -> results.Appended:
        """Append a note to today's daily file, or, with `section`, a list item under that heading of MEMORY.md.

        The same text again on the same day is left out and reported as duplicate.

        Args:
            text: One note; newlines are folded, secrets masked.
            kind: A short word such as `pref`.
            tags: Words.
            section: Heading of the part of MEMORY.md that people write, made if missing; an agent's item is stamped so.

        Raises:
            InvalidInput: Blank, over 20,000 characters, or a kind or section that cannot be one.
        """
        from memorybook.entries import remember

        heading = None if section is None else given.label_of(given.text_of(section, "section"), "section")
        kind = given.label_of(kind, "kind") if kind else None
        return remember.append(self._on, given.statement_of(text), kind=kind, tags=given.tags_of(tags), section=heading)

    def flush(self, text: str | None = None, *, messages: Sequence[Mapping[str, Any]] | None = None) -> results.Flushed:
        """Save what is durable in a text or a conversation as notes: at most 20 of 500 characters.

        Args:
            text: Free text or Markdown.
            messages: `{"role"|"speaker", "content", …}` in order; give one of the two.

        Raises:
            InvalidInput: Neither or both were given, or a message without content.
        """
        from memorybook.sessions import user_commands

        return user_commands.flush(self._on, text, messages)

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        category: CategoryName | None = None,
        importance: Importance | float | None = None,
        tags: Sequence[str] | None = None,
        group: str | None = None,
        expires: str | date | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> results.Known:
        """Change fields of an entry; None leaves a field as it is, "" clears `group` and `expires`.

        A new text replaces entries that it speaks of, as in `remember`.
        What an agent would take away of a person's entry waits in review: other words, a day to lapse, the strength
        to stay. The answer then holds `proposals`, and the entry as it stands.

        Raises:
            NotFound: No entry has that id.
            InvalidInput: Nothing to change, or a value that cannot be used.
        """
        from memorybook.entries import remember

        return remember.update(
            self._on,
            id,
            text=None if text is None else given.statement_of(text),
            category=given.category_of(category) if category else None,
            named=category or "",
            importance=importance,
            tags=None if tags is None else given.tags_of(tags),
            group=group and given.label_of(group, "group"),
            expires=None if expires is None else given.day_of(expires, "expires") or "",
            metadata=None if metadata is None else given.metadata_of(metadata),
        )

    def pin(self, id: str, *, pinned: bool = True) -> results.Known:
        """Keep an entry from fading, being archived or removed by itself; raises NotFound."""
        from memorybook.entries import remember

        return remember.set_fields(self._on, id, {"pinned": pinned}, reason="pinned" if pinned else "unpinned")

    def unpin(self, id: str) -> results.Known:
        """Let a pinned entry fade again; raises NotFound."""
        return self.pin(id, pinned=False)

    def confirm(self, id: str, *, lasting: bool | None = None) -> results.Known:
        """Say that an entry still holds: confirmed and active from today, and brought back from the archive.

        Args:
            id: Entry id.
            lasting: Whether it needs no confirming from now on, as a birthday; None leaves that as it is.

        Raises:
            NotFound: There is no such entry.
            Conflict: Another entry has replaced it.
        """
        from memorybook.entries import review

        return review.confirm(self._on, id, lasting=lasting)

    # --- what was done -------------------------------------------------------------------------

    def history(
        self,
        id: str | None = None,
        *,
        limit: int | None = 20,
        since: str | date | None = None,
        until: str | date | None = None,
        before: str | None = None,
    ) -> results.History:
        """List the operations on the book, newest first.

        Args:
            id: Only what changed this entry, document (`daily/2026-02-24.md`) or session (`session:UUID`), or this
                one operation; None takes all.
            limit: At most this many operations, at least 1; None takes all.
            since, until: The first and the last day; None leaves them open.
            before: Id of an operation: only older ones; None takes all.

        Raises:
            NotFound: The journal has nothing of it.
            InvalidInput: A limit below 1, or no day.
        """
        from memorybook.entries import history

        return history.history(self._there, id, limit=limit, since=since, until=until, before=before)

    def activity(self, *, until: str | date | None = None, limit: int | None = 60) -> tuple[results.Activity, ...]:
        """Count what each day changed, newest first: learned, said again, replaced, faded, forgotten.

        Args:
            until: The last day; None takes today.
            limit: At most this many days on which something happened, at least 1; None takes all.

        Raises:
            InvalidInput: A limit below 1, or no day.
        """
        from memorybook.entries import history

        return history.activity(self._there, until=until, limit=limit)

    def why(self, id: str) -> results.Why:
        """Explain why an entry is in the book: its evidence, its changes, and the prompts that used it.

        Raises:
            NotFound: Neither the book nor its journal knows the entry.
        """
        from memorybook.entries import history

        return history.why(self._there, id)

    def undo(self, operation: str, *, dry_run: bool = False) -> results.Undone:
        """Undo an operation; undoing an undo restores it.

        Args:
            operation: Its id, see `history`; `MEMORY.md` puts back what another program took away from it.
            dry_run: Only report what would happen.

        Raises:
            NotFound: The journal has no such operation.
            Conflict: It is undone already, was purged, or what it changed was changed since; the message shows both
                versions. Nothing was done.
        """
        from memorybook.entries import history

        return history.undo(self._on, operation, dry_run=dry_run)

    def forget(
        self,
        target: str | None = None,
        *,
        query: str | None = None,
        session: str | None = None,
        source: str | None = None,
        dry_run: bool = False,
    ) -> results.Receipt:
        """Remove something from the book, so that imports do not bring it back.

        Args:
            target: Id of an entry.
            query: All entries and notes about this.
            session: A session, by uuid or name, with its turns, its summary and all that was remembered from it.
            source: A turn (`turn:ID`), a document of the book, another machine (`node:NAME`), or an
                imported file, with all that was remembered from it.
            dry_run: Only report what would be removed.

        Raises:
            NotFound: Nothing has that name.
            InvalidInput: Not exactly one of the four was given.
        """
        from memorybook.forget import forget

        return forget.forget(self._on, target=target, query=query, session=session, source=source, dry_run=dry_run)

    def purge(
        self,
        target: str | None = None,
        *,
        query: str | None = None,
        session: str | None = None,
        source: str | None = None,
        forgotten: bool = False,
        dry_run: bool = False,
    ) -> results.Receipt:
        """Erase something for good: forget it and delete every copy in the book.

        Args:
            target: Id of an entry, also of one that was forgotten.
            query, session, source: As for `forget`.
            forgotten: Everything that was forgotten or removed and not restored.
            dry_run: Only report what would be removed.

        Raises:
            NotFound: Neither the book nor its journal has such a thing.
            InvalidInput: Not exactly one of the five was given.
        """
        from memorybook.forget import forget

        return forget.purge(
            self._on,
            target,
            query=query,
            session=session,
            source=source,
            forgotten=forgotten,
            dry_run=dry_run,
        )

    def process_session_end(
        self,
        messages: Sequence[Mapping[str, Any]] = (),
        session_id: str | None = None,
        *,
        llm: LLM | Function | None = None,
        model: str = "",
    ) -> results.Memorized:
        """Memorize a session, with the language model or, without one, by rules.

        Each turn is memorized once; a session that has grown adds what is new. If the model fails, the turns are stored
        and the session is tried again later, see `retry_parked`; until then only the transcripts have changed.

        Args:
            messages: `{"role"|"speaker", "content", "timestamp", …}` in order, the whole session or its end; none
                takes the stored turns of the session. Turns stored after the last of these are left for later.
            session_id: Its uuid or name; None takes what the messages say, or begin with.
            llm: The model to ask; None takes the memory's own.
            model: Of the configured server, which model to ask instead.

        Raises:
            InvalidInput: No message can be read, or they are of several sessions.
            Conflict: Several sessions are called so.
        """
        from memorybook.sessions import memorize

        return memorize.process_session_end(self._on, messages, session_id, llm=llm, model=model)

    def get_prompt_memories(self, top_k: int = 20) -> tuple[results.Known, ...]:
        """Return the entries of every prompt: active, not lapsed, trusted, strength 0.5 or more; strongest first.

        Raises:
            InvalidInput: `top_k` is below 1.
        """
        from memorybook.prompt import handwritten

        return handwritten.get_prompt_memories(self._there, top_k)

    def get_prompt_memories_text(self, top_k: int = 20) -> str:
        """Return the entries of `get_prompt_memories` as lines for a prompt, fenced as data; "" if there are none.

        Raises:
            InvalidInput: `top_k` is below 1.
        """
        from memorybook.prompt import handwritten

        return handwritten.format_entries(self.context, self.get_prompt_memories(top_k))

    def summarize_existing(self, limit: int = 50) -> str:
        """Return the strongest active entries as one text by category, in the book's language; "" if none.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        from memorybook.prompt import handwritten

        return handwritten.summarize_existing(self._there, limit)

    def retry_parked(self, *, limit: int | None = None, due: bool = True) -> tuple[results.Memorized, ...]:
        """Retry sessions for which the model failed, at most `limit`, oldest first.

        A session waits longer after each failure; `due=False` retries those that still wait, too.
        """
        from memorybook.sessions import memorize

        return memorize.retry_parked(self._on, limit=limit, due=due)

    def import_file(
        self,
        *paths: str,
        scope: str | None = None,
        format: str | None = None,
        since: str | date | None = None,
        by_model: bool = False,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> results.Imported:
        """Import files of other programs: turns into the transcripts; summaries, entries and notes by rules.

        Importing a file again, renamed or grown, adds only what is new.

        Args:
            paths: Files, folders, or downloaded zip archives; `-` reads standard input.
            scope: Only the lines of this scope; None takes all.
            format: Of every file, one of `memorybook.exchange.importers.NAMES`; None recognises it by content.
            since: Only sessions with turns on or after this day, and memories made or changed since.
            by_model: Ask the language model, once a session; if it fails the session waits.
            dry_run: Only report what would be added, by rules; only the index is updated.
            progress: Called with (bytes read, bytes in all).

        Raises:
            NotFound: There is no such file.
            InvalidInput: A file is in no format that is known, or has no such scope; a folder holds none that is.
        """
        from memorybook.exchange import import_files

        return import_files.import_files(
            self._on,
            paths,
            scope=scope,
            format=format,
            since=since,
            by_model=by_model,
            dry_run=dry_run,
            progress=progress,
        )

    # --- what waits for a person's word ----------------------------------------------------------

    def review(self, *, kind: str | None = None, state: str = "open", limit: int | None = None) -> Review:
        """List proposals that wait for a person, oldest first.

        Args:
            kind: Only of this kind.
            state: `open`, or what was decided: `accepted`, `rejected`, `withdrawn`.
            limit: At most this many, at least 1; None takes all.

        Raises:
            InvalidInput: An unknown state, or a limit below 1.
        """
        from memorybook.entries import review

        return review.review(self._there, kind=kind, state=state, limit=limit)

    def accept(self, *ids: str, kind: str | None = None, every: bool = False) -> Reviewed:
        """Accept proposals: carry out each as one operation on the present documents.

        A stale proposal is withdrawn; whatever in it is still new is proposed again.

        Args:
            ids: Of open proposals; or give one of:
            kind: All of this kind.
            every: All.

        Raises:
            InvalidInput: Not exactly one of the three was given.
            NotFound: There is no open proposal of one of the ids; nothing was done.
        """
        from memorybook.entries import review

        return review.accept(self._on, ids, kind=kind, every=every)

    def reject(self, *ids: str, kind: str | None = None, every: bool = False, reason: str = "") -> Reviewed:
        """Reject proposals; the same ones are not proposed again, and the history keeps the reason.

        Args:
            ids, kind, every: As for `accept`.
            reason: Why, for the history.

        Raises:
            As `accept`.
        """
        from memorybook.entries import review

        return review.reject(self._on, ids, kind=kind, every=every, reason=reason)

    def tidy(self, *, dry_run: bool = False, apply: Sequence[str] | None = None) -> Tidied:
        """Archive faded entries and propose other improvements; at most a quarter of the entries at once.

        Args:
            dry_run: Only report what would happen.
            apply: Kinds to carry out without asking, of `expire`, `archive`, `remove`, `duplicate`,
                `conflict`, `promote`; None takes the setting.

        Raises:
            InvalidInput: An unknown kind.
            Conflict: The documents kept changing.
        """
        from memorybook.entries import tidy

        context = self._on_there
        kinds = tidy.kinds_of(context, apply)
        if not dry_run:  # try again what failed before
            from memorybook.forget import forget
            from memorybook.sessions import memorize

            forget.finish(context)
            memorize.retry_parked(context)
        return tidy.tidy(context, dry_run=dry_run, apply=kinds)

    def heartbeat(
        self,
        every: float,
        *,
        idle: float | None = None,
        stop: threading.Event | None = None,
        on_run: Callable[[Tidied], None] = lambda tidied: None,
    ) -> None:
        """Tidy every `every` seconds while the book is idle, until `stop` is set.

        Args:
            every: Above 0.
            idle: Seconds without a write until the book counts as idle; None takes `idle_timeout`.
            stop: None never stops.
            on_run: Called with the result of each run.
        """
        from memorybook.entries import tidy

        tidy.heartbeat(self._on, self.tidy, every=every, idle=idle, stop=stop, on_run=on_run)

    # --- tasks ---------------------------------------------------------------------------------

    def retrieve_and_inject(
        self,
        query: str,
        session_id: str | None = None,
        *,
        min_score: float | None = None,
        max_memories: int | None = None,
    ) -> Injected:
        """Build the block `## Relevant Memory` of a prompt: half from the session, half from the whole book.

        Args:
            query: What the user just said, in any language.
            session_id: Uuid or name of a session; if None or without memories, the whole book fills the block.
            min_score: Lowest relevance, 0..1; None takes the setting `inject_min_score`.
            max_memories: At most this many, 1..200; None takes the setting.

        Raises:
            InvalidInput: A blank query or a value out of range.
        """
        from memorybook.prompt import inject

        found = inject.retrieve_and_inject(
            self.context, query, session_id, min_score=min_score, max_memories=max_memories
        )
        if self.context.absent and not self.context.missing_ok:  # the task that follows will make it
            found = found._replace(
                state={**found.state, "degraded": [self.context.absent, *found.state.get("degraded", ())]}
            )
        return found

    def store_if_worthwhile(
        self,
        task_goal: str,
        task_result: Any = "",
        execution_log: Log = (),
        metadata: Mapping[str, Any] | None = None,
        *,
        session_id: str | None = None,
        error: str = "",
    ) -> Stored:
        """Remember what a finished task taught, if it is worth at least the setting `store_threshold`.

        Args:
            task_goal: Goal of the task.
            task_result: Its result: text, or a JSON value.
            execution_log: Its log: text, lines, or steps as JSON objects.
            metadata: JSON object of your own, kept with each memory.
            session_id: Session that the memories belong to; None for none.
            error: Why the task failed; "" if it did not.

        Raises:
            InvalidInput: A blank goal, or metadata that is no JSON object.
        """
        from memorybook.entries import store_task

        return store_task.store_if_worthwhile(
            self.context, task_goal, task_result, execution_log, metadata, session_id=session_id, error=error
        )

    def task(self, goal: str, *, session: str | None = None, metadata: Mapping[str, Any] | None = None) -> Running:
        """Return a task to be remembered when it is finished: `with memory.task("Deploy") as task: task.log("…")`.

        It is judged and stored in the background; the caller waits for nothing and sees no failure of storing.
        An exception inside the block is recorded and raised unchanged.

        Args:
            goal: Goal of the task.
            session: Session that the memories belong to; None for none.
            metadata: JSON object of your own, kept with each memory.
        """
        from memorybook.entries.background_tasks import Running

        return Running(self, goal, session=session, metadata=metadata)

    def _finish(self, task: Finished) -> None:
        """Have what a finished task taught stored in the background, as the settings have it."""
        from memorybook.entries.background_tasks import keeper_of

        if self.config.enabled and self.config.auto_store:
            keeper_of(self).add(task)

    def revise(self, id: str, instruction: str) -> Revised:
        """Rewrite an entry with the language model; numbers, dates and names stay unless the instruction names them.

        Args:
            id: Of the entry.
            instruction: What to change, in any language.

        Raises:
            NotFound: No entry has that id.
            InvalidInput: A blank instruction, or one of over 4,000 characters.
            Unavailable: There is no language model.
            LLMFailed: The model gave no usable text; the entry is unchanged.
            Conflict: The entry was changed meanwhile.
        """
        from memorybook.entries import remember

        return remember.revise(self._on, id, instruction)

    # --- upkeep --------------------------------------------------------------------------------

    def init(self) -> dict[str, Any]:
        """Create the book's folder and a MEMORY.md to fill in; existing files are left as they are.

        Returns:
            `{"root", "created": [paths], "hint"}`; the hint says how to keep machine state out of git, or "".
        """
        from memorybook.entries import history

        return history.init(self._on)

    def sync(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Bring the index up to date, vectors included; return the counts of `search.types.SyncReport`."""
        return self._on_there.book.sync(progress=progress).json()

    def rebuild(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Rebuild the index from the documents while searches go on; return the counts as `sync` does."""
        context = self._on_there
        if context.absent:  # there is nothing to make an index of
            return self.sync(progress=progress)
        return context.book.rebuild(progress=progress).json()

    def status(self) -> dict[str, Any]:
        """Report sizes, counts, the state of the index, changed settings, and warnings."""
        from memorybook.entries import history

        return history.status(self.context, failures=self.keeper.failures if self.keeper is not None else ())

    def watch(self, on_change: Callable[[dict[str, Any]], None], *, stop: threading.Event | None = None) -> None:
        """Sync whenever a document changes, calling `on_change` with the report, until `stop` is set."""
        from memorybook.entries import history

        history.watch(self._on, on_change, stop=stop)

    # --- past conversations -----------------------------------------------------------------------

    def sessions(
        self, *, limit: int | None = 20, since: str | date | None = None, until: str | date | None = None
    ) -> Talks:
        """List sessions, newest first, open ones included.

        Args:
            limit: At most this many, at least 1; None takes all.
            since, until: Only sessions with turns within these days, inclusive; `YYYY-MM-DD`, a date, or words
                such as "last week" and 上周, from their first to their last day.

        Raises:
            InvalidInput: A limit below 1, or days that cannot be used.
        """
        from memorybook.sessions import recalls

        return recalls.sessions(self._there, limit=limit, since=since, until=until)

    def recall_history(
        self,
        limit: int | None = None,
        *,
        since: str | date | None = None,
        until: str | date | None = None,
        current: str | None = None,
        max_tokens: int | None = None,
    ) -> Recollection:
        """Return the newest sessions with their summaries.

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
            self._there, limit, since=since, until=until, current=current, max_tokens=max_tokens
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
        """Find sessions about a subject, with the matching turns, by words and vectors.

        Args:
            query: A question or some words, in any language. Days in it narrow the search, unless nothing matches
                on them.
            top: At most this many sessions, and this many turns, 1..200; None takes the setting
                `recall.max_search_results`, 5.
            since, until: Only turns within these days, inclusive; if given, days in the question do not count.
            current: The current session, by uuid or name, which is left out.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: A blank query or a value out of range.
        """
        from memorybook.sessions import recalls

        return recalls.recall_topic(
            self._there, query, top=top, since=since, until=until, current=current, max_tokens=max_tokens
        )

    def recall_session(
        self, which: str, *, limit: int | None = None, current: str | None = None, max_tokens: int | None = None
    ) -> Recollection:
        """Return one session: its summary and its turns in order.

        Args:
            which: Its uuid, the beginning of one, its name, a day, words of time and order in English or Chinese ("last
                time", 上次, "last Tuesday", "the first session"), or its title or the beginning of it.
            limit: At most this many turns, the last ones, at least 1; None takes all.
            current: The current session, by uuid or name, never meant by words of time and order.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: Blank words or a limit below 1.
            NotFound: No session has that name, or none is of that time.
            Conflict: Several sessions have that name.
        """
        from memorybook.sessions import recalls

        return recalls.recall_session(self._there, which, limit=limit, current=current, max_tokens=max_tokens)

    def recall_within(
        self, session: str, query: str, *, top: int | None = None, max_tokens: int | None = None
    ) -> Recollection:
        """Find turns about a subject in one session, best first, by words and vectors.

        Args:
            session: Uuid or name, or words as for `recall_session`.
            query: A question or some words, in any language.
            top: At most this many turns, 1..200; None takes the setting `recall.max_search_results`, 5.
            max_tokens: As for `recall_history`.

        Raises:
            As `recall_topic` and `recall_session`.
        """
        from memorybook.sessions import recalls

        return recalls.recall_within(self._there, session, query, top=top, max_tokens=max_tokens)

    def detect(self, text: str) -> Recall | None:
        """Detect which recall a text asks for, by configured keywords and built-in rules; None if it asks for none."""
        from memorybook.sessions import recalls

        return recalls.detect(self.context, text)

    def recollect(self, text: str, *, current: str | None = None, max_tokens: int | None = None) -> Recollection | None:
        """Carry out the recall that a text asks for, see `detect`; None if it asks for nothing.

        With the setting `recall.similarity_threshold` above 0, a text that asks for nothing recalls what is similar.

        Args:
            text: What the user just said.
            current: The current session, by uuid or name: searched only if the text asks about this
                very conversation.
            max_tokens: As for `recall_history`.

        Raises:
            InvalidInput: `max_tokens` is below 1.
        """
        from memorybook.sessions import recalls

        return recalls.recollect(self._there, text, current=current, max_tokens=max_tokens)

    # --- sessions that are held from outside -----------------------------------------------------

    def open_session(self, name: str = "") -> Held:
        """Open a session, or continue the open one of that name; it is stored with its first message.

        Several may be open at a time. One that is not ended is memorized and closed by `close_idle`.

        Raises:
            Conflict: The session of that name is closed or another caller's, or several have the name.
            Unavailable: Sessions are not kept.
        """
        from memorybook.sessions import ingest

        return ingest.open_session(self._on, name)

    def add_messages(self, session: str, messages: Sequence[Mapping[str, Any]]) -> Held:
        """Append messages to an open session, on disk on return; secrets are masked.

        Args:
            session: Its uuid or name.
            messages: `{"role"|"speaker", "content", "id", "timestamp", …}` in order. A message whose id is
                stored already is ignored, so that sending messages with ids again is safe.

        Raises:
            NotFound: No session has that name.
            Conflict: It is closed, or another caller's.
            InvalidInput: A message that cannot be read.
        """
        from memorybook.sessions import ingest

        return ingest.add_messages(self._on, session, messages)

    def end_session(self, session: str, messages: Sequence[Mapping[str, Any]] = ()) -> Memorized:
        """Memorize an open session, as `process_session_end` does, and close it.

        Args:
            session: Its uuid or name.
            messages: Last messages that are not stored yet, as for `add_messages`.

        Raises:
            As `add_messages`.
        """
        from memorybook.sessions import ingest

        return ingest.end_session(self._on, session, messages)

    def close_idle(self, *, limit: int | None = None) -> tuple[Memorized, ...]:
        """Memorize and close sessions of agents and chats without a message for longer than `idle_timeout`.

        They include sessions left open by a killed process, and those of agent hosts, whose events are ingested
        first, see `ingest`. The command line does this after most commands.

        Args:
            limit: At most this many, the oldest first; None takes all.

        Returns:
            The result of each; one that waits in the queue says so.
        """
        from memorybook.sessions import ingest

        return ingest.close_idle(self._on, limit=limit)

    def ingest(self, *, limit: int | None = None) -> Ingested:
        """Ingest the events that agent hosts reported through their hooks; sessions are memorized once they end.

        Events that cannot be read are set aside, and `status` reports them. Events that another process is ingesting
        are left to it.

        Args:
            limit: At most this many sessions, oldest event first; None takes all.
        """
        from memorybook.sessions import ingest

        return ingest.ingest(self._on, limit=limit)

    # --- taking them along ---------------------------------------------------------------------

    def export(
        self, path: str | None = None, *, session: str | None = None, progress: Progress | None = None
    ) -> Export:
        """Export sessions with their chats to one JSON document; an existing export is extended.

        Sessions that only the file has stay in it, except what was forgotten.

        Args:
            path: The file; `-` writes to stdout; None takes the setting `transcripts.export_path`, or the
                book's own place.
            session: Add only this session, by uuid or name; None adds all that the file does not have.
            progress: Called with (sessions done, sessions in all).

        Raises:
            NotFound: There is no book, no such session, or no folder for the file.
            InvalidInput: The file is no export of sessions.
            Unavailable: The file cannot be written; it is unchanged.
        """
        from memorybook.exchange import export

        return export.export(self._on, path, session=session, progress=progress)

    def backup(self, path: str, *, progress: Progress | None = None) -> Backup:
        """Write a snapshot of the book to one archive: documents, turns and journal, each file with a digest.

        Others may write meanwhile; all that was acknowledged before the call is in it. The index is left out.

        Args:
            path: The archive, `….tar.gz`; an existing backup is replaced once the new one is complete.
            progress: Called with (bytes packed, bytes in all).

        Raises:
            NotFound: There is no book, or no folder for the archive.
            InvalidInput: The existing file is no backup.
            Unavailable: The archive cannot be written, or another writer holds the book for too long.
        """
        from memorybook.exchange import export

        return export.backup(self._on, path, progress=progress)

    def restore(
        self, path: str, *, into: str | None = None, replace: bool = False, progress: Progress | None = None
    ) -> Restored:
        """Restore a book from a backup into an empty folder, completely or not at all.

        Args:
            path: An archive that `backup` made.
            into: The folder; None takes this book's own.
            replace: Replace an existing book, which is kept beside it.
            progress: Called with (bytes written, bytes in all).

        Raises:
            NotFound: There is no such archive.
            InvalidInput: It is no backup, damaged, or has paths that no book has.
            Conflict: The folder is not empty.
            Unavailable: The folder cannot be written.
        """
        from memorybook.exchange import export

        context = self._on
        if into is not None:
            with open(into, config=self.config, door=context.door, embedder=context.embedder) as other:
                return other.restore(path, replace=replace, progress=progress)
        restored = export.restore(context, path, replace=replace, progress=progress)
        with open(self.root, config=self.config, embedder=context.embedder):
            pass  # finishes what was under way when it was backed up
        return restored

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
        """Import session summaries of other machines, and share this book's own.

        Imported text is masked, screened and without what was forgotten here, in one operation; if nothing is new,
        nothing is written. Other machines' folders are only read. Summaries that a person edited here stay as they
        are; summaries deleted there stay here.

        Args:
            sources: Folders, `DIR` or `NAME=DIR`: another machine's book or a shared folder. NAME is the
                machine's name here; by default the folder's.
            to: Shared folder; this book's summaries are written to `to/NODE`.
            sessions: Names or uuids of the sessions to share, `()` for none; None shares all. Other summaries shared
                before are removed there.
            group: Also exchange the entries of this group and its subgroups.
            node: Name of this machine; None takes the host's. Several books of one host need different names.
            dry_run: Only report what would happen.

        Raises:
            InvalidInput: Neither sources nor `to`, or one that cannot be used.
            NotFound: None of the folders is there.
            Conflict: Another book shares under this name.
            BookLocked: Another process is exchanging for this book.
        """
        from memorybook.exchange import collect

        given = (sources,) if isinstance(sources, str) else sources
        return collect.sync_summaries(
            self._on, given, to=to, sessions=sessions, group=group, node=node, dry_run=dry_run
        )

    # --- documents ---------------------------------------------------------------------------------

    def documents(self) -> tuple[DocumentInfo, ...]:
        """List all documents, by path. Raises NotFound if there is no book."""
        from memorybook.entries import documents

        return documents.documents(self._there)

    def document(self, path: str) -> Document:
        """Return the whole text of a document, with its revision.

        Raises:
            MissingDocument: There is none.
            UnsafePath: The path is not one of a document in the book.
        """
        from memorybook.entries import documents

        try:
            return documents.document(self.context, path)
        except MissingDocument:
            if absent := self.context.absent:
                raise MissingDocument(absent) from None
            raise

    def write_document(self, path: str, text: str, *, expect: str | None = None) -> WrittenDocument:
        """Write the text of a document; secrets in it are masked.

        In `MEMORY.md` and `archive/` an agent can change the text of its entries; their strength, origin and trust
        stay, and entries it adds have an agent's trust. What it would take away of a person's words stays, and waits
        in review.

        Raises:
            Conflict: It has another revision than expected.
            UnsafePath: The path is not one that a document can have.
        """
        from memorybook.entries import documents

        return documents.write_document(self._on, path, text, expect=expect)

    def rename_document(self, path: str, to: str, *, expect: str | None = None) -> WrittenDocument:
        """Rename a document; there must be none at the new path.

        Raises:
            MissingDocument: There is no such document.
            Conflict: It has another revision than expected, or there is a document at `to`.
            UnsafePath: A path is not one that a document can have.
        """
        from memorybook.entries import documents

        return documents.rename_document(self._on, path, to, expect=expect)

    def remove_document(self, path: str, *, expect: str | None = None) -> WrittenDocument:
        """Remove a document; `undo` restores it, `purge` erases it for good. A person's waits in review for an agent.

        Raises:
            MissingDocument: There is no such document.
            Conflict: It has another revision than expected.
            UnsafePath: The path is not one of a document in the book.
        """
        from memorybook.entries import documents

        return documents.remove_document(self._on, path, expect=expect)


@given.checking
def open(
    book: str | os.PathLike[str] | None = None,
    *,
    project: str | None = None,
    layer: Literal["personal", "project", "team"] | None = None,
    config: Config | None = None,
    door: str = "python",
    clock: Callable[[], datetime] | None = None,
    embedder: Embedder | None = None,
    llm: LLM | Function | None = None,
    missing_ok: bool = False,
) -> Memory:
    """Open the memory of a book; nothing is created on disk until something is written.

    Reading a book that is not there raises NotFound, which names the nearest ones.

    Args:
        book: Its directory; None finds it by project, see `config.project.book_root`.
        project: Key of the project; None finds it from the working directory.
        layer: The book of that layer, which the settings name, instead: what is written goes there. The others are read
            along, unless `missing_ok`.
        config: Settings; None loads them, see `config.settings.load`.
        door: Where calls come in (`python`, `cli`, `mcp`, `http`, …); stamped on every operation. What comes
            through `cli` is trusted as the user's word, the rest as an agent's.
        clock: The time now, timezone-aware; None takes the system's.
        embedder: Your own; None takes the configured one, else the bundled one.
        llm: Your own, or a function of messages; None takes the configured one, else rules do the work.
        missing_ok: Read one that is not there as an empty book.

    Raises:
        ConfigError: A setting that cannot be used.
        InvalidInput: A layer that the settings name no book for, or together with `book` or `project`.
    """
    cwd = os.getcwd()
    if config is None:
        from memorybook.config.settings import load

        config = load(cwd=cwd, env=os.environ)
    book = book_of_layer(config, layer, book or project) or book
    root, found = locate(config, cwd=cwd, book=book, project=project)
    layers = () if missing_ok else _layers(config, root, door=door, clock=clock, embedder=embedder)
    is_empty = missing_ok or any(each.book.storage.exists() for each in layers)  # the others can be read all the same
    from memorybook.storage.journal import new_operation_id
    from memorybook.storage.stores import open_storage

    storage = open_storage(config, root)
    hybrid = config.backend == "sqlite_hybrid" and config.fts_enabled and config.vector_enabled
    embedder = (embedder or _embedder(config, storage.machine or None)) if hybrid else None
    index, degraded = _index(config, storage, embedder)
    opened = Book(
        storage,
        index=index,
        fallback=_scan,
        clock=clock or (lambda: datetime.now(UTC)),
        new_id=new_operation_id,
        zone=_zone(config.timezone),
        weights=(config.hybrid_vector_weight, config.hybrid_text_weight),
        rerank=_reranker() if config.rerank else None,
        stale=config.stale,
        degraded=degraded,
    )
    opened.background = door != "cli"
    found = keep(root, found)
    if found.copy_of[0] and not missing_ok:
        config = config._replace(warnings=(*config.warnings, copied(found)))
    actor: Trust = "user" if door == "cli" else "agent"
    name = layer_of(config, root) if layers else ""
    return Memory(Context(root, opened, config, door, actor, embedder, Models(llm), found, is_empty, name, layers))


def _layers(config: Config, root: str, **parts: Any) -> tuple[Context, ...]:
    """Open the books that are read along with the one at `root`: with its settings, but for where things are kept."""
    config, named = config._replace(layers=LayerSettings()), config.layers
    transcripts = config.transcripts._replace(db_path="", url="", auth_token="", export_path="", export_on_exit=False)
    alone = config._replace(db_path="", transcripts=transcripts, storage=StorageSettings())
    return tuple(
        open(place, config=alone, missing_ok=True, **parts).context._replace(layer=name)
        for name, place in zip(named._fields, named, strict=True)
        if place and os.path.realpath(place) != os.path.realpath(root)
    )


def _zone(name: str) -> tzinfo | None:
    if name == "local":
        return None
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _reranker() -> Reranker:
    from memorybook.inference.local import CrossEncoder

    return CrossEncoder()


def _scan() -> Index:
    from memorybook.storage.index.scan_index import ScanIndex

    return ScanIndex()


def _index(config: Config, storage: Storage, embedder: Embedder | None) -> tuple[Index, list[str]]:
    """Return the configured index, and why it is less than hybrid where that was not asked for."""
    if config.backend == "scan" or not config.fts_enabled:
        reason = [] if config.backend == "scan" else ["fts_enabled is false: searched by scanning the documents"]
        return _scan(), reason
    return storage.open_index(embedder), []


def _embedder(config: Config, machine: str | None) -> Embedder:
    remote = config.embeddings
    if remote.model.startswith("local/"):
        from memorybook.config.files import user_dir
        from memorybook.inference.local import LocalEmbedder

        cache = user_dir("cache", os.environ, os.path.expanduser("~"))
        return LocalEmbedder(remote.model.removeprefix("local/"), cache_dir=cache, dimensions=remote.dimensions)
    if remote.model == "multilingual":
        from memorybook.inference.multilingual import MultilingualEmbedder

        return MultilingualEmbedder()
    if remote.model:
        from memorybook.inference.http_client import RemoteEmbedder

        return RemoteEmbedder(
            base_url=config.embedding_base_url,
            api_key=config.embedding_api_key,
            model=remote.model,
            dimensions=remote.dimensions or None,
            batch=remote.batch,
            timeout=remote.timeout,
        )
    from memorybook.inference.bundled import BundledEmbedder

    return BundledEmbedder(machine)
