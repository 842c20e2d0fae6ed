"""Vectors of embedders, made and checked; and whether numpy is worth its import.

All parts of a search ask here for numpy, and do without it where the answer is no.
"""

from __future__ import annotations

import sys
from math import hypot, isfinite
from struct import pack
from time import monotonic

from memorybook._light import TYPE_CHECKING, Any, Sequence, cast
from memorybook.errors import EmbedderFailed

if TYPE_CHECKING:
    from types import ModuleType

    from memorybook.protocols import Embedder

IMPORT = 120.0
"""Milliseconds that importing numpy takes in a fresh process."""

ONCE = 0.2
"""Seconds after the first loss from which a process is one that goes on: a command that searches once has ended."""

SOON = 8
"""In one that goes on the import will have paid for itself soon: it waits for so many times less to be lost."""

_UNIT = 0.01
"""How far from 1 a vector's length may be: as far as half-precision models come."""

_LOST = 8e-6
"""Milliseconds by which numpy finds the lengths of vectors faster, for each byte."""

_lost = 0.0
_first = 0.0  # when something was lost for the first time


def arrays(lost: float) -> ModuleType | None:
    """Return the module numpy, or None if this time it should be done without.

    It comes if something imported it already, or as soon as all that this process has lost for want of
    it exceeds what the import takes; in one that goes on (see `ONCE`), a small part of that. So a command that
    searches once does not pay for it, a server pays once, after a few searches, and one search that is huge pays at
    once.

    Args:
        lost: Milliseconds by which this call would be faster with numpy, estimated.
    """
    global _lost, _first
    found = sys.modules.get("numpy")
    if found is not None and not getattr(found.__spec__, "_initializing", False):  # by another thread
        return found
    now = monotonic()
    if not _lost:
        _first = now
    _lost += lost
    if _lost <= (IMPORT if now - _first < ONCE else IMPORT / SOON):
        return None
    import numpy

    return numpy


def unit_row(values: Sequence[float]) -> bytes:
    """Return the row scaled to unit length, as float32; zeros stay zeros.

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


def stacked(rows: Sequence[bytes], dimensions: int) -> memoryview[float]:
    """Return rows of float32 as one buffer of shape (n, dimensions). No rows give shape (0, dimensions)."""
    if not rows:
        return memoryview(bytes(4 * dimensions)).cast("f", (1, dimensions))[0:0]
    return memoryview(b"".join(rows)).cast("f", (len(rows), dimensions))


def vectors_of(embedder: Embedder, texts: Sequence[str], *, asked: bool = False) -> list[bytes | None]:
    """Return a float32 unit vector for each text as bytes; None for a text that the embedder cannot read.

    Raises EmbedderFailed, also if the answer is not what `protocols.Embedder` promises: an embedder
    may be anybody's, and a wrong vector in an index is never noticed again.
    """
    embed = getattr(embedder, "embed_questions", embedder.embed) if asked else embedder.embed
    try:
        answer = embed(texts)
    except EmbedderFailed:
        raise
    except Exception as error:
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise EmbedderFailed(f"the embedder {embedder.name!r} raised {what}; raise EmbedderFailed instead") from error
    try:
        view = memoryview(cast("Any", answer))
    except TypeError:
        raise _nonsense(embedder, f"a {type(answer).__name__!r}", "return a float32 array, such as numpy's") from None
    if view.format not in ("f", "<f"):
        raise _nonsense(embedder, f"numbers of the type {view.format!r}", "return float32 ('f')")
    shape = (len(texts), embedder.dimensions)
    if view.shape != shape or (texts and not embedder.dimensions):
        raise _nonsense(
            embedder, f"an array of shape {view.shape}", f"it must be {shape}, texts by dimensions: check its model"
        )
    data, width = view.tobytes(), 4 * embedder.dimensions
    if (numpy := arrays(len(data) * _LOST)) is not None:
        rows = numpy.frombuffer(data, dtype=numpy.float32).reshape(shape).astype(numpy.float64)
        lengths: list[float] = numpy.sqrt(numpy.einsum("ij,ij->i", rows, rows)).tolist()
    else:
        numbers = memoryview(data).cast("f")
        lengths = [hypot(*numbers[at : at + shape[1]]) for at in range(0, len(numbers), shape[1] or 1)]
    for row, length in enumerate(lengths):
        if length and not abs(length - 1.0) < _UNIT:
            raise _nonsense(
                embedder, f"a vector of length {length:g} for text {row}", "divide each vector by its length (no NaN)"
            )
    return [data[row * width : (row + 1) * width] if length else None for row, length in enumerate(lengths)]


def _nonsense(embedder: Embedder, what: str, advice: str) -> EmbedderFailed:
    return EmbedderFailed(f"the embedder {embedder.name!r} gave {what}; {advice}")
