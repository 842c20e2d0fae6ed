"""Changes and turns as JSON, as the journal keeps them.

`{"do": "archive", "id": "a1b2c3", "reason": "…"}`; entries without the fields that are as by default; ISO 8601 times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import date, datetime
from typing import Any

from memorybook.model import (
    Add,
    Append,
    Archive,
    Change,
    Drop,
    EditTurns,
    Entry,
    Put,
    Reinforce,
    Remove,
    RemoveTurns,
    Session,
    Supersede,
    Turn,
    Update,
)

_KINDS = {
    kind.__name__.lower(): kind
    for kind in (Add, Append, Archive, Drop, EditTurns, Put, Reinforce, Remove, RemoveTurns, Supersede, Update)
}
_DAYS = frozenset({"scored", "last_activated", "expires"})


def render(change: Change) -> dict[str, Any]:
    """Return the change as a JSON object."""
    return {"do": type(change).__name__.lower(), **_values(change)}


def parse(shown: Mapping[str, Any]) -> Change:
    """Read a change that `render` wrote, ignoring unknown names. Raises ValueError for anything else."""
    kind = _KINDS.get(str(shown.get("do")))
    if kind is None:
        raise ValueError(f"{shown.get('do')!r} is no change that is known: use the version that proposed it")
    names = {field.name for field in fields(kind)}
    try:
        given = {name: _value(name, value) for name, value in shown.items() if name in names}
        if kind is Update:
            given["fields"] = {name: _value(name, value) for name, value in dict(shown["fields"]).items()}
        return kind(**given)
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is no change: {error}") from error


def _values(value: Any) -> dict[str, Any]:
    """Return the fields of a value that are not as they are by default."""
    return {
        field.name: _plain(getattr(value, field.name))
        for field in fields(value)
        if field.default is MISSING or getattr(value, field.name) != field.default
        if field.default_factory is MISSING or getattr(value, field.name) != field.default_factory()
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Entry):
        return _values(value)
    if isinstance(value, date):  # a time too
        return value.isoformat()
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(each) for each in value]
    return value


def _value(name: str, value: Any) -> Any:
    if name == "entry":
        return Entry(**{field: _value(field, each) for field, each in value.items()})
    if name in _DAYS and value is not None:
        return date.fromisoformat(value)
    if name == "created" and value is not None:
        return datetime.fromisoformat(value)
    if name == "tool_calls":
        return {turn: tuple(calls) for turn, calls in value.items()}
    if name == "unknown":
        return tuple((str(key), str(each)) for key, each in value)
    return tuple(value) if isinstance(value, list) else value


_TIMES = frozenset({"time", "created", "updated", "ended"})


def render_turns(session: Session, turns: Sequence[Turn], *, whole: bool) -> str:
    """Return the session and these turns of it; `whole` says that all of it is meant, and not these turns alone."""
    shown = {"session": _fields_of(session), "turns": [_fields_of(turn) for turn in turns], "whole": whole}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, default=_turn_plain)


def parse_turns(text: str) -> tuple[Session, tuple[Turn, ...], bool]:
    """Return what `render` was given."""
    shown = json.loads(text)
    turns = tuple(Turn(**_turn_fields(turn)) for turn in shown["turns"])
    return Session(**_turn_fields(shown["session"])), turns, shown["whole"]


def _fields_of(value: Session | Turn) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _turn_plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not JSON")


def _turn_fields(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: datetime.fromisoformat(value)
        if name in _TIMES and value is not None
        else tuple(value)
        if isinstance(value, list)
        else value
        for name, value in values.items()
    }
