"""Tidying a book: what is done at once, what waits, and when."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import CONFIG, files
from clock import Clock
from memorybook.context import Context
from memorybook.entries import tidy as verb
from memorybook.entries.review import accept, propose_or_apply, reject, review
from memorybook.entries.tidy import Tidied, after_session, heartbeat, is_idle, tidy
from memorybook.errors import Conflict, InvalidInput, LLMFailed, NotFound
from memorybook.memory import Memory
from memorybook.model import Change, Reinforce, Remove, Update
from memorybook.sessions import memorize
from memorybook.testing import FailingEmbedder, HashEmbedder, ScriptedLLM

WORDS = ("heron", "Postgres", "mango", "harbour", "violin", "glacier", "lantern", "walnut")


def fill(memory: Memory, count: int = 8, **fields: Any) -> list[str]:
    """Entries that have nothing to do with each other."""
    made = [memory.remember(word, importance=0.9 - n / 100).known.entry.id for n, word in enumerate(WORDS[:count])]
    changes: list[Change] = [Update(id=id, fields=fields) for id in made] if fields else []
    memory.book.apply(changes, actor="user", door="test")
    return made


def states(memory: Memory) -> dict[str, str]:
    return {entry.id: entry.state for entry in memory.book.entries()}


# --- what is done --------------------------------------------------------------------------------


def test_what_has_faded_is_archived_in_one_operation_that_can_be_undone(memory: Memory, clock: Clock) -> None:
    ids = fill(memory)
    weak = memory.remember("a weak one", importance=0.21).known.entry.id
    before = files(memory.root, "MEMORY.md")
    clock.pass_by(days=20)
    done = tidy(memory.context)
    assert states(memory) == dict.fromkeys(ids, "active") | {weak: "archived"}
    assert [(each.kind, each.told) for each in done.done] == [("archive", (f"archive {weak}: a weak one",))]
    assert done.fading == 9
    [operation] = memory.book.journal.operations(limit=1)
    assert (operation.id, operation.kind) == (done.operation, "tidy")
    assert operation.changes[0].reason.startswith("strength 0.184 is below 0.2")
    memory.undo(operation.id)
    assert files(memory.root, "MEMORY.md") == before


def test_a_dry_run_says_the_same_and_writes_nothing(memory: Memory, clock: Clock) -> None:
    fill(memory)
    weak = memory.remember("a weak one", importance=0.21).known.entry.id
    memory.remember("Likes green tea.", session="s1")
    memory.book.apply([_copy(memory)], actor="user", door="test")
    clock.pass_by(days=20)
    before, operations = files(memory.root, "*.md"), memory.book.journal.operations()
    would = tidy(memory.context, dry_run=True)
    assert (files(memory.root, "*.md"), memory.book.journal.operations()) == (before, operations)
    assert review(memory.context).proposals == ()
    assert (would.dry_run, would.operation, states(memory)[weak]) == (True, None, "active")
    did = tidy(memory.context)
    assert [(each.kind, each.reason) for each in did.done] == [(each.kind, each.reason) for each in would.done]
    assert [(each.kind, each.reason, each.told) for each in did.proposed] == [
        (each.kind, each.reason, each.told) for each in would.proposed
    ]
    assert [each.proposal for each in did.proposed] == ["p1"]


def _copy(memory: Memory) -> Update:
    """A change that lets an entry say what another says, as a person's editor may."""
    return Update(id=memory.remember("placeholder", session="s2").known.entry.id, fields={"text": "likes green  tea"})


def test_duplicates_wait_and_are_merged_by_a_word(memory: Memory) -> None:
    first = memory.remember("Likes green tea.", session="s1", tags=["a"]).known.entry.id
    memory.book.apply([_copy(memory)], actor="user", door="test")
    assert [each.kind for each in tidy(memory.context).proposed] == ["duplicate"]
    assert set(states(memory).values()) == {"active"}
    accept(memory.context, kind="duplicate")
    assert sorted(states(memory).values()) == ["active", "superseded"]
    [stays] = [entry for entry in memory.book.entries() if entry.state == "active"]
    assert (stays.hits, stays.tags) == (2, ("a",))
    assert first in states(memory)


def test_what_waits_is_told_once(memory: Memory, clock: Clock) -> None:
    memory.remember("Likes green tea.", session="s1")
    memory.book.apply([_copy(memory)], actor="user", door="test")
    assert len(tidy(memory.context).proposed) == 1
    clock.pass_by(days=5)
    again = tidy(memory.context)
    assert (again.proposed, again.withdrawn) == ((), ())
    assert len(review(memory.context).proposals) == 1


def test_what_a_person_rejected_is_neither_proposed_nor_done(memory: Memory, clock: Clock) -> None:
    fill(memory, 4, score=0.15)
    done = tidy(memory.context, apply=[])
    assert ([each.kind for each in done.done], len(done.proposed)) == ([], 4)
    reject(memory.context, every=True, reason="I want these")
    clock.pass_by(days=30)
    again = tidy(memory.context, apply=["archive"])
    assert [each for each in (*again.done, *again.proposed) if each.kind == "archive"] == []
    assert set(states(memory).values()) == {"active"}


def test_an_entry_stays_whose_archiving_a_person_rejected(memory: Memory, clock: Clock) -> None:
    ids = fill(memory, 2, score=0.01)
    tidy(memory.context, apply=[])
    waits = review(memory.context, kind="archive").proposals[0]
    reject(memory.context, [waits.proposal.id], reason="I want it")
    left = next(id for id in ids if id in waits.told[0])
    again = tidy(memory.context, apply=["archive", "remove"])
    assert left not in " ".join(told for each in (*again.done, *again.proposed) for told in each.told)
    assert states(memory)[left] == "active"


def test_a_stale_proposal_is_withdrawn_and_worked_out_anew(memory: Memory, clock: Clock) -> None:
    [id] = fill(memory, 1, score=0.15)
    tidy(memory.context, apply=[])
    memory.book.apply([Reinforce(id=id)], actor="user", door="test")
    done = tidy(memory.context)
    assert (done.withdrawn, done.proposed) == (("p1",), ())
    clock.pass_by(days=60)
    assert [each.proposal for each in tidy(memory.context, apply=[]).proposed] == ["p2"]


FACTS = (
    ("The boat is called Heron.", "The spare key hangs in the shed.", "Tea comes from Uji.", "The lease ends in May."),
    ("船名叫苍鹭。", "备用钥匙挂在棚里。", "茶叶来自宇治。", "租约五月到期。"),
)


@pytest.mark.parametrize("facts", FACTS)
@pytest.mark.parametrize("days", [60, 147, 200])
def test_facts_that_cross_the_bound_together_are_all_archived(
    memory: Memory, clock: Clock, facts: Sequence[str], days: int
) -> None:
    for text in facts:
        memory.remember(text, importance=0.21)
    clock.pass_by(days=days)
    done = tidy(memory.context)
    assert ([each.kind for each in done.done].count("archive"), set(states(memory).values())) == (4, {"archived"})
    assert all(each.kind == "remove" for each in done.proposed)


@pytest.mark.parametrize("facts", FACTS)
def test_what_fades_on_is_removed_as_configured_without_a_word(
    memory: Memory, clock: Clock, facts: Sequence[str]
) -> None:
    for text in facts:
        memory.remember(text, importance=0.21)
    clock.pass_by(days=60)
    tidy(memory.context)
    clock.pass_by(days=120)
    assert [each.kind for each in tidy(memory.context).proposed] == ["remove"] * 4  # the default asks
    done = tidy(memory.context, apply=["expire", "archive", "remove"])
    assert [each.kind for each in done.done] == ["remove"] * 4  # what waited for a word goes too
    assert (states(memory), tidy(memory.context).withdrawn, review(memory.context).proposals) == (
        {},
        ("p1", "p2", "p3", "p4"),
        (),
    )


@pytest.mark.parametrize("archived", [False, True])
def test_whenever_the_page_is_written_all_strengths_in_it_are_of_that_day(
    memory: Memory, clock: Clock, archived: bool
) -> None:
    ids = fill(memory, 4, archived=archived)
    for _ in range(2):
        clock.pass_by(days=30)
        memory.remember(f"An unrelated thing of {clock().date()}")
        today = clock().date()
        faded = [each for each in memory.book.entries() if each.id in ids]
        assert {each.scored for each in faded} == {today}
        assert all(f"| {each.score:.2f} |" in Path(memory.root, "MEMORY.md").read_text("utf-8") for each in faded)


@pytest.mark.parametrize("text", ["Pay the rent", "交房租"])
@pytest.mark.parametrize("pinned", [False, True])
def test_a_todo_past_its_day_loses_its_place(memory: Memory, clock: Clock, text: str, pinned: bool) -> None:
    todo = memory.remember(text, category="todo", importance="high", expires=clock().date()).known.entry.id
    if pinned:
        memory.pin(todo)
    assert [each.entry.id for each in memory.get_prompt_memories()] == [todo]
    clock.pass_by(days=1)
    assert (memory.get_prompt_memories(), text in memory.summarize_existing()) == ((), False)
    tidy(memory.context)
    assert states(memory) == {todo: "archived"}


def test_no_more_than_a_quarter_is_merged_away_in_one_run(memory: Memory) -> None:
    first = fill(memory, 8)
    copies = [memory.remember(f"placeholder {n}").known.entry.id for n in range(8)]
    changes = [Update(id=id, fields={"text": text}) for id, text in zip(copies, WORDS, strict=True)]
    memory.book.apply(changes, actor="user", door="test")
    done = tidy(memory.context, apply=["duplicate"])
    assert (len(done.done), len(done.proposed)) == (4, 4)
    assert done.proposed[0].reason.endswith("; waits because one run merges at most 4 of the 16 active entries away")
    assert len(first) == 8


def test_removal_waits_unless_it_is_asked_for(memory: Memory) -> None:
    fill(memory)
    weak = memory.remember("a weak one", importance=0.01).known.entry.id
    done = tidy(memory.context)
    assert ([each.kind for each in done.done], [each.kind for each in done.proposed]) == (["archive"], ["remove"])
    assert states(memory)[weak] == "archived"
    accept(memory.context, kind="remove")
    assert weak not in states(memory)
    other = memory.remember("another weak one", importance=0.01).known.entry.id
    done = tidy(memory.context, apply=["archive", "remove"])
    assert [each.kind for each in done.done] == ["archive", "remove"]
    assert other not in states(memory)
    memory.undo(done.operation or "")
    assert states(memory)[other] == "active"


def test_with_confirmation_all_of_it_waits(tmp_path: Path, clock: Clock) -> None:
    config = CONFIG._replace(require_user_confirmation=True)
    with memorybook.open(str(tmp_path / "b"), config=config, clock=clock) as memory:
        fill(memory)
        weak = memory.remember("a weak one", importance=0.1).known.entry.id
        done = tidy(memory.context)
        assert (done.done, done.operation, [each.kind for each in done.proposed]) == ((), None, ["archive"])
        assert states(memory)[weak] == "active"
        [waiting] = review(memory.context).proposals
        assert waiting.proposal.reason.startswith("strength 0.100 is below 0.2")


def test_an_unknown_kind_is_refused(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="'fly'"):
        tidy(memory.context, apply=["fly"])


def test_an_entry_that_goes_meanwhile_is_planned_for_anew(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory)
    weak, other = (memory.remember(text, importance=0.1).known.entry.id for text in ("weak", "feeble"))

    def late(given: Context, changes: Any, **named: Any) -> Any:
        monkeypatch.undo()
        given.book.apply([Remove(id=weak)], actor="user", door="test")
        return propose_or_apply(given, changes, **named)

    monkeypatch.setattr(verb, "propose_or_apply", late)
    done = tidy(memory.context)
    assert [each.told for each in done.done] == [(f"archive {other}: feeble",)]

    def always(given: Context, changes: Any, **named: Any) -> Any:
        raise NotFound("gone again")

    memory.remember("faint", importance=0.1)
    monkeypatch.setattr(verb, "propose_or_apply", always)
    with pytest.raises(NotFound):
        tidy(memory.context)


def test_notes_said_on_three_days_are_proposed_as_an_entry(memory: Memory, clock: Clock) -> None:
    for _ in range(3):
        memory.append("用户喜欢简短的回答", kind="pref")
        clock.pass_by(days=2)
    [found] = tidy(memory.context).proposed
    assert (found.kind, found.told) == ("promote", ("+ 用户喜欢简短的回答",))
    accept(memory.context, ["p1"])
    [entry] = memory.book.entries()
    assert (entry.text, entry.category, entry.hits, entry.trust) == ("用户喜欢简短的回答", "preference", 3, "document")
    assert entry.source == "daily/2026-02-24.md#L1"
    assert tidy(memory.context).proposed == ()


def test_notes_in_the_prompts_of_three_days_are_proposed_as_an_entry(memory: Memory, clock: Clock) -> None:
    memory.append("The harbour crane is serviced at noon.")
    for _ in range(3):
        assert "harbour crane" in memory.recall("When is the harbour crane serviced?").text
        clock.pass_by(days=1)
    [found] = tidy(memory.context).proposed
    assert found.reason == "a note in prompts on 3 days (2026-02-24 to 2026-02-26): daily/2026-02-24.md#L1"


def test_what_was_forgotten_is_not_promoted(memory: Memory, clock: Clock) -> None:
    for _ in range(3):
        memory.append("The user's knee hurts.")
        clock.pass_by(days=1)
    memory.forget(memory.remember("the user's knee hurts").known.entry.id)
    assert tidy(memory.context).proposed == ()


def test_old_notes_are_not_looked_at(memory: Memory, clock: Clock) -> None:
    for _ in range(3):
        memory.append("Likes green tea")
        clock.pass_by(days=1)
    clock.pass_by(days=100)
    assert tidy(memory.context).proposed == ()


def test_wordings_are_compared_by_an_embedder_on_this_machine(tmp_path: Path, clock: Clock) -> None:
    long = "drinks green tea with oat milk in the garden behind the old harbour while reading of glaciers and lights"
    wordings = (f"The user gladly {long}", f"The user {long} outdoors")
    for embedder, kinds in ((HashEmbedder(), ["duplicate"]), (FailingEmbedder(after=99), [])):
        root = str(tmp_path / str(len(kinds)))
        with memorybook.open(root, config=CONFIG, clock=clock, embedder=embedder) as memory:
            memory.book.background = False
            for n, text in enumerate(wordings):
                memory.remember(text, session=f"s{n}")
            assert [each.kind for each in tidy(memory.context, dry_run=True).proposed] == kinds
            assert bool(embedder.calls) == embedder.local


# --- when ----------------------------------------------------------------------------------------


def test_a_sessions_end_tidies_once_a_day(memory: Memory, clock: Clock) -> None:
    fill(memory)
    assert after_session(memory.context) is not None
    assert after_session(memory.context) is None
    clock.pass_by(days=1)
    assert after_session(memory.context) is not None


def test_a_sessions_end_tidies_only_where_that_is_wanted(tmp_path: Path) -> None:
    config = CONFIG._replace(tidy=CONFIG.tidy._replace(after_session=False))
    with memorybook.open(str(tmp_path / "b"), config=config) as memory:
        assert after_session(memory.context) is None


def test_a_book_is_idle_a_while_after_the_last_word(memory: Memory, clock: Clock, tmp_path: Path) -> None:
    assert is_idle(memory.context, 60)
    memory.remember("tea")
    assert not is_idle(memory.context, 60)
    clock.pass_by(seconds=61)
    assert is_idle(memory.context, 60)
    tidy(memory.context)
    assert is_idle(memory.context, 60)
    chat = tmp_path / "chat.jsonl"
    chat.write_text('{"role": "user", "content": "hello", "timestamp": "2026-02-24T10:13:00Z"}\n', encoding="utf-8")
    memory.import_file(str(chat))
    assert not is_idle(memory.context, 60)


def test_a_heartbeat_tidies_until_it_is_stopped(memory: Memory) -> None:
    stop, runs = threading.Event(), list[Tidied]()

    def ran(tidied: Tidied) -> None:
        runs.append(tidied)
        if len(runs) == 2:
            stop.set()

    fill(memory)
    heartbeat(memory.context, memory.tidy, every=0.01, idle=0.0, stop=stop, on_run=ran)
    assert [run.dry_run for run in runs] == [False, False]


def test_a_heartbeat_waits_while_the_book_is_in_use(memory: Memory) -> None:
    class Looked(threading.Event):
        """Stops at the second look, and keeps how long it was to wait."""

        pauses: list[float] = []  # noqa: RUF012 - one of these is made

        def wait(self, timeout: float | None = None) -> bool:
            self.pauses.append(timeout or 0.0)
            self.set()
            return True

    memory.remember("tea")
    stop = Looked()
    runs: list[Tidied] = []
    heartbeat(memory.context, memory.tidy, every=21600.0, stop=stop, on_run=runs.append)
    assert (runs, stop.pauses) == ([], [1800.0])


@pytest.mark.parametrize("error", [Conflict, NotFound])
def test_a_heartbeat_lives_through_a_book_that_others_change(memory: Memory, error: type[Exception]) -> None:
    def locked() -> Tidied:
        raise error("somebody saves it all the while")

    stop, runs = threading.Event(), list[Tidied]()

    def ran(tidied: Tidied) -> None:
        runs.append(tidied)
        stop.set()

    heartbeat(memory.context, locked, every=0.01, stop=stop, on_run=ran)
    assert runs[0].degraded == ("somebody saves it all the while",)


def test_the_answer_counts_by_kind(memory: Memory) -> None:
    fill(memory, 8, score=0.15)
    shown = tidy(memory.context, apply=["expire"]).json()
    assert shown["counts"] == {"done": {}, "proposed": {"archive": 8}}
    assert shown["proposed"][0]["proposal"] == "p1"
    assert (shown["usage"], shown["degraded"], shown["withdrawn"], shown["dry_run"]) == (None, [], [], False)


def test_the_end_of_a_session_tells_what_it_tidied(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(memory)
    weak = memory.remember("a weak one", importance=0.01).known.entry.id
    said = [{"role": "user", "content": "I prefer green tea in the morning, never coffee."}]
    found = memory.process_session_end(said, "s1")
    assert (found.new, found.archived, found.proposals) == (1, 1, ("p1",))
    assert states(memory)[weak] == "archived"

    def locked(*_: Any) -> None:
        raise Conflict("somebody saves it all the while")

    monkeypatch.setattr(memorize, "after_session", locked)
    said = [{"role": "user", "content": "We decided to meet at the harbour on Saturday."}]
    assert memory.process_session_end(said, "s2").degraded[-1].startswith("the book was not tidied: somebody")


# --- asking a model ------------------------------------------------------------------------------

ONE, OTHER = "Ann drinks green tea at breakfast", "Ann has green tea with honey at breakfast on weekdays"


def asking(tmp_path: Path, clock: Clock, llm: Any, **settings: Any) -> Memory:
    config = CONFIG._replace(vector_enabled=False, **settings)
    memory = memorybook.open(str(tmp_path / "asked"), config=config, clock=clock, llm=llm)
    for n, text in enumerate((ONE, OTHER)):
        memory.remember(text, session=f"s{n}")
        clock.pass_by(days=1)
    return memory


SAME = {"pairs": [{"p": "p1", "relation": "same", "text": None, "reason": "one habit"}]}


def test_a_model_is_asked_once_about_what_rules_cannot_tell(tmp_path: Path, clock: Clock) -> None:
    llm = ScriptedLLM([SAME])
    with asking(tmp_path, clock, llm) as memory:
        assert tidy(memory.context, dry_run=True).proposed == ()
        done = tidy(memory.context)
        [waiting] = done.proposed
        assert (waiting.kind, waiting.proposal) == ("duplicate", "p1")
        assert waiting.reason.endswith("(one habit (by scripted))")
        assert done.usage is not None
        assert (done.usage["calls"], done.usage["model"]) == (1, "scripted")
        assert (tidy(memory.context).usage, len(llm.requests)) == (None, 1)
        accept(memory.context, ["p1"])
        assert sorted(states(memory).values()) == ["active", "superseded"]


@pytest.mark.parametrize(
    "settings", [{"tidy": CONFIG.tidy._replace(tokens=0)}, {"tidy": CONFIG.tidy._replace(tokens=200)}]
)
def test_without_tokens_no_model_is_asked(tmp_path: Path, clock: Clock, settings: Any) -> None:
    llm = ScriptedLLM([SAME])
    with asking(tmp_path, clock, llm, **settings) as memory:
        assert (tidy(memory.context).usage, llm.requests) == (None, [])


def test_a_sessions_end_asks_no_model(tmp_path: Path, clock: Clock) -> None:
    llm = ScriptedLLM([SAME])
    with asking(tmp_path, clock, llm) as memory:
        assert after_session(memory.context) is not None
        assert llm.requests == []


@pytest.mark.parametrize("answer", [LLMFailed("it is down"), "no idea", {"pairs": [{"p": "p7"}]}])
def test_rules_do_the_work_when_the_model_fails(tmp_path: Path, clock: Clock, answer: Any) -> None:
    llm = ScriptedLLM(then=answer)
    with asking(tmp_path, clock, llm) as memory:
        weak = memory.remember("a weak one", importance=0.21).known.entry.id
        fill(memory)
        clock.pass_by(days=20)
        done = tidy(memory.context)
        assert done.degraded[0].startswith("the language model could not be asked: ")
        assert states(memory)[weak] == "archived"
        llm.script.append(SAME)
        assert [each.kind for each in tidy(memory.context).proposed] == ["duplicate"]


def test_a_model_that_cannot_be_opened_is_told_of(tmp_path: Path, clock: Clock) -> None:
    with asking(tmp_path, clock, 3) as memory:
        assert tidy(memory.context).degraded[0].startswith("no language model was asked: 3 is no language model")


def test_what_a_person_changed_while_the_model_thought_is_not_dealt_with(tmp_path: Path, clock: Clock) -> None:
    def think(_: Any) -> dict[str, Any]:
        opened.update(opened.book.entries()[0].id, text="Ann drinks coffee")
        return SAME

    opened = asking(tmp_path, clock, think)
    with opened:
        assert tidy(opened.context).proposed == ()
