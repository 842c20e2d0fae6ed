"""What every implementation of `Journal` does. Subclass, and give a fixture `journal`: an empty one."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest

from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.model import Applied, Discarded, Operation, Patch, Spent
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
            kind=ANYTHING,
            session=ANYTHING,
            discarded=(Discarded(text=ANYTHING, reason="weak", quote=ANYTHING), Discarded(text="", reason=ANYTHING)),
            usage={"calls": 2, ANYTHING: ANYTHING},
            undoes=ANYTHING,
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
        [_, alone] = journal.operations(target="e1", alone=True)
        assert (alone.id, alone.changes) == ("o1", first.changes[:1])
        assert [change.target for change in first.changes] == ["e1", "e2"]

    def test_history_can_be_limited(self, journal: Journal) -> None:
        for n in range(5):
            journal.begin(operation(f"o{n}", "e1"))
        assert ids(journal.operations(limit=2)) == ["o4", "o3"]
        assert ids(journal.operations(target="e1", limit=1)) == ["o4"]
        assert list(journal.operations(limit=0)) == []
        with pytest.raises(InvalidInput, match="-1"):
            journal.operations(limit=-1)

    def test_history_goes_on_after_an_operation(self, journal: Journal) -> None:
        for n in range(5):
            journal.begin(operation(f"o{n}", "e1", time=START + timedelta(days=n)))
        assert ids(journal.operations(before="o3", limit=2)) == ["o2", "o1"]
        assert ids(journal.operations(before="o3", since=START + timedelta(days=2))) == ["o2"]
        assert ids(journal.operations(before="unknown")) == []

    def test_days_are_counted_and_what_stood_before_them_is_known(self, journal: Journal) -> None:
        reasons = ("", "forgotten", "asked to be forgotten turn:1")
        for n, reason in enumerate(reasons):
            summary = Applied(kind="put", target="sessions/a.md", before=None, after="x")
            change = Applied(kind="update", target="e1", before=f"text {n}", after=f"text {n + 1}", reason=reason)
            begun = operation(f"o{n}", time=START + timedelta(days=n))
            journal.begin(replace(begun, kind="memorize", changes=(change, change, summary)))
        minute = START.replace(second=0, microsecond=0)
        last = [row for row in journal.activity(until=None, limit=2) if not row[4]]
        assert last == [
            (minute + timedelta(days=2), "memorize", "update", "forgotten", False, 2),
            (minute + timedelta(days=1), "memorize", "update", "forgotten", False, 2),
        ]
        second = START + timedelta(days=1)
        first = list(journal.activity(until=second, limit=None))
        assert {row[:4] for row in first} == {(minute, "memorize", kind, "") for kind in ("update", "put")}
        assert [each.id for each in journal.operations(until=second)] == ["o0"]
        stood = {target: (kind, text) for target, kind, text in journal.stood(second)}
        assert stood == {"e1": ("update", "text 1"), "sessions/a.md": ("put", None)}

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
        assert journal.buried(["d1"], since=START) == {"d1"}
        assert journal.buried(["d1"], since=START + timedelta(microseconds=1)) == frozenset()

    def test_burying_nothing_is_nothing(self, journal: Journal) -> None:
        journal.bury([], reason="", time=START)
        journal.shown([], time=START)
        assert journal.buried([]) == frozenset()

    def test_many_are_asked_for_at_once(self, journal: Journal) -> None:
        digests = [f"d{n}" for n in range(1200)]
        journal.bury(digests, reason="", time=START)
        assert journal.buried(iter([*digests, "other"])) == set(digests)

    def test_accesses_are_counted(self, journal: Journal) -> None:
        journal.shown(["e1", "e2"], time=START)
        journal.shown(iter(["e1", "e1"]), time=START)
        assert dict(journal.access_counts(["e1", "e2", "e3"])) == {"e1": 3, "e2": 1}

    def test_closing_twice_does_nothing(self, journal: Journal) -> None:
        journal.begin(operation("o1"))
        journal.close()
        journal.close()

    def test_an_operation_is_found_by_its_id(self, journal: Journal) -> None:
        journal.begin(operation("o1", "e1"))
        assert journal.operation("o1") == operation("o1", "e1")
        with pytest.raises(NotFound, match="o2"):
            journal.operation("o2")

    def test_history_of_one_session(self, journal: Journal) -> None:
        for name, session in (("o1", "s"), ("o2", None), ("o3", "s")):
            journal.begin(Operation(id=name, time=START, actor="", door="", session=session))
        assert ids(journal.operations(session="s")) == ["o3", "o1"]

    def test_patches_are_kept_with_their_operation(self, journal: Journal) -> None:
        patches = [
            Patch(path=f"daily/{ANYTHING}.md", before=None, after="d1", hunks=b"\x00\xff"),
            Patch(path="MEMORY.md", before="d1", after=None, hunks=b""),
        ]
        journal.begin(operation("o1", "e1"), patches=patches)
        journal.begin(operation("o2", "e1"))
        assert list(journal.patches("o1")) == patches
        assert list(journal.patches("o2")) == []
        with pytest.raises(NotFound, match="o3"):
            journal.patches("o3")
        journal.discard("o1")
        journal.begin(operation("o1"))
        assert list(journal.patches("o1")) == []

    def test_what_undoes_an_undoing_redoes(self, journal: Journal) -> None:
        def undoing(name: str, what: str) -> None:
            journal.begin(Operation(id=name, time=START, actor="", door="", undoes=what))

        journal.begin(operation("o1"))
        assert dict(journal.undone()) == {}
        undoing("u1", "o1")
        assert dict(journal.undone()) == {"o1": "u1"}
        undoing("u2", "u1")
        assert dict(journal.undone()) == {"u1": "u2"}
        undoing("u3", "o1")
        assert dict(journal.undone()) == {"u1": "u2", "o1": "u3"}
        journal.discard("u3")
        assert dict(journal.undone()) == {"u1": "u2"}

    def test_a_tombstone_holds_while_its_operation_does(self, journal: Journal) -> None:
        journal.begin(operation("o1"), bury=["d1", "d2"])
        journal.begin(operation("o2"), bury=["d2"])
        assert journal.buried(["d1", "d2", "d3"]) == {"d1", "d2"}
        journal.begin(Operation(id="u1", time=START, actor="", door="", undoes="o1"))
        assert journal.buried(["d1", "d2"]) == {"d2"}
        journal.discard("u1")
        assert journal.buried(["d1", "d2"]) == {"d1", "d2"}
        journal.discard("o1")
        assert journal.buried(["d1", "d2"]) == {"d2"}

    def test_what_is_parked_is_kept_until_it_is_done(self, journal: Journal) -> None:
        assert list(journal.parked()) == []
        assert not journal.unpark("t1")
        later = START + timedelta(hours=1)
        first = journal.park("t1", kind="memorize", payload={"turns": [ANYTHING]}, reason="down", time=START)
        assert (first.tries, first.since, first.next, first.session) == (1, START, None, None)
        again = journal.park(
            "t1", kind="memorize", payload={"turns": []}, reason=ANYTHING, time=later, session="s", next=later
        )
        assert (again.tries, again.since, again.next, again.session) == (2, START, later, "s")
        journal.park("t2", kind="review", payload={}, reason="", time=later)
        assert list(journal.parked()) == [again, journal.parked()[1]]
        assert [each.id for each in journal.parked(kind="review")] == ["t2"]
        assert [each.id for each in journal.parked(due=START)] == ["t2"]
        assert [each.id for each in journal.parked(due=later)] == ["t1", "t2"]
        assert journal.unpark("t1")
        assert [each.id for each in journal.parked()] == ["t2"]

    def test_a_proposal_is_made_once_and_decided_once(self, journal: Journal) -> None:
        assert list(journal.proposals()) == []
        changes = [{"remove": "e1", "why": ANYTHING}]
        first = journal.propose("remove", changes, reason=ANYTHING, time=START)
        assert journal.propose("remove", changes, reason="again", time=START) == first
        second = journal.propose("archive", changes, reason="", time=START)
        assert [each.id for each in journal.proposals()] == [first, second]
        assert [each.id for each in journal.proposals(kind="archive", limit=1)] == [second]
        [found] = journal.proposals(kind="remove")
        assert (found.changes, found.reason, found.time, found.state) == (tuple(changes), ANYTHING, START, "open")
        journal.decide(first, "accepted", time=START, operation="o1")
        journal.decide(first, "accepted", time=START)
        with pytest.raises(Conflict, match="accepted"):
            journal.decide(first, "rejected", time=START)
        with pytest.raises(NotFound, match="p99"):
            journal.decide("p99", "rejected", time=START)
        assert [each.id for each in journal.proposals()] == [second]
        [settled] = journal.proposals(state="accepted")
        assert settled.operation == "o1"
        assert len(journal.proposals(state=None)) == 2
        assert journal.propose("remove", changes, reason="", time=START) != first

    def test_content_is_memorized_once_a_session(self, journal: Journal) -> None:
        assert journal.memorized("s1", "d") is None
        journal.mark_memorized("s1", "d", operation="", time=START)
        assert journal.memorized("s1", "d") == ""
        journal.mark_memorized("s1", "d", operation="o1", time=START)
        assert journal.memorized("s1", "d") == "o1"
        assert journal.memorized("s2", "d") is None
        for id, stands in (("o2", True), ("o3", False)):
            operation = Operation(id=id, time=START, actor="", door="", session="s2", done=False)
            journal.begin(operation, memorized=["d"])
            assert journal.memorized("s2", "d") == id
            journal.done(id) if stands else journal.discard(id)
        assert journal.memorized("s2", "d") is None
        assert [journal.all_memorized(session) for session in ("s1", "s2")] == [frozenset("d"), frozenset()]

    def test_how_far_a_session_was_memorized_never_goes_back(self, journal: Journal) -> None:
        assert journal.reached("s1") == -1
        journal.reach("s1", 7, time=START)
        journal.reach("s1", 3, time=START)
        assert (journal.reached("s1"), journal.reached("s2")) == (7, -1)

    def test_what_is_spent_adds_up_by_day(self, journal: Journal) -> None:
        day = date(2026, 2, 24)
        assert journal.spent(day) == Spent()
        journal.spend(day, calls=1, input_tokens=10, output_tokens=2)
        journal.spend(day, calls=2, failed=1, input_tokens=5)
        assert journal.spent(day) == Spent(calls=3, failed=1, input_tokens=15, output_tokens=2)
        assert journal.spent(date(2026, 2, 25)) == Spent()

    def test_the_last_prompts_of_an_entry_are_kept(self, journal: Journal) -> None:
        assert list(journal.prompts_of("e1")) == []
        journal.shown([], time=START)
        for n in range(25):
            journal.shown(["e1", "e2"] if n == 24 else ["e1"], time=START, session="s", query=f"{n} {ANYTHING * 20}")
        found = journal.prompts_of("e1")
        assert [each.query.split()[0] for each in found] == [str(n) for n in range(24, 4, -1)]
        assert (found[0].time, found[0].session, len(found[0].query)) == (START, "s", 200)
        assert len(journal.prompts_of("e2")) == 1

    def test_purging_empties_texts_and_keeps_the_history(self, journal: Journal) -> None:
        journal.begin(
            Operation(
                id="o1",
                time=START,
                actor="",
                door="",
                changes=(
                    Applied(kind="add", target="e1", before=None, after="about herons", reason="said: herons"),
                    Applied(kind="append", target="daily/a.md", before=None, after="- herons again", reason="appended"),
                    Applied(kind="add", target="e2", before=None, after="about tea", reason="said"),
                ),
                discarded=(Discarded(text="herons", reason="weak"), Discarded(text="tea", reason="weak")),
                done=False,
            )
        )
        kept = json.dumps({"turns": [{"text": "herons"}, {"text": "tea"}]})
        journal.park("t1", kind="memorize", payload={"kept": kept, "turns": 2}, reason="no herons", time=START)
        journal.propose("remove", [{"text": "herons"}], reason="", time=START)
        journal.shown(["e1", "e2"], time=START, query="tea")
        journal.shown(["e2"], time=START, query="herons?")
        counts = journal.purge({"e1"}, lambda text: "herons" in text)
        assert counts["changes"] == 2
        [found] = journal.operations()
        assert [(c.purged, c.after, c.reason) for c in found.changes] == [
            (True, "", "(purged)"),
            (True, "", "(purged)"),
            (False, "about tea", "said"),
        ]
        assert [each.text for each in found.discarded] == ["tea"]
        [parked] = journal.parked()
        assert json.loads(parked.payload["kept"]) == {"turns": [{"text": "tea"}]}
        assert (parked.reason, parked.tries, parked.payload["turns"]) == ("(purged)", 1, 2)
        assert list(journal.proposals()) == []
        assert list(journal.prompts_of("e1")) == []
        assert [each.query for each in journal.prompts_of("e2")] == ["tea"]
        assert dict(journal.access_counts(["e1"])) == {}
        assert journal.purge({"e1"}, lambda text: "herons" in text)["changes"] == 0
        assert journal.vacuum()
