"""The book's documents, entries and turns as resources, and what is not one; the prompts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import memorybook
from mcp import MCPError
from mcp_hosts import CONFIG, Host
from memorybook.memory import Memory
from memorybook.search.tool_results import OPEN
from memorybook.text.sentences import without_recalled


def read(host: Host, uri: str) -> str:
    [content] = host.do(lambda client: client.read_resource(uri)).contents
    return content.text  # type: ignore[union-attr]


def write(memory: Memory, path: str, text: str = "# tea\n") -> None:
    whole = Path(memory.root, path)
    whole.parent.mkdir(parents=True, exist_ok=True)
    whole.write_text(text, encoding="utf-8")


def test_the_page_the_newest_notes_and_the_newest_summaries_are_listed(host: Host, memory: Memory) -> None:
    memory.init()
    for day in range(1, 13):
        write(memory, f"daily/2026-02-{day:02}.md")
        write(memory, f"sessions/2026-02-{day:02}-茶-a1b2c3.md")
    write(memory, "notes/other.md")
    listed = host.do(lambda client: client.list_resources()).resources
    assert [one.name for one in listed] == [
        "MEMORY.md",
        *(f"daily/2026-02-{day:02}.md" for day in range(12, 2, -1)),
        *(f"sessions/2026-02-{day:02}-茶-a1b2c3.md" for day in range(12, 2, -1)),
    ]
    assert [read(host, one.uri) for one in listed[1:]] == ["# tea\n"] * 20
    assert listed[1].size == 6
    assert listed[1].mime_type == "text/markdown"
    templates = host.do(lambda client: client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == ["memory://entry/{id}", "memory://turn/{+id}", "memory://{+path}"]


def test_an_empty_book_lists_nothing_and_stays_empty(host: Host, memory: Memory) -> None:
    assert host.do(lambda client: client.list_resources()).resources == []
    assert not os.path.exists(memory.root)


def test_documents_entries_and_turns_are_read_whole(host: Host, memory: Memory, tmp_path: Path) -> None:
    id = memory.remember("安 likes tea").known.entry.id
    said = {"id": "t1", "session": "tea", "speaker": "Ann", "content": "Green tea.\nNo milk."}
    (tmp_path / "talk.jsonl").write_text(json.dumps(said) + "\n", encoding="utf-8")
    memory.import_file(str(tmp_path / "talk.jsonl"))
    write(memory, "entry/a.md", "in a folder of that name")
    write(memory, "turn/a.md", "in another")
    [session] = memory.book.transcripts.sessions()
    assert read(host, f"memory://entry/{id}") == "安 likes tea"
    assert read(host, "memory://turn/t1") == read(host, f"memory://turn/{session.uuid}/t1") == "Green tea.\nNo milk."
    assert read(host, "memory://entry/a.md") == "in a folder of that name"
    assert read(host, "memory://turn/a.md") == "in another"
    assert read(host, "memory://MEMORY.md") == Path(memory.root, "MEMORY.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md", "%2e%2e/outside.md", "daily/..%2f..%2foutside.md", "%2Fetc/passwd", "/etc/hostname.md",
        ".hidden.md", ".memorybook/hidden.md", "link.md", "folder/outside.md", "MEMORY.md%00", "journal.sqlite",
        "nothing.md", "entry/nobody", "turn/nobody", "",
    ],
)  # fmt: skip
def test_what_is_not_of_the_book_is_not_read(path: str, memory: Memory, tmp_path: Path) -> None:
    memory.init()
    (tmp_path / "outside.md").write_text("secret", encoding="utf-8")
    for hidden in (".hidden.md", ".memorybook/hidden.md", "journal.sqlite"):
        write(memory, hidden, "secret")
    Path(memory.root, "link.md").symlink_to(tmp_path / "outside.md")
    Path(memory.root, "folder").symlink_to(tmp_path)
    for mode in ("auto", "legacy"):
        with pytest.raises(MCPError) as refused:
            read(Host(lambda: memory, mode), f"memory://{path}")
        assert "secret" not in str(refused.value)
        assert refused.value.code == -32602


def prompt(host: Host, name: str, **arguments: str) -> str:
    [message] = host.do(lambda client: client.get_prompt(name, arguments)).messages
    return message.content.text  # type: ignore[union-attr]


def test_prompts_say_to_recall_and_to_keep_in_the_language_of_the_book(host: Host, memory: Memory) -> None:
    listed = host.do(lambda client: client.list_prompts()).prompts
    assert [(one.name, [each.name for each in one.arguments or ()]) for one in listed] == [
        ("recall", ["question", "language"]),
        ("end_of_session", ["language"]),
    ]
    ends = prompt(host, "end_of_session")
    assert ends.startswith(f"{OPEN}\nThis session is about to end.")
    assert without_recalled(ends) == ""
    memory.remember("她每天早上喝绿茶，从不喝咖啡，也不喝牛奶。")
    asked = prompt(host, "recall", question="她喝什么茶 {question}？")
    assert asked.startswith(f"{OPEN}\n回答之前")
    assert "她每天早上喝绿茶" in asked
    assert without_recalled(asked).strip() == "她喝什么茶 {question}？"
    assert "本次会话即将结束" in prompt(host, "end_of_session")
    assert "This session" in prompt(host, "end_of_session", language="en")
    assert "Before you answer" in prompt(host, "recall", question="她喝什么茶", language="en")
    with pytest.raises(MCPError, match="language 'fr' is not one of en, zh"):
        prompt(host, "end_of_session", language="fr")


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("recall", {}, "the prompt recall needs 'question'"),
        (
            "recall",
            {"question": "茶？", "limit": "3"},
            "the prompt recall takes no 'limit': it takes question, language",
        ),
        ("不存在", {}, "no prompt '不存在': there are recall, end_of_session"),
    ],
)
def test_a_prompt_that_cannot_be_made_is_told_in_one_sentence(
    host: Host, name: str, arguments: dict[str, str], told: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(MCPError) as refused:
        prompt(host, name, **arguments)
    assert (refused.value.code, refused.value.message, caplog.records) == (-32602, told, [])


def test_a_prompt_from_an_empty_book_says_that_nothing_was_found(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), config=CONFIG._replace(language="zh")) as memory:
        host = Host(lambda: memory, "auto")
        memory.init()
        assert "(nothing was found at a first look)" in prompt(host, "recall", question="which tea?")
        assert "本次会话即将结束" in prompt(host, "end_of_session"), "as the settings have it"
