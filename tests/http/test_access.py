from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast
from urllib.parse import urlsplit

import anyio
import httpx2
import pytest
from starlette.routing import BaseRoute, Mount, Route

from memorybook.config.settings import ServerSettings
from memorybook.errors import ConfigError, InvalidInput, NotFound, Unavailable
from memorybook.http import access, uvicorn_server
from memorybook.http.access import PUBLIC, Logins, Tokens, names_of, owner_token
from memorybook.http.page.page_routes import VIEWS
from memorybook.http.rest_api import API
from memorybook.http.server_state import FileState, MemoryState
from serving import OWNER, Served

SECRET = "Her safe is behind the third painting."


@pytest.fixture(scope="module")
def book(one: Served) -> Served:
    one.client.post("/entries", json={"text": SECRET})
    one.client.put("/documents/secret.md", content=SECRET, headers={"If-None-Match": "*"})
    return one


def routes(served: Served) -> Iterator[tuple[str, str]]:
    """Every method and path of the application, parameters filled in."""
    paths = served.client.get("/openapi.json").json()["paths"]
    unseen = {"/mcp", f"{API}/openapi.json"}
    pages = [view.path for view in VIEWS] + ["/act/{name}", "/choose", "/live", "/docs"]
    for route in flat(served.app.routes):
        if route.path in pages:
            continue
        told = route.path.replace(":path}", "}")
        assert told in paths or API + told in paths or told in unseen, f"{told} is not described"
    for path, methods in paths.items():
        for method in methods:
            yield method.upper(), path.replace("{path}", "secret.md").replace("{", "").replace("}", "")
    yield from (("GET", path.replace(":path", "").replace("{", "").replace("}", "")) for path in pages)
    yield from (("POST", "/mcp"), ("GET", f"{API}/openapi.json"), ("GET", "/nowhere"))


def flat(found: Sequence[BaseRoute]) -> Iterator[Route]:
    for route in found:
        if isinstance(route, Route):
            yield route
        elif not isinstance(route, Mount):  # of files that are the same for everybody
            yield from flat(cast("Any", route).original_router.routes)


BEARER = f"Bearer {OWNER}"
WRONG: list[tuple[str, dict[str, str], int]] = [
    ("no token", {}, 401),
    ("another token", {"Authorization": f"Bearer {OWNER}x"}, 401),
    ("no kind of token", {"Authorization": OWNER}, 401),
    ("a token of another kind", {"Authorization": f"Basic {OWNER}"}, 401),
    ("a token that was never given out", {"Authorization": f"Bearer mb_{'0' * 12}_{'x' * 43}"}, 401),
    ("a cookie of nobody", {"Cookie": f"memorybook={OWNER}"}, 401),
    ("another host", {"Authorization": BEARER, "Host": "evil.example"}, 421),
    ("a host with a user", {"Authorization": BEARER, "Host": "127.0.0.1@evil.example"}, 421),
    ("a host within a host", {"Authorization": BEARER, "Host": "127.0.0.1.evil.example"}, 421),
    *(
        (f"a host that only begins like one: {host}", {"Authorization": BEARER, "Host": host}, 421)
        for host in (
            *("[::1].evil.example", "[::1]evil.example", "[::1]:80.evil.example", "x[::1]", "[::1]]", "::1"),
            *("localhost#.evil.example", "localhost?.evil.example", "localhost:80.evil.example", "localhost:", ""),
        )
    ),
    ("another origin", {"Authorization": BEARER, "Origin": "http://evil.example"}, 403),
    ("another port's origin", {"Authorization": BEARER, "Origin": "http://127.0.0.1:1"}, 403),
    ("no origin of a page", {"Authorization": BEARER, "Origin": "null"}, 403),
]


SOMEWHERE = {"/mcp", "/metrics", f"{API}/documents/secret.md", f"{API}/search", *PUBLIC}
"""A place of each kind."""


def test_no_route_tells_anything_to_who_may_not_ask(book: Served) -> None:
    asked = list(routes(book))
    assert len(asked) > 70

    async def everywhere() -> None:
        for what, headers, status in WRONG:
            for method, path in asked:
                if path not in PUBLIC:
                    answer = await asked_itself(book, method, path, headers)
                    refused(book, status, *answer, (what, method, path))

    anyio.run(everywhere)
    with httpx2.Client(base_url=book.url) as client:
        for what, headers, status in WRONG:
            for method, path in asked:
                if path in SOMEWHERE:
                    answer = client.request(method, path, headers=headers, content=b'{"query": "safe"}')
                    told = answer.text + str(dict(answer.headers))
                    status_here = 200 if path in PUBLIC and status == 401 else status
                    refused(book, status_here, answer.status_code, told, (what, method, path))


async def asked_itself(served: Served, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
    """What the application answers without a connection: the status, and all that it says."""
    sent: list[Any] = []
    scope = {"type": "http", "method": method, "path": path, "query_string": b"", "scheme": "http", "state": {}}
    given = {"host": urlsplit(served.url).netloc, **{name.lower(): value for name, value in headers.items()}}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in given.items()]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b'{"query": "safe"}'}

    async def send(message: Any) -> None:
        sent.append(message)

    await served.app(scope, receive, send)
    return sent[0]["status"], str(sent)


def refused(served: Served, status: int, answered: int, told: str, what: object) -> None:
    """Check that an answer is of that status, and tells nothing."""
    assert answered == status, what
    for private in (SECRET, "painting", served.books.root, OWNER):
        assert private not in told, what


def test_what_anybody_may_ask_says_nothing_of_what_is_kept(book: Served) -> None:
    with httpx2.Client(base_url=book.url) as client:
        assert client.get("/livez").json() == {"status": "alive"}
        assert client.get("/healthz").json() == {"status": "ok"}
        assert client.get("/readyz").json() == {"status": "ready"}
        assert client.head("/readyz").status_code == 200


def test_pages_of_the_server_itself_may_ask(book: Served) -> None:
    assert book.client.get("/entries", headers={"Origin": book.url}).status_code == 200
    port = urlsplit(book.url).port
    local = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    assert book.client.get("/entries", headers=local).status_code == 200


def test_a_browser_comes_in_by_a_link_that_is_good_once(book: Served) -> None:
    link = f"{book.url}/?token={book.logins.link()}&page=2"
    with httpx2.Client(base_url=book.url) as browser:
        assert browser.head(link).status_code == 401, "who only looks at a link does not use it"
        came = browser.get(link)
        assert (came.status_code, came.headers["Location"]) == (303, "/?page=2")
        cookie = came.headers["Set-Cookie"]
        assert all(word in cookie.lower() for word in ("httponly", "samesite=strict", "path=/"))
        assert browser.get("/").json()["name"] == "memorybook"
        assert browser.get(f"{API}/entries").status_code == 200
        own = cookie.partition(";")[0]
        with httpx2.Client(base_url=book.url) as shared:
            for sent in (f'a={{"x": 1}}; {own}', f"na@me=[x y]; flag; {own}; b", f"{own.partition('=')[0]}=old; {own}"):
                assert shared.get(f"{API}/entries", headers={"Cookie": sent}).status_code == 200
            for sent in (own.replace("-", ""), f"{own}x", own.partition("=")[0]):
                assert shared.get(f"{API}/entries", headers={"Cookie": sent}).status_code == 401
        assert browser.get(f"{API}/entries", headers={"Origin": "http://evil.example"}).status_code == 403
    with httpx2.Client(base_url=book.url) as late:
        assert late.get(link).status_code == 401
        away = late.get(f"{book.url}//evil.example/?token={book.logins.link()}")
        assert away.headers["Location"].startswith("/evil.example")


def test_links_and_logins_end() -> None:
    now = 1000.0
    logins = Logins(MemoryState(clock=lambda: now))
    link, other = logins.link(), logins.link()
    cookie = logins.redeem(link)
    assert cookie is not None
    assert logins.caller(cookie) == access.OWNER
    now += 1000
    assert logins.redeem(other) is None
    now += 31 * 86400
    assert logins.caller(cookie) is None


@pytest.mark.parametrize(
    "headers",
    [{}, {"authorization": BEARER, "origin": "http://evil.example"}, {"authorization": BEARER, "host": "evil.example"}],
)
def test_a_websocket_is_closed_before_it_is_open(book: Served, headers: dict[str, str]) -> None:
    given = {"host": "127.0.0.1", **headers}
    scope = {"type": "websocket", "path": "/ws", "query_string": b"", "scheme": "ws", "state": {}}
    scope["headers"] = [(name.encode(), value.encode()) for name, value in given.items()]
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: Any) -> None:
        sent.append(message)

    anyio.run(book.app, scope, receive, send)
    assert sent == [{"type": "websocket.close", "code": 1008}]


# --- tokens --------------------------------------------------------------------------------------


def issued(served: Served, tenant: str | None = None, **more: str) -> dict[str, Any]:
    headers = {} if tenant is None else {"X-Memorybook-Tenant": tenant}
    response = served.client.post("/tokens", json=more, headers=headers)
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def test_what_waits_for_a_person_is_not_done_at_an_agents_word(book: Served) -> None:
    made = book.client.post("/entries", json={"text": "The shed is green."}).json()
    assert made["known"]["entry"]["trust"] == "user"
    with book.asking(issued(book, label="bot")["token"]) as agent:
        assert agent.post("/entries", json={"text": "The gate is red."}).json()["known"]["entry"]["trust"] == "agent"
        for path, given in (
            ("/proposals/accept", {"every": True}),
            ("/proposals/reject", {"every": True}),
            ("/purge", {"target": made["known"]["entry"]["id"]}),
            (f"/operations/{made['operation']}/undo", {}),
            ("/tidy", {"apply": ["remove"]}),
        ):
            refused = agent.post(path, json=given)
            assert (refused.status_code, refused.json()["error"]["code"]) == (403, "person_only"), path
        assert agent.post("/purge", json={"target": made["known"]["entry"]["id"], "dry_run": True}).status_code == 200
        for method, path in (("GET", "/tokens"), ("POST", "/tokens"), ("GET", "/tenants"), ("DELETE", "/tokens/x")):
            assert agent.request(method, path).json()["error"]["code"] == "forbidden"
        assert agent.get(f"{book.url}/metrics").status_code == 403
    with book.asking(issued(book, acts_as="user")["token"]) as person:
        assert person.post(f"/operations/{made['operation']}/undo").status_code == 200


def test_a_token_is_good_until_it_is_revoked_and_kept_as_a_digest(book: Served) -> None:
    made = issued(book, label="laptop")
    kept = Path(book.books.root, "tokens.json")
    assert made["token"] not in kept.read_text()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    listed = book.client.get("/tokens").json()["tokens"]
    assert {name: made[name] for name in ("id", "acts_as", "label", "created")} in listed
    with book.asking(made["token"]) as holder:
        assert holder.get("/entries").status_code == 200
        assert book.client.delete(f"/tokens/{made['id']}").status_code == 204
        assert holder.get("/entries").status_code == 401
    assert book.client.delete(f"/tokens/{made['id']}").status_code == 404
    assert book.client.post("/tokens", json={"acts_as": "god"}).status_code == 400
    assert book.client.post("/tokens", json={"label": "a\nb"}).status_code == 400


def test_each_tenant_has_a_book_and_sees_no_other(many: Served) -> None:
    for name in ("amy", "bob"):
        assert many.client.post("/tenants", json={"name": name}).status_code == 201
    assert many.client.post("/tenants", json={"name": "amy"}).status_code == 409
    assert many.client.post("/tenants", json={"name": "../x"}).status_code == 400
    assert {"amy", "bob"} <= {tenant["name"] for tenant in many.client.get("/tenants").json()["tenants"]}
    assert many.client.get("/entries").status_code == 400
    assert many.client.get("/entries", headers={"X-Memorybook-Tenant": "eve"}).status_code == 404
    amy = many.asking(issued(many, "amy")["token"])
    bob = many.asking(issued(many, "bob")["token"])
    with amy, bob:
        assert amy.post("/entries", json={"text": SECRET}).status_code == 200
        assert bob.get("/search?query=safe+painting").json()["hits"] == []
        assert bob.get("/entries", headers={"X-Memorybook-Tenant": "amy"}).status_code == 403
        assert bob.get("/entries", headers={"X-Memorybook-Tenant": "bob"}).status_code == 200
        owned = many.client.get("/entries", headers={"X-Memorybook-Tenant": "amy"})
        assert [known["entry"]["text"] for known in owned.json()["entries"]] == [SECRET]
        assert many.client.delete("/tenants/amy?erase=true").status_code == 204
        assert amy.get("/entries").status_code == 401
    assert not [name for name in os.listdir(many.books.root) if name.startswith("server-amy-")]
    assert many.client.delete("/tenants/amy").status_code == 404
    many.client.post("/tenants", json={"name": "amy"})
    assert many.client.get("/entries", headers={"X-Memorybook-Tenant": "amy"}).json()["entries"] == []


def test_one_book_has_no_tenants(one: Served) -> None:
    assert one.client.post("/tenants", json={"name": "amy"}).status_code == 400
    assert one.client.get("/entries", headers={"X-Memorybook-Tenant": "amy"}).status_code == 400


def test_the_owners_token_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    place = tmp_path / "state" / "token"
    made = owner_token(str(place))
    assert owner_token(str(place)) == made
    assert len(made) >= 40
    assert stat.S_IMODE(place.stat().st_mode) == 0o600
    place.chmod(0o644)
    with pytest.raises(ConfigError, match="others may read"):
        owner_token(str(place))
    place.chmod(0o600)
    place.write_text("short\n")
    with pytest.raises(ConfigError, match="too short"):
        owner_token(str(place))


# --- where it listens ----------------------------------------------------------------------------


def test_another_machine_gets_in_by_tls_or_where_that_is_wanted() -> None:
    for host in ("127.0.0.1", "127.8.8.8", "::1", "[::1]", "localhost"):
        uvicorn_server.check_reach(ServerSettings(host=host), insecure=False)
    for host in ("0.0.0.0", "::", "192.168.1.5", "books.example", ""):
        with pytest.raises(InvalidInput, match="--insecure-no-tls"):
            uvicorn_server.check_reach(ServerSettings(host=host), insecure=False)
        uvicorn_server.check_reach(ServerSettings(host=host), insecure=True)
    with pytest.raises(InvalidInput, match="certificate 'c' with key 'k' cannot be used"):
        uvicorn_server.check_reach(ServerSettings(host="0.0.0.0", tls_cert="c", tls_key="k"), insecure=False)
    with pytest.raises(InvalidInput, match="together"):
        uvicorn_server.check_reach(ServerSettings(tls_cert="c"), insecure=True)
    assert names_of("0.0.0.0", ["Books.Example"]) == {"127.0.0.1", "localhost", "[::1]", "books.example"}
    assert names_of("fd00::1", ["[FD00::2]", "names.example:8080"]) >= {"[fd00::1]", "[fd00::2]", "names.example"}


def test_tokens_that_cannot_be_read_let_nobody_in_but_the_owner(many: Served) -> None:
    many.client.post("/tenants", json={"name": "kim"})
    kept = Path(many.books.root, "tokens.json")
    before = kept.read_bytes()
    with many.asking(issued(many, "kim")["token"]) as kim:
        after = kept.read_bytes()
        assert kim.get("/entries").status_code == 200
        kept.write_bytes(before[:-10])
        broken = kim.get("/entries")
        assert (broken.status_code, broken.json()["error"]["code"]) == (503, "unavailable")
        assert many.books.root not in broken.text
        assert many.client.get(f"{many.url}/").status_code == 200
        kept.write_bytes(after)
        assert kim.get("/entries").status_code == 200


def test_a_book_in_use_is_closed_and_not_removed(many: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybook.http.books._PATIENCE", 0.1)
    many.client.post("/tenants", json={"name": "max"})
    token = issued(many, "max")["token"]
    with many.asking(token) as client:
        assert client.post("/notes", json={"text": SECRET}).status_code == 200
        with many.books.opened("max", person=False) as memory:
            refused = many.client.delete("/tenants/max?erase=true")
            assert (refused.status_code, refused.json()["error"]["code"]) == (503, "unavailable")
            assert memory.search("painting").hits
        assert client.get("/entries").status_code == 401
    assert [name for name in os.listdir(many.books.root) if name.startswith("server-max-")]
    with pytest.raises(NotFound), many.books.opened("max", person=False):
        pass
    assert many.client.delete("/tenants/max").status_code == 404
    assert many.client.delete("/tenants/max?erase=true").status_code == 204
    assert not [name for name in os.listdir(many.books.root) if name.startswith("server-max-")]


# --- Tokens that several servers give out at a time -----------------------------------------------


def test_servers_that_start_together_have_one_owners_token(tmp_path: Path) -> None:
    place = str(tmp_path / "state" / "token")
    with ThreadPoolExecutor(8) as servers:
        assert len(set(servers.map(lambda _: owner_token(place), range(8)))) == 1


@pytest.mark.parametrize(
    "kept", ["[]", "{}", "null", '{"tenants": {}, "tokens": {"0123456789ab": {}}}', '{"tenants": [], "tokens": {}}']
)
def test_a_file_of_something_else_lets_nobody_in_and_is_left_as_it_is(tmp_path: Path, kept: str) -> None:
    place = tmp_path / "tokens.json"
    place.write_text(kept)
    place.chmod(0o600)
    tokens = Tokens(FileState(str(place)), OWNER)
    with pytest.raises(Unavailable):
        tokens.caller("mb_0123456789ab_x")
    with pytest.raises(Unavailable):
        tokens.issue("ann")
    assert place.read_text() == kept


def test_a_file_that_others_may_change_lets_nobody_in(tmp_path: Path) -> None:
    place = tmp_path / "tokens.json"
    tokens = Tokens(FileState(str(place)), OWNER)
    token = tokens.issue("ann")["token"]
    assert tokens.caller(token)
    place.chmod(0o666)
    with pytest.raises(Unavailable, match="chmod 600"):
        tokens.caller(token)
    place.chmod(0o600)
    assert tokens.caller(token)
