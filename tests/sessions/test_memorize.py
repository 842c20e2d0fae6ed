"""Two conversations of months, session by session: with what a careful model extracted, and with rules alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import IN_MEMORY, documents
from memorybook.memory import Memory
from memorybook.protocols import LLM
from memorybook.results import Memorized
from memorybook.sessions.memorize import process_session_end
from recorded import DATA, RecordedLLM, needs_recordings, recorded

pytestmark = needs_recordings

Counts = Counter[str]


@cache
def messages(name: str) -> dict[str, list[dict[str, Any]]]:
    path = DATA / ("locomo/conv-30.jsonl" if name == "conv-30" else "zh-agent/conversation.jsonl")
    found: dict[str, list[dict[str, Any]]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        message = json.loads(line)
        found.setdefault(message["session"], []).append(message)
    return found


@contextmanager
def replayed(folder: Path, name: str, llm: LLM | None) -> Iterator[tuple[Memory, list[Memorized]]]:
    """The conversation, each session remembered at its end, tidied once a day."""
    time = datetime(2026, 1, 1, tzinfo=UTC)
    zone = "UTC" if name == "conv-30" else "Asia/Shanghai"
    config = IN_MEMORY._replace(timezone=zone)
    with memorybook.open(str(folder / name), config=config, clock=lambda: time, llm=llm) as memory:
        reports = []
        for one in recorded(name):
            time = max(turn.time for turn in one.turns if turn.time is not None)
            said = messages(name)[one.session.name]
            reports.append(process_session_end(memory.context, said, one.session.name))
        yield memory, reports


def marks() -> dict[str, Any]:
    """What is known of the Chinese conversation."""
    return dict(json.loads((DATA / "zh-agent" / "annotations.json").read_text(encoding="utf-8")))


def counted(reports: Sequence[Memorized]) -> Counts:
    names = ("new", "updated", "merged", "reinforced", "contradicted", "removed", "notes", "queued")
    counts = Counter({name: sum(getattr(each, name) for each in reports) for name in names})
    counts["discarded"] = sum(len(each.discarded) for each in reports)
    counts["calls"] = sum(each.usage.calls for each in reports if each.usage)
    return counts


def told(memory: Memory) -> str:
    """Everything that stands in the documents."""
    return "\n".join(documents(memory).values())


LEAST = {
    "conv-30": {"new": 95, "updated": 4, "contradicted": 4, "reinforced": 14},
    "zh-agent": {"new": 110, "updated": 34, "contradicted": 34, "reinforced": 9},
}


@pytest.mark.parametrize("name", ["conv-30", "zh-agent"])
def test_a_model_is_called_once_a_session_and_what_it_says_is_kept_by_the_laws(tmp_path: Path, name: str) -> None:
    """One replay, looked at from all sides: it takes seconds."""
    llm = RecordedLLM(recorded(name))
    with replayed(tmp_path, name, llm) as (memory, reports):
        check_counts(name, counted(reports), llm)
        check_what_changed(memory, llm)
        if name == "zh-agent":
            check_nothing_leaked(memory)
            assert sum(each.removed for each in reports) == 2
            check_facts_heard_three_times(memory, llm)
        check_a_conversation_told_twice_changes_nothing(memory, name, llm)


def check_counts(name: str, counts: Counts, llm: RecordedLLM) -> None:
    assert (counts["calls"], counts["queued"]) == (len(llm.sessions), 0)
    assert all(counts[what] >= least for what, least in LEAST[name].items())
    wanted = sum(len(one.extraction["candidates"]) for one in llm.sessions)
    assert counts["new"] + counts["updated"] + counts["reinforced"] >= 0.97 * wanted
    assert max(llm.prompts) < 3000


def check_what_changed(memory: Memory, llm: RecordedLLM) -> None:
    """What is no longer true is superseded by what is true now."""
    held = {each.entry.text: each.entry for each in memory.entries().entries}
    contents = contents_of(llm)
    told = [one for each in llm.sessions for one in each.extraction["candidates"]]
    pairs = [(one["content"], contents[old]) for one in told for old in one["contradicts"]]
    known = [held[old] for new, old in pairs if new in held and old in held]
    replaced = [entry for entry in known if entry.superseded_by is not None]
    assert len(replaced) >= 0.75 * len(known)
    assert all(entry.score < 0.5 for entry in replaced)


def check_nothing_leaked(memory: Memory) -> None:
    """Secrets, instructions and what was forgotten stand nowhere."""
    text, known = told(memory), marks()
    for secret in known["secrets"]:
        assert secret["value"] not in text
        assert all(secret["value"] not in hit.snippet for hit in memory.search(secret["value"]).hits)
    for attack in chain.from_iterable(each["must_not_store"] for each in known["injections"]):
        assert attack not in text
    assert "猎头" not in text
    assert not [each for each in memory.entries().entries if "cluster" in each.entry.text]


def contents_of(llm: RecordedLLM) -> dict[str, str]:
    return {one["key"]: one["content"] for each in llm.sessions for one in each.extraction["candidates"]}


def check_facts_heard_three_times(memory: Memory, llm: RecordedLLM) -> None:
    """Five facts in three wordings are five entries."""
    contents = contents_of(llm)
    entries = [each.entry for each in memory.entries().entries]
    for fact in marks()["repeat_facts"]:
        assert [one.hits for one in entries if one.text == contents[fact["keys"][0]]] == [3], fact["name"]


def check_a_conversation_told_twice_changes_nothing(memory: Memory, name: str, llm: RecordedLLM) -> None:
    before = told(memory)
    for one in llm.sessions:
        again = memory.process_session_end(messages(name)[one.session.name], one.session.name)
        assert (again.new, again.usage) == (0, None)
    assert told(memory) == before


@pytest.mark.parametrize(("name", "new", "notes"), [("conv-30", 18, 15), ("zh-agent", 65, 5)])
def test_rules_alone_keep_what_was_said_firmly(tmp_path: Path, name: str, new: int, notes: int) -> None:
    with replayed(tmp_path, name, None) as (memory, reports):
        counts = counted(reports)
        assert counts["new"] >= new
        assert counts["notes"] >= notes
        assert (counts["calls"], counts["queued"]) == (0, 0)
        assert all(each.summary for each in reports)
        if name == "zh-agent":
            check_nothing_leaked(memory)
