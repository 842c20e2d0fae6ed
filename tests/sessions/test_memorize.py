"""Two conversations of months, session by session: with what a careful model extracted, and with rules alone."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import files
from memorybook.config.settings import Config
from memorybook.memory import Memory
from memorybook.protocols import LLM
from memorybook.results import Memorized
from memorybook.sessions.memorize import process_session_end
from recorded import DATA, Recorded, RecordedLLM, needs_recordings, recorded

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
def replayed(
    folder: Path, name: str, llm: LLM | None, sessions: Sequence[Recorded] | None = None, *, evolving: bool = False
) -> Iterator[tuple[Memory, list[Memorized]]]:
    """The conversation, each session remembered at its end, tidied once a day."""
    time = datetime(2026, 1, 1, tzinfo=UTC)
    zone = "UTC" if name == "conv-30" else "Asia/Shanghai"
    with memorybook.open(str(folder / name), config=Config(timezone=zone), clock=lambda: time, llm=llm) as memory:
        reports = []
        for one in sessions or recorded(name):
            time = max(turn.time for turn in one.turns if turn.time is not None)
            said = messages(name)[one.session.name]
            reports.append(process_session_end(memory.context, said, one.session.name, evolving=evolving))
        yield memory, reports


Replay = tuple[Memory, list[Memorized], RecordedLLM]


@pytest.fixture(scope="module")
def replay_of(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[str, bool], Replay]]:
    """A conversation as a model remembers it, or as rules do: replayed once, however many tests look at it."""
    with ExitStack() as stack:

        @cache
        def made(name: str, by_model: bool) -> Replay:
            llm = RecordedLLM(recorded(name))
            replay = replayed(tmp_path_factory.mktemp("replay"), name, llm if by_model else None)
            return *stack.enter_context(replay), llm

        yield made


@pytest.fixture(params=["conv-30", "zh-agent"])
def modelled(request: pytest.FixtureRequest, replay_of: Callable[[str, bool], Replay]) -> Replay:
    """Either conversation, as a model remembers it."""
    return replay_of(request.param, True)


@pytest.fixture(scope="module")
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
    return b"\n".join(files(memory.root, "*.md").values()).decode()


LEAST = {
    "conv-30": {"new": 95, "updated": 4, "contradicted": 4, "reinforced": 14},
    "zh-agent": {"new": 110, "updated": 34, "contradicted": 34, "reinforced": 9},
}


def name_of(memory: Memory) -> str:
    return Path(memory.root).name


def test_a_model_is_called_once_a_session_and_what_it_says_is_kept_by_the_laws(modelled: Replay) -> None:
    memory, reports, llm = modelled
    counts = counted(reports)
    assert (counts["calls"], counts["queued"]) == (len(llm.sessions), 0)
    assert all(counts[name] >= least for name, least in LEAST[name_of(memory)].items())
    wanted = sum(len(one.extraction["candidates"]) for one in llm.sessions)
    assert counts["new"] + counts["updated"] + counts["reinforced"] >= 0.97 * wanted
    assert max(llm.prompts) < 3000


@pytest.mark.parametrize(("name", "new", "notes"), [("conv-30", 18, 15), ("zh-agent", 65, 5)])
def test_rules_alone_keep_what_was_said_firmly(
    replay_of: Callable[[str, bool], Replay], name: str, new: int, notes: int
) -> None:
    _, reports, _ = replay_of(name, False)
    counts = counted(reports)
    assert counts["new"] >= new
    assert counts["notes"] >= notes
    assert (counts["calls"], counts["queued"]) == (0, 0)
    assert all(each.summary for each in reports)


def check_nothing_leaked(memory: Memory, marks: dict[str, Any]) -> None:
    text = told(memory)
    for secret in marks["secrets"]:
        assert secret["value"] not in text
        assert all(secret["value"] not in hit.snippet for hit in memory.search(secret["value"]).hits)
    for attack in chain.from_iterable(each["must_not_store"] for each in marks["injections"]):
        assert attack not in text
    assert "猎头" not in text
    assert not [each for each in memory.entries().entries if "cluster" in each.entry.text]


def test_secrets_instructions_and_what_was_forgotten_stand_nowhere_by_rules(
    replay_of: Callable[[str, bool], Replay], marks: dict[str, Any]
) -> None:
    memory, _, _ = replay_of("zh-agent", False)
    check_nothing_leaked(memory, marks)


CHINESE = pytest.mark.parametrize("modelled", ["zh-agent"], indirect=True)


@CHINESE
def test_nor_do_they_where_a_model_remembers(modelled: Replay, marks: dict[str, Any]) -> None:
    memory, reports, _ = modelled
    check_nothing_leaked(memory, marks)
    assert sum(each.removed for each in reports) == 2


def test_what_changed_is_superseded_by_what_is_true_now(modelled: Replay) -> None:
    memory, _, llm = modelled
    held = {each.entry.text: each.entry for each in memory.entries().entries}
    pairs = [
        (one["key"], old)
        for each in llm.sessions
        for one in each.extraction["candidates"]
        for old in one["contradicts"]
    ]
    contents = {one["key"]: one["content"] for each in llm.sessions for one in each.extraction["candidates"]}
    known = [held[contents[old]] for new, old in pairs if contents[new] in held and contents[old] in held]
    replaced = [entry for entry in known if entry.superseded_by is not None]
    assert len(replaced) >= 0.75 * len(known)
    assert all(entry.score < 0.5 for entry in replaced)


def hits_of_repeated(memory: Memory, sessions: Sequence[Recorded], marks: dict[str, Any]) -> dict[str, list[int]]:
    """How often each fact that was said three times was heard, for each entry that says it."""
    contents = {one["key"]: one["content"] for each in sessions for one in each.extraction["candidates"]}
    entries = [each.entry for each in memory.entries().entries]
    return {
        fact["name"]: [one.hits for one in entries if one.text == contents[fact["keys"][0]]]
        for fact in marks["repeat_facts"]
    }


@CHINESE
def test_five_facts_in_three_wordings_are_five_entries_heard_three_times(
    modelled: Replay, marks: dict[str, Any]
) -> None:
    memory, _, llm = modelled
    assert list(hits_of_repeated(memory, llm.sessions, marks).values()) == [[3]] * 5


def test_so_they_are_where_statements_meet_their_neighbours(tmp_path: Path, marks: dict[str, Any]) -> None:
    sessions = recorded("zh-agent")
    with replayed(tmp_path, "zh-agent", RecordedLLM(sessions), evolving=True) as (memory, _):
        assert list(hits_of_repeated(memory, sessions, marks).values()) == [[3]] * 5


def test_a_conversation_told_twice_changes_nothing(modelled: Replay) -> None:
    memory, _, llm = modelled
    before = told(memory)
    for one in llm.sessions:
        again = memory.process_session_end(messages(name_of(memory))[one.session.name], one.session.name)
        assert (again.new, again.usage) == (0, None)
    assert told(memory) == before
