"""Servers of the same database: processes of their own that know each other's tenants, tokens and writes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

from agent.tenants import sees_each_book_with_its_own_embedder
from memorybook.agent import Workspace
from memorybook.config.settings import Config, StorageSettings
from memorybook.http.rest_api import API
from memorybook.memory import Memory
from memorybook.results import to_json
from serving import TLS, books_at

OWNER = "the-owner-of-all-of-it"


class Process(NamedTuple):
    url: str
    login: str
    root: str
    program: subprocess.Popen[str]

    def client(self, token: str = OWNER, tenant: str = "") -> httpx2.Client:
        headers = {"Authorization": f"Bearer {token}"} | ({"X-Memorybook-Tenant": tenant} if tenant else {})
        return httpx2.Client(base_url=self.url + API, headers=headers, verify=TLS, timeout=30)


def started(dsn: str, home: Path, *more: str) -> Process:
    """A server process."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("MEMORYBOOK_")}
    env |= {"HOME": str(home), "MEMORYBOOK_TOKEN": OWNER, "XDG_CACHE_HOME": str(home), "XDG_STATE_HOME": str(home)}
    home.mkdir(exist_ok=True)
    words = ["serve", "--dsn", dsn, "--port", "0", "--json", "--set", "backend=sqlite_fts", *more]
    program = subprocess.Popen(
        [sys.executable, "-m", "memorybook", *words], cwd=home, env=env, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    told = json.loads(program.stdout.readline())
    return Process(told["url"], told["login"], told["root"], program)


@pytest.fixture(scope="module")
def servers(dsn: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Process]]:
    homes = [tmp_path_factory.mktemp(name) for name in ("one", "other")]
    one, other = (started(dsn, home, "--tenants") for home in homes)
    yield one, other
    for each in (one, other):
        each.program.terminate()
        assert each.program.wait(30) == 0
        assert each.program.stdout is not None
        each.program.stdout.close()
    left = [path.name for home in homes for path in home.rglob("*") if path.suffix in (".md", ".sqlite", ".json")]
    assert not left, "a server of a database keeps nothing on its machine"


def made(served: Process, name: str, acts_as: str = "user") -> str:
    """The token of a new tenant."""
    with served.client() as owner:
        assert owner.post("/tenants", json={"name": name}).status_code == 201
        issued = owner.post("/tokens", json={"acts_as": acts_as}, headers={"X-Memorybook-Tenant": name})
    token: str = issued.json()["token"]
    return token


def test_what_is_done_at_one_server_is_known_to_the_other(servers: tuple[Process, Process], tenant: str) -> None:
    one, other = servers
    token = made(one, tenant)
    with one.client(token) as here, other.client(token) as there, other.client() as owner:
        assert here.post("/entries", json={"text": "The ferry leaves at six."}).status_code == 200
        [hit] = there.get("/search", params={"query": "ferry"}).json()["hits"]
        assert "ferry" in hit["snippet"]
        there.post("/entries", json={"text": "渡轮六点开。"})
        assert len(here.get("/entries").json()["entries"]) == 2
        [known] = owner.get("/tokens", headers={"X-Memorybook-Tenant": tenant}).json()["tokens"]
        owner.delete(f"/tokens/{known['id']}", headers={"X-Memorybook-Tenant": tenant})
        assert here.get("/entries").status_code == 401
        assert owner.delete(f"/tenants/{tenant}", params={"erase": True}).status_code == 204
    with one.client(tenant=tenant) as owner:
        assert owner.get("/entries").status_code == 404
        owner.post("/tenants", json={"name": tenant})
        assert owner.get("/entries").json()["entries"] == []


def test_a_login_is_one_for_all_servers_and_its_page_sees_what_is_written_elsewhere(
    servers: tuple[Process, Process], tenant: str
) -> None:
    one, other = servers
    token = made(one, tenant)
    with one.client(token) as here:
        link = here.post("/login-links").json()["path"]
    host = {"Host": "127.0.0.1:80"}  # as browsers call a balancer
    with httpx2.Client(verify=TLS, timeout=30, headers=host) as browser:
        came = browser.get(one.url + link)
        cookie = {"Cookie": came.headers["set-cookie"].partition(";")[0]}
        assert browser.get(f"{other.url}/memories", headers=cookie).status_code == 200
        assert httpx2.get(other.url + link, verify=TLS).status_code == 401
        with browser.stream("GET", f"{other.url}/live", headers=cookie) as stream, one.client(token) as here:
            lines = (line for line in stream.iter_lines() if line.startswith("data:"))
            first = next(lines)
            here.post("/entries", json={"text": "The bike is red."})
            before = time.monotonic()
            assert next(lines) != first
            assert time.monotonic() - before < 10


def test_a_tenants_answers_name_neither_machine_nor_database(
    servers: tuple[Process, Process], dsn: str, tenant: str
) -> None:
    token = made(servers[0], tenant, "agent")
    with servers[0].client(token) as here:
        answers: list[Any] = [here.get("/status"), here.post("/init"), here.get("/entries/none"), here.post("/sync")]
    for answer in answers:
        for secret in (os.getcwd(), str(Path.home()), "postgresql:", dsn, "host=", "pg-", "mb-pg"):
            assert secret not in answer.text
    assert answers[0].json()["root"] == tenant


def test_a_rate_holds_over_all_servers(dsn: str, tenant: str, tmp_path: Path) -> None:
    words = ("--tenants", "--set", "server.rate=1", "--set", "workspace_dir=/nowhere")
    one, other = (started(dsn, tmp_path / name, *words) for name in "ab")
    try:
        token = made(one, tenant)
        with one.client(token) as here, other.client(token) as there:
            codes = [client.get("/status").status_code for _ in range(4) for client in (here, there)]
        assert 200 in codes
        assert codes.count(429) >= 4
    finally:
        for each in (one, other):
            each.program.terminate()
            each.program.wait(30)
            assert each.program.stdout is not None
            each.program.stdout.close()


def test_one_book_of_a_database_is_served_by_its_name(dsn: str, tenant: str, tmp_path: Path) -> None:
    served = started(dsn, tmp_path / "home", "--book", tenant)
    try:
        assert served.root.endswith(f"#{tenant}")
        with served.client() as owner:
            owner.post("/entries", json={"text": "The ferry leaves at six."})
            assert owner.post("/tokens", json={}).status_code == 201
        import memorybook

        config = Config(timezone="UTC", backend="sqlite_fts", storage=StorageSettings(dsn=dsn))
        with closing(memorybook.open(tenant, config=config)) as memory:
            assert memory.entries().total == 1
    finally:
        served.program.terminate()
        served.program.wait(30)
        assert served.program.stdout is not None
        served.program.stdout.close()


def test_each_book_of_a_database_takes_the_embedder_that_reads_it(dsn: str, tenant: str) -> None:
    config = Config(timezone="UTC", storage=StorageSettings(dsn=dsn))
    workspace = Workspace(tenant, config=config)
    workspace.session("chat", "ann")
    sees_each_book_with_its_own_embedder(workspace)


def test_what_one_server_left_open_is_closed_by_one_of_the_others(
    dsn: str, tenant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    began, *others = (books_at(tmp_path, many=True, dsn=dsn) for _ in range(4))
    config = began.config._replace(idle_timeout=0.2)
    for books in (began, *others):
        books.config = books._workspace._config = config
    began.tokens.add_tenant(tenant)
    with began.opened(tenant, person=True) as memory:
        memory.open_session("talk")
        memory.add_messages("talk", [{"role": "user", "content": "I moved to Oslo in May."}])
    began.heard(tenant)
    began.close()
    looked, close_idle = list[str](), Memory.close_idle

    def counted(memory: Memory, *, limit: int | None = None) -> Any:
        looked.append(memory.root)
        return close_idle(memory, limit=limit)

    monkeypatch.setattr(Memory, "close_idle", counted)
    time.sleep(1.5)  # times of sessions are whole seconds
    with ThreadPoolExecutor(3) as servers:
        list(servers.map(lambda books: books.tick(), others))
    assert looked.count(tenant) == 1
    with others[0].opened(tenant, person=True) as memory:
        assert [session["open"] for session in to_json(memory.sessions())["sessions"]] == [False]
    for books in others:
        books.close()
