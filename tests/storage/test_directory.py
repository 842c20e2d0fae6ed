from __future__ import annotations

import contextlib
import errno
import math
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.documents import SAFE_PATHS, DocumentsConformance
from memorybook.errors import BookLocked, Conflict, InvalidInput, MissingDocument, Unavailable, UnsafePath
from memorybook.formats.document import DocumentInfo
from memorybook.protocols import Documents
from memorybook.storage import safe_open
from memorybook.storage.directory import DirectoryDocuments
from memorybook.storage.safe_open import is_safe_name, split_path


class TestDirectoryDocuments(DocumentsConformance):
    @pytest.fixture
    def documents(self, tmp_path: Path) -> Documents:
        return DirectoryDocuments(str(tmp_path / "book"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "book"


@pytest.fixture
def book(root: Path) -> DirectoryDocuments:
    return DirectoryDocuments(str(root), lock_timeout=0.1)


def listing(book: DirectoryDocuments) -> dict[str, DocumentInfo]:
    return {info.path: info for info in book.list()}


def written_and_listed(book: DirectoryDocuments, number: int) -> str:
    book.append("a.md", str(number))
    return listing(book)["a.md"].stamp


@pytest.mark.parametrize("path", SAFE_PATHS)
def test_ordinary_paths_pass(path: str) -> None:
    assert split_path(path) == path.split("/")
    assert all(is_safe_name(part) for part in path.split("/"))


def test_a_path_that_is_no_text_is_refused(book: DirectoryDocuments) -> None:
    with pytest.raises(UnsafePath, match="bytes"):
        book.read(b"a.md")  # type: ignore[arg-type]


def test_reading_an_unsafe_path_says_what_is_wrong_with_it(book: DirectoryDocuments) -> None:
    with pytest.raises(UnsafePath, match=r"'daily/\.\./a\.md' has a part that starts with a dot.*relative"):
        book.read("daily/../a.md")


def make_traps(root: Path, outside: Path) -> dict[str, str]:
    """Things in a book that are no documents: path, and a word of why."""
    root.mkdir(exist_ok=True)
    outside.mkdir()
    (outside / "secret.md").write_text("secret")
    (outside / "folder").mkdir()
    (outside / "folder" / "a.md").write_text("secret")
    (root / "leaf.md").symlink_to(outside / "secret.md")
    (root / "folder").symlink_to(outside / "folder")
    (root / "dangling.md").symlink_to(outside / "nothing.md")
    (root / "loop.md").symlink_to("loop.md")
    (root / "zero.md").symlink_to("/dev/zero")
    (root / "proc.md").symlink_to("/proc/self/environ")
    os.link(outside / "secret.md", root / "hard.md")
    os.mkfifo(root / "fifo.md")
    (root / "directory.md").mkdir()
    with open(root / "sparse.md", "wb") as file:
        file.truncate(safe_open.MAX_BYTES + 1)
    (root / "plain.md").write_text("plain")
    return {
        "leaf.md": "link", "folder/a.md": "link", "dangling.md": "link", "loop.md": "link", "zero.md": "link",
        "proc.md": "link", "hard.md": "hard links", "fifo.md": "regular|plain", "directory.md": "regular|plain",
        "sparse.md": "bytes", "plain.md/a.md": "link",
    }  # fmt: skip


def test_what_is_no_plain_file_is_refused_without_blocking_and_never_touched(
    book: DirectoryDocuments, root: Path, tmp_path: Path
) -> None:
    for path, why in make_traps(root, tmp_path / "outside").items():
        for act in (
            lambda path: book.read(path),
            lambda path: book.write(path, "x", expect=None),
            lambda path: book.append(path, "x"),
            lambda path: book.remove(path),
        ):
            with pytest.raises(UnsafePath, match=why):
                act(path)
    assert (tmp_path / "outside" / "secret.md").read_text() == "secret"
    assert sorted(os.listdir(tmp_path / "outside")) == ["folder", "secret.md"]


def test_a_book_that_went_is_not_begun_anew_in_its_place(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "one")
    root.rename(root.parent / "aside")
    for below in (False, True):  # nothing at all, then what stands below a disk that was taken out
        if below:
            root.mkdir()
        with pytest.raises(Unavailable, match="is gone"):
            book.append("a.md", "two")
        with pytest.raises(Unavailable, match="is gone"):
            book.write("b.md", "two", expect=None)
    assert list(root.iterdir()) == []
    root.rmdir()
    (root.parent / "aside").rename(root)
    book.append("a.md", "three")
    assert (root / "a.md").read_text() == "one\nthree\n"


def test_another_copy_of_the_book_in_its_place_is_the_book(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "one")
    root.rename(root.parent / "aside")
    shutil.copytree(root.parent / "aside", root)
    book.append("a.md", "two")
    shutil.rmtree(root / ".memorybook")  # what the machine keeps is made again
    book.append("a.md", "three")
    assert (root / "a.md").read_text() == "one\ntwo\nthree\n"


def test_a_socket_is_refused(book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root.mkdir()
    monkeypatch.chdir(root)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.md")
        with pytest.raises(UnsafePath, match="plain"):
            book.read("socket.md")


def test_the_listing_passes_over_all_that_is_no_document(book: DirectoryDocuments, root: Path, tmp_path: Path) -> None:
    make_traps(root, tmp_path / "outside")
    for name in ("MEMORY.md.bak", ".hidden.md", "notes.txt", "MEMORY.MD", ".MEMORY.md.mb-tmp", "con.md", "a\u202e.md"):
        (root / name).write_text("x")
    for folder in (".git", ".memorybook", "a/b/c/d/e/f", "book/.memorybook", "book/daily", "book"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        (root / folder / "x.md").write_text("x")
    (root / os.fsdecode(b"bad\xff.md")).write_text("x")
    (root / "daily").mkdir()
    (root / "daily" / "2026-02-24.md").write_text("x")
    assert sorted(listing(book)) == ["daily/2026-02-24.md", "plain.md"]


def test_the_machine_folder_may_not_be_a_link(book: DirectoryDocuments, root: Path, tmp_path: Path) -> None:
    root.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (root / ".memorybook").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath, match="link"):
        book.append("a.md", "x")
    assert os.listdir(tmp_path / "elsewhere") == []


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    book = DirectoryDocuments(str(tmp_path / "link"))
    book.append("a.md", "x")
    assert book.root == str(tmp_path / "real")
    assert (tmp_path / "real" / "a.md").read_text() == "x\n"


def test_a_root_that_is_a_file_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    book = DirectoryDocuments(str(tmp_path / "file"))
    with pytest.raises(UnsafePath, match="not a directory"):
        book.read("a.md")
    with pytest.raises(Unavailable, match="cannot be written"):
        book.append("a.md", "x")


def test_a_missing_book_says_so(book: DirectoryDocuments) -> None:
    with pytest.raises(MissingDocument, match="does not exist yet"):
        book.read("a.md")


def test_a_document_just_written_has_no_stamp_and_later_a_lasting_one(book: DirectoryDocuments) -> None:
    stamps = {written_and_listed(book, number) for number in range(20)}
    assert "" in stamps  # unless this process was made to wait for longer than that, each time
    time.sleep(0.03)
    settled = listing(book)["a.md"].stamp
    assert settled
    assert listing(book)["a.md"].stamp == settled


def test_an_edit_of_the_same_size_and_mtime_changes_the_stamp(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "x")
    time.sleep(0.03)
    before = listing(book)["a.md"]
    (root / "a.md").write_text("y\n")
    os.utime(root / "a.md", (before.modified, before.modified))
    time.sleep(0.03)
    assert listing(book)["a.md"].stamp not in ("", before.stamp)


def settled(root: Path, *paths: str) -> None:
    for path in paths:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("x\n", encoding="utf-8")
    time.sleep(0.03)


def test_a_listing_notices_what_is_new_changed_renamed_or_gone(book: DirectoryDocuments, root: Path) -> None:
    settled(root, "a.md", "f/b.md", "f/c.md", "g/d.md")
    before = listing(book)
    (root / "f/b.md").write_text("y\n", encoding="utf-8")
    (root / "f/c.md").unlink()
    (root / "g").rename(root / "h")
    settled(root, "f/e.md")
    after = listing(book)
    assert set(after) == {"a.md", "f/b.md", "f/e.md", "h/d.md"}
    assert after["f/b.md"].stamp not in ("", before["f/b.md"].stamp)
    assert after["h/d.md"].stamp == before["g/d.md"].stamp


@pytest.mark.parametrize("change", ["link", "hard link", "folder", "pipe"])
def test_a_listed_document_that_becomes_something_else_is_left_out(
    book: DirectoryDocuments, root: Path, change: str
) -> None:
    settled(root, "a.md", "b.md")
    listing(book)
    if change == "hard link":
        os.link(root / "a.md", root.parent / "second name")
    else:
        (root / "a.md").unlink()
        if change == "link":
            (root / "a.md").symlink_to("b.md")
        elif change == "folder":
            (root / "a.md").mkdir()
        else:
            os.mkfifo(root / "a.md")
    assert set(listing(book)) == {"b.md"}


def test_documents_that_vanish_while_they_are_listed_hide_no_others(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"{number}.md" for number in range(9)]
    settled(root, *names)

    monkeypatch.setattr("memorybook.storage.directory._WATCHING", math.inf)
    scandir = os.scandir

    @contextlib.contextmanager
    def losing_half(folder: int) -> Iterator[list[os.DirEntry[str]]]:
        with scandir(folder) as entries:
            read = list(entries)
        for name in names[::2]:
            (root / name).unlink(missing_ok=True)
        yield read

    for _ in ("seen for the first time", "listed before"):
        settled(root, *names)
        with monkeypatch.context() as patched:
            patched.setattr(os, "scandir", losing_half)
            assert set(listing(book)) == set(names[1::2])
        settled(root, *names)
        assert set(listing(book)) == set(names)


def written_with(mask: int, book: DirectoryDocuments, root: Path) -> dict[str, int]:
    """Permissions of what is new in the book, under that umask."""
    before = os.umask(mask)
    try:
        book.append("daily/a.md", "x")
        book.write("b.md", "x", expect=None)
        book.write("MEMORY.md", "y", expect=book.write("MEMORY.md", "x", expect=None))  # leaves a back-up copy
    finally:
        os.umask(before)
    names = (".", ".memorybook", ".memorybook/lock", "daily", "daily/a.md", "b.md", "MEMORY.md.bak", ".gitignore")
    return {name: (root / name).stat().st_mode & 0o7777 for name in names}


PRIVATE = {
    ".": 0o700, ".memorybook": 0o700, ".memorybook/lock": 0o600, "daily": 0o700, "daily/a.md": 0o600, "b.md": 0o600,
    "MEMORY.md.bak": 0o600, ".gitignore": 0o600,
}  # fmt: skip


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o000, 0o077])
def test_a_book_is_its_owners_alone_and_its_machine_state_ignores_itself(root: Path, mask: int) -> None:
    """As are all folders above it that are made for it."""
    inner = root / "work" / "book"
    assert written_with(mask, DirectoryDocuments(str(inner)), inner) == PRIVATE
    assert (root / "work").stat().st_mode & 0o777 == 0o700
    assert (inner / ".memorybook" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize(
    ("folder", "below", "document"),
    [
        (0o755, 0o700, 0o600),  # as any umask leaves it
        (0o775, 0o700, 0o600),
        (0o777, 0o700, 0o600),
        (0o750, 0o750, 0o640),  # as a person shares it
        (0o770, 0o770, 0o660),
        (0o2770, 0o2770, 0o660),
        (0o2775, 0o2770, 0o660),
    ],
)
def test_a_folder_that_is_shared_with_a_group_shares_what_is_new_in_it(
    root: Path, folder: int, below: int, document: int
) -> None:
    root.mkdir(exist_ok=True)
    root.chmod(folder)
    modes = written_with(0o022, DirectoryDocuments(str(root)), root)
    assert (modes["."], modes["daily"], modes["daily/a.md"], modes["b.md"]) == (folder, below, document, document)
    assert modes[".memorybook"] & 0o777 == 0o700
    assert modes[".memorybook/lock"] == 0o600


def test_a_rewrite_keeps_the_mode_and_gives_it_to_the_backup(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("MEMORY.md", "1", expect=None)
    (root / "MEMORY.md").chmod(0o640)
    book.write("MEMORY.md", "2", expect=revision)
    assert (root / "MEMORY.md").stat().st_mode & 0o777 == 0o640
    assert (root / "MEMORY.md.bak").stat().st_mode & 0o777 == 0o640
    assert [path.stat().st_mode & 0o777 for path in root.rglob("displaced")] == [0o600]


def test_only_the_hot_document_has_a_backup_of_what_it_was(book: DirectoryDocuments, root: Path) -> None:
    for path in ("MEMORY.md", "b.md"):
        book.write(path, "2", expect=book.write(path, "1", expect=None))
    assert (root / "MEMORY.md.bak").read_text() == "1"
    assert sorted(os.listdir(root)) == [".gitignore", ".memorybook", "MEMORY.md", "MEMORY.md.bak", "b.md"]
    assert (root / ".gitignore").read_text() == "*.md.bak\n"


def test_old_temporary_files_are_swept_and_young_or_foreign_ones_stay(book: DirectoryDocuments, root: Path) -> None:
    root.mkdir()
    for name, age in ((".a.md.mb-tmp", 100), (".b.md.mb-tmp", 1), (".c.md.tmp", 100)):
        (root / name).write_text("x")
        os.utime(root / name, (time.time() - age,) * 2)
    book.append("x.md", "x")
    assert sorted(name for name in os.listdir(root) if name.startswith(".") and name != ".memorybook") == [
        ".b.md.mb-tmp",
        ".c.md.tmp",
    ]


def test_a_directory_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    book = DirectoryDocuments(str(tmp_path / "book"))
    monkeypatch.setattr(os, "mkdir", refuse)
    with pytest.raises(Unavailable, match=r"book.*Permission denied"):
        book.append("a.md", "x")


def test_a_document_that_would_grow_too_large_is_refused(
    book: DirectoryDocuments, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.storage.target.MAX_BYTES", 10)
    monkeypatch.setattr("memorybook.storage.safe_open.MAX_BYTES", 10)
    book.append("a.md", "12345")
    with pytest.raises(InvalidInput, match="exceed"):
        book.append("a.md", "12345")
    with pytest.raises(InvalidInput, match="bytes"):
        book.write("b.md", "12345678901", expect=None)
    assert book.read("a.md").text == "12345\n"


def test_a_document_that_grows_while_it_is_read_is_read_whole(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append("a.md", "one")
    real = os.read

    def read(descriptor: int, size: int) -> bytes:
        if not grown:
            grown.append(True)
            with open(root / "a.md", "a") as file:
                file.write("two\n")
        return real(descriptor, size)

    grown: list[bool] = []
    monkeypatch.setattr(os, "read", read)
    assert book.read("a.md").text == "one\ntwo\n"


@pytest.mark.parametrize("replaced", [False, True])
def test_a_memory_that_was_read_is_read_anew_once_somebody_changed_it(
    book: DirectoryDocuments, root: Path, *, replaced: bool
) -> None:
    book.write("MEMORY.md", "one\n", expect=None)
    file = root / "MEMORY.md"
    before = file.stat()
    time.sleep(0.03)
    assert book.read("MEMORY.md") is book.read("MEMORY.md")
    if replaced:
        (root / "other.md").write_text("two\n", encoding="utf-8")
        (root / "other.md").rename(file)
    else:
        file.write_text("two\n", encoding="utf-8")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert book.read("MEMORY.md").text == "two\n"
    file.unlink()
    with pytest.raises(MissingDocument):
        book.read("MEMORY.md")


def test_another_thread_waits_and_then_is_told_what_to_do(book: DirectoryDocuments) -> None:
    errors: list[BaseException] = []

    def write() -> None:
        try:
            book.append("a.md", "x")
        except BookLocked as error:
            errors.append(error)

    with book.lock():
        thread = threading.Thread(target=write)
        thread.start()
        thread.join()
    assert "0.1 s" in str(errors[0])
    book.append("a.md", "y")
    assert book.read("a.md").text == "y\n"


def test_another_object_is_another_writer(book: DirectoryDocuments, root: Path) -> None:
    with book.lock(), pytest.raises(BookLocked), DirectoryDocuments(str(root), lock_timeout=0.02).lock():
        pass


def test_a_lock_whose_file_was_deleted_is_taken_anew(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    real = fcntl.flock

    def flock(descriptor: int, how: int) -> None:
        real(descriptor, how)
        if not deleted:
            deleted.append(True)
            (root / ".memorybook" / "lock").unlink()

    deleted: list[bool] = []
    monkeypatch.setattr(fcntl, "flock", flock)
    with book.lock(), pytest.raises(BookLocked), DirectoryDocuments(str(root), lock_timeout=0.0).lock():
        pass


def test_a_file_system_without_locks_is_named(book: DirectoryDocuments, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def flock(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(Unavailable, match="No locks"):
        book.append("a.md", "x")


class FailingDisk:
    """Lets the `k`-th call of write, fsync, rename and their like fail, once or from then on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int, *, forever: bool, error: int) -> None:
        self.calls = 0
        self.failed = False
        for name in ("write", "fsync", "rename", "pwrite", "unlink", "ftruncate", "fchmod"):
            self._wrap(monkeypatch, name, at, forever, error)

    def _wrap(self, monkeypatch: pytest.MonkeyPatch, name: str, at: int, forever: bool, error: int) -> None:
        real = getattr(os, name)

        def call(*arguments: object, **keywords: object) -> object:
            self.calls += 1
            if self.calls == at or (forever and self.calls > at):
                self.failed = True
                raise OSError(error, os.strerror(error))
            return real(*arguments, **keywords)

        monkeypatch.setattr(os, name, call)


FAULTS = {
    "create": (None, "new\n"), "rewrite": ("old\n", "new\n"), "append": ("old\n", "old\nnew\n"),
    "append to new": (None, "new\n"), "merge": ("old\nhuman\n", "old\nhuman\nagent\n"),
}  # fmt: skip
"""What is done while the disk fails: the text before and after."""


def prepare(book: DirectoryDocuments, path: str, act: str) -> str | None:
    if FAULTS[act][0] is None:
        return None
    revision = book.write(path, "old\n", expect=None)
    if act == "merge":
        book.append(path, "agent")
        Path(book.root, path).write_text("old\nhuman\n")
    return revision


def perform(book: DirectoryDocuments, path: str, act: str, revision: str | None) -> bool:
    try:
        if act in ("create", "rewrite"):
            book.write(path, "new\n", expect=revision)
        elif act == "merge":
            return book.reconcile(path)
        else:
            book.append(path, "new")
    except Unavailable:
        return False
    return True


@pytest.mark.parametrize("forever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "plain rename"])
@pytest.mark.parametrize(("path", "act"), [*(("daily/a.md", act) for act in FAULTS), ("MEMORY.md", "rewrite")])
def test_a_failing_disk_leaves_the_old_or_the_new_text_and_the_next_call_works(
    tmp_path: Path, path: str, act: str, exchange: bool, forever: bool
) -> None:
    before, after = FAULTS[act]
    for k in range(1, 60):
        root = tmp_path / str(k)
        book = DirectoryDocuments(str(root))
        revision = prepare(book, path, act)
        with pytest.MonkeyPatch.context() as patch:
            if not exchange:
                patch.setattr("memorybook.storage.target._CALLS", {})
            disk = FailingDisk(patch, k, forever=forever, error=(errno.ENOSPC, errno.EIO)[k % 2])
            acknowledged = perform(book, path, act, revision)
        found = {info.path: book.read(info.path).text for info in book.list()}.get(path)
        if acknowledged:
            assert found == after, k
        else:  # a disk that does not even let go of a new, empty file leaves that
            assert found in (before, after, "" if forever and before is None else before), k
        book.append(path, "next")
        assert book.read(path).text == (after if act == "merge" else found or "") + "next\n", k
        if not forever:
            assert not [name for name in os.listdir(os.path.dirname(root / path)) if ".mb-" in name], k
        if not disk.failed:
            return
    pytest.fail("more calls than expected")


def test_a_failed_fsync_is_not_tried_again(book: DirectoryDocuments, monkeypatch: pytest.MonkeyPatch) -> None:
    book.append("a.md", "x")
    calls: list[int] = []

    def fsync(descriptor: int) -> None:
        calls.append(descriptor)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(os, "fsync", fsync)
    with pytest.raises(Unavailable, match="Input/output"):
        book.append("a.md", "y")
    assert len(calls) == 1
    assert book.read("a.md").text == "x\n"


def test_a_short_write_is_taken_back(book: DirectoryDocuments, monkeypatch: pytest.MonkeyPatch) -> None:
    book.append("a.md", "x")
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:2]))
    with pytest.raises(Unavailable, match="only 2 of 6"):
        book.append("a.md", "12345")
    assert book.read("a.md").text == "x\n"


@pytest.mark.parametrize("exchange", [True, False], ids=["exchange", "plain rename"])
def test_a_save_during_a_write_is_a_conflict_and_stays(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    revision = book.write("a.md", "old\n", expect=None)
    if not exchange:
        monkeypatch.setattr("memorybook.storage.target._CALLS", {})
    real = os.rename

    def rename(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        if target == ".a.md.mb-swap":
            (root / "a.md").write_text("human\n")

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(Conflict, match="just now"):
        book.write("a.md", "new\n", expect=revision)
    monkeypatch.undo()
    assert book.read("a.md").text == "human\n"
    assert sorted(os.listdir(root)) == [".memorybook", "a.md"]


def test_a_document_created_during_its_creation_stays(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.rename

    def rename(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        (root / "a.md").write_text("human\n")

    monkeypatch.setattr(os, "rename", rename)
    for exchange in (True, False):
        if not exchange:
            monkeypatch.setattr("memorybook.storage.target._CALLS", {})
        with pytest.raises(Conflict, match="exists"):
            book.write("a.md", "new\n", expect=None)
        assert (root / "a.md").read_text() == "human\n"
        (root / "a.md").unlink()


def test_a_document_removed_during_a_write_is_a_conflict(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = book.write("a.md", "old\n", expect=None)
    real = os.rename

    def rename(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        (root / "a.md").unlink(missing_ok=True)

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(Conflict, match="removed"):
        book.write("a.md", "new\n", expect=revision)
    assert os.listdir(root) == [".memorybook"]
