"""Turns and their session as JSON: how the journal keeps what was taken out of the transcripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any

from memorybook.model import Session, Turn

_TIMES = frozenset({"time", "created", "updated", "ended"})


def render(session: Session, turns: Sequence[Turn], *, whole: bool) -> str:
    """The session and these turns of it; `whole` says that all of it is meant, and not these turns alone."""
    shown = {"session": _values(session), "turns": [_values(turn) for turn in turns], "whole": whole}
    return json.dumps(shown, separators=(",", ":"), ensure_ascii=False, default=_plain)


def parse(text: str) -> tuple[Session, tuple[Turn, ...], bool]:
    """What `render` was given."""
    shown = json.loads(text)
    turns = tuple(Turn(**_read(turn)) for turn in shown["turns"])
    return Session(**_read(shown["session"])), turns, shown["whole"]


def _values(value: Session | Turn) -> dict[str, Any]:
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _plain(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is not JSON")


def _read(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(name, value) for name, value in values.items()}


def _value(name: str, value: Any) -> Any:
    if name in _TIMES and value is not None:
        return datetime.fromisoformat(value)
    return tuple(value) if isinstance(value, list) else value
