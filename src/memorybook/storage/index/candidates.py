"""What every index does alike: which passages a query admits, how rare a word is, how a question becomes a vector."""

from __future__ import annotations

from math import inf, log

from memorybook._light import TYPE_CHECKING, Iterable, Iterator, Mapping
from memorybook.errors import Unavailable
from memorybook.inference.arrays import vectors_of
from memorybook.text.tokens import without_names

if TYPE_CHECKING:
    from memorybook.formats.summary_changes import TurnChanges
    from memorybook.model import Session, Turn
    from memorybook.protocols import Embedder, Transcripts
    from memorybook.search.types import Passage, Query

PAUSE = 30.0
"""Seconds for which a remote embedder that failed is left alone."""

EVERYWHERE = 0.25
"""Share of the passages from which a word tells nothing of any, if they are more than `FEW`: it is asked for only if no
rarer one is."""

FEW = 32
"""Passages that are asked for in any case: in a small book, what it is about stands in a quarter of them."""

K1 = 0.9
"""How fast a word that is repeated in a passage stops adding to its BM25."""

B = 0.4
"""How much a passage's length counts in BM25, 0..1."""

NEIGHBOURED = 50
"""How many of the best candidates of each leg bring their neighbours along."""

_ROLES = frozenset({"", "user", "assistant", "system", "tool"})


def idf(passages: int, holding: int) -> float:
    """Inverse document frequency as answers show it, above 0 always: log(1 + (N - n + .5) / (n + .5))."""
    return log(1.0 + (passages - holding + 0.5) / (holding + 0.5))


def bm25_idf(passages: int, holding: int) -> float:
    """The idf inside BM25: log((N - n + .5) / (n + .5)), at least 1e-6."""
    value = log((passages - holding + 0.5) / (holding + 0.5))
    return value if value > 0 else 1e-6


def searched(holding: Mapping[str, int], total: int) -> dict[str, int]:
    """The words that the words leg asks for, of those of the question, with how many of `total` passages hold them.

    Those that tell nothing (see `EVERYWHERE`) are left out. A speaker's name stands in half of all turns; BM25
    gives it next to nothing, and scoring every turn for that costs most of a search.
    """
    held = {word: count for word, count in holding.items() if count}
    return {word: count for word, count in held.items() if count <= max(total * EVERYWHERE, FEW)} or held


def names(speakers: Iterable[str]) -> list[str]:
    """Those of the speakers that are names of somebody, not mere roles."""
    return [speaker for speaker in speakers if speaker.lower() not in _ROLES]


def question_vector(embedder: Embedder, question: str, speakers: Iterable[str]) -> bytes | None:
    """The question, without the speakers' names, as float32 bytes; None if the embedder cannot read it.

    Raises EmbedderFailed.
    """
    [vector] = vectors_of(embedder, [without_names(question, names(speakers))], asked=True)
    return vector


def inline(embedder: Embedder) -> float:
    """How many waiting texts a sync may embed by itself: `Embedder.inline`, without it all or none."""
    return float(getattr(embedder, "inline", inf if embedder.local else 0))


def neighbour_places(found: Mapping[int, Passage], *legs: Mapping[int, float]) -> set[tuple[str, int]]:
    """(session, position) before and after the `NEIGHBOURED` best turns of each leg, of scores by number."""
    places = set()
    for scores in legs:
        for number in sorted(scores, key=scores.__getitem__, reverse=True)[:NEIGHBOURED]:
            passage = found[number]
            if passage.source == "turn" and passage.session is not None:
                places |= {(passage.session, passage.position - 1), (passage.session, passage.position + 1)}
    return places


def admits(query: Query, passage: Passage, session_name: str) -> bool:
    """Whether the query's filters let the passage through; `session_name` is the name of its session."""
    day = passage.date
    return (
        (query.category is None or passage.category == query.category)
        and (query.since is None or (day is not None and day >= query.since))
        and (query.until is None or (day is not None and day <= query.until))
        and (query.session is None or passage.session == query.session or (session_name == query.session))
        and (query.sources is None or passage.source in query.sources)
    )


def filters(query: Query) -> tuple[str, list[str | bytes]]:
    """`admits` in SQL, over `passages AS p`, with the values to bind; "" if the query admits everything."""
    from memorybook.storage.sqlite import bindable

    parts: list[str] = []
    values: list[str | bytes] = []
    for condition, value in (
        ("p.category=?", query.category),
        ("p.date>=?", query.since),
        ("p.date<=?", query.until),
    ):
        if value is not None:
            parts.append(condition)
            values.append(bindable(value))
    if query.session is not None:
        parts.append("(p.session=? OR p.session IN (SELECT uuid FROM sessions WHERE name=?))")
        values += [bindable(query.session)] * 2
    if query.sources is not None:
        parts.append(f"p.source IN ({', '.join('?' * len(query.sources))})")
        values += sorted(query.sources)
    return " AND ".join(parts), values


def revision_of(transcripts: Transcripts, known: int | None) -> tuple[int | None, tuple[str, ...]]:
    """The transcripts' revision, with no reason; if they cannot be read, the one known, with the reason."""
    try:
        return transcripts.revision(), ()
    except Unavailable as error:
        return known, (str(TurnsUnread(error)),)


class TurnsUnread(Exception):
    """The transcripts cannot be read, whatever else can."""

    def __init__(self, error: Unavailable) -> None:
        super().__init__(f"turns are searched as they were known before: {error}")


def changes_of(transcripts: Transcripts, after: int) -> TurnChanges:
    """What changed in the transcripts after a revision. It, and reading its turns, raises TurnsUnread."""
    try:
        changes = transcripts.changes(after)
    except Unavailable as error:
        raise TurnsUnread(error) from error
    return changes._replace(turns=_read(changes.turns))


def _read(turns: Iterable[tuple[Session, Turn]]) -> Iterator[tuple[Session, Turn]]:
    try:
        yield from turns
    except Unavailable as error:
        raise TurnsUnread(error) from error


def paused_reason(name: str, reason: str, seconds: float) -> str:
    """The sentence for `degraded` when the vector leg is left out."""
    again = f"; tried again in {max(1, round(seconds))} s" if seconds > 0 else ""
    return f"searched by words alone, the embedder {name!r} cannot be used: {reason}{again}"
