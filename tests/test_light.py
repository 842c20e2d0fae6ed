"""What stands in for names of the standard library does what they do."""

from __future__ import annotations

from memorybook import _light


def test_a_memo_asks_for_what_it_does_not_know_and_keeps_its_size() -> None:
    asked: list[int] = []

    def double(number: int) -> int:
        asked.append(number)
        return 2 * number

    memo = _light.Memo(double, 2)
    assert [memo[number] for number in (1, 1, 2, 3, 1)] == [2, 2, 4, 6, 2]
    assert asked == [1, 2, 3, 1]
    assert len(memo) == 2
