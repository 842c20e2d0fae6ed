"""A book edited as files: in the words that models know, with a document for each name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memorybook
from memorybook.config.settings import Config
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, NotFound, Unavailable, UnsafePath
from memorybook.frameworks.memory_tool import Editor, FileTree, document_of, name_of
from memorybook.memory import Memory


def run(memory: Memory, command: str, path: str = "", **more: Any) -> str:
    return Editor(memory).run(
        {"command": command, **({"path": f"/memories{path}"} if command != "rename" else {}), **more}
    )


def test_a_model_reads_what_it_wrote_with_numbers(memory: Memory) -> None:
    assert (
        run(memory, "create", "/work/todo", file_text="tea\n茶\nmilk\n")
        == "File created successfully at: /memories/work/todo"
    )
    assert run(memory, "view", "/work/todo", view_range=[2, 3]) == (
        "Here's the content of /memories/work/todo with line numbers:\n     2\t茶\n     3\tmilk"
    )
    assert run(memory, "view") == (
        "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items:\n"
        "13B\t/memories\n13B\t/memories/work/\n13B\t/memories/work/todo"
    )
    assert memory.document("work/todo.plain.md").text == "tea\n茶\nmilk\n"


def test_a_model_edits_what_stands_there_once(memory: Memory) -> None:
    run(memory, "create", "/a.md", file_text="one\ntwo\none\n")
    assert run(memory, "str_replace", "/a.md", old_str="two", new_str="2").endswith(
        ":\n     1\tone\n     2\t2\n     3\tone\n     4\t"
    )
    assert (
        run(memory, "insert", "/a.md", insert_line=1, insert_text="between\n")
        == "The file /memories/a.md has been edited."
    )
    assert memory.document("a.md").text == "one\nbetween\n2\none\n"
    with pytest.raises(InvalidInput, match=r"Multiple occurrences of old_str `one` in lines: 1, 4\. Please"):
        run(memory, "str_replace", "/a.md", old_str="one", new_str="x")
    with pytest.raises(InvalidInput, match=r"old_str `gone` did not appear verbatim in /memories/a\.md"):
        run(memory, "str_replace", "/a.md", old_str="gone", new_str="x")
    with pytest.raises(InvalidInput, match=r"`insert_line` parameter: 9\. It should be within the range \[0, 4\]"):
        run(memory, "insert", "/a.md", insert_line=9, insert_text="x")


def test_folders_move_and_go_with_all_that_is_in_them(memory: Memory) -> None:
    for path in ("/work/a.md", "/work/api/b.txt", "/c.md"):
        run(memory, "create", path, file_text=path)
    run(memory, "rename", old_path="/memories/work", new_path="/memories/old/work")
    assert sorted(FileTree(memory).files()) == ["c.md", "old/work/a.md", "old/work/api/b.txt"]
    assert run(memory, "delete", "/old/") == "Successfully deleted /memories/old/"
    assert [info.path for info in memory.documents()] == ["c.md"]


def test_what_one_command_did_to_a_folder_one_undo_takes_back(memory: Memory) -> None:
    for path in ("/work/a.md", "/work/api/b.txt"):
        run(memory, "create", path, file_text=path)
    before = {info.path: memory.document(info.path).text for info in memory.documents()}
    for command in ({"command": "rename", "old_path": "/memories/work", "new_path": "/memories/工作"}, DELETED):
        Editor(memory).run(command)
        assert not before.keys() & {info.path for info in memory.documents()}
        memory.undo(memory.history(limit=1).operations[0].operation.id)
        assert {info.path: memory.document(info.path).text for info in memory.documents()} == before


DELETED = {"command": "delete", "path": "/memories/work"}

REFUSED: list[tuple[type[MemoryBookError], str, dict[str, Any]]] = [
    (InvalidInput, "Path must start with /memories, got: /etc", {"command": "view", "path": "/etc"}),
    (InvalidInput, "would escape", {"command": "view", "path": "/memories/../etc"}),
    (NotFound, "does not exist. Please", {"command": "view", "path": "/memories/none"}),
    (NotFound, "does not exist", {"command": "delete", "path": "/memories/none"}),
    (InvalidInput, "Cannot delete the /memories", {"command": "delete", "path": "/memories/"}),
    (
        InvalidInput,
        "Cannot rename the /memories",
        {"command": "rename", "old_path": "/memories", "new_path": "/memories/b"},
    ),
    (Conflict, "File /memories/a already exists", {"command": "create", "path": "/memories/a", "file_text": ""}),
    (Conflict, "'a' is a file", {"command": "create", "path": "/memories/a/b", "file_text": ""}),
    (InvalidInput, "into itself", {"command": "rename", "old_path": "/memories/f", "new_path": "/memories/f/g"}),
    (UnsafePath, "not called .md", {"command": "rename", "old_path": "/memories/f", "new_path": "/memories/g.md"}),
    (UnsafePath, "not called .md", {"command": "create", "path": "/memories/g.md/h", "file_text": ""}),
    (UnsafePath, "starts with a dot", {"command": "rename", "old_path": "/memories/f", "new_path": "/memories/.g"}),
    (UnsafePath, "'b' is kept under that name", {"command": "create", "path": "/memories/b.plain.md", "file_text": ""}),
    (InvalidInput, "is not a file", {"command": "insert", "path": "/memories/f", "insert_line": 0, "insert_text": ""}),
    (InvalidInput, "needs 'file_text'", {"command": "create", "path": "/memories/b"}),
    (InvalidInput, "no command 'shred': there are view,", {"command": "shred", "path": "/memories/a"}),
]


def test_what_cannot_be_is_said_in_a_sentence_and_leaves_all_as_it_was(memory: Memory) -> None:
    for path in ("/a", "/f/x", "/f/y.md"):
        run(memory, "create", path, file_text=path)
    before = FileTree(memory).files()
    for kind, words, command in REFUSED:
        with pytest.raises(kind) as error:
            Editor(memory).run(command)
        assert words in str(error.value), command
    with pytest.raises(Conflict, match="'f/x' exists already"):
        FileTree(memory).rename("a", "f/x")
    with pytest.raises(NotFound, match="no file or folder 'b'"):
        FileTree(memory).remove("b")
    assert FileTree(memory).files() == before


def test_switched_off_nothing_is_read_or_written(tmp_path: Path) -> None:
    with (
        memorybook.open(str(tmp_path), config=Config()._replace(enabled=False)) as off,
        pytest.raises(Unavailable, match="switched off"),
    ):
        run(off, "view")


def test_an_edit_of_what_changed_meanwhile_is_refused(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    run(memory, "create", "/a.md", file_text="tea")
    read = FileTree.read

    def overtaken(tree: FileTree, name: str) -> Any:
        found = read(tree, name)
        memory.write_document("a.md", "tea, and milk")
        return found

    monkeypatch.setattr(FileTree, "read", overtaken)
    with pytest.raises(Conflict):
        run(memory, "str_replace", "/a.md", old_str="tea", new_str="coffee")
    assert memory.document("a.md").text == "tea, and milk"


@given(st.text("a.mdplin/").map(lambda name: name + ".plain.md") | st.text("a.mdplin/").map(lambda name: name + ".md"))
def test_each_document_is_a_file_of_a_name_of_its_own(path: str) -> None:
    assert document_of(name_of(path)) == path


@pytest.mark.parametrize("said", ["The user drinks green tea every day.", "用户每天早上喝绿茶。"])
def test_a_model_cannot_edit_away_what_a_person_said(tmp_path: Path, said: str) -> None:
    root = str(tmp_path / "book")
    with memorybook.open(root, config=Config(), door="cli") as person:
        person.remember(said)
        person.append("answers in English 用英文回答", section="Preferences")
        page = person.document("MEMORY.md").text
    with memorybook.open(root, config=Config(), door="mcp") as agent:
        for old, new in (("- answers in English 用英文回答\n", "\n"), (said, "x"), (said, f"not: {said}"), (page, "")):
            told = run(agent, "str_replace", "/MEMORY.md", old_str=old, new_str=new)
            assert told.startswith("A person wrote what this would take away: it stays, and the edit waits for them (p")
            assert {said, "- answers in English 用英文回答"} <= {*agent.document("MEMORY.md").text.split("\n")}
        page = agent.document("MEMORY.md").text
        with pytest.raises(InvalidInput, match="lines that a person wrote, which stay"):
            run(agent, "str_replace", "/MEMORY.md", old_str=page, new_str="# Agent Memory\n")
        (tmp_path / "book" / "notes.md").write_text(f"- {said}\n", encoding="utf-8")
        for command, fields in (
            ("delete", {}),
            ("str_replace", {"old_str": said, "new_str": "x"}),
        ):
            assert "waits for them" in run(agent, command, "/notes.md", **fields)
        run(agent, "insert", "/notes.md", insert_line=1, insert_text="- more\n")
        assert agent.document("notes.md").text == f"- {said}\n- more\n"
        assert run(agent, "str_replace", "/notes.md", old_str="- more\n", new_str="").startswith("The memory file has")
        run(agent, "create", "/mine.md", file_text="mine\n")
        assert run(agent, "delete", "/mine.md") == "Successfully deleted /memories/mine.md"
        for command, more in (
            ("delete", {}),
            ("rename", {"old_path": "/memories/MEMORY.md", "new_path": "/memories/x"}),
        ):
            with pytest.raises(InvalidInput, match="it stays"):
                run(agent, command, "/MEMORY.md", **more)
        assert said in [known.entry.text for known in agent.entries().entries if known.entry.trust == "user"]
