"""What others do to a book behind its back: it is noticed, said, and can be taken back."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TypeVar

import apsw
import pytest

import memorybook
from memorybook.book.book import Group
from memorybook.book.transaction import Pages
from memorybook.config.settings import Config
from memorybook.errors import MemoryBookError, NotFound, Unavailable
from memorybook.memory import Memory
from memorybook.model import Add, Change, Entry
from memorybook.storage.journal import SqliteJournal
from memorybook.storage.sqlite import Connection

T = TypeVar("T")

CONFIG = Config(timezone="UTC", vector_enabled=False)
FACTS = (
    "The staging database is called heron.",
    "小林对芒果过敏。",
    *(f"Bird {n} nests in box {n}." for n in range(6)),
)


def opened(root: Path) -> Memory:
    return memorybook.open(str(root), config=CONFIG)


def said(text: str, id: str = "m1") -> dict[str, str]:
    return {"role": "user", "content": text, "id": id, "timestamp": "2026-02-24T10:00:00Z"}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A book with entries, a session that was memorized, and one that is held."""
    root = tmp_path_factory.mktemp("model") / "book"
    with opened(root) as memory:
        for fact in FACTS:
            memory.remember(fact)
        memory.process_session_end([said("Please remember that Mira drinks green tea.")], "s1")
        memory.open_session("live")
        memory.search("heron")
    return root


@pytest.fixture
def root(model: Path, tmp_path: Path) -> Path:
    """A copy of the model."""
    return shutil.copytree(model, tmp_path / "book")


@pytest.fixture
def memory(root: Path) -> Iterator[Memory]:
    with opened(root) as memory:
        yield memory


def texts(memory: Memory) -> set[str]:
    return {one.entry.text for one in memory.entries(limit=200).entries}


def red(memory: Memory) -> str:
    return " ".join(memory.status()["degraded"])


# --- databases -----------------------------------------------------------------------------------


def deleted(path: Path) -> None:
    path.unlink()
    for end in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{path}{end}").unlink()


def older(path: Path) -> None:
    deleted(path)
    shutil.copyfile(f"{path}.old", path)


def another(path: Path) -> None:
    deleted(path)
    with opened(path.parent.parent.parent / "other") as other:
        other.process_session_end([said("Please remember that Otto skis.")], "s1")
    shutil.copyfile(path.parent.parent.parent / "other" / ".memorybook" / path.name, path)


def garbage(path: Path) -> None:
    deleted(path)
    path.write_bytes(os.urandom(20_000))


def cut(path: Path) -> None:
    size = path.stat().st_size
    os.truncate(path, size // 2)


def a_folder(path: Path) -> None:
    deleted(path)
    path.mkdir()


def another_programs(path: Path) -> None:
    deleted(path)
    db = apsw.Connection(str(path))
    db.execute("CREATE TABLE something (x); PRAGMA user_version=2").fetchall()
    db.close()


def without_a_table(path: Path) -> None:
    db = apsw.Connection(str(path))
    db.execute(f"DROP TABLE {'chats' if path.stem == 'transcripts' else 'parked'}").fetchall()
    db.close()


@pytest.mark.parametrize("name", ["transcripts", "journal"])
@pytest.mark.parametrize("warm", [False, True], ids=["opened anew", "open"])
@pytest.mark.parametrize(
    "damage",
    [deleted, older, another, garbage, cut, a_folder, another_programs, without_a_table],
    ids=lambda f: f.__name__,
)
def test_a_broken_database_turns_status_red_and_a_search_goes_on(
    root: Path, name: str, damage: Callable[[Path], None], warm: bool
) -> None:
    path = root / ".memorybook" / f"{name}.sqlite"
    shutil.copyfile(path, f"{path}.old")
    with opened(root) as memory:
        memory.process_session_end([said("请记住：小林划船。", "m2")], "s2")
        memory.add_messages("live", [said("The boat leaves at nine.", "m9")])
        if warm:
            memory.search("heron")
    with opened(root) as memory:
        if warm:
            memory.search("heron")
        damage(path)
        if not warm:
            memory.close()
            memory = opened(root)
        assert str(path) in red(memory)
        answer = memory.search("staging database")
        assert "heron" in answer.hits[0].passage.text
        assert answer.state["degraded"] or damage is without_a_table
        assert "heron" in memory.recall("staging database").text
        assert "heron" in memory.retrieve_and_inject("staging database").text
        memory.recall_topic("小林 对什么过敏")
        memory.recollect("上次我们聊了什么")
        assert memory.sessions().sessions
        told = memory.recall_history()
        assert told.sessions
        if name == "transcripts" and damage in (garbage, cut, a_folder):
            assert any(str(path) in reason for reason in told.degraded)
        for verb in (memory.history, lambda: memory.add_messages("live", [said("Hello", "m10")])):
            with suppress(MemoryBookError):
                verb()
        memory.close()


def test_an_older_copy_stays_noticed_however_much_is_written_to_it(root: Path) -> None:
    path = root / ".memorybook" / "journal.sqlite"
    shutil.copyfile(path, f"{path}.old")
    with opened(root) as memory:
        memory.remember("Ada rows.")
    shutil.copyfile(path, f"{path}.right")
    older(path)
    with opened(root) as memory:
        for n in range(5):
            memory.remember(f"Boat {n} is afloat.")
        assert "older copy" in red(memory)
    shutil.copyfile(f"{path}.right", path)
    with opened(root) as memory:
        assert red(memory) == ""


def test_who_means_it_deletes_the_mark(root: Path) -> None:
    path = root / ".memorybook" / "transcripts.sqlite"
    deleted(path)
    with opened(root) as memory:
        assert f"delete '{path}.mark' if it is meant to be so" in red(memory)
        Path(f"{path}.mark").unlink()
        assert red(memory) == ""


def test_two_processes_and_a_backup_leave_the_status_green(root: Path, tmp_path: Path) -> None:
    with opened(root) as one, opened(root) as other:
        for n in range(3):
            one.remember(f"One says {n}.")
            other.process_session_end([said(f"Please remember that Otto says {n}.")], f"o{n}")
        assert red(one) == red(other) == ""
        one.backup(str(tmp_path / "b.tar.gz"))
        one.restore(str(tmp_path / "b.tar.gz"), into=str(tmp_path / "restored"))
    with opened(tmp_path / "restored") as memory:
        memory.remember("And on it goes.")
        assert red(memory) == ""


@pytest.mark.parametrize("column", ["tool_calls", "metadata", "ai_replies", "created"])
def test_a_row_that_nobody_here_wrote_is_told_in_a_sentence(root: Path, column: str) -> None:
    db = apsw.Connection(str(root / ".memorybook" / "transcripts.sqlite"))
    db.execute(f"UPDATE chats SET {column}='{{no'").fetchall()
    db.close()
    with opened(root) as memory, pytest.raises(Unavailable, match=r"has '\{no' where"):
        list(memory.book.transcripts.turns("s1"))


# --- MEMORY.md -----------------------------------------------------------------------------------


def settled(page: Path) -> None:
    """It was a while ago that somebody wrote it."""
    if page.exists():
        os.utime(page, (time.time() - 60,) * 2)


LOSSES: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "emptied": lambda page: page.write_bytes(b""),
    "blank": lambda page: page.write_bytes(b"\n\n"),
    "cut in the middle": lambda page: os.truncate(page, page.stat().st_size // 2),
    "cut at the end": lambda page: os.truncate(page, page.stat().st_size - 30),
    "written anew": lambda page: page.write_text("# 另一本\n", encoding="utf-8"),
}


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("writes", [0, 1, 50])
def test_what_another_program_takes_out_of_memory_md_is_said_and_comes_back(
    memory: Memory, loss: str, writes: int
) -> None:
    page, known = Path(memory.root, "MEMORY.md"), texts(memory)
    LOSSES[loss](page)
    settled(page)
    assert "out of MEMORY.md: have them back with memorybook undo MEMORY.md" in red(memory)
    memory.book.apply_each([Group(None, changes) for changes in additions(writes)], actor="user", door="python")
    assert "out of MEMORY.md" in red(memory)
    assert memory.undo("MEMORY.md", dry_run=True).dry_run
    assert memory.undo("MEMORY.md").kind == "loss"
    assert known <= texts(memory)
    assert len(texts(memory)) == len(known) + writes
    assert red(memory) == ""
    with pytest.raises(NotFound, match=r"no other program took anything from MEMORY\.md"):
        memory.undo("MEMORY.md")


def additions(many: int) -> Iterator[list[Change]]:
    day = date(2026, 2, 24)
    for n in range(many):
        new = Entry(
            id=f"new{n:03}", text=f"Number {n} is new.", category="fact", score=0.5, scored=day, last_activated=day
        )
        yield [Add(entry=new)]


def test_what_was_forgotten_since_does_not_come_back(memory: Memory) -> None:
    page = Path(memory.root, "MEMORY.md")
    kept = page.read_bytes()
    page.write_bytes(b"")
    settled(page)
    assert red(memory)
    page.write_bytes(kept)
    settled(page)
    memory.forget(query="小林对芒果过敏")
    page.write_bytes(b"")
    settled(page)
    assert red(memory)
    memory.undo("MEMORY.md")
    assert "heron" in str(texts(memory))
    assert "芒果" not in str(texts(memory))


def test_few_lines_that_a_person_takes_out_are_meant(memory: Memory) -> None:
    page = Path(memory.root, "MEMORY.md")
    text = page.read_text(encoding="utf-8")
    page.write_text(text[: text.rindex("### ")], encoding="utf-8")
    settled(page)
    assert red(memory) == ""
    assert len(texts(memory)) == len(FACTS)


@pytest.mark.parametrize("cuts", [(0,), (0, 3), (0, 4), (5,), (0, 10, 4)])
@pytest.mark.parametrize(("old", "new", "question"), [("heron", "crane", "staging database"), ("芒果", "榴莲", "过敏")])
def test_entries_stay_visible_while_an_editor_empties_the_file_and_fills_it(
    memory: Memory, cuts: tuple[int, ...], old: str, new: str, question: str
) -> None:
    page, known = Path(memory.root, "MEMORY.md"), texts(memory)
    text = page.read_text(encoding="utf-8").replace(old, new)
    with page.open("w", encoding="utf-8") as editor:
        written = 0
        for cut in cuts:
            end = len(text) // cut if cut else 0
            editor.write(text[written:end])
            written = end
            editor.flush()
            assert old in memory.search(question).hits[0].passage.text
            assert texts(memory) == known
            assert red(memory) == ""
        editor.write(text[written:])
    assert new in memory.search(question).hits[0].passage.text
    assert red(memory) == ""


def test_entries_stay_visible_while_vim_renames_one_away_and_another_in(memory: Memory) -> None:
    import threading

    page = Path(memory.root, "MEMORY.md")
    text = page.read_text(encoding="utf-8")
    page.rename(f"{page}~")
    writer = threading.Timer(0.1, page.write_text, (text.replace("heron", "crane"), "utf-8"))
    writer.start()
    assert "crane" in memory.search("staging database").hits[0].passage.text
    writer.join()
    assert red(memory) == ""


# --- a book that was moved, a disk that refuses ---------------------------------------------------


@pytest.mark.parametrize(
    "verb",
    [
        lambda memory: memory.add_messages("live", [said("The boat leaves at nine.", "m9")]),
        lambda memory: memory.process_session_end([said("请记住：小林划船。", "m2")], "s2"),
        lambda memory: memory.open_session("other"),
        lambda memory: memory.remember("Ada rows."),
        lambda memory: memory.recall("what is the staging database called?"),
        lambda memory: memory.search("heron"),
    ],
    ids=["add_messages", "memorize", "open_session", "remember", "recall", "search"],
)
@pytest.mark.parametrize("warm", [False, True], ids=["just opened", "used"])
def test_no_book_is_made_where_one_was_moved_away(root: Path, verb: Callable[[Memory], object], warm: bool) -> None:
    with opened(root) as memory:
        if warm:
            memory.add_messages("live", [said("Hello", "m8")])
            memory.search("heron")
        root.rename(root.parent / "elsewhere")
        with suppress(MemoryBookError):
            verb(memory)
        assert not root.exists()


def test_a_new_book_is_made_by_whatever_writes_first(tmp_path: Path) -> None:
    with opened(tmp_path / "new") as memory:
        memory.open_session("live")
        assert memory.add_messages("live", [said("The boat leaves at nine.")]).new == 1


@pytest.mark.parametrize("broken", ["lock", "folder", "full", "page"])
def test_what_cannot_be_written_turns_status_red(memory: Memory, monkeypatch: pytest.MonkeyPatch, broken: str) -> None:
    real_open, real_write = os.open, os.write

    def refused(path: str, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        if path == "lock" and broken == "lock":
            raise PermissionError(13, "Permission denied")
        if str(path).startswith("probe-") and broken == "folder":
            raise OSError(30, "Read-only file system")
        return real_open(path, flags, mode, dir_fd=dir_fd)

    def full(descriptor: int, data: bytes) -> int:
        if broken == "full" and len(data) >= 2**16:
            raise OSError(28, "No space left on device")
        return real_write(descriptor, data)

    assert red(memory) == ""
    monkeypatch.setattr(os, "open", refused)
    monkeypatch.setattr(os, "write", full)
    if broken == "page":
        monkeypatch.setattr(os, "access", lambda path, mode, **_: not str(path).endswith("MEMORY.md"))
    assert "cannot be written" in red(memory)


@pytest.mark.parametrize(
    "name", ["transcripts.sqlite.mark", "journal.sqlite.mark", "memorize.lock", "embedding.lock", "purge.lock"]
)
def test_nobody_waits_for_a_pipe_in_the_place_of_a_file(root: Path, name: str) -> None:
    place = root / ".memorybook" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    with opened(root) as memory:
        memory.remember("Ada rows.")
        memory.process_session_end([said("请记住：小林划船。", "m2")], "s2")
        memory.tidy()
        assert "Ada rows." in texts(memory)


# --- an answer that never came -------------------------------------------------------------------


@pytest.mark.parametrize("text", ["Ada rows.", "小林划船。", FACTS[0], FACTS[1], "Ada  rows on\nFridays."])
def test_what_is_done_but_not_marked_is_no_failure_and_counts_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def full(*_: object, **__: object) -> None:
        raise Unavailable("the database cannot be used: database or disk is full")

    with opened(root) as memory:
        before = next((one.entry.hits for one in memory.entries(limit=50).entries if one.entry.text == text), 0)

        def unmarked(do: Callable[[], T]) -> T:
            with monkeypatch.context() as patched:
                patched.setattr(SqliteJournal, "done", full)
                return do()

        entry = unmarked(lambda: memory.remember(text).known.entry)
        assert entry.hits == before + 1
        assert memory.remember(text).known.entry.hits == before + 1  # nobody knows whether it was heard
        assert memory.remember(text).known.entry.hits == before + 2
        unmarked(lambda: memory.append(f"note: {text}"))
        assert memory.append(f"note: {text}").duplicate
        unmarked(lambda: memory.write_document("a.md", text))
        assert memory.write_document("a.md", text).operation is None


@pytest.mark.parametrize("anew", [False, True], ids=["same process", "another process"])
@pytest.mark.parametrize("text", ["Ada rows.", FACTS[0], FACTS[1]])
def test_what_was_half_written_is_finished_and_a_retry_counts_once(
    root: Path, monkeypatch: pytest.MonkeyPatch, text: str, anew: bool
) -> None:
    memory = opened(root)
    before = next((one.entry.hits for one in memory.entries(limit=50).entries if one.entry.text == text), 0)
    write = Pages.write

    def half(self: Pages) -> None:
        write(self)
        raise Unavailable("the disk is gone")

    with monkeypatch.context() as patched:
        patched.setattr(Pages, "write", half)
        with pytest.raises(Unavailable, match="what is missing of this change is done when that is possible"):
            memory.remember(text)
    if anew:
        memory.close()
        memory = opened(root)
    with memory:
        assert memory.remember(text).known.entry.hits == before + 1
        assert memory.remember(text).known.entry.hits == before + 2


# --- documents that are none ---------------------------------------------------------------------


@pytest.mark.parametrize("name", ["notes/hard.md", "notes/链接.md", "a.md", "daily/2026-02-24.md", "deep/er/x.md"])
@pytest.mark.parametrize("link", [os.link, os.symlink], ids=["hard", "soft"])
def test_linked_documents_are_named(
    memory: Memory, tmp_path: Path, name: str, link: Callable[[Path, Path], None]
) -> None:
    place, outside = Path(memory.root, name), tmp_path / "outside"
    place.parent.mkdir(parents=True, exist_ok=True)
    outside.mkdir()
    (outside / "a.md").write_text("the outer pelican 外面的鹈鹕\n", encoding="utf-8")
    link(outside / "a.md", place)
    for told in (memory.status()["warnings"], memory.sync()["warnings"]):
        assert any(one.startswith(f"{name} is not read: it ") for one in told)
    for question in ("pelican", "鹈鹕"):
        assert not any("pelican" in hit.passage.text for hit in memory.search(question).hits)


def test_links_that_lead_nowhere_and_linked_folders_are_named(memory: Memory, tmp_path: Path) -> None:
    notes, outside = Path(memory.root, "notes"), tmp_path / "outside"
    notes.mkdir()
    outside.mkdir()
    (outside / "a.md").write_text("the outer pelican\n")
    (notes / "lost.md").symlink_to(outside / "nothing.md")
    Path(memory.root, "linked").symlink_to(outside)
    Path(memory.root, "链接").symlink_to(outside)
    (notes / "bad\x7f.md").write_text("x")
    for told in (memory.status()["warnings"], memory.sync()["warnings"]):
        for name in ("notes/lost.md", "linked", "链接", "notes/bad\x7f.md"):
            assert any(one.startswith(f"{name} is not read: it ") for one in told), name
    assert not memory.search("pelican").has_relevant


@pytest.mark.parametrize(
    "data",
    [
        "# 笔记\n\n预发布数据库叫苍鹭，密码在保险柜里。\n".encode("gbk"),
        "预发布数据库叫苍鹭".encode("gb18030"),
        "# Notes\n\nThe walrus is called 苍鹭.\n".encode("utf-16"),
        "# 笔记\n\n数据库叫苍鹭。\n".encode("utf-16-be"),
        "# 笔记\n\n数据库叫苍鹭。\n".encode("utf-16-le"),
        "# Notes\n\nThe database is called 苍鹭, they say.\n".encode("utf-16-le"),
        "# Notes\n\nThe database is called 苍鹭, they say.\n".encode("utf-16-be"),
        "\ufeff# 笔记\n\n数据库叫苍鹭。\n".encode(),
        "数据库叫苍鹭。\n".encode() + b"\0" * 4000,
        "前一行\n".encode() + b"\0" * 4000 + "数据库叫苍鹭。\n".encode(),
        b"\0" * 512 + "数据库叫苍鹭。\n".encode(),
        b"the database is called " + "苍鹭\n".encode() + b"\0" * 9,
        "数据库叫苍鹭。".encode() + b"\0" * 512 + b"\n" + b"\0" * 4096 + b"\n",
    ],
    ids=[
        "gbk", "gb18030", "utf-16", "be", "le", "le en", "be en", "utf-8 with mark", "nuls at the end", "nuls between",
        "nuls at the start", "nine nuls", "nuls of two blocks",
    ],
)  # fmt: skip
def test_pages_in_other_encodings_are_read_and_go_on_in_utf_8(memory: Memory, data: bytes) -> None:
    page = Path(memory.root, "daily", "2026-01-01.md")
    page.parent.mkdir(exist_ok=True)
    page.write_bytes(data)
    assert "苍鹭" in str([hit.passage.text for hit in memory.search("苍鹭").hits])
    memory.book.documents.append("daily/2026-01-01.md", "- 新的一行")
    text = page.read_text(encoding="utf-8-sig")
    assert "苍鹭" in text
    assert text.endswith("- 新的一行\n")
    assert "\0" not in text


@pytest.mark.parametrize(
    "text", ["Un café déjà vu, naïve façade.\n", "Größe über Maß\n", "piñata mañana\n", "£5 ±3°\n"]
)
def test_western_pages_are_not_taken_for_chinese(memory: Memory, text: str) -> None:
    Path(memory.root, "a.md").write_bytes(text.encode("latin-1"))
    read = memory.book.documents.read("a.md").text
    assert read.encode("utf-8", "surrogateescape") == text.encode("latin-1")


# --- what killed processes leave -----------------------------------------------------------------


@pytest.mark.parametrize("name", ["monday.tar.gz", "备份.tar.gz", "a b.tar.gz", ".hidden.tar.gz", "x.tgz"])
def test_parts_of_killed_backups_go_with_the_next_one(memory: Memory, tmp_path: Path, name: str) -> None:
    (tmp_path / f".{name}.mb-tmp").write_bytes(b"half")
    (tmp_path / ".sunday.tar.gz.mb-tmp").write_bytes(b"half")
    (tmp_path / f".{name}.mb-tmp.parts").mkdir()
    (tmp_path / f".{name}.mb-tmp.parts" / "0").write_bytes(b"half")
    (tmp_path / ".mine.tmp").write_bytes(b"mine")
    memory.backup(str(tmp_path / "tuesday.tar.gz"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mine.tmp", "book", "tuesday.tar.gz"]


def test_errors_of_the_database_are_ours_whatever_they_are(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.search("heron")
    for kind in (
        apsw.FullError,
        apsw.SQLError,
        apsw.IOError,
        apsw.NoMemError,
        apsw.InterruptError,
        apsw.SchemaChangeError,
    ):

        def fails(self: Connection, kind: type[Exception] = kind) -> object:
            class Raw:
                in_transaction = False

                def execute(self, *_: object) -> object:
                    raise kind("it does not want to")

            return Raw()

        with monkeypatch.context() as patched:
            patched.setattr(Connection, "raw", property(fails))
            with pytest.raises(Unavailable, match="it does not want to"):
                memory.book.transcripts.sessions()
