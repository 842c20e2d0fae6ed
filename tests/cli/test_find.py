from __future__ import annotations

import json
from typing import Any

import pytest

NOTHING = {
    "query": "q", "max_results": None, "min_score": None, "category": None, "since": None, "until": None,
    "session": None, "explain": False,
}  # fmt: skip


def test_search_asks_with_every_option(shell: Any, tools: Any) -> None:
    shell(
        *("search", "which", "port", "-n", "3", "--min-score", "0.5", "--type", "fact", "--since", "2026-01-01"),
        *("--until", "2026-02-01", "--session", "s1", "--explain"),
    )
    assert tools.last == (
        "memory_search",
        {
            "query": "which port",
            "max_results": 3,
            "min_score": 0.5,
            "category": "fact",
            "since": "2026-01-01",
            "until": "2026-02-01",
            "session": "s1",
            "explain": True,
        },
    )


def test_search_leaves_to_the_book_what_is_not_said(shell: Any, tools: Any) -> None:
    shell("search", "q")
    assert tools.last == ("memory_search", NOTHING)


def test_a_query_from_stdin(shell: Any, tools: Any) -> None:
    shell("search", "-", stdin="\ufeff部署窗口\r\n".encode())
    assert tools.last[1]["query"] == "部署窗口"


def test_search_below_the_prompt_is_another_tool(shell: Any, tools: Any) -> None:
    shell("search", "q", "--below-prompt", "-n", "2")
    assert tools.last == ("recall_memory", {"query": "q", "max_results": 2})


@pytest.mark.parametrize("option", [["--min-score", "0"], ["--type", "fact"], ["--explain"]])
def test_a_filter_that_would_do_nothing_is_refused(shell: Any, tools: Any, option: list[str]) -> None:
    done = shell("search", "q", "--below-prompt", *option)
    assert done.code == 2
    assert "--below-prompt cannot be combined with --" in done.err
    assert tools.asked == []


def test_json_is_one_document_in_its_own_letters(shell: Any, tools: Any) -> None:
    tools.answers["memory_search"] = {"results": [], "note": "记\x1b"}
    done = shell("search", "q", "--json")
    assert json.loads(done.out) == {"results": [], "note": "记\x1b"}
    assert "记" in done.out
    assert done.out.count("\n") == 1
    assert done.err == ""


def test_recall(shell: Any, tools: Any) -> None:
    shell("recall", "release", "notes", "--max-tokens", "500")
    assert tools.last == ("memory_recall", {"query": "release notes", "max_tokens": 500})


def test_get(shell: Any, tools: Any) -> None:
    shell("get", "daily/2026-02-24.md", "--from", "12", "--lines", "5")
    assert tools.last == ("memory_get", {"target": "daily/2026-02-24.md", "from_": 12, "lines": 5})
    shell("get", "turn:t1")
    assert tools.last == ("memory_get", {"target": "turn:t1", "from_": 1, "lines": None})


def test_list(shell: Any, tools: Any) -> None:
    shell("list", "--category", "todo", "--group", "work", "--limit", "4")
    assert tools.last == ("memory_list", {"category": "todo", "group": "work", "state": "active", "limit": 4})
    shell("list")
    assert tools.last == ("memory_list", {"category": None, "group": None, "state": "active", "limit": None})


def test_list_of_what_was_put_away(shell: Any, tools: Any) -> None:
    entries = [{"id": id, "state": state} for id, state in (("a", "active"), ("b", "archived"), ("c", "superseded"))]
    tools.answers["memory_list"] = {"entries": entries, "total": 3}
    done = json.loads(shell("list", "--archived", "--group", "work", "--json").out)
    assert tools.last == ("memory_list", {"category": None, "group": "work"})
    assert done == {"entries": entries[1:], "total": 2}
    assert json.loads(shell("list", "--archived", "--limit", "1", "--json").out) == {
        "entries": [entries[1]],
        "total": 2,
    }


def test_list_of_what_was_put_away_while_switched_off(shell: Any, tools: Any) -> None:
    assert "switched off" in shell("list", "--archived").out
