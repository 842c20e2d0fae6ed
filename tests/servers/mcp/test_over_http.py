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

from servers.http.conftest import OWNER, Served, serving
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
        async with httpx2.AsyncClient(headers=bearer, timeout=30) as http:
            transport = streamable_http_client(f"{served.url}/mcp", http_client=http)
            async with Client(transport, mode=mode, elicitation_callback=person) as client:
                return [await client.call_tool(name, arguments) for name, arguments in asked]

    return anyio.run(called)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_memory_is_kept_found_changed_and_forgotten(served: Served, mode: str) -> None:
    [kept] = calls(served, mode, ("memory_remember", {"text": f"The {mode} port is 8443 端口"}))
    id = structured(kept)["entry"]["id"]
    other = {"auto": "legacy", "legacy": "auto"}[mode]
    found, opened, changed = calls(
        served,
        other,
        ("memory_search", {"query": f"{mode} port"}),
        ("memory_get", {"target": id}),
        ("memory_update", {"id": id, "text": f"The {mode} port is 9443 端口"}),
    )
    assert structured(found)["results"][0]["id"] == id
    assert structured(opened)["entry"]["text"] == f"The {mode} port is 8443 端口"
    assert not changed.is_error
    person = Person("yes")
    asked, sure = calls(
        served, mode, ("memory_forget", {"target": id}), ("memory_forget", {"target": id, "yes": True}), person=person
    )
    # the older era's question needs a connection that stays; over this one the host is told how to go on without
    assert (mode == "auto") == (not asked.is_error) == bool(person.asked)
    assert mode == "auto" or "yes: true" in text_of(asked)
    assert sure.is_error == (mode == "auto"), "gone already"
