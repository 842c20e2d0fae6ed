"""Select hits for a prompt: nothing suspect, each statement as it is now, each answer with its question."""

from __future__ import annotations

from itertools import chain, islice, zip_longest

from memorybook._light import TYPE_CHECKING, AbstractSet, Callable, Iterable, Iterator, Mapping, Memo, Sequence, once
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
"""Hits whose surrounding turns are read at once."""

SURE, LINE = 400, 20
"""Tokens of best hits to include whatever their relevance, and tokens that a line takes besides its text."""

FADED = 0.3
"""Least relevance of an archived entry."""

FOLLOWED = 4
"""Best hits that bring the turns after them."""

ABOUT = 0.45
"""Relevance from which a hit comes before the turns that follow better ones."""

BEFORE, AFTER = 2, 6
"""Turns to read before and after a hit."""

FOLLOWING = 2
"""Most turns after a hit to include if there is room."""

LONG = 3
"""Best hits that may be long if they are passages of documents."""

WIDTH, HAN = 2_000, 0.3
"""Most characters of a line; half as many from this share of Chinese."""


def may_be_shown(passage: Passage) -> bool:
    """Return whether a passage may enter a prompt that did not ask for it by name.

    Suspect text may not, nor the output of a tool: a web page or a file says what its author wants.
    """
    return passage.trust != "suspect" and passage.role != "tool" and not instructs(passage.text)


class Selection:
    """The hits to show for a question, computed lazily.

    Args:
        found: Hits of a search, best first, with superseded entries.
        question: The question; turns that only repeat it are left out.
        entries: Every entry of the book, by id.
        replaced: Entries by their source turn (session, turn id), if all entries of the turn were superseded.
        turns: Reads turns by (session, first, last position).
        wording: Phrases for statements that replaced others or are no longer true.
        latest: Reads the last turns of people, newest first.
        least: Least relevance of a hit; above 0, only such hits and the turns after them are shown.
        without: Uuid of a session whose turns the prompt shows already.

    Attributes:
        found: The hits, with current entries in place of superseded ones.
        hits: The hits that the groups so far number; `snippet` is the text to show.
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
        self._talks = _Surroundings((hit.passage for hit in self.found), turns, without)
        self._replaced = replaced
        self._numbers: dict[object, int] = {}

    def groups(self) -> Iterator[tuple[int, ...]]:
        """Yield groups of hit numbers, most wanted first; see `ranked`.

        First come the best hits and those about the question. Then, in alternation, the rest of the ranking, the turns
        after the best hits, and the latest turns, which are the best guess where no word of the question leads on. Last
        come documents that are hardly about it.
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
            yield from interleave(chain(rest, ranked), self._following(best[:FOLLOWED]))
            return
        documents: list[tuple[int, ...]] = []
        others = self._but_documents(chain(rest, ranked), documents)
        yield from interleave(others, self._following(best[:FOLLOWED]), self._said_lately())
        yield from documents

    def ranked(self) -> Iterator[tuple[int, ...]]:
        """Yield groups of hit numbers in search order: a hit, then the hits that it must not be shown without."""
        near = (hit for hit in self.found if hit.relevance >= self._least)
        told = enumerate(hit for hit in near if may_be_shown(hit.passage) and self._tells(hit))
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
        newer = _successors(hit, self._replaced, self._entries)
        return self._group(hit, [*_required_turns(hit, self._talks), *newer])

    def _said_lately(self) -> Iterator[tuple[int, ...]]:
        said = list(self._latest())
        self._talks.read(said)
        for passage in said:
            hit = _hit_of_turn(Hit(passage, 0.0, 0.0, passage.text), passage)
            if may_be_shown(passage) and self._tells(hit):
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
        """Return the numbers of a hit and of the others; each turn, entry and passage has one number."""
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
        """Return the hit with the text to show: an entry's turn if that says all of it, lines of a summary."""
        passage, asked = hit.passage, self._asked
        if passage.source == "summary":
            lines = _asked_lines(passage.text, self._question, asked, self._outdated())
            return hit._replace(snippet=snippet("\n".join(lines), asked))
        text = hit.snippet if passage.source == "entry" else passage.text
        if passage.source == "entry" and passage.state != "superseded" and text.startswith(passage.text):
            turn = self._talks.turn_of(passage)
            if turn is not None and may_be_shown(turn) and covers(turn, turn.text, passage.text):
                hit = hit._replace(passage=turn._replace(entry=passage.entry, category=passage.category))
                text = turn.text + undated(passage.text)[1] + text.removeprefix(passage.text)
        width = WIDTH
        if passage.source == "document":
            width = SNIPPET if rank < LONG else SNIPPET // 3
        if len(text) > width // 2 and han_share(text) >= HAN:
            width //= 2
        return hit._replace(snippet=snippet(text, asked, width=width))

    def _as_known(self, hit: Hit) -> Hit:
        """Return the hit; mark a turn as outdated if its entries were superseded and a successor is gone."""
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
    """Return the meaningful, current lines of a summary: those with a word of the question, or all if none has one."""
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
    """Return (words, negated) of the statements that only superseded entries make."""
    said: dict[bool, set[tuple[frozenset[str], bool]]] = {True: set(), False: set()}
    for entry in entries:
        text = undated(entry.text)[0]
        said[entry.superseded_by is not None and not _is_doubtful(entry)].add((words_of(text), negates(text)))
    return {each for each in said[True] - said[False] if each[0]}


def current(hits: Sequence[Hit], entries: Mapping[str, Entry], wording: Wording) -> list[Hit]:
    """Return the hits with superseded entries replaced by their successors, "(previously: …)" added.

    Entries that may only seem superseded stay as they are and are shown below their successor, with their day. If the
    successor is gone, any of them is marked as no longer so. Nothing is added for entries that were merged, or that
    were wrong when they were said.
    """
    best: dict[str, tuple[Hit, str]] = {}
    order: list[Hit | str] = []
    for hit in hits:
        entry = entries.get(hit.passage.entry or "") if hit.passage.source == "entry" else None
        if entry is None:
            order.append(hit)
            continue
        now = latest(entry, entries, plain=True)
        if now.superseded_by and now.superseded_by not in entries:
            order.append(hit._replace(snippet=wording.outdated.format(hit.snippet)))
            continue
        known, before = best.get(now.id, (hit, ""))
        if now.id not in best:
            order.append(now.id)
        score, relevance = max(hit.score, known.score), max(hit.relevance, known.relevance)
        known = (hit if now is entry else known)._replace(score=score, relevance=relevance)
        if now is not entry and not before and may_be_shown(hit.passage) and _was_true(entry, now):
            before = entry.text
        best[now.id] = (known, before)
    return [one if isinstance(one, Hit) else _as_current(*best[one], entries[one], wording.previously) for one in order]


def latest(entry: Entry, entries: Mapping[str, Entry], *, plain: bool = False) -> Entry:
    """Follow `superseded_by` to the last existing entry; the entry itself if there is no successor.

    With `plain`, stop where the replacement is doubtful.
    """
    seen = {entry.id}
    while (then := entries.get(entry.superseded_by or "")) is not None and then.id not in seen:
        if plain and _is_doubtful(entry):
            break
        seen.add(then.id)
        entry = then
    return entry


def _is_doubtful(entry: Entry) -> bool:
    """Return whether it is doubtful that an entry was replaced: it is linked to its successor."""
    return entry.superseded_by in entry.links


def _was_true(entry: Entry, now: Entry) -> bool:
    """Return whether an entry was held true before `now` replaced it: not merged, and not rejected when it was said."""
    if entry.archived and not now.contradicts and normalise(entry.text) != normalise(now.text) and _alike(entry, now):
        return False
    if entry.superseded_by in entry.contradicts:
        return entry.created is not None and now.created is not None and entry.created < now.created
    return normalise(entry.text) != normalise(now.text)


def _alike(entry: Entry, now: Entry) -> bool:
    one, other = set(query_words(entry.text)), set(query_words(now.text))
    return one <= other or other <= one


def _as_current(hit: Hit, before: str, now: Entry, previously: str) -> Hit:
    passage = hit.passage
    if passage.entry != now.id:
        passage = entry_passage(now)
    before = "" if normalise(before) in normalise(passage.text) else " ".join(before.split())
    text = passage.text if not before else previously.format(passage.text, before)
    return hit._replace(passage=passage, snippet=text if before or passage is not hit.passage else hit.snippet)


def _successors(hit: Hit, replaced: Replaced, entries: Mapping[str, Entry]) -> Iterator[Hit]:
    """Yield hits of the successors of an entry, or of all entries of a turn."""
    passage = hit.passage
    told = [entries[id] for id in (passage.entry or "",) if id in entries]
    told += replaced.get((passage.session, passage.turn or ""), ()) if passage.source == "turn" else ()
    for now in [latest(entry, entries) for entry in told]:
        if now.id != passage.entry and now not in told and may_be_shown(newer := entry_passage(now)):
            yield Hit(newer, hit.score, hit.relevance, now.text)


# --- what stands around it -----------------------------------------------------------------------


class _Surroundings:
    """The turns around hits, by session and position, read on demand."""

    def __init__(self, found: Iterable[Passage], turns: Turns, without: str | None) -> None:
        self._around = turns
        self._without = without
        self._turns: dict[str, dict[int, Passage]] = {}
        self._by_id = {(passage.session, passage.turn): passage for passage in found if passage.source == "turn"}

    def read(self, passages: Iterable[Passage]) -> None:
        """Read the turns around these passages."""
        places = ((p.session, p.position) for p in passages if p.session != self._without)
        spans = merge_spans((session, at - BEFORE, at + AFTER) for session, at in places if session and at >= 0)
        for turn in self._around(spans):
            self._turns.setdefault(turn.session or "", {})[turn.position] = turn
            self._by_id[turn.session, turn.turn] = turn

    def turn_of(self, passage: Passage) -> Passage | None:
        """Return the source turn of a passage if it was read, else None."""
        return self._by_id.get((passage.session, passage.turn))

    def later(self, passage: Passage) -> Iterator[Passage]:
        """Yield up to `AFTER` turns after a passage in its session, those that may be told."""
        talk = self._turns.get(passage.session or "", {})
        for at in range(passage.position + 1, passage.position + AFTER + 1) if passage.position >= 0 else ():
            if at in talk and may_be_shown(talk[at]):
                yield talk[at]

    def asked_by(self, passage: Passage) -> Passage | None:
        """Return the user's turn just before an assistant's; None if there is none or it may not be told."""
        talk = self._turns.get(passage.session or "", {})
        for at in range(passage.position - 1, passage.position - BEFORE - 1, -1) if passage.position >= 0 else ():
            turn = talk.get(at)
            if turn is not None and turn.role == "user":
                return turn if may_be_shown(turn) else None
        return None

    def after(self, hit: Hit, without: str | None) -> Iterator[Hit]:
        """Yield hits of the turns after a hit, the user's first."""
        passage = hit.passage
        if passage.position < 0 or passage.session == without:
            return
        near = [turn for turn in self.later(passage) if turn.position <= passage.position + FOLLOWING]
        for turn in sorted(near, key=lambda turn: (turn.role == "assistant", turn.position)):
            if turn.role != "assistant" or not says_nothing(turn.text):
                yield _hit_of_turn(hit, turn)


def interleave(*others: Iterable[T]) -> Iterator[T]:
    """Interleave: yield the first of each, the second of each, until all are exhausted."""
    nothing = object()
    for row in zip_longest(*others, fillvalue=nothing):
        yield from (one for one in row if one is not nothing)  # type: ignore[misc]


def merge_spans(spans: Iterable[tuple[str, int, int]]) -> list[tuple[str, int, int]]:
    """Merge overlapping and adjacent spans (session, first, last)."""
    found: list[tuple[str, int, int]] = []
    for session, first, last in sorted(spans):
        if found and found[-1][0] == session and first <= found[-1][2] + 1:
            found[-1] = (session, found[-1][1], max(last, found[-1][2]))
        else:
            found.append((session, max(0, first), last))
    return found


def _hit_of_turn(hit: Hit, turn: Passage) -> Hit:
    return Hit(turn, hit.score, 0.0, snippet(turn.text, frozenset()))


_takes_back = Memo(takes_back, 4_096).__getitem__


def _required_turns(hit: Hit, talks: _Surroundings) -> Iterator[Hit]:
    """Yield hits that a turn must not be shown without: the question before an answer, and later retractions."""
    passage = hit.passage
    if passage.role == "assistant":
        before = talks.asked_by(passage)
        if before is not None:
            yield _hit_of_turn(hit, before)
            passage = before
    next_own = True
    own = passage if passage.speaker else talks.turn_of(passage) or passage
    for turn in talks.later(passage):
        if turn.role == "assistant" or turn.speaker != (own.speaker or turn.speaker):
            continue
        if _takes_back(turn.text) and (next_own or _share_words(passage.text, turn.text)):
            yield _hit_of_turn(hit, turn)
        next_own = False


def _share_words(one: str, other: str) -> bool:
    return not set(filter(is_telling, query_words(one))).isdisjoint(query_words(other))
