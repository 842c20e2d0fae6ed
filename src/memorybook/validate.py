"""Check arguments of callers, once at the edge; everything behind it is valid.

All raise InvalidInput with the name of the argument and the value.
"""

from __future__ import annotations

import sys

from memorybook._light import (
    TYPE_CHECKING,
    UTC,
    Any,
    Callable,
    Collection,
    Mapping,
    Sequence,
    cast,
    date,
    datetime,
    lazily,
    tzinfo,
)
from memorybook.errors import InvalidInput
from memorybook.search.types import Query

if TYPE_CHECKING:
    from typing import ParamSpec, TypeVar

    from memorybook.model import Category

    P = ParamSpec("P")
    R = TypeVar("R")
    T = TypeVar("T")

_IMPORTANCE = lazily(
    r"(?i)\b(?:(?:set|change|raise|lower|make|put|update)\s+)?(?:(?:the|its)\s+)?importance(?:\s+of\s+(?:this|that|it|the)(?:\s+(?:entry|memory|note|one))?)?(?:to|should|be|is|as|at|of|[=:\s])*"
    r"(?P<en>high|medium|low|[01](?:\.\d+)?|\.\d+)\b"
    r"|[把将]?(?:[它这那][个条]?的?)?重要(?:性|程度|度)[应该改设调提降定高低成为到至是:：=\s]*?(?P<zh>[高中低]|[01](?:\.\d+)?)(?![成到为])等?"
)
_COURTESY = lazily(r"(?i)\b(?:please|thanks|(?:could|can|would)\s+you)\b|请|麻烦|帮我|吧|谢谢你?")
"""What stands around an importance that is asked for, and asks nothing else."""
_AROUND = " \t\n,.;，。；"

MAX_TEXT = 20_000
"""Longest statement, characters; longer texts are for `flush` and `import`."""

MAX_QUERY = 100_000
"""Longest query, characters: the time that a search takes grows with them, to half a second here."""

MAX_LABEL = 1_000
"""Longest group, kind, heading or tag, characters."""

PROMPT_TOKENS = 2000
"""Size of a recalled block unless the caller says otherwise."""

_ALL = 1 << 40

DEEPEST = 100
"""Levels of objects and lists in metadata."""

_PLACE = lazily(r"(?s)(.+\.md)(?:#L([0-9]{1,9})(?:-L?([0-9]{1,9}))?|:([0-9]{1,9})(?:-([0-9]{1,9}))?)")
"""Lines of a document as doors print them: `PATH#L3-L5`, `PATH:3-5`, of one line `PATH#L3`, `PATH:3`."""


def text_of(text: str, name: str, *, limit: int | None = None, instead: str = "") -> str:
    """Check a text: not blank, at most `limit` characters (None: any length)."""
    if not text.strip():
        from memorybook import locale

        raise locale.error(InvalidInput, "problems.blank", name=name)
    if limit is not None and len(text) > limit:
        raise InvalidInput(f"{name} has {len(text)} characters, over {limit}: {instead or 'give fewer'}")
    return text


def words_of(text: str, name: str = "query") -> str:
    """Check a question: a text of at most `MAX_QUERY` characters."""
    return text_of(text, name, limit=MAX_QUERY, instead="ask in fewer words")


def read_place(text: str) -> tuple[str, int, int] | None:
    """Read path, first and last line of a place such as `PATH#L3-L5` or `PATH:3`; None for anything else.

    A path ends in .md, so none is taken for a place, whatever is in its name.
    """
    found = _PLACE.fullmatch(text)
    if found is None:
        return None
    first, last = found[2] or found[4], found[3] or found[5]
    return found[1], int(first), int(last or first)


def lines_of(target: str, start: int, lines: int | None) -> tuple[str, int, int | None]:
    """Return the document to open, its first line and how many (None: all), read from a place in `target` if it is one.

    A place of one line may be given with `lines` to go on for. A start of 1 is as good as none.
    """
    place = read_place(target)
    if place is None:
        return target, start, lines
    path, first, last = place
    if last < first:
        raise InvalidInput(f"{target!r} ends before it begins: write the smaller line first")
    if start not in (1, first) or (lines not in (None, last - first + 1) and last > first):
        asked = f"from {start}" + ("" if lines is None else f", {lines} lines")
        raise InvalidInput(f"{target!r} says other lines than {asked}: say once which lines you want")
    return path, first, last - first + 1 if lines is None else lines


def statement_of(text: str) -> str:
    """Check a statement or a note: a text of at most `MAX_TEXT` characters."""
    return text_of(text, "text", limit=MAX_TEXT, instead="use flush or import for long texts")


def _whole(number: int, name: str) -> int:
    """Check a whole number, at least 1."""
    if number < 1:
        raise InvalidInput(f"{name} {number} is below 1")
    return number


def size_of(max_results: int | None, default: int, name: str = "max_results") -> int:
    """Check how many results are wanted, 1..200."""
    size = _whole(default if max_results is None else max_results, name)
    if size > 200:
        raise InvalidInput(f"{name} {size} is not in 1..200")
    return size


def count_of(limit: int | None, name: str = "limit") -> int | None:
    """Check how many are wanted, at least 1; None for all. More than any book holds is as good as that."""
    return None if limit is None else min(_whole(limit, name), _ALL)


def relevance_of(min_score: float | None, default: float) -> float:
    """Check the least relevance that is wanted, 0..1."""
    least = default if min_score is None else min_score
    if not 0.0 <= least <= 1.0:
        raise InvalidInput(f"min_score {least} is not in 0..1: it is a relevance")
    return least


def budget_of(max_tokens: int | None) -> int:
    """Check the size of a recalled block, at least 1 token."""
    return _whole(PROMPT_TOKENS if max_tokens is None else max_tokens, "max_tokens")


def query_of(
    query: str,
    *,
    limit: int,
    category: str | None,
    since: str | date | None,
    until: str | date | None,
    session: str | None,
) -> Query:
    """Make the query of a search that shows `limit` hits."""
    first, last = days_of(since, until)
    return Query(
        words_of(query),
        pool=max(100, 2 * limit),
        category=category_of(category) if category else None,
        since=first,
        until=last,
        session=session or None,
    )


def asked_importance(instruction: str) -> tuple[str | float | None, str]:
    """Read the importance an instruction asks for (None: none), and what else it asks ("": nothing).

    >>> asked_importance("set the importance to 0.9"), asked_importance("把重要性改成高，并写短一点")
    ((0.9, ''), ('高', '并写短一点'))
    """
    found = _IMPORTANCE.search(instruction)
    if found is None:
        return None, instruction
    level = found["en"] or found["zh"]
    rest = f"{instruction[: found.start()]} {instruction[found.end() :]}".strip(_AROUND)
    asks = any(map(str.isalnum, _COURTESY.sub("", rest)))
    return level.lower() if level[0] not in "01." else float(level), rest if asks else ""


ALSO: Mapping[str, tuple[str, ...]] = {
    "path": ("target",),
    "memory_id": ("id", "target"),
    "id": ("target",),
    "limit": ("max_results",),
    "max_results": ("limit",),
    "content": ("text",),
}
"""Names of arguments that users of other memories know: each stands for the first of these that a verb takes."""


def renamed(own: Collection[str], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Rename arguments to the verb's own names; one given under two names keeps both, for the verb to refuse."""
    named: dict[str, Any] = {}
    for name in sorted(arguments, key=lambda name: name not in own):
        ours = (also for also in ALSO.get(name, ()) if also in own and arguments.get(also) is None)
        named[name if name in own else next(ours, name)] = arguments[name]
    return named


def check_arguments(verbs: type[T]) -> type[T]:
    """Let the public methods of a class refuse what their annotations do not name, and take the names of `ALSO`."""
    for name in dir(verbs):
        method = getattr(verbs, name)
        if name[0] != "_" and hasattr(method, "__code__"):
            setattr(verbs, name, checking(method))
    return verbs


def checking(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its arguments renamed and checked; see `check_arguments`."""
    code, kinds = function.__code__, function.__annotations__
    count = code.co_argcount + code.co_kwonlyargcount
    own, places = code.co_varnames[:count], code.co_varnames[: code.co_argcount]
    rest = code.co_varnames[count] if code.co_flags & _TAKES_MORE else ""

    def checked(*given: Any, **named: Any) -> R:
        named = renamed(own, named) if named else named
        values = [(places[at] if at < len(places) else rest, value) for at, value in enumerate(given)]
        values += named.items()
        for name, value in values:
            _check(name, value, kinds.get(name, "Any"))
        try:
            if _TRACED in sys.modules and code.co_name != "seen_by":
                from memorybook.config.telemetry import verb

                return verb(function, given, named)
            return function(*given, **named)
        except UnicodeEncodeError:  # a name that no file or service can have
            for name, value in values:
                _check_encodable(name, value)
            raise

    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__annotations__"):
        setattr(checked, name, getattr(function, name))
    checked.__wrapped__ = function  # type: ignore[attr-defined]
    return cast("Callable[P, R]", checked)


_TRACED = "logging"
"""Module without which nobody listens to what verbs do: the application has a log or a tracer, which brings one."""

_TAKES_MORE = 4
"""Flag of a code object with `*args`."""


def _is_list(value: Any) -> bool:
    return hasattr(value, "__iter__") and not isinstance(value, (str, bytes, bytearray, Mapping))


def _are_texts(value: Any) -> bool:
    return _is_list(value) and (not hasattr(value, "__len__") or all(isinstance(each, str) for each in value))


_KINDS: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("str", "CategoryName", "State", "Importance"), lambda value: isinstance(value, str)),
    "int": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "float": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "bool": lambda value: isinstance(value, bool),
    "date": lambda value: hasattr(value, "isoformat"),
    "os.PathLike[str]": lambda value: hasattr(value, "__fspath__"),
    "Mapping[str, Any]": lambda value: isinstance(value, Mapping),
    "Sequence[str]": _are_texts,
    "Sequence[Mapping[str, Any]]": _is_list,
    "Progress": callable,
    "None": lambda value: value is None,
}
"""Whether a value is what a part of an annotation names."""

_MUST_BE: Mapping[str, str] = {
    **dict.fromkeys(("str", "CategoryName", "State"), "problems.must_be_text"),
    "str | date": "problems.must_be_text_or_date",
    "str | os.PathLike[str]": "problems.must_be_text_or_path",
    "str | Sequence[str]": "problems.must_be_text_or_texts",
    "Importance | float": "problems.must_be_text_or_number",
    "int": "problems.must_be_whole",
    "float": "problems.must_be_number",
    "bool": "problems.must_be_true_or_false",
    "Mapping[str, Any]": "problems.must_be_object",
    "Sequence[str]": "problems.must_be_texts",
    "Sequence[Mapping[str, Any]]": "problems.must_be_objects",
    "Progress": "problems.must_be_function",
}
"""The message for a value that is not what an annotation names, without `| None`. Any other admits everything."""


def _check(name: str, value: Any, annotation: str) -> None:
    """Raise InvalidInput for a value that is not what the annotation names."""
    id = _MUST_BE.get(annotation.removesuffix(" | None"))
    if id is not None and not any(_KINDS[part](value) for part in annotation.split(" | ")):
        from memorybook import locale

        raise locale.error(InvalidInput, id, name=name, value=repr(value)[:80])


def _check_encodable(name: str, value: Any) -> None:
    """Raise InvalidInput for text with half a character, such as one of a surrogate pair."""
    for text in [value] if isinstance(value, str) else value if _are_texts(value) else ():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            from memorybook import locale

            half = repr(text[error.start])
            raise locale.error(
                InvalidInput, "problems.half_a_character", name=name, value=half, place=error.start
            ) from None


def category_of(name: str) -> Category:
    """Return the category that a name or alias stands for."""
    from memorybook.model import CATEGORIES, CATEGORY_ALIASES

    known = CATEGORY_ALIASES.get(name, name)
    if known not in CATEGORIES:
        raise InvalidInput(f"category {name!r} is not one of {', '.join(CATEGORIES)}")
    return known


def label_of(label: str, name: str) -> str:
    """Check a short text such as a group or a heading: at most `MAX_LABEL` characters."""
    if len(label) > MAX_LABEL:
        raise InvalidInput(f"{name} has {len(label)} characters, over {MAX_LABEL}: give a few words")
    return label


def tags_of(tags: Sequence[str]) -> tuple[str, ...]:
    """Check tags: without `#` and blanks, each once, in order; at most `MAX_TEXT` characters in all."""
    cleaned = (tag.strip().lstrip("#") for tag in tags)
    kept = tuple(dict.fromkeys(label_of(tag, "a tag") for tag in cleaned if tag))
    if sum(map(len, kept)) > MAX_TEXT:
        raise InvalidInput(f"there are {len(kept)} tags, over {MAX_TEXT} characters: give a few words")
    return kept


def day_of(day: str | date | None, name: str, zone: tzinfo | None = UTC) -> str | None:
    """Check a day `YYYY-MM-DD`, that of a time being the one in `zone` (None: here); None for None and ""."""
    if day is None or day == "":
        return None
    try:
        time = datetime.fromisoformat(day.strip()) if isinstance(day, str) else day
        if isinstance(time, datetime):
            time = (time.astimezone(zone) if time.tzinfo else time).date()
        return time.isoformat()
    except (AttributeError, ValueError, OverflowError):
        raise InvalidInput(f"{name} {day!r} is not a day: write it as YYYY-MM-DD") from None


def days_of(
    since: str | date | None, until: str | date | None, zone: tzinfo | None = UTC
) -> tuple[str | None, str | None]:
    """Check the first and the last day of a span, which may be the same; None leaves it open."""
    first, last = day_of(since, "since", zone), day_of(until, "until", zone)
    if first and last and first > last:
        raise InvalidInput(f"since {first} is after until {last}: no day is in between")
    return first, last


def metadata_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Copy metadata as JSON holds it: an object of at most `DEEPEST` levels, without NaN and infinity.

    As JSON it has at most `MAX_TEXT` characters.
    """
    import json

    try:
        written = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False)
        copy: dict[str, Any] = json.loads(written)
    except (TypeError, ValueError, RecursionError) as problem:
        reason = "too deep" if isinstance(problem, RecursionError) else problem
        raise InvalidInput(f"metadata cannot be kept as JSON ({reason}): use texts, numbers, lists, objects") from None
    if len(written) > MAX_TEXT:
        raise InvalidInput(f"metadata has {len(written)} characters as JSON, over {MAX_TEXT}: keep less of it")
    level: list[Any] = [copy]
    for _ in range(DEEPEST):
        holders = (value.values() if isinstance(value, dict) else value for value in level)
        level = [inner for holder in holders for inner in holder if isinstance(inner, dict | list)]
    if level:
        raise InvalidInput(f"metadata is more than {DEEPEST} levels deep: make it flatter")
    return copy
