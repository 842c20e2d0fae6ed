"""Comparing providers on the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import llm_server
from cli.conftest import Shell

SAID = (
    ("user", "I prefer green tea in the morning, never coffee."),
    ("assistant", "Good to know."),
    ("user", "We decided to meet at the harbour on Saturday."),
)
CHAT = "".join(
    json.dumps({"session": "tea", "role": role, "timestamp": f"2026-02-24T09:0{number}:00Z", "content": text}) + "\n"
    for number, (role, text) in enumerate(SAID)
)
PAGE = "### preference | high\nThe user prefers green tea in the morning, never coffee."


@pytest.fixture
def chat(tmp_path: Path) -> str:
    path = tmp_path / "chat.jsonl"
    path.write_text(CHAT, encoding="utf-8")
    return str(path)


def test_two_providers_stand_beside_each_other(shell: Shell, chat: str) -> None:
    done = shell("compare", chat, "--providers", "tiered, agentic", "--query", "what tea?")
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].split() == ["tiered", "agentic"]
    assert ["entries", "created", "2", "2"] in [line.split() for line in lines]
    assert "Remembered by both (2)" in lines
    assert "Prompt of agentic for: what tea?" in lines
    assert not any(line.startswith("entries changed") for line in lines), "what neither did is left out"


def test_a_model_is_asked_and_what_it_took_is_shown(shell: Shell, chat: str) -> None:
    with llm_server.serve() as service:
        arguments = {"history_entry": "[2026-02-24 09:02] They met.", "memory_update": PAGE}
        service.usual = llm_server.call(("t1", "save_memory", arguments))
        model = [f"llm.base_url={service.url}", f"llm.model={llm_server.MODEL}", f"llm.api_key={llm_server.KEY}"]
        options = [word for setting in model for word in ("--set", setting)]
        done = shell("compare", chat, "--json", *options)
    found = json.loads(done.out)
    flat, tiered = found["runs"]
    assert (flat["provider"], flat["calls"], flat["input_tokens"], flat["output_tokens"]) == ("flat", 1, 11, 7)
    assert flat["history"] == ["[2026-02-24 09:02] They met."]
    assert tiered["failed"]
    assert found["only"]["flat"] == ["The user prefers green tea in the morning, never coffee."]


def test_standard_input_is_read_once_for_both(shell: Shell) -> None:
    done = shell("compare", "-", "--json", "--providers", "tiered,agentic", stdin=CHAT.encode())
    assert [ran["sessions"] for ran in json.loads(done.out)["runs"]] == [1, 1]


def test_why_a_provider_remembered_nothing_is_said_once(shell: Shell, chat: str) -> None:
    done = shell("compare", chat, "--providers", "flat,tiered")
    assert done.err.count("needs a language model") == 1
    assert "Only by tiered (2)" in done.out
    assert "Prompt of flat" in done.out
    assert "(empty)" in done.out


def test_long_lists_are_cut(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    said = [f"Remember that crane {number} carries {number + 40} tons." for number in range(14)]
    path.write_text("".join(json.dumps({"role": "user", "content": text}) + "\n" for text in said), encoding="utf-8")
    out = shell("compare", str(path), "--providers", "flat,tiered").out
    assert "Only by tiered (14)" in out
    assert "… and 4 more" in out


@pytest.mark.parametrize("names", ["flat", "flat,tiered,agentic", "flat,graph", "flat,flat"])
def test_two_known_names_are_needed(shell: Shell, chat: str, names: str) -> None:
    assert shell("compare", chat, "--providers", names).code == 2


def test_nothing_is_compared_while_memory_is_switched_off(shell: Shell, chat: str) -> None:
    assert "switched off" in shell("compare", chat, "--set", "enabled=false").out


def test_the_book_is_not_made(shell: Shell, chat: str, tmp_path: Path) -> None:
    shell("compare", chat, "--book", str(tmp_path / "book"))
    assert not list((tmp_path / "book").rglob("*.md"))


def test_without_a_model_the_two_that_need_none_are_compared(shell: Shell, chat: str) -> None:
    done = shell("compare", chat)
    assert done.code == 0
    assert done.out.splitlines()[0].split() == ["tiered", "agentic"]
