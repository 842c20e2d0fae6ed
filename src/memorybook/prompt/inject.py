"""Blocks as values: the numbered `## Relevant Memory` for a question, and the preview of a prompt's block.

The first takes half from the session, half from the whole book. The second gives each line with what it rests on, and
what was left out with the reason.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook import validate as given
from memorybook.prompt.block import WORDING, statements, words_of
from memorybook.prompt.handwritten import snapshot
from memorybook.prompt.recall import WORTH_A_LOOK, Built, build, redacted_text, with_unique_ids
from memorybook.prompt.select import Selection, may_be_shown
from memorybook.results import BlockLine, Preview
from memorybook.results import LeftOut as LeftOutHit
from memorybook.search.search import RELEVANT
from memorybook.search.tool_results import CLOSE, OPEN, fenced
from memorybook.search.types import Hit, Passage, Query, place_of
from memorybook.text.tokens import count_tokens, language_of, normalise

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.search.types import Hit, Passage

POOL = 200
"""Hits of each search; what was left out is counted among these."""

_TITLE = {"en": "## Relevant Memory", "zh": "## 相关记忆"}


class LeftOut(NamedTuple):
    """Counts of what a block left out though a reader might want it.

    Attributes:
        below: Hits below the threshold that are worth a look (relevance from 0.3).
        best: The highest relevance among them, 0..1; 0 if there are none.
        over: Hits over the limit that reach the threshold.
    """

    below: int = 0
    best: float = 0.0
    over: int = 0

    def told(self, threshold: float, limit: int, language: str = "en") -> str:
        """Return a message such as `2 more below 0.70 (best 0.52)`; "" if nothing was left out."""
        chinese = language == "zh"
        parts = []
        if self.below:
            words = "另有 {} 条低于 {:.2f}（最高 {}）" if chinese else "{} more below {:.2f} (best {})"
            parts.append(words.format(self.below, threshold, _two_decimals(self.best)))
        if self.over:
            words = "另有 {} 条超出 {} 条的上限" if chinese else "{} more over the limit of {}"
            parts.append(words.format(self.over, limit))
        return ("；" if chinese else "; ").join(parts)


class Injected(NamedTuple):
    """A block for a prompt, and its sources.

    Attributes:
        text: The block between its markers; "" if no memory reaches the threshold.
        tokens: Estimated size of `text`.
        memories: The hits in it, best first; the block numbers them from 1.
        threshold: Least relevance of a memory, 0..1; age and score of an entry do not count.
        limit: Most memories.
        has_relevant: Whether any hit, shown or not, is relevant to the question.
        cut: What was left out.
        language: Language of the block, `en` or `zh`.
        state: State of the index, see `search.types.Answer`.
        disabled: True if memory is switched off and nothing was searched.
    """

    text: str
    tokens: int
    memories: tuple[Hit, ...]
    threshold: float
    limit: int
    has_relevant: bool
    cut: LeftOut
    language: str
    state: Mapping[str, Any]
    disabled: bool = False

    def json(self) -> dict[str, Any]:
        """Return `{"text", "tokens", "memories": [{"number", "type", "score", …}], "threshold", "cut", …}`.

        The `score` of a memory is the one that the block shows: its relevance.
        """
        told = self.cut.told(self.threshold, self.limit, self.language)
        return {
            "text": self.text,
            "tokens": self.tokens,
            "memories": [
                {"number": number, "type": type_of(hit.passage), **hit.json(), "score": round(hit.relevance, 4)}
                for number, hit in enumerate(self.memories, 1)
            ],
            "threshold": self.threshold,
            "max_memories": self.limit,
            "has_relevant": self.has_relevant,
            "cut": {"below_threshold": self.cut.below, "over_limit": self.cut.over, "told": told},
            "disabled": self.disabled,
            "index": dict(self.state),
        }


def retrieve_and_inject(
    context: Context,
    query: str,
    session_id: str | None = None,
    *,
    min_score: float | None = None,
    max_memories: int | None = None,
) -> Injected:
    """See `Memory.retrieve_and_inject`.

    Half of the places, rounded up, go to the best hits of the session, whatever their relevance. The others go to the
    best of the whole book: by default half of the places whatever their relevance, and more from the setting
    `inject_min_score` on; with `min_score`, only hits that reach it. Places that one half leaves the other takes.
    Each statement appears once, in search order. Suspect text and tool output are left out; superseded entries appear
    as their successors, with "(previously: …)". Entries in the block count as used.
    """
    config = context.config
    query = given.words_of(query)
    least = given.relevance_of(min_score, config.inject_min_score)
    limit = given.size_of(max_memories, config.max_memories, name="max_memories")
    session_id = session_id or None
    if not config.enabled:
        off = {"fresh": True, "backend": "", "checked_files": 0, "pending_vectors": 0, "degraded": []}
        return Injected("", 0, (), least, limit, False, LeftOut(), "en", off, disabled=True)
    everything = context.book.search(Query(query, pool=POOL), limit=POOL)
    found = _showable(context, query, everything.hits)
    own = _showable(context, query, _searched(context, query, session_id)) if session_id else []
    first = [hit for hit in found[: (limit + 1) // 2] if hit.relevance > 0] if min_score is None else []
    fit = [hit for hit in found if hit.relevance >= least or hit in first]
    chosen = limit_hits(without_repetitions([*own, *fit]), own, limit)
    below = [hit.relevance for hit in found if WORTH_A_LOOK <= hit.relevance < least and hit not in chosen]
    cut = LeftOut(len(below), max(below, default=0.0), max(0, len(fit) - len(chosen)))
    language = language_of(config.language, [query, *(hit.snippet for hit in chosen)])
    text = ""
    if chosen:
        text = block(with_unique_ids(context.book, chosen), cut.told(least, limit, language), language=language)
    used = [hit.passage.entry for hit in chosen if hit.passage.entry]
    if used:
        context.book.count_access(used, query=redacted_text(config, query), session=session_id)
    relevant = everything.has_relevant or any(hit.relevance >= RELEVANT for hit in own)
    tokens = count_tokens(text) if text else 0
    return Injected(text, tokens, tuple(chosen), least, limit, relevant, cut, language, everything.state)


def _searched(context: Context, query: str, session: str) -> Sequence[Hit]:
    return context.book.search(Query(query, pool=POOL, session=session), limit=POOL).hits


def _showable(context: Context, query: str, found: Sequence[Hit]) -> list[Hit]:
    """Return the hits that may be told, best first, each after those that it must not be shown without."""
    page = snapshot(context.book)
    chosen = Selection(
        found,
        query,
        entries={entry.id: entry for entry in context.book.entries()},
        replaced=page.replaced(),
        turns=context.book.turns,
        wording=WORDING[language_of(context.config.language, [query])],
    )
    numbers = dict.fromkeys(number for group in chosen.ranked() for number in (*group[1:], group[0]))
    return [chosen.hits[number] for number in numbers]


def without_repetitions(hits: Iterable[Hit]) -> list[Hit]:
    """Return the hits without repetitions; of those that say the same, the first stays."""
    texts: list[str] = []
    kept = []
    for hit in hits:
        if not all(any(text in other for other in texts) for text in statements(hit)):
            texts.append(normalise(hit.snippet))
            kept.append(hit)
    return kept


def limit_hits(hits: Sequence[Hit], own: Sequence[Hit], limit: int) -> list[Hit]:
    """Return at most `limit` hits in order: up to half of them, rounded up, of the session's own, then the best."""
    taken = [hit for hit in hits if hit in own][: (limit + 1) // 2]
    taken += islice((hit for hit in hits if hit not in taken), limit - len(taken))
    return [hit for hit in hits if hit in taken]


def block(hits: Sequence[Hit], cut: str, *, language: str) -> str:
    """Format the hits as `[1] [type] (score: 0.83) text (where)`, marked as data; `cut` says what is missing."""
    lines = [f"[{number}] {_line(hit)}" for number, hit in enumerate(hits, 1)]
    note = [f"（{cut}）" if language == "zh" else f"({cut})"] if cut else []
    return "\n".join([OPEN, _TITLE[language], WORDING[language].data, *lines, *note, CLOSE])


def _line(hit: Hit) -> str:
    p = hit.passage
    who = f"{fenced(p.speaker)}: " if p.speaker and p.source == "turn" else ""
    day = f"{p.date}, " if p.date else ""
    return f"[{type_of(p)}] (score: {_two_decimals(hit.relevance)}) {who}{fenced(hit.snippet)} ({day}{place_of(p)})"


def _two_decimals(relevance: float) -> str:
    """Format with two decimals, rounded down, so that it never seems to pass a threshold."""
    return f"{int(relevance * 100 + 1e-9) / 100:.2f}"


def type_of(passage: Passage) -> str:
    """Return the category of an entry, else the kind of passage: `note`, `summary`, `document`, `turn`."""
    return passage.category or passage.source


# --- preview --------------------------------------------------------------------------------------


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


def _left_out(built: Built) -> Iterator[LeftOutHit]:
    """Yield the hits that are not told, best first."""
    told = {_target(built.hits[number].passage) for number in built.block.found}
    told |= {built.always[number].id for number in built.block.standing}
    lines = [words_of(line) for part, line, _ in built.block.lines if not line.startswith("\n")]
    for hit in built.answer.hits:
        target = _target(hit.passage)
        if target not in told:
            told.add(target)
            yield LeftOutHit(hit.passage.text, target, _reason(hit, lines), hit.relevance)


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
