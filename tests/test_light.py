"""What stands in for names of the standard library does what they do."""

from __future__ import annotations

import copy
import pickle
import typing

import pytest

from memorybook import _light
from memorybook.search.types import Passage, Query


class Point(_light.NamedTuple):
    """A place."""

    x: int
    y: int = 2
    name: str = ""

    @property
    def sum(self) -> int:
        """Both together."""
        return self.x + self.y

    def __str__(self) -> str:
        return f"{self.name}({self.x}, {self.y})"


class Reference(typing.NamedTuple):
    """A place."""

    x: int
    y: int = 2
    name: str = ""


def test_a_named_tuple_is_made_and_read_like_that_of_typing() -> None:
    for made, expected in ((Point(1), Reference(1)), (Point(1, name="a"), Reference(1, name="a"))):
        assert tuple(made) == tuple(expected)
        assert (made.x, made.y, made.name) == (expected.x, expected.y, expected.name)
        assert made._asdict() == expected._asdict()
        assert tuple(made._replace(y=5)) == tuple(expected._replace(y=5))
        assert repr(made) == repr(expected).replace("Reference", "Point")
    assert Point._make([1, 2, "b"]) == (1, 2, "b")


def test_what_is_missing_or_unknown_is_refused() -> None:
    with pytest.raises(TypeError, match="x"):
        Point()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="z"):
        Point(1, z=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="'x' twice"):
        Point(1, x=1)  # type: ignore[misc]
    with pytest.raises(TypeError, match="3 values and was given 4"):
        Point(1, 2, "c", 4)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="3 values and was given 1"):
        Point._make([1])
    with pytest.raises(TypeError, match="z"):
        Point(1)._replace(z=1)  # type: ignore[call-arg]
    with pytest.raises(AttributeError):
        Point(1).x = 2  # type: ignore[misc]


def test_a_named_tuple_survives_pickling_and_copying() -> None:
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
    assert copy.deepcopy(Query("q")) == Query("q")
    assert isinstance(Passage("a.md", 1, 1, "x", "note"), tuple)


def test_a_memo_asks_for_what_it_does_not_know_and_keeps_its_size() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    memo = _light.Memo(double, 2)
    assert [memo[number] for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert asked == [1, 2, 3, 1]
    assert len(memo) == 2
