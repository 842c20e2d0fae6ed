"""Take a prompt's block apart: each line with what it rests on, and what was left out with the reason."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from memorybook.prompt.block import words_of
from memorybook.prompt.recall import Built, build
from memorybook.prompt.select import may_be_shown
from memorybook.results import BlockLine, LeftOut, Preview
from memorybook.search.types import place_of
from memorybook.text.tokens import count_tokens

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.search.types import Hit, Passage

Reason = Literal["suspect", "superseded", "archived", "repeated", "question", "budget"]

_REPEATED = 0.8
"""Share of a hit's words that stand in one line of the block, from which it says nothing else."""


def preview(context: Context, query: str, *, max_tokens: int) -> Preview:
    """Build a block without counting it as used; see `Memory.preview`."""
    built = build(context, query, max_tokens=max_tokens)
    books = (built, *built.others)
    return Preview(
        built.text,
        built.tokens,
        built.has_relevant,
        tuple(line for one in books for line in _lines(one)),
        tuple(left for one in books for left in _left_out(one)),
        max_tokens,
    )


def _lines(built: Built) -> Iterator[BlockLine]:
    """Yield the lines of the block in order, those of the frame too."""
    named = list(built.block.lines)
    shown = "\n".join(line for _, line, _ in named)
    before, _, after = built.block.text.partition(shown) if shown else ("", "", "")
    if before:
        yield BlockLine("frame", before.strip("\n"), count_tokens(before))
    for part, line, number in named:
        target, relevance = "", None
        if part == "written":
            target = "MEMORY.md"
        elif part == "standing" and number >= 0:
            target = built.always[number].id
        elif number >= 0:
            hit = built.hits[number]
            target, relevance = _target(hit.passage), hit.relevance
        kind = "frame" if line.startswith("\n") else part
        yield BlockLine(kind, line.strip("\n"), count_tokens(line), target, relevance)  # type: ignore[arg-type]
    if after:
        yield BlockLine("frame", after.strip("\n"), count_tokens(after))


def _left_out(built: Built) -> Iterator[LeftOut]:
    """Yield the hits that are not told, best first."""
    told = {_target(built.hits[number].passage) for number in built.block.found}
    told |= {built.always[number].id for number in built.block.standing}
    lines = [words_of(line) for part, line, _ in built.block.lines if not line.startswith("\n")]
    for hit in built.answer.hits:
        target = _target(hit.passage)
        if target not in told:
            told.add(target)
            yield LeftOut(hit.passage.text, target, _reason(hit, lines), hit.relevance)


def _reason(hit: Hit, lines: list[frozenset[str]]) -> Reason:
    passage = hit.passage
    if not may_be_shown(passage):
        return "suspect"
    if passage.state == "superseded":
        return "superseded"
    words = words_of(passage.text)
    if words and any(len(words & line) >= _REPEATED * len(words) for line in lines):
        return "repeated"
    if passage.state == "archived":
        return "archived"
    return "question" if passage.asks else "budget"


def _target(passage: Passage) -> str:
    """Return what `get` opens: the entry that a turn was kept as, else its turn, else lines of a document."""
    if passage.entry:
        return passage.entry
    if passage.source == "turn":
        return f"turn:{passage.session}/{passage.turn}"
    return place_of(passage)
