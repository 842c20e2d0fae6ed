"""The JSON that tools answer, as types: what doors promise their callers in output schemas and in OpenAPI.

Imported only by doors that bring pydantic, which reads these types; a test holds every answer against them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict


class Entry(TypedDict):
    """An entry with all its fields; `score` is its strength today, 0 to 1, fading applied."""

    id: str
    text: str
    category: str
    score: float
    state: Literal["active", "archived", "superseded"]
    created_at: str | None
    last_activated: str
    hits: int
    access_count: int
    session: str | None
    source: str | None
    tags: list[str]
    entities: list[str]
    links: list[str]
    group: str | None
    expires_at: str | None
    pinned: bool
    trust: str | None
    superseded_by: str | None
    metadata: dict[str, Any]


class Hit(TypedDict):
    """A passage that was found; `score` ranks within this answer, `relevance` is 0 to 1.

    For models only: `place`, which opens a turn, and `trust`, where it is not the user's.
    """

    path: str
    start_line: int
    end_line: int
    score: float
    relevance: float
    snippet: str
    source: Literal["entry", "note", "summary", "document", "turn"]
    date: str | None
    id: str | None
    category: str | None
    turn: str | None
    session: str | None
    speaker: str | None
    state: NotRequired[Literal["archived", "superseded"]]
    trust: NotRequired[Literal["agent", "tool", "document", "import", "suspect"]]
    place: NotRequired[str]
    why: NotRequired[dict[str, float]]


class IndexState(TypedDict):
    """Whether the index holds all that is on disk, and what it could not do."""

    fresh: bool
    backend: str
    checked_files: int
    pending_vectors: int
    degraded: list[str]


class Found(TypedDict):
    """The answer to a search, best first; `cut` counts what the threshold left out.

    `nearest` (none of the results is relevant) and `left_out` (what a model may ask for besides) are for models only.
    """

    results: list[Hit]
    has_relevant: bool
    nearest: NotRequired[bool]
    threshold: float
    cut: NotRequired[int]
    left_out: NotRequired[list[str]]
    disabled: bool
    backend: str
    root: str
    index: IndexState


class Turn(TypedDict):
    """Where and by whom a turn was said."""

    id: str
    session: str
    session_name: str
    position: int
    role: str
    speaker: str
    time: str | None
    tool_calls: list[dict[str, Any]]
    metadata: dict[str, Any]


Opened = TypedDict(
    "Opened",
    {
        "path": NotRequired[str],
        "from": NotRequired[int],
        "lines": NotRequired[int],
        "total_lines": NotRequired[int],
        "text": NotRequired[str],
        "turn": NotRequired[Turn],
        "entry": NotRequired[Entry],
    },
)
Opened.__doc__ = "Lines of a document, a turn with its text, or an entry."


class Listed(TypedDict):
    """Entries, strongest first; `total` counts all that match."""

    entries: list[Entry]
    total: int


class Recalled(TypedDict):
    """A block for a prompt, its size, whether it may hold an answer, and the entries and hits in it."""

    text: str
    tokens: int
    has_relevant: bool
    memories: list[Entry | Hit]


class Remembered(TypedDict):
    """The entry as it stands now, and what was done to it."""

    entry: Entry
    action: Literal["created", "strengthened", "duplicate"]
    redacted: int
    operation: str | None


class Appended(TypedDict):
    """Where the note stands; of a duplicate where it stood already."""

    path: str
    line: int
    duplicate: bool
    redacted: int
    operation: str | None


class Place(TypedDict):
    """A line of a document."""

    path: str
    line: int


class Skipped(TypedDict):
    """What was not taken, and why."""

    text: str
    reason: str


class Flushed(TypedDict):
    """The notes that were written and what was left out."""

    written: list[Place]
    skipped: list[Skipped]
    redacted: int
    operation: str | None


class Changed(TypedDict):
    """The entry as it stands now, and the operation that changed it.

    The rest after an instruction only; `refused` says why nothing was changed, by no operation then.
    """

    entry: Entry
    operation: str | None
    redacted: NotRequired[int]
    before: NotRequired[str]
    changed: NotRequired[bool]
    refused: NotRequired[str]
    usage: NotRequired[dict[str, Any]]


class Receipt(TypedDict):
    """What was taken away, or would be; `remains` tells where copies still are."""

    dry_run: bool
    entries: list[str]
    notes: list[str]
    sessions: int
    turns: int
    documents: list[str]
    archive: int
    passages: int
    vectors: int
    tombstones: int
    journal: int
    versions: int
    remains: list[str]
    searched: int
    limits: list[str]
    operation: str | None


class Forgotten(TypedDict):
    """The receipt of a forget or a purge."""

    receipt: Receipt


class Change(TypedDict):
    """One change of an operation; `purged` means that its texts were erased."""

    kind: str
    target: str
    before: str | None
    after: str | None
    reason: str
    purged: bool


class Discarded(TypedDict):
    """What a step found and set aside."""

    text: str
    reason: str
    quote: str


class Operation(TypedDict):
    """One operation: who did what through which door, in words and change by change."""

    id: str
    time: str | None
    actor: str
    door: str
    kind: str
    session: str | None
    told: list[str]
    changes: list[Change]
    discarded: list[Discarded]
    usage: dict[str, Any] | None
    undoes: str | None
    undone_by: str | None


class History(TypedDict):
    """Operations, newest first; `more` says whether there are older ones."""

    operations: list[Operation]
    more: bool


class Ground(TypedDict):
    """A turn or lines that an entry rests on; `text` is null if no longer kept."""

    source: str
    text: str | None
    quote: str
    session: str
    session_name: str
    speaker: str
    time: str | None


class Other(TypedDict):
    """Another entry."""

    id: str
    text: str


class Shown(TypedDict):
    """A prompt that an entry entered."""

    time: str | None
    session: str | None
    query: str


class Why(TypedDict):
    """Why an entry is remembered; `entry` is null if it is no longer in the book."""

    id: str
    entry: Entry | None
    rests_on: list[Ground]
    story: list[Operation]
    supersedes: list[Other]
    contradicts: list[Other]
    superseded_by: Other | None
    prompts: list[Shown]
    access_count: int


class Undone(TypedDict):
    """What taking an operation back did, or would."""

    undone: str
    kind: str
    operation: str | None
    dry_run: bool
    changes: list[Change]
    told: list[str]
    exact: list[str]
    adapted: list[str]
    remains: list[str]


class Session(TypedDict):
    """A past conversation."""

    uuid: str
    name: str
    title: str
    summary: str
    started: str | None
    ended: str | None
    turns: int
    path: str
    score: float
    updated: str | None
    open: bool


class Said(TypedDict):
    """A turn of a past conversation, word for word; `place` is what opens it."""

    id: str
    session: str
    role: str
    speaker: str
    text: str
    time: str | None
    position: int
    score: float
    place: str


class Span(TypedDict):
    """The days that a recall was narrowed to."""

    since: str | None
    until: str | None


class Recollection(TypedDict):
    """Past conversations and turns, with a block for a prompt."""

    scene: Literal["history", "topic", "session", "within"]
    sessions: list[Session]
    turns: list[Said]
    has_relevant: bool
    span: Span | None
    reason: str
    degraded: list[str]
    text: str
    tokens: int
    disabled: bool


class Proposal(TypedDict):
    """What waits for a person's word; `stale` says why it no longer fits."""

    id: str
    kind: str
    reason: str
    time: str | None
    state: str
    stale: str
    told: list[str]
    changes: list[dict[str, Any]]
    operation: str | None


class Review(TypedDict):
    """Proposals, oldest first; `kinds` counts all of the asked state."""

    proposals: list[Proposal]
    total: int
    kinds: dict[str, int]


class Status(TypedDict):
    """What is stored where, and whether anything is degraded."""

    root: str
    exists: bool
    disabled: bool
    provider: str
    documents: dict[str, int]
    entries: dict[str, int]
    transcripts: dict[str, int]
    pending_operations: int
    waiting: dict[str, int]
    index: dict[str, Any]
    degraded: list[str]
    warnings: list[str]
    settings: dict[str, Any]


class Disabled(TypedDict):
    """While memory is switched off every tool answers this and does nothing."""

    disabled: Literal[True]
    tool: str
    reason: str


ANSWERS: Mapping[str, Any] = {
    "memory_search": Found,
    "memory_get": Opened,
    "memory_append": Appended,
    "memory_flush": Flushed,
    "memory_remember": Remembered,
    "memory_update": Changed,
    "memory_pin": Changed,
    "memory_forget": Forgotten,
    "memory_list": Listed,
    "memory_recall": Recalled,
    "recall_memory": Found,
    "recall_history": Recollection,
    "recall_topic": Recollection,
    "recall_session": Recollection,
    "recall_within": Recollection,
    "memory_history": History,
    "memory_why": Why,
    "memory_undo": Undone,
    "memory_purge": Forgotten,
    "memory_review": Review,
    "memory_status": Status,
}
"""What each tool answers."""
