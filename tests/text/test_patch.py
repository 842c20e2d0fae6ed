"""Patches: either text from the other, small, and still of use when other parts changed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memorybook.text.patch import backward, diff, fingerprint, forward, pack, taken_back, unpack

LINES = st.lists(st.sampled_from(["a", "b", "c", "", "## x", "喜欢", "\ud800", "d\r"]), max_size=12)
TEXTS = st.one_of(st.text(max_size=40), LINES.map("\n".join))


@given(before=TEXTS, after=TEXTS)
def test_either_text_comes_from_the_other(before: str, after: str) -> None:
    hunks = unpack(pack(diff(before, after)))
    assert forward(hunks, before) == after
    assert backward(hunks, after) == before


@given(before=TEXTS, after=TEXTS)
def test_taking_back_at_once_is_taking_back(before: str, after: str) -> None:
    if before.count("\n") == 0 == after.count("\n"):
        assert taken_back(diff(before, after), after) == before


def test_no_text_is_the_empty_one() -> None:
    assert forward(diff(None, "a\n"), None) == "a\n"
    assert backward(diff("a\n", None), None) == "a\n"
    assert fingerprint(None) is None
    assert fingerprint("") != fingerprint("a")


def test_only_lines_that_differ_are_kept() -> None:
    before = "\n".join(["updated 1", *(f"line {n}" for n in range(500)), "end"])
    after = before.replace("updated 1", "updated 2").replace("line 300", "line three hundred")
    hunks = diff(before, after)
    assert [(hunk.old, hunk.new) for hunk in hunks] == [
        (("updated 1",), ("updated 2",)),
        (("line 300",), ("line three hundred",)),
    ]
    assert len(pack(hunks)) < 200


def test_lines_that_stand_often_are_kept_beside_one_that_stands_once() -> None:
    hunks = diff("p\nb\nonce\nb\ne", "other\nb\nonce\nb\nfew")
    assert [(hunk.old, hunk.new) for hunk in hunks] == [(("p",), ("other",)), (("e",), ("few",))]


def test_what_changed_elsewhere_stays() -> None:
    hunks = diff("a\nb\n", "a\nb\nnew\n")
    assert taken_back(hunks, "first\na\nb\nnew\nlater\n") == "first\na\nb\nlater\n"


def test_what_was_taken_out_comes_back_beside_its_neighbours() -> None:
    hunks = diff("a\nb\nc\n", "a\nc\n")
    assert taken_back(hunks, "x\na\nc\ny\n") == "x\na\nb\nc\ny\n"
    assert taken_back(hunks, "nothing of it\n") == "nothing of it\nb\n"


def test_what_no_longer_stands_cannot_be_taken_back() -> None:
    assert taken_back(diff("a\n", "a\nnew\n"), "a\nnew, edited\n") is None
