"""Proposals as the journal keeps them: which are the same, which belong together, what they say, whether they fit.

Beside each change stands how the entry was that it is about (`seen`), and the session it belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from memorybook.book import fade
from memorybook.book.transaction import statement
from memorybook.entries.merge_plan import Proposed
from memorybook.errors import NotFound, Unavailable
from memorybook.forget.tombstones import phrases, tombstones_of, turn_key, unlabelled
from memorybook.formats import changes_json, session_md
from memorybook.model import (
    Add,
    Append,
    Archive,
    Change,
    Drop,
    Entry,
    Proposal,
    Put,
    Reinforce,
    Remove,
    RemoveTurns,
    SessionSummary,
    Supersede,
    Update,
)
from memorybook.sessions.recall_types import short
from memorybook.text.screen import screen
from memorybook.text.tokens import digest, text_digest

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.book.book import Book
    from memorybook.context import Context
    from memorybook.protocols import Transcripts

_ABOUT_ENTRIES = (Update, Reinforce, Archive, Remove, Supersede)
_KINDS: tuple[tuple[str, type[Any]], ...] = (
    ("remove", Remove),
    ("replace", Supersede),
    ("archive", Archive),
    ("change", Update),
    ("new", Add),
    ("repeat", Reinforce),
    ("note", Append),
    ("summary", Put),
)
_PASSING = frozenset({"score", "scored"})
_TURNS_TOLD = 3

FORGET = "forget"
"""Kind of what a person asked to forget: it holds however often it was said again, and leaves tombstones."""

KINDS = (*(kind for kind, _ in _KINDS), FORGET, "doubtful")
"""Kinds of proposals, but for those of tidying."""


def key(changes: Iterable[Change], entries: Mapping[str, Entry]) -> str:
    """What makes these changes the same proposal as others; see `key_of`."""
    return key_of([kept(change, entries, None) for change in changes])


def key_of(changes: Sequence[Mapping[str, Any]]) -> str:
    """What makes two proposals the same: they do the same to entries that are as they were, or say the same anew."""
    named = {change["entry"]["id"]: digest(change["entry"]["text"]) for change in changes if change.get("do") == "add"}
    return text_digest(repr(sorted(_key(change, named) for change in changes)))


def _key(change: Mapping[str, Any], named: Mapping[str, str]) -> str:
    kind = change.get("do")
    if kind == "add":
        return f"add {digest(change['entry']['text'])}"
    if kind == "append":
        return f"append {digest(statement(change['line']))}"
    if kind == "put":
        return f"put {change['path']} {text_digest(change['text'])}"
    fields = {name: value for name, value in change.get("fields", {}).items() if name not in _PASSING}
    fields = {name: named.get(value, value) if isinstance(value, str) else value for name, value in fields.items()}
    by = change.get("by", "")
    turns = (change.get("session"), sorted(change.get("turn_ids") or ())) if kind == "removeturns" else None
    where = (change.get("path"), change.get("line"), turns)
    return f"{kind} {change.get('id')} {named.get(by, by)} {change.get('seen')} {where} {sorted(fields.items())}"


def kept(change: Change, entries: Mapping[str, Entry], session: str | None, kind: str = "") -> dict[str, Any]:
    """The change as it is kept: with the session it belongs to, and how the entry stands that it is about."""
    shown = changes_json.render(change)
    if session is not None and "session" not in shown:
        shown["session"] = session
    if isinstance(change, _ABOUT_ENTRIES) and change.id in entries:
        shown["seen"] = _stamp(change, entries[change.id], kind)
    return shown


def _stamp(change: Change, entry: Entry, kind: str) -> str:
    """How an entry stands, as far as a change depends on it: the same on every day that it only fades."""
    said = (entry.text, entry.category, entry.archived, entry.pinned, entry.superseded_by, entry.expires)
    if isinstance(change, Reinforce | Supersede) or kind == FORGET:
        return text_digest(repr(said))
    anew = fade.fade(1.0, scored=entry.last_activated, activated=entry.last_activated, today=entry.scored)
    used = (entry.hits, entry.last_activated, f"{entry.score / anew:.3g}" if anew else "")
    return text_digest(repr((said, used)))


def proposals_of(changes: Iterable[Change], verb: str) -> Iterator[Proposed]:
    """The changes in proposals of their own, but for those that belong together."""
    for group in _together(changes):
        kind = next((name for name, of in _KINDS if any(isinstance(change, of) for change in group)), "forget")
        reasons = "; ".join(dict.fromkeys(change.reason for change in group if change.reason))
        yield Proposed(kind, tuple(group), f"{verb}: {reasons}" if reasons else verb)


def _together(changes: Iterable[Change]) -> list[list[Change]]:
    """Changes that name the same entries, each group in order."""
    groups: list[tuple[set[str], list[Change]]] = []
    for change in changes:
        ids = _ids(change)
        mine: tuple[set[str], list[Change]] = (set(ids), [])
        for group in [group for group in groups if group[0] & ids]:
            groups.remove(group)
            mine = (mine[0] | group[0], mine[1] + group[1])
        groups.append((mine[0], [*mine[1], change]))
    return [group for _, group in groups]


def _ids(change: Change) -> set[str]:
    """The entries that a change is about."""
    if isinstance(change, Add):
        return {change.entry.id}
    if not isinstance(change, _ABOUT_ENTRIES):
        return set()
    by = change.by if isinstance(change, Supersede) else None
    if isinstance(change, Update):
        by = change.fields.get("superseded_by")
    return {change.id} | ({by} if by else set())


def tombstones(context: Context, proposal: Proposal, entries: Mapping[str, Entry]) -> set[str]:
    """What must not come back once this is carried out; to be asked before. Empty but for what is to be forgotten."""
    if proposal.kind != FORGET:
        return set()
    changes = list(map(changes_json.parse, proposal.changes))
    removed = [entries[one.id] for one in changes if isinstance(one, Remove) and one.id in entries]
    lines = [one.line for one in changes if isinstance(one, Drop) and one.line]
    turns = [
        turn
        for one in changes
        if isinstance(one, RemoveTurns) and one.turn_ids
        for turn in context.book.transcripts.turns(one.session)
        if turn.id in one.turn_ids
    ]
    return tombstones_of(context, removed, lines=lines, turns=turns)


# --- in words ------------------------------------------------------------------------------------


def told(
    changes: Sequence[Mapping[str, Any]], entries: Mapping[str, Entry], transcripts: Transcripts | None = None
) -> Iterator[str]:
    """The changes in words; of turns that would go their own words, too, if the transcripts are given."""
    said = {id: entry.text for id, entry in entries.items()}
    said |= {change["entry"]["id"]: change["entry"]["text"] for change in changes if change.get("do") == "add"}
    for change in changes:
        kind, id = change.get("do"), str(change.get("id", ""))
        text = _line(said.get(id, "(gone)"))
        if kind == "add":
            yield f"+ {_line(change['entry']['text'])}"
        elif kind == "append":
            yield f"+ {change['path']}: {_line(change['line'])}"
        elif kind == "supersede":
            yield f"{id} is no longer true: {text} (now: {_line(said.get(change['by'], '(gone)'))})"
        elif kind == "update":
            yield f"{id}, {', '.join(_fields(change))}: {text}"
        elif kind in ("archive", "remove", "reinforce"):
            yield f"{kind} {id}: {text}"
        elif kind == "drop":
            yield f"- {change['path']}" + (f": {_line(change['line'])}" if change.get("line") else ", all of it")
            yield from [f"+ {change['path']}: {_line(change['left'])}"] if change.get("left") else []
        elif kind == "removeturns":
            ids = change.get("turn_ids")
            count = f"{len(ids)} turn{'s' * (len(ids) != 1)}" if ids else "all turns"
            yield f"- {count} of session {short(change['session'])}"
            yield from _turns_told(change, transcripts)
        elif kind == "put":
            yield "\n".join(_page_told(change["path"], change.get("made_from") or "", change["text"]))
        else:
            yield f"{kind}, which this version does not know"


def _turns_told(change: Mapping[str, Any], transcripts: Transcripts | None) -> Iterator[str]:
    """The first of the turns that would go, by their ids, and how many more."""
    session, ids = change["session"], change.get("turn_ids")
    try:
        if transcripts is None:
            return
        turns = [one for id in ids for one in transcripts.find(id, session)] if ids else transcripts.turns(session)
    except Unavailable:  # what is said to be about them must do
        return
    for turn in turns[:_TURNS_TOLD]:
        if screen(turn.text) is None:
            yield f"  turn:{turn.id}: {_line(turn.text, 120)}"
        else:
            yield f"  turn:{turn.id}: (it tries to instruct whoever reads it)"
    if len(turns) > _TURNS_TOLD:
        yield f"  and {len(turns) - _TURNS_TOLD} more"


def _page_told(path: str, before: str, after: str) -> Iterator[str]:
    """What is written, in a line; of a summary what it is called, what it no longer says, and what it says now."""
    if not path.startswith("sessions/"):
        yield f"write {path}: {_line(after)}"
        return
    old, new = session_md.parse(before), session_md.parse(after)
    was, says = dict.fromkeys(_says(old)), dict.fromkeys(_says(new))
    yield f"{'change' if before else 'write'} {path}: {_line(new.title or new.name)}"
    yield from (f"- {_line(row)}" for row in was if row not in says)
    yield from (f"+ {_line(row)}" for row in says if row not in was)


def _says(summary: SessionSummary) -> Iterator[str]:
    yield from phrases(summary.summary)
    yield from (f"decided: {each}" for each in summary.decisions)
    yield from (f"open: {each}" for each in summary.open_questions)


def _fields(change: Mapping[str, Any]) -> Iterator[str]:
    for name, value in change["fields"].items():
        if name not in _PASSING:
            yield f"{name.replace('_', ' ')} → {_value(value)}"


def _value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "nothing" if value is None else str(value)


def _line(text: str, most: int = 300) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1] + "…"


# --- whether they fit -----------------------------------------------------------------------------


def stale(book: Book, proposal: Proposal, entries: Mapping[str, Entry]) -> str:
    """Why a proposal no longer fits what stands there now; "" if it does."""
    added = _added(book, proposal, entries)
    against = (_against(book, change, proposal, added, entries) for change in proposal.changes)
    return next(filter(None, against), "")


def overruled(proposal: Proposal, forgets: Iterable[tuple[Proposal, set[str]]]) -> str:
    """Why a proposal must not be carried out beside later ones to forget, given with their tombstones; "" if it may."""
    if proposal.kind == FORGET:
        return ""
    shown = ((changes_json.parse(each), each.get("session") or "") for each in proposal.changes)
    brings = {one for change, session in shown for one in _says_and_rests_on(change, session)}
    later = (buried for each, buried in forgets if each.time > proposal.time)
    return "" if all(map(brings.isdisjoint, later)) else "it is to be forgotten"


def fitting(book: Book, proposal: Proposal, entries: Mapping[str, Entry]) -> list[Change]:
    """The changes of a proposal that fit what stands there now."""
    added = _added(book, proposal, entries)
    fits = [each for each in proposal.changes if not _against(book, each, proposal, added, entries)]
    return [changes_json.parse(each) for each in fits]


def _against(
    book: Book, shown: Mapping[str, Any], proposal: Proposal, added: set[str], entries: Mapping[str, Entry]
) -> str:
    """What stands against a change; "" if nothing does."""
    try:
        change = changes_json.parse(shown)
    except ValueError as error:
        return str(error)
    if isinstance(change, Add) and change.entry.id in entries:
        return f"entry {change.entry.id} is in the book already"
    brings = () if proposal.kind == FORGET else _says_and_rests_on(change, shown.get("session") or "")
    if _forgotten_since(book, tuple(brings), proposal.time):
        return "it was forgotten since"
    if isinstance(change, Put):
        standing = _text(book, change.path)
        return "" if change.made_from in (None, standing) else f"{change.path} was changed since"
    if not isinstance(change, _ABOUT_ENTRIES):
        return ""
    entry = entries.get(change.id)
    if entry is None:
        return "" if change.id in added else f"entry {change.id} is gone"
    if _stamp(change, entry, proposal.kind) != shown.get("seen"):
        return f"entry {change.id} was changed since"
    if isinstance(change, Supersede) and change.by not in entries and change.by not in added:
        return f"entry {change.by} is gone"
    return ""


def _forgotten_since(book: Book, digests: Sequence[str], time: datetime) -> bool:
    """Whether something was forgotten after that time; what was accepted since but asked for before is none of it."""
    if not book.journal.buried(digests, since=time):
        return False
    asked = (each for each in book.journal.proposals(state="accepted", kind=FORGET) if each.time < time)
    return bool(book.journal.buried(digests, since=time, but={each.operation for each in asked if each.operation}))


def _says_and_rests_on(change: Change, session: str) -> Iterator[str]:
    """Tombstones that stand against a change: of what it says, and of the turns of its session in which it was said."""
    if isinstance(change, Add):
        source = change.entry.source or ""
        yield digest(change.entry.text)
        yield turn_key(change.entry.session or session, source.removeprefix("turn:"))
    elif isinstance(change, Append):
        yield digest(statement(change.line))
        yield from (turn_key(session, turn) for turn in re.findall(r"\bturn:(\S+)", change.reason))
    elif isinstance(change, Put) and change.path.startswith("sessions/"):
        page = session_md.parse(change.text)
        said = (*phrases(page.summary), *page.decisions, *page.open_questions)
        yield from (digest(form) for text in said for form in (text, unlabelled(text)))
        yield from (turn_key(page.session, turn) for turn in page.turn_ids)


def _text(book: Book, path: str) -> str:
    try:
        return book.documents.read(path).text
    except NotFound:
        return ""


def _added(book: Book, proposal: Proposal, entries: Mapping[str, Entry]) -> set[str]:
    """Ids of the entries that a proposal can still add."""
    adding = [change for change in proposal.changes if change.get("do") == "add"]
    return {change["entry"]["id"] for change in adding if not _against(book, change, proposal, set(), entries)}
