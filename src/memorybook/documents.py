"""What a store of documents tells of one: in a listing, and as read.

Apart from the seams in `memorybook.protocols`, so that a cold search need not make those.
"""

from __future__ import annotations

from memorybook.typed import NamedTuple

MAX_BYTES = 64 * 2**20
"""Largest document, in bytes."""


class DocumentInfo(NamedTuple):
    """What a listing tells of a document without reading it.

    Attributes:
        path: Relative, `/` between parts, ends in `.md`.
        size: Bytes.
        stamp: Equal stamps mean equal content; an empty one vouches for nothing (just written to).
        modified: Last change, seconds since the epoch.
    """

    path: str
    size: int
    stamp: str
    modified: float


class Document(NamedTuple):
    """A document as read: its text, and the revision (a content hash) that `write` compares."""

    text: str
    revision: str
    modified: float
