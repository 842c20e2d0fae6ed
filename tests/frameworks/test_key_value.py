"""JSON items by namespace and key, as documents of a book."""

from __future__ import annotations

from pathlib import Path

import pytest

import memorybook
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput, Unavailable
from memorybook.frameworks.key_value import Items, fits
from memorybook.memory import Memory


def names(items: Items) -> list[tuple[tuple[str, ...], str]]:
    return [item[:2] for item in items.all()]


def test_items_are_kept_and_listed_oldest_first(memory: Memory) -> None:
    items = Items(memory)
    made = items.put(("b",), "1", {"n": 1})
    items.put(("a",), "2", [1, None])
    items.put(("b",), "0", "tea")
    changed = items.put(("b",), "1", {"n": 2})
    assert changed.created == made.created < changed.updated
    assert names(items) == names(Items(memory)) == [(("b",), "1"), (("b",), "0"), (("a",), "2")]
    assert items.get(("b",), "1") == changed
    assert items.remove(("b",), "1")
    assert not items.remove(("b",), "1")
    assert items.get(("b",), "1") is None
    assert names(items) == [(("a",), "2"), (("b",), "0")]


def test_a_persons_edits_hold(memory: Memory, tmp_path: Path) -> None:
    items = Items(memory)
    items.put(("ann",), "drink", {"text": "green tea"})
    assert len(items.all()) == 1
    file = tmp_path / "book" / "items" / "ann" / "drink.md"
    page = file.read_text()
    file.write_text(page.replace("green tea", "coffee"))
    edited = items.get(("ann",), "drink")
    assert edited is not None
    assert edited.value == items.all()[0].value == {"text": "coffee"}
    (file.parent / "copy.md").write_text(page)
    assert names(items) == [(("ann",), "drink")]
    file.write_text("# drink\n\ncoffee\n")
    assert items.all() == []
    with pytest.raises(InvalidInput, match=r"items/ann/drink\.md"):
        items.get(("ann",), "drink")
    items.put(("ann",), "drink", {"text": "water"})
    memory.undo(memory.history("items/ann/drink.md").operations[0].operation.id)
    assert file.read_text() == "# drink\n\ncoffee\n"


def test_secrets_are_masked_and_names_that_look_like_one_refused(memory: Memory) -> None:
    items = Items(memory)
    held = items.put(("ann",), "a8f5f167f44f4964e6c998dee827110c", {"password": "hunter2-Xyz-99", "密码": "abc123456"})
    assert held.value == {"password": "[REDACTED:secret]", "密码": "[REDACTED:secret]"}
    assert items.all() == [held]
    with pytest.raises(InvalidInput, match=r"item .ann/\[REDACTED:[a-z-]+\]. cannot be kept: .* like a secret"):
        items.put(("ann",), "ghp_0123456789abcdefghijABCDEFGHIJ012345", {"n": 1})
    items.put(("ann",), "note", {"n": 1}, texts=["my password is hunter2-Xyz-99"])
    assert "hunter2" not in memory.document("items/ann/note.md").text


def test_a_search_ranks_the_given_items_among_many_other_documents(memory: Memory, tmp_path: Path) -> None:
    items = Items(memory)
    tea = items.put(("ann",), "a", {"text": "One of the many who like a cup of green tea at times, if it rains"})
    train = items.put(("ann",), "b", {"text": "火车中午出发"})
    hidden = items.put(("ann",), "c", {"text": "green tea"}, texts=())
    items.put(("bob",), "a", {"text": "green tea"})
    (tmp_path / "book" / "cups.md").write_text("".join(f"# {n}\n\ngreen tea, cup {n}\n\n" for n in range(300)))
    found = items.search("green tea cup", [tea, train, hidden], limit=1)
    assert [item for item, _ in found] == [tea]
    assert 0 < found[0][1] <= 1
    assert next(iter(items.search("火车几点出发?", [tea, train, hidden], limit=3)))[0] == train
    assert hidden not in [item for item, _ in items.search("green tea", [tea, train, hidden], limit=3)]


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ({"n": 1, "who": {"name": "Ann"}}, {"who": {"name": "Ann"}}, True),
        ({"n": 1}, {"who": None}, True),
        ({"who": "Ann"}, {"who": {"name": "Ann"}}, False),
        ({"n": [1, 2]}, {"n": [1, {"$gt": 1}]}, True),
        ({"n": [1]}, {"n": [1, 2]}, False),
        ({"n": 2}, {"n": {"$gte": 2, "$lt": 3, "$ne": 4}}, True),
        ({"n": 2}, {"n": {"$lte": 1}}, False),
        ({"n": "two"}, {"n": {"$gt": 1}}, False),
        ({}, {"n": {"$gt": 1}}, False),
        ({"n": "王芳"}, {"n": {"$eq": "王芳"}}, True),
        (10**400, {"$gt": 1}, False),  # no number of other programs
    ],
)
def test_filters_compare_as_json_does(value: object, wanted: object, expected: bool) -> None:
    assert fits(value, wanted) is expected


def test_switched_off_they_do_nothing(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book"), config=Config()._replace(enabled=False)) as off:
        items = Items(off)
        for call in (
            items.all,
            lambda: items.get((), "k"),
            lambda: items.put((), "k", 1),
            lambda: items.remove((), "k"),
        ):
            with pytest.raises(Unavailable, match="switched off"):
                call()
        with pytest.raises(Unavailable, match="switched off"):
            items.search("tea", [], limit=1)
