"""What matching and evolving change, carried out by a real book: the same as the laws say."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import memorybook
from entries.test_evolve import DECISIONS
from entries.test_match import CANDIDATES, CONFLICTS
from known import NOW, applied, evolve, match
from memorybook.config.settings import Config
from memorybook.entries.match import Conflicts
from memorybook.entries.read_reply import Candidate
from memorybook.memory import Memory
from memorybook.model import Change, Entry
from memorybook.testing import ScriptedLLM

Step = Callable[[Sequence[Candidate], Sequence[Entry], str], Sequence[Change]]


def opened(root: str) -> Memory:
    return memorybook.open(root, config=Config(timezone="UTC", vector_enabled=False), clock=lambda: NOW)


def carried_out(sessions: Sequence[Sequence[Candidate]], step: Step) -> tuple[dict[str, Entry], dict[str, Entry]]:
    """The entries of a book after these sessions, as it has them on disk and as the laws have them."""
    expected: dict[str, Entry] = {}
    with tempfile.TemporaryDirectory() as root:
        for number, candidates in enumerate(sessions):
            with opened(root) as memory:
                before = memory.book.entries()
                changes = step(candidates, before, f"s{number}")
                expected = applied(before, changes)
                memory.book.apply(list(changes), actor="agent", door="python", session=f"s{number}")
        with opened(root) as memory:
            return {each.id: each for each in memory.book.entries()}, expected


def agree(found: dict[str, Entry], expected: dict[str, Entry]) -> None:
    assert found.keys() == expected.keys()
    for id, entry in found.items():
        law = expected[id]
        assert (entry.text, entry.hits, entry.superseded_by, entry.archived, entry.links, entry.trust) == (
            law.text, law.hits, law.superseded_by, law.archived, law.links, law.trust
        )  # fmt: skip
        assert entry.score == pytest.approx(law.score)


SESSIONS = st.lists(st.lists(CANDIDATES, min_size=1, max_size=3), min_size=1, max_size=3)


@settings(max_examples=settings().max_examples // 2)
@given(SESSIONS, CONFLICTS)
def test_a_book_keeps_what_matching_says(sessions: list[list[Candidate]], conflicts: Conflicts) -> None:
    def step(candidates: Sequence[Candidate], entries: Sequence[Entry], session: str) -> Sequence[Change]:
        return match(candidates, entries, session=session, conflicts=conflicts).changes

    agree(*carried_out(sessions, step))


@settings(max_examples=settings().max_examples // 2)
@given(SESSIONS, st.lists(DECISIONS, max_size=4))
def test_a_book_keeps_what_evolving_says(sessions: list[list[Candidate]], decisions: list[Any]) -> None:
    def step(candidates: Sequence[Candidate], entries: Sequence[Entry], session: str) -> Sequence[Change]:
        model = ScriptedLLM(then={"decisions": decisions})
        return evolve(candidates, entries, session=session, llm=model, neighbours=lambda text: entries[:8]).changes

    agree(*carried_out(sessions, step))


@pytest.mark.parametrize(
    ("todo", "said"),
    [
        ("TODO: renew the workshop insurance by 30 June.", "I paid the workshop insurance this morning."),
        ("待办：6月30日前续店铺保险。", "今天上午店铺保险已经续好了。"),
    ],
)
def test_what_was_just_done_ends_its_todo_and_is_else_no_entry(todo: str, said: str, tmp_path: Path) -> None:
    with opened(str(tmp_path)) as memory:
        memory.process_session_end([{"role": "user", "content": said}], "alone")
        assert not memory.entries().entries
        memory.process_session_end([{"role": "user", "content": todo}], "before")
        memory.process_session_end([{"role": "user", "content": said}], "after")
        assert [each.entry.superseded_by is None for each in memory.entries().entries] == [True, False]
