"""Values as the columns of the SQLite truths hold them: text of any kind, times, JSON."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Callable, Mapping
from memorybook.errors import Damaged, InvalidInput

if TYPE_CHECKING:
    from datetime import datetime

Value = str | bytes | int | float | None
"""What a column holds."""


def bindable(text: str) -> str | bytes:
    """The text as SQLite can hold it: as it is, or as bytes if it has surrogates, which UTF-8 cannot say."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")
    return text


def maybe_bindable(text: str | None) -> str | bytes | None:
    """As `bindable`; None stays None."""
    return None if text is None else bindable(text)


def maybe_readable(value: Value) -> str | None:
    """As `readable`; NULL is None."""
    return None if value is None else readable(value)


def readable(value: Value) -> str:
    """The text that `bindable` was given; "" for NULL."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")
    return "" if value is None else str(value)


def as_json(value: object) -> str | bytes:
    """Compact JSON that SQLite can hold. Raises InvalidInput for what JSON cannot say."""
    import json

    try:
        return bindable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=_plain))
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"metadata, tool calls and usage must be JSON: {error}") from error


def from_json(value: Value) -> Any:
    """What `as_json` was given; most lists and objects in the columns are empty. Raises Damaged."""
    text = readable(value)
    if text in _EMPTY:
        return _EMPTY[text]()
    import json

    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _foreign(text, "JSON") from error


def object_of(value: Value) -> dict[str, Any]:
    """As `from_json`, of an object. Raises Damaged for anything else."""
    found = from_json(value)
    if not isinstance(found, dict):
        raise _foreign(readable(value), "an object")
    return found


def list_of(value: Value) -> list[Any]:
    """As `from_json`, of a list. Raises Damaged for anything else."""
    found = from_json(value)
    if not isinstance(found, list):
        raise _foreign(readable(value), "a list")
    return found


def _foreign(text: str, wanted: str) -> Damaged:
    return Damaged(f"a database of the book has {text[:40]!r} where {wanted} stood: put a copy back that is whole")


_EMPTY: dict[str, Callable[[], Any]] = {"[]": list, "{}": dict}


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{value!r} is none of text, number, bool, null, list, object")


def stamp(time: datetime) -> str:
    """ISO 8601 in UTC with microseconds always, so that text order is time order.

    Raises InvalidInput for a time without timezone.
    """
    from datetime import UTC

    if time.tzinfo is None:
        raise InvalidInput(f"the time {time.isoformat()} has no timezone; give it in UTC")
    try:
        return time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
    except OverflowError as error:
        raise InvalidInput(f"the time {time.isoformat()} is before year 1 or after 9999 in UTC") from error


def maybe_stamp(time: datetime | None) -> str | None:
    """As `stamp`; None stays None."""
    return None if time is None else stamp(time)


def time_of(value: str) -> datetime:
    """What `stamp` was given, in UTC. Raises Damaged for what it cannot have made."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(value)
    except (ValueError, TypeError) as error:
        raise _foreign(str(value), "a time") from error


def maybe_time_of(value: str | None) -> datetime | None:
    """As `time_of`; NULL is None."""
    return None if value is None else time_of(value)


def row_limit(limit: int | None) -> int:
    """The operand of LIMIT for "at most so many", None for all. Raises InvalidInput below 0."""
    if limit is not None and limit < 0:
        raise InvalidInput(f"limit {limit} is negative; give 0 or more, or none for all")
    return -1 if limit is None else limit
