"""Changes as JSON objects: how the journal keeps what waits for a person's word.

`{"do": "archive", "id": "a1b2c3", "reason": "…"}`; entries as objects of their fields, without those that are as
they are by default; days and times in ISO 8601.
"""

from __future__ import annotations

from collections.abc import Mapping
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
    Supersede,
    Update,
)

_KINDS = {
    kind.__name__.lower(): kind
    for kind in (Add, Append, Archive, Drop, EditTurns, Put, Reinforce, Remove, RemoveTurns, Supersede, Update)
}
_DAYS = frozenset({"scored", "last_activated", "expires"})


def render(change: Change) -> dict[str, Any]:
    """The change as a JSON object."""
    return {"do": type(change).__name__.lower(), **_values(change)}


def parse(shown: Mapping[str, Any]) -> Change:
    """The change of an object that `render` made; names that it does not know are left alone.

    Raises:
        ValueError: It is no change, or one of a version that is not known here.
    """
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
    """The fields of a value that are not as they are by default."""
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
