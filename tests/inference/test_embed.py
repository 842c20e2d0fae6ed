from __future__ import annotations

import struct

import numpy as np
import pytest

from memorybook.inference.arrays import stacked, unit_row


def test_a_row_is_scaled_to_unit_length() -> None:
    assert struct.unpack("2f", unit_row([3, 4.0])) == pytest.approx((0.6, 0.8))


def test_a_row_of_zeros_stays_one() -> None:
    assert unit_row([0.0, 0.0]) == bytes(8)


@pytest.mark.parametrize("values", [[float("nan"), 1.0], [float("inf"), 0.0], [1e200, 1.0], [1e-300, 0.0]])
def test_a_row_without_a_direction_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"NaN or infinity|too small"):
        unit_row(values)


def test_rows_become_one_buffer() -> None:
    view = stacked([unit_row([1.0, 0.0]), unit_row([0.0, 2.0])], 2)
    assert (view.shape, view.format) == ((2, 2), "f")
    assert np.asarray(view).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_no_rows_become_a_buffer_of_none() -> None:
    assert np.asarray(stacked([], 7)).shape == (0, 7)
