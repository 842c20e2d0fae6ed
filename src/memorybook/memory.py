"""Memory: a book with everything around it, the public face. `open` is the only place that wires parts."""

from __future__ import annotations

import os

from memorybook import validate as given
from memorybook._light import (
    TYPE_CHECKING,
    UTC,
    Any,
    Callable,
    Mapping,
    Sequence,
    cast,
    date,
    datetime,
    suppress,
    tzinfo,
)
from memorybook.book.book import Book, closed
from memorybook.config.project import Project, copied, keep, locate
from memorybook.conversations import Conversations
from memorybook.errors import NotFound, Unavailable
from memorybook.lifetime import Lifetime
from memorybook.search.types import Answer, Query
from memorybook.shelf import Shelf

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from memorybook import results
    from memorybook.config.settings import Config
    from memorybook.entries.background_tasks import Keeper
    from memorybook.inference.budget import Metered
    from memorybook.inference.callable import Function
    from memorybook.model import Trust
    from memorybook.protocols import LLM, Embedder, Index

MACHINE = ".memorybook"
"""Folder of a book for machine state."""

_NAMED = Project()


class Memory(Lifetime, Conversations, Shelf):
    """One open memory: remember, find and keep up a book.

    Made by `open`. Safe to share between threads; use it as a context manager or `close` it.

    Args:
        book: The open book.
        config: Its settings.
        door: Where calls come in (`python`, `cli`, `mcp`, `http`); stamped on every operation. What comes
            through `cli` is trusted as the user's word, the rest as an agent's.
        embedder: What makes its vectors; None for words alone.
        llm: A language model, or a function that is one; None takes the configured one.
        project: What the book was found by, and stays the book of.
        missing_ok: Whether a book that is not there is read as an empty one.

    Attributes:
        keeper: What stores finished tasks in the background; None before the first.
    """

    def __init__(
        self,
        book: Book,
        config: Config,
        *,
        door: str = "python",
        embedder: Embedder | None = None,
        llm: LLM | Function | None = None,
        project: Project = _NAMED,
        missing_ok: bool = False,
    ) -> None:
        self.book = book
        self.root: str = book.documents.root
        """Where the book is."""
        self.config = config
        self.door = door
        self.embedder = embedder
        self._given = llm
        self._llm: LLM | None = None
        self._others: dict[str, LLM] = {}
        self._unkept: list[Any] = []  # what the model used while memory was switched off
        self.keeper: Keeper | None = None
        self.project = project
        self.missing_ok = missing_ok
        self._begin()

    def __enter__(self) -> Memory:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def actor(self) -> Trust:
        """Who acts through this door, `user` or `agent`."""
        return "user" if self.door == "cli" else "agent"

    trust = actor
    """Trust stamped on what comes through this door."""

    def close(self) -> None:
        """Store finished tasks, release files and connections; then verbs raise Unavailable, closing does nothing."""
        if self.keeper is not None:
            self.keeper.close()
        self._end()
        self.project = keep(self.root, self.project)
        opened = [*self._others.values(), *([self._llm] if self._given is None else [])]
        for close in filter(None, (getattr(llm, "close", None) for llm in opened)):
            close()
        self.book = closed(self.book)

    def alone(self, work: str) -> AbstractContextManager[bool]:
        """Whether nobody else, in any process or thread, does this work until the block ends; never waits."""
        with suppress(Unavailable):  # whoever cannot write shares the work with nobody
            self.book.documents.prepare()
        return _claimed(os.path.join(self.root, MACHINE), work)

    # --- the language model --------------------------------------------------------------------

    @property
    def llm(self) -> LLM | None:
        """The language model: the one given to `open`, else the configured one; None if there is none.

        Raises:
            ConfigError: The settings of `llm` cannot be used.
            MissingExtra: The model needs a package that is not installed.
        """
        if self._llm is None and self._given is not None:
            from memorybook.inference.callable import as_llm

            self._llm = as_llm(self._given)
        elif self._llm is None and self.config.llm.model:
            from memorybook.inference.llm import open_llm

            self._llm = open_llm(self.config.llm)
        return self._llm

    def metered(self, given: LLM | Function | None = None, *, model: str = "") -> Metered | None:
        """The language model within the budgets, for one operation; None if there is none. Raises as `llm` does.

        Args:
            given: Asked in the place of the memory's own; one that is within budgets already stays as it is.
            model: Asked in the place of the configured one, where neither this call nor `open` was given one.
        """
        llm = self._chosen(given, model)
        if llm is None:
            return None
        from memorybook.inference.budget import Metered

        if isinstance(llm, Metered):
            return llm
        return Metered(llm, self.config.llm.budget, spent_today=self._spent, record=self._spend)

    def _chosen(self, given: LLM | Function | None, model: str) -> LLM | None:
        if given is not None:
            from memorybook.inference.callable import as_llm

            return as_llm(given)
        if self._given is not None or model in ("", self.config.llm.model):
            return self.llm
        if model not in self._others:
            from memorybook.inference.llm import open_llm

            self._others[model] = cast("LLM", open_llm(self.config.llm._replace(model=model)))
        return self._others[model]

    # --- finding -------------------------------------------------------------------------------

    def search(
        self,
        query: str,
        *,
        max_results: int | None = None,
        min_score: float | None = None,
        category: str | None = None,
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
        answer = self.book.search(asked, limit=limit, min_score=least, explain=explain)
        if unknown and not answer.hits:
            raise unknown
        if any(hit.passage.state == "superseded" for hit in answer.hits):
            from memorybook.search.current_first import renewed

            return renewed(self.book, asked, answer, limit=limit)
        return answer

    def _unknown(self, session: str) -> NotFound | None:
        """The error of a session that neither the transcripts nor an entry know; raises Conflict."""
        try:
            self.book.transcripts.session(session)
        except NotFound as error:
            return None if any(entry.session == session for entry in self.book.entries()) else error
        return None

    def recall_memory(self, query: str, *, max_results: int | None = None) -> Answer:
        """Find archived entries and those too weak for the prompt; raises InvalidInput as `search` does."""
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
            start: First line, from 1; for documents.
            lines: How many lines; None takes all that follow.

        Raises:
            NotFound: There is no such document, entry or turn.
            Conflict: Several sessions have a turn of that id.
            UnsafePath: A path that is not a document of this book.
        """
        from memorybook.entries import read

        try:
            return read.get(self.book, given.text_of(target, "target"), start=start, lines=lines)
        except NotFound:
            _ = self._there
            raise

    def entries(
        self,
        *,
        category: str | None = None,
        group: str | None = None,
        state: str | None = None,
        limit: int | None = None,
    ) -> results.Listed:
        """Entries, strongest first.

        Args:
            category: Only of this category.
            group: Only of this group and the groups below it.
            state: `active`, `archived` or `superseded`; None takes all.
            limit: At most this many, at least 1; None takes all.

        Raises:
            InvalidInput: An unknown category or state, or a limit below 1.
        """
        from memorybook.entries import read

        wanted = given.category_of(category) if category else None
        return read.entries(self._there.book, category=wanted, group=group, state=state, limit=limit)

    def recall(self, query: str, *, max_tokens: int | None = None) -> results.Recalled:
        """The block for a prompt, as the setting `provider` has it; raises InvalidInput for `max_tokens` below 1.

        Args:
            query: What the user just said; blank leaves out the search.
            max_tokens: Size of the block, at least 1; None takes 2,000. The page of `flat` is never cut.
        """
        from memorybook.prompt.recall import recall

        budget = given.budget_of(max_tokens)
        if self.config.provider == "tiered":  # without the other two, which would cost the command line time
            return recall(self._there, query, max_tokens=budget)
        from memorybook.providers import open_provider

        return open_provider(self._there).recalled(query, max_tokens=budget)

    # --- writing -------------------------------------------------------------------------------

    def remember(
        self,
        text: str,
        *,
        category: str = "fact",
        importance: str | float = "medium",
        tags: Sequence[str] = (),
        group: str | None = None,
        expires: str | date | None = None,
        metadata: Mapping[str, Any] | None = None,
        session: str | None = None,
    ) -> results.Remembered:
        """Add an entry; the same statement said again strengthens the one that is there.

        Args:
            text: The statement; secrets in it are masked.
            category: One of `CATEGORIES` or an alias.
            importance: `high`, `medium`, `low`, or a score 0..1.
            tags: Words without spaces around; kept in order.
            group: `work/api`; None leaves it ungrouped.
            expires: Day a todo lapses.
            metadata: JSON object of your own.
            session: Session it belongs to; None makes it everybody's.

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
        from memorybook.entries import remember

        return remember.flush(self._on, text, messages)

    def update(
        self,
        id: str,
        *,
        text: str | None = None,
        category: str | None = None,
        importance: str | float | None = None,
        tags: Sequence[str] | None = None,
        group: str | None = None,
        expires: str | date | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> results.Known:
        """Change fields of an entry; None leaves a field as it is, "" clears `group` and `expires`.

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


def open(
    book: str | None = None,
    *,
    project: str | None = None,
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
        book: Its directory; None finds it by project, see `workspace.book_root`.
        project: Key of the project; None finds it from the working directory.
        config: Settings; None loads them, see `config.load`.
        door: See `Memory`.
        clock: The time now, timezone-aware; None takes the system's.
        embedder: Your own; None takes the configured one, else the bundled one.
        llm: Your own, or a function of messages; None takes the configured one, else rules do the work.
        missing_ok: Read one that is not there as an empty book.

    Raises:
        ConfigError: A setting that cannot be used.
    """
    cwd = os.getcwd()
    if config is None:
        from memorybook.config.settings import load

        config = load(cwd=cwd, env=os.environ)
    root, found = locate(config, cwd=cwd, book=book, project=project)
    machine = os.path.join(root, MACHINE)
    kept = config.transcripts
    from memorybook.storage.directory import DirectoryDocuments
    from memorybook.storage.journal import SqliteJournal, new_operation_id
    from memorybook.storage.transcripts import open_transcripts

    hybrid = config.backend == "sqlite_hybrid" and config.fts_enabled and config.vector_enabled
    embedder = (embedder or _embedder(config, machine)) if hybrid else None
    index, degraded = _index(config, machine, embedder)
    documents = DirectoryDocuments(root)
    opened = Book(
        documents=documents,
        transcripts=open_transcripts(machine, kept.db_path, kept.url, kept.auth_token, prepare=documents.prepare),
        journal=SqliteJournal(os.path.join(machine, "journal.sqlite"), prepare=documents.prepare),
        index=index,
        fallback=_scan,
        clock=clock or (lambda: datetime.now(UTC)),
        new_id=new_operation_id,
        zone=None if config.timezone == "local" else _zone(config.timezone),
        weights=(config.hybrid_vector_weight, config.hybrid_text_weight),
        degraded=degraded,
        claim=lambda: _claimed(machine, "embedding"),
    )
    opened.background = door != "cli"
    found = keep(root, found)
    if found.copy_of[0] and not missing_ok:
        config = config._replace(warnings=(*config.warnings, copied(found)))
    return Memory(opened, config, door=door, embedder=embedder, llm=llm, project=found, missing_ok=missing_ok)


def _claimed(machine: str, work: str) -> AbstractContextManager[bool]:
    from memorybook.storage.process_lock import claimed

    return claimed(os.path.join(machine, f"{work}.lock"))


def _zone(name: str) -> tzinfo | None:
    from zoneinfo import ZoneInfo

    return ZoneInfo(name)


def _scan() -> Index:
    from memorybook.storage.index.scan_index import ScanIndex

    return ScanIndex()


def _index(config: Config, machine: str, embedder: Embedder | None) -> tuple[Index, list[str]]:
    """The configured index, and why it is less than hybrid where that was not asked for."""
    if config.backend == "scan" or not config.fts_enabled:
        reason = [] if config.backend == "scan" else ["fts_enabled is false: searched by scanning the documents"]
        return _scan(), reason
    from memorybook.storage.index.sqlite_index import SqliteIndex

    path = config.db_path or os.path.join(machine, "index.sqlite")
    return SqliteIndex(path, embedder=embedder, sqlite_vec=config.sqlite_vec_extension_path), []


def _embedder(config: Config, machine: str) -> Embedder:
    remote = config.embeddings
    if remote.model.startswith("local/"):
        from memorybook.inference.local import LocalEmbedder

        cache = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "memorybook")
        return LocalEmbedder(remote.model.removeprefix("local/"), cache_dir=cache, dimensions=remote.dimensions)
    if remote.model:
        from memorybook.inference.remote import RemoteEmbedder

        return RemoteEmbedder(
            base_url=config.embedding_base_url,
            api_key=config.embedding_api_key,
            model=remote.model,
            dimensions=remote.dimensions or None,
            batch=remote.batch,
            timeout=remote.timeout,
        )
    from memorybook.inference.static import StaticEmbedder

    return StaticEmbedder(cache_dir=machine)
