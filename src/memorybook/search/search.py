"""One search as a visible list of steps: rank, say each thing once, judge relevance, cut, show; books read along."""

from __future__ import annotations

from itertools import chain, islice, tee
from operator import add

from memorybook._light import (
    TYPE_CHECKING,
    AbstractSet,
    Any,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    NamedTuple,
    Sequence,
    date,
)
from memorybook.errors import MemoryBookError
from memorybook.search import evidence
from memorybook.search.evidence import (
    LONGEST_NAME,
    Component,
    Pool,
    Weights,
    is_about_talk,
    newer_first,
    relevance,
    spoken,
    words_as_written,
)
from memorybook.search.types import Candidate, Candidates, Hit, Passage, when_of
from memorybook.text.tokens import normalise, query_words, says_something, tokens

if TYPE_CHECKING:
    from memorybook.search.types import Answer, Hit, Passage, Query

    EntryPassages = Callable[..., Sequence[Passage]]
    "`Book.entry_passages`"

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


RERANKED = 20
"""How many of the best a reranker reads."""

Reranker = Callable[[str, Sequence[str]], "Sequence[float] | None"]
"""Of a question and texts, how well each answers it, higher is better; None if it cannot tell."""


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
    rerank: Reranker | None = None,
    explain: bool = False,
) -> Found:
    """Return the `limit` best hits; `min_score` (0..1) applies to relevance alone, never to age or score.

    Args:
        question: As asked.
        candidates: From an index.
        weights: See `weights_for`.
        limit: At least 1.
        min_score: Hits of lower relevance are left out and counted.
        strength: An entry's strength today.
        today: What yesterday and the like in the question are counted from; None leaves them out.
        keep: Passages it refuses are left out before anything is cut; None keeps all.
        rerank: Has a say in the order of the best; None asks nobody.
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
    if rerank is not None:
        ranked = _reranked(question, ranked, rerank)
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
    """Put the only one of the best that is about the question first: no bonus outweighs that.

    A turn that asks stays where it is, for what follows it may be the answer.
    """
    best = list(islice(ranked, JUDGED))
    related = list(islice((place for place, item in enumerate(best) if judge(item) > UNRELATED), 2))
    if len(related) == 1 and related[0] and not best[related[0]].candidate.passage.asks:
        only, first = best.pop(related[0]), best[0]
        gained = {"only": first.score - only.score} if only.why else {}
        best.insert(0, only._replace(score=first.score, why={**only.why, **gained}))
    return chain(best, ranked)


def _reranked(question: str, ranked: Iterator[Ranked], rerank: Reranker) -> Iterator[Ranked]:
    """Order the best by their scores and, with as much weight, by what a reranker says of each."""
    best = list(islice(ranked, RERANKED))
    passages = [item.candidate.passage for item in best]
    texts = [f"{passage.speaker}: {passage.text}" if passage.speaker else passage.text for passage in passages]
    said = rerank(question, texts) if len(best) > 1 else None
    if said is not None:
        low, high = min(said), max(said)
        span = (max(item.score for item in best) - min(item.score for item in best)) / ((high - low) or 1.0)
        for place, item in enumerate(best):
            gained = span * (said[place] - low)  # so nothing falls below what was not read
            why = {**item.why, "reranker": gained} if item.why else item.why
            best[place] = item._replace(score=item.score + gained, why=why)
        best.sort(key=lambda item: item.score, reverse=True)
    return chain(best, ranked)


def _own(item: Candidate, words: Sequence[str]) -> Candidate:
    """Return a summary's candidate judged by its own words and machine, not by words of its page's title alone."""
    if item.passage.source != "summary" or " > " not in item.passage.heading:
        return item
    said = frozenset(tokens(" ".join((item.passage.text, *item.passage.path.split("/")[1:-1]))))
    holds = item.holds & sum(1 << number for number, word in enumerate(words) if word in said)
    return item._replace(holds=holds, cosine=item.cosine if holds else None)


def once(ranked: Iterable[Ranked], enough: int | None = None, *, shown: int | None = None) -> list[Ranked]:
    """Keep each piece of evidence once: a turn, and what was written down from it elsewhere, are the same.

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
    """Return the number of a text of another source that holds this one or is held by it; if none does, note it."""
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
    """Return the statement to compare, without the name that one from a talk between people begins with."""
    text = passage.text.lower()
    if not text.isprintable() or "  " in text:  # white space other than single spaces
        text = " ".join(text.split())
    text = text.lstrip().rstrip(END)
    name, colon, statement = text.partition(": ")
    return statement if colon and len(name) <= LONGEST_NAME and passage.source != "turn" else text


def _is_unplaced(passage: Passage, turn: Passage) -> bool:
    """Return whether a passage rests on that turn, or on none, and its position is not known yet."""
    return passage.position < 0 and passage.turn in (None, turn.turn)


def _resting_on(item: Ranked, turn: Passage) -> Ranked:
    """Give the item the place of the turn that it rests on, and id and speaker where it had none."""
    passage = item.candidate.passage._replace(session=turn.session, position=turn.position, time=turn.time)
    if passage.turn is None:
        passage = passage._replace(turn=turn.turn, speaker=turn.speaker)
    return item._replace(candidate=item.candidate._replace(passage=passage))


def _whole(entry: Ranked, turn: Ranked, first: Ranked) -> Ranked:
    """Return what to show of an entry and the turn it was made of, in the place of the first of them."""
    shown, passage, other = entry, entry.candidate.passage, turn.candidate
    if passage.entry and len(passage.text) < WHOLE * len(other.passage.text):
        told = other.passage._replace(entry=passage.entry, category=passage.category, state=passage.state)
        shown = turn._replace(candidate=other._replace(passage=told), about=entry.about)
    return shown._replace(score=first.score, why=first.why)


# --- ranking -------------------------------------------------------------------------------------

Strength = Callable[[Passage], float]
"""Strength of an entry's passage today, 0..1; not asked for other sources."""

MEDIUM = 0.6
"""Strength of a new entry of medium importance: it is worth as much as the turn that it was made of."""


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
    """Rank every candidate (and neighbour that earned a score), best first; on a tie the newer first.

    `today` is what yesterday and the like in the question are counted from; without it they count for nothing.
    """
    pool = evidence.pool_of(found)
    words = evidence.words_leg(question, pool, weights)
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
        "strength": [weights.strength * (strength(p) - MEDIUM) if p.entry else 0.0 for p in pool.passages],
    }
    scores: Component = list(map(sum, zip(*components.values(), strict=True)))
    admitted = [
        number
        for number, candidate in enumerate(pool.items)
        if candidate.words is not None or base[number] or answer[number] or neighbour[number]
    ]
    by: Sequence[Any] = scores
    if len({scores[n] for n in admitted}) < len(admitted):  # on a tie the newer first
        by = [(score, when_of(p), p.position) for score, p in zip(scores, pool.passages, strict=True)]
    best = sorted(admitted, key=by.__getitem__, reverse=True)
    components["repeated"] = repeated(pool, best, weights)
    scores = list(map(add, scores, components["repeated"]))
    if evidence.asks_when(question):
        components["moment"] = evidence.moment(pool, best, weights)
        scores = list(map(add, scores, components["moment"]))
    order = sorted(best, key=scores.__getitem__, reverse=True)
    order, components["newer"] = newer_first(pool, order, scores, found.idf)
    scores = list(map(add, scores, components["newer"]))

    def why(number: int) -> dict[str, float]:
        return {name: values[number] for name, values in components.items() if values[number]}

    return (Ranked(pool.items[n], scores[n], why(n) if explain else {}, again.about(n, pool.items)) for n in order)


# --- repeated ---------------------------------------------------------------------------------------

READ = 30
"""How many of the best candidates are compared with each other."""

SHORTEST = 20
"""Characters from which a text may be repeated; a shorter one means something only by what it replies to."""

SHARE = 0.75
"""Of a passage's words, how many a later one must have to say it again."""


def repeated(pool: Pool, ranked: Sequence[int], weights: Weights) -> Component:
    """Discount each of the best candidates that a later one of them says again; 0 for the rest.

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
    """Return those of a run that another of them, which came later, says again."""
    words = {number: frozenset(words_as_written(pool.passages[number].text)) for number in run}
    run.sort(key=lambda number: (pool.passages[number].position, pool.passages[number].start_line))
    return [
        number
        for at, number in enumerate(run, 1)
        if any(
            not pool.items[number].holds & ~pool.items[later].holds
            and 0 < SHARE * len(words[number]) <= len(words[number] & words[later])
            for later in run[at:]
        )
    ]


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
        """Return the legs that neighbours may inherit: of an echo that was not answered next to nothing."""
        if not self.asks:
            return base
        unanswered = self.asks.keys() - self.answered.values()
        return [value * LEFT if number in unanswered else value for number, value in enumerate(base)]

    def discount(self, speaker: Component, weights: Weights) -> Component:
        """Discount echoes: what asks the question comes last, a mere copy behind all that has its words."""
        copy = -weights.coverage
        discounts = {n: -weights.echo if asks else copy - speaker[n] for n, asks in self.asks.items()}
        return [discounts.get(number, 0.0) for number in range(len(speaker))]

    def about(self, number: int, items: Sequence[Candidate]) -> Candidate | None:
        """Return by what a candidate's relevance is judged; see `Ranked.about`."""
        return None if self.asks.get(number) else items[self.answered.get(number, number)]


def echoes(question: str, pool: Pool, idf: Mapping[str, float]) -> Echoes:
    """Find what in the pool only says what the question says.

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
            again = all(
                normalise(line) == plain or (line.rstrip().endswith(("?", "？")) and _alike(line, words))
                for line in said
            )
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
        told = None if reply is None or reply in asks else pool.passages[reply]
        if reply is not None and told is not None and told.asks != 2 and not says_nothing(told.text):
            found[reply] = number
    return found


def _alike(text: str, words: frozenset[str]) -> bool:
    others = frozenset(query_words(text))
    return len(words & others) >= ALIKE * len(words | others)


def _is_fragment(text: str) -> bool:
    if not text.isascii():
        return len(text) <= 2 * _FRAGMENT
    return len(text) <= _SPARE and len(text.split()) <= _FRAGMENT


# --- empty answers ----------------------------------------------------------------------------------

_CUTS = dict.fromkeys(map(ord, ",，、:：;；—–"), "\n")
_LEADS = (
    "i'm sorry|sorry|i apologize|apologies|unfortunately|hmm|well|but|"
    "申し訳ありません|すみません|죄송합니다|죄송하지만|к сожалению|извините|抱歉|很抱歉|对不起|不好意思|很遗憾|但"
)
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
_UNKNOWN_AT_END = (
    "分かりません|わかりません|知りません|覚えていません|存じません|見つかりません|記憶にありません|記録にありません|情報がありません|"
    "情報はありません|確認します|確認してみます|調べます|調べてみます|探してみます|お待ちください|見てみます|"
    "모르겠습니다|모르겠어요|모릅니다|몰라요|찾지못했습니다|찾을수없습니다|기억나는것이없습니다|기억이없습니다|기록이없습니다|"
    "정보가없습니다|확인해볼게요|확인해보겠습니다|확인하겠습니다|알아볼게요|찾아볼게요|잠시만요|기다려주세요|"
    "не знаю|не помню|не нашёл|не нашла|ничего нет|проверю|посмотрю|поищу|секунду|минуту"
)
_LEAD, _NOT_KNOWN, _ALONG, _NOT_KNOWN_AT_END = (
    tuple(words.split("|")) for words in (_LEADS, _UNKNOWN, _BESIDE, _UNKNOWN_AT_END)
)


def says_nothing(answer: str) -> bool:
    """Return whether an assistant's answer only says that it does not know, or that it will look.

    In English, Chinese, Japanese, Korean or Russian.

    >>> [says_nothing(text) for text in ("I don't know your number. What is it?", "I don't know it, but Ann does.")]
    [True, False]
    >>> [says_nothing(text) for text in ("抱歉，我不知道你的车牌号。", "让我查一下。你的航班是九点。")]
    [True, False]
    """
    found = False
    for sentence in sentences(answer.replace("’", "'").lower()):
        for part in sentence.translate(_CUTS).replace(" but ", "\nbut ").replace("但", "\n但").splitlines():
            clause = normalise(part)
            begins = clause.lstrip("我目前暂时还也并")
            if clause.startswith(_NOT_KNOWN) or begins.startswith(_NOT_KNOWN) or clause.endswith(_NOT_KNOWN_AT_END):
                found = True
            elif says_something(clause) and not (clause in _LEAD or clause.startswith(_ALONG) or clause.endswith("?")):
                return False
    return found


# --- snippets ------------------------------------------------------------------------------------

SNIPPET = 480
"""Longest snippet, characters."""

_ENDS = ".!?。！？；"
"""What ends a sentence, also several of them; a line's end does, too."""


def snippet(text: str, words: AbstractSet[str], *, width: int = SNIPPET) -> str:
    """Return `text`, or the stretch of at most `width` characters with most of `words`, with … where it is cut."""
    if len(text) <= width:
        return text
    pieces = sentences(text)
    counts = [len(words & set(tokens(piece))) for piece in pieces]
    best, start, end = -1, 0, 0
    for first in range(len(pieces)):
        size = total = 0
        last = first
        while last < len(pieces) and (last == first or size + len(pieces[last]) <= width - 2):
            size += len(pieces[last])
            total += counts[last]
            last += 1
        if total > best:
            best, start, end = total, first, last
    cut = "".join(pieces[start:end])[: width - 2].strip()
    return ("…" if start else "") + cut + ("…" if end < len(pieces) or len(cut) == width - 2 else "")


def sentences(text: str) -> list[str]:
    """Cut the text after each sentence and line, without a pattern: what makes those costs a cold start more."""
    pieces = [text]
    for end in (*_ENDS, "\n"):
        if end in text:
            parts = [piece.split(end) for piece in pieces]
            pieces = [cut for *whole, rest in parts for cut in (*(part + end for part in whole), rest) if cut]
    found: list[str] = []
    for piece in filter(None, pieces):
        if found and piece in _ENDS and found[-1][-1] in _ENDS:
            found[-1] += piece
        else:
            found.append(piece)
    return found


# --- books that are read together -----------------------------------------------------------------


def read_along(own: str, answer: Answer, others: Sequence[tuple[str, Callable[[], Answer]]], *, limit: int) -> Answer:
    """Return the answer with what other books have: of those on top of each book always the most relevant comes next.

    So each book's own order stays, what is true now before what it replaced. A book that cannot be searched is named
    among `degraded`.
    """
    waiting, degraded = [_of_layer(own, answer)], list(answer.state["degraded"])
    found = [answer]
    for name, search in others:
        try:
            other = search()
        except MemoryBookError as error:
            degraded.append(f"the {name} book cannot be read: {error}")
            continue
        found.append(other)
        waiting.append(_of_layer(name, other))
        degraded += [f"the {name} book: {reason}" for reason in other.state["degraded"]]
    hits: list[Hit] = []
    while len(hits) < limit and (left := [each for each in waiting if each]):
        hits.append(max(left, key=lambda each: each[0].relevance).pop(0))
    return answer._replace(
        hits=tuple(hits),
        has_relevant=any(each.has_relevant for each in found),
        cut=sum(each.cut for each in found),
        knows=max(each.knows for each in found),
        state={**answer.state, "degraded": degraded},
    )


def _of_layer(name: str, answer: Answer) -> list[Hit]:
    return [hit._replace(layer=name) for hit in answer.hits]


# --- what is true now -----------------------------------------------------------------------------


def renewed(entry_passages: EntryPassages, asked: Query, answer: Answer, *, limit: int) -> Answer:
    """Put what is true now before what it replaced, and as relevant.

    So it is for entries, and for turns of which nothing else is remembered. What a filter of the query leaves out is
    not brought back.
    """
    resting = _resting(entry_passages, answer)
    replaced = [resting.get(_turn_of(hit.passage), hit.passage) for hit in answer.hits]
    known = _with_successors(entry_passages, replaced)
    ids = [_now(passage, known) for passage in replaced]
    current = {one.entry: one for one in reversed(entry_passages([id for id in ids if id], query=asked))}
    found = {hit.passage.entry: hit for hit in answer.hits if hit.passage.source == "entry"}
    words = frozenset(query_words(asked.text))
    hits: dict[object, Hit] = {}
    for number, (hit, id) in enumerate(zip(answer.hits, ids, strict=True)):
        if id in current and id not in hits:
            passage = current[id]
            newer = found.get(id) or hit._replace(passage=passage, snippet=snippet(passage.text, words), why={})
            relevance, score = max(newer.relevance, hit.relevance), max(newer.score, hit.score)
            hits[id] = newer._replace(relevance=relevance, score=score)
        hits.setdefault(hit.passage.entry if hit.passage.source == "entry" else number, hit)
    return answer._replace(hits=tuple(hits.values())[:limit])


def _turn_of(passage: Passage) -> tuple[str, str]:
    return (passage.session or "", passage.turn or "") if passage.source == "turn" else ("", "")


def _resting(entry_passages: EntryPassages, answer: Answer) -> dict[tuple[str, str], Passage]:
    """Return for each turn among the hits an entry that rests on it, if none of those is true any more."""
    turns = {_turn_of(hit.passage) for hit in answer.hits} - {("", "")}
    found: dict[tuple[str, str], list[Passage]] = {}
    for entry in entry_passages(turns=turns):
        found.setdefault((entry.session or "", entry.turn or ""), []).append(entry)
    return {turn: entries[0] for turn, entries in found.items() if all(one.superseded_by for one in entries)}


def _with_successors(entry_passages: EntryPassages, passages: Iterable[Passage]) -> dict[str, Passage]:
    """Return what replaced these entries, and what replaced that, by id."""
    known: dict[str, Passage] = {}
    wanted = {one.superseded_by for one in passages if one.superseded_by}
    while wanted:
        for one in reversed(entry_passages(wanted)):
            known[one.entry or ""] = one
        wanted = {by for id in wanted if id in known and (by := known[id].superseded_by)} - known.keys()
    return known


def _now(passage: Passage, known: Mapping[str, Passage]) -> str | None:
    """Return the id of what is true in place of an entry; None if that is the entry itself, or is gone."""
    seen = {passage.entry}
    while passage.superseded_by is not None:
        if passage.superseded_by in seen or passage.superseded_by not in known:
            return None
        seen.add(passage.superseded_by)
        passage = known[passage.superseded_by]
    return passage.entry if len(seen) > 1 else None
