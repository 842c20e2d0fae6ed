"""Results of the verbs of `Memory`, except for `memorybook.search.types.Answer`, and their JSON.

Each is a frozen value. Its `json()` is what tools and the command line show. `to_json`, `from_json` and `schema_of`
walk the annotations of any of them: the lossless form that the server and `memorybook.client` speak, in which a record
is the object of its fields, a tuple an array, a time its ISO form. Unknown fields are ignored and missing ones take
their default, so that a server and a client may be of different versions.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import UTC, date, datetime
from functools import cache
from importlib import import_module
from sys import modules
from typing import TYPE_CHECKING, Any, Literal

from memorybook._light import NamedTuple

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Usage
    from memorybook.model import Applied, Entry, Operation, Shown, Turn
    from memorybook.search.types import Hit


NAMED = "named"
"""Field in which an entry keeps the alias its category was given by."""


def entry_json(entry: Entry, *, strength: float, access_count: int = 0) -> dict[str, Any]:
    """Return an entry with all its fields; `score` is its strength today (0..1), fading applied."""
    return {
        "id": entry.id,
        "text": entry.text,
        "category": named(entry),
        "score": round(strength, 6),
        "state": entry.state,
        "created_at": moment(entry.created),
        "last_activated": entry.last_activated.isoformat(),
        "hits": entry.hits,
        "access_count": access_count,
        "session": entry.session,
        "source": entry.source,
        "tags": list(entry.tags),
        "entities": list(entry.entities),
        "links": list(entry.links),
        "group": entry.group,
        "expires_at": entry.expires.isoformat() if entry.expires else None,
        "pinned": entry.pinned,
        "confirmed_on": entry.confirmed_on.isoformat() if entry.confirmed_on else None,
        "lasting": entry.lasting,
        "trust": entry.trust,
        "superseded_by": entry.superseded_by,
        "metadata": dict(entry.metadata),
    }


def named(entry: Entry) -> str:
    """Return the category of an entry as it was given: `skill` and `pattern` are aliases."""
    from memorybook.model import CATEGORY_ALIASES

    names = (value for key, value in entry.unknown if key == NAMED and CATEGORY_ALIASES.get(value) == entry.category)
    return next(names, entry.category)


class Known(NamedTuple):
    """An entry as it is now, with its strength today (0..1) and how often prompts used it.

    After a change also how many secrets were masked in it, and the id of its operation; None if it was only looked at.
    `proposals` are ids of what waits for a person in review instead: an agent's edit of what a person said.
    """

    entry: Entry
    strength: float
    access_count: int = 0
    redacted: int = 0
    operation: str | None = None
    proposals: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"entry": …}`; after a change with `"operation"`, and `"redacted"` and `"proposals"` if any."""
        shown: dict[str, Any] = {
            "entry": entry_json(self.entry, strength=self.strength, access_count=self.access_count)
        }
        changed = {name: value for name in ("redacted", "operation") if (value := getattr(self, name))}
        return {**shown, **changed, **({"proposals": list(self.proposals)} if self.proposals else {})}


class Remembered(NamedTuple):
    """The result of `remember`.

    Attributes:
        known: The entry as it stands afterwards.
        action: `created`; `strengthened`, if the same statement was known; `duplicate`, if this very
            session had said it already.
        redacted: How many secrets were masked.
        operation: Id of the operation; None for a duplicate.
    """

    known: Known
    action: Literal["created", "strengthened", "duplicate"]
    redacted: int = 0
    operation: str | None = None

    @property
    def entry(self) -> Entry:
        """The entry as it stands afterwards."""
        return self.known.entry

    def json(self) -> dict[str, Any]:
        """Return `{"entry": …, "action": …, "redacted": …, "operation": …}`."""
        return {**self.known.json(), "action": self.action, "redacted": self.redacted, "operation": self.operation}


class Appended(NamedTuple):
    """Where a note went: `line` is its 1-based line in `path`, of the earlier one if it is a duplicate."""

    path: str
    line: int
    duplicate: bool
    redacted: int = 0
    operation: str | None = None

    def json(self) -> dict[str, Any]:
        """Return `{"path", "line", "duplicate", "redacted", "operation"}`."""
        return self._asdict()


class Flushed(NamedTuple):
    """The result of `flush`: places written (`path`, 1-based `line`) and texts skipped (`text`, `reason`)."""

    written: tuple[tuple[str, int], ...]
    skipped: tuple[tuple[str, str], ...]
    redacted: int = 0
    operation: str | None = None

    def json(self) -> dict[str, Any]:
        """Return `{"written": [{"path", "line"}], "skipped": [{"text", "reason"}], "redacted", "operation"}`."""
        return {
            **self._asdict(),
            "written": [{"path": path, "line": line} for path, line in self.written],
            "skipped": [{"text": text, "reason": reason} for text, reason in self.skipped],
        }


class Lines(NamedTuple):
    """Lines of a document: `length` of them from the 1-based `start`, of `total`."""

    path: str
    start: int
    length: int
    total: int
    text: str

    def json(self) -> dict[str, Any]:
        """Return `{"path", "from", "lines", "total_lines", "text"}`."""
        names = ("path", "from", "lines", "total_lines", "text")
        return dict(zip(names, self, strict=True))


class Said(NamedTuple):
    """A turn, opened: with the path of its session's summary ("" if it has none)."""

    turn: Turn
    path: str
    session_name: str

    def json(self) -> dict[str, Any]:
        """Return `{"turn": {…}, "path", "from", "lines", "total_lines", "text"}`: lines count the turn's own text."""
        time = self.turn.time.isoformat().replace("+00:00", "Z") if self.turn.time else None
        turn = {**to_json(self.turn), "session_name": self.session_name, "time": time}
        text = turn.pop("text")
        count = text.count("\n") + 1
        return {"turn": turn, "path": self.path, "from": 1, "lines": count, "total_lines": count, "text": text}


class Listed(NamedTuple):
    """Entries, strongest first, cut at the limit, over which it iterates; `total` counts all that match."""

    entries: tuple[Known, ...]
    total: int

    def __iter__(self) -> Iterator[Known]:  # type: ignore[override]
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def json(self) -> dict[str, Any]:
        """Return `{"entries": [{…}], "total"}`."""
        return {"entries": [known.json()["entry"] for known in self.entries], "total": self.total}


class Receipt(NamedTuple):
    """What `forget` or `purge` removed, or would remove.

    Attributes:
        dry_run: True if nothing was done.
        entries: Ids of the entries.
        notes: `path: line` of the notes.
        sessions, turns: Counts in the transcripts.
        documents: Paths of whole documents removed.
        archive: How many of the entries stood in `archive/`.
        passages, vectors: How many left the index.
        tombstones: Texts that imports will not bring back.
        journal: Texts of the journal, with prompts, proposals and parked work, that were erased; only by `purge`.
        versions: Old versions of documents that were removed, `MEMORY.md.bak` included; only by `purge`.
        remains: Where copies still are, one sentence each.
        searched: Files of the book that were searched for what was erased; only by `purge`.
        limits: What purging cannot do, one sentence each; only by `purge`.
        operation: Id of the operation; None if nothing was done.
        places: `turn:SESSION/ID` of the turns that go in whole or in part, but for those of whole sessions.
    """

    dry_run: bool
    entries: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    sessions: int = 0
    turns: int = 0
    documents: tuple[str, ...] = ()
    archive: int = 0
    passages: int = 0
    vectors: int = 0
    tombstones: int = 0
    journal: int = 0
    versions: int = 0
    remains: tuple[str, ...] = ()
    searched: int = 0
    limits: tuple[str, ...] = ()
    operation: str | None = None
    places: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"receipt": {…}}`."""
        return {"receipt": to_json(self)}


class Undone(NamedTuple):
    """The result of `undo`.

    Attributes:
        undone: Id of the operation that was taken back.
        kind: Its verb.
        operation: Id of the operation that took it back; None for a dry run.
        dry_run: True if nothing was done.
        changes: What taking it back changed, in order; `told` says it in words.
        exact: Paths of documents that are again what they were, byte for byte.
        adapted: Paths of documents that changed elsewhere since, which keep that.
        remains: What stays of an import, and how to take it out, one sentence each.
    """

    undone: str
    kind: str
    operation: str | None
    dry_run: bool
    changes: tuple[Applied, ...] = ()
    told: tuple[str, ...] = ()
    exact: tuple[str, ...] = ()
    adapted: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"undone", "kind", "operation", "dry_run", "changes": [{"kind", "target"}], "told", "exact", …}`."""
        shown: dict[str, Any] = to_json(self)
        return shown


class Happened(NamedTuple):
    """One operation, as the history tells it.

    Attributes:
        operation: The operation, with all its changes.
        told: Each change in words, in order; only those of what was asked for.
        undone_by: Id of the operation that took it back; None while it stands.
    """

    operation: Operation
    told: tuple[str, ...]
    undone_by: str | None = None

    def json(self) -> dict[str, Any]:
        """Return `{"id", "time", "actor", "door", "kind", "session", "told", "changes", "discarded", "usage", …}`."""
        shown = {**to_json(self.operation), "time": moment(self.operation.time)}
        del shown["done"]
        return {**shown, "told": list(self.told), "undone_by": self.undone_by}


class History(NamedTuple):
    """Operations, newest first, over which it iterates; `more` says whether there are older ones."""

    operations: tuple[Happened, ...]
    more: bool = False

    def __iter__(self) -> Iterator[Happened]:  # type: ignore[override]
        return iter(self.operations)

    def __len__(self) -> int:
        return len(self.operations)

    def json(self) -> dict[str, Any]:
        """Return `{"operations": [{…}], "more"}`."""
        return {"operations": [each.json() for each in self.operations], "more": self.more}


class Activity(NamedTuple):
    """How many changes of each kind a day brought; those of summaries are not counted.

    Attributes:
        day: UTC.
        learned, again, replaced: Entries and notes added, said again, no longer true.
        faded: Archived, or removed by tidying.
        forgotten: By order of a person.
        other: Edited, merged, undone.
    """

    day: date
    learned: int = 0
    again: int = 0
    replaced: int = 0
    faded: int = 0
    forgotten: int = 0
    other: int = 0

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        return {**self._asdict(), "day": self.day.isoformat()}


class Ground(NamedTuple):
    """The evidence of an entry.

    Attributes:
        source: `path#L3-L5`, `turn:ID`, or `turn:SESSION/ID` where several sessions have a turn of that id.
        text: What was said or stands there; None if it is no longer kept.
        quote: The words of it that count; "" if nobody marked them.
        session: Uuid of the session, "" if there is none; `session_name` is its name.
        speaker: Who said it; "" if nobody knows.
        time: When; None if nobody knows.
    """

    source: str
    text: str | None
    quote: str = ""
    session: str = ""
    session_name: str = ""
    speaker: str = ""
    time: datetime | None = None

    def json(self) -> dict[str, Any]:
        """Return all fields; `text` is null if it is no longer kept."""
        return {**self._asdict(), "time": moment(self.time)}


class Why(NamedTuple):
    """Why an entry is in the book.

    Attributes:
        id: Its id.
        known: The entry as it is now; None if it is no longer in the book.
        rests_on: The turns and lines it rests on.
        story: What created, strengthened, changed and superseded it, oldest first.
        supersedes, contradicts: Ids and texts of entries that it replaced, or speaks against ("" if gone).
        superseded_by: The one that replaced it, or None.
        prompts: The last prompts that it entered, newest first.
    """

    id: str
    known: Known | None
    rests_on: tuple[Ground, ...] = ()
    story: tuple[Happened, ...] = ()
    supersedes: tuple[tuple[str, str], ...] = ()
    contradicts: tuple[tuple[str, str], ...] = ()
    superseded_by: tuple[str, str] | None = None
    prompts: tuple[Shown, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"id", "entry", "rests_on", "story", "supersedes": [{"id", "text"}], …, "access_count"}`."""
        replaced = self.superseded_by
        return {
            "id": self.id,
            "entry": None if self.known is None else self.known.json()["entry"],
            "rests_on": [ground.json() for ground in self.rests_on],
            "story": [each.json() for each in self.story],
            "supersedes": [{"id": id, "text": text} for id, text in self.supersedes],
            "contradicts": [{"id": id, "text": text} for id, text in self.contradicts],
            "superseded_by": None if replaced is None else {"id": replaced[0], "text": replaced[1]},
            "prompts": [{**to_json(shown), "time": moment(shown.time)} for shown in self.prompts],
            "access_count": 0 if self.known is None else self.known.access_count,
        }


def moment(time: datetime | None) -> str | None:
    """Return a time in UTC as answers show it, `2026-02-24T10:12:33Z`."""
    return None if time is None else time.astimezone(UTC).isoformat().replace("+00:00", "Z")


class Recalled(NamedTuple):
    """A block for the prompt, its size in tokens, and the memories in it.

    Attributes:
        text: The block between its markers; "" when there is nothing to say.
        tokens: Estimated size of `text`.
        hot: Entries that are always in the prompt, pinned and strongest first.
        cold: Hits for the query, most wanted first; the block shows them newest first.
        has_relevant: Whether the book claims to know an answer to the query; False for a blank one.
    """

    text: str
    tokens: int
    hot: tuple[Known, ...] = ()
    cold: tuple[Hit, ...] = ()
    has_relevant: bool = False

    def json(self) -> dict[str, Any]:
        """Return `{"text", "tokens", "has_relevant", "memories": [{…}]}`: entries of every prompt, then hits."""
        memories: list[dict[str, Any]] = [known.json()["entry"] for known in self.hot]
        memories += [hit.json() for hit in self.cold]
        return {"text": self.text, "tokens": self.tokens, "has_relevant": self.has_relevant, "memories": memories}


class BlockLine(NamedTuple):
    """A line of a prompt's block.

    Attributes:
        part: `frame`, `written` (by a person in MEMORY.md), `standing` (entries of every prompt) or `found` (hits).
        text: The line; several where a statement has more.
        tokens: Its estimated size.
        target: What `get` opens: an entry's id, `turn:SESSION/ID` or `path:FIRST-LAST`; "" for words of the frame.
        relevance: Of a hit, 0..1; None for other parts.
    """

    part: Literal["frame", "written", "standing", "found"]
    text: str
    tokens: int
    target: str = ""
    relevance: float | None = None


class LeftOut(NamedTuple):
    """A hit that is not in a prompt's block.

    Attributes:
        text: What it says.
        target: What `get` opens.
        reason: `suspect` (or text of a tool), `superseded`, `archived`, `repeated` (in other words of the block),
            `question` (turns that only ask), `budget` (no room).
        relevance: 0..1.
    """

    text: str
    target: str
    reason: Literal["suspect", "superseded", "archived", "repeated", "question", "budget"]
    relevance: float


class Preview(NamedTuple):
    """A prompt's block as `recall` builds it, taken apart.

    Attributes:
        text, tokens, has_relevant: As in `Recalled`.
        lines: All of `text`, in order.
        left_out: Hits that are not told, best first.
        max_tokens: The room there was.
    """

    text: str
    tokens: int
    has_relevant: bool
    lines: tuple[BlockLine, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    max_tokens: int = 0

    def json(self) -> dict[str, Any]:
        """Return all fields."""
        shown: dict[str, Any] = to_json(self)
        return shown


class Left(NamedTuple):
    """Something that was not stored, and why."""

    text: str
    reason: str


class Memorized(NamedTuple):
    """The result of memorizing a session.

    Attributes:
        session: Its uuid.
        new: Entries that were added; `merged` of an old one and what was said now.
        updated: Entries in the place of one that is no longer true, and those that were said again.
        reinforced, contradicted: Entries that were said again, and that are no longer true.
        archived, removed: Entries that were put aside, and taken out because the user asked for it.
        notes: Lines that were written.
        discarded: What was found and is not stored, with the reason.
        memories: For each statement what became of it: action, id (None if no entry says it), text, reason.
        summary: Path of the session's summary; "" if none was written.
        operation: Id of the operation; None if nothing was done.
        proposals: Ids of what waits for a person's word.
        queued: How many sessions wait to be tried again, this one among them; 0 if this one does not.
        usage: What the language model used; None if it was not asked.
        redacted: Secrets masked in what was given.
        degraded: What was less than it should be, one sentence each; why this session waits, if it does.
    """

    session: str
    new: int = 0
    updated: int = 0
    merged: int = 0
    reinforced: int = 0
    contradicted: int = 0
    archived: int = 0
    removed: int = 0
    notes: int = 0
    discarded: tuple[Left, ...] = ()
    memories: tuple[tuple[str, str | None, str, str], ...] = ()
    summary: str = ""
    operation: str | None = None
    proposals: tuple[str, ...] = ()
    queued: int = 0
    usage: Usage | None = None
    redacted: int = 0
    degraded: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"session", "new", "updated", "removed", …, "discarded": [{"text", "reason"}], "memories"}`."""
        names = ("action", "id", "text", "reason")
        return {
            **to_json(self),
            "memories": [dict(zip(names, each, strict=True)) for each in self.memories],
            "usage": None if self.usage is None else self.usage.json(),
        }


class Imported(NamedTuple):
    """The result of an import, also of a dry run.

    Attributes:
        sessions, turns: In the files; turns not stored before are `new_turns`.
        entries, strengthened, notes: Written, or said once more.
        redacted: Secrets masked.
        skipped: Texts that were not taken, with the reason.
        warnings: What could not be read, and what was less than it should be.
        summaries: Paths of the summaries written.
        known: Entries and notes that the files bring and that were imported before, or stand in the book.
        files, formats: How many were read, and what they are.
        dry_run: Whether nothing was written.
        pending_vectors: Passages of the book that are found by their words until the background has made their vectors.
    """

    sessions: int
    turns: int
    new_turns: int
    entries: int
    strengthened: int
    notes: int
    redacted: int
    skipped: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    summaries: tuple[str, ...] = ()
    known: int = 0
    files: int = 1
    formats: tuple[str, ...] = ()
    dry_run: bool = False
    pending_vectors: int = 0

    def json(self) -> dict[str, Any]:
        """Return the counts, `"skipped": [{"text", "reason"}]`, `"warnings"`, `"summaries"`, `"formats"`, `dry_run`."""
        return {**to_json(self), "skipped": [{"text": text, "reason": reason} for text, reason in self.skipped]}


# --- JSON by annotations -----------------------------------------------------------------------------

_MODULES = (
    "results formats.document search.types model text.days sessions.detect sessions.recall_block "
    "formats.llm_messages entries.documents prompt.inject entries.review entries.remember entries.store_task "
    "entries.tidy entries.match exchange.export protocols"
)
"""Modules with the types that annotations name, also those that are imported for type checkers only."""


def to_json(value: Any) -> Any:
    """Return the value as JSON holds it. Raises TypeError for one that no verb returns."""
    if value is None or isinstance(value, str | int | float):
        return value
    kind: Any = type(value)
    if (names := _fields(kind)) is not None:
        return {name: to_json(getattr(value, name)) for name in names}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(name): to_json(each) for name, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [to_json(each) for each in value]
    raise TypeError(f"a {kind.__name__} cannot be sent as JSON")


def from_json(kind: Any, value: Any) -> Any:
    """Return the value of that type that `to_json` wrote. Raises ValueError for anything else."""
    try:
        return _reader(kind)(value)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"{value!r:.80} is no {getattr(kind, '__name__', kind)} ({error!r})") from None


def schema_of(kind: Any, records: MutableMapping[str, Any]) -> dict[str, Any]:
    """Return the JSON Schema of what `to_json` writes of a type; the records it refers to are added to `records`."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return {"anyOf": [schema_of(each, records) for each in arguments]}
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in (tuple, list, Sequence):
        if origin is tuple and arguments[-1] is not ...:
            parts = [schema_of(each, records) for each in arguments]
            alike = all(part == parts[0] for part in parts)
            each = parts[0] if alike else {"anyOf": parts}  # `prefixItems` is not understood everywhere
            return {"type": "array", "items": each, "minItems": len(parts), "maxItems": len(parts)}
        return {"type": "array", "items": schema_of(arguments[0], records)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": schema_of(arguments[1], records)}
    if isinstance(kind, type) and issubclass(kind, date):
        return {"type": "string"}
    if (names := _fields(kind)) is not None:
        name = f"{kind.__module__.removeprefix('memorybook.')}.{kind.__name__}"
        if name not in records:
            records[name] = {}  # a record may contain itself
            hints = hints_of(kind)
            properties = {each: schema_of(hints[each], records) for each in names}
            records[name] = {"type": "object", "properties": properties, "required": list(names)}
        return {"$ref": f"#/components/schemas/{name}"}
    simple = {str: "string", int: "integer", float: "number", bool: "boolean", types.NoneType: "null"}
    return {"type": simple[kind]} if kind in simple else {}


def hints_of(annotated: Any) -> dict[str, Any]:
    """Return the types that a record or a method is annotated with."""
    own = vars(modules[annotated.__module__])
    return typing.get_type_hints(annotated, own, {**_names(), **own})


@cache
def _names() -> dict[str, Any]:
    found: dict[str, Any] = {"Mapping": Mapping, "date": date, "datetime": datetime, "results": modules[__name__]}
    found |= {"Action": str, "Scene": str, "Source": str, "Function": Any}  # only type checkers see what these are
    for module in _MODULES.split():
        found = vars(import_module(f"memorybook.{module}")) | found
    return found


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that makes a value of that type from its JSON."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _union_reader(arguments)
    if origin is tuple:
        readers = [_reader(each) for each in arguments if each is not ...]
        if arguments[-1] is ...:
            return lambda value: tuple(map(readers[0], value))
        return lambda value: tuple(reader(found) for reader, found in zip(readers, value, strict=True))
    if origin in (dict, Mapping):
        each = _reader(arguments[1])
        return lambda value: {name: each(found) for name, found in value.items()}
    if isinstance(kind, type) and issubclass(kind, date):
        return kind.fromisoformat
    if (names := _fields(kind)) is not None:
        hints = hints_of(kind)
        known = {name: _reader(hints[name]) for name in names}
        return lambda value: kind(**{name: known[name](value[name]) for name in known.keys() & value.keys()})
    return float if kind is float else lambda value: value


def _union_reader(kinds: Sequence[Any]) -> Callable[[Any], Any]:
    """Read None, a record whose required fields are all there, or else the type that is no record."""
    records = [(_required(kind), _reader(kind)) for kind in kinds if _fields(kind) is not None]
    others = [_reader(kind) for kind in kinds if _fields(kind) is None and kind is not types.NoneType]

    def read(value: Any) -> Any:
        if value is None:
            return None
        fit = [reader for required, reader in records if isinstance(value, dict) and required <= value.keys()]
        if not fit and not others:
            raise TypeError("its fields are those of no record")
        return (fit or others)[0](value)

    return read


@cache
def _fields(kind: Any) -> tuple[str, ...] | None:
    """Return the names of a record's fields; None for any other type."""
    if isinstance(kind, type) and is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return getattr(kind, "_fields", None) if isinstance(kind, type) and issubclass(kind, tuple) else None


def _required(kind: Any) -> frozenset[str]:
    """Return the fields without a default."""
    if is_dataclass(kind):
        return frozenset(field.name for field in fields(kind) if field.default is field.default_factory is MISSING)
    return frozenset(name for name in _fields(kind) or () if name not in kind._field_defaults)
