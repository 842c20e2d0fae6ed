"""Purging: the bytes are gone from every file, the history stays, and what cannot go yet is said."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from books import Reopen, files
from entries.test_operations import chat, last
from memorybook.entries.history import history, undo, why
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.forget.forget import finish, forget, purge
from memorybook.memory import Memory
from memorybook.model import Discarded, Update

SECRET = {
    "en": "the garden shed key hangs behind the blue xylophone",
    "zh": "花园小屋的钥匙挂在蓝色的木琴后面不要告诉别人",
}


def holding(root: str, text: str) -> list[str]:
    """Files that hold the text in any form one may look for."""
    forms = [text.encode(), text.encode("utf-16-le"), text.encode("utf-16-be"), json.dumps(text)[1:-1].encode()]
    return [path for path, data in files(root).items() if any(form.lower() in data.lower() for form in forms)]


def spread(memory: Memory, tmp_path: Path, text: str) -> str:
    """The same text everywhere that a text can get to; the entry's id."""
    memory.init()
    id = memory.remember(f"Something else, and {text}", tags=["key"]).known.entry.id
    memory.update(id, text=text)
    memory.remember("Tea is green")
    memory.append(f"heard that {text}")
    memory.import_file(chat(tmp_path, f"Remember that {text}.", "What a lovely day it was."))
    memory.update(id, importance="high")
    memory.recall(text)
    memory.search(text)
    journal, now = memory.book.journal, memory.book.now()
    journal.park("t1", kind="memorize", payload={"turns": [{"text": text}]}, reason="down", time=now)
    journal.propose("remove", [{"id": id, "text": text}], reason=text, time=now)
    memory.book.apply([], actor="agent", door="test", discarded=[Discarded(text=text, reason="weak", quote=text)])
    return id


@pytest.mark.parametrize("language", SECRET)
@pytest.mark.parametrize("first", [False, True])
def test_what_is_purged_is_in_no_file_of_the_book(memory: Memory, tmp_path: Path, language: str, first: bool) -> None:
    text = SECRET[language]
    spread(memory, tmp_path, text)
    assert len(holding(memory.root, text)) > 4
    if first:
        forget(memory.context, query=text)
    for id in [known.entry.id for known in memory.entries().entries if text in known.entry.text]:
        purge(memory.context, id)
    receipt = purge(memory.context, query=text)
    assert holding(memory.root, text) == []
    assert receipt.remains == ()
    assert not [hit for hit in memory.search(text).hits if text in hit.passage.text]
    assert [known.entry.text for known in memory.entries().entries if "Tea" in known.entry.text] == ["Tea is green"]
    if language == "en":
        assert holding(memory.root, "xylophon") == []  # the stem, as the index has it
    memory.close()
    assert holding(memory.root, text) == []


def test_a_receipt_counts_what_went(memory: Memory, tmp_path: Path) -> None:
    id = spread(memory, tmp_path, SECRET["en"])
    planned = purge(memory.context, id, dry_run=True)
    assert holding(memory.root, SECRET["en"])
    receipt = purge(memory.context, id)
    assert receipt.entries == planned.entries == (id,)
    assert receipt.journal >= 5
    assert receipt.versions > 0
    assert receipt.turns == planned.turns
    assert receipt.notes == planned.notes
    assert receipt.tombstones > 0
    assert len(receipt.notes) >= 1


def test_the_turn_that_an_entry_rests_on_goes_with_it(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "What a lovely day it was."))
    [known] = memory.entries().entries
    receipt = purge(memory.context, known.entry.id)
    assert (receipt.turns, receipt.sessions) == (1, 0)
    assert holding(memory.root, "xylophonist") == []
    assert memory.search("lovely day").hits


def test_what_was_forgotten_before_can_be_purged(memory: Memory) -> None:
    text = SECRET["en"]
    id = memory.remember(text).known.entry.id
    memory.append(f"note: {text}")
    kept = memory.remember("Tea is green and grows on hills").known.entry.id
    memory.forget(id)
    memory.forget(query=text)
    assert holding(memory.root, text)
    assert purge(memory.context, forgotten=True, dry_run=True).remains
    receipt = purge(memory.context, forgotten=True)
    assert holding(memory.root, text) == []
    assert receipt.remains == ()
    assert receipt.journal > 0
    assert why(memory.context, kept).story[0].told == (f"+ {kept}: Tea is green and grows on hills (remembered)",)
    assert purge(memory.context, forgotten=True).journal == 0


def test_a_forgotten_entry_is_purged_by_its_id(memory: Memory) -> None:
    text = SECRET["en"]
    id = memory.remember(text).known.entry.id
    memory.forget(id)
    purge(memory.context, id)
    assert holding(memory.root, text) == []


def test_a_forgotten_entry_takes_its_turn_and_summary_along(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "What a lovely day it was."))
    [known] = memory.entries().entries
    memory.update(known.entry.id, text="An uncle plays")
    memory.forget(known.entry.id)
    assert purge(memory.context, known.entry.id).remains == ()
    assert holding(memory.root, "xylophonist") == []
    assert memory.search("lovely day").hits


def test_what_was_forgotten_and_said_again_stays(memory: Memory) -> None:
    text = SECRET["en"]
    memory.forget(memory.remember(text).known.entry.id)
    id = memory.remember(text).known.entry.id
    purge(memory.context, forgotten=True)
    assert [known.entry.id for known in memory.entries().entries] == [id]
    assert "purged" not in why(memory.context, id).story[0].told[0]


def test_the_history_stays_and_an_undo_says_what_is_missing(memory: Memory) -> None:
    id = memory.remember(SECRET["en"]).known.entry.id
    created = last(memory)
    other = memory.remember("Tea is green and grows on hills").known.entry.id
    later = last(memory)
    purge(memory.context, id)
    found = history(memory.context, id).operations
    assert [each.operation.kind for each in found] == ["purge", "remember"]
    assert all("purged" in told for each in found for told in each.told)
    for operation in (created, last(memory)):
        with pytest.raises(Conflict, match="purged"):
            undo(memory.context, operation)
    undo(memory.context, later)
    assert why(memory.context, other).known is None


def test_an_entry_that_moved_is_in_one_place_when_half_of_how_it_moved_was_purged(memory: Memory) -> None:
    memory.init()
    tea = memory.remember("Tea is brewed for three minutes", importance="low").known.entry.id
    memory.remember("The heron comes in the morning", importance="high")
    page, archive = Path(memory.root, "MEMORY.md"), Path(memory.root, "archive", "2026-01.md")
    archive.parent.mkdir()
    cold = "### [cold1] fact | 0.10 | 2026-01-10 | 2\nThe cold one.\n"
    archive.write_text(f"# Archive 2026-01\n\n{cold}", encoding="utf-8")
    head, high, low = re.split(r"(?m)^(?=### )", page.read_text(encoding="utf-8"))
    # a person's order, which the next rewrite does not keep
    page.write_text(f"{head}{low}\n{high.rstrip()}\n", encoding="utf-8")
    memory.book.apply([Update(id="cold1", fields={"archived": False})], actor="user", door="test")
    moved = last(memory)
    purge(memory.context, tea)
    assert [bool(patch.hunks) for patch in memory.book.journal.patches(moved)] == [False, True]
    assert undo(memory.context, moved).exact == ()
    standing = [path for path in (page, archive) if "[cold1]" in path.read_text(encoding="utf-8")]
    assert standing == [page]
    assert memory.entries(state="archived").entries[0].entry.id == "cold1"


def test_a_short_text_does_not_take_others_with_it(memory: Memory) -> None:
    id = memory.remember("tea").known.entry.id
    kept = memory.remember("The user drinks tea in the morning").known.entry.id
    purge(memory.context, id)
    assert why(memory.context, kept).story[0].told == (f"+ {kept}: The user drinks tea in the morning (remembered)",)
    assert why(memory.context, id).story[0].told == (f"add {id}: purged",)


def test_a_copy_that_a_person_keeps_is_named(memory: Memory) -> None:
    text = SECRET["en"]
    id = memory.remember(text).known.entry.id
    Path(memory.root, "projects").mkdir()
    Path(memory.root, "projects", "mine.md").write_text(f"# Mine\n\n{text}\n", encoding="utf-8")
    assert purge(memory.context, id).remains == ("it still stands in projects/mine.md",)


def test_everything_from_a_source(memory: Memory, tmp_path: Path) -> None:
    path = chat(tmp_path, f"Remember that {SECRET['en']}.", "What a lovely day it was.", session="talk")
    memory.import_file(path)
    with pytest.raises(NotFound, match=r"other\.jsonl"):
        purge(memory.context, source="other.jsonl")
    receipt = purge(memory.context, source=path)
    assert (receipt.sessions, receipt.turns) == (1, 2)
    assert holding(memory.root, SECRET["en"]) == []
    assert holding(memory.root, "lovely day") == []
    assert memory.import_file(path).entries == 0


def test_a_session_that_lost_a_line_is_not_captured_anew(memory: Memory, tmp_path: Path) -> None:
    said = ["Remember that my uncle is a xylophonist.", "Remember that the heron stands in the garden all day."]
    memory.import_file(chat(tmp_path, *said))
    [uncle] = [known.entry for known in memory.entries().entries if "uncle" in known.entry.text]
    purge(memory.context, uncle.id)
    assert memory.import_file(chat(tmp_path, *said)).json() | {"skipped": []} == {
        **dict.fromkeys(["new_turns", "entries", "strengthened", "notes", "redacted", "pending_vectors"], 0),
        "sessions": 1, "turns": 2, "skipped": [], "warnings": [], "summaries": [], "known": 0, "files": 1,
        "formats": ["chat"], "dry_run": False,
    }  # fmt: skip


def test_exactly_one_thing_is_meant(memory: Memory) -> None:
    for given in ({}, {"target": "a", "forgotten": True}, {"query": "a", "session": "b"}):
        with pytest.raises(InvalidInput):
            purge(memory.context, **given)
    with pytest.raises(NotFound, match="nobody"):
        purge(memory.context, "nobody")
    assert purge(memory.context, query="quantum chromodynamics").operation is None


READER = """
import sys, apsw
reader = apsw.Connection(sys.argv[1])
reader.execute("BEGIN")
reader.execute("SELECT count(*) FROM operations").fetchall()
print("reading", flush=True)
sys.stdin.readline()
reader.execute("COMMIT")
reader.close()
"""


def test_a_reader_in_another_process_is_named_and_overwritten_after(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.forget.forget.PAUSE", 0.01)
    id = memory.remember(SECRET["en"]).known.entry.id
    journal = str(Path(memory.root, ".memorybook", "journal.sqlite"))
    reader = subprocess.Popen(
        [sys.executable, "-c", READER, journal], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "reading\n"
    receipt = purge(memory.context, id)
    assert "another process is reading" in receipt.remains[0]
    assert not finish(memory.context)
    reader.communicate("go on\n", timeout=30)
    assert finish(memory.context)
    assert finish(memory.context)
    assert holding(memory.root, SECRET["en"]) == []
    assert list(memory.book.journal.parked()) == []


def test_another_opening_of_the_book_goes_on(memory: Memory, reopen: Reopen) -> None:
    text = SECRET["en"]
    id = memory.remember(text).known.entry.id
    memory.remember("Tea is green")
    other = reopen()
    assert other.search("xylophone").hits
    assert purge(memory.context, id).remains == ()
    assert text not in [hit.passage.text for hit in other.search("xylophone").hits]
    assert other.search("green tea").hits
    other.append("and on it goes")
    assert holding(memory.root, text) == []


def test_databases_stay_sound(memory: Memory, tmp_path: Path) -> None:
    purge(memory.context, spread(memory, tmp_path, SECRET["en"]))
    memory.close()
    for path in Path(memory.root, ".memorybook").glob("*.sqlite"):
        connection = apsw.Connection(str(path))
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    assert re.search("Tea", Path(memory.root, "MEMORY.md").read_text(encoding="utf-8"))
