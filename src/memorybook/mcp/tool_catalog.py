"""The tools that hosts are offered: hints, and schemas of arguments and answers.

Tests hold every answer against these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, NamedTuple, NotRequired, get_args, get_origin, get_type_hints

from mcp.types import ToolAnnotations
from typing_extensions import TypedDict, is_typeddict

from memorybook import tools
from memorybook.formats.json_schema import described_without

# --- what tools answer -------------------------------------------------------------------------------


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
    knows: float
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
    "recall_memory": Found,
    "recall_history": Recollection,
    "recall_topic": Recollection,
    "recall_session": Recollection,
    "recall_within": Recollection,
    "memory_review": Review,
    "memory_status": Status,
}
"""Answers by tool."""


# --- what hosts are told -----------------------------------------------------------------------------

ASKS_FIRST = "memory_forget"
"""The tool that needs consent."""

WOULD_GO = "would_go"
"""Field of its dry run with the texts that would go."""

_ALWAYS_ANSWERS = frozenset({"memory_search", "recall_memory", "memory_status"})
"""Tools that have an answer of their own while memory is switched off."""

_REPEATS: Mapping[str, frozenset[str]] = dict.fromkeys(
    ("recall_history", "recall_topic", "recall_session", "recall_within"), frozenset({"text", "tokens"})
)
"""Fields that say again what the others say, as a block for a prompt: a quarter of an answer, left out."""

_SIMPLE: Mapping[Any, Mapping[str, str]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    Any: {},
}
"""JSON Schema of simple types."""

_YES = {
    "type": "boolean",
    "description": "Only where the host cannot ask a person: true once they agreed to what the last refusal named.",
}

_LINES = {"type": "array", "items": {"type": "string"}}

_LEFT_OUT = {"left_out": _LINES}
"""What was left out of an answer, and how to get it."""


class Offer(NamedTuple):
    """Hints for a host about a tool, for its permission dialogs."""

    title: str
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False

    def annotations(self) -> ToolAnnotations:
        """Return them for the protocol; no tool reaches beyond the book."""
        return ToolAnnotations(
            title=self.title,
            read_only_hint=self.reads,
            destructive_hint=self.destroys,
            idempotent_hint=self.repeatable or self.reads,
            open_world_hint=False,
        )


OFFERS: Mapping[str, Offer] = {
    "memory_search": Offer("Search memory", reads=True),
    "memory_get": Offer("Open a document, entry or turn", reads=True),
    "memory_append": Offer("Write a note", repeatable=True),
    "memory_flush": Offer("Save before compaction"),
    "memory_remember": Offer("Remember a statement"),
    "memory_update": Offer("Change an entry", destroys=True),
    "memory_pin": Offer("Keep an entry from fading", repeatable=True),
    "memory_forget": Offer("Forget", destroys=True),
    "recall_memory": Offer("Search faded memory", reads=True),
    "recall_history": Offer("List recent conversations", reads=True),
    "recall_topic": Offer("Find conversations about something", reads=True),
    "recall_session": Offer("Open a past conversation", reads=True),
    "recall_within": Offer("Search one conversation", reads=True),
    "memory_review": Offer("List what waits for a person", reads=True),
    "memory_status": Offer("Memory status", reads=True),
}
"""Tools by name, in the order in which they are listed."""


def described(name: str) -> str:
    """Return the description of a tool, without the sentences about tools that are not offered."""
    return described_without(str(tools.schema(name)["description"]), tools.TOOLS.keys() - OFFERS.keys())


def takes(name: str) -> dict[str, Any]:
    """JSON Schema of a tool's arguments: nothing but what it has; `yes` where a person may have to agree."""
    parameters: dict[str, Any] = tools.schema(name)["parameters"]
    properties = {given: _portable(one) for given, one in parameters["properties"].items()}
    more = {"yes": _YES} if name == ASKS_FIRST else {}
    required = {"required": parameters["required"]} if parameters["required"] else {}
    return {"type": "object", "properties": {**properties, **more}, **required, "additionalProperties": False}


def _portable(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with `anyOf` for several types, which some hosts need."""
    if isinstance(schema["type"], str):
        return schema
    rest = {name: value for name, value in schema.items() if name != "type"}
    return {"anyOf": [{"type": kind} for kind in schema["type"]], **rest}


def answers(name: str) -> dict[str, Any]:
    """JSON Schema of a tool's structured answer: what it answers, with what was left out, or that memory is off.

    What its fields mean stands in the tool's description, if a model has to know; what is null is left out of answers.
    """
    whole = _without(_schema(ANSWERS[name]), _REPEATS.get(name, frozenset()))
    if name in _ALWAYS_ANSWERS:
        return {**whole, "properties": {**whole["properties"], **_LEFT_OUT}}
    off, required = _schema(Disabled), whole.pop("required", [])
    more = {WOULD_GO: _LINES} if name == ASKS_FIRST else {}
    either = {"anyOf": [{"required": required}, {"required": off["required"]}]} if required else {}
    return {**whole, "properties": {**off["properties"], **whole["properties"], **more, **_LEFT_OUT}, **either}


def once(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without repeated fields."""
    repeats = _REPEATS.get(name, frozenset())
    return {field: value for field, value in answer.items() if field not in repeats}


def _without(schema: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    properties = {name: one for name, one in schema["properties"].items() if name not in fields}
    required = [name for name in schema.get("required", ()) if name not in fields]
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def _schema(shape: Any) -> dict[str, Any]:
    """Return the JSON Schema of a type with definitions inlined, which not every host resolves.

    What may be null may be missing. pydantic could tell it, too, but a host waits for that at every start.
    """
    if shape in _SIMPLE:
        return dict(_SIMPLE[shape])
    if is_typeddict(shape):
        return _object(get_type_hints(shape, include_extras=True))
    origin, arguments = get_origin(shape), [each for each in get_args(shape) if each is not NoneType]
    if origin is Literal:
        [kind] = {type(each) for each in arguments}
        return {**_SIMPLE[kind], **({"enum": arguments} if len(arguments) > 1 else {"const": arguments[0]})}
    if origin is list:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is dict:
        values = _schema(arguments[1])
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    return _schema(arguments[0])  # or null, or not there


def _object(fields: Mapping[str, Any]) -> dict[str, Any]:
    sure = [
        name for name, one in fields.items() if get_origin(one) is not NotRequired and NoneType not in get_args(one)
    ]
    properties = {name: _schema(one) for name, one in fields.items()}
    return {"type": "object", "properties": properties, **({"required": sure} if sure else {})}
