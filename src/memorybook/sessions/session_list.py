"""Past conversations as they are known, in the transcripts and in summaries of the book, and which of them words mean.

By name, by order ("the last one", 上上次, 第二次) and by time ("the second of yesterday").
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import islice

from memorybook import locale
from memorybook import validate as given
from memorybook._light import TYPE_CHECKING, date, datetime, lazily, timedelta
from memorybook.errors import Conflict, InvalidInput, MissingDocument, NotFound, Unavailable
from memorybook.forget.tombstones import filter_turns, summary_filter, without_undone_orders
from memorybook.formats import session_md
from memorybook.model import Session, SessionSummary, Turn
from memorybook.sessions.dialogue import asks_of_talks
from memorybook.sessions.recall_block import FoundSession, FoundTurn
from memorybook.sessions.summarize import summarize
from memorybook.sessions.turns import GOING_ON
from memorybook.text import days as day_readers
from memorybook.text.days import days_of, spans_in
from memorybook.text.splitting import utc_day
from memorybook.text.tokens import number

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.search.types import Passage
    from memorybook.text.days import Span


SUMMARIZED = 400
"""Of a session without a summary, how many of its last turns are read for one."""

NEAR = 2
"""How far from a turn that was found others are shown in its session, where few were found."""

FOLDER = "sessions/"

Days = tuple[str | None, str | None]
"""First and last day, `YYYY-MM-DD`, inclusive; None where open."""


# --- one session -----------------------------------------------------------------------------------


def known_session(context: Context, uuid: str, path: str = "") -> Session | None:
    """Return the session by uuid, else what the summary at `path` says of it; None if both are gone."""
    try:
        return context.book.transcripts.session(uuid)
    except (NotFound, Unavailable):
        page = _page(context, path) if path.startswith(FOLDER) else None
    return _only_told(path, page) if page is not None else None


def _only_told(path: str, page: SessionSummary) -> Session:
    """Make a session from its summary alone: it is another book's, or its turns are not kept."""
    ended = page.ended or page.started
    return Session(
        uuid=page.session or path, name=page.name, path=path, created=page.started, updated=ended, ended=ended
    )


def _page(context: Context, path: str) -> SessionSummary | None:
    """Return the summary document at the path; None if there is none."""
    try:
        return session_md.parse(context.book.documents.read(path).text)
    except MissingDocument:
        return None


def found(context: Context, session: Session, score: float = 0.0) -> FoundSession:
    """Return a session as recalls show it, with the summary in the book, else one made from its turns.

    What was decided stands below it, each once.
    """
    if not session.turn_ids:  # as it comes from `newest`
        session = known_session(context, session.uuid, session.path) or session
    page = _page(context, session.path) if session.path else None
    title = page.title or session.title if page is not None else ""
    if page is None:
        try:
            page = _made(context, session)
        except Unavailable:  # nobody knows what of it was forgotten
            page = SessionSummary(session=session.uuid, title="", summary="")
        title = page.title
    said = page.summary.casefold()
    decided = [f"- {each}" for each in page.decisions if each.casefold() not in said]
    return FoundSession(
        session.uuid,
        session.name,
        title,
        "\n".join([*page.summary.splitlines(), *decided]),
        session.created,
        session.ended,
        len(session.turn_ids) or page.turns,
        session.path,
        score,
        session.updated,
        _goes_on(session),
    )


def _made(context: Context, session: Session) -> SessionSummary:
    """Return the stored summary, else one made of the session's best sentences."""
    session = without_undone_orders(context, session)
    if session.summary:
        return SessionSummary(session=session.uuid, title=session.title, summary=session.summary)
    turns = _last(context, session.uuid)
    told = filter_turns(turns, summary_filter(context, session.uuid, turns))
    return summarize(told, session=session, language=context.config.language)


def _last(context: Context, uuid: str) -> Sequence[Turn]:
    return context.book.told(lambda kept: kept.turns(uuid, last=SUMMARIZED))


def _goes_on(session: Session) -> bool:
    """Return whether a session is still open: a talk with an agent or a chat that nobody ended."""
    return session.ended is None and session.source in GOING_ON


def said(turn: Turn, score: float = 0.0) -> FoundTurn:
    """Return a turn as recalls show it."""
    speaker = turn.speaker or turn.role
    return FoundTurn(turn.id, turn.session, turn.role, speaker, turn.text, turn.time, turn.position, score)


# --- many ------------------------------------------------------------------------------------------


def newest(context: Context, days: Days = (None, None), *, without: str | None = None) -> Iterator[Session]:
    """Yield sessions with turns in these days (the book's), newest first, except that of the uuid `without`.

    Those that only a summary tells of stand among them by their days.
    """
    wanted = (session for session in _merged(context, days[0]) if session.uuid != without)
    return (session for session in wanted if within(context, session, days))


def talked_in(context: Context, days: Days = (None, None), *, without: str | None = None) -> Iterator[Session]:
    """Yield those of `newest` in which something was said.

    One that was only opened is no earlier conversation, nor one in which nothing was said but what asks for those.
    """
    for one in newest(context, days, without=without):
        named = one.title or one.summary
        turns = () if named else _last(context, one.uuid)
        said = [turn.text for turn in turns if turn.role in ("user", "")]
        empty = not turns and one.created == one.updated and not one.path
        if named or not (empty or (said and all(map(asks_of_talks, said)))):
            yield one


def _merged(context: Context, since: str | None) -> Iterator[Session]:
    """Yield the sessions of transcripts and of summaries alone, newest first; read only as far as is asked for."""
    paths = sorted(_pages(context), key=_file)
    known: set[str] = set()
    told: list[Session] = []
    seen, size = 0, 16
    while batch := _newest(context, seen + size)[seen:]:
        known.update(session.path for session in batch)
        told = sorted([*told, *_told_only(context, paths, known, utc_day(batch[-1].updated) or "")], key=_time)
        for session in batch:
            while told and _time(told[-1]) > _time(session):
                yield told.pop()
            yield session
        last = batch[-1].updated
        if len(batch) < size or (since is not None and last is not None and _day(context, last) < since):
            break
        seen, size = seen + size, 4 * size
    yield from sorted([*told, *_told_only(context, paths, known, since or "")], key=_time, reverse=True)


def _newest(context: Context, limit: int) -> Sequence[Session]:
    return context.book.told(lambda kept: kept.sessions(limit=limit, turn_ids=False))


def _pages(context: Context) -> list[str]:
    """Return the paths of the summaries."""
    return [info.path for info in context.book.documents.list() if info.path.startswith(FOLDER)]


def _told_only(context: Context, paths: list[str], known: set[str], since: str) -> Iterator[Session]:
    """Take the summaries of that day or later off the end of `paths`; those of sessions that nothing else has.

    Pages that are `known` to be of others need not be read.
    """
    while paths and _file(paths[-1])[:10] >= since:
        path = paths.pop()
        page = None if path in known else _page(context, path)
        if page is not None and not (page.session and known_session(context, page.session)):
            yield _only_told(path, page)


def _file(path: str) -> str:
    """Return the file name of a page, which begins with its day in this book and in folders of other machines."""
    return path.rpartition("/")[2]


def _time(session: Session) -> float:
    """Sort key: when a session was last talked in; one without times comes last."""
    return float("-inf") if session.updated is None else session.updated.timestamp()


def within(context: Context, session: Session, days: Days) -> bool:
    """Return whether a session overlaps the days; one without times does only if all days are open."""
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
    """Return the uuid of the current session; the given text if no turn of it is stored yet."""
    if not session:
        return None
    known = known_session(context, session)
    return known.uuid if known is not None else session


def turns_at(context: Context, places: Sequence[tuple[str, str, float]]) -> tuple[FoundTurn, ...]:
    """Return the turns at (session, id, score), in that order; missing ones are left out."""
    return tuple(said(turn, score) for session, id, score in places for turn in _at(context, id, session))


def _at(context: Context, id: str, session: str | None) -> Sequence[Turn]:
    return context.book.told(lambda kept: kept.find(id, session))


def beside(context: Context, found: Sequence[FoundTurn], most: int, *, without: str = "") -> list[FoundTurn]:
    """Return at most `most` turns next to the found ones in their session, the nearest to the best first."""
    session = found[0].session
    turns = {
        turn.position: turn
        for turn in context.book.told(lambda kept: kept.turns(session))
        if turn.text.strip() != without
    }
    known = {turn.position for turn in found}
    places = [turn.position + step for reach in range(1, NEAR + 1) for turn in found for step in (reach, -reach)]
    near = [place for place in dict.fromkeys(places) if place in turns and place not in known]
    return [said(turns[place]) for place in near[:most]]


def at_end(
    context: Context, session: str, end: str, most: int, known: Sequence[FoundTurn], *, without: str = ""
) -> list[FoundTurn]:
    """Return at most `most` turns from the `start` or `end` of a session, in order, without the known ones."""
    places = {turn.position for turn in known}
    turns = [turn for turn in context.book.told(lambda kept: kept.turns(session)) if turn.text.strip() != without]
    turns = [turn for turn in turns if turn.position not in places]
    return [said(turn) for turn in (turns[:most] if end == "start" else turns[max(0, len(turns) - most) :])]


# --- which session ---------------------------------------------------------------------------------

SHORTEST = 4
"""Bytes of a uuid or a title by which a session is known, where no other begins so."""

LONGEST_NAME = 200
"""Characters from which words name no session."""

LONGEST_QUESTION = 300
"""Characters from which a text tells something more likely than it asks: days in it narrow nothing."""

_OF_UUIDS = frozenset("0123456789abcdef-")
_DATE = lazily(r"\d{4}-\d\d?-\d\d?")


def chosen(context: Context, words: str, *, without: str | None = None, asked: bool = False) -> tuple[Session, str]:
    """Return the session that the words mean, and how they were read ("" for a uuid or a name).

    In this order: the path of its summary, a uuid or a name, the beginning of a uuid, words of order and time ("last
    time", 第二次, a day), what a summary in the book calls it, its title or how that begins.

    Args:
        context: Where it is looked for.
        words: See `Memory.recall_session`.
        without: Uuid of the current session, which words of order and time do not mean.
        asked: Whether they are a whole question, which is no title: a session that is called so only asked the same.

    Raises:
        NotFound: None is meant. Conflict: several are.
    """
    words = words.strip()
    page = _page(context, words) if words.startswith(FOLDER) else None
    told = known_session(context, page.session or words, words) if page is not None else None
    if told is not None:
        return told, ""
    try:
        return context.book.transcripts.session(words), ""
    except (NotFound, Unavailable) as error:
        unknown = error
    one, reason = _by_beginning(context, words), f"its uuid begins with {words!r}"
    if one is None:
        one, reason = pick(words, _listed(context, words, without), _today(context))
    if one is not None:
        return known_session(context, one.uuid, one.path) or one, reason
    told = _by_name(context, words) if not asked and len(words) <= LONGEST_NAME else None
    if told is not None:
        return told, ""
    days = days_in(context, words)
    if days:
        on = told_without(context, around(days), without)
        raise NotFound(f"nothing was said {on}, which is how {words!r} was understood") from unknown
    if isinstance(unknown, Unavailable):
        raise unknown
    raise locale.error(NotFound, f"{unknown.message_id}_nor_words", **unknown.values) from unknown


def _by_beginning(context: Context, words: str) -> Session | None:
    """Return the session whose uuid begins so, if any. Raises Conflict if several do."""
    wanted = words.lower()
    if len(wanted) < SHORTEST or not set(wanted) <= _OF_UUIDS or _DATE.fullmatch(wanted):
        return None
    found = [session for session in newest(context) if session.uuid.lower().startswith(wanted)]
    if len(found) > 1:
        names = ", ".join(repr(session.uuid) for session in found[:5])
        raise locale.error(Conflict, "problems.sessions_begin", count=len(found), start=repr(words), uuids=names)
    return found[0] if found else None


def _by_name(context: Context, words: str) -> Session | None:
    """Return the session of that uuid, name or title, else of the only title that begins so; None if not exactly one.

    A title on a page, which a person may have edited, counts before the session's own. Raises Conflict if several
    summaries are of sessions of that name.
    """
    pages = [(path, _page(context, path)) for path in sorted(_pages(context), key=_file, reverse=True)]
    told = [(path, page) for path, page in pages if page is not None and words in (page.session, page.name)]
    if len(told) > 1:
        raise Conflict(f"{len(told)} summaries are of a session {words!r}: name one, such as {told[0][0]!r}")
    if told:
        return _only_told(*told[0])
    titles = {path: page.title for path, page in pages if page is not None}
    known = [(one, (titles.get(one.path) or one.title).casefold()) for one in newest(context)]
    wanted = words.removesuffix("…").casefold()
    found = [one for one, title in known if title == wanted][:1]
    if not found and len(wanted.encode(errors="replace")) >= SHORTEST:
        found = [one for one, title in known if title.startswith(wanted)]
    return found[0] if len(found) == 1 else None


def told_without(context: Context, days: Days, without: str | None) -> str:
    """Describe days; add "in other sessions" if the session of the uuid `without` overlaps them."""
    book, (first, last) = context.book, days
    told = f"on {first}" if first == last else f"from {first} to {last}"
    began = None
    with suppress(NotFound, Conflict, Unavailable):
        began = book.transcripts.session(without).created if without else None
    theirs = began is not None and str(book.day(began)) <= str(last) and str(first) <= str(book.day(book.now()))
    return f"{told} in other sessions" if theirs else told


def those(context: Context, words: str, *, without: str | None) -> tuple[list[Session], Days]:
    """Return all sessions of the days and the part of the day that the words name, newest first, and these days.

    None and all days if they name none. Arguments are those of `chosen`.
    """
    meant = days_of(words, _today(context))
    if meant is None:
        return [], (None, None)
    known = [one for one in _listed(context, words, without) if _overlaps(one, *meant)]
    return _at_hours(words, known), _iso(meant)


def _listed(context: Context, words: str, without: str | None) -> Iterator[Session]:
    """Yield the sessions of the days that the words name (of all if they name none), newest first, in book time."""
    meant = days_of(words, _today(context))
    current = None if without is None or meant is not None else known_session(context, without)
    first = current.created if current is not None else None
    zone = context.book.zone
    for one in talked_in(context, _iso(meant) if meant is not None else (None, None), without=without):
        if first is not None and _goes_on(one) and one.updated is not None and one.updated > first:
            continue  # held beside the current one, not before it
        created, updated = (time and time.astimezone(zone) for time in (one.created, one.updated))
        yield replace(one, created=created, updated=updated)


# --- which days ------------------------------------------------------------------------------------


def _today(context: Context) -> date:
    return context.book.day(context.book.now())


def days_given(context: Context, since: str | date | None, until: str | date | None) -> Days:
    """Return first and last day of a span, each a day or words: "last week" begins or ends it. None is open.

    Raises InvalidInput for what names no day.
    """

    def day(given_day: str | date | None, end: int) -> str | date | None:
        try:
            return given.day_of(given_day, "day")
        except InvalidInput:
            meant = days_of(given_day, _today(context)) if isinstance(given_day, str) else None
            return given_day if meant is None else _iso(meant)[end]

    return given.days_of(day(since, 0), day(until, 1))


def days_in(context: Context, question: str) -> tuple[Span, ...]:
    """Return the spans of days that a question names, none after today; a day without a year is the newest such.

    Empty for a text so long that it states something rather than asks.
    """
    return () if len(question) > LONGEST_QUESTION else spans_in(question, _today(context))


def without_days(context: Context, question: str) -> str:
    """Return the question without the words that `days_in` reads."""
    return day_readers.without_days(question, _today(context))


def _iso(span: Span) -> tuple[str, str]:
    return date.fromordinal(span[0]).isoformat(), date.fromordinal(span[1]).isoformat()


def around(wanted: Sequence[Span]) -> Days:
    """Return the first and the last day of at least one span."""
    return _iso((min(first for first, _ in wanted), max(last for _, last in wanted)))


def widened(days: Days) -> Days:
    """Add a day at each end: passages are dated in UTC, the book's days may begin or end up to a day apart."""

    def moved(day: str | None, by: int) -> str | None:
        try:
            return day and (date.fromisoformat(day) + timedelta(days=by)).isoformat()
        except OverflowError:
            return day

    return moved(days[0], -1), moved(days[1], 1)


def said_within(context: Context, days: Days, wanted: Iterable[Span] = ()) -> Callable[[Passage], bool]:
    """Return a filter for passages that `widened` lets through: in these days and in a span, in book time.

    A turn is of the day that it was said on, if it has a time; all else as it is dated.
    """
    first, last = days
    spoken = [_iso(span) for span in wanted]

    def holds(passage: Passage) -> bool:
        day = passage.date
        well_inside = day is not None and (first is None or first < day) and (last is None or day < last)
        if (first is None and last is None) or (well_inside and len(spoken) < 2):
            return True
        if passage.turn is not None and passage.source == "turn":
            turns = _at(context, passage.turn, passage.session)
            day = next((_day(context, turn.time) for turn in turns if turn.time is not None), day)
        if day is None or (first is not None and day < first) or (last is not None and day > last):
            return False
        return not spoken or any(begin <= day <= end for begin, end in spoken)

    return holds


# --- words of order --------------------------------------------------------------------------------

_TALK = r"(?:conversation|chat|session|discussion|talk|exchange|dialogue|call|time|one)s?"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_COUNT = r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)"
_NAMED = f"(?:{'|'.join(_ORDINALS)})"
_NTH = "(?:" + "|".join(_ORDINALS) + r"|\d{1,3}(?:st|nd|rd|th))"
_HAN_NTH = "[0-9一二两三四五六七八九十]{1,3}"
_HAN_TALK = "(?:对话|会话|聊天|谈话|讨论|[次回场轮])"

_BACK = lazily(
    rf"(?i)\b(?:{_TALK}|the)\s+before\s+(?:our\s+|the\s+)?(?P<two>last|previous)\b"
    rf"|\blast\s+(?:{_TALK}\s+)?but\s+(?P<but>one|two)\b"
    rf"|\b(?P<nth>{_NTH})[\s-]+(?:to|from)[\s-]+(?:the\s+)?last\b|\b(?P<count>{_COUNT})\s+{_TALK}\s+(?:ago|back|before)\b"
    rf"|(?P<up>上{{2,}})一?{_HAN_TALK}|(?P<up2>上{{2,}})个(?:对话|会话|聊天)|倒数第(?P<from_end>{_HAN_NTH}){_HAN_TALK}?"
    rf"|(?:往前|倒回)[^，。]{{0,2}}(?P<steps>{_HAN_NTH}){_HAN_TALK}"
)
_FORTH = lazily(
    rf"(?i)\b(?P<nth>{_NTH})\s+(?:ever\s+|of\s+(?:our\s+|the\s+|those\s+)?)?{_TALK}\b|^\W*(?:the\s+)?(?P<bare>{_NAMED})\W*$"
    r"|\b(?:earliest|oldest|very\s+first)\b|\bthe\s+first\s+thing\b"
    rf"|第(?P<zh>{_HAN_NTH})个?{_HAN_TALK}|首次|头一[次回场]|最早|最初那?[次回场]"
)
_LAST = lazily(
    rf"(?i)\b(?:last|previous|prior|latest|preceding|(?:most\s+)?recent|past)\s+(?:ever\s+)?{_TALK}\b|\b(?:last|latest)\s+thing\b"
    rf"|^\W*(?:the\s+)?(?:last|latest|previous)\W*$|\b{_TALK}\s+before\s+(?:this|that|now)\b|\blast\s+(?:talk|speak|chat)"
    r"|\bleft\s+off\b|\bwhere(?:'d\s+we|\s+(?:did|were|had)\s+we|\s+(?:we|you)\s+(?:stopped|were|left|got))\b"
    r"|\b(?:continue|resume|pick\s+(?:\w+\s+)?up|carry\s+on)\b"
    rf"|上一?[次回场轮]|上一?个{_HAN_TALK}|(?:最近|最后)的?[那一]?{_HAN_TALK}|前一[次回场]"
    "|(?:停|断)[下开]?的?在?(?:地方|哪)|续上|接着|继续|没(?:聊|说|做|弄|谈)完"
)
_SAYING = r"(?:message|question|request|prompt|input|turn|repl(?:y|ie)|answer|response|sentence|line|remark|thing)s?"
_START = lazily(
    r"(?i)\b(?:at|from|in)\s+the\s+(?:very\s+)?(?:start|beginning|outset|top)\b|\bto\s+(?:start|begin)\s+with\b"
    rf"|\b(?:first|initial|opening|original|earliest)\s+(?:\w+\s+)?{_SAYING}\b|\b(?:say|said|ask|asked)\s+first\b"
    "|一开始|最开始|开始时|开头|最初|最先|最早|起初|起头|头里|[第头]一[个条句轮次]"
)
_END = lazily(
    rf"(?i)\b(?:last|latest|previous|preceding|most\s+recent)\s+(?:\w+\s+)?{_SAYING}\b"
    r"|\bjust\s+(?:now|\w+ed|said|told|wrote|sent|gave)\b|\bdid\s+\w+\s+just\b"
    r"|\b(?:say|said|ask|asked)\s+last\b|\b(?:a|one)\s+(?:moment|minute|second)\s+ago\b"
    "|刚才|刚刚|方才|上一?[条句轮]|上一个(?:问题|回答|回复|答复)|最后[一那]?[个条句轮]|[我你]刚"
)
_PARTS = (
    (lazily(r"(?i)\bmorning\b|[早晨]|上午"), range(4, 12)),
    (lazily(r"(?i)\bafternoon\b|下午|午后"), range(12, 18)),
    (lazily(r"(?i)\b(?:evening|night|tonight)\b|晚|夜"), (*range(17, 24), *range(4))),
    (lazily(r"(?i)\b(?:noon|lunch\w*)\b|中午"), range(11, 14)),
)


def pick(words: str, sessions: Iterable[Session], today: date) -> tuple[Session | None, str]:
    """Return the session that words of order or time mean, and why; (None, "") if they name none.

    Args:
        words: In English or Chinese, a phrase or a whole question.
        sessions: Newest first, without the current one, by the clock of the book; read no further than must be.
        today: The day on which the words are said.

    >>> known = [Session(uuid=str(day), created=datetime(2023, 5, day)) for day in (11, 9, 2)]
    >>> [pick(words, known, date(2023, 5, 12))[0].uuid for words in ("last time", "上上次", "first one", "Tuesday")]
    ['11', '9', '2', '9']
    """
    days, place = days_of(words, today), _place(words)
    if place is None and days is None:
        return None, ""
    at, why = place or (0, "the last")
    if days is None and at >= 0:
        one = next(islice(sessions, at, None), None)
        return (None, "") if one is None else (one, f"{why} session" if at == 0 else why)
    listed = list(sessions)
    when = ""
    if days is not None:
        listed = _at_hours(words, [one for one in listed if _overlaps(one, *days)])
        when = f" of {' to '.join(dict.fromkeys(_iso(days)))}"
    if not -len(listed) <= at < len(listed):
        return None, ""
    return listed[at], f"{why} of {len(listed)} sessions{when}" if len(listed) > 1 else f"the only session{when}"


def names_place(words: str) -> bool:
    """Return whether words name a session by its place: the last, 上上次, the first, where we left off."""
    return _place(words) is not None


def end_of(words: str) -> str:
    """Return at which end of a talk the words say something was said, `start` or `end`; "" if at neither.

    >>> [end_of(words) for words in ("my first message", "我刚才说了什么", "the budget")]
    ['start', 'end', '']
    """
    if _START.search(words):
        return "start"
    return "end" if _END.search(words) else ""


def without_end(words: str) -> str:
    """Return the words without those that `end_of` reads."""
    return _END.sub(" ", _START.sub(" ", words))


def _place(words: str) -> tuple[int, str] | None:
    """Return the place, 0 for the newest and -1 for the oldest, in words too; None if none is named."""
    if match := _BACK.search(words):  # `back` is 1 for the last
        if match["two"] or match["but"] or match["up"] or match["up2"]:
            back = len(match["up"] or match["up2"] or "上上") + ((match["but"] or "").lower() == "two")
        elif match["nth"]:
            back = _nth(match["nth"])
        else:
            back = number(match["count"] or match["from_end"] or match["steps"])
        return (back - 1, "the last" if back == 1 else f"number {back} from the end") if back > 0 else None
    if match := _FORTH.search(words):
        english = match["nth"] or match["bare"]
        nth = _nth(english) if english else number(match["zh"]) if match["zh"] else 1
        return (-nth, f"number {nth}") if nth > 0 else None
    return (0, "the last") if _LAST.search(words) else None


def _nth(text: str) -> int:
    text = text.lower()
    return _ORDINALS.index(text) + 1 if text in _ORDINALS else int(text[:-2])


def _overlaps(one: Session, first: int, last: int) -> bool:
    began, ended = one.created or one.updated, one.updated or one.created
    return began is not None and ended is not None and began.toordinal() <= last and first <= ended.toordinal()


def _at_hours(words: str, listed: list[Session]) -> list[Session]:
    """Keep the sessions of the part of the day that the words name, if there are any."""
    for pattern, hours in _PARTS:
        if pattern.search(words):
            listed = [one for one in listed if one.created and one.created.hour in hours] or listed
    return listed
