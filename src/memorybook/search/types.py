"""Values of a search: queries, passages, candidates, hits, answers.

These values are named tuples, not dataclasses: they are all that a cold `memorybook search` needs,
and importing `dataclasses` would cost it as much time again as starting the interpreter.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    Source = Literal["entry", "note", "summary", "document", "turn"]


class Query(NamedTuple):
    """A question to an index.

    Attributes:
        text: The question as asked; never blank.
        pool: How many candidates each leg may bring, at least 100.
        category: Only entries of this category; None any.
        since, until: Only passages dated within these days, `YYYY-MM-DD`, inclusive; undated ones drop out.
        session: Only passages of this session, by uuid or by name; None any.
        sources: Only these sources; None any.
        meaning: Whether meanings are compared too; without it only words are.
    """

    text: str
    pool: int = 100
    category: str | None = None
    since: str | None = None
    until: str | None = None
    session: str | None = None
    sources: frozenset[str] | None = None
    meaning: bool = True


class Passage(NamedTuple):
    """A searchable piece of a document, or a turn.

    Attributes:
        path: Document it stands in; for a turn, its session's summary ("" if it has none).
        start_line, end_line: 1-based, inclusive; 0 for a turn, which has no lines (`get turn:ID` opens it).
        text: What is shown.
        source: See `Source`.
        heading: Heading path above it, `A > B`; for entries and notes what belongs to them and is searched with
            the words: group, tags, entities, a note's kind. "" if none.
        date: Day it speaks of or was written, `YYYY-MM-DD`; None if unknown.
        entry: Id, for entries.
        category: For entries.
        score: Exact score of an entry as of day `scored`; None for others.
        scored: See `score`, `YYYY-MM-DD`.
        activated: Day of the entry's last activation; fading needs it, `YYYY-MM-DD`.
        state: `active`, `archived`, `superseded`; "" for others.
        trust: As stored; "" if unknown.
        session: Uuid of the session it belongs to; None if none.
        turn: Id of the turn, or of the turn that an entry rests on; None if neither.
        speaker: Who said it, for turns; "" otherwise.
        role: Role of the speaker, for turns.
        position: Place in its session of a turn, or of the turn of an entry where a search met both; else -1.
        time: Time of that day when it was said, UTC, `HH:MM:SS`, with its fraction if it has one; "" if unknown.
        superseded_by: Id of the entry that replaced an entry; None if none did, and for others.
        pinned: Whether an entry is pinned.
        asks: Whether a turn asks something: 1 it does, 2 it says nothing else; worked out once, when it is indexed.
        verified: Day on which an entry was last confirmed, `YYYY-MM-DD`; "" if it needs no confirming or nobody knows,
            and for others.
    """

    path: str
    start_line: int
    end_line: int
    text: str
    source: Source
    heading: str = ""
    date: str | None = None
    entry: str | None = None
    category: str | None = None
    score: float | None = None
    scored: str | None = None
    activated: str | None = None
    state: str = ""
    trust: str = ""
    session: str | None = None
    turn: str | None = None
    speaker: str = ""
    role: str = ""
    position: int = -1
    time: str = ""
    superseded_by: str | None = None
    pinned: bool = False
    asks: int = 0
    verified: str = ""


def place_of(passage: Passage) -> str:
    """Return where a passage stands, as `get` takes it: `PATH#L3-L5`, `turn:ID`."""
    if passage.source == "turn":
        return f"turn:{passage.turn}"
    return f"{passage.path}#L{passage.start_line}-L{passage.end_line}"


def when_of(passage: Passage) -> tuple[str, str]:
    """Sort key by day and time: undated before all days, a day without a time before its times."""
    return passage.date or "", passage.time


class Candidate(NamedTuple):
    """A passage that a leg brought.

    Attributes:
        passage: The passage.
        words: BM25 (`storage.index.bm25`), higher is better; None if the words leg did not bring it.
        cosine: -1..1; None if the vector leg did not bring it.
        holds: Which of the question's words it holds: bit i for the i-th word of `Candidates.idf`.
    """

    passage: Passage
    words: float | None
    cosine: float | None
    holds: int = 0


class Candidates(NamedTuple):
    """What an index found, before any fusion.

    Attributes:
        items: At most `2 * pool` candidates, each once, no order promised.
        neighbours: Turns next to (±1) the best candidates of either leg that are not in `items` themselves.
        idf: Inverse document frequency of every query word, log(1 + (N - n + .5) / (n + .5)).
        embedder: Name of the embedder behind `cosine`; None if the vector leg did not run.
        backend: `sqlite_hybrid`, `sqlite_fts` or `scan`: what answered.
        degraded: Why it is less than what is configured, one sentence each.
        pending_vectors: Passages whose vectors are still to come.
        unrelated: Cosine up to which that embedder's vectors tell nothing; None if that was not measured.
    """

    items: tuple[Candidate, ...]
    neighbours: tuple[Candidate, ...]
    idf: Mapping[str, float]
    embedder: str | None
    backend: str
    degraded: tuple[str, ...] = ()
    pending_vectors: int = 0
    unrelated: float | None = None


class SyncReport(NamedTuple):
    """What one sync saw and did.

    Attributes:
        checked: Documents compared.
        changed: Documents (and sessions of turns) read again.
        removed: Documents that are gone.
        pending_vectors: Passages without their vector after it.
        degraded: What could not be done, one sentence each.
        warnings: Blocks of documents that could not be read as meant, `path:line: why`.
    """

    checked: int = 0
    changed: int = 0
    removed: int = 0
    pending_vectors: int = 0
    degraded: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return the counts, `"degraded"` and `"warnings"`."""
        return {**self._asdict(), "degraded": list(self.degraded), "warnings": list(self.warnings)}


class Hit(NamedTuple):
    """A passage found for a query.

    Attributes:
        passage: The passage.
        score: Ranking score, comparable within one answer only.
        relevance: 0..1, how much it is about the query, before any fusion, age or score; 0 for what only asks the same.
        snippet: Its text, cut around the match.
        why: Component of the score -> value; empty unless asked for.
        layer: Whose it is, where books are read together: `personal`, `project` or `team`; "" for a book alone.
        unconfirmed: Day since which nobody confirmed an entry whose kind needs it by now, `YYYY-MM-DD`; else "".
    """

    passage: Passage
    score: float
    relevance: float
    snippet: str
    why: Mapping[str, float] = {}
    layer: str = ""
    unconfirmed: str = ""

    def json(self) -> dict[str, Any]:
        """Return the hit as every door shows it; `layer` if it has one, `state` of an entry that is not active."""
        p = self.passage
        shown: dict[str, Any] = {
            "path": p.path,
            "start_line": p.start_line,
            "end_line": p.end_line,
            "score": round(self.score, 4),
            "relevance": round(self.relevance, 4),
            "snippet": self.snippet,
            "source": p.source,
            "date": p.date,
            "id": p.entry,
            "category": p.category,
            "turn": p.turn,
            "session": p.session,
            "speaker": p.speaker or None,
        }
        if self.layer:
            shown["layer"] = self.layer
        if p.state not in ("", "active"):
            shown["state"] = p.state
        if self.unconfirmed:
            shown["unconfirmed_since"] = self.unconfirmed
        if self.why:
            shown["why"] = {name: round(value, 4) for name, value in self.why.items()}
        return shown


class Answer(NamedTuple):
    """The answer to a search: iterating, `len` and truth mean its hits; `json()` is what every door prints.

    Attributes:
        hits: Best first.
        has_relevant: Whether any candidate, shown or not, is about the question.
        threshold: The `min_score` that was applied to relevance.
        cut: How many candidates the threshold left out.
        backend: What answered.
        root: Where the book is.
        state: Of the index: `fresh` (whether all that is on disk now was brought in), `backend`,
            `checked_files`, `pending_vectors`, `degraded`.
        disabled: True when memory is switched off: nothing was searched.
        knows: How sure it is that something is about the question, 0..1: the greatest relevance of what was judged.
    """

    hits: tuple[Hit, ...]
    has_relevant: bool
    threshold: float
    cut: int
    backend: str
    root: str
    state: Mapping[str, Any]
    disabled: bool = False
    knows: float = 0.0

    def __iter__(self) -> Iterator[Hit]:  # type: ignore[override]
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __bool__(self) -> bool:
        return bool(self.hits)

    def json(self) -> dict[str, Any]:
        """Return the answer as every door shows it; `cut` only where a threshold left something out."""
        return {
            "results": [hit.json() for hit in self.hits],
            "has_relevant": self.has_relevant,
            "knows": round(self.knows, 4),
            "threshold": self.threshold,
            **({"cut": self.cut} if self.cut else {}),
            "disabled": self.disabled,
            "backend": self.backend,
            "root": self.root,
            "index": dict(self.state),
        }
