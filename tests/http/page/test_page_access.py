from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx2
import pytest

from serving import TLS, Served

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
