"""The verbs on a real book, each call as a command of its own."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.cli.call import Call
from memorybook.model import Session, Turn

SECRET = "sk-" + "proj-Zq83hTnW0vLxKd52RmYb71CsEuPf64Ga"


@pytest.fixture
def ask(shell: Any) -> Any:
    """The JSON answer of a command that succeeds."""

    def run(*words: str, **options: Any) -> dict[str, Any]:
        done = shell(*words, "--json", **options)
        assert done.code == 0, done.err
        answer: dict[str, Any] = json.loads(done.out)
        return answer

    return run


def test_what_is_added_is_listed_found_changed_and_forgotten(ask: Any, shell: Any) -> None:
    entry = ask("add", "The staging database listens on port 6543", "--tag", "staging,db", "--importance", "high")[
        "entry"
    ]
    assert (entry["category"], entry["score"], entry["tags"]) == ("fact", 0.8, ["staging", "db"])
    assert ask("list")["total"] == 1
    assert ask("search", "which port does staging use")["results"][0]["id"] == entry["id"]
    assert ask("get", entry["id"])["entry"]["text"] == entry["text"]
    assert ask("update", entry["id"], "Staging listens on port 7654")["entry"]["text"].endswith("7654")
    assert ask("pin", entry["id"])["entry"]["pinned"]
    assert not ask("unpin", entry["id"])["entry"]["pinned"]
    assert ask("forget", entry["id"], "--dry-run")["receipt"]["dry_run"]
    assert ask("delete", entry["id"])["receipt"]["entries"] == [entry["id"]]
    assert ask("list") == {"entries": [], "total": 0}
    assert shell("get", entry["id"]).code == 3


def test_an_unrelated_question_finds_nothing_relevant_and_is_no_error(ask: Any, shell: Any) -> None:
    ask("add", "The staging database listens on port 6543")
    assert not ask("search", "sourdough bread recipe")["has_relevant"]
    done = shell("search", "sourdough bread recipe")
    assert done.code == 0
    assert done.out.startswith("Nothing relevant found.")


def test_flush_shows_what_it_would_write_before_it_asks(shell: Any, ask: Any) -> None:
    ask("init")
    text = f"- We decided to use Kafka.\n- The key is {SECRET}"
    done = shell("flush", text, "--confirm")
    assert done.code == 2
    assert "to be written: " in done.err
    assert "We decided to use Kafka." in done.err
    assert SECRET not in done.err
    assert "give --yes" in done.err
    assert not ask("search", "Kafka")["has_relevant"]
    assert ask("flush", text, "--confirm", "--yes")["written"]
    assert ask("search", "Kafka")["has_relevant"]


def test_flush_does_not_announce_what_the_book_has(shell: Any, ask: Any) -> None:
    ask("flush", "- We decided to use Kafka.")
    assert ask("flush", "- We decided to use Kafka.", "--confirm")["written"] == []
    done = shell("flush", "- We decided to use Kafka.\n- 我们下周三上线新的支付系统。", "--confirm")
    told = [line.removeprefix("memorybook: ") for line in done.err.splitlines()]
    assert told[0] == "there already: We decided to use Kafka."
    assert told[1].startswith("to be written: ")
    assert told[1].endswith("我们下周三上线新的支付系统。")
    assert "Kafka" not in told[1]


def test_import_from_stdin_and_read_a_turn(ask: Any, shell: Any) -> None:
    lines = [
        {"id": "t1", "role": "user", "content": "I prefer squash merges.", "timestamp": "2026-02-24T10:00:00Z"},
        {"id": "t2", "role": "assistant", "content": "Squash it is.", "timestamp": "2026-02-24T10:01:00Z"},
    ]
    text = "\n".join(json.dumps(line | {"session": "s1"}) for line in lines).encode()
    brought = ask("import", "-", stdin=text)
    assert (brought["turns"], brought["new_turns"]) == (2, 2)
    assert ask("import", "-", stdin=text)["new_turns"] == 0
    assert "I prefer squash merges." in shell("get", "turn:t1").out
    assert ask("search", "squash merges")["has_relevant"]


def test_settings_reach_the_book(ask: Any) -> None:
    ask("add", "one fact about tea")
    ask("add", "another fact about tea")
    assert len(ask("search", "tea", "--set", "max_results=1")["results"]) == 1
    assert ask("search", "tea", "--set", "backend=scan")["backend"] == "scan"
    assert ask("search", "tea", "--set", "enabled=false")["disabled"]
    assert ask("add", "more tea", "--set", "enabled=false")["disabled"]


@pytest.mark.parametrize(
    "words",
    [
        ("add", " "), ("search", ""), ("add", "x", "--type", "colour"), ("add", "x", "--importance", "2"),
        ("add", "x", "--expires", "soon"), ("search", "x", "--since", "13/13"), ("get", "../etc/passwd"),
        ("get", "/etc/passwd.md"), ("list", "--type", "colour"), ("list", "--project", "../.."),
        ("list", "--set", "max_result=3"), ("list", "--set", "db_path=\udce9"), ("list", "--book", ""),
        ("list", "--book", "caf\udce9"), ("add", "x", "--metadata", '{"a": NaN}'),
        ("add", "x", "--metadata", '{"a": 1e999}'),
        ("add", "x", "--metadata", '{"a": ' + "[" * 3000 + "]" * 3000 + "}"),
        ("add", "x", "--metadata", '{"a": ' + "[" * 300 + "]" * 300 + "}"), ("append", "x", "--section", ""),
        ("search", "x", "--since", "2023-01-01 rubbish"),
        ("search", "x", "--since", "2023-01-02", "--until", "2023-01-01"),
    ],
)  # fmt: skip
def test_what_the_book_cannot_use_is_one_sentence_and_exit_2(shell: Any, words: tuple[str, ...]) -> None:
    done = shell(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("memorybook: ")
    assert done.err.count("\n") == 1


def test_a_file_is_no_book(shell: Any, nowhere: Path) -> None:
    (nowhere / "afile").write_text("x")
    for book in ("afile", "afile/deeper"):
        done = shell("list", "--book", book)
        assert (done.code, done.out) == (2, "")
        assert f"{nowhere}/afile is a file, not a directory: give the book's directory" in done.err


def test_forgetting_what_the_book_does_not_say_is_no_error(shell: Any, ask: Any) -> None:
    ask("add", "The staging database listens on port 6543")
    done = shell("forget", "--query", "sourdough bread recipe")
    assert (done.code, done.out) == (0, "nothing in the book says this, so nothing is forgotten\n")


def test_lists_are_of_the_active_or_of_the_others(ask: Any, nowhere: Path) -> None:
    ids = [ask("add", f"fact number {number}", "--book", "book")["entry"]["id"] for number in range(3)]
    page = nowhere / "book" / "MEMORY.md"
    text = page.read_text(encoding="utf-8")
    head, first, second, third = text.partition("### ")[0], *text.split("### ")[1:]
    second = second.replace("<!-- ", f"<!-- superseded_by: {ids[0]}; ")
    page.write_text(f"{head}### {first}### {second}## Archived Memories\n\n### {third}", encoding="utf-8")
    active = [(entry["id"], entry["state"]) for entry in ask("list", "--book", "book")["entries"]]
    others = ask("list", "--archived", "--book", "book")
    assert active == [(ids[0], "active")]
    assert {entry["id"]: entry["state"] for entry in others["entries"]} == {ids[1]: "superseded", ids[2]: "archived"}
    assert others["total"] == 2


def test_switched_off_nothing_is_written_anywhere(shell: Any, nowhere: Path) -> None:
    for words in (("init",), ("sync",), ("rebuild",), ("watch",), ("import", "x"), ("add", "x"), ("list",)):
        done = shell(*words, "--set", "enabled=false", "--book", "book")
        assert (done.code, done.out) == (0, "Memory is switched off: set enabled = true to use it.\n"), words
    assert not (nowhere / "book").exists()


def test_a_server_for_transcripts_that_is_down_is_named_and_the_rest_is_found(ask: Any) -> None:
    words = ("--book", "book", "--set", "transcripts.url=http://127.0.0.1:1")
    ask("add", "Ann lives in Leipzig.", *words)
    found = ask("search", "Leipzig", *words)
    assert [hit["source"] for hit in found["results"]] == ["entry"]
    assert "the server 'http://127.0.0.1:1' does not answer" in found["index"]["degraded"][0]


def test_what_is_not_there_is_exit_3(shell: Any) -> None:
    for words in (("get", "nothing.md"), ("get", "turn:x"), ("pin", "zzz"), ("search", "x", "--session", "S99")):
        done = shell(*words)
        assert (done.code, done.out) == (3, ""), words


def test_an_opened_book_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("list", [])
    memory = call.memory
    closed: list[bool] = []
    monkeypatch.setattr(type(memory.book), "close", lambda _: closed.append(True))
    call.close()
    call.close()
    assert closed == [True]


def test_a_session_that_nobody_ended_is_closed_after_a_command_that_nobody_waits_for(shell: Any, nowhere: Path) -> None:
    with memorybook.open(str(nowhere / "book"), clock=lambda: datetime(2026, 2, 24, 10, 0, tzinfo=UTC)) as memory:
        said = "Remember that the staging database is called heron."
        turn = Turn(id="t", session="s", role="user", text=said, time=memory.book.now())
        memory.book.transcripts.append(Session(uuid="s", source="agent"), [turn])
    for quick in (("search", "heron"), ("recall", "heron"), ("append", "a note"), ("get", "daily/x.md")):
        assert "left open" not in shell(*quick, "--book", "book").err, quick
    kept = shell("list", "--book", "book", "--set", "auto_capture_on_new_session=false")
    assert "heron" not in kept.out + kept.err
    done = shell("list", "--book", "book")
    assert done.err == "memorybook: sessions that had been left open are closed and remembered: 1\n"
    assert "heron" in shell("list", "--book", "book").out
