"""What of a search may be told: nothing suspect, each statement with its latest word, an answer with its question."""

from __future__ import annotations

from memorybook.hits import Hit, Passage
from memorybook.recall.empty_answers import says_nothing
from memorybook.recall.format import snippet
from memorybook.recall.reading import spoken
from memorybook.standard import AbstractSet, Callable, Iterable, Iterator, Mapping, Sequence
from memorybook.text.corrections import takes_back
from memorybook.text.screen import screen
from memorybook.text.tokens import is_telling, normalise, query_words
from memorybook.typed import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from memorybook.model import Entry

    Turns = Callable[[Iterable[tuple[str, int, int]]], Sequence[Passage]]

PLACED = 30
"""How many of the best hits are looked up in their talk."""

NEAR = 8
"""How many of the best hits bring the turns that follow them."""

BEFORE, AFTER = 2, 8
"""Turns before and after a hit that are looked at."""

FOLLOWING = 3
"""How many of the turns after a hit are told where there is room."""

WIDTH = 1_200
"""Longest text of one of the `NEAR` best hits, characters; others are cut as in a search."""


class Selection(NamedTuple):
    """What may be told for a question.

    Attributes:
        hits: All of it; `snippet` is what is told.
        ranked: Numbers of hits in the order of the search: each hit with what it must not be told without.
        following: Likewise, the turns after the best hits.
    """

    hits: tuple[Hit, ...] = ()
    ranked: tuple[tuple[int, ...], ...] = ()
    following: tuple[tuple[int, ...], ...] = ()

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """All of them, most wanted first."""
        return (*self.ranked[:NEAR], *self.following, *self.ranked[NEAR:])


def may_be_told(passage: Passage) -> bool:
    """Whether a passage may enter a prompt that did not ask for it by name.

    Suspect text may not, nor the output of a tool: a page of the web or a file says what its author wants.
    """
    return passage.trust != "suspect" and passage.role != "tool" and not screen(passage.text)


def select(
    found: Sequence[Hit],
    question: str,
    *,
    entries: Mapping[str, Entry],
    turns: Turns,
    previously: str,
    without: str | None = None,
) -> Selection:
    """From the hits of a search, best first, to what a block may tell.

    Args:
        found: Best first, superseded entries among them.
        question: As asked; turns that only repeat it are left out.
        entries: Every entry of the book, by id.
        turns: Reads turns by (session, first, last position).
        previously: How a statement and what it replaced are told: `{} (previously: {})`.
        without: Uuid of a session whose turns the prompt shows already.
    """
    asked = frozenset(query_words(question))
    hits = [hit for hit in found if may_be_told(hit.passage) and _tells(hit, question, without)]
    hits = current(hits, entries, previously)
    talks = _Talks(hits[:PLACED], turns)
    hits = [_shown(hit, number, talks, asked) for number, hit in enumerate(hits)]
    chosen = _Chosen(hits)
    resting = _superseded_by_turn(entries)
    ranked = [chosen.group(hit, [*_required(hit, talks), *_newer(hit, resting, entries)]) for hit in hits]
    following = [chosen.group(one, _required(one, talks)) for hit in hits[:NEAR] for one in talks.after(hit, without)]
    return Selection(tuple(chosen.hits), tuple(ranked), tuple(following))


# --- what tells something ------------------------------------------------------------------------


def _tells(hit: Hit, question: str, without: str | None) -> bool:
    passage = hit.passage
    if passage.source != "turn":
        return bool(passage.text.strip())
    if passage.session == without or normalise(passage.text) == normalise(question) or not passage.text.strip():
        return False
    return passage.role != "assistant" or not says_nothing(passage.text)


def _shown(hit: Hit, number: int, talks: _Talks, asked: AbstractSet[str]) -> Hit:
    """The hit with the text to tell: an entry as its turn says it, if that says all of it; of a summary what was asked."""
    passage = hit.passage
    if passage.source == "entry" and passage.state != "superseded" and hit.snippet == passage.text:
        turn = talks.turn_of(passage)
        if turn is not None and _covers(turn.text, passage.text):
            hit = hit._replace(passage=turn._replace(entry=passage.entry, category=passage.category), snippet=turn.text)
    elif passage.source == "summary":
        return hit._replace(snippet=snippet("\n".join(_asked_lines(passage.text, asked)), asked))
    if len(hit.snippet) < len(hit.passage.text) or len(hit.snippet) > WIDTH:
        width = WIDTH if number < NEAR else WIDTH // 2
        whole = hit.passage.text if passage.source != "entry" else hit.snippet
        hit = hit._replace(snippet=snippet(whole, asked, width=width))
    return hit


def _covers(turn: str, entry: str) -> bool:
    words = {word for word in query_words(entry) if is_telling(word)} - _USER
    return bool(words) and words <= set(query_words(turn))


_USER = frozenset(query_words("the user's 用户的"))


def _asked_lines(text: str, asked: AbstractSet[str]) -> list[str]:
    """The lines of a summary that have a word of the question; all of them if none has."""
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    about = [line for line in lines if not asked.isdisjoint(query_words(spoken(line)[1]))]
    return about or lines


# --- the latest word -----------------------------------------------------------------------------


def current(hits: Sequence[Hit], entries: Mapping[str, Entry], previously: str) -> list[Hit]:
    """The hits with what is true now in the place of entries that it replaced, which are told behind it.

    An entry that was merged into another is not told as something that changed, and neither is one that was known to
    be wrong when it was said.
    """
    best: dict[str, tuple[Hit, str]] = {}
    order: list[Hit | str] = []
    for hit in hits:
        entry = entries.get(hit.passage.entry or "") if hit.passage.source == "entry" else None
        if entry is None:
            order.append(hit)
            continue
        now = latest(entry, entries)
        known, before = best.get(now.id, (hit, ""))
        if now.id not in best:
            order.append(now.id)
        if now is entry:
            known = hit._replace(score=max(hit.score, known.score))
        elif not before and _was_true(entry, now):
            before = entry.text
        best[now.id] = (known, before)
    return [one if isinstance(one, Hit) else _as_now(*best[one], entries[one], previously) for one in order]


def latest(entry: Entry, entries: Mapping[str, Entry]) -> Entry:
    """What is true in the place of an entry; the entry itself if nothing replaced it, or what did is gone."""
    seen = {entry.id}
    while (then := entries.get(entry.superseded_by or "")) is not None and then.id not in seen:
        seen.add(then.id)
        entry = then
    return entry


def _was_true(entry: Entry, now: Entry) -> bool:
    """Whether an entry was held true before another replaced it; not if it was merged, or lost when it was said."""
    if entry.archived and not now.contradicts and normalise(entry.text) != normalise(now.text) and _alike(entry, now):
        return False
    if entry.superseded_by in entry.contradicts:
        return entry.created is not None and now.created is not None and entry.created < now.created
    return normalise(entry.text) != normalise(now.text)


def _alike(entry: Entry, now: Entry) -> bool:
    one, other = set(query_words(entry.text)), set(query_words(now.text))
    return one <= other or other <= one


def _as_now(hit: Hit, before: str, now: Entry, previously: str) -> Hit:
    passage = hit.passage
    if passage.entry != now.id:
        passage = passage_of(now)
    text = passage.text if not before else previously.format(passage.text, " ".join(before.split()))
    return hit._replace(passage=passage, snippet=text if before or passage is not hit.passage else hit.snippet)


def passage_of(entry: Entry) -> Passage:
    """An entry as a passage that names no lines."""
    day = (entry.created.date() if entry.created else entry.last_activated).isoformat()
    turn = (entry.source or "").removeprefix("turn:") if (entry.source or "").startswith("turn:") else None
    return Passage(
        "MEMORY.md",
        0,
        0,
        entry.text,
        "entry",
        date=day,
        entry=entry.id,
        category=entry.category,
        score=entry.score,
        state=entry.state,
        trust=entry.trust or "",
        session=entry.session,
        turn=turn,
        pinned=entry.pinned,
    )


def _superseded_by_turn(entries: Mapping[str, Entry]) -> Mapping[tuple[str | None, str], list[Entry]]:
    """By (session, turn id), the entries that rest on a turn, where all of them were replaced."""
    resting: dict[tuple[str | None, str], list[Entry]] = {}
    if any(entry.superseded_by for entry in entries.values()):
        for entry in entries.values():
            if entry.source and entry.source.startswith("turn:"):
                resting.setdefault((entry.session, entry.source.removeprefix("turn:")), []).append(entry)
    return {place: found for place, found in resting.items() if all(entry.superseded_by for entry in found)}


def _newer(
    hit: Hit, resting: Mapping[tuple[str | None, str], list[Entry]], entries: Mapping[str, Entry]
) -> Iterator[Hit]:
    """What is true now in the place of all that was remembered from a turn."""
    passage = hit.passage
    if passage.source == "turn" and passage.turn is not None:
        for entry in resting.get((passage.session, passage.turn), ()):
            now = latest(entry, entries)
            if now is not entry and now.trust != "suspect":
                yield Hit(passage_of(now), hit.score, hit.relevance, now.text)


# --- what stands around it -----------------------------------------------------------------------


class _Talks:
    """The turns around hits, by session and position."""

    def __init__(self, hits: Sequence[Hit], turns: Turns) -> None:
        places = [(hit.passage.session, hit.passage.position) for hit in hits if hit.passage.position >= 0]
        spans = merged((session, at - BEFORE, at + AFTER) for session, at in places if session is not None)
        self._turns: dict[str, dict[int, Passage]] = {}
        for turn in turns(spans):
            self._turns.setdefault(turn.session or "", {})[turn.position] = turn

    def turn_of(self, passage: Passage) -> Passage | None:
        """The turn that a passage rests on, where it is known."""
        return self._turns.get(passage.session or "", {}).get(passage.position)

    def later(self, passage: Passage) -> Iterator[Passage]:
        """The turns after a passage in its session, up to `AFTER`, that may be told."""
        talk = self._turns.get(passage.session or "", {})
        for at in range(passage.position + 1, passage.position + AFTER + 1) if passage.position >= 0 else ():
            if at in talk and may_be_told(talk[at]):
                yield talk[at]

    def asked_by(self, passage: Passage) -> Passage | None:
        """What the user said just before an assistant's turn."""
        talk = self._turns.get(passage.session or "", {})
        for at in range(passage.position - 1, passage.position - BEFORE - 1, -1) if passage.position >= 0 else ():
            turn = talk.get(at)
            if turn is not None and turn.role == "user":
                return turn if may_be_told(turn) else None
        return None

    def after(self, hit: Hit, without: str | None) -> Iterator[Hit]:
        """The turns that follow a hit, the user's first."""
        passage = hit.passage
        if passage.position < 0 or passage.session == without:
            return
        near = [turn for turn in self.later(passage) if turn.position <= passage.position + FOLLOWING]
        for turn in sorted(near, key=lambda turn: (turn.role == "assistant", turn.position)):
            if turn.role != "assistant" or not says_nothing(turn.text):
                yield _beside(hit, turn)


def merged(spans: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """The same places in as few spans as hold them."""
    found: list[tuple[str, int, int]] = []
    for session, first, last in sorted(spans):
        if found and found[-1][0] == session and first <= found[-1][2] + 1:
            found[-1] = (session, found[-1][1], max(last, found[-1][2]))
        else:
            found.append((session, max(0, first), last))
    return found


def _beside(hit: Hit, turn: Passage) -> Hit:
    return Hit(turn, hit.score, 0.0, snippet(turn.text, frozenset()))


def _required(hit: Hit, talks: _Talks) -> Iterator[Hit]:
    """What a turn must not be told without: the user's words before an assistant's, and who said it taking it back."""
    passage = hit.passage
    if passage.role == "assistant":
        before = talks.asked_by(passage)
        if before is not None:
            yield _beside(hit, before)
            passage = before
    words = frozenset(filter(is_telling, query_words(passage.text)))
    next_own = True
    for turn in talks.later(passage):
        if turn.role == "assistant" or turn.speaker != _speaker(passage, turn):
            continue
        if takes_back(turn.text) and (next_own or not words.isdisjoint(query_words(turn.text))):
            yield _beside(hit, turn)
        next_own = False


def _speaker(passage: Passage, turn: Passage) -> str:
    """Who said a passage, as far as it says; entries that do not are of whoever goes on."""
    return passage.speaker or turn.speaker


class _Chosen:
    """Hits by number, each turn and each passage once."""

    def __init__(self, hits: Sequence[Hit]) -> None:
        self.hits: list[Hit] = []
        self._numbers: dict[object, int] = {}
        for hit in hits:
            self._number(hit)

    def group(self, hit: Hit, others: Iterable[Hit]) -> tuple[int, ...]:
        """The numbers of a hit and of what it is told with."""
        return tuple(dict.fromkeys([self._number(hit), *map(self._number, others)]))

    def _number(self, hit: Hit) -> int:
        passage = hit.passage
        mark: object = (passage.path, passage.start_line, passage.entry, passage.text)
        if passage.source == "turn":
            mark = (passage.session, passage.position)
        elif passage.source == "entry":
            mark = passage.entry
        number = self._numbers.setdefault(mark, len(self.hits))
        if number == len(self.hits):
            self.hits.append(hit)
        return number
