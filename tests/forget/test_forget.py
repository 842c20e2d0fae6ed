"""Forgetting: what is meant goes everywhere, what is said to remain remains, and no more."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from books import Reopen, files
from entries.test_operations import chat
from memorybook.entries.history import undo
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.forget.forget import forget
from memorybook.memory import Memory
from memorybook.model import Add, Entry, Put, Supersede

BREAD = b"- 10:00 bought bread\r\n"


def test_a_dry_run_says_what_is_done_then(memory: Memory, tmp_path: Path) -> None:
    memory.remember("The cat Miso sleeps a lot")
    memory.append("cat Miso went to the vet")
    memory.append("bought bread")
    memory.import_file(chat(tmp_path, "Remember that the cat Miso is ginger.", "I prefer tea."))
    before = files(memory.root, "*.md")
    asked: list[dict[str, Any]] = [{"query": "cat Miso"}, {"session": "s1"}]
    for ask in asked:
        planned = memory.forget(**ask, dry_run=True)
        assert files(memory.root, "*.md") == before
        done = memory.forget(**ask)
        assert planned.dry_run
        assert planned.entries or planned.documents
        assert done._replace(dry_run=True, tombstones=0, operation=None) == planned
        before = files(memory.root, "*.md")


@pytest.mark.parametrize("language", ["en", "zh"])
def test_another_process_finds_nothing_any_more(memory: Memory, language: str) -> None:
    text, question = {
        "en": ("The user's cat is called Miso", "what is the cat called? Miso"),
        "zh": ("用户的猫叫味噌", "用户的猫叫什么？味噌"),
    }[language]
    entry = memory.remember(text).known.entry
    memory.append(text)
    ask = f"import sys, memorybook; print(len(memorybook.open({memory.root!r}).search({question!r}).hits))"

    def hits() -> int:
        done = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, timeout=60, check=True)
        return int(done.stdout)

    assert hits() > 0
    memory.forget(entry.id)
    memory.forget(query=question)
    assert hits() == 0
    assert text not in Path(memory.root, "MEMORY.md").read_text(encoding="utf-8")


def test_what_remains_is_where_it_says_and_nowhere_else(memory: Memory, reopen: Reopen, tmp_path: Path) -> None:
    word = "xylophonist"
    memory.remember(f"The user's neighbour is a {word}")
    memory.append(f"met the {word}")
    memory.import_file(chat(tmp_path, f"Remember that my uncle is a {word}.", f"The {word} plays well."))
    memory.search(word)
    receipt = memory.forget(session="s1")
    receipt = memory.forget(query=word)
    assert (len(receipt.entries), len(receipt.notes)) == (1, 1)
    memory.close()
    reopen().rebuild()
    left = {path for path, data in files(memory.root).items() if word.encode() in data.lower()}
    named = {re.split("[/ ]", sentence.removeprefix("the "))[0] for sentence in receipt.remains} - {"index"}
    for path in left:
        assert any(name in path for name in named), path
    assert {path.partition("-")[0] for path in left} >= {"MEMORY.md.bak", ".memorybook/journal.sqlite"}


def test_the_sentence_an_entry_came_from_goes_with_it(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    [known] = memory.entries().entries
    receipt = memory.forget(known.entry.id)
    assert receipt.turns == 1
    assert memory.search("xylophonist").hits == ()
    memory.undo(receipt.operation or "")
    assert {hit.passage.source for hit in memory.search("xylophonist").hits} & {"entry", "turn", "summary"}


def test_a_query_takes_notes_that_say_the_same_as_a_turn(memory: Memory, tmp_path: Path) -> None:
    said = "The zeppelin landed behind the brewery"
    memory.import_file(chat(tmp_path, said))
    memory.append(said)
    assert len(memory.forget(query=said).notes) == 1


@pytest.mark.parametrize("text", ["The cat is x <!-- y -->", "猫的名字是味噌！——y -->"])
def test_what_says_exactly_the_same_goes_whole(memory: Memory, text: str) -> None:
    first, other = memory.remember(text).known.entry, memory.remember("Tea is green").known.entry
    memory.book.apply([Supersede(id=first.id, by=other.id)], actor="user", door="test")
    again = memory.remember(text).known.entry
    memory.append(text)
    assert {*memory.forget(first.id).entries} == {first.id, again.id}
    assert [known.entry for known in memory.entries().entries] == [other]
    assert not any("y --" in said.decode() for path, said in files(memory.root, "*.md").items())


def test_a_query_that_finds_nothing_does_nothing(memory: Memory) -> None:
    memory.remember("The user likes tea.")
    receipt = memory.forget(query="quantum chromodynamics")
    assert (receipt.entries, receipt.notes, receipt.operation, receipt.tombstones) == ((), (), None, 0)
    with pytest.raises(InvalidInput, match="blank"):
        memory.forget(query="  ")
    with pytest.raises(InvalidInput, match="exactly one"):
        memory.forget("", query="")


def test_two_equal_notes_of_a_hand_written_file_both_go(memory: Memory) -> None:
    path = Path(memory.root, "daily", "2026-02-24.md")
    path.parent.mkdir(parents=True)
    path.write_bytes(
        b"# A day\r\n" + 2 * b"- 2026-02-24T10:00:00Z the zeppelin landed\r\n" + b"- 10:00 bought bread\r\n"
    )
    assert len(memory.forget(query="zeppelin landed").notes) == 2
    assert path.read_bytes() == b"# A day\r\n" + BREAD


def test_a_session_that_only_entries_name_is_forgotten_too(memory: Memory) -> None:
    memory.remember("The user likes tea.", session="talk")
    memory.remember("The user likes cake.", session="other")
    receipt = memory.forget(session="talk")
    assert (len(receipt.entries), receipt.sessions) == (1, 0)
    assert [known.entry.text for known in memory.entries().entries] == ["The user likes cake."]
    with pytest.raises(NotFound, match="no session 'talk'"):
        memory.forget(session="talk")


def test_a_session_takes_its_notes_but_not_those_that_are_gone(memory: Memory, tmp_path: Path) -> None:
    said = "I deployed the billing service to Frankfurt yesterday."
    memory.import_file(chat(tmp_path, said, "We went to the Grand Canyon last week.", timestamp="2026-02-20T10:00:00Z"))
    assert len(memory.forget(query="billing service Frankfurt").notes) == 1
    memory.append("something else")
    receipt = memory.forget(session="s1")
    assert len(receipt.notes) == 1
    assert "Grand Canyon" in receipt.notes[0]
    assert [hit.passage.text for hit in memory.search("Grand Canyon").hits] == ["something else"]


def test_a_session_whose_capture_was_cut_short_is_forgotten_whole(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    session = memory.book.transcripts.session("s1")
    page = session.path
    memory.book.transcripts.update(replace(session, path=""))
    assert memory.forget(session="s1").documents == (page,)
    assert not Path(memory.root, page).exists()


def test_an_entry_in_the_archive_is_forgotten(memory: Memory) -> None:
    memory.init()
    archive = Path(memory.root, "archive", "2026-01.md")
    archive.parent.mkdir()
    archive.write_text(
        "# Archive 2026-01\n\n### [zeppel] fact | 0.10 | 2026-01-10 | 2\nThe zeppelin landed.\n", encoding="utf-8"
    )
    assert memory.search("zeppelin").hits[0].passage.path == "archive/2026-01.md"
    assert memory.forget("zeppel").entries == ("zeppel",)
    assert not memory.search("zeppelin").hits
    assert "zeppelin" not in archive.read_text(encoding="utf-8")


def test_a_turn_takes_along_what_was_made_of_it(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "I deployed the billing service."))
    planned = forget(memory.context, source="turn:m0", dry_run=True)
    assert (len(planned.entries), planned.turns, planned.sessions) == (1, 1, 0)
    receipt = forget(memory.context, source="turn:s1/m0")
    assert receipt.entries == planned.entries
    assert [turn.id for turn in memory.book.transcripts.find("m1")] == ["m1"]
    assert memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "Hm.")).entries == 0
    with pytest.raises(NotFound, match="m0"):
        forget(memory.context, source="turn:m0")


def test_a_turn_of_several_sessions_is_named_in_full(memory: Memory, tmp_path: Path) -> None:
    for session in ("s1", "s2"):
        memory.import_file(chat(tmp_path, f"Remember that {session} is a heron.", session=session))
    with pytest.raises(Conflict, match="turn:"):
        forget(memory.context, source="turn:m0")
    assert forget(memory.context, source="turn:s2/m0").turns == 1


def test_an_imported_file_takes_all_of_its_sessions_along(memory: Memory, tmp_path: Path) -> None:
    both = tmp_path / "both.jsonl"
    lines = [Path(chat(tmp_path, f"Remember that box {n} is red.", session=f"s{n}")).read_text() for n in (1, 2)]
    both.write_text("".join(lines), encoding="utf-8")
    memory.import_file(str(both))
    memory.import_file(chat(tmp_path, "Remember that box 3 is blue.", session="s3"))
    receipt = forget(memory.context, source="both.jsonl")
    assert (receipt.sessions, receipt.turns, len(receipt.entries), len(receipt.documents)) == (2, 2, 2, 2)
    assert memory.book.transcripts.counts() == {"sessions": 1, "turns": 1}
    assert undo(memory.context, receipt.operation or "").adapted == ()
    assert memory.book.transcripts.counts() == {"sessions": 3, "turns": 3}
    assert forget(memory.context, source=str(both)).sessions == 2


def test_a_document_takes_along_the_entries_that_rest_on_it(memory: Memory) -> None:
    memory.book.apply([Put(path="projects/a.md", text="# A\n\nred\n")], actor="user", door="test")
    day = memory.book.now().date()
    new = Entry(
        id="e1", text="A is red", category="fact", score=0.5, scored=day, last_activated=day, source="projects/a.md#L3"
    )
    memory.book.apply([Add(entry=new)], actor="user", door="test")
    receipt = forget(memory.context, source="projects/a.md")
    assert (receipt.entries, receipt.documents) == (("e1",), ("projects/a.md",))
    assert not Path(memory.root, "projects", "a.md").exists()
    for unknown in ("projects/a.md", "MEMORY.md", "../../etc/passwd"):
        with pytest.raises(NotFound, match="nothing in this book comes from"):
            forget(memory.context, source=unknown)


@pytest.mark.parametrize(
    ("said", "query"),
    [("My dentist appointment is on Friday.", "dentist appointment"), ("我下周五看牙医。", "看牙医")],
)
def test_the_day_of_what_is_forgotten_goes_with_it(memory: Memory, said: str, query: str) -> None:
    memory.process_session_end([{"role": "user", "content": said}], session_id="s1")
    [entry] = memory.book.entries()
    [day] = re.findall(r"\d{4}-\d\d-\d\d", entry.text)
    memory.forget(query=query)
    memory.purge(forgotten=True)
    assert memory.book.entries() == []
    assert all(day.encode() not in data for data in files(memory.root).values())
