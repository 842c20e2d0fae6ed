"""Cut statements out of a book: the changes that remove them everywhere, and the tombstones that keep them out.

What was forgotten is also filtered out of everything that comes in: messages, imports, queued sessions and events.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.cues import find, without_lead
from memorybook.forget.finder import ALONE, SAME, written_lines
from memorybook.forget.tombstones import filter_summary, not_forgotten, parts, turn_key, without_label, without_texts
from memorybook.forget.units import (
    Found,
    Substrings,
    TurnKey,
    WordSets,
    is_about,
    is_id,
    is_label,
    merge_spans,
    repair_end,
    repair_start,
    sentences_in,
    statement_key,
    units,
    values_of,
    whole_tokens,
    whole_words,
    without_spans,
    words_of,
)
from memorybook.formats import changes_json, session_md
from memorybook.model import Change, Drop, EditTurns, Entry, Put, Remove, RemoveTurns, SessionSummary, Turn, Update
from memorybook.sessions.summarize import SENTENCE_LENGTH, cut_at_sentence, title_of
from memorybook.sessions.summary import page_at
from memorybook.text.sentences import content_size, is_question, sentences
from memorybook.text.tokens import digest, normalise, only_asks, says_something, text_digest, tokens

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.book.book import Book
    from memorybook.context import Context
    from memorybook.model import Applied, Turn

LONG = 12
"""Least `weight` of a text that is looked for inside of others."""


class CutPlan(NamedTuple):
    """A plan to remove statements.

    Attributes:
        changes: In order.
        bury: Tombstone digests.
        said: The removed texts, as they were said.
        turns: New texts of the turns that change.
    """

    changes: tuple[Change, ...] = ()
    bury: frozenset[str] = frozenset()
    said: tuple[str, ...] = ()
    turns: Mapping[TurnKey, str] = {}


class StatementMatcher:
    """Tests whether a derived text says one of these statements, and removes what does.

    Args:
        texts: The statements.
        values: Names and numbers that only they introduced.
        rare: Words that only they have; two of them suffice.
    """

    def __init__(self, texts: Iterable[str], values: Iterable[str] = (), rare: Iterable[str] = ()) -> None:
        texts = [text for text in texts if text.strip()]
        self._plain = {form for text in texts for form in map(normalise, forms_of(text))}
        self._long = Substrings(sorted(form for form in self._plain if weight(form) >= LONG))
        self._words = WordSets(words for text in texts if len(words := words_of(text)) >= 2)
        self._values = frozenset(values)
        self._rare = frozenset(rare)

    def __call__(self, text: str) -> bool:
        """Return whether the text says one of the statements."""
        plain = normalise(without_label(text).strip().rstrip('…"'))
        if plain in self._plain or normalise(text) in self._plain:
            return True
        if self._long.stands_in(plain) or (weight(plain) >= LONG and self._long.has_part(plain)):
            return True
        words = words_of(text)
        if len(words & self._rare) > 1:
            return True
        same = (self._words.sets[number] for number in self._words.nested(words))
        if any(len(words & each) >= max(2, SAME * max(len(each), len(words))) for each in same):
            return True
        held = self._words.contains(words) if words else bool(self._words.sets)
        if held and content_size(text) >= ALONE and not is_question(text):
            return True
        shared = self._values & whole_tokens(text) if self._values else frozenset[str]()
        return bool(shared) and (is_about(text, shared) or self._words.share(words, len(shared) + 1))

    def strip(self, text: str) -> str:
        """Return the text without the clauses that say one; unchanged if none does."""
        if not text.strip():
            return text
        body = without_label(text)
        if body != text and body.strip():
            left = self.strip(body)
            return text if left == body else f"{text[: -len(body)]}{left}" if left.strip() else ""
        spans, parts = [], units(text)
        for number in dict.fromkeys(unit.sentence for unit in parts):
            mine = [unit for unit in parts if unit.sentence == number]
            cut = [unit for unit in mine if self(unit.text)]
            if not cut and self(text[mine[0].start : mine[-1].end]):
                cut = mine
            spans += [(unit.start, unit.end) for unit in cut]
        return without_spans(text, spans)

    def strip_json(self, value: Any) -> Any:
        """Return a JSON value with `strip` applied to every string in it, JSON inside of strings included."""
        if isinstance(value, str):
            return self._strip_text(value)
        if isinstance(value, Mapping):
            return {name: self.strip_json(each) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(self.strip_json, value))
        return value

    def _strip_text(self, text: str) -> str:
        if text[:1] in ("{", "["):
            try:
                inner = json.loads(text)
            except ValueError:
                return self.strip(text)
            left = self.strip_json(inner)
            return text if left == inner else json.dumps(left, ensure_ascii=False)
        return self.strip(text)


def forms_of(text: str) -> Iterator[str]:
    """Yield a statement and its forms in summaries and titles: without lead-in, tidied, shortened."""
    for form in dict.fromkeys((text, without_lead(text))):
        plain = form.strip()
        if plain:
            yield from (plain, repair_end(plain), title_of(plain).rstrip("…"), cut_at_sentence(plain, SENTENCE_LENGTH))


def statement_digests(texts: Iterable[str]) -> Iterator[str]:
    """Yield the digests that recognise these statements in new input."""
    for text in texts:
        if content_size(text) >= 3 or values_of(text):
            yield from map(digest, forms_of(text))
            yield from sentence_digests(text)


def clause_digest(text: str, first: int, last: int) -> str:
    """Return the digest of clauses `first` to `last` of a text, which recognises even very short ones."""
    return text_digest(f"cut {first} {last} {normalise(text)}")


def pair_digests(words: Iterable[str], values: Collection[str], *, alone: bool = False) -> Iterator[str]:
    """Yield digests of word pairs with a value or Han word in each, which recognise a statement in other words.

    A word is paired with itself if it is the only one, or with `alone`.
    """
    known = sorted(words)[:MOST_PAIRED]
    if len(known) == 1 or alone:
        yield from (text_digest(f"pair {value} {value}") for value in known)
    named = {word for word in known if word in values or not word.isascii()}
    for one, other in combinations(known, 2):
        if one in named or other in named:
            yield text_digest(f"pair {one} {other}")


def repeat_digests(text: str) -> Iterator[str]:
    """Yield every digest that may recognise a forgotten statement in this text, whole and by clause, in any words."""
    yield from sentence_digests(text)
    for unit in units(text):
        words = words_of(unit.text)
        yield from (*sentence_digests(unit.text), *pair_digests(words, words, alone=True))


MOST_PAIRED = 40
"""Most words of a statement that are paired."""


def _clause_digests(found: Found) -> Iterator[str]:
    for key, spans in found.cuts.items():
        text = found.turns[key].text
        numbers = [number for number, unit in enumerate(units(text)) if any(a <= unit.start < b for a, b in spans)]
        for number in numbers:
            yield clause_digest(text, number, number)


def _echoes(found: Found) -> Iterator[str]:
    for key, spans in found.cuts.items():
        text = " ".join(found.turns[key].text[start:end] for start, end in spans)
        values = values_of(text) | (found.values & words_of(text))
        known = (words_of(text) & found.rare) | values
        yield from pair_digests(known, values & (found.rare | found.values)) if len(known) > 1 else ()
    named = found.named & found.rare
    yield from pair_digests(named, named)


def sentence_digests(text: str) -> Iterator[str]:
    """Yield the digests of a cut sentence; other than those of statements, they apply to turns, too."""
    plain = re.sub(r"^\s*(?:[-*+•]|\d+[.)])\s+", "", text)
    yield from (text_digest(f"said {normalise(form)}") for form in dict.fromkeys(forms_of(plain)))
    if key := statement_key(plain):
        yield text_digest(key)


def plan_cut(
    context: Context,
    found: Found,
    *,
    reason: str,
    masked: Mapping[TurnKey, str] | None = None,
    without: Collection[str] = (),
) -> CutPlan:
    """Plan the changes that remove what was found and what mentions it: pages, summaries, titles, a person's lines.

    Args:
        context: Whose book it is.
        found: What to remove.
        reason: Reason for the journal; must quote nothing.
        masked: New texts of turns that only mention it, such as the order.
        without: Pages to skip, since they are removed or rewritten anyway.
    """
    texts = removed_statements(found)
    tells = StatementMatcher(texts, found.values, found.rare)
    edited = {key: without_spans(found.turns[key].text, spans) for key, spans in found.cuts.items()}
    changes: list[Change] = [
        Update(id=entry.id, fields=_reduced_fields(entry, found.left[entry.id]), reason=reason)
        if entry.id in found.left
        else Remove(id=entry.id, reason=reason)
        for entry in found.entries
    ]
    changes += [
        Drop(path=path, line=line, left=found.left.get((path, line), ""), reason=reason) for path, line in found.notes
    ]
    changes += (line for line in _lines(context, tells, reason) if (line.path, line.line) not in found.notes)
    edited |= masked or {}
    gone = {key for key, text in edited.items() if not text}
    changes += (page for page in _pages(context, tells, gone) if page.path not in without)
    changes += _turns(context, found, edited, tells, reason)
    bury = {*statement_digests(texts), *_clause_digests(found), *_echoes(found), *(turn_key(*key) for key in gone)}
    return CutPlan(tuple(changes), frozenset(bury), tuple(removed_texts(found)), edited)


def _reduced_fields(entry: Entry, text: str) -> dict[str, Any]:
    """Return the fields of an entry cut down to `text`: entities that it mentions, and tags not of the removed part."""
    gone, plain = entry.text.lower(), text.lower()
    tags = tuple(tag for tag in entry.tags if tag.lower() in plain or tag.lower() not in gone)
    return {"text": text, "entities": tuple(name for name in entry.entities if name.lower() in plain), "tags": tags}


def found_in_turns(turns: Iterable[Turn]) -> Found:
    """Return whole turns as a `Found`."""
    whole = {(turn.session, turn.id): turn for turn in turns}
    cuts = {key: ((0, len(turn.text)),) for key, turn in whole.items()}
    return Found((), (), cuts, whole, tuple(turn.text for turn in whole.values()))


def removed_texts(found: Found) -> list[str]:
    """Return each removed statement once: entries, notes, and the cut pieces of turns."""
    said = [*found.told]
    known = StatementMatcher(found.told)
    for key, spans in found.cuts.items():
        pieces = [found.turns[key].text[start:end].strip() for start, end in merge_spans(spans)]
        said += [piece for piece in pieces if not known(piece)]
    return list({normalise(text): text for text in reversed(said) if text.strip()}.values())[::-1]


def removed_statements(found: Found) -> list[str]:
    """Return the removed texts: clauses, runs of clauses, and the sentences in these, without duplicates."""
    texts = list(found.texts)
    for key, spans in found.cuts.items():
        text = found.turns[key].text
        for start, end in merge_spans(spans):
            texts += [text[start:end].strip(), *sentences_in(text[start:end])]
    return list(dict.fromkeys(filter(str.strip, texts)))


def _turns(
    context: Context, found: Found, texts: Mapping[tuple[str, str], str], tells: StatementMatcher, reason: str
) -> Iterator[Change]:
    """Yield the edits and removals of turns, with the new titles and summaries of sessions."""
    transcripts = context.book.transcripts
    removed: dict[str, list[str]] = {}
    edits: dict[str, dict[str, Turn]] = {}
    for (uuid, id), text in texts.items():
        turn = found.turns.get((uuid, id)) or next(iter(transcripts.find(id, uuid)), None)
        if turn is None:
            continue
        calls, metadata = tells.strip_json(turn.tool_calls), tells.strip_json(dict(turn.metadata))
        if not text and not calls:
            removed.setdefault(uuid, []).append(id)
        else:
            edits.setdefault(uuid, {})[id] = replace(turn, text=text, tool_calls=calls, metadata=metadata)
    for session in transcripts.sessions(turn_ids=False):
        title, summary = tells.strip(session.title), _by_line(session.summary, tells)
        if session.title and not title:
            title = title_of(without_label(next(filter(str.strip, summary.split("\n")), "")))
        told = (title, summary) != (session.title, session.summary)
        turns = edits.get(session.uuid, {})
        if told or turns:
            yield EditTurns(
                session=session.uuid,
                texts={id: turn.text for id, turn in turns.items()},
                tool_calls={id: turn.tool_calls for id, turn in turns.items() if turn.tool_calls},
                metadata={id: turn.metadata for id, turn in turns.items() if turn.metadata},
                title=title if title != session.title else None,
                summary=summary if summary != session.summary else None,
                reason=reason,
            )
    for uuid, ids in removed.items():
        yield RemoveTurns(session=uuid, turn_ids=tuple(ids), reason=reason)


def _pages(context: Context, tells: StatementMatcher, gone: Collection[TurnKey]) -> Iterator[Put]:
    """Yield the session pages that change; a page that a person edited keeps every other byte."""
    documents = context.book.documents
    for path in sorted(info.path for info in documents.list() if info.path.startswith("sessions/")):
        standing = documents.read(path).text
        page = page_at(context, path)
        if page.ours:
            before = session_md.parse(standing)
            left = filter_summary(replace(before, summary=_by_line(before.summary, tells)), _not(tells))
            ids = tuple(id for id in before.turn_ids if (before.session, id) not in gone)
            turns = max(0, before.turns - sum(session == before.session for session, _ in gone))
            left = replace(left, title=tells.strip(left.title), turn_ids=ids, turns=turns)
            text = standing if left == before else session_md.render(left, language=context.config.language)
        else:
            text = _by_line(standing, tells)
        if text != standing:
            yield Put(path=path, text=text, reason=page.reason, made_from=standing)


def _not(tells: StatementMatcher) -> Callable[[str], bool]:
    return lambda text: not tells(text)


def _by_line(text: str, tells: StatementMatcher) -> str:
    lines = []
    for line in text.split("\n"):
        left = tells.strip(line)
        if left == line or left.strip(" -#*"):
            lines.append(left)
    return "\n".join(lines)


def _lines(context: Context, tells: StatementMatcher, reason: str) -> Iterator[Drop]:
    """Yield the cuts of lines in notes, in a person's text, and in HISTORY.md."""
    lines = list(written_lines(context))
    if any(info.path == "HISTORY.md" for info in context.book.documents.list()):
        history = context.book.documents.read("HISTORY.md").text.split("\n")
        lines += [("HISTORY.md", line.removesuffix("\r"), line.strip()) for line in history if line.strip()]
    for path, line, text in lines:
        left = tells.strip(text)
        if left != text:
            yield Drop(path=path, line=line, left=line.replace(text, repair_start(left)) if left else "", reason=reason)


def weight(text: str) -> int:
    """Return the length of a text, with a character outside ASCII counted twice."""
    return sum(1 if char.isascii() else 2 for char in text)


# --- what comes in again --------------------------------------------------------------------------


LEAST = 3
"""Least words of a forgotten operation that a clause must share to repeat it in other words."""

MOST_CLAUSES = 8
"""Most clauses of a run that are looked up as one statement."""


def without_forgotten_turns(book: Book, turns: Sequence[Turn], *, now: datetime | None = None) -> tuple[Turn, ...]:
    """Return the turns without what was forgotten; turns of which nothing is left have an empty text.

    What a user says again later, outside of lists, is new and stays. If an assistant, a tool or a pasted list says it
    again, even in other words, it is removed, unless it was purged. `now` dates turns without a time in which a user
    explicitly asks to remember; other turns without a time count as earlier.
    """
    if not turns or not book.journal.buries():
        return tuple(turns)
    by_text = {text: _run_digests(text) for text in dict.fromkeys(turn.text for turn in turns)}
    buried = book.journal.buried({mark for spans in by_text.values() for found in spans.values() for mark in found})
    if buried:  # what an entry says again was wanted again
        buried = buried.difference(mark for entry in book.entries() for mark in sentence_digests(entry.text))
    echoed, repeating = Echo(book), [turn.role in ("assistant", "tool") or is_pasted_list(turn.text) for turn in turns]
    echoes = _echo_finder(book, (turn.text for turn, repeats in zip(turns, repeating, strict=True) if repeats))
    times: dict[datetime, frozenset[str]] = {}
    left: list[Turn] = []
    for turn, repeats in zip(turns, repeating, strict=True):
        time = turn.time or (now if now is not None and _asks_to_remember(turn) else None)
        stands = buried
        if buried and time is not None and turn.role in ("user", "") and not is_pasted_list(turn.text):
            if time not in times:
                times[time] = book.journal.buried(buried, since=time)
            stands = times[time]
        spans = [span for span, found in by_text[turn.text].items() if not stands.isdisjoint(found)]
        if repeats and (calls := echoed.strip(turn.tool_calls)) != turn.tool_calls:
            turn = replace(turn, tool_calls=calls)
        spans += [*echoed.spans(turn.text), *echoes(turn, left)] if repeats else []
        left.append(replace(turn, text=without_spans(turn.text, spans)) if spans else turn)
    return tuple(left)


def _asks_to_remember(turn: Turn) -> bool:
    cues = (find(each.text, talk="agent", dated=False) for each in sentences(turn.text))
    return any(cue is not None and cue.kind == "explicit" for cue in cues)


def _run_digests(text: str) -> dict[tuple[int, int], frozenset[str]]:
    """Return the digests of every run of clauses of a text, and of the whole text, by span."""
    parts = units(text)
    found: dict[tuple[int, int], frozenset[str]] = {}
    for first, unit in enumerate(parts):
        found[unit.start, unit.end] = frozenset([*sentence_digests(unit.text), clause_digest(text, first, first)])
        for last in parts[first + 1 : first + MOST_CLAUSES]:
            found[unit.start, last.end] = frozenset(sentence_digests(text[unit.start : last.end]))
    if len(parts) > MOST_CLAUSES:
        found[parts[0].start, parts[-1].end] = frozenset(sentence_digests(text[parts[0].start : parts[-1].end]))
    return found


def is_pasted_list(text: str) -> bool:
    """Return whether a text is a pasted list: two or more items, or five or more lines."""
    lines = [line for line in text.split("\n") if line.strip()]
    items = sum(re.match(r"\s*(?:[-*+•]|\d+[.)、])\s+|[^:：\s]{1,20}[:：]\s", line) is not None for line in lines)
    return len(lines) >= 2 and (items >= 2 or len(lines) >= 5)


def _echo_finder(book: Book, texts: Iterable[str]) -> Callable[[Turn, Sequence[Turn]], list[tuple[int, int]]]:
    """Return a function (turn, turns before) -> spans that repeat a name or two telling words of what was forgotten.

    It also recognises what was purged. Words that the user has said in the session before do not count.
    """
    words = {
        text: {(unit.start, unit.end): words_of(unit.text) for unit in units(text)} for text in dict.fromkeys(texts)
    }
    pairs = {
        text: {span: frozenset(pair_digests(held, held, alone=True)) for span, held in clauses.items()}
        for text, clauses in words.items()
    }
    buried = book.journal.buried({mark for clauses in pairs.values() for each in clauses.values() for mark in each})

    def spans(turn: Turn, before: Sequence[Turn]) -> list[tuple[int, int]]:
        known = {span: each & buried for span, each in pairs[turn.text].items() if not buried.isdisjoint(each)}
        if not known:
            return []
        talk = [each for each in (*book.transcripts.turns(turn.session), *before) if each.session == turn.session]
        said = [words_of(each.text) for each in talk if each.role in ("user", "") and not only_asks(each.text)]
        for span in known:
            for told in said:
                shared = words[turn.text][span] & told
                known[span] -= frozenset(pair_digests(shared, shared, alone=True))
        return [span for span, each in known.items() if each]

    return spans


def texts_left(book: Book, texts: Iterable[str]) -> list[str]:
    """Return texts made from turns without the forgotten clauses, line by line."""
    texts = list(texts)
    if not book.journal.buries():
        return texts
    lines = {line: without_label(line) for text in texts for line in text.split("\n")}
    forms = {line: _run_digests(body) for line, body in lines.items()}
    buried = book.journal.buried({mark for spans in forms.values() for each in spans.values() for mark in each})
    left = {}
    for line, body in lines.items():
        spans = [span for span, each in forms[line].items() if not buried.isdisjoint(each)]
        kept = without_spans(body, spans)
        left[line] = line if not spans else f"{line[: len(line) - len(body)]}{kept}" if kept else ""
    return ["\n".join(left[line] for line in text.split("\n") if left[line] or not line) for text in texts]


class Echo:
    """Tests whether a text repeats, in other words, what was forgotten and is still in the journal.

    Args:
        book: The book; its journal is read at first use.
    """

    def __init__(self, book: Book) -> None:
        self._book = book
        self._tellers: list[tuple[StatementMatcher, frozenset[str], frozenset[str]]] | None = None

    def __call__(self, text: str) -> bool:
        """Return whether the text repeats something forgotten."""
        words = words_of(text)
        for teller, values, known in self._all():
            if teller(text):
                return True
            shared = values & whole_words(tokens(text))
            more = len(words & known)
            if shared and (any(map(is_id, shared)) or more > len(shared & words) or words <= known):
                return True
            if more >= LEAST and more >= SAME * len(words):
                return True
        return False

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of the clauses that do."""
        return [(unit.start, unit.end) for unit in units(text) if self(unit.text)] if self._all() else []

    def strip(self, calls: Sequence[Mapping[str, Any]]) -> tuple[Mapping[str, Any], ...]:
        """Return tool calls without what repeats it."""
        for teller, _, _ in self._all():
            calls = teller.strip_json(tuple(calls))
        return tuple(calls)

    def _all(self) -> list[tuple[StatementMatcher, frozenset[str], frozenset[str]]]:
        if self._tellers is None:
            self._tellers = []
            for changes in self._book.journal.forgotten():
                if any(
                    change.kind == "turns" and changes_json.parse_turns(change.before or "")[2] for change in changes
                ):
                    continue  # a whole session, which may come in under another name
                texts = [text for change in changes for text in lost_statements(change)]
                values = frozenset[str]().union(*map(values_of, texts))
                values = frozenset(value for value in values if not value.isdigit() or len(value) >= 3)
                known = frozenset[str]().union(*map(words_of, texts))
                self._tellers.append((StatementMatcher(texts), values, known))
        return self._tellers


def lost_statements(change: Applied) -> Iterator[str]:
    """Yield the meaningful statements that a forgetting change removed."""
    return (text for text in _lost_statements(change) if says_something(text) and not is_label(text))


def _lost_statements(change: Applied) -> Iterator[str]:
    from memorybook.formats import memory_md, session_md

    if change.purged or not change.before:
        return
    if change.kind == "edit":
        _, old, _ = changes_json.parse_turns(change.before)
        left = {turn.id: turn.text for turn in changes_json.parse_turns(change.after or change.before)[1]}
        for turn in old:
            yield from _removed_clauses(turn.text, left.get(turn.id, ""))
    elif change.kind == "turns":
        yield from (unit.text for turn in changes_json.parse_turns(change.before)[1] for unit in units(turn.text))
    elif change.kind == "drop":
        note = (
            session_md.parse_line(change.before, day=session_md.day_of(change.target))
            if change.after is not None
            else None
        )
        yield from _removed_clauses(note.text if note else change.before, change.after or "")
    elif change.kind == "put" and change.after and change.target.startswith("sessions/"):
        told = session_md.parse(change.before)
        parts = (told.title, *told.summary.split("\n"), *told.decisions, *told.open_questions)
        yield from (part for part in parts if part not in change.after)
    elif change.kind in ("remove", "update"):
        from datetime import UTC, datetime

        then = datetime(1970, 1, 1, tzinfo=UTC)
        said = memory_md.parse_entry(change.before, modified=then).text
        stays = memory_md.parse_entry(change.after, modified=then).text if change.after else ""
        yield from _removed_clauses(said, stays)


def _removed_clauses(before: str, after: str) -> Iterator[str]:
    """Yield the clauses of `before` that `after` lacks; all of it as one if nothing is left."""
    kept = {normalise(repair_end(repair_start(unit.text))) for unit in units(after)}
    gone = (unit.text for unit in units(before) if normalise(repair_end(repair_start(unit.text))) not in kept)
    yield from gone if kept else [before]


def texts_without_forgotten(context: Context, texts: Iterable[str]) -> list[str]:
    """Return the texts without what was forgotten; each unchanged if nothing was."""
    texts = texts_left(context.book, texts)
    kept = not_forgotten(context, [part for text in texts for part in parts(text)])
    told = [without_texts(SessionSummary(session="", title="", summary=text), kept).summary for text in texts]
    return [text if left.split() == text.split() else left for text, left in zip(texts, told, strict=True)]
