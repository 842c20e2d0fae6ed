"""Reading a command line without argparse gives what argparse gives, or leaves it to argparse."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybook.cli import VERBS
from memorybook.cli.call import Parser, parser_of
from memorybook.cli.full_parser import full_parser
from memorybook.errors import InvalidInput

WORDS = [
    "", "tea", "喝茶", "a b", "3", "0.5", "-5", "-", "--", "-n", "-n5", "-n=5", "-q", "-y", "-h", "x=y", "=", "{}",
    "--json", "--json=1", "--book", "--book=b", "--book=", "--set", "--set=a=b", "--max-results", "--max-results=7",
    "--tag", "--tag=a,b", "--type", "--category=c", "--yes", "--messages", "--from", "--lines=2",
    "--metadata", "--version",
    '{"a": 1}', "--metadata={}", "--min-score=0.5", "--exp", "--explain", "--unknown", "--session", "--query=q",
]  # fmt: skip


def by_argparse(parser: Parser, words: list[str]) -> dict[str, Any] | None:
    try:
        return vars(full_parser(parser).parse_args(words))
    except (InvalidInput, SystemExit):
        return None


@given(st.sampled_from(sorted(VERBS)), st.lists(st.sampled_from(WORDS), max_size=7))
@settings(max_examples=5 * settings().max_examples)
def test_what_is_read_plainly_is_what_argparse_reads(verb: str, words: list[str]) -> None:
    parser, _ = parser_of(verb)
    plain = parser.plainly(words)
    if plain is not None:
        assert plain == by_argparse(parser, words)


@pytest.mark.parametrize(
    ("verb", "words"),
    [
        ("search", ["when", "did", "Ann", "move?", "-n", "3", "--json", "--type=fact", "--explain"]),
        ("search", ["--book", "b", "--set", "a=b", "--set", "c=d", "上次为什么换数据库"]),
        ("get", ["MEMORY.md", "--from", "12", "--lines=5"]),
        ("list", []),
        ("append", ["--tag", "a", "--tag", "b,c", "a note"]),
        ("update", ["a1b2", "new", "text", "--importance", "high"]),
        ("update", ["a1b2", "--tag=x"]),
        ("forget", ["--query", "phone", "--dry-run"]),
        ("flush", ["--yes", "--messages", "chat.jsonl"]),
    ],
)
def test_plain_words_need_no_argparse(verb: str, words: list[str]) -> None:
    parser, _ = parser_of(verb)
    assert parser.plainly(words) == by_argparse(parser, words)


@pytest.mark.parametrize(
    "words",
    [
        [], ["tea", "--json", "more"], ["tea", "-n"], ["tea", "-n", "x"], ["tea", "-n3"], ["tea", "--", "x"], ["-5"],
        ["tea", "--max", "3"], ["tea", "--help"], ["tea", "--version"], ["tea", "--json=1"], ["tea", "--book="],
        ["tea", "--book", "--json"], ["tea", "--tag", "x"], ["-"],
    ],
)  # fmt: skip
def test_what_is_unusual_or_wrong_is_for_argparse(words: list[str]) -> None:
    parser, _ = parser_of("search")
    assert parser.plainly(words) is None


def test_a_list_option_starts_empty_each_time() -> None:
    parser, _ = parser_of("search")
    first, second = (parser.parse(["tea", "--set", "a=b"]) for _ in range(2))
    assert first.set == second.set == [("a", "b")]
    assert parser.parse(["tea"]).set == []
