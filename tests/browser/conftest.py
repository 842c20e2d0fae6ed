"""Books of several sizes, served, and a Chromium that looks at them; where there is none these tests skip."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    Response,
    sync_playwright,
)

import memorybook
from benchmarks.page import large
from memorybook.config.settings import Config
from serving import Served, serving

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
NOW = datetime.now(UTC).replace(microsecond=0)

TALKS = {
    "flat": (
        "Remember that the staging database listens on port 6543.",
        "I prefer terse answers with examples.",
        "We decided to use PostgreSQL for invoices, because refunds need transactions.",
        "记住：部署窗口是每周四下午三点。",
        "我对花生过敏，以后推荐餐馆要注意。",
    ),
    "change": (
        "Correction: remember that the staging database now listens on port 7654, not 6543.",
        "我不再喝咖啡了，改喝绿茶。",
    ),
}
"""What a user says, by conversation: English and Chinese, with something that changes."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what is here, and skip it where there is no browser."""
    for item in items:
        if "browser" in Path(item.path).parts:
            item.add_marker("browser")
            if CHROMIUM is None:
                item.add_marker(pytest.mark.skip(reason="no Chromium on this machine: apt-get install chromium"))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


def said(root: Path, name: str, messages: list[dict[str, Any]], *, days: int = 0) -> None:
    """Take a conversation into the book, some days ago."""
    when = NOW - timedelta(days=days)
    dated = [
        {"timestamp": (when + timedelta(minutes=place)).isoformat(), **message}
        for place, message in enumerate(messages)
    ]
    with memorybook.open(root, config=Config(backend="sqlite_fts"), door="cli", missing_ok=True) as memory:
        memory.process_session_end(dated, name)


def small(root: Path) -> Path:
    """A book of a week: two conversations, a pinned entry, one taken back, a proposal."""
    for (name, lines), days in zip(TALKS.items(), (6, 1), strict=True):
        said(root, name, [{"role": "user", "content": line} for line in lines], days=days)
    with memorybook.open(root, config=Config(backend="sqlite_fts"), door="cli") as memory:
        entries = memory.entries(state="active").entries
        memory.pin(entries[0].entry.id)
        memory.remember("Call the plumber about the tap", category="todo", tags=["home"], group="home/kitchen")
        memory.append("Three flats looked at; the one on Cadiz Street has the best light.")
        memory.recall("which port?")
        agent = memory.seen_by(door="python", actor="agent")  # whose edits of a person's words wait for them
        for known, text in zip(
            entries[1:4], ("Answers may be long.", "The invoices live in MongoDB.", "改到周五。"), strict=True
        ):
            agent.update(known.entry.id, text=text)
    return root


@pytest.fixture(scope="session")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(small(tmp_path_factory.mktemp("small") / "book")) as served:
        yield served


@pytest.fixture(scope="session")
def years(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(large(tmp_path_factory.mktemp("large") / "book")) as served:
        yield served


@pytest.fixture(scope="session")
def nothing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("empty") / "book") as served:
        yield served


@contextmanager
def opened(
    browser: Browser, served: Served, *, lang: str = "en", theme: str = "auto", own: bool = True, **more: Any
) -> Iterator[BrowserContext]:
    """A context that came by a one-time link; `own` sees one's own book even if it is empty."""
    context = browser.new_context(reduced_motion="reduce", **more)
    page = context.new_page()
    page.goto(f"{served.url}/?token={served.logins.link()}")
    page.close()
    chosen = {"lang": lang, "theme": theme, **({"own": "yes"} if own else {})}
    context.add_cookies([{"name": name, "value": value, "url": served.url} for name, value in chosen.items()])
    yield context
    context.close()


class Seen(NamedTuple):
    """A page that was visited: its status, the bytes it loaded, and what went wrong."""

    page: Page
    status: int
    bytes: int
    wrong: list[str]


def visit(context: BrowserContext, served: Served, place: str) -> Seen:
    """Open a place in a page of its own.

    Wrong are errors of scripts, refusals by the policy, dialogs, and requests to anywhere else.
    """
    page, wrong, loaded = context.new_page(), list[str](), list[int]()

    def size(got: Response) -> None:
        if got.status == 200 and not got.url.endswith("/live"):
            loaded.append(len(got.body()))

    def told(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            wrong.append(message.text)

    def asked(question: Dialog) -> None:
        wrong.append(f"dialog {question.message}")
        question.dismiss()

    def requested(request: Request) -> None:
        if not request.url.startswith(served.url):
            wrong.append(f"asked {request.url}")

    page.on("console", told)
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("dialog", asked)
    page.on("request", requested)
    page.on("response", size)
    answered = page.goto(served.url + place, wait_until="load")
    return Seen(page, answered.status if answered is not None else 0, sum(loaded), wrong)
