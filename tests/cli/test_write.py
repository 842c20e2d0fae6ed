from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memorybook.cli.call import Call
from memorybook.errors import InvalidInput


def test_add_with_every_option(shell: Any, tools: Any) -> None:
    shell(
        *("add", "用户", "喜欢茶", "--type", "preference", "--importance", "high", "--tag", "a, b", "--tag", "茶，c"),
        *("--group", "home", "--expires", "2026-03-01", "--metadata", '{"k": [1]}'),
        *("--session", "s1"),
    )
    assert tools.last == (
        "memory_remember",
        {
            "text": "用户 喜欢茶",
            "category": "preference",
            "importance": "high",
            "tags": ("a", "b", "茶", "c"),
            "group": "home",
            "expires": "2026-03-01",
            "metadata": {"k": [1]},
            "session": "s1",
        },
    )


def test_remember_says_no_more_than_it_was_told(shell: Any, tools: Any) -> None:
    shell("remember", "tea")
    assert tools.last[1] == {
        "text": "tea", "category": "fact", "importance": "medium", "tags": (), "group": None, "expires": None,
        "metadata": None, "session": None,
    }  # fmt: skip


def test_an_importance_may_be_a_number(shell: Any, tools: Any) -> None:
    shell("add", "tea", "--importance", "0.35")
    assert tools.last[1]["importance"] == 0.35


def test_bytes_from_stdin_that_are_not_utf8_survive(shell: Any, tools: Any) -> None:
    shell("add", "-", stdin=b"caf\xe9\nau lait\n")
    assert tools.last[1]["text"] == "caf\udce9\nau lait"


def test_append(shell: Any, tools: Any) -> None:
    shell("append", "moved", "it", "--kind", "ops", "--tag", "cron", "--section", "TODO")
    assert tools.last == ("memory_append", {"text": "moved it", "kind": "ops", "tags": ("cron",), "section": "TODO"})


@pytest.mark.parametrize("words", [["flush"], ["flush", "text", "--messages", "f"]])
def test_flush_takes_a_text_or_messages(shell: Any, tools: Any, words: list[str]) -> None:
    done = shell(*words)
    assert done.code == 2
    assert "either a text" in done.err


def test_flush_a_text(shell: Any, tools: Any) -> None:
    shell("flush", "-", stdin=b"I prefer tea")
    assert tools.last == ("memory_flush", {"text": "I prefer tea", "messages": None})


@pytest.mark.parametrize(
    "text",
    [
        '\ufeff{"role": "user", "content": "茶"}\n\n{"role": "assistant"}\n',
        '[{"role": "user", "content": "茶"}, {"role": "assistant"}]',
    ],
)
def test_flush_messages_from_a_file_or_stdin(shell: Any, tools: Any, tmp_path: Path, text: str) -> None:
    expected = [{"role": "user", "content": "茶"}, {"role": "assistant"}]
    file = tmp_path / "chat.jsonl"
    file.write_text(text, encoding="utf-8")
    shell("flush", "--messages", str(file))
    assert tools.last == ("memory_flush", {"text": None, "messages": expected})
    shell("flush", "--messages", "-", stdin=text.encode())
    assert tools.last[1]["messages"] == expected


@pytest.mark.parametrize(
    ("content", "message", "code"),
    [
        ('{"role": "user"}\nnonsense', "chat.jsonl:2 is not JSON", 2),
        ("[1, 2", "chat.jsonl is not JSON", 2),
        ("3", "every message must be a JSON object", 2),
        (None, "no file", 3),
    ],
)
def test_messages_that_cannot_be_read(
    shell: Any, tools: Any, tmp_path: Path, content: str | None, message: str, code: int
) -> None:
    file = tmp_path / "chat.jsonl"
    if content is not None:
        file.write_text(content)
    done = shell("flush", "--messages", str(file))
    assert (done.code, tools.asked) == (code, [])
    assert message in done.err


def test_messages_in_a_directory(shell: Any, tools: Any, tmp_path: Path) -> None:
    assert "cannot read" in shell("flush", "--messages", str(tmp_path)).err


def test_update_says_only_what_changes(shell: Any, tools: Any) -> None:
    shell("update", "a1", "new", "text", "--tag", "")
    assert tools.last == (
        "memory_update",
        {
            "id": "a1",
            "text": "new text",
            "category": None,
            "importance": None,
            "tags": (),
            "group": None,
            "expires": None,
            "metadata": None,
            "instruction": None,
        },
    )
    shell("update", "a1", "--importance", "0.5", "--group", "")
    assert tools.last[1] == {
        "id": "a1", "text": None, "category": None, "importance": 0.5, "tags": None, "group": "", "expires": None,
        "metadata": None, "instruction": None,
    }  # fmt: skip


def test_update_by_an_instruction(shell: Any, tools: Any) -> None:
    shell("update", "a1", "--instruction", "写成一句话")
    assert (tools.last[1]["instruction"], tools.last[1]["text"]) == ("写成一句话", None)


def test_update_of_the_metadata_alone(shell: Any, tools: Any) -> None:
    shell("update", "a1", "--metadata", '{"team": "api"}')
    assert tools.last[1]["metadata"] == {"team": "api"}


def test_an_update_of_nothing_is_refused(shell: Any, tools: Any) -> None:
    done = shell("update", "a1")
    assert (done.code, tools.asked) == (2, [])
    assert "needs a new text or one of" in done.err


@pytest.mark.parametrize(("verb", "pinned"), [("pin", True), ("unpin", False)])
def test_pin(shell: Any, tools: Any, verb: str, pinned: bool) -> None:
    shell(verb, "a1")
    assert tools.last == ("memory_pin", {"id": "a1", "pinned": pinned})


def test_forget_an_entry_without_asking(shell: Any, tools: Any) -> None:
    shell("delete", "a1")
    meant = {"target": "a1", "query": None, "session": None, "source": None}
    assert tools.asked == [("memory_forget", {**meant, "dry_run": False})]


@pytest.mark.parametrize(
    "words", [[], ["a1", "--query", "x"], ["--query", "x", "--session", "s"], ["a1", "--source", "turn:1"]]
)
def test_forget_takes_exactly_one_of_four(shell: Any, tools: Any, words: list[str]) -> None:
    done = shell("forget", *words)
    assert (done.code, tools.asked) == (2, [])
    assert "forget needs one of" in done.err


RECEIPT = {
    "dry_run": True, "entries": ["a1", "b2"], "notes": [], "documents": [], "sessions": 0, "turns": 3, "remains": [],
}  # fmt: skip


def test_forgetting_by_query_shows_what_would_go_and_needs_a_yes(shell: Any, tools: Any) -> None:
    tools.answers["memory_forget"] = {"receipt": RECEIPT}
    done = shell("forget", "--query", "phone")
    assert done.code == 2
    assert "would forget 2 entries, 3 turns" in done.err
    assert "give --yes" in done.err
    assert [asked["dry_run"] for _, asked in tools.asked] == [True]


def test_forgetting_by_session_with_yes_does_not_ask(shell: Any, tools: Any) -> None:
    tools.answers["memory_forget"] = {"receipt": RECEIPT}
    assert shell("forget", "--session", "s1", "--yes").code == 0
    assert [asked["dry_run"] for _, asked in tools.asked] == [False]


def test_a_dry_run_does_not_ask(shell: Any, tools: Any) -> None:
    tools.answers["memory_forget"] = {"receipt": RECEIPT}
    done = shell("forget", "--query", "phone", "--dry-run")
    assert "would forget 2 entries, 3 turns" in done.out


def test_a_switched_off_memory_has_nothing_to_ask_about(shell: Any, tools: Any) -> None:
    assert "switched off" in shell("forget", "--query", "phone").out


def test_a_query_that_finds_nothing_forgets_nothing_and_does_not_ask(shell: Any, tools: Any) -> None:
    nothing = RECEIPT | {"entries": [], "turns": 0}
    tools.answers["memory_forget"] = {"receipt": nothing}
    done = shell("forget", "--query", "phone", "--json")
    assert (done.code, json.loads(done.out)) == (0, {"receipt": nothing | {"dry_run": False}})
    assert done.err == ""
    assert [asked["dry_run"] for _, asked in tools.asked] == [True]


class Terminal:
    def __init__(self, answer: str) -> None:
        self.answer = answer

    def isatty(self) -> bool:
        return True

    def readline(self) -> str:
        return self.answer


def test_a_closed_stdin_cannot_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InvalidInput, match="no terminal to ask on"):
        Call("forget", ["--query", "x"]).confirm("Really?")


@pytest.mark.parametrize(
    ("answer", "agreed"), [("y\n", True), ("是\n", True), ("\n", False), ("", False), ("no\n", False)]
)
def test_a_person_is_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, agreed: bool
) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    call = Call("forget", ["--query", "x"])
    if agreed:
        call.confirm("Really?")
    else:
        with pytest.raises(Exception, match="nothing was changed") as caught:
            call.confirm("Really?")
        assert not isinstance(caught.value, InvalidInput)
    assert capsys.readouterr().err == "Really? [y/N] "


@pytest.mark.parametrize("text", ["The user likes tea.", "用户喜欢茶", "tea", "-- dashes", "喝 茶"])
def test_the_statement_may_be_given_as_content(shell: Any, tools: Any, text: str) -> None:
    shell("add", f"--content={text}")
    assert tools.last[1]["text"] == text


@pytest.mark.parametrize("words", [["add"], ["add", "tea", "--content", "coffee"]])
def test_the_statement_is_given_once(shell: Any, words: list[str]) -> None:
    done = shell(*words)
    assert done.code == 2
    assert "--content" in done.err
