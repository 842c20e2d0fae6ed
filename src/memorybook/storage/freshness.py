"""Whether the index still says what the documents say: the comparison that every search begins with."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from memorybook.hits import SyncReport
from memorybook.storage.candidates import revision_of
from memorybook.storage.sqlite import Connection, readable

if TYPE_CHECKING:
    from memorybook.documents import DocumentInfo
    from memorybook.protocols import Documents, Progress, Transcripts

ROUNDS = 8
"""How often a sync starts over because another process brought in the same documents meanwhile."""


class Known(NamedTuple):
    """A document as the index has it; another `id` means that somebody brought it in anew."""

    id: int
    size: int
    stamp: str
    hash: str
    modified: float


class Difference(NamedTuple):
    """What the truth and the index do not agree on.

    Attributes:
        checked: Documents compared.
        changed: Documents that may have changed, with what the index has of them.
        removed: Documents that are gone, by path.
        turns: Revision of the transcripts (that the index has, that is now); equal if nothing changed.
        degraded: Why turns cannot be compared, if so.
    """

    checked: int
    changed: list[tuple[DocumentInfo, Known | None]]
    removed: list[tuple[str, Known]]
    turns: tuple[int | None, int | None]
    degraded: tuple[str, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether they agree."""
        return not self.changed and not self.removed and self.turns[0] == self.turns[1]


def bring_up_to_date(
    db: Connection, documents: Documents, transcripts: Transcripts, progress: Progress | None = None
) -> SyncReport:
    """Bring in the words of all that changed; vectors are not looked at."""
    changed = removed = 0
    warnings: list[str] = []
    degraded = [f"documents change faster than they can be read: some are not up to date after {ROUNDS} rounds"]
    for _ in range(ROUNDS):
        difference = _difference(db, documents, transcripts)
        if difference.nothing and is_whole(db):
            degraded = []
            break
        from memorybook.storage.index_sync import bring_in

        brought = bring_in(db, documents, transcripts, difference, _counter(progress, difference, transcripts))
        changed, removed = changed + brought.changed, removed + brought.removed
        warnings += brought.warnings
        if brought.settled:
            degraded = brought.degraded
            break
    reasons = (*difference.degraded, *degraded)
    return SyncReport(difference.checked, changed, removed, 0, reasons, tuple(dict.fromkeys(warnings)))


def _counter(
    progress: Progress | None, difference: Difference, transcripts: Transcripts
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    total = len(difference.changed) + len(difference.removed)
    if difference.turns[0] != difference.turns[1]:
        total += transcripts.counts()["turns"]
    return lambda done: progress(done, max(done, total))


def is_whole(db: Connection) -> bool:
    """Whether a sync ever came to its end, so that nothing is missing but what changed since."""
    return db.first("SELECT 1 FROM meta WHERE name='whole'") is not None


def _difference(db: Connection, documents: Documents, transcripts: Transcripts) -> Difference:
    rows = db.execute("SELECT path, id, size, stamp, hash, modified FROM documents")
    known = {readable(path): Known(*rest) for path, *rest in rows}
    changed = []
    checked = 0
    for info in documents.list():
        checked += 1
        before = known.pop(info.path, None)
        # an empty stamp vouches for nothing
        if before is None or not info.stamp or (before.size, before.stamp) != (info.size, info.stamp):
            changed.append((info, before))
    row = db.first("SELECT value FROM meta WHERE name='turns'")
    before = row[0] if row is not None else None
    now, degraded = revision_of(transcripts, before)
    return Difference(checked, changed, list(known.items()), (before, now), degraded)
