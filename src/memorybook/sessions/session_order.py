"""Which session words of order mean: the last one, 上上次, the first, 第二次, the second of yesterday."""

from __future__ import annotations

from itertools import islice

from memorybook._light import TYPE_CHECKING, Iterable, NamedTuple, date, datetime, lazily
from memorybook.text.days.readers import days_of
from memorybook.text.tokens import number

if TYPE_CHECKING:
    import re

_TALK = r"(?:conversation|chat|session|discussion|talk|exchange|dialogue|call|time|one)s?"
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()
_COUNT = r"(?:\d{1,3}|one|two|three|four|five|six|seven|eight|nine|ten)"
_NAMED = f"(?:{'|'.join(_ORDINALS)})"
_NTH = "(?:" + "|".join(_ORDINALS) + r"|\d{1,3}(?:st|nd|rd|th))"
_HAN_NTH = "[0-9一二两三四五六七八九十]{1,3}"
_HAN_TALK = "(?:对话|会话|聊天|谈话|讨论|[次回场轮])"

_BACK = lazily(
    rf"(?i)\b(?:{_TALK}|the)\s+before\s+(?:our\s+|the\s+)?(?P<two>last|previous)\b"
    rf"|\blast\s+(?:{_TALK}\s+)?but\s+(?P<but>one|two)\b"
    rf"|\b(?P<nth>{_NTH})[\s-]+(?:to|from)[\s-]+(?:the\s+)?last\b|\b(?P<count>{_COUNT})\s+{_TALK}\s+(?:ago|back|before)\b"
    rf"|(?P<up>上{{2,}})一?{_HAN_TALK}|(?P<up2>上{{2,}})个(?:对话|会话|聊天)|倒数第(?P<from_end>{_HAN_NTH}){_HAN_TALK}?"
    rf"|(?:往前|倒回)[^，。]{{0,2}}(?P<steps>{_HAN_NTH}){_HAN_TALK}"
)
_FORTH = lazily(
    rf"(?i)\b(?P<nth>{_NTH})\s+(?:ever\s+|of\s+(?:our\s+|the\s+|those\s+)?)?{_TALK}\b|^\W*(?:the\s+)?(?P<bare>{_NAMED})\W*$"
    r"|\b(?:earliest|oldest|very\s+first)\b|\bthe\s+first\s+thing\b"
    rf"|第(?P<zh>{_HAN_NTH})个?{_HAN_TALK}|首次|头一[次回场]|最早|最初那?[次回场]"
)
_LAST = lazily(
    rf"(?i)\b(?:last|previous|prior|latest|preceding|(?:most\s+)?recent|past)\s+(?:ever\s+)?{_TALK}\b|\b(?:last|latest)\s+thing\b"
    rf"|^\W*(?:the\s+)?(?:last|latest|previous)\W*$|\b{_TALK}\s+before\s+(?:this|that|now)\b|\blast\s+(?:talk|speak|chat)"
    r"|\bleft\s+off\b|\bwhere(?:'d\s+we|\s+(?:did|were|had)\s+we|\s+(?:we|you)\s+(?:stopped|were|left|got))\b"
    r"|\b(?:continue|resume|pick\s+(?:\w+\s+)?up|carry\s+on)\b"
    rf"|上一?[次回场轮]|上一?个{_HAN_TALK}|(?:最近|最后)的?[那一]?{_HAN_TALK}|前一[次回场]"
    "|(?:停|断)[下开]?的?在?(?:地方|哪)|续上|接着|继续|没(?:聊|说|做|弄|谈)完"
)
_COUNTED = lazily(
    rf"(?i)\b(?:last|past|previous|latest|recent)\s+(?P<en>{_COUNT}|few|couple(?:\s+of)?|several)\s+(?:of\s+our\s+)?{_TALK}\b"
    rf"|(?:最近|最后|过去|近|前)的?这?(?P<zh>[0-9]{{1,2}}|几|[二两三四五六七八九十]{{1,3}})(?:[次场回轮段]|个(?:我们|咱们)?的?{_HAN_TALK})"
)
_SAYING = r"(?:message|question|request|prompt|input|turn|repl(?:y|ie)|answer|response|sentence|line|remark|thing)s?"
_START = lazily(
    r"(?i)\b(?:at|from|in)\s+the\s+(?:very\s+)?(?:start|beginning|outset|top)\b|\bto\s+(?:start|begin)\s+with\b"
    rf"|\b(?:first|initial|opening|original|earliest)\s+(?:\w+\s+)?{_SAYING}\b|\b(?:say|said|ask|asked)\s+first\b"
    "|一开始|最开始|开始时|开头|最初|最先|最早|起初|起头|头里|[第头]一[个条句轮次]"
)
_END = lazily(
    rf"(?i)\b(?:last|latest|previous|preceding|most\s+recent)\s+(?:\w+\s+)?{_SAYING}\b"
    r"|\bjust\s+(?:now|\w+ed|said|told|wrote|sent|gave)\b|\bdid\s+\w+\s+just\b"
    r"|\b(?:say|said|ask|asked)\s+last\b|\b(?:a|one)\s+(?:moment|minute|second)\s+ago\b"
    "|刚才|刚刚|方才|上一?[条句轮]|上一个(?:问题|回答|回复|答复)|最后[一那]?[个条句轮]|[我你]刚"
)
_SOME = {"couple": 2, "few": 3, "several": 5, "几": 3}
"""How many sessions words mean that give no number."""
_PARTS = (
    (lazily(r"(?i)\bmorning\b|[早晨]|上午"), range(4, 12)),
    (lazily(r"(?i)\bafternoon\b|下午|午后"), range(12, 18)),
    (lazily(r"(?i)\b(?:evening|night|tonight)\b|晚|夜"), (*range(17, 24), *range(4))),
    (lazily(r"(?i)\b(?:noon|lunch\w*)\b|中午"), range(11, 14)),
)


class Listed(NamedTuple):
    """A session to choose from.

    Attributes:
        uuid: What names it.
        name: By which it is shown; may be empty.
        started, ended: By the clock of the book; None where it is not known.
    """

    uuid: str
    name: str
    started: datetime | None
    ended: datetime | None


def pick(words: str, sessions: Iterable[Listed], today: date) -> tuple[str | None, str]:
    """The session that words of order or time mean, and why; None and "" if they name none.

    Args:
        words: In English or Chinese, a phrase or a whole question.
        sessions: Newest first, without the current one; read no further than must be.
        today: The day on which the words are said.

    >>> known = [Listed(str(day), "", datetime(2023, 5, day), None) for day in (11, 9, 2)]
    >>> [pick(words, known, date(2023, 5, 12))[0] for words in ("last time", "上上次", "the first one", "last Tuesday")]
    ['11', '9', '2', '9']
    """
    days, place = days_of(words, today), _place(words)
    if place is None and days is None:
        return None, ""
    at, why = place or (0, "the last")
    if days is None and at >= 0:
        one = next(islice(sessions, at, None), None)
        return (None, "") if one is None else (one.uuid, f"{why} session" if at == 0 else why)
    listed = list(sessions)
    if days is not None:
        listed = _at_hours(words, [one for one in listed if _overlaps(one, *days)])
    if not -len(listed) <= at < len(listed):
        return None, ""
    when = f" of {_told(*days)}" if days else ""
    return listed[at].uuid, f"{why} of {len(listed)} sessions{when}" if len(listed) > 1 else f"the only session{when}"


def those(words: str, sessions: Iterable[Listed], today: date) -> list[Listed]:
    """All sessions of the days that words name, and of the part of the day; none if they name no day.

    >>> known = [Listed(str(day), "", datetime(2023, 5, day), None) for day in (11, 9, 2)]
    >>> [len(those(words, known, date(2023, 5, 12))) for words in ("this week", "on May 2", "last time")]
    [2, 1, 0]
    """
    days = days_of(words, today)
    return [] if days is None else _at_hours(words, [one for one in sessions if _overlaps(one, *days)])


def names_place(words: str) -> bool:
    """Whether words say which session by its place: the last, 上上次, the first, to go on with where it ended."""
    return _place(words) is not None


def end_of(words: str) -> str:
    """The end of a talk at which the words say something was said, `start` or `end`; "" if they say neither.

    >>> [end_of(words) for words in ("my first message", "我刚才说了什么", "the budget")]
    ['start', 'end', '']
    """
    if _START.search(words):
        return "start"
    return "end" if _END.search(words) else ""


def without_end(words: str) -> str:
    """The words without those by which `end_of` knows the end."""
    return _END.sub(" ", _START.sub(" ", words))


def counted(words: str) -> int | None:
    """How many of the newest sessions the words mean, at least 1: "our last three conversations", 最近三次对话."""
    match = _COUNTED.search(words)
    if match is None:
        return None
    told = (match["en"] or match["zh"]).lower().split()[0]
    return max(1, _SOME.get(told) or number(told))


def _place(words: str) -> tuple[int, str] | None:
    """Its place, 0 for the newest and -1 for the oldest, and its words; None if none is told."""
    if match := _BACK.search(words):
        back = _steps(match)
        return (back - 1, "the last" if back == 1 else f"number {back} from the end") if back > 0 else None
    if match := _FORTH.search(words):
        english = match["nth"] or match["bare"]
        nth = _nth(english) if english else number(match["zh"]) if match["zh"] else 1
        return (-nth, f"number {nth}") if nth > 0 else None
    return (0, "the last") if _LAST.search(words) else None


def _steps(match: re.Match[str]) -> int:
    """How far back: 1 is the last."""
    if match["two"] or match["but"] or match["up"] or match["up2"]:
        return len(match["up"] or match["up2"] or "上上") + ((match["but"] or "").lower() == "two")
    if match["nth"]:
        return _nth(match["nth"])
    return number(match["count"] or match["from_end"] or match["steps"])


def _nth(text: str) -> int:
    text = text.lower()
    return _ORDINALS.index(text) + 1 if text in _ORDINALS else int(text[:-2])


def _overlaps(one: Listed, first: int, last: int) -> bool:
    began, ended = one.started or one.ended, one.ended or one.started
    return began is not None and ended is not None and began.toordinal() <= last and first <= ended.toordinal()


def _at_hours(words: str, listed: list[Listed]) -> list[Listed]:
    """Those of the part of the day that the words name, if there are any."""
    for pattern, hours in _PARTS:
        if pattern.search(words):
            listed = [one for one in listed if one.started and one.started.hour in hours] or listed
    return listed


def _told(first: int, last: int) -> str:
    ends = [date.fromordinal(day).isoformat() for day in dict.fromkeys((first, last))]
    return " to ".join(ends)
