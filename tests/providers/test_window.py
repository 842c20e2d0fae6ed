from __future__ import annotations

from typing import Any

import pytest

from memorybook.errors import InvalidInput
from memorybook.providers import MemorizeInput, window
from providers.conftest import talk


def given(count: int, offset: int = 0, **options: Any) -> MemorizeInput:
    return MemorizeInput(talk(count), offset, **options)


@pytest.mark.parametrize(
    ("count", "offset", "size", "expected"),
    [
        (0, 0, 10, (0, 0, 0)),  # no history
        (4, 0, 10, (0, 0, 0)),  # less than is kept
        (5, 0, 10, (0, 0, 0)),  # just what is kept
        (6, 0, 10, (0, 1, 1)),  # one more
        (20, 0, 10, (0, 15, 15)),
        (20, 7, 10, (7, 15, 15)),  # goes on where it ended
        (20, 15, 10, (15, 15, 15)),  # nothing is new
        (20, 18, 10, (18, 18, 18)),  # the window was smaller before: never backwards
        (20, 30, 10, (30, 30, 30)),  # the history was cut meanwhile
        (20, 0, 11, (0, 15, 15)),  # half of an odd window, rounded down
        (20, 0, 1, (0, 20, 20)),  # none is kept
        (20, 0, 0, (0, 20, 20)),
    ],
)
def test_half_of_the_window_is_kept_back(count: int, offset: int, size: int, expected: tuple[int, int, int]) -> None:
    assert window(given(count, offset, memory_window=size)) == expected


@pytest.mark.parametrize(
    ("count", "offset", "expected"),
    [(20, 0, (0, 20, 0)), (20, 7, (7, 20, 0)), (3, 0, (0, 3, 0)), (20, 20, (20, 20, 0)), (20, 30, (30, 30, 0))],
)
def test_archiving_all_takes_all_that_is_left_and_begins_anew(
    count: int, offset: int, expected: tuple[int, int, int]
) -> None:
    assert window(given(count, offset, archive_all=True)) == expected


@pytest.mark.parametrize("options", [{"last_consolidated": -1}, {"memory_window": -2}])
def test_what_counts_messages_is_not_negative(options: dict[str, int]) -> None:
    with pytest.raises(InvalidInput, match="below 0"):
        MemorizeInput(talk(2), **options)  # type: ignore[arg-type]


def test_a_message_is_a_mapping() -> None:
    with pytest.raises(InvalidInput, match="message 1 is 'hello'"):
        MemorizeInput([{"role": "user", "content": "hi"}, "hello"])  # type: ignore[list-item]
