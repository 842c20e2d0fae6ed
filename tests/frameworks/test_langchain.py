"""The tools and the retriever against LangChain: its standard suites, its messages, a chain."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from frameworks import page
from memorybook import tools
from memorybook.errors import InvalidInput
from memorybook.memory import Memory

pytest.importorskip("langchain_tests", reason="the framework is not installed: run tests/frameworks/run")

from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_tests.integration_tests import RetrieversIntegrationTests, ToolsIntegrationTests
from langchain_tests.unit_tests import ToolsUnitTests
from pydantic import Field

from memorybook.frameworks.langchain import BookRetriever, book_tools

for suite in (ToolsIntegrationTests, RetrieversIntegrationTests):
    for _, each in inspect.getmembers(suite, inspect.iscoroutinefunction):
        pytest.mark.asyncio(each)

TEAS = ["green tea", "black tea", "white tea", "绿茶"]


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path_factory.mktemp("book"))) as memory:
        for tea in TEAS:
            memory.remember(f"Ann likes {tea} in the morning.", category="preference")
        yield memory


# --- LangChain's own suites -------------------------------------------------------------------------


class OverTheBook:
    """Gives a standard suite the book."""

    @pytest.fixture(autouse=True)
    def _opened(self, memory: Memory) -> None:
        self.memory = memory


class OfTools(OverTheBook):
    name, example = "memory_search", {"query": "tea", "max_results": 2}

    @property
    def tool_constructor(self) -> BaseTool:
        return book_tools(self.memory, [self.name])[0]

    @property
    def tool_invoke_params_example(self) -> dict[str, Any]:
        return self.example


class TestUnits(OfTools, ToolsUnitTests):
    pass


class TestTools(OfTools, ToolsIntegrationTests):
    pass


class TestAToolWhoseArgumentIsAWordOfPython(OfTools, ToolsIntegrationTests):
    name, example = "memory_get", {"target": "MEMORY.md", "from": 2, "lines": 1}


class TestRetriever(OverTheBook, RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[BookRetriever]:
        return BookRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"memory": self.memory}

    @property
    def retriever_query_example(self) -> str:
        return "Which tea does Ann like?"


# --- what they leave open ---------------------------------------------------------------------------


def test_models_are_told_the_tools_as_every_door_tells_them(memory: Memory) -> None:
    told = [convert_to_openai_tool(tool)["function"] for tool in book_tools(memory)]
    assert told == [tools.schema(name) for name in tools.TOOLS if name != "memory_purge"]


def test_what_a_tool_refuses_is_told_to_the_model(memory: Memory) -> None:
    (tool,) = book_tools(memory, ["memory_get"])
    for arguments, why in (({"target": "nothing.md"}, "nothing.md"), ({"target": 3}, "'target' as a string, not 3")):
        answer = tool.invoke({"type": "tool_call", "id": "1", "name": "memory_get", "args": arguments})
        assert answer.status == "error"
        assert why in answer.content


def test_a_retriever_searches_as_it_is_told(memory: Memory) -> None:
    retriever = BookRetriever(memory=memory, k=2, category="preference")
    assert "绿茶" in retriever.invoke("安喜欢绿茶吗?")[0].page_content
    assert retriever.invoke("tea", category="decision") == []
    with pytest.raises(InvalidInput, match="blank"):
        retriever.invoke(" ")


# --- end to end ----------------------------------------------------------------------------------


class Scripted(GenericFakeChatModel):
    """A model that says what it is given to say, keeps what it was told, and takes tools."""

    told: list[Any] = Field(default_factory=list)

    def _generate(self, messages: Any, *more: Any, **options: Any) -> Any:
        self.told.append(messages)
        return super()._generate(messages, *more, **options)

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self


def test_the_page_is_what_happens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    args = {"text": "The user prefers green tea, never coffee.", "category": "preference"}
    call = {"name": "memory_remember", "args": args, "id": "1"}
    model = Scripted(messages=iter([AIMessage("", tool_calls=[call]), AIMessage("Green tea.")]))
    left = page.run("langchain", model=model)
    left["memory"].close()
    assert left["answer"] == "Green tea."
    first, second = (told[0].content for told in model.told)
    assert "You know:\n\n" in first
    assert "You know:\nThe user prefers green tea, never coffee.\n" in second
