"""The pipeline of the memory block: candidates, selection, current state, deduplication, filling, printing."""

from __future__ import annotations

from itertools import islice

from memorybook._light import TYPE_CHECKING, Callable, Iterator, Mapping, NamedTuple, Sequence, suppress
from memorybook.book.fade import unconfirmed
from memorybook.entries.read import known
from memorybook.errors import MemoryBookError
from memorybook.prompt.block import SHARE, WORDING, Block, Fact, Prose, Wording, block
from memorybook.prompt.handwritten import Handwritten, Snapshot, handwritten, is_named_only, snapshot, standing_entries
from memorybook.prompt.select import Selection, may_be_shown
from memorybook.results import Recalled
from memorybook.search.evidence import is_about_talk, spoken
from memorybook.search.search import RELEVANT
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.search.types import Answer, Hit, Passage, Query
from memorybook.text.splitting import entry_passage
from memorybook.text.tokens import count_tokens, digest, language_of, normalise
from memorybook.validate import words_of

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.config.settings import Config
    from memorybook.context import Context
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.model import Entry, Session

    More = Callable[[MemoryDocument, Sequence[Hit], set[str]], Sequence[Hit]]
    """Returns more hits, from MEMORY.md, the hits for the query, and the ids of entries shown so far."""

LINE = 22
"""Tokens of the shortest lines; budget / LINE is the number of hits to search for."""

MOST = 200
"""Most hits to search for, whatever the budget."""

FRAME = 80
"""Approximate tokens of markers and headings."""

FIRST = 8
"""Hits that surely fit into a block."""

LATELY, TURNS, SESSIONS = 80, 20, 40
"""Latest turns to include if there is room: in all, of one session, and sessions to read for them."""

SHOWN = 20_000
"""Most tokens to show a person."""

WORTH_A_LOOK = 0.3
"""Relevance from which a hit is worth a look: less than an answer, but a reader can judge it."""


class Built(NamedTuple):
    """A block, and what it was built from.

    Attributes:
        block: The block; its numbers are places in `hits` and `always`.
        answer: What the search for the query found.
        hits, always: Hits and standing entries.
        beside: Hits that `more` brought.
        context, query: As they were given.
        others: What was built from books that are read along.
    """

    block: Block
    answer: Answer
    hits: Sequence[Hit]
    always: Sequence[Entry]
    beside: Sequence[Hit]
    context: Context
    query: str
    others: tuple[Built, ...] = ()

    @property
    def text(self) -> str:
        """All blocks as one, between one pair of markers."""
        told = [one.block.text for one in (self, *self.others) if one.block.text]
        if len(told) < 2:
            return "".join(told)
        bodies = ["\n".join(text.split("\n")[1:-1]) for text in told]
        rest = ["\n".join([title, *lines]) for title, _, *lines in (body.split("\n") for body in bodies[1:])]
        return "\n\n".join([f"{OPEN}\n{bodies[0]}", *rest]) + f"\n{CLOSE}"

    @property
    def tokens(self) -> int:
        """Estimated size of `text`."""
        return self.block.tokens if not self.others else count_tokens(self.text)

    @property
    def has_relevant(self) -> bool:
        """Whether any of the books claims to know an answer."""
        return any(one.answer.has_relevant for one in (self, *self.others))

    def use(self) -> Recalled:
        """Count the entries and notes in the block as used: the standing ones, and the hits about the question.

        In books that are read along nothing is counted, for nothing is written there.
        """
        hot = tuple(known(self.context.book, [self.always[number] for number in self.block.standing]))
        cold = tuple(self.hits[number] for number in self.block.found)
        about = [hit for hit in cold if hit.relevance > 0 or hit in self.beside]
        used = [each.entry.id for each in hot] + [hit.passage.entry for hit in about if hit.passage.entry]
        used += [note_key(hit.passage.text) for hit in about if hit.passage.source == "note"]
        if used:
            self.context.book.count_access(used, query=redacted_text(self.context.config, self.query))
        cold = tuple(hit._replace(layer=self.context.layer) for hit in cold)
        for one in self.others:
            cold += tuple(one.hits[number]._replace(layer=one.context.layer) for number in one.block.found)
        return Recalled(self.text, self.tokens, hot, cold, self.has_relevant)


def build(
    context: Context,
    query: str,
    *,
    max_tokens: int,
    more: More | None = None,
    without: str | None = None,
    unasked: bool = False,
) -> Built:
    """Build the block for a prompt, see `Memory.recall`; empty while memory is switched off.

    Args:
        context: An open memory.
        query: What the user just said; if blank, only what every prompt has is included.
        max_tokens: Size of the block, at least 1.
        more: Further hits, placed behind the first hits of the query.
        without: Uuid of a session whose turns are left out.
        unasked: Include only what may be about the query, as it need not be a question for the book.

    Books that are read along have their part of the block, with what is surely about the query, in half of the room.
    """
    others: list[Built] = []
    for one in context.layers:
        with suppress(MemoryBookError):  # a search names a book that cannot be read
            others.append(_build(one, query, max_tokens=max_tokens // (len(context.layers) + 2), unasked=unasked))
    others = [one for one in others if one.block.text]
    left = max(1, max_tokens - sum(one.block.tokens for one in others))
    built = _build(context, query, max_tokens=left, more=more, without=without, unasked=unasked)
    return built._replace(others=tuple(others))


def _build(
    context: Context,
    query: str,
    *,
    max_tokens: int,
    more: More | None = None,
    without: str | None = None,
    unasked: bool = False,
) -> Built:
    """Build one book's block."""
    if not context.config.enabled:
        return Built(Block(), candidates(context, "", max_tokens=max_tokens), (), (), (), context, query)
    book = context.book
    answer = candidates(context, query, max_tokens=max_tokens)
    page = snapshot(book)
    written = Handwritten("") if unasked else page.written()
    answer = answer._replace(hits=tuple(hit for hit in answer.hits if not is_named_only(written, hit)))
    language = _language(context, query, page)
    wording = WORDING[language]
    chosen = _selection(
        context,
        query,
        answer.hits,
        page,
        wording=wording,
        least=WORTH_A_LOOK if unasked else 0.0,
        without=without,
    )
    first = {hit.passage.entry for hit in chosen.found[:FIRST]}
    always = [] if unasked else standing_entries(page.standing())
    room = (max_tokens - FRAME) // SHARE
    since = unconfirmed(context.config.stale, book.now().date())
    beside: list[Hit] = []
    made = block(
        chosen.hits,
        chosen.groups() if more is None else _with_more(chosen, beside, more, page.document, answer.hits),
        [
            Fact(p.entry or "", p.text, p.date or "", p.pinned, p.entry in first, (p.session, p.turn), since(p))
            for p in map(entry_passage, always)
        ],
        handwritten(written, answer.hits, room=room, most=max_tokens, more=wording.more),
        language=language,
        max_tokens=max_tokens,
        heading=_heading(wording, query, answer),
        unconfirmed=since,
        layer=context.layer,
    )
    return Built(made, answer, chosen.hits, always, beside, context, query)


def _heading(wording: Wording, query: str, answer: Answer) -> str:
    if not query.strip():
        return wording.lately
    return wording.found if answer.has_relevant else wording.unsure


def hits_to_show(
    context: Context,
    query: str,
    *,
    limit: int,
    keep: Callable[[Passage], bool] | None = None,
) -> Answer:
    """Find what to show a person for a question, selected as for a block: current entries, retractions included.

    Args:
        context: An open memory.
        query: What the user just said, not blank.
        limit: Most hits, besides those that they must not be shown without.
        keep: Predicate of the passages to show; None keeps all.
    """
    book = context.book
    found = book.search(Query(words_of(query)), limit=limit, keep=keep)
    page = snapshot(book)
    wording = WORDING[_language(context, query, page)]
    chosen = _selection(context, query, found.hits, page, wording=wording)
    relevance: dict[int, float] = {}
    groups = []
    for number, *beside in chosen.ranked():
        groups.append((*beside, number))
        for each in groups[-1]:
            relevance[each] = max(chosen.hits[number].relevance, relevance.get(each, 0.0))
    told = block(chosen.hits, groups, [], Prose(), language="en", max_tokens=SHOWN).found
    hits = [chosen.hits[number]._replace(relevance=relevance[number]) for number in told]
    return found._replace(hits=book.told_of(tuple(with_unique_ids(book, hits))))


def _selection(
    context: Context,
    query: str,
    found: Sequence[Hit],
    page: Snapshot,
    *,
    wording: Wording,
    least: float = 0.0,
    without: str | None = None,
) -> Selection:
    book = context.book
    along = bool(context.layer) and not context.layers  # of another book, what is surely about the query
    return Selection(
        found,
        query,
        entries=_entries(book, page, found),
        replaced=page.replaced(),
        turns=book.turns,
        wording=wording,
        latest=lambda: iter(()) if along else latest_turns(book),
        least=max(least, WORTH_A_LOOK) if along else least,
        without=without,
    )


def candidates(context: Context, query: str, *, max_tokens: int) -> Answer:
    """Return as many hits as a block of that size could hold, best first; none for a blank query."""
    if not query.strip():
        return Answer((), False, 0.0, 0, "", context.root, {})
    query = words_of(query)
    limit = min(MOST, max(20, max_tokens // LINE))
    found = context.book.search(Query(query, pool=max(100, limit)), limit=limit)
    bar = max(RELEVANT, context.config.min_score)
    reached = bar <= RELEVANT or any(hit.relevance >= bar for hit in found.hits)
    return found._replace(has_relevant=found.has_relevant and reached)


def latest_turns(book: Book) -> Iterator[Passage]:
    """Yield the last turns of people in the newest sessions, newest first; not those of assistants and tools."""
    left, seen = LATELY, 0
    while left > 0 and (some := [session.uuid for session in _newest(book, seen + LATELY // TURNS)[seen:]]):
        seen += len(some)
        turns = book.turns([(uuid, -TURNS, -1) for uuid in some])
        said = [turn for turn in turns if turn.role not in ("assistant", "tool", "system") and may_be_shown(turn)]
        yield from sorted(said, key=lambda turn: (some.index(turn.session or ""), -turn.position))
        left -= len(said)


def _newest(book: Book, count: int) -> Sequence[Session]:
    return book.told(lambda kept: kept.sessions(limit=min(count, SESSIONS), turn_ids=False))


def _entries(book: Book, page: Snapshot, found: Sequence[Hit]) -> Mapping[str, Entry]:
    """Return the entries of MEMORY.md by id, with the archive's if a hit is from there."""
    if any(hit.passage.path.startswith("archive/") for hit in found):
        return {entry.id: entry for entry in book.entries()}
    return page.entries


def _language(context: Context, query: str, page: Snapshot) -> str:
    texts = [query] if query.strip() else [page.document.prose, *(entry.text for entry in page.document.entries[:50])]
    return language_of(context.config.language, texts)


def _with_more(
    chosen: Selection, beside: list[Hit], more: More, document: MemoryDocument, found: Sequence[Hit]
) -> Iterator[tuple[int, ...]]:
    """Yield the groups, with the hits of `more` after the first ones; those are added to `beside`, too."""
    groups = chosen.groups()
    yield from islice(groups, FIRST)
    for hit in more(document, found, {hit.passage.entry or "" for hit in chosen.hits}):
        beside.append(hit)
        chosen.hits.append(hit)
        yield (len(chosen.hits) - 1,)
    yield from groups


def adds_statement(text: str, question: str, *, questions: bool) -> bool:
    """Return whether any line makes a statement other than the question.

    With `questions`, questions count as statements if the question is about what was asked or said.
    """
    from memorybook.text.sentences import sentences, statement_in

    asked, questions = normalise(question), questions and is_about_talk(question)
    lines = (spoken(line)[1] for line in text.splitlines())
    return any(normalise(line) != asked and (questions or any(map(statement_in, sentences(line)))) for line in lines)


def note_key(text: str) -> str:
    """Return the id under which the journal counts the uses of a note in prompts, the same for equal notes."""
    return f"note:{digest(text)}"


def redacted_text(config: Config, text: str) -> str:
    """Return the text with its secrets redacted, as the settings say."""
    if not config.redaction.enabled:
        return text
    from memorybook.text.redact import redact

    return redact(text, config.redaction.patterns).text


def with_unique_ids(book: Book, hits: Sequence[Hit]) -> list[Hit]:
    """Return the hits with unambiguous turn ids: SESSION/ID where turns of several sessions share an id."""
    ids = {hit.passage.turn or "" for hit in hits if hit.passage.source == "turn"}
    shared = book.told(lambda kept: kept.shared(ids))
    return [_with_session(hit) if hit.passage.source == "turn" and hit.passage.turn in shared else hit for hit in hits]


def _with_session(hit: Hit) -> Hit:
    return hit._replace(passage=hit.passage._replace(turn=f"{hit.passage.session}/{hit.passage.turn}"))
