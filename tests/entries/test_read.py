"""Opening and recalling: what `tests/test_memory.py` leaves open."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from books import NOW, Reopen
from memorybook.errors import Conflict, NotFound
from memorybook.memory import Memory
from memorybook.model import Add, Session, Supersede, Turn


def imported(memory: Memory, tmp_path: Path, name: str) -> None:
    file = tmp_path / f"{name}.jsonl"
    file.write_text(f'{{"id": "m1", "role": "user", "content": "I am {name}", "session": "{name}"}}\n', "utf-8")
    memory.import_file(str(file))


def test_lines_of_a_file_with_windows_ends_come_without_them(memory: Memory) -> None:
    memory.init()
    Path(memory.root, "notes.md").write_bytes(b"one\r\ntwo\r\n\r\nfour")
    assert memory.get("notes.md").json() == {
        "path": "notes.md", "from": 1, "lines": 4, "total_lines": 4, "text": "one\ntwo\n\nfour",
    }  # fmt: skip
    assert memory.get("notes.md", start=9).json()["text"] == ""


def test_a_turn_of_another_session_is_not_found(memory: Memory, tmp_path: Path) -> None:
    imported(memory, tmp_path, "a")
    imported(memory, tmp_path, "b")
    with pytest.raises(Conflict, match="2 sessions have a turn 'm1'"):
        memory.get("turn:m1")
    assert memory.get("turn:b/m1").json()["turn"]["session_name"] == "b"
    with pytest.raises(NotFound, match="'b/m2'"):
        memory.get("turn:b/m2")
    with pytest.raises(NotFound, match="'c'"):
        memory.get("turn:c/m1")


def test_a_turn_is_opened_by_the_beginning_of_a_uuid(memory: Memory, tmp_path: Path) -> None:
    ids = ["9359ac7e-3df1-586a-ad3c-8d40b0a9d934", "9359ac7e-3df1-586a-ad3c-8d40b0a9d935"]
    for session, own in zip(ids, ids, strict=True):
        turns = [Turn(id=id, session=session, role="user", text=f"tea {id}") for id in (own, "m1")]
        memory.book.transcripts.append(Session(uuid=session), turns)
    assert memory.get(f"turn:{ids[0]}/m1").json()["turn"]["session"] == ids[0]
    with pytest.raises(Conflict, match="'9359ac7e'"):
        memory.get("turn:9359ac7e")
    memory.forget(session=ids[1])
    assert memory.get("turn:9359ac7e").json()["text"] == f"tea {ids[0]}"
    assert memory.get("turn:9359ac7e/m1").json()["turn"]["id"] == "m1"
    for missing in ("turn:9359ac7", "turn:9359ac7e/m2", "turn:1111aaaa"):
        with pytest.raises(NotFound):
            memory.get(missing)


def test_a_recalled_entry_is_counted_every_time(memory: Memory) -> None:
    ada = memory.remember("The user is called Ada.", importance="high").known.entry
    heron = memory.remember("The heron database is slow", importance="low").known.entry
    for _ in range(2):
        recalled = memory.recall("heron database")
    assert recalled.cold[0].passage.entry == heron.id
    assert memory.get(heron.id).json()["entry"]["access_count"] == 2
    assert [known.entry.id for known in memory.recall("").hot] == [ada.id]
    assert memory.get(ada.id).json()["entry"]["access_count"] > 0


def test_archived_and_superseded_entries_stay_out_of_the_prompt(memory: Memory) -> None:
    from memorybook.model import Update

    old = memory.remember("The user lives in Paris", importance="high").known.entry
    memory.book.apply([Update(id=old.id, fields={"superseded_by": "zzzzzz"})], actor="user", door="test")
    lines = [line for line in memory.recall("where does the user live? Paris").text.splitlines() if "Paris" in line]
    assert all("(no longer so)" in line for line in lines)
    assert memory.entries(state="superseded").total == 1


def test_the_block_speaks_the_language_of_the_settings(reopen: Reopen) -> None:
    reopen().remember("用户叫顾怀川", importance="high")
    assert reopen(language="en").recall("我叫什么").text.splitlines()[1] == "# Memory"


@pytest.mark.parametrize("group", ["work/api", "work/api/", "Work/API", " work / api ", "WORK"])
def test_a_group_is_found_as_people_write_it(memory: Memory, group: str) -> None:
    memory.remember("The API listens on 8080.", group="work/api")
    memory.remember("The API has a second version.", group="Work/API/v2")
    memory.remember("Another thing altogether.", group="workshop")
    assert memory.entries(group=group).total == 2


def test_no_group_is_in_a_group_without_a_name(memory: Memory) -> None:
    memory.remember("The API listens on 8080.", group="work/api")
    assert [memory.entries(group=group).total for group in ("", "/")] == [0, 0]


@pytest.mark.parametrize(("days", "told"), [(0, False), (1, False), (-9, True)])
def test_a_prompt_tells_what_was_held_true_before_and_not_what_never_was(memory: Memory, days: int, told: bool) -> None:
    """An agent's statement that lost against a user's, by the time at which it was said."""
    held = memory.remember("Mira lives in Berlin.").known.entry
    lost = replace(
        held, id="zzzzzz", text="Mira lives in Paris.", created=NOW + timedelta(days=days), contradicts=(held.id,)
    )
    memory.book.apply([Add(entry=replace(lost, superseded_by=held.id))], actor="agent", door="test")
    text = memory.recall("Where does Mira live?").text
    assert "Mira lives in Berlin." in text
    assert ("Paris" in text) is told


# --- what is true now comes first ------------------------------------------------------------------

BOOKS = [
    ("The user lives in Berlin.", "The user moved to Hamburg.", "The user's flat in Rome is let.",
     "Who lives in Berlin?"),
    ("用户住在北京。", "用户搬到上海了。", "用户在罗马的公寓出租了。", "谁住在北京？"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "now", "later", "question"), BOOKS)
def test_what_is_true_now_comes_first_and_what_it_replaced_says_so(
    memory: Memory, before: str, now: str, later: str, question: str
) -> None:
    old = memory.remember(before, category="fact").known.entry.id
    assert memory.search(question).hits[0].passage.entry == old
    new, newest = (memory.remember(text, category="fact").known.entry.id for text in (now, later))
    for id, by in ((old, new), (new, newest)):
        memory.book.apply([Supersede(id=id, by=by)], actor="user", door="test")
    found = memory.search(question)
    assert [hit.passage.entry for hit in found.hits][:2] == [newest, old]
    assert found.hits[0].relevance >= found.hits[1].relevance >= found.threshold
    assert [hit.get("state") for hit in found.json()["results"]][:2] == [None, "superseded"]
    assert [hit.passage.entry for hit in memory.search(question, max_results=1).hits] == [newest]
    assert len({hit.passage.entry for hit in found.hits}) == len(found.hits)


def test_a_filter_brings_back_nothing_that_it_leaves_out(memory: Memory) -> None:
    before, now, _, question = BOOKS[0]
    old = memory.remember(before, category="fact").known.entry.id
    new = memory.remember(now, category="experience").known.entry.id
    memory.book.apply([Supersede(id=old, by=new)], actor="user", door="test")
    assert [hit.passage.entry for hit in memory.search(question, category="fact").hits] == [old]
