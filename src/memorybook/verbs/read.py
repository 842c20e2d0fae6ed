"""Opening what is stored: documents, entries, turns, lists, and the block for a prompt."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

from memorybook.answers import Known, Lines, Listed, Recalled, Said
from memorybook.arguments import lines_of
from memorybook.book import Book
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.lifecycle import fade
from memorybook.recall.diverse import diverse
from memorybook.recall.format import WORDING, block, prose_lines
from memorybook.text.screen import screen
from memorybook.text.tokens import digest, han_share
from memorybook.verbs.finds import apart, telling, worth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from memorybook.config import Config
    from memorybook.formats.memory_md import MemoryDocument
    from memorybook.hits import Hit, Passage
    from memorybook.memory import Memory
    from memorybook.model import Entry, Turn

    More = Callable[[MemoryDocument, Sequence[Hit], set[str]], Sequence[Hit]]
    """What else goes into a block: from MEMORY.md, the hits for the query, and the ids of entries that are in it."""

STATES = ("active", "archived", "superseded")


def get(book: Book, target: str, *, start: int, lines: int | None) -> Known | Lines | Said:
    """See `Memory.get`."""
    if target.startswith("turn:"):
        return _turn(book, target.removeprefix("turn:"))
    target, start, lines = lines_of(target, start, lines)
    if "/" in target or target.endswith(".md"):
        return _lines(book, target, start, lines)
    entry = next((entry for entry in book.entries() if entry.id == target), None)
    if entry is None:
        raise NotFound(f"no entry {target!r} in this book: a path ends in .md, a turn is opened with turn:ID")
    return known(book, [entry])[0]


def known(book: Book, entries: Iterable[Entry]) -> list[Known]:
    """Entries with their strength today and their access counts."""
    entries = list(entries)
    counts = book.access_counts(entry.id for entry in entries)
    return [Known(entry, book.strength(entry), counts.get(entry.id, 0)) for entry in entries]


def _lines(book: Book, path: str, start: int, count: int | None) -> Lines:
    if start < 1:
        raise InvalidInput(f"from {start} is below 1: lines count from 1")
    if count is not None and count < 1:
        raise InvalidInput(f"lines {count} is below 1")
    text = book.documents.read(path).text
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    shown = lines[start - 1 : None if count is None else start - 1 + count]
    return Lines(path, start, len(shown), len(lines), "\n".join(line.removesuffix("\r") for line in shown))


def _turn(book: Book, name: str) -> Said:
    turn = turn_of(book, name)
    session = book.transcripts.session(turn.session)
    return Said(turn, session.path, session.name)


def turn_of(book: Book, name: str) -> Turn:
    """The one turn that `ID` or `SESSION/ID` names. Raises NotFound, Conflict (several sessions have that id)."""
    found = turns_of(book, name)
    if not found:
        raise NotFound(f"no turn {name!r} in this book")
    if len(found) > 1:
        where = ", ".join(f"turn:{turn.session}/{turn.id}" for turn in found[:5])
        raise Conflict(f"{len(found)} sessions have a turn {name!r}: name one, such as {where}")
    return found[0]


def turns_of(book: Book, name: str) -> Sequence[Turn]:
    """The turns, one per session, that `ID` or `SESSION/ID` names; either may hold slashes. NotFound: no session."""
    found = book.transcripts.find(name)
    cuts = [place for place, char in enumerate(name) if char == "/"]
    unknown = []
    for cut in cuts:
        if found:
            break
        try:
            found = book.transcripts.find(name[cut + 1 :], book.transcripts.session(name[:cut]).uuid)
        except NotFound as error:
            unknown.append(error)
    if cuts and len(unknown) == len(cuts):
        raise unknown[0]
    return found


def entries(book: Book, *, category: str | None, group: str | None, state: str | None, limit: int | None) -> Listed:
    """See `Memory.entries`."""
    if state is not None and state not in STATES:
        raise InvalidInput(f"state {state!r} is not one of {', '.join(STATES)}")
    if limit is not None and limit < 1:
        raise InvalidInput(f"limit {limit} is below 1")

    inside = None if group is None else folder_of(group)

    def wanted(entry: Entry) -> bool:
        return (
            (category is None or entry.category == category)
            and (inside is None or (inside != "" and folder_of(entry.group or "").startswith(inside)))
            and (state is None or entry.state == state)
        )

    found = known(book, filter(wanted, book.entries()))
    found.sort(key=lambda each: each.strength, reverse=True)
    return Listed(tuple(found[:limit]), len(found))


def folder_of(group: str) -> str:
    """A group as it is looked for: `Work / API` and `work/api/` are one, in which `work/api/v2/` is."""
    return "".join(f"{name}/" for part in group.split("/") if (name := part.strip().casefold()))


def recall(
    memory: Memory, query: str, *, max_tokens: int, more: More | None = None, without: str | None = None
) -> Recalled:
    """See `Memory.recall`; `more` stands behind what the query finds, turns of the session `without` are left out."""
    from memorybook.formats.prose import by_people

    if not memory.config.enabled:
        return Recalled("", 0)
    book = memory.book
    document = book.memory()
    hot = prompt_memories(known(book, document.entries), today=book.now().date())
    shown = {each.entry.id for each in hot}
    found = worth(memory, query) if query.strip() else []
    hits = [hit for hit in found if hit.passage.state != "superseded" and not _is_turn_of(without, hit.passage)]
    before = _before(document, found)
    new = telling(
        [hit for hit in hits if hit.passage.entry not in shown], query, known=[each.entry.text for each in hot]
    )
    cold = diverse(new, limit=memory.config.max_results)
    if more is not None:
        cold = [*cold, *more(document, hits, shown | {hit.passage.entry for hit in cold if hit.passage.entry})]
    prose = [line for line in prose_lines(by_people(document.prose)) if not screen(line)]
    language = language_of(memory.config.language, [*prose, *(each.entry.text for each in hot), query])
    told = WORDING[language].before
    texts = [_told(each.entry.text, before.get(each.entry.id), told) for each in hot]
    cold = [hit._replace(snippet=_told(hit.snippet, before.get(hit.passage.entry or ""), told)) for hit in cold]
    made = block(prose, texts, apart(book, cold), language=language, max_tokens=max_tokens)
    hot, cold = hot[: made.hot], cold[: made.cold]
    used = [each.entry.id for each in hot] + [hit.passage.entry for hit in cold if hit.passage.entry]
    used += [note_key(hit.passage.text) for hit in cold if hit.passage.source == "note"]
    if used:
        book.count_access(used, query=masked(memory.config, query))
    return Recalled(made.text, made.tokens, tuple(hot), tuple(cold))


def _is_turn_of(session: str | None, passage: Passage) -> bool:
    return passage.source == "turn" and session is not None and passage.session == session


def note_key(text: str) -> str:
    """Under this id the journal counts the prompts that a note stood in, wherever and however often it was written."""
    return f"note:{digest(text)}"


def masked(config: Config, text: str) -> str:
    """The text without its secrets, as the settings say."""
    if not config.redaction.enabled:
        return text
    from memorybook.text.redact import redact

    return redact(text, config.redaction.patterns).text


def prompt_memories(entries: Iterable[Known], *, today: date, limit: int = fade.PROMPT_BEST) -> list[Known]:
    """The entries that are always in the prompt: active, not lapsed, trusted, strength from 0.5, the best 20."""
    fit = [
        each
        for each in entries
        if each.entry.state == "active"
        and (each.entry.expires is None or each.entry.expires >= today)
        and each.strength >= fade.PROMPT_FROM
        and each.entry.trust != "suspect"
        and not screen(each.entry.text)
    ]
    fit.sort(key=lambda each: (each.strength, each.entry.last_activated), reverse=True)
    return fit[:limit]


def _before(document: MemoryDocument, hits: Iterable[Hit]) -> dict[str, str]:
    """What was held true before, of what the query finds, by the entry that is true now; the best find of each."""
    before: dict[str, str] = {}
    for hit in hits:
        entry = document.get(hit.passage.entry) if hit.passage.state == "superseded" and hit.passage.entry else None
        if entry is not None and _was_never_true(entry, document):
            continue
        known = {entry.id} if entry is not None else set()
        now = entry
        while now is not None and now.superseded_by is not None and now.superseded_by not in known:
            known.add(now.superseded_by)
            now = document.get(now.superseded_by)
        if entry is not None and now is not None and now is not entry:
            before.setdefault(now.id, entry.text)
    return before


def _was_never_true(entry: Entry, document: MemoryDocument) -> bool:
    """Whether an entry contradicted what was held true already and lost, by what is trusted more.

    What was said before its winner was held true in its time, though it was learned of later.
    """
    winner = document.get(entry.superseded_by) if entry.superseded_by in entry.contradicts else None
    if winner is None:
        return False
    return entry.created is None or winner.created is None or entry.created >= winner.created


def _told(text: str, before: str | None, wording: str) -> str:
    return text if before is None else wording.format(text, " ".join(before.split()))


def language_of(setting: str, texts: Iterable[str]) -> str:
    """`en` or `zh`: the setting, or for `auto` what the texts are mostly written in."""
    if setting != "auto":
        return setting
    return "zh" if han_share("\n".join(texts)) >= 0.3 else "en"
