"""One search as a visible list of steps: rank, say each thing once, judge relevance, cut, show."""

from __future__ import annotations

from itertools import chain, islice, tee

from memorybook._light import Callable, Iterable, Iterator, NamedTuple, Sequence, date
from memorybook.search.evidence import relevance
from memorybook.search.rank import Ranked, Strength, rank
from memorybook.search.snippets import snippet
from memorybook.search.time_words import LONGEST_NAME
from memorybook.search.types import Candidate, Candidates, Hit, Passage
from memorybook.search.weights import Weights
from memorybook.text.tokens import tokens
from memorybook.text.utterances import says_something

RELEVANT = 0.45
"""Relevance from which an answer counts as being about the question, when the caller sets no threshold."""

QUOTED = 12
"""Shortest text, characters, that is compared with others to show each piece of evidence once."""

END = " .。!,、;:~…"
"""What a text may end with and be the same statement."""

UNRELATED = 0.1
"""Relevance up to which a hit has nothing to do with the question, whatever else speaks for it."""

JUDGED = 40
"""How many of the best candidates are judged for `has_relevant` when there is no threshold to apply."""

WHOLE = 0.7
"""Share of a turn's length from which an entry made of it is shown in its place; a shorter one leaves too much out."""

LENDING = 50
"""How many of the best candidates may lend the id of their turn to what is shown."""


class Found(NamedTuple):
    """Hits, best first; whether any judged one is relevant; how many a threshold left out; see `Answer.knows`."""

    hits: tuple[Hit, ...]
    has_relevant: bool
    cut: int
    knows: float = 0.0


def find(
    question: str,
    candidates: Candidates,
    weights: Weights,
    *,
    limit: int,
    min_score: float = 0.0,
    strength: Strength,
    today: date | None = None,
    keep: Callable[[Passage], bool] | None = None,
    explain: bool = False,
) -> Found:
    """The `limit` best hits; `min_score` (0..1) applies to relevance alone, never to age or score.

    Args:
        question: As asked.
        candidates: From an index.
        weights: See `weights_for`.
        limit: At least 1.
        min_score: Hits of lower relevance are left out and counted.
        strength: An entry's strength today.
        today: What yesterday and the like in the question are counted from; None leaves them out.
        keep: Passages it refuses are left out before anything is cut; None keeps all.
        explain: Fill in `Hit.why`.
    """
    ranked: Iterator[Ranked] = rank(question, candidates, weights, strength=strength, today=today, explain=explain)
    ranked = (r for r in ranked if r.candidate.passage.source != "turn" or says_something(r.candidate.passage.text))
    if keep is not None:
        ranked = (r for r in ranked if keep(r.candidate.passage))
    how_much, words = relevance(candidates.idf, weights), [*candidates.idf]

    def judge(item: Ranked) -> float:
        return 0.0 if item.about is None else max(how_much(_own(one, words)) for one in (item.candidate, item.about))

    ranked = _only_related_first(ranked, judge)
    few = min_score == 0 and limit < JUDGED  # then it is known what will be shown, and the rest need not be compared
    ranked, again = tee(ranked)
    judged = once(ranked, LENDING, shown=limit) if few else once(ranked, None if min_score > 0 else limit)
    kept = [r for r in judged if judge(r) >= min_score] if min_score > 0 else judged
    hits = tuple(
        Hit(r.candidate.passage, r.score, judge(r), snippet(r.candidate.passage.text, frozenset(words)), r.why)
        for r in kept[:limit]
    )
    bar = max(min_score, RELEVANT)
    knows = max((hit.relevance for hit in hits), default=0.0)
    if knows < bar:
        others = once(again, JUDGED) if few else judged
        knows = max(knows, max(map(judge, others), default=0.0))
    return Found(hits, knows >= bar, len(judged) - len(kept), knows)


def _only_related_first(ranked: Iterator[Ranked], judge: Callable[[Ranked], float]) -> Iterator[Ranked]:
    """The ranking, with the only one of the best that is about the question first: no bonus outweighs that.

    A turn that asks stays where it is, for what follows it may be the answer.
    """
    best = list(islice(ranked, JUDGED))
    related = list(islice((place for place, item in enumerate(best) if judge(item) > UNRELATED), 2))
    if len(related) == 1 and related[0] and not best[related[0]].candidate.passage.asks:
        only, first = best.pop(related[0]), best[0]
        gained = {"only": first.score - only.score} if only.why else {}
        best.insert(0, only._replace(score=first.score, why={**only.why, **gained}))
    return chain(best, ranked)


def _own(item: Candidate, words: Sequence[str]) -> Candidate:
    """With what it says itself and the machine it is from: a section is not about what only its page's title says."""
    if item.passage.source != "summary" or " > " not in item.passage.heading:
        return item
    said = frozenset(tokens(" ".join((item.passage.text, *item.passage.path.split("/")[1:-1]))))
    holds = item.holds & sum(1 << number for number, word in enumerate(words) if word in said)
    return item._replace(holds=holds, cosine=item.cosine if holds else None)


def once(ranked: Iterable[Ranked], enough: int | None = None, *, shown: int | None = None) -> list[Ranked]:
    """Each piece of evidence once: a turn, and what was written down from it in other places, are the same.

    The better ranked of the two stays; of a turn and an entry that was made of it, the entry, or the turn if the entry
    leaves out much of it. Either carries the id of the other: what is shown can be opened, corrected and forgotten.
    Beyond the candidates that are judged, only what names its turn is compared. `enough` are kept at most; None
    keeps all. If no more than the first `shown` are of interest, what comes after them is compared only where it
    names a turn, whose id it may lend.
    """
    kept: list[Ranked] = []
    turns: dict[object, int] = {}
    texts: dict[str, list[tuple[int, str]]] = {}
    for item in ranked:
        number = len(kept)
        passage = item.candidate.passage
        mark = (passage.session, passage.turn) if passage.turn else None
        same = turns.get(mark) if mark else None
        compared = JUDGED if shown is None else LENDING if mark else shown
        if same is None and number < compared:
            same = _quoted(passage, number, texts)
        if same is None:
            same = number
            kept.append(item)
        elif passage.source == "turn" and _is_unplaced(kept[same].candidate.passage, passage):
            kept[same] = _whole(_resting_on(kept[same], passage), item, kept[same])
        elif passage.entry and kept[same].candidate.passage.source == "turn":
            kept[same] = _whole(_resting_on(item, kept[same].candidate.passage), kept[same], kept[same])
        if mark:
            turns.setdefault(mark, same)
        if len(kept) == enough:
            break
    return kept


def _quoted(passage: Passage, number: int, texts: dict[str, list[tuple[int, str]]]) -> int | None:
    """Number of the text from another source that holds this one or is held by it; if there is none, it is `number`."""
    text = _said(passage)
    size = len(text)
    if size < QUOTED:
        return None
    for source, others in texts.items():
        if source != passage.source:
            for known, other in others:
                if text in other if len(other) >= size else other in text:
                    return known
    texts.setdefault(passage.source, []).append((number, text))
    return None


def _said(passage: Passage) -> str:
    """The statement to compare; what was written down from a talk between people begins with a name."""
    text = passage.text.lower()
    if not text.isprintable() or "  " in text:  # white space other than single spaces
        text = " ".join(text.split())
    text = text.lstrip().rstrip(END)
    name, colon, statement = text.partition(": ")
    return statement if colon and len(name) <= LONGEST_NAME and passage.source != "turn" else text


def _is_unplaced(passage: Passage, turn: Passage) -> bool:
    """Whether a passage rests on that turn, or on none, and its position is not known yet."""
    return passage.position < 0 and passage.turn in (None, turn.turn)


def _resting_on(item: Ranked, turn: Passage) -> Ranked:
    """The item with the place of the turn that it rests on, and with its id and speaker where it did not know it."""
    passage = item.candidate.passage._replace(session=turn.session, position=turn.position)
    if passage.turn is None:
        passage = passage._replace(turn=turn.turn, speaker=turn.speaker)
    return item._replace(candidate=item.candidate._replace(passage=passage))


def _whole(entry: Ranked, turn: Ranked, first: Ranked) -> Ranked:
    """What to show of an entry and the turn that it was made of, in the place of the first of them."""
    shown, passage, other = entry, entry.candidate.passage, turn.candidate
    if passage.entry and len(passage.text) < WHOLE * len(other.passage.text):
        told = other.passage._replace(entry=passage.entry, category=passage.category, state=passage.state)
        shown = turn._replace(candidate=other._replace(passage=told), about=entry.about)
    return shown._replace(score=first.score, why=first.why)
