"""The phrases by which people mark what is worth keeping, English and Chinese, and what they say by them.

A cue is looked for in one sentence. Cues are tried in the order of `TABLE`; the first that fits
says what the sentence is. Precision goes before recall: what no rule is sure of is not kept.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import NamedTuple

from memorybook.lifecycle.cue_table import TABLE, Importance, Kind, Rule, Talk
from memorybook.lifecycle.hints import Sieve, compiled, fold, sieve
from memorybook.lifecycle.sentences import REMEMBERED, sentences


class Cue(NamedTuple):
    """What a sentence is, by its cue.

    Attributes:
        kind: A category; `explicit` (told to remember) or `forget` (told to forget).
        importance: How firmly it was said.
        content: What is said, without the command to remember it.
    """

    kind: Kind
    importance: Importance
    content: str


_HYPOTHETICAL = (
    r"(?i:\b(?:if\s+(?:I|we|you|only)|what\s+if|suppose|imagine|wish|as\s+if|pretend|for\s+example|e\.g\.|"
    r"hypothetically)\b)|如果|假如|要是|假设|万一|倘若|比如说|好比|幻想|想象一下|(?i:我是\s*ai|作为(?:一个|"
    r"一名)?\s*ai)"
)
_REPORTED = (
    r"(?i:\b(?:he|she|they|people|someone|everyone|who|friends?|mom|mum|dad|[A-Z][a-z]+)\s+(?:said|says|"
    r"told\s+(?:me|us)|thinks?|thought|asked|claims?|wrote)\b[^.;]*$)|(?:他们?|她们?|人家|有人|别人|同学|朋友|网上|"
    r"文章|书上)[^，,。]{0,6}(?:说|觉得|认为|问|讲|写)[^，,。]*$"
)
_WHEN = (
    r"(?i:\b(?:yesterday|today|tonight|tomorrow|(?:last|this|next)\s+(?:week|weekend|month|year|night|summer|winter|"
    r"spring|fall|autumn|mon|tues|wednes|thurs|fri|satur|sun)\w*|(?:a\s+few|two|three|\d+|"
    r"a\s+couple\s+of)\s+(?:days|weeks|months|years)\s+ago|(?:a|the\s+other|one)\s+(?:day|week|month|year)\s+ago|"
    r"the\s+other\s+day|on\s+(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:in|on|last|next)\s+(?:january|february|"
    r"march|april|june|july|august|september|october|november|december)|in\s+(?:19|20)\d\d|back\s+in|(?:this|"
    r"last)\s+(?:morning|afternoon|evening)|just\s+(?:got|finished|started|launched|opened|signed|joined|bought|"
    r"came|passed|had|moved|took|made|won))\b)|昨天|昨晚|前天|今天|今早|今晚|明天|后天|上周|下周|上个?月|下个?月|"
    r"去年|明年|周末|周[一二三四五六日天]|\d+\s*月\s*\d+\s*[日号]|(?<![\d.])\d{1,2}\s*号|月底|年底|将要|打算|计划|"
    r"准备"
)
_DOING = (
    r"(?i:\b(?:I|we|my\s+\w+|our\s+\w+)(?:'m|'ve|'re|'d|'ll)?\b)|^(?:Just\s+)?(?:Got|Went|Had|Took|Lost|Finished|"
    r"Started|Met|Bought|Made|Been|Signed|Joined|Ran|Won)\b|我|咱"
)


_DAYS = ("mon", "tues", "wednes", "thurs", "fri", "satur", "sun")
_MONTHS = (
    *("january", "february", "march", "april", "june", "july", "august", "september", "october", "november"),
    "december",
)
_SEASONS = ("week", "month", "year", "night", "summer", "winter", "spring", "fall", "autumn")
_WHEN_HINTS = sieve(
    "yesterday|today|tonight|tomorrow|s ago|day ago|week ago|month ago|year ago|other day|back in|in 19|in 20",
    "this morning|this afternoon|this evening|last morning|last afternoon|last evening",
    *(f"{which} {span}" for which in ("last", "this", "next") for span in (*_SEASONS, *_DAYS)),
    *(f"on {day}day" for day in _DAYS),
    *(f"{which} {month}" for which in ("in", "on", "last", "next") for month in _MONTHS),
    "just got|just finished|just started|just launched|just opened|just signed|just joined|just bought|just came",
    "just passed|just had|just moved|just took|just made|just won",
    "昨|前天|今|明|后天|周|月|去年|号|年底|将要|打算|计划|准备",
)


class _Sifted(NamedTuple):
    """A rule as it is tried: `(?=DUE)`, which asks for a day to come, is taken out of its pattern."""

    rule: Rule
    pattern: str
    needs_day: bool
    sieve: Sieve


@cache
def _rules(talk: Talk, ascii: bool) -> tuple[_Sifted, ...]:
    """The rules for a kind of talk that a text, of ASCII alone or not, can fit."""
    sifted = (
        _Sifted(rule, rule.pattern.replace("(?=DUE)", ""), "(?=DUE)" in rule.pattern, sieve(rule.hints))
        for rule in TABLE
        if rule.talk in (talk, "any")
    )
    return tuple(one for one in sifted if one.sieve.ascii or not ascii)


class Likely(NamedTuple):
    """What the hints in a turn leave to be tried on its sentences: rules, and whether it may tell an event."""

    rules: tuple[_Sifted, ...]
    events: bool


def likely(turn: str, talk: Talk) -> Likely:
    """What may be said in a turn of that text; anything in a long one, which is not remembered."""
    return _likely(turn, talk) if len(turn) <= REMEMBERED else Likely(_rules(talk, turn.isascii()), True)


@lru_cache(maxsize=1024)
def _likely(turn: str, talk: Talk) -> Likely:
    folded = fold(" ".join([sentence.text for sentence in sentences(turn)]).replace("’", "'"))
    rules = tuple(one for one in _rules(talk, not folded.other) if one.sieve.passes(folded))
    return Likely(rules, _WHEN_HINTS.passes(folded))


_LEAD = (
    r"^(?:(?:(?:对[啊呀的]|好[啊呀]|是[啊呀的]|没错|可是|但是?|其实|还有|还有个事|还有个怪的|对了|另外|噢对|噢|嗯+|"
    r"行吧?|好的?|哈哈+|ok|对嘛|说正事|换个话题|汇报战况|知道|有|不用|提两个意见|说下\w{1,3}|再补\w{1,8}|生活方面|"
    r"换换脑子|好险|不对|不是的|更正(?:一下)?|纠正(?:一下)?|(?:我)?(?:说|搞)错了|二|一)[，,：:。\s]+)|"
    r"(?:对了|还有|另外)(?=[^，,])|(?i:(?:yeah|yes|yep|oh|well|also|btw|"
    r"by the way|anyway|plus|and|so|wow|hey|haha|lol|ok|okay|sure|actually|thanks|hmm|wait|sorry|correction|"
    r"no(?!-))(?:\s*[,!:-]\s*|\s+(?=(?:I|we|my|our)\b)))|"
    r"(?i:hi|hey|hello|good\s+(?:morning|afternoon|evening|day))(?:\s+(?i:again|all|everybody|everyone|folks|guys|team|"
    r"there))?(?:\s+(?!I\b)[A-Z]\w+)?(?:\s*[,!:–—-]+\s*|\s+(?=(?i:i|we|my|our|please)\b))|"
    r"(?:你好|您好|大家好|各位好|早上好|上午好|中午好|下午好|晚上好|早安|早|嗨|哈喽|哈啰|在吗)[啊呀哦]?"
    r"(?:[，,。！!：:~～、\s]+|(?=我)))+"
)


def without_lead(text: str) -> str:
    """`text` without a greeting and the small words by which talk goes on (`Hi Ann, …`, `Oh, …`, 你好，…)."""
    lead = compiled(_LEAD).match(text)
    return text[lead.end() :] or text if lead else text


def find(sentence: str, *, talk: Talk, dated: bool, turn: str | None = None) -> Cue | None:
    """What a stated sentence is, by the first cue that fits; None if there is none.

    `dated` says whether the sentence names a day that is still to come; `turn` is the text that it is one of the
    `sentences` of, or a part of one, where that is known: most turns have no cue, which is found out once.
    """
    rules = _rules(talk, sentence.isascii()) if turn is None else likely(turn, talk).rules
    if not rules:
        return None
    text = sentence.replace("’", "'")
    folded = fold(text)
    text = _opened(text)
    for rule, pattern, needs_day, sifted in rules:
        if (needs_day and not dated) or not sifted.passes(folded):
            continue
        found = compiled(pattern).search(text)
        if found is None:
            continue
        before = text[: found.start() + 2]
        firm = rule.kind in ("forget", "explicit")
        if not firm and (compiled(_HYPOTHETICAL).search(before) or compiled(_REPORTED).search(before)):
            continue
        return Cue(rule.kind, rule.importance, _content(sentence, found))
    return None


def several(sentence: str) -> tuple[Cue, ...]:
    """The facts and likings that a person tells an agent in one sentence, each to be known and forgotten by itself.

    () where they are not surely independent: each has a subject of its own that stands for itself (I, my, 我的), and a
    cue or `is`; none hangs on another.
    """
    whole = find(sentence, talk="agent", dated=False)
    if whole is None or whole.kind not in (*_STATED, "explicit") or compiled(_HANGING).search(whole.content):
        return ()
    cues = []
    for piece in compiled(_BETWEEN).split(whole.content):
        own = find(piece, talk="agent", dated=False)
        if (own is None and not compiled(_IS).match(piece)) or (own is not None and own.kind not in _STATED):
            return ()
        told = Cue("explicit", "high", piece) if whole.kind == "explicit" else own
        cues.append(told or Cue("fact", "medium", piece))
    return tuple(cues) if len(cues) > 1 else ()


_STATED = ("fact", "preference", "skill_usage")
_BETWEEN = r"\s*,?\s+and\s+(?=(?:I|my|our|we)\b)|\s*[，；]\s*(?=我(?!们))"
_IS = r"(?i:(?:my|our)\s+(?:[\w'-]+\s+){1,3}(?:is|are)\s+\S)|我们?的[^，,。]{1,8}(?:是|为|叫)"
_HANGING = (
    r"(?i:\b(?:because|since|as|so|if|unless|when|while|until|although|though|whether|that|who|which|where|but|both)\b)|"
    r"因为|所以|因此|如果|虽然|但|却|而|时|的话|[这那]"
)
"""What ties one statement to another."""


def _opened(text: str) -> str:
    """`text` with its first letter small, so that a pattern need not care where a sentence begins."""
    return text if re.match(r"I\b|[A-Z]{2}", text) else text[:1].lower() + text[1:]


def _content(sentence: str, found: re.Match[str]) -> str:
    """What is left when the command is taken off, or the whole sentence."""
    for name, part in found.groupdict().items():
        if name.startswith("rest") and part:
            return sentence[found.start(name) : found.end(name)].strip(" ，,：:;；-")
    return sentence


def is_event(sentence: str, *, talk: Talk, turn: str | None = None) -> bool:
    """Whether a sentence tells what the speaker (or theirs) did or will do at some time: worth a note.

    `turn` as in `find`.
    """
    if turn is not None and not likely(turn, talk).events:
        return False
    text = sentence.replace("’", "'")
    if not _WHEN_HINTS.passes(fold(text)) or not compiled(_WHEN).search(text) or not compiled(_DOING).search(text):
        return False
    return compiled(_HYPOTHETICAL).search(text) is None and compiled(_TELLING).search(text) is None


_TELLING = (
    r"(?i:\b(?:tell\s+you|here's|here\s+is|check\s+(?:it|this)|feels?\s+like|you\s+(?:know|remember)|"
    r"remembering)\b)|心情|难过|开心|高兴|无聊|困惑|兴奋|感觉|感到|觉得|好累|很累|想和你|想跟你|"
    r"(?i:作为一[个名]\s*ai)|期待着"
)
"""Talk about the talk, and moods: what was going to be told, shown or recalled, and how it felt."""
