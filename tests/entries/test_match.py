from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import memorybook
from books import CONFIG
from known import BEFORE, NOW, TODAY, applied, current, known, match, told
from memorybook.entries.match import Conflicts, EmbedderSimilarity, IndexNeighbours, Matched
from memorybook.entries.read_reply import Candidate
from memorybook.entries.replaces import replaces
from memorybook.errors import Unavailable
from memorybook.memory import Memory
from memorybook.model import Add, Entry, Reinforce, Supersede, Trust, Update
from memorybook.testing import FailingEmbedder, HashEmbedder


def matched(candidates: list[Candidate], entries: list[Entry], **given: Any) -> tuple[Matched, dict[str, Entry]]:
    found = match(candidates, entries, session="today", **given)
    return found, applied(entries, found.changes)


def only(found: Matched) -> tuple[str, str | None]:
    [decision] = found.decisions
    return decision.action, decision.id


# --- new -----------------------------------------------------------------------------------------


def test_a_new_statement_becomes_an_entry_with_all_that_is_known_of_it() -> None:
    said = datetime(2026, 6, 20, 8, tzinfo=UTC)
    candidate = told(
        "Ann keeps bees", importance="high", category="experience", tags=("bees",), entities=("Ann",),
        group="life/garden", trust="agent", quote="bees, yes",
    )  # fmt: skip
    found, book = matched([candidate], [], times={"t1": said})
    [entry] = book.values()
    assert only(found) == ("created", entry.id)
    assert (entry.text, entry.category, entry.score, entry.hits) == ("Ann keeps bees", "experience", 0.8, 1)
    assert (entry.created, entry.scored, entry.last_activated) == (said, TODAY, TODAY)
    assert (entry.session, entry.source, entry.trust, entry.group) == ("today", "turn:t1", "agent", "life/garden")
    assert (entry.tags, entry.entities) == (("bees",), ("Ann",))
    assert found.changes[0].reason == "said: bees, yes"
    assert found.counts == {"created": 1}


def test_a_todo_whose_day_is_past_is_archived_from_the_start() -> None:
    past, ahead = told("Call Bob", expires=date(2026, 6, 20)), told("Call Kim", expires=date(2026, 6, 21))
    _, book = matched([past, ahead], [])
    assert {one.text: one.archived for one in book.values()} == {"Call Bob": True, "Call Kim": False}


# --- said again ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "again",
    [
        told("Ann likes tea", reinforces=("a",)),
        told("说了同样的事", reinforces=("a",)),
        told("ann  LIKES tea."),
        told("Ann enjoys tea"),
    ],
    ids=["by the model", "by the model in other words", "the same text", "in other words"],
)
def test_what_is_said_again_is_reinforced_by_the_law(again: Candidate) -> None:
    found, book = matched([again], [known("a", "Ann likes tea")])
    assert only(found) == ("strengthened", "a")
    assert (book["a"].score, book["a"].hits, book["a"].last_activated) == (0.6 + 0.4 * 0.2, 2, TODAY)
    assert len(book) == 1


def test_the_reason_names_quote_and_turns() -> None:
    found, _ = matched([told("Ann likes tea", quote="tea again", turn="t9")], [known("a", "Ann likes tea")])
    [change] = found.changes
    assert isinstance(change, Reinforce)
    assert change.reason == "said: tea again turn:t9"


def test_twice_in_one_session_is_heard_once() -> None:
    mine = known("a", "Ann likes tea", session="today")
    assert matched([told("Ann likes tea")], [mine])[0].changes == ()
    found, book = matched([told("Ann likes tea"), told("Ann enjoys tea")], [known("a", "Ann likes tea")])
    assert book["a"].hits == 2
    assert [one.action for one in found.decisions] == ["strengthened", "strengthened"]
    assert "heard once" in found.decisions[1].detail
    _, book = matched([told("Ann keeps bees"), told("Ann keeps bees!")], [])
    assert [one.hits for one in book.values()] == [1]


def test_what_an_earlier_part_of_the_session_reinforced_is_not_again() -> None:
    found, book = matched([told("Ann likes tea")], [known("a", "Ann likes tea")], heard={"a"})
    assert book["a"].hits == 1
    assert only(found) == ("strengthened", "a")


def test_without_a_session_nothing_is_taken_for_heard() -> None:
    entry = known("a", "Ann likes tea", session=None)
    found = match([told("Ann likes tea")], [entry])
    assert [type(one) for one in found.changes] == [Reinforce]


def test_several_entries_may_be_said_again_at_once() -> None:
    _, book = matched(
        [told("Ann likes tea and milk", reinforces=("a", "b"))], [known("a", "Ann likes tea"), known("b", "Ann: milk")]
    )
    assert (book["a"].hits, book["b"].hits) == (2, 2)


def test_a_vector_of_95_says_the_same_if_nothing_differs() -> None:
    entries = [known("a", "begin with the gist"), known("b", "Pay 300 euros")]
    near: Any = lambda text: entries  # noqa: E731
    high: Any = lambda one, other: 0.96  # noqa: E731
    found, _ = matched([told("short answers first, please")], entries, neighbours=near, similarity=high)
    assert only(found) == ("strengthened", "a")
    found, book = matched([told("Pay 500 euros")], [entries[1]], neighbours=near, similarity=high)
    assert found.counts == {"created": 1}
    assert "Pay 300 euros" in current(book)


def test_an_archived_entry_that_is_said_again_comes_back() -> None:
    _, book = matched([told("Ann likes tea")], [known("a", "Ann likes tea", archived=True, score=0.19)])
    assert not book["a"].archived
    _, book = matched([told("Call Bob")], [known("a", "Call Bob", archived=True, expires=BEFORE, category="todo")])
    assert book["a"].archived


def test_a_todo_said_again_with_another_day_has_that_day() -> None:
    later = date(2026, 7, 1)
    entry = known("a", "Call Bob", category="todo", expires=BEFORE, archived=True)
    found, book = matched([told("Call Bob", category="todo", expires=later)], [entry])
    assert (book["a"].expires, book["a"].archived, book["a"].hits) == (later, False, 2)
    assert [type(one) for one in found.changes] == [Reinforce, Update]


def test_a_group_comes_from_the_model_where_there_is_none() -> None:
    entries = [known("a", "Ann likes tea"), known("b", "Ann keeps bees", group="garden")]
    said = [told("Ann likes tea", group="life/drinks"), told("Ann keeps bees", group="life")]
    _, book = matched(said, entries)
    assert (book["a"].group, book["b"].group) == ("life/drinks", "garden")


def test_a_superseded_entry_is_never_strengthened() -> None:
    old = known("a", "Ann works at Acme", superseded_by="b", score=0.3)
    for candidate in (told("Ann works at Acme"), told("Ann works at Acme", reinforces=("a",))):
        found, book = matched([candidate], [old, known("b", "Ann works at Globex")])
        assert book["a"] == old
        assert "Ann works at Acme" in current(book)
        assert found.counts == {"updated": 1}  # back at Acme: rules see that it replaces Globex


def test_ids_that_nobody_knows_are_passed_over() -> None:
    found, book = matched([told("Ann keeps bees", reinforces=("zzz",), contradicts=("yyy",))], [])
    assert only(found)[0] == "created"
    assert [one.contradicts for one in book.values()] == [()]


# --- said again with more --------------------------------------------------------------------------


def test_a_wording_with_more_facts_takes_the_place_of_the_old_one() -> None:
    again = told("Ann keeps 12 bees in Oslo", reinforces=("a",), entities=("Oslo",))
    found, book = matched([again], [known("a", "Ann keeps bees", entities=("Ann",), hits=2)])
    [new] = [one for one in book.values() if one.superseded_by is None]
    assert only(found) == ("merged", new.id)
    assert (new.text, new.hits, set(new.entities)) == ("Ann keeps 12 bees in Oslo", 3, {"Ann", "Oslo"})
    assert (book["a"].superseded_by, book["a"].archived, book["a"].text) == (new.id, True, "Ann keeps bees")


def test_a_merged_entry_has_the_worth_of_both() -> None:
    fields: dict[str, Any] = {"tags": ("drinks",), "entities": ("Ann",), "links": ("x",), "group": "life", "hits": 2}
    target = known("a", "Ann likes tea", created=NOW, metadata={"a": 1}, trust="agent", score=0.9, **fields)
    said = told("Ann likes 3 teas a day", reinforces=("a",), tags=("milk",), expires=date(2026, 9, 1))
    for session, hits, score in (("before", 3, 0.9 + 0.1 * 0.2), ("today", 2, 0.9)):  # heard in this session already
        _, book = matched([said], [replace(target, session=session)])
        [made] = [one for one in book.values() if one.id != "a"]
        assert (made.text, made.hits, made.tags) == (said.content, hits, ("drinks", "milk"))
        assert made.score == pytest.approx(score)
        assert (made.entities, made.links, made.group) == (("Ann",), ("x", "a"), "life")
        assert (made.expires, made.trust, made.metadata) == (date(2026, 9, 1), "agent", {"a": 1})


def test_a_wording_with_other_facts_stands_beside_the_old_one() -> None:
    again = told("Ann keeps 12 bees", reinforces=("a",))
    found, book = matched([again], [known("a", "Ann keeps bees in Oslo since 2019")])
    assert sorted(current(book)) == ["Ann keeps 12 bees", "Ann keeps bees in Oslo since 2019"]
    assert book["a"].hits == 2
    [new] = [one for one in book.values() if one.id != "a"]
    assert new.links == ("a",)
    assert found.counts == {"strengthened": 1, "created": 1}


def test_what_is_pinned_is_not_rewritten() -> None:
    again = told("Ann keeps 12 bees", reinforces=("a",))
    _, book = matched([again], [known("a", "Ann keeps bees", pinned=True)])
    assert sorted(current(book)) == ["Ann keeps 12 bees", "Ann keeps bees"]


def test_a_denial_is_not_said_again_whatever_the_model_says() -> None:
    found, book = matched([told("Ann does not like tea", reinforces=("a",))], [known("a", "Ann likes tea")])
    assert sorted(current(book)) == ["Ann does not like tea", "Ann likes tea"]
    assert book["a"].hits == 1
    assert "denies" in found.decisions[0].detail


# --- no longer true ----------------------------------------------------------------------------------


def test_a_contradicted_entry_is_halved_and_says_what_replaced_it() -> None:
    found, book = matched([told("Ann works at Globex", contradicts=("a",))], [known("a", "Ann works at Acme")])
    [new] = [one for one in book.values() if one.id != "a"]
    assert only(found) == ("updated", new.id)
    assert (book["a"].score, book["a"].superseded_by, book["a"].archived) == (0.3, new.id, False)
    assert new.contradicts == ("a",)
    assert [type(one) for one in found.changes] == [Add, Supersede]
    assert current(book) == ["Ann works at Globex"]


@pytest.mark.parametrize(
    ("old", "new"), [("I work at Acme", "I work at Globex"), ("用户在青梭科技上班", "用户在云启科技上班")]
)
def test_a_change_of_job_is_seen_by_rules(old: str, new: str) -> None:
    found, book = matched([told(new)], [known("a", old)])
    assert current(book) == [new]
    assert found.counts == {"updated": 1}


def test_a_finished_todo_is_no_longer_to_be_done() -> None:
    todo = known("a", "Send the tax report to Kim", category="todo")
    found, book = matched([told("The tax report is sent to Kim")], [todo])
    assert current(book) == ["The tax report is sent to Kim"]
    assert found.decisions[0].reason == "the todo is done"


def test_what_contradicts_may_be_known_itself() -> None:
    entries = [known("a", "Ann works at Acme"), known("b", "Ann works at Globex")]
    found, book = matched([told("Ann works at Globex", contradicts=("a",))], entries)
    assert (book["a"].superseded_by, book["b"].hits) == ("b", 2)
    assert found.counts == {"strengthened": 1}


def test_nothing_contradicts_its_own_words() -> None:
    found, book = matched([told("Ann works at Acme", contradicts=("a",))], [known("a", "Ann works at Acme.")])
    assert (book["a"].superseded_by, book["a"].hits) == (None, 2)
    assert found.counts == {"strengthened": 1}


def test_two_candidates_contradict_one_entry_once() -> None:
    said = [told("Ann works at Globex", contradicts=("a",)), told("Ann has a desk in Oslo now", contradicts=("a",))]
    found, book = matched(said, [known("a", "Ann works at Acme in Bergen")])
    assert book["a"].score == 0.3
    assert len(current(book)) == 2
    assert found.counts == {"updated": 1, "created": 1}


@pytest.mark.parametrize(("source", "trust"), [("turn:t9", "user"), (None, "import")])
def test_what_was_said_before_an_entry_does_not_replace_it(source: str | None, trust: Trust) -> None:
    entry = known("a", "Ann works at Globex", created=NOW, source=source)
    old = told("Ann works at Acme", contradicts=("a",), trust=trust)
    found, book = matched([old], [entry], times={"t1": NOW - timedelta(days=300)})
    assert current(book) == ["Ann works at Globex"]
    [added] = [one for one in book.values() if one.id != "a"]
    assert (added.superseded_by, added.score) == ("a", 0.3)
    assert only(found) == ("created", added.id)


def test_what_somebody_wrote_down_meanwhile_is_replaced_by_what_was_said() -> None:
    entry = known("a", "Ann works at Acme", created=NOW)
    said = told("Ann works at Globex", contradicts=("a",))
    _, book = matched([said], [entry], times={"t1": NOW - timedelta(days=1)})
    assert current(book) == ["Ann works at Globex"]


@pytest.mark.parametrize(
    ("old", "first", "second"),
    [
        ("Mira lives in Oslo.", "Mira lives in Paris.", "Mira lives in Rome."),
        ("The meeting is in room Oak.", "The meeting is in room Elm.", "The meeting is in room Ash."),
        ("用户住在北京。", "用户住在杭州。", "用户住在上海。"),
        ("周会在一号会议室开。", "周会在二号会议室开。", "周会在三号会议室开。"),
    ],
)
def test_what_is_corrected_twice_in_one_talk_has_the_last_word(old: str, first: str, second: str) -> None:
    said = [told(first, contradicts=("a",)), told(second, turn="t2", contradicts=("a",))]
    found, book = matched(said, [known("a", old)])
    assert current(book) == [second]
    assert found.counts == {"updated": 2}


def test_two_statements_that_contradict_an_entry_of_both_stay_true() -> None:
    entry = known("a", "Mira lives in Oslo and works at Acme.")
    for turn in ("t1", "t2"):
        said = [
            told("Mira lives in Rome with two cats.", contradicts=("a",)),
            told("Mira works at Globex as a nurse.", turn=turn, contradicts=("a",)),
        ]
        _, book = matched(said, [entry])
        assert current(book) == [one.content for one in said]


def test_statements_of_no_talk_do_not_correct_each_other() -> None:
    texts = ["Mira lives in Paris.", "Mira lives in Rome."]
    said = [replace(told(text, contradicts=("a",)), turn_ids=()) for text in texts]
    _, book = matched(said, [known("a", "Mira has a flat in Oslo.")])
    assert "Mira has a flat in Oslo." not in current(book)


def test_a_turn_of_the_future_does_not_outrank_what_is_said_later() -> None:
    ahead = {"t1": NOW + timedelta(days=26_000)}
    _, book = matched([told("Ann works at Acme")], [], times=ahead)
    [entry] = book.values()
    assert entry.created == NOW
    _, book = matched([told("Ann works at Globex", contradicts=(entry.id,))], [entry], times={"t1": NOW})
    assert current(book) == ["Ann works at Globex"]
    old = replace(entry, created=NOW + timedelta(days=26_000))
    _, book = matched([told("Ann works at Globex", contradicts=(entry.id,))], [old], times={"t1": NOW})
    assert current(book) == ["Ann works at Globex"]


# --- conflict strategies, trust, pins -----------------------------------------------------------------


def test_the_most_trusted_statement_is_held_true_where_that_is_wanted() -> None:
    said = told("Ann works at Globex", contradicts=("a",), trust="agent")
    for trust, held in (("user", "Ann works at Acme"), (None, "Ann works at Acme"), ("agent", "Ann works at Globex")):
        entry = known("a", "Ann works at Acme", trust=trust)
        _, book = matched([said], [entry], conflicts="highest_trust")
        assert current(book) == [held]
        assert len(book) == 2


def test_a_person_is_asked_where_that_is_wanted() -> None:
    entries = [known("a", "Ann works at Acme")]
    found, book = matched([told("Ann works at Globex", contradicts=("a",))], entries, conflicts="ask")
    assert book == {"a": entries[0]}
    [proposal] = found.proposals
    assert proposal.kind == "conflict"
    assert current(applied(entries, proposal.changes)) == ["Ann works at Globex"]
    assert found.counts == {"proposed": 1}


def test_both_are_kept_where_that_is_wanted() -> None:
    said = [told("Ann works at Globex", contradicts=("a",))]
    found, book = matched(said, [known("a", "Ann works at Acme")], conflicts="keep_both")
    assert sorted(current(book)) == ["Ann works at Acme", "Ann works at Globex"]
    assert book["a"].score == 0.6
    [new] = [one for one in book.values() if one.id != "a"]
    assert (new.links, new.contradicts) == (("a",), ("a",))
    assert found.decisions[0].detail == "both kept"
    again = match(said, book.values(), session="tomorrow", conflicts="keep_both")
    book = applied(book.values(), again.changes)
    assert (book[new.id].hits, book["a"].score) == (2, 0.6)


@pytest.mark.parametrize("conflicts", ["newest", "highest_trust", "keep_both"])
def test_what_is_pinned_is_not_replaced_without_a_word(conflicts: Conflicts) -> None:
    pinned = known("a", "Ann works at Acme", pinned=True, trust="agent")
    found, book = matched([told("Ann works at Globex", contradicts=("a",))], [pinned], conflicts=conflicts)
    assert book == {"a": pinned}
    assert found.proposals[0].reason == "entry a is pinned and would be replaced"


@pytest.mark.parametrize("candidate", [told("Ann likes tea"), told("x", contradicts=("a",)), told("Ann enjoys tea")])
def test_suspect_text_neither_reinforces_nor_replaces_what_is_trusted(candidate: Candidate) -> None:
    entry = known("a", "Ann likes tea")
    found, book = matched([replace(candidate, trust="suspect")], [entry])
    assert book == {"a": entry}
    assert [one.kind for one in found.proposals] == ["suspect"]
    suspect = replace(entry, trust="suspect")
    found, _ = matched([replace(candidate, trust="suspect")], [suspect])
    assert found.proposals == ()


def test_suspect_text_is_not_merged_into_what_is_trusted() -> None:
    said = told("Ann likes 3 teas", reinforces=("a",), trust="suspect")
    found, book = matched([said], [known("a", "Ann likes teas")])
    assert book["a"].hits == 1
    assert sorted(current(book)) == ["Ann likes 3 teas", "Ann likes teas"]
    assert found.proposals[0].kind == "suspect"


# --- laws ------------------------------------------------------------------------------------------------

WORDS = st.sampled_from(
    ["Ann", "Bob", "likes", "tea", "hates", "works at", "Acme", "Globex", "not", "3", "5", "2026-07-01", "on Friday",
     "用户", "住在", "杭州", "上海", "不", "喜欢", "绿茶", "周三"]
)  # fmt: skip
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)
IDS = st.sampled_from(["e0", "e1", "e2", "e3", "zz"])
TRUSTS: st.SearchStrategy[Trust] = st.sampled_from(["suspect", "import", "tool", "agent", "user"])
CANDIDATES = st.builds(
    told, TEXTS, turn=st.sampled_from(["t1", "t2"]), trust=TRUSTS,
    importance=st.sampled_from(["high", "medium", "low"]), category=st.sampled_from(["fact", "todo", "preference"]),
    reinforces=st.lists(IDS, max_size=2).map(tuple), contradicts=st.lists(IDS, max_size=2).map(tuple),
    expires=st.none() | st.dates(date(2026, 6, 1), date(2026, 7, 31)), group=st.none() | st.just("work/api"),
)  # fmt: skip


@st.composite
def books(draw: st.DrawFn) -> list[Entry]:
    texts = draw(st.lists(TEXTS, max_size=4, unique_by=str.lower))
    return [
        known(
            f"e{place}", text, score=draw(st.floats(0, 1)), pinned=draw(st.booleans()), archived=draw(st.booleans()),
            trust=draw(st.none() | TRUSTS), created=draw(st.none() | st.just(NOW)),
            superseded_by=draw(st.sampled_from([None, None, "gone"])), category=draw(st.sampled_from(["fact", "todo"])),
        )
        for place, text in enumerate(texts)
    ]  # fmt: skip


CONFLICTS: st.SearchStrategy[Conflicts] = st.sampled_from(["newest", "highest_trust", "ask", "keep_both"])


def holds_the_laws(before: list[Entry], after: dict[str, Entry], candidates: list[Candidate], stored: set[str]) -> None:
    """No entry's text is lost or rewritten, scores stay in 0..1, replaced entries are not strengthened or revived."""
    for one in before:
        now = after[one.id]
        assert now.text == one.text
        assert 0 <= now.score <= 1
        if one.superseded_by is not None:
            assert (now.superseded_by, now.hits, now.score) == (one.superseded_by, one.hits, one.score)
        if one.pinned:
            assert now.superseded_by == one.superseded_by
            assert now.archived <= one.archived
        assert now.hits <= one.hits + 1
        if now.superseded_by is not None and one.superseded_by is None:
            assert after[now.superseded_by].superseded_by != one.id
    assert stored >= {one.content for one in candidates}


@given(books(), st.lists(CANDIDATES, max_size=5), CONFLICTS, st.none() | st.floats(0, 1))
def test_no_candidates_lose_an_entry_or_themselves(
    entries: list[Entry], candidates: list[Candidate], conflicts: Conflicts, cosine: float | None
) -> None:
    found = match(candidates, entries, session="today", conflicts=conflicts, similarity=lambda one, other: cosine)
    after = applied(entries, found.changes)
    told_of = {one.text for one in found.decisions} | {one.text for one in found.discarded}
    holds_the_laws(entries, after, candidates, told_of)
    for candidate in candidates:
        decisions = [one for one in found.decisions if one.text == candidate.content]
        assert all(one.id in after for one in decisions if one.action != "proposed")
    for proposal in found.proposals:
        assert proposal.changes


# --- recorded conversations --------------------------------------------------------------------------------


# --- many at once --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "say",
    [
        "server {n} is called {word} and stands in the hall".format,
        "第{n}号服务器叫{word}，放在机房".format,
        "Ann lives in {word} now".format,
        "we decided to use {word} for project {n}".format,
        "用户最喜欢的饮料是{word}".format,
    ],
)
def test_many_statements_cost_no_more_each_than_few(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = [0]

    def counted(candidate: Candidate, entry: Entry) -> str | None:
        calls[0] += 1
        return replaces(candidate, entry)

    monkeypatch.setattr("memorybook.entries.match.replaces", counted)
    costs = []
    for many in (50, 200):
        calls[0] = 0
        matched([told(say(n=n, word=f"Wo{n * 7919:x}"), turn=f"t{n}") for n in range(many)], [])
        costs.append(calls[0] / many)
    assert costs[1] <= 1.3 * costs[0] + 1


def test_what_a_talk_said_long_before_is_still_corrected() -> None:
    many = [told(f"server {n} stands in the hall", turn=f"t{n}") for n in range(100)]
    lives = told("Ann lives in Oslo", turn="first")
    moved = told("Ann moved to Bergen", turn="last")
    _, book = matched([lives, *many, moved], [])
    assert {"Ann moved to Bergen"} == {text for text in current(book) if text.startswith("Ann")}


# --- what stands near ------

SAID = ("Mira drinks green tea.", "The staging database is called heron.", "小林对芒果过敏。", "Mira moved to Lyon.")


@pytest.fixture
def embedded(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "b"), config=CONFIG, clock=lambda: NOW, embedder=HashEmbedder()) as opened:
        for text in SAID:
            opened.remember(text)
        yield opened


def entries_of(embedded: Memory) -> dict[str, Entry]:
    return {entry.id: entry for entry in embedded.book.entries()}


@pytest.mark.parametrize(
    ("text", "best"),
    [("Mira drinks black tea.", SAID[0]), ("heron is the staging database", SAID[1]), ("她芒果过敏", SAID[2])],
)
def test_the_nearest_entry_comes_first(embedded: Memory, text: str, best: str) -> None:
    assert IndexNeighbours(embedded.context, entries_of(embedded))(text)[0].text == best


def test_what_was_put_in_since_is_found_and_what_was_taken_out_is_not(embedded: Memory) -> None:
    known = entries_of(embedded)
    near = IndexNeighbours(embedded.context, known)
    first = near("Mira drinks black tea.")[0]
    new = embedded.remember("Mira drinks black tea.").known.entry
    del known[first.id]
    known[new.id] = new
    assert near("Mira drinks black tea.")[0] == new
    assert first not in near("Mira drinks black tea.")


def test_without_an_index_words_do_it(embedded: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise Unavailable("the disk is gone")

    monkeypatch.setattr(embedded.book.index, "candidates", broken)
    assert IndexNeighbours(embedded.context, entries_of(embedded))("the heron database")[0].text == SAID[1]


def test_how_alike_two_texts_are_needs_an_embedder_that_reads_both(
    embedded: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alike = EmbedderSimilarity(embedded.context)
    assert alike(SAID[0], SAID[0]) == pytest.approx(1.0)
    assert (alike(SAID[0], SAID[1]) or 0.0) < 0.5
    assert alike(SAID[0], "…") is None
    down = FailingEmbedder()
    with memorybook.open(str(tmp_path / "c"), config=CONFIG, embedder=down) as other:
        unsure = EmbedderSimilarity(other.context)
        assert unsure("a", "b") is None
        assert unsure("c", "d") is None
        assert down.calls == 1

    def broken(*_: object) -> None:
        raise OSError("the weights are gone")

    monkeypatch.setattr(HashEmbedder, "embed", broken)
    assert EmbedderSimilarity(embedded.context)("a", "b") is None


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("The user takes folate and iron.", "Stopped, only iron now.", "(Before: The user takes folate and iron.)"),
        ("用户每天叶酸和铁剂。", "停了，只剩铁剂。", "停了，只剩铁剂。（此前：用户每天叶酸和铁剂。）"),
    ],
)
@pytest.mark.parametrize("leans", [True, False])
def test_what_leans_is_kept_only_with_what_it_changes(old: str, new: str, text: str, leans: bool) -> None:
    def heard(said: str, turn: str, leans: bool) -> Candidate:
        return replace(told(said), turn_ids=(turn,), changes=True, leans=leans)

    change = heard(new, "t2", leans=True)
    _, entries = matched([heard(old, "t1", leans=leans), change], [])
    [made] = [one for one in entries.values() if one.superseded_by is None]
    assert made.text.endswith(text)
    assert len(entries) == 1 + (not leans)
    assert matched([change], [])[1] == {}
