"""Units: a text is cut into clauses that together are all of it, and statements are known in any person."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.forget.units import statement_key, topic_of, units, without_spans


@given(st.text(alphabet="ab我猫,，. 。\n!;：:-{}\"'1", max_size=60))
def test_clauses_are_all_of_a_text(text: str) -> None:
    parts = units(text)
    assert [one.text for one in parts] == [text[one.start : one.end].strip() for one in parts]
    assert "".join(text[one.start : one.end] for one in parts).split() == text.split()
    assert without_spans(text, [(one.start, one.end) for one in parts]).strip() == ""


@pytest.mark.parametrize(
    "text",
    ["The dentist is on Friday. (2026-12-04)", "It starts at 6 p.m.? (2026-12-04)", "牙医在周五。（2026-12-04）"],
)
def test_the_day_behind_a_statement_is_part_of_it(text: str) -> None:
    assert [one.text for one in units(f"{text} I like tea.")] == [text, "I like tea."]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        ("I'm allergic to hazelnuts.", "The user is allergic to hazelnuts"),
        ("我对榛子过敏。", "用户对榛子过敏"),
    ],
)
def test_a_statement_is_the_same_in_the_first_and_the_third_person(mine: str, theirs: str) -> None:
    assert statement_key(mine) == statement_key(theirs) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I'm allergic to hazelnuts.", "I'm not allergic to hazelnuts."),
        ("I'm allergic to hazelnuts.", "Am I allergic to hazelnuts?"),
        ("我对榛子过敏。", "我对榛子不过敏。"),
    ],
)
def test_a_denial_and_a_question_are_others(one: str, other: str) -> None:
    assert statement_key(one) != statement_key(other)


@pytest.mark.parametrize(
    ("order", "word"),
    [
        ("Pilar moved away, forget her.", "pilar"), ("Nimbuscart fell through. Forget them.", "nimbuscart"),
        ("Kindly forget my accountant.", "account"), ("外孙的事别留", "外孙"), ("卞柔学姐不帮了，她的事删掉", "卞柔"),
        ("把猫的事删了，它走了", "猫"),
    ],
)  # fmt: skip
def test_an_order_names_what_it_means(order: str, word: str) -> None:
    assert word in topic_of(order).words


def test_an_owner_alone_is_not_the_topic() -> None:
    assert topic_of("Please erase Marc's cholesterol business.").names == {"marc"}
