"""The same tools over streamable HTTP, in both eras, for the one who holds the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from mcp import Client
from mcp_hosts import Person, structured, text_of
from serving import OWNER, TLS, Served, serving


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served") / "book") as running:
        yield running


def calls(
    served: Served, mode: str, *asked: tuple[str, dict[str, Any]], person: Person | None = None
) -> list[CallToolResult]:
    async def called() -> list[CallToolResult]:
        bearer = {"Authorization": f"Bearer {OWNER}"}
        async with httpx2.AsyncClient(headers=bearer, verify=TLS, timeout=30) as http:
            transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                return [await client.call_tool(name, arguments) for name, arguments in asked]

    return anyio.run(called)


@pytest.mark.parametrize(
    ("kept_in", "driven_in", "text", "query"),
    [("auto", "legacy", "The staging port is 8443", "staging port"), ("legacy", "auto", "我对花生过敏", "过敏")],
)
def test_a_memory_is_kept_in_one_era_and_found_changed_and_forgotten_in_the_other(
    served: Served, kept_in: str, driven_in: str, text: str, query: str
) -> None:
    [kept] = calls(served, kept_in, ("memory_remember", {"text": text}))
    id = structured(kept)["entry"]["id"]
    person = Person("yes")
    found, opened, changed, forgotten, agreed = calls(
        served,
        driven_in,
        ("memory_search", {"query": query}),
        ("memory_get", {"target": id}),
        ("memory_update", {"id": id, "text": f"{text}!"}),
        ("memory_forget", {"target": id}),
        ("memory_forget", {"target": id, "yes": True}),
        person=person,
    )
    assert structured(found)["results"][0]["id"] == id
    assert structured(opened)["entry"]["text"] == text
    assert structured(changed)["entry"]["text"] == f"{text}!"
    if driven_in == "legacy":  # that era's question needs a connection that stays
        assert "this host cannot ask" in text_of(forgotten)
        assert f"    {text}!\n" in text_of(forgotten)
        forgotten = agreed
    assert structured(forgotten)["receipt"]["entries"] == [id]
    assert len(person.asked) == (driven_in == "auto")
