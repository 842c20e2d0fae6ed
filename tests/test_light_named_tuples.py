"""What stands in for `typing` at run time does what `typing` does."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
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


@pytest.mark.parametrize(
    "name", ["_fields", "_field_defaults", "__annotations__", "__doc__", "__match_args__", "__module__"]
)
def test_the_class_tells_the_same_about_itself(name: str) -> None:
    told, expected = getattr(Point, name), getattr(Reference, name)
    if name == "__annotations__":
        told, expected = typing.get_type_hints(Point), typing.get_type_hints(Reference)
    assert told == expected


def test_methods_and_properties_of_the_body_are_kept() -> None:
    assert Point(3).sum == 5
    assert str(Point(3, name="p")) == "p(3, 2)"
    assert Point.__name__ == Point.__qualname__ == "Point"


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


def test_a_named_tuple_holds_its_fields_and_nothing_more() -> None:
    with pytest.raises(AttributeError):
        Point(1).more = 2  # type: ignore[attr-defined]
    assert not hasattr(Point(1), "__dict__")


def test_a_named_tuple_survives_pickling_and_copying() -> None:
    assert pickle.loads(pickle.dumps(Point(1))) == Point(1)
    assert copy.deepcopy(Query("q")) == Query("q")
    assert isinstance(Passage("a.md", 1, 1, "x", "note"), tuple)


def test_cast_gives_the_value_back() -> None:
    assert _light.cast("int", "x") == "x"  # type: ignore[comparison-overlap]


def test_neither_typing_nor_collections_is_imported_for_it() -> None:
    code = "import sys, memorybook._light, memorybook.search.types; print({'typing', 'collections'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, env=_path(), check=True)
    assert done.stdout.strip() == "set()"


def _path() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.path.dirname(os.path.dirname(_light.__file__))}


class Labelled(Point):
    """What a named tuple is derived into keeps its fields."""

    label = "a place"

    def both(self) -> str:
        return f"{self.label} {self.x}"


def test_what_is_derived_from_a_named_tuple_keeps_its_fields() -> None:
    made = Labelled(1, name="a")
    assert (made.x, made.y, made.name, made.both()) == (1, 2, "a", "a place 1")
    assert Labelled._fields == Point._fields
    assert made._replace(x=2) == (2, 2, "a")
    assert type(made._replace(x=2)) is Labelled
    assert repr(made) == "Labelled(x=1, y=2, name='a')"
    with pytest.raises(TypeError, match="'x'"):
        Labelled()  # type: ignore[call-arg]


def test_a_named_tuple_without_fields_is_a_mistake() -> None:
    with pytest.raises(TypeError, match="from __future__ import annotations"):
        type(Point)("Empty", (_light.NamedTuple,), {})  # type: ignore[misc]


def test_a_value_is_replaced_as_copy_does_it() -> None:
    replace: typing.Any = getattr(Point, "__replace__")  # noqa: B009 - that of typing has it since Python 3.13
    assert replace(Point(1), y=5) == (1, 5, "")
