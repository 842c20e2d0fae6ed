from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import Conflict, UnsafePath
from memorybook.storage import target as module
from memorybook.storage.directory import DirectoryDocuments
from memorybook.storage.target import Version, Versions, base_of, parse_record

NOTE = "- 2026-02-24T10:12:{:02d}Z [fact] agent note {}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "book"


@pytest.fixture
def book(root: Path) -> DirectoryDocuments:
    return DirectoryDocuments(str(root))


@pytest.fixture
def kept(tmp_path: Path) -> Iterator[Versions]:
    versions = Versions(os.open(tmp_path, os.O_RDONLY))
    yield versions
    versions.close()


def needs(book: DirectoryDocuments, path: str) -> bool:
    return next(book.needs_reconcile(info) for info in book.list() if info.path == path)


def test_only_the_last_versions_are_kept(kept: Versions) -> None:
    for number in range(60):
        kept.add(f"{number}\n".encode(), "s")
    assert [version.data for version in kept.load()] == [f"{n}\n".encode() for n in range(59, 11, -1)]


def test_large_versions_are_kept_in_bounded_space(kept: Versions, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEPT_BYTES", 250)
    for number in range(9):
        kept.add(bytes([48 + number]) * 100, "s")
    assert [version.data[:1] for version in kept.load()] == [b"8", b"7"]


def test_damaged_versions_are_left_out_and_a_damaged_tail_is_cut(kept: Versions, tmp_path: Path) -> None:
    kept.add(b"one\n", "s")
    damaged = kept.record().latest
    kept.add(b"two\n", "s")
    for tail in (b"whole\n", b"\0\0\0\0", b"torn"):
        kept.extend(tail, "s")
    (tmp_path / damaged).write_bytes(b"\0\0\0\0")
    assert kept.load() == [Version(True, 4, b"two\nwhole\n")]


def version(*lines: str, appended: tuple[str, ...] = (), stood: bool = True) -> Version:
    start = "".join(f"{line}\n" for line in lines).encode()
    return Version(stood, len(start), start + "".join(f"{line}\n" for line in appended).encode())


def test_the_state_before_the_appends_that_a_text_lacks_is_its_base() -> None:
    base = base_of([version("a", "b", appended=("c", "d", "e"))], b"a\nb\nc\nmine\n")
    assert base == (b"a\nb\nc\n", False, False)


def test_an_exact_older_state_is_a_restored_one_but_an_exact_stale_save_is_not() -> None:
    history = [version("a", "b", "c"), version("a", "mine", stood=False), version("a", "b")]
    assert base_of(history, b"a\nb\n") == (b"a\nb\n", False, True)
    assert base_of(history, b"a\nmine\n") == (b"a\nmine\n", False, False)
    assert base_of(history, b"a\nb\nc\n") == (b"a\nb\nc\n", True, False)


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), max_size=6), min_size=1, max_size=4),
    st.lists(st.sampled_from("abcxyz")),
)
def test_the_base_is_always_one_of_the_states(states: list[list[str]], text: list[str]) -> None:
    history = [version(*state[:2], appended=tuple(state[2:])) for state in states]
    base = base_of(history, "".join(f"{line}\n" for line in text).encode())
    assert base is not None
    assert any(each.data.startswith(base.data) for each in history)


def test_a_stale_save_keeps_the_persons_lines_and_gets_the_agents_back(book: DirectoryDocuments, root: Path) -> None:
    for number in range(3):
        book.append("a.md", NOTE.format(number, number))
    loaded = (root / "a.md").read_text()
    for number in range(3, 6):
        book.append("a.md", NOTE.format(number, number))
    (root / "a.md").write_text(loaded.replace(NOTE.format(1, 1) + "\n", "") + "我的一行\n")
    assert needs(book, "a.md")
    assert book.reconcile("a.md")
    expected = [NOTE.format(n, n) for n in (0, 2)] + ["我的一行"] + [NOTE.format(n, n) for n in (3, 4, 5)]
    assert book.read("a.md").text.splitlines() == expected
    assert not needs(book, "a.md")
    assert not book.reconcile("a.md")


def test_the_same_editor_may_save_its_stale_buffer_again_and_again(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "start of the day")
    buffer = "start of the day\n"
    book.append("a.md", NOTE.format(1, 1))
    for number in range(3):
        buffer += f"mine {number}\n"
        (root / "a.md").write_text(buffer)
        assert book.reconcile("a.md")
        (root / "a.md").write_text(buffer)  # saved again without a change
        assert book.reconcile("a.md")
    lines = book.read("a.md").text.splitlines()
    assert sorted(lines) == sorted(["start of the day", NOTE.format(1, 1), "mine 0", "mine 1", "mine 2"])


def test_what_an_editor_saves_while_a_person_types_is_there_once(book: DirectoryDocuments, root: Path) -> None:
    book.write("MEMORY.md", "## TODO\n- call the dentist\n", expect=None)
    bread = "- buy two loaves of bread"
    for typed in ("- ", "- b", "- buy tw", bread, f"{bread}\n- 牛", f"{bread}\n- 牛奶"):
        page = f"## TODO\n- call the dentist\n{typed}\n"
        (root / "MEMORY.md").write_text(page)
        assert book.read("MEMORY.md").text == page


def test_a_person_may_reword_again_what_was_said_in_two_places(book: DirectoryDocuments, root: Path) -> None:
    title = "### [{}] fact | 0.50 | 2026-02-24 | 1\n"
    page = "## Active Memories\n\n" + title.format("a") + "{}\n\n" + title.format("b") + "{}\n"
    said = "The build runs on a machine in the cellar."
    book.write("MEMORY.md", page.format(said, said), expect=None)
    for anew in ("It runs in the cloud.", "It runs nowhere any more."):
        (root / "MEMORY.md").write_text(page.format(anew, said))
        assert book.read("MEMORY.md").text == page.format(anew, said)


def test_a_person_may_delete_almost_everything(book: DirectoryDocuments, root: Path) -> None:
    for number in range(10):
        book.append("a.md", NOTE.format(number, number))
    (root / "a.md").write_text(NOTE.format(9, 9) + "\n")
    assert not book.reconcile("a.md")
    book.append("a.md", "next")
    assert book.read("a.md").text == NOTE.format(9, 9) + "\nnext\n"


@pytest.mark.parametrize("text", ["v1\n", ""], ids=["older version", "emptied"])
def test_what_a_person_restores_or_empties_stands(book: DirectoryDocuments, root: Path, text: str) -> None:
    revision = book.write("MEMORY.md", "", expect=None)
    for number in range(1, 4):
        revision = book.write("MEMORY.md", f"v{number}\n", expect=revision)
    (root / "MEMORY.md").write_text(text)
    assert not book.reconcile("MEMORY.md")
    assert book.read("MEMORY.md").text == text
    assert not needs(book, "MEMORY.md")


def test_a_person_may_empty_a_document_again_and_again(book: DirectoryDocuments, root: Path) -> None:
    book.write("a.md", "first\n", expect=None)
    for number in range(3):
        book.append("a.md", NOTE.format(number, number))
        (root / "a.md").write_text("")
        assert not book.reconcile("a.md")
        assert book.read("a.md").text == ""


def test_a_write_over_an_unseen_save_is_a_conflict_and_then_keeps_both(book: DirectoryDocuments, root: Path) -> None:
    first = book.write("MEMORY.md", "a\nb\n", expect=None)
    second = book.write("MEMORY.md", "a\nb\nagent\n", expect=first)
    (root / "MEMORY.md").write_text("a\nb\nperson\n")
    with pytest.raises(Conflict):
        book.write("MEMORY.md", "a\nb\nagent\nmore\n", expect=second)
    merged = book.read("MEMORY.md")
    assert merged.text == "a\nb\nperson\nagent\n"
    book.write("MEMORY.md", merged.text + "more\n", expect=merged.revision)


def test_an_append_merges_an_unseen_save_first(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "1")
    book.append("a.md", "2")
    (root / "a.md").write_text("1\nperson\n")
    book.append("a.md", "3")
    assert book.read("a.md").text == "1\nperson\n2\n3\n"


def test_the_text_a_person_had_before_the_first_append_or_write_is_a_base(book: DirectoryDocuments, root: Path) -> None:
    root.mkdir()
    for path in ("a.md", "b.md"):
        (root / path).write_text("person\n")
    book.append("a.md", "agent")
    book.write("b.md", "person\nagent\n", expect=book.read("b.md").revision)
    for path in ("a.md", "b.md"):
        (root / path).write_text("person\nmore\n")
        assert book.reconcile(path)
        assert book.read(path).text == "person\nmore\nagent\n"


def test_touching_or_saving_the_same_text_changes_nothing(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "1")
    os.utime(root / "a.md", (1, 1))
    assert needs(book, "a.md")
    assert not book.reconcile("a.md")
    assert not needs(book, "a.md")


def test_documents_never_written_here_need_nothing(book: DirectoryDocuments, root: Path) -> None:
    root.mkdir()
    (root / "a.md").write_text("person\n")
    assert not needs(book, "a.md")
    assert not book.reconcile("a.md")
    assert not book.reconcile("nothing.md")
    with pytest.raises(UnsafePath):
        book.reconcile("../a.md")


def test_all_changed_documents_can_be_reconciled_at_once(book: DirectoryDocuments, root: Path) -> None:
    for path in ("a.md", "b.md", "c.md"):
        book.append(path, "1")
        book.append(path, "2")
    (root / "a.md").write_text("1\nperson\n")
    (root / "b.md").write_text("1\n2\nperson\n")
    assert list(book.reconcile_all()) == ["a.md"]
    assert book.read("b.md").text == "1\n2\nperson\n"


def test_a_document_that_a_person_deleted_is_waited_for_once_and_then_made_anew(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.storage.target._PATIENCE", 0.05)
    book.append("a.md", "1")
    (root / "a.md").unlink()
    book.append("a.md", "2")
    assert book.read("a.md").text == "2\n"
    (root / "a.md").unlink()
    assert not book.reconcile("a.md")
    assert not book.reconcile("a.md")
    book.write("a.md", "3\n", expect=None)
    assert book.read("a.md").text == "3\n"


def test_a_document_made_anew_does_not_delete_what_a_person_brings_back(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("memorybook.storage.target._PATIENCE", 0.05)
    for number in range(3):
        book.append("a.md", NOTE.format(number, number))
    old = (root / "a.md").read_text()
    (root / "a.md").unlink()
    book.append("a.md", "agent")
    (root / "a.md").write_text(old + "person\n")
    assert book.reconcile("a.md")
    assert book.read("a.md").text == old + "person\nagent\n"


def while_waiting(monkeypatch: pytest.MonkeyPatch, *steps: Callable[[], object]) -> None:
    """Each time somebody waits for an editor, the editor takes its next step."""
    left, sleep = iter(steps), time.sleep

    def stepping(seconds: float) -> None:
        next(left, lambda: None)()
        sleep(seconds)

    monkeypatch.setattr("memorybook.storage.target.time.sleep", stepping)


def test_a_save_that_is_still_being_written_is_waited_for(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append("a.md", "1")
    book.append("a.md", "2")
    monkeypatch.setattr(module, "_QUIET", module._QUIET_CUT)  # a machine that is busy stays longer than that
    with open(root / "a.md", "w", buffering=1) as file:
        lines = ("1\n", "person\n", "more of the person\n")
        while_waiting(monkeypatch, *(partial(file.write, line) for line in lines))
        assert book.reconcile("a.md")
    assert book.read("a.md").text == "1\nperson\nmore of the person\n2\n"


def test_an_editor_between_its_two_renames_is_waited_for(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append("a.md", "1")
    book.append("a.md", "2")
    (root / "a.md").rename(root / "a.md~")
    (root / "4913").write_text("1\nperson\n")
    while_waiting(monkeypatch, lambda: None, lambda: (root / "4913").rename(root / "a.md"))
    book.append("a.md", "3")
    assert book.read("a.md").text == "1\nperson\n2\n3\n"


def test_what_a_slow_editor_writes_into_a_replaced_file_is_merged(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("a.md", "base of it\n", expect=None)
    with open(root / "a.md", "r+") as slow:
        revision = book.write("a.md", "base of it\nagent\n", expect=revision)
        slow.write("base of it\nperson\n")
    with pytest.raises(Conflict):
        book.write("a.md", "base of it\nagent\nmore\n", expect=revision)
    assert book.read("a.md").text == "base of it\nperson\nagent\n"
    assert not book.reconcile("a.md")


def test_a_replaced_file_that_a_slow_editor_emptied_changes_nothing_until_it_is_filled(
    book: DirectoryDocuments, root: Path
) -> None:
    revision = book.write("a.md", "base of it\n", expect=None)
    with open(root / "a.md", "r+") as slow:
        book.write("a.md", "base of it\nagent\n", expect=revision)
        slow.truncate(0)
        assert not book.reconcile("a.md")
        assert book.read("a.md").text == "base of it\nagent\n"
        slow.write("base of it\nperson\n")
    assert book.reconcile("a.md")
    assert book.read("a.md").text == "base of it\nperson\nagent\n"


def test_a_save_that_a_killed_writer_put_aside_is_merged(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("a.md", "base of it\n", expect=None)
    book.write("a.md", "base of it\nagent\n", expect=revision)
    (root / ".a.md.mb-swap").write_text("base of it\nperson\n")
    os.utime(root / ".a.md.mb-swap", (1, 1))
    DirectoryDocuments(str(root)).append("b.md", "another document of the folder")
    assert book.read("a.md").text == "base of it\nperson\nagent\n"
    assert sorted(os.listdir(root)) == [".memorybook", "a.md", "b.md"]


def test_what_a_killed_writer_had_not_put_in_place_is_discarded(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("a.md", "old\n", expect=None)
    state = root / ".memorybook" / "versions" / "a.md"
    record = parse_record((state / "record").read_bytes())
    with book.lock():
        versions = Versions(os.open(state, os.O_RDONLY))
        from memorybook.storage.safe_open import digest

        versions.leave(record._replace(old=digest(b"old\n"), new=digest(b"new\n")))
        versions.close()
    (root / ".a.md.mb-swap").write_text("new\n")
    book.write("a.md", "newer\n", expect=revision)
    assert book.read("a.md").text == "newer\n"
    assert (state / "displaced").read_text() == "old\n"


def test_a_save_put_aside_and_a_stale_save_are_both_merged(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("a.md", "base of it\n", expect=None)
    book.write("a.md", "base of it\nagent\n", expect=revision)
    (root / ".a.md.mb-swap").write_text("base of it\nput aside\n")
    (root / "a.md").write_text("stale\nbase of it\n")
    assert book.reconcile("a.md")
    assert book.read("a.md").text == "stale\nbase of it\nput aside\nagent\n"
    assert not book.reconcile("a.md")


def test_an_editor_that_loaded_a_write_that_was_taken_back_loses_nothing(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    revision = book.write("a.md", "base of it\n", expect=None)
    attempt = f"base of it\n{NOTE.format(1, 1)}\n"
    real = os.rename

    def rename(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        (root / "a.md").write_text("base of it\nfirst save\n")

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(Conflict):
            book.write("a.md", attempt, expect=revision)
    book.append("a.md", NOTE.format(1, 1))
    (root / "a.md").write_text(attempt + "second save\n")
    book.reconcile("a.md")
    lines = book.read("a.md").text.splitlines()
    assert sorted(lines) == sorted(["base of it", "first save", "second save", NOTE.format(1, 1)])


def test_removing_a_document_removes_its_versions(book: DirectoryDocuments, root: Path) -> None:
    book.append("a.md", "secret")
    book.remove("a.md")
    assert not list((root / ".memorybook" / "versions").iterdir())


def test_forgetting_the_versions_leaves_no_trace_of_what_was_taken_out(book: DirectoryDocuments, root: Path) -> None:
    revision = book.write("MEMORY.md", "secret\n", expect=None)
    book.append("daily/a.md", "secret")
    book.write("MEMORY.md", "kept\n", expect=revision)
    book.write("daily/a.md", "kept\n", expect=book.read("daily/a.md").revision)
    assert book.forget_versions() > 2
    left = [path for path in root.rglob("*") if path.is_file() and b"secret" in path.read_bytes()]
    assert left == []
    assert book.read("MEMORY.md").text == book.read("daily/a.md").text == "kept\n"
    assert book.forget_versions() == 0


def test_a_document_below_a_folder_named_like_a_document_has_versions_of_its_own(book: DirectoryDocuments) -> None:
    book.append("a.md", "1")
    book.remove("a.md")
    book.append("a.md/b.md", "1")
    assert book.read("a.md/b.md").text == "1\n"


def test_someone_who_saves_all_the_time_is_a_conflict_not_a_hang(
    book: DirectoryDocuments, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.append("a.md", "1")
    book.append("a.md", "2")
    (root / "a.md").write_text("1\nperson\n")
    monkeypatch.setattr("memorybook.storage.target._QUIET", 0.0)
    monkeypatch.setattr("memorybook.storage.target._QUIET_CUT", 0.0)
    real, count = os.rename, iter(range(1000))

    def rename(source: str, target: str, **folders: int) -> None:
        real(source, target, **folders)
        (root / "a.md").write_text(f"1\nperson {next(count)}\n")

    monkeypatch.setattr(os, "rename", rename)
    with pytest.raises(Conflict, match="faster"):
        book.append("a.md", "3")
    assert book.read("a.md").text.startswith("1\nperson")  # who only reads takes it as it is


def test_a_text_that_knows_a_late_line_is_not_stale_whatever_it_lacks() -> None:
    lines = tuple(NOTE.format(number, number) for number in range(10))
    assert base_of([version(appended=lines)], f"{lines[9]}\n".encode()) == (version(*lines).data, True, False)


def test_a_line_that_stood_twice_is_missing_where_it_stands_once() -> None:
    same = "- the same thing is said in two places"
    history = [version(same, "- said anew", "", "end"), version(same, same, "", "end")]
    base = base_of(history, f"{same}\n- said another way\n\n\nend\n".encode())
    assert base == (history[0].data, True, False)


def test_a_line_that_was_appended_twice_is_known_to_a_text_that_has_both() -> None:
    same = "- the same thing is said in two places"
    history = [version(same, appended=("x", same, "end"))]
    assert base_of(history, f"{same}\nx\nmine\n".encode()) == (f"{same}\nx\n".encode(), False, False)
    assert base_of(history, f"{same}\nx\n{same}\nmine\n".encode()) == (f"{same}\nx\n{same}\n".encode(), False, False)


def test_a_line_that_goes_on_in_the_text_is_known_to_it() -> None:
    history = [version("a", "- buy mi", "z"), version("a", "z")]
    assert base_of(history, b"a\n- buy milk\nz\n") == (history[0].data, True, False)
    assert base_of(history, b"a\n- sell milk\nz\n") == (history[1].data, False, False)


def test_a_line_that_another_one_of_its_version_goes_on_from_is_not_known_by_that() -> None:
    history = [version("a", "- buy", "- buy milk", "z"), version("a", "- buy milk", "z")]
    assert base_of(history, b"a\n- buy milk\nmine\nz\n") == (history[1].data, False, False)


def test_line_ends_do_not_matter_to_the_base() -> None:
    assert base_of([version("a", "b", appended=("c",))], b"a\r\nb\r\nmine\r\n") == (b"a\nb\n", False, False)
