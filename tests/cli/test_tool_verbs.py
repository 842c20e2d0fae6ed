"""Verbs that ask one tool: which words become which call, and which are refused; questions before something goes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from memorybook.cli.call import Call
from memorybook.errors import InvalidInput


@pytest.mark.parametrize(
    ("line", "tool", "asked"),
    [
        ("search q", "memory_search", {"query": "q"}),
        ("search which port -n 3 --min-score 0.5 --type fact --since 2026-01-01 --until 2026-02-01 --session s "
         "--explain",
         "memory_search", {"query": "which port", "max_results": 3, "min_score": 0.5, "category": "fact",
                           "since": "2026-01-01", "until": "2026-02-01", "session": "s", "explain": True}),
        ("search q --below-prompt -n 2", "recall_memory", {"query": "q", "max_results": 2}),
        ("recall release notes --max-tokens 500", "memory_recall", {"query": "release notes", "max_tokens": 500}),
        ("get a.md --from 12 --lines 5", "memory_get", {"target": "a.md", "from_": 12, "lines": 5}),
        ("get turn:t1", "memory_get", {"target": "turn:t1"}),
        ("list", "memory_list", {"state": "active"}),
        ("list --category todo --group work -n 4", "memory_list",
         {"category": "todo", "group": "work", "state": "active", "limit": 4}),
        ("list --archived", "memory_list", {}),
        ("remember tea", "memory_remember", {"text": "tea"}),
        ("add --content=喝茶 --importance 0.35", "memory_remember", {"text": "喝茶", "importance": 0.35}),
        ('add 用户 喜欢茶 --type preference --importance high --tag a,b --tag 茶，c --group home --expires 2026-03-01 '
         '--metadata {"k":[1]} --session s1', "memory_remember",
         {"text": "用户 喜欢茶", "category": "preference", "importance": "high", "tags": ("a", "b", "茶", "c"),
          "group": "home", "expires": "2026-03-01", "metadata": {"k": [1]}, "session": "s1"}),
        ("append moved it --kind ops --tag cron --section TODO", "memory_append",
         {"text": "moved it", "kind": "ops", "tags": ("cron",), "section": "TODO"}),
        ("flush I prefer tea", "memory_flush", {"text": "I prefer tea", "messages": None}),
        ("update a1 new text --tag=,", "memory_update", {"id": "a1", "text": "new text", "tags": ()}),
        ("update a1 --importance 0.5", "memory_update", {"id": "a1", "importance": 0.5}),
        ("update a1 --instruction 写成一句话", "memory_update", {"id": "a1", "instruction": "写成一句话"}),
        ('update a1 --metadata {"team":"api"}', "memory_update", {"id": "a1", "metadata": {"team": "api"}}),
        ("pin a1", "memory_pin", {"id": "a1"}),
        ("unpin a1", "memory_pin", {"id": "a1", "pinned": False}),
        ("delete a1", "memory_forget", {"target": "a1", "dry_run": False}),
        ("status", "memory_status", {}),
    ],
)  # fmt: skip
def test_words_become_a_call(shell: Any, tools: Any, line: str, tool: str, asked: dict[str, Any]) -> None:
    shell(*line.split(), "--json")
    assert tools.asked == [(tool, asked)]


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("search q --below-prompt --min-score 0", "--below-prompt cannot be combined with --min-score"),
        ("search q --below-prompt --explain", "--below-prompt cannot be combined with --explain"),
        ("flush", "either a text"),
        ("flush text --messages f", "either a text"),
        ("update a1", "needs a new text or one of"),
        ("add", "--content"),
        ("add tea --content coffee", "--content"),
        ("forget", "forget needs one of"),
        ("forget a1 --query x", "forget needs one of"),
        ("forget --query x --session s", "forget needs one of"),
    ],
)
def test_words_that_cannot_be_meant_are_refused(shell: Any, tools: Any, line: str, told: str) -> None:
    done = shell(*line.split())
    assert (done.code, tools.asked) == (2, [])
    assert told in done.err


def test_a_query_from_stdin(shell: Any, tools: Any) -> None:
    shell("search", "-", stdin="\ufeff部署窗口\r\n".encode())
    assert tools.last[1]["query"] == "部署窗口"


def test_json_is_one_document_in_its_own_letters(shell: Any, tools: Any) -> None:
    tools.answers["memory_search"] = {"results": [], "note": "记\x1b"}
    done = shell("search", "q", "--json")
    assert json.loads(done.out) == {"results": [], "note": "记\x1b"}
    assert ("记" in done.out, done.out.count("\n"), done.err) == (True, 1, "")


def test_list_of_what_was_put_away(shell: Any, tools: Any) -> None:
    entries = [{"id": id, "state": state} for id, state in (("a", "active"), ("b", "archived"), ("c", "superseded"))]
    tools.answers["memory_list"] = {"entries": entries, "total": 3}
    done = json.loads(shell("list", "--archived", "--json").out)
    assert done == {"entries": entries[1:], "total": 2}
    done = json.loads(shell("list", "--archived", "--limit", "1", "--json").out)
    assert done == {"entries": entries[1:2], "total": 2}


def test_bytes_from_stdin_that_are_not_utf8_survive(shell: Any, tools: Any) -> None:
    shell("add", "-", stdin=b"caf\xe9\nau lait\n")
    assert tools.last[1]["text"] == "caf\udce9\nau lait"


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
