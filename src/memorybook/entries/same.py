"""Compare two texts: similarity, what may not differ in one statement, what one lacks of the other.

Nearness alone takes "likes tea" for "dislikes tea", "before" for "after", dark mode for light mode; so near texts are
also compared by numbers, dates, weekdays, names, denials and opposites, by the order of what they set against each
other, and by the one word in which two like sentences differ.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import takewhile
from unicodedata import normalize

from memorybook.entries.read_reply import Candidate
from memorybook.model import TRUST_ORDER, Entry, Trust
from memorybook.text.days import named
from memorybook.text.sentences import compiled
from memorybook.text.tokens import correction, figures, is_chinese, is_telling, query_words, tokens

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
    """Return whether a new text says what a known one says, and nothing more.

    That needs a cosine of 0.95, or 0.75 of all words in common and every word of the new text in the known one. In
    both cases nothing may differ, see `differs`.
    """
    by_words = overlap(new, known) >= SAME_WORDS and words(new) <= words(known)
    return (by_words or (cosine is not None and cosine >= SAME)) and differs(new, known) is None


def same_fact(new: str, known: str) -> bool:
    """Return whether two texts make the same statement with different filler words, and nothing `differs`.

    >>> same_fact("Rex is the user's dog.", "The user has a dog called Rex.")
    True
    """
    core = _core(new)
    return len(core) > 1 and core == _core(known) and differs(new, known) is None


@lru_cache(maxsize=20_000)
def _core(text: str) -> frozenset[str]:
    """Return the words of a text that name its subject and its value, without numbers."""
    for one in sorted(figures(text), key=lambda one: -one.start):
        text = text[: one.start] + " " + text[one.end :]
    return words(text) - _PLAIN


_PLAIN = frozenset(
    "name happen occur trigger caus becom year old day time better go goe take place there take alway whose call"
    " 有 养 只 史 间 今 年 岁 名 叫 此 另 件 位 条".split()
)
"""Words by which the same is said in another way."""


def likeness(one: str, other: str, cosine: float | None) -> float:
    """Return how much two texts have in common, 0..1: their cosine, or the share of the shorter one's words."""
    first, second = words(one), words(other)
    size = min(len(first), len(second))
    return max(cosine or 0.0, len(first & second) / size if size > 1 else 0.0)


def overlap(one: str, other: str) -> float:
    """Return common words by all words (Jaccard), 0..1; see `words`."""
    first, second = words(one), words(other)
    return len(first & second) / (len(first | second) or 1)


@lru_cache(maxsize=20_000)
def words(text: str) -> frozenset[str]:
    """Return the telling words of a text, for comparing wordings; Chinese ones by character.

    Words that stand for each other are one (likes, enjoys; 喜欢, 爱), words that only fill are left out (really, 一律).
    """
    return frozenset(sequence(text))


@lru_cache(maxsize=20_000)
def sequence(text: str) -> tuple[str, ...]:
    """Return the words of `words`, in order, with repetition."""
    return _stated(folded(text))


def _stated(text: str) -> tuple[str, ...]:
    return tuple(word for word in _units(text) if word not in FILLING)


def folded(text: str) -> str:
    """Replace words that stand for each other by one of them."""
    for pattern, standing in _STANDING:
        text = compiled(pattern).sub(standing, text)
    return text


def _units(text: str) -> list[str]:
    """Split a text into words and Chinese characters; identifiers stay whole."""
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
        ("work", "works? (?:at|for)|(?:is|are|am) employed (?:at|by)|has a job at", "上班|[任就]职于?|工作"),
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
    """Return the telling words of a text, without its days and numbers."""
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
"""Function words, which seldom recur verbatim."""


def forms(text: str) -> frozenset[str]:
    """Return all forms of the words of a text."""
    standing = folded(text)
    return frozenset((*tokens(text), *tokens(standing), *_stated(standing)))


def is_said(unit: Unit, heard: frozenset[str]) -> bool:
    """Return whether a word was said, or a word of which one begins with the other: goal, goalkeeper."""
    word = unit[0]
    return any(form in heard for form in unit) or (
        len(word) > 3
        and word.isascii()
        and any(len(form) > 3 and (word.startswith(form) or form.startswith(word)) for form in heard)
    )


# --- what may not differ -------------------------------------------------------------------------


def differs(one: str, other: str) -> str | None:
    """Return what sets two texts apart however near they are, such as `the number '300'`; None if nothing does."""
    lost = missing([one], other) or missing([other], one)
    return lost[0] if lost else opposition(one, other)


@lru_cache(maxsize=20_000)
def speaker_of(text: str) -> str:
    """Return whose words a text gives in front (`Ann: I prefer tea`); "" if it does not say, or for a user."""
    text = correction(text) or text
    found = compiled(
        r"([A-Z][\w.'-]{0,30}(?: [A-Z][\w.'-]{0,30})?|[\u3400-\u9fff][\u3400-\u9fff\w]{1,5})[:：](?!//)"
    ).match(text)
    return found[1] if found is not None and found[1] not in ("User", "用户") else ""


def opposition(one: str, other: str) -> str | None:
    """Return why one text may say the contrary of the other: a denial, an opposite, another order; else None."""
    if speaker_of(one) != speaker_of(other) and speaker_of(one) and speaker_of(other):
        return "the speaker"
    if denies(one) != denies(other):
        return "a denial"
    for pair in _OPPOSITES:
        sides = tuple(tuple(compiled(side).search(text) is not None for side in pair) for text in (one, other))
        if sides in (((True, False), (False, True)), ((False, True), (True, False))):
            return "an opposite"
    first, second = sequence(one), sequence(other)
    if any(compiled(_SETTING_APART).search(text) is not None for text in (one, other)):
        shared = {*first} & {*second}
        if [*filter(shared.__contains__, dict.fromkeys(first))] != [
            *filter(shared.__contains__, dict.fromkeys(second))
        ]:
            return "the order"
    before = _agreeing(first, second)
    first, second = first[before:], second[before:]
    after = _agreeing(first[::-1], second[::-1])
    first, second = first[: len(first) - after], second[: len(second) - after]
    if not first or not second or before + after == 0 or not set(first).isdisjoint(second):
        return None
    return f"the word {' '.join(first)!r}"


def _agreeing(one: Sequence[str], other: Sequence[str]) -> int:
    """Count the words two texts have in common before the first in which they differ."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


_DENIALS = (
    r"(?i)\b(?:no|not|never|none|neither|nor|without|cannot|nobody|nothing|stopped|stops|quit|avoids?)\b|n['’]t\b"
    r"|不(?![错同过仅但管论少断久]|得不|可或缺|止)|(?<![淹沉])没(?![收])|别(?=[再给用把让在叫说]|的?[去做写])|无(?!论|线|锡)|未(?![来])|勿|拒绝|禁止|戒|避开|否(?!则)"
)


def denies(text: str) -> bool:
    """Return whether a text denies or forbids something."""
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
"""Pairs of words: one text must not have the first where the other has the second."""

_SETTING_APART = (
    r"(?i)\b(?:over|prefers?|than|instead|rather|not|before|after|from|into|beats?|replac\w+|follow\w*|reports? to"
    r"|owes?)\b|n['’]t\b|而不是|不是|不用|不要|不如|比|胜过|超过|代替|替代|换成|改成|换到|改用|从|先|之前|之后|欠|给"
)


# --- what one text lacks of another ------------------------------------------------------------------

_WEEKDAY = (
    r"(?i)\b(?P<en>mon|tue|wed|thu|fri|sat|sun)(?:s|nes|rs|ur)?(?:day)?s?\b|(?:周|星期|礼拜)(?P<zh>[一二三四五六日天])"
)
_WEEK = {name: place for place, name in enumerate("mon tue wed thu fri sat sun".split())} | {
    name: place for place, name in enumerate("一二三四五六日")
}


def missing(parents: Iterable[Entry | Candidate | str], text: str) -> tuple[str, ...]:
    """List the numbers, dates, weekdays and names of the parents that a text lacks, each as `the number '300'`.

    Empty: the text may stand for all of them. Numbers match in any notation (300, three hundred, 三百), dates by the
    parts they have, names in full or shortened as people do.

    >>> missing(["Ann pays 300 euros", "Ann pays on Friday"], "Ann pays three hundred euros")
    ("the day 'Friday'",)
    """
    found: dict[str, None] = {}
    for parent in parents:
        if isinstance(parent, str):
            found.update(dict.fromkeys(_missing_in(parent, (), text)))
        else:
            said = parent.text if isinstance(parent, Entry) else parent.content
            found.update(dict.fromkeys(_missing_in(said, parent.entities, text)))
    return tuple(found)


def _missing_in(parent: str, entities: Iterable[str], text: str) -> Iterator[str]:
    dates, kept = named(parent), named(text)
    values = {value for one in figures(text) for value in one.values}
    for date in dates:
        wanted = (date.year, date.month, date.day)
        have = any(
            all(part in (None, has) for part, has in zip(wanted, (one.year, one.month, one.day), strict=True))
            for one in kept
        )
        if not have and not (wanted[1:] == (None, None) and float(date.year or 0) in values):
            yield f"the date {parent[date.start : date.end].strip()!r}"
    days = {day for day, _ in weekdays(text)}
    yield from (f"the day {word!r}" for day, word in weekdays(parent) if day not in days)
    for one in figures(parent):
        if one.sure and not one.values & values and not any(date.start <= one.start < date.end for date in dates):
            yield f"the number {one.text!r}"
    bare, spoken, names = squeezed(text), set(tokens(text)), set(names_in(text, ()))
    for name in names_in(parent, entities):
        parts = set(tokens(name))
        if name not in names and not parts <= spoken and (len(parts) < 2 or squeezed(name) not in bare):
            yield f"the name {name!r}"
    other = Said([text], ()).unfounded(parent, ())  # names that open a sentence, and quoted words
    if other is not None:
        yield other


def weekdays(text: str) -> list[tuple[int, str]]:
    """List the days of the week that a text names, Monday as 0, each with its words."""
    found = compiled(_WEEKDAY).finditer(text)
    return [(_WEEK[(one["en"] or one["zh"]).lower().replace("天", "日")], one[0]) for one in found]


def lowest_trust(one: Trust | None, other: Trust | None) -> Trust | None:
    """Return the lower of two trusts; None, a person's own hand, is the highest."""
    known = [trust for trust in (one, other) if trust is not None]
    return min(known, key=TRUST_ORDER.index, default=None)


# --- names ------------------------------------------------------------------------------------------

_OTHER_NAMES = {
    "postgresql": ("postgres", "pg"), "postgres": ("pg",), "kubernetes": ("k8s",), "javascript": ("js",),
    "typescript": ("ts",), "python": ("py",), "github": ("gh",), "macos": ("mac",), "wechat": ("微信",),
    "database": ("db",), "continuous": ("ci",),
}  # fmt: skip
"""Names that people shorten."""

_NO_NAMES = frozenset(
    "i i'm i've i'd i'll ok okay todo user users assistant the a an and but so from by as of on in at to for with"
    " jan feb mar apr may jun jul aug sep sept oct nov dec january february march april june july august september"
    " october november december monday tuesday wednesday thursday friday saturday sunday mon tue wed thu fri sat sun"
    " mondays tuesdays wednesdays thursdays fridays saturdays sundays english chinese am pm ai us".split()
)
_OPENERS = frozenset(
    "besides since until after before while when where although though because if unless once despite during without"
    " within instead rather also now currently recently originally officially initially later then there here both"
    " each every all some most many few several one two three another other others no none not never always usually"
    " this that these those his her their its my our your he she they it we you who what which how why people"
    " someone everyone anything something nothing speaker decided agreed planned according due given regarding about"
    " between through over under around against toward towards across per via only even just still yet today".split()
)


_HAN_NAME = (
    r"(?:^|[，,。；：:、（(）)\s]|[由给让和与跟找叫因定到去交把为女儿妻子同事习生总监测试])"
    "(?!胡萝|姜[丝汤茶]|董事|卢[森卡]|孙[子女]|杜绝|王[牌国]|李子|杨[梅柳])"
    "([老小阿](?![时组区学孩费狗猫票型说吃程店心伙姐朋便提数节写件名路镇村城岛河山鸟鱼鸡羊牛花草树米麦雨雪红师板人婆公家乡虎鼠伴爸妈爷奶外是大年姨])[\u3400-\u9fff]|(?:[王李刘杨赵吴徐孙朱胡郭梁郑韩冯邓曹彭董潘袁蔡蒋杜魏吕沈姚卢姜崔谭廖贾邱侯邹秦阎薛贺黎郝龚邵覃]|欧阳|上官|诸葛|司马)"
    "[\u3400-\u9fff]{1,2}?"
    r"(?=[的在要是会和与、，。（(）)提定从每对把被说订睡喜住转约用去参一前里上就已到买卖做学教养]|负责|评审|维护|\s*\d|$))"
)
"""A Chinese name where one may stand: a surname that begins few other words, and one or two characters."""


class Said:
    """Everything that was said or known, made ready for looking names up in it."""

    def __init__(self, texts: Iterable[str], known: Iterable[Entry]) -> None:
        texts = [*texts, *(text for entry in known for text in (entry.text, *entry.entities, entry.group or ""))]
        self._whole = "\n".join(texts)
        self._words = frozenset(word for text in texts for word in tokens(text))
        self._squeezed = squeezed(self._whole)
        self._initials = " ".join("".join(word[0] for word in re.findall("[a-z]+", text.lower())) for text in texts)

    def names(self, name: str) -> bool:
        """Return whether somebody used this name: as it is, spelled apart, shortened, or most of a Chinese one."""
        bare = squeezed(name)
        short = len(bare) < 4 and bare.isascii()
        if not bare or (name in self._whole if short else bare in self._squeezed):  # Ann is not in planning
            return True
        if name.isascii() and name.isupper() and 2 <= len(name) <= 5 and bare in self._initials:
            return True  # ML, where machine learning was said
        latin = compiled(r"[a-z][a-z0-9+#]*|\d+").findall(fold(name))
        runs = compiled("[\u3400-\u9fff]{2,}").findall(name)
        return all(map(self._has_word, latin)) and all(map(self._has_run, runs))

    def _has_word(self, word: str) -> bool:
        if len(word) == 1 or word in self._words or any(stem in self._words for stem in tokens(word)):
            return True
        if (len(word) >= 4 and word in self._squeezed) or (re.fullmatch(r"v\d+", word) and word[1:] in self._words):
            return True
        if any(other in self._words for other in _OTHER_NAMES.get(word, ())):
            return True
        people = re.fullmatch(r"([a-z]{3})[a-z]*(?:ish|ese|ian|ean|can|man)", word)  # Swedish, where Sweden was said
        return people is not None and any(other.startswith(people[1]) for other in self._words)

    def _has_run(self, run: str) -> bool:
        """Return whether half of a Chinese name's pairs of characters were used, or the first of a long one."""
        pairs = [run[place : place + 2] for place in range(len(run) - 1)]
        if len(run) >= 4 and pairs[0] in self._squeezed:
            return True
        return sum(pair in self._squeezed for pair in pairs) * 2 >= len(pairs)

    def unfounded(self, content: str, entities: Iterable[str]) -> str | None:
        """Return the first name in a text that nobody used; None if there is none."""
        for name in names_in(content, entities):
            if not self.names(name):
                return f"the name {name!r}"
        first = _opening_name(content)
        if first is not None and not self.names(first):
            return f"the name {first!r}"
        for name in compiled(_HAN_NAME).findall(content):
            if not any(name[place : place + 2] in self._squeezed for place in range(len(name) - 1)):
                return f"the name {name!r}"
        for quoted in compiled(r"[「『《“\"]([^「」『』《》“”\"]{2,60})[」』》”\"]").findall(content):
            spoken = query_words(quoted)
            if squeezed(quoted) not in self._squeezed and 2 * sum(map(self._words.__contains__, spoken)) < len(spoken):
                return f"the words {quoted!r}"
        return None


def names_in(content: str, entities: Iterable[str]) -> Iterator[str]:
    """Yield what must be a name: entities in the text, capitalised words, identifiers, who is called what."""
    bare = squeezed(content)
    for entity in entities:
        if squeezed(entity) in bare and compiled("[A-Z0-9\u3400-\u9fff]").search(entity):
            yield entity
    yield from _latin(content)
    yield from compiled(
        "(?:名叫|名字是|名字叫|姓名是|(?<![作当称])叫做?)(?!用户|[我你他她它])((?:(?!的)[\u3400-\u9fff]){2,4})(?=[，。；、,.（(的]|$)"
    ).findall(content)


def _latin(content: str) -> Iterator[str]:
    """Yield capitalised words and identifiers; in English not those that only begin a sentence."""
    chinese = is_chinese(content)
    for found in compiled(r"[A-Za-z][\w'’]*(?:[.+#/@:-]?[\w+#]+)*").finditer(content):
        word = re.sub(r"['’]s?$", "", found[0])
        if word.lower() in _NO_NAMES or len(word) < 2:
            continue
        if compiled("[A-Z]{2,4}").fullmatch(word):
            continue  # NAS, DJ: a common noun more often than a name
        marked = re.search(r"[A-Z].*[A-Z]|\w[\d_./@:]+\w|\d", word) is not None
        if marked or (word[0].isupper() and (chinese or not _begins(content[: found.start()]))):
            yield word


def _begins(before: str) -> bool:
    """Return whether a sentence begins behind this text."""
    said = before.rstrip()
    return said[-1:] in '.!?:;"“' or "\n" in before[len(said) :]


def _opening_name(content: str) -> str | None:
    """Return the first word of an English text if it reads like a name: `Martin moved to …`."""
    found = compiled(r"([A-Z][a-z]{2,})(['’]s)?\s+([a-z]+)").match(content)
    if found is None or found[1].lower() in _OPENERS | _NO_NAMES or compiled(_ENDING).search(found[1]):
        return None
    return found[1] if found[2] or compiled(_VERB).fullmatch(found[3]) else None


_ENDING = r"(?:ing|ly|[ts]ion|ment|ness|ity|[ae]nce|body|one)$"
"""Endings of words that are no names."""


_VERB = (
    r"(?!(?:is|was|has|does|as|its|his|this|us|needed|sometimes|always|across|towards|perhaps|plus|less|unless|versus)$)"
    r"(?:\w\w+(?:s|ed)|lost|went|met|told|said|thought|felt|kept|wrote|ran|took|made|got|quit|left|drove|ate|knew|led|"
    r"taught|brought|bought|held|built|sent)"
)
"""Verbs, by their form, such as a person is the subject of."""


def fold(text: str) -> str:
    """Return the text in NFKC and lower case."""
    return normalize("NFKC", text).lower()


def squeezed(text: str) -> str:
    """Return a text as names are compared: folded, without spaces and marks."""
    return re.sub(r"[\W_]+", "", fold(text))


# --- neighbours by words -------------------------------------------------------------------------


def new_entries(entries: dict[str, Entry]) -> Callable[[], Iterable[Entry]]:
    """Return a function that lists the entries put into a mapping since its last call, at the cost of these alone."""
    seen: set[str] = set()

    def arrived() -> Iterable[Entry]:
        new = list(takewhile(lambda id: id not in seen, reversed(entries)))[::-1]
        seen.update(new)
        return [entries[id] for id in new]

    return arrived


def when_said(entry: Entry) -> tuple[float, str, str]:
    """Return a key that sorts entries by when they were said, oldest first, the same wherever they stand in a book."""
    return entry.created.timestamp() if entry.created is not None else 0.0, entry.text, entry.session or ""


def by_words(entries: dict[str, Entry], *, most: int = MOST_NEAR) -> Callable[[str], Sequence[Entry]]:
    """Return a function that finds neighbours by shared words, rare ones first; new entries may be put in meanwhile.

    The cost does not grow with the entries: of a common word only the latest that have it count. Of two as near the
    one said later comes first. The order in which they were put in makes no difference.
    """
    having: dict[str, list[tuple[tuple[float, str, str], str]]] = {}
    said: dict[str, tuple[float, str, str]] = {}
    arrived = new_entries(entries)

    def neighbours(text: str) -> Sequence[Entry]:
        for one in arrived():
            said[one.id] = when_said(one)
            for word in _telling(one.text):
                insort(having.setdefault(word, []), (said[one.id], one.id))
        shared: dict[str, float] = {}
        for word in _telling(text):
            known = having.get(word, ())
            for _, id in known[-_MOST_HAVING:]:
                shared[id] = shared.get(id, 0.0) + 1.0 + 1.0 / len(known)
        found = [(round(worth, 9), said[id], id) for id, worth in shared.items() if id in entries]
        return [entries[id] for *_, id in nlargest(most, found)]

    return neighbours


_MOST_HAVING = 64
"""Entries that one word leads to."""


@lru_cache(maxsize=20_000)
def _telling(text: str) -> frozenset[str]:
    """Return words, pairs of characters, and what stands for either in the other language."""
    return frozenset(filter(is_telling, query_words(text))) | {one for one in words(text) if one.isascii()}
