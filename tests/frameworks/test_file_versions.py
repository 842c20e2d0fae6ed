"""Files whose writes name the version that was read, and are carried out once however often they are asked for."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.errors import Conflict, Unavailable
from memorybook.frameworks.memory_tool import VersionedFiles
from memorybook.memory import Memory


class WriteRequest(NamedTuple):
    id: str
    fingerprint: str = "a"


@pytest.fixture
def files(memory: Memory) -> VersionedFiles:
    return VersionedFiles(memory, "agents", host="test")


def test_a_write_replaces_the_version_that_was_read_and_no_other(files: VersionedFiles) -> None:
    made = files.write("main/a.md", "tea\n", None)
    for expected in (None, "elsewhere"):
        with pytest.raises(Conflict, match="read it again"):
            files.write("main/a.md", "milk\n", expected)
    again = files.write("main/a.md", "milk\n", made.version)
    assert (made.existed, again.existed) == (False, True)
    assert files.write("main/a.md", None, again.version) == (None, True)
    assert files.read("main/a.md") is None


def test_what_was_asked_for_before_is_known_in_another_process_even_if_it_changed_nothing(
    memory: Memory, files: VersionedFiles
) -> None:
    made = files.write("main/a.md", "茶\n", None, WriteRequest("1"))
    same = files.write("main/a.md", "茶\n", made.version, WriteRequest("2"))
    gone = files.write("main/b.md", None, None, WriteRequest("3"))
    assert (same.version, same.existed, gone) == (made.version, True, (None, False))
    files.write("main/a.md", "milk\n", made.version)
    later = VersionedFiles(memory, "agents", host="test")
    assert [later.receipt(WriteRequest(id)) for id in "1234"] == [made, same, gone, None]
    assert VersionedFiles(memory, "agents", host="other").receipt(WriteRequest("1")) is None
    with pytest.raises(Conflict, match="used for something else"):
        later.receipt(WriteRequest("1", "b"))


def test_a_file_knows_the_write_that_made_it_so_until_a_person_edits_it(memory: Memory, files: VersionedFiles) -> None:
    secret = {"by": "key sk-proj-" + "a1B2" * 12}
    made = files.write("main/a.md", "my password: hunter2-Xyz-99\n", None, WriteRequest("1"), secret)
    file = files.read("main/a.md")
    assert file is not None
    assert (file.version, file.asked, list(file.metadata or ())) == (made.version, "1", ["by"])
    assert not [text for text in (file.text, str(file.metadata)) if "hunter2" in text or "a1B2" in text]
    Path(memory.root, "agents/main/a.md").write_text("mine\n")
    edited = files.read("main/a.md")
    assert edited is not None
    assert (edited.text, edited.asked, edited.metadata) == ("mine\n", None, None)
    with pytest.raises(Conflict):
        files.write("main/a.md", "theirs\n", made.version)


def test_files_are_found_right_below_a_prefix(memory: Memory, files: VersionedFiles) -> None:
    memory.write_document("notes/tea.md", "We drink green tea.\n")
    for name in ("ann/tea.md", "ann/deep/tea.md", "bob/tea.md"):
        files.write(name, "We drink green tea.\n", None)
    files.write("ann/train.txt", "The train to Porto leaves at noon.\n", None)
    assert files.names("ann/") == ["ann/deep/tea.md", "ann/tea.md", "ann/train.txt"]
    found = files.search("ann/", "green tea", limit=5, most=9)
    assert ([name for name, _ in found.hits], found.files, found.left) == (["ann/tea.md"], 2, False)
    assert files.search("ann/", "green tea", limit=5, most=1)[1:] == (1, True)


def test_while_memory_is_switched_off_nothing_is_read(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), config=Config(enabled=False)) as memory:
        files = VersionedFiles(memory, "agents", host="test")
        for call in (lambda: files.read("a.md"), lambda: files.receipt(WriteRequest("1")), files.names):
            with pytest.raises(Unavailable):
                call()
