"""What stands in for names of the standard library does what they do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from memorybook import _light


def _blocks(contextmanager: Any) -> tuple[Callable[..., Any], list[str]]:
    """A block that says what happens to it, and swallows what it is told to."""
    said: list[str] = []

    def block(swallowed: type[BaseException] = KeyError, raised: BaseException | None = None) -> Iterator[str]:
        """Told to the reader."""
        said.append("in")
        try:
            yield "value"
        except swallowed as error:
            said.append("swallowed")
            if raised is not None:
                raise raised from error
        finally:
            said.append("out")

    return contextmanager(block), said


@pytest.mark.parametrize("contextmanager", [_light.contextmanager, contextlib.contextmanager])
def test_a_block_gives_its_value_and_is_left_in_order(contextmanager: Any) -> None:
    block, said = _blocks(contextmanager)
    with block() as value:
        said.append(value)
    assert said == ["in", "value", "out"]
    assert (block.__name__, block.__doc__) == ("block", "Told to the reader.")


def test_a_memo_asks_for_what_it_does_not_know_and_keeps_its_size() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    memo = _light.Memo(double, 2)
    assert [memo[number] for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert asked == [1, 2, 3, 1]
    assert len(memo) == 2
