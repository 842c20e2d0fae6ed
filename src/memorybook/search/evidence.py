"""Evidence that a passage answers a question: the weights, and pure steps from a pool to scores."""

from __future__ import annotations

from collections import Counter
from itertools import chain, pairwise
from math import log, sqrt
from operator import add

from memorybook._light import AbstractSet, Callable, Iterable, Mapping, Memo, NamedTuple, Sequence, date
from memorybook.search.types import Candidate, Candidates, Passage
from memorybook.text.day_phrases import may_name_days
from memorybook.text.stop_words import script_of
from memorybook.text.tokens import is_stop_word, is_telling, tokens


class Weights(NamedTuple):
    """Weights of the evidence; scores are sums of these, the two legs together worth at most 1.

    They were fitted (softmax over the candidates of a question) on one half of labelled conversations in
    English and Chinese, rounded, and validated on the other half.

    Attributes:
        words, vector: Share of each leg after min-max over the candidates.
        speaker: Bonus for a turn of the person the question names.
        answer: Share of a question's legs that the turn after it inherits.
        neighbour: Share of the turns before and after; two thirds of it at two turns' distance, one at three.
        session: Share of the mean of the three best others of the same session or document.
        recency: Bonus of the newest candidate; the oldest gets none, and talk between people half.
        dated: Bonus of what is dated within the days that the question names.
        strength: Bonus of full strength, of which an entry has as much as it is above medium; a faded one a discount.
        summary: Discount of a session's summary beside the turns that it repeats.
        asking: Discount of a turn that only asks.
        echo: Discount of what only asks what the question asks, larger than its words are worth.
        coverage: Bonus of a passage with all of the question's words, by their idf; BM25 lets one rare word
            often said stand for all.
        moment: Bonus of a passage that speaks of a time, if the question asks for one.
        repeated: Discount of what the same speaker says again later in the session.
        across: Whether the embedder compares languages.
        unrelated: Cosine that reads as relevance 0, see `calibration`; `ABOUT` of the way from it to 1 reads as 1.
    """

    words: float
    vector: float
    speaker: float = 1.1
    answer: float = 0.9
    neighbour: float = 0.2
    session: float = 0.5
    recency: float = 0.3
    dated: float = 0.8
    strength: float = 0.2
    summary: float = 1.0
    asking: float = 0.2
    echo: float = 4.0
    coverage: float = 1.1
    moment: float = 0.6
    repeated: float = 0.8
    across: bool = False
    unrelated: float = 0.2


ABOUT = 0.45
"""See `Weights.unrelated`."""


WEIGHTS: Mapping[str, Weights] = {
    "static": Weights(words=0.6, vector=0.4),
    "local": Weights(words=0.5, vector=0.5, answer=0.7, neighbour=0.15, session=0.3, coverage=0.9, moment=0.5),
    "multilingual": Weights(words=0.5, vector=0.5, across=True),
    "remote": Weights(words=0.3, vector=0.7, answer=0.7, neighbour=0.15, session=0.3, coverage=0.9, moment=0.5),
    "": Weights(
        words=1.0,
        vector=0.0,
        speaker=1.9,
        answer=0.8,
        neighbour=0.1,
        session=0.35,
        recency=0.2,
        asking=0.4,
        coverage=1.4,
        moment=0.4,
    ),
}
"""By kind of the embedder, the part of its name before the slash; "" when the vector leg did not run."""


def weights_for(
    embedder: str | None, unrelated: float | None = None, *, vector: float = 0.0, words: float = 0.0
) -> Weights:
    """Return an embedder's weights by its name, with its `Candidates.unrelated`.

    `vector` and `words`, unless both 0, replace the shares of the legs.
    """
    weights = WEIGHTS.get((embedder or "").partition("/")[0], WEIGHTS["remote"])
    if unrelated is not None:
        weights = weights._replace(unrelated=unrelated)
    if embedder and (vector or words):
        total = vector + words
        weights = weights._replace(vector=vector / total, words=words / total)
    return weights


# --- the words of a text as they are written -----------------------------------------------------

LONGEST_NAME = 40
"""Of a speaker, characters, where a line of a summary begins with one."""

TIMED = 80
"""How many of the best candidates are read for a time that they tell."""

_PUNCTUATION = dict.fromkeys(
    [*range(32), 127, *map(ord, "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~“”‘’…—，。！？；：、（）《》")], " "
)

TIMES = frozenset(
    "yesterday today tomorrow tonight morning mornings night nights last next ago since recently recent just week weeks"
    " month months year years weekend weekends monday tuesday wednesday thursday friday saturday sunday january"
    " february march april may june july august september october november december".split()
)
"""Words that tell a time."""

TIMES_ZH = (
    "昨天 今天 明天 前天 后天 昨晚 今晚 明晚 昨早 今早 明早 去年 今年 明年 前年 后年 上周 下周 上月 下月 上个月 下个月"
    " 星期 礼拜 周一 周二 周三 周四 周五 周六 周日 周天 周末 最近"
).split()

_WHEN = {
    *((first, second) for first in ("what", "which") for second in "date day week month season year time".split()),
    *(("how", second) for second in ("long", "recently")),
}
_HOW_MANY = frozenset("days weeks months years".split())
_WHEN_ZH = (
    "什么时候 什么时间 什么日子 啥时候 何时 多久 多会儿 日期 时间 几点 几号 几月 几时 多少天 多少周 多少个月 多少年"
    " 哪个月 哪个星期 哪几天 哪几周 哪几年 哪几个月"
).split() + [f"哪{one}{unit}" for one in ("", "一") for unit in "天年月周日"]
_ABOUT_TALK = frozenset(
    "ask asked asking question questions mention mentioned talk talked discuss discussed said say told".split()
)
_ABOUT_TALK_ZH = "聊过 聊到 谈过 谈到 说过 提到 提过 提问 问过 问了 问你 我问 问的".split()
_COLONS = (": ", "：")
_ORDINAL = ("st", "nd", "rd", "th")
_CENTURY = ("19", "20")
_HAN_DIGITS = "0123456789０１２３４５６７８９〇零一二三四五六七八九十"


def words_as_written(text: str) -> list[str]:
    """Return the words in lower case, without the marks around them.

    >>> words_as_written("When, in May 2023?")
    ['when', 'in', 'may', '2023']
    """
    return text.lower().translate(_PUNCTUATION).split()


def asks_when(question: str) -> bool:
    """Return whether a question, English or Chinese, asks for a time.

    >>> asks_when("When did Ann move?"), asks_when("安什么时候搬的家"), asks_when("Where does Ann live?")
    (True, True, False)
    """
    words = words_as_written(question)
    if "when" in words or not _WHEN.isdisjoint(pairwise(words)):
        return True
    if any(words[at : at + 2] == ["how", "many"] and words[at + 2] in _HOW_MANY for at in range(len(words) - 2)):
        return True
    return not question.isascii() and any(asked in question for asked in _WHEN_ZH)


def is_about_talk(question: str) -> bool:
    """Return whether a question asks what was asked or said, so that an earlier question may be the answer.

    >>> [is_about_talk(text) for text in ("What did I ask about tea?", "我问过茶吗", "谁是我的法律顾问？")]
    [True, True, False]
    """
    if not _ABOUT_TALK.isdisjoint(words_as_written(question)):
        return True
    return not question.isascii() and any(words in question for words in _ABOUT_TALK_ZH)


def spoken(line: str) -> tuple[str, str]:
    """Split a line of a summary into (who, text), `who` with its colon; "" if it names nobody.

    >>> spoken("User: I leave at six."), spoken("用户：我六点走。"), spoken("I leave at six.")
    (('User: ', 'I leave at six.'), ('用户：', '我六点走。'), ('', 'I leave at six.'))
    """
    end = min((at + len(colon) for colon in _COLONS if 0 < (at := line.find(colon)) <= LONGEST_NAME), default=0)
    return line[:end], line[end:]


def says_when(text: str) -> bool:
    """Return whether a text, English or Chinese, names a time: a year, a day's number, yesterday, 三天前, 14:30."""
    hours = text.replace("：", ":").split(":")
    if any(hour[-1:].isdigit() and minute[:2].isdigit() and len(minute) > 1 for hour, minute in pairwise(hours)):
        return True
    if not text.isascii():
        if any(time in text for time in TIMES_ZH):
            return True
        if any(
            ago == "前" and unit in "天周月年" and before in "两几半个" + _HAN_DIGITS
            for before, unit, ago in zip(text, text[1:], text[2:], strict=False)
        ):
            return True
        if any(piece and piece[-1] in _HAN_DIGITS for unit in "年月日号点" for piece in text.split(unit)[:-1]):
            return True
    words = words_as_written(text)
    return not TIMES.isdisjoint(words) or any(
        word.rstrip("stndrh").isdecimal() if word[-2:] in _ORDINAL else len(word) == 4 and word[:2] in _CENTURY
        for word in words
        if word[0].isdigit()
    )


# --- the pool ------------------------------------------------------------------------------------

Component = list[float]
"""One number for each candidate of a pool, in its order."""

REACH = {1: 1.0, 2: 2 / 3, 3: 1 / 3}
"""How much of its neighbours a turn is given, by their distance in turns."""

SECOND_HAND = 0.5
"""Share of the speaker's bonus for what is not known to be said by anybody."""

COMPANY = 3
"""How many others of a session speak for one of its passages."""

TALK = 0.5
"""Share of the bonus for recency for what a person with a name said."""


class Pool(NamedTuple):
    """Candidates and their neighbours, numbered.

    Attributes:
        items: In no order; a neighbour has no score of any leg.
        passages: Of the items, in their order.
        talks: Session -> its turns, position -> number.
    """

    items: Sequence[Candidate]
    passages: Sequence[Passage]
    talks: Mapping[str | None, Mapping[int, int]]


def pool_of(found: Candidates) -> Pool:
    """Make the pool of what the index found, with each turn's number by session and position."""
    items = [*found.items, *found.neighbours]
    passages = [c.passage for c in items]
    talks: dict[str | None, dict[int, int]] = {}
    for number, passage in enumerate(passages):
        if passage.source == "turn":
            talks.setdefault(passage.session, {})[passage.position] = number
    return Pool(items, passages, talks)


# --- the two legs --------------------------------------------------------------------------------


BEGINNING = 120
"""Characters of a text that decide its script."""

_script = Memo(script_of, 4096).__getitem__


def minmax(values: Sequence[float | None], most: float = 1.0) -> Component:
    """Scale values to 0..`most`; None becomes 0, and the lowest value comes just above."""
    known = [value for value in values if value is not None]
    if not known or not most:
        return [0.0] * len(values)
    low, high = min(known), max(known)
    if high == low:
        return [0.0 if value is None else most for value in values]
    width = high - low
    return [0.0 if value is None else most * (0.001 + 0.999 * (value - low) / width) for value in values]


def words_leg(question: str, pool: Pool, weights: Weights) -> Component:
    """Score the candidates by BM25, 0..`weights.words`.

    What is in another script than the question can have no words of it: if the embedder compares languages, a cosine
    above `weights.unrelated` counts for both legs.
    """
    said = minmax([c.words for c in pool.items], weights.words)
    if not weights.across:
        return said
    near, script = minmax([c.cosine for c in pool.items], weights.words), script_of(question)
    return [
        max(one, other)
        if (c.cosine or 0.0) > weights.unrelated and _script(c.passage.text[:BEGINNING]) != script
        else one
        for one, other, c in zip(said, near, pool.items, strict=True)
    ]


def vector_leg(pool: Pool, weights: Weights, waiting: bool) -> Component:
    """Score the candidates by cosine, 0..`weights.vector`.

    While some passages wait for their vectors, the words of one without a cosine count for both legs.
    """
    near = minmax([c.cosine for c in pool.items], weights.vector)
    if waiting:
        said = minmax([c.words for c in pool.items], weights.vector)
        near = [w if c.cosine is None else v for c, v, w in zip(pool.items, near, said, strict=True)]
    return near


# --- who is asked about --------------------------------------------------------------------------

_FIRST_PERSON = frozenset({"i", "my", "me", "mine"})
_FIRST_PERSON_ZH = "我咱"


def asked_person(question: str, speakers: frozenset[str]) -> frozenset[str]:
    """Return the speakers whose names are whole words of the question, and `user` if it says I, 我 or 咱."""
    lowered = question.lower()
    named = {name for name in speakers if name and _named(name, lowered)}
    if not _FIRST_PERSON.isdisjoint(words_as_written(question)) or any(i in question for i in _FIRST_PERSON_ZH):
        named.add("user")
    return frozenset(named)


def _named(name: str, lowered: str) -> bool:
    name = name.lower()
    return any(_stands_in(part, lowered) for part in name.split()) if name.isascii() else name in lowered


def _stands_in(name: str, text: str) -> bool:
    """Return whether the text has the name, if it is in ASCII as a word; Chinese may stand right beside it."""
    if name not in text or not name.isascii():
        return name in text

    def is_letter(character: str) -> bool:  # of a script that puts spaces between words
        return character.isalnum() and character < "\u2e80"

    return any(
        # a word goes on over an apostrophe, too: what's names no S
        not (is_letter(before[-1:]) or (before[-1:] in "'’" and is_letter(before[-2:-1]))) and not is_letter(after[:1])
        for before, after in pairwise(text.split(name))
    )


def speaker(question: str, pool: Pool, weights: Weights) -> Component:
    """Add a bonus for what the person said whom the question names; half for what else may be about that person.

    A book is about its user: an entry that rests on no turn counts as said by the user, any other entry, note or
    document as what may be about the user, unless it rests on a turn in the pool that another said, or of an imported
    talk. Who only asks says nothing of anybody.
    """
    asked = asked_person(question, frozenset([p.speaker for p in pool.passages]))
    if not asked:
        return [0.0] * len(pool.items)
    turns = {(p.session, p.turn): p for p in pool.passages if p.source == "turn"}
    of_user = "user" in asked

    def share(passage: Passage) -> float:
        if passage.asks == 2:
            return 0.0
        said = passage if passage.source == "turn" else turns.get((passage.session, passage.turn))
        if said is not None:
            return float(said.speaker in asked or (of_user and said.role == "user"))
        if passage.source == "summary":
            return 0.0
        if of_user and passage.entry and not passage.turn:
            return 1.0
        may_be = of_user and not (passage.turn and passage.trust == "import")
        return SECOND_HAND * (may_be or any(_stands_in(name, passage.text) for name in asked))

    return [weights.speaker * share(passage) for passage in pool.passages]


# --- what stands around it -----------------------------------------------------------------------


def answer(base: Component, pool: Pool, weights: Weights) -> Component:
    """Let a turn after a question inherit its legs: an answer seldom repeats the question's words."""
    inherited = [0.0] * len(base)
    for talk in pool.talks.values():
        for position, number in talk.items() if len(talk) > 1 else ():
            before = talk.get(position - 1)
            if before is not None and pool.passages[before].asks:
                inherited[number] = weights.answer * base[before]
    return inherited


def neighbour(base: Component, pool: Pool, weights: Weights) -> Component:
    """Give each turn a share of the turns before and after it: they are often about the same."""
    smoothed = [0.0] * len(base)
    for talk in pool.talks.values():
        if len(talk) > 1:
            turns = sorted(talk.items())
            for distance, share in REACH.items():
                worth = weights.neighbour * share
                for position, number in turns:
                    after = talk.get(position + distance)
                    if after is not None:
                        smoothed[number] += worth * base[after]
                        smoothed[after] += worth * base[number]
    return smoothed


def session(base: Component, pool: Pool, weights: Weights) -> Component:
    """Add a share of the best other matches of the same session or document.

    Turns next to each other do not count: what they share is the neighbour's part.
    """
    groups: dict[str, list[int]] = {}
    for number, passage in enumerate(pool.passages):
        groups.setdefault(passage.session or passage.path, []).append(number)
    # what is no turn stands far from everything but itself
    place = [p.position if p.source == "turn" else -3 * number for number, p in enumerate(pool.passages, 1)]
    shared = [0.0] * len(base)
    for members in groups.values():
        if len(members) > 1:
            best = [n for n in members if base[n] and pool.passages[n].source != "summary"]  # it repeats turns
            best.sort(key=base.__getitem__, reverse=True)
            near = [(base[n], place[n]) for n in best[: COMPANY + 3]]
            for number in members:
                at = place[number]
                others = [value for value, where in near if not -2 < where - at < 2]
                shared[number] = weights.session * sum(others[:COMPANY]) / COMPANY
    return shared


# --- what it is ----------------------------------------------------------------------------------


def asking(pool: Pool, weights: Weights) -> Component:
    """Discount turns that only ask: they have the words, and seldom the answer."""
    return [-weights.asking if p.asks else 0.0 for p in pool.passages]


def summary(pool: Pool, weights: Weights) -> Component:
    """Discount summaries, which repeat their turns."""
    return [-weights.summary if p.source == "summary" else 0.0 for p in pool.passages]


def moment(pool: Pool, ranked: Sequence[int], weights: Weights) -> Component:
    """Add a bonus to the best candidates that name a time; of use only if the question asks for one."""
    worth = [0.0] * len(pool.items)
    for number in ranked[:TIMED]:
        if says_when(pool.passages[number].text):
            worth[number] = weights.moment
    return worth


def coverage(pool: Pool, idf: Mapping[str, float], weights: Weights) -> Component:
    """Score the share of the question's words that a passage has, by idf, each counted once."""
    most, held, total = weights.coverage, Sums(idf.values()), sum(idf.values()) or 1.0
    return [most * held[c.holds] / total for c in pool.items]


def recency(pool: Pool, weights: Weights) -> Component:
    """Add a bounded bonus for newer passages; half of it for what people said to each other."""
    days = [_ordinal[p.date] for p in pool.passages]
    known = {day for day in days if day is not None}
    if len(known) < 2:
        return [0.0] * len(days)
    most, oldest, span = weights.recency, min(known), max(known) - min(known)
    bonus = [0.0 if day is None else most * (day - oldest) / span for day in days]
    return [
        TALK * value if p.source == "turn" and p.speaker not in ("", p.role) else value  # somebody with a name said it
        for value, p in zip(bonus, pool.passages, strict=True)
    ]


def dated(question: str, pool: Pool, weights: Weights, today: date | None) -> Component:
    """Add a bonus for what is dated within, or soon after, the days that the question names."""
    if not may_name_days(question):
        return [0.0] * len(pool.items)
    from memorybook.text.days import closeness, spans

    days = [_ordinal[p.date] for p in pool.passages]
    years = {date.fromordinal(day).year for day in days if day is not None}
    wanted = spans(question, years, today)
    return [weights.dated * closeness(day, wanted) if day is not None and wanted else 0.0 for day in days]


def _day(day: str | None) -> int | None:
    """Return a day as a number; None for what is no day, as an index may hold what the calendar does not have."""
    try:
        return date.fromisoformat(day).toordinal() if day else None
    except ValueError:
        return None


_ordinal = Memo(_day, 4096)

# --- relevance --------------------------------------------------------------------------------------

LONG_QUESTION = 20.0
"""Sum of idf from which a question counts as long: about three rare words."""

SPACELESS = 1.4
"""Gain of the share for a question in a script without spaces: pairs that straddle two words match nothing."""

_OF_TALK = frozenset(
    "talk discuss chat speak spoke spoken ask recal hear heard know knew known"
    " 聊过 谈过 讨论 聊天 聊到 谈到 说到 讲过 问过".split()
)
"""Tokens that ask whether something was said: "did we ever talk about egrets" asks for egrets alone."""


class Sums(dict[int, float]):
    """From `Candidate.holds` to the sum of what its words give, in the order of the question's words.

    >>> Sums([5.0, 2.0, 1.0])[0b101]
    6.0
    """

    def __init__(self, gains: Iterable[float]) -> None:
        super().__init__({0: 0.0})
        self._gains = list(gains)

    def __missing__(self, holds: int) -> float:
        lacking = []
        while holds not in self:
            lacking.append(holds)
            holds ^= 1 << holds.bit_length() - 1
        found = self[holds]
        for holds in reversed(lacking):
            self[holds] = found = found + self._gains[holds.bit_length() - 1]
        return found


def relevance(idf: Mapping[str, float], weights: Weights) -> Callable[[Candidate], float]:
    """Return a judge of candidates, before any fusion, age or score.

    It answers 0..1: the larger of the calibrated cosine and the idf share of the question's words that the
    passage holds. The share is of the sum of the question's idf, t; of a long question (t over `LONG_QUESTION`,
    T) it is of the geometric mean of t and T, since nothing that answers three sentences repeats them all.
    Single Chinese characters, and pairs with a function character in them, count only in a question that
    has nothing else, and so do words for talking itself. Words that stand nowhere in the book have the highest
    idf and so weigh against a match on the others.
    """
    asked = {word: weight for word, weight in idf.items() if is_telling(word)} or idf
    asked = {word: weight for word, weight in asked.items() if word not in _OF_TALK} or asked
    total = sum(asked.values())
    whole = total if total <= LONG_QUESTION else sqrt(total * LONG_QUESTION)
    if 2 * sum(not word.isascii() for word in asked) > len(asked):
        whole /= SPACELESS
    held = Sums(asked.get(word, 0.0) for word in idf)

    def judge(candidate: Candidate) -> float:
        cosine = 0.0
        if candidate.cosine is not None and weights.vector:
            cosine = (candidate.cosine - weights.unrelated) / (ABOUT * (1.0 - weights.unrelated))
        share = held[candidate.holds] / whole if whole else 0.0
        return min(1.0, max(0.0, cosine, share))

    return judge


# --- what changed stands before what it changed -------------------------------------------------

READ = 30
"""How many of the best candidates are compared with each other."""

ON_ONE_POINT = 2.0
"""Sum of log(1 + `READ` / n) over the words that two texts have in common beside the question's, n being how many of
the best have the word, from which both are on one point: one word that at most four have, or two that more have. A pair
of Chinese characters counts half: two texts on one point have several."""

LEAST = 0.3
"""Share of the score of the older that the newer has at least: what has nothing to do with the question stays below."""

_MARKS = str.maketrans("?.,:;!()", " " * 8)

LONGEST = 240
"""Characters of a text that are compared."""

_CHANGE = frozenset(
    "now nowaday anymor instead actual decid final switch move chang replac swap push postpon cancel drop upgrad becom"
    " becam".split()
)
_CHANGE_PHRASES = (
    " no longer ",
    " any more ",
    " no more ",
    " these days ",
    " after all ",
    " in the end ",
    " turns out ",
    " as of ",
    " from next ",
    " goes up ",
    " goes down ",
    " went up ",
    " went down ",
    " go up ",
    " go down ",
    " going up ",
    " going down ",
    " back to ",
)
_CHANGE_ZH = "改 换 转 不再 现在 如今 变成 变了 取消 定了 定在 定下 最后 最终 终于 涨 降 推迟 提前 以后 不是".split()


def newer_first(
    pool: Pool, ranked: Sequence[int], scores: Sequence[float], idf: Mapping[str, float]
) -> tuple[list[int], Component]:
    """Rank what says that something changed before what was said of it until then.

    The newer comes right before the older if both are what one person said, or was written down, on different days,
    they are on one point, and the newer speaks of a change. Turns of which it is not known that the user said them
    stay where they are: what two people say of one thing is no change.

    Args:
        pool: The candidates.
        ranked: Their numbers, best first.
        scores: Of all candidates, by number.
        idf: See `Candidates.idf`.

    Returns:
        The numbers, best first, and what each gained: the newer has the score of the older then.
    """
    gained = [0.0] * len(scores)
    users = {(p.session, p.turn) for p in pool.passages if p.role == "user"}
    best = [number for number in ranked[:READ] if _is_told(pool.passages[number], users)]
    if len({pool.passages[number].date for number in best}) < 2:
        return list(ranked), gained
    changes = {number for number in best if speaks_of_change(pool.passages[number].text)}
    if not changes:
        return list(ranked), gained
    words = {number: _words(pool.passages[number].text) for number in best}
    said = frozenset(chain.from_iterable(words[number] for number in changes))
    words = {number: held & said for number, held in words.items()}
    common = Counter(chain.from_iterable(words.values()))
    worth = {
        word: log(1 + READ / n) * (1.0 if word.isascii() else 0.5)
        for word, n in common.items()
        if n > 1 and word not in idf and _tells(word)
    }
    rare = {number: held & worth.keys() for number, held in words.items()}
    order: list[int] = []
    for number in ranked[:READ]:
        at = len(order)
        if number in changes and rare[number]:
            newer = pool.passages[number]
            at = next(
                (
                    place
                    for place, older in enumerate(order)
                    if not rare[number].isdisjoint(rare.get(older, ()))
                    and _is_later(newer, pool.passages[older])
                    and scores[number] >= LEAST * scores[older]
                    and sum(worth[word] for word in rare[number] & rare[older]) >= ON_ONE_POINT
                ),
                at,
            )
        if at < len(order):
            gained[number] = max(0.0, scores[order[at]] + gained[order[at]] - scores[number])
        order.insert(at, number)
    return [*order, *ranked[READ:]], gained


def speaks_of_change(text: str) -> bool:
    """Return whether a text, English or Chinese, has a word for a change, its outcome, or the present state.

    >>> [speaks_of_change(text) for text in ("The rent went up.", "I've switched to decaf.", "The rent is high.")]
    [True, True, False]
    >>> [speaks_of_change(text) for text in ("瑜伽课改到周五了", "瑜伽课在周三")]
    [True, False]
    """
    if _is_spaceless(text):
        return any(word in text for word in _CHANGE_ZH)
    if not _CHANGE.isdisjoint(tokens(text)):
        return True
    spaced = f" {' '.join(text.lower().replace(',', ' ').replace('.', ' ').split())} "
    return any(phrase in spaced for phrase in _CHANGE_PHRASES)


def _is_told(passage: Passage, users: AbstractSet[tuple[str | None, str | None]]) -> bool:
    """Return whether a passage is dated, and the user's word or written down; a question states nothing."""
    if not passage.date or passage.asks == 2:
        return False
    if passage.source == "turn" or (passage.turn and passage.trust == "import"):
        return (passage.session, passage.turn) in users
    return passage.source in ("entry", "note")


def _is_later(passage: Passage, than: Passage) -> bool:
    """Return whether a passage is from a later day and not known to be somebody else's word."""
    if (passage.date or "") <= (than.date or ""):
        return False
    return passage.speaker == than.speaker or "turn" not in (passage.source, than.source) or not than.speaker


def _words(text: str) -> AbstractSet[str]:
    """Return the words a text begins with; of a Chinese one pairs of characters, and Latin words as written."""
    if not _is_spaceless(text):
        return frozenset(tokens(text[:LONGEST]))
    text = text[:LONGEST]
    latin = text.encode("ascii", "replace").decode("ascii").lower().translate(_MARKS).split()
    return frozenset(chain(map(add, text, text[1:]), latin))


def _is_spaceless(text: str) -> bool:
    """Return whether a text has Chinese, or another script without spaces."""
    return not text.isascii() and max(text) >= "\u2e80"


def _tells(word: str) -> bool:
    if word.isascii():
        return len(word) > 2 and not is_stop_word(word)
    return len(word) == 2 and min(word) >= "\u2e80" and word.isalpha() and is_telling(word)
