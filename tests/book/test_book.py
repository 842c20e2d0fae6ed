"""Applying changes: one writer, whole or not at all, whatever a person or a crash does in between."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import NOW, Reopen, entry
from books import reopen as reopen
from memorybook.book.book import Book, Group
from memorybook.config.settings import Config
from memorybook.errors import Conflict, InvalidInput, NotFound, Unavailable
from memorybook.inference import local
from memorybook.model import Add, Append, Archive, Drop, Put, Reinforce, Remove, Session, Turn, Update
from memorybook.search.types import Query


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    with memorybook.open(str(tmp_path / "book"), config=Config(timezone="UTC"), clock=lambda: NOW) as memory:
        yield memory.book


def apply(book: Book, *changes: Any) -> Any:
    return book.apply(changes, actor="user", door="test")


def memory_md(book: Book) -> str:
    return Path(book.storage.root, "MEMORY.md").read_text(encoding="utf-8")


def test_one_operation_holds_all_its_changes_with_what_was_there_before(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa")), Add(entry=entry("bbbbbb")))
    result = apply(
        book,
        Update(id="aaaaaa", fields={"text": "changed"}, reason="edited"),
        Reinforce(id="bbbbbb"),
        Append(path="daily/2026-02-24.md", line="- 2026-02-24T10:00:00Z hello"),
    )
    [operation, first] = book.journal.operations()
    assert operation.id == result.operation.id
    assert [change.kind for change in operation.changes] == ["update", "reinforce", "append"]
    assert "statement aaaaaa" in (operation.changes[0].before or "")
    assert "changed" in (operation.changes[0].after or "")
    assert operation.changes[0].reason == "edited"
    assert operation.done
    assert [change.before for change in first.changes] == [None, None]


SAID = {
    "en": (
        "The rent of the flat goes up in March.",
        "The key is with the neighbour.",
        "My sister is allergic to nuts.",
    ),
    "zh": ("房租下个月涨到五千八。", "备用钥匙在邻居家。", "我妹妹对坚果过敏。"),
    "ja": ("家賃は来月から上がる。", "鍵は隣の人に預けた。", "妹はナッツのアレルギーがある。"),
    "ko": ("집세는 다음 달에 오른다.", "열쇠는 이웃에게 맡겼다.", "여동생은 견과류 알레르기가 있다."),
    "ru": ("Аренда вырастет в марте.", "Ключ лежит у соседки, а не дома.", "У сестры аллергия на орехи."),
}
ASKED = {
    "en": "Which sport did he play yesterday?", "zh": "航班几点起飞？", "ja": "飛行機は何時に出ますか",
    "ko": "비행기 몇 시에 출발해?", "ru": "Во сколько вылетает самолёт?",
}  # fmt: skip


class Reader:
    """Compares languages, and finds nothing."""

    name, dimensions, local = "use/any", 2, True

    def embed(self, texts: Any) -> Any:
        return (
            memoryview(struct.pack(f"{2 * len(texts)}f", *[1.0, 0.0] * len(texts))).cast("B").cast("f", (len(texts), 2))
        )


@pytest.mark.parametrize("written", SAID)
@pytest.mark.parametrize("backend", ["sqlite_hybrid", "sqlite_fts", "scan"])
def test_an_answer_that_could_not_compare_languages_says_so(tmp_path: Path, written: str, backend: Any) -> None:
    with memorybook.open(str(tmp_path), config=Config(backend=backend), clock=lambda: NOW) as memory:
        for text in SAID[written]:
            memory.remember(text)
        for asked, question in ASKED.items():
            answer = memory.search(question)
            told = [reason for reason in answer.state["degraded"] if "embeddings.model" in reason]
            alike = asked == written or (written, asked) == ("ja", "zh")
            compared = backend == "sqlite_hybrid" and written != "en"  # by the multilingual embedder
            assert len(told) == (not alike and not compared), (asked, answer)
            assert all(("提问" in reason) == (asked == "zh") for reason in told)


def test_an_answer_says_nothing_of_languages_where_they_are_compared_or_alike(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "a"), clock=lambda: NOW, embedder=Reader()) as memory:
        memory.remember(SAID["zh"][0])
        assert memory.search(ASKED["en"]).state["degraded"] == []
    with memorybook.open(str(tmp_path / "b"), clock=lambda: NOW) as memory:
        memory.remember(SAID["zh"][0])
        assert memory.search("PostgreSQL").state["degraded"] == []  # a name is of no language
        memory.remember(SAID["en"][0])
        assert memory.search(ASKED["en"]).state["degraded"] == []


def test_entries_are_added_updated_archived_and_removed(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa")), Add(entry=entry("bbbbbb")), Add(entry=entry("cccccc")))
    apply(book, Archive(id="bbbbbb"), Remove(id="cccccc"), Update(id="aaaaaa", fields={"tags": ("x",)}))
    found = {each.id: each for each in book.entries()}
    assert set(found) == {"aaaaaa", "bbbbbb"}
    assert found["bbbbbb"].archived
    assert found["aaaaaa"].tags == ("x",)
    text = memory_md(book)
    assert (
        text.index("## Active Memories") < text.index("[aaaaaa]") < text.index("## Archived") < text.index("[bbbbbb]")
    )


def test_an_id_that_is_taken_is_replaced(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa", "one")))
    result = apply(book, Add(entry=entry("aaaaaa", "two")))
    assert result.outcomes[0].entry.id != "aaaaaa"
    assert {each.text for each in book.entries()} == {"one", "two"}


def test_entries_of_one_time_stand_in_the_order_in_which_they_were_added(book: Book) -> None:
    apply(book, *(Add(entry=entry(id, created=NOW, score=score)) for id, score in (("a", 0.4), ("b", 0.8))))
    apply(book, Add(entry=entry("c", created=NOW)), Add(entry=entry("unknown")), Add(entry=entry("also")))
    made = {one.id: one.created for one in book.entries()}
    assert made.pop("unknown") is made.pop("also") is None
    assert sorted(made, key=lambda id: str(made[id])) == ["a", "b", "c"]
    assert made["a"] == NOW
    assert all(time is not None and time - NOW < timedelta(milliseconds=1) for time in made.values())


def test_nothing_is_written_when_one_change_cannot_be(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa")))
    before = memory_md(book)
    with pytest.raises(NotFound, match="'nope'"):
        apply(book, Update(id="aaaaaa", fields={"text": "half"}), Remove(id="nope"))
    with pytest.raises(InvalidInput, match="'mood'"):
        apply(book, Update(id="aaaaaa", fields={"mood": 1}))
    with pytest.raises(InvalidInput, match="score"):
        apply(book, Update(id="aaaaaa", fields={"score": 3.0}))
    assert memory_md(book) == before
    assert len(book.journal.operations()) == 1


def test_nothing_to_do_is_no_operation(book: Book) -> None:
    line = Append(path="daily/2026-02-24.md", line="- 2026-02-24T10:00:00Z hello")
    assert apply(book, line).operation is not None
    assert apply(book, line).operation is None
    assert apply(book, Drop(path="daily/2026-02-24.md", line="not there")).operation is None
    assert apply(book, Drop(path="sessions/none.md")).operation is None


def test_whole_documents_and_lines_come_and_go(book: Book) -> None:
    apply(book, Put(path="sessions/s.md", text="# one\n"), Append(path="notes.md", line="a"))
    apply(book, Put(path="sessions/s.md", text="# two\n"), Append(path="notes.md", line="b"))
    assert book.documents.read("sessions/s.md").text == "# two\n"
    assert apply(book, Put(path="sessions/s.md", text="# two\n")).operation is None
    apply(book, Drop(path="notes.md", line="a"), Drop(path="sessions/s.md"))
    assert book.documents.read("notes.md").text == "b\n"
    assert [info.path for info in book.documents.list()] == ["notes.md"]


def test_a_persons_edit_and_a_change_are_both_kept(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa", "likes tea")))
    path = Path(book.storage.root, "MEMORY.md")
    path.write_text("P.S. hi\n" + path.read_text(encoding="utf-8").replace("likes tea", "likes green tea"), "utf-8")
    apply(book, Add(entry=entry("bbbbbb")))
    text = memory_md(book)
    assert "likes green tea" in text
    assert "[bbbbbb]" in text
    assert "P.S. hi" in text


def test_a_save_in_the_very_moment_makes_the_change_start_anew(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Add(entry=entry("aaaaaa", "likes tea")))
    path = Path(book.storage.root, "MEMORY.md")
    write = book.documents.write
    saves = iter([True, True])

    def interrupted(name: str, text: str, *, expect: str | None) -> str:
        if next(saves, False):
            path.write_text("meanwhile\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
        return write(name, text, expect=expect)

    monkeypatch.setattr(book.documents, "write", interrupted)
    apply(book, Reinforce(id="aaaaaa"))
    [known] = book.entries()
    assert known.hits == 2
    assert "meanwhile" in memory_md(book)
    assert book.journal.pending() == []
    assert len(book.journal.operations()) == 2


def test_a_document_that_never_rests_is_a_conflict(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def always(*_: object, **__: object) -> str:
        raise Conflict("changed")

    monkeypatch.setattr(book.documents, "write", always)
    with pytest.raises(Conflict, match="kept changing"):
        apply(book, Add(entry=entry("aaaaaa")))
    assert book.journal.pending() == []


def test_over_two_hundred_archived_entries_move_to_the_archive(book: Book) -> None:
    old = [entry(f"old{n:03d}", archived=True, score=0.1, last_activated=date(2025, 1, 1 + n % 28)) for n in range(205)]
    apply(book, *(Add(entry=each) for each in old))
    assert len([each for each in book.memory().entries if each.archived]) == 200
    assert len(book.entries()) == 205
    assert Path(book.storage.root, "archive", "2026-02.md").exists()
    moved = next(each for each in book.entries() if each.id not in {e.id for e in book.memory().entries})
    assert book.search(Query(moved.text), limit=3).hits
    apply(book, Update(id=moved.id, fields={"tags": ("found",)}))
    assert next(each for each in book.entries() if each.id == moved.id).tags == ("found",)
    apply(book, Update(id=moved.id, fields={"archived": False, "score": 0.5}))
    assert book.memory().get(moved.id) is not None
    assert len(book.entries()) == 205


@pytest.mark.parametrize("step", ["write", "append", "done"])
def test_what_a_crash_left_half_done_is_finished_on_opening(tmp_path: Path, step: str) -> None:
    """A process dies by SIGKILL in the middle of an operation over three documents."""
    root = str(tmp_path / "book")
    script = f"""
import os, signal, sys, memorybook
from memorybook.model import *
memory = memorybook.open({root!r})
memory.remember("first")
book = memory.book
target = book.journal if {step!r} == "done" else book.documents
setattr(target, {step!r}, lambda *a, **k: os.kill(os.getpid(), signal.SIGKILL))
memory.book.apply(
    [Put(path="sessions/s.md", text="# s\\n"), Reinforce(id=book.entries()[0].id),
     Append(path="daily/2026-02-24.md", line="- 2026-02-24T10:00:00Z kept")],
    actor="user", door="test")
"""
    died = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr.decode()
    with memorybook.open(root) as memory:
        assert memory.book.journal.pending() == []
        assert memory.entries().entries[0].entry.hits == 2
        assert memory.search("kept").hits
        assert memory.get("sessions/s.md").json()["text"] == "# s"
        operations = len(memory.book.journal.operations())
    with memorybook.open(root) as memory:
        assert len(memory.book.journal.operations()) == operations
        assert memory.entries().entries[0].entry.hits == 2


def test_recovery_leaves_a_persons_later_edit_alone(tmp_path: Path) -> None:
    root = tmp_path / "book"
    with memorybook.open(str(root), clock=lambda: NOW) as memory:
        memory.book.apply([Add(entry=entry("aaaaaa", "old"))], actor="user", door="test")
        done = memory.book.journal.done
        memory.book.journal.done = lambda *a, **k: None  # type: ignore[method-assign]
        memory.book.apply([Update(id="aaaaaa", fields={"text": "new"})], actor="user", door="test")
        memory.book.journal.done = done  # type: ignore[method-assign]
    path = root / "MEMORY.md"
    path.write_text(path.read_text(encoding="utf-8").replace("\nnew\n", "\nby hand\n"), encoding="utf-8")
    with memorybook.open(str(root), clock=lambda: NOW) as memory:
        assert [each.text for each in memory.book.entries()] == ["by hand"]
        assert memory.book.journal.pending() == []


def test_threads_share_a_book(book: Book) -> None:
    def work(name: str) -> None:
        for number in range(10):
            apply(book, Add(entry=entry(f"{name}{number:05d}")))
            book.search(Query("statement"), limit=5)

    threads = [threading.Thread(target=work, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(book.entries()) == 40


def test_a_dead_index_is_replaced_by_scanning_and_said(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Append(path="notes.md", line="a zebra crossed the road"))

    def broken(*_: object) -> None:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(book.index, "sync", broken)
    for _ in range(2):
        answer = book.search(Query("zebra"), limit=5)
        assert answer.backend == "scan"
        assert "the disk is gone" in answer.state["degraded"][0]
        assert answer.hits[0].passage.path == "notes.md"
    monkeypatch.undo()
    assert book.search(Query("zebra"), limit=5).backend == "sqlite_hybrid"


def test_opening_and_searching_never_writes_the_documents(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa")))
    before = {path: os.stat(path).st_mtime_ns for path in Path(book.storage.root).rglob("*.md")}
    book.search(Query("statement"), limit=5)
    with memorybook.open(book.storage.root) as again:
        again.search("statement")
        again.status()
    assert {path: os.stat(path).st_mtime_ns for path in Path(book.storage.root).rglob("*.md")} == before


# --- crashes in between --------------------------------------------------------------------------


class Crash(BaseException):
    """The process dies here; nothing may catch it."""


def dying(times: int, real: Any, error: BaseException) -> Any:
    """A function that raises instead of its call number `times`, and works before and after."""
    left = [None] * times

    def run(*given: Any, **named: Any) -> Any:
        if left:
            left.pop()
            if not left:
                raise error
        return real(*given, **named)

    return run


def reopened(book: Book) -> Book:
    return memorybook.open(book.storage.root, config=Config(timezone="UTC"), clock=lambda: NOW).book


@pytest.mark.parametrize("times", [1, 2, 3])
def test_an_entry_that_comes_back_from_the_archive_is_never_nowhere(
    book: Book, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    archive = Path(book.storage.root, "archive", "2026-01.md")
    archive.parent.mkdir(parents=True)
    archive.write_text("# Archive 2026-01\n\n### [zzzzzz] fact | 0.10 | 2026-01-10 | 2\nold\n", encoding="utf-8")
    apply(book, Add(entry=entry("aaaaaa")))
    monkeypatch.setattr(book.documents, "write", dying(times, book.documents.write, Crash()))
    try:
        apply(book, Update(id="zzzzzz", fields={"archived": False, "score": 0.9, "scored": NOW.date()}))
    except Crash:
        assert times < 3
    monkeypatch.undo()
    assert "zzzzzz" in memory_md(book) + archive.read_text(encoding="utf-8")
    again = reopened(book)
    assert "[zzzzzz]" in memory_md(again)
    assert "zzzzzz" not in archive.read_text(encoding="utf-8")
    assert {each.id: each.score for each in again.entries()}["zzzzzz"] == 0.9
    again.close()


def test_an_entry_that_stands_in_two_documents_is_removed_from_both(book: Book) -> None:
    apply(book, Add(entry=entry("aaaaaa", "doubled")))
    archive = Path(book.storage.root, "archive", "2026-01.md")
    archive.parent.mkdir()
    archive.write_text("# Archive 2026-01\n\n### [aaaaaa] fact | 0.10 | 2026-01-10 | 2\ndoubled\n", encoding="utf-8")
    apply(book, Remove(id="aaaaaa"))
    assert book.entries() == []


def test_a_change_that_failed_does_not_come_true_later(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Add(entry=entry("aaaaaa")))
    monkeypatch.setattr(book.documents, "write", dying(1, book.documents.write, OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        apply(book, Add(entry=entry("bbbbbb")))
    assert book.journal.pending() == []
    again = reopened(book)
    assert [each.id for each in again.entries()] == ["aaaaaa"]
    again.close()


def test_a_change_that_failed_half_way_is_finished_by_the_next(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book.documents, "append", dying(1, book.documents.append, OSError("no space")))
    with pytest.raises(OSError, match="no space"):
        apply(book, Add(entry=entry("aaaaaa")), Append(path="daily/2026-02-24.md", line="- 2026-02-24T10:00:00Z x"))
    assert len(book.journal.pending()) == 1
    apply(book, Add(entry=entry("bbbbbb")))
    assert book.journal.pending() == []
    assert book.documents.read("daily/2026-02-24.md").text == "- 2026-02-24T10:00:00Z x\n"
    assert {each.id for each in book.entries()} == {"aaaaaa", "bbbbbb"}


def test_a_save_of_one_document_after_another_was_written_stands(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Put(path="sessions/s.md", text="one\n"))
    page = Path(book.storage.root, "sessions", "s.md")
    write = book.documents.write

    def interrupted(path: str, text: str, *, expect: str | None) -> str:
        if path == "sessions/s.md":
            page.write_text("by hand\n", encoding="utf-8")
        return write(path, text, expect=expect)

    monkeypatch.setattr(book.documents, "write", interrupted)
    result = apply(book, Add(entry=entry("aaaaaa")), Put(path="sessions/s.md", text="two\n"))
    assert result.operation is not None
    assert page.read_text(encoding="utf-8") == "by hand\n"
    assert [each.id for each in book.entries()] == ["aaaaaa"]
    assert book.journal.pending() == []


@pytest.mark.parametrize("text", [None, "two\n"])
def test_recovery_leaves_a_document_alone_that_a_person_wrote_since(
    book: Book, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    change = Drop(path="sessions/s.md") if text is None else Put(path="sessions/s.md", text=text)
    apply(book, Put(path="sessions/s.md", text="one\n"))
    for name in ("write", "remove"):
        monkeypatch.setattr(book.documents, name, dying(1, getattr(book.documents, name), Crash()))
    with pytest.raises(Crash):
        apply(book, change)
    monkeypatch.undo()
    page = Path(book.storage.root, "sessions", "s.md")
    page.write_text("by hand\n", encoding="utf-8")
    again = reopened(book)
    assert page.read_text(encoding="utf-8") == "by hand\n"
    assert again.journal.pending() == []
    again.close()


def test_items_lines_and_removals_are_finished_after_a_crash(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Add(entry=entry("aaaaaa")), Append(path="notes.md", line="a"), Put(path="sessions/s.md", text="one\n"))
    monkeypatch.setattr(book.documents, "write", dying(1, book.documents.write, Crash()))
    with pytest.raises(Crash):
        apply(
            book, Remove(id="aaaaaa"), Append(path="MEMORY.md", line="an item", section="TODO"),
            Drop(path="notes.md", line="a"), Drop(path="sessions/s.md"),
        )  # fmt: skip
    monkeypatch.undo()
    again = reopened(book)
    assert again.entries() == []
    assert "## TODO\n\n- an item\n" in memory_md(again)
    assert [info.path for info in again.documents.list() if info.path != "MEMORY.md"] == ["notes.md"]
    assert again.documents.read("notes.md").text == ""
    again.close()


def test_an_intention_that_can_never_be_carried_out_keeps_nobody_out(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(book.documents, "append", dying(1, book.documents.append, Crash()))
    with pytest.raises(Crash):
        apply(book, Append(path="daily/x.md", line="kept"), Append(path="daily/y.md", line="kept"))
    monkeypatch.undo()
    folder = Path(book.storage.root, "daily")
    folder.mkdir()
    (folder / "x.md").symlink_to(folder / "elsewhere.md")
    again = reopened(book)
    assert again.documents.read("daily/y.md").text == "kept\n"
    assert again.journal.pending() == []
    again.close()


def test_a_book_that_is_held_is_opened_all_the_same(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    apply(book, Append(path="notes.md", line="a zebra crossed the road"))
    monkeypatch.setattr(book.journal, "done", dying(1, book.journal.done, Crash()))
    with pytest.raises(Crash):
        apply(book, Append(path="notes.md", line="another zebra"))
    from memorybook.storage.directory import DirectoryDocuments

    start = DirectoryDocuments.__init__
    monkeypatch.setattr(DirectoryDocuments, "__init__", lambda self, root: start(self, root, lock_timeout=0.01))
    with book.storage.transaction():
        again = reopened(book)
        assert again.search(Query("zebra"), limit=5).hits
        assert len(again.journal.pending()) == 1
    apply(again, Append(path="notes.md", line="c"))
    assert again.journal.pending() == []
    assert again.documents.read("notes.md").text == "a zebra crossed the road\nanother zebra\nc\n"
    again.close()


# --- the lock ------------------------------------------------------------------------------------


@pytest.mark.parametrize("local", [True, False])
def test_nothing_is_embedded_while_the_book_is_locked(tmp_path: Path, local: bool) -> None:
    """The lock is for writing: a slow embedder, or one on the network, keeps no other writer waiting."""
    from memorybook.storage.directory import DirectoryDocuments
    from memorybook.testing import HashEmbedder

    root = str(tmp_path / "book")
    other = DirectoryDocuments(root, lock_timeout=0)

    class Watching(HashEmbedder):
        def embed(self, texts: Any) -> Any:
            with other.lock():  # raises BookLocked while anybody else holds it
                return super().embed(texts)

    embedder = Watching()
    embedder.local = local
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "I prefer answers without emojis.", "session": "s"}\n', "utf-8")
    with memorybook.open(root, config=Config(timezone="UTC"), embedder=embedder) as memory:
        entry = memory.remember("The heron nests in the reeds").known.entry
        memory.append("saw a heron")
        memory.append("look for herons", section="TODO")
        memory.flush("- We decided to use PostgreSQL.")
        memory.import_file(str(chat))
        memory.update(entry.id, text="The heron nests in the willow")
        memory.sync()
        memory.search("heron")
        memory.recall("heron")
        memory.rebuild()
        memory.forget(entry.id)
        memory.status()
    assert embedder.calls > 2


def together(book: Book, *groups: Any) -> Any:
    return book.apply_each([Group(f"s{at}", changes) for at, changes in enumerate(groups)], actor="user", door="test")


def test_groups_that_are_written_together_are_operations_of_their_own(
    book: Book, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[str] = []
    write = book.documents.write

    def counted(path: str, text: str, *, expect: str | None) -> str:
        written.append(path)
        return write(path, text, expect=expect)

    monkeypatch.setattr(book.documents, "write", counted)
    first = [Add(entry=entry("aaaaaa", "tea", session="s0")), Append(path="daily/2026-02-24.md", line="one")]
    second = [Add(entry=entry("bbbbbb", "Tea.", session="s1")), Append(path="daily/2026-02-24.md", line="two")]
    results = together(book, first, second, [Append(path="daily/2026-02-24.md", line="one")])
    assert [[outcome.applied.kind for outcome in result.outcomes if outcome.applied] for result in results] == [
        ["add", "append"],
        ["reinforce", "append"],
        [],
    ]
    assert results[2].operation is None
    assert [(operation.session, operation.done) for operation in book.journal.operations()] == [
        ("s1", True),
        ("s0", True),
    ]
    assert written == ["MEMORY.md"]
    assert [known.hits for known in book.entries()] == [2]


def test_no_group_is_written_when_one_cannot_be(book: Book) -> None:
    with pytest.raises(NotFound):
        together(book, [Add(entry=entry("aaaaaa"))], [Remove(id="zzzzzz")])
    assert book.entries() == []
    assert book.journal.operations() == []


def test_no_group_is_written_when_the_id_of_an_operation_is_taken(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "new_id", lambda now: "20260224-1")
    with pytest.raises(Conflict, match="20260224-1"):
        together(book, [Add(entry=entry("aaaaaa"))], [Add(entry=entry("bbbbbb"))])
    assert book.entries() == []
    assert book.journal.operations() == []


def test_an_operation_gets_another_id_where_its_own_is_taken(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = iter(["id-1", "id-1", "id-2", "id-2", "id-3", "id-3", "id-4"])
    monkeypatch.setattr(book, "new_id", lambda now: next(ids))
    for word in ("heron", "crane"):
        book.apply([Add(entry=entry(word[:1] * 6, word))], actor="user", door="python")
    together(book, [Append(path="daily/2026-02-24.md", line="one")], [Append(path="daily/2026-02-24.md", line="two")])
    assert [one.id for one in book.journal.operations()] == ["id-4", "id-3", "id-2", "id-1"]
    assert sorted(known.text for known in book.entries()) == ["crane", "heron"]
    assert book.documents.read("daily/2026-02-24.md").text == "one\ntwo\n"
    assert book.journal.pending() == []


@pytest.mark.parametrize(
    ("step", "times"), [("begin", 2), ("write", 1), ("write", 2), ("append", 1), ("append", 2), ("done", 2)]
)
def test_groups_that_a_crash_cut_short_are_each_there_or_never_begun(
    book: Book, monkeypatch: pytest.MonkeyPatch, step: str, times: int
) -> None:
    part: Any = book.journal if step in ("begin", "done") else book.documents
    groups = [
        [
            Add(entry=entry(id, f"statement {id}", session=id)),
            Append(path="daily/2026-02-24.md", line=f"line {id}"),
            Put(path=f"sessions/{id}.md", text=f"{id}\n"),
        ]
        for id in ("aaaaaa", "bbbbbb")
    ]
    with monkeypatch.context() as patch:
        patch.setattr(part, step, dying(times, getattr(part, step), KeyboardInterrupt()))
        patch.setattr(book.journal, "discard", lambda id: None)
        with pytest.raises(KeyboardInterrupt):
            together(book, *groups)
    again = reopened(book)
    begun = ["aaaaaa"] if step == "begin" else ["aaaaaa", "bbbbbb"]
    assert [known.id for known in again.entries()] == begun
    assert again.documents.read("daily/2026-02-24.md").text == "".join(f"line {id}\n" for id in begun)
    assert sorted(info.path for info in again.documents.list() if info.path.startswith("sessions/")) == [
        f"sessions/{id}.md" for id in begun
    ]
    assert again.journal.pending() == []


def test_a_reranker_that_fails_costs_the_order_alone_and_is_named(
    reopen: Reopen, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local, "RERANKER", local.RERANKER._replace(package="no_such_package"))
    memory = reopen(rerank=True)
    memory.append("The Albatross lies in Setubal.")
    memory.append("Another boat lies elsewhere.")
    found = memory.search("Where does the Albatross lie?")
    assert found.hits[0].snippet == "The Albatross lies in Setubal."
    [reason] = found.state["degraded"]
    assert reason.startswith("the best hits were not read again: a model of the package 'no_such_package' is missing")


def test_all_turns_are_read_once_and_again_after_a_change(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    def say(id: str, text: str, position: int) -> None:
        turn = Turn(session="s1", id=id, role="user", text=text, time=NOW, position=position)
        book.transcripts.append(Session(uuid="s1", name="s1", created=NOW), [turn])

    say("a", "I row.", 0)
    assert [turn.text for turn in book.all_turns()] == ["I row."]
    with monkeypatch.context() as patched:
        patched.delattr(type(book.transcripts), "turns")
        assert [turn.text for turn in book.all_turns()] == ["I row."], "without reading them again"
    say("b", "我划船。", 1)
    assert [turn.text for turn in book.all_turns()] == ["I row.", "我划船。"]
    book.transcripts.remove("s1", ["a"])
    assert [turn.text for turn in book.all_turns()] == ["我划船。"]


def test_turns_of_a_backup_put_in_their_place_are_read(tmp_path: Path) -> None:
    archive = str(tmp_path / "copy.tar.gz")
    with memorybook.open(str(tmp_path / "other"), missing_ok=True) as other:
        other.process_session_end([{"role": "user", "content": "I sail.", "timestamp": "2026-02-24T10:00:00Z"}], "s1")
        other.backup(archive)
        revision = other.book.transcripts.revision()
    with memorybook.open(str(tmp_path / "book"), missing_ok=True) as memory:
        memory.process_session_end([{"role": "user", "content": "I row."}], "s1")
        assert [turn.text for turn in memory.book.all_turns()] == ["I row."]
        memory.restore(archive, replace=True)
        assert memory.book.transcripts.revision() == revision, "the number alone tells nothing"
        assert [turn.text for turn in memory.book.all_turns()] == ["I sail."]
