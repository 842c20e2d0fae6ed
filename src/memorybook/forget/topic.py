"""What an order to forget names: the words by which memories are found."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from memorybook.forget.units import USER, whole_words
from memorybook.text.sentences import compiled
from memorybook.text.tokens import query_words


class Topic(NamedTuple):
    """What an order names.

    Attributes:
        words: Words that memories of it hold.
        names: Those of them that only say whose it is: they are not enough.
        person: Whether all of somebody is meant (`forget her`, 他的事都删了).
        own: Whether it is the user's own: `my car`, 我家.
    """

    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    person: bool = False
    own: bool = False


def topic_of(order: str) -> Topic:
    """The topic of an order: what its verb is said of, or where that is a pronoun or nothing, what stands before it."""
    text = order.replace("’", "'")
    parts = [part for part in compiled(_CLAUSE).split(text) if part and part.strip()]
    ordered = next((place for place, part in enumerate(parts) if compiled(_VERB).search(part)), None)
    if ordered is None:
        return _topic(text)
    places = [ordered, *range(ordered - 1, -1, -1), *range(ordered + 1, len(parts))]
    found = _topic(parts[ordered])
    points = compiled(_POINTS).search(parts[ordered]) is not None
    if found.words and not points:
        return found
    for place in places[1:]:
        other = _topic(parts[place])
        if other.words:
            named = [] if other.names else compiled(_NAME).findall(parts[place])
            words = frozenset[str]().union(*map(_telling, named)) or other.words
            person = compiled(_SOMEBODY).search(parts[ordered]) is not None
            return other._replace(words=found.words | words, person=person)
    return found


_CLAUSE = r"[,，;；。!！\n]|[.](?:\s|$)"
_POINTS = r"(?i:\b(?:that|it|them|him|her|this|those)\b(?!\s+(?:I|we|my|our)\b))|[他她它](?!们)|相关|这些|那些"
_SOMEBODY = r"(?i:\b(?:him|her|them)\b)|[他她]的?(?:事|信息|资料|$)"
_NAME = r"(?<![\w'])(?!(?:I|My|We|Our|The|It|He|She|They|That|This|You|Please|A|An)\b)[A-Z][\w-]*(?:\s+[A-Z][\w-]+)*"
_VERB = (
    r"(?i:\b(?:forget|delete|remove|erase|drop|wipe|strike|withdraw|clear|scrub|purge|stop\s+remembering|leave\b.*\bout)\b|"
    r"\b(?:don't|do\s+not|needn't)\s+(?:need\s+to\s+)?(?:know|keep|remember|store|save)\b)|"
    r"忘|删|清|抹|去掉|取消|作废|别|不要|不用|不必|不许|勿"
)


def _topic(part: str) -> Topic:
    """The telling words of a clause without those that order and point."""
    plain = compiled(_ORDERING).sub(" ", part)
    words = _telling(plain)
    owner = compiled(_OWNER).search(part)
    of_whom = _telling(next(filter(None, owner.groups()))) if owner is not None else frozenset[str]()
    of_whom |= words & _WHICH
    names = of_whom if words - of_whom else frozenset[str]()
    own = re.search(r"(?i)\b(?:my|our|I|we)\b|我|咱", part) is not None
    return Topic(words, names, own=own)


_OWNER = (
    r"\b(?:my|our)\s+(\w+)\s+(?:has|had|is|was|does|did|goes|went|wants)\b|"
    r"\b([A-Z]\w+)(?:'s\b|'\s|\s+asks?\b|\s+wants?\b)|^([\u3400-\u9fff]{1,4}里)有"
    r"|([\u3400-\u9fff]{1,3}(?:先生|女士|老师|师傅|阿姨|叔叔))(?!的?(?:事|信息|资料|话))"
)


def _telling(text: str) -> frozenset[str]:
    return whole_words(frozenset(query_words(f"{text} {_SMALL}")).difference(query_words(_SMALL)) - USER)


_WHICH = frozenset(query_words("new old current former latest previous 新 旧 新的 旧的 现在 原来 以前"))
"""Words that only say which one is meant."""

_ORDERING = (
    r"(?i:\b(?:please|kindly|forget|delete|remove|erase|drop|wipe|strike|withdraw|clear|scrub|purge|leave|out\s+of|everything|anything|whatever|"
    r"all\s+of\s+(?:that|it)|all|from\s+(?:your|the)\s+(?:memory|memories|records?|notes?|file|book)|(?:of|in)\s+your\s+memory|"
    r"from\s+now\s+on|what\s+I\s+(?:ever\s+)?(?:told|said)(?:\s+to)?(?:\s+you)?|"
    r"you\s+(?:don't|do\s+not)\s+(?:need|have)\s+to\s+(?:know|remember)|(?:you\s+)?(?:know|remember)|stop\s+remembering|"
    r"(?:don't|do\s+not)\s+(?:keep|store|save|remember)|about|details?|information|info|business|stuff|thing|including|"
    r"asks?\s+us\s+to|wants?\s+us\s+to|is\s+confidential|talk)\b)|"
    r"把|请|麻烦|帮我|先(?=别|不)|也|都|全|再|以后|"
    r"(?:忘(?:掉|记|了)?|删(?:掉|除|了)?|清(?:掉|除|空|了)?|抹(?:掉|去)?|去掉|取消|作废)(?:了)?(?:吧|啊)?|"
    r"(?:别|不要|不用|不必|不许|勿)(?:再)?(?:记|留|存|出现|提)?(?:着|住|了|下|录)?|"
    r"(?:的)?(?:那|这)(?:件|条|个|些|单|事)?(?:事情?)?|相关的?|的?(?:事情?|信息|记录|资料|话|情况)(?=$|\s|[^\w]|都|你|先|别|不|他|她|删)"
)
_SMALL = (
    "please forget delete remove everything user memory records file them that it mind changed told said whatever "
    "none your now confidential 忘掉 删除 事 那个 这个 那条 信息 记录 相关 他的 她的 它的 别留 不要 别记"
)


def queries(topic: Topic) -> Iterator[str]:
    """What to search for."""
    if topic.words:
        yield " ".join(sorted(topic.words))
    yield from (word for word in sorted(topic.words) if re.search(r"\w", word))
