"""What every implementation of `Journal` does. Subclass, and give a fixture `journal`: an empty one."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.model import Applied, Operation
from memorybook.protocols import Journal

START = datetime(2026, 2, 24, 10, 0, 0, 17, tzinfo=UTC)
ANYTHING = "e\u0301 喜欢 \x00 \ud800 \r\n \ufeff '; DROP TABLE changes; -- \U0001f600"


def operation(name: str, *targets: str, time: datetime = START) -> Operation:
    """An operation that adds an entry for each target."""
    changes = tuple(Applied(kind="add", target=target, before=None, after=f"text of {target}") for target in targets)
    return Operation(id=name, time=time, actor="user", door="python", changes=changes, done=False)


def ids(operations: object) -> list[str]:
    """Ids of operations in order."""
    return [one.id for one in operations]  # type: ignore[attr-defined]


class JournalConformance:
    """The contract of `Journal`, one behaviour a test."""

    def test_an_empty_journal_answers_everything(self, journal: Journal) -> None:
        assert list(journal.pending()) == []
        assert list(journal.operations()) == []
        assert list(journal.operations(target="e1")) == []
        assert journal.buried(["d"]) == frozenset()
        assert dict(journal.access_counts(["e1"])) == {}

    def test_an_intention_is_pending_until_it_is_done(self, journal: Journal) -> None:
        begun = operation("o1", "e1")
        journal.begin(begun)
        assert list(journal.pending()) == [begun]
        journal.done("o1")
        assert list(journal.pending()) == []
        assert [(one.id, one.done) for one in journal.operations()] == [("o1", True)]

    def test_what_is_begun_is_not_done_whatever_it_says(self, journal: Journal) -> None:
        journal.begin(Operation(id="o1", time=START, actor="user", door="cli", done=True))
        assert ids(journal.pending()) == ["o1"]

    def test_any_field_survives_whatever_it_holds(self, journal: Journal) -> None:
        begun = Operation(
            id=ANYTHING,
            time=START,
            actor=ANYTHING,
            door=ANYTHING,
            session=ANYTHING,
            changes=(
                Applied(kind="update", target=ANYTHING, before=ANYTHING, after="", reason=ANYTHING),
                Applied(kind="remove", target=ANYTHING, before="", after=None),
                Applied(kind="add", target="e2", before=None, after=ANYTHING),
            ),
            done=False,
        )
        journal.begin(begun)
        assert list(journal.pending()) == [begun]
        assert list(journal.operations(target=ANYTHING)) == [begun]
        journal.done(ANYTHING)
        assert list(journal.pending()) == []

    def test_pending_operations_come_oldest_first(self, journal: Journal) -> None:
        for name in ("o3", "o1", "o2"):
            journal.begin(operation(name))
        journal.done("o1")
        assert ids(journal.pending()) == ["o3", "o2"]

    def test_history_is_newest_first_by_what_happened_not_by_the_clock(self, journal: Journal) -> None:
        journal.begin(operation("z-first", time=START))
        journal.begin(operation("a-second", time=START - timedelta(days=400)))
        assert ids(journal.operations()) == ["a-second", "z-first"]

    def test_history_of_one_target(self, journal: Journal) -> None:
        journal.begin(operation("o1", "e1", "e2"))
        journal.begin(operation("o2", "e2"))
        journal.begin(operation("o3", "e1", "e1"))
        assert ids(journal.operations(target="e1")) == ["o3", "o1"]
        [_, first] = journal.operations(target="e1")
        assert [change.target for change in first.changes] == ["e1", "e2"]

    def test_history_can_be_limited(self, journal: Journal) -> None:
        for n in range(5):
            journal.begin(operation(f"o{n}", "e1"))
        assert ids(journal.operations(limit=2)) == ["o4", "o3"]
        assert ids(journal.operations(target="e1", limit=1)) == ["o4"]
        assert list(journal.operations(limit=0)) == []
        with pytest.raises(InvalidInput, match="-1"):
            journal.operations(limit=-1)

    def test_an_id_is_taken_once(self, journal: Journal) -> None:
        journal.begin(operation("o1", "e1"))
        with pytest.raises(Conflict, match="o1"):
            journal.begin(operation("o1", "e2"))
        assert list(journal.operations(target="e2")) == []

    def test_an_operation_needs_an_id_and_a_time_with_timezone(self, journal: Journal) -> None:
        with pytest.raises(InvalidInput):
            journal.begin(operation(""))
        with pytest.raises(InvalidInput):
            journal.begin(operation("o1", time=START.replace(tzinfo=None)))
        assert list(journal.operations()) == []

    def test_an_intention_can_be_taken_back(self, journal: Journal) -> None:
        journal.begin(operation("o1", "e1"))
        journal.discard("o1")
        assert list(journal.operations()) == []
        assert list(journal.operations(target="e1")) == []
        journal.begin(operation("o1", "e1"))

    def test_what_was_done_cannot_be_taken_back(self, journal: Journal) -> None:
        journal.begin(operation("o1"))
        journal.done("o1")
        with pytest.raises(Conflict, match="o1"):
            journal.discard("o1")
        assert ids(journal.operations()) == ["o1"]

    def test_an_unknown_operation_is_not_found(self, journal: Journal) -> None:
        for call in (journal.done, journal.discard):
            with pytest.raises(NotFound, match="o1"):
                call("o1")
        journal.begin(operation("other"))
        for call in (journal.done, journal.discard):
            with pytest.raises(NotFound, match="o1"):
                call("o1")

    def test_done_twice_is_done(self, journal: Journal) -> None:
        journal.begin(operation("o1"))
        journal.done("o1")
        journal.done("o1")
        assert ids(journal.operations()) == ["o1"]

    def test_what_is_buried_stays_buried(self, journal: Journal) -> None:
        journal.bury(["d1", "d2"], reason="forgotten", time=START)
        journal.bury(["d2", "d3"], reason="again", time=START)
        assert journal.buried(["d1", "d2", "d3", "d4"]) == {"d1", "d2", "d3"}

    def test_burying_nothing_is_nothing(self, journal: Journal) -> None:
        journal.bury([], reason="", time=START)
        journal.count_access([])
        assert journal.buried([]) == frozenset()

    def test_many_are_asked_for_at_once(self, journal: Journal) -> None:
        digests = [f"d{n}" for n in range(1200)]
        journal.bury(digests, reason="", time=START)
        assert journal.buried(iter([*digests, "other"])) == set(digests)

    def test_accesses_are_counted(self, journal: Journal) -> None:
        journal.count_access(["e1", "e2"])
        journal.count_access(iter(["e1", "e1"]))
        assert dict(journal.access_counts(["e1", "e2", "e3"])) == {"e1": 3, "e2": 1}

    def test_closing_twice_does_nothing(self, journal: Journal) -> None:
        journal.begin(operation("o1"))
        journal.close()
        journal.close()
