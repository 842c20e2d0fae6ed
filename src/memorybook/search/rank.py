"""From the candidates of two legs to one order: the same pure steps for every index.

Each step is a function of values to values, listed in `rank`; every weight stands in one `Weights`
value per kind of embedder.
"""

from __future__ import annotations

from operator import add

from memorybook._light import Any, Callable, Iterator, Mapping, NamedTuple, Sequence, date
from memorybook.search import evidence, time_words
from memorybook.search.evidence import Component, Pool, newer_first
from memorybook.search.snippets import sentences
from memorybook.search.time_words import is_about_talk, spoken, words_as_written
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.search.weights import Weights
from memorybook.text.tokens import normalise, query_words
from memorybook.text.utterances import says_something

Strength = Callable[[Passage], float]
"""Strength of an entry's passage today, 0..1; not asked for other sources."""


class Ranked(NamedTuple):
    """A candidate with its score.

    Attributes:
        candidate: From the index.
        score: See `Weights`.
        why: Where that was asked for, the components that add up to the score, 0 left out.
        about: By what its relevance is judged: itself, the question asked before that it answers, or None (not relevant
            at all) if it only asks what the question asks.
    """

    candidate: Candidate
    score: float
    why: Mapping[str, float]
    about: Candidate | None


def rank(
    question: str,
    found: Candidates,
    weights: Weights,
    *,
    strength: Strength,
    today: date | None = None,
    explain: bool = False,
) -> Iterator[Ranked]:
    """Every candidate (and neighbour that earned a score), best first; on a tie the newer first.

    `today` is what yesterday and the like in the question are counted from; without it they count for nothing.
    """
    pool = evidence.pool_of(found)
    words = evidence.words_leg(pool, weights)
    vector = evidence.vector_leg(pool, weights, found.pending_vectors > 0)
    again = echoes(question, pool, found.idf)
    base = again.lent(list(map(add, words, vector)))
    speaker = evidence.speaker(question, pool, weights)
    answer = evidence.answer(base, pool, weights)
    neighbour = evidence.neighbour(base, pool, weights)
    components: dict[str, Component] = {
        "words": words,
        "vector": vector,
        "answer": answer,
        "neighbour": neighbour,
        "session": evidence.session(base, pool, weights),
        "speaker": speaker,
        "asking": evidence.asking(pool, weights),
        "echo": again.discount(speaker, weights),
        "summary": evidence.summary(pool, weights),
        "recency": evidence.recency(pool, weights),
        "coverage": evidence.coverage(pool, found.idf, weights),
        "dated": evidence.dated(question, pool, weights, today),
        "strength": [weights.strength * strength(p) if p.entry else 0.0 for p in pool.passages],
    }
    scores: Component = list(map(sum, zip(*components.values(), strict=True)))
    admitted = [
        number
        for number, candidate in enumerate(pool.items)
        if candidate.words is not None or base[number] or answer[number] or neighbour[number]
    ]
    best = sorted(admitted, key=_newer_on_a_tie(scores, pool, admitted).__getitem__, reverse=True)
    components["repeated"] = repeated(pool, best, weights)
    scores = list(map(add, scores, components["repeated"]))
    if time_words.asks_when(question):
        components["moment"] = _moment(pool, best, weights)
        scores = list(map(add, scores, components["moment"]))
    order = sorted(best, key=scores.__getitem__, reverse=True)
    order, components["newer"] = newer_first(pool, order, scores, found.idf)
    scores = list(map(add, scores, components["newer"]))
    shown = _shown if explain else _not_shown
    return (Ranked(pool.items[n], scores[n], shown(components, n), again.about(n, pool.items)) for n in order)


def _newer_on_a_tie(scores: Component, pool: Pool, admitted: Sequence[int]) -> Sequence[Any]:
    """What to sort by, for each candidate: its score, and where two have the same, the day and the place too."""
    if len({scores[n] for n in admitted}) == len(admitted):
        return scores
    return [(score, p.date or "", p.position) for score, p in zip(scores, pool.passages, strict=True)]


def _shown(components: Mapping[str, Component], number: int) -> dict[str, float]:
    return {name: values[number] for name, values in components.items() if values[number]}


def _not_shown(components: Mapping[str, Component], number: int) -> dict[str, float]:
    return {}


def _moment(pool: Pool, ranked: list[int], weights: Weights) -> Component:
    """For the best candidates, whether they speak of a time; 0 for the rest."""
    spoken = [0.0] * len(pool.items)
    for number in ranked[: time_words.READ]:
        spoken[number] = time_words.moment(pool.items[number].passage, weights)
    return spoken


# --- repeated ---------------------------------------------------------------------------------------

READ = 30
"""How many of the best candidates are compared with each other."""

SHORTEST = 20
"""Characters from which a text may be repeated; a shorter one means something only by what it replies to."""

SHARE = 0.75
"""Of a passage's words, how many a later one must have to say it again."""


def repeated(pool: Pool, ranked: Sequence[int], weights: Weights) -> Component:
    """For the best candidates, the discount of what a later one of them says again; 0 for the rest.

    Plans are drafted, corrected and agreed in nearly the same words, and only the last time counts. A later
    passage says one again if it is in the same session, or on the same page of notes, from the same speaker, has
    all the words of the question that the earlier one has, and `SHARE` of all its words.

    Args:
        pool: The candidates.
        ranked: Their numbers, best first.
        weights: For `weights.repeated`.
    """
    runs: dict[tuple[str, str], list[int]] = {}
    for number in ranked[:READ]:
        passage = pool.passages[number]
        if passage.source in ("turn", "note") and len(passage.text) >= SHORTEST:
            runs.setdefault((passage.session or passage.path, passage.speaker), []).append(number)
    told = [0.0] * len(pool.items)
    for run in runs.values():
        if len(run) > 1:
            for number in _said_again(pool, run):
                told[number] = -weights.repeated
    return told


def _said_again(pool: Pool, run: list[int]) -> list[int]:
    """Those of a run that another of them, which came later, says again."""
    words = {number: frozenset(words_as_written(pool.passages[number].text)) for number in run}
    run.sort(key=lambda number: _place(pool.passages[number]))
    return [
        number
        for at, number in enumerate(run, 1)
        if any(
            not pool.items[number].holds & ~pool.items[later].holds
            and 0 < SHARE * len(words[number]) <= len(words[number] & words[later])
            for later in run[at:]
        )
    ]


def _place(passage: Passage) -> tuple[int, int]:
    """Where it stands in its session or on its page."""
    return passage.position, passage.start_line


# --- echoes -----------------------------------------------------------------------------------------

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


# --- empty answers ----------------------------------------------------------------------------------

_CUTS = dict.fromkeys(map(ord, ",，、:：;；—–"), "\n")
_LEADS = "i'm sorry|sorry|i apologize|apologies|unfortunately|hmm|well|but|抱歉|很抱歉|对不起|不好意思|很遗憾|但"
_UNKNOWN = (
    "i don't know|i do not know|i don't have any information|i don't have information|i don't have that information|"
    "i do not have any information|i don't have anything|i do not have anything|i have nothing|i have no information|"
    "i have no record|i don't have a record|i have no idea|no idea|i'm not sure|i am not sure|i couldn't find|"
    "i could not find|i can't find|i cannot find|i found nothing|nothing about|there is nothing about|"
    "let me check|let me look|let me see|let me search|let me find out|let me think|let me verify|i'll check|"
    "i will check|i'll look|one moment|just a moment|give me a moment|"
    "不知道|不清楚|不太清楚|不确定|没有关于|没有相关|没有这方面|没有找到|没找到|找不到|没有记录|的记忆里没有|记忆里没有|"
    "让我查|让我看|让我找|让我搜|让我想想|让我想一|来查|来看|来找|来搜|查一下|看一下|看看|查查|去查|稍等|请稍等|请稍候"
)
_BESIDE = (
    "you haven't told me|you have not told me|please tell me|if you tell me|"
    "你还没告诉我|你没有告诉我|你还没有告诉我|请告诉我"
)
_LEAD, _NOT_KNOWN, _ALONG = (tuple(words.split("|")) for words in (_LEADS, _UNKNOWN, _BESIDE))


def says_nothing(answer: str) -> bool:
    """Whether an assistant's answer, English or Chinese, only says that it does not know, or that it will look.

    >>> [says_nothing(text) for text in ("I don't know your number. What is it?", "I don't know it, but Ann does.")]
    [True, False]
    >>> [says_nothing(text) for text in ("抱歉，我不知道你的车牌号。", "让我查一下。你的航班是九点。")]
    [True, False]
    """
    found = False
    for sentence in sentences(answer.replace("’", "'").lower()):
        for part in sentence.translate(_CUTS).replace(" but ", "\nbut ").replace("但", "\n但").splitlines():
            clause = normalise(part)
            if clause.startswith(_NOT_KNOWN) or clause.lstrip("我目前暂时还也并").startswith(_NOT_KNOWN):
                found = True
            elif says_something(clause) and not (clause in _LEAD or clause.startswith(_ALONG) or clause.endswith("?")):
                return False
    return found
