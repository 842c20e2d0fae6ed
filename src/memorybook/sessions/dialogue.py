"""A conversation as a model is shown it: what may go in, under aliases, as data between markers.

No echo: what recall had put in is cut out again, and so is what a reply said again of it. What the system or
the program around the agent wrote is nobody's word and stays out, and so do turns that try to instruct whoever reads
them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NamedTuple
from zlib import crc32

from memorybook.entries.read_reply import Skipped
from memorybook.model import Turn
from memorybook.text.screen import screen
from memorybook.text.sentences import compiled, content_size, prose, sentences, without_recalled
from memorybook.text.tokens import count_tokens, is_chinese, normalise

OPEN, CLOSE = "<talk>", "</talk>"
"""Around the conversation; a text cannot write them itself, see `shown`."""

MOST_TOKENS = 8_000
"""Tokens of talk that a model is shown at once."""

_WIDTHS = {"tool": 500, "assistant": 2_000, "user": 4_000, "": 4_000}
"""Characters that are shown of a turn, by role: a tool's output is an outcome, not a statement."""

_BOOT = (
    r"(?s)<(system-reminder|system_instruction|environment_context|environment_details|user_instructions|"
    r"INSTRUCTIONS|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|task-notification|project_context)\b"
    r"[^>]*>(?:(?!<\1\b).)*?(?:</\1>|\Z)"
)
"""What programs around an agent write into a user's message: their own instructions, not the user's."""

_BOOT_FLAGS = ("boot", "isMeta", "isCompactSummary")
"""Fields of a turn's metadata by which its source says that nobody said it."""

ECHOES = "echoes"
"""Field of a turn's metadata: of its sentences those that only say again what recall had given, see `echo_key`."""

_TINY = 4
"""Words (a Han character is half of one) below which people's words hold nothing to extract."""

_SMALL = (
    r"(?i:^(?:(?:(?:hi|hey|hello)(?:\s+(?:there|again))?|good\s+(?:morning|evening|night|afternoon)|gm|gn|"
    r"thank\s+you(?:\s+(?:so|very)\s+much)?|thanks?(?:\s+(?:a\s+lot|so\s+much|again))?|thx|ty|cheers|ok(?:ay)?|k|np|lol|"
    r"sure|great|awesome|cool|wow|perfect|nice|bye|see\s+you(?:\s+(?:later|soon|then|tomorrow|around))?|yes|no|yep|nope|go\s+on|continue|got\s+it|"
    r"sounds?\s+good|please|how(?:\s+are\s+(?:you|things)|['’]s\s+(?:it\s+going|life))(?:\s+(?:today|doing))?|what['’]s\s+up|"
    r"are\s+you\s+there|can\s+you\s+help\s+me)(?:[\s,.!?~]+|$))+$)|"
    r"^(?:你好|您好|(?:早上|上午|中午|下午|晚上)好[呀啊]?|早[啊安]?|在吗|你好吗|你?最近(?:怎么样|好吗|如何)|"
    r"嗨|哈|好的?|好[吧嘞]|没(?:问题|事)了?|不客气|"
    r"谢谢[你啦了]?|谢[啦了]|多谢[啦了]?|再见|晚安|拜拜|继续|可以|行|嗯|收到|明白了?|知道了|辛苦[了啦]?|[\s，,。.！!？?~～…])+$"
)


_THEN = (
    r"(?:(?:昨|今|前|那)[天晚早日]?|大前天|上+一?个?(?:次|回|周|月|星期|礼拜)|[这本]个?(?:次|周|月)|周[一二三四五六日天末]|星期[一二三四五六日天]|"
    r"之前|以前|先前|刚才|刚(?!才)|最近|最后|都|又|一共|一起|在|[跟和对向给][你我]|你?还?记得|请问|告诉我|\d+[年月日号天]前?|[，,\s])*"
)
_OF_TALKS = (
    r"(?i:^(?:(?:and|so|ok|hey)[,\s]+)*(?:(?:can|could|do)\s+you\s+(?:remember|recall|tell\s+me)\s+)?"
    r"(?:what|which|where|who)(?:\s+(?:questions?|things?|topics?|else|all))?\s+(?:(?:did|had|have)\s+)?"
    r"(?:(?P<own>i)|we|you)(?:['’]ve)?\s+(?:(?:just|last|already)\s+)?"
    r"(?:ask(?:ed)?|say|said|tell|told|talk(?:ed)?|discuss(?:ed)?|chat(?:ted)?|spoke|speak|le(?:ave|ft)\s+off|stop(?:ped)?)"
    r"(?:\s+(?:me|you|about|of|to|with|before|earlier|last|the|this|time|week|month|night|other|day|in|"
    r"on|our|previous|conversation|session|chat|again|just|now|\w+day|\d+(?:st|nd|rd|th)?|"
    r"january|february|march|april|may|june|july|august|september|october|november|december|\w+\s+(?:day|week|month)s?\s+ago))*[\s?.!]*$)|"
    rf"^{_THEN}(?:(?P<own_zh>我)(?!们)|我们|咱们?俩?|你){_THEN}(?:问|聊|谈|说|讲|讨论)[了过到的]{{0,2}}[你我]?[了过]?[些到]?"
    r"(?:什么|啥|哪儿?里?|哪些)(?:问题|事|话题|东西|话|了|来着|呢|啊)*[\s？?。.!！]*$"
)


class Piece(NamedTuple):
    """A turn as shown to a model.

    Attributes:
        turns: The turns it stands for, unchanged.
        text: The text to show.
    """

    turns: tuple[Turn, ...]
    text: str


class Talk(NamedTuple):
    """The part of a conversation that may be shown, and the skipped turns with the reason."""

    pieces: tuple[Piece, ...]
    skipped: tuple[Skipped, ...]


def talk_of(turns: Iterable[Turn]) -> Talk:
    """Return what a model may see of these turns: no system or boot texts, recalled blocks or instructions to it.

    Long turns are cut in the middle, a tool's most. Texts are taken as redacted already.
    """
    pieces: list[Piece] = []
    skipped: list[Skipped] = []
    for turn in spoken(turns):
        reason = screen(turn.text)
        if reason is None:
            pieces.append(Piece((turn,), middle_out(turn.text, _WIDTHS[turn.role])))
        else:
            skipped.append(Skipped(turn.text[:200], reason))
    return Talk(tuple(pieces), tuple(skipped))


def stretches(turns: tuple[Turn, ...]) -> Iterator[tuple[Turn, ...]]:
    """Yield the turns in as few stretches of at most 8,000 tokens as possible, each for one call of a model."""
    start, size = 0, 0
    for place, turn in enumerate(turns):
        text = own_words(turn)
        cost = _OVERHEAD + count_tokens(middle_out(text, _WIDTHS[turn.role])) if text else 0
        if size and size + cost > MOST_TOKENS:
            yield turns[start:place]
            start, size = place, 0
        size += cost
    yield turns[start:]


_OVERHEAD = 12
"""Tokens that alias, time and speaker take before each turn."""


def spoken(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns with what their speakers said, without those in which nobody said anything."""
    for turn in turns:
        text = own_words(turn)
        if text:
            yield turn if text == turn.text else replace(turn, text=text)


def own_words(turn: Turn) -> str:
    """Return what a turn's speaker said; "" for the system, boot texts and what recall had put in."""
    if turn.role == "system" or any(turn.metadata.get(flag) for flag in _BOOT_FLAGS):
        return ""
    text = without_recalled(turn.text)
    if turn.metadata.get(ECHOES):
        for one in reversed(sentences(text)):
            if is_echo(turn, one.text):
                text = text[: one.start] + text[one.end :]
    if "<" in text:
        text = compiled(_BOOT).sub("", text)
    return _CONTROLS.sub("", text).encode("utf-8", "replace").decode().strip()


def echo_key(sentence: str) -> str:
    """Return the key of a sentence in its turn's metadata, which thereby holds no words of it."""
    return f"{crc32(normalise(sentence).encode('utf-8', 'surrogatepass')):08x}"


def is_echo(turn: Turn, sentence: str) -> bool:
    """Return whether a sentence of the turn only says again what recall had given."""
    echoes = turn.metadata.get(ECHOES)
    return isinstance(echoes, list | tuple) and echo_key(sentence) in echoes


_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


def is_small(text: str) -> bool:
    """Return whether a text is nothing but greetings, thanks and the like."""
    return compiled(_SMALL).match(text) is not None


def asks_of_talks(text: str) -> bool:
    """Return whether a sentence asks for earlier talk as such, on no subject.

    >>> [asks_of_talks(text) for text in ("What did I ask last time?", "我上次问了什么", "What did we say about tea?")]
    [True, True, False]
    """
    return compiled(_OF_TALKS).match(text.strip()) is not None


def asks_of_own_words(text: str) -> bool:
    """Return whether a sentence asks for earlier talk, namely what its writer said or asked.

    >>> [asks_of_own_words(text) for text in ("What did I ask last time?", "我昨天问了什么？", "Where were we?")]
    [True, True, False]
    """
    found = compiled(_OF_TALKS).match(text.strip())
    return found is not None and bool(found["own"] or found["own_zh"])


def is_worded(text: str) -> bool:
    """Return whether a text shows its speaker's language: one English word, `ok` or `Kafka?`, does not."""
    return is_chinese(text) or len(_WORD.findall(text)) > 1


_WORD = re.compile(r"[^\W\d_]+")


def is_tiny(pieces: Iterable[Piece]) -> bool:
    """Return whether people said next to nothing: greetings and thanks, or fewer than four words."""
    size = 0
    for piece in pieces:
        if piece.turns[0].role in ("user", "") and not is_small(piece.text):
            size += content_size(prose(piece.text))
    return size < _TINY


def language_of(pieces: Iterable[Piece]) -> Literal["en", "zh"]:
    """Return the main language of what people said, English or Chinese."""
    said = " ".join(piece.text for piece in pieces if piece.turns[0].role in ("user", ""))
    return "zh" if is_chinese(said[:20_000]) else "en"


_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


def shown(pieces: Sequence[Piece], *, now: datetime, chinese: bool, imported: bool = False) -> str:
    """Print the pieces between markers: a line for each day, then alias (from `t1` on), time and speaker before each.

    Days are counted in the timezone of `now`, which also dates turns without a time; of an import, the day of such a
    turn is unknown. Further lines of a text are indented and markers in it broken, so that no text can pass for
    another's turn.
    """
    lines = [OPEN]
    day = ""
    for number, piece in enumerate(pieces, 1):
        time = (piece.turns[0].time or now).astimezone(now.tzinfo)
        weekday = f"周{'一二三四五六日'[time.weekday()]}" if chinese else _DAYS[time.weekday()]
        today, hour = f"{time:%Y-%m-%d} {weekday}", f"{time:%H:%M} "
        if imported and piece.turns[0].time is None:
            today, hour = "日期不详" if chinese else "day unknown", ""
        if today != day:
            lines.append(today)
            day = today
        text = re.sub(r"<(?=\s*/?\s*talk\b)", "< ", piece.text, flags=re.I)
        body = "\n  ".join(line.rstrip() for line in text.splitlines() if line.strip())
        lines.append(f"t{number} {hour}{speaker_of(piece.turns[0])}: {body}")
    return "\n".join([*lines, CLOSE])


def speaker_of(turn: Turn) -> str:
    """Return who speaks, in one line: the name, with the role where there is one and it says more."""
    name = " ".join(turn.speaker.split())[:60]
    if not turn.role:
        return name or "?"
    return turn.role if name.lower() in ("", turn.role) else f"{name} ({turn.role})"


def middle_out(text: str, width: int) -> str:
    """Return `text`, or its beginning and end with a mark between them, `width` characters in all."""
    if len(text) <= width:
        return text
    head = width * 2 // 3
    return f"{text[:head].rstrip()} […] {text[head - width :].lstrip()}"
