"""What a store of documents tells of one: in a listing, and as read.

Apart from the seams in `memorybook.protocols`, so that a cold search need not make those.
"""

from __future__ import annotations

import os

from memorybook._light import NamedTuple

MAX_BYTES = 64 * 2**20
"""Largest document, in bytes."""

IGNORED = b"*.md.bak\n"
"""What git is told not to take of a book, where nobody told it anything."""


def told_to_ignore(root: str) -> bytes | None:
    """What git was told to leave out of a book's folder; None if nobody told it anything."""
    try:
        with open(os.path.join(root, ".gitignore"), "rb") as file:
            return file.read()
    except OSError:
        return None


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


class Loss(NamedTuple):
    """What another program took from a document: the file that keeps it, its text, and what was left of it."""

    file: str
    text: str
    left: str


class Document(NamedTuple):
    """A document as read.

    Attributes:
        text: What it says; as it was before while somebody else is half-way through saving it.
        revision: The content hash that `write` compares; "" while somebody else is half-way through saving it.
        modified: Last change, seconds since the epoch.
    """

    text: str
    revision: str
    modified: float
