"""Whether two texts make the same statement: how near they are, and what may not differ between them.

Nearness alone takes "likes tea" for "dislikes tea", "before" for "after", dark mode for light mode; so whatever is near
is also compared by its numbers, dates, days, names, denials and opposites, by the order of what it sets against each
other, and by the one word in which two like sentences differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache, partial
from heapq import nsmallest
from itertools import takewhile

from memorybook.entries.combine import missing
from memorybook.model import Entry
from memorybook.text.days.readers import named
from memorybook.text.numbers import figures
from memorybook.text.sentences import compiled
from memorybook.text.tokens import is_telling, query_words, tokens

SAME = 0.95
"""Cosine from which two texts are the same statement, if nothing differs."""

SAME_WORDS = 0.75
"""Share of common words from which they are, if the new one has no word that the known one lacks."""

REPEATED = 0.85
"""Cosine from which, with nothing differing, one text repeats another, where no model is there to judge."""

REPEATED_WORDS = 0.6
"""The same, as a share of common words."""

RELATED = 0.55
"""Likeness from which a model is asked about two texts, and from which they are linked."""

MOST_NEAR = 8
"""Neighbours of one text."""


def same_statement(new: str, known: str, cosine: float | None) -> bool:
    """Whether a new text says what a known one says, and nothing more.

    By cosine at least 0.95, or by their words: at least 0.75 of all words common, and none of the new text's missing
    in the known one. In both cases nothing may differ, see `differs`.
    """
    by_words = overlap(new, known) >= SAME_WORDS and words(new) <= words(known)
    return (by_words or (cosine is not None and cosine >= SAME)) and differs(new, known) is None


def same_fact(new: str, known: str) -> bool:
    """Whether two texts give the same thing the same value, in whatever words, and nothing differs, see `differs`.

    >>> same_fact("Rex is the user's dog.", "The user has a dog called Rex.")
    True
    """
    core = _core(new)
    return len(core) > 1 and core == _core(known) and differs(new, known) is None


@lru_cache(maxsize=20_000)
def _core(text: str) -> frozenset[str]:
    """The words of a text that name its subject and its value; numbers count by what they mean."""
    for one in sorted(figures(text), key=lambda one: -one.start):
        text = text[: one.start] + " " + text[one.end :]
    return words(text) - _PLAIN


_PLAIN = frozenset(
    "name happen occur trigger caus becom year old day time better go goe take place there take alway whose call"
    " 有 养 只 史 间 今 年 岁 名 叫 此 另 件 位 条".split()
)
"""Words by which the same is said in another way."""


def likeness(one: str, other: str, cosine: float | None) -> float:
    """How much two texts have to do with each other, 0..1: their cosine, or the share of the shorter one's words."""
    first, second = words(one), words(other)
    size = min(len(first), len(second))
    return max(cosine or 0.0, len(first & second) / size if size > 1 else 0.0)


def overlap(one: str, other: str) -> float:
    """Common words by all words (Jaccard), 0..1; see `words`."""
    first, second = words(one), words(other)
    return len(first & second) / (len(first | second) or 1)


@lru_cache(maxsize=20_000)
def words(text: str) -> frozenset[str]:
    """What a text is made of, for comparing wordings: its telling words, Chinese ones by character.

    Words that stand for each other are one (likes, enjoys; 喜欢, 爱), words that only fill are left out (really, 一律).
    """
    return frozenset(sequence(text))


@lru_cache(maxsize=20_000)
def sequence(text: str) -> tuple[str, ...]:
    """The words of `words`, in order, with repetition."""
    return tuple(word for word in _units(folded(text)) if word not in FILLING)


def folded(text: str) -> str:
    """A text in which words that stand for each other are one."""
    for pattern, standing in _STANDING:
        text = compiled(pattern).sub(standing, text)
    return text


def _units(text: str) -> list[str]:
    """Words and Chinese characters, as they come; identifiers whole."""
    found = compiled("[\u3400-\u9fff]|[^\\W_\u3400-\u9fff]+(?:[-_./:@'’][^\\W_\u3400-\u9fff]+)*").findall(text)
    units: list[str] = []
    for one in found:
        units += [one] if one > "\u3400" else query_words(compiled("['’](?:m|s|re|ve|ll|d)$").sub("", one))[:1]
    return units


_STANDING: tuple[tuple[str, str], ...] = tuple(
    (rf"(?i)\b(?:{english})\b|{chinese}" if english and chinese else rf"(?i)\b(?:{english})\b" if english else chinese,
     f" {word} ")
    for word, english, chinese in (
        ("prefer", "prefers?|would rather(?: have| use)?|favou?rs?|preference|likes?(?=[^.]{1,40} better than)",
         "更喜欢|偏好|偏爱|更爱|宁愿"),
        ("like", "likes?|loves?|enjoys?|(?:is|are|am) (?:fond of|keen on)", "喜欢|喜爱|热爱|爱(?=[吃喝看玩用听])"),
        ("dislike", "dislikes?|hates?|(?:can't|cannot) stand|detests?", "讨厌|厌恶|反感"),
        ("work", "works? (?:at|for)|(?:is|are|am) employed (?:at|by)|has a job at", "上班|任职|就职|工作"),
        ("live", "lives?|resides?|(?:is|are) based in|home is in", "居住|住在|家在|定居|现居|住"),
        ("name", "(?:is |are )?(?:called|named)|names?", "名字是|名字叫|名叫|叫做?|名为"),
        ("allergic", "allerg(?:ic|y|ies)(?: to)?", "过敏"),
        ("child", "kids?|child(?:ren)?", "孩子|小孩|娃"),
        ("trip", "trips?|journeys?|travel(?:s|l?ing|l?ed)?", "旅行|旅游|出游"),
        ("daughter", "daughters?", "女儿|闺女"),
        ("mother", "mothers?|mums?|moms?|mam", "母亲|妈妈|老妈|妈"),
        ("father", "fathers?|dads?|daddy", "父亲|爸爸|老爸|爸|爹"),
        ("reply", "answers?|repl(?:y|ies)|respon(?:ds?|ses?)", "回答|答复|回复"),
        ("conclusion", "conclusions?|bottom line", "结论"),
        ("begin", "starts?|begins?", "开始"),
        ("weekly", "every|each", "每个?"),
        ("use", "uses?|using", "使用|采用|用(?!户)"),
        ("week", "", "星期|礼拜|周"),
        ("evening", "evenings?|nights?", "晚上|夜里|晚间|夜晚|晚"),
        ("morning", "mornings?", "早上|上午|早晨|清晨"),
        ("must", "must|have to|has to|needs? to|should", "必须|应该|需要|要|得(?=[先用写])"),
        ("don't", "", "不要|不许|不得|不用|不能|不可|别(?=[再给用把让在叫说写])|禁止|勿"),
    )
)  # fmt: skip
"""Words that stand for each other."""

FILLING = frozenset(
    "the a an is are was were be been am do doe did has have had will would can could to of in on at for with and or it"
    " its that this these those there so as by from than then user i my me we our you your he him his she her they"
    " their them realli veri quit truli just also still alway usual general normal current now right pleas kind actual"
    " definit absolut simpli lot much must when about what who which how where"
    " 的 了 是 在 我 你 您 他 她 它 们 用 户 吗 呢 吧 啊 呀 也 都 就 还 很 把 被 对 地 得 着 过 之 其 而 但 且 若 请"
    " 一 个 些 时 候 候 律 直 目 前 现 以 后 往 去 来 会 能 所 有 人 说 讲 麻 烦 平 通 常 均".split()
)
"""Words that say nothing about what is stated."""


# --- telling words ---------------------------------------------------------------------------------

Unit = tuple[str, ...]
"""A telling word: the forms of which one must be said, of a Chinese character the pairs that it stands in."""


def units(text: str) -> list[Unit]:
    """The telling words of a text, without its days and numbers, which are looked for by what they mean."""
    dates = [(one.start, one.end) for one in named(text)] + [(one.start, one.end) for one in figures(text)]
    for start, end in dates:
        text = text[:start] + " " * (end - start) + text[end:]
    found: dict[Unit, None] = {}
    text = folded(text)
    found.update(dict.fromkeys((word,) for word in sequence(compiled("[\u3400-\u9fff]").sub(" ", text))))
    for run in compiled("[\u3400-\u9fff]+").findall(text):
        pairs = tokens(run)  # each character, and between two of them the pair that they make
        last = len(pairs) - 1
        for place in range(0, len(pairs), 2):
            if pairs[place] not in FILLING and pairs[place] not in _GLUE:
                found[tuple(dict.fromkeys((pairs[max(0, place - 1)], pairs[min(place + 1, last)])))] = None
    return [unit for unit in found if unit[0] not in _GLUE]


_GLUE = frozenset(
    "sinc becaus instead still want need onli again ani becom no not never don't talk discuss ask mention tell told say"
    " said speak spoke chat convers assist decid agre about"
    " 起 由 因 为 仍 改 已 从 到 和 与 并 等 再 不 没 别 无 截 至 于 谈 聊 讨 论 提 问 助".split()
)
"""What holds a statement together and hardly ever was said so."""


def forms(text: str) -> frozenset[str]:
    """All forms of the words of a text."""
    return frozenset((*tokens(text), *tokens(folded(text)), *sequence(text)))


def is_held(unit: Unit, heard: frozenset[str]) -> bool:
    """Whether a word was said, or one that begins alike: goal, goalkeeper."""
    if any(form in heard for form in unit):
        return True
    word = unit[0]
    return len(word) > 3 and word.isascii() and any(map(partial(_begins_alike, word), heard))


def _begins_alike(one: str, other: str) -> bool:
    return len(other) > 3 and (one.startswith(other) or other.startswith(one))


# --- what may not differ -------------------------------------------------------------------------


def differs(one: str, other: str) -> str | None:
    """What sets two texts apart however near they are, such as `the number '300'`; None if nothing is seen."""
    lost = missing([one], other) or missing([other], one)
    if lost:
        return lost[0]
    return turned(one, other)


def speaker_of(text: str) -> str:
    """Whose words a text gives, where it says so in front (`Ann: I prefer tea`); "" if it does not, or for a user."""
    found = compiled(r"([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?|[\u3400-\u9fff]{2,6})[:：](?!//)").match(text)
    return found[1] if found is not None and found[1] not in ("User", "用户") else ""


def turned(one: str, other: str) -> str | None:
    """Why one text may say the contrary of the other: a denial, an opposite, another order; None if nothing is seen."""
    if speaker_of(one) != speaker_of(other) and speaker_of(one) and speaker_of(other):
        return "the speaker"
    if denies(one) != denies(other):
        return "a denial"
    for pair in _OPPOSITES:
        sides = tuple(tuple(compiled(side).search(text) is not None for side in pair) for text in (one, other))
        if sides in (((True, False), (False, True)), ((False, True), (True, False))):
            return "an opposite"
    return "the order" if _reordered(one, other) else _exchanged(one, other)


def _exchanged(one: str, other: str) -> str | None:
    """The word that stands in the place of another in two sentences which are the same but for that; None if none."""
    first, second = sequence(one), sequence(other)
    before = _agreeing(first, second)
    first, second = first[before:], second[before:]
    after = _agreeing(first[::-1], second[::-1])
    first, second = first[: len(first) - after], second[: len(second) - after]
    if not first or not second or before + after == 0 or not set(first).isdisjoint(second):
        return None
    return f"the word {' '.join(first)!r}"


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """How many words two texts have in common before the first in which they differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


_DENIALS = (
    r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|nobody|nothing|stopped|stops|quit|avoids?)\b|n['’]t\b"
    r"|不(?![错同过仅但管论少断久]|得不|可或缺|止)|(?<![淹沉])没(?![收])|别(?=[再给用把让在叫说]|的?[去做写])"
    r"|无(?!论|线|锡)|未(?![来])|勿|拒绝|禁止|戒|避开|否(?!则)"
)


def denies(text: str) -> bool:
    """Whether a text denies or forbids something."""
    return compiled(_DENIALS).search(text) is not None


_OPPOSITES = tuple(
    (rf"(?i)\b(?:{first})\b|{_first}", rf"(?i)\b(?:{second})\b|{_second}")
    for first, _first, second, _second in (
        ("likes?|loves?|enjoys?", "喜欢|爱(?=[吃喝看玩用])", "hates?|dislikes?", "讨厌|厌恶|反感"),
        ("before", "之前|[前](?=[做用发上])", "after", "之后|[后](?=[做用发上])"),
        ("always", "总是|一律|都要", "never|rarely|seldom", "从不|很少"),
        ("enabled?s?|turn(?:ed|s)? on", "开启|启用|打开", "disabled?s?|turn(?:ed|s)? off", "关闭|停用|禁用"),
        ("added|adds?", "添加|新增|加上", "removed?s?|dropped|drops?|deleted?s?", "删除|去掉|移除"),
        ("starts?|started|begins?|began", "开始", "stops?|stopped|ends?|ended", "停止|结束"),
        (r"a\.?m|mornings?", "早上|上午|早晨", r"p\.?m|evenings?|nights?|afternoons?", "晚上?|下午|夜里"),
        (r"increas\w+|rais\w+|up", "增加|提高|上调", r"decreas\w+|reduc\w+|lower\w*|down", "减少|降低|下调"),
        ("bought|buys?", "买", "sold|sells?", "卖"),
        (
            "husband|father|brother|son|he|his",
            "丈夫|父亲|爸|儿子",
            "wife|mother|sister|daughter|she|her",
            "妻|母|妈|女儿",
        ),
        ("left", "左", "right", "右"),
        ("public", "公开", "private", "私有|保密"),
        (r"allow\w*|permit\w*", "(?<!不)允许", r"forbid\w*|block\w*|den(?:y|ies|ied)", "禁止|不允许"),
    )
)
"""Words of which one text must not have the first where the other has the second."""

_SETTING_APART = (
    r"(?i)\b(?:over|prefers?|than|instead|rather|not|before|after|from|into|beats?|replac\w+|follow\w*|reports? to"
    r"|owes?)\b"
    r"|n['’]t\b|而不是|不是|不用|不要|不如|比|胜过|超过|代替|替代|换成|改成|换到|改用|从|先|之前|之后|欠|给"
)


def _reordered(one: str, other: str) -> bool:
    """Whether a text sets things against each other that come in another order in the other text."""
    if compiled(_SETTING_APART).search(one) is None and compiled(_SETTING_APART).search(other) is None:
        return False
    shared = words(one) & words(other)
    return _places(one, shared) != _places(other, shared)


def _places(text: str, shared: frozenset[str]) -> list[str]:
    """Those of its words, in the order in which they come first."""
    return [word for word in dict.fromkeys(sequence(text)) if word in shared]


# --- neighbours by words -------------------------------------------------------------------------


def arrivals(entries: dict[str, Entry]) -> Callable[[], Iterable[Entry]]:
    """Tells of the entries of a mapping, each time of those that were put in since the last; costs what these are."""
    seen: set[str] = set()

    def arrived() -> Iterable[Entry]:
        new = list(takewhile(lambda id: id not in seen, reversed(entries)))[::-1]
        seen.update(new)
        return [entries[id] for id in new]

    return arrived


def by_words(entries: dict[str, Entry], *, most: int = MOST_NEAR) -> Callable[[str], Sequence[Entry]]:
    """Neighbours from words alone: what shares most words, rare ones first; new entries may be put in meanwhile.

    It costs the same however many there are: of a word that many have, only the last that have it count.
    """
    having: dict[str, list[str]] = {}
    arrived = arrivals(entries)

    def neighbours(text: str) -> Sequence[Entry]:
        for one in arrived():
            for word in _telling(one.text):
                having.setdefault(word, []).append(one.id)
        shared: dict[str, float] = {}
        for word in _telling(text):
            ids = having.get(word, ())
            for id in ids[-_MOST_HAVING:]:
                shared[id] = shared.get(id, 0.0) + 1.0 + 1.0 / len(ids)
        best = nsmallest(most, (id for id in shared if id in entries), key=lambda id: (-shared[id], id))
        return [entries[id] for id in best]

    return neighbours


_MOST_HAVING = 64
"""Entries that one word leads to."""


@lru_cache(maxsize=20_000)
def _telling(text: str) -> frozenset[str]:
    """What neighbours are found by: words, pairs of characters, and what stands for either in the other language."""
    return frozenset(filter(is_telling, query_words(text))) | {one for one in words(text) if one.isascii()}
