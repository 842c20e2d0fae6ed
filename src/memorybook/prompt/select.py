"""What of a search may be told: nothing suspect, each statement with its latest word, an answer with its question."""

from __future__ import annotations

from itertools import chain, islice, zip_longest

from memorybook._light import TYPE_CHECKING, AbstractSet, Callable, Iterable, Iterator, Mapping, Sequence, once
from memorybook.prompt.block import Wording, covers, negates, words_of
from memorybook.search.evidence import spoken
from memorybook.search.search import SNIPPET, says_nothing, snippet
from memorybook.search.types import Hit, Passage
from memorybook.text.screen import instructs
from memorybook.text.splitting import entry_passage
from memorybook.text.tokens import (
    count_tokens,
    han_share,
    is_telling,
    normalise,
    query_words,
    takes_back,
    undated,
    without_placeholders,
)

if TYPE_CHECKING:
    from typing import TypeVar

    from memorybook.model import Entry

    T = TypeVar("T")
    Replaced = Mapping[tuple[str | None, str], Sequence[Entry]]
    Turns = Callable[[Iterable[tuple[str, int, int]]], Sequence[Passage]]

PLACED = 16
"""How many hits are looked up in their talk at once."""

SURE, LINE = 400, 20
"""Tokens of the best hits that are told whatever their relevance, and what a line takes besides its text."""

FADED = 0.3
"""Relevance from which an archived entry is told."""

FOLLOWED = 4
"""How many of them bring the turns that follow them."""

ABOUT = 0.45
"""Relevance from which a hit is about the question, and comes before the turns that follow better ones."""

BEFORE, AFTER = 2, 6
"""Turns before and after a hit that are looked at."""

FOLLOWING = 2
"""How many of the turns after a hit are told where there is room."""

LONG = 3
"""How many of the best hits are told at length where they are passages of documents."""

WIDTH, HAN = 2_000, 0.3
"""Longest text of a line, characters, half as many where so much of it is Chinese."""


def may_be_told(passage: Passage) -> bool:
    """Whether a passage may enter a prompt that did not ask for it by name.

    Suspect text may not, nor the output of a tool: a page of the web or a file says what its author wants.
    """
    return passage.trust != "suspect" and passage.role != "tool" and not instructs(passage.text)


class Selection:
    """What may be told for a question, worked out as far as it is asked for.

    Args:
        found: Hits of a search, best first, superseded entries among them.
        question: As asked; turns that only repeat it are left out.
        entries: Every entry of the book, by id.
        replaced: By (session, turn id), the entries that rest on a turn, where all of them were replaced.
        turns: Reads turns by (session, first, last position).
        wording: How a statement is told with what it replaced, or that it is no longer so.
        latest: Reads the turns of people that were said last, newest first.
        least: Lowest relevance of a hit; above 0 nothing is told but such hits and what follows them.
        without: Uuid of a session whose turns the prompt shows already.

    Attributes:
        found: The hits with what is true now in the place of what was superseded.
        hits: What the groups so far have numbers for; `snippet` is what is told.
    """

    def __init__(
        self,
        found: Sequence[Hit],
        question: str,
        *,
        entries: Mapping[str, Entry],
        replaced: Replaced,
        turns: Turns,
        wording: Wording,
        latest: Callable[[], Iterable[Passage]] = tuple,
        least: float = 0.0,
        without: str | None = None,
    ) -> None:
        self.hits: list[Hit] = []
        self._least = least
        self._latest = latest
        self._question = question
        self._without = without
        self._entries = entries
        self._outdated = once(lambda: _outdated(entries.values()))
        self._wording = wording
        self.found = current(found, entries, wording)
        self._asked = frozenset(query_words(question))
        self._talks = _Talks((hit.passage for hit in self.found), turns, without)
        self._replaced = replaced
        self._numbers: dict[object, int] = {}

    def groups(self) -> Iterator[tuple[int, ...]]:
        """Numbers of hits, most wanted first: each with what it must not be told without, as `ranked` has them.

        First the best and what is about the question. Then by turns the rest of the ranking and, beside it,
        the turns that follow the best and what was said lately: where no word of a question leads on, the newest talk
        is the best guess. Last come documents that are hardly about it.
        """
        best: list[Hit] = []
        rest: list[tuple[int, ...]] = []
        ranked, spent = self.ranked(), 0
        for group in ranked:
            hit = self.hits[group[0]]
            if spent >= SURE and hit.relevance < ABOUT:
                rest.append(group)
                break
            best.append(hit)
            spent += LINE + count_tokens(hit.snippet)
            yield group
        if self._least:
            yield from in_turn(chain(rest, ranked), self._following(best[:FOLLOWED]))
            return
        documents: list[tuple[int, ...]] = []
        others = self._but_documents(chain(rest, ranked), documents)
        yield from in_turn(others, self._following(best[:FOLLOWED]), self._said_lately())
        yield from documents

    def ranked(self) -> Iterator[tuple[int, ...]]:
        """Numbers of hits in the order of the search: each with what it must not be told without."""
        near = (hit for hit in self.found if hit.relevance >= self._least)
        told = enumerate(hit for hit in near if may_be_told(hit.passage) and self._tells(hit))
        while some := list(islice(told, PLACED)):
            self._talks.read(hit.passage for _, hit in some)
            for number, hit in some:
                yield self._with_required(self._shown(hit, number))

    def _but_documents(
        self, groups: Iterable[tuple[int, ...]], documents: list[tuple[int, ...]]
    ) -> Iterator[tuple[int, ...]]:
        for group in groups:
            if self.hits[group[0]].passage.source == "document":
                documents.append(group)
            else:
                yield group

    def _following(self, best: Sequence[Hit]) -> Iterator[tuple[int, ...]]:
        for hit in best:
            for after in self._talks.after(hit, self._without):
                yield self._with_required(after)

    def _with_required(self, hit: Hit) -> tuple[int, ...]:
        newer = _newer(hit, self._replaced, self._entries)
        return self._group(hit, [*_required(hit, self._talks), *newer])

    def _said_lately(self) -> Iterator[tuple[int, ...]]:
        said = list(self._latest())
        self._talks.read(said)
        for passage in said:
            hit = _beside(Hit(passage, 0.0, 0.0, passage.text), passage)
            if may_be_told(passage) and self._tells(hit):
                yield self._with_required(hit)

    def _tells(self, hit: Hit) -> bool:
        passage = hit.passage
        if not passage.text.strip():
            return False
        if passage.source != "turn":
            return passage.state != "archived" or hit.relevance >= FADED
        if passage.session == self._without or normalise(passage.text) == normalise(self._question):
            return False
        return passage.role != "assistant" or not says_nothing(passage.text)

    def _group(self, hit: Hit, others: Iterable[Hit]) -> tuple[int, ...]:
        """The numbers of a hit and of what it is told with, each turn, entry and passage once."""
        return tuple(dict.fromkeys([self._number(hit), *map(self._number, others)]))

    def _number(self, hit: Hit) -> int:
        passage = hit.passage
        mark: object = (passage.path, passage.start_line, passage.text)
        if passage.source == "turn":
            mark = (passage.session, passage.position)
        elif passage.source == "entry":
            mark = passage.entry
        number = self._numbers.setdefault(mark, len(self.hits))
        if number == len(self.hits):
            self.hits.append(self._as_known(hit))
        elif passage.entry and not self.hits[number].passage.entry:  # the turn that this entry is told as
            turn = self.hits[number]
            told = turn.passage._replace(entry=passage.entry, category=passage.category)
            self.hits[number] = hit._replace(passage=told, relevance=max(turn.relevance, hit.relevance))
        return number

    def _shown(self, hit: Hit, rank: int) -> Hit:
        """The hit with the text to tell: of an entry its turn, if that says all of it; of a summary what was asked."""
        passage, asked = hit.passage, self._asked
        if passage.source == "summary":
            lines = _asked_lines(passage.text, self._question, asked, self._outdated())
            return hit._replace(snippet=snippet("\n".join(lines), asked))
        text = hit.snippet if passage.source == "entry" else passage.text
        if passage.source == "entry" and passage.state != "superseded" and text.startswith(passage.text):
            turn = self._talks.turn_of(passage)
            if turn is not None and may_be_told(turn) and covers(turn, turn.text, passage.text):
                hit = hit._replace(passage=turn._replace(entry=passage.entry, category=passage.category))
                text = turn.text + undated(passage.text)[1] + text.removeprefix(passage.text)
        width = WIDTH
        if passage.source == "document":
            width = SNIPPET if rank < LONG else SNIPPET // 3
        if len(text) > width // 2 and han_share(text) >= HAN:
            width //= 2
        return hit._replace(snippet=snippet(text, asked, width=width))

    def _as_known(self, hit: Hit) -> Hit:
        """The hit; a turn of which all was replaced, and what did is gone, as what is no longer so."""
        hit = hit._replace(snippet=without_placeholders(hit.snippet))
        resting = self._replaced.get((hit.passage.session, hit.passage.turn or ""), ())
        if hit.passage.source != "turn" or not any(latest(one, self._entries).superseded_by for one in resting):
            return hit
        return hit._replace(snippet=self._wording.outdated.format(hit.snippet))


# --- what tells something ------------------------------------------------------------------------


_ASSISTANT = ("assistant", "助手")


def _asked_lines(
    text: str, question: str, asked: AbstractSet[str], outdated: AbstractSet[tuple[frozenset[str], bool]]
) -> list[str]:
    """The lines of a summary that have a word of the question; all that tell something and are so if none has."""
    asked = frozenset(filter(is_telling, asked)) or asked
    same = normalise(question).rstrip("?")
    lines, about = [], []
    for line in filter(None, map(str.strip, text.splitlines())):
        who, said = spoken(line)
        if normalise(said).rstrip("?") == same or (who.rstrip(" :：").lower() in _ASSISTANT and says_nothing(said)):
            continue
        if outdated and (words_of(said), negates(said)) in outdated:
            continue
        lines.append(line)
        if not asked.isdisjoint(query_words(said)):
            about.append(line)
    return about or lines


# --- the latest word -----------------------------------------------------------------------------


def _outdated(entries: Iterable[Entry]) -> AbstractSet[tuple[frozenset[str], bool]]:
    """What superseded entries say that no other one says: their words, and whether they negate."""
    said: dict[bool, set[tuple[frozenset[str], bool]]] = {True: set(), False: set()}
    for entry in entries:
        text = undated(entry.text)[0]
        said[entry.superseded_by is not None and not _is_doubtful(entry)].add((words_of(text), negates(text)))
    return {each for each in said[True] - said[False] if each[0]}


def current(hits: Sequence[Hit], entries: Mapping[str, Entry], wording: Wording) -> list[Hit]:
    """The hits with what is true now in the place of entries that it replaced, which are told behind it.

    Where it is not plain that it replaced them, they are told as they are, to stand below it with their day.
    Where that is gone, they are told as no longer so. An entry that was merged into another is not told as something
    that changed, and neither is one that was known to be wrong when it was said.
    """
    best: dict[str, tuple[Hit, str]] = {}
    order: list[Hit | str] = []
    for hit in hits:
        entry = entries.get(hit.passage.entry or "") if hit.passage.source == "entry" else None
        if entry is None:
            order.append(hit)
            continue
        now = latest(entry, entries, plain=True)
        if now.superseded_by and not _is_doubtful(now):
            order.append(hit._replace(snippet=wording.outdated.format(hit.snippet)))
            continue
        known, before = best.get(now.id, (hit, ""))
        if now.id not in best:
            order.append(now.id)
        score, relevance = max(hit.score, known.score), max(hit.relevance, known.relevance)
        known = (hit if now is entry else known)._replace(score=score, relevance=relevance)
        if now is not entry and not before and may_be_told(hit.passage) and _was_true(entry, now):
            before = entry.text
        best[now.id] = (known, before)
    return [one if isinstance(one, Hit) else _as_now(*best[one], entries[one], wording.previously) for one in order]


def latest(entry: Entry, entries: Mapping[str, Entry], *, plain: bool = False) -> Entry:
    """What is true in the place of an entry; the entry itself if nothing replaced it, or what did is gone.

    With `plain` what plainly replaced it alone.
    """
    seen = {entry.id}
    while (then := entries.get(entry.superseded_by or "")) is not None and then.id not in seen:
        if plain and _is_doubtful(entry):
            break
        seen.add(then.id)
        entry = then
    return entry


def _is_doubtful(entry: Entry) -> bool:
    """Whether it is not plain that an entry was replaced: it is linked with what did."""
    return entry.superseded_by in entry.links


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
        passage = entry_passage(now)
    before = "" if normalise(before) in normalise(passage.text) else " ".join(before.split())
    text = passage.text if not before else previously.format(passage.text, before)
    return hit._replace(passage=passage, snippet=text if before or passage is not hit.passage else hit.snippet)


def _newer(hit: Hit, replaced: Replaced, entries: Mapping[str, Entry]) -> Iterator[Hit]:
    """What is true now in the place of an entry, or of all that was remembered from a turn."""
    passage = hit.passage
    told = [entries[id] for id in (passage.entry or "",) if id in entries]
    told += replaced.get((passage.session, passage.turn or ""), ()) if passage.source == "turn" else ()
    for now in [latest(entry, entries) for entry in told]:
        if now.id != passage.entry and now not in told and may_be_told(newer := entry_passage(now)):
            yield Hit(newer, hit.score, hit.relevance, now.text)


# --- what stands around it -----------------------------------------------------------------------


class _Talks:
    """The turns around hits, by session and position, as far as they were read."""

    def __init__(self, found: Iterable[Passage], turns: Turns, without: str | None) -> None:
        self._around = turns
        self._without = without
        self._turns: dict[str, dict[int, Passage]] = {}
        self._by_id = {(passage.session, passage.turn): passage for passage in found if passage.source == "turn"}

    def read(self, passages: Iterable[Passage]) -> None:
        """Read what stands around these passages."""
        places = ((p.session, p.position) for p in passages if p.session != self._without)
        spans = merged((session, at - BEFORE, at + AFTER) for session, at in places if session and at >= 0)
        for turn in self._around(spans):
            self._turns.setdefault(turn.session or "", {})[turn.position] = turn
            self._by_id[turn.session, turn.turn] = turn

    def turn_of(self, passage: Passage) -> Passage | None:
        """The turn that a passage rests on, where it is known."""
        return self._by_id.get((passage.session, passage.turn))

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


def in_turn(*others: Iterable[T]) -> Iterator[T]:
    """The first of each, the second of each, and so on, until all are through."""
    nothing = object()
    for row in zip_longest(*others, fillvalue=nothing):
        yield from (one for one in row if one is not nothing)  # type: ignore[misc]


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
    next_own = True
    own = passage if passage.speaker else talks.turn_of(passage) or passage
    for turn in talks.later(passage):
        if turn.role == "assistant" or turn.speaker != (own.speaker or turn.speaker):
            continue
        if takes_back(turn.text) and (next_own or _share_words(passage.text, turn.text)):
            yield _beside(hit, turn)
        next_own = False


def _share_words(one: str, other: str) -> bool:
    return not set(filter(is_telling, query_words(one))).isdisjoint(query_words(other))
