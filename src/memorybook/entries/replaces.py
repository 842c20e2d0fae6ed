"""Find by rules whether a statement replaces or corrects a known one: few cases, all of them plain.

A firm statement of an attribute that has one value (I work at X, 我住在 X, my editor is X, prefers A over B), a change
that names what it was before (from A to B, 从 A 换成 B), a todo that is done, and a correction: it names what is not
so (`Lina, not Lena`, 不是小雨), or is said as one (`No, …`, 更正：) and differs in one number, day or name alone, or
says that what was denied is now so. Whatever is doubtful is left alone. Where no model has looked, a statement that
something is not as it was also takes the place of what shares its rarest words (`outdated`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from memorybook.entries.read_reply import Candidate
from memorybook.entries.same import (
    denies,
    names_in,
    new_entries,
    sequence,
    speaker_of,
    squeezed,
    weekdays,
    when_said,
    words,
)
from memorybook.model import Entry
from memorybook.text.day_phrases import every, phrases
from memorybook.text.days import named
from memorybook.text.sentences import compiled
from memorybook.text.tokens import (
    correction,
    figures,
    is_chinese,
    is_question,
    is_stop_word,
    is_telling,
    query_words,
    undated,
)


class Claim(NamedTuple):
    """A claim of a text: `attribute` of `subject` is `value`, not `against`; `now` if it says that this is new."""

    subject: str
    attribute: str
    value: str
    against: str = ""
    now: bool = False


_MOST = 600
"""Characters of a text that are looked at."""


def replaces(candidate: Candidate, entry: Entry) -> str | None:
    """Return why an entry is no longer true by what was said; None if rules cannot tell."""
    if corrects(candidate.content, candidate.quote, entry.text):
        return "corrects it"
    if not _is_firm(candidate.content):
        return None
    if candidate.category != "todo" and is_ahead(entry) and _is_done(candidate.content, entry.text):
        return "the todo is done"
    if any(_names_old(about, old, new, entry) for about, old, new in _changes_in(candidate.content)):
        return "says what it was changed from"
    known = claims(entry.text)
    if any(_conflict(new, old) for new in claims(candidate.content) for old in known):
        return "says otherwise of the same thing"
    return None


def rivals(entries: dict[str, Entry]) -> Callable[[Candidate], list[Entry]]:
    """Return a function that finds current entries giving another value to what a candidate claims, by claim alone.

    New entries may be put in meanwhile. What was said last comes first.
    """
    claimed: dict[tuple[str, str], dict[str, list[Claim]]] = {}
    arrived = new_entries(entries)

    def saying_otherwise(candidate: Candidate) -> list[Entry]:
        new = claims(candidate.content)
        if not new:
            return []
        for one in arrived():
            for claim in claims(one.text):
                claimed.setdefault(claim[:2], {}).setdefault(one.id, []).append(claim)
        found = {
            id: entries[id]
            for claim in new
            for id, known in claimed.get(claim[:2], {}).items()
            if id in entries and any(_conflict(claim, old) for old in known)
        }
        current = (one for one in found.values() if one.superseded_by is None)
        return sorted(current, key=when_said, reverse=True)

    return saying_otherwise


_LOOSE = (
    r"(?i)\b(?:might|maybe|perhaps|consider\w*|think(?:s|ing)? (?:about|of)|would like|wants?|plan(?:s|ned|ning)?"
    r"|hop(?:es?|ing)|if|could|wish\w*|used to|was|were|had|before(?=\W*$|[,.;]))\b"
    r"|考虑|可能|也许|打算|想|计划|如果|要是|准备|希望|曾经|(?<![点日号天周月年底初末午晚])[以之]前|原来|当时"
)


@lru_cache(maxsize=20_000)
def _is_firm(text: str) -> bool:
    """Return whether a text says how things are, not how they might be or were."""
    return compiled(_LOOSE).search(text) is None and not is_question(text)


# --- attributes that have one value --------------------------------------------------------------

_WHO = r"(?P<who>[Tt]he [Uu]ser|[Uu]ser|I|We|[A-Z][\w-]+(?: [A-Z][\w-]+)?)"
_WHOSE = r"(?P<who>[Tt]he [Uu]ser's|[Mm]y|[A-Z][\w-]+(?: [A-Z][\w-]+)?'s)"
_SOON = r"(?: (?:now|currently))?"
_VALUE = r"(?P<value>[^,.;:()\n]{1,50}?)"
_NAMED = r"(?P<value>[A-Z][^,.;:()\n]{0,50}?)"
_CUT = r"(?= (?:as|in|since|with|and|but|for|from|when|because|near|now|on|at|these days)\b|[,.;:(\n]|$)"
_ONE = (
    r"(?:(?:favou?rite|preferred|main|primary|default|native|current) [a-z]+(?: [a-z]+)?"
    r"|name|birthday|age|e-?mail(?: address)?|phone(?: number)?|address|job(?: title)?|role|title|position|rank"
    r"|employer|boss|manager|editor|time ?zone|home ?town|salary|budget|deadline|wife|husband|nickname|weight|height)"
)
_HAN_WHO = r"(?:^|(?<=[，。；、]))(?P<who>用户|我|[\u3400-\u9fff]{2,4}?)"
_HAN_SOON = r"(?:现在|目前|如今|已经?)?"
_HAN_VALUE = r"\s*(?P<value>[^，。；、！？（）()\s][^，。；、！？（）()]{0,29}?)"
_HAN_CUT = r"(?=了?\s*(?:[，。；、！？（(]|$))"
_HAN_ONE = (
    r"(?:最喜欢的[\u3400-\u9fff]{1,6}|默认[\u3400-\u9fff]{1,6}|主力[\u3400-\u9fff]{1,4}|名字|姓名|生日|年龄|邮箱|电话"
    r"|手机号?|地址|职位|职级|岗位|老板|上司|领导|编辑器|时区|母语|家乡|老家|血型|体重|身高|工资|薪水|月薪|预算|"
    r"截止日期?|妻子|丈夫|老婆|老公|爱人|昵称)"
)
_CLAIMS: tuple[tuple[str, str], ...] = (
    ("work", rf"\b{_WHO}{_SOON} works?{_SOON} (?:at|for) {_VALUE}{_CUT}"),
    ("work", rf"\b{_WHO} (?:has )?(?:got|started|took) a (?:new )?job (?:at|with) {_VALUE}{_CUT}"),
    ("work", rf"\b{_WHO} (?:has )?joined {_NAMED}{_CUT}"),  # not a club, a gym, a meeting
    ("live", rf"\b{_WHO}{_SOON} (?:lives?|resides?){_SOON} in {_VALUE}{_CUT}"),
    ("live", rf"\b{_WHO} (?:has |have )?(?:moved|relocated) to {_NAMED}{_CUT}"),
    ("", rf"\b{_WHOSE} (?P<attribute>{_ONE}) is{_SOON} (?:called )?{_VALUE}{_CUT}"),
    ("prefer", rf"\b{_WHO}{_SOON} prefers? {_VALUE} (?:over|to|rather than|instead of) (?P<against>[^,.;]+?){_CUT}"),
    ("prefer", rf"\b{_WHO}{_SOON} prefers? (?!(?:to|not)\b){_VALUE}(?=[.\n]|$)"),
    ("work", rf"{_HAN_WHO}{_HAN_SOON}在{_HAN_VALUE}(?:工作|上班|任职|就职|[做当]\S)"),
    ("work", rf"{_HAN_WHO}{_HAN_SOON}(?:入职|跳槽[到去]|换到)了?{_HAN_VALUE}{_HAN_CUT}"),
    ("work", rf"{_HAN_WHO}{_HAN_SOON}加入了?{_HAN_VALUE}(?<=公司|集团|科技|银行|大学|医院|律所){_HAN_CUT}"),
    ("live", rf"{_HAN_WHO}{_HAN_SOON}(?:住在|家在|搬[到去]|定居在?|租住在)了?{_HAN_VALUE}(?:居住)?{_HAN_CUT}"),
    (
        "",
        rf"{_HAN_WHO}的(?P<attribute>{_HAN_ONE}){_HAN_SOON}(?:是|叫|为|改[成为]|[换变]成)了?{_HAN_VALUE}{_HAN_CUT}",
    ),
    (
        "prefer",
        rf"{_HAN_WHO}{_HAN_SOON}(?:更喜欢|偏好|偏爱|更爱)\s*{_HAN_VALUE}\s*[，,]?(?:而不是|胜过|不喜欢|不要)"
        rf"\s*(?P<against>[^，。；\s]{{1,30}}?){_HAN_CUT}",
    ),
    ("prefer", rf"{_HAN_WHO}{_HAN_SOON}(?:更喜欢|偏好|偏爱|更爱)\s*{_HAN_VALUE}(?=[。！]?$)"),
)  # fmt: skip


@lru_cache(maxsize=20_000)
def claims(text: str) -> tuple[Claim, ...]:
    """Return what the beginning of a text firmly says of attributes that have one value."""
    text = " ".join((correction(text) or text)[:_MOST].replace("’", "'").split())
    if is_chinese(text):  # 我上周搬到…了: when it was stands before the verb
        for one in reversed(phrases(text)):
            if compiled(_NOW).match(text, one.end) and "了" in text[one.end :]:
                text = text[: one.start] + text[one.end :]
    return tuple(_claims(text)) if _is_firm(text) else ()


def _claims(text: str) -> Iterator[Claim]:
    speaker = squeezed(speaker_of(text))
    now = compiled(_NOW).search(text) is not None
    found_preference = False
    for attribute, pattern in _CLAIMS:
        if attribute == "prefer" and found_preference:
            continue
        for found in compiled(pattern).finditer(text):
            parts = found.groupdict()
            name = attribute or parts["attribute"].lower()
            if not _is_value(name, parts["value"]):
                continue
            found_preference |= attribute == "prefer"
            if name == "live" and not now and compiled(_TWO_HOMES).search(text):
                continue
            value, against = (parts["value"], parts.get("against") or "")
            yield Claim(_subject(parts["who"], speaker), name, value.strip().lower(), against.strip().lower(), now)


_NOW = (
    r"(?i)\b(?:now|currently|these days|moved|relocated|joined|new job|started)\b"
    r"|现在|目前|如今|搬[到去]|跳槽|入职|加入|换[到成]|改[成为]"
)
_TWO_HOMES = (
    r"(?i)\b(?:also|too|both|half|sometimes|part[- ]time|partly|second home|weekends?|weekdays|summers?|winters?)\b"
    r"|也|另外|有时|一半|两地|周末|工作日|平时|夏天|冬天"
)
_OPEN = ("prefer", "favo", "main", "primary", "default", "native", "current", "e-mail", "email", "nickname")
"""Beginnings of English attributes of which any word may be the value; of others a name, a number or `a …`."""

_PLACES = frozenset("广东 浙江 江苏 四川 国内 国外 海外 家里 外地 本地 老家 这里 那里 这边 那边".split())
"""Places besides towns that are no employers."""

_TOWNS = frozenset(
    (
        "amsterdam|ankara|antwerp|athens|atlanta|auckland|austin|baltimore|bangalore|bangkok|barcelona|basel"
        "|beijing|beirut|belgrade|bergen|berlin|bern|birmingham|bologna|bonn|boston|bremen|brisbane|bristol"
        "|brussels|bucharest|budapest|buenos aires|cairo|calgary|cape town|chengdu|chennai|chicago|chongqing"
        "|cologne|copenhagen|dallas|delhi|denver|detroit|dortmund|dresden|dublin|dusseldorf|edinburgh|essen"
        "|florence|frankfurt|gdansk|geneva|glasgow|gothenburg|graz|guangzhou|hamburg|hangzhou|hannover|hanoi"
        "|helsinki|houston|hyderabad|istanbul|jakarta|johannesburg|karachi|krakow|kyiv|kyoto|lagos|lahore"
        "|las vegas|leeds|leipzig|lima|lisbon|liverpool|ljubljana|london|los angeles|lyon|madrid|malmo"
        "|manchester|manila|marseille|melbourne|miami|milan|minneapolis|montreal|moscow|mumbai|munich|nairobi"
        "|nanjing|naples|nashville|new york|nice|nuremberg|osaka|oslo|ottawa|paris|perth|philadelphia|phoenix"
        "|portland|porto|prague|riga|rome|rotterdam|san diego|san francisco|santiago|seattle|seoul|shanghai"
        "|shenzhen|sofia|stockholm|strasbourg|stuttgart|suzhou|sydney|tallinn|tampere|tel aviv|tokyo|toronto"
        "|toulouse|turin|turku|valencia|vancouver|venice|vienna|vilnius|warsaw|wellington|wroclaw|wuhan|xi'an"
        "|zagreb|zurich"
        "|北京|上海|天津|重庆|广州|深圳|杭州|南京|苏州|成都|武汉|西安|长沙|郑州|青岛|宁波|厦门"
        "|福州|济南|合肥|昆明|大连|沈阳|哈尔滨|长春|石家庄|太原|南昌|南宁|贵阳|兰州|海口|无锡"
        "|佛山|东莞|珠海|温州|香港|澳门|台北|东京|大阪|首尔|巴黎|伦敦|柏林|汉堡|慕尼黑|纽约"
        "|波士顿|西雅图|旧金山|洛杉矶|多伦多|温哥华|悉尼|墨尔本"
    ).split("|")
)
"""Towns of which nobody takes one for a part of another."""


_NO_VALUE = r"(?:很|太|非常|比较|最|越|一?个|不|没|还|也|都|挺|蛮|真)"


def _is_value(attribute: str, value: str) -> bool:
    """Return whether this may be a value of the attribute, not just a remark on it (my job is hard)."""
    if denies(value) or compiled(_NO_VALUE).match(value):
        return False
    if attribute == "work" and (value in _PLACES or value in _TOWNS or compiled(r"[市省区县镇村路街]$").search(value)):
        return False
    if attribute == "work" and any(
        one.end - one.start == len(value) for one in every(value)
    ):  # when, not where: 在周末上班
        return False
    if not value.isascii() or attribute.startswith(_OPEN):
        return True
    named_ = value[0].isupper() or value[0].isdigit()
    return named_ or (attribute != "live" and compiled(r"(?:an?|the|her|his|our) ").match(value) is not None)


def _subject(who: str, speaker: str) -> str:
    bare = squeezed(who.removesuffix("'s"))
    me = bare in ("i", "we", "my", "user", "theuser", "用户", "我", "我们")
    return (speaker or "user") if me else bare


def _conflict(new: Claim, old: Claim) -> bool:
    if new[:2] != old[:2]:
        return False
    if new.attribute == "prefer":
        now, before, not_now, not_before = map(squeezed, (new.value, old.value, new.against, old.against))
        if not_now:  # B over A, after A, or after A over B
            return not_now == before and not_before in ("", now)
        return not_before == now if not_before else _is_other_kind(new.value, old.value)
    if new.attribute == "live" and not new.now:
        towns = [value.removesuffix("市").removesuffix(" city") for value in (new.value, old.value)]
        if not _TOWNS.issuperset(towns) or towns[0].isascii() != towns[1].isascii():  # 杭州 and Hangzhou are one
            return False  # a town, its country, a street in it: all may be true
    first, second = words(new.value), words(old.value)
    bare = squeezed(new.value), squeezed(old.value)
    return not (first <= second or second <= first or bare[0] in bare[1] or bare[1] in bare[0])


def _is_other_kind(one: str, other: str) -> bool:
    """Return whether two names differ only in their first word, or in their first one or two characters."""
    first, second = one.split(), other.split()
    if len(first) > 1 or len(second) > 1:
        return len(first) == len(second) and first[0] != second[0] and first[1:] == second[1:]
    return len(one) == len(other) >= 4 and one[0] != other[0] and one[2:] == other[2:] and one > "\u3400"


# --- a change that names what was before ----------------------------------------------------------

_FROM = (
    r"(?i)\b(?P<about>[^.;]{0,80}?)\bfrom (?P<old>[^,.;]{1,40}?) to (?P<new>[^,.;]{1,60})",
    r"(?i)\b(?P<about>[^.;]{0,80}?)\breplac(?:ed|es) (?P<old>[^,.;]{1,40}?) (?:with|by) (?P<new>[^,.;]{1,60})",
    r"(?P<about>[^。；;]{0,60}?)从\s*(?P<old>[^，。；;]{1,30}?)\s*"
    r"(?:换成|换到|改成|改为|改到|改用|调[整到为]{1,2}|推迟到|延[期到]{1,2}|提前到|加到|涨到|降到|收到|升[级到]{1,2}|"
    r"迁[移到]{1,2})"
    r"\s*(?P<new>[^，。；;]{1,40})",
)
_CHANGING = (
    r"(?i)\b(?:switch|mov|chang|migrat|rais|lower|postpon|reschedul|increas|reduc|cut|push|grew|went|replac|upgrad|"
    r"extend)"
    r"|[换改调推延提加涨降收升迁]"
)


@lru_cache(maxsize=1_000)
def _changes_in(text: str) -> tuple[tuple[str, str, str], ...]:
    """Return what a text says was changed: what it is about, from what, to what."""
    found = (one for pattern in _FROM for one in compiled(pattern).finditer(text))
    return tuple((one["about"], one["old"], one["new"]) for one in found if compiled(_CHANGING).search(one[0]))


def _names_old(about: str, old: str, new: str, entry: Entry) -> bool:
    """Return whether the entry has the old value, not the new one, and most words of what the change is about."""
    bare = squeezed(entry.text)
    if not squeezed(old) or squeezed(old) not in bare or squeezed(new) in bare:
        return False
    subject = compiled(r"\d{4}-\d\d-\d\d").sub(" ", about)
    topic = words(subject) - words(old) - _MOVING
    topic = topic if len(topic) >= 2 else words(new)
    known = words(entry.text) | {squeezed(one) for one in entry.entities}
    return len(topic) >= 2 and len(topic & known) >= 0.6 * len(topic)


_MOVING = frozenset(
    "switch move chang migrat rais lower postpon reschedul increas reduc cut push grew went replac".split()
)

# --- todos ----------------------------------------------------------------------------------------

DONE = (
    r"(?i)\b(?:done|finished|completed|submitted|shipped|delivered|paid|sent|handed in|called off|cancell?ed|dropped)\b"
    r"|已(?!经?有)|完成了|搞定|[做写交办买付发](?:完|好|掉|出去)?了|提交了|取消了|不做了"
)


def is_ahead(entry: Entry) -> bool:
    """Return whether an entry says what is still to happen: a todo, what has a day to come, what is wanted."""
    return entry.category == "todo" or bool(undated(entry.text)[1]) or compiled(_AHEAD).search(entry.text) is not None


_AHEAD = (
    r"(?i)\b(?:needs?|must|ha(?:ve|s) to|wants?|going to|will|\w+'ll|owes?)\b|[要得](?!是|不|么)|[想负]|打算|准备|计划"
)


def _is_done(said: str, todo: str) -> bool:
    """Return whether a text says that a todo is done or dropped."""
    if compiled(DONE).search(said) is None or denies(said):
        return False
    wanted = words(_without_dates(todo)) - _DOING
    return len(wanted) >= 2 and len(wanted & words(_without_dates(said))) >= 0.6 * len(wanted)


_DOING = frozenset("need todo rememb remind plan by befor 记 待 办 记 得 提 醒 前 之 内 定 于".split())


def _without_dates(text: str) -> str:
    for one in reversed(sorted(named(text), key=lambda one: one.start)):
        text = f"{text[: one.start]} {text[one.end :]}"
    return text


# --- a correction ---------------------------------------------------------------------------------


def corrects(content: str, quote: str, known: str) -> bool:
    """Return whether a statement, said in the words of `quote`, explicitly corrects a known one.

    >>> corrects("My sister is called Lina, not Lena.", "", "My sister is called Lena.")
    True
    >>> corrects("My aunt is called Lina, not Lena.", "", "My sister is called Lena.")
    False
    """
    if speaker_of(content) != speaker_of(known):
        return False
    new, old = _read(content), _read(known)
    if any(_says_what_is_not(denial, old.affirmed) for denial in new.denials):
        return True
    as_correction = new.shifted or correction(quote) is not None
    return bool(as_correction and _has_another_value(new.text, old.text)) or (
        new.now and _takes_back(new.text, old.text)
    )


class _Denial(NamedTuple):
    """A value that a text says is not the one, and the text before and after it."""

    value: str
    before: str
    after: str


class _Read(NamedTuple):
    """A text as it is compared, what it denies, what it affirms, and whether it tells a move or how things are now."""

    text: str
    denials: tuple[_Denial, ...]
    affirmed: str
    shifted: bool
    now: bool


@lru_cache(maxsize=20_000)
def _read(text: str) -> _Read:
    """Prepare a text: no opening of a correction, no day that rules put behind it, names of several words as one."""
    text = compiled(r"\s*[（(]\d{4}-\d\d-\d\d[)）]").sub("", (correction(text) or text)[:_MOST])
    text = compiled(r"(?<=[a-z] )[A-Z]\w+(?: [A-Z]\w+)+").sub(lambda name: name[0].replace(" ", ""), text)
    denials, affirmed = tuple(_denials(text)), text
    while (denial := next(_denials(affirmed), None)) is not None:
        affirmed = f"{denial.before} {denial.after}"
    shifted, now = (_is_firm(text) and compiled(pattern).search(text) is not None for pattern in (_SHIFTED, _AGAIN))
    return _Read(text, denials, affirmed, shifted, now)


_ASIDE = frozenset(
    "decid agre settl chose choos actual correct move chang reschedul postpon push shift next like"
    " 决 定 改 到 成 为 换 推 迟 提 今 如".split()
)
"""Words in which a correction and what it corrects may differ: how it was settled, and when."""


# --- it names what is not so ----------------------------------------------------------------------

_OLD = r"(?:on |at |in |to |by |for |from |an? |the )*(?P<old>[^,.;:()]{1,60}?)"
_OLD_ENDS = r"(?=\s+(?:as|because|since|like|any ?more|after all)\b|[,.;:()]|$)"
_HAN_OLD = r"\s*(?P<old>[^，,。；;！!（）()]{1,30}?)\s*"
_NAMED_DENIALS = (
    rf"(?i),\s*(?:and\s+)?not\s+{_OLD}{_OLD_ENDS}",
    rf"(?i),?(?:^|\s+)(?:instead of|rather than)\s+{_OLD}{_OLD_ENDS}",
    rf"(?i)\bnot\s+{_OLD},?\s+but\s+",
    rf"(?:[，,]?\s*(?:而不是|不再?是|而非)(?:在)?|[，,]\s*不再?在){_HAN_OLD}(?:了\s*)?(?=[，,。；;！!（(]|$)",
    rf"不再?(?P<verb>[叫在喝吃用住去坐写姓养学][^，,。；;]??){_HAN_OLD}了?\s*[，,]\s*(?:而是|而|是|现在|"
    rf"只)?改?(?=(?P=verb))",
)


def _denials(text: str) -> Iterator[_Denial]:
    for pattern in _NAMED_DENIALS:
        for found in compiled(pattern).finditer(text):
            yield _Denial(found["old"], text[: found.start()], text[found.end() :])


def _says_what_is_not(denial: _Denial, known: str) -> bool:
    """Return whether a known text says just what is denied, and nothing of anything else.

    All its other words must be repeated, and new words must be adjacent and no longer than the denied value: `the team
    dinner is on Monday, not Friday` may be another dinner.
    """
    wrong, old = words(denial.value), words(known)
    if not wrong or not wrong <= old or squeezed(denial.value) not in squeezed(known):
        return False
    rest = words(denial.before) | words(denial.after)
    if not wrong - rest - _ASIDE:
        return False
    topic = old - wrong - _ASIDE
    if not topic or not topic <= rest or denies(denial.before + denial.after) != denies(known):
        return False
    news = [_new(part, old) for part in (denial.before, denial.after)]
    return not all(news) and all(new is not None and len(new) <= _room(new, denial.value) for new in news)


def _new(text: str, old: frozenset[str]) -> list[str] | None:
    """Return the words of a text that are not among the old ones; None if they do not stand together."""
    said = [word for word in sequence(text) if word not in _ASIDE]
    places = [place for place, word in enumerate(said) if word not in old]
    return None if places and places[-1] - places[0] >= len(places) else [said[place] for place in places]


def _room(new: list[str], value: str) -> int:
    """Return how many words may stand for a value: as many as it has, in Chinese a character more."""
    return max(1, len(sequence(value))) + (bool(new) and new[0] > "\u3400")


# --- it is said as a correction -------------------------------------------------------------------

_SHIFTED = (
    r"(?i)\b(?:moved|shifted|changed|rescheduled|postponed|pushed|brought forward)(?: back| forward)? to\b"
    r"|[改换挪调][到成为]|推迟到|提前到|延期?到"
)
_WEEKDAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_VALUES = (
    r"(?P<day>\d{4}-\d\d-\d\d|\d{1,2}\s*月\s*\d{1,2}\s*[日号]?"
    rf"|(?i:\b{_MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b|\b\d{{1,2}}(?:st|nd|rd|th)?\s+{_MONTH}\b))"
    rf"|(?P<weekday>下*个?(?:周|星期|礼拜)[一二三四五六日天]|(?i:\b(?:next\s+|this\s+)?{_WEEKDAY}s?\b))"
    r"|(?P<number>(?<![A-Za-z])\d[\d.,:]*(?<=\d)\s*(?:(?i:[ap]m|st|nd|rd|th)\b|[%点号元块岁])?)"
    r"|(?P<name>(?<=[\w,] )[A-Z]\w+(?:\s[A-Z]\w+)*|(?<=[\u3400-\u9fff])\s?[A-Z]\w+"
    r"|(?<=叫)[\u3400-\u9fff]{1,4}(?=[。，！]|$))"
)


def _has_another_value(content: str, known: str) -> bool:
    """Return whether two texts differ only in one number, day or name."""
    pattern = compiled(_VALUES)
    new, old = ([(one.lastgroup, squeezed(one[0])) for one in pattern.finditer(text)] for text in (content, known))
    if len(new) != len(old) or sum(one != other for one, other in zip(new, old, strict=True)) != 1:
        return False
    if [kind for kind, _ in new] != [kind for kind, _ in old] or denies(content) != denies(known):
        return False
    said, was = ([w for w in sequence(pattern.sub(" ", text)) if w not in _ASIDE] for text in (content, known))
    return bool(said) and said == was


# --- it takes back a denial, or denies what was so -----------------------------------------------

_AGAIN = r"(?i)\b(?:now|again|no longer|any ?more)\b|现在|如今|不再|重新"
_MAY = frozenset(
    "no not never can cannot could again longer anymor more abl don't stop 不 没 别 再 可 以 能 又 重 新".split()
)
"""Words that affirm, allow or deny."""


def _takes_back(content: str, known: str) -> bool:
    if denies(content) == denies(known):
        return False
    said, was = (words(re.sub(r"(?i)\b\w+n['’]t\b", " ", text)) - _MAY - _ASIDE for text in (content, known))
    return bool(said) and said == was


def apply_correction(said: str, rest: str) -> str:
    """Put the value of a correction in the place of what it corrects; where that is not plain, return both."""
    pattern = compiled(_VALUES)
    news, olds = list(pattern.finditer(rest)), list(pattern.finditer(said))
    if (swapped := swap_value(said, rest)) is not None:
        return swapped
    if len(news) == 1 and len(rest) - len(news[0][0]) <= 40:
        same = [one for one in olds if one.lastgroup == news[0].lastgroup]
        if len(same) == 1:
            old = same[0][0].rstrip()
            return said[: same[0].start()] + news[0][0].rstrip() + said[same[0].start() + len(old) :]
    chinese = rest > "\u3400" or said[-1:] in "。！"
    return f"{said.rstrip(' .。')}{'；更正：' if chinese else '; correction: '}{rest}"


def swap_value(said: str, rest: str) -> str | None:
    """Return a text with its value swapped if a correction names both values (`the 3rd, not the 5th`), else None."""
    values = [one[0].strip() for one in compiled(_VALUES).finditer(f", {rest}")]
    known = [one[0].strip() for one in compiled(_VALUES).finditer(said)]
    old = [value for value in values if value in known]
    if len(values) != 2 or len(old) != 1 or known.count(old[0]) != 1 or len(rest) > 60:
        return None
    return said.replace(old[0], values[values[0] == old[0]])


def begins_with_value(text: str) -> bool:
    """Return whether a text begins with a number or a day."""
    return compiled(_VALUES).match(text) is not None


def has_value_like(said: str, rest: str) -> bool:
    """Return whether a text has a number, day or name of a kind that the correction has, or one that it denies."""
    if swap_value(said, rest) is not None:
        return True
    kinds = {one.lastgroup for one in compiled(_VALUES).finditer(rest)}
    return any(one.lastgroup in kinds for one in compiled(_VALUES).finditer(said))


def has_long_number_like(said: str, rest: str) -> bool:
    """Return whether a text has a number of as many digits, four at least, as the only one of a correction.

    Such numbers (years, codes) name something, and are rarely mistaken for quantities.
    """
    long = r"(?<![A-Za-z\d.,:])\d{4,}(?![.,:]?\d)"
    news, olds = (compiled(long).findall(text) for text in (rest, said))
    return len(news) == 1 and any(len(old) == len(news[0]) for old in olds)


# --- what is not as it was ------------------------------------------------------------------------

CHANGED = (
    r"(?i:\b(?:now|no\s+longer|any\s*more|any\s+longer|instead|from\s+now\s+on|after\s+all|is\s+history|is\s+the\s+new|"
    r"(?:switch|mov|chang|swapp|replac|ditch|dropp|cancel|shift|push|rais|postpon|shrink|stopp|retir|upgrad|"
    r"resign)(?:ed|es|ing|s|led)|"
    r"(?:gave|given|packed)\s+(?:\w+\s+)?(?:up|in)|(?:taken|took)\s+\w+\s+off|(?:cleared|allowed|able)\s+to|quit|"
    r"sold|done\s+with|(?:'ve|have|"
    r"has)\s+left|"
    r"(?:'re|'m|are|am|is)\s+back\s+(?:on|to)|takes?\s+over|off\s+the\s+table|(?:goes|go)\s+(?:up|down)\s+to|"
    r"takes?\s+\S+\s+place|became|becomes|in\s+the\s+end|no\s+more)\b|^(?:and\s+)?new\b)|"
    r"现在|如今|不再|以后|往后|作废|取消|推迟|提前|延期|只剩|改[成为到用走叫]?|换|变了|搬|挪|(?:退|停|辞|转|卖|拆|升|降|"
    r"涨|加|减|追|收)[^，]{0,4}[了到成]"
)
"""Phrases that say that something has changed."""

NOW_SO = rf"{CHANGED}|了(?=[，,。！!；;\s]|$)"
"""The same, with the Chinese 了 that says only that it is so by now."""


def says_change(text: str) -> bool:
    """Return whether a text says that something is not as it was, or not as it was said before."""
    patterns = (CHANGED, _SHIFTED, DONE)
    return (
        correction(text) is not None
        or bool(_read(text).denials)
        or any(compiled(pattern).search(text) is not None for pattern in patterns)
    )


def outdated(candidate: Candidate, entries: Iterable[Entry], *, least: float = 0.0) -> list[Entry]:
    """Find the entries whose point a statement takes up, at most two: they may still be true in part.

    It says that something is not as it was, or gives another measure of the same thing: 退房十一点, 退房十二点. They
    share its rarest words, and have the value that it denies, if it names one. What differs in two ways is another
    thing: the rent of flat 3, 900 euros; the rent of flat 5, 1,200 euros. What leans on another statement is taken for
    a change only where it says so. `least` is the share of an entry's point of which more has to be taken up.
    """
    if not candidate.changes or candidate.category == "todo":
        return []
    content, chinese = candidate.content, is_chinese(candidate.content)
    own = {f"turn:{id}" for id in candidate.turn_ids}
    known = [one for one in entries if one.source not in own and _may_speak_of(candidate, one)]
    if denied := [words(one.value) for one in _read(content).denials]:
        known = [one for one in known if any(value and value <= words(one.text) for value in denied)]
    differ = {one.id: _differ(content, one.text) for one in known}
    known = [one for one in known if len(differ[one.id]) <= 1]
    points = {one.id: subject_of(one.text) | _counts(one.text) for one in known}
    spread = Counter(word for point in points.values() for word in point)
    corrected = correction(content) or (content if denied else None)  # what names the value that is wrong is one, too
    parts = compiled(r"[，,；;。.!！](?!\d)").split(content)
    marked = corrected or " ; ".join(part for part in parts if compiled(NOW_SO).search(part) is not None)
    firmly = corrected is not None or any(compiled(pattern).search(content) for pattern in (CHANGED, _NOW))
    firmly |= any(denies(part) and undated(part)[0].endswith("了") for part in parts)
    open_ = known if firmly else [one for one in known if one.category == "todo" or undated(one.text)[1]]
    wrong = frozenset().union(*denied, *(_counts(one.value) for one in _read(content).denials))
    tries = [((subject_of(marked) | _counts(content)) - wrong, 0.3, open_)] if marked else []
    if marked and not firmly:  # a bare 了: of how things are, only what its clause begins with has changed
        tries.append((_topics(marked), 0.3, known))
    if not candidate.leans:
        measured = [one for one in known if differ[one.id] - {"", _NAME} and "#" not in "".join(differ[one.id])]
        tries.append((subject_of(content), 0.5 if chinese else 1.0, measured))
    if marked:
        tries.append((subject_of(content), 1.0, open_))
    own_point = subject_of(content) | _counts(content)
    for point, enough, among in tries:
        scores = {one.id: sum(1 / spread[word] for word in point & points[one.id]) for one in among}
        best = max(scores.values(), default=0.0)
        if best >= enough:
            found = [one for one in among if scores[one.id] >= 0.9 * best][:2]
            return [one for one in found if len(own_point & points[one.id]) > least * len(points[one.id])]
    return []


def _topics(clauses: str) -> frozenset[str]:
    """Return the words that these clauses begin with, numbers and speakers aside."""
    found: set[str] = set()
    for clause in clauses.split(" ; "):
        at = {word: place for word in subject_of(clause) if (place := clause.lower().find(word)) >= 0}
        found.update(word for word, place in at.items() if place <= min(at.values()) + 1)
    return frozenset(found)


def with_previous(content: str, gone: Iterable[Entry]) -> str:
    """Put behind a statement what it takes the place of, so that it can be read by itself."""
    before = " ".join(undated(compiled(_BEFORE).sub("", one.text).rstrip())[0] for one in gone)
    return f"{content}（此前：{before}）" if is_chinese(content + before) else f"{content} (Before: {before})"


_BEFORE = r"\s*(?:\(Before: .*\)|（此前：.*）)$"


def _differ(one: str, other: str) -> set[str]:
    """Say in what two texts differ where both name it: unit by its numbers, `#` and what is numbered, name, owner."""
    new, old = _measures(one), _measures(other)
    both = new.keys() & old.keys()
    found = {unit for unit in both if new[unit].isdisjoint(old[unit])}
    counted = set().union(*(new[unit] for unit in both if unit and unit[0] != "#"))
    found -= {unit for unit in found if unit[:1] == "#" and new[unit] <= counted}
    if found & _TIMES:
        found = found - _TIMES | {_DAY if found & _TIMES - {""} else ""}
    first, second = _names(one), _names(other)
    found |= {_NAME} if first - second and second - first else set()
    whose = [squeezed(owner["who"]) for owner in map(compiled(_OWNER).match, (one, other)) if owner is not None]
    if len(whose) == 2 and whose[0] not in whose[1] and whose[1] not in whose[0]:
        found |= {_NAME, _OWNED}  # in two ways by itself
    return found


_DAY, _NAME, _OWNED = "day of the calendar", "name or month", "owner"
_TIMES = {"", "am", "pm", "o'clock", "点", _DAY}
_OWNER = (
    r"(?i)(?P<who>(?:the )?(?:user's )?(?!this|next|last|today|tomorrow|\w+day)[\w-]+(?: [\w-]+)?(?='s )"
    r"|(?![今明去本上下])(?:(?!是)[^,.;，。；\s]){1,6}?(?=的))"
)


@lru_cache(maxsize=20_000)
def _names(text: str) -> frozenset[str]:
    """Return names in a text, and months named without a day."""
    months = (str(date.month) for date in named(text) if date.day is None)
    return frozenset((*map(squeezed, names_in(text, ())), *months))


@lru_cache(maxsize=20_000)
def _measures(text: str) -> dict[str, set[float]]:
    """Return what a text counts, by unit, "" where it names none, and the days that it names."""
    text = compiled(_BEFORE).sub("", text)
    dates = named(text)
    days = {float(day) for day, _ in weekdays(text)}
    days |= {100.0 * (one.month or 0) + one.day for one in dates if one.day is not None}
    found = {_DAY: days} if days else {}
    for one in figures(text):
        if one.sure and not any(date.start <= one.start < date.end for date in dates):
            unit = compiled(r"\s*([a-z%€$]+|[点个天年岁元块号份次间台张人])").match(text.lower(), one.end)
            counted = [unit[1].rstrip("s")] if unit and not is_stop_word(unit[1]) else []
            before = compiled(r"([a-z]+) $").search(text[: one.start].lower())
            counted += [f"#{before[1]}"] if before is not None and not is_stop_word(before[1]) else []
            for key in counted or [""]:
                found.setdefault(key, set()).update(one.values)
    return found


@lru_cache(maxsize=20_000)
def _counts(text: str) -> frozenset[str]:
    """Return the numbers from 3 of a text, days aside: two that say the same number may speak of the same."""
    measures = _measures(text).items()
    return frozenset(f"{value:g}" for unit, values in measures if unit != _DAY for value in values if value > 2)


def _may_speak_of(candidate: Candidate, entry: Entry) -> bool:
    """Return whether both may be about the same person: nobody changes what another speaker says of themselves.

    Who is the user's supplier in one may be the name that the other begins with.
    """
    new, old = (correction(text) or text for text in (candidate.content, entry.text))
    for one, said in ((new, old), (old, new)):
        other = compiled(_OTHER).match(one)
        if other is not None and (other["who"] or other["whose"]).lower() not in said.lower():
            begins = squeezed(said.removeprefix("User: "))
            if not any(begins.startswith(name) and len(name) > 2 for name in _names(one)):
                return False
    return speaker_of(entry.text) == speaker_of(candidate.content) or not compiled(r"\b(?:I|my|me)\b|我").search(
        entry.text
    )


_OTHER = (
    r"(?:The user's (?:(?:new|old|older|elder|younger|best|first|second) )?(?P<who>[\w-]+)\b(?! (?:is|are) )"
    r"|用户的[新老旧大小]?(?P<whose>[^\s，是的]{1,2}[A-Za-z-]*))"
)
"""Subjects that are somebody or something of the user's."""


@lru_cache(maxsize=20_000)
def subject_of(text: str) -> frozenset[str]:
    """Return the words of a text that name its point: no speakers, times, numbers, words of change."""
    bare = compiled(_BEFORE).sub("", text)
    bare = bare.removeprefix(f"{speaker_of(text)}：").removeprefix(f"{speaker_of(text)}:")
    for pattern in (NOW_SO, _NO_TOPIC):
        bare = compiled(pattern).sub(" ", bare)
    kin = compiled("[爸妈爷哥姐弟妹]|奶奶").findall(bare)
    telling = (word for word in query_words(bare) if is_telling(word) and (len(word) > 2 or word > "\u3400"))
    return frozenset(telling).union(kin, (count for count in _counts(text) if float(count) >= 100))


_NO_TOPIC = (
    r"(?i)\b(?:the user|user|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|\d{1,2}(?:st|nd|rd|th)?|one|two|three|four|"
    r"five|six|seven|eight|nine|ten|"
    r"euros?|dollars?|pounds?|days?|weeks?|months?|years?|times?|mornings?|afternoons?|evenings?|nights?|any|more|only|still|again|all|much|"
    r"half|this|last|next|first|both|changes?|plans?|"
    r"work|works|goes|go|gets?|got|makes?|takes?|puts?|comes?|wants?|needs?|things?|people|please|correction|january|"
    r"february|march|april|may|june|"
    r"july|august|september|october|november|december)\b|用户的?|更正|"
    r"[一二两三四五六七八九十半\d]+\s*[点个天周月年号日次岁位人回]?|"
    r"(?:周|星期|礼拜)[一二三四五六日天末]?|[早晚]上|[上下中]午|[今明昨每天]天|每[周月年]|[上下]周|\d\d-\d\d|"
    r"[的了是在把给]"
)
