"""The one context of a turn: this session so far, what was recalled, what is remembered; bounded, each thing once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memorybook.recall import past
from memorybook.recall.format import CLOSE, OPEN, WORDING, fenced
from memorybook.text.tokens import count_tokens, normalise

MAX_TOKENS = 4_000
"""Size of a context, unless the settings say otherwise."""

_SUMMARY = {"en": "=== Summary of this session ===", "zh": "=== 当前会话摘要 ==="}

_FRAME = frozenset(
    {OPEN, CLOSE}
    | {word for one in WORDING.values() for word in (one.title, one.data)}
    | {one.data for one in past.WORDING.values()}
)

_ITEM = re.compile(r"[-*] (?:\[[^\]]{1,40}\] )?(?P<said>.*?)(?: \((?P<place>[^()\s]{3,})\))?$")
_QUOTABLE = 12
"""Characters from which a text counts as said where a longer one holds it."""

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
    room -= _cost(now)
    known, cut_known = _fitting(_once(_blocks(long_term), seen), None if whole else room)
    room -= _cost(known)
    found = [block for text in recalled for block in _once(_blocks(text), seen)]
    before, cut_past = _fitting(found, max(0, room))
    body = [*known, *before, *now]
    if not body:
        return Context(left_out=cut_known + cut_past)
    text = "\n".join([*frame[:3], *body, CLOSE])
    return Context(text, count_tokens(text), cut_known + cut_past)


def _summary(summary: str, room: int, language: str) -> list[str]:
    """The summary under its title, cut to the room; [] if there is none, or no room for a piece of it."""
    title = ["", _SUMMARY[language]]
    text = shortened(fenced(summary), room - _cost(title))
    return [*title, text] if text else []


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


def _blocks(text: str) -> list[list[str]]:
    """The lines of a text without its frame, in blocks as blank lines part them."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines():
        if not line.strip() or line.strip() in _FRAME:
            blocks.append([])
        else:
            blocks[-1].append(line.rstrip().replace("<!--", "<! --").replace("-->", "-- >"))
    return [block for block in blocks if block]


def _once(blocks: Iterable[list[str]], seen: list[tuple[str, str]]) -> list[list[str]]:
    """The blocks without items that were seen before, nor titles of which no item is left; adds to `seen`."""
    kept = []
    for block in blocks:
        lines = [line for line in block if _is_new(line, seen)]
        if lines and (len(lines) == len(block) or any(map(_item, lines))):
            kept.append(lines)
    return kept if any(not line.startswith("#") for block in kept for line in block) else []


def _item(line: str) -> re.Match[str] | None:
    """A line as an item of a list; None if it is none."""
    return _ITEM.match(" ".join(line.split()))


def _is_new(line: str, seen: list[tuple[str, str]]) -> bool:
    """Whether an item says what was not seen yet, by (place, words); lines that are no items are new."""
    item = _item(line)
    if item is None:
        return True
    place = item["place"] or ""
    told = normalise(item["said"].strip("…"))
    words = normalise(_SPEAKER.sub("", item["said"], count=1).strip("…"))
    for where, known in seen:
        if known in (words, told) or (len(words) >= _QUOTABLE and words in known):
            return False
        if place and where == place and known in words:  # of the same turn, a piece
            return False
    seen.append((place, words))
    return True


def _fitting(blocks: Sequence[list[str]], room: int | None) -> tuple[list[str], int]:
    """The lines that fit, a blank line before each block, and how many were left out; with None all fit."""
    kept: list[str] = []
    count = sum(map(len, blocks))
    for block in blocks:
        for place, line in enumerate(block):
            more = ["", line] if place == 0 else [line]
            if room is not None and _cost([*kept, *more]) > room:
                if place == 1 and len(block) > 1:  # a title alone says nothing
                    kept, count = kept[:-2], count + 1
                return kept, count
            kept += more
            count -= 1
    return kept, count


def _cost(lines: Sequence[str]) -> int:
    return count_tokens("\n".join(lines)) + len(lines) if lines else 0
