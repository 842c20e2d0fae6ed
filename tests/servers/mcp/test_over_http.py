"""The same tools over streamable HTTP, in both eras, for the one who holds the token."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from servers.http.conftest import OWNER, TLS, Served, serving
from servers.mcp.conftest import Person, structured, text_of


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


def test_a_memory_is_kept_in_one_era_and_found_changed_and_forgotten_in_the_other(served: Served) -> None:
    texts = [{"text": "The staging port is 8443 端口"}, {"text": "The tea is green"}]
    kept = calls(served, "auto", *(("memory_remember", text) for text in texts))
    port, tea = (structured(result)["entry"]["id"] for result in kept)
    found, opened, changed, asked, agreed = calls(
        served,
        "legacy",
        ("memory_search", {"query": "staging port"}),
        ("memory_get", {"target": port}),
        ("memory_update", {"id": port, "text": "The staging port is 9443 端口"}),
        ("memory_forget", {"target": port}),
        ("memory_forget", {"target": port, "yes": True}),
        person=Person("yes"),
    )
    assert structured(found)["results"][0]["id"] == port
    assert structured(opened)["entry"]["text"] == texts[0]["text"]
    assert structured(changed)["entry"]["text"] == "The staging port is 9443 端口"
    assert "this host cannot ask" in text_of(asked), "that era's question needs a connection that stays"
    assert structured(agreed)["receipt"]["entries"] == [port]
    person = Person("yes")
    [forgotten] = calls(served, "auto", ("memory_forget", {"target": tea}), person=person)
    assert structured(forgotten)["receipt"]["entries"] == [tea]
    assert len(person.asked) == 1
