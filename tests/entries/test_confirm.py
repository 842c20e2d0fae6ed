"""Staying true: when an entry counts as confirmed, what is told of one that does not, and who is asked."""

from __future__ import annotations

from datetime import date, timedelta
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import memorybook
from books import IN_MEMORY, ON_DISK, Reopen, entry, in_memory
from clock import NOW, Clock
from memorybook import tools
from memorybook.book import fade
from memorybook.book.fade import unconfirmed
from memorybook.config.settings import StaleSettings
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.model import Entry
from memorybook.text.splitting import entry_passage

kept_in = in_memory
TODAY = NOW.date()
SHIPS = "The heron project ships from the main branch."


def since(one: Entry, day: date, stale: StaleSettings | None = None) -> str:
    return unconfirmed(stale or StaleSettings(), day)(entry_passage(one))


def the(memory: Memory, text: str = SHIPS) -> Entry:
    [found] = [each.entry for each in memory.entries().entries if each.entry.text == text]
    return found


# --- when an entry counts as confirmed -----------------------------------------------------------------


def test_it_is_confirmed_from_the_day_it_was_said_and_when_it_is_said_again(memory: Memory, clock: Clock) -> None:
    memory.remember(SHIPS, category="context")
    assert the(memory).confirmed_on == TODAY
    clock.pass_by(days=10)
    memory.remember(SHIPS)
    assert the(memory).confirmed_on == TODAY + timedelta(days=10)
    assert the(memory).verified is None  # it follows from the other fields


def test_an_agent_does_not_confirm_what_a_user_said(reopen: Reopen, clock: Clock) -> None:
    reopen(door="cli").remember(SHIPS, category="context")
    clock.pass_by(days=10)
    agent = reopen()
    agent.search(SHIPS)
    agent.recall(SHIPS)
    agent.remember(SHIPS)
    assert (the(agent).hits, the(agent).confirmed_on) == (2, TODAY)
    reopen(door="cli").remember(SHIPS)
    assert the(agent).confirmed_on == TODAY + timedelta(days=10)


@pytest.mark.parametrize("said", ["I prefer green tea to coffee.", "我更喜欢绿茶，不喜欢咖啡。"])
def test_the_user_confirms_by_saying_it_in_another_talk_on_the_day_it_was_said(
    memory: Memory, clock: Clock, said: str
) -> None:
    def talk(name: str, time: str) -> None:
        memory.process_session_end([{"role": "user", "content": said, "timestamp": time}], name)

    talk("first", "2026-02-24T09:00:00Z")
    [first] = memory.entries().entries
    clock.pass_by(days=40)
    talk("second", "2026-03-20T09:00:00Z")
    [again] = memory.entries().entries
    assert again.entry.hits == first.entry.hits + 1
    assert again.entry.confirmed_on == date(2026, 3, 20)


def test_a_new_text_is_as_of_today_and_a_new_importance_is_not(memory: Memory, clock: Clock) -> None:
    id = memory.remember(SHIPS, category="context").known.entry.id
    clock.pass_by(days=3)
    memory.remember(SHIPS)
    clock.pass_by(days=3)
    memory.update(id, importance="high")
    assert the(memory).confirmed_on == TODAY + timedelta(days=3)
    memory.update(id, text="The heron project ships from the trunk.")
    assert the(memory, "The heron project ships from the trunk.").confirmed_on == TODAY + timedelta(days=6)


# --- confirming --------------------------------------------------------------------------------------------


def test_confirming_is_one_operation_that_can_be_undone(memory: Memory, clock: Clock) -> None:
    id = memory.remember(SHIPS, category="context", tags=["ci"]).known.entry.id
    clock.pass_by(days=60)
    before = the(memory)
    now = memory.confirm(id)
    assert now.entry.confirmed_on == now.entry.last_activated == clock.now.date()
    assert now.entry.score == fade.reinforced(before, clock.now.date()).score
    assert (now.entry.text, now.entry.tags, now.entry.category) == (before.text, before.tags, before.category)
    assert memory.confirm(id).operation is None  # once a day
    assert now.operation is not None
    assert memory.history(limit=1).operations[0].operation.kind == "confirm"
    memory.undo(now.operation)
    assert the(memory).confirmed_on == TODAY


def test_what_is_archived_comes_back_and_what_was_replaced_is_refused(memory: Memory, clock: Clock) -> None:
    id = memory.remember(SHIPS, category="context", importance="low").known.entry.id
    clock.pass_by(days=120)
    memory.tidy()
    assert the(memory).archived
    assert memory.confirm(id).entry.state == "active"
    by = memory.remember("Correction: the heron project ships from the release branch.").known.entry
    if the(memory).superseded_by != by.id:
        pytest.skip("the rules see no correction here")
    with pytest.raises(Conflict, match=by.id):
        memory.confirm(id)
    with pytest.raises(NotFound, match="nobody"):
        memory.confirm("nobody")


@ON_DISK
def test_it_lives_in_the_markdown(tmp_path: Path, memory: Memory, clock: Clock, reopen: Reopen) -> None:
    reopen(door="cli").remember(SHIPS, category="context")
    clock.pass_by(days=10)
    memory.remember(SHIPS)  # an agent's word
    memory.confirm(the(memory).id, lasting=True)
    memory.close()
    for path in (tmp_path / "book" / ".memorybook").glob("index.sqlite*"):
        path.unlink()
    text = (tmp_path / "book" / "MEMORY.md").read_text(encoding="utf-8")
    assert "; lasting -->" in text
    again = reopen()
    assert (the(again).confirmed_on, the(again).lasting) == (clock.now.date(), True)
    clock.pass_by(days=1000)
    assert [hit.unconfirmed for hit in again.search(SHIPS)] == [""]


def test_a_tool_confirms_and_takes_nothing_else_with_it(memory: Memory, clock: Clock) -> None:
    id = memory.remember(SHIPS, category="context").known.entry.id
    clock.pass_by(days=60)
    told = tools.call(memory, "memory_update", {"id": id, "confirmed": True})
    assert told["entry"]["confirmed_on"] == clock.now.date().isoformat()
    with pytest.raises(InvalidInput, match="alone"):
        tools.call(memory, "memory_update", {"id": id, "confirmed": True, "text": "It ships from the trunk."})


# --- what is told ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "fields", "days"),
    [
        (SHIPS, {"category": "context"}, 45),
        ("周报项目还在等法务审批", {"category": "context"}, 45),
        ("The user prefers tea.", {"category": "preference"}, 365),
        ("The user once ran a marathon.", {"category": "experience"}, 0),
        ("The user's birthday is on May 3.", {"category": "fact"}, 0),
        ("用户的生日是5月3日", {"category": "fact"}, 0),
        ("The user lives in Lisbon.", {"category": "fact"}, 365),
        ("The user lives in Lisbon.", {"category": "fact", "lasting": True}, 0),
        ("Renew the passport.", {"category": "todo", "expires": date(2027, 1, 1)}, 0),
        ("The user lives in Porto.", {"category": "fact", "superseded_by": "b"}, 0),
    ],
)
def test_how_long_a_statement_holds_depends_on_its_kind(text: str, fields: dict[str, object], days: int) -> None:
    one = entry("a", text, **fields)
    assert since(one, TODAY + timedelta(days=days or 5_000)) == ""
    if days:
        assert since(one, TODAY + timedelta(days=days + 1)) == TODAY.isoformat()
        never = StaleSettings()._replace(**{one.category: 0})
        assert since(one, TODAY + timedelta(days=days + 1), never) == ""


@pytest.mark.parametrize(
    ("text", "question", "told"),
    [
        (SHIPS, "which branch does the heron project ship from?", "branch. (not confirmed since February 2026)"),
        ("周报项目还在等法务审批", "周报项目怎么样了？", "审批（自2026年2月以来未再确认）"),
    ],
)
def test_it_is_told_in_blocks_and_searches_until_it_is_confirmed(
    memory: Memory, clock: Clock, text: str, question: str, told: str
) -> None:
    id = memory.remember(text, category="context", importance="high").known.entry.id
    clock.pass_by(days=45)
    assert told not in memory.recall(question).text
    clock.pass_by(days=1)
    assert told in memory.recall(question).text
    [hit] = memory.search(question).json()["results"]
    assert hit["unconfirmed_since"] == "2026-02-24"
    answer = tools.call(memory, "memory_search", {"query": question}, for_model=True)
    assert "not confirmed since 2026-02" in tools.text(answer)
    memory.confirm(id)
    assert told not in memory.recall(question).text
    assert "unconfirmed_since" not in memory.search(question).json()["results"][0]


# --- who is asked ------------------------------------------------------------------------------------------


def test_review_asks_the_strongest_first_a_few_at_a_time_and_takes_an_answer(memory: Memory, clock: Clock) -> None:
    kept = {memory.remember(f"Service number {n} is owned by team {n * 7}.", category="context",
                            importance=0.5 + n / 40).known.entry.id: n for n in range(15)}  # fmt: skip
    clock.pass_by(days=46)
    tidied = memory.tidy(apply=["expire", "archive", "remove"])
    waiting = memory.review(kind="confirm").proposals
    assert len(tidied.proposed) == len(waiting) == 10
    asked = [kept[str(each.proposal.changes[0]["id"])] for each in waiting]
    assert asked == sorted(range(5, 15), reverse=True)
    assert waiting[0].told[0].startswith("confirm ")
    memory.accept(waiting[0].proposal.id)
    memory.reject(waiting[1].proposal.id)
    assert memory.confirm(str(waiting[2].proposal.changes[0]["id"])).operation
    more = memory.tidy()
    assert more.withdrawn == (waiting[2].proposal.id,)
    left = [kept[str(each.proposal.changes[0]["id"])] for each in memory.review(kind="confirm").proposals]
    assert sorted(left) == list(range(2, 12))


# --- against a model -----------------------------------------------------------------------------------------


_NUMBERS = count()
"""A book in memory is known by its name for as long as the process lives: each example has one of its own."""


class Confirming(RuleBasedStateMachine):
    """Sequences of saying, confirming, undoing and rebuilding keep the day of the last confirmation as modelled."""

    @initialize()
    def begin(self) -> None:
        self.clock = Clock()
        self.memory = memorybook.open(f"/confirming-{next(_NUMBERS)}", config=IN_MEMORY, clock=self.clock, door="cli")
        self.agent = self.memory.seen_by(door="python", actor="agent")
        self.id = self.memory.remember(SHIPS, category="context").known.entry.id
        self.day = self.clock.now.date()
        self.undoable: list[tuple[str, date]] = []

    def did(self, operation: str | None, before: date) -> None:
        self.undoable = [*self.undoable, (operation, before)] if operation else self.undoable

    @rule(days=st.integers(1, 60))
    def pass_by(self, days: int) -> None:
        stale = [bool(since(the(self.memory), self.clock.now.date() + timedelta(days=n))) for n in range(0, 90, 5)]
        assert stale == sorted(stale)  # nothing gets confirmed by time alone
        self.clock.pass_by(days=days)

    @rule(user=st.booleans())
    def say_again(self, user: bool) -> None:
        before = self.day
        done = (self.memory if user else self.agent).remember(SHIPS)
        self.day = self.clock.now.date() if user else self.day
        self.did(done.operation, before)

    @rule()
    def confirm(self) -> None:
        known, before = the(self.memory), self.day
        done = self.memory.confirm(self.id)
        assert (done.operation is None) == (before == self.clock.now.date())
        assert done.entry.text == known.text
        if done.operation:
            assert done.entry.score == fade.reinforced(known, self.clock.now.date()).score
        self.day = self.clock.now.date()
        self.did(done.operation, before)

    @rule()
    def read(self) -> None:
        self.agent.search(SHIPS)
        self.agent.recall(SHIPS)

    @precondition(lambda self: self.undoable)
    @rule()
    def undo(self) -> None:
        operation, self.day = self.undoable.pop()
        self.memory.undo(operation)

    @rule()
    def rebuild(self) -> None:
        self.memory.rebuild()

    @invariant()
    def holds(self) -> None:
        if not hasattr(self, "memory"):
            return
        assert the(self.memory).confirmed_on == self.day
        bound = self.clock.now.date() - timedelta(days=45)
        [hit] = self.memory.search(SHIPS).hits
        assert hit.unconfirmed == (self.day.isoformat() if self.day < bound else "")

    def teardown(self) -> None:
        self.memory.close()


TestConfirming = Confirming.TestCase
TestConfirming.settings = settings(max_examples=25, stateful_step_count=12)
