from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from memorybook.errors import InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.providers.compare import Compared, compare
from memorybook.providers.copies import copied
from memorybook.testing import HashEmbedder, ScriptedLLM
from providers.conftest import NOW, Opened

CHAT = [
    {"session": "a", "role": "user", "content": "Remember that harbour-api runs on port 8443."},
    {"session": "a", "role": "assistant", "content": "Noted."},
    {"session": "b", "role": "user", "content": "I prefer green tea in the morning."},
]
CHAT = [{**message, "timestamp": f"2026-02-23T09:0{number}:00Z"} for number, message in enumerate(CHAT)]


def save(messages: Any) -> dict[str, Any]:
    """Answers the flat provider with a fact, everybody else with nothing."""
    if "save_memory" not in str(messages[0]["content"]):
        return {"summary": "Spoke.", "decisions": [], "open_questions": [], "candidates": [], "forget": []}
    page = "### fact | high\nharbour-api runs on port 8443."
    arguments = {"history_entry": "[2026-02-23 09:00] They spoke.", "memory_update": page}
    return {"name": "save_memory", "arguments": arguments}


def state(memory: Memory) -> dict[str, str]:
    """Digest of every file of the book, machine state included."""
    root = Path(memory.root)
    files = [path for path in sorted(root.rglob("*")) if path.is_file() and not path.name.endswith(("-wal", "-shm"))]
    return {str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def run(memory: Memory, a: str = "tiered", b: str = "agentic", **options: Any) -> Compared:
    return compare(memory, CHAT, a, b, **options)


def test_two_providers_remember_the_same_talk_beside_each_other(memory: Memory) -> None:
    found = run(memory)
    assert [ran.provider for ran in found.runs] == ["tiered", "agentic"]
    assert [ran.sessions for ran in found.runs] == [2, 2]
    assert found.question == "I prefer green tea in the morning."
    assert len(found.both) == 2
    assert found.only == ((), ())
    for ran in found.runs:
        assert [told.action for told in ran.entries] == ["created", "created"]
        assert len(ran.summaries) == 2
        assert "green tea" in ran.prompt
        assert ran.prompt_tokens > 0


def test_the_difference_is_shown_with_calls_and_tokens(opened: Opened) -> None:
    found = run(opened(ScriptedLLM(then=save)), "flat", "tiered", question="which port?")
    flat, tiered = found.runs
    assert flat.history == ("[2026-02-23 09:00] They spoke.",)
    assert tiered.history == ()
    assert (flat.calls, tiered.calls) == (2, 2)
    assert flat.input_tokens > 0
    assert flat.output_tokens > 0
    assert "harbour-api runs on port 8443." in (*found.both, *found.only[0])
    assert "## Long-term Memory" in flat.prompt


def test_the_book_itself_is_not_touched(opened: Opened) -> None:
    memory = opened(ScriptedLLM(then=save), require_user_confirmation=True)
    memory.init()
    memory.remember("The user likes tea.")
    memory.recall("tea")
    before = state(memory)
    run(memory, "flat", "tiered")
    assert state(memory) == before
    assert memory.book.journal.spent(NOW.date()).calls == 0
    assert memory.book.journal.proposals() == []


def test_what_the_book_knows_is_known_to_the_copies(memory: Memory) -> None:
    memory.remember("harbour-api runs on port 8443.", tags=["port"])
    memory.append("The crane was painted.")
    found = run(memory)
    for ran in found.runs:
        assert "strengthened" in {told.action for told in ran.entries}


def test_a_talk_that_the_book_knows_is_new_to_the_copies(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text("".join(json.dumps(message) + "\n" for message in CHAT), encoding="utf-8")
    memory.import_file(str(path))
    found = compare(memory, str(path), "tiered", "agentic")
    for ran in found.runs:
        assert len(ran.summaries) == 2


def test_what_was_forgotten_stays_forgotten_in_the_copies(memory: Memory) -> None:
    run_before = run(memory)
    [text] = [text for text in run_before.both if "8443" in text]
    memory.forget(memory.remember(text).known.entry.id)
    found = run(memory)
    assert not any("8443" in text for text in found.both)
    assert [reason for _, reason in found.runs[0].discarded] == ["forgotten before"]


def test_a_provider_that_fails_says_why(memory: Memory) -> None:
    found = run(memory, "flat", "tiered")
    assert len(found.runs[0].failed) == 2
    assert "a: the flat provider needs a language model" in found.runs[0].failed[0]
    assert found.runs[1].failed == ()
    assert len(found.only[1]) == 2


def test_what_is_spent_counts_against_the_budget_of_the_day(opened: Opened) -> None:
    memory = opened(ScriptedLLM(then=save))
    budget = memory.config.llm.budget._replace(calls_per_day=3)
    memory.context = memory.context._replace(
        config=memory.config._replace(llm=memory.config.llm._replace(budget=budget))
    )
    memory.book.journal.spend(NOW.date(), calls=2)
    found = run(memory, "flat", "tiered")
    assert [len(ran.failed) for ran in found.runs] == [1, 1]
    assert "calls_per_day" in found.runs[0].failed[0]


@pytest.mark.parametrize(("a", "b"), [("flat", "graph"), ("flat", "flat")])
def test_two_providers_are_named(memory: Memory, a: str, b: str) -> None:
    with pytest.raises(InvalidInput):
        run(memory, a, b)


def test_a_file_that_is_not_there_is_not_found(memory: Memory) -> None:
    with pytest.raises(NotFound):
        compare(memory, "/nowhere/chat.jsonl")


def test_it_is_shown_as_json(memory: Memory) -> None:
    shown = json.loads(json.dumps(run(memory).json()))
    assert shown["runs"][0]["entries"][0].keys() == {"action", "id", "text"}
    assert shown["only"] == {"tiered": [], "agentic": []}


def test_a_copy_has_the_documents_to_the_byte_and_their_times(memory: Memory) -> None:
    memory.init()
    path = Path(memory.root, "notes", "odd.md")
    path.parent.mkdir()
    path.write_bytes(b"caf\xe9\r\n\x00 odd\n")
    with copied(memory, provider="flat") as copy:
        twin = Path(copy.root, "notes", "odd.md")
        assert twin.read_bytes() == path.read_bytes()
        assert twin.stat().st_mtime == pytest.approx(path.stat().st_mtime, abs=1e-3)
        assert copy.config.provider == "flat"
        assert copy.root != memory.root
        folder = copy.root
    assert not Path(folder).exists()


def test_no_service_is_asked_to_embed_a_copy(memory: Memory) -> None:
    embedder = HashEmbedder()
    embedder.local = False
    memory.context = memory.context._replace(embedder=embedder)
    memory.remember("The user likes tea.")
    with copied(memory, provider="tiered") as copy:
        assert copy.search("tea").hits
        assert copy.search("tea").backend == "sqlite_fts"
    assert embedder.calls == 0
