"""The block that `recall` makes of whole books: how deep it goes, in which order, within its budget."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import memorybook
from books import CONFIG
from books import in_memory as in_memory
from clock import NOW
from memorybook.memory import Memory
from memorybook.model import Session, Turn
from memorybook.prompt.block import WORDING
from memorybook.text.tokens import count_tokens
from prompt.conftest import Say, told


def many(say: Say) -> None:
    for day in range(1, 21):
        say(f"talk {day}", *(f"user: On the boat trip we saw bird {day}-{n} near the lighthouse." for n in range(10)),
            day=day)  # fmt: skip


@pytest.mark.parametrize("budget", [500, 2_000, 3_000])
@pytest.mark.parametrize("question", ["Which bird did we see near the lighthouse?", "What did I pay for the parrot?"])
def test_a_block_is_filled_as_deep_as_the_ranking_goes(memory: Memory, say: Say, budget: int, question: str) -> None:
    many(say)
    block = memory.recall(question, max_tokens=budget)
    assert budget * 0.85 < block.tokens <= budget
    assert block.tokens == count_tokens(block.text)
    days = [line[3:13] for line in told(block.text)]
    assert days == sorted(days, reverse=True)
    assert len(told(block.text)) == len(set(told(block.text))) == len(block.cold)


def test_what_is_no_utf_8_is_told_with_the_rest(memory: Memory, say: Say) -> None:
    memory.remember("The user likes oolong tea \udcff in the morning.")
    say("s1", "user: I like oolong tea \udcff in the morning, and the harbour.")
    assert "oolong tea" in memory.recall("Which tea in the morning?").text


def test_it_says_where_nothing_is_clearly_known(memory: Memory, say: Say) -> None:
    say("s1", "user: The ferry to Marstal leaves at nine.")
    known, unknown = memory.recall("When does the ferry to Marstal leave?"), memory.recall("Who painted the kitchen?")
    assert (known.has_relevant, unknown.has_relevant) == (True, False)
    assert WORDING["en"].found in known.text
    assert WORDING["en"].unsure in unknown.text
    assert "Marstal" in unknown.text
    assert WORDING["zh"].unsure in memory.recall("谁粉刷了厨房？").text


@pytest.mark.parametrize("asked", ["Which decisions did we make about the harbour API?", "港口接口的哪个版本上线？"])
def test_of_many_imported_decisions_the_newest_are_told_with_their_days(
    memory: Memory, tmp_path: Path, asked: str
) -> None:
    chinese = not asked.isascii()
    said = "我们决定：港口接口的版本{}上线。" if chinese else "We decided to ship version {} of the harbour API."
    turns = [
        {
            "id": f"m{day}", "role": "user", "session": f"s{day}", "content": said.format(day),
            "timestamp": f"2026-01-{day:02}T10:00:00Z",
        }
        for day in range(1, 31)
    ]  # fmt: skip
    file = tmp_path / "talk.jsonl"
    file.write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    memory.import_file(str(file))
    text = memory.recall(asked, max_tokens=1_500).text
    lines = told(text)
    assert all(line.startswith("- [2026-01-") for line in lines)
    first = text.partition(WORDING["zh" if chinese else "en"].found)[2].splitlines()[1]
    assert first.startswith("- [2026-01-30] ")
    assert {line[3:13] for line in lines} >= {f"2026-01-{day}" for day in range(11, 31)}


def test_a_blank_query_takes_what_every_prompt_takes(memory: Memory, say: Say) -> None:
    say("s1", "user: The ferry leaves at nine.")
    memory.remember("The user likes tea.", importance=0.6)
    memory.remember("The user rows.", importance=0.9)
    memory.remember("A weak one.", importance=0.2)
    memory.remember("The user is called Ada.", importance=0.5, category="fact")
    pinned = memory.remember("Never use her surname.", importance=0.3).known.entry
    memory.pin(pinned.id)
    for blank in ("", "  \n"):
        block = memory.recall(blank)
        assert [line.partition("] ")[2] for line in told(block.text)] == [
            "Never use her surname.", "The user rows.", "The user likes tea.", "The user is called Ada.",
        ]  # fmt: skip
        assert (block.cold, block.has_relevant) == ((), False)


def test_the_latest_turns_are_those_of_people_however_many_sessions_they_stand_in(
    memory: Memory, say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in range(1, 15):
        say(
            f"s{day}", f"user: I rowed {day} miles.", f"user: 我划了{day}圈。", *(20 - 2) * ["assistant: Fine."],
            day=day,
        )  # fmt: skip
    asked: list[int | None] = []
    sessions = type(memory.book.transcripts).sessions

    def noting(self: Any, *, limit: int | None = None, turn_ids: bool = True) -> Sequence[Session]:
        asked.append(limit)
        return sessions(self, limit=limit, turn_ids=turn_ids)

    monkeypatch.setattr(type(memory.book.transcripts), "sessions", noting)
    lines = told(memory.recall("Hm?", max_tokens=3_000).text)
    assert [line.partition("User: ")[2] for line in lines[:2]] == ["我划了14圈。", "I rowed 14 miles."]
    assert sum("User: " in line for line in lines) == 14 * 2
    assert asked == [4, 8, 12, 16, 18]


def test_long_passages_are_cut(memory: Memory, say: Say) -> None:
    filler = "Nothing of note happened on that day of the voyage. " * 100
    say("s1", f"user: {filler}The heron statue costs 90 euros. {filler}")
    memory.write_document("guide.md", f"# Guide\n\n{filler}The heron statue weighs a ton. {filler}\n", expect="")
    text = memory.recall("What does the heron statue cost?", max_tokens=2_000).text
    assert "costs 90 euros" in text
    assert all(len(line) < 2_100 for line in told(text))
    say("s2", "user: " + "那天航行中没有发生什么值得记的事。" * 200 + "苍鹭雕像要九十欧元。")
    chinese = memory.recall("苍鹭雕像要多少钱？", max_tokens=2_000).text
    assert "九十欧元" in chinese
    assert all(len(line) < 2_100 for line in told(chinese))


def test_what_was_told_counts_as_used_and_what_was_not_does_not(memory: Memory) -> None:
    ids = [memory.remember(f"The harbour of town {n} has {n} cranes.").known.entry.id for n in range(30)]
    block = memory.recall("harbour cranes", max_tokens=150)
    shown = {hit.passage.entry for hit in block.cold} | {each.entry.id for each in block.hot}
    assert 0 < len(shown) < 30
    assert set(memory.book.access_counts(ids)) == shown


PIECES = [
    "tea ", "harbour ", "渡轮", "在九点。", "scratch that. ", "wait, no: ", "port 8443\n", "🦆", "- ", "<!-- ",
    "word " * 60,
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(PIECES), min_size=1, max_size=6).map("".join)
TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant", "tool"]), TEXTS), max_size=8)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(TURNS, st.lists(TEXTS, max_size=4), TEXTS, st.lists(st.integers(1, 700), min_size=4, max_size=4))
def test_no_block_is_larger_than_its_budget_whatever_a_book_holds(
    turns: list[tuple[str, str]], entries: list[str], query: str, budgets: list[int]
) -> None:
    with TemporaryDirectory() as root, memorybook.open(root, config=CONFIG, clock=lambda: NOW) as memory:
        said = [Turn(id=f"t{n}", session="s", role=role, text=text) for n, (role, text) in enumerate(turns)]  # type: ignore[arg-type]
        memory.book.transcripts.append(Session(uuid="s"), said)
        for text in entries:
            if text.strip():
                memory.remember(text, importance="high")
        for budget in budgets:
            block = memory.recall(query, max_tokens=budget)
            assert block.tokens == (count_tokens(block.text) if block.text else 0) <= budget
            assert not any(hit.passage.role == "tool" for hit in block.cold)
