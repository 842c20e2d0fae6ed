"""What a text says in so many words: whether it asks for a time, or speaks of one."""

# No `from __future__ import annotations`: it is not needed, and this is on the path of a cold search.
from itertools import pairwise

from memorybook.search.types import Passage
from memorybook.search.weights import Weights

LONGEST_NAME = 40
"""Of a speaker, characters, where a line of a summary begins with one."""

READ = 80
"""How many of the best candidates are read."""

_MARKS = dict.fromkeys(
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
    """The words in lower case, without the marks around them.

    >>> words_as_written("When, in May 2023?")
    ['when', 'in', 'may', '2023']
    """
    return text.lower().translate(_MARKS).split()


def asks_when(question: str) -> bool:
    """Whether a question, English or Chinese, asks for a time.

    >>> asks_when("When did Ann move?"), asks_when("安什么时候搬的家"), asks_when("Where does Ann live?")
    (True, True, False)
    """
    words = words_as_written(question)
    if "when" in words or not _WHEN.isdisjoint(pairwise(words)) or ("many" in words and _how_many(words)):
        return True
    return not question.isascii() and any(asked in question for asked in _WHEN_ZH)


def _how_many(words: list[str]) -> bool:
    return any(words[at : at + 2] == ["how", "many"] and words[at + 2] in _HOW_MANY for at in range(len(words) - 2))


def is_about_talk(question: str) -> bool:
    """Whether it is asked what was asked or said, so that an earlier question may be the answer.

    >>> [is_about_talk(text) for text in ("What did I ask about tea?", "我问过茶吗", "谁是我的法律顾问？")]
    [True, True, False]
    """
    if not _ABOUT_TALK.isdisjoint(words_as_written(question)):
        return True
    return not question.isascii() and any(words in question for words in _ABOUT_TALK_ZH)


def spoken(line: str) -> tuple[str, str]:
    """(who, text) of a line of a summary, `who` with its colon; "" if it names nobody.

    >>> spoken("User: I leave at six."), spoken("用户：我六点走。"), spoken("I leave at six.")
    (('User: ', 'I leave at six.'), ('用户：', '我六点走。'), ('', 'I leave at six.'))
    """
    end = min((at + len(colon) for colon in _COLONS if 0 < (at := line.find(colon)) <= LONGEST_NAME), default=0)
    return line[:end], line[end:]


def moment(passage: Passage, weights: Weights) -> float:
    """For a passage that says when; of use only if the question asks that."""
    says = _says_when_in_chinese(passage.text) or _says_when(words_as_written(passage.text))
    return weights.moment if says else 0.0


def _says_when(words: list[str]) -> bool:
    return not TIMES.isdisjoint(words) or any(_is_date(word) for word in words if word[0].isdigit())


def _is_date(word: str) -> bool:
    """Whether a word that begins with a digit is a year or the number of a day."""
    return word.rstrip("stndrh").isdecimal() if word[-2:] in _ORDINAL else len(word) == 4 and word[:2] in _CENTURY


def _says_when_in_chinese(text: str) -> bool:
    if text.isascii():
        return False
    if any(time in text for time in TIMES_ZH) or ("前" in text and _says_ago(text)):
        return True
    return any(
        before[-1] in _HAN_DIGITS for unit in "年月日号点" if unit in text for before in text.split(unit)[:-1] if before
    )


def _says_ago(text: str) -> bool:
    """Whether there is something like 三天前, 半年前 or 两个月前."""
    return any(
        ago == "前" and unit in "天周月年" and before in "两几半个" + _HAN_DIGITS
        for before, unit, ago in zip(text, text[1:], text[2:], strict=False)
    )
