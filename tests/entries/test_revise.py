"""Rewriting an entry: applied to the entry as it stands, explained in the history, left alone where it cannot be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import files
from memorybook.config.settings import Config
from memorybook.entries.revise import revise
from memorybook.errors import Conflict, InvalidInput, LLMFailed, NotFound, Unavailable
from memorybook.memory import Memory
from memorybook.testing import ScriptedLLM

NOW = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)
PORT = "The API listens on 8080 since 2026-03-01."

Open = Callable[..., Memory]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    memories: list[Memory] = []

    def again(*script: Any) -> Memory:
        llm = ScriptedLLM(script) if script else None
        config = Config(timezone="UTC")
        memories.append(memorybook.open(str(tmp_path / "book"), config=config, clock=lambda: NOW, llm=llm))
        return memories[-1]

    yield again
    for each in memories:
        each.close()


def known(memory: Memory, text: str = PORT) -> str:
    return memory.remember(text, tags=["api"]).known.entry.id


def test_an_entry_is_rewritten_and_the_rest_of_it_stays(opened: Open) -> None:
    memory = opened({"text": "The API: 8080 since 2026-03-01.", "refused": ""})
    id = known(memory)
    revised = revise(memory.context, id, "make it shorter")
    assert (revised.before, revised.refused) == (PORT, "")
    assert revised.known.entry.text == "The API: 8080 since 2026-03-01."
    assert revised.known.entry.tags == ("api",)
    [entry] = memory.book.entries()
    assert (entry.id, entry.text, entry.score) == (id, "The API: 8080 since 2026-03-01.", 0.6)
    operation = memory.history(limit=1).operations[0].operation
    assert (operation.id, operation.kind) == (revised.operation, "revise")
    assert operation.changes[0].reason == "revised: make it shorter"
    assert operation.usage is not None
    assert (operation.usage["calls"], operation.usage["model"]) == (1, "scripted")


def test_what_an_agent_has_rewritten_is_no_longer_a_users_word(opened: Open) -> None:
    memory = opened({"text": "The API: 8080 since 2026-03-01.", "refused": ""})
    memory.context = memory.context._replace(door="cli", actor="user")
    id = known(memory)
    memory.context = memory.context._replace(door="mcp", actor="agent")
    assert revise(memory.context, id, "make it shorter").known.entry.trust == "agent"


def test_a_chinese_entry_is_rewritten(opened: Open) -> None:
    memory = opened({"text": "接口端口是9090。", "refused": ""})
    assert (
        revise(memory.context, known(memory, "接口端口是8080。"), "端口改成9090").known.entry.text == "接口端口是9090。"
    )


def test_undo_brings_the_old_text_back(opened: Open) -> None:
    memory = opened({"text": "The API: 8080 since 2026-03-01.", "refused": ""})
    id = known(memory)
    before = files(memory.root, "*.md")
    operation = revise(memory.context, id, "make it shorter").operation
    assert operation is not None
    memory.undo(operation)
    assert files(memory.root, "*.md") == before


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"text": "", "refused": "It says nothing of tea."}, "It says nothing of tea."),
        ({"text": PORT, "refused": ""}, "the text is as it should be already"),
    ],
)
def test_a_refusal_leaves_the_entry_as_it_was(opened: Open, given: dict[str, str], refused: str) -> None:
    memory = opened(given)
    id = known(memory)
    before = files(memory.root, "*.md")
    revised = revise(memory.context, id, "say that the tea is green")
    assert (revised.refused, revised.operation) == (refused, None)
    assert revised.json()["changed"] is False
    assert files(memory.root, "*.md") == before


def test_a_model_that_fails_leaves_the_entry_as_it_was(opened: Open) -> None:
    memory = opened({"text": "The API.", "refused": ""}, {"text": "The API.", "refused": ""})
    id = known(memory)
    before = files(memory.root, "*.md")
    with pytest.raises(LLMFailed, match="lacks the date '2026-03-01'"):
        revise(memory.context, id, "make it shorter")
    assert files(memory.root, "*.md") == before
    assert memory.book.journal.spent(NOW.date()).calls == 2


def test_without_a_model_the_error_names_the_setting_and_the_way_out(opened: Open) -> None:
    memory = opened()
    id = known(memory)
    with pytest.raises(Unavailable, match=r"none is set \(llm\.model\): give its new text instead"):
        revise(memory.context, id, "make it shorter")


def test_an_entry_that_was_changed_meanwhile_is_left_alone(opened: Open) -> None:
    def slow(_: object) -> dict[str, str]:
        memory.update(name, text="The API listens on 9090.")
        return {"text": "The API: 8080 since 2026-03-01.", "refused": ""}

    memory = opened(slow)
    name = known(memory)
    with pytest.raises(Conflict, match="was changed while the model was at work"):
        revise(memory.context, name, "make it shorter")
    assert [entry.text for entry in memory.book.entries()] == ["The API listens on 9090."]


def test_secrets_in_instruction_and_answer_are_masked(opened: Open) -> None:
    key = "sk-proj-T3BlbkFJq8Zr5Yw2Lx9Vn4Kd7Hs1Gm6Pb0QcXe"
    llm_saw: list[str] = []

    def model(messages: Any) -> dict[str, str]:
        llm_saw.append(str(messages))
        return {"text": "The API listens on 8080 since 2026-03-01, with a key.", "refused": ""}

    memory = opened(model)
    revised = revise(memory.context, known(memory), f"say that it takes a key, as {key} is one")
    assert revised.redacted == 1
    assert key not in llm_saw[0] + str(files(memory.root)) + str(revised.json())


def test_wrong_values_are_named(opened: Open) -> None:
    memory = opened({"text": "x", "refused": ""})
    with pytest.raises(NotFound, match="no entry 'nobody'"):
        revise(memory.context, "nobody", "make it shorter")
    with pytest.raises(InvalidInput, match="instruction is blank"):
        revise(memory.context, known(memory), " ")
    with pytest.raises(InvalidInput, match="instruction has 5000 characters"):
        revise(memory.context, known(memory), "x" * 5000)


def test_as_json_it_says_everything(opened: Open) -> None:
    memory = opened({"text": "The API: 8080 since 2026-03-01.", "refused": ""})
    shown = revise(memory.context, known(memory), "make it shorter").json()
    assert shown["entry"]["text"] == "The API: 8080 since 2026-03-01."
    assert (shown["before"], shown["changed"], shown["refused"]) == (PORT, True, "")
    assert shown["usage"]["calls"] == 1


@pytest.mark.parametrize(
    ("instruction", "score"),
    [
        ("set the importance to 0.9", 0.9),
        ("Importance: high", 0.8),
        ("raise its importance to 1", 1.0),
        ("importance 0.25.", 0.25),
        ("make importance low", 0.4),
        ("change the importance to .5", 0.5),
        ("把重要性改成高", 0.8),
        ("重要性提高到0.9", 0.9),
        ("将重要程度调到 0.3", 0.3),
        ("重要度设为低。", 0.4),
        ("请把它的重要性降低到0.1", 0.1),
        ("重要性：中", 0.6),
    ],
)
def test_importance_is_changed_by_an_instruction_without_a_model(opened: Open, instruction: str, score: float) -> None:
    memory = opened()
    id = known(memory)
    revised = revise(memory.context, id, instruction)
    assert (revised.known.entry.score, revised.known.entry.text, revised.refused) == (score, PORT, "")
    assert revised.operation is not None


def test_what_else_an_instruction_asks_is_left_to_the_model(opened: Open) -> None:
    memory = opened({"text": "The API: 8080 since 2026-03-01.", "refused": ""})
    revised = revise(memory.context, known(memory), "make it shorter and set the importance to 0.9")
    assert (revised.known.entry.score, revised.known.entry.text) == (0.9, "The API: 8080 since 2026-03-01.")
