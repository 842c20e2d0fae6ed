"""The river of time, the history, what fades next, and what earns its place: as pure functions and served."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx2
import pytest
from markupsafe import escape

import memorybook
from memorybook.book.fade import ARCHIVE_BELOW, PROMPT_FROM, REMOVE_BELOW
from memorybook.config.settings import Config
from memorybook.http.page.rendering import Ask
from memorybook.http.page.views import entries, history, search
from memorybook.memory import Memory
from memorybook.model import Add, Entry, Update
from serving import OWNER, TLS, serving

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
TODAY = date(2026, 3, 20)


def ask(lang: str = "en", path: str = "/x", **values: object) -> Ask:
    return Ask({name: str(value) for name, value in values.items()}, lang, path, TODAY)


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Memory]:
    """Three weeks: tea on the first day, replaced; a note; what is forgotten; a todo that lapses."""
    times = [START]
    config = Config(backend="sqlite_fts", timezone="UTC")
    with memorybook.open(str(tmp_path / "book"), config=config, clock=lambda: times[0], missing_ok=True) as memory:
        memory.remember("The user drinks green tea.", importance="high", group="home/kitchen")
        memory.remember("用户住在杭州。", importance="low")
        times[0] = START + timedelta(days=5)
        memory.append("Looked at a flat in Leith.", tags=["flat"])
        gone = memory.remember("The user has a <b>dog</b>.").entry.id
        memory.remember("Buy oat milk.", category="todo", expires=date(2026, 3, 22))
        times[0] = START + timedelta(days=10)
        memory.forget(gone)
        tea = memory.entries().entries[0].entry
        memory.update(tea.id, text="The user drinks black tea.")
        times[0] = datetime(2026, 3, 20, 9, tzinfo=UTC)
        yield memory


def test_days_count_what_each_brought(book: Memory) -> None:
    days = {str(each.day): each for each in book.activity()}
    assert list(days) == ["2026-03-11", "2026-03-06", "2026-03-01"]
    assert days["2026-03-01"].learned == 2
    assert days["2026-03-06"].learned == 3
    assert (days["2026-03-11"].forgotten, days["2026-03-11"].other) == (1, 1)
    assert [each.day for each in book.activity(until="2026-03-10", limit=1)] == [date(2026, 3, 6)]


def test_the_river_tells_the_newest_days_first(book: Memory) -> None:
    shown = history.show_river(history.read_river(book, ask()), ask())
    assert [each[0] for each in shown["columns"]] == ["2026-03-01", "2026-03-06", "2026-03-11"]
    lines = {str(day): [(line.kind, line.text) for line in lines] for day, _, lines, _ in shown["days"]}
    assert next(iter(lines)) == "2026-03-11"
    assert ("forgotten", "The user has a <b>dog</b>.") in lines["2026-03-11"]
    assert ("learned", "Looked at a flat in Leith.") in lines["2026-03-06"]


def test_a_chosen_day_shows_the_book_of_then(book: Memory) -> None:
    then = history.show_river(history.read_river(book, ask(at="2026-03-06")), ask(at="2026-03-06"))["then"]
    assert (then["total"], then["today"], then["new"]) == (4, 3, [])
    told = {known.entry.text: since for known, _, since in then["rows"]}
    assert told["The user drinks green tea."] == "reworded"
    assert told["The user has a <b>dog</b>."] == "gone"
    assert told["用户住在杭州。"] == ""
    first = ask(at="2026-03-01", only="reworded")
    then = history.show_river(history.read_river(book, first), first)["then"]
    assert [known.entry.text for known, _, _ in then["rows"]] == ["The user drinks green tea."]
    assert [known.entry.text for known in then["new"]] == ["Buy oat milk."]


@pytest.mark.parametrize("zone", ["Pacific/Auckland", "Asia/Kolkata", "UTC", "America/Los_Angeles"])
def test_days_are_those_of_the_timezone_as_notes_have_them(tmp_path: Path, zone: str) -> None:
    midnight = datetime(2026, 3, 5, tzinfo=ZoneInfo(zone))
    times = [midnight - timedelta(seconds=10)]
    config = Config(backend="sqlite_fts", timezone=zone)
    with memorybook.open(str(tmp_path / "book"), config=config, clock=lambda: times[0], missing_ok=True) as memory:
        for number, said in enumerate(("My cat is called Mia.", "My dog is called Rex.")):
            times[0] = midnight + timedelta(seconds=20 * number - 10)
            turn = {"role": "user", "content": f"Please remember: {said}", "timestamp": times[0].isoformat()}
            memory.process_session_end([turn], f"talk {number}")
            assert memory.append(f"Wrote about it, {number}.").path == f"daily/2026-03-0{4 + number}.md"
        times[0] = midnight + timedelta(days=3)
        days = (date(2026, 3, 4), date(2026, 3, 5))
        assert [each.day for each in memory.activity()] == [days[1], days[0]]
        assert [each.day for each in memory.activity(until=days[0])] == [days[0]]
        asked = ask()._replace(zone=ZoneInfo(zone))
        shown = history.show_river(history.read_river(memory, asked), asked)
        lines = {day: {line.text for line in lines} for day, _, lines, _ in shown["days"]}
        for number, (day, name) in enumerate(zip(days, ("Mia", "Rex"), strict=True)):
            assert f"Wrote about it, {number}." in lines[day]
            [known] = [known for known in memory.entries().entries if name in known.entry.text]
            assert known.entry.text in lines[day]
            assert (known in memory.entries(at=days[0]).entries) is (number == 0)
            of_day = memory.history(since=day, until=day).operations
            assert {each.operation.id for each in of_day} == {
                each.operation.id for each in memory.history().operations if asked.day(each.operation.time) == day
            }
            only = asked._replace(values={"since": str(day), "until": str(day)})
            assert [
                row.entry.id for row in entries.show_memories(entries.read_memories(memory, only), only)["rows"]
            ] == [known.entry.id]


def test_the_newest_memory_of_a_day_comes_first(tmp_path: Path) -> None:
    times = [START]
    with memorybook.open(str(tmp_path / "book"), clock=lambda: times[0], missing_ok=True) as memory:
        said = {"The bridge is closed.": 0.6, "The ferry runs.": 0.9, "The tram is late.": 0.3}
        for text, importance in said.items():
            memory.remember(text, importance=importance)
            times[0] += timedelta(hours=3)
        newest = entries.show_memories(entries.read_memories(memory, ask()), ask(sort="newest"))
    assert [known.entry.text for known in newest["rows"]] == list(reversed(said))


def test_what_fades_next_comes_first(book: Memory) -> None:
    shown = entries.show_fading(entries.read_memories(book, ask()), ask())
    rows = [(known.entry.text, step, day) for known, step, day in shown["rows"]]
    assert rows[0] == ("Buy oat milk.", "expire", date(2026, 3, 23))
    assert [day for *_, day in rows] == sorted(day for *_, day in rows)
    bounds = {"prompt": PROMPT_FROM, "archive": ARCHIVE_BELOW, "remove": REMOVE_BELOW}
    for text, step, day in rows[1:]:
        days = (day - timedelta(days=1), day)
        eve, then = (next(each for each in book.entries(at=one).entries if each.entry.text == text) for one in days)
        assert then.strength < bounds[step] <= eve.strength
    book.pin(book.entries().entries[0].entry.id)
    pinned = entries.show_fading(entries.read_memories(book, ask()), ask(next="pinned"))
    assert [row[1:] for row in pinned["rows"]] == [("", None)]
    assert dict(pinned["tiles"])["pinned"] == 1


def test_what_earns_its_place(book: Memory) -> None:
    book.recall("What tea does the user drink?")
    shown = entries.show_worth(entries.read_worth(book, ask()), ask())
    used = [row.known.entry.text for row in shown["rows"]]
    assert used
    assert shown["entries"] == 3
    assert {name for name, *_ in shown["groups"]} == {"home/kitchen"}
    never = entries.show_worth(entries.read_worth(book, ask()), ask(show="never"))
    assert {row.known.entry.text for row in never["rows"]}.isdisjoint(used)
    assert sum(count for *_, count, _ in shown["dots"]) == 3


def test_operations_are_diffs(book: Memory) -> None:
    shown = history.show_operations(history.read_operations(book, ask()), ask())
    update, forget = shown["operations"][:2]
    assert update[1] == "update"
    assert update[2][0].lines == [("-", "The user drinks green tea."), ("+", "The user drinks black tea.")]
    assert forget[2][0].lines == [("-", "The user has a <b>dog</b>.")]
    assert history.show_operations(history.read_operations(book, ask("zh")), ask("zh"))["operations"][0][1] == "修改"
    id = update[0].operation.id
    trial = history.show_operations(history.read_operations(book, ask(id=id, undo=id)), ask(id=id, undo=id))
    assert trial["would"][0].lines == [("-", "The user drinks black tea."), ("+", "The user drinks green tea.")]
    assert book.entries().entries[0].entry.text == "The user drinks black tea.", "nothing is done yet"


def test_older_operations_follow_the_last_one_shown(book: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history, "PER_PAGE", 2)
    seen, before = list[str](), ""
    while True:
        page = history.show_operations(history.read_operations(book, ask(before=before)), ask(before=before))
        seen += [each[0].operation.id for each in page["operations"]]
        if page["oldest"] is None:
            break
        before = page["oldest"]
    assert seen == [each.operation.id for each in book.history(limit=None).operations]


def test_a_session_is_one_patch(book: Memory) -> None:
    first = book.book.apply([_added("e1", "Rain is fine.")], actor="user", door="cli", session="s1").operation
    change = Update(id="e1", fields={"text": "Rain is lovely."})
    book.book.apply([change, _added("e2", "Snow too.")], actor="user", door="cli", session="s1")
    shown = history.show_operations(history.read_operations(book, ask(id="s1")), ask(id="s1"))
    assert [each[0].operation.session for each in shown["operations"]] == ["s1", "s1"]
    assert {(each.target, *each.lines) for each in shown["patch"]} == {
        ("e1", ("+", "Rain is lovely.")),
        ("e2", ("+", "Snow too.")),
    }
    assert first is not None
    alone = history.show_operations(history.read_operations(book, ask(id=first.id)), ask(id=first.id))
    assert alone["alone"]
    assert alone["patch"] == []


def test_the_page_of_a_session_is_shown_without_what_programs_read(book: Memory) -> None:
    book.process_session_end([{"role": "user", "content": "Please forget that I live in Leith. I prefer tea."}], "tea")
    shown = history.show_operations(history.read_operations(book, ask()), ask())
    lines = {each.target: each.lines for _, _, changes, _ in shown["operations"] for each in changes}
    [page] = [lines[target] for target in lines if target.startswith("sessions/")]
    assert any("I prefer tea" in text for _, text in page)
    assert not [text for _, text in page if not text.strip() or text.startswith(("---", "session:", "started:"))]


def test_the_river_tells_what_happened_to_messages_without_ids(book: Memory) -> None:
    book.process_session_end([{"role": "user", "content": "The tap drips.", "id": "t1"}], "tap")
    book.forget(session="tap")
    shown = history.show_river(history.read_river(book, ask()), ask())
    said = [line.text for _, _, lines, _ in shown["days"] for line in lines]
    assert "- 1 turn of session tap" in said


@pytest.mark.parametrize(("query", "name"), [("", "said lately"), ("Which tea?", "about the message")])
def test_what_was_said_lately_is_not_called_about_the_message(book: Memory, query: str, name: str) -> None:
    book.process_session_end([{"role": "user", "content": "I drink tea on Sundays."}], "tea")
    shown = search.show_now(search.read_now(book, ask(q=query)), ask(q=query))
    assert name in [name for _, name, _ in shown["bars"]]


def _added(id: str, text: str) -> Add:
    return Add(entry=Entry(id=id, text=text, category="fact", score=0.6, scored=TODAY, last_activated=TODAY))


# --- served --------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_served_pages_pin_undo_and_undo_the_undo(tmp_path: Path, lang: str) -> None:
    bearer = {"Authorization": f"Bearer {OWNER}", "Cookie": f"lang={lang}"}
    with serving(tmp_path / "book") as served, httpx2.Client(base_url=served.url, headers=bearer, verify=TLS) as client:
        for path in ("/river", "/river?at=2026-03-01", "/river?at=nonsense", "/history", "/fading", "/worth"):
            assert client.get(path).status_code == 200, "an empty book has pages too"
        text = "The user's <script>alert(1)</script> bike is blue."
        assert client.post("/act/remember", data={"text": text, "back": "/"}).status_code == 303
        for path in ("/river", f"/river?at={datetime.now(UTC).date()}", "/history", "/fading", "/worth?show=never"):
            page = client.get(path).text
            assert "<script>alert" not in page, path
            assert str(escape(text)) in page, path
        id = re.search(r'name="id" value="(\w+)"', client.get("/fading").text)[1]  # type: ignore[index]
        pinned = client.post("/act/pin", data={"id": id, "pinned": "yes", "back": "/fading"})
        assert pinned.headers["location"].startswith("/fading?done=")
        assert f'value="{id}"' in client.get("/fading?next=pinned").text
        for is_pinned in (False, True):  # undoing, and undoing that
            trial = re.search(r'href="(/history\?id=[^"]+undo=[^"]+)"', client.get("/history").text)
            page = client.get(html.unescape(trial[1])).text  # type: ignore[index]
            operation = re.search(r'name="operation" value="([^"]+)"', page)[1]  # type: ignore[index]
            assert client.post("/act/undo", data={"operation": operation, "back": "/history"}).status_code == 303
            assert (f'value="{id}"' in client.get("/fading?next=pinned").text) is is_pinned
        refused = client.get(f"/history?undo={operation}")
        assert refused.status_code == 409
        assert ("无法撤销" if lang == "zh" else "This cannot be undone") in refused.text
        assert client.get("/history?id=nobody").status_code == 404


@pytest.mark.parametrize(
    ("lang", "told"), [("en", "not confirmed since January 2024"), ("zh", "自 2024年1月 以来未再确认")]
)
def test_what_nobody_confirmed_is_told_and_confirmed_by_a_button(tmp_path: Path, lang: str, told: str) -> None:
    bearer = {"Authorization": f"Bearer {OWNER}", "Cookie": f"lang={lang}"}
    root = tmp_path / "book"
    root.mkdir()
    entry = "### [kiel01] context | 0.60 | 2024-01-10 | 1\nThe move to Kiel is planned.\n<!-- pinned; trust: user -->\n"
    (root / "MEMORY.md").write_text(f"# Agent Memory\n\n## Active Memories\n\n{entry}", encoding="utf-8")
    with serving(root) as served, httpx2.Client(base_url=served.url, headers=bearer, verify=TLS, timeout=30) as client:
        for path in ("/memories", "/memories/kiel01", "/search?q=the move to Kiel"):
            assert told.split("2024")[0].strip() in client.get(path).text, path
        assert told in client.get("/memories/kiel01").text
        assert 'action="/act/confirm"' in client.get("/memories/kiel01").text
        assert client.post("/act/confirm", data={"id": "kiel01", "back": "/memories"}).status_code == 303
        assert told not in client.get("/memories/kiel01").text
