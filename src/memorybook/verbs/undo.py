"""Taking an operation back, or back again: an undo is an operation like any other."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from memorybook.answers import Undone
from memorybook.arguments import text_of
from memorybook.errors import Unavailable
from memorybook.verbs.history import told

if TYPE_CHECKING:
    from memorybook.memory import Memory


def undo(memory: Memory, operation_id: str, *, dry_run: bool = False) -> Undone:
    """Take back an operation; undoing an undo does it again.

    Documents that stand as the operation left them become what they were before it, byte for byte. In those that
    changed elsewhere since, what it changed is taken back and the rest stays. What it forgot may be imported again.

    Args:
        operation_id: See `history`.
        dry_run: Only say what would happen.

    Raises:
        NotFound: The journal has no such operation.
        Conflict: It is undone already, changed nothing, was purged, or something that it changed was changed
            since; the message shows what stands now and what stood then. Nothing was done.
    """
    id = text_of(operation_id, "operation")
    book = memory.book
    undone, operation, reversal = book.undo(id, actor=memory.actor, door=memory.door, dry_run=dry_run)
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
    )
