"""The one context of a turn: this session so far, what was recalled, what is remembered; bounded, each thing once."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from memorybook.prompt.block import WORDING
from memorybook.search.snippets import CLOSE, OPEN, fenced
from memorybook.sessions import recall_block
from memorybook.sessions.dialogue import echo_key
from memorybook.text.sentences import sentences
from memorybook.text.tokens import count_tokens, normalise, query_words

MAX_TOKENS = 4_000
"""Size of a context, unless the settings say otherwise."""

_SUMMARY = {"en": "=== Summary of this session ===", "zh": "=== 当前会话摘要 ==="}

_FRAME = frozenset(
    {OPEN, CLOSE}
    | {word for one in WORDING.values() for word in (one.title, one.data)}
    | {word for one in recall_block.WORDING.values() for word in (one.title, one.data)}
)

_HEADINGS = ("written", "standing", "found", "unsure")

_TITLES: dict[str, tuple[float, dict[str, str]]] = {
    line: (level, words)
    for level, words in (
        *(
            (1.0, {key: getattr(one, name) for key, one in WORDING.items()})
            for name in ("written", "standing", "found", "unsure")
        ),
        (1.5, {key: one.unsure for key, one in recall_block.WORDING.items()}),  # all sessions stand below these two
        (1.5, {key: one.elsewhen for key, one in recall_block.WORDING.items()}),
    )
    for line in words.values()
}
"""Fixed lines that stand above others: the level of each, as of a heading its `#` are, and what it is by language."""

_ITEM = re.compile(r"[-*] (?:\[[^\]]{1,40}\] )?(?P<said>.*?)(?: \((?P<place>[^()\s]{3,})\))?$")
_QUOTABLE = 12
"""Characters from which a text counts as said where a longer one holds it."""

_FEWEST, _ECHOED = 3, 0.6
"""Words from which on a sentence may be an echo, and the share of them that was recalled if it is one."""

_SPEAKER = re.compile(r"[^:：]{1,40}[:：] ")


class Context(NamedTuple):
    """What a prompt is given besides the talk itself.

    Attributes:
        text: The block between its markers; "" if there is nothing to say.
        tokens: Estimated size of `text`.
        left_out: How many lines had no place.
    """

    text: str = ""
    tokens: int = 0
    left_out: int = 0


def context(
    summary: str,
    recalled: Sequence[str],
    long_term: str,
    *,
    said: Iterable[str] = (),
    language: str = "en",
    max_tokens: int = MAX_TOKENS,
    whole: bool = False,
) -> Context:
    """One block of all that a turn should know, marked as data and within a bound, each statement in it once.

    What is remembered comes first, for it changes least from turn to turn; then what was recalled; then what this
    session was about so far. A third of the room is the summary's if it needs it, the rest goes to what is remembered,
    and what is left of it to what was recalled. Lines are left out from the end of each.

    Args:
        summary: Of the part of this session that the prompt does not show; "" if it shows all.
        recalled: Blocks of recalled sessions and turns, the most wanted first; markers and titles of their own go.
        long_term: The block of the provider, likewise.
        said: What the prompt shows anyway: the messages of the talk.
        language: Of the fixed words, `en` or `zh`.
        max_tokens: Of the block, markers included; at least 1.
        whole: Whether `long_term` is never cut, whatever its size: then only the rest is bounded.
    """
    wording = WORDING[language]
    seen = [("", normalise(text)) for text in said]
    frame = [OPEN, wording.title, wording.data, CLOSE]
    room = max(0, max_tokens - _cost(frame))
    now = _summary(summary, room // 3, language)
    seen += [("", _words(line)) for line in (" ".join(now[2:]), *now[2:]) if line]
    room -= _cost(now)
    known, cut_known = _fitting(_once(_lines(long_term, language), seen), None if whole else room)
    room -= _cost(known)
    found = [line for text in recalled for line in _once(_lines(text, language), seen, quoted=True)]
    title = ["", recall_block.WORDING[language].title] if found else []
    before, cut_past = _fitting([*title, *found], max(0, room))
    body = [*known, *before, *now]
    if not body:
        return Context(left_out=cut_known + cut_past)
    text = "\n".join([*frame[:3], *body, CLOSE])
    return Context(text, count_tokens(text), cut_known + cut_past)


def _summary(summary: str, room: int, language: str) -> list[str]:
    """The summary under its title, cut to the room; [] if there is none, or no room for a piece of it."""
    title = ["", _SUMMARY[language]]
    text = shortened("\n".join(filter(None, map(fenced, summary.splitlines()))), room - _cost(title))
    return [*title, *text.split("\n")] if text else []


def echoes(reply: str, given: Iterable[str]) -> list[str]:
    """Of the sentences of a reply those that say again what stands in one line of what was recalled, as `echo_key`."""
    lines = [set(query_words(text)) for block in given for text in re.split(r'[\n"]', block)]
    found = []
    for sentence in sentences(reply):
        words = set(query_words(sentence.text))
        if len(words) >= _FEWEST and any(len(words & line) >= _ECHOED * len(words) for line in lines):
            found.append(echo_key(sentence.text))
    return found


def shortened(text: str, room: int) -> str:
    """The text, or the longest beginning of it that fits so many tokens, with … at its end; "" if none does."""
    if count_tokens(text) < room:
        return text
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(text[:middle] + "…") < room:
            low = middle
        else:
            high = middle - 1
    return text[:low].rstrip() + "…" if low else ""


def _lines(text: str, language: str) -> list[str]:
    """The lines of a text without its frame, fixed ones in the language, "" before each block that blank ones part."""
    lines = [""]
    for line in map(str.rstrip, text.splitlines()):
        if line.strip() and line.strip() not in _FRAME:
            fixed = _TITLES.get(line)
            lines.append(fixed[1][language] if fixed else line.replace("<!--", "<! --").replace("-->", "-- >"))
        elif lines[-1]:
            lines.append("")
    return lines if lines[-1] else lines[:-1]


def _level(line: str) -> float:
    """Of a heading the number of its `#`, of a fixed line what it counts as; 0 for any other line."""
    return _TITLES[line][0] if line in _TITLES else len(line) - len(line.lstrip("#"))


def _once(lines: Sequence[str], seen: list[tuple[str, str]], *, quoted: bool = False) -> list[str]:
    """The lines without what was seen before, nor titles of which nothing is left; adds to `seen`.

    Only items of lists are looked at; with `quoted` all that is not a title.
    """
    stay = [not line or bool(_level(line)) or _is_new(line, seen, quoted) for line in lines]
    for place in reversed(range(len(lines))):
        if level := _level(lines[place]):
            rest = range(place + 1, len(lines))
            below = [each for each in takewhile(lambda n: not 0 < _level(lines[n]) <= level, rest) if lines[each]]
            stay[place] = not below or any(stay[each] for each in below)
    left = [line for line, stays in zip(lines, stay, strict=True) if stays]
    return [line for line, after in zip(left, [*left[1:], ""], strict=False) if line or after]


def _item(line: str) -> re.Match[str] | None:
    """A line as an item of a list; None if it is none."""
    return _ITEM.match(" ".join(line.split()))


def _words(text: str) -> str:
    """What somebody said, without who, as it is compared."""
    return normalise(_SPEAKER.sub("", text, count=1).strip("…"))


def _is_new(line: str, seen: list[tuple[str, str]], quoted: bool) -> bool:
    """Whether an item says what was not seen yet, by (place, words); without `quoted` lines that are no items do."""
    item = _item(line)
    if item is None and not quoted:
        return True
    said, place = (item["said"], item["place"] or "") if item is not None else (line, "")
    told, words = normalise(said.strip("…")), _words(said)
    for where, known in seen:
        if known in (words, told) or (len(words) >= _QUOTABLE and words in known):
            return False
        if place and where == place and known in words:  # of the same turn, a piece
            return False
    seen.append((place, words))
    return True


def _fitting(lines: Sequence[str], room: int | None) -> tuple[list[str], int]:
    """The first lines that fit, and how many were left out; with None all fit."""
    if room is None:
        return list(lines), 0
    end = bisect_right(range(len(lines) + 1), room, key=lambda count: _cost(lines[:count])) - 1
    while 0 < end < len(lines) and _leads_on(lines[end - 1], next(filter(None, lines[end:]), "")):
        end -= 1
    return list(lines[:end]), sum(map(bool, lines[end:]))


def _leads_on(line: str, following: str) -> bool:
    """Whether a line says nothing without the one that follows it: a blank, or a title of it."""
    return not line or (_level(line) > 0 and not 0 < _level(following) <= _level(line))


def _cost(lines: Sequence[str]) -> int:
    return count_tokens("\n".join(lines)) + len(lines) if lines else 0
