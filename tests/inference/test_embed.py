from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

from memorybook.errors import EmbedderFailed
from memorybook.inference.embed import row_bytes, unit_row, vectors_of


def test_a_row_is_scaled_to_unit_length() -> None:
    assert struct.unpack("2f", unit_row([3, 4.0])) == pytest.approx((0.6, 0.8))


def test_a_row_of_zeros_stays_one() -> None:
    assert unit_row([0.0, 0.0]) == bytes(8)


@pytest.mark.parametrize("values", [[float("nan"), 1.0], [float("inf"), 0.0], [1e200, 1.0], [1e-300, 0.0]])
def test_a_row_without_a_direction_is_refused(values: list[float]) -> None:
    with pytest.raises(ValueError, match=r"NaN or infinity|too small"):
        unit_row(values)


def test_rows_become_one_buffer() -> None:
    view = vectors_of([unit_row([1.0, 0.0]), unit_row([0.0, 2.0])], 2)
    assert (view.shape, view.format) == ((2, 2), "f")
    assert np.asarray(view).tolist() == [[1.0, 0.0], [0.0, 1.0]]


def test_no_rows_become_a_buffer_of_none() -> None:
    assert np.asarray(vectors_of([], 7)).shape == (0, 7)


@pytest.mark.parametrize("vectors", [vectors_of([bytes(8)], 2), np.zeros((1, 2), np.float32)])
def test_rows_come_out_as_bytes(vectors: Any) -> None:
    assert row_bytes(vectors, 2) == [bytes(8)]


def test_rows_of_an_array_that_is_not_contiguous_come_out_in_order() -> None:
    array = np.asfortranarray([[1, 2], [3, 4]], dtype=np.float32)
    assert row_bytes(array, 2) == [struct.pack("<2f", 1, 2), struct.pack("<2f", 3, 4)]


def test_no_rows_come_out_of_none() -> None:
    assert row_bytes(vectors_of([], 3), 3) == []


@pytest.mark.parametrize(
    ("vectors", "message"),
    [
        ([[1.0, 2.0]], "'list'; it must return a float32 array"),
        (None, "'NoneType'"),
        (np.zeros((1, 2)), "of type 'd'; they must be float32"),
        (b"12345678", "of type 'B'"),
        (np.zeros((1, 3), np.float32), r"shape \(1, 3\); it must be \(number of texts, 2\)"),
        (np.zeros(2, np.float32), r"shape \(2,\)"),
        (np.array([[1, 0], [0, np.nan]], np.float32), "row 1 .* NaN or infinity"),
        (np.array([[np.inf, -np.inf]], np.float32), "row 0 .* NaN or infinity"),
    ],
)
def test_an_answer_of_another_kind_is_refused(vectors: Any, message: str) -> None:
    with pytest.raises(EmbedderFailed, match=message):
        row_bytes(vectors, 2)
