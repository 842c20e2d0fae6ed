from __future__ import annotations

import json
import unicodedata
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.strategies import MOMENTS, TEXTS
from memorybook.errors import InvalidInput
from memorybook.formats.item_md import Item, parse, path_of, readable, render
from memorybook.storage.safe_open import flaw
from memorybook.text.splitting import split

MOMENT = datetime(2026, 2, 24, 10, 12, 33, 120, tzinfo=UTC)
ITEM = Item(("users", "ann"), "breakfast", {"drink": "green tea", "with": ["milk", 2, None, ""]}, MOMENT, MOMENT)
PAGE = """\
# breakfast

- drink: green tea
- with: milk
- with: 2

<!-- What is read is the JSON; the lines above are made from it. -->

```json
{
  "item": ["users", "ann", "breakfast"],
  "created": "2026-02-24T10:12:33.000120+00:00",
  "updated": "2026-02-24T10:12:33.000120+00:00",
  "value": {
    "drink": "green tea",
    "with": [
      "milk",
      2,
      null,
      ""
    ]
  }
}
```
"""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    TEXTS
    | st.text("aAbB", max_size=2)
    | st.text("aσςßı", max_size=2)
    | st.sampled_from(["con", "王芳", "é", "e\u0301"])
)
ITEMS = st.builds(Item, st.lists(NAMES, max_size=6).map(tuple), NAMES, JSON, MOMENTS, MOMENTS)


def one_of_json(item: Item) -> bool:
    """JSON joins the two halves of a character, which no text has apart."""
    held = [*item[:3]]
    return bool(json.loads(json.dumps(held)) == json.loads(json.dumps(held, ensure_ascii=False)))


def test_a_page_is_for_people_and_holds_the_item() -> None:
    assert render(ITEM) == PAGE
    assert parse(PAGE) == ITEM
    assert parse(PAGE.replace("\n", "\r\n")) == ITEM


@given(ITEMS.filter(one_of_json), st.none() | st.lists(TEXTS, max_size=2))
def test_every_item_is_read_as_it_was_written(item: Item, texts: list[str] | None) -> None:
    page = render(item, texts=texts)
    assert parse(page) == item
    page.encode()


@given(ITEMS, st.integers(0, 3))
def test_what_a_search_finds_stands_under_the_key_and_is_no_json(item: Item, lines: int) -> None:
    found = split("items/x.md", render(item, texts=["# tea ```\n# x\n<!-- y -->"] * lines), 0.0).passages
    assert all(passage.text.count("tea") == lines and '"value"' not in passage.text for passage in found)
    assert len(found) == min(lines, 1)


@pytest.mark.parametrize(
    ("key", "heading"), [("fb32acff-5e58-4ca7-909d-41e22b833f00", ""), ("said-0", "said-0"), ("喜好", "喜好")]
)
def test_a_key_is_found_too_unless_a_machine_made_it(key: str, heading: str) -> None:
    (found,) = split("items/x.md", render(ITEM._replace(key=key)), 0.0).passages
    assert (found.heading, found.start_line, found.text) == (heading, 3, "- drink: green tea\n- with: milk\n- with: 2")


@given(st.lists(st.tuples(st.lists(NAMES, max_size=6).map(tuple), NAMES), max_size=8, unique=True))
def test_names_have_paths_of_their_own_that_every_file_system_takes(names: list[tuple[tuple[str, ...], str]]) -> None:
    paths = [path_of(*name) for name in names]
    assert [flaw(path) for path in paths] == [""] * len(paths)
    assert len({unicodedata.normalize("NFD", path).casefold() for path in paths}) == len(paths)
    assert len({path.upper() for path in paths}) == len(paths)


def test_plain_names_are_paths_as_they_are() -> None:
    assert path_of(("users", "王芳"), "2026-02_breakfast") == "items/users/王芳/2026-02_breakfast.md"
    assert path_of((), "Ann's tea").startswith("items/ann-s-tea=")
    assert path_of(("a", "b", "c", "d", "e"), "k").startswith("items/a/b/c/d-e=")
    assert path_of(("a",), "x" * 10_000) != path_of(("a",), "x" * 10_001)


def test_what_is_no_json_is_refused() -> None:
    for wrong in (MOMENT, float("nan")):
        with pytest.raises(InvalidInput, match="value of item 'breakfast' is not JSON"):
            render(ITEM._replace(value={"at": wrong}))


@pytest.mark.parametrize(
    "text",
    [
        "# notes\n", PAGE.replace('"value"', '"worth"'), PAGE.replace('["users", "ann", "breakfast"]', "[]"),
        PAGE.replace('"ann"', "1"), PAGE.replace('"created": "2', '"created": "x'), PAGE.replace("null,", "nil,"),
        "```json\n[]\n```\n",
    ],
)  # fmt: skip
def test_other_documents_hold_no_item(text: str) -> None:
    assert parse(text) is None
    assert readable(text) == text
