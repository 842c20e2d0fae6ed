"""Which tools the door offers, what a host is told of each, and the schemas of what goes in and out."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from mcp.types import ToolAnnotations
from pydantic import TypeAdapter

from memorybook import tools
from memorybook.shapes import ANSWERS, Disabled

ASKS_FIRST = "memory_forget"
"""The tool that asks a person first."""

_ALWAYS_ANSWERS = frozenset({"memory_search", "recall_memory", "memory_status"})
"""Tools that have an answer of their own while memory is switched off."""

_YES = {
    "type": "boolean",
    "description": "Only where the host cannot ask a person: true once they have agreed to what goes.",
}

_LEFT_OUT = {
    "type": "array",
    "items": {"type": "string"},
    "description": "What this answer had no room for, and how to get it; missing if it is whole.",
}


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


def told(name: str) -> str:
    """What a tool is for, without the sentences about tools that are not offered."""
    unknown = tools.TOOLS.keys() - OFFERS.keys()
    sentences = str(tools.schema(name)["description"]).split(". ")
    return ". ".join(one for one in sentences if not any(other in one for other in unknown)).removesuffix(".") + "."


def takes(name: str) -> dict[str, Any]:
    """JSON Schema of a tool's arguments: nothing but what it has; `yes` where a person may have to agree."""
    parameters: dict[str, Any] = tools.schema(name)["parameters"]
    properties = {given: _portable(one) for given, one in parameters["properties"].items()}
    more = {"yes": _YES} if name == ASKS_FIRST else {}
    return {**parameters, "properties": {**properties, **more}, "additionalProperties": False}


def _portable(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with several types as branches, for hosts that know of one type each."""
    if isinstance(schema["type"], str):
        return schema
    rest = {name: value for name, value in schema.items() if name != "type"}
    return {"anyOf": [{"type": kind} for kind in schema["type"]], **rest}


def answers(name: str) -> dict[str, Any]:
    """JSON Schema of a tool's structured answer: what it answers, with what was left out, or that memory is off."""
    definitions, whole = _schema(ANSWERS[name])
    whole = {**whole, "properties": {**whole["properties"], "left_out": _LEFT_OUT}}
    if name not in _ALWAYS_ANSWERS:
        whole = {"type": "object", "anyOf": [whole, _schema(Disabled)[1]]}
    return {**whole, "$defs": definitions} if definitions else whole


@cache
def _schema(shape: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The definitions and the rest of a shape's schema, without the titles that only repeat a field's name."""
    whole = _untitled(TypeAdapter(shape).json_schema())
    return whole.pop("$defs", {}), whole


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    return {name: _untitled(one) for name, one in schema.items() if name != "title" or not isinstance(one, str)}
