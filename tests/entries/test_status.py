"""Making, watching and describing a book."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from memorybook.errors import Unavailable
from memorybook.memory import Memory


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
