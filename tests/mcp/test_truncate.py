"""No answer is larger than its bound, and what is left out is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memorybook
from mcp_hosts import CONFIG, Host, text_of
from memorybook.mcp.responses import MOST, bounded, size
from memorybook.memory import Memory

TEXT = st.sampled_from(["tea ", "茶", "\n", "<!", "\ud800", "线\n"]).flatmap(
    lambda piece: st.integers(0, 4000).map(lambda times: piece * times)
)
ITEM = st.fixed_dictionaries({"id": st.just("x"), "text": TEXT})
LISTED = st.builds(lambda item, times: [item] * times, ITEM, st.integers(0, 100))
ANSWER = st.one_of(
    st.fixed_dictionaries({"results": LISTED, "has_relevant": st.booleans()}),
    st.fixed_dictionaries({"sessions": LISTED, "turns": LISTED, "text": TEXT}),
    st.fixed_dictionaries({"receipt": st.fixed_dictionaries({"entries": LISTED, "notes": LISTED})}),
    st.builds(lambda text, before: {"entry": {"id": "x", "text": text, "metadata": {before[:9]: before}}}, TEXT, TEXT),
    st.builds(lambda text: {"path": "a.md", "from": 1, "lines": 9, "total_lines": 9, "text": text}, TEXT),
)


@settings(max_examples=settings().max_examples // 4)
@given(ANSWER)
def test_an_answer_fits_and_says_what_it_leaves_out(answer: dict[str, Any]) -> None:
    shown = bounded(answer)
    assert size(shown) <= MOST
    assert str(shown).encode(), "can be written"
    whole = "left_out" not in shown
    assert shown.keys() - answer.keys() == (set() if whole else {"left_out"})
    assert whole or shown["left_out"]
    assert not whole or [*shown] == [*answer]


def test_a_list_loses_its_end_and_the_rest_is_said() -> None:
    found = [{"id": f"e{number}", "snippet": "绿茶" * 100} for number in range(200)]
    shown = bounded({"results": found, "has_relevant": True})
    kept = shown["results"]
    assert kept == found[: len(kept)]
    [told] = shown["left_out"]
    assert told.startswith(f"{200 - len(kept)} of 200 results are left out: ask with a smaller max_results")
    assert size(shown) > MOST * 0.8, "the room is used"


@pytest.fixture
def long(tmp_path: Path) -> Memory:
    folder = tmp_path / "book" / "notes"
    folder.mkdir(parents=True)
    (folder / "long.md").write_text("".join(f"line {n} about tea 茶\n" for n in range(1, 3001)), encoding="utf-8")
    (folder / "wide 茶.md").write_text("tea " * 20_000, encoding="utf-8")
    (folder / "odd.md").write_bytes(b"tea \xff\xfe\n")
    return memorybook.open(str(tmp_path / "book"), config=CONFIG, door="mcp")


def test_a_long_document_is_read_page_by_page(long: Memory) -> None:
    host = Host(lambda: long, "auto")
    lines: list[str] = []
    start, calls = 1, 0
    while True:
        page = host.answer("memory_get", target="notes/long.md", **{"from": start})
        lines += page["text"].split("\n")
        assert page["lines"] == len(page["text"].split("\n"))
        calls += 1
        if "left_out" not in page:
            break
        start = page["from"] + page["lines"]
        assert page["left_out"][0].startswith(
            f"lines {start} to 3000 are left out: go on with from={start}; the resource"
        )
    assert lines == [f"line {n} about tea 茶" for n in range(1, 3001)]
    assert 1 < calls < 10
    long.close()


def test_what_no_line_ends_is_cut_and_whole_as_a_resource(long: Memory) -> None:
    host = Host(lambda: long, "auto")
    result = host.call("memory_get", target="notes/wide 茶.md")
    assert text_of(result).splitlines()[-1].startswith("(text is cut after ")
    assert "; the resource memory://notes/wide%20%E8%8C%B6.md is the whole)" in text_of(result)
    whole = host.do(lambda client: client.read_resource("memory://notes/wide%20%E8%8C%B6.md"))
    assert whole.contents[0].text == "tea " * 20_000  # type: ignore[union-attr]
    long.close()


def test_bytes_that_are_no_text_can_be_told(long: Memory) -> None:
    host = Host(lambda: long, "legacy")
    assert host.answer("memory_get", target="notes/odd.md")["text"] == "tea \ufffd\ufffd"
    assert host.do(lambda client: client.read_resource("memory://notes/odd.md")).contents
    long.close()


def test_a_long_turn_is_cut_and_whole_as_a_resource(long: Memory, tmp_path: Path) -> None:
    said = "喝茶\n" * 2_000
    talk = tmp_path / "talk.jsonl"
    talk.write_text(json.dumps({"id": "t1", "session": "tea", "speaker": "Ann", "content": said}), encoding="utf-8")
    long.import_file(str(talk))
    host = Host(lambda: long, "auto")
    answer = host.answer("memory_get", target="turn:t1")
    [told] = answer["left_out"]
    place = told.removesuffix(" is the whole").rpartition(" ")[2]
    assert told.startswith("text is cut after ")
    assert answer["lines"] == len(answer["text"].split("\n"))
    whole = host.do(lambda client: client.read_resource(place)).contents[0].text  # type: ignore[union-attr]
    assert whole.startswith(answer["text"].removesuffix("…"))
    assert whole.strip() == said.strip()
    long.close()


def test_a_long_entry_is_cut_and_whole_as_a_resource(long: Memory) -> None:
    host = Host(lambda: long, "auto")
    text = "绿茶" * 9_000
    answer = host.answer("memory_remember", text=text, metadata={"note": "n" * 3_000, "注": "绿茶" * 2_000})
    id = answer["entry"]["id"]
    assert answer["entry"]["text"].endswith("…")
    assert f"; the resource memory://entry/{id} is the whole" in answer["left_out"][0]
    assert (answer["entry"]["metadata"], answer["left_out"][1]) == ({}, "metadata is left out, being too long")
    whole = host.do(lambda client: client.read_resource(f"memory://entry/{id}"))
    assert whole.contents[0].text == text  # type: ignore[union-attr]
    long.close()
