"""The tools of MCP over streamable HTTP, in both eras, for the one who holds the token."""

from __future__ import annotations

from typing import Any

import anyio
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult

from mcp import Client
from mcp_hosts import Person, structured, text_of
from serving import OWNER, TLS, Served


def calls(
    served: Served, mode: Any, token: str, *asked: tuple[str, dict[str, Any]], person: Person | None = None
) -> list[CallToolResult]:
    """What a host of that era is answered with that token."""

    async def called() -> list[CallToolResult]:
        bearer = {"Authorization": f"Bearer {token}"}
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
    one: Served, kept_in: str, driven_in: str, text: str, query: str
) -> None:
    [kept] = calls(one, kept_in, OWNER, ("memory_remember", {"text": text}))
    id = structured(kept)["entry"]["id"]
    person = Person("yes")
    found, opened, changed, forgotten, agreed = calls(
        one, driven_in, OWNER, ("memory_search", {"query": query}), ("memory_get", {"target": id}),
        ("memory_update", {"id": id, "text": f"{text}!"}), ("memory_forget", {"target": id}),
        ("memory_forget", {"target": id, "yes": True}), person=person,
    )  # fmt: skip
    assert structured(found)["results"][0]["id"] == id
    assert structured(opened)["entry"]["text"] == text
    assert structured(changed)["entry"]["text"] == f"{text}!"
    if driven_in == "legacy":  # that era's question needs a connection that stays
        assert "this host cannot ask" in text_of(forgotten)
        assert f"    {text}!\n" in text_of(forgotten)
        forgotten = agreed
    assert structured(forgotten)["receipt"]["entries"] == [id]
    assert len(person.asked) == (driven_in == "auto")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_host_is_served_the_book_of_its_token_and_acts_as_an_agent(many: Served, mode: str) -> None:
    ours, other = f"mcp-{mode}", f"other-{mode}"
    for name in (ours, other):
        many.client.post("/tenants", json={"name": name})
    token, others = (many.books.tokens.issue(name, acts_as="user")["token"] for name in (ours, other))
    search = ("memory_search", {"query": "green tea"})
    made, found = calls(many, mode, token, ("memory_remember", {"text": "The user likes green tea."}), search)
    entry = structured(made)["entry"]
    assert entry["trust"] == "agent"
    assert [hit["id"] for hit in structured(found)["results"]] == [entry["id"]]
    [none] = calls(many, mode, others, search)
    assert structured(none)["results"] == []
    history = many.client.get("/operations", headers={"X-Memorybook-Tenant": ours}).json()
    assert [(each["operation"]["door"], each["operation"]["actor"]) for each in history["operations"]] == [
        ("mcp", "agent")
    ]
    wanted = {"Authorization": f"Bearer {token}", "X-Memorybook-Tenant": other}
    assert httpx2.post(f"{many.url}/mcp", headers=wanted, json={}).status_code == 403
    stream = httpx2.get(f"{many.url}/mcp", headers=wanted | {"Accept": "text/event-stream"})
    assert (stream.status_code, stream.headers["Allow"]) == (405, "POST")
