from __future__ import annotations

import contextlib
import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memorybook.inference.structured_output import DEEPEST, clean, sound, values

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**18), 10**18)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)
CONTAINERS = st.lists(VALUES) | st.dictionaries(st.text(), VALUES)
SLIPS = st.text(alphabet="{}[]()\"'“”‘’「」:：,，\\/#*\n \u3000abué用户0123.-+eE`", max_size=60)


def first(text: str) -> Any:
    return next(values(text))


# --- sound JSON ----------------------------------------------------------------------------------


@settings(max_examples=settings().max_examples // 2)
@given(CONTAINERS)
def test_json_is_read_as_it_is(value: Any) -> None:
    assert list(values(json.dumps(value))) == [value]
    assert list(values(json.dumps(value, ensure_ascii=False, indent=1))) == [value]


@settings(max_examples=settings().max_examples // 2)
@given(CONTAINERS)
def test_json_is_read_in_a_fence_with_prose_around(value: Any) -> None:
    text = f"好的 — here you are:\n```json\n{json.dumps(value, ensure_ascii=False)}\n```\nAnything else?"
    assert first(text) == value


@given(
    st.dictionaries(
        st.text(alphabet="ab用 '", min_size=1), st.text(alphabet="ab用户 '.，") | st.booleans() | st.none(), min_size=1
    )
)
def test_a_dict_as_python_writes_it_is_read(value: dict[str, Any]) -> None:
    plain = {key.replace("'", ""): (v.replace("'", "") if isinstance(v, str) else v) for key, v in value.items()}
    assert first(f"{plain!r},") == plain


@given(SLIPS)
def test_whatever_is_written_gives_sound_values_or_a_value_error(text: str) -> None:
    with contextlib.suppress(ValueError):
        for value in values(text):
            json.dumps(value, allow_nan=False).encode()


@settings(max_examples=settings().max_examples // 2)
@given(CONTAINERS, st.integers(0, 400))
def test_half_an_answer_is_never_taken_for_a_whole_one_when_it_was_cut(value: Any, end: int) -> None:
    written = json.dumps(value)
    found: list[Any] = []
    with contextlib.suppress(ValueError):
        found = list(values(written[: min(end, len(written) - 1)], cut=True))
    assert found == []


def test_several_values_come_in_order() -> None:
    assert list(values('As [1] says: {"a": 1}, or {"a": 2}.')) == [[1], {"a": 1}, {"a": 2}]


# --- slips ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": [1, 2,],}', {"a": 1, "b": [1, 2]}),
        ("{'a': 'it's fine', 'b': 'so \\'it\\' is'}", {"a": "it's fine", "b": "so 'it' is"}),
        ("{'a': True, 'b': False, 'c': None, 'd': ('x', 'y')}", {"a": True, "b": False, "c": None, "d": ["x", "y"]}),
        ('{"a": 1, // one\n # two\n "b": /* three */ 2}', {"a": 1, "b": 2}),
        ("{a: 1, b-c: 'x', 用户: 2,}", {"a": 1, "b-c": "x", "用户": 2}),
        ('{"a": "x"\n "b": 1\n "c": [1 2]}', {"a": "x", "b": 1, "c": [1, 2]}),
        ('{"a": "line\nand\tline"}', {"a": "line\nand\tline"}),
        ('{"a": "he said "hi" to me", "b": 2}', {"a": 'he said "hi" to me', "b": 2}),
        ('{"a": "C:\\data", }', {"a": "C:\\data"}),
        ('{"a": "\\u7528\\u6237 \\n \\/ \\x41",}', {"a": "用户 \n / A"}),
        ('{"a": +1.5, "b": .5, "c": -2e3, "d": 1.}', {"a": 1.5, "b": 0.5, "c": -2000.0, "d": 1.0}),
        ('{"a": "https://x.y/z", "b": "#1",}', {"a": "https://x.y/z", "b": "#1"}),
        ("[1,,2,]", [1, 2]),
        ("{`a`: undefined}", {"a": None}),
        ('\ufeff{"a": 1}', {"a": 1}),
    ],
)
def test_slips_whose_meaning_is_plain_are_repaired(text: str, value: Any) -> None:
    assert first(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{“内容”：“用户喜欢咖啡”，“分数”：0.8}", {"内容": "用户喜欢咖啡", "分数": 0.8}),
        ("｛“内容”：“茶”，“标签”：［“饮品”，“早晨”］｝", {"内容": "茶", "标签": ["饮品", "早晨"]}),
        ('{"内容":"他说“你好”","x":1,}', {"内容": "他说“你好”", "x": 1}),
        ('{"内容":"他说"好"，然后走了", "x":1}', {"内容": '他说"好"，然后走了', "x": 1}),
        ("{「内容」：「茶」}", {"内容": "茶"}),
        ("{‘内容’：‘茶’}", {"内容": "茶"}),
        ('{"内容"："茶"　，　"x"：1}', {"内容": "茶", "x": 1}),
    ],
)
def test_chinese_punctuation_is_read_as_what_it_stands_for(text: str, value: Any) -> None:
    assert first(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": [{"b": 1}, {"b": 2}', {"a": [{"b": 1}, {"b": 2}]}),
        ('{"a": [{"b": 1}, {"b": 2}}', {"a": [{"b": 1}, {"b": 2}]}),
        ('{"a": "x"', {"a": "x"}),
        ('{"a": []', {"a": []}),
    ],
)
def test_brackets_that_were_forgotten_are_added(text: str, value: Any) -> None:
    assert first(text) == value


def test_what_a_model_thought_before_is_passed_over() -> None:
    assert list(values('<think>perhaps {"a": 0}?</think>\n{"a": 1}')) == [{"a": 1}]


def test_prose_in_brackets_is_passed_over() -> None:
    assert list(values('[Note] {here} it (is): {"a": 1} [end]')) == [{"a": 1}]


# --- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no JSON in it"),
        ("I would rather talk [about] something {else}.", "there is no JSON in it"),
        ('{"a": "the user is aller', "ends in the middle of a text"),
        ('{"a": [{"b": 1}, {"b', "ends in the middle of a text"),
        ('{"a": [{"b": 1},', "ends in the middle"),
        ('{"a": [{"b": 1}, {', "ends in the middle"),
        ('{"a": 1, "b":', "ends in the middle"),
        ('{"a": 1, "b"', "ends in the middle"),
        ('{"a": NaN}', "nan is not a number"),
        ('{"a": -Infinity,}', "-infinity is not a number"),
        ('{"a": 1e999}', "1e999 is out of range"),
        ('{"a": -1e999,}', "-1e999 is out of range"),
        ('{"a": ' + "9" * 5000 + "}", "out of range"),
        ('{"a": 1, "b": }', "no value for 'b'"),
        ('{"a": 1, "b", 2}', "no colon after 'b'"),
        ('{"a": 1, 2}', "no key"),
        ('{"a": 1, "b": maybe}', "no value at 'maybe}'"),
        ('{"a": [1, 2, ...]}', "no value at '...]}'"),
        ('{"a": 1)', "a ')' that closes nothing"),
        ("x" * 4_000_001, "4,000,001 characters"),
        ("{" + " " * 500_000, "too long to be repaired"),
    ],
)
def test_what_has_no_plain_meaning_is_refused_with_a_sentence(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=r"\w") as caught:
        list(values(text))
    assert message in str(caught.value)


def test_a_part_is_not_taken_for_the_whole() -> None:
    with pytest.raises(ValueError, match="no value"):
        list(values('{"facts": [{"text": oops "B"}, {"text": "C"}]}'))


def test_a_forgotten_bracket_is_no_slip_in_a_text_that_was_cut() -> None:
    with pytest.raises(ValueError, match="ends in the middle"):
        list(values('{"a": [{"b": 1}', cut=True))


@pytest.mark.parametrize("opening", ["[", '{"a":', "{a:", "[{'a': ("])
@pytest.mark.parametrize("closing", ["", "]"])
@pytest.mark.timeout(5)
def test_deep_nesting_is_refused_at_once(opening: str, closing: str) -> None:
    for depth in (DEEPEST + 1, 1000, 50_000):
        with pytest.raises(ValueError, match="nested more than 64 levels deep"):
            list(values(opening * depth + closing * depth))


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    ("opening", "again"),
    [
        ("", "{"), ("", "[x "), ('{"a": "', '" " '), ('["a" x', ' "' + " " * 1000), ("[", "/* "), ("[", ","),
        ('["', "\\"), ("[", "1,"), ('{"a": ', "# "), ("", "```["), ("{'a': '", "' "), ("“", "“"), ("[1", "]"),
        ("", "<think>"),
    ],
)  # fmt: skip
def test_no_text_takes_long(opening: str, again: str) -> None:
    text = opening + again * (400_000 // len(again))
    began = time.process_time()
    with contextlib.suppress(ValueError):
        list(values(text))
    assert time.process_time() - began < 5


# --- surrogates ----------------------------------------------------------------------------------


def test_lone_surrogates_are_replaced_everywhere() -> None:
    found = first('{"\\ud83d": ["\\udc00 x", {"a": "\\ud83d\\ude00"}], "b": "\\ud800"}')
    assert found == {"\ufffd": ["\ufffd x", {"a": "😀"}], "b": "\ufffd"}
    assert first('{"a": "\\ud83d\\ude00 \\ud83d",}') == {"a": "😀 \ufffd"}
    assert sound("\ud800") == "\ufffd"
    assert clean("plain") == "plain"


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf"), 10**400])
def test_a_decoded_value_is_sound_only_with_numbers_that_are_some(number: Any) -> None:
    with pytest.raises(ValueError, match="out of range"):
        sound({"a": [{"b": number}]})
    assert sound({"a": [number]}, finite=False)
    assert sound({1: True, "a": [0.5, -7]}) == {1: True, "a": [0.5, -7]}
