from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memorybook.http.page import page_routes
from serving import TLS, Served, serving

HTML = {"Accept": "text/html"}


@contextmanager
def browser_of(served: Served, token: str | None = None) -> Iterator[httpx2.Client]:
    """A browser that came by a link: the owner's, or that of a token."""
    path = f"/?token={served.logins.link()}"
    if token is not None:
        with served.asking(token) as client:
            path = client.post("/login-links").json()["path"]
    with httpx2.Client(base_url=served.url, headers=HTML, verify=TLS, follow_redirects=True, timeout=30) as browser:
        assert browser.get(path).status_code == 200
        yield browser


def tenant(served: Served, name: str, acts_as: str = "user") -> dict[str, Any]:
    served.client.post("/tenants", json={"name": name})
    headers = {"X-Memorybook-Tenant": name}
    issued: dict[str, Any] = served.client.post("/tokens", json={"acts_as": acts_as}, headers=headers).json()
    return issued


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_a_stranger_is_told_how_to_come_in(one: Served, lang: str) -> None:
    with httpx2.Client(base_url=one.url, headers={**HTML, "Accept-Language": lang}, verify=TLS) as stranger:
        shown = stranger.get("/memories")
        assert (shown.status_code, stranger.get("/static/page.css").status_code) == (401, 200)
        assert "memorybook ui" in shown.text
        assert ("Please log in" if lang == "en" else "请登录") in shown.text
        assert (
            stranger.get("/memories", headers={"Accept": "application/json"}).json()["error"]["code"] == "unauthorized"
        )


def test_a_used_link_leads_a_browser_that_is_logged_in_to_the_page(one: Served) -> None:
    link = f"/memories?token={one.logins.link()}&q=tea"
    with browser_of(one) as browser, browser_of(one) as other:
        assert other.get(link).status_code == 200
        shown = browser.get(link)
        assert (shown.status_code, str(shown.url)) == (200, f"{one.url}/memories?q=tea")
    with httpx2.Client(base_url=one.url, headers=HTML, verify=TLS) as stranger:
        assert stranger.get(link).status_code == 401
        assert stranger.get(link, headers={"Cookie": f"memorybook-{one.url.rpartition(':')[2]}=x"}).status_code == 401


def test_a_person_sees_their_own_book_and_no_place_of_the_machine(many: Served) -> None:
    secrets = {name: tenant(many, name)["token"] for name in ("ada", "bo")}
    for name, token in secrets.items():
        with many.asking(token) as client:
            client.post("/entries", json={"text": f"The key of {name} hangs in the shed."})
    with browser_of(many, secrets["ada"]) as ada:
        shown = ada.get("/memories").text
        assert "The key of ada" in shown
        assert "The key of bo" not in shown
        ada.cookies.set("tenant", "bo")
        assert "The key of bo" not in ada.get("/memories").text
        assert many.books.root not in ada.get("/health").text
        made = ada.post("/act/remember", data={"text": "The key of ada moved."}, headers={"Origin": many.url})
        assert made.status_code == 200
        assert "The key of ada moved." in ada.get("/memories").text
    with browser_of(many) as owner:
        assert "The key of ada" in owner.get("/choose?tenant=ada&back=/memories").text
        assert "The key of bo" in owner.get("/choose?tenant=bo&back=/memories").text


def test_who_is_no_person_changes_nothing_and_a_revoked_token_lets_nobody_in(many: Served) -> None:
    made = tenant(many, "cy", acts_as="agent")
    with browser_of(many, made["token"]) as agent:
        refused = agent.post("/act/remember", data={"text": "I rule"}, headers={"Origin": many.url})
        assert refused.status_code == 403
        assert "I rule" not in agent.get("/memories").text
        many.client.delete(f"/tokens/{made['id']}", headers={"X-Memorybook-Tenant": "cy"})
        assert agent.get("/memories").status_code == 401


def test_a_form_from_elsewhere_is_refused(one: Served) -> None:
    with browser_of(one) as browser:
        for headers in ({"Origin": "http://evil.example"}, {"Origin": "null"}):
            assert browser.post("/act/remember", data={"text": "x"}, headers=headers).status_code == 403
        assert browser.post("/act/nothing", data={}, headers={"Origin": one.url}).status_code == 404
        back = browser.post(
            "/act/remember", data={"text": "Ada rows.", "back": "//evil.example"}, headers={"Origin": one.url}
        )
        assert str(back.url).startswith(one.url)


def test_every_page_forbids_scripts_of_others(one: Served) -> None:
    with browser_of(one) as browser:
        for path in ("/", "/memories", "/nowhere"):
            policy = browser.get(path).headers["content-security-policy"]
            assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
            assert "unsafe" not in policy
        assert browser.get("/static/..%2Fpage_routes.py").status_code == 404


# --- the stream of changes -------------------------------------------------------------------------


def test_a_revoked_token_hears_of_no_more_changes(many: Served) -> None:
    made = tenant(many, "di")
    with browser_of(many, made["token"]) as browser, browser.stream("GET", "/live") as live:
        lines = live.iter_lines()
        assert next(lines) == "event: stamp"
        many.client.delete(f"/tokens/{made['id']}", headers={"X-Memorybook-Tenant": "di"})
        assert len(list(lines)) < 8, "it ends"
        assert browser.get("/live").status_code == 401


def test_a_stream_tells_a_stamp_that_changes_with_the_book(one: Served) -> None:
    with browser_of(one) as browser, browser.stream("GET", "/live") as live:
        stamps = (line for line in live.iter_lines() if line.startswith("data: "))
        first = next(stamps)
        one.client.post("/entries", json={"text": "The stamp of the book is new."})
        assert next(stamps) != first


def test_streams_take_no_place_of_requests_and_have_a_bound_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_routes, "_LIVE_EVERY", 600)
    with serving(tmp_path / "book", max_requests=2) as served, browser_of(served) as browser, ExitStack() as streams:
        lives = [streams.enter_context(browser.stream("GET", "/live")).iter_lines() for _ in range(2)]
        assert [next(lines) for lines in lives] == ["event: stamp"] * 2
        assert browser.get("/live").status_code == 503
        assert served.client.post("/entries", json={"text": "Ada rows."}).is_success
        assert browser.get("/memories").status_code == 200


def test_the_head_of_a_stream_is_answered_at_once(one: Served) -> None:
    with browser_of(one) as browser:
        for path in ("/live", "/memories"):
            answer = browser.head(path)
            assert (answer.status_code, answer.content) == (200, b""), path


def test_a_server_that_is_told_to_stop_waits_for_no_stream(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page_routes, "_LIVE_EVERY", 600)
    with ExitStack() as streams:
        with serving(tmp_path / "book") as served:
            browser = streams.enter_context(browser_of(served))
            lines = streams.enter_context(browser.stream("GET", "/live")).iter_lines()
            assert next(lines) == "event: stamp"
        assert len(list(lines)) < 8, "it ended with the server, as it should"


# --- odd requests ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memories?page=" + "9" * 5000, 200), ("/river?at=9999-12-31", 200), ("/search?q=a&category=nonsense", 400),
        ("/search?q=a&since=nonsense", 400), ("/history?since=2026-02-02&until=2026-01-01", 400), ("/nowhere", 404),
        ("/act/remember", 405), ("/choose?tenant=中", 200),
    ],
)  # fmt: skip
def test_odd_addresses_are_answered_with_a_page_in_the_language_of_the_reader(
    one: Served, path: str, status: int
) -> None:
    with browser_of(one) as browser:
        browser.cookies.set("lang", "zh")
        shown = browser.get(path)
        assert (shown.status_code, shown.headers["content-type"]) == (status, "text/html; charset=utf-8")
        told = shown.text.partition('role="alert">')[2].partition("<")[0]
        assert (status == 200) is not bool(told)
        assert not re.search("[a-z] (is|not|no) ", told)


def test_what_is_no_utf8_is_shown_all_the_same(tmp_path: Path) -> None:
    with serving(tmp_path / "book") as served, browser_of(served) as browser:
        given = {"text": "Cafe Leith", "group": "home", "tags": ["tea"]}
        id = served.client.post("/entries", json=given).json()["known"]["entry"]["id"]
        page = tmp_path / "book" / "MEMORY.md"
        text = page.read_bytes().replace(b"Cafe", b"Caf\xe9")
        page.write_bytes(text.replace(b"group: home", b"group: h\xe9").replace(b"tags: tea", b"tags: t\xe9"))
        said = json.dumps({"messages": [{"role": "user", "content": "Th\udce9 vert?"}]})
        assert served.client.post("/sessions", json={"name": "talk"}).status_code < 300
        assert served.client.post("/sessions/talk/messages", content=said).status_code < 300
        for path in (
            "/",
            "/?q=Leith",
            "/search?q=Leith",
            "/memories",
            f"/memories/{id}",
            "/worth",
            "/river",
            "/fading",
        ):
            assert browser.get(path).status_code == 200, path
        for path in ("/history", "/forget?by=query&what=Leith", "/conversations", "/conversations/talk"):
            assert browser.get(path).status_code == 200, path


def test_forms_with_missing_fields_change_nothing_else(tmp_path: Path) -> None:
    with serving(tmp_path / "book") as served, browser_of(served) as browser:
        entry = served.client.post("/entries", json={"text": "Ada rows.", "tags": ["sport"]}).json()["known"]["entry"]
        own = {"Origin": served.url}
        for verb in ("remember", "update", "pin", "forget", "undo", "mend"):
            shown = browser.post(f"/act/{verb}", data={}, headers=own)
            assert (shown.status_code // 100, "html" in shown.headers["content-type"]) == (4, True), verb
            assert "/choose?lang=zh&amp;back=/" in shown.text, "a form has no page to lead back to"
            assert f"back=/act/{verb}" not in shown.text
        browser.post("/act/update", data={"id": entry["id"], "text": "Ada sails."}, headers=own)
        now = served.client.get(f"/entries/{entry['id']}/why").json()["known"]["entry"]
        assert (now["text"], now["tags"]) == ("Ada sails.", ["sport"])


def test_the_last_entry_leaves_a_receipt_and_a_page_when_it_is_purged(tmp_path: Path) -> None:
    with serving(tmp_path / "book") as served, browser_of(served) as browser:
        id = served.client.post("/entries", json={"text": "Ada has a dog."}).json()["known"]["entry"]["id"]
        done = browser.post("/act/forget", data={"target": id, "how": "purge"}, headers={"Origin": served.url})
        assert "demo book" not in done.text
        assert '<section class="card receipt">' in done.text
        assert id in browser.get("/history").text
        shown = browser.get(f"/memories/{id}")
        assert shown.status_code == 200
        assert "dog" not in shown.text


def test_a_search_unfolds_its_settings_if_there_are_some_and_draws_no_empty_score(tmp_path: Path) -> None:
    with serving(tmp_path / "book") as served, browser_of(served) as browser:
        for number, said in enumerate(("listens on port 6543", "now listens on port 7654, not 6543")):
            message = {"role": "user", "content": f"Correction: remember that the staging database {said}."}
            answer = served.client.post("/conversations", json={"messages": [message], "session_id": f"talk {number}"})
            assert answer.is_success, answer.text
        blank = "&max_results=12&min_score=&category=&since=&until=&b_max_results=12"
        page = browser.get(f"/search?q=port+6543{blank}").text
        assert re.search(r"<details>\s*<summary>Settings", page)
        assert 'class="chip">replaced' in page
        scores = re.findall('<svg class="scores" viewBox.*?</svg>', page)
        assert scores
        assert all(score.count("<rect") > 1 for score in scores)
        assert re.search(r"<details open>\s*<summary>Settings", browser.get("/search?q=port&category=fact").text)


@pytest.mark.parametrize(("path", "said"), [("/memories", "This book is empty"), ("/history", "Nothing happened yet")])
def test_an_empty_book_is_not_called_a_search_without_hits(tmp_path: Path, path: str, said: str) -> None:
    with serving(tmp_path / "book") as served, browser_of(served) as browser:
        browser.cookies.set("own", "yes")
        assert said in browser.get(path).text


@pytest.mark.parametrize("importance", ["high", ""])
def test_a_conflict_keeps_all_that_was_to_be_written(one: Served, importance: str) -> None:
    entry = one.client.post("/entries", json={"text": f"The shed is {importance or 'still'} green."}).json()["known"][
        "entry"
    ]
    fields = {"id": entry["id"], "revision": "another", "text": "The shed is blue.", "importance": importance}
    with browser_of(one) as browser:
        shown = browser.post("/act/update", data=fields, headers={"Origin": one.url})
        assert shown.status_code == 409
        assert ('name="importance" value="high"' in shown.text) is bool(importance)
        assert 'name="importance" value=""' not in shown.text


@pytest.mark.parametrize(("lang", "title"), [("en", "The HTTP API"), ("zh", "HTTP 接口")])
def test_the_api_is_described_on_a_page_of_the_server_alone(one: Served, lang: str, title: str) -> None:
    with browser_of(one) as browser:
        shown = browser.get("/docs", headers={"Accept-Language": lang})
        described = browser.get("/api/v1/openapi.json").json()
    assert shown.status_code == 200
    assert title in shown.text
    for path, methods in described["paths"].items():
        for method in methods:
            assert f"{method.upper()} {path}<" in shown.text
    assert all(f'id="{name}"' in shown.text for name in described["components"]["schemas"])
    assert shown.headers["content-security-policy"].startswith(
        "default-src 'none'; script-src 'self'; style-src 'self'"
    )
    assert not re.search(r"<style|\sstyle=|<script>|\son\w+=|(?:src|href)=\"(?:https?:)?//", shown.text)


def test_the_description_of_the_api_asks_for_a_login(one: Served) -> None:
    with httpx2.Client(base_url=one.url, headers=HTML, verify=TLS) as stranger:
        assert stranger.get("/docs").status_code == 401
