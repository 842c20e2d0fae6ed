"""The store and the tools against Pydantic AI: the harness's own stores, its Memory, its agents."""

from __future__ import annotations

import asyncio
from pathlib import Path
from random import Random
from typing import Any

import pytest

from frameworks import page
from frameworks.steps import STEPS, seeded
from memorybook import tools
from memorybook.errors import InvalidInput, UnsafePath
from memorybook.memory import Memory

pydantic_ai = pytest.importorskip("pydantic_ai", reason="run by tests/frameworks/run")
harness = pytest.importorskip("pydantic_ai_harness.memory", reason="run by tests/frameworks/run")

from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart  # noqa: E402
from pydantic_ai.models.function import AgentInfo, FunctionModel  # noqa: E402
from pydantic_ai.workspaces import LocalWorkspaceBackend  # noqa: E402

from memorybook.frameworks.pydantic_ai_harness import BookStore, book_tools  # noqa: E402


def scripted(*replies: Any) -> tuple[Any, list[Any]]:
    """A model that gives these replies one after the other, text or calls of tools, and what it is sent each time."""
    sent: list[Any] = []

    def answer(messages: list[Any], info: AgentInfo) -> ModelResponse:
        reply = replies[len(sent)]
        sent.append(messages)
        return ModelResponse(parts=[TextPart(reply)] if isinstance(reply, str) else list(reply))

    return FunctionModel(answer), sent


# --- beside the reference ------------------------------------------------------------------------

PATHS = [
    "main/MEMORY.md", "main/tea.md", "main/notes.txt", "main/a", "ann/main/MEMORY.md", "ann/b.c.md", "x.md", "Tea.md",
]  # fmt: skip
TEXTS = [
    "", "tea\n", "茶 and milk", "# Tea\n\n- green\n", "CRLF\r\nline", "\ufeffBOM", "a\x0cb\u2028c", "  \n", "zażółć",
]  # fmt: skip


async def step(store: Any, versions: dict[str, str | None], random: Random, *, as_files: bool) -> Any:
    """One operation on a store, told so that the answers of two stores can be compared.

    A store's versions are its own: what it told of them last is kept in `versions`, and no text is the same twice. But
    those of a store of files are of the text, and it tells nothing of what wrote it.
    """
    path = random.choice(PATHS)
    kind = random.choice(["write", "write", "write", "metadata", "delete", "read", "read", "list", "receipt"])
    operation = None
    if random.random() < 0.6:
        operation = harness.MemoryOperation(f"op{random.randrange(300)}", random.choice("aaaab"))
    how = {"operation": operation, "expected_version": versions.get(path)}
    if random.random() < 0.15:
        how["expected_version"] = random.choice([None, "elsewhere"])
    text = random.choice(TEXTS) + ("" if as_files else str(random.random()))
    try:
        match kind:
            case "metadata" if not as_files:
                metadata = random.choice([None, {}, {"by": "Ann", "茶": "x"}])
                made = await store.write_with_metadata(path, text, metadata=metadata, **how)
            case "write" | "metadata":
                made = await store.write(path, text, **how)
            case "delete":
                made = await store.delete(path, **how)
            case "receipt":
                made = operation and await store.get_operation(operation)
            case "read":
                found = await store.read(path, max_chars=random.choice([1, 5, 1000]))
                versions[path] = found and found.version
                more = () if found is None or as_files else (found.operation_id, found.metadata)
                return found and (found.content, found.truncated, as_files and found.version, *more)
            case _:
                prefix = random.choice(["", "main/", "ann/", "ann/m", "x"])
                return await store.list_paths(prefix, limit=random.choice([1, 3, 99]))
    except (harness.MemoryConflictError, harness.MemoryOperationConflictError) as error:
        return type(error)
    if made and not made.replayed:
        versions[path] = made.version
    return made and (made.version if as_files else made.version is None, made.replayed, made.existed)


@pytest.mark.parametrize("as_files", [False, True])
def test_every_step_comes_out_as_with_the_reference(memory: Memory, tmp_path: Path, as_files: bool) -> None:
    seed, chosen = seeded()
    reference: Any = harness.InMemoryStore()
    if as_files:
        (tmp_path / "files").mkdir()
        reference = harness.FileStore(".", workspace=LocalWorkspaceBackend(tmp_path / "files"))

    async def run() -> None:
        ours, mine, theirs = BookStore(memory), dict[str, str | None](), dict[str, str | None]()
        for number in range(STEPS):
            if number % 100 == 99:  # another process goes on with it
                ours = BookStore(memory)
            one = chosen.random()
            found = await step(ours, mine, Random(one), as_files=as_files)
            assert found == await step(reference, theirs, Random(one), as_files=as_files), (seed, number)

    asyncio.run(run())


# --- what is deliberate --------------------------------------------------------------------------


def test_a_store_is_what_the_harness_asks_for_and_refuses_what_no_document_can_be(memory: Memory) -> None:
    store = BookStore(memory)
    assert isinstance(store, harness.MetadataMemoryStore)
    assert isinstance(store, harness.SearchableMemoryStore)
    for path in ("../x.md", "main/.hidden.md", "a/b/c/d/e/f.md", "", "main/", "main/a.plain.md"):
        with pytest.raises(UnsafePath):
            asyncio.run(store.write(path, "tea", expected_version=None))
    with pytest.raises(InvalidInput):
        asyncio.run(store.read("main/a.md", max_chars=0))
    with pytest.raises(InvalidInput):
        asyncio.run(store.list_paths(limit=0))
    assert [info.path for info in memory.documents()] == []


def test_what_is_asked_for_many_times_at_once_is_done_once_and_each_is_told_so(memory: Memory) -> None:
    store, once = BookStore(memory), harness.MemoryOperation("op", "a")

    async def run() -> list[Any]:
        asked = (store.write("a.md", "tea", expected_version=None, operation=once) for _ in range(8))
        return await asyncio.gather(*asked)

    assert sorted(made.replayed for made in asyncio.run(run())) == [False, *[True] * 7]


def test_a_search_finds_the_files_of_one_scope_within_its_bounds(memory: Memory) -> None:
    async def run() -> None:
        store, bounds = BookStore(memory), {"max_files": 99, "max_chars": 400, "max_file_chars": 1000}
        memory.remember("Green tea is not in a file.")
        for path in ("ann/main/tea.md", "ann/main/deep/tea.md", "ann/tea.md", "bob/main/tea.md", "ann/main/train.md"):
            text = "The train to Porto leaves at noon.\n" if "train" in path else "We drink green tea.\n"
            await store.write(path, text, expected_version=None)
        found = await store.search("ann/main/", "green tea", limit=5, **bounds)
        assert [match.path for match in found.matches] == ["ann/main/tea.md"]
        assert (found.matches[0].snippet, found.scanned, found.truncated) == ("We drink green tea.", 2, False)
        short = await store.search("ann/main/", "green tea", limit=5, **{**bounds, "max_chars": 12})
        assert [match.snippet for match in short.matches] == ["We dri"]
        less = await store.search("ann/main/", "green tea", limit=5, **{**bounds, "max_files": 1})
        assert (less.scanned, less.truncated) == (1, True)
        assert not (await store.search("ann/main/", " ", limit=5, **bounds)).matches

    asyncio.run(run())


# --- tools, end to end ---------------------------------------------------------------------------


def test_an_agent_calls_the_tools_and_is_told_what_is_wrong(memory: Memory) -> None:
    wrong = ToolCallPart("memory_remember", {"text": " "})
    right = ToolCallPart("memory_remember", {"text": "Ann likes green tea"})
    model, sent = scripted([wrong], [right], "Noted.")
    answer = pydantic_ai.Agent(model, toolsets=[book_tools(memory)]).run_sync("Remember my tea.").output
    assert answer == "Noted."
    assert [known.entry.text for known in memory.entries().entries] == ["Ann likes green tea"]
    refused, done = sent[1][-1].parts[0], sent[2][-1].parts[0]
    assert (refused.outcome, refused.content) == ("retried", "text is blank: give some words")
    assert (done.part_kind, '"action": "created"' in done.content) == ("tool-return", True)
    assert set(book_tools(memory).tools) == {name for name in tools.TOOLS if name != "memory_purge"}


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    note = ToolCallPart("write_memory", {"content": "- Ann drinks green tea in the morning, never coffee."})
    model, sent = scripted([note], "Noted.", "Green tea.")
    monkeypatch.setattr(pydantic_ai.models, "infer_model", lambda *_, **__: model)
    left = page.run("pydantic-ai-harness")
    left["memory"].close()
    assert left["answer"] == "Green tea."
    shown = str(sent[2])
    assert "<memory>" in shown
    assert "- Ann drinks green tea in the morning, never coffee." in shown
