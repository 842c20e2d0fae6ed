"""Stand-ins for `typing`, `collections.abc`, `datetime` and `re.compile` that import nothing heavy.

A cold `memorybook search` would spend more time on importing the originals than on starting the interpreter. Type
checkers see the originals. A module that uses `NamedTuple` begins with `from __future__ import annotations`: its types
are text at run time.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress
from functools import cache as once

__all__ = [
    "TYPE_CHECKING", "UTC", "AbstractSet", "Any", "Callable", "Collection", "Iterable", "Iterator", "Literal",
    "Mapping", "Memo", "NamedTuple", "Protocol", "Sequence", "cast", "contextmanager", "date", "datetime", "lazily",
    "once", "quoted", "suppress", "timedelta", "tzinfo",
]  # fmt: skip

TYPE_CHECKING = False

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import UTC, date, datetime, timedelta, tzinfo
    from typing import Any, Literal, NamedTuple, Protocol, cast

else:
    try:
        from _collections import _tuplegetter as _field  # as collections.namedtuple does: four times as fast to read
    except ImportError:
        from operator import itemgetter

        def _field(at, doc):
            """Return the value at that place of a tuple, as an attribute."""
            return property(itemgetter(at), doc=doc)

    Any = Literal = Protocol = object

    def cast(_kind, value):
        """Return the value, as it is."""
        return value

    class _Named(type):
        """Makes fields of what a class body annotates; `from __future__ import annotations` leaves types as text."""

        def __new__(cls, name, bases, body):
            """Make the class, its values tuples and nothing more; what is derived from such a class is as it stands."""
            if bases != (tuple,) and NamedTuple not in bases:
                return super().__new__(cls, name, bases, body)
            fields = tuple(body.get("__annotations__", ()))
            if not fields and bases != (tuple,):
                raise TypeError(f"{name} has no fields; begin its module with: from __future__ import annotations")
            body["__slots__"] = ()
            body["__match_args__"] = body["_fields"] = fields
            body["_field_defaults"] = {field: body[field] for field in fields if field in body}
            body.update((field, _field(at, None)) for at, field in enumerate(fields))
            return super().__new__(cls, name, bases, body)

    class NamedTuple(tuple, metaclass=_Named):
        """A lightweight `typing.NamedTuple`: fields by annotation, those with a default last."""

        def __new__(cls, /, *values, **named):
            """Make a value for each field, by place or by name."""
            if named or len(values) != len(cls._fields):
                values = _filled(cls, values, named)
            return tuple.__new__(cls, values)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"{cls.__name__} takes {len(cls._fields)} values and was given {len(made)}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, tuple.__iter__(self), strict=True))

        def _replace(self, /, **named):
            made = tuple.__new__(type(self), map(named.pop, self._fields, tuple.__iter__(self)))
            return type(self)(**{**self._asdict(), **named}) if named else made  # which says what is wrong

        __replace__ = _replace

        def __repr__(self):
            shown = (f"{field}={value!r}" for field, value in self._asdict().items())
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(tuple.__iter__(self))

    def _filled(kind, values, named):
        """Return one value for each field, by place, by name or its default. Raises TypeError."""
        fields = kind._fields
        rest = fields[len(values) :]
        known = {**kind._field_defaults, **named}
        if len(values) <= len(fields) and len(named) == sum(map(named.__contains__, rest)):
            with_defaults = [known[field] for field in rest if field in known]
            if len(with_defaults) == len(rest):
                return (*values, *with_defaults)
        if len(values) > len(fields):
            raise TypeError(f"{kind.__name__} takes {len(fields)} values and was given {len(values)}")
        if twice := named.keys() & fields[: len(values)]:
            raise TypeError(f"{kind.__name__} was given {min(twice)!r} twice")
        if unknown := named.keys() - fields:
            raise TypeError(f"{kind.__name__} has no field {min(unknown)!r}")
        raise TypeError(f"{kind.__name__} needs {next(field for field in rest if field not in known)!r}")

    from _collections_abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from _collections_abc import Set as AbstractSet

    try:
        from _datetime import UTC, date, datetime, timedelta, tzinfo
    except ImportError:  # a Python that has it in Python alone
        from datetime import UTC, date, datetime, timedelta, tzinfo


def quoted(text: str) -> str:
    """Return the text as JSON, in ASCII."""
    try:
        from _json import encode_basestring_ascii  # as long as an event of a hook takes, json takes to be imported
    except ImportError:
        from json.encoder import encode_basestring_ascii

    return encode_basestring_ascii(text)


class Memo(dict[Any, Any]):
    """Cache of a function of one value; emptied when it has `most` results.

    Call it as `Memo(function, most).__getitem__`, which is a look-up in C.
    """

    def __init__(self, function: Callable[[Any], Any], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, value: Any) -> Any:
        """Call the function and cache its result."""
        answer = self._function(value)
        if len(self) >= self._most:
            self.clear()
        self[value] = answer
        return answer


def lazily(pattern: str) -> re.Pattern[str]:
    """Return the pattern, compiled when it is first used; flags stand in it, such as `(?i)`.

    Importing `re` and compiling what a module knows would cost a cold search a tenth of its time.
    """
    return cast("re.Pattern[str]", _Lazy(pattern))


class _Lazy:
    """Proxy of a pattern that compiles it at the first use of a method."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def __getattr__(self, name: str) -> Any:
        import re

        value = getattr(re.compile(self._pattern), name)
        setattr(self, name, value)
        return value
