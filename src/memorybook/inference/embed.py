"""What every embedder shares: rows of floats to unit vectors, and vectors to the bytes an index stores."""

from __future__ import annotations

from math import isfinite
from struct import pack, unpack
from typing import TYPE_CHECKING, cast

from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from memorybook.protocols import Vectors


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


def row_bytes(vectors: Vectors, dimensions: int) -> list[bytes]:
    """Each row of an embedder's answer as `dimensions` little-endian float32.

    Raises EmbedderFailed if it isn't a float32 buffer of shape (n, dimensions), or a row holds NaN or infinity.
    """
    try:
        view = memoryview(cast("memoryview[float]", vectors))
    except TypeError:
        raise EmbedderFailed(
            f"the embedder answered with {type(vectors).__name__!r}; it must return a float32 array"
        ) from None
    if view.format not in ("f", "<f"):
        raise EmbedderFailed(f"the embedder's numbers are of type {view.format!r}; they must be float32 ('f')")
    if view.ndim != 2 or view.shape is None or view.shape[1] != dimensions:
        raise EmbedderFailed(
            f"the embedder's answer has shape {view.shape!r}; it must be (number of texts, {dimensions})"
        )
    size = 4 * dimensions
    data = view.tobytes()
    rows = [data[start : start + size] for start in range(0, len(data), size)]
    for number, row in enumerate(rows):
        if not isfinite(sum(unpack(f"<{dimensions}f", row))):
            raise EmbedderFailed(f"row {number} of the embedder's answer holds NaN or infinity; embed that text again")
    return rows
