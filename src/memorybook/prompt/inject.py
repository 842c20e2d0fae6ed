"""What a prompt should hold of the book for a question: half from the session, half from everything, numbered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import validate as given
from memorybook.prompt.block import WORDING, statements
from memorybook.prompt.handwritten import snapshot
from memorybook.prompt.recall import WORTH_A_LOOK, masked, named_apart
from memorybook.prompt.select import Selection
from memorybook.search.search import RELEVANT
from memorybook.search.tool_results import CLOSE, OPEN, fenced
from memorybook.search.types import Hit, Passage, Query, place_of
from memorybook.text.tokens import count_tokens, language_of, normalise

if TYPE_CHECKING:
    from memorybook.context import Context

POOL = 200
"""Hits of each search that are looked at; what is cut is counted among these."""

_TITLE = {"en": "## Relevant Memory", "zh": "## 相关记忆"}


class Cut(NamedTuple):
    """What was left out of a block, though a reader might have wanted it.

    Attributes:
        below: Hits under the threshold that are worth a look all the same (relevance from 0.3).
        best: The highest relevance among them, 0..1; 0 if there are none.
        over: Hits that reach the threshold and had no place.
    """

    below: int = 0
    best: float = 0.0
    over: int = 0

    def told(self, threshold: float, limit: int, language: str = "en") -> str:
        """In words, `2 more below 0.70 (best 0.52)`; "" if nothing was cut."""
        chinese = language == "zh"
        parts = []
        if self.below:
            words = "另有 {} 条低于 {:.2f}（最高 {}）" if chinese else "{} more below {:.2f} (best {})"
            parts.append(words.format(self.below, threshold, _shown(self.best)))
        if self.over:
            words = "另有 {} 条超出 {} 条的上限" if chinese else "{} more over the limit of {}"
            parts.append(words.format(self.over, limit))
        return ("；" if chinese else "; ").join(parts)


class Injected(NamedTuple):
    """A block for the prompt, and what it is made of.

    Attributes:
        text: The block between its markers; "" if no memory reaches the threshold.
        tokens: Estimated size of `text`.
        memories: The hits in it, best first; the numbers of the block are their places, from 1.
        threshold: Least relevance of a memory, 0..1. Age and score of an entry never count here.
        limit: Most memories.
        has_relevant: Whether anything, shown or not, is about the question: as in a search with that threshold.
        cut: What was left out.
        language: Of the block, `en` or `zh`.
        state: Of the index, see `hits.Answer`.
        disabled: True when memory is switched off: nothing was searched.
    """

    text: str
    tokens: int
    memories: tuple[Hit, ...]
    threshold: float
    limit: int
    has_relevant: bool
    cut: Cut
    language: str
    state: Mapping[str, Any]
    disabled: bool = False

    def json(self) -> dict[str, Any]:
        """`{"text", "tokens", "memories": [{"number", "type", "score", …}], "threshold", "has_relevant", "cut", …}`.

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
    """The block `## Relevant Memory` for a question, ready to be put into a prompt.

    Half of the places (the larger half) go to what the search ranks first in the session, whatever its relevance; the
    others to what it ranks first in the whole book: as many whatever their relevance, more from the setting
    `inject_min_score` on, or all of them from `min_score` on. What one half does not need the other takes.
    Each piece of evidence stands in it once, in the order of the search. What is suspect or told by a tool is left
    out; of what was replaced the block has what is true now, with "(previously: …)". Entries in it count as used.

    Args:
        query: What the user just said, in any language.
        session_id: Uuid or name of a session; one without memories, or None, leaves all places to the whole book.
        min_score: Lowest relevance of what is not of the session, 0..1; None as said above.
        max_memories: At most this many, 1..200; None takes the setting.

    Raises:
        InvalidInput: A blank query or a value out of range.
    """
    config = context.config
    query = given.words_of(query)
    least = given.relevance_of(min_score, config.inject_min_score)
    limit = given.size_of(max_memories, config.max_memories, name="max_memories")
    session_id = given.session_of(session_id)
    if not config.enabled:
        off = {"fresh": True, "backend": "", "checked_files": 0, "pending_vectors": 0, "degraded": []}
        return Injected("", 0, (), least, limit, False, Cut(), "en", off, disabled=True)
    everything = context.book.search(Query(query, pool=POOL), limit=POOL)
    found = _told(context, query, everything.hits)
    own = _told(context, query, _searched(context, query, session_id)) if session_id else []
    first = [hit for hit in found[: (limit + 1) // 2] if hit.relevance > 0] if min_score is None else []
    fit = [hit for hit in found if hit.relevance >= least or hit in first]
    chosen = halved(once([*own, *fit]), own, limit)
    below = [hit.relevance for hit in found if WORTH_A_LOOK <= hit.relevance < least and hit not in chosen]
    cut = Cut(len(below), max(below, default=0.0), max(0, len(fit) - len(chosen)))
    language = language_of(config.language, [query, *(hit.snippet for hit in chosen)])
    text = ""
    if chosen:
        text = block(named_apart(context.book, chosen), cut.told(least, limit, language), language=language)
    used = [hit.passage.entry for hit in chosen if hit.passage.entry]
    if used:
        context.book.count_access(used, query=masked(config, query), session=session_id)
    relevant = everything.has_relevant or any(hit.relevance >= RELEVANT for hit in own)
    tokens = count_tokens(text) if text else 0
    return Injected(text, tokens, tuple(chosen), least, limit, relevant, cut, language, everything.state)


def _searched(context: Context, query: str, session: str) -> Sequence[Hit]:
    return context.book.search(Query(query, pool=POOL, session=session), limit=POOL).hits


def _told(context: Context, query: str, found: Sequence[Hit]) -> list[Hit]:
    """What of the hits may be told, best first, with the latest word."""
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


def once(hits: Iterable[Hit]) -> list[Hit]:
    """Each statement once, in order; the first of those that say the same."""
    texts: list[str] = []
    kept = []
    for hit in hits:
        if not all(any(text in other for other in texts) for text in statements(hit)):
            texts.append(normalise(hit.snippet))
            kept.append(hit)
    return kept


def halved(hits: Sequence[Hit], own: Sequence[Hit], limit: int) -> list[Hit]:
    """At most `limit` hits, in their order: up to half of them, rounded up, of the session's own, then the best."""
    taken = [hit for hit in hits if hit in own][: (limit + 1) // 2]
    taken += islice((hit for hit in hits if hit not in taken), limit - len(taken))
    return [hit for hit in hits if hit in taken]


def block(hits: Sequence[Hit], cut: str, *, language: str) -> str:
    """The hits as `[1] [type] (score: 0.83) text (where)`, marked as data; `cut` says what is missing."""
    lines = [f"[{number}] {_line(hit)}" for number, hit in enumerate(hits, 1)]
    note = [f"（{cut}）" if language == "zh" else f"({cut})"] if cut else []
    return "\n".join([OPEN, _TITLE[language], WORDING[language].data, *lines, *note, CLOSE])


def _line(hit: Hit) -> str:
    p = hit.passage
    who = f"{fenced(p.speaker)}: " if p.speaker and p.source == "turn" else ""
    day = f"{p.date}, " if p.date else ""
    return f"[{type_of(p)}] (score: {_shown(hit.relevance)}) {who}{fenced(hit.snippet)} ({day}{place_of(p)})"


def _shown(relevance: float) -> str:
    """Two decimals, rounded down: what is shown never passes a threshold that the value does not."""
    return f"{int(relevance * 100 + 1e-9) / 100:.2f}"


def type_of(passage: Passage) -> str:
    """The category of an entry, else what the passage is: `note`, `summary`, `document`, `turn`."""
    return passage.category or passage.source
