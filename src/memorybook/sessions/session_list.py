"""Past conversations as they are known: in the transcripts, and in the summaries that stand in the book."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memorybook.errors import Conflict, MissingDocument, NotFound
from memorybook.formats import session_md
from memorybook.sessions.dialogue import asks_of_talks
from memorybook.sessions.idle_sessions import GOING_ON
from memorybook.sessions.recall_types import FoundSession, FoundTurn
from memorybook.sessions.summarize import summarize
from memorybook.text.passages import utc_day

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from memorybook.context import Context
    from memorybook.model import Session, SessionSummary, Turn

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
    from memorybook.forget.revoked_orders import untold, worth_telling
    from memorybook.forget.tombstones import turns_without
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
