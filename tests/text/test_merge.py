from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.patch import merge, merge_text, union

WORDS = st.lists(st.sampled_from("abcdefgh"), max_size=12)
LINES = st.lists(
    st.sampled_from(["one", "two", "三", "", "### [x] fact", "text", "## Head", "<!-- c -->"]), max_size=12
)
TEXTS = st.builds(
    lambda lines, end, last: end.join([*lines, last]), LINES, st.sampled_from(["\n", "\r\n"]), LINES.map("".join)
)


@given(WORDS, WORDS)
def test_one_side_without_changes_gives_the_other(base: list[str], changed: list[str]) -> None:
    assert merge(base, base, changed) == changed
    assert merge(base, changed, base) == changed


@given(TEXTS, TEXTS)
def test_texts_merge_to_the_other_byte_for_byte_if_one_side_has_no_changes(base: str, changed: str) -> None:
    assert merge_text(base, base, changed) == changed
    assert merge_text(base, changed, base) == changed
    assert merge_text(base, changed, changed) == changed


@given(WORDS, st.data())
def test_added_lines_survive_and_removed_lines_stay_out(base: list[str], data: st.DataObject) -> None:
    base = [f"{word}{number}" for number, word in enumerate(base)]
    ours, our_added, our_removed = edited(base, "ours", data)
    theirs, their_added, their_removed = edited(base, "theirs", data)
    merged = merge(base, ours, theirs)
    kept = [line for line in base if line not in our_removed | their_removed]
    assert sorted(merged) == sorted([*kept, *our_added, *their_added])
    for side in (base, ours, theirs):
        common = [line for line in side if line in set(merged)]
        assert common == [line for line in merged if line in set(common)]


def edited(base: list[str], who: str, data: st.DataObject) -> tuple[list[str], list[str], set[str]]:
    lines: list[str] = []
    added: list[str] = []
    removed: set[str] = set()
    for line in [*base, None]:
        if data.draw(st.booleans()):
            added.append(f"{who} {len(added)}")
            lines.append(added[-1])
        if line is not None and data.draw(st.booleans()):
            lines.append(line)
        elif line is not None:
            removed.add(line)
    return lines, added, removed


@given(WORDS, WORDS)
def test_a_union_holds_both_sequences_in_order(first: list[str], second: list[str]) -> None:
    both = union(first, second)
    for part in (first, second):
        rest = iter(both)
        assert all(word in rest for word in part)
    assert union(first, first) == first


def test_where_both_rewrote_a_line_both_stand_the_persons_first() -> None:
    assert merge_text("a\nb\nc\n", "a\nagent\nc\n", "a\nperson\nc\n") == "a\nperson\nagent\nc\n"


def test_what_both_added_is_there_once() -> None:
    assert merge_text("a\n", "a\nsame\nours\n", "a\nsame\ntheirs\n") == "a\nsame\ntheirs\nours\n"


@pytest.mark.parametrize(
    ("base", "ours", "theirs", "merged"),
    [
        ("a\nb\n", "a\nb\nc\n", "a\r\nx\r\nb\r\n", "a\r\nx\r\nb\r\nc\r\n"),
        ("a\r\nb\r\n", "a\r\nb\r\nc\r\n", "a\nx\nb\n", "a\nx\nb\nc\n"),
        ("a\nb", "a\nb\nc\n", "x\na\nb", "x\na\nb\nc\n"),
        ("a\nb", "a\nb\nc", "x\na\nb", "x\na\nb\nc"),
        ("a\n", "", "a\nb\n", "b\n"),
        ("a\n", "", "", ""),
        ("a\nb\n", "a\n", "b\n", ""),
        ("", "agent\n", "person\n", "person\nagent\n"),
    ],
)
def test_line_ends_follow_the_person(base: str, ours: str, theirs: str, merged: str) -> None:
    assert merge_text(base, ours, theirs) == merged


A = "### [a1] fact | 0.90 | 2026-02-20 | 1\nThe sky is blue.\n<!-- score: 0.9 -->\n"
B = "### [b2] fact | 0.80 | 2026-02-20 | 1\n数据库用 Postgres。\nSecond line.\n<!-- score: 0.8 -->\n"
C = "### [c3] todo | 0.70 | 2026-02-20 | 1\nShip it.\n"
HEAD = "# Agent Memory\n\n## Active Memories\n\n"


def book(*entries: str) -> str:
    return HEAD + "\n".join(entries)


def test_an_entry_the_person_removed_stays_out_though_it_was_scored_anew_and_moved() -> None:
    rescored = B.replace("0.80", "0.95")
    assert "[b2]" not in merge_text(book(A, B, C), book(rescored, A, C), book(A, C))


def test_an_entry_the_agent_removed_stays_out_unless_the_person_edited_it() -> None:
    edit = B.replace("Second", "2nd")
    assert "[b2]" not in merge_text(book(A, B), book(A), book(B, A))
    assert edit in merge_text(book(A, B), book(A), book(A, edit))


def test_new_entries_of_both_are_whole() -> None:
    new = "### [d4] fact | 0.60 | 2026-02-21 | 1\nNew from the agent.\n"
    mine = "### [e5] fact | 0.60 | 2026-02-21 | 1\nNew from the person.\n"
    merged = merge_text(book(A), book(A, new), book(A, mine))
    assert A in merged
    assert new in merged
    assert mine in merged


def test_edits_of_different_lines_of_one_entry_make_one_entry() -> None:
    ours = B.replace("0.80", "0.84").replace("score: 0.8", "score: 0.84").replace("数据库用", "数据库改用")
    theirs = B.replace("Second", "2nd")
    assert merge_text(book(B), book(ours), book(theirs)) == book(ours.replace("Second", "2nd"))


def test_the_persons_title_wins_over_a_new_score() -> None:
    ours = B.replace("| 0.80", "| 0.84").replace("score: 0.8", "score: 0.84")
    theirs = B.replace("| 0.80", "| 1.00")
    assert merge_text(book(B), book(ours), book(theirs)) == book(ours.replace("| 0.84", "| 1.00"))


def test_an_entry_whose_text_both_rewrote_stands_twice_the_persons_first() -> None:
    ours, theirs = A.replace("blue", "grey"), A.replace("blue", "red")
    assert merge_text(book(A), book(ours), book(theirs)) == book(theirs + ours)


def test_two_new_entries_of_the_same_id_both_stand() -> None:
    ours, theirs = A.replace("blue", "grey"), A.replace("blue", "red")
    assert merge_text(book(), book(ours), book(theirs)) == book(theirs + ours)
    assert merge_text(book(), book(ours, C), book(ours)) == book(ours, C)


def test_entries_of_the_same_id_in_one_text_are_kept_apart() -> None:
    copy = A.replace("blue", "still blue")
    assert merge_text(book(A, copy), book(A, copy, C), book(A, copy.replace("still", "ever"))) == book(
        A, copy.replace("still", "ever"), C
    )


@given(
    st.permutations([A, B, C]),
    st.permutations([A, B, C]),
    st.sets(st.sampled_from("ABC")),
    st.sets(st.sampled_from("ABC")),
)
def test_no_entry_is_ever_torn(ours: list[str], theirs: list[str], our_gone: set[str], their_gone: set[str]) -> None:
    names = {"A": A, "B": B, "C": C}
    ours = [entry for entry in ours if entry not in {names[name] for name in our_gone}]
    theirs = [entry for entry in theirs if entry not in {names[name] for name in their_gone}]
    merged = merge_text(book(A, B, C), book(*ours), book(*theirs))
    for name, entry in names.items():
        assert merged.count(entry) == (name not in our_gone | their_gone)
