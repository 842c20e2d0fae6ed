from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forked import ended
from memorybook.formats.document import DocumentInfo
from memorybook.storage import directory
from memorybook.storage.directory import DirectoryDocuments, Queue, Watched, watched

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what changed before it goes on")

TICK = 0.025
"""Seconds after which a file's stamp counts."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    book = tmp_path / "above" / "book"
    (book / "daily").mkdir(parents=True)
    for name in ("a.md", "b.md", "daily/c.md"):
        (book / name).write_text(f"{name}\n")
    time.sleep(TICK)
    return book


@pytest.fixture
def book(root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DirectoryDocuments]:
    """A book that is watched from its second listing on."""
    monkeypatch.setattr(directory, "_WATCHING", 0.0)
    book = DirectoryDocuments(str(root))
    for _ in range(2):
        book.list()
    assert book._watched is not None
    yield book
    book.close()


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One item for each time that everything is looked at."""
    found: list[None] = []
    look = Watched._look_everywhere

    def counted(self: Watched) -> float:
        found.append(None)
        return look(self)

    monkeypatch.setattr(Watched, "_look_everywhere", counted)
    return found


def sizes(listed: Sequence[DocumentInfo]) -> dict[str, int]:
    return {info.path: info.size for info in listed}


def as_it_is(root: Path) -> dict[str, int]:
    return sizes(DirectoryDocuments(str(root)).list())


def append(path: Path, text: str) -> None:
    with path.open("a") as file:
        file.write(text)


def write_over(path: Path, data: bytes, at: int = 0) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    os.pwrite(descriptor, data, at)
    os.close(descriptor)


def replace(path: Path, text: str) -> None:
    aside = path.with_suffix(".tmp")
    aside.write_text(text)
    aside.rename(path)


def through_a_mapping(path: Path) -> None:
    from mmap import mmap

    with open(path, "r+b") as file, mmap(file.fileno(), 0) as mapped:
        mapped[0:1] = b"!"


def elsewhere(root: Path) -> Path:
    return root.parent / "elsewhere"


def moved_in(root: Path) -> None:
    (elsewhere(root) / "deep").mkdir(parents=True)
    (elsewhere(root) / "deep/x.md").write_text("x")
    elsewhere(root).rename(root / "in")


def new_folder(root: Path) -> None:
    (root / "n/m").mkdir(parents=True)
    (root / "n/m/x.md").write_text("x")


def renamed_to_a_document(root: Path) -> None:
    (root / "t.txt").write_text("t")
    (root / "t.txt").rename(root / "t.md")


def a_link(root: Path) -> None:
    (root / "a.md").unlink()
    (root / "a.md").symlink_to("b.md")


def a_folder(root: Path) -> None:
    (root / "a.md").unlink()
    (root / "a.md").mkdir()
    (root / "a.md/e.md").write_text("e")


def another_book(root: Path) -> None:
    root.rename(root.parent / "other")
    root.mkdir()
    (root / "a.md").write_text("another's")


EDITS: dict[str, Callable[[Path], object]] = {
    "appended": lambda root: append(root / "a.md", "more"),
    "written anew": lambda root: (root / "a.md").write_text("another text\n"),
    "emptied": lambda root: (root / "daily/c.md").write_text(""),
    "cut": lambda root: os.truncate(root / "a.md", 2),
    "over a part": lambda root: write_over(root / "b.md", b"X"),
    "through a mapping": lambda root: through_a_mapping(root / "a.md"),
    "renamed over": lambda root: replace(root / "a.md", "saved by an editor\n"),
    "renamed": lambda root: (root / "a.md").rename(root / "daily/z.md"),
    "renamed away": lambda root: (root / "a.md").rename(root / "a.txt"),
    "renamed to a document": renamed_to_a_document,
    "moved out": lambda root: (root / "a.md").rename(root.parent / "a.md"),
    "removed": lambda root: os.unlink(root / "daily/c.md"),
    "new": lambda root: (root / "新的.md").write_text("新"),
    "new in a new folder": new_folder,
    "folder removed": lambda root: shutil.rmtree(root / "daily"),
    "folder moved in": moved_in,
    "folder moved out": lambda root: (root / "daily").rename(root.parent / "daily"),
    "folder renamed": lambda root: (root / "daily").rename(root / "weekly"),
    "rights changed": lambda root: os.chmod(root / "a.md", 0o600),
    "time set": lambda root: os.utime(root / "a.md", (1, 1)),
    "a link in its place": a_link,
    "a folder in its place": a_folder,
    "a second name in the book": lambda root: os.link(root / "a.md", root / "z.md"),
    "the book moved": lambda root: root.rename(root.parent / "other"),
    "a folder above the book moved": lambda root: root.parent.rename(root.parent.parent / "moved"),
    "another book in its place": another_book,
    "the book removed": lambda root: shutil.rmtree(root),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_every_edit_is_seen_by_the_next_listing(
    book: DirectoryDocuments, root: Path, edit: Callable[[Path], object]
) -> None:
    before = {info.path: info.stamp for info in book.list()}
    edit(root)
    listed = book.list()
    assert sizes(listed) == as_it_is(root)
    assert {info.path: info.stamp for info in listed} != before
    time.sleep(TICK)
    assert set(book.list()) == set(DirectoryDocuments(str(root)).list())


def test_what_another_process_did_is_seen(book: DirectoryDocuments, root: Path) -> None:
    code = "import sys; open(sys.argv[1] + '/a.md', 'a').write('by another'); open(sys.argv[1] + '/o.md', 'w')"
    subprocess.run([sys.executable, "-c", code, str(root)], check=True)
    assert sizes(book.list()) == {"a.md": 15, "b.md": 5, "daily/c.md": 11, "o.md": 0}


def test_our_own_writes_are_seen(book: DirectoryDocuments) -> None:
    book.append("daily/c.md", "one")
    book.write("new/x.md", "two", expect=None)
    book.remove("b.md")
    assert sizes(book.list()) == {"a.md": 5, "daily/c.md": 15, "new/x.md": 3}


def test_a_second_change_in_the_same_moment_is_seen(book: DirectoryDocuments, root: Path) -> None:
    for number in range(200):
        with open(root / "a.md", "a") as file:
            file.write("x")
        assert sizes(book.list())["a.md"] == 6 + number


def test_a_file_written_through_an_open_descriptor_is_seen_at_each_write(book: DirectoryDocuments, root: Path) -> None:
    with open(root / "a.md", "ab", buffering=0) as file:
        for number in range(20):
            file.write(b"x")
            assert sizes(book.list())["a.md"] == 6 + number


def test_a_queue_that_overflowed_has_everything_looked_at(
    book: DirectoryDocuments, root: Path, looks: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Queue._read
    overflow = directory._EVENT.pack(-1, 0x4000, 0, 0)
    monkeypatch.setattr(Queue, "_read", lambda self: (told(self), overflow)[1])
    (root / "new.md").write_text("new")
    assert sizes(book.list()) == as_it_is(root)
    assert looks


def test_a_file_with_a_second_name_elsewhere_has_everything_looked_at_each_time(
    book: DirectoryDocuments, root: Path, looks: list[None]
) -> None:
    os.link(root / "a.md", root.parent / "second.md")
    append(root / "b.md", "x")
    (root / "a.md").chmod(0o600)  # the second name alone is told to nobody
    assert set(sizes(book.list())) == {"b.md", "daily/c.md"}
    looks.clear()
    for _ in range(3):
        book.list()
    assert len(looks) == 3
    (root.parent / "second.md").unlink()
    assert set(sizes(book.list())) == {"a.md", "b.md", "daily/c.md"}
    looks.clear()
    book.list()
    assert not looks


def test_everything_is_looked_at_after_a_minute(
    book: DirectoryDocuments, root: Path, looks: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.monotonic()
    os.link(root / "a.md", root.parent / "second.md")  # told to nobody
    monkeypatch.setattr(time, "monotonic", lambda: now + 61)
    assert set(sizes(book.list())) == {"b.md", "daily/c.md"}
    assert len(looks) == 1


def test_a_listing_that_fails_is_made_anew(
    book: DirectoryDocuments, root: Path, looks: list[None], monkeypatch: pytest.MonkeyPatch
) -> None:
    append(root / "a.md", "more")
    with monkeypatch.context() as patched:

        def refuse(path: str) -> os.stat_result:
            raise OSError(5, "Input/output error", path)

        patched.setattr(os, "lstat", refuse)
        with pytest.raises(Exception, match="Input/output error"):
            book.list()
    assert sizes(book.list())["a.md"] == 9
    assert looks


def never(*_: object) -> int:
    return -1


@pytest.mark.parametrize("function", ["inotify_init1", "inotify_add_watch"])
def test_where_the_user_watches_too_much_already_files_are_asked(
    root: Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    class Libc:
        inotify_init1 = staticmethod(lambda flags: os.open(os.devnull, os.O_RDONLY))
        inotify_add_watch = staticmethod(lambda *_: 1)

    libc: Any = Libc()
    setattr(libc, function, never)
    monkeypatch.setattr(directory, "_libc", lambda: libc)
    monkeypatch.setattr(directory, "_WATCHING", 0.0)
    book = DirectoryDocuments(str(root))
    before = len(os.listdir("/proc/self/fd"))
    for number in range(3):
        (root / "a.md").write_text("x" * number)
        assert sizes(book.list()) == as_it_is(root)
    assert len(os.listdir("/proc/self/fd")) == before


MOUNTS = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard
{mount} 27 0:25 / {place} rw,relatime - {kind} server:/home rw
"""


@pytest.mark.parametrize(
    ("kind", "place", "told"),
    [
        ("ext4", "/elsewhere", True), ("overlay", "/elsewhere", True), ("nfs4", "/elsewhere", False),
        ("fuse.sshfs", "/elsewhere", False), ("virtiofs", "/elsewhere", False), ("ext4", "{root}/a.md", False),
        ("ext4", "{root}-beside", True), ("ext4", "{root}", True),
    ],
)  # fmt: skip
def test_only_a_book_that_is_wholly_on_one_local_file_system_is_watched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, place: str, told: bool
) -> None:
    root = tmp_path / "my book"
    root.mkdir()
    mounts = MOUNTS.format(mount=99, place=place.format(root=str(root).replace(" ", r"\040")), kind=kind)
    files = {"mountinfo": mounts.encode(), "fdinfo": b"pos:\t0\nflags:\t0\nmnt_id:\t99\nino:\t2\n"}
    monkeypatch.setattr(directory, "open", lambda path, _: BytesIO(files[path.split("/")[3]]), raising=False)
    found = watched(str(root), {})
    assert (found is not None) == told


def test_a_system_without_such_files_is_not_relied_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(path: str, _: str) -> BytesIO:
        raise FileNotFoundError(path)

    monkeypatch.setattr(directory, "open", missing, raising=False)
    assert watched(str(root), {}) is None


def test_another_system_is_not_relied_on(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert watched(str(root), {}) is None


def test_closing_releases_the_queue_and_listing_goes_on(book: DirectoryDocuments, root: Path) -> None:
    def queues() -> int:
        folder = Path("/proc/self/fd")
        return sum(entry.is_symlink() and os.readlink(entry) == "anon_inode:inotify" for entry in folder.iterdir())

    here = queues()
    book.close()
    assert queues() == here - 1
    book.close()
    (root / "new.md").write_text("new")
    assert sizes(book.list()) == as_it_is(root)
    (root / "newer.md").write_text("newer")
    assert sizes(book.list()) == as_it_is(root)
    assert queues() == here


def test_a_forked_child_takes_nothing_from_its_parent(book: DirectoryDocuments, root: Path) -> None:
    book.list()
    (root / "new.md").write_text("new")

    def look() -> None:
        assert sizes(book.list()) == as_it_is(root)
        (root / "from child.md").write_text("x")
        for _ in range(3):
            assert sizes(book.list()) == as_it_is(root)

    assert ended(look) == 0
    assert sizes(book.list()) == as_it_is(root)
    assert {"new.md", "from child.md"} <= set(sizes(book.list()))


def test_a_child_forked_while_a_thread_lists_can_list(book: DirectoryDocuments, root: Path) -> None:
    def look() -> None:
        assert sizes(book.list()) == as_it_is(root)

    assert book._watched is not None
    with book._watched._lock:
        assert ended(look) == 0


def test_threads_that_list_at_once_all_see_what_was_done_before(book: DirectoryDocuments, root: Path) -> None:
    missed: list[int] = []
    begin = threading.Barrier(4)

    def listing(number: int) -> None:
        begin.wait()
        for size in range(1, 150):
            with open(root / f"t{number}.md", "a") as file:
                file.write("x")
            if sizes(book.list()).get(f"t{number}.md") != size:
                missed.append(size)

    threads = [threading.Thread(target=listing, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not missed


NAMES = st.sampled_from(["a.md", "b.md", "x/a.md", "x/c.md", "x/y/d.md", "z/e.md", "t.txt"])
FOLDERS = st.sampled_from(["x", "x/y", "z", "w.md"])
STEPS = st.one_of(
    st.tuples(st.just("write"), NAMES, st.sampled_from(["", "one", "other"])),
    st.tuples(st.just("append"), NAMES, st.just("more")),
    st.tuples(st.just("unlink"), NAMES, st.just("")),
    st.tuples(st.just("rename"), NAMES, NAMES),
    st.tuples(st.just("rename"), FOLDERS, FOLDERS),
    st.tuples(st.just("remove"), FOLDERS, st.just("")),
    st.tuples(st.just("out"), FOLDERS, st.just("")),
    st.tuples(st.just("in"), FOLDERS, st.just("")),
    st.tuples(st.just("link"), NAMES, NAMES),
    st.tuples(st.just("list"), st.just(""), st.just("")),
)


def do(root: Path, step: str, one: str, other: str) -> None:
    path = root / one
    try:
        if step in ("write", "append"):
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("a" if step == "append" else "w") as file:
                file.write(other)
        elif step == "unlink":
            path.unlink()
        elif step == "rename":
            path.rename(root / other)
        elif step == "link":
            os.link(path, root / other)
        elif step == "remove":
            shutil.rmtree(path)
        elif step == "out":
            path.rename(root.parent / "out")
        elif step == "in":
            (root.parent / "out").rename(path)
    except OSError:
        return


@given(st.lists(STEPS, max_size=25))
def test_after_whatever_is_done_to_files_a_watched_listing_is_what_a_fresh_one_is(
    steps: list[tuple[str, str, str]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "book")
        root.mkdir()
        found = watched(str(root), {})
        assert found is not None
        for step, one, other in steps:
            do(root, step, one, other)
            if step == "list":
                assert sizes(found.list()) == as_it_is(root)
        assert sizes(found.list()) == as_it_is(root)
        time.sleep(TICK)
        assert set(found.list()) == set(DirectoryDocuments(str(root)).list())
        found.close()


def test_a_real_overflow_loses_nothing(book: DirectoryDocuments, root: Path, looks: list[None]) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 50_000:
        pytest.skip(f"{most} events fit into the queue")
    one, other = root / "a.md", root / "b.md"
    for _ in range(most // 2 + 10):
        os.utime(one)
        os.utime(other)
    (root / "late.md").write_text("late")
    assert "late.md" in sizes(book.list())
    assert looks


def test_a_book_that_is_made_later_is_watched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "_WATCHING", 0.0)
    book = DirectoryDocuments(str(tmp_path / "later"))
    for _ in range(3):
        assert list(book.list()) == []
    (tmp_path / "later").mkdir()
    (tmp_path / "later" / "a.md").write_text("a\n")
    assert [info.path for info in book.list()] == ["a.md"]
    assert book._watched is not None
    book.close()
