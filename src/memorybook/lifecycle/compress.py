"""A conversation of more than 8,000 tokens, shortened chunk by chunk so that one extraction sees all of it.

Each chunk of it becomes lines that still name their turns: what rests on them is grounded against the turns as they
were said, so that a compression can lose something but not invent anything. One extraction of the shortened whole
rather than one a chunk: a fact that comes up at both ends of a long talk, or is taken back at its end, is seen as
one; and the number of calls stays bounded, eight and one, however long the talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.errors import LLMFailed
from memorybook.lifecycle import prompts, talk
from memorybook.lifecycle.candidate import Audience
from memorybook.lifecycle.cues import find, is_event
from memorybook.lifecycle.sentences import Sentence, content_size, sentences
from memorybook.lifecycle.talk import MOST_TOKENS, Piece
from memorybook.text.tokens import count_tokens

if TYPE_CHECKING:
    from memorybook.protocols import LLM
    from memorybook.replies import Usage

MOST_CALLS = 8
"""Chunks of a talk; of a longer one than they hold, the most telling sentences go in."""

_PAUSE = timedelta(minutes=30)
"""Silence after which something else is talked of."""

MOST_FAILED = 2
"""Parts that a model may fail to shorten before it is asked for no more of them."""

_OVERHEAD = 12
"""Tokens that alias, time and speaker take before each piece."""


class Compressed(NamedTuple):
    """A talk that fits into one call.

    Attributes:
        pieces: The shortened pieces, in order, at most 8,000 tokens.
        usage: What it took; None if no model was asked.
        left_out: How much of the talk no model shortened and was left out, and why; "" if nothing.
    """

    pieces: tuple[Piece, ...]
    usage: Usage | None = None
    left_out: str = ""


def compress(
    pieces: Sequence[Piece], *, llm: LLM | None, now: datetime, language: prompts.Language, limit: int = MOST_TOKENS
) -> Compressed:
    """The pieces in at most `limit` tokens; as they are if they fit.

    Chunks end where the session changes, else after a silence, else between turns. A chunk that the model does not
    shorten as asked (it failed, or nothing in its answer could be used) is shortened by taking its most telling
    sentences; after two of them so are all that follow, so that a budget is left to extract with. So is all of it
    without `llm`, and a talk of more than eight chunks.
    """
    if _size(pieces) <= limit:
        return Compressed(tuple(pieces))
    if llm is None:
        return Compressed(tuple(telling(pieces, limit)))
    most = limit * MOST_CALLS
    fitting = pieces if _size(pieces) <= most else telling(pieces, most)
    parts = list(chunks(fitting, ceil(_size(fitting) / limit)))
    share = limit // len(parts)
    kept: list[Piece] = []
    usage: Usage | None = None
    failed, lost = 0, _said(pieces) - _said(fitting)
    for part in parts:
        shortened, spent = _shortened(part, llm, now, language, share) if failed < MOST_FAILED else (None, None)
        if shortened is None:
            shortened = telling(part, share)
            failed, lost = failed + 1, lost + _said(part) - _said(shortened)
        kept += shortened
        usage = usage + spent if usage is not None and spent is not None else spent or usage
    reasons = [f"more than {most:,} are not given to a model"] * (fitting is not pieces)
    reasons += [f"the model did not shorten {failed} of {len(parts)} parts"] * bool(failed)
    return Compressed(tuple(kept), usage, _left_out(lost, _said(pieces), reasons))


def _left_out(lost: int, whole: int, reasons: Sequence[str]) -> str:
    if lost <= 0:
        return ""
    part = f"about {max(100, round(lost, -2)):,} of the talk's {round(whole, -2):,} tokens were left out"
    return f"{part}, its least telling sentences: {', and '.join(reasons)}"


def _said(pieces: Sequence[Piece]) -> int:
    return sum(count_tokens(piece.text) for piece in pieces)


def _size(pieces: Sequence[Piece]) -> int:
    return _said(pieces) + _OVERHEAD * len(pieces)


def chunks(pieces: Sequence[Piece], count: int) -> Iterator[list[Piece]]:
    """The pieces in at most `count` stretches of about as many tokens, each ended where the talk turns.

    It turns, best first: at another session, after half an hour of silence, before somebody's own turn; looked for
    within a quarter of a stretch from where it would end by size.
    """
    ends = list(accumulate(_size([piece]) for piece in pieces))
    step = ends[-1] / count
    start = 0
    for number in range(1, count):
        aim = step * number
        near = [place for place in range(start + 1, len(pieces)) if abs(ends[place - 1] - aim) <= step / 4]
        if near:
            end = max(near, key=lambda place: (_turning(pieces, place), -abs(ends[place - 1] - aim)))
            yield list(pieces[start:end])
            start = end
    yield list(pieces[start:])


def _turning(pieces: Sequence[Piece], place: int) -> int:
    """How much of a break there is before a piece, 0 to 3."""
    before, after = pieces[place - 1].turns[-1], pieces[place].turns[0]
    if before.session != after.session:
        return 3
    if before.time is not None and after.time is not None and after.time - before.time >= _PAUSE:
        return 2
    return 1 if after.role in ("user", "") else 0


# --- by a model ----------------------------------------------------------------------------------


def _shortened(
    part: Sequence[Piece], llm: LLM, now: datetime, language: prompts.Language, share: int
) -> tuple[list[Piece] | None, Usage | None]:
    """A chunk as a model shortens it, None if it does not; and what that took."""
    from memorybook.replies import Form

    form = Form(
        name="shorten",
        description=prompts.COMPRESS_FORM[language],
        schema=prompts.COMPRESS_SCHEMA,
        read=lambda value: read_lines(value, part),
    )
    messages = [
        {"role": "system", "content": prompts.COMPRESS[language].format(tokens=share * 3 // 4)},
        {"role": "user", "content": talk.shown(part, now=now, chinese=language == "zh")},
    ]
    try:
        reply = llm.complete(messages, form=form)
    except LLMFailed as failed:
        return None, failed.usage
    return _within(reply.data, share), reply.usage


def read_lines(value: Any, part: Sequence[Piece]) -> list[Piece]:
    """The pieces that an answer keeps of a chunk, in the order of the talk; lines of no turn in it are passed over.

    Raises:
        ValueError: No line can be used.
    """
    lines = value.get("lines") if isinstance(value, Mapping) else value
    kept: dict[int, list[str]] = {}
    for line in lines if isinstance(lines, list) else ():
        turn, text = (line.get("turn"), line.get("text")) if isinstance(line, Mapping) else (None, None)
        place = _place(turn, len(part))
        if place is not None and isinstance(text, str) and text.strip():
            kept.setdefault(place, []).append(" ".join(text.encode("utf-8", "replace").decode().split()))
    if not kept:
        raise ValueError("`lines` holds no line with the alias of a turn (t1, …) and a text")
    return [Piece(part[place].turns, " ".join(kept[place])) for place in sorted(kept)]


def _place(alias: Any, count: int) -> int | None:
    """Which piece an alias such as `t3` means, from 0."""
    if not isinstance(alias, str) or not alias.isascii():
        return None
    digits = alias.strip().lower().removeprefix("t")
    return int(digits) - 1 if digits.isdigit() and len(digits) < 7 and 1 <= int(digits) <= count else None


def _within(pieces: list[Piece], share: int) -> list[Piece]:
    """A model's pieces, or the most telling of them if it did not keep to its share."""
    return pieces if _size(pieces) <= share else telling(pieces, share)


# --- without one ---------------------------------------------------------------------------------


class _Line(NamedTuple):
    place: int
    start: int
    text: str
    worth: float
    tokens: int


def telling(pieces: Sequence[Piece], limit: int) -> list[Piece]:
    """The most telling sentences of the pieces, at most `limit` tokens of them, in the order of the talk.

    People's sentences with a cue go first, then events, then those with names and numbers and what they say of
    themselves, then their other statements; an assistant's last, a tool's never.
    """
    lines = [line for place, piece in enumerate(pieces) for line in _lines(place, piece)]
    room = limit * 99 // 100  # tokens of a whole are not quite the sum of those of its sentences
    taken: dict[int, list[_Line]] = {}
    for line in sorted(lines, key=lambda line: (-line.worth, line.place, line.start)):
        cost = line.tokens + (0 if line.place in taken else _OVERHEAD)
        if cost <= room:
            room -= cost
            taken.setdefault(line.place, []).append(line)
    return [
        Piece(pieces[place].turns, " ".join(line.text for line in sorted(taken[place], key=lambda one: one.start)))
        for place in sorted(taken)
    ]


def _lines(place: int, piece: Piece) -> Iterator[_Line]:
    turn = piece.turns[0]
    found = sentences(piece.text) if turn.role != "tool" else ()
    for sentence in found:
        worth = _worth(sentence, piece.text, turn.role)
        yield _Line(place, sentence.start, sentence.text, worth, count_tokens(sentence.text))


def _worth(sentence: Sentence, said: str, role: str) -> float:
    """How likely a sentence holds what is worth keeping."""
    if role == "assistant":
        return 0.5 if _TELLING.search(sentence.text) else 0.2
    kind: Audience = "agent" if role == "user" else "people"
    cue = find(sentence.text, talk=kind, dated=True)
    if cue is not None and cue.kind != "fact":
        return 4.0
    if is_event(sentence.text):
        return 3.0
    size = content_size(sentence.text)
    worth = min(size, 24) / 24 + (1.0 if _TELLING.search(sentence.text) else 0.0)
    if _OWN.search(sentence.text):
        worth += 0.7
    return worth * (0.3 if sentence.question or size < 4 else 1.0)


_OWN = re.compile(r"\b(?:I|I'\w+|[Mm]y|[Mm]ine|[Ww]e|[Oo]ur)\b|[我咱]")
"""The speaker speaks of themselves."""

_TELLING = re.compile(r"\d|(?<=[a-z,] )[A-Z][a-z]|[「《`]")
"""A number, a name that does not begin the sentence, or a term in quotation marks."""
