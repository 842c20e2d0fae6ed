"""What a person said in their own words, cut into sentences: no code, no logs, no quotations, no echo.

Everything works by blanking: what is not prose becomes spaces of the same length, so that a
sentence found is a span of the text as it was said.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

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
    """`text` without what recall had put into it; an unclosed block goes to the end."""
    if RECALLED not in text:
        return text
    return re.sub(f"(?s){re.escape(RECALLED)}.*?(?:{re.escape(RECALLED_END)}|$)", "", text)


def is_chinese(text: str) -> bool:
    """Whether a text is rather Chinese: a Han character weighs as much as two Latin letters."""
    han = len(re.findall(r"[\u3400-\u9fff]", text))
    return han > 0 and han * 2 >= len(re.findall(r"[A-Za-z]", text)) * 0.6


def sentences(text: str) -> list[Sentence]:
    """The sentences of the prose in `text`, in order; without code, logs, long quotations and picture captions."""
    return list(_cut(text, prose(text)))


def prose(text: str) -> str:
    """`text` with everything that is not the speaker's own prose blanked; the length stays."""
    for pattern in _foreign():
        text = pattern.sub(_blank, text)
    return "".join(_blank_line(line) if _is_machine(line) else line for line in text.splitlines(keepends=True))


@cache
def _foreign() -> tuple[re.Pattern[str], ...]:
    return (
        re.compile(f"(?s){re.escape(RECALLED)}.*?(?:{re.escape(RECALLED_END)}|$)"),
        re.compile(r"(?ms)^[ \t]*(```|~~~).*?(?:^[ \t]*\1[ \t]*$|\Z)"),
        re.compile(r"(?s)<(script|style|pre|code|details)\b(?:(?!<\1\b).)*?</\1>|<!--(?:(?!<!--).)*?-->"),
        re.compile(r"(?m)^[ \t]*>.*$"),
        re.compile(
            rf"「[^「」]{{{_LONG_QUOTE},}}」|“[^“”]{{{_LONG_QUOTE},}}”"
            rf'|(?:(?<=[:：\s])|^)"[^"]{{{_LONG_QUOTE},}}"(?=[\s，。,.]|$)'
        ),
        re.compile(r"\[(?:shares?|sends?|shared|sent)[^\[\]]*\]|!\[[^\[\]]*\]\([^()]*\)"),
    )


def _blank(found: re.Match[str]) -> str:
    return _blank_line(found[0])


def _blank_line(text: str) -> str:
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
    """Whether a line was written by or for a machine."""
    text = line.strip()
    if not text:
        return False
    if _machine().match(text):
        return True
    odd = sum(1 for character in text if character in "{}[]()<>=;|\\$&*^~`\"'/_")
    return len(text) >= 20 and odd > 0.2 * len(text)


@cache
def _end() -> re.Pattern[str]:
    return re.compile(
        r"(?:[。！？!?；…]+|(?<!\.)\.+(?=[\s\"'”’)]|$))[\"'”’」』)）]*\s*|\n+|(?<=[a-z])\s+[-–—]{1,2}\s+(?=I\b)"
    )


def _cut(text: str, blanked: str) -> Iterator[Sentence]:
    start = 0
    for found in _end().finditer(blanked):
        if found[0].startswith(".") and _abbreviates(blanked, found.start()):
            continue
        yield from _sentence(text, blanked, start, found.end())
        start = found.end()
    yield from _sentence(text, blanked, start, len(blanked))


def _abbreviates(text: str, dot: int) -> bool:
    """Whether the dot ends an abbreviation or a list number, and not a sentence."""
    word = re.search(r"(\S+)$", text[max(0, dot - 12) : dot])
    return word is not None and (
        word[1].lower() in ("mr", "mrs", "ms", "dr", "st", "e.g", "i.e", "etc", "vs", "no", "approx")
        or (len(word[1]) == 1 and word[1].isupper() and word[1] != "I")
        or (word[1].isdigit() and re.search(r"(?:\A|\n)[ \t]*\d+\Z", text[max(0, dot - 12) : dot]) is not None)
    )


def _sentence(text: str, blanked: str, start: int, end: int) -> Iterator[Sentence]:
    words = blanked[start:end]
    start, end = start + len(words) - len(words.lstrip()), end - (len(words) - len(words.rstrip()))
    if start >= end:
        return
    own = blanked[start:end]
    line = " ".join(own.split())
    line = re.sub(r"^(?:[-*+•·]|\d+[.)、])\s+", "", line)
    if re.search(r"\w", line):
        yield Sentence(line, start, end, is_question(line))


@cache
def _asks() -> tuple[re.Pattern[str], re.Pattern[str]]:
    return (
        re.compile(
            r"[?？][\"'”’」）)]*$|(?:^|[，,：:]\s*)(?:what|when|where|who|why|how|which|can|could|would|will|do|does|"
            r"did|is|are|was|were|should|shall|have you|has)\s+"
            r"(?:i|you|we|he|she|it|they|that|this|there|the|your|my|about|come)\b",
            re.I,
        ),
        re.compile(
            r"(?:吗|么|呢|来着|没有|不|嘛)$|什么|怎么|为啥|为何|为什么|哪[个些里天儿种]|几[天个点号]?$|多少|是不是|能不能|"
            r"要不要|可不可以|有没有|会不会|好不好|行不行|靠谱不|咋|谁(?!来都)|[吗呢][？?，,]|如何"
        ),
    )


def is_question(text: str) -> bool:
    """Whether a sentence asks, with or without a question mark."""
    english, chinese = _asks()
    if english.search(text):
        return True
    return is_chinese(text) and chinese.search(text.rstrip(" 。.!！~～")) is not None


def clauses(text: str) -> list[str]:
    """The parts of a sentence between commas, colons kept with what follows them."""
    return [part for part in re.split(r"(?<=[，,；;])\s*", text) if part.strip()]


def told(sentence: Sentence) -> str:
    """What a sentence states: all of it, or of a Chinese one that asks the clauses that do not; "" if none."""
    if not sentence.question:
        return sentence.text
    if not is_chinese(sentence.text):
        return ""
    kept = [clause for clause in clauses(sentence.text) if not is_question(clause.rstrip("，,；; "))]
    return "".join(kept).rstrip("，,；; ")


def content_size(text: str) -> int:
    """How much a text says: words, a Han character counting as half of one."""
    return len(re.findall(r"[A-Za-z0-9][\w'’.+-]*", text)) + (len(re.findall(r"[\u3400-\u9fff]", text)) + 1) // 2
