"""The names of `typing` that modules on the path of a search need, without importing it.

That import, and the named tuples made with it, would take a cold `memorybook search` more than half as
long as starting the interpreter does. Type checkers see the originals. What is not here is imported
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
    from collections import namedtuple

    Any = Literal = Protocol = object

    def cast(_kind, value):
        """The value, as it is."""
        return value

    class _Named(type):
        """Makes a named tuple of a class body, where `from __future__ import annotations` leaves types as text."""

        def __new__(cls, name, bases, body):
            """The named tuple; NamedTuple itself has no bases and is made as it stands."""
            if not bases:
                return super().__new__(cls, name, bases, body)
            types = body.pop("__annotations__", {})
            defaults = [body.pop(field) for field in types if field in body]
            made = namedtuple(name, types, defaults=defaults, module=body.pop("__module__"))
            made.__annotations__ = types
            for key, value in body.items():
                setattr(made, key, value)
            return made

    class NamedTuple(metaclass=_Named):
        """As `typing.NamedTuple`: fields by annotation, those with a default last."""
