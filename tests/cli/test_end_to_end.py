"""The verbs on a real book, each call as a command of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorybook.cli.call import Call

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


def test_a_chinese_statement_is_found_by_a_chinese_question(ask: Any, shell: Any) -> None:
    ask("remember", "部署窗口是每周四下午三点", "--type", "decision")
    hit = ask("search", "什么时候可以部署？")["results"][0]
    assert "每周四" in hit["snippet"]
    assert "每周四" in shell("search", "部署窗口").out


def test_an_unrelated_question_finds_nothing_relevant_and_is_no_error(ask: Any, shell: Any) -> None:
    ask("add", "The staging database listens on port 6543")
    assert not ask("search", "sourdough bread recipe")["has_relevant"]
    done = shell("search", "sourdough bread recipe")
    assert done.code == 0
    assert done.out.startswith("Nothing relevant found.")


def test_an_empty_book_answers_an_empty_document(ask: Any) -> None:
    answer = ask("search", "anything")
    assert (answer["results"], answer["has_relevant"]) == ([], False)
    assert ask("list") == {"entries": [], "total": 0}


def test_notes_and_pages(ask: Any, shell: Any) -> None:
    place = ask("append", "Moved the cron job to 03:00", "--kind", "ops", "--tag", "cron")
    assert place["path"].startswith("daily/")
    assert not place["duplicate"]
    assert ask("append", "Moved the cron job to 03:00", "--kind", "ops", "--tag", "cron")["duplicate"]
    assert "Moved the cron job" in shell("get", place["path"], "--from", str(place["line"]), "--lines", "1").out
    assert ask("append", "Ask for the invoice", "--section", "TODO")["path"] == "MEMORY.md"


def test_a_secret_is_masked_on_every_way_in(ask: Any, shell: Any, tmp_path: Path) -> None:
    book = tmp_path / "book"
    assert ask("add", f"The key is {SECRET}", "--book", str(book))["redacted"] == 1
    assert ask("append", f"Key again {SECRET}", "--book", str(book))["redacted"] == 1
    assert "1 secret masked" in shell("add", f"api_key: {SECRET} for the gateway", "--book", str(book)).err
    assert not [file for file in book.rglob("*") if file.is_file() and SECRET.encode() in file.read_bytes()]


def test_flush_shows_what_it_would_write_before_it_asks(shell: Any, ask: Any) -> None:
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


def test_a_flush_that_would_write_nothing_does_not_ask(ask: Any) -> None:
    assert ask("flush", "n/a", "--confirm")["written"] == []


def test_flush_of_a_conversation_asks_about_its_notes(shell: Any, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text('{"role": "user", "content": "记住：部署窗口是每周四下午三点。"}\n', encoding="utf-8")
    done = shell("flush", "--messages", str(file), "--confirm", "--yes")
    assert done.code == 0
    assert "部署窗口是每周四下午三点" in done.err
    assert "written daily/" in done.out


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


def test_upkeep_of_a_book(ask: Any, shell: Any, tmp_path: Path) -> None:
    made = ask("init", "--book", str(tmp_path / "book"))
    assert made["created"] == ["MEMORY.md"]
    assert ask("init", "--book", str(tmp_path / "book"))["created"] == []
    for verb in ("sync", "rebuild", "status"):
        assert ask(verb, "--book", str(tmp_path / "book"))
    assert str(tmp_path / "book") in shell("status", "--book", str(tmp_path / "book")).out


def test_recall_gives_a_block_for_a_prompt(ask: Any, shell: Any) -> None:
    ask("add", "The user prefers terse code", "--type", "preference", "--importance", "high")
    assert "terse code" in ask("recall", "write a function")["text"]
    assert "terse code" in shell("recall", "write a function").out


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
        ("add", " "),
        ("search", ""),
        ("add", "x", "--type", "colour"),
        ("add", "x", "--importance", "2"),
        ("add", "x", "--expires", "soon"),
        ("search", "x", "--since", "13/13"),
        ("get", "../etc/passwd"),
        ("get", "/etc/passwd.md"),
        ("list", "--type", "colour"),
        ("list", "--project", "../.."),
        ("list", "--set", "max_result=3"),
    ],
)
def test_what_the_book_cannot_use_is_one_sentence_and_exit_2(shell: Any, words: tuple[str, ...]) -> None:
    done = shell(*words)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("memorybook: ")
    assert done.err.count("\n") == 1


def test_what_is_not_there_is_exit_3(shell: Any) -> None:
    for words in (("get", "nothing.md"), ("get", "turn:x"), ("pin", "zzz")):
        done = shell(*words)
        assert (done.code, done.out) == (3, ""), words


def test_a_conversation_that_is_not_there_is_one_sentence(shell: Any) -> None:
    done = shell("import", "no/such.jsonl")
    assert done.code in (2, 3)
    assert "no/such.jsonl" in done.err
    assert done.err.count("\n") == 1


def test_hits_of_hostile_text_cannot_act_on_the_terminal(ask: Any, shell: Any) -> None:
    ask("add", "-", stdin="tea \x1b]0;owned\x07 \u202egnp".encode())
    assert not set("\x1b\x07\u202e") & set(shell("search", "tea").out)


def test_an_opened_book_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    call = Call("list", [])
    memory = call.memory
    closed: list[bool] = []
    monkeypatch.setattr(type(memory.book), "close", lambda _: closed.append(True))
    call.close()
    call.close()
    assert closed == [True]


def test_the_search_path_imports_little(nowhere: Path) -> None:
    (nowhere / "MEMORY.md").write_text("## Preferences\n- likes tea\n", encoding="utf-8")
    script = (
        "import sys; from memorybook.cli import main; code = main(sys.argv[1:]); "
        "print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    command = [sys.executable, "-c", script, "search", "tea", "--book", "."]
    env = {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")}
    subprocess.run(command, check=True, capture_output=True, env=env)
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=env)
    assert "likes tea" in done.stdout
    heavy = {"json", "rich", "shtab", "difflib", "pathlib", "dataclasses", "shutil", "locale", "textwrap", "tempfile"}
    assert not heavy & set(done.stderr.split())
