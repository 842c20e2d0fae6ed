"""Nothing of one tenant is seen or changed by another: through every tool, route and view, and by the database."""

from __future__ import annotations

import html
import json
import logging
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import httpx2
import psycopg
import pytest

from memorybook.errors import Unavailable
from memorybook.http.page.page_routes import VIEWS
from memorybook.storage.postgres_connection import Tenant, pool_of, shown
from memorybook.storage.postgres_schema import TABLES
from memorybook.storage.stores import placeless
from serving import TLS, Served, books_at, serving

MANY = 20
ACTING = 2  # of them call everything


class One(NamedTuple):
    """A tenant, the word that only its book has, its token, and ids of what is in its book."""

    name: str
    canary: str
    token: str
    entry: str
    operation: str
    session: str


class World(NamedTuple):
    served: Served
    tenants: list[One]


def told(served: Served, name: str) -> str:
    """Everything of a tenant's book."""
    with served.books.opened(name, person=True) as memory:
        documents = {info.path: memory.book.documents.read(info.path).text for info in memory.book.documents.list()}
        return repr((sorted(documents.items()), memory.book.journal.operations(), memory.sessions()))


@pytest.fixture(scope="module")
def world(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with serving(tmp_path_factory.mktemp("many"), many=True, dsn=dsn) as served:
        tenants = []
        for number in range(MANY):
            name, canary = f"bird-{uuid4().hex[:10]}", f"canary{uuid4().hex[:12]}"
            served.client.post("/tenants", json={"name": name})
            of = {"X-Memorybook-Tenant": name}
            token = served.client.post("/tokens", json={"acts_as": "user"}, headers=of).json()["token"]
            with served.asking(token) as here:
                said = f"The ferry of {canary} leaves at six." if number % 2 else f"渡轮 ferry {canary} 六点开。"
                made = here.post("/entries", json={"text": said, "group": "work", "category": "todo"}).json()
                here.post("/notes", json={"text": f"note about the ferry by {canary}"})
                talk = [{"role": "user", "content": f"I took the ferry with {canary} in May."}]
                here.post("/conversations", json={"messages": talk, "session_id": "talk"})
                here.put("/documents/plan.md", content=f"# Ferry\n\n{canary}\n", headers={"If-None-Match": "*"})
                session = here.get("/sessions").json()["sessions"][0]["uuid"]
                here.get("/search", params={"query": "ferry"})
            tenants.append(One(name, canary, token, made["known"]["entry"]["id"], made["operation"], session))
        yield World(served, tenants)
        for one in tenants:
            served.client.delete(f"/tenants/{one.name}?erase=true")


def arguments(schema: Mapping[str, Any], other: One) -> dict[str, Any]:
    """What a tool or a route takes: words that every book has, and ids of another's."""
    known: dict[str, Any] = {
        **{name: "ferry" for name in ("query", "text", "question", "topic", "instruction", "task", "goal", "result")},
        **{name: other.entry for name in ("id", "target", "entry")},
        **{name: other.session for name in ("session", "session_id", "which", "uuid")},
        "operation": other.operation,
        "path": "plan.md",
        "to": "new.md",
        "messages": [],
        "texts": ["ferry"],
        "source": f"turn:{other.entry}",
        "ids": [other.entry],
        "yes": True,
        "success": True,
    }
    given = {name: known[name] for name in schema.get("properties", {}) if name in known}
    blank = {"string": "ferry", "array": [], "boolean": False, "integer": 1, "number": 1, "object": {}}
    for name in schema.get("required", ()):
        kind = schema["properties"][name].get("type", "string")
        given.setdefault(name, blank[kind if isinstance(kind, str) else kind[0]])
    return given


def everything(served: Served, one: One, other: One) -> Iterator[tuple[str, str]]:
    """Name and answer of every tool, route and view, called by one tenant about what is another's."""
    accept = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {one.token}"}
    with httpx2.Client(base_url=served.url, headers=accept, verify=TLS, timeout=60) as client:

        def call(method: str, **given: Any) -> Any:
            return client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": given})

        tools = call("tools/list").json()["result"]["tools"]
        assert len(tools) > 10
        for tool in tools:
            for given in (arguments(tool["inputSchema"], other), {"query": "ferry"}, {}):
                yield tool["name"], call("tools/call", name=tool["name"], arguments=given).text
        for kind in ("resources/list", "prompts/list"):
            yield kind, call(kind).text

        paths = served.app.openapi()["paths"]
        for place, methods in sorted(paths.items()):
            if "/live" in place or "/tenants" in place:
                continue
            for method, described in methods.items():
                content = described.get("requestBody", {}).get("content", {})
                body = arguments(content.get("application/json", {}).get("schema", {}), other)
                properties = {each["name"]: each["schema"] for each in described.get("parameters", ())}
                query = arguments({"properties": properties}, other)
                path = place
                for name, value in {**query, "id": other.entry, "session": other.session, "name": "x"}.items():
                    path = path.replace(f"{{{name}}}", str(value)).replace(f"{{{name}:path}}", str(value))
                for with_tenant in ({}, {"X-Memorybook-Tenant": other.name}):
                    headers = {"If-Match": "*", **with_tenant}
                    answer = client.request(method, path, params=query, json=body or None, headers=headers)
                    yield f"{method} {path}", answer.text + repr(answer.headers)
        link = client.post("/api/v1/login-links").json()["path"]
        with httpx2.Client(base_url=served.url, verify=TLS, timeout=60, follow_redirects=True) as browser:
            browser.get(link)
            for view in VIEWS:
                path = view.path.replace("{id:path}", other.session).replace("{id}", other.entry)
                chosen = {"Cookie": f"tenant={other.name}"}
                for headers in ({"Accept": "text/html"}, {"Accept": "text/html", **chosen}):
                    query = {"query": "ferry", "q": "ferry", "own": "yes"}
                    yield f"page {path}", browser.get(path, params=query, headers=headers).text


def test_no_canary_flies_to_another_tenant(world: World, caplog: pytest.LogCaptureFixture) -> None:
    served, tenants = world
    caplog.set_level(logging.DEBUG)
    acting, others = tenants[:ACTING], tenants[ACTING:]
    before = {one.name: told(served, one.name) for one in others}
    for number, one in enumerate(acting):
        own, answers = 0, 0
        for name, answer in everything(served, one, others[number]):
            foreign = [each.name for each in tenants if each is not one and each.canary in answer]
            assert not foreign, f"{name} tells {one.name} of {foreign}: {answer[:500]}"
            own, answers = own + (one.canary in answer), answers + 1
        assert own > 10, "what is one's own is told"
        assert answers > 150
    assert {one.name: told(served, one.name) for one in others} == before
    logged = caplog.text
    assert not [one.canary for one in tenants if one.canary in logged]


# --- the database alone ------------------------------------------------------------------------------


@pytest.fixture
def two(dsn: str, tenant: str) -> tuple[Tenant, Tenant]:
    """Two tenants with a row in some tables each."""
    made = Tenant(dsn, tenant, 3), Tenant(dsn, f"{tenant}-2", 3)
    for each in made:
        each.rows("INSERT INTO books DEFAULT VALUES")
        each.rows("INSERT INTO access (entry, count) VALUES ('e', 1)")
    return made


def test_every_table_of_tenants_is_guarded(dsn: str) -> None:
    with psycopg.connect(dsn) as owner:
        rows = owner.execute(
            "SELECT relname, relrowsecurity AND relforcerowsecurity, pg_get_userbyid(relowner), (SELECT"
            " array_agg(polname::text) FROM pg_policy WHERE polrelid=pg_class.oid) FROM pg_class JOIN pg_attribute ON"
            " attrelid=pg_class.oid AND attname='tenant' WHERE relnamespace='memorybook'::regnamespace AND"
            " relkind IN ('r', 'p') AND NOT relispartition"
        ).fetchall()
        parts = owner.execute(
            "SELECT relname FROM pg_class WHERE relnamespace='memorybook'::regnamespace AND relispartition AND"
            " relkind='r' AND has_table_privilege('memorybook', oid, 'SELECT')"
        ).fetchall()
    assert {row[0] for row in rows} >= set(TABLES)
    for table, forced, made_by, policies in rows:
        assert (forced, policies) == (True, ["tenants"]), table
        assert made_by != "memorybook", "who owns a table may switch its guard off"
    assert not parts, "partitions have no guard of their own, and are not to be read but through their table"


def test_a_statement_that_forgets_its_tenant_finds_nothing_and_writes_nothing(
    dsn: str, two: tuple[Tenant, Tenant]
) -> None:
    with pool_of(dsn, 3).connection() as raw:
        for table in TABLES:
            assert raw.execute(f"SELECT count(*) FROM {table}").fetchall() == [(0,)], table
            assert raw.execute(f"DELETE FROM {table}").rowcount == 0
        assert raw.execute("UPDATE access SET count=99").rowcount == 0
        for words in ("(entry, count) VALUES ('f', 1)", "(entry, count, tenant) VALUES ('f', 1, 'somebody')"):
            with pytest.raises(psycopg.Error):
                raw.execute(f"INSERT INTO access {words}")
    one, other = two
    assert one.rows("SELECT tenant FROM access") == [(one.name,)]
    assert one.rows("DELETE FROM access WHERE tenant=$1 RETURNING 1", (other.name,)) == []
    for words in ("INSERT INTO access (entry, count, tenant) VALUES ('f', 1, $1)", "UPDATE access SET tenant=$1"):
        with pytest.raises(Unavailable, match="row-level security"):
            one.rows(words, (other.name,))
    assert other.rows("SELECT count FROM access") == [(1,)]


def test_a_connection_is_never_handed_out_with_anothers_tenant(dsn: str, tenant: str) -> None:
    names = [f"{tenant}-{number}" for number in range(MANY)]
    tenants = [Tenant(dsn, name, 3) for name in names]
    seen, together = set[str](), threading.Barrier(4)

    def work(number: int) -> None:
        one = tenants[number % MANY]
        if number < 4:
            together.wait(10)
        with one.transaction():
            one.rows("INSERT INTO access (entry, count) VALUES ($1, 1)", (f"{one.name}/{number}",))
        with pytest.raises(Unavailable):
            one.rows("SELECT 1/0")
        with pytest.raises(ValueError, match="halfway"), one.transaction():
            raise ValueError("halfway")
        entries = [entry for (entry,) in one.rows("SELECT entry FROM access")]
        assert all(entry.startswith(f"{one.name}/") for entry in entries)
        with pool_of(dsn, 3).connection() as raw:
            [(left,)] = raw.execute("SELECT coalesce(current_setting('memorybook.tenant', true), '')").fetchall()
            seen.add(left)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(3 * MANY)))
    assert seen == {""}
    assert all(len(one.rows("SELECT 1 FROM access")) == 3 for one in tenants)


@pytest.mark.parametrize("right", ["BYPASSRLS", "SUPERUSER"])
def test_who_may_pass_the_guard_is_bound_all_the_same(
    dsn: str, two: tuple[Tenant, Tenant], right: str, tmp_path: Path
) -> None:
    user = f"u{uuid4().hex[:8]}"
    with psycopg.connect(dsn, autocommit=True) as owner:
        owner.execute(f"CREATE ROLE {user} LOGIN {right} PASSWORD 'x' IN ROLE memorybook")
    there = f"{dsn.replace('postgresql://postgres:@', f'postgresql://{user}:x@')}"
    try:
        with psycopg.connect(there) as raw:
            [(count,)] = raw.execute("SELECT count(DISTINCT tenant) FROM memorybook.books").fetchall()
            assert count >= 2, "this user passes the guard"
        one = Tenant(there, two[0].name, 2)
        assert one.rows("SELECT tenant FROM books") == [(one.name,)]
        assert one.rows("SELECT current_user::text, session_user::text") == [("memorybook", user)]
        with pool_of(there, 2).connection() as pooled:
            assert pooled.execute("SELECT count(*) FROM books").fetchall() == [(0,)]
        pool_of(there, 2).close()
    finally:
        with psycopg.connect(dsn, autocommit=True) as owner:
            owner.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename=%s", (user,))
            owner.execute(f"DROP ROLE {user}")


def test_an_error_of_the_database_tells_tenants_nothing_of_where_it_is(tmp_path: Path) -> None:
    dsn = "postgresql://keeper:s3cret@127.0.0.1:9/vault"
    books = books_at(tmp_path, dsn=dsn, many=True)
    with pytest.raises(Unavailable) as failed, books.opened("ann", person=True):
        pass
    books.close()
    hide = placeless(books.config, books.root)
    assert "127.0.0.1" in str(failed.value)
    for text in (json.dumps({"message": str(failed.value)}), html.escape(f"<p>{failed.value}</p>"), f"{dsn}#ann"):
        told = hide(text.replace(dsn, shown(dsn)))
        for secret in ("keeper", "s3cret", "127.0.0.1", "vault"):
            assert secret not in told, told
    assert json.loads(hide(json.dumps({"message": str(failed.value)})))["message"].endswith("does not answer")
