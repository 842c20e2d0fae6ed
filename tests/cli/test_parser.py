"""How a command line is read: as argparse would, but for abbreviations, and words may stand between options."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.cli.call import VERBS, Parser
from memorybook.errors import InvalidInput

WORDS = [
    "", "tea", "喝茶", "a b", "3", "-5", "-", "--", "-n", "-n5", "-n=5", "-qy", "-h", "x=y", "=", "{}", "--json=1",
    "--book=", "--set=a=b", "--max-results", "--tag", "--from", "--metadata", "--version", "--unknown", "--session",
]  # fmt: skip


@given(st.sampled_from(sorted(VERBS)), st.lists(st.sampled_from(WORDS), max_size=7))
def test_whatever_is_typed_is_read_or_refused_in_one_sentence(verb: str, words: list[str]) -> None:
    said = ""
    try:
        Parser(verb).parse(words)
    except (InvalidInput, SystemExit) as ended:
        said = str(ended)
    assert said in ("", "0") or said.endswith(f"; see: memorybook {verb} --help")


@pytest.mark.parametrize(
    ("verb", "words", "read"),
    [
        ("search", ["when", "did", "Ann", "move?", "-n", "3", "--json", "--type=fact"],
         {"query": ["when", "did", "Ann", "move?"], "max_results": 3, "json": True, "category": "fact"}),
        ("search", ["tea", "--json", "-n5", "and", "cake"], {"query": ["tea", "and", "cake"], "max_results": 5}),
        ("search", ["-5", "- tea", "-"], {"query": ["-5", "- tea", "-"]}),
        ("search", ["--", "-n", "--json"], {"query": ["-n", "--json"], "json": False}),
        ("search", ["--set", "a=b", "--set=c=d=e", "x"], {"set": [("a", "b"), ("c", "d=e")]}),
        ("get", ["MEMORY.md", "--from", "12"], {"target": "MEMORY.md", "from_": 12, "lines": None}),
        ("append", ["--tag", "a", "--tag", "b,c", "a note"], {"tags": ["a", "b,c"], "text": ["a note"]}),
        ("update", ["a1b2", "new", "text"], {"id": "a1b2", "text": ["new", "text"]}),
        ("forget", ["-yq", "--query", "phone"], {"yes": True, "quiet": True, "query": "phone", "target": None}),
        ("flush", ["--messages", "-"], {"messages": "-", "text": []}),
        ("sync-summaries", ["--from", "a", "b", "--from", "c", "--to", "d"], {"sources": ["a", "b", "c"], "to": "d"}),
    ],
)  # fmt: skip
def test_words_become_options(verb: str, words: list[str], read: dict[str, Any]) -> None:
    parser = Parser(verb)
    options = vars(parser.parse(words))
    assert {name: options[name] for name in read} == read


@pytest.mark.parametrize(
    ("verb", "words", "told"),
    [
        ("get", ["a", "b"], "unrecognized arguments: b"),
        ("search", ["tea", "-n"], "--max-results/--limit/-n: expected one argument"),
        ("search", ["tea", "--since", "--json"], "--since: expected one argument"),
        ("search", ["tea", "--json=1"], "--json: takes no value"),
        ("sync-summaries", ["--from"], "--from: expected at least one argument"),
        ("get", [], "the following arguments are required: PATH|ID|turn:ID"),
    ],
)
def test_what_cannot_be_read_is_named(verb: str, words: list[str], told: str) -> None:
    with pytest.raises(InvalidInput, match=told.replace("|", r"\|")):
        Parser(verb).parse(words)


def test_a_list_option_starts_empty_each_time() -> None:
    parser = Parser("search")
    assert [parser.parse(["tea", "--set", "a=b"]).set for _ in range(2)] == [[("a", "b")]] * 2
    assert parser.parse(["tea"]).set == []
