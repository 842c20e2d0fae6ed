"""Read, write, rename and remove whole documents, with revisions; each verb is one `Book.apply`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from memorybook.book.book import retried
from memorybook.book.fade import importance_score
from memorybook.book.transaction import MEMORY
from memorybook.entries.read import Mask
from memorybook.entries.same import lowest
from memorybook.errors import Conflict, InvalidInput, MissingDocument
from memorybook.formats import memory_md
from memorybook.formats.document import Document, DocumentInfo
from memorybook.model import Change, Drop, Entry, Put
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.book.transaction import Result
    from memorybook.context import Context

_Done = TypeVar("_Done")


class Written(NamedTuple):
    """A document that was written or removed.

    Attributes:
        path: Its path; of a removed one, its former path.
        revision: Its new revision; None if it was removed.
        redacted: Number of secrets masked.
        operation: Id of the operation; None if nothing changed.
    """

    path: str
    revision: str | None
    redacted: int = 0
    operation: str | None = None

    def json(self) -> dict[str, Any]:
        """Return `{"path", "revision", "redacted", "operation"}`."""
        return self._asdict()


def documents(context: Context) -> tuple[DocumentInfo, ...]:
    """See `Memory.documents`."""
    return tuple(sorted(context.book.documents.list(), key=lambda info: info.path))


def document(context: Context, path: str) -> Document:
    """See `Memory.document`."""
    return context.book.documents.read(path)


def write_document(
    context: Context, path: str, text: str, *, expect: str | None, reason: str = "written", session: str | None = None
) -> Written:
    """See `Memory.write_document`; reason and session as in `model.Operation`."""
    mask = Mask(context)
    text = mask.text(text)

    def write() -> Written:
        before = _standing(context, path, expect)
        if before is None:
            _check_name(context, path)
        put = Put(path=path, text=_stamped(context, path, text, before), reason=reason, made_from=before or "")
        return _applied(context, [put], path, "write", mask.count, session)

    return _anew(write, expect)


def rename_document(context: Context, path: str, to: str, *, expect: str | None) -> Written:
    """See `Memory.rename_document`."""
    return _anew(lambda: _applied(context, _moved(context, path, to, expect), to, "rename", 0), expect)


def rename_documents(context: Context, ways: Mapping[str, str]) -> None:
    """Move documents to free paths, all or none, as one operation. Raises as `rename_document`."""

    def rename() -> Result:
        moved = [_moved(context, path, to, None) for path, to in ways.items()]
        puts, drops = zip(*moved, strict=True)  # what stands in two places for a moment is never in none
        return context.book.apply([*puts, *drops], actor=context.actor, door=context.door, kind="rename")

    _anew(rename)


def remove_document(
    context: Context, path: str, *, expect: str | None, reason: str = "removed", session: str | None = None
) -> Written:
    """See `Memory.remove_document`; reason and session as in `model.Operation`."""

    def remove() -> Written:
        return _applied(context, [_removed(context, path, expect, reason)], path, "remove", 0, session)

    return _anew(remove, expect)


def remove_documents(context: Context, paths: Sequence[str]) -> None:
    """Remove documents, all or none, as one operation. Raises as `remove_document`."""

    def remove() -> Result:
        drops = [_removed(context, path, None, "removed") for path in paths]
        return context.book.apply(drops, actor=context.actor, door=context.door, kind="remove")

    _anew(remove)


def _anew(do: Callable[[], _Done], expect: str | None = None) -> _Done:
    """Call `do`, and again if a document changed meanwhile and no revision is expected."""
    return retried(do, Conflict, times=5 if expect is None else 1)


def _moved(context: Context, path: str, to: str, expect: str | None) -> tuple[Put, Drop]:
    if path == to:
        raise InvalidInput(f"document {path!r} is called so already: give another path")
    drop = _removed(context, path, expect, f"is {to}", act="rename")
    _check_name(context, to)
    _standing(context, to, "")
    before = drop.made_from or ""
    return Put(path=to, text=_stamped(context, to, before, None), reason=f"was {path}", made_from=""), drop


def _removed(context: Context, path: str, expect: str | None, reason: str, *, act: str = "remove") -> Drop:
    """Return the change that removes a document. Raises InvalidInput if an agent would remove entries with it."""
    before = _standing(context, path, expect)
    if before is None:
        raise MissingDocument(f"no document {path!r} to {act}")
    kept = context.actor != "user" and _holds_entries(path)
    if kept and (path == MEMORY or memory_md.parse(before, modified=context.book.now()).entries):
        raise InvalidInput(f"document {path!r} holds what is remembered, it stays: forget entries one by one")
    return Drop(path=path, reason=reason, made_from=before)


def _check_name(context: Context, path: str) -> None:
    """Raise InvalidInput if a path looks like a secret."""
    mask = Mask(context)
    clean = "/".join(mask.words(path.removesuffix(".md").split("/")))
    if mask.count:
        raise InvalidInput(f"no document can be called {clean!r}: its name looks like a secret; give another one")


def _standing(context: Context, path: str, expect: str | None) -> str | None:
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


def _applied(
    context: Context, changes: Sequence[Change], path: str, kind: str, redacted: int, session: str | None = None
) -> Written:
    result = context.book.apply(changes, actor=context.actor, door=context.door, kind=kind, session=session)
    try:
        revision = context.book.documents.read(path).revision
    except MissingDocument:
        revision = None
    return Written(path, revision, redacted, result.operation.id if result.operation else None)


# --- what an agent may say of entries --------------------------------------------------------------


def _stamped(context: Context, path: str, text: str, before: str | None) -> str:
    """Return the text with the entries limited to what its author may change.

    A person may write anything. An agent may reword, file and move entries; trust, strength and origin are taken from
    the record, not from its text. Entries of a person that it rewords or omits are archived as they were, and keep
    expiry and pin. Lines that it adds to a person's part are marked as an agent's.

    Raises:
        InvalidInput: An agent's text omits lines of a person in MEMORY.md.
    """
    if context.actor == "user" or not _holds_entries(path):
        return text
    now = context.book.now()
    standing = memory_md.parse(before or "", modified=now)
    written = memory_md.parse(text, modified=now)
    elsewhere = {entry.id: entry for entry in context.book.entries()}
    for entry in written.entries:
        known = standing.get(entry.id) or elsewhere.get(entry.id)
        written = written.with_entry(_held(context, entry, known))
        if known is not None and known.trust == "user" and known.text != entry.text:
            said = replace(known, id=memory_md.new_id(elsewhere), archived=True, superseded_by=known.id)
            written = written.with_entry(said)
    for entry in standing.entries:
        if entry.trust == "user" and written.get(entry.id) is None:
            written = written.with_entry(replace(entry, archived=True))
    if path == MEMORY:
        if lost := standing.lines_of_people() - written.lines_of_people():
            told = "; ".join(sorted(lost)[:3])
            raise InvalidInput(f"{path!r} has lines that a person wrote, which stay: add your own beside them ({told})")
        written = written.stamped(standing)
    return written.render(now=now)


def _holds_entries(path: str) -> bool:
    return path == MEMORY or path.startswith("archive/")


def _held(context: Context, entry: Entry, known: Entry | None) -> Entry:
    """Return the entry with the record of the known one, or of a new one."""
    trust = "suspect" if screen(entry.text) else context.actor
    if known is None:
        now = context.book.now()
        return replace(
            entry,
            trust=lowest(entry.trust, trust),
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
        )
    lasting = known if known.trust == "user" else entry
    return replace(
        known,
        text=entry.text,
        category=entry.category,
        tags=entry.tags,
        group=entry.group,
        expires=lasting.expires,
        pinned=lasting.pinned,
        archived=entry.archived,
        trust=known.trust if entry.text == known.text else lowest(known.trust, trust),
    )
