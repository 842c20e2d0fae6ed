"""The names of `typing` that modules on the path of a search need, without importing it.

That import, and the named tuples made with it or with `collections`, would take a cold `memorybook search`
longer than starting the interpreter does. Type checkers see the originals. What is not here is imported
under `if TYPE_CHECKING`, for types are text at run time: each module that uses this begins with
`from __future__ import annotations`.
"""

from __future__ import annotations

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any as Any
    from typing import Literal as Literal
    from typing import NamedTuple as NamedTuple
    from typing import Protocol as Protocol
    from typing import cast as cast
else:
    try:
        from _collections import _tuplegetter as _field  # as collections.namedtuple does: four times as fast to read
    except ImportError:
        from operator import itemgetter

        def _field(at, doc):
            """The value at that place of a tuple, as an attribute."""
            return property(itemgetter(at), doc=doc)

    Any = Literal = Protocol = object

    def cast(_kind, value):
        """The value, as it is."""
        return value

    class _Named(type):
        """Makes fields of what a class body annotates; `from __future__ import annotations` leaves types as text."""

        def __new__(cls, name, bases, body):
            """The class, its values tuples and nothing more; what is derived from such a class is as it stands."""
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
        """As `typing.NamedTuple`: fields by annotation, those with a default last."""

        def __new__(cls, /, *values, **named):
            """A value for each field, by place or by name."""
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
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **named):
            return type(self)(**{**self._asdict(), **named})

        __replace__ = _replace

        def __repr__(self):
            shown = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({', '.join(shown)})"

        def __getnewargs__(self):
            return tuple(self)

    def _filled(kind, values, named):
        """One value for each field, by place, by name or its default. Raises TypeError."""
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
