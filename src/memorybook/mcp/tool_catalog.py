"""The tools that hosts are offered: hints, and schemas of arguments and answers.

Tests hold every answer against these types.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from mcp.types import ToolAnnotations

from memorybook import tools
from memorybook.formats.json_schema import described_without
from memorybook.results import Appended, Receipt
from memorybook.sessions.recall_block import FoundSession, FoundTurn

# --- what tools answer -------------------------------------------------------------------------------

# A shape is a type, `[shape]` for a list, `{field: shape}` for an object, or a record with its own fields.
# What may be None may be missing.

_Strings = list[str]

_ENTRY = {
    **dict.fromkeys(("id", "text", "category", "last_activated"), str),
    **dict.fromkeys(("created_at", "session", "source", "group", "expires_at", "trust", "superseded_by"), str | None),
    **dict.fromkeys(("hits", "access_count"), int),
    **dict.fromkeys(("tags", "entities", "links"), _Strings),
    "score": float, "state": Literal["active", "archived", "superseded"], "pinned": bool, "metadata": dict[str, Any],
    "confirmed_on": str | None, "lasting": bool,
}  # fmt: skip

_HIT = {
    **dict.fromkeys(("path", "snippet"), str),
    **dict.fromkeys(("date", "id", "category", "turn", "session", "speaker", "place", "unconfirmed_since"), str | None),
    **dict.fromkeys(("start_line", "end_line"), int),
    **dict.fromkeys(("score", "relevance"), float),
    "source": Literal["entry", "note", "summary", "document", "turn"],
    "state": Literal["archived", "superseded"] | None,
    "trust": Literal["agent", "tool", "document", "import", "suspect"] | None,
    "why": dict[str, float] | None,
}  # fmt: skip

_INDEX = {"fresh": bool, "backend": str, "checked_files": int, "pending_vectors": int, "degraded": _Strings}

_FOUND = {
    "results": [_HIT], "has_relevant": bool, "knows": float, "nearest": bool | None, "threshold": float,
    "cut": int | None, "left_out": _Strings | None, "disabled": bool, "backend": str, "root": str, "index": _INDEX,
}  # fmt: skip

_TURN = {
    **dict.fromkeys(("id", "session", "session_name", "role", "speaker"), str),
    "position": int, "time": str | None, "tool_calls": list[dict[str, Any]], "metadata": dict[str, Any],
}  # fmt: skip

_OPENED = {
    **dict.fromkeys(("path", "text"), str | None),
    **dict.fromkeys(("from", "lines", "total_lines"), int | None),
    "turn": (_TURN, None), "entry": (_ENTRY, None),
}  # fmt: skip

_WRITTEN = {"redacted": int, "operation": str | None}

_REMEMBERED = {"entry": _ENTRY, "action": Literal["created", "strengthened", "duplicate"], **_WRITTEN}

_FLUSHED = {"written": [{"path": str, "line": int}], "skipped": [{"text": str, "reason": str}], **_WRITTEN}

_CHANGED = {
    "entry": _ENTRY, "operation": str | None, "redacted": int | None, "before": str | None,
    "changed": bool | None, "refused": str | None, "usage": dict[str, Any] | None, "proposals": (_Strings, None),
}  # fmt: skip

_RECOLLECTION = {
    "scene": Literal["history", "topic", "session", "within"], "sessions": [FoundSession], "turns": [FoundTurn],
    "has_relevant": bool, "span": ({"since": str | None, "until": str | None}, None), "reason": str,
    "degraded": _Strings, "text": str, "tokens": int, "disabled": bool,
}  # fmt: skip

_PROPOSAL = {
    **dict.fromkeys(("id", "kind", "reason", "state", "stale"), str),
    "time": str | None, "told": _Strings, "changes": list[dict[str, Any]], "operation": str | None,
}  # fmt: skip

_REVIEW = {"proposals": [_PROPOSAL], "total": int, "kinds": dict[str, int]}

_STATUS = {
    "root": str, "exists": bool, "disabled": bool, "provider": str, "pending_operations": int,
    **dict.fromkeys(("documents", "entries", "transcripts", "waiting"), dict[str, int]),
    **dict.fromkeys(("index", "settings"), dict[str, Any]),
    **dict.fromkeys(("degraded", "warnings"), _Strings),
}  # fmt: skip

DISABLED = {"disabled": Literal[True], "tool": str, "reason": str}
"""While memory is switched off every tool answers this and does nothing."""

ANSWERS: Mapping[str, Any] = {
    **dict.fromkeys(("memory_search", "recall_memory"), _FOUND),
    **dict.fromkeys(("memory_update", "memory_pin"), _CHANGED),
    **dict.fromkeys(("recall_history", "recall_topic", "recall_session", "recall_within"), _RECOLLECTION),
    "memory_get": _OPENED,
    "memory_append": Appended,
    "memory_flush": _FLUSHED,
    "memory_remember": _REMEMBERED,
    "memory_forget": {"receipt": Receipt},
    "memory_review": _REVIEW,
    "memory_status": _STATUS,
}
"""Shapes of answers by tool."""


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
    datetime: {"type": "string"},
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


def _hints(title: str, *, reads: bool = False, destroys: bool = False, repeatable: bool = False) -> ToolAnnotations:
    """Return hints for a host's permission dialogs; no tool reaches beyond the book."""
    return ToolAnnotations(
        title=title,
        read_only_hint=reads,
        destructive_hint=destroys,
        idempotent_hint=repeatable or reads,
        open_world_hint=False,
    )


OFFERS: Mapping[str, ToolAnnotations] = {
    "memory_search": _hints("Search memory", reads=True),
    "memory_get": _hints("Open a document, entry or turn", reads=True),
    "memory_append": _hints("Write a note", repeatable=True),
    "memory_flush": _hints("Save before compaction"),
    "memory_remember": _hints("Remember a statement"),
    "memory_update": _hints("Change an entry", destroys=True),
    "memory_pin": _hints("Keep an entry from fading", repeatable=True),
    "memory_forget": _hints("Forget", destroys=True),
    "recall_memory": _hints("Search faded memory", reads=True),
    "recall_history": _hints("List recent conversations", reads=True),
    "recall_topic": _hints("Find conversations about something", reads=True),
    "recall_session": _hints("Open a past conversation", reads=True),
    "recall_within": _hints("Search one conversation", reads=True),
    "memory_review": _hints("List what waits for a person", reads=True),
    "memory_status": _hints("Memory status", reads=True),
}
"""Tools by name, in the order in which they are listed."""


def described(name: str) -> str:
    """Return the description of a tool, without the sentences about tools that are not offered."""
    return described_without(str(tools.schema(name)["description"]), tools.TOOLS.keys() - OFFERS.keys())


def takes(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments: nothing but what it has; `yes` where a person may have to agree."""
    parameters: dict[str, Any] = tools.schema(name)["parameters"]
    for schema in parameters["properties"].values():
        if not isinstance(schema["type"], str):  # some hosts do not know a list of types
            schema["anyOf"] = [{"type": kind} for kind in schema.pop("type")]
    more = {"yes": _YES} if name == ASKS_FIRST else {}
    required = {"required": parameters["required"]} if parameters["required"] else {}
    properties = {**parameters["properties"], **more}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def answers(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's structured answer, with what was left out, or that memory is off.

    What its fields mean stands in the tool's description, if a model has to know; what is null is left out of answers.
    """
    whole = schema_of(once(name, ANSWERS[name]) if name in _REPEATS else ANSWERS[name])
    if name in _ALWAYS_ANSWERS:
        return {**whole, "properties": {**whole["properties"], **_LEFT_OUT}}
    off, required = schema_of(DISABLED), whole.pop("required", [])
    more = {WOULD_GO: _LINES} if name == ASKS_FIRST else {}
    either = {"anyOf": [{"required": required}, {"required": off["required"]}]} if required else {}
    return {**whole, "properties": {**off["properties"], **whole["properties"], **more, **_LEFT_OUT}, **either}


def once(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without repeated fields."""
    repeats = _REPEATS.get(name, frozenset())
    return {field: value for field, value in answer.items() if field not in repeats}


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the JSON Schema of a shape with definitions inlined, which not every host resolves.

    What may be null may be missing. pydantic could tell it, too, but a host waits for that at every start.
    """
    if not isinstance(shape, dict | list | tuple) and shape in _SIMPLE:
        return dict(_SIMPLE[shape])
    if hasattr(shape, "_fields"):
        shape = get_type_hints(shape, None, {"datetime": datetime})
    if isinstance(shape, dict):
        forms = {name: one if isinstance(one, tuple) else get_args(one) for name, one in shape.items()}
        sure = [name for name, form in forms.items() if not any(each in (None, NoneType) for each in form)]
        properties = {name: schema_of(one) for name, one in shape.items()}
        return {"type": "object", "properties": properties, **({"required": sure} if sure else {})}
    if isinstance(shape, list):
        return {"type": "array", "items": schema_of(shape[0])}
    origin, arguments = get_origin(shape), [each for each in get_args(shape) or shape if each not in (None, NoneType)]
    if origin is Literal:
        [kind] = {type(each) for each in arguments}
        return {**_SIMPLE[kind], **({"enum": arguments} if len(arguments) > 1 else {"const": arguments[0]})}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        values = schema_of(arguments[1])
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    return schema_of(arguments[0])  # or null
