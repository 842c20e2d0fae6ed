"""Describe what happened to a book, explain its entries, and undo operations."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, replace
from datetime import date
from itertools import islice
from shlex import quote
from typing import TYPE_CHECKING, Any, Literal

from memorybook import locale
from memorybook.book.book import together
from memorybook.book.transaction import MEMORY
from memorybook.entries.read import OF_LINES, entry_of, known, turns_of
from memorybook.entries.review import line
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, MissingDocument, NotFound, Unavailable
from memorybook.forget.tombstones import not_forgotten
from memorybook.formats import memory_md
from memorybook.formats.memory_md import without_header
from memorybook.model import Applied, Entry, Operation, Put, Turn
from memorybook.results import Activity, Ground, Happened, History, Undone, Why
from memorybook.sessions.ingest import set_aside
from memorybook.sessions.memorize import BY_IMPORT, parked, waiting
from memorybook.sessions.recall_block import short
from memorybook.text.patch import diff, merge_text
from memorybook.validate import count_of, days_of, read_place, text_of

if TYPE_CHECKING:
    import threading

    from memorybook.book.book import Book
    from memorybook.book.transaction import Outcome
    from memorybook.context import Context
    from memorybook.model import Operation


_TURN = re.compile(r"turn:([^\s,;]+)")
_QUIET = frozenset({"scored", "last_activated", "verified", "unknown", "id"})


def history(
    context: Context,
    id: str | None = None,
    *,
    limit: int | None = 20,
    since: str | date | None = None,
    until: str | date | None = None,
    before: str | None = None,
) -> History:
    """See `Memory.history`."""
    limit, journal = count_of(limit), context.book.journal
    first, last = context.book.span(*days_of(since, until, context.book.zone))
    undone = journal.undone()
    wanted = None if limit is None else limit + 1
    bounds: dict[str, Any] = {"limit": wanted, "since": first, "until": last, "before": before}
    found = list(journal.operations(target=id or None, **bounds))
    target: str | None = id or None
    if target is not None and not found:
        found, target = _otherwise(context.book, target, bounds), None
    shown = tuple(_describe_operation(each, target, undone) for each in found[:limit])
    return History(shown, len(found) > len(shown))


Effect = Literal["learned", "again", "replaced", "faded", "forgotten", "other"]
"""What a change means to who looks back: `faded` is archived or removed by tidying, `other` an edit or an undo."""

_EFFECTS: Mapping[str, Effect] = {
    "add": "learned",
    "append": "learned",
    "item": "learned",
    "reinforce": "again",
    "supersede": "replaced",
    "archive": "faded",
}


def effect(verb: str, kind: str, reason: str) -> Effect:
    """Return what a change means, by the verb that asked for it, its kind, and why."""
    if verb == "undo":
        return "other"
    if verb in ("forget", "purge") or reason == "forgotten" or reason.startswith("asked to be forgotten"):
        return "forgotten"
    return "faded" if (verb, kind) == ("tidy", "remove") else _EFFECTS.get(kind, "other")


def activity(context: Context, *, until: str | date | None = None, limit: int | None = 60) -> tuple[Activity, ...]:
    """See `Memory.activity`."""
    limit, (_, last) = count_of(limit), context.book.span(*days_of(None, until, context.book.zone))
    most = None if limit is None else 2 * limit + 1  # a day in another timezone lies in two of UTC
    counts: dict[date, Counter[str]] = {}
    for minute, verb, kind, reason, summary, count in context.book.journal.activity(until=last, limit=most):
        effects = counts.setdefault(context.book.day(minute), Counter())
        if not summary:
            effects[effect(verb, kind, reason)] += count
    return tuple(Activity(day, **effects) for day, effects in islice(counts.items(), limit))


def _otherwise(book: Book, id: str, bounds: Mapping[str, Any]) -> list[Operation]:
    """Return the operation of that id, or those of a session; none for an entry that nobody changed, or not then."""
    journal = book.journal
    with suppress(NotFound):
        return [journal.operation(id)]
    name = id.removeprefix("session:")
    found = list(journal.operations(session=name, **bounds))
    if not found:
        with suppress(NotFound):
            found = list(journal.operations(session=book.transcripts.session(name).uuid, **bounds))
    known = found or any(entry.id == id for entry in book.entries())
    if not known and not (journal.operations(target=id, limit=1) or journal.operations(session=name, limit=1)):
        raise locale.error(NotFound, "problems.journal_has_nothing", name=repr(id))
    return found


# --- changes in words ----------------------------------------------------------------------------


def _describe_operation(operation: Operation, target: str | None, undone: Mapping[str, str]) -> Happened:
    """Describe an operation and those of its changes that are of the target."""
    shown = (describe_change(change) for change in operation.changes if target in (None, change.target))
    return Happened(operation, tuple(shown), undone.get(operation.id))


def describe_change(change: Applied) -> str:
    """Describe a change in one line such as `e7d2k1: score 0.6 → 0.68, hits 1 → 2 (remembered)`."""
    why = f" ({line(change.reason)})" if change.reason and change.reason != "(purged)" else ""
    if change.purged:
        return f"{change.kind} {change.target}: purged{why}"
    if change.kind in OF_LINES:
        return f"{_of_document(change)}{why}"
    before, after = entry_of(change.before), entry_of(change.after)
    if before is None and after is not None:
        return f"+ {change.target}: {line(after.text)}{why}"
    if before is not None and after is None:
        return f"- {change.target}: {line(before.text)}{why}"
    if before is None or after is None:
        return f"{change.kind} {change.target}{why}"
    differing = (f"{name} {old} → {new}" for name, old, new in changed_fields(before, after))
    return f"~ {change.target}: {', '.join(differing) or 'unchanged'}{why}"


def changed_fields(before: Entry, after: Entry) -> list[tuple[str, str, str]]:
    """Return name, old and new value, in words, of the fields that differ; not of those that follow from others."""
    names = (field.name for field in fields(Entry) if field.name not in _QUIET)
    values = ((name.replace("_", " "), getattr(before, name), getattr(after, name)) for name in names)
    return [(name, _value(old), _value(new)) for name, old, new in values if old != new]


def difference(change: Applied) -> Iterator[tuple[str, str]]:
    """Yield what a change took (`-`) and brought (`+`): texts of entries, lines of documents, turns; none if purged."""
    before, after = change.before, change.after
    old, new = entry_of(before), entry_of(after)
    if old is not None or new is not None:
        was_text, now_text = old.text if old else None, new.text if new else None
        if was_text != now_text:
            yield from ((sign, text) for sign, text in (("-", was_text), ("+", now_text)) if text is not None)
    elif change.kind in ("turns", "edit"):
        was, now = _spoken(before), _spoken(after)
        yield from (("-", text) for text in was if text not in now)
        yield from (("+", text) for text in now if text not in was)
    elif not before or not after:
        yield from ((sign, text) for sign, side in (("-", before), ("+", after)) for text in (side or "").splitlines())
    else:
        for hunk in diff(before, after):
            yield from ((sign, text) for sign, lines in (("-", hunk.old), ("+", hunk.new)) for text in lines)


def _spoken(text: str | None) -> list[str]:
    """Return who said what in turns as the journal keeps them."""
    with suppress(ValueError, TypeError, AttributeError):
        turns = json.loads(text or "{}").get("turns", ())
        return [f"{turn.get('speaker') or turn.get('role') or ''}: {turn.get('text', '')}" for turn in turns]
    return []


def as_one(operations: Iterable[Operation]) -> list[Applied]:
    """Return the changes of operations, newest first, as one patch: of each entry and document from first to last."""
    found: dict[tuple[str, str], Applied] = {}
    for operation in operations:
        for number, change in reversed(list(enumerate(operation.changes))):
            alone = change.kind in OF_LINES and change.kind != "put"
            place = (change.target, f"{operation.id} {number}" if alone else "")
            last = found.get(place, change)
            found[place] = replace(last, before=change.before, purged=last.purged or change.purged)
    return [change for change in reversed(found.values()) if change.before != change.after]


def _of_document(change: Applied) -> str:
    before, after = change.before, change.after
    if change.kind in ("turns", "edit"):
        count = (before or after or "").count('"position":')
        what = f"{count} turn{'s' * (count != 1)}" if count or change.kind == "turns" else "title and summary"
        sign = "~" if change.kind == "edit" else "-" if after is None else "+"
        return f"{sign} {what} of session {short(change.target.removeprefix('session:'))}"
    if change.kind == "item":
        section, _, text = (after or before or "").partition("\n")
        return f"{'-' if after is None else '+'} {change.target}, {section}: {line(text)}"
    if change.kind == "append":
        return f"+ {change.target}: {line(after or '')}"
    if change.kind == "drop":
        if after:
            return f"~ {change.target}: {line(before or '')} -> {line(after)}"
        return f"- {change.target}: {line(before or '')}" if after is not None else f"- {change.target}, all of it"
    return f"+ {change.target}, written" if before is None else f"~ {change.target}, rewritten"


def _value(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.2f}"
    if isinstance(value, str):
        return repr(line(value, 100))
    if isinstance(value, tuple):
        return "[" + ", ".join(map(str, value)) + "]"
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


# --- why -----------------------------------------------------------------------------------------


def why(context: Context, id: str) -> Why:
    """See `Memory.why`."""
    id = text_of(id, "id")
    book = context.book
    entries = {entry.id: entry for entry in book.entries()}
    entry = entries.get(id)
    operations = list(reversed(book.journal.operations(target=id)))
    changes = (change for operation in operations for change in operation.changes if change.target == id)
    if entry is None and all(change.kind in OF_LINES for change in changes):
        raise locale.error(NotFound, "problems.no_entry_ever", name=repr(id))
    undone = book.journal.undone()
    by = entry.superseded_by if entry is not None else None

    def texts(ids: Iterable[str]) -> tuple[tuple[str, str], ...]:
        return tuple((each, entries[each].text if each in entries else "") for each in ids)

    return Why(
        id=id,
        known=known(book, [entry])[0] if entry is not None else None,
        rests_on=tuple(_grounds(book, id, entry, [each for each in operations if each.id not in undone])),
        story=tuple(_describe_operation(each, id, undone) for each in operations),
        supersedes=texts(each.id for each in entries.values() if each.superseded_by == id),
        contradicts=texts(entry.contradicts if entry is not None else ()),
        superseded_by=texts([by])[0] if by is not None else None,
        prompts=tuple(book.journal.prompts_of(id)),
    )


def _grounds(book: Book, id: str, entry: Entry | None, operations: Iterable[Operation]) -> Iterator[Ground]:
    """Yield each turn or line once, with the words quoted from it."""
    grounds: dict[tuple[str, str], str] = {}
    for operation in operations:
        for change in operation.changes:
            if change.target == id and change.kind in ("add", "reinforce", "update", "supersede"):
                after = entry_of(change.after)
                sources = _sources(change.reason) + (
                    _sources(after.source or "") if change.kind == "add" and after else []
                )
                said = change.reason.removeprefix("said: ")  # the words, and the turns named after them
                quote = re.sub(r"(?: turn:\S+)+$", "", said) if said != change.reason else ""
                for source in sources or ([""] if quote else []):
                    key = (source, operation.session or "")
                    grounds[key] = grounds.get(key) or quote
    for source in _sources(entry.source or "") if entry is not None else ():
        if all(source != told for told, _ in grounds):
            grounds[source, (entry and entry.session) or ""] = ""
    found: dict[tuple[str, str], Ground] = {}
    for (source, session), quote in grounds.items():
        one = _ground(book, source, session, quote)
        found.setdefault((one.source, one.session or ""), one)  # what was forgotten and brought back rests on it twice
    yield from found.values()


def _sources(text: str) -> list[str]:
    turns = [f"turn:{name}" for name in _TURN.findall(text)]
    lines = [text] if read_place(text) else [word for word in text.split() if read_place(word)]
    return list(dict.fromkeys(turns + lines))


def _ground(book: Book, source: str, session: str, quote: str) -> Ground:
    place = read_place(source)
    if place is not None:
        path, start, end = place
        standing = None
        with suppress(NotFound, InvalidInput):
            lines = book.documents.read(path).text.split("\n")
            standing = "\n".join(lines[start - 1 : end]) or None
        return Ground(source, standing, quote)
    found = _turn(book, source.removeprefix("turn:"), session) if source else None
    name = ""
    if session or found is not None:
        with suppress(NotFound):
            name = book.transcripts.session(found.session if found is not None else session).name
    if found is None:
        return Ground(source, None, quote, session, name)
    if book.transcripts.shared([found.id]):
        source = f"turn:{found.session}/{found.id}"
    return Ground(source, found.text, quote, found.session, name, found.speaker or found.role, found.time)


def _turn(book: Book, name: str, session: str) -> Turn | None:
    """Return the turn of that id in that session, or in another if it is the only one."""
    with suppress(NotFound):
        turns = turns_of(book, name)
        of_session = [turn for turn in turns if turn.session == session]
        return next(iter(of_session or (turns if len(turns) == 1 else ())), None)
    return None


# --- operations -------------------------------------------------------------------------------------


def undo(context: Context, operation_id: str, *, dry_run: bool = False) -> Undone:
    """See `Memory.undo`.

    Documents that stand as the operation left them become what they were before it, byte for byte. In those that
    changed elsewhere since, what it changed is taken back and the rest stays. What it forgot may be imported again.
    Turns that it imported stay: `forget` takes out a source as a whole, and undoing that brings it back.
    """
    id = text_of(operation_id, "operation")
    book = context.book
    if id == MEMORY:
        return _loss_undone(context, dry_run=dry_run)
    undone, operation, reversal = book.undo(id, actor=context.actor, door=context.door, dry_run=dry_run)
    if not dry_run:
        with suppress(Unavailable):  # the documents are as they should be; the next search brings the index along
            book.refresh()
    return Undone(
        undone=undone.id,
        kind=undone.kind,
        operation=None if dry_run else operation.id,
        dry_run=dry_run,
        changes=reversal.changes,
        told=tuple(map(describe_change, reversal.changes)),
        exact=reversal.exact,
        adapted=reversal.adapted,
        remains=tuple(_remains(context, undone)),
    )


def _loss_undone(context: Context, *, dry_run: bool) -> Undone:
    """Restore what another program took out of MEMORY.md, except what was forgotten since.

    Raises:
        NotFound: Nothing was.
    """
    book = context.book
    lost = book.documents.lost(settle=True)
    if not lost:
        raise NotFound(f"no other program took anything from {MEMORY}: name an operation, see memorybook history")
    before = now = book.memory_text()
    for _, text, left in lost:
        now = merge_text(left, text, now if left.strip() else without_header(now))
    was = set(before.split("\n"))
    kept = not_forgotten(context, now.split("\n"))
    now = "\n".join(line for line in now.split("\n") if line in was or kept(line))
    exact = now == lost[-1].text
    operation: Operation | None = None
    outcomes: tuple[Outcome, ...] = ()
    if not dry_run:
        change = Put(path=MEMORY, text=now, reason="another program had taken it away", made_from=before)
        result = book.apply([change], actor=context.actor, door=context.door, kind="undo")
        book.documents.forget_lost()
        operation, outcomes = result.operation, result.outcomes
        with suppress(Unavailable):
            book.refresh()
    changes = tuple(one.applied for one in outcomes if one.applied is not None)
    return Undone(
        undone=MEMORY,
        kind="loss",
        operation=None if operation is None else operation.id,
        dry_run=dry_run,
        changes=changes,
        told=tuple(map(describe_change, changes)),
        exact=(MEMORY,) if exact else (),
        adapted=() if exact else (MEMORY,),
    )


def _remains(context: Context, undone: Operation) -> Iterator[str]:
    """Say what stays of an imported file, as each of its sessions is an operation of its own."""
    if undone.door != BY_IMPORT or undone.session is None:
        return
    with suppress(NotFound, Conflict):  # no turns are kept, or none any more
        session = context.book.transcripts.session(undone.session)
        name = session.source.removeprefix("import:")
        if name != session.source:
            yield (
                f"the turns stay, and all else of that file: `memorybook forget --source {quote(name)}` takes out "
                "the whole import"
            )


# --- make a book --------------------------------------------------------------------------------


def init(context: Context, *, dated: bool = True) -> dict[str, Any]:
    """See `Memory.init`; the hint is for who keeps the book under git, `dated` as in `memory_md.template`."""
    documents = context.book.documents
    created = []
    with context.book.storage.transaction():
        try:
            documents.read(MEMORY)
        except MissingDocument:
            documents.write(MEMORY, memory_md.template(dated=dated), expect=None)
            created.append(MEMORY)
    storage = context.book.storage
    return {"root": storage.root, "created": created, "hint": storage.hint()}


def status(context: Context, *, failures: Collection[str] = ()) -> dict[str, Any]:
    """See `Memory.status`; `failures` are those of finished tasks."""
    book, config = context.book, context.config
    exists = book.storage.exists()
    shown: dict[str, Any] = {
        "root": context.root,
        "exists": exists,
        "disabled": not config.enabled,
        "provider": config.provider,
        "documents": {"count": 0, "bytes": 0, "notes": 0, "summaries": 0},
        "entries": {"active": 0, "archived": 0, "superseded": 0},
        "transcripts": {},
        "pending_operations": book.pending_operations(),
        "waiting": {"sessions": 0, "proposals": 0},
        "index": {},
        "degraded": [],
        "warnings": [*config.warnings, *failures],
        "settings": dict(config.sources),
    }
    with suppress(Unavailable):  # for which the index's sync gives the reason
        shown["transcripts"] = dict(book.transcripts.counts())
    if exists:
        _count(context, shown)
    elif context.absent and not context.missing_ok:
        shown["degraded"].append(context.absent)
    shown["degraded"] = list(together(shown["degraded"], (*book.faults(thorough=True), *book.documents.faults())))
    return shown


def _count(context: Context, shown: dict[str, Any]) -> None:
    book = context.book
    documents = list(book.documents.list())
    shown["documents"] = {
        "count": len(documents),
        "bytes": sum(info.size for info in documents),
        "notes": sum(info.path.startswith("daily/") for info in documents),
        "summaries": sum(info.path.startswith("sessions/") for info in documents),
    }
    for entry in book.entries():
        shown["entries"][entry.state] += 1
    shown["warnings"] += book.warnings()
    shown["degraded"] += book.degraded
    shown["degraded"] += set_aside(context)
    with suppress(Unavailable):  # the book says that its journal does not answer
        shown["waiting"] = {"sessions": len(parked(context)), "proposals": len(book.journal.proposals())}
        shown["degraded"] += filter(None, [waiting(context)])
    try:
        report = book.index.sync(book.documents, book.transcripts)
        shown["degraded"] += report.degraded
        pending = report.pending_vectors
        failure, by = (book.embedding.failure, book.embedding.by) if pending else ("", "")
        if failure and not any(failure in reason for reason in report.degraded):
            shown["degraded"].append(failure)
        shown["index"] = {"fresh": True, **book.index.stats(), "pending_vectors": pending, "embedded_by": by}
    except MemoryBookError as error:
        shown["degraded"].append(str(error))
        shown["index"] = {"fresh": False}


def watch(context: Context, on_change: Callable[[dict[str, Any]], None], *, stop: threading.Event | None) -> None:
    """See `Memory.watch`."""
    init(context)
    context.book.background = True
    on_change(context.book.refresh().json())

    for _ in context.book.storage.notices(stop):
        on_change(context.book.refresh().json())
