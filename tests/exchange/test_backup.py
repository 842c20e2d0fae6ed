"""Backups: everything that was acknowledged is in them, and a restore brings back all of it or nothing."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import CONFIG, NOW, Reopen, files
from forked import KILLED, ended, killing
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.model import Add, Entry
from memorybook.storage.sqlite import Connection, Store, _copy_pages, connect, copy_rows
from memorybook.storage.transcript_rows import MIGRATIONS

TALK = [{"id": "t1", "role": "user", "content": "I prefer green tea, never coffee."}]


@pytest.fixture
def archive(tmp_path: Path) -> str:
    return str(tmp_path / "book.tar.gz")


@pytest.fixture
def full(memory: Memory) -> Memory:
    """A book with an entry, notes, a session, a person's page with bytes that are not UTF-8, and an index."""
    memory.remember("The staging database is called heron.")
    memory.append("The billing service moved to Frankfurt.")
    memory.process_session_end(TALK, "tea")
    page = Path(memory.root, "projects", "港口.md")
    page.parent.mkdir()
    page.write_bytes(b"# Harbour\r\n\xff\xfe not UTF-8\n")
    os.utime(page, ns=(1_700_000_000_123_456_789, 1_700_000_000_123_456_789))
    assert memory.search("heron").hits
    return memory


def truth(root: str | Path) -> dict[str, tuple[bytes, int, int]]:
    """Bytes, time and permissions of every document."""
    found = {}
    for path in sorted(Path(root).rglob("*.md")):
        if path.is_file():
            status = path.stat()
            found[str(path.relative_to(root))] = (path.read_bytes(), status.st_mtime_ns, stat.S_IMODE(status.st_mode))
    return found


def opened(root: str | Path, **settings: Any) -> Memory:
    return memorybook.open(str(root), config=CONFIG._replace(**settings), clock=lambda: NOW)


def test_a_restored_book_is_the_same_book(full: Memory, archive: str, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    found = full.backup(archive, progress=lambda done, total: told.append((done, total)))
    assert stat.S_IMODE(os.stat(archive).st_mode) == 0o600
    assert (found.documents, found.left_out) == (len(truth(full.root)), ())
    assert told[-1] == (found.bytes, found.bytes)
    before = truth(full.root)
    restored = full.restore(archive, into=str(tmp_path / "deep" / "other"))
    assert (restored.documents, restored.bytes, restored.kept) == (found.documents, found.bytes, "")
    assert truth(restored.root) == before
    with opened(restored.root) as other:
        assert "heron" in other.search("what is the staging database called?").hits[0].snippet
        assert "green tea" in other.get("turn:t1").json()["text"]
        assert other.history().json()["operations"] == full.history().json()["operations"]
        assert other.process_session_end(TALK, "tea").operation is None, "what was memorized is known"
        other.undo(full.history().json()["operations"][0]["id"])
    machine = Path(restored.root, ".memorybook")
    assert stat.S_IMODE(machine.stat().st_mode) == 0o700
    assert stat.S_IMODE((machine / "journal.sqlite").stat().st_mode) == 0o600
    assert (machine / ".gitignore").read_text() == "*\n"
    assert sorted(os.listdir(tmp_path)) == ["book", "book.tar.gz", "deep"]


WRITER = """
import sys, memorybook
from memorybook.config.settings import Config
memory = memorybook.open(sys.argv[1], config=Config(timezone="UTC", vector_enabled=False))
for number in range(10_000):
    memory.append(f"line number {number}.")
    memory.book.transcripts.append(
        memorybook.model.Session(uuid="s"),
        [memorybook.model.Turn(id=f"t{number}", session="s", text=f"turn {number}")],
    )
    print(number, flush=True)
"""


def test_every_line_acknowledged_before_its_start_is_in_a_backup_under_load(
    full: Memory, archive: str, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", "import memorybook.model\n" + WRITER, full.root]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for round in range(3):
            acknowledged = [int(writer.stdout.readline()) for _ in range(20)][-1]
            full.backup(archive)
            restored = full.restore(archive, into=str(tmp_path / f"r{round}")).root
            with opened(restored, vector_enabled=False) as other:
                lines = "".join(path.read_text(encoding="utf-8") for path in Path(restored, "daily").glob("*.md"))
                turns = {turn.id for turn in other.book.transcripts.turns("s")}
                assert not [n for n in range(acknowledged + 1) if f"line number {n}." not in lines]
                assert not [n for n in range(acknowledged + 1) if f"t{n}" not in turns]
                assert other.status()["pending_operations"] == 0
        writer.kill()


def test_whoever_writes_while_the_databases_are_copied_does_not_wait_and_is_not_in_it(
    full: Memory, archive: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operations = full.history().json()["operations"]
    copied: list[str] = []

    def copy_pages(source: Connection, path: str) -> None:
        with opened(full.root) as other:
            other.remember(f"Said meanwhile, {len(copied)}.")
            other.process_session_end([{"id": f"m{len(copied)}", "role": "user", "content": "Said meanwhile."}], "tea")
        copied.append(os.path.basename(path))
        _copy_pages(source, path)

    monkeypatch.setattr("memorybook.storage.sqlite._copy_pages", copy_pages)
    full.backup(archive)
    monkeypatch.undo()
    assert sorted(copied) == ["journal.sqlite", "transcripts.sqlite"]
    restored = full.restore(archive, into=str(tmp_path / "other")).root
    with opened(restored) as other:
        assert other.history().json()["operations"] == operations
        assert [turn.id for turn in other.book.transcripts.turns("tea")] == ["t1"]
        assert "meanwhile" not in str(truth(restored))


def test_an_operation_that_was_under_way_is_finished_in_the_restored_book(
    full: Memory, archive: str, tmp_path: Path
) -> None:
    entry = Entry(id="k1k2k3", text="Begun before the crash.", category="fact", score=0.6, scored=NOW.date(),
                  last_activated=NOW.date(), created=NOW)  # fmt: skip
    result = full.book.apply([Add(entry=entry)], actor="user", door="cli")
    assert result.operation is not None
    Path(full.root, "MEMORY.md").write_bytes(Path(full.root, "MEMORY.md.bak").read_bytes())
    journal = connect(os.path.join(full.root, ".memorybook", "journal.sqlite"), durable=True)
    journal.execute("UPDATE operations SET done=0 WHERE id=?", (result.operation.id,))
    journal.close()
    full.backup(archive)
    restored = full.restore(archive, into=str(tmp_path / "other")).root
    assert "Begun before the crash." in Path(restored, "MEMORY.md").read_text(encoding="utf-8")
    with opened(restored) as other:
        assert other.book.journal.pending() == []


def test_what_is_none_of_the_books_is_left_out_and_named(full: Memory, archive: str) -> None:
    Path(full.root, "photo.jpg").write_bytes(b"x")
    Path(full.root, ".git").mkdir()
    Path(full.root, ".git", "config").write_text("x")
    os.symlink("/etc/passwd", Path(full.root, "link.md"))
    assert full.backup(archive).left_out == ("link.md", "photo.jpg")
    assert full.backup(f"{full.root}/in the book.tar.gz").left_out == ("link.md", "photo.jpg")
    with tarfile.open(archive) as tar:
        names = tar.getnames()
    assert names[0] == "backup.json"
    assert {name for name in names if ".memorybook" in name} == {
        "book/.memorybook/journal.sqlite", "book/.memorybook/transcripts.sqlite",
    }  # fmt: skip


@pytest.mark.parametrize(
    "name", ["会议\u3000记录", "a\u00a0b", "icon \ue000", "\U000f0000", "\u0378", "a\u2003b", "e\u0301"]
)
def test_any_name_that_a_document_may_have_comes_back(memory: Memory, archive: str, tmp_path: Path, name: str) -> None:
    Path(memory.root, "notes").mkdir(parents=True)
    Path(memory.root, "notes", f"{name}.md").write_text("# A page\n", encoding="utf-8")
    assert [info.path for info in memory.book.documents.list()] == [f"notes/{name}.md"]
    memory.backup(archive)
    assert Path(memory.restore(archive, into=str(tmp_path / "other")).root, "notes", f"{name}.md").exists()


def test_a_document_that_a_person_takes_away_in_the_midst_is_no_failure(
    full: Memory, archive: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = [*full.book.documents.list()]
    monkeypatch.setattr(full.book.documents, "list", lambda: listed)
    os.unlink(Path(full.root, "MEMORY.md"))
    assert full.backup(archive).documents == len(listed) - 1
    with tarfile.open(archive) as tar:
        assert "book/MEMORY.md" not in tar.getnames()


def test_a_backup_is_replaced_and_anything_else_is_not(full: Memory, archive: str, tmp_path: Path) -> None:
    full.backup(archive)
    full.append("one more")
    full.backup(archive)
    mine = tmp_path / "mine.txt"
    mine.write_text("my only copy")
    with pytest.raises(InvalidInput, match="is no backup of a book"):
        full.backup(str(mine))
    assert mine.read_text() == "my only copy"
    with pytest.raises(NotFound, match="there is no book"):
        opened(tmp_path / "none").backup(archive)
    os.mkfifo(tmp_path / "pipe")
    for place in ("/dev/null", str(tmp_path / "pipe")):
        for write in (full.backup, full.export):
            with pytest.raises(InvalidInput, match="is no regular file"):
                write(place)
    assert sorted(os.listdir(tmp_path)) == ["book", "book.tar.gz", "mine.txt", "pipe"]


def test_a_book_that_is_there_gives_way_only_when_asked_and_is_kept(full: Memory, archive: str) -> None:
    node = full.book.storage.identity(make=True)
    full.backup(archive)
    full.append("said after the backup")
    Path(full.root).chmod(0o750)
    before = files(full.root, "*.md")
    with pytest.raises(Conflict, match="is not empty"):
        full.restore(archive)
    assert files(full.root, "*.md") == before
    restored = full.restore(archive, replace=True)
    assert "said after the backup" not in "".join(map(str, files(full.root, "*.md").values()))
    assert files(restored.kept, "*.md") == before
    assert "heron" in full.search("staging database").hits[0].snippet, "the open memory goes on with the new one"
    full.append("and it goes on")
    assert full.restore(archive, replace=True).kept != restored.kept
    assert [stat.S_IMODE(os.stat(Path(full.root, name)).st_mode) for name in ("", "daily", ".memorybook")] == [
        0o750, 0o750, 0o700,
    ]  # fmt: skip
    copy = full.restore(archive, into=f"{full.root} copy").root
    assert stat.S_IMODE(os.stat(copy).st_mode) == 0o700
    with opened(copy) as other:
        assert other.book.storage.identity(make=False) == "", "it is another book"
    assert full.book.storage.identity(make=False) == node, "it goes on to hand out"
    shutil.rmtree(full.root)
    full.restore(archive)
    assert full.book.storage.identity(make=False) == node


def test_turns_kept_elsewhere_are_backed_up_and_not_restored_to_where_nobody_looks(
    full: Memory, archive: str, tmp_path: Path, reopen: Reopen
) -> None:
    elsewhere = CONFIG.transcripts._replace(db_path=str(tmp_path / "turns.sqlite"))
    memory = reopen(transcripts=elsewhere)
    memory.process_session_end([{"id": "x1", "role": "user", "content": "The museum opens at ten."}], "museum")
    memory.backup(archive)
    with pytest.raises(InvalidInput, match=r"transcripts\.db_path keeps turns outside"):
        memory.restore(archive, into=str(tmp_path / "other"))
    restored = full.restore(archive, into=str(tmp_path / "other"))
    with opened(restored.root) as other:
        assert other.get("turn:x1").json()["text"] == "The museum opens at ten."


def test_rows_of_a_server_are_copied_one_by_one(full: Memory, tmp_path: Path) -> None:
    store = Store(os.path.join(full.root, ".memorybook", "transcripts.sqlite"), MIGRATIONS)
    rows = Store(str(tmp_path / "rows.sqlite"), MIGRATIONS)
    copy_rows(store, rows)
    for each in (store, rows):
        each.close()
    with opened(full.root, transcripts=CONFIG.transcripts._replace(db_path=str(tmp_path / "rows.sqlite"))) as other:
        mine = full.book.transcripts
        assert other.book.transcripts.sessions() == mine.sessions()
        assert other.book.transcripts.turns("tea") == mine.turns("tea")
        assert other.book.transcripts.revision() == mine.revision()


# --- damaged and crafted ---------------------------------------------------------------------------


def _crafted(archive: str, change: Callable[[dict[str, Any], list[Any]], object]) -> str:
    """An archive like a real one, with a change to its manifest and its members."""
    members: list[Any] = []
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member)
            members.append([member, content.read() if content else b""])
    told = json.loads(members[0][1])
    change(told, members)
    members[0][1] = json.dumps(told).encode()
    crafted = f"{archive}.crafted"
    with tarfile.open(crafted, "w:gz") as tar:
        for member, data in members:
            member.size = len(data) if member.isreg() else 0
            tar.addfile(member, io.BytesIO(data))
    return crafted


def _path(name: Any) -> Any:
    def change(told: dict[str, Any], members: list[Any]) -> None:
        told["files"][0]["path"], members[1][0].name = name, f"book/{name}"

    return change


def _claim(field: str, value: Any, at: int = 0) -> Any:
    """A file whose manifest, and mode, say something else than it is."""

    def change(told: dict[str, Any], members: list[Any]) -> None:
        told["files"][at][field] = value
        if field == "mode" and isinstance(value, int):
            members[1][0].mode = value

    return change


def _member(**fields: Any) -> Any:
    def change(told: dict[str, Any], members: list[Any]) -> None:
        for name, value in fields.items():
            setattr(members[1][0], name, value)

    return change


def _database(sql: str = "", *, data: bytes = b"", known: bool = True) -> Any:
    """With other bytes in the place of the last database, or what the SQL makes of it."""

    def change(told: dict[str, Any], members: list[Any]) -> None:
        assert told["files"][-1]["path"].endswith(".sqlite")
        made = data
        if sql:
            with tempfile.TemporaryDirectory() as folder:
                place = Path(folder, "x.sqlite")
                place.write_bytes(members[-1][1] if known else b"")
                with closing(sqlite3.connect(place)) as raw:
                    raw.executescript(f"PRAGMA journal_mode=DELETE; {sql}")
                made = place.read_bytes()
        members[-1][1] = made
        told["files"][-1] |= {"bytes": len(made), "sha256": sha256(made).hexdigest()}

    return change


NO_PATHS = ["../outside.md", "/etc/outside.md", "a/../../b.md", "a//b.md", ".git/hooks.md", "a\\b.md", "x\n.md",
            "run.sh", ".memorybook/index.sqlite", ".memorybook/../../x.md", "", 5]  # fmt: skip
CRAFTED = [
    *((_path(name), "which is none of a book's") for name in NO_PATHS),
    (_member(type=tarfile.SYMTYPE, linkname="/etc/passwd"), "is missing or another one"),
    (_member(type=tarfile.LNKTYPE, linkname="book/MEMORY.md"), "is missing or another one"),
    (_member(mode=0o4755), "is missing or another one"),
    (lambda told, members: members[1].__setitem__(1, b"#" * len(members[1][1])), "has other bytes than it should"),
    (lambda told, members: members.append([tarfile.TarInfo("book/more.md"), b"more"]), "more in it than it says"),
    (lambda told, members: members.pop(), "is missing or another one"),
    (lambda told, members: told["files"].append(told["files"][0]), "has a file twice"),
    (lambda told, members: told.update(version=2), "made by a newer memorybook"),
    (lambda told, members: setattr(members[0][0], "name", "other.json"), "is no backup of a book"),
    *((_claim("mode", mode), "permissions") for mode in (0o4644, 0o2644, 0o1644, 0o755, 0o700, 0o100644, -1, "all")),
    *((_claim("bytes", size), "a size that no backup has") for size in (-1, (64 << 20) + 1, 1 << 40, 1 << 63)),
    (_claim("bytes", 1 << 60, at=-1), "a size that no backup has"),
    (_claim("bytes", 1 << 40, at=-1), "more than it can"),
    (_database(data=b"no database at all" * 100), "not a database"),
    (_database("CREATE TABLE contacts (name)", known=False), "tables are not those"),
    (_database("CREATE TABLE more (x)"), "tables are not those"),
    (_database("CREATE TRIGGER t AFTER INSERT ON turns BEGIN DELETE FROM turns; END"), "tables are not those"),
    (_database("CREATE VIEW v AS SELECT 1"), "tables are not those"),
    (_database("DROP TABLE turns"), "tables are not those"),
    (_database("PRAGMA user_version=99"), "newer memorybook"),
    (_database("PRAGMA user_version=0"), "tables are not those"),
]


def test_an_archive_that_no_backup_makes_restores_nothing(full: Memory, archive: str, tmp_path: Path) -> None:
    full.backup(archive)
    for change, why in CRAFTED:
        crafted = _crafted(archive, change)
        before = set(tmp_path.rglob("*"))
        with pytest.raises(InvalidInput, match=why):
            full.restore(crafted, into=str(tmp_path / "other"))
        assert set(tmp_path.rglob("*")) == before


def test_no_damage_of_an_archive_goes_unnoticed(full: Memory, archive: str, tmp_path: Path) -> None:
    full.backup(archive)
    whole = Path(archive).read_bytes()
    damaged = tmp_path / "damaged.tar.gz"
    cuts = [whole[: len(whole) * part // 7] for part in range(7)]
    flipped = [
        whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :] for at in range(30, len(whole), len(whole) // 12)
    ]
    for data in [*cuts, *flipped, gzip.compress(b"x" * 2000), b"nothing at all"]:
        damaged.write_bytes(data)
        with pytest.raises(InvalidInput):
            full.restore(str(damaged), into=str(tmp_path / "other"))
        assert not (tmp_path / "other").exists()
    with pytest.raises(NotFound, match="no file"):
        full.restore(str(tmp_path / "none.tar.gz"))
    with pytest.raises(InvalidInput, match="is a folder"):
        full.restore(str(tmp_path))


# --- killed ------------------------------------------------------------------------------------------


def killed_at(step: int, work: Callable[[Memory], object], root: str) -> bool:
    """Whether a process that works on the book was killed at this of its steps on the disk."""

    def working() -> None:
        left = [None] * (step + 1)
        for name in ("fsync", "rename", "mkdir"):
            setattr(os, name, killing(getattr(os, name), left))
        work(memorybook.open(root, config=CONFIG))

    code = ended(working)
    assert code in (0, KILLED)
    return code == KILLED


def test_a_restore_that_is_killed_leaves_nothing_half(full: Memory, archive: str, tmp_path: Path) -> None:
    full.backup(archive)
    full.append("said after the backup")
    wanted = {name: row[0] for name, row in truth(full.restore(archive, into=str(tmp_path / "whole")).root).items()}
    old = files(full.root, "*.md")
    root = tmp_path / "target"
    step = 0
    while killed_at(step, lambda memory: memory.restore(archive), str(root)):
        assert not root.exists() or files(root, "*.md") == wanted
        if root.exists():
            break
        step += 4
    step = 0
    while killed_at(step, lambda memory: memory.restore(archive, replace=True), full.root):
        assert files(full.root, "*.md") in (old, wanted)
        if files(full.root, "*.md") == wanted:
            break
        step += 4
    assert files(full.root, "*.md") == wanted
    assert files(root, "*.md") == wanted


def test_a_backup_that_is_killed_leaves_the_one_before(full: Memory, archive: str, tmp_path: Path) -> None:
    full.backup(archive)
    before = Path(archive).read_bytes()
    for step in range(3):
        assert killed_at(step, lambda memory: memory.backup(archive), full.root)
        assert Path(archive).read_bytes() == before
    full.backup(archive)
    assert sorted(os.listdir(tmp_path)) == ["book", "book.tar.gz"], "what it left is cleared away"
