"""Names of the standard library that modules on the path of a search need, without importing all that comes with them.

`collections.abc`, `contextlib` and `functools` bring all of `collections` along, and `datetime` is written twice, in
Python and in C: together they would take a cold `memorybook search` nearly half as long as starting the interpreter
does. Type checkers see the originals.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any

__all__ = [
    "UTC", "AbstractSet", "Callable", "Collection", "Iterable", "Iterator", "Mapping", "Memo", "Sequence",
    "contextmanager", "date", "datetime", "once", "quoted", "suppress", "timedelta", "tzinfo",
]  # fmt: skip

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from contextlib import contextmanager, suppress
    from datetime import UTC, date, datetime, timedelta, tzinfo
    from typing import TypeVar

    T = TypeVar("T")
else:
    from _collections_abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from _collections_abc import Set as AbstractSet

    try:
        from _datetime import UTC, date, datetime, timedelta, tzinfo
    except ImportError:  # a Python that has it in Python alone
        from datetime import UTC, date, datetime, timedelta, tzinfo

    class suppress:  # noqa: N801 - as in contextlib
        """Ends a block quietly at any of these errors."""

        __slots__ = ("errors",)

        def __init__(self, *errors):
            self.errors = errors

        def __enter__(self):
            return None

        def __exit__(self, kind, error, trace):
            return kind is not None and issubclass(kind, self.errors)

    def contextmanager(function):
        """The generator function as one of blocks: what comes before its `yield` enters them, the rest leaves."""

        def made(*values, **named):
            return _Block(function(*values, **named))

        made.__name__, made.__doc__ = function.__name__, function.__doc__
        return made

    class _Block:
        __slots__ = ("steps",)

        def __init__(self, steps):
            self.steps = steps

        def __enter__(self):
            for value in self.steps:
                return value
            raise RuntimeError("the generator of a block did not yield")

        def __exit__(self, kind, error, trace):
            if error is None:
                for _ in self.steps:
                    return self._goes_on()
                return False
            try:
                self.steps.throw(error)
            except StopIteration:
                return True
            except BaseException as raised:
                if raised is error or (raised.__cause__ is error and isinstance(error, StopIteration)):
                    return False  # a generator cannot pass on StopIteration as it is
                raise
            return self._goes_on()

        def _goes_on(self):
            self.steps.close()
            raise RuntimeError("the generator of a block yielded again")


def once(function: Callable[[], T]) -> Callable[[], T]:
    """The function, whose answer is kept: it is worked out when it is first asked for."""
    known: list[T] = []

    def answer() -> T:
        if not known:
            known.append(function())
        return known[0]

    return answer


def quoted(text: str) -> str:
    """The text as JSON, in ASCII."""
    try:
        from _json import encode_basestring_ascii  # as long as an event of a hook takes, json takes to be imported
    except ImportError:
        from json.encoder import encode_basestring_ascii

    return encode_basestring_ascii(text)


class Memo(dict[Any, Any]):
    """What a function of one value answered, the values it was last asked for up to `most` of them.

    To be asked as `Memo(function, most).__getitem__`, which is a look-up in C.
    """

    def __init__(self, function: Callable[[Any], Any], most: int) -> None:
        super().__init__()
        self._function = function
        self._most = most

    def __missing__(self, value: Any) -> Any:
        """Ask and keep."""
        answer = self._function(value)
        if len(self) >= self._most:
            self.clear()
        self[value] = answer
        return answer
