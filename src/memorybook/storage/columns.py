"""Convert values to columns of SQLite and back."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Callable, Mapping, NamedTuple, Sequence
from memorybook.errors import Damaged, InvalidInput

if TYPE_CHECKING:
    from datetime import datetime
    from typing import TypeVar

    T = TypeVar("T", list[Any], dict[str, Any])


Value = str | bytes | int | float | None
"""What a column holds."""


class Surrogates(bytes):
    """Text with lone surrogates, which UTF-8 cannot say."""


def bindable(text: str | None) -> str | bytes | None:
    """Return the text as SQLite can hold it: as it is, or as bytes if it has surrogates, which UTF-8 cannot say."""
    if text is not None and not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return Surrogates(text.encode("utf-8", "surrogatepass"))
    return text


def readable(value: Value) -> str:
    """Return the text that `bindable` was given; "" for NULL."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")
    return "" if value is None else str(value)


def as_json(value: object) -> str | bytes | None:
    """Return compact JSON that SQLite can hold; None for None. Raises InvalidInput for what JSON cannot say."""
    import json

    def plain(value: object) -> dict[Any, Any]:
        if isinstance(value, Mapping):
            return dict(value)
        raise TypeError(f"{value!r} is none of text, number, bool, null, list, object")

    if value is None:
        return None
    try:
        return bindable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata, tool calls and usage must be JSON: {error}") from error


def json_of(value: Value, kind: type[T]) -> T:
    """Return the list or object that `as_json` was given. Raises Damaged for anything else."""
    text = readable(value)
    if text in ("[]", "{}"):  # most of them are empty
        found: Any = [] if text == "[]" else {}
    else:
        import json

        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise _foreign(text, "JSON") from error
    if not isinstance(found, kind):
        raise _foreign(text, "a list" if kind is list else "an object")
    return found


def stamp(time: datetime) -> str:
    """Return ISO 8601 in UTC with microseconds always, so that text order is time order.

    Raises InvalidInput for a time without timezone.
    """
    from datetime import UTC

    if time.tzinfo is None:
        raise InvalidInput(f"the time {time.isoformat()} has no timezone; give it in UTC")
    try:
        return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError as error:
        raise InvalidInput(f"the time {time.isoformat()} is before year 1 or after 9999 in UTC") from error


def _time_of(value: Any) -> datetime | None:
    """Return what `stamp` was given, in UTC; None for NULL. Raises Damaged for what it cannot have made."""
    from datetime import datetime

    try:
        return None if value is None else datetime.fromisoformat(value)
    except (ValueError, TypeError) as error:
        raise _foreign(str(value), "a time") from error


def _foreign(text: str, wanted: str) -> Damaged:
    return Damaged(f"a database of the book has {text[:40]!r} where {wanted} stood: put a copy back that is whole")


def row_limit(limit: int | None) -> int:
    """Return the operand of LIMIT for "at most so many", None for all. Raises InvalidInput below 0."""
    if limit is not None and limit < 0:
        raise InvalidInput(f"limit {limit} is negative; give 0 or more, or none for all")
    return -1 if limit is None else limit


class Column(NamedTuple):
    """Writes a field of a value to a column, and reads it."""

    write: Callable[[Any], Value]
    read: Callable[[Any], Any]


TEXT = Column(bindable, readable)
MAYBE_TEXT = Column(bindable, lambda value: None if value is None else readable(value))
TIME = Column(lambda time: None if time is None else stamp(time), _time_of)
PLAIN = Column(lambda value: value, lambda value: value)
FLAG = Column(int, bool)
LIST = Column(as_json, lambda value: tuple(json_of(value, list)))
OBJECT = Column(as_json, lambda value: None if value is None else json_of(value, dict))


class Columns(dict[str, Column]):
    """The columns that hold the fields of a value, under the same names, in order; in SQL its text lists them."""

    def __str__(self) -> str:
        return ", ".join(self)

    @property
    def marks(self) -> str:
        """As many `?` as there are columns."""
        return ", ".join("?" * len(self))

    def row(self, value: Any) -> tuple[Value, ...]:
        """Return what to bind for a value. Raises InvalidInput for what no column can hold."""
        return tuple([column.write(getattr(value, name)) for name, column in self.items()])

    def fields(self, row: Sequence[Any]) -> dict[str, Any]:
        """Return the fields of a value by name, given these columns of its row. Raises Damaged."""
        return {name: column.read(found) for (name, column), found in zip(self.items(), row, strict=True)}
