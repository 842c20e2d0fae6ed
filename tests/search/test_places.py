"""Whatever place a door prints opens with `get`, as it is printed."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memorybook
from clock import Clock
from memorybook.chat.terminal import show_found
from memorybook.cli import main
from memorybook.cli.show import Page, answer
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput, UnsafePath
from memorybook.mcp.responses import brief
from memorybook.memory import Memory
from memorybook.search.types import Passage, place_of
from memorybook.validate import read_place

WORDS = "heron ferry"
NAMES = ["notes/at 10:12.md", "notes/b.md#L1.md", "notes/c.md:3-4.md", "notes/两 个.md"]
PATHS = st.text(min_size=1).map(lambda name: f"{name}.md")
HITS = re.compile(r"(?m)^[0-9]+\. [0-9.]+  (.+?)  ")
LINES = st.integers(1, 10**9 - 1)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(tmp_path: Path, clock: Clock) -> Iterator[Memory]:
    """A book in which everything that can be found speaks of the heron ferry, two sessions sharing an id of a turn."""
    config = Config(recall=Config().recall._replace(max_search_results=20))
    with memorybook.open(str(tmp_path / "book"), config=config, clock=clock) as opened:
        opened.remember("The heron ferry leaves at nine.\nIt carries no cars.")
        for session, like in {"red": "with strong coffee", "harbour/blue": "without tourists"}.items():
            texts = {
                "m1": f"I prefer the heron ferry {like}.",
                "m2": f"The heron ferry of {session} was late.",
                f"of/{session}": f"Nobody on the heron ferry sang {like}.",
            }
            said = [
                {"id": id, "role": "user", "content": text, "session": session, "timestamp": 1_771_800_000}
                for id, text in texts.items()
            ]
            file = tmp_path / "talk.jsonl"
            file.write_text("".join(json.dumps(turn) + "\n" for turn in said), "utf-8")
            opened.import_file(str(file))
        for name in NAMES:
            opened.write_document(name, "# Page\n\nThe heron ferry\nhas a bar.\n", expect="")
        for _ in range(3):
            opened.append("The heron ferry is painted in spring.", kind="fact")
            clock.pass_by(days=2)
        yield opened


def printed(memory: Memory, door: str, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """The places that a door prints of what it finds."""
    match door:
        case "search":
            capsys.readouterr()
            assert main(["--book", memory.root, "search", "-n", "50", "--min-score", "0", WORDS]) == 0
            return HITS.findall(capsys.readouterr().out)
        case "chat":
            page = Page(cast("Any", SimpleNamespace(no_color=True, quiet=True)))
            draw = partial(answer, page=page)
            screen = cast("Any", SimpleNamespace(message=str, remark=str, draw=draw))
            capsys.readouterr()
            show_found("Which heron ferry do I prefer?", None, memory, "", screen)
            return HITS.findall(capsys.readouterr().out)
        case "memory_search":
            told = brief(memory.search(WORDS, max_results=50, min_score=0).json())
            return re.findall(r"(?m)^[0-9]+\. [0-9.]+ (.+?) \(", told)
        case "recall":
            return re.findall(r"(?m)^- .*\(([^()]+)\)$", memory.recall(WORDS).text)
        case "recall_topic":
            return [turn.place for turn in memory.recall_topic(WORDS).turns]
        case "append":
            return [brief(memory.append("The heron ferry has two decks.").json()).removeprefix("written: ")]
    memory.tidy()
    [proposal] = memory.review(kind="promote").json()["proposals"]
    if door == "review":
        return [proposal["reason"].rpartition(": ")[2]]
    memory.accept(proposal["id"])
    known = [each.entry.id for each in memory.entries().entries]
    return [ground.source for id in known for ground in memory.why(id).rests_on]


@pytest.mark.parametrize(
    ("door", "least"),
    [
        ("search", 9), ("chat", 9), ("memory_search", 9), ("recall", 1), ("recall_topic", 6), ("append", 1),
        ("review", 1), ("why", 3),
    ],
)  # fmt: skip
def test_what_a_door_prints_opens(memory: Memory, door: str, least: int, capsys: pytest.CaptureFixture[str]) -> None:
    places = printed(memory, door, capsys)
    assert len(set(places)) >= least, places
    for place in places:
        opened = memory.get(place).json()
        assert "heron ferry" in str(opened.get("text") or opened["entry"]["text"]), place
        capsys.readouterr()
        assert main(["--book", memory.root, "get", place]) == 0
        assert "heron ferry" in capsys.readouterr().out, place


@given(PATHS, LINES, LINES)
def test_lines_are_read_as_they_are_told_and_no_path_is_taken_for_them(path: str, one: int, other: int) -> None:
    first, last = sorted((one, other))
    told = place_of(Passage(path, first, last, "", "note"))
    assert read_place(told) == read_place(f"{path}:{first}-{last}") == (path, first, last)
    assert read_place(f"{path}#L{first}") == read_place(f"{path}:{first}") == (path, first, first)
    assert read_place(path) is None


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_looks_like_a_place_is_a_name(memory: Memory, name: str) -> None:
    assert memory.get(name).json()["path"] == name
    assert memory.get(f"{name}:4").json()["text"] == memory.get(f"{name}#L4-L4").json()["text"] == "has a bar."


@pytest.mark.parametrize(
    ("place", "start", "lines", "shown"),
    [
        ("#L3", 1, None, (3, 1)), ("#L3", 1, 2, (3, 2)), (":3", 3, None, (3, 1)), ("#L3-L4", 3, 2, (3, 2)),
        ("#L3-4", 1, None, (3, 2)), (":9", 1, None, (9, 0)),
    ],
)  # fmt: skip
def test_lines_that_agree_are_taken_once(
    memory: Memory, place: str, start: int, lines: int | None, shown: tuple[int, int]
) -> None:
    answer = memory.get(NAMES[0] + place, start=start, lines=lines).json()
    assert (answer["from"], answer["lines"]) == shown


@pytest.mark.parametrize(
    ("place", "start", "lines", "told"),
    [
        ("#L3-L4", 2, None, "'notes/at 10:12.md#L3-L4' says other lines than from 2: say once which"),
        (":3-4", 1, 5, "says other lines than from 1, 5 lines: say once which"),
        (":4-3", 1, None, "ends before it begins"),
        ("#L0", 1, None, "from 0 is below 1"),
    ],
)
def test_lines_that_contradict_each_other_are_told(
    memory: Memory, place: str, start: int, lines: int | None, told: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        memory.get(NAMES[0] + place, start=start, lines=lines)


@pytest.mark.parametrize("place", ["../secret.md#L1", ".memorybook/x.md:1", "notes/a.txt#L1", "notes/a.md#heading"])
def test_a_place_out_of_the_book_is_refused_like_its_path(memory: Memory, place: str) -> None:
    with pytest.raises(UnsafePath):
        memory.get(place)
