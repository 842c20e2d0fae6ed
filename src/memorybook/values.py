"""The frozen values that verbs answer, as JSON and back with nothing lost: what a server and `memorybook.client` speak.

What `json()` shows of a value is for people and other programs: rounded, renamed, without what only code asks for.
Here a record is the object of its fields, a tuple an array, a time its ISO form; the type that a verb is annotated with
says how it is read. Fields that a reader does not know are passed over, missing ones take their default, so that a
server and a client may be of different versions.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from functools import cache
from importlib import import_module
from sys import modules
from typing import Any

KIND = "application/vnd.memorybook.value+json"
"""The media type of values written so; who asks a server for it by `Accept` gets it instead of `json()`."""


def to_json(value: Any) -> Any:
    """The value as JSON holds it; raises TypeError for one that no verb answers."""
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
    raise TypeError(f"a {kind.__name__} is no value of a verb")


def from_json(kind: Any, value: Any) -> Any:
    """What `to_json` wrote of a value of the type, see `answer_of`; raises ValueError for anything else."""
    try:
        return _reader(kind)(value)
    except (AttributeError, LookupError, TypeError) as error:
        raise ValueError(f"{value!r:.80} is no {getattr(kind, '__name__', kind)} ({error!r})") from None


def answer_of(method: Callable[..., Any]) -> Any:
    """The type that a method is annotated to answer."""
    return _evaluated(method.__annotations__["return"], method.__module__)


# --- reading by types ------------------------------------------------------------------------------

Reader = Callable[[Any], Any]


@cache
def _reader(kind: Any) -> Reader:
    """What makes a value of that type out of its JSON."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (types.UnionType, typing.Union):
        return _one_of(arguments)
    if origin is tuple:
        return _tuple(arguments)
    if origin in (dict, Mapping):
        each = _reader(arguments[1])
        return lambda value: {name: each(found) for name, found in value.items()}
    if isinstance(kind, type) and issubclass(kind, date):
        return kind.fromisoformat
    if _fields(kind) is not None:
        return _record(kind)
    return float if kind is float else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _no_record(value: Any) -> Any:
    raise TypeError("its fields are those of no record")


def _one_of(kinds: Sequence[Any]) -> Reader:
    """For None, and for a record whose required fields are all there, else the kind that is no record."""
    records = [(_required(kind), _reader(kind)) for kind in kinds if _fields(kind) is not None]
    others = [_reader(kind) for kind in kinds if _fields(kind) is None and kind is not types.NoneType]

    def read(value: Any) -> Any:
        if value is None:
            return None
        fit = (reader for required, reader in records if isinstance(value, dict) and required <= value.keys())
        return next(fit, others[0] if others else _no_record)(value)

    return read


def _tuple(kinds: Sequence[Any]) -> Reader:
    if kinds[-1] is ...:
        each = _reader(kinds[0])
        return lambda value: tuple(map(each, value))
    readers = [_reader(kind) for kind in kinds]
    return lambda value: tuple(reader(found) for reader, found in zip(readers, value, strict=True))


def _record(kind: Any) -> Reader:
    told = typing.cast("Mapping[str, Any]", kind.__annotations__)
    readers = {name: _reader(_evaluated(told[name], kind.__module__)) for name in _fields(kind) or ()}
    return lambda value: kind(**{name: readers[name](value[name]) for name in readers.keys() & value.keys()})


@cache
def _fields(kind: Any) -> tuple[str, ...] | None:
    """The names of a record's fields; None for any other type."""
    if isinstance(kind, type) and is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return getattr(kind, "_fields", None) if isinstance(kind, type) and issubclass(kind, tuple) else None


def _required(kind: Any) -> frozenset[str]:
    """The fields without a default."""
    if is_dataclass(kind):
        return frozenset(field.name for field in fields(kind) if field.default is field.default_factory is MISSING)
    return frozenset(name for name in _fields(kind) or () if name not in kind._field_defaults)


# --- what annotations name -------------------------------------------------------------------------

_HOMES = {
    "results": "Imported Known Memorized",
    "formats.document": "Document DocumentInfo",
    "search.types": "Answer Hit",
    "model": "Applied Entry Operation Proposal Shown Turn",
    "text.days.spans": "Span",
    "sessions.detect": "Recall",
    "sessions.recall_types": "Held Recollection Talks",
    "formats.llm_messages": "Usage",
    "entries.documents": "Written",
    "prompt.inject": "Injected",
    "entries.review": "Review Reviewed",
    "entries.revise": "Revised",
    "entries.store_task": "Stored",
    "entries.tidy": "Tidied",
}
"""Where what is imported for type checkers alone is found."""

_HOME = {name: home for home, names in _HOMES.items() for name in names.split()}

_KNOWN = {"Literal": typing.Literal, "Mapping": Mapping, "date": date, "datetime": datetime}
_WORDS = frozenset({"Action", "Scene", "Source"})


class _Names(dict[str, Any]):
    """What an annotation may name besides what its module has."""

    def __missing__(self, name: str) -> Any:
        if name == "results":
            return import_module("memorybook.results")
        if name in _WORDS:
            return str
        return getattr(import_module(f"memorybook.{_HOME[name]}"), name)


def _evaluated(annotation: Any, module: str) -> Any:
    text = getattr(annotation, "__forward_arg__", annotation)  # as named tuples of typing have it
    return eval(text, vars(modules[module]), _Names(_KNOWN))  # noqa: S307 - the text is this package's own
