"""Which tools the door offers, what a host is told of each, and the schemas of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from types import NoneType
from typing import Any, Literal, NamedTuple, NotRequired, get_args, get_origin, get_type_hints

from mcp.types import ToolAnnotations
from typing_extensions import is_typeddict

from memorybook import tools
from memorybook.formats.json_schema import described_without
from memorybook.shapes import ANSWERS, Disabled

ASKS_FIRST = "memory_forget"
"""The tool that asks a person first."""

WOULD_GO = "would_go"
"""The field of its answer that shows the words of what would go, if nothing did."""

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
"""What types without parts are as JSON Schema."""

_YES = {
    "type": "boolean",
    "description": "Only where the host cannot ask a person: true once they agreed to what the last refusal named.",
}

_LINES = {"type": "array", "items": {"type": "string"}}

_LEFT_OUT = {"left_out": _LINES}
"""What an answer had no room for, and how to get it, in sentences."""


class Offer(NamedTuple):
    """What a host is told of a tool besides its schema: hints for whom it asks for permission, and when."""

    title: str
    reads: bool = False
    destroys: bool = False
    repeatable: bool = False

    def annotations(self) -> ToolAnnotations:
        """As the protocol has them; no tool reaches beyond the book."""
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
    """The description of a tool, without the sentences about tools that are not offered."""
    return described_without(str(tools.schema(name)["description"]), tools.TOOLS.keys() - OFFERS.keys())


def takes(name: str) -> dict[str, Any]:
    """JSON Schema of a tool's arguments: nothing but what it has; `yes` where a person may have to agree."""
    parameters: dict[str, Any] = tools.schema(name)["parameters"]
    properties = {given: _portable(one) for given, one in parameters["properties"].items()}
    more = {"yes": _YES} if name == ASKS_FIRST else {}
    required = {"required": parameters["required"]} if parameters["required"] else {}
    return {"type": "object", "properties": {**properties, **more}, **required, "additionalProperties": False}


def _portable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with several types as branches, for hosts that know of one type each."""
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
    """What the tool answered, said once."""
    repeats = _REPEATS.get(name, frozenset())
    return {field: value for field, value in answer.items() if field not in repeats}


def _without(schema: dict[str, Any], fields: frozenset[str]) -> dict[str, Any]:
    properties = {name: one for name, one in schema["properties"].items() if name not in fields}
    required = [name for name in schema.get("required", ()) if name not in fields]
    return {**schema, "properties": properties, **({"required": required} if required else {})}


def _schema(shape: Any) -> dict[str, Any]:
    """The schema of a shape, of types alone, with each definition where it is used: not every host looks them up.

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
