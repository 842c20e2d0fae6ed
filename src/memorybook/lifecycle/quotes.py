"""The words a candidate rests on, found in the turns as they were said."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from memorybook.lifecycle.candidate import Candidate
from memorybook.lifecycle.hints import compiled
from memorybook.lifecycle.names import squeezed
from memorybook.lifecycle.sentences import is_chinese, prose, sentences
from memorybook.model import Turn
from memorybook.text.tokens import query_words, tokens

ALIKE = 0.75
"""Share of a quote's words that a sentence must have to be what was quoted."""

WIDTH = 300
"""Characters of a sentence that is taken for a quote."""


class Quote(NamedTuple):
    """Words that were said, and the turns that they make a candidate rest on besides its own."""

    text: str
    turn_ids: tuple[str, ...] = ()


def found_quote(one: Candidate, own: Sequence[Turn], near: Sequence[Turn], turns: Sequence[Turn]) -> Quote | None:
    """The candidate's quote, found or replaced by the best sentence of its turns; None if none says anything of it.

    A quote may be shortened with an ellipsis, and differ in case, spaces and marks. If it stands in another turn of
    the talk, or only a turn beside its own ones speaks of it, the candidate rests on that one too.
    """
    if one.quote:
        if any(stands_in(one.quote, turn.text) for turn in own):
            return Quote(one.quote)
        other = next((turn for turn in turns if stands_in(one.quote, turn.text)), None)
        if other is not None:
            return Quote(one.quote, (other.id,))
        text, share, _ = _nearest(one.quote, own)
        if share >= ALIKE:
            return Quote(text)
    text, share, _ = _nearest(one.content, own)
    if share == 0:
        beside, share, id = _nearest(one.content, near)
        if share > 0:
            return Quote(beside, (id,))
    foreign = text and is_chinese(one.content) != is_chinese(text)
    return Quote(text) if share > 0 or foreign or one.reinforces else None


def stands_in(quote: str, text: str) -> bool:
    """Whether a quote, or each part of one that is shortened with an ellipsis, stands in a text, in order."""
    whole, place = squeezed(text), 0
    parts = [part for part in (squeezed(part) for part in re.split(r"\.{3,}|…+|\[…\]", quote)) if part]
    for part in parts:
        place = whole.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return bool(parts)


def _nearest(wanted: str, turns: Iterable[Turn]) -> tuple[str, float, str]:
    """The sentence that has most of the words wanted, their share 0..1, and its turn; "", 0 and "" if there is none."""
    words = {word for word in query_words(wanted) if compiled(r"[^\W\d_]").search(word)}
    words |= set(compiled("[\u3400-\u9fff]").findall(wanted)) - _PARTICLES
    best = "", 0.0, ""
    for turn in turns:
        for text in _sentences(turn.text):
            share = len(words & set(tokens(text))) / (len(words) or 1)
            if not best[0] or share > best[1]:
                best = text[:WIDTH], share, turn.id
    return best


_PARTICLES = frozenset("的了是在我你您他她它们和与就都也这那有不")


def _sentences(text: str) -> list[str]:
    """The sentences of a text; its lines where it has none, as code and output do not."""
    found = [text[sentence.start : sentence.end] for sentence in sentences(text)]
    if not found or not prose(text).strip():
        found += [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    return found
