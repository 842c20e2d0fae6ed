"""The JSON that verbs answer, as types for OpenAPI; those that tools answer too are in `memorybook.shapes`."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from memorybook.shapes import (
    Appended,
    Changed,
    Discarded,
    Entry,
    Flushed,
    Forgotten,
    Found,
    History,
    Hit,
    IndexState,
    Listed,
    Opened,
    Recalled,
    Recollection,
    Remembered,
    Review,
    Session,
    Skipped,
    Status,
    Undone,
    Why,
)

__all__ = [
    "Appended",
    "Changed",
    "Flushed",
    "Forgotten",
    "Found",
    "History",
    "Listed",
    "Opened",
    "Recalled",
    "Recollection",
    "Remembered",
    "Review",
    "Status",
    "Undone",
    "Why",
]


class Accepted(TypedDict):
    """A proposal that was carried out; `operation` is null if nothing was left to do."""

    id: str
    operation: str | None


class Stale(TypedDict):
    """A proposal that no longer fits."""

    id: str
    reason: str


class Reviewed(TypedDict):
    """What a person's word did; `anew` are proposals that took the place of stale ones."""

    accepted: list[Accepted]
    rejected: list[str]
    stale: list[Stale]
    anew: list[str]


class Counts(TypedDict):
    """How many, by kind."""

    done: dict[str, int]
    proposed: dict[str, int]


class Tidied(TypedDict):
    """What tidying did, or would."""

    dry_run: bool
    done: list[dict[str, Any]]
    proposed: list[dict[str, Any]]
    withdrawn: list[str]
    fading: int
    operation: str | None
    usage: dict[str, Any] | None
    degraded: list[str]
    counts: Counts


class Memory(Hit):
    """A memory in a block, under its number; its `score` is its relevance."""

    number: int
    type: str


class Cut(TypedDict):
    """What a reader might have wanted and did not get."""

    below_threshold: int
    over_limit: int
    told: str


class Injected(TypedDict):
    """The block of relevant memories for a prompt."""

    text: str
    tokens: int
    memories: list[Memory]
    threshold: float
    max_memories: int
    has_relevant: bool
    cut: Cut
    disabled: bool
    index: IndexState


class Kept(TypedDict):
    """A memory of a task and what became of it; the last three are null where no entry stands."""

    action: str
    text: str
    reason: str
    type: str | None
    importance: float | None
    entry: Entry | None


class Stored(TypedDict):
    """What a finished task was worth, and what was stored of it."""

    should_store: bool
    reasoning: str
    score: float
    threshold: float
    memories: list[Kept]
    discarded: list[Discarded]
    by: Literal["model", "rules", ""]
    redacted: int
    operation: str | None
    proposals: list[str]
    usage: dict[str, Any] | None
    degraded: str
    disabled: bool


class Shared(TypedDict):
    """An entry that every prompt takes."""

    entry: Entry
    redacted: NotRequired[int]


class Held(TypedDict):
    """A session that a client holds: the ids of the turns that were given, and how many of them were new."""

    session: str
    name: str
    turns: list[str]
    new: int
    redacted: int
    skipped: list[Skipped]


class Became(TypedDict):
    """A statement and what became of it."""

    action: str
    id: str | None
    text: str
    reason: str


class Memorized(TypedDict):
    """What the end of a session brought; `queued` counts those that wait to be tried again, 0 if this does not."""

    session: str
    new: int
    updated: int
    merged: int
    reinforced: int
    contradicted: int
    archived: int
    removed: int
    notes: int
    discarded: list[Skipped]
    memories: list[Became]
    summary: str
    operation: str | None
    proposals: list[str]
    queued: int
    usage: dict[str, Any] | None
    redacted: int
    degraded: list[str]


class Talks(TypedDict):
    """Sessions, newest first; `more` says that older ones were left out."""

    sessions: list[Session]
    more: bool
    disabled: NotRequired[bool]


class Asked(TypedDict):
    """Which recall a text asks for; `span` are days as ordinals."""

    scene: Literal["history", "topic", "session", "within"]
    reason: str
    confidence: float
    query: str
    span: list[int | None] | None
    limit: int | None


class DocumentInfo(TypedDict):
    """What a listing tells of a document; `modified` is in seconds since 1970."""

    path: str
    size: int
    stamp: str
    modified: float


class Document(TypedDict):
    """A document as it stands; the revision is its ETag."""

    text: str
    revision: str
    modified: float


class Written(TypedDict):
    """A document that was written or removed; `revision` is null if it is gone."""

    path: str
    revision: str | None
    redacted: int
    operation: str | None


class Made(TypedDict):
    """The book's folder and what was made in it."""

    root: str
    created: list[str]
    hint: str


class Synced(TypedDict):
    """What bringing the index up to date saw and did."""

    checked: int
    changed: int
    removed: int
    pending_vectors: int
    degraded: list[str]
    warnings: list[str]


class Imported(TypedDict):
    """What an import brought, or would."""

    sessions: int
    turns: int
    new_turns: int
    entries: int
    strengthened: int
    notes: int
    redacted: int
    skipped: list[Skipped]
    warnings: list[str]
    summaries: list[str]
    known: int
    files: int
    formats: list[str]
    dry_run: bool


class Tenant(TypedDict):
    """A tenant of the server."""

    name: str
    created: str


class Tenants(TypedDict):
    """All tenants."""

    tenants: list[Tenant]


class Token(TypedDict):
    """A token that was given out, without what is secret of it."""

    id: str
    acts_as: Literal["agent", "user"]
    label: str
    created: str


class Issued(Token):
    """A new token; its text is told this once."""

    token: str


class Issuances(TypedDict):
    """The tokens of a tenant."""

    tokens: list[Token]


class Health(TypedDict):
    """How the server is, as the route has it."""

    status: Literal["alive", "ok", "failing", "ready", "not_ready"]
