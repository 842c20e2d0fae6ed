"""The four recalls of past conversations: by time, by topic, one session, and within one."""

from __future__ import annotations

from itertools import chain, islice
from operator import mul
from struct import unpack
from typing import TYPE_CHECKING, NamedTuple

from memorybook import validate as given
from memorybook.errors import Conflict, NotFound
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.evidence import relevance, weights_for
from memorybook.search.search import RELEVANT
from memorybook.search.types import Candidate, Hit, Passage, Query
from memorybook.sessions import detect as cues
from memorybook.sessions import session_list
from memorybook.sessions.dialogue import asks_of_own_words, asks_of_talks, is_small
from memorybook.sessions.recall_block import FoundTurn, Recollection, Talks, block
from memorybook.sessions.session_list import end_of, names_place, without_end
from memorybook.sessions.summary import embedded
from memorybook.text.screen import screen
from memorybook.text.tokens import language_of, normalise, query_words, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from collections.abc import Set as AbstractSet
    from datetime import date, datetime

    from memorybook.context import Context
    from memorybook.formats.document import SummaryEmbedding
    from memorybook.model import Session
    from memorybook.search.types import Hit
    from memorybook.sessions.detect import Recall
    from memorybook.sessions.session_list import Days
    from memorybook.text.days import Span


LOOKED_AT = 100
"""Finds that a topic's sessions are gathered from, at least: with more of them the same sessions come out."""

LOOKED_THROUGH = 4
"""How many sessions are looked through for each that is to say something."""

OF_DAYS = 50
"""Sessions that are told of where all of some days are asked for: more have no place in any block."""

NO_TURNS = "the turns of this session are not kept here: its summary is all there is"

NONE_MEANT = "no session is known that these words mean"

ALWAYS: Days = (None, None)

ELSEWHEN = ": all days were searched"
"""How the reason ends where nothing about a question was said on the days that it names."""


def sessions(
    context: Context, *, limit: int | None, since: str | date | None, until: str | date | None, skip: int = 0
) -> Talks:
    """See `Memory.sessions`; without the newest `skip`."""
    most = given.count_of(limit)
    days = session_list.days_given(context, since, until)
    if not context.config.enabled:
        return Talks(disabled=True)
    found = list(islice(session_list.newest(context, days), skip, None if most is None else skip + most + 1))
    return Talks(
        tuple(session_list.found(context, one) for one in found[:most]), most is not None and len(found) > most
    )


def recall_history(
    context: Context,
    limit: int | None,
    *,
    since: str | date | None,
    until: str | date | None,
    current: str | None,
    max_tokens: int | None,
    telling: bool = False,
) -> Recollection:
    """See `Memory.recall_history`; only of those whose summary says something, if `telling`."""
    most = given.size_of(limit, context.config.recall.max_search_results, "limit")
    days, budget = session_list.days_given(context, since, until), given.budget_of(max_tokens)
    if not context.config.enabled:
        return Recollection("history", disabled=True)
    found = _history(context, most, days, session_list.uuid_of(context, current), telling=telling)
    return _shown(context, found, "", budget)


def _history(context: Context, limit: int, days: Days, without: str | None, *, telling: bool = False) -> Recollection:
    talked = session_list.talked_in(context, days, without=without)
    told = (session_list.found(context, one) for one in islice(talked, LOOKED_THROUGH * limit if telling else limit))
    found = tuple(islice((one for one in told if one.summary or not telling), limit))
    return Recollection("history", found, span=None if days == ALWAYS else days, has_relevant=bool(found))


def recall_topic(
    context: Context,
    query: str,
    *,
    top: int | None,
    since: str | date | None,
    until: str | date | None,
    current: str | None,
    max_tokens: int | None,
) -> Recollection:
    """See `Memory.recall_topic`."""
    text, days = given.words_of(query), session_list.days_given(context, since, until)
    most, budget = _top(context, top), given.budget_of(max_tokens)
    if not context.config.enabled:
        return Recollection("topic", disabled=True)
    named = session_list.days_in(context, text) if days == ALWAYS else ()
    without = session_list.uuid_of(context, current)
    if named and not _tells(cues.subject(text)):
        return _shown(context, _period(context, named, without)._replace(scene="topic"), text, budget)
    echo = text if text.rstrip().endswith(("?", "？")) else ""
    asked = _Topic(text, most, days, named, without, echo=normalise(echo))
    return _shown(context, _topic(context, asked), text, budget)


def _top(context: Context, top: int | None) -> int:
    return given.size_of(top, context.config.recall.max_search_results, "top")


class _Topic(NamedTuple):
    """The search of a recall by topic.

    Attributes:
        text: The question.
        top: Most sessions, and most turns.
        days: Days to search.
        named: Spans of days that the question names.
        least: Relevance of the best hit from which the question counts as answered.
        without: Uuid of a session to leave out.
        by_user: Only turns of the user.
        echo: Normalised text whose turns are left out, as the question asked before; "" for none.
    """

    text: str
    top: int
    days: Days = ALWAYS
    named: tuple[Span, ...] = ()
    without: str | None = None
    by_user: bool = False
    echo: str = ""
    least: float = RELEVANT


def _topic(context: Context, asked: _Topic) -> Recollection:
    """Recall by topic, within the days that the question names unless only other days have something about it.

    For a question may speak of what happened in these days, and was told of later. Where nothing is clearly about it,
    the words of the days are left out of it: they weigh against what says nothing of them.
    """
    if not asked.named:
        return _of_days(context, asked)
    days = session_list.around(asked.named)
    told = f"nothing about it was said {session_list.told_without(context, days, asked.without)}{ELSEWHEN}"
    asked = asked._replace(days=days)
    bare = asked._replace(text=session_list.without_days(context, asked.text).strip() or asked.text)
    nearest = _of_days(context, asked)
    always = asked._replace(days=ALWAYS, named=())
    for wanted in (asked, bare, always, always._replace(text=bare.text, least=CLEAR)):
        found = nearest if wanted is asked else _of_days(context, wanted)
        if found.has_relevant:
            return found if wanted.named else found._replace(reason=told)
    return nearest._replace(reason=told) if nearest.sessions else found._replace(reason=told)


def _of_days(context: Context, asked: _Topic) -> Recollection:
    said_then = session_list.said_within(context, asked.days, asked.named)

    def keep(passage: Passage) -> bool:
        others = asked.without is None or passage.session != asked.without
        told = not (asked.by_user and passage.role in ("assistant", "tool")) and not _echoes(passage, asked.echo)
        return others and told and said_then(passage)

    first, last = session_list.widened(asked.days)
    pool = max(LOOKED_AT if asked.without is None else 2 * LOOKED_AT, 10 * asked.top)
    query = Query(asked.text, pool=pool, since=first, until=last, sources=frozenset({"turn", "summary"}))
    answer = context.book.search(query, limit=pool, keep=keep)
    speaking = gathered(answer.hits)
    relevant = answer.has_relevant and any(hit.relevance >= asked.least for hit in answer.hits)
    if relevant:  # else the nearest are shown as such
        speaking = about(speaking, WORTH_A_LOOK)
    told = () if asked.by_user else _told_of(context, asked, speaking)
    speaking = [*told, *(one for one in speaking if all(one.session != other.session for other in told))]
    speaking.sort(key=lambda one: -one.score)
    known = [(one, session_list.known_session(context, one.session, one.path)) for one in speaking[: asked.top]]
    found = tuple(session_list.found(context, session, one.score) for one, session in known if session is not None)
    places = best_turns([one for one, session in known if session is not None], asked.top)
    return Recollection(
        "topic",
        found,
        session_list.turns_at(context, places),
        tuple(answer.state["degraded"]),
        span=None if asked.days == ALWAYS else asked.days,
        has_relevant=(relevant or bool(told)) and bool(found),
    )


def _told_of(context: Context, asked: _Topic, known: Sequence[Spoken]) -> list[Spoken]:
    """Find open sessions whose summaries, which no index has, are about the question; with other evidence for them.

    A summary counts as much of what speaks for the first of those known as it is about the question.
    """
    by_name = {one.session: one for one in known}
    best = max((one.score for one in known), default=1.0)
    found = []
    for session, likeness in alike(context, asked.text, without=asked.without):
        if likeness >= RELEVANT and session_list.within(context, session, asked.days):
            one = by_name.get(session.uuid, Spoken(session.uuid, 0.0, "", ()))
            found.append(one._replace(score=max(one.score, likeness * best)))
    return found


def _echoes(passage: Passage, echo: str) -> bool:
    return bool(echo) and passage.source == "turn" and normalise(passage.text) == echo


def recall_session(
    context: Context, name: str, *, limit: int | None, current: str | None, max_tokens: int | None
) -> Recollection:
    """See `Memory.recall_session`."""
    words, most, budget = given.words_of(name, "which"), given.count_of(limit), given.budget_of(max_tokens)
    if not context.config.enabled:
        return Recollection("session", disabled=True)
    return _shown(context, _session(context, words, most, session_list.uuid_of(context, current)), "", budget)


def _session(
    context: Context, words: str, limit: int | None, without: str | None, *, asked: bool = False
) -> Recollection:
    one, reason = session_list.chosen(context, words, without=without, asked=asked)
    turns = context.book.told(lambda kept: kept.turns(one.uuid, last=limit))
    said = tuple(session_list.said(turn) for turn in turns)
    degraded = () if turns else (NO_TURNS,)
    return Recollection(
        "session", (session_list.found(context, one),), said, degraded, has_relevant=True, reason=reason
    )


def recall_within(
    context: Context, session: str, query: str, *, top: int | None, max_tokens: int | None
) -> Recollection:
    """See `Memory.recall_within`."""
    name, text = given.words_of(session, "session"), given.words_of(query)
    most, budget = _top(context, top), given.budget_of(max_tokens)
    if not context.config.enabled:
        return Recollection("within", disabled=True)
    return _shown(context, _within(context, name, text, most), text, budget)


def _within(context: Context, name: str, text: str, top: int, *, echo: str = "") -> Recollection:
    """Return the turns of a session about the text, then those beside them, except the one that says `echo`.

    Of a text that says at which end something was said: those that are about it, half as many if none clearly is, then
    those at that end.
    """
    one, reason = session_list.chosen(context, name)
    end = end_of(text)
    query = cues.subject(without_end(text)) if end else text
    hits: Sequence[Hit] = ()
    degraded: Sequence[str] = ()
    relevant = False
    if not end or _tells(query):
        wanted = Query(query, pool=max(LOOKED_AT, 2 * top), session=one.uuid, sources=frozenset({"turn"}))
        answer = context.book.search(wanted, limit=top, keep=lambda passage: not echo or passage.text.strip() != echo)
        hits, degraded, relevant = answer.hits, answer.state["degraded"], answer.has_relevant
    most = top if relevant or not end else top // 2
    turns = session_list.turns_at(context, [(one.uuid, hit.passage.turn or "", hit.score) for hit in hits[:most]])
    if end:
        turns = (*turns, *session_list.at_end(context, one.uuid, end, top - len(turns), turns, without=echo))
    elif 0 < len(turns) < top:
        turns = (*turns, *session_list.beside(context, turns, top - len(turns), without=echo))
    return Recollection(
        "within",
        (session_list.found(context, one, turns[0].score if turns else 0.0),),
        turns,
        (*degraded, *(() if one.turn_ids else (NO_TURNS,))),
        has_relevant=(relevant or bool(end)) and bool(turns),
        reason=reason or (f"the {end} of this session" if end else ""),
    )


def earlier(
    context: Context, session: str, text: str, among: AbstractSet[str], *, max_tokens: int
) -> Recollection | None:
    """Recall what these turns (ids) of a session (uuid) say about a text; None if nothing in them is about it."""
    top = context.config.recall.max_search_results
    query = Query(text, pool=max(LOOKED_AT, 2 * top), session=session, sources=frozenset({"turn"}))
    echo = normalise(text)

    def keep(passage: Passage) -> bool:
        return passage.turn in among and not _echoes(passage, echo)

    answer = context.book.search(query, limit=top, min_score=WORTH_A_LOOK, keep=keep)
    known = session_list.known_session(context, session) if answer.has_relevant else None
    if known is None:
        return None
    turns = session_list.turns_at(context, [(session, hit.passage.turn or "", hit.score) for hit in answer.hits])
    told = session_list.found(context, known)._replace(summary="")
    return _shown(context, Recollection("within", (told,), turns, has_relevant=True), text, max_tokens)


# --- what a text asks for --------------------------------------------------------------------------


def detect(context: Context, text: str) -> Recall | None:
    """See `Memory.detect`."""
    return cues.detect(text, context.config.recall.keywords, today=context.book.day(context.book.now()))


def recollect(context: Context, text: str, *, current: str | None, max_tokens: int | None) -> Recollection | None:
    """See `Memory.recollect`."""
    budget = given.budget_of(max_tokens)
    if not context.config.enabled or not text.strip():
        return None
    asked = detect(context, given.words_of(text, "text"))
    without = session_list.uuid_of(context, current)
    found = _alike(context, text, without) if asked is None else _carried_out(context, text, asked, without)
    if found is not None:  # what tools told is for those who ask for it: see `prompt.select.may_be_shown`
        found = found._replace(turns=tuple(turn for turn in found.turns if turn.role != "tool"))
    return found and _shown(context, found, asked.query if asked and asked.query else text, budget)


def of_talks(context: Context, text: str, *, current: str | None, max_tokens: int) -> Recollection | None:
    """Recall earlier talks for a text that asks for them as such, on no subject; None for any other."""
    return recollect(context, text, current=current, max_tokens=max_tokens) if asks_of_talks(text) else None


def _carried_out(context: Context, text: str, asked: Recall, current: str | None) -> Recollection:
    """Recall what the text asks for; by topic, or the newest sessions, where the meant one cannot be made out."""
    top = context.config.recall.max_search_results
    about = asked.query if _tells(asked.query) else ""
    days = session_list.days_in(context, text)
    topic = _Topic(about or text, top, named=days, without=current, echo=normalise(text))
    reason = ""
    if asked.limit is not None:
        return _history(context, min(asked.limit, OF_DAYS), session_list.around(days) if days else ALWAYS, current)
    try:
        if asked.scene in ("history", "session") and (own := _own_words(context, text, days, current)):
            return own
        if asked.scene == "session":
            found = _sessions(context, text, about, current)
            if found is not None:
                return found
        if asked.scene == "within" and current:
            return _within(context, current, text if end_of(text) else about or text, top, echo=text.strip())
    except (NotFound, Conflict) as error:
        reason = NONE_MEANT if isinstance(error, NotFound) else str(error)
    if days and not about:
        return _period(context, days, current, reason=reason)
    if reason and not about:
        return _history(context, top, ALWAYS, current)._replace(reason=reason, has_relevant=False)
    if asked.scene != "history":
        found = _topic(context, topic)
        return found._replace(reason=reason) if reason else found
    told = _topic(context, topic._replace(by_user=True))
    return told._replace(scene="history") if about or told.has_relevant else _history(context, top, ALWAYS, current)


def _own_words(context: Context, text: str, days: Sequence[Span], current: str | None) -> Recollection | None:
    """Recall what the user said on these days, else last time, if the text asks for just that; else None.

    Questions about earlier talks are no answer to another.
    """
    if not asks_of_own_words(text):
        return None

    def said_in(session: Session) -> tuple[FoundTurn, ...]:
        turns = context.book.told(lambda kept: kept.turns(session.uuid))
        own = (turn for turn in turns if turn.role in ("user", ""))
        return tuple(
            session_list.said(turn) for turn in own if not is_small(turn.text) and not asks_of_talks(turn.text)
        )

    within = session_list.around(days) if days else ALWAYS
    wanted: Iterable[Session] = islice(session_list.talked_in(context, within, without=current), OF_DAYS)
    if not days and names_place(text):
        wanted = chain([session_list.chosen(context, text, without=current, asked=True)[0]], wanted)
    spoken = ((one, said_in(one)) for one in wanted)
    told = tuple(islice((each for each in spoken if each[1]), None if days else 1))
    sessions = tuple(session_list.found(context, one)._replace(summary="") for one, _ in told)
    turns = tuple(turn for _, said in told for turn in said)
    span = None if within == ALWAYS else within
    return Recollection("history", sessions, turns, span=span, has_relevant=True) if turns else None


def _period(context: Context, named: Sequence[Span], current: str | None, *, reason: str = "") -> Recollection:
    """Recall the sessions of these days, newest first; none, and why, if nothing was said then."""
    days = session_list.around(named)
    found = _history(context, OF_DAYS, days, current)
    if found.sessions:
        return found._replace(reason=reason, has_relevant=not reason)
    return found._replace(reason=f"nothing was said {session_list.told_without(context, days, current)}")


def _sessions(context: Context, text: str, about: str, current: str | None) -> Recollection | None:
    """Recall the session or sessions that the words mean; None if they name days of several or none, and a subject.

    Raises NotFound: None is meant. Conflict: one is, and several are called so.
    """
    if names_place(text):
        return _session(context, text, None, current, asked=True)
    known, days = session_list.those(context, text, without=current)
    if days == ALWAYS and not about:  # lately
        return _history(context, context.config.recall.max_search_results, ALWAYS, current)
    if len(known) < 2:
        return _session(context, text, None, current, asked=True)
    if about:
        return None
    told = tuple(session_list.found(context, one) for one in known[:OF_DAYS])
    return Recollection("history", told, span=days, has_relevant=True, reason=f"{len(told)} of {len(known)} sessions")


def _tells(words: str) -> bool:
    """Return whether the words name a subject: more than what is left of a day."""
    return any(len(word) > 1 and not word.isdecimal() for word in query_words(words))


def _alike(context: Context, text: str, without: str | None) -> Recollection | None:
    """Recall what was said before that is like the text, if so much likeness is to be recalled unasked."""
    least = context.config.recall.similarity_threshold
    if least <= 0:
        return None
    query = Query(text, sources=frozenset({"turn", "summary"}))
    answer = context.book.search(
        query, limit=1, min_score=least, keep=lambda passage: without is None or passage.session != without
    )
    like = cues.resembles(max((hit.relevance for hit in answer.hits), default=0.0), least, text)
    if like is None:
        return None
    found = _topic(context, _Topic(text, context.config.recall.max_search_results, without=without))
    return found._replace(reason=like.reason)


# --- the block for a prompt ------------------------------------------------------------------------


def _shown(context: Context, found: Recollection, text: str, max_tokens: int) -> Recollection:
    """Make the recollection: places of its turns, and its block, in the language of the question or the turns."""
    fails = context.book.turns_fail if found.scene in ("history", "session") else ""  # else the search says it
    ids = {turn.id for turn in found.turns}
    shared = context.book.told(lambda kept: kept.shared(ids)) if ids else ()
    places = (f"turn:{one.session}/{one.id}" if one.id in shared else f"turn:{one.id}" for one in found.turns)
    found = found._replace(turns=tuple(one._replace(place=at) for one, at in zip(found.turns, places, strict=True)))
    if fails:
        found = found._replace(degraded=(*found.degraded, fails))
    texts = [text] if text else [*(one.summary for one in found.sessions), *(turn.text for turn in found.turns[:20])]

    def day(time: datetime | None) -> str:
        return context.book.day(time).isoformat() if time is not None else ""

    def turns_of(uuid: str) -> list[FoundTurn]:
        return sorted((turn for turn in found.turns if turn.session == uuid), key=lambda turn: turn.position)

    made = block(
        [(one, turns_of(one.uuid)) for one in found.sessions],
        frozenset(query_words(text)),
        day=day,
        language=language_of(context.config.language, texts),
        max_tokens=max_tokens,
        suspect=screen,
        in_order=found.scene == "session",
        unsure=not found.has_relevant,
        elsewhen=found.reason.endswith(ELSEWHEN),
    )
    kept_out = f"{made.suspect} lines are left out of the text: they try to instruct whoever reads them"
    kept_out = kept_out.replace("lines are", "line is") if made.suspect == 1 else kept_out
    degraded = (*found.degraded, kept_out) if made.suspect else found.degraded
    return found._replace(text=made.text, tokens=made.tokens, degraded=degraded)


# --- group by session -------------------------------------------------------------------------------

FADING = 0.3
"""Share of what the one before it counts that each further find of a session counts: few good ones beat many poor."""

LEANING = 0.15
"""Share of a session's evidence by which each of its turns is moved up."""


POOR = 0.2
"""Share of the best session's evidence below which one is left out in which nothing comes near the question.

Larger, or without the share, it cost sessions that were asked for; at this none on any set that was measured.
"""


CLEAR = 0.8
"""Relevance of the best find from which a session or turn is left out that has nothing in common with the question.

Down to 0.7 it cost no session that was asked for on any set that was measured; at 0.6 it did. For turns 0.3 did.
"""


TELLING = 4
"""Words below which a turn says nothing that has nothing in common with the question: `Sure, got it.`, 明白.

A single Han character is none.
"""


class Spoken(NamedTuple):
    """The evidence for a session.

    Attributes:
        session: Its uuid; the path of its summary if only that is known.
        score: Sum of the scores of its hits, best first, each weighted `FADING` times the one before.
        path: Path of its summary document; "" if no hit has one.
        hits: Best first.
    """

    session: str
    score: float
    path: str
    hits: tuple[Hit, ...]


def gathered(hits: Sequence[Hit]) -> list[Spoken]:
    """Return the sessions of the hits, the one with the most evidence first; on a tie in the hits' order.

    Of the ways to sum up a session (best find, sum of all or the best, power means), a geometric sum was best or
    within noise of it on every set that was measured, see docs/benchmarks.md.
    """
    groups: dict[str, list[Hit]] = {}
    for hit in sorted(hits, key=lambda hit: -hit.score):
        name = hit.passage.session or (hit.passage.path if hit.passage.source == "summary" else "")
        if name:
            groups.setdefault(name, []).append(hit)
    found = [
        Spoken(
            name,
            sum(max(0.0, hit.score) * FADING**place for place, hit in enumerate(members)),
            next((hit.passage.path for hit in members if hit.passage.path), ""),
            tuple(members),
        )
        for name, members in groups.items()
    ]
    return sorted(found, key=lambda one: -one.score)


def about(found: Sequence[Spoken], least: float) -> list[Spoken]:
    """Keep those with a hit of at least that relevance, or with no less than `POOR` of the evidence of the first.

    Of the latter those in which nothing has any relevance are left out, where a find is clearly about the question.
    """
    enough = POOR * max((one.score for one in found), default=0.0)
    best = [max(hit.relevance for hit in one.hits) for one in found]
    clear = max(best, default=0.0) >= CLEAR
    return [
        one
        for one, near in zip(found, best, strict=True)
        if near >= least or (one.score >= enough and (near > 0 or not clear))
    ]


def best_turns(found: Sequence[Spoken], most: int) -> list[tuple[str, str, float]]:
    """Return (session, turn, score) of at most `most` turns of these sessions, best first, each once.

    Of those that have nothing in common with the question none where a find is clearly about it, and else none that
    says next to nothing.
    """
    clear = max((hit.relevance for one in found for hit in one.hits), default=0.0) >= CLEAR

    def tells(text: str) -> bool:
        return sum(1 for word in tokens(text) if len(word) > 1 or word.isascii()) >= TELLING

    scores: dict[tuple[str, str], float] = {}
    for one in found:
        for hit in one.hits:
            near = hit.relevance > 0 or (not clear and tells(hit.passage.text))
            if near and hit.passage.turn is not None and hit.passage.session is not None:
                place = (hit.passage.session, hit.passage.turn)
                scores.setdefault(place, hit.score + LEANING * one.score)
    best = sorted(scores, key=lambda place: -scores[place])
    return [(*place, scores[place]) for place in best[:most]]


# --- open session search ----------------------------------------------------------------------------

MOST = 50
"""How many of the sessions that go on are looked at, the newest."""


def alike(context: Context, text: str, *, without: str | None) -> list[tuple[Session, float]]:
    """Return open sessions, each with how much its summary is about the text, 0..1, by words and by its vector.

    As `search.evidence.relevance`, but every word counts the same. The session of the uuid `without` is left out.
    """
    told = [each for each in context.book.told(lambda kept: kept.running(limit=MOST)) if each[0].uuid != without]
    if not told:
        return []
    asked = query_words(text)
    embedder = context.embedder
    _, known = context.book.candidates(Query(text, pool=1, meaning=False))
    weights = weights_for(embedder.name if embedder is not None else None, known.unrelated)
    judge = relevance(dict.fromkeys(asked, 1.0), weights)
    wanted = [text if any(vector is not None for _, vector in told) else ""]
    [question], _ = embedded(context, wanted)  # that the embedder failed the search tells
    found = []
    for session, vector in told:
        words = frozenset(tokens(session.summary))
        holds = sum(1 << place for place, word in enumerate(asked) if word in words)
        passage = Passage("", 0, 0, session.summary, "summary", session=session.uuid)
        found.append((session, judge(Candidate(passage, None, _cosine(question, vector), holds))))
    return found


def _cosine(one: SummaryEmbedding | None, other: SummaryEmbedding | None) -> float | None:
    """Return the cosine of two unit vectors; None unless both are there, and of one embedder."""
    if one is None or other is None or one[:2] != other[:2]:
        return None
    return float(sum(map(mul, *(unpack(f"<{each.dimensions}f", each.vector) for each in (one, other)))))
