"""History and why: every operation told, and every entry traced to what it rests on."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from books import entry
from entries.test_operations import apply, chat, last
from memorybook.entries.history import describe_change, history, undo, why
from memorybook.errors import InvalidInput, NotFound, Unavailable
from memorybook.memory import Memory
from memorybook.model import Add, Applied, Discarded, Put, Supersede


def test_history_tells_what_was_done_newest_first(memory: Memory) -> None:
    assert history(memory.context).operations == ()
    tea = memory.remember("The tea is black", tags=["hot"]).known.entry.id
    memory.append("bought bread")
    memory.update(tea, text="The tea is green", importance="high", group="home")
    memory.pin(tea)
    memory.forget(tea)
    found = history(memory.context)
    assert [each.operation.kind for each in found.operations] == ["forget", "pin", "update", "append", "remember"]
    assert [each.told for each in found.operations] == [
        (f"- {tea}: The tea is green (forgotten)",),
        (f"~ {tea}: pinned no → yes (pinned)",),
        (
            f"~ {tea}: text 'The tea is black' → 'The tea is green', score 0.60 → 0.80,"
            " group nothing → 'home' (updated)",
        ),
        ("+ daily/2026-02-24.md: - 2026-02-24T10:12:33Z bought bread (appended)",),
        (f"+ {tea}: The tea is black (remembered)",),
    ]
    assert not found.more
    json.dumps(found.json())


def test_history_of_one_thing(memory: Memory, tmp_path: Path) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    done = last(memory)
    memory.append("bought bread")
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    assert [each.operation.id for each in history(memory.context, tea).operations] == [done]
    assert [each.operation.kind for each in history(memory.context, "daily/2026-02-24.md").operations] == ["append"]
    assert [each.operation.kind for each in history(memory.context, "s1").operations] == ["import"]
    assert history(memory.context, "session:s1") == history(memory.context, "s1")
    assert [each.operation.id for each in history(memory.context, done).operations] == [done]
    with pytest.raises(NotFound, match="nobody"):
        history(memory.context, "nobody")


def test_history_is_cut_and_says_so(memory: Memory) -> None:
    for n in range(3):
        memory.append(f"line {n}")
    assert history(memory.context, limit=2).more
    assert not history(memory.context, limit=3).more
    assert len(history(memory.context, limit=None).operations) == 3
    assert memory.history(limit=10**30) == memory.history(limit=None)
    with pytest.raises(InvalidInput, match="0 is below 1"):
        history(memory.context, limit=0)


def test_what_was_undone_says_by_what(memory: Memory) -> None:
    memory.remember("The tea is black")
    done = last(memory)
    by = undo(memory.context, done).operation
    [undoing, undone] = history(memory.context).operations
    assert (undone.undone_by, undoing.operation.undoes, undoing.operation.id) == (by, done, by)
    assert undoing.json()["undoes"] == done


def test_what_was_left_out_and_what_it_cost_is_told(memory: Memory) -> None:
    left = Discarded(text="maybe tea", reason="stands in no turn", quote="tea?")
    memory.book.apply([], actor="agent", door="test", kind="memorize", discarded=[left], usage={"calls": 1})
    [found] = history(memory.context).json()["operations"]
    assert found["discarded"] == [{"text": "maybe tea", "reason": "stands in no turn", "quote": "tea?"}]
    assert found["usage"] == {"calls": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("put", "sessions/a.md", None, "x", ""), "+ sessions/a.md, written"),
        (("put", "sessions/a.md", "y", "x", "why"), "~ sessions/a.md, rewritten (why)"),
        (("drop", "sessions/a.md", "y", None, ""), "- sessions/a.md, all of it"),
        (("drop", "daily/a.md", "- y", "", ""), "- daily/a.md: - y"),
        (("item", "MEMORY.md", None, "TODO\nbuy", ""), "+ MEMORY.md, TODO: buy"),
        (("item", "MEMORY.md", "TODO\nbuy", None, ""), "- MEMORY.md, TODO: buy"),
        (("turns", "session:s", '{"turns":[{"position":1}]}', None, ""), "- 1 turn of session s"),
        (("add", "e1", None, "nonsense", ""), "add e1"),
    ],
)
def test_every_kind_of_change_is_told(change: tuple[str, str, str | None, str | None, str], words: str) -> None:
    kind, target, before, after, reason = change
    assert describe_change(Applied(kind=kind, target=target, before=before, after=after, reason=reason)) == words


def test_why_shows_the_turn_and_its_quote(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "What a day."))
    [known] = memory.entries().entries
    memory.recall("uncle ghp_" + "a1B2" * 9)
    found = why(memory.context, known.entry.id)
    [ground] = found.rests_on
    assert ground.source == "turn:m0"
    assert ground.text == "Remember that my uncle is a xylophonist."
    assert ground.quote
    assert ground.quote in ground.text
    assert (ground.session_name, ground.speaker) == ("s1", "user")
    assert [each.operation.kind for each in found.story] == ["import"]
    [shown] = found.prompts
    assert "uncle" in shown.query
    assert "a1B2" not in shown.query
    assert found.known is not None
    assert found.known.access_count == 1
    json.dumps(found.json())


def test_what_was_forgotten_and_brought_back_rests_on_its_turn_once(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    [known] = memory.entries().entries
    memory.undo(memory.forget(known.entry.id).operation or "")
    [ground] = why(memory.context, known.entry.id).rests_on
    assert (ground.text, bool(ground.quote)) == ("Remember that my uncle is a xylophonist.", True)


def test_why_says_what_is_no_longer_kept(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    [known] = memory.entries().entries
    memory.book.transcripts.remove(known.entry.session or "")
    [ground] = why(memory.context, known.entry.id).rests_on
    assert ground.text is None
    assert "xylophonist" in ground.quote


def test_why_tells_what_replaced_what(memory: Memory) -> None:
    job = memory.remember("The user works at Acme").known.entry.id
    new = entry("new", "The user works at Initech", source="sessions/a.md#L1-L2", contradicts=(job,))
    apply(
        memory, Put(path="sessions/a.md", text="# talk\nnow at Initech\n"), Add(entry=new), Supersede(id=job, by="new")
    )
    found = why(memory.context, "new")
    assert found.supersedes == ((job, "The user works at Acme"),)
    assert found.contradicts == found.supersedes
    assert [(each.source, each.text) for each in found.rests_on] == [("sessions/a.md#L1-L2", "# talk\nnow at Initech")]
    assert why(memory.context, job).superseded_by == ("new", "The user works at Initech")
    assert memory.remember("the user works at ACME").action == "created"


def test_why_of_an_entry_that_is_gone(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.forget(tea)
    found = why(memory.context, tea)
    assert found.known is None
    assert [each.operation.kind for each in found.story] == ["remember", "forget"]
    assert found.json()["entry"] is None
    for unknown in ("nobody", "daily/2026-02-24.md"):
        with pytest.raises(NotFound, match="no entry"):
            why(memory.context, unknown)


# --- making, watching and describing a book --------------------------------------------------------


def test_a_book_in_a_checkout_gets_a_hint(memory: Memory, tmp_path: Path) -> None:
    assert memory.init()["hint"] == ""
    (tmp_path / ".git").mkdir()
    assert memory.init()["hint"] == "machine state and the back-up copy are kept out of git"
    Path(memory.root, ".gitignore").write_text("*.txt\n")
    assert "*.md.bak" in memory.init()["hint"]
    memory.remember("Mira rows.")
    assert Path(memory.root, ".gitignore").read_text() == "*.txt\n"


def test_status_of_nothing_is_empty_and_makes_nothing(memory: Memory) -> None:
    status = memory.status()
    assert (status["exists"], status["index"], status["documents"]["count"]) == (False, {}, 0)
    assert not Path(memory.root).exists()


def test_status_counts_every_kind_and_state(memory: Memory, tmp_path: Path) -> None:
    from memorybook.model import Archive, Change, Update

    ids = [memory.remember(f"fact {n}").known.entry.id for n in range(3)]
    changes: list[Change] = [Archive(id=ids[0]), Update(id=ids[1], fields={"superseded_by": ids[2]})]
    memory.book.apply(changes, actor="user", door="test")
    memory.append("a note")
    chat = tmp_path / "chat.jsonl"
    chat.write_text(
        json.dumps({"role": "user", "content": "I prefer answers without emojis."}) + "\n", encoding="utf-8"
    )
    memory.import_file(str(chat))
    status = memory.status()
    assert status["entries"] == {"active": 2, "archived": 1, "superseded": 1}
    assert (status["documents"]["notes"], status["documents"]["summaries"]) == (1, 1)
    assert status["transcripts"] == {"sessions": 1, "turns": 1}
    assert status["index"]["fresh"] is True


def test_status_says_that_the_index_is_out_of_use(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.append("a note")

    def broken(*_: object) -> None:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(memory.book.index, "sync", broken)
    status = memory.status()
    assert status["index"] == {"fresh": False}
    assert status["degraded"] == ["the disk is gone"]


def test_status_says_what_a_person_wrote_that_cannot_be_read(memory: Memory) -> None:
    memory.remember("fine")
    path = Path(memory.root, "MEMORY.md")
    path.write_text(path.read_text(encoding="utf-8") + "\n### [broken] mood | high\nnot an entry\n", encoding="utf-8")
    assert any("'mood'" in warning for warning in memory.status()["warnings"])


def test_watching_syncs_on_a_change_and_stops(memory: Memory) -> None:
    reports: list[dict[str, Any]] = []
    seen, stop = threading.Event(), threading.Event()

    def told(report: dict[str, Any]) -> None:
        reports.append(report)
        if report["changed"] and len(reports) > 1:
            seen.set()

    watcher = threading.Thread(target=memory.watch, args=(told,), kwargs={"stop": stop})
    watcher.start()
    try:
        for attempt in range(50):  # the watch may not stand yet when the first change comes
            Path(memory.root).mkdir(exist_ok=True)
            Path(memory.root, "notes.md").write_text(f"the zeppelin landed {attempt}\n", encoding="utf-8")
            if seen.wait(0.1):
                break
        assert seen.is_set()
    finally:
        stop.set()
        watcher.join(5)
    assert not watcher.is_alive()
    assert memory.search("zeppelin").hits[0].passage.path == "notes.md"


def test_a_remote_embedder_that_is_down_is_in_the_report(tmp_path: Path) -> None:
    import memorybook
    from memorybook.testing import FailingEmbedder

    with memorybook.open(str(tmp_path / "b"), embedder=FailingEmbedder()) as memory:
        memory.append("the zeppelin landed")
        report = memory.sync()
        assert any("down" in reason for reason in report["degraded"])
        answer = memory.search("zeppelin")
        assert answer.hits
        assert answer.json()["index"]["degraded"]
