"""The seams: what memorybook needs of its parts, on one page.

Each has one conformance suite in `tests/conformance/` that every implementation passes. Values
are in `memorybook.model` and `memorybook.search.types`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, runtime_checkable

from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    import threading
    from datetime import date, datetime

    import numpy as np
    import numpy.typing as npt

    from memorybook.formats.document import (
        Document,
        DocumentInfo,
        Loss,
        SummaryEmbedding,
        SummaryState,
        SummaryUpdate,
        TurnChanges,
    )
    from memorybook.formats.llm_messages import Form, Message, Reply, ToolSchema
    from memorybook.model import Applied, Operation, Parked, Patch, Proposal, Session, Shown, Spent, Turn
    from memorybook.results import Known, Recalled, Receipt
    from memorybook.search.types import Candidates, Passage, Query, SyncReport

    Function = Callable[[list[dict[str, Any]]], str | Mapping[str, Any] | Reply]
    """A function of messages that answers as a language model."""

    Vectors = memoryview[float] | npt.NDArray[np.float32]
    """A C-contiguous float32 buffer of shape (n, dimensions)."""

Progress = Callable[[int, int], None]
"""Called with (done, total) as long work goes on; total 0 while it is unknown."""


class Documents(Protocol):
    """The truth: Markdown by relative path. Text is UTF-8; bytes that are not come back as they were.

    Any method raises Unavailable where the disk or the server refuses.
    """

    def list(self) -> Iterable[DocumentInfo]:
        """Return every `.md` document in the book, in no order. Links and machine state are passed over."""

    def revision(self) -> int | None:
        """Return a number that equals an earlier one of this object only if no document changed since. Cheap.

        None if only a listing tells that. What changes between the two is in the listing, and in the next revision.
        """

    def read(self, path: str) -> Document:
        """Return the document. Raises MissingDocument, UnsafePath."""

    def write(self, path: str, text: str, *, expect: str | None) -> str:
        """Replace the document atomically and durably; return its new revision.

        `expect` is the revision it was read with, None if it must not exist. Raises Conflict if
        it is another by now, UnsafePath.
        """

    def append(self, path: str, line: str) -> str:
        """Append one line (newline added, a torn last line ended first), atomically and durably.

        Returns the stamp it leaves; a revision would mean reading the whole document.
        """

    def remove(self, path: str) -> None:
        """Remove it. Raises MissingDocument, UnsafePath."""

    def remains(self, paths: Collection[str]) -> Sequence[str]:
        """Say where what was taken out of these documents may be kept still, a sentence each."""

    def forget_versions(self) -> int:
        """Remove older versions and backups that are kept of documents; return how many there were."""

    def lost(self, *, settle: bool = False) -> Sequence[Loss]:
        """Return what other programs took from MEMORY.md, oldest first; with `settle` also what they took just now."""

    def forget_lost(self) -> None:
        """Discard what `lost` returns."""

    def prepare(self) -> None:
        """Make the book if there is none; Unavailable if it was moved away or cannot be made."""

    def unread(self) -> Sequence[str]:
        """Describe what looks like a document, or a folder of some, and is none, with the reason, a sentence each."""

    def faults(self) -> Sequence[str]:
        """Say why the book cannot be written, one sentence each, for `status`; nothing if it can."""

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""


class Storage(Protocol):
    """Where a book is kept: its parts, and all that concerns them together; made by `storage.stores.open_storage`."""

    root: str
    """Where it is, for people: a directory or a DSN without its password."""

    machine: str
    """Folder for what only this machine needs: events of agent hosts, exports, caches; "" if there is none."""

    @property
    def documents(self) -> Documents:
        """The truth."""

    @property
    def transcripts(self) -> Transcripts:
        """Sessions with their turns."""

    @property
    def journal(self) -> Journal:
        """What was done to the book."""

    def open_index(self, embedder: Embedder | None) -> Index:
        """Return the index of this book; by words alone without an embedder."""

    def exists(self) -> bool:
        """Return whether there is a book. Cheap."""

    def transaction(self) -> AbstractContextManager[None]:
        """Be the one writer of the book, in any thread and process, until the block ends. Reentrant per thread.

        What the block writes to documents, transcripts and journal comes true together: by one transaction, or by the
        order in which `Book` writes and what it completes after a crash. Raises BookLocked after a timeout.
        """

    def lease(self, work: str) -> AbstractContextManager[bool]:
        """Yield whether nobody else, in any thread or process, does this work until the block ends; never wait.

        The lease of a process that died is free again.
        """

    def identity(self, *, make: bool) -> str:
        """Return 32 hexadecimal digits that tell this book from others; "" if it has none yet and none is to `make`."""

    def drop_prepared(self) -> None:
        """Discard what was prepared from the book to be shown later: it may tell what is forgotten by now."""

    def leftovers(self, holds: Callable[[bytes], object], overlap: int) -> tuple[Sequence[str], int]:
        """Return where bytes are still kept for which `holds` is true, and how many places were searched.

        It is asked piece by piece; pieces share `overlap` bytes.
        """

    def strangers(self, known: set[str]) -> Sequence[str]:
        """Return files beside the documents that are none of the book's, and not `known`."""

    def copy(self, folder: str) -> Sequence[str]:
        """Copy the book as it is at one moment into an empty folder; return the paths, databases last.

        Documents become files with their times and permissions, the databases SQLite files (`storage.archive`).
        Writers wait for the documents alone.
        """

    def restore(self, fill: Callable[[str], None], *, identity: str, replace: bool, now: datetime) -> str:
        """Have `fill` write a book, as `copy` does, into an empty folder, and let that be the book; all of it or none.

        It keeps its identity, or gets this one. Return where the book is now that was here before, "" for none. Raises
        Conflict if there was one that it may not `replace`.
        """

    def notices(self, stop: threading.Event | None) -> Iterator[None]:
        """Yield soon after documents were changed, by whomever, until `stop` is set."""

    def writable(self) -> bool:
        """Return whether documents could be written; True if there is no book yet. Cheap: nothing is tried."""

    def erase(self) -> None:
        """Remove the book with all that is kept of it here. Raises OSError, Unavailable."""

    def hint(self) -> str:
        """Return what people should know who keep the book here, a sentence; "" for nothing."""

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""


class Index(Protocol):
    """Derived from documents and transcripts; may be deleted at any moment, even while in use."""

    def sync(self, documents: Documents, transcripts: Transcripts) -> SyncReport:
        """Bring the index up to date, whatever changed the documents; there is no other way.

        Brings in the words of all that changed; vectors too where no more wait than the embedder takes `inline`.
        """

    def candidates(self, query: Query) -> Candidates:
        """Return words leg, vector leg and neighbours with raw scores; fusion is done by `search.search.rank`."""

    def turns(self, spans: Iterable[tuple[str, int, int]]) -> Sequence[Passage]:
        """Return turns of sessions (uuid) from one position to another, inclusive, as of the last sync; in no order.

        Negative positions count from the session's end: (uuid, -3, -1) are its last three turns.
        """

    def entries(
        self, ids: Collection[str] = (), *, turns: Collection[tuple[str, str]] = (), query: Query | None = None
    ) -> Sequence[Passage]:
        """Return entries by id, and those that rest on a turn (session, id), as of the last sync.

        MEMORY.md comes first, then other documents, each in its order. Filters of the query apply, not its text.
        """

    def embed_pending(self, *, limit: int | None = None, progress: Progress | None = None) -> int:
        """Embed up to `limit` passages that wait for a vector; return how many still wait.

        Raises EmbedderFailed; what was embedded before the failure stays.
        """

    def rebuild(
        self, documents: Documents, transcripts: Transcripts, *, progress: Progress | None = None
    ) -> SyncReport:
        """Make the index anew from the documents and transcripts while searches go on with the old one."""

    def vacuum(self) -> bool:
        """Let no byte of before the last `rebuild` be left; False if another process still needs some."""

    def stats(self) -> Mapping[str, Any]:
        """Return counts and sizes for `status`: `backend`, `passages`, `by_source`, `vectors`, `bytes`, `embedder`."""

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""


class Transcripts(Protocol):
    """Sessions with their turns, kept verbatim (redacted on the way in)."""

    server: str
    """Address of the server that keeps them; "" where they are kept on this machine."""

    def append(self, session: Session, turns: Sequence[Turn]) -> tuple[Turn, ...]:
        """Store turns at the end of the session, creating it; return those that were new, placed.

        A turn whose id is already in the session is left as it is. Turns of role `assistant` or
        `tool` become replies of the chat before them. Durable on return.
        """

    def restore(self, session: Session, turns: Sequence[Turn]) -> int:
        """Put back turns that were removed, at their positions where these are free; return how many.

        A session that is gone comes back with its fields. Turns that stand are left as they are.
        """

    def copying(self, path: str) -> AbstractContextManager[bool]:
        """Copy all of it as it is when the block begins, into the new file `path`, which is whole when the block ends.

        Who writes meanwhile does not wait. False if there is nothing yet, and so no file.
        """

    def check_copy(self, path: str) -> None:
        """Raise Unavailable unless the file is a sound copy as `copying` makes it, with just its tables."""

    def vacuum(self) -> bool:
        """Let no byte of what was removed be left in the files; False if another process still needs some."""

    def update(self, session: Session) -> None:
        """Store the session's own fields (title, summary, path, ended …). Raises NotFound."""

    def set_chat_summary(self, session: str, turn_id: str, summary: str) -> None:
        """Store a summary of the chat that holds the turn; drops the vector of the old one. Raises NotFound."""

    def chat_summaries(self, session: str) -> Mapping[str, str]:
        """Return summaries of a session's chats, by the id of the turn each begins with; those without are left out."""

    def set_summary_embedding(self, session: str, model: str, vector: bytes, dimensions: int) -> None:
        """Keep the vector of a session's summary, little-endian float32; a new summary drops it. Raises NotFound."""

    def told(self, session: str) -> SummaryState:
        """Return how far the summaries of a session (uuid) reach. Cheap. Raises NotFound."""

    def tell(self, telling: SummaryUpdate) -> bool:
        """Keep summaries of a session and its chats at once, which go with any of the turns that they were made of.

        False, and none is kept, if turns of it went since `told`, or it was given another summary. Raises NotFound.
        """

    def chats(self, session: str, *, after: int = -1) -> Sequence[tuple[Turn, ...]]:
        """Return the turns of each chat of a session (uuid) that has one after that position, in order."""

    def session(self, name: str) -> Session:
        """Return the session by uuid, or by name if only one has it. Raises NotFound, Conflict (several)."""

    def sessions(self, *, limit: int | None = None, turn_ids: bool = True) -> Sequence[Session]:
        """Return sessions, newest first; without `turn_ids` cheaper."""

    def left_open(self, source: str, before: datetime, *, limit: int | None = None) -> Sequence[str]:
        """Return sessions (uuid) of that source that have not ended, last turn before that time; oldest first."""

    def going_on(self, source: str, channel: str, chat_id: str) -> Sequence[Session]:
        """Return open sessions of that source and tenant, newest first, without the ids of their turns."""

    def running(self, *, limit: int) -> Sequence[tuple[Session, SummaryEmbedding | None]]:
        """Return open sessions whose summary stands in no document, with its vector, newest first."""

    def turns(self, session: str, *, last: int | None = None) -> Sequence[Turn]:
        """Return all turns of a session (uuid) in order, or the last so many; empty if there is none."""

    def each_turn(self, session: str) -> Iterator[Turn]:
        """Iterate over the turns of a session (uuid) in order, without holding them all."""

    def find(self, turn_id: str, session: str | None = None) -> Sequence[Turn]:
        """Return turns of that id, one per session that has one, or only that of a session (uuid)."""

    def shared(self, turn_ids: Iterable[str]) -> frozenset[str]:
        """Return those of these ids that turns of several sessions have."""

    def short_names(self, turns: Iterable[tuple[str, str]]) -> Sequence[str]:
        """Return a name for each (session, id) that `beginning_with` finds: `ID` or `SESSION/ID`, UUIDs cut."""

    def beginning_with(self, turn: str, session: str = "") -> Sequence[tuple[str, str]]:
        """Return (session, id) of at most 6 turns whose id is `turn` or a UUID that begins so; session likewise.

        "" is any session.
        """

    def remove(self, session: str, turn_ids: Iterable[str] | None = None) -> int:
        """Remove these turns, or the whole session, with summaries made of them; return how many turns went."""

    def rewrite(self, then: Session, old: Sequence[Turn], now: Session, new: Sequence[Turn]) -> int:
        """Give turns of a session that are as in `old` the texts and tool calls in `new`; return how many changed.

        Its title and summary become those of `now` where they are those of `then`. Summaries of chats that told of
        the turns go. Durable on return.
        """

    def revision(self) -> int:
        """Return a number that grows with every change; 0 for an empty store. Cheap."""

    def changes(self, after: int) -> TurnChanges:
        """Return what changed after that revision."""

    def counts(self) -> Mapping[str, int]:
        """Return the numbers of `sessions` and `turns`."""

    def fault(self, *, thorough: bool = False) -> str:
        """Describe in a sentence what happened to the file unseen: it is lost, an older copy, or another one.

        "" if nothing did. Cheap; `thorough` looks at more, for `status`. Raises Unavailable.
        """

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""


class Journal(Protocol):
    """What was done to the book, durably, and what was forgotten for good."""

    def begin(
        self,
        operation: Operation,
        *,
        patches: Iterable[Patch] = (),
        bury: Iterable[str] = (),
        memorized: Iterable[str] = (),
    ) -> None:
        """Record an intention with its preimages and how it will change documents; durable on return.

        The digests in `bury` have tombstones from now on, for as long as the operation is not undone; those in
        `memorized` are marked as by `mark_memorized`.
        """

    def done(self, operation: str) -> None:
        """Mark the operation (id) as carried out."""

    def pending(self) -> Sequence[Operation]:
        """Return operations begun and not marked done, oldest first."""

    def operation(self, id: str) -> Operation:
        """Return the operation of that id. Raises NotFound."""

    def operations(
        self,
        *,
        target: str | None = None,
        session: str | None = None,
        limit: int | None = None,
        alone: bool = False,
        since: datetime | None = None,
        until: datetime | None = None,
        before: str | None = None,
    ) -> Sequence[Operation]:
        """Return operations, newest first: those on one entry id or path (`target`), of one session, or all.

        With `alone` each has its changes to the target alone, and nothing of what was left out. They are from `since`
        on and before `until`; `before` is the id of an operation: only older ones.
        """

    def activity(
        self, *, until: datetime | None, limit: int | None
    ) -> Iterable[tuple[datetime, str, str, str, bool, int]]:
        """Return (minute, verb, kind of change, reason, whether of a session's summary, count), newest minute first.

        Of the last active days (UTC) before a time. The reason is `forgotten` or "".
        """

    def stood(self, since: datetime) -> Iterable[tuple[str, str, str | None]]:
        """Return (target, kind, text before) of the first change to each target from a time on."""

    def patches(self, operation: str) -> Sequence[Patch]:
        """Return how the operation (id) changed documents. Raises NotFound."""

    def undone(self) -> Mapping[str, str]:
        """Return ids of the operations that are undone (and not redone since), with the id of what undid each."""

    def discard(self, operation: str) -> None:
        """Take back an intention that wrote nothing."""

    def bury(self, digests: Iterable[str], *, reason: str, time: datetime) -> None:
        """Record tombstones: texts (by `text.tokens.digest`) that imports must not bring back."""

    def buried(
        self, digests: Iterable[str], *, since: datetime | None = None, but: Collection[str] = ()
    ) -> frozenset[str]:
        """Return which of these digests have a tombstone, without those of operations that are undone.

        With `since` only of tombstones of that time or later; none of the operations `but`.
        """

    def buries(self) -> bool:
        """Return whether there is any tombstone, standing or not. Cheap."""

    def forgotten(self) -> Sequence[Sequence[Applied]]:
        """Return the changes, by operation, of what was forgotten by operations neither undone nor purged."""

    def purge(
        self,
        targets: Collection[str],
        holds: Callable[[str], bool],
        operations: Collection[str] = (),
        asks: Callable[[str], bool] | None = None,
    ) -> Mapping[str, int]:
        """Erase texts: of changes to these targets, and all for which `holds` is true; return counts by table.

        `asks` tells which questions go; None stands for `holds`.
        """

    def copying(self, path: str) -> AbstractContextManager[bool]:
        """Copy all of it as it is when the block begins, into the new file `path`, which is whole when the block ends.

        Who writes meanwhile does not wait. False if there is nothing yet, and so no file.
        """

    def check_copy(self, path: str) -> None:
        """Raise Unavailable unless the file is a sound copy as `copying` makes it, with just its tables."""

    def vacuum(self) -> bool:
        """Let no byte of what was deleted be left in the files; False if another process still needs some."""

    def access_counts(self, ids: Iterable[str]) -> Mapping[str, int]:
        """Return access count by id, 0 left out."""

    def shown(self, ids: Iterable[str], *, time: datetime, session: str | None = None, query: str = "") -> None:
        """Count that a prompt took these entries in, each time an id is named, and record the prompt.

        The newest 20 prompts of each entry are kept, `query` cut to 200 characters.
        """

    def prompts_of(self, id: str) -> Sequence[Shown]:
        """Return the last prompts that the entry entered, newest first."""

    def park(
        self,
        id: str,
        *,
        kind: str,
        payload: Mapping[str, Any],
        reason: str,
        time: datetime,
        session: str | None = None,
        next: datetime | None = None,
    ) -> Parked:
        """Park work that failed for a retry; a known id counts one more try. Durable on return."""

    def parked(self, *, kind: str | None = None, due: datetime | None = None) -> Sequence[Parked]:
        """Return what is parked, oldest first; if given, only of one kind, and what may be tried at the time `due`."""

    def unpark(self, id: str) -> bool:
        """Drop what is parked under that id; return whether there was something."""

    def propose(self, kind: str, changes: Sequence[Mapping[str, Any]], *, reason: str, time: datetime) -> str:
        """Keep changes for a person to decide on, once while they are open; return the id. Durable on return."""

    def proposals(
        self, *, state: str | None = "open", kind: str | None = None, limit: int | None = None
    ) -> Sequence[Proposal]:
        """Return proposals, oldest first; of one state (None: of all) and one kind."""

    def decide(self, id: str, state: str, *, time: datetime, operation: str | None = None) -> None:
        """Settle an open proposal as another `ProposalState`. Raises NotFound, Conflict if settled otherwise."""

    def memorized(self, session: str, digest: str) -> str | None:
        """Return the id of the operation that memorized this content ("" if nothing came of it); None if it is new."""

    def all_memorized(self, session: str) -> frozenset[str]:
        """Return every content of the session that was memorized."""

    def mark_memorized(self, session: str, *digests: str, operation: str, time: datetime) -> None:
        """Record that this content was memorized, where no `begin` does. A loss of power may take it back."""

    def reached(self, session: str) -> int:
        """Return the position of the turn up to which the session was memorized; -1 if nothing of it was."""

    def reach(self, session: str, position: int, *, time: datetime) -> None:
        """Record that the session was memorized up to that turn; never goes back. Durable on return."""

    def spend(
        self, day: date, *, calls: int = 0, failed: int = 0, input_tokens: int = 0, output_tokens: int = 0
    ) -> None:
        """Add to what LLM calls used on that day."""

    def spent(self, day: date) -> Spent:
        """Return what LLM calls used on that day."""

    def fault(self, *, thorough: bool = False) -> str:
        """Describe in a sentence what happened to the file unseen: it is lost, an older copy, or another one.

        "" if nothing did. Cheap; `thorough` looks at more, for `status`. Raises Unavailable.
        """

    def close(self) -> None:
        """Release what is held; closing twice does nothing."""


class Embedder(Protocol):
    """Texts to unit vectors.

    Attributes:
        name: Identifies the vectors; another name means they are made again. Starts with the kind:
            `static/`, `multilingual/`, `local/` or `remote/`.
        dimensions: Length of a row; 0 while a remote one that was given none has not answered yet.
        local: True if it runs here, so that it is tried again at once after a failure; False if it may be down.

    Six more are looked for, and need not be there:
        `chosen`: the embedder that answers by now, for one that chooses among several while it is used.
        `inline`: how many waiting texts a sync may embed by itself; without it all for a local one, else none.
        `embed_questions(texts)`: as `embed`, for what is asked instead of what is searched.
        `expect(texts)`: told which texts are likely to be embedded soon; may make their vectors meanwhile. Told of
            none, it need not keep any longer what nobody asked for.
        `unrelated`: the cosine up to which texts have nothing in common, where that need not be measured.
        `unread(count, total)`: told, after texts were embedded, how many of all got rows of zeros; (0, 0) if they did
            not.
    """

    local: bool

    @property
    def name(self) -> str:
        """See above."""

    @property
    def dimensions(self) -> int:
        """See above."""

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return a float32 array (n, dimensions), rows of unit length in the order of `texts`.

        A row of zeros says that the embedder cannot read this text. Raises EmbedderFailed.
        """


class LLM(Protocol):
    """A language model. Safe to share between threads.

    Attributes:
        name: For people, journals and `status`; never holds a key.

    Three more are looked for, and need not be there:
        `gated(allow)`: this model, asking `allow(used)` before each request that it makes, with the Usage of this
            `complete` so far; what that raises ends the `complete`. So a budget holds for retries and second asks too.
        `stream(messages, *, tools, tool_choice, max_tokens)`: pieces of the text as they come; a generator that
            returns the whole Reply.
        `close()`: release connections.
    """

    name: str

    def complete(
        self,
        messages: Sequence[Message],
        *,
        form: Form[Any] | None = None,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """Return one answer; ask a second time, with what was wrong, if the first cannot be used.

        Args:
            messages: See `memorybook.formats.llm_messages`; at least one.
            form: Wanted as `data`; not together with tools.
            tools: What it may call.
            tool_choice: None leaves it to the model, `required` wants some call, a tool's name wants that one.
            max_tokens: Of the answer; None is the model's own setting.

        Raises:
            InvalidInput: No messages, a message or a combination of arguments that cannot be sent.
            LLMFailed: No answer, or none that can be used; holds the usage.
            BudgetSpent: It may not be asked.
        """


@runtime_checkable
class MemoryProvider(Protocol):
    """A policy over a book: what goes into the prompt, what is remembered. Safe to share between threads.

    Attributes:
        name: `flat`, `tiered` or `agentic`.
        failure: Why the last recall gave nothing; "" if it did not fail.
    """

    name: str
    failure: str

    def recall(self, query: str) -> str:
        """Return the block for a prompt, between markers by which it is cut out again; "" if there is nothing to say.

        A recall that fails gives "" too and logs a warning, for a turn of a talk must not fail by it.
        """

    def recalled(self, query: str, *, max_tokens: int | None = None) -> Recalled:
        """Return the block with its memories, at most so many tokens (None: 2,000; `flat` is never cut); may raise."""

    def memorize(self, given: MemorizeInput) -> MemorizeResult:
        """Remember the messages that have left the window, see `window`. Never raises.

        Of the system's words, of what recall had put in and of secrets nothing is sent to a model or kept.
        """

    def close(self) -> None:
        """Release what is held; closing twice does nothing. The memory is its opener's to close."""


@runtime_checkable
class Manageable(MemoryProvider, Protocol):
    """A provider whose memories can be looked after one by one, by the ids of entries."""

    def pin(self, id: str) -> Known:
        """Keep the entry from fading, and from being archived or reworded by itself. Raises NotFound."""

    def unpin(self, id: str) -> Known:
        """Let the entry fade again. Raises NotFound."""

    def delete(self, id: str) -> Receipt:
        """Forget the entry, so that it does not come back. Raises NotFound."""


@runtime_checkable
class Evolvable(MemoryProvider, Protocol):
    """A provider that holds a single statement against what is known."""

    def evolve(self, content: str) -> Evolution:
        """Match the statement with what is known. Raises InvalidInput for a blank one, and what writing raises."""


# --- providers ------------------------------------------------------------------------------------

Provider = Literal["flat", "tiered", "agentic"]


@dataclass(frozen=True, slots=True)
class MemorizeInput:
    """A history, and how far it is remembered already.

    Attributes:
        messages: `{"role"|"speaker", "content", "timestamp", …}` in order: all that there are, old ones included.
        last_consolidated: How many of them, from the first on, are remembered.
        llm: The model to ask; None takes that of the memory.
        model: Of the configured server, which model to ask instead; "" takes the setting. Only a name where `llm`
            is given. The journal notes it.
        archive_all: Whether none is kept back: the history ends here.
        memory_window: Of a history that goes on, the newest half of that many messages are kept back.
        session: Uuid or name of the session they belong to; None if there is none.

    Raises:
        InvalidInput: A negative number, or a message that is no mapping.
    """

    messages: Sequence[Mapping[str, Any]]
    last_consolidated: int = 0
    llm: LLM | Function | None = None
    model: str = ""
    archive_all: bool = False
    memory_window: int = 50
    session: str | None = None

    def __post_init__(self) -> None:
        for name in ("last_consolidated", "memory_window"):
            if getattr(self, name) < 0:
                raise InvalidInput(f"{name} {getattr(self, name)!r} is below 0: it counts messages")
        for number, message in enumerate(self.messages):
            if not isinstance(message, Mapping):
                raise InvalidInput(f"message {number} is {message!r}: give a mapping with role and content")


@dataclass(frozen=True, slots=True)
class MemorizeResult:
    """How far the history is remembered now.

    Attributes:
        new_last_consolidated: As given where nothing was to do or it failed; 0 once everything was archived.
        ok: False if it failed: the memory is as it was before.
        reason: Why it failed, one sentence; "" if it did not.
        operation: Id of the operation that wrote it; None if nothing was written.
    """

    new_last_consolidated: int
    ok: bool
    reason: str = ""
    operation: str | None = None


Action = Literal["created", "merged", "updated", "strengthened", "discarded"]


@dataclass(frozen=True, slots=True)
class Evolution:
    """What became of a statement.

    Attributes:
        action: `created`; `merged` into one with what was known; `updated`, in the place of what is no longer true;
            `strengthened`, as it was known; `discarded`, also while it waits for a person's word.
        id: The entry that says it now; None if none does.
        detail: Why, and which other entries it concerns.
        proposals: Ids of what waits in the review queue.
    """

    action: Action
    id: str | None
    detail: str = ""
    proposals: tuple[str, ...] = ()


class Window(NamedTuple):
    """The messages `[start:end]` are to be remembered, if there are any; the offset after that is `after`."""

    start: int
    end: int
    after: int


def window(given: MemorizeInput) -> Window:
    """Return which messages are to be remembered, the same for every provider.

    `[last_consolidated : len - memory_window // 2]`, or with `archive_all` all that are left. Where that is nothing,
    the offset stays, but for `archive_all`, after which there is no history any more.
    """
    count, start = len(given.messages), given.last_consolidated
    if given.archive_all:
        return Window(start, max(start, count), 0)
    end = count - given.memory_window // 2
    return Window(start, end, end) if end > start else Window(start, start, start)
