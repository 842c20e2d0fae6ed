"""Split what a person said in their own words into sentences: no code, logs, quotations or recalled text.

What is not prose is replaced by spaces of the same length, so that a sentence is a span of the
original text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from memorybook.text.tokens import is_chinese


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """Return the pattern of a rule, compiled when a text first needs it."""
    return re.compile(pattern)


RECALLED = "<!-- memorybook:recalled -->"
RECALLED_END = "<!-- /memorybook:recalled -->"

_LONG_QUOTE = 40
"""Characters from which a quotation is somebody else's text and not a name or a term."""

MAX_LENGTH = 600
"""Characters of a sentence that somebody said; a longer one is a pasted text."""


class Sentence(NamedTuple):
    """One sentence of a text: its words in one line, where it starts, and whether it asks."""

    text: str
    start: int
    end: int
    question: bool


def without_recalled(text: str) -> str:
    """Return `text` without what recall had put into it; an unclosed block goes to the end."""
    if RECALLED not in text:
        return text
    return re.sub(f"(?s){re.escape(RECALLED)}.*?(?:{re.escape(RECALLED_END)}|$)", "", text)


@lru_cache(maxsize=256)  # a turn's are asked for twice, by extraction and summary
def sentences(text: str) -> tuple[Sentence, ...]:
    """Yield the sentences of the prose in `text`; without code, logs, long quotations and picture captions."""
    return tuple(_cut(prose(text)))


def prose(text: str) -> str:
    """Return `text` with everything that is not the speaker's own prose blanked; the length stays."""
    for hints, pattern in _FOREIGN:
        if any(hint in text for hint in hints):
            text = compiled(pattern).sub(lambda found: _blank(found[0]), text)
    return "".join(_blank(line) if _is_machine(line) else line for line in text.splitlines(keepends=True))


_FOREIGN: tuple[tuple[tuple[str, ...], str], ...] = (
    ((RECALLED,), f"(?s){re.escape(RECALLED)}.*?(?:{re.escape(RECALLED_END)}|$)"),
    (("```", "~~~"), r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"),
    (("<",), r"(?s)<(script|style|pre|code|details)\b(?:(?!<\1\b).)*?</\1>|<!--(?:(?!<!--).)*?-->"),
    ((">",), r"(?m)^[ \t]*>.*$"),
    (
        ("「", "“", '"'),
        rf"「[^「」]{{{_LONG_QUOTE},}}」|“[^“”]{{{_LONG_QUOTE},}}”"
        rf'|(?:(?<=[:：\s])|^)"[^"]{{{_LONG_QUOTE},}}"(?=[\s，。,.]|$)',
    ),
    (("[",), r"\[(?:shares?|sends?|shared|sent)[^\[\]]*\]|!\[[^\[\]]*\]\([^()]*\)"),
)
"""What is not a person's prose, each with literals of which a text must hold one."""


_QUOTED = '"[^"\\n]{2,400}"|“[^“”]*”|「[^「」]*」|『[^『』]*』'


def quotations(text: str) -> list[tuple[int, int]]:
    """Find quoted words, from four on or in the first person: shorter quotations are names and terms."""
    found = compiled(_QUOTED).finditer(text)
    own = r"(?i)\b(?:I|my|we|our)\b|我"
    return [one.span() for one in found if content_size(one[0]) >= 4 or re.search(own, one[0]) is not None]


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)


@cache
def _machine() -> re.Pattern[str]:
    return re.compile(
        r"""\s*(?:
            [\w.\-]+=\S*\s*$                                   # DB_HOST=127.0.0.1
          | [\w.\-]+:(?:\s+\S+)?\s*$                            # apiVersion: v1
          | [$#>%]\s?[\w./~-]+(?:\s|$)                          # a shell's prompt
          | (?:curl|git|docker|sudo|npm|pnpm|pip|kubectl|cd|ls|export|SELECT|INSERT|UPDATE|ALTER|CREATE)\s+[^,，。]*$
          | Traceback\s | \s*File\s"[^"]+",\sline | \s*at\s[\w.$]+\( # stack traces
          | \[?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d:\d\d[^，。]*$       # a log's line
          | (?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b[:\s\]]
          | [\w$.\[\]]+\s*(?::=|==|\+=|=>|->)\s
          | (?:func|def|class|import|from|return|const|let|var|if|for|while|public|private)\b.*[{;:(]\s*$
          | [{}()\[\];,"'\s]*$
          | \|.*\|\s*$
        )""",
        re.X,
    )


def _is_machine(line: str) -> bool:
    """Return whether a line was written by or for a machine."""
    text = line.strip()
    if not text:
        return False
    return bool(_machine().match(text)) or (len(text) >= 20 and len(_ODD.findall(text)) > 0.2 * len(text))


_ODD = re.compile(r"""[{}\[\]()<>=;|\\$&*^~`"'/_]""")


_CLOSING = "[\"'”’」』)）]*\\s*"
_STOP = rf"(?<=[。！？!?；…])[。！？!?；…]*{_CLOSING}|(?<=\.)\.*(?=[\s\"'”’)]|$){_CLOSING}|(?<=\n)\n*"
_END = rf"[。！？!?；….\n](?:{_STOP})"
_END_OR_DASH = rf"[。！？!?；….\s](?:{_STOP}|(?<=[a-z]\s)\s*[-–—]{{1,2}}\s+(?=I\b))"
"""Where a sentence ends. The first character is of one class, so that a search may skip all the others."""


def _cut(blanked: str) -> Iterator[Sentence]:
    start = 0
    dashes = "-" in blanked or "–" in blanked or "—" in blanked
    for found in compiled(_END_OR_DASH if dashes else _END).finditer(blanked):
        if found[0].startswith(".") and _abbreviates(blanked, found.start()):
            continue
        yield from _sentence(blanked, start, found.end())
        start = found.end()
    yield from _sentence(blanked, start, len(blanked))


def _abbreviates(text: str, dot: int) -> bool:
    """Return whether the dot ends an abbreviation or a list number, and not a sentence."""
    before = text[max(0, dot - 12) : dot]
    if not before or before[-1].isspace():
        return False
    word = before.split()[-1]
    return (
        word.lower() in ("mr", "mrs", "ms", "dr", "st", "e.g", "i.e", "etc", "vs", "no", "approx")
        or (len(word) == 1 and word.isupper() and word != "I")
        or (word.isdigit() and re.search(r"(?:\A|\n)[ \t]*\d+\Z", before) is not None)
    )


def _sentence(blanked: str, start: int, end: int) -> Iterator[Sentence]:
    words = blanked[start:end]
    start, end = start + len(words) - len(words.lstrip()), end - (len(words) - len(words.rstrip()))
    if start >= end:
        return
    line = " ".join(words.split())
    if not line[0].isalpha():
        bullet = _BULLET.match(line)
        line = line[bullet.end() :] if bullet else line
    if _WORD.search(line):
        yield Sentence(line, start, end, is_question(line))


_BULLET = re.compile(r"(?:[-*+•·]|\d+[.)、])\s+")
_WORD = re.compile(r"\w")

_MARKED = r"[?？][\"'”’」）)]*$"
_ASKS = (
    r"(?i:(?:what|where|who|why|how|which|can|could|would|will|do|does|did|is|are|was|were|should|shall|have you|"
    r"has)\s+(?:i|you|we|he|she|it|they|that|this|there|the|your|my|about|come)\b"
    r"|(?:please\s+)?remind\s+me\s+(?:again\s+|of\s+|about\s+)*(?:(?:what|where|who|whose|which|how|why|whether)\b"
    r"|when\b[^,]*\b(?:is|was|are|were)[\s.!]*$))"
)
_BE_OR_DO = r"(?:do|does|did|is|are|am|was|were|can|could|should|will|would|have|has|had)"
_ASKS_WHAT = (
    rf"(?i:(?:(?:what|when|where|who|why|how)(?:['’]s|\s+{_BE_OR_DO})|"
    rf"(?:what|whose|how|which)\s+(?:(?!(?:i|you|we|they|he|she|it|the|an?)\b)\w+\s+){{1,2}}?{_BE_OR_DO})"
    r"\s+(?:i|you|we|he|she|it|they|this|there|the|your|my|our|his|her|their)\b)"
)
"""The beginning of a question whose mark was left out: the verb goes before who does it."""
_ASKS_INSIDE = rf"[，,：:]\s*{_ASKS}"
_ORDERS = r"\s*(?:(?:请|麻烦|拜托|帮我)+你?(?:忘|删|抹|记住)|忘掉|[删抹][掉除去]|记住)"
_TAG = r"(?:[吗呢没]|(?<!什)么)[。.!！~～\s]*$"
_ASKS_CHINESE = (
    r"(?:吗|么|呢|来着|没有|不|嘛|[对是]吧)$|(?P<same>[\u4e00-\u9fff])不(?P=same)|什么|(?<!不)怎么|为啥|为何|为什么|"
    r"哪(?:[个些里天儿种]|$)|几[天个点号]?$|多少|是不是|能不能|要不要|可不可以|有没有|会不会|好不好|行不行|靠谱不|咋|谁(?!来?都)|[吗呢][？?，,]|如何"
)


def is_question(text: str) -> bool:
    """Return whether a sentence asks, with or without a question mark."""
    if ("?" in text or "？" in text) and compiled(_MARKED).search(text):
        return True
    if compiled(_ORDERS).match(text) and not compiled(_TAG).search(text):  # 忘掉合同哪天到期: it asks nothing
        return False
    if compiled(_ASKS).match(text) or compiled(_ASKS_WHAT).match(text) or compiled(_ASKS_INSIDE).search(text):
        return True
    return is_chinese(text) and compiled(_ASKS_CHINESE).search(text.rstrip(" 。.!！~～")) is not None


def clauses(text: str) -> list[str]:
    """Return the parts of a sentence between commas, colons kept with what follows them."""
    return [part for part in re.split(r"(?<=[，,；;])\s*", text) if part.strip()]


def statement_in(sentence: Sentence) -> str:
    """Return what a sentence states: all of it, or of a Chinese one that asks the clauses that do not; "" if none."""
    if not sentence.question:
        return sentence.text
    if not is_chinese(sentence.text):
        return ""
    kept = [clause for clause in clauses(sentence.text) if not is_question(clause.rstrip("，,；; "))]
    return "".join(kept).rstrip("，,；; ")


def content_size(text: str) -> int:
    """Return how much a text says: words, a Han character counting as half of one."""
    words = len(_LATIN_WORD.findall(text))
    return words if text.isascii() else words + (len(_HAN.findall(text)) + 1) // 2


_HAN = re.compile(r"[\u3400-\u9fff]")
_LATIN_WORD = re.compile(r"[A-Za-z0-9][\w'’.+-]*")
