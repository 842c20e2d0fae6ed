"""What only says again what the question says: past talks are full of it, and it answers nothing."""

from __future__ import annotations

from memorybook._light import Mapping, NamedTuple, Sequence
from memorybook.search.evidence import Component, Pool
from memorybook.search.time_words import is_about_talk, spoken
from memorybook.search.types import Candidate, Passage
from memorybook.search.weights import Weights
from memorybook.text.tokens import normalise, query_words

ALIKE = 2 / 3
"""Share of the words of two texts that both have, from which one only asks what the other says."""

LEFT = 0.2
"""Share of an echo's legs that still counts for what stands around it, if nothing was answered then."""

LONGER = 3
"""How many times as long as the question what echoes it is at most, and `_SPARE` characters more."""

_SPARE = 40
_FRAGMENT = 2  # words in Latin script; twice as many characters of other scripts


class Echoes(NamedTuple):
    """Candidates, by number, that only say what the question says.

    Attributes:
        asks: Whether each of them asks it.
        answered: Of the turns that follow one which asks, and tell something, the number of that one.
    """

    asks: Mapping[int, bool]
    answered: Mapping[int, int]

    def lent(self, base: Component) -> Component:
        """What the legs are worth to what stands around: of an echo that was not answered next to nothing."""
        if not self.asks:
            return base
        unanswered = self.asks.keys() - self.answered.values()
        return [value * LEFT if number in unanswered else value for number, value in enumerate(base)]

    def discount(self, speaker: Component, weights: Weights) -> Component:
        """What asks the question comes last; what merely has its text, behind all that has its words."""
        copy = -weights.coverage
        discounts = {n: -weights.echo if asks else copy - speaker[n] for n, asks in self.asks.items()}
        return [discounts.get(number, 0.0) for number in range(len(speaker))]

    def about(self, number: int, items: Sequence[Candidate]) -> Candidate | None:
        """By what a candidate's relevance is judged; see `Ranked.about`."""
        return None if self.asks.get(number) else items[self.answered.get(number, number)]


def echoes(question: str, pool: Pool, idf: Mapping[str, float]) -> Echoes:
    """What of the pool only says what the question says.

    A turn that only asks does, if of the words of both that tell something both have `ALIKE`; so does a turn of the
    very same text, one of a word or two out of it, and a summary if every line of it does that has any of its words.
    One who looks for what was asked or said gets it: nothing is an echo of "what did I ask about the ferry?".

    Args:
        question: As asked.
        pool: The candidates.
        idf: See `Candidates.idf`.
    """
    longest, least = LONGER * len(question) + _SPARE, max(1.0, ALIKE * len(idf))
    near = [
        number
        for number, (passage, _, _, holds) in enumerate(pool.items)
        if holds
        and passage.source in ("turn", "summary")
        and len(passage.text) <= longest
        and (holds.bit_count() >= least or _is_fragment(passage.text))
    ]
    if not near or is_about_talk(question):
        return Echoes({}, {})
    words, plain = frozenset(query_words(question)), normalise(question)

    def is_echo(passage: Passage) -> bool | None:
        if passage.source == "summary":
            said = [spoken(line)[1] for line in passage.text.splitlines()]
            said = [line for line in said if not words.isdisjoint(query_words(line))]
            again = all(normalise(line) == plain or (_asks(line) and _alike(line, words)) for line in said)
            return True if said and again else None
        if passage.asks == 2 and _alike(passage.text, words):
            return True
        same = normalise(passage.text) == plain
        return False if same or (_is_fragment(passage.text) and words.issuperset(query_words(passage.text))) else None

    found = {number: is_echo(pool.passages[number]) for number in near}
    asks = {number: asks for number, asks in found.items() if asks is not None}
    return Echoes(asks, _answered(asks, pool))


def _answered(asks: Mapping[int, bool], pool: Pool) -> dict[int, int]:
    found = {}
    for number in filter(asks.get, asks):
        passage = pool.passages[number]
        reply = pool.talks.get(passage.session, {}).get(passage.position + 1) if passage.source == "turn" else None
        if reply is not None and reply not in asks and _tells(pool.passages[reply]):
            found[reply] = number
    return found


def _tells(reply: Passage) -> bool:
    from memorybook.search.empty_answers import says_nothing

    return reply.asks != 2 and not says_nothing(reply.text)


def _alike(text: str, words: frozenset[str]) -> bool:
    others = frozenset(query_words(text))
    return len(words & others) >= ALIKE * len(words | others)


def _asks(line: str) -> bool:
    return line.rstrip().endswith(("?", "？"))


def _is_fragment(text: str) -> bool:
    if not text.isascii():
        return len(text) <= 2 * _FRAGMENT
    return len(text) <= _SPARE and len(text.split()) <= _FRAGMENT
