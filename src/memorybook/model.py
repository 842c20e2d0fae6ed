"""The contents of a book as frozen values: entries, notes, turns, sessions and changes to them.

Nothing here reads a clock, a file or a network. All times are timezone-aware UTC; a day is a whole
UTC date. What a search returns lives in `memorybook.search.types`, apart, so that a cold search imports
none of this.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, Literal, get_args

Category = Literal["preference", "fact", "decision", "experience", "workflow", "skill_usage", "todo", "context"]
"""How an entry is extracted and shown; never how it ages."""

CategoryName = Category | Literal["skill", "pattern"]
"""A category, or an alias of one, as callers may name it."""

Importance = Literal["high", "medium", "low"]

CATEGORIES: tuple[Category, ...] = get_args(Category)

CATEGORY_ALIASES: Mapping[str, Category] = MappingProxyType({"skill": "experience", "pattern": "workflow"})

Trust = Literal["suspect", "import", "document", "tool", "agent", "user"]
"""The door a text came through, from the least trusted to the most; merging takes the lower."""

TRUST_ORDER: tuple[Trust, ...] = get_args(Trust)


def trusted_as(one: Trust | None, other: Trust | None) -> bool:
    """Return whether one trust is no lower than another; None, a person's own hand, is that of the user."""
    return TRUST_ORDER.index(one or "user") >= TRUST_ORDER.index(other or "user")


State = Literal["active", "archived", "superseded"]

IMPORTANCE: Mapping[str, float] = MappingProxyType({"high": 0.8, "medium": 0.6, "low": 0.4})
"""Score of a new entry by importance (design law: high 0.8, medium 0.6, low 0.4)."""

_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One remembered statement, as it stands in `MEMORY.md` or `archive/`.

    Attributes:
        id: Stable name, `[A-Za-z0-9_-]+`; survives edits, moves and re-indexing.
        text: The statement, may span lines, redacted, never blank.
        category: See `Category`.
        score: Exact strength 0..1 as it was on the day `scored`; fading is applied when it is read.
        scored: UTC day the score was written for.
        last_activated: UTC day of the last reinforcement (or of creation).
        hits: How often it was said or confirmed, at least 0.
        archived: Whether it stands in the archived section or in `archive/`.
        created: When first remembered; None for an entry that a person wrote without saying, or that rests on what was
            said at a time nobody knows.
        session: Session it belongs to; None means everybody's.
        source: Where it rests: `path#L3-L5` or `turn:ID`; None if nobody said.
        tags, entities: Words for finding it; no order.
        links: Ids of related entries.
        group: Hierarchical, `work/api`; None is ungrouped.
        expires: Day a todo lapses; None never.
        pinned: Never fades, is never archived or removed by itself.
        verified: UTC day it was last confirmed, where that does not follow from the other fields; see `confirmed_on`.
        lasting: Of a kind that needs no confirming, such as a birthday, whatever its category.
        trust: See `Trust`; None means a person wrote it into the file.
        superseded_by: Id of the entry that replaced it; None while it is current.
        contradicts: Ids of entries that this one contradicts.
        metadata: Free JSON object of the caller.
        unknown: Fields of the comment line that this version does not know, kept in order.

    Raises:
        ValueError: Blank text or id, score outside 0..1, negative hits, unknown category, or a
            `created` without a timezone.
    """

    id: str
    text: str
    category: Category
    score: float
    scored: date
    last_activated: date
    hits: int = 1
    archived: bool = False
    created: datetime | None = None
    session: str | None = None
    source: str | None = None
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    group: str | None = None
    expires: date | None = None
    pinned: bool = False
    verified: date | None = None
    lasting: bool = False
    trust: Trust | None = None
    superseded_by: str | None = None
    contradicts: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)
    unknown: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.id or not self.text.strip():
            raise ValueError(f"entry {self.id!r} needs an id and a text")
        if not 0.0 <= self.score <= 1.0:
            raise ValueError(f"entry {self.id!r}: score {self.score} is not in 0..1")
        if self.hits < 0:
            raise ValueError(f"entry {self.id!r}: hits {self.hits} is negative")
        if self.category not in CATEGORIES:
            raise ValueError(f"entry {self.id!r}: category {self.category!r} is not one of {', '.join(CATEGORIES)}")
        if self.created is not None and self.created.tzinfo is None:
            raise ValueError(f"entry {self.id!r}: created {self.created} has no timezone")

    @property
    def said_on(self) -> date | None:
        """UTC day it was said or written; None if it rests on what was said or imported without a time."""
        if self.created is not None:
            return self.created.astimezone(UTC).date()
        return None if (self.source or "").startswith(("turn:", "import:")) else self.last_activated

    @property
    def confirmed_on(self) -> date | None:
        """UTC day it was last said or confirmed by somebody trusted as much as whoever said it; None if unknown."""
        return self.verified or (self.last_activated if self.hits > 1 else self.said_on)

    @property
    def state(self) -> State:
        """`superseded` once something replaced it, else the section it stands in."""
        if self.superseded_by is not None:
            return "superseded"
        return "archived" if self.archived else "active"


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """One stamped line of `daily/DATE.md`.

    Attributes:
        time: When it was written, UTC, whole seconds.
        text: One line (newlines folded into spaces), redacted.
        kind: Short lower-case word such as `pref`; None if it has none.
        tags: Without the `#`.
    """

    time: datetime
    text: str
    kind: str | None = None
    tags: tuple[str, ...] = ()


Role = Literal["user", "assistant", "system", "tool", ""]
"""Who spoke to an agent; empty in a talk between people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message as it was said.

    Attributes:
        id: The source's own id where it has one, else made from the content; unique in its session.
        session: Uuid of its session.
        role: See `Role`.
        speaker: Name; falls back to the role.
        text: What was said, redacted, may span lines.
        time: When, UTC; None if the source does not say.
        position: Place in the session, from 0; -1 until it is stored.
        tool_calls: As the source has them, JSON objects.
        metadata: Other fields of the source, JSON object.
    """

    id: str
    session: str
    text: str
    role: Role = ""
    speaker: str = ""
    time: datetime | None = None
    position: int = -1
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A talk from its opening to its end.

    Attributes:
        uuid: Stable id.
        name: The source's own name for it (`S1`), "" if none.
        title: One line.
        summary: Some lines; "" until there is one.
        path: Its summary document, `sessions/DATE-NAME.md`; "" until written.
        created, updated: First and last turn's time, UTC; None if the source has no times.
        ended: None while it is open.
        source: What it came from, e.g. `import:chat.jsonl`.
        channel, chat_id: Where an agent talks (`telegram`, `4711`); "" if nowhere in particular.
        turn_ids: Ids of its turns in order; filled on reading.
    """

    uuid: str
    name: str = ""
    title: str = ""
    summary: str = ""
    path: str = ""
    created: datetime | None = None
    updated: datetime | None = None
    ended: datetime | None = None
    source: str = ""
    channel: str = ""
    chat_id: str = ""
    turn_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionSummary:
    """The contents of a session page `sessions/….md`: front matter, summary, decisions, open questions, turns."""

    session: str
    title: str
    summary: str
    name: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    turns: int = 0
    decisions: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    turn_ids: tuple[str, ...] = ()


# --- changes: what to do, as values; only Book.apply carries them out --------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Add:
    """Add an entry.

    If an entry makes the same statement (equal normalised text), that one is reinforced instead, or
    left alone when it is from the same session: said once, heard once. An id that is taken is replaced.
    """

    entry: Entry
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Update:
    """Set fields of the entry `id`, as it stands when the change is applied. Keys are names of `Entry` fields."""

    id: str
    fields: Mapping[str, Any]
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforce:
    """The entry was said again, confirmed or used: score += (1 - score) * 0.2, hits + 1, activated today.

    With `confirms`, somebody trusted as much as whoever said it first says so, on the day `said`; None is today.
    """

    id: str
    reason: str = ""
    confirms: bool = False
    said: date | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Move the entry to the archived section."""

    id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remove:
    """Take the entry out of the documents."""

    id: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Supersede:
    """The entry `id` is no longer true, the entry `by` says what is: half its score, `superseded_by` set, both kept.

    `by` may be the id that an `Add` before it in the same operation asked for. Left alone if `by` did that before.
    """

    id: str
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Append:
    """Append one line to a document, or, with `section`, as a list item under that heading of `MEMORY.md`.

    Left out, and reported as duplicate, if the same normalised text stands there already. With `apart` it is a
    paragraph of its own: there is a blank line before it.
    """

    path: str
    line: str
    section: str | None = None
    reason: str = ""
    apart: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Put:
    """Write a whole document, such as a session's summary.

    `made_from` is the text it was made from, "" if there was none: if another stands there by then,
    applying it raises Conflict. With None it replaces whatever stands there.
    """

    path: str
    text: str
    reason: str = ""
    made_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drop:
    """Take a line out of an append-only document or a person's part of MEMORY.md; the whole document if `line` is None.

    `made_from` is the text that is to go: if another stands there by then, applying it raises Conflict. With None
    whatever stands there goes. `left` is what stays of the line; "" takes all of it.
    """

    path: str
    line: str | None = None
    left: str = ""
    reason: str = ""
    made_from: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveTurns:
    """Take turns out of the transcripts, or the whole session when `turn_ids` is None.

    They are kept in the journal until they are purged, so that this can be undone.
    """

    session: str
    turn_ids: tuple[str, ...] | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTurns:
    """Replace the texts of turns of a session; with a title or a summary, those that the transcripts keep of it.

    What stood there is kept in the journal until it is purged, so that this can be undone.

    Attributes:
        session: Its uuid.
        texts: The new text by turn id; ids that the session does not have are left alone.
        title, summary: None leaves them.
        tool_calls, metadata: Those that change by turn id, of turns in `texts`.
    """

    session: str
    texts: Mapping[str, str] = field(default_factory=lambda: _NOTHING)
    title: str | None = None
    summary: str | None = None
    tool_calls: Mapping[str, tuple[Mapping[str, Any], ...]] = field(default_factory=lambda: _NOTHING)
    metadata: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: _NOTHING)
    reason: str = ""


Change = Add | Update | Reinforce | Archive | Remove | Supersede | Append | Put | Drop | RemoveTurns | EditTurns


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """What one change did: the journal's record, enough to explain it, finish it or take it back.

    Attributes:
        kind: Name of the change, lower case (`add`, `update`, …).
        target: Entry id, document path for lines and whole documents, `session:UUID` for turns.
        before: Rendered entry, line, document or turns (JSON) before; None if there was none.
        after: The same afterwards; None if it is gone.
        reason: Why, in a few words.
        purged: Whether the texts were erased; `before` and `after` then say only whether there was one.
    """

    kind: str
    target: str
    before: str | None
    after: str | None
    reason: str = ""
    purged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Discarded:
    """A candidate that was not stored.

    Attributes:
        text: What it said.
        reason: Why it was left out.
        quote: The words it rested on; "" if there are none.
    """

    text: str
    reason: str
    quote: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patch:
    """How one document's text changed: enough to have either text from the other, byte for byte.

    Attributes:
        path: Of the document.
        before, after: Digests of the texts (`text.patch.fingerprint`); None where there was no document.
        hunks: What differs, see `text.patch`; empty once it was purged.
    """

    path: str
    before: str | None
    after: str | None
    hunks: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A set of changes applied together.

    Attributes:
        id: Sortable by time, unique.
        time: When, UTC.
        actor: Who asked: `user`, `agent`, an agent's name.
        door: Where it came in: `python`, `cli`, `mcp`, `http`, `import`.
        kind: The verb that asked: `remember`, `append`, `flush`, `memorize`, `import`, `forget`, `tidy`, `review`,
            `undo` …; "" if it is not known.
        session: Session it belongs to, or None.
        changes: What was done, in order.
        discarded: Candidates that were not stored, in order.
        usage: What the LLM calls used, a JSON object; None if there were none.
        undoes: Id of the operation that it took back, or None.
        done: False for an intention whose writes are not all confirmed.
    """

    id: str
    time: datetime
    actor: str
    door: str
    kind: str = ""
    session: str | None = None
    changes: tuple[Applied, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    usage: Mapping[str, Any] | None = None
    undoes: str | None = None
    done: bool = True


# --- what waits, and what was used ---------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Parked:
    """Work that failed and is tried again.

    Attributes:
        id: Chosen by who parks it; parking the same id again counts a try.
        kind: What is to be done, `memorize` for turns.
        session: Session it belongs to, or None.
        payload: All that is needed to try again, a JSON object.
        reason: Why it failed last.
        tries: How often it failed, from 1.
        since: When it failed first, UTC.
        next: When to try again, UTC; None for whenever there is time.
    """

    id: str
    kind: str
    payload: Mapping[str, Any]
    reason: str
    since: datetime
    session: str | None = None
    tries: int = 1
    next: datetime | None = None


ProposalState = Literal["open", "accepted", "rejected", "withdrawn"]
"""`withdrawn`: what it was about changed, so that it no longer fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """Changes that wait for a person's word.

    Attributes:
        id: Short, unique.
        kind: `archive`, `remove`, `merge`, `conflict` …: what they are accepted by.
        changes: JSON objects; who proposes knows how to read them.
        reason: Why, one sentence.
        time: When it was proposed, UTC.
        state: See `ProposalState`.
        operation: Id of the operation that carried it out, or that notes why it was rejected; None while it is open.
    """

    id: str
    kind: str
    changes: tuple[Mapping[str, Any], ...]
    reason: str
    time: datetime
    state: ProposalState = "open"
    operation: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What LLM calls used on one day: calls (failed ones included), how many failed, tokens in and out."""

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Shown:
    """A prompt that an entry entered: when (UTC), in which session, and for which words (masked, cut)."""

    time: datetime
    session: str | None = None
    query: str = ""
