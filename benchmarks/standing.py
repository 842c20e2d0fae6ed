"""What stands in a text: turns of a conversation and answers to questions, judged from the text alone.

A text is judged line by line, so that the block of any system is judged alike; nothing a system returns beside its
text counts. Of a line, the date in square brackets at its beginning is its stamp, `(turn:…)` or `(PATH#L1-L2)` at its
end is dropped, and what is left is what it says. A line without a stamp has that of the nearest line above that
is no list item and holds a date.

Texts are compared in NFKC and without case, punctuation, apostrophes and English articles; number words are digits
(three = 3, twice = 2, 三个 = 3个). Content words are those of `memorybook.text.tokens.query_words`: stemmed, without
stop words; Chinese as characters and bigrams.

- A turn stands in a text if one line holds 80 % of its content words; a turn with fewer than four must stand there
  whole. (So what a snippet cuts off may be a fifth.)
- An answer is said in it if one line holds it whole, or if 80 % of its parts are there: parts are what commas, full
  stops and "and" divide, and a part is there if one line holds it whole, or 80 % of its content words. Of an answer
  with semicolons each piece must be said; what it says from "because" or "since" on is not asked for.
- A date ("7 May 2023", "2024年04月13日 周六 19:00", "June 2023") is said if a line says that day, month or year in any
  common form, and the time of day if there is one; a stamp is not said. A date told by another ("The week before
  9 June 2023") must be said whole.
- Never said are yes, no, a bare count ("twice", "4个") and what the question itself names (a choice): any line could
  hold them.
- An answer stands in it if each piece is said, or follows because all relevant turns stand there: so do yes and no,
  counts, and answers in other words than the conversation's. A date follows only if each of these turns is on a line
  stamped with its own day, or with the date itself: else nobody could tell when "yesterday" was.

Too kind: a short answer ("beach") may be said in a line that is about something else; `chance` in
`benchmarks/answers.py` says how often. A text that is one long line would be judged too kindly. Too strict: a line that
tells a turn in other words, or only what matters of it, is no evidence; the answer may be said there all the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from memorybook.text.tokens import query_words, tokens

SHARE = 0.8
"""Of the content words of a turn or a part of an answer, and of an answer's parts."""

FEW = 4
"""Content words of a turn; one with fewer must be there whole."""

Date = tuple[int | None, int | None, int | None]
"""Year, month, day; None is not said."""

_WORD = re.compile(r"[\u2e80-\uffff]|(?:(?![\u2e80-\uffff])[^\W_])+")
_ARTICLES = frozenset(("a", "an", "the"))
_NUMBERS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine ten eleven twelve".split())
} | {"once": "1", "twice": "2"}
_NUMBER = re.compile(rf"\b({'|'.join(_NUMBERS)})\b")
_CHINESE = {figure: str(number) for number, figure in enumerate("一二三四五六七八九十", 1)} | {"两": "2"}
_COUNTED = re.compile(r"(?<![一二两三四五六七八九十百千万])([一二两三四五六七八九十])(?=[个人位次天周月年岁种只])")
_SENTENCE = re.compile(r"(?<=[.!?。！？;；])\s*")

_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = (
    r"(?P<name>jan(?:[a-z]*r[a-z]*y)?|feb(?:r?uary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b"
)
_DAY = r"(?<![\d:])(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)(?!\d)"
_DATES = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?<!\d){_YEAR} ?[-/.年] ?(?P<month>\d\d?) ?[-/.月] ?(?P<day>\d\d?)(?!\d)日?",
        rf"{_DAY}[\s`]{{0,3}}(?:of )?{_MONTH}[\s,.]{{0,3}}{_YEAR}",
        rf"{_MONTH}\s?(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?!\d)[\s,.]{{1,3}}{_YEAR}",
        rf"{_MONTH}[\s,.]{{0,3}}{_YEAR}",
        rf"(?<!\d){_YEAR}(?:年|-(?=\d\d(?!\d)))(?P<month>\d\d?)月?(?![\d-])",
        r"(?<!\d)(?P<month>\d\d?)月(?P<day>\d\d?)[日号]?",
        rf"{_DAY}[\s`]{{0,3}}(?:of )?{_MONTH}",
        rf"{_MONTH}\s?(?P<day>[0-3]?\d)(?:st|nd|rd|th)?(?![\d:])",
        rf"(?<![\d.,]){_YEAR}年?",
    )
)
_TIME = re.compile(r"(?<!\d)([0-2]?\d):([0-5]\d)(?!\d)")
_WEEKDAY = re.compile(r"周[一二三四五六日1-6]|星期[一二三四五六日1-6]")
_PLAIN = re.compile(r"\b(?:on|in|since|around|of)\b|[\W_]+")
_TOLD_BY = re.compile(
    r"\b(?:\d|the|week|weeks|weekend|weekends|day|days|before|after|of|in|early|late|mid|first|last|summer|spring"
    r"|winter|autumn|fall|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b|[\W_]+"
)
_REASON = re.compile(r"[,;]\s*(?:because|since)\b.*", re.DOTALL)
_ASIDE = re.compile(r"\([^()]*\)")
_PIECES = re.compile(r"[;；\n]")
_PARTS = re.compile(r"[,，、。;；\n]|\. |\band\b|&")
_FOLLOWS = re.compile(r" (?:(?:likely |probably )?(?:yes|no)|\d+ ?(?:times|个|人|位|次|个 ?字)?) ")
_STAMP = re.compile(r"^[\s>*-]*\[([^\]]{4,40})\]")
_SOURCE = re.compile(r"\s*\((?:turn:[^()\s]+|[^()\s]+#L\d+(?:-L\d+)?)\)\s*$")


# --- texts ---------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """NFKC, without case and apostrophes, number words as digits."""
    low = unicodedata.normalize("NFKC", text).casefold().replace("’", "'").replace("'", "")
    low = _NUMBER.sub(lambda found: _NUMBERS[found[1]], low)
    return _COUNTED.sub(lambda found: _CHINESE[found[1]], low)


def folded(text: str) -> str:
    """The words, and each character of scripts without spaces, with a space before, between and after."""
    return f" {' '.join(word for word in _WORD.findall(plain(text)) if word not in _ARTICLES)} "


@lru_cache(maxsize=20_000)
def content_words(text: str) -> frozenset[str]:
    """Content words; sentence by sentence, because a question's are bounded in number."""
    return frozenset(word for part in _SENTENCE.split(plain(text)) for word in query_words(part))


def dates(text: str) -> frozenset[Date]:
    """The dates a text says, in any common form."""
    return _dates(plain(text))[0]


def _dates(low: str) -> tuple[frozenset[Date], str]:
    """The dates, and the text without them."""
    found: set[Date] = set()
    for pattern in _DATES:
        for match in pattern.finditer(low):
            given = match.groupdict()
            name = given.get("name")
            month = _MONTHS.index(name[:3]) + 1 if name else given.get("month")
            found.add((_number(given.get("year")), _number(month), _number(given.get("day"))))
        low = pattern.sub(" ", low)
    return frozenset(found), low


def _number(text: str | int | None) -> int | None:
    return None if text is None else int(text)


def times(text: str) -> frozenset[tuple[int, int]]:
    """The times of day that a text says as 19:00."""
    return frozenset((int(hour), int(minute)) for hour, minute in _TIME.findall(plain(text)))


# --- lines ---------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One line of a text.

    Attributes:
        folded: What it says, as `folded`.
        words: Its words, as `memorybook.text.tokens.tokens`.
        said: The dates it says.
        times: The times of day it says.
        stamp: The dates it is stamped with.
    """

    folded: str
    words: frozenset[str]
    said: frozenset[Date]
    times: frozenset[tuple[int, int]]
    stamp: frozenset[Date]


def lines_of(text: str) -> list[Line]:
    """The lines of a text that say something."""
    above: frozenset[Date] = frozenset()
    found = []
    for raw in text.splitlines():
        line = _line(raw)
        if not raw.lstrip().startswith(("-", "*")) and (line.said or line.stamp):
            above = line.said | line.stamp
        if line.words:
            found.append(line if line.stamp else line._replace(stamp=above))
    return found


@lru_cache(maxsize=20_000)
def _line(raw: str) -> Line:
    stamped = _STAMP.match(raw)
    stamp = dates(stamped[1]) if stamped else frozenset()
    body = _SOURCE.sub("", raw[stamped.end() :] if stamped and stamp else raw)
    return Line(folded(body), frozenset(tokens(plain(body))), dates(body), times(body), stamp)


def _holds(line: Line, text: str) -> bool:
    """Whether a line holds enough of the content words."""
    words = content_words(text)
    return bool(words) and len(words & line.words) >= SHARE * len(words)


# --- turns and answers ---------------------------------------------------------------------------


class Turn(NamedTuple):
    """A turn that is relevant to a question: what was said, and when."""

    text: str
    when: str = ""


def turn_lines(turn: Turn, lines: Sequence[Line]) -> list[Line]:
    """The lines in which a turn stands."""
    if len(content_words(turn.text)) >= FEW:
        return [line for line in lines if _holds(line, turn.text)]
    whole = folded(turn.text)
    return [line for line in lines if whole in line.folded]


def share_of(turns: Iterable[Turn], lines: Sequence[Line]) -> float:
    """Share of the turns that stand in the lines, percent."""
    found = [bool(turn_lines(turn, lines)) for turn in turns]
    return 100 * sum(found) / len(found)


def is_said(answers: Iterable[str], question: str, lines: Sequence[Line]) -> bool:
    """Whether the words of one of the answers are in the lines."""
    return any(all(_is_said(piece, question, lines) for piece in _pieces(answer)) for answer in answers)


def stands(answers: Iterable[str], question: str, turns: Sequence[Turn], lines: Sequence[Line]) -> bool:
    """Whether one of the answers is said in the lines or follows from them; `turns` are those it rests on."""
    return any(
        all(_is_said(piece, question, lines) or _follows(piece, turns, lines) for piece in _pieces(answer))
        for answer in answers
    )


def accepted(row: dict[str, str]) -> list[str]:
    """What is accepted as the answer: the first one, and the corrected one without its remarks in brackets."""
    return [str(row["answer"]), *([_ASIDE.sub("", str(row["corrected"]))] if row.get("corrected") else [])]


def _pieces(answer: str) -> list[str]:
    """What must be there, each; the whole answer if it is nothing but punctuation."""
    return [piece for piece in _PIECES.split(_REASON.sub("", answer)) if folded(piece).strip()] or [answer]


def _is_said(piece: str, question: str, lines: Sequence[Line]) -> bool:
    whole = folded(piece)
    if not whole.strip() or _FOLLOWS.fullmatch(whole) or whole in folded(question):
        return False
    found, exact = _as_date(piece)
    if exact:
        clock = times(piece)
        return any(clock <= line.times and all(_among(date, line.said) for date in found) for line in lines)
    if any(whole in line.folded for line in lines):
        return True
    parts = [part for part in _PARTS.split(piece) if folded(part).strip()]
    there = sum(any(folded(part) in line.folded or _holds(line, part) for line in lines) for part in parts)
    return not found and there >= SHARE * len(parts)


def _follows(piece: str, turns: Sequence[Turn], lines: Sequence[Line]) -> bool:
    found, _ = _as_date(piece)
    return all(any(not found or _is_dated(line, turn, found) for line in turn_lines(turn, lines)) for turn in turns)


def _as_date(piece: str) -> tuple[frozenset[Date], bool]:
    """The dates of an answer that is nothing else, and whether it names them itself; none of another answer."""
    found, rest = _dates(plain(piece))
    rest = _WEEKDAY.sub("", _TIME.sub("", rest))
    if not found or _TOLD_BY.sub("", rest):
        return frozenset(), False
    return found, not _PLAIN.sub("", rest)


def _is_dated(line: Line, turn: Turn, found: frozenset[Date]) -> bool:
    own = dates(turn.when)
    return any(_among(date, line.stamp) for date in (*own, *found)) or not own


def _among(date: Date, known: Iterable[Date]) -> bool:
    """Whether one of the known dates is this one, as far as this one says."""
    return any(all(mine in (None, theirs) for mine, theirs in zip(date, one, strict=True)) for one in known)
