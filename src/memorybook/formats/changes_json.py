"""Changes and turns as JSON, as the journal keeps them.

`{"do": "archive", "id": "a1b2c3", "reason": "…"}`; entries without the fields that are as by default; ISO 8601 times.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from datetime import date, datetime
from typing import Any, get_args

from memorybook.model import Change, Entry, Session, Turn, Update

_KINDS = {kind.__name__.lower(): kind for kind in get_args(Change)}
_DAYS = frozenset({"scored", "last_activated", "expires", "verified", "said"})
_TIMES = frozenset({"time", "created", "updated", "ended"})


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
        given = _read({name: value for name, value in shown.items() if name in names})
        if kind is Update:
            given["fields"] = _read(dict(shown["fields"]))
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
    """Return a field's value from its JSON."""
    if name in _DAYS or name in _TIMES:
        return value and (date if name in _DAYS else datetime).fromisoformat(value)
    if name == "entry":
        return Entry(**_read(value))
    if name == "tool_calls" and isinstance(value, dict):
        return {turn: tuple(calls) for turn, calls in value.items()}
    if name == "unknown":
        return tuple((str(key), str(each)) for key, each in value)
    return tuple(value) if isinstance(value, list) else value


def _read(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in values.items()}


def render_turns(session: Session, turns: Sequence[Turn], *, whole: bool) -> str:
    """Return the session and these turns of it; `whole` says that all of it is meant, and not these turns alone."""
    everything: list[Session | Turn] = [session, *turns]
    told, *said = ({field.name: _plain(getattr(one, field.name)) for field in fields(one)} for one in everything)
    return json.dumps({"session": told, "turns": said, "whole": whole}, separators=(",", ":"), ensure_ascii=False)


def parse_turns(text: str) -> tuple[Session, tuple[Turn, ...], bool]:
    """Return what `render_turns` was given."""
    shown = json.loads(text)
    return Session(**_read(shown["session"])), tuple(Turn(**_read(turn)) for turn in shown["turns"]), shown["whole"]
