"""Carrying out changes to a book: journalled with what stood before, written, and finished after a crash."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from memorybook.book.pages import Pages, Parse
from memorybook.book.transaction import Draft, Outcome, Result
from memorybook.book.undo import Reversal, completed, reverse
from memorybook.errors import Conflict, InvalidInput, Unavailable
from memorybook.model import Change, Discarded, Operation, Patch
from memorybook.protocols import Documents, Journal, Transcripts

ATTEMPTS = 8
"""How often a change is worked in anew when a person saves the document in the same moment."""


MOST_PATCHED = 32
"""How many operations are carried out together with patches of the documents between them, which cost a rendering each.

Those of larger batches are undone change by change.
"""


RETRIED = timedelta(minutes=10)
"""How long what was interrupted is not counted once more if it is asked for again."""


class Group(NamedTuple):
    """Changes that become one operation.

    Attributes:
        session: Session it belongs to, or None.
        changes: What to do, in order.
        discarded, usage: See `Operation`.
        bury: Digests of texts that imports must not bring back while the operation is not undone.
        memorized: Keys of what it takes of its session, see `Journal.begin`; the operation's id is one of them then.
    """

    session: str | None
    changes: Sequence[Change]
    discarded: Sequence[Discarded] = ()
    usage: Mapping[str, Any] | None = None
    bury: Iterable[str] = ()
    memorized: Iterable[str] = ()


class _Planned(NamedTuple):
    """An operation that is worked into a draft (None if there is nothing to do), with what to journal."""

    operation: Operation | None
    outcomes: tuple[Outcome, ...] = ()
    patches: tuple[Patch, ...] = ()
    bury: tuple[str, ...] = ()
    memorized: tuple[str, ...] = ()
    reversal: Reversal | None = None


class Writer:
    """Writes one book.

    Args:
        documents, transcripts, journal: The truth.
        parse: Reads a document of entries.
        settled: Collects the operations that were interrupted and are finished now.
        now: The time now, UTC.
        new_id: Makes the id of an operation of that time.
    """

    def __init__(
        self,
        documents: Documents,
        transcripts: Transcripts,
        journal: Journal,
        *,
        parse: Parse,
        settled: list[Operation],
        now: Callable[[], datetime],
        new_id: Callable[[datetime], str],
    ) -> None:
        self._documents = documents
        self._transcripts = transcripts
        self._journal = journal
        self._parse = parse
        self._settled = settled
        self._now = now
        self._new_id = new_id

    def apply_each(self, groups: Sequence[Group], *, actor: str, door: str, kind: str) -> list[Result]:
        """See `Book.apply_each`."""
        look = self.draft()
        for group in groups:
            look.look(group.changes)  # the slow part, without the lock

        def work(draft: Draft) -> list[_Planned]:
            patched = len(groups) <= MOST_PATCHED
            return [self._worked_in(draft, group, actor, door, kind, patched=patched) for group in groups]

        return [Result(planned.operation, planned.outcomes) for planned in self._carried_out(work)]

    def undo(self, id: str, *, actor: str, door: str, dry_run: bool) -> tuple[Operation, Operation, Reversal]:
        """See `Book.undo`."""

        def work(draft: Draft) -> list[_Planned]:
            undone = self._journal.operation(id)
            by = self._journal.undone().get(id)
            if by is not None:
                raise Conflict(f"operation {id!r} is already undone by {by!r}; undo that one to have it again")
            reversal = reverse(draft, undone, self._journal.patches(id))
            operation = Operation(
                id=self._new_id(draft.now),
                time=draft.now,
                actor=actor,
                door=door,
                kind="undo",
                session=undone.session,
                changes=reversal.changes,
                undoes=id,
                done=False,
            )
            targets[:] = [undone, operation]
            return [_Planned(operation, (), draft.pages.step(), reversal=reversal)]

        targets: list[Operation] = []
        if dry_run:
            [planned] = work(self.draft())
        else:
            [planned] = self._carried_out(work)
        undone, operation = targets
        return undone, operation, planned.reversal or Reversal(())

    def draft(self) -> Draft:
        """See `Book.draft`."""
        return Draft(Pages(self._documents, self._transcripts, parse=self._parse, now=self._now()))

    def _worked_in(self, draft: Draft, group: Group, actor: str, door: str, kind: str, *, patched: bool) -> _Planned:
        """The operation of these changes, once they are worked into the draft."""
        outcomes = tuple(draft.do(change) for change in group.changes)
        applied = tuple(outcome.applied for outcome in outcomes if outcome.applied is not None)
        bury = tuple(group.bury)
        if not (applied or group.discarded or bury):
            return _Planned(None, outcomes)
        now = draft.now
        operation = Operation(
            id=self._new_id(now),
            time=now,
            actor=actor,
            door=door,
            kind=kind,
            session=group.session,
            changes=applied,
            discarded=tuple(group.discarded),
            usage=group.usage,
            done=False,
        )
        memorized = tuple(group.memorized)
        memorized = (*memorized, operation.id) if memorized else ()
        return _Planned(operation, outcomes, draft.pages.step() if patched else (), bury, memorized)

    def _carried_out(self, work: Callable[[Draft], list[_Planned]]) -> list[_Planned]:
        """Work into what is on disk now, journal and write, anew for as long as a person's save comes in between."""
        for _ in range(ATTEMPTS):
            with self._documents.lock():
                self.settle_all()
                draft = self.draft()
                draft.unanswered = self._unanswered(draft.now)
                planned = work(draft)
                wanted = [each for each in planned if each.operation is not None]
                if not wanted or self._write(wanted, draft.pages):
                    told = self._unanswered(draft.now) - draft.unanswered
                    self._settled[:] = [one for one in self._settled if told.isdisjoint(_done_by(one))]
                    return planned
        raise Conflict("MEMORY.md kept changing while it was being written: close what is saving it and try again")

    def _write(self, planned: Sequence[_Planned], pages: Pages) -> bool:
        """Journal and write; False if a person's save came in between and nothing was written."""
        operations = [each.operation for each in planned if each.operation is not None]
        begun: list[Operation] = []
        try:
            for operation, each in zip(operations, planned, strict=True):
                self._journal.begin(operation, patches=each.patches, bury=each.bury, memorized=each.memorized)
                begun.append(operation)
            pages.write()
        except Conflict:
            if pages.wrote:
                for operation in operations:
                    self._settle(operation)
                return True
            self._discard(begun)
            if len(begun) < len(operations):  # the id of one is taken
                raise
            return False
        except Exception as error:
            if not pages.wrote:  # whoever asked is told that it failed, so it must not come true later
                self._take_back(begun, error)
            elif isinstance(error, Unavailable):
                raise Unavailable(f"{error}; what is missing of this change is done when that is possible") from error
            raise
        for operation in operations:
            with suppress(Unavailable):  # it is done, and not marked so: the next change finds that out
                self._journal.done(operation.id)
        return True

    def _take_back(self, begun: Sequence[Operation], error: Exception) -> None:
        """As `_discard`; where the journal takes nothing any more either, say that it will be done."""
        try:
            self._discard(begun)
        except Unavailable:
            raise Unavailable(
                f"{error}; the change is in the journal and will be done when that is possible"
            ) from error

    def _discard(self, begun: Sequence[Operation]) -> None:
        """Take back intentions, the last one first: what is left, if that fails midway, can be carried out."""
        for operation in reversed(begun):
            self._journal.discard(operation.id)

    def settle_all(self) -> None:
        """Finish every intention that is not marked done; who holds the lock knows that nobody works on it."""
        for operation in self._journal.pending():
            self._settle(operation)
            self._settled.append(operation)

    def _unanswered(self, now: datetime) -> set[tuple[str, str]]:
        """What was carried out lately though whoever asked was not told so, and may ask again: kind and target."""
        return {done for one in self._settled if now - one.time < RETRIED for done in _done_by(one)}

    def _settle(self, operation: Operation) -> None:
        """Carry out what is missing of an intention, but for what a person's later edit stands against."""
        patches = self._journal.patches(operation.id)
        for _ in range(ATTEMPTS):
            draft = self.draft()
            whole = completed(draft, patches)
            for applied in operation.changes:
                if not whole(applied):
                    with suppress(InvalidInput):  # it can never be carried out again, and must not keep the rest
                        draft.redo(applied)
            try:
                draft.pages.write()
            except Conflict:
                continue
            self._journal.done(operation.id)
            return
        raise Conflict("the book kept changing while an interrupted operation was being finished: try again")


def _done_by(operation: Operation) -> set[tuple[str, str]]:
    return {(change.kind, change.target) for change in operation.changes}
