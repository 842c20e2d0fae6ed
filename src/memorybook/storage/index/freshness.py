"""Whether the index still says what the documents say: the comparison that every search begins with."""

from __future__ import annotations

from itertools import chain, compress, repeat
from math import inf
from operator import is_not

from memorybook._light import TYPE_CHECKING, Callable, Iterable, Iterator, NamedTuple, suppress
from memorybook.search.types import SyncReport
from memorybook.storage.index.candidates import TurnsUnread, changes_of, revision_of
from memorybook.storage.sqlite import Connection, Value, bindable, readable

if TYPE_CHECKING:
    from memorybook.formats.document import DocumentInfo
    from memorybook.protocols import Documents, Progress, Transcripts

LEFT = "the index is far behind: what changed since is not found before memorybook sync"
"""Why a sync that may not take long has brought nothing in."""

ROUNDS = 8
"""How often a sync starts over because another process brought in the same documents meanwhile."""

DOCUMENT = 2_000
"""What a document costs that changed, in bytes of text that are new: it is read, compared, and its row written."""

TURN = 200
"""The same for a turn."""

_STRETCH = 256


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

    def is_more(self, than: float, transcripts: Transcripts) -> bool:
        """Whether to bring it in would cost more than so many bytes of new text do; turns are only counted up to that.

        Of a document that is known as many are new as it is longer or shorter now.
        """
        cost = sum(DOCUMENT + known.size for _, known in self.removed)
        cost += sum(DOCUMENT + abs(info.size - (known.size if known else 0)) for info, known in self.changed)
        before, now = self.turns
        if cost > than or before == now or now is None:
            return cost > than
        with suppress(TurnsUnread):
            for _, turn in changes_of(transcripts, before if before is not None and before < now else 0).turns:
                cost += TURN + len(turn.text)
                if cost > than:
                    return True
        return False


class Table:
    """What an index has of the documents, kept from one sync to the next while nobody else writes to it.

    Serves one index; safe to share between threads.
    """

    def __init__(self) -> None:
        self._version: tuple[object, int] | None = None
        self._rows: set[tuple[Value, int, str]] = set()
        self._agreed: tuple[DocumentInfo | None, ...] = ()

    def compare(
        self, db: Connection, listed: tuple[DocumentInfo, ...]
    ) -> tuple[list[tuple[DocumentInfo, Known | None]], list[tuple[str, Known]]]:
        """Documents that may have changed, and those that are gone, each with what the index has of them.

        Costs nothing for the very tuple that agreed the last time, little for the same documents in the same places.
        """
        with db.lock:
            version = db.version()
            if version != self._version:
                self._rows = set(db.execute("SELECT path, size, stamp FROM documents"))
                self._version, self._agreed = version, ()
            elif listed is self._agreed:
                return [], []
            # an empty stamp vouches for nothing
            new = _others(listed, self._agreed)
            suspects = [n for n, info in new if not info[2] or (info[:3] not in self._rows and not self._has(info))]
            changed = [(listed[n], _known(db, listed[n].path) if self._rows else None) for n in suspects]
            present = len(listed) - sum(known is None for _, known in changed)
            gone = []
            if present < len(self._rows):
                paths = {info.path for info in listed}
                stored = {readable(path): path for path, *_ in self._rows}
                gone = [(path, known) for path in stored.keys() - paths if (known := _known(db, path))]
            self._agreed = (*_without(listed, suspects), None) if changed or gone else listed
        return changed, gone

    def _has(self, info: DocumentInfo) -> bool:
        """Whether there is such a row of a path that SQLite holds as bytes."""
        path = bindable(info.path)
        return isinstance(path, bytes) and (path, info.size, info.stamp) in self._rows

    def refresh(self, db: Connection, known: Iterable[tuple[str, Known | None]]) -> None:
        """Look at these documents' rows anew, which were as given before something was brought in."""
        with db.lock:
            for path, before in known:
                bound = bindable(path)
                if before is not None:
                    self._rows.discard((bound, before.size, before.stamp))
                if now := _known(db, path):
                    self._rows.add((bound, now.size, now.stamp))


def bring_up_to_date(
    db: Connection,
    documents: Documents,
    transcripts: Transcripts,
    progress: Progress | None = None,
    *,
    table: Table | None = None,
    expect: Callable[[list[str]], None] | None = None,
    most: float = inf,
) -> SyncReport:
    """Bring in the words of all that changed; vectors are not looked at.

    `table` is what an earlier call with the same index left; None reads it. `expect` is called with the
    texts that are to be embedded then, as soon as they are known. What is more than `most` (see `Difference.is_more`)
    is left to a call with no such limit, and the report says `LEFT`.
    """
    table = table or Table()
    changed = removed = 0
    warnings: list[str] = []
    degraded = [f"documents change faster than they can be read: some are not up to date after {ROUNDS} rounds"]
    for _ in range(ROUNDS):
        difference = _difference(db, table, documents, transcripts)
        if difference.nothing and is_whole(db):
            degraded = []
            break
        if most < inf and difference.is_more(most, transcripts):
            degraded = [LEFT]
            break
        from memorybook.storage.index.index_sync import bring_in

        brought = bring_in(db, documents, transcripts, difference, _counter(progress, difference, transcripts), expect)
        table.refresh(db, ((info.path, known) for info, known in difference.changed))
        table.refresh(db, difference.removed)
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


def _difference(db: Connection, table: Table, documents: Documents, transcripts: Transcripts) -> Difference:
    listed = tuple(documents.list())
    changed, gone = table.compare(db, listed)
    row = db.first("SELECT value FROM meta WHERE name='turns'")
    before = row[0] if row is not None else None
    now, degraded = revision_of(transcripts, before)
    return Difference(len(listed), changed, gone, (before, now), degraded)


def _others(
    listed: tuple[DocumentInfo, ...], agreed: tuple[DocumentInfo | None, ...]
) -> Iterator[tuple[int, DocumentInfo]]:
    """Documents, with their places, that are not the ones that agreed there; stretches that are equal cost little."""
    for start in range(0, len(listed), _STRETCH):
        now, before = listed[start : start + _STRETCH], agreed[start : start + _STRETCH]
        if now != before:
            yield from compress(enumerate(now, start), chain(map(is_not, now, before), repeat(True)))


def _without(listed: tuple[DocumentInfo, ...], suspects: list[int]) -> tuple[DocumentInfo | None, ...]:
    agreed: list[DocumentInfo | None] = [*listed]
    for number in suspects:
        agreed[number] = None
    return tuple(agreed)


def _known(db: Connection, path: str) -> Known | None:
    row = db.first("SELECT id, size, stamp, hash, modified FROM documents WHERE path=?", (bindable(path),))
    return Known(*row) if row is not None else None
