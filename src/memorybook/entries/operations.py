"""Taking an operation back, or back again: an undo is an operation like any other."""

from __future__ import annotations

from contextlib import suppress
from shlex import quote
from typing import TYPE_CHECKING

from memorybook.book.transaction import MEMORY
from memorybook.entries.history import told
from memorybook.errors import Conflict, NotFound, Unavailable
from memorybook.forget.tombstones import remembered
from memorybook.formats.sections import without_header
from memorybook.model import Put
from memorybook.results import Undone
from memorybook.sessions.memorize import BY_IMPORT
from memorybook.text.merge import merge_text
from memorybook.validate import text_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memorybook.book.transaction import Outcome
    from memorybook.context import Context
    from memorybook.model import Operation


def undo(context: Context, operation_id: str, *, dry_run: bool = False) -> Undone:
    """Take back an operation; undoing an undo does it again.

    Documents that stand as the operation left them become what they were before it, byte for byte. In those that
    changed elsewhere since, what it changed is taken back and the rest stays. What it forgot may be imported again.
    Turns that it imported stay: `forget` takes out a source as a whole, and undoing that brings it back.

    Args:
        operation_id: See `history`; `MEMORY.md` puts back what another program took away from it.
        dry_run: Only say what would happen.

    Raises:
        NotFound: The journal has no such operation.
        Conflict: It is undone already, changed nothing, was purged, or something that it changed was changed
            since; the message shows what stands now and what stood then. Nothing was done.
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
        told=tuple(map(told, reversal.changes)),
        exact=reversal.exact,
        adapted=reversal.adapted,
        remains=tuple(_remains(context, undone)),
    )


def _loss_undone(context: Context, *, dry_run: bool) -> Undone:
    """Put back into MEMORY.md what another program took away, but for what was forgotten since.

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
    kept = remembered(context, now.split("\n"))
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
        told=tuple(map(told, changes)),
        exact=(MEMORY,) if exact else (),
        adapted=() if exact else (MEMORY,),
    )


def _remains(context: Context, undone: Operation) -> Iterator[str]:
    """What stays of a file whose session was imported, as each of its sessions is an operation of its own."""
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
