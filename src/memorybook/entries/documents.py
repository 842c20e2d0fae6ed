"""Read, write, rename and remove whole documents, with revisions; each verb is one `Book.apply`.

What a person wrote stays when an agent's edit would remove it: the edit waits for a person in review. An entry is a
person's by its trust, a line of MEMORY.md by the stamp it lacks, a line of any other document unless the journal names
an agent who wrote it; items are the values of a program, whoever looked in. What an edit adds, or takes away of an
agent's own, is done at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memorybook import locale
from memorybook.book import fade
from memorybook.book.book import retried
from memorybook.book.fade import importance_score
from memorybook.book.transaction import MEMORY, is_page
from memorybook.entries.match import Proposed
from memorybook.entries.read import Mask
from memorybook.entries.review import propose
from memorybook.entries.same import lowest_trust
from memorybook.errors import Conflict, InvalidInput, MissingDocument
from memorybook.formats import memory_md
from memorybook.formats.document import Document, DocumentInfo
from memorybook.formats.item_md import FOLDER
from memorybook.model import IMPORTANCE, Change, Drop, Entry, Operation, Put, Remove, Update
from memorybook.text import patch
from memorybook.text.screen import screen
from memorybook.text.tokens import normalise

if TYPE_CHECKING:
    from datetime import date

    from memorybook.book.book import Book
    from memorybook.book.transaction import Result
    from memorybook.context import Context
    from memorybook.formats.memory_md import MemoryDocument

_Done = TypeVar("_Done")


class WrittenDocument(NamedTuple):
    """A document that was written or removed.

    Attributes:
        path: Its path; of a removed one, its former path.
        revision: Its new revision; None if it was removed.
        redacted: Number of secrets masked.
        operation: Id of the operation; None if nothing changed.
        proposals: Ids of proposals that wait for a person: what an agent's edit would take away of a person's words.
    """

    path: str
    revision: str | None
    redacted: int = 0
    operation: str | None = None
    proposals: tuple[str, ...] = ()

    def json(self) -> dict[str, Any]:
        """Return `{"path", "revision", "redacted", "operation", "proposals"}`."""
        return {**self._asdict(), "proposals": list(self.proposals)}


def check_done(written: WrittenDocument | None) -> None:
    """Raise InvalidInput if part of it waits for a person, for callers that have no other way to say so."""
    if written is not None and written.proposals:
        raise locale.error(
            InvalidInput, "problems.edit_waits", name=repr(written.path), proposals=", ".join(written.proposals)
        )


def documents(context: Context) -> tuple[DocumentInfo, ...]:
    """See `Memory.documents`."""
    return tuple(sorted(context.book.documents.list(), key=lambda info: info.path))


def document(context: Context, path: str) -> Document:
    """See `Memory.document`."""
    return context.book.documents.read(path)


def write_document(
    context: Context, path: str, text: str, *, expect: str | None, reason: str = "written", session: str | None = None
) -> WrittenDocument:
    """See `Memory.write_document`; reason and session as in `model.Operation`."""
    mask = Mask(context)
    text = mask.text(text)

    def write() -> WrittenDocument:
        before = _current_text(context, path, expect)
        if before is None:
            _check_name(context, path)
        left, waiting = _permitted(context, path, text, before)
        put = Put(path=path, text=left, reason=reason, made_from=before or "")
        written = _apply(context, [put], path, "write", mask.count, session)
        return written._replace(proposals=wait_for_person(context, waiting, path))

    return _retry(write, expect)


def rename_document(context: Context, path: str, to: str, *, expect: str | None) -> WrittenDocument:
    """See `Memory.rename_document`."""
    return _retry(lambda: _apply(context, _move_changes(context, path, to, expect), to, "rename", 0), expect)


def rename_documents(context: Context, ways: Mapping[str, str]) -> None:
    """Move documents to free paths, all or none, as one operation. Raises as `rename_document`."""

    def rename() -> Result:
        moved = [_move_changes(context, path, to, None) for path, to in ways.items()]
        puts, drops = zip(*moved, strict=True)  # what stands in two places for a moment is never in none
        return context.book.apply([*puts, *drops], actor=context.actor, door=context.door, kind="rename")

    _retry(rename)


def remove_document(
    context: Context, path: str, *, expect: str | None, reason: str = "removed", session: str | None = None
) -> WrittenDocument:
    """See `Memory.remove_document`; reason and session as in `model.Operation`."""

    def remove() -> WrittenDocument:
        drop = _remove_change(context, path, expect, reason)
        if proposals := _waiting(context, [drop], path):
            return WrittenDocument(path, context.book.documents.read(path).revision, 0, None, proposals)
        return _apply(context, [drop], path, "remove", 0, session)

    return _retry(remove, expect)


def remove_documents(context: Context, paths: Sequence[str]) -> tuple[str, ...]:
    """Remove documents, all or none, as one operation. Raises as `remove_document`.

    Return ids of proposals if they wait for a person instead.
    """

    def remove() -> tuple[str, ...]:
        drops = [_remove_change(context, path, None, "removed") for path in paths]
        if not (proposals := _waiting(context, drops, ", ".join(paths))):
            context.book.apply(drops, actor=context.actor, door=context.door, kind="remove")
        return proposals

    return _retry(remove)


def _waiting(context: Context, drops: Sequence[Drop], name: str) -> tuple[str, ...]:
    """Let an agent's removal of documents in which a person wrote wait; return the proposal, () if nothing waits."""
    if context.actor == "user" or not any(
        lines_lost(context.book, one.path, one.made_from or "", None) for one in drops
    ):
        return ()
    return wait_for_person(context, [edit(drops, name, "remove")], name)


def _retry(do: Callable[[], _Done], expect: str | None = None) -> _Done:
    """Call `do`, and again if a document changed meanwhile and no revision is expected."""
    return retried(do, Conflict, times=5 if expect is None else 1)


def _move_changes(context: Context, path: str, to: str, expect: str | None) -> tuple[Put, Drop]:
    if path == to:
        raise InvalidInput(f"document {path!r} is called so already: give another path")
    drop = _remove_change(context, path, expect, f"is {to}", act="rename")
    _check_name(context, to)
    _current_text(context, to, "")
    before = drop.made_from or ""
    return Put(path=to, text=_permitted(context, to, before, None)[0], reason=f"was {path}", made_from=""), drop


def _remove_change(context: Context, path: str, expect: str | None, reason: str, *, act: str = "remove") -> Drop:
    """Return the change that removes a document. Raises InvalidInput if an agent would remove entries with it."""
    before = _current_text(context, path, expect)
    if before is None:
        raise MissingDocument(f"no document {path!r} to {act}")
    kept = context.actor != "user" and is_page(path)
    if kept and (path == MEMORY or memory_md.parse(before, modified=context.book.now()).entries):
        raise InvalidInput(f"document {path!r} holds what is remembered, it stays: forget entries one by one")
    return Drop(path=path, reason=reason, made_from=before)


def _check_name(context: Context, path: str) -> None:
    """Raise InvalidInput if a path looks like a secret."""
    mask = Mask(context)
    clean = "/".join(mask.words(path.removesuffix(".md").split("/")))
    if mask.count:
        raise InvalidInput(f"no document can be called {clean!r}: its name looks like a secret; give another one")


def _current_text(context: Context, path: str, expect: str | None) -> str | None:
    """Return the text of the document, None if there is none. Raises Conflict if it is not as expected."""
    try:
        found = context.book.documents.read(path)
    except MissingDocument:
        if expect:
            raise Conflict(f"document {path!r} is gone: it was {expect!r} when it was read") from None
        return None
    if expect is not None and expect != found.revision:
        known = f"is {found.revision!r} by now, not {expect!r}" if expect else "exists already"
        raise Conflict(f"document {path!r} {known}: read it and decide anew")
    return found.text


def _apply(
    context: Context, changes: Sequence[Change], path: str, kind: str, redacted: int, session: str | None = None
) -> WrittenDocument:
    result = context.book.apply(changes, actor=context.actor, door=context.door, kind=kind, session=session)
    try:
        revision = context.book.documents.read(path).revision
    except MissingDocument:
        revision = None
    return WrittenDocument(path, revision, redacted, result.operation.id if result.operation else None)


# --- what an agent may say of entries --------------------------------------------------------------


def _permitted(context: Context, path: str, text: str, before: str | None) -> tuple[str, list[Proposed]]:
    """Return the text limited to what its author may change, and what of it waits for a person.

    A person may write anything. An agent takes away nothing that a person wrote. It may file and
    move entries; trust, strength and origin are taken from the record, not from its text. Lines that it adds to a
    person's part of MEMORY.md are marked as an agent's.

    Raises:
        InvalidInput: An agent's text omits lines of a person in MEMORY.md, and cannot be written with them.
    """
    if context.actor == "user":
        return text, []
    standing = before or ""
    if not is_page(path):
        lost = lines_lost(context.book, path, standing, text)
        return without_losses(path, standing, text, lost) if lost else (text, [])
    now = context.book.now()
    waiting: list[Proposed] = []
    known = memory_md.parse(standing, modified=now)
    written = memory_md.parse(text, modified=now)
    if path == MEMORY and (lost := known.lines_of_people() - written.lines_of_people()):
        text, waiting = without_losses(path, standing, text, lost)
        written = memory_md.parse(text, modified=now)
        headings = any(line.startswith("#") for one in waiting for drop in one.changes for line in _new_lines(drop))
        if headings or not known.lines_of_people() <= written.lines_of_people():
            told = "; ".join(sorted(lost)[:3])
            raise InvalidInput(f"{path!r} has lines that a person wrote, which stay: add your own beside them ({told})")
    written, edits = _with_entries(context, known, written)
    if path == MEMORY:
        written = written.stamped(known)
    left = written.render(now=now)
    same = memory_md.without_header(left) == memory_md.without_header(standing)
    return standing if same else left, [*waiting, *edits]


def _new_lines(change: Change) -> list[str]:
    return change.left.split("\n") if isinstance(change, Drop) else []


def _with_entries(
    context: Context, known: MemoryDocument, written: MemoryDocument
) -> tuple[MemoryDocument, list[Proposed]]:
    """Return what an agent wrote with the entries as they may stand there, and which of its edits wait."""
    elsewhere, waiting = {entry.id: entry for entry in context.book.entries()}, []
    today = context.book.now().date()
    for entry in written.entries:
        here = known.get(entry.id)
        before = here or elsewhere.get(entry.id)
        edited = _permitted_entry(context, entry, before)
        if before is not None:
            moved = edited if here else replace(edited, archived=before.archived)
            if takes_away(before, moved, today):
                fields = {"text": moved.text, "archived": moved.archived, "trust": moved.trust}
                fields = {name: value for name, value in fields.items() if value != getattr(before, name)}
                waiting.append(edit([Update(id=entry.id, fields=fields, reason="written")], entry.id))
                edited = held_back(before, edited)
        written = written.with_entry(edited)
    for entry in known.entries:
        if written.get(entry.id) is None and takes_away(entry, None, today):
            waiting.append(edit([Remove(id=entry.id, reason="left out")], entry.id, "remove"))
            written = written.with_entry(entry)
    return written, waiting


def _permitted_entry(context: Context, entry: Entry, known: Entry | None) -> Entry:
    """Return the entry with the record of the known one, or of a new one."""
    trust = "suspect" if screen(entry.text) else context.actor
    if known is None:
        now = context.book.now()
        return replace(
            entry,
            trust=lowest_trust(entry.trust, trust),
            score=importance_score("medium"),
            scored=now.date(),
            last_activated=now.date(),
            hits=1,
            created=now,
            session=None,
            source=None,
            superseded_by=None,
            contradicts=(),
            pinned=False,
            verified=None,
            lasting=False,
        )
    lasting = known if known.trust in ("user", None) else entry
    return replace(
        known,
        text=entry.text,
        category=entry.category,
        tags=entry.tags,
        group=entry.group,
        expires=lasting.expires,
        pinned=lasting.pinned,
        archived=entry.archived,
        trust=known.trust if normalise(entry.text) == normalise(known.text) else lowest_trust(known.trust, trust),
    )


# --- what a person wrote: an agent's edit that would remove it waits in review --------------------


_MOVES = ("rename", "undo")
"""Kinds of operations by which lines come to stand somewhere that were written before."""


def takes_away(before: Entry, after: Entry | None, today: date) -> bool:
    """Return whether an edit of a person's entry removes something of it.

    It is reworded, gets an expiry or an earlier one, is archived, unpinned, weakened below low importance, or gone.
    """
    if before.trust not in ("user", None):
        return False
    if after is None or normalise(after.text) != normalise(before.text) or after.archived > before.archived:
        return True
    if before.pinned > after.pinned:
        return True
    if after.expires is not None and (before.expires is None or after.expires < before.expires):
        return True
    least = min(IMPORTANCE["low"], fade.strength(before, today))
    return after.score < least - 0.005  # pages round to hundredths


def wait_for_person(context: Context, proposed: Sequence[Proposed], name: str) -> tuple[str, ...]:
    """Put an agent's edits into review; return the ids. Raises InvalidInput for one that a person rejected before."""
    ids = [propose(context, [one]) for one in proposed]
    if not all(ids):
        raise locale.error(InvalidInput, "problems.edit_rejected", name=repr(name))
    return tuple(dict.fromkeys(id for each in ids for id in each))


def edit(changes: Sequence[Change], name: str, kind: str = "change") -> Proposed:
    """Return the proposal of an agent's edit of an entry or a document."""
    return Proposed(kind, tuple(changes), f"an agent's edit of {name}, which a person wrote")


def without_losses(path: str, before: str, after: str, lines: Collection[str]) -> tuple[str, list[Proposed]]:
    """Return the text after an edit that leaves these lines in their place, and what of the edit waits for that."""
    hunks, waiting = [], []
    for hunk in patch.diff(before, after):
        kept = [line for line in hunk.old if line.rstrip() in lines]
        if kept:
            new = [line.removesuffix("\r") for line in hunk.new]
            while new and not new[-1].strip():
                new.pop()
            lefts = new if len(new) == len(kept) else ["\n".join(new), *[""] * (len(kept) - 1)]
            drops = [
                Drop(path=path, line=line.removesuffix("\r"), left=left) for line, left in zip(kept, lefts, strict=True)
            ]
            waiting.append(edit(drops, path))
            first, last = hunk.old.index(kept[0]), len(hunk.old) - hunk.old[::-1].index(kept[-1])
            between = hunk.old[first:last]  # with the blank lines that part them
            hunk = hunk._replace(new=tuple(line for line in between if line in kept or not line.strip()))
        hunks.append(hunk)
    return patch.forward(hunks, before), waiting


def lines_lost(book: Book, path: str, before: str, after: str | None) -> set[str]:
    """Return the lines that say something, no longer stand in a document, and were written by no agent."""
    lost = set() if path.startswith(f"{FOLDER}/") else _said(before) - _said(after or "")
    return lost - _agents_lines(book, path, lost) if lost else lost


def _said(text: str) -> set[str]:
    return {line.rstrip() for line in text.split("\n") if any(map(str.isalnum, line))}


def _agents_lines(book: Book, path: str, wanted: Collection[str]) -> set[str]:
    """Return those of the lines that an agent wrote into a document, under this or an earlier name of it."""
    found: set[str] = set()
    for operation in book.journal.operations(target=path):
        if operation.actor != "user" and operation.kind not in _MOVES:
            for change in operation.changes:
                if change.target == path and not change.purged:
                    found |= (_said(change.after or "") - _said(change.before or "")) & set(wanted)
        elif old := _moved_from(operation, path):
            found |= _agents_lines(book, old, set(wanted) - found)
        if found >= set(wanted):
            break
    return found


def _moved_from(operation: Operation, path: str) -> str | None:
    """Return from where an operation moved a document to this path; None if it did not."""
    text = next((one.after for one in operation.changes if one.target == path and one.kind == "put"), None)
    if operation.kind != "rename" or text is None:
        return None
    gone = (one.target for one in operation.changes if one.kind == "drop" and one.before == text)
    return next(gone, None)


def held_back(known: Entry, edited: Entry) -> Entry:
    """Return an edited entry with what is a person's as it was: its words, its place, its day and its trust."""
    return replace(edited, text=known.text, archived=known.archived, trust=known.trust, expires=known.expires)
