"""Which session, and which days, the words of a caller mean."""

from __future__ import annotations

from memorybook import validate as given
from memorybook._light import TYPE_CHECKING, date, datetime, lazily, timedelta
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.sessions import session_list, session_order
from memorybook.sessions.session_order import Listed
from memorybook.text.days import readers
from memorybook.text.days.readers import days_of, spans_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from memorybook.context import Context
    from memorybook.model import Session
    from memorybook.search.types import Passage
    from memorybook.sessions.session_list import Days
    from memorybook.text.days.readers import Span

SHORTEST = 4
"""Bytes of a uuid or a title by which a session is known, where no other begins so."""

LONGEST_NAME = 200
"""Characters from which words name no session."""

LONGEST_QUESTION = 300
"""Characters from which a text tells something more likely than it asks: days in it narrow nothing."""

_OF_UUIDS = frozenset("0123456789abcdef-")
_DAY = lazily(r"\d{4}-\d\d?-\d\d?")


# --- which session ---------------------------------------------------------------------------------


def chosen(context: Context, words: str, *, without: str | None = None, asked: bool = False) -> tuple[Session, str]:
    """The session that the words mean, and how they were read ("" for a uuid or a name).

    In this order: the path of its summary, a uuid or a name, the beginning of a uuid, words of order and time ("last
    time", 第二次, a day), what a summary in the book calls it, its title or how that begins.

    Args:
        memory: Where it is looked for.
        words: See `Memory.recall_session`.
        without: Uuid of the current session, which words of order and time do not mean.
        asked: Whether they are a whole question, which is no title: a session that is called so only asked the same.

    Raises:
        NotFound: None is meant. Conflict: several are.
    """
    words = words.strip()
    page = session_list.of_page(context, words) if words.startswith(session_list.FOLDER) else None
    if page is not None:
        return page, ""
    try:
        return context.book.transcripts.session(words), ""
    except NotFound as error:
        unknown = error
    found = _by_beginning(context, words) or _by_order(context, words, without)
    if found is None:
        named = not asked and len(words) <= LONGEST_NAME
        told = session_list.told_of(context, words) or _titled(context, words) if named else None
        if told is None:
            raise NotFound(_missing(context, words, str(unknown), without)) from unknown
        return told, ""
    one, reason = found
    return session_list.known_session(context, one.uuid, one.path) or one, reason


def _by_beginning(context: Context, words: str) -> tuple[Session, str] | None:
    wanted = words.lower()
    if len(wanted) < SHORTEST or not set(wanted) <= _OF_UUIDS or _DAY.fullmatch(wanted):
        return None
    found = [session for session in session_list.newest(context) if session.uuid.lower().startswith(wanted)]
    if len(found) > 1:
        names = ", ".join(repr(session.uuid) for session in found[:5])
        raise Conflict(f"{len(found)} sessions begin with {words!r}: {names}")
    return (found[0], f"its uuid begins with {words!r}") if found else None


def _titled(context: Context, words: str) -> Session | None:
    """The session of that title, else of the only one that begins so; None if none or several do."""
    wanted = words.removesuffix("…").casefold()
    known = [(one, session_list.title_of(context, one).casefold()) for one in session_list.newest(context)]
    same = [one for one, title in known if title == wanted]
    if len(wanted.encode(errors="replace")) < SHORTEST:
        return same[0] if same else None
    found = same[:1] or [one for one, title in known if title.startswith(wanted)]
    return found[0] if len(found) == 1 else None


def _missing(context: Context, words: str, unknown: str, without: str | None) -> str:
    """Why there is no such session: nothing was said on the days that the words name, or nothing is called so."""
    days = days_in(context, words)
    if days:
        return f"nothing was said {told_without(context, around(days), without)}, which is how {words!r} was understood"
    return f"{unknown}; a day (2026-02-24) and words such as 'last time' or 上次 are understood too"


def told(days: Days) -> str:
    """Days, both of which are given, in words."""
    first, last = days
    return f"on {first}" if first == last else f"from {first} to {last}"


def told_without(context: Context, days: Days, without: str | None) -> str:
    """The same; and, if it goes on in these days, that the session of the uuid `without` is not looked into."""
    book, (first, last) = context.book, days
    try:
        began = book.transcripts.session(without).created if without else None
    except (NotFound, Conflict):
        began = None
    theirs = began is not None and str(book.day(began)) <= str(last) and str(first) <= str(book.day(book.now()))
    return told(days) + (" in other sessions" if theirs else "")


def _by_order(context: Context, words: str, without: str | None) -> tuple[Session, str] | None:
    """By words of order and time; of several sessions of a day the last, where they say nothing else."""
    known: dict[str, Session] = {}
    uuid, reason = session_order.pick(
        words, _listed(context, words, without, known), context.book.day(context.book.now())
    )
    return None if uuid is None else (known[uuid], reason)


def those(context: Context, words: str, *, without: str | None) -> tuple[list[Session], Days]:
    """All sessions of the days that the words name, newest first, and these days; none and all days if they name none.

    Arguments are those of `chosen`.
    """
    known: dict[str, Session] = {}
    today = context.book.day(context.book.now())
    meant = days_of(words, today)
    if meant is None:
        return [], (None, None)
    found = session_order.those(words, _listed(context, words, without, known), today)
    return [known[one.uuid] for one in found], _days(meant)


def _listed(context: Context, words: str, without: str | None, known: dict[str, Session]) -> Iterator[Listed]:
    """The sessions of the days that the words name, of all where they name none, newest first; added to `known`."""
    meant = days_of(words, context.book.day(context.book.now()))
    begun = None if without is None or meant is not None else session_list.begun(context, without)
    for one in session_list.talked_in(context, _days(meant) if meant is not None else (None, None), without=without):
        if begun is not None and session_list.goes_on(one) and one.updated is not None and one.updated > begun:
            continue  # held beside the current one, not before it
        known[one.uuid] = one
        yield Listed(one.uuid, one.name, _here(context, one.created), _here(context, one.updated))


def _here(context: Context, time: datetime | None) -> datetime | None:
    return None if time is None else time.astimezone(context.book.zone)


def days_given(context: Context, since: str | date | None, until: str | date | None) -> Days:
    """The first and the last day of a span, each as a day or in words: "last week" begins or ends it; None is open.

    Raises InvalidInput for what names no day.
    """
    first = _day_given(context, since, 0)
    return given.days_of(first, _day_given(context, until, 1))


def _day_given(context: Context, day: str | date | None, end: int) -> str | date | None:
    """The day on which the days begin (0) or end (1) that words name; what names none as it is."""
    try:
        return given.day_of(day, "day")
    except InvalidInput:
        meant = days_of(day, context.book.day(context.book.now())) if isinstance(day, str) else None
        return day if meant is None else _days(meant)[end]


# --- which days ------------------------------------------------------------------------------------


def days_in(context: Context, question: str) -> tuple[Span, ...]:
    """The spans of days that a question names, none that begins after today; without its year a day is the newest such.

    None if it is so long that it tells something more likely than it asks.
    """
    return () if len(question) > LONGEST_QUESTION else spans_in(question, context.book.day(context.book.now()))


def without_days(context: Context, question: str) -> str:
    """The question without the words that `days_in` reads."""
    return readers.without_days(question, context.book.day(context.book.now()))


def _days(span: Span) -> tuple[str, str]:
    return date.fromordinal(span[0]).isoformat(), date.fromordinal(span[1]).isoformat()


def around(wanted: Sequence[Span]) -> Days:
    """From the first to the last day of the spans, at least one."""
    return _days((min(first for first, _ in wanted), max(last for _, last in wanted)))


def widened(days: Days) -> Days:
    """A day more at each end: passages are dated by days of UTC, the book's may begin up to a day before or after."""
    first, last = days
    return first and _moved(first, -1), last and _moved(last, 1)


def _moved(day: str, by: int) -> str:
    try:
        return (date.fromisoformat(day) + timedelta(days=by)).isoformat()
    except OverflowError:
        return day


def said_within(context: Context, days: Days, wanted: Iterable[Span] = ()) -> Callable[[Passage], bool]:
    """Whether a passage that `widened` lets through is of these days, and of one of the spans, by the book's time."""
    first, last = days
    spoken = [_days(span) for span in wanted]

    def holds(passage: Passage) -> bool:
        day = passage.date
        well_inside = day is not None and (first is None or first < day) and (last is None or day < last)
        if (first is None and last is None) or (well_inside and len(spoken) < 2):
            return True
        day = _day_of(context, passage)
        if day is None or (first is not None and day < first) or (last is not None and day > last):
            return False
        return not spoken or any(begin <= day <= end for begin, end in spoken)

    return holds


def _day_of(context: Context, passage: Passage) -> str | None:
    """The day that a passage is of: a turn's in the book's timezone, if it has a time; else as it is dated."""
    if passage.turn is not None and passage.source == "turn":
        for turn in context.book.transcripts.find(passage.turn, passage.session):
            if turn.time is not None:
                return context.book.day(turn.time).isoformat()
    return passage.date
