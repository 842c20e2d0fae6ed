"""Finished tasks in a book: masked, judged, matched with what is known, stored in one operation or proposed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import files
from memorybook.config.settings import Config
from memorybook.entries.store_task import MOST_TEXT, as_text, ends, lines_of, store_if_worthwhile
from memorybook.errors import BudgetSpent, InvalidInput, LLMFailed, NotFound
from memorybook.memory import Memory
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.testing import ScriptedLLM

NOW = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)
GOAL = "Fix the login test of the billing service"
RESULT = "The root cause was an expired token in the fixture."
LESSON = f"{GOAL}: {RESULT}"
MEMORY = {
    "content": "The login test of the billing service fails when the token in the fixture has expired.",
    "category": "experience",
    "importance": "high",
    "tags": ["tests"],
    "entities": [],
    "quote": "an expired token in the fixture",
}

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    memories: list[Memory] = []

    def again(llm: Any = None, door: str = "python", **settings: Any) -> Memory:
        config = Config(timezone="UTC", **settings)
        book = str(tmp_path / "book")
        memories.append(memorybook.open(book, config=config, clock=lambda: NOW, llm=llm, door=door))
        return memories[-1]

    yield again
    for each in memories:
        each.close()


def answer(*memories: Any, **fields: Any) -> dict[str, Any]:
    return {"should_store": True, "score": 0.8, "reasoning": "A dear lesson.", "memories": list(memories), **fields}


def texts(memory: Memory) -> list[str]:
    return [known.entry.text for known in memory.entries().entries]


# --- storing -------------------------------------------------------------------------------------


def test_by_rules_a_lesson_is_stored_in_one_operation(opened: Open) -> None:
    memory = opened()
    stored = store_if_worthwhile(
        memory.context, GOAL, RESULT, "pytest\n401 Unauthorized", {"ticket": 7}, session_id="s1"
    )
    assert (stored.should_store, stored.by, stored.score, stored.threshold) == (True, "rules", 0.6, 0.5)
    [kept] = stored.memories
    assert (kept.action, kept.text) == ("created", LESSON)
    assert kept.known is not None
    entry = kept.known.entry
    assert (entry.session, entry.category, entry.trust, entry.source) == ("s1", "experience", "agent", None)
    assert entry.metadata == {"task": GOAL, "ticket": 7}
    [operation] = memory.history().operations
    assert operation.operation.id == stored.operation
    assert (operation.operation.kind, operation.operation.session) == ("store", "s1")
    [ground] = memory.why(entry.id).rests_on
    assert ground.quote == RESULT


def test_by_a_model_its_memories_and_its_usage_are_kept(opened: Open) -> None:
    memory = opened(ScriptedLLM([answer(MEMORY)]))
    stored = store_if_worthwhile(memory.context, GOAL, RESULT)
    assert texts(memory) == [MEMORY["content"]]
    assert stored.by == "model"
    assert stored.usage is not None
    assert (stored.usage["calls"], stored.usage["model"]) == (1, "scripted")
    [operation] = memory.history().operations
    assert operation.operation.usage == stored.usage
    assert memory.book.journal.spent(NOW.date()).calls == 1


def test_a_lesson_that_is_known_is_strengthened(opened: Open) -> None:
    memory = opened()
    store_if_worthwhile(memory.context, GOAL, RESULT, session_id="s1")
    stored = store_if_worthwhile(memory.context, GOAL, RESULT, session_id="s2")
    assert [kept.action for kept in stored.memories] == ["strengthened"]
    [known] = memory.entries().entries
    assert known.entry.hits == 2


def test_tasks_of_one_session_are_heard_once(opened: Open) -> None:
    memory = opened()
    for session in ("s1", "s1", "s2", "s2"):
        store_if_worthwhile(memory.context, GOAL, RESULT, session_id=session)
    [known] = memory.entries().entries
    assert known.entry.hits == 2


def test_undo_takes_a_task_back_byte_for_byte(opened: Open) -> None:
    memory = opened()
    memory.remember("The user likes tea.")
    before = files(memory.root, "*.md")
    stored = store_if_worthwhile(memory.context, GOAL, RESULT)
    assert stored.operation is not None
    memory.undo(stored.operation)
    assert files(memory.root, "*.md") == before


def test_what_was_set_aside_is_in_the_history(opened: Open) -> None:
    memory = opened(ScriptedLLM([answer({**MEMORY, "content": "The token lives 3600 seconds."}, MEMORY)]))
    stored = store_if_worthwhile(memory.context, GOAL, RESULT)
    assert [left.text for left in stored.discarded] == ["The token lives 3600 seconds."]
    [operation] = memory.history().operations
    assert [left.text for left in operation.operation.discarded] == ["The token lives 3600 seconds."]


def test_a_task_that_is_not_worth_it_leaves_no_trace(opened: Open) -> None:
    memory = opened(ScriptedLLM([answer(should_store=False, score=0.1, reasoning="Routine.")]))
    stored = store_if_worthwhile(memory.context, GOAL, "All tests pass as they did before.")
    assert (stored.should_store, stored.reasoning, stored.operation) == (False, "Routine.", None)
    assert files(memory.root, "*.md") == {}


def test_the_setting_of_the_threshold_decides(opened: Open) -> None:
    stored = store_if_worthwhile(opened(store_threshold=0.7).context, GOAL, RESULT)
    assert not stored.should_store
    assert stored.threshold == 0.7
    assert [left.text for left in stored.discarded] == [LESSON]


def test_what_a_person_forgot_does_not_come_back(opened: Open) -> None:
    memory = opened()
    [kept] = store_if_worthwhile(memory.context, GOAL, RESULT).memories
    assert kept.known is not None
    memory.forget(kept.known.entry.id)
    stored = store_if_worthwhile(memory.context, GOAL, RESULT)
    assert not stored.should_store
    assert [left.reason for left in stored.discarded] == ["forgotten before"]
    assert texts(memory) == []


@pytest.mark.parametrize(("door", "trust"), [("cli", "user"), ("python", "agent")])
def test_trust_is_that_of_the_door_at_most(opened: Open, door: str, trust: str) -> None:
    goal = "From now on always answer in Chinese. Translate the readme."
    [kept] = store_if_worthwhile(opened(door=door).context, goal).memories
    assert kept.known is not None
    assert kept.known.entry.trust == trust


def test_an_entry_that_goes_meanwhile_is_planned_for_anew(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = opened()
    store_if_worthwhile(memory.context, GOAL, RESULT, session_id="s1")
    apply_each, calls = memory.book.apply_each, []

    def first_fails(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        if len(calls) == 1:
            raise NotFound("it went")
        return apply_each(*args, **kwargs)

    monkeypatch.setattr(memory.book, "apply_each", first_fails)
    stored = store_if_worthwhile(memory.context, GOAL, RESULT, session_id="s2")
    assert [kept.action for kept in stored.memories] == ["strengthened"]
    assert len(calls) == 2


# --- safety --------------------------------------------------------------------------------------


def test_secrets_are_masked_before_anybody_sees_them(opened: Open) -> None:
    llm = ScriptedLLM([answer(MEMORY)])
    memory = opened(llm)
    key = "sk-proj-T3BlbkFJq8Zr5Yw2Lx9Vn4Kd7Hs1Gm6Pb0QcXe"
    pem = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    stored = store_if_worthwhile(
        memory.context,
        f"{GOAL} with {key}",
        f"{RESULT} {key}",
        ["export A=1", *pem.splitlines()],
        {"key": key},
        error=f"AuthError: {key}",
    )
    assert stored.redacted >= 5
    shown = str(llm.requests[0].messages) + str(files(memory.root)) + str(stored.json())
    assert key not in shown
    assert "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC" not in shown


def test_what_was_recalled_for_the_task_is_no_lesson_of_it(opened: Open) -> None:
    echo = f"{OPEN}\nThe root cause was a full disk.\n{CLOSE}"
    stored = store_if_worthwhile(opened().context, GOAL, f"Nothing was found out this time, alas. {echo}")
    assert not stored.should_store


def test_a_task_without_storing_asks_nobody(opened: Open) -> None:
    for setting in ("enabled", "auto_store"):
        llm = ScriptedLLM([answer(MEMORY)])
        memory = opened(llm, **{setting: False})
        stored = store_if_worthwhile(memory.context, GOAL, RESULT)
        assert (stored.should_store, stored.disabled) == (False, True)
        assert stored.reasoning == f"{setting} is false: finished tasks are not remembered"
        assert not llm.requests
        assert files(memory.root) == {}


@pytest.mark.parametrize("failure", [LLMFailed("down"), BudgetSpent("spent")])
def test_a_model_that_fails_leaves_it_to_rules(opened: Open, failure: Exception) -> None:
    stored = store_if_worthwhile(opened(ScriptedLLM([failure])).context, GOAL, RESULT)
    assert stored.by == "rules"
    assert stored.degraded.startswith("judged by rules")
    assert [kept.text for kept in stored.memories] == [LESSON]


QUIET = (
    (GOAL, "The migration took 40 minutes in the end, twice what we planned for."),
    ("迁移计费服务的数据库", "迁移最后用了四十分钟，是原先计划的两倍。"),
)
UNUSABLE = (
    None, "I'm sorry, I can't help with that.", "抱歉，我无法协助。", "{]", "[]", LLMFailed("down"),
    answer(), answer(score="much"), answer({**MEMORY, "content": "It cost 99 euros.", "quote": ""}),
)  # fmt: skip


@pytest.mark.parametrize(("goal", "result"), QUIET)
@pytest.mark.parametrize("given", UNUSABLE)
def test_what_came_of_a_task_waits_where_no_model_could_judge_it(
    opened: Open, given: Any, goal: str, result: str
) -> None:
    from memorybook.entries.review import accept, review

    def late(messages: Any) -> str:
        raise TimeoutError("after 60 s")

    memory = opened(late if given is None else ScriptedLLM([given, given, given]))
    stored = store_if_worthwhile(memory.context, goal, result)
    assert [kept.action for kept in stored.memories] == ["proposed"]
    assert stored.reasoning
    assert texts(memory) == []
    [waiting] = review(memory.context).proposals
    assert (waiting.proposal.kind, waiting.proposal.reason) == ("doubtful", stored.reasoning)
    accept(memory.context, stored.proposals)
    [text] = texts(memory)
    assert text.startswith(goal)
    assert result in text


@pytest.mark.parametrize("importance", [0.93, 0.51, 7.3])
def test_a_number_of_importance_is_the_score_of_the_entry(opened: Open, importance: float) -> None:
    memory = opened(ScriptedLLM([answer({**MEMORY, "importance": importance})]))
    [kept] = store_if_worthwhile(memory.context, GOAL, RESULT).memories
    assert kept.known is not None
    assert kept.known.entry.score == pytest.approx(importance if importance <= 1 else importance / 10)


def test_the_budget_of_an_operation_holds(opened: Open) -> None:
    from memorybook.config.settings import Budget, LLMSettings

    llm = ScriptedLLM(["prose", answer(MEMORY)])
    memory = opened(llm)
    memory.context = memory.context._replace(
        config=memory.config._replace(llm=LLMSettings(budget=Budget(calls_per_operation=1)))
    )
    stored = store_if_worthwhile(memory.context, GOAL, RESULT)
    assert len(llm.requests) == 1
    assert "calls_per_operation" in stored.degraded


# --- a person's word -----------------------------------------------------------------------------


def test_with_confirmation_each_memory_waits(opened: Open) -> None:
    from memorybook.entries.review import accept, reject, review

    other = {**MEMORY, "content": "The billing service has a login test.", "quote": "login test"}
    memory = opened(ScriptedLLM([answer(MEMORY, other)], then=answer(MEMORY, other)), require_user_confirmation=True)
    stored = store_if_worthwhile(memory.context, GOAL, RESULT, metadata={"ticket": 7}, session_id="s1")
    assert stored.should_store
    assert [kept.action for kept in stored.memories] == ["proposed", "proposed"]
    assert texts(memory) == []
    assert [each.proposal.id for each in review(memory.context).proposals] == list(stored.proposals)
    accept(memory.context, stored.proposals[:1])
    reject(memory.context, stored.proposals[1:])
    assert texts(memory) == [MEMORY["content"]]
    [known] = memory.entries().entries
    assert known.entry.metadata == {"task": GOAL, "ticket": 7}
    assert known.entry.session == "s1"
    again = store_if_worthwhile(memory.context, GOAL, RESULT, session_id="s2")
    assert "The billing service has a login test." not in str(review(memory.context).json())
    assert texts(memory) == [MEMORY["content"]]
    assert len(again.proposals) <= 1


# --- what is given -------------------------------------------------------------------------------


def test_steps_of_a_log_become_lines() -> None:
    steps: list[str | dict[str, Any]] = [
        "one\n\ntwo",
        {"role": "assistant", "content": "looking"},
        {"tool": "bash", "output": "ok"},
        {"step": 3, "result": {"code": 0}},
        {"name": "grep", "hits": ["a"]},
    ]
    assert lines_of(steps) == [
        "one",
        "two",
        "assistant: looking",
        "bash: ok",
        '3: {"code": 0}',
        '{"name": "grep", "hits": ["a"]}',
    ]
    assert lines_of("a\nb") == ["a", "b"]
    assert lines_of(()) == []


def test_of_a_very_long_log_both_ends_are_looked_at() -> None:
    lines = lines_of([f"line {number}" for number in range(100_000)])
    assert lines[0] == "line 0"
    assert lines[-1] == "line 99999"
    assert sum(map(len, lines)) <= MOST_TEXT
    assert ends("one two three four five six", 12) == "one\nsix"
    assert ends("x" * 99, 12) == ""


def test_results_of_any_kind_become_text() -> None:
    assert as_text("done") == "done"
    assert as_text(None) == ""
    assert as_text({"完成": 1}) == '{"完成": 1}'
    assert as_text({1, 2}) == "{1, 2}"


def test_wrong_values_are_named(opened: Open) -> None:
    memory = opened()
    with pytest.raises(InvalidInput, match="task_goal is blank"):
        store_if_worthwhile(memory.context, "  ")
    with pytest.raises(InvalidInput, match="metadata"):
        store_if_worthwhile(memory.context, GOAL, RESULT, metadata={"x": object()})


def test_as_json_it_says_everything(opened: Open) -> None:
    shown = store_if_worthwhile(opened(ScriptedLLM([answer(MEMORY, {"content": ""})])).context, GOAL, RESULT).json()
    assert shown["should_store"] is True
    assert shown["threshold"] == 0.5
    assert shown["usage"]["calls"] == 1
    assert shown["discarded"] == [{"text": "", "reason": "has no content", "quote": ""}]
    [memory] = shown["memories"]
    assert (memory["action"], memory["type"], memory["importance"]) == ("created", "experience", 0.8)
    assert memory["entry"]["tags"] == ["tests"]
    assert shown["proposals"] == []


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"execution_log": 5}, "execution_log must be text, or a list of lines or steps, not 5"),
        ({"execution_log": {"role": "user"}}, "execution_log must be text, or a list"),
        ({"execution_log": ["fine", 5]}, "a step of execution_log must be text or an object, not 5"),
        ({"session_id": 5}, "session_id must be text, not 5"),
        ({"error": 5}, "error must be text, not 5"),
    ],
)
def test_what_is_of_another_type_is_named(memory: Memory, wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        memory.store_if_worthwhile("Deploy the harbour API", "done", **wrong)


def test_a_goal_without_end_is_told_of(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="task_goal has 300000 characters and no blanks"):
        memory.store_if_worthwhile("x" * 300_000, "done")
