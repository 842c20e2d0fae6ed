from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from serving import TLS, Served


async def called(served: Served, mode: Any, token: str, *calls: tuple[str, dict[str, Any]]) -> list[Any]:
    """What a host of that era is answered, over HTTP with that token."""
    headers = {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, verify=TLS, timeout=30) as http:
        at = streamable_http_client(f"{served.url}/mcp", http_client=http)
        async with Client(at, mode=mode) as client:
            assert "memory_search" in [tool.name for tool in (await client.list_tools()).tools]
            return [(await client.call_tool(name, given)).structured_content for name, given in calls]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_host_is_served_the_book_of_its_token_and_acts_as_an_agent(many: Served, mode: str) -> None:
    ours, other = f"mcp-{mode}", f"other-{mode}"
    for name in (ours, other):
        many.client.post("/tenants", json={"name": name})
    token, others = (many.books.tokens.issue(name, acts_as="user")["token"] for name in (ours, other))
    [made, found] = anyio.run(
        called,
        many,
        mode,
        token,
        ("memory_remember", {"text": "The user likes green tea."}),
        ("memory_search", {"query": "green tea"}),
    )
    assert made["entry"]["trust"] == "agent"
    assert [hit["id"] for hit in found["results"]] == [made["entry"]["id"]]
    assert anyio.run(called, many, mode, others, ("memory_search", {"query": "green tea"}))[0]["results"] == []
    history = many.client.get("/operations", headers={"X-Memorybook-Tenant": ours}).json()
    assert [(each["operation"]["door"], each["operation"]["actor"]) for each in history["operations"]] == [
        ("mcp", "agent")
    ]
    wanted = {"Authorization": f"Bearer {token}", "X-Memorybook-Tenant": other}
    assert httpx2.post(f"{many.url}/mcp", headers=wanted, json={}).status_code == 403
    stream = httpx2.get(f"{many.url}/mcp", headers=wanted | {"Accept": "text/event-stream"})
    assert (stream.status_code, stream.headers["Allow"]) == (405, "POST")
