from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lifecycle.required import requires
from memorybook.lifecycle import cues, sentences, summarize
from memorybook.lifecycle.cue_table import TABLE, Rule, Talk
from memorybook.lifecycle.hints import Folded, Sieve, compiled, fold, sieve

WORDS = sorted({hint for rule in TABLE for hint in rule.hints.split("|")})
"""What sentences below are made of: every hint, and words that patterns have around them."""

AROUND = (
    "I we my the a to that this it is are was 'm 've have am not don't really never please you every day week morning "
    "next last in on at by of and , . ! : 3 2026-03-05 March Friday ago x Redis Python vim 我 我们 的 了 是 在 就 "
    "把 要 不 你 他 都 很 一下 ， 。 ： 周五 3月5日 明天 月底 每 天 用 老婆 医生 工作 İ ı ſ \t \u3000 ’"
).split(" ")

texts = st.lists(st.sampled_from((*WORDS, *AROUND)), min_size=1, max_size=12).flatmap(
    lambda parts: st.sampled_from(("", " ", "  ")).map(lambda gap: gap.join(parts))
)


@pytest.mark.parametrize("rule", TABLE, ids=[f"{at}-{rule.kind}" for at, rule in enumerate(TABLE)])
def test_no_cue_fits_a_sentence_without_one_of_its_hints(rule: Rule) -> None:
    assert requires(rule.pattern.replace("(?=DUE)", ""), rule.hints.split("|"))


@pytest.mark.parametrize(
    ("pattern", "hints"),
    [
        (cues._WHEN, (*cues._WHEN_HINTS.ascii, *cues._WHEN_HINTS.other)),
        (summarize._OPEN, (*summarize._OPEN_HINTS.ascii, *summarize._OPEN_HINTS.other)),
    ]
    + [(pattern, hints) for hints, pattern in sentences._FOREIGN],
)
def test_no_other_pattern_fits_a_text_without_one_of_its_hints(pattern: str, hints: tuple[str, ...]) -> None:
    assert requires(pattern, hints)


def test_the_proof_fails_where_a_hint_is_missing() -> None:
    assert requires(r"\b(?:I|we)\s+(?:like|love)\b", ["like", "love"])
    assert not requires(r"\b(?:I|we)\s+(?:like|love)\b", ["like"])
    assert not requires(r"(?:like)?\s+tea|coffee", ["tea"])
    assert not requires(r"\w+", ["a"])


def test_hints_are_written_as_texts_are_folded() -> None:
    assert [hint for hint in WORDS if hint not in fold(hint)] == []


@pytest.mark.parametrize("talk", ["agent", "people"])
@given(text=texts, dated=st.booleans())
def test_a_cue_is_the_same_with_and_without_the_sieve(talk: Talk, text: str, dated: bool) -> None:
    assert cues.find(text, talk=talk, dated=dated) == _find_without_hints(text, talk, dated=dated)


@given(text=texts)
def test_a_cue_or_an_event_is_the_same_when_the_turn_is_known(text: str) -> None:
    for sentence in sentences.sentences(text):
        for part in (sentence.text, sentences.told(sentence), cues.without_lead(sentence.text)):
            known = cues.find(part, talk="agent", dated=True, turn=text)
            assert known == cues.find(part, talk="agent", dated=True)
            assert cues.is_event(part, talk="agent", turn=text) == cues.is_event(part, talk="agent")


@given(text=texts)
def test_an_event_is_the_same_with_and_without_the_sieve(text: str) -> None:
    plain = text.replace("’", "'")
    when, doing = compiled(cues._WHEN).search(plain), compiled(cues._DOING).search(plain)
    doubted = compiled(cues._HYPOTHETICAL).search(plain) or compiled(cues._TELLING).search(plain)
    assert cues.is_event(text, talk="people") == bool(when and doing and not doubted)


@given(text=texts)
def test_what_a_case_blind_pattern_takes_for_a_hint_is_one_in_the_folded_text(text: str) -> None:
    for hint in ("fix", "is due", "kids", "lesson"):
        if re.search("(?i)" + hint.replace(" ", r"\s+"), text):
            assert hint in fold(text).ascii


def test_ascii_hints_are_looked_for_in_what_of_a_text_is_ascii() -> None:
    hints = sieve("tea|咖啡", "my cup")
    assert hints == Sieve(("tea", "my cup"), ("咖啡",))
    assert [hints.passes(fold(text)) for text in ("my TEA", "我的咖啡", "喝tea吧")] == [True, True, True]
    assert [hints.passes(fold(text)) for text in ("my coffee", "我的茶", "")] == [False, False, False]


def test_folding_makes_one_space_of_white_space_and_small_letters() -> None:
    assert fold("  I\tAM \n late\u3000ſo ıs İt ") == Folded("i am late so is it", "i am late so is it")
    assert fold("Tea，ok") == Folded("teaok", "tea，ok")
    assert fold("TEA ok") == Folded("tea ok", "")


def _find_without_hints(sentence: str, talk: Talk, *, dated: bool) -> cues.Cue | None:
    """What `find` does, with every pattern tried on every text."""
    text = cues._opened(sentence.replace("’", "'"))
    for rule in TABLE:
        if rule.talk not in (talk, "any") or ("(?=DUE)" in rule.pattern and not dated):
            continue
        found = compiled(rule.pattern.replace("(?=DUE)", "")).search(text)
        before = text[: found.start() + 2] if found else ""
        doubted = compiled(cues._HYPOTHETICAL).search(before) or compiled(cues._REPORTED).search(before)
        if found and (rule.kind in ("forget", "explicit") or not doubted):
            return cues.Cue(rule.kind, rule.importance, cues._content(sentence, found))
    return None
