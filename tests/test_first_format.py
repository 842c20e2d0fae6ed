"""A book, its databases and its settings as the first version wrote them, under today's code.

`tests/data/book-0.1` was made by that version: the pages as they were, the databases as SQL.
"""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path

import apsw
import pytest

import memorybook
from books import CONFIG, files
from clock import Clock
from memorybook.config.settings import load
from memorybook.errors import Unavailable
from memorybook.formats.memory_md import FORMAT, format_of
from memorybook.memory import Memory
from memorybook.results import Said

MADE = Path(__file__).parent / "data" / "book-0.1"
JOURNAL, TRANSCRIPTS = "journal.sqlite", "transcripts.sqlite"
PAGES = ("MEMORY.md", "archive/2025-11.md", "daily/2026-02-13.md", "sessions/2026-02-12-521bff.md")


@pytest.fixture
def book(tmp_path: Path) -> Path:
    folder = tmp_path / "book"
    for name in PAGES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(MADE / name, folder / name)
    machine = folder / ".memorybook"
    machine.mkdir(mode=0o700)
    for name in (JOURNAL, TRANSCRIPTS):
        with closing(apsw.Connection(str(machine / name))) as db:
            db.execute((MADE / name).with_suffix(".sql").read_text(encoding="utf-8"))
    return folder


def opened(book: Path, clock: Clock) -> Memory:
    return memorybook.open(str(book), config=CONFIG, clock=clock, door="cli")


def test_everything_in_it_is_found_and_nothing_is_rewritten_by_reading(book: Path, clock: Clock) -> None:
    before = files(book, "*.md")
    with opened(book, clock) as memory:
        for question, told in {
            "how does the user like code?": "terse code",
            "他对什么过敏": "芒果",
            "what is the billing database?": "PostgreSQL 15",
            "where does the user live?": "Lisbon",
            "what frontend was tried in 2025?": "Vue",
            "what was deployed to staging?": "Deployed v2",
            "部署检查什么时候完成": "周五前",
            "force-push?": "Never force-push",
        }.items():
            assert any(told in hit.snippet for hit in memory.search(question)), question
        entries = {known.entry.text: known.entry for known in memory.entries(limit=50).entries}
        assert len(entries) == 8
        assert entries["The standup is at 9:15 in room Heron."].pinned
        todo = entries["Renew the TLS certificate of the gateway"]
        assert (str(todo.expires), todo.group, dict(todo.metadata)) == (
            "2026-03-15",
            "work/gateway",
            {"ticket": "OPS-17"},
        )
        said = memory.get("turn:t1")
        assert isinstance(said, Said)
        assert said.turn.text.startswith("I moved to Lisbon")
        assert memory.status()["warnings"] == []
    assert files(book, "*.md") == before


def test_it_goes_on_being_written_and_its_history_undone(book: Path, clock: Clock) -> None:
    with opened(book, clock) as memory:
        [staging] = [k.entry for k in memory.entries(limit=50).entries if "MariaDB" in k.entry.text]
        assert [one.operation.time.day for one in memory.why(staging.id).story] == [10, 13]
        memory.remember("The canary runs on port 8443.")
        memory.remember("The user prefers terse code with few comments.")
        memory.undo(memory.history(limit=1).operations[0].operation.id)
    text = (book / "MEMORY.md").read_text(encoding="utf-8")
    old = (MADE / "MEMORY.md").read_text(encoding="utf-8").split("\n\n### ")
    assert format_of(text) == FORMAT
    kept = [block.strip() for block in old[1:]]
    assert all(block.splitlines()[1] in text for block in kept)  # an entry's first line says when it last was said
    assert "The canary runs on port 8443." in text
    assert not list(book.rglob("*.sql"))
    with opened(book, clock) as memory:
        assert "8443" in memory.search("which port has the canary?").hits[0].snippet


def test_what_was_forgotten_then_stays_away(book: Path, clock: Clock) -> None:
    with opened(book, clock) as memory:
        memory.process_session_end([{"role": "user", "content": "The user once owned a parrot called Kiwi."}], "pets")
        assert not any("Kiwi" in known.entry.text for known in memory.entries(limit=50).entries)


def test_its_settings_are_all_understood(tmp_path: Path) -> None:
    folder = tmp_path / ".config" / "memorybook"
    folder.mkdir(parents=True)
    shutil.copy(MADE / "memorybook.toml", folder / "config.toml")
    read = load(cwd=str(tmp_path), env={}, home=str(tmp_path))
    assert (read.max_results, read.provider, read.idle_timeout, read.llm.mode) == (7, "flat", 2700, "tool")
    assert (read.recall.keywords, read.redaction.patterns, read.transcripts.auto_export) == (("heron",), ("hk-",), True)
    assert read.warnings == ()


# --- what a later version may write --------------------------------------------------------------------


def test_a_book_in_a_newer_format_is_read_and_not_written(book: Path, clock: Clock) -> None:
    page = book / "MEMORY.md"
    text = page.read_text(encoding="utf-8")
    page.write_text(
        text.replace("# Agent Memory\n", "# Agent Memory\n\n<!-- memorybook format: 2 -->\n", 1), encoding="utf-8"
    )
    before = files(book, "*.md")
    with opened(book, clock) as memory:
        assert any("Lisbon" in hit.snippet for hit in memory.search("where does the user live?"))
        [warning] = memory.status()["warnings"]
        writes = (
            lambda: memory.remember("The canary runs on port 8443."),
            lambda: memory.append("a note"),
            lambda: memory.forget("1ccwi1"),
            lambda: memory.undo(memory.history(limit=1).operations[0].operation.id),
            lambda: memory.pin("1ccwi1"),
        )
        for write in writes:
            with pytest.raises(Unavailable, match=r"format 2 of a newer memorybook.*update memorybook") as refused:
                write()
            assert str(refused.value) == warning
    assert files(book, "*.md") == before


@pytest.mark.parametrize(
    "text", ["", "- <!-- memorybook format: 2 -->\n## A\n", "# A\n\n## B\n<!-- memorybook format: 2 -->\n"]
)
def test_only_the_header_names_a_format(text: str) -> None:
    assert format_of(text) == 1


@pytest.mark.parametrize("name", [JOURNAL, TRANSCRIPTS])
def test_a_database_of_a_newer_version_is_left_alone_and_told(book: Path, clock: Clock, name: str) -> None:
    path = book / ".memorybook" / name
    with closing(apsw.Connection(str(path))) as db:
        db.execute("PRAGMA user_version=99")
    talk = [{"role": "user", "content": "We decided to move billing to Kafka."}]
    with opened(book, clock) as memory:
        assert any("terse" in hit.snippet for hit in memory.search("how does the user like code?"))
        with pytest.raises(Unavailable, match=r"newer memorybook .version 99, .*update memorybook"):
            memory.add_messages("kafka", talk) if name == TRANSCRIPTS else memory.remember("Billing moves to Kafka.")
    with closing(apsw.Connection(str(path))) as db:
        assert db.execute("PRAGMA user_version").fetchall() == [(99,)]
