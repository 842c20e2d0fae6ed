"""Past conversations as they are known: in the transcripts, and in the summaries that stand in the book."""

from __future__ import annotations

from memorybook import locale
from memorybook import validate as given
from memorybook._light import TYPE_CHECKING, date, datetime, lazily, timedelta
from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound
from memorybook.formats import session_md
from memorybook.sessions import session_order
from memorybook.sessions.dialogue import asks_of_talks
from memorybook.sessions.recall_block import FoundSession, FoundTurn
from memorybook.sessions.session_order import Listed
from memorybook.sessions.summarize import summarize
from memorybook.sessions.turns import GOING_ON
from memorybook.text.days import readers
from memorybook.text.days.readers import days_of, spans_in
from memorybook.text.splitting import utc_day

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from memorybook.context import Context
    from memorybook.model import Session, SessionSummary, Turn
    from memorybook.search.types import Passage
    from memorybook.text.days.readers import Span


SUMMARIZED = 400
"""Of a session without a summary, how many of its last turns are read for one."""

NEAR = 2
"""How far from a turn that was found others are shown in its session, where few were found."""

FOLDER = "sessions/"

Days = tuple[str | None, str | None]
"""First and last day, `YYYY-MM-DD`, inclusive; None where open."""


# --- one session -----------------------------------------------------------------------------------


def told_of(context: Context, name: str) -> Session | None:
    """The session of that uuid or name of which only a summary tells; None if there is none.

    Raises Conflict if several are called so.
    """
    told = [(path, page) for path, page in _pages(context) if name in (page.session, page.name)]
    if len(told) > 1:
        raise Conflict(f"{len(told)} summaries are of a session {name!r}: name one, such as {told[0][0]!r}")
    return _only_told(*told[0]) if told else None


def known_session(context: Context, uuid: str, path: str = "") -> Session | None:
    """The session by uuid, else what the summary at `path` tells of it; None if neither is there any more."""
    try:
        return context.book.transcripts.session(uuid)
    except NotFound:
        page = _page(context, path) if path.startswith(FOLDER) else None
    return _only_told(path, page) if page is not None else None


def of_page(context: Context, path: str) -> Session | None:
    """The session that the summary at that path is of; None if there is no such page. Raises UnsafePath."""
    page = _page(context, path)
    return None if page is None else known_session(context, page.session or path, path)


def _only_told(path: str, page: SessionSummary) -> Session:
    """A session that only a summary tells of: another book's, or one whose turns are not kept."""
    from memorybook.model import Session

    return Session(
        uuid=page.session or path,
        name=page.name,
        path=path,
        created=page.started,
        updated=page.ended or page.started,
        ended=page.ended or page.started,
    )


def _page(context: Context, path: str) -> SessionSummary | None:
    """The summary document as it stands; None if there is none."""
    try:
        return session_md.parse(context.book.documents.read(path).text)
    except MissingDocument:
        return None


def _pages(context: Context) -> Iterator[tuple[str, SessionSummary]]:
    """Every summary with its path, by the day in its name, newest first."""
    paths = (info.path for info in context.book.documents.list() if info.path.startswith(FOLDER))
    for path in sorted(paths, key=_file, reverse=True):
        page = _page(context, path)
        if page is not None:
            yield path, page


def found(context: Context, session: Session, score: float = 0.0) -> FoundSession:
    """A session as recalls show it; its summary is the page that stands in the book, else made of what was said."""
    if not session.turn_ids:  # as it comes from `newest`
        session = known_session(context, session.uuid, session.path) or session
    page = _page(context, session.path) if session.path else None
    title = page.title or session.title if page is not None else ""
    if page is None:
        page = _unwritten(context, session)
        title = page.title
    return FoundSession(
        session.uuid,
        session.name,
        title,
        _summary(page),
        session.created,
        session.ended,
        len(session.turn_ids) or page.turns,
        session.path,
        score,
        session.updated,
        goes_on(session),
    )


def goes_on(session: Session) -> bool:
    """Whether it goes on by itself: a talk with an agent or a chat that nobody ended."""
    return session.ended is None and session.source in GOING_ON


def begun(context: Context, session: str) -> datetime | None:
    """When a session (uuid) began; None if it is not known."""
    known = known_session(context, session)
    return None if known is None else known.created


def title_of(context: Context, session: Session) -> str:
    """The title on its page, which a person may have edited; its own where it has none, "" if neither is there."""
    page = _page(context, session.path) if session.path else None
    return page.title or session.title if page is not None else session.title


def _unwritten(context: Context, session: Session) -> SessionSummary:
    """What there is to say of a session without a page: what the transcripts have, else its own best sentences."""
    from memorybook.forget.tombstones import turns_without, untold, worth_telling
    from memorybook.model import SessionSummary

    session = untold(context, session)
    if session.summary:
        return SessionSummary(session=session.uuid, title=session.title, summary=session.summary)
    turns = context.book.transcripts.turns(session.uuid, last=SUMMARIZED)
    told = turns_without(turns, worth_telling(context, session.uuid, turns))
    return summarize(told, session=session, language=context.config.language)


def _summary(page: SessionSummary) -> str:
    """The summary, then what was decided, each once."""
    lines = page.summary.splitlines()
    said = page.summary.casefold()
    return "\n".join([*lines, *(f"- {each}" for each in page.decisions if each.casefold() not in said)])


def said(turn: Turn, score: float = 0.0) -> FoundTurn:
    """A turn as recalls show it."""
    speaker = turn.speaker or turn.role
    return FoundTurn(turn.id, turn.session, turn.role, speaker, turn.text, turn.time, turn.position, score)


# --- many ------------------------------------------------------------------------------------------


def newest(context: Context, days: Days = (None, None), *, without: str | None = None) -> Iterator[Session]:
    """Sessions that were talked in within these days (the book's), newest first, but for the one of that uuid.

    Those that only a summary tells of stand among them by their days.
    """
    wanted = (session for session in _merged(context, days[0]) if session.uuid != without)
    return (session for session in wanted if within(context, session, days))


def talked_in(context: Context, days: Days = (None, None), *, without: str | None = None) -> Iterator[Session]:
    """Those of `newest` in which something was said.

    One that was only opened is no earlier conversation, nor one in which nothing was said but what asks for those.
    """
    return (one for one in newest(context, days, without=without) if not _is_silent(context, one))


def _is_silent(context: Context, session: Session) -> bool:
    if session.title or session.summary:
        return False
    turns = context.book.transcripts.turns(session.uuid, last=SUMMARIZED)
    if not turns:
        return session.created == session.updated and not session.path
    said = [turn.text for turn in turns if turn.role in ("user", "")]
    return bool(said) and all(map(asks_of_talks, said))


def _merged(context: Context, since: str | None) -> Iterator[Session]:
    """What the transcripts have and what only a summary tells of, newest first, read as far as it is asked for."""
    paths = [info.path for info in context.book.documents.list() if info.path.startswith(FOLDER)]
    paths.sort(key=_file)
    known: set[str] = set()
    told: list[Session] = []
    for batch in _stored(context):
        known.update(session.path for session in batch)
        told = sorted([*told, *_told_only(context, paths, known, utc_day(batch[-1].updated) or "")], key=_time)
        for session in batch:
            while told and _time(told[-1]) > _time(session):
                yield told.pop()
            yield session
        if since is not None and batch[-1].updated is not None and _day(context, batch[-1].updated) < since:
            break
    yield from sorted([*told, *_told_only(context, paths, known, since or "")], key=_time, reverse=True)


def _stored(context: Context) -> Iterator[Sequence[Session]]:
    """What the transcripts have, newest first, a few at a time; without the ids of their turns."""
    seen, size = 0, 16
    while True:
        found = context.book.transcripts.sessions(limit=seen + size, turn_ids=False)
        if found[seen:]:
            yield found[seen:]
        if len(found) < seen + size:
            return
        seen, size = len(found), 4 * size


def _told_only(context: Context, paths: list[str], known: set[str], since: str) -> Iterator[Session]:
    """Take the summaries of that day or later off the end of `paths`; those of sessions that nothing else has.

    Pages that are `known` to be of others need not be read.
    """
    while paths and _file(paths[-1])[:10] >= since:
        path = paths.pop()
        page = None if path in known else _page(context, path)
        if page is not None and not (page.session and _is_stored(context, page.session)):
            yield _only_told(path, page)


def _file(path: str) -> str:
    """The name of a page, which begins with its day, whether it is of this book or of another machine's folder."""
    return path.rpartition("/")[2]


def _is_stored(context: Context, uuid: str) -> bool:
    try:
        return bool(context.book.transcripts.session(uuid))
    except NotFound:
        return False


def _time(session: Session) -> float:
    """When it was last talked in; what has no time comes last."""
    return float("-inf") if session.updated is None else session.updated.timestamp()


def within(context: Context, session: Session, days: Days) -> bool:
    """Whether a session was going on within the days; one without times only if all days are open."""
    first, last = days
    if first is None and last is None:
        return True
    begun, ended = session.created or session.updated, session.updated or session.created
    if begun is None or ended is None:
        return False
    return (last is None or _day(context, begun) <= last) and (first is None or _day(context, ended) >= first)


def _day(context: Context, time: datetime) -> str:
    return context.book.day(time).isoformat()


def uuid_of(context: Context, session: str | None) -> str | None:
    """The uuid of the current session; as it is given, if no turn of it is stored yet."""
    if not session:
        return None
    try:
        return context.book.transcripts.session(session).uuid
    except NotFound:
        return session


def turns_at(context: Context, places: Sequence[tuple[str, str, float]]) -> tuple[FoundTurn, ...]:
    """The turns at (session, id, score), in that order; what is gone is left out."""
    turns = []
    for session, id, score in places:
        turns += [said(turn, score) for turn in context.book.transcripts.find(id, session)]
    return tuple(turns)


def beside(context: Context, found: Sequence[FoundTurn], most: int, *, without: str = "") -> list[FoundTurn]:
    """At most so many turns that stand near those that were found in their session, the nearest to the best first."""
    session = found[0].session
    turns = {turn.position: turn for turn in context.book.transcripts.turns(session) if turn.text.strip() != without}
    known = {turn.position for turn in found}
    places = [turn.position + step for reach in range(1, NEAR + 1) for turn in found for step in (reach, -reach)]
    near = [place for place in dict.fromkeys(places) if place in turns and place not in known]
    return [said(turns[place]) for place in near[:most]]


def at_end(
    context: Context, session: str, end: str, most: int, known: Sequence[FoundTurn], *, without: str = ""
) -> list[FoundTurn]:
    """At most so many turns at the `start` or the `end` of a session, in their order, but for those that are known."""
    turns = [turn for turn in context.book.transcripts.turns(session) if turn.text.strip() != without]
    places = {turn.position for turn in known}
    turns = [turn for turn in turns if turn.position not in places]
    return [said(turn) for turn in (turns[:most] if end == "start" else turns[max(0, len(turns) - most) :])]


# --- resolve session --------------------------------------------------------------------------------

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
    page = of_page(context, words) if words.startswith(FOLDER) else None
    if page is not None:
        return page, ""
    try:
        return context.book.transcripts.session(words), ""
    except NotFound as error:
        unknown = error
    found = _by_beginning(context, words) or _by_order(context, words, without)
    if found is None:
        named = not asked and len(words) <= LONGEST_NAME
        told = told_of(context, words) or _titled(context, words) if named else None
        if told is None:
            raise _missing(context, words, unknown, without) from unknown
        return told, ""
    one, reason = found
    return known_session(context, one.uuid, one.path) or one, reason


def _by_beginning(context: Context, words: str) -> tuple[Session, str] | None:
    wanted = words.lower()
    if len(wanted) < SHORTEST or not set(wanted) <= _OF_UUIDS or _DAY.fullmatch(wanted):
        return None
    found = [session for session in newest(context) if session.uuid.lower().startswith(wanted)]
    if len(found) > 1:
        names = ", ".join(repr(session.uuid) for session in found[:5])
        raise locale.error(Conflict, "problems.sessions_begin", count=len(found), start=repr(words), uuids=names)
    return (found[0], f"its uuid begins with {words!r}") if found else None


def _titled(context: Context, words: str) -> Session | None:
    """The session of that title, else of the only one that begins so; None if none or several do."""
    wanted = words.removesuffix("…").casefold()
    known = [(one, title_of(context, one).casefold()) for one in newest(context)]
    same = [one for one, title in known if title == wanted]
    if len(wanted.encode(errors="replace")) < SHORTEST:
        return same[0] if same else None
    found = same[:1] or [one for one, title in known if title.startswith(wanted)]
    return found[0] if len(found) == 1 else None


def _missing(context: Context, words: str, unknown: NotFound, without: str | None) -> NotFound:
    """Why there is no such session: nothing was said on the days that the words name, or nothing is called so."""
    days = days_in(context, words)
    if days:
        on = told_without(context, around(days), without)
        return NotFound(f"nothing was said {on}, which is how {words!r} was understood")
    return locale.error(NotFound, f"{unknown.message_id}_nor_words", **unknown.values)


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
    first = None if without is None or meant is not None else begun(context, without)
    for one in talked_in(context, _days(meant) if meant is not None else (None, None), without=without):
        if first is not None and goes_on(one) and one.updated is not None and one.updated > first:
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
