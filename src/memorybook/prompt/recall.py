"""The pipeline: candidates, what may be told, the latest word, each statement once, fill, print."""

from __future__ import annotations

from itertools import islice

from memorybook._light import TYPE_CHECKING, Callable, Iterator, Mapping, Sequence
from memorybook.entries.read import known
from memorybook.prompt.block import SHARE, WORDING, Fact, Prose, Wording, block
from memorybook.prompt.handwritten import Snapshot, Written, handwritten, is_named_only, snapshot, standing
from memorybook.prompt.select import Selection, may_be_told
from memorybook.results import Known, Recalled
from memorybook.search.evidence import is_about_talk, spoken
from memorybook.search.search import RELEVANT
from memorybook.search.types import Answer, Hit, Passage, Query
from memorybook.text.splitting import entry_passage
from memorybook.text.tokens import digest, language_of, normalise
from memorybook.validate import words_of

if TYPE_CHECKING:
    from memorybook.book.book import Book
    from memorybook.config.settings import Config
    from memorybook.context import Context
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.model import Entry

    More = Callable[[MemoryDocument, Sequence[Hit], set[str]], Sequence[Hit]]
    """What else may be told: from MEMORY.md, the hits for the query, and the ids of entries among them."""

LINE = 22
"""Tokens of the shortest lines: how many hits are asked for follows from the budget."""

MOST = 200
"""Hits that are looked at, whatever the budget."""

FRAME = 80
"""Tokens of markers and headings, about."""

FIRST = 8
"""Hits that surely have their place in a block."""

LATELY, TURNS, SESSIONS = 80, 20, 40
"""Newest turns that are told where there is room, turns of one session among them, and sessions looked at for them."""

SHOWN = 20_000
"""Tokens of what a person is shown, at most."""

WORTH_A_LOOK = 0.3
"""Relevance from which a hit is worth a look: below what counts as an answer, but a reader can judge it."""


def recall(
    context: Context,
    query: str,
    *,
    max_tokens: int,
    more: More | None = None,
    without: str | None = None,
    unasked: bool = False,
) -> Recalled:
    """Make the block for a prompt, see `Memory.recall`.

    Args:
        context: An open memory.
        query: What the user just said; blank tells only what every prompt takes.
        max_tokens: Size of the block, at least 1.
        more: Hits that stand behind what the query finds.
        without: Uuid of a session whose turns are left out.
        unasked: Tell only what may be about the query, of which nobody said that it is a question for the book.
    """
    if not context.config.enabled:
        return Recalled("", 0)
    book = context.book
    answer = candidates(context, query, max_tokens=max_tokens)
    page = snapshot(book)
    written = Written("") if unasked else page.written()
    answer = answer._replace(hits=tuple(hit for hit in answer.hits if not is_named_only(written, hit)))
    language = _language(context, query, page)
    wording = WORDING[language]
    chosen = _selection(
        context, query, answer.hits, page, wording=wording, least=WORTH_A_LOOK if unasked else 0.0, without=without
    )
    first = {hit.passage.entry for hit in chosen.found[:FIRST]}
    always = [] if unasked else standing(page.standing())
    room = (max_tokens - FRAME) // SHARE
    beside: list[Hit] = []
    made = block(
        chosen.hits,
        chosen.groups() if more is None else _with(chosen, beside, more, page.document, answer.hits),
        [
            Fact(p.entry or "", p.text, p.date or "", p.pinned, p.entry in first, (p.session, p.turn))
            for p in map(entry_passage, always)
        ],
        handwritten(written, answer.hits, room=room, most=max_tokens, more=wording.more),
        language=language,
        max_tokens=max_tokens,
        known=answer.has_relevant,
    )
    hot = tuple(known(book, [always[number] for number in made.standing]))
    cold = tuple(chosen.hits[number] for number in made.found)
    _count_used(context, query, hot, [hit for hit in cold if hit.relevance > 0 or hit in beside])
    return Recalled(made.text, made.tokens, hot, cold, answer.has_relevant)


def tell_hits(
    context: Context,
    query: str,
    *,
    limit: int,
    without: str | None = None,
    keep: Callable[[Passage], bool] | None = None,
) -> Answer:
    """Find what a person is shown for a question: as in a block, with what is true now, and what took a turn back.

    Args:
        context: An open memory.
        query: What the user just said, not blank.
        limit: How many hits are shown, besides what they must not be told without.
        without: Uuid of a session whose turns are left out.
        keep: Which passages may be shown; None keeps all.
    """
    book = context.book
    found = book.search(Query(words_of(query)), limit=limit, keep=keep)
    page = snapshot(book)
    wording = WORDING[_language(context, query, page)]
    chosen = _selection(context, query, found.hits, page, wording=wording, without=without)
    relevance: dict[int, float] = {}
    groups = []
    for number, *beside in chosen.ranked():
        groups.append((*beside, number))
        for each in groups[-1]:
            relevance[each] = max(chosen.hits[number].relevance, relevance.get(each, 0.0))
    told = block(chosen.hits, groups, [], Prose(), language="en", max_tokens=SHOWN).found
    hits = [chosen.hits[number]._replace(relevance=relevance[number]) for number in told]
    return found._replace(hits=tuple(named_apart(book, hits)))


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
    return Selection(
        found,
        query,
        entries=_entries(book, page, found),
        replaced=page.replaced(),
        turns=book.turns,
        wording=wording,
        latest=lambda: said_lately(book),
        least=least,
        without=without,
    )


def candidates(context: Context, query: str, *, max_tokens: int) -> Answer:
    """As many hits as a block of that size could tell, best first; none for a blank query."""
    if not query.strip():
        return Answer((), False, 0.0, 0, "", context.root, {})
    query = words_of(query)
    limit = min(MOST, max(20, max_tokens // LINE))
    found = context.book.search(Query(query, pool=max(100, limit)), limit=limit)
    bar = max(RELEVANT, context.config.min_score)
    return found._replace(has_relevant=found.has_relevant and (bar <= RELEVANT or _reaches(found, bar)))


def said_lately(book: Book) -> Iterator[Passage]:
    """The last turns of people in the newest sessions, newest first; what an assistant or a tool said is left out."""
    left = LATELY
    for session in book.told(lambda kept: kept.sessions(limit=SESSIONS, turn_ids=False)):
        turns = book.turns([(session.uuid, -TURNS, -1)])
        said = [turn for turn in turns if turn.role not in ("assistant", "tool", "system") and may_be_told(turn)]
        yield from sorted(said, key=lambda turn: -turn.position)
        left -= len(said)
        if left <= 0:
            return


def _reaches(found: Answer, bar: float) -> bool:
    return any(hit.relevance >= bar for hit in found.hits)


def _entries(book: Book, page: Snapshot, found: Sequence[Hit]) -> Mapping[str, Entry]:
    """The entries of MEMORY.md by id, with those of the archive where one was found."""
    if any(hit.passage.path.startswith("archive/") for hit in found):
        return {entry.id: entry for entry in book.entries()}
    return page.entries


def _language(context: Context, query: str, page: Snapshot) -> str:
    texts = [query] if query.strip() else [page.document.prose, *(entry.text for entry in page.document.entries[:50])]
    return language_of(context.config.language, texts)


def _with(
    chosen: Selection, beside: list[Hit], more: More, document: MemoryDocument, found: Sequence[Hit]
) -> Iterator[tuple[int, ...]]:
    """The groups, and behind the first ones what else there is, which goes into `beside` too."""
    groups = chosen.groups()
    yield from islice(groups, FIRST)
    for hit in more(document, found, {hit.passage.entry or "" for hit in chosen.hits}):
        beside.append(hit)
        chosen.hits.append(hit)
        yield (len(chosen.hits) - 1,)
    yield from groups


def _count_used(context: Context, query: str, hot: Sequence[Known], about: Sequence[Hit]) -> None:
    """Count the entries and notes that were told as used: those of every prompt, and what is about the question."""
    used = [each.entry.id for each in hot] + [hit.passage.entry for hit in about if hit.passage.entry]
    used += [note_key(hit.passage.text) for hit in about if hit.passage.source == "note"]
    if used:
        context.book.count_access(used, query=masked(context.config, query))


def tells_beside(text: str, question: str, *, questions: bool) -> bool:
    """Whether any line says something else than the question, and more than questions do.

    Questions count, if `questions` says so, where it is asked what was asked or said.
    """
    from memorybook.text.sentences import sentences, statement_in

    asked, questions = normalise(question), questions and is_about_talk(question)
    lines = (spoken(line)[1] for line in text.splitlines())
    return any(normalise(line) != asked and (questions or any(map(statement_in, sentences(line)))) for line in lines)


def note_key(text: str) -> str:
    """Under this id the journal counts the prompts that a note stood in, wherever and however often it was written."""
    return f"note:{digest(text)}"


def masked(config: Config, text: str) -> str:
    """The text without its secrets, as the settings say."""
    if not config.redaction.enabled:
        return text
    from memorybook.text.redact import redact

    return redact(text, config.redaction.patterns).text


def named_apart(book: Book, hits: Sequence[Hit]) -> list[Hit]:
    """The hits as a text names them: a turn by SESSION/ID where turns of several sessions have its id."""
    ids = {hit.passage.turn or "" for hit in hits if hit.passage.source == "turn"}
    shared = book.told(lambda kept: kept.shared(ids))
    return [_named(hit) if hit.passage.source == "turn" and hit.passage.turn in shared else hit for hit in hits]


def _named(hit: Hit) -> Hit:
    return hit._replace(passage=hit.passage._replace(turn=f"{hit.passage.session}/{hit.passage.turn}"))
