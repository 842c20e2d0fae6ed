"""What every embedder shares: rows of floats to unit vectors in one buffer."""

from __future__ import annotations

from math import isfinite
from struct import pack

from memorybook._light import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def unit_row(values: Sequence[float]) -> bytes:
    """The row scaled to unit length, as float32; zeros stay zeros.

    Raises ValueError for NaN, infinity, or values whose squares are too large or too small to add up.
    """
    length = sum(value * value for value in values) ** 0.5
    if not isfinite(length):
        raise ValueError("NaN or infinity")
    if length == 0.0:
        if any(values):
            raise ValueError("only values too small to have a direction")
        return bytes(4 * len(values))
    return pack(f"{len(values)}f", *[value / length for value in values])


def vectors_of(rows: Sequence[bytes], dimensions: int) -> memoryview[float]:
    """Rows of float32 as one buffer of shape (n, dimensions). No rows give shape (0, dimensions)."""
    if not rows:
        return memoryview(bytes(4 * dimensions)).cast("f", (1, dimensions))[0:0]
    return memoryview(b"".join(rows)).cast("f", (len(rows), dimensions))
