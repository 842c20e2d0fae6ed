"""What a memory lives through: sessions that end, entries that fade, operations that are taken back."""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Any, Callable, Mapping, Sequence, cast, date
from memorybook.config.project import absence, keep
from memorybook.errors import NotFound

if TYPE_CHECKING:
    import threading

    from memorybook import results
    from memorybook.entries.background_tasks import Finished, Running
    from memorybook.entries.review import Review, Reviewed
    from memorybook.entries.revise import Revised
    from memorybook.entries.store_task import Log, Stored
    from memorybook.entries.tidy import Tidied
    from memorybook.inference.callable import Function
    from memorybook.inference.replies import Usage
    from memorybook.memory import Memory
    from memorybook.prompt.inject import Injected
    from memorybook.protocols import LLM, Progress


class Lifetime:
    """The half of `Memory` that a search does not need."""

    @property
    def _memory(self) -> Memory:
        """This memory, as all of it."""
        return cast("Memory", self)

    @property
    def _on(self) -> Memory:
        """This memory, for whatever may write. Raises Unavailable while it is switched off."""
        memory = self._memory
        memory.config.check_enabled()
        memory.project = keep(memory.root, memory.project)
        return memory

    @property
    def _there(self) -> Memory:
        """This memory, for whatever needs a book that is there. Raises NotFound, with the nearest ones."""
        if self.absent and not self._memory.missing_ok:
            raise NotFound(self.absent)
        return self._memory

    @property
    def absent(self) -> str:
        """That there is no book yet, and which ones are nearest; "" where there is one, or memory is switched off."""
        memory = self._memory
        if os.path.isdir(memory.root) or not memory.config.enabled:
            return ""
        if memory.missing_ok:  # to whom it is no mistake, others' books are no help
            return "there is no book yet: it is made by what is remembered first"
        return absence(memory.root, memory.project)

    def _spent(self) -> Usage:
        """What its language model used today, as budgets ask for it."""
        from memorybook.inference.replies import Usage

        spent = self._memory.book.journal.spent(self._memory.book.now().date())
        kept = Usage(
            calls=spent.calls,
            failed=spent.failed,
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
        )
        return sum(self._memory._unkept, kept)

    def _spend(self, usage: Usage) -> None:
        """Note what it used; on disk unless the memory is switched off."""
        if not self._memory.config.enabled:
            self._memory._unkept.append(usage)
            return
        self._memory.book.journal.spend(
            self._memory.book.now().date(),
            calls=usage.calls,
            failed=usage.failed,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
        )

    # --- what was done -------------------------------------------------------------------------

    def history(self, id: str | None = None, *, limit: int | None = 20) -> results.History:
        """What was done to the book, newest first.

        Args:
            id: Only what changed this entry, document (`daily/2026-02-24.md`) or session (`session:UUID`), or this
                one operation; None takes all.
            limit: At most this many operations, at least 1; None takes all.

        Raises:
            NotFound: The journal knows nothing of it.
            InvalidInput: A limit below 1.
        """
        from memorybook.entries import history

        return history.history(self._there, id, limit=limit)

    def why(self, id: str) -> results.Why:
        """Why an entry is in the book: turns and quotes it rests on, what changed it, which prompts it entered.

        Raises:
            NotFound: Neither the book nor its journal knows the entry.
        """
        from memorybook.entries import history

        return history.why(self._there, id)

    def undo(self, operation: str, *, dry_run: bool = False) -> results.Undone:
        """Take back an operation; undoing an undo does it again.

        Args:
            operation: Its id, see `history`.
            dry_run: Only say what would happen.

        Raises:
            NotFound: The journal has no such operation.
            Conflict: It is undone already, was purged, or something that it changed was changed since; the message
                shows what stands now and what stood then. Nothing was done.
        """
        from memorybook.entries import operations

        return operations.undo(self._on, operation, dry_run=dry_run)

    def forget(
        self,
        target: str | None = None,
        *,
        query: str | None = None,
        session: str | None = None,
        source: str | None = None,
        dry_run: bool = False,
    ) -> results.Receipt:
        """Take something out of the book, so that imports do not bring it back.

        Args:
            target: Id of an entry.
            query: Every entry and note that is relevant to it.
            session: A session with its turns, its summary and what was remembered from it, by uuid or name.
            source: A turn (`turn:ID`), a document of the book, a machine that was collected from (`node:NAME`), or a
                file that was imported: what it is goes, and what was remembered from it.
            dry_run: Only say what would go.

        Raises:
            NotFound: There is nothing of that name.
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
        """Erase something for good: forget it, and empty it out of everything that kept a copy.

        Args:
            target: Id of an entry, also of one that was forgotten.
            query, session, source: As for `forget`.
            forgotten: Everything that was ever forgotten or removed, and not brought back.
            dry_run: Only say what would go.

        Raises:
            NotFound: Neither the book nor its journal has such a thing.
            InvalidInput: Not exactly one of the five was given.
        """
        from memorybook.forget import purge

        return purge.purge(
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
        """Remember what was said in a session, by the language model or, if there is none, by rules.

        Once for each session and content: a session that has grown brings what is new. If the model fails, what was
        said is kept and tried again later, see `retry_parked`; nothing of the book is changed by then but the
        transcripts.

        Args:
            messages: `{"role"|"speaker", "content", "timestamp", …}` in order, all of the session or what came last;
                none takes the turns that are stored of the session. What is stored after the last of them is left
                for later.
            session_id: Its uuid or name; None takes what the messages say, or begin with.
            llm: The model to ask; None takes the memory's own.
            model: Of the configured server, which model to ask instead.

        Raises:
            InvalidInput: No message can be read, or they are of several sessions.
            Conflict: Several sessions are called so.
        """
        from memorybook.sessions import end_session

        evolving = self._memory.config.provider == "agentic"
        on = self._on
        found = end_session.process_session_end(on, messages, session_id, llm=llm, model=model, evolving=evolving)
        if on.config.transcripts.auto_export:
            from memorybook.exchange import export

            failed = export.by_itself(on)
            found = found._replace(degraded=(*found.degraded, failed)) if failed else found
        return found

    def get_prompt_memories(self, top_k: int = 20) -> tuple[results.Known, ...]:
        """The entries that every prompt takes: active, not lapsed, trusted, strength from 0.5; strongest first.

        Raises:
            InvalidInput: `top_k` is below 1.
        """
        from memorybook.prompt import standing

        return standing.get_prompt_memories(self._there, top_k)

    def get_prompt_memories_text(self, top_k: int = 20) -> str:
        """The entries of `get_prompt_memories` as lines for a prompt, fenced as data; "" if there are none.

        Raises:
            InvalidInput: `top_k` is below 1.
        """
        from memorybook.prompt import standing

        return standing.as_text(self._memory, self.get_prompt_memories(top_k))

    def summarize_existing(self, limit: int = 50) -> str:
        """What is known, as one text by category in the book's language: the strongest active entries; "" if none.

        Raises:
            InvalidInput: `limit` is below 1.
        """
        from memorybook.prompt import standing

        return standing.summarize_existing(self._there, limit)

    def retry_parked(self, *, limit: int | None = None, due: bool = True) -> tuple[results.Memorized, ...]:
        """Try again to remember the sessions that wait, at most `limit`, oldest first; `due=False` takes all of them.

        Else those whose time has come: after each failure a session waits longer.
        """
        from memorybook.sessions import end_session

        return end_session.retry_parked(self._on, limit=limit, due=due)

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
        """Take in what other programs keep: turns into the transcripts, summaries, entries and notes by rules.

        Importing it again, under another name or after it grew, adds only what is new.

        Args:
            paths: Files, folders with files in them, zip archives as they were downloaded; `-` reads standard input.
            scope: Only the lines of this scope; None takes all.
            format: Of every file, one of `memorybook.exchange.importers.NAMES`; None tells it by what is in a file.
            since: Only sessions in which something was said on this day or later, and memories made or changed then.
            by_model: Whether the language model is asked, once a session; a session for which it fails waits.
            dry_run: Only say what would be added, by rules; nothing is written but the index brought up to date.
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
        """What waits for a person's word, oldest first.

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
        """Carry out proposals, each as one operation on the documents as they are now.

        One that is stale is withdrawn; what it says that is new is proposed anew.

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
        """Settle proposals without carrying them out; the same ones do not come again, and the history keeps why.

        Args:
            ids, kind, every: As for `accept`.
            reason: Why, for the history.

        Raises:
            As `accept`.
        """
        from memorybook.entries import review

        return review.reject(self._on, ids, kind=kind, every=every, reason=reason)

    def tidy(self, *, dry_run: bool = False, apply: Sequence[str] | None = None) -> Tidied:
        """Archive what has faded, and propose what else would do the book good; a quarter at once at most.

        Args:
            dry_run: Only say what would happen.
            apply: Kinds that are carried out without asking, of `expire`, `archive`, `remove`, `duplicate`,
                `conflict`, `promote`; None takes the setting.

        Raises:
            InvalidInput: An unknown kind.
            Conflict: A person kept saving the documents all the while.
        """
        from memorybook.entries import tidy

        return tidy.tidy(self._on._there, dry_run=dry_run, apply=apply)

    def heartbeat(
        self,
        every: float,
        *,
        idle: float | None = None,
        stop: threading.Event | None = None,
        on_run: Callable[[Tidied], None] = lambda tidied: None,
    ) -> None:
        """Tidy every so many seconds, only while the book is idle, until `stop` is set.

        Args:
            every: Above 0.
            idle: Seconds without a write that make the book idle; None takes `idle_timeout`.
            stop: None never stops.
            on_run: Told what each run did.
        """
        from memorybook.entries import tidy

        tidy.heartbeat(self._on, every=every, idle=idle, stop=stop, on_run=on_run)

    # --- tasks ---------------------------------------------------------------------------------

    def retrieve_and_inject(
        self,
        query: str,
        session_id: str | None = None,
        *,
        min_score: float | None = None,
        max_memories: int | None = None,
    ) -> Injected:
        """The block `## Relevant Memory` for a prompt: half of it from the session, half from everything.

        Args:
            query: What the user just said, in any language.
            session_id: Uuid or name of a session; one without memories, or None, leaves all places to everything.
            min_score: Lowest relevance, 0..1; None takes the setting `inject_min_score`.
            max_memories: At most this many, 1..200; None takes the setting.

        Raises:
            InvalidInput: A blank query or a value out of range.
        """
        from memorybook.prompt import inject

        found = inject.retrieve_and_inject(
            self._memory, query, session_id, min_score=min_score, max_memories=max_memories
        )
        if self.absent and not self._memory.missing_ok:  # the task that follows will make it
            found = found._replace(state={**found.state, "degraded": [self.absent, *found.state.get("degraded", ())]})
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
            task_goal: What was to be done.
            task_result: What came of it: text, or a JSON value.
            execution_log: What was done: text, lines, or steps as JSON objects.
            metadata: JSON object of your own, kept with each memory.
            session_id: Session that the memories belong to; None makes them everybody's.
            error: What ended the task early; "" if it came to its end.

        Raises:
            InvalidInput: A blank goal, or metadata that is no JSON object.
        """
        from memorybook.entries import store_task

        return store_task.store_if_worthwhile(
            self._memory, task_goal, task_result, execution_log, metadata, session_id=session_id, error=error
        )

    def task(self, goal: str, *, session: str | None = None, metadata: Mapping[str, Any] | None = None) -> Running:
        """A task that is remembered once it is finished: `with memory.task("Deploy") as task: task.log("…")`.

        What it taught is judged and stored in the background; neither that nor its failing is noticed by the caller.
        An exception is remembered, and goes on unchanged.

        Args:
            goal: What is to be done.
            session: Session that the memories belong to; None makes them everybody's.
            metadata: JSON object of your own, kept with what is remembered.
        """
        from memorybook.entries.background_tasks import Running

        return Running(self._memory, goal, session=session, metadata=metadata)

    def _finish(self, task: Finished) -> None:
        """Have what a finished task taught stored in the background, as the settings have it."""
        from memorybook.entries.background_tasks import keeper_of

        if self._memory.config.enabled and self._memory.config.auto_store:
            keeper_of(self._memory).add(task)

    def revise(self, id: str, instruction: str) -> Revised:
        """Let the language model rewrite an entry's text; numbers, dates and names that are not named stay.

        Args:
            id: Of the entry.
            instruction: What to change, in any language.

        Raises:
            NotFound: No entry has that id.
            InvalidInput: A blank instruction, or one of over 4,000 characters.
            Unavailable: There is no language model.
            LLMFailed: The model gave no text that can be used; the entry is as it was.
            Conflict: Somebody changed the entry meanwhile.
        """
        from memorybook.entries import revise

        return revise.revise(self._on, id, instruction)

    # --- upkeep --------------------------------------------------------------------------------

    def init(self) -> dict[str, Any]:
        """Make the book's folder and a MEMORY.md to fill in; what exists is left as it is.

        Returns:
            `{"root", "created": [paths], "hint"}`; the hint says how to keep machine state out of git, or "".
        """
        from memorybook.entries import status

        return status.init(self._on)

    def sync(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Bring the index up to date, vectors included; answers with the counts of `hits.SyncReport`."""
        return self._on._there.book.sync(progress=progress).json()

    def rebuild(self, *, progress: Progress | None = None) -> dict[str, Any]:
        """Make the index anew from the documents while searches go on; answers as `sync` does."""
        return self._on._there.book.rebuild(progress=progress).json()

    def status(self) -> dict[str, Any]:
        """What is where: sizes, counts, the index's state, settings that are not the default, warnings."""
        from memorybook.entries import status

        return status.status(self._memory)

    def watch(self, on_change: Callable[[dict[str, Any]], None], *, stop: threading.Event | None = None) -> None:
        """Sync whenever a document changes, calling `on_change` with the report, until `stop` is set."""
        from memorybook.entries import status

        status.watch(self._on, on_change, stop=stop)
