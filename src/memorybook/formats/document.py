"""Values that stores exchange: documents in a listing and as read, changes of transcripts, summaries.

Apart from `memorybook.protocols`, so that a cold search need not load those.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Iterable, NamedTuple, Sequence

if TYPE_CHECKING:
    from memorybook.model import Session, Turn


MAX_BYTES = 64 * 2**20
"""Largest document, in bytes."""

IGNORED = b"*.md.bak\n"
"""What git is told not to take of a book, where nobody told it anything."""


PREPARED = "beginning"
"""File of the machine folder in which hooks keep the block for the start of a session."""


def gitignore_of(root: str) -> bytes | None:
    """Return what git was told to leave out of a book's folder; None if nobody told it anything."""
    try:
        with open(os.path.join(root, ".gitignore"), "rb") as file:
            return file.read()
    except OSError:
        return None


class DocumentInfo(NamedTuple):
    """A document in a listing: path (`/` between parts, ends in `.md`), bytes, stamp, and time of the last change.

    Equal stamps mean equal content; an empty one vouches for nothing (just written to).
    """

    path: str
    size: int
    stamp: str
    modified: float


class Loss(NamedTuple):
    """A loss by another program's write: the file that keeps the text, the text, and what was left of it."""

    file: str
    text: str
    left: str


class Document(NamedTuple):
    """A document as read; during another program's unfinished save the previous text, with revision ""."""

    text: str
    revision: str
    modified: float


RULES, MODEL = "rules", "model"
"""Author of a session's summary, see `SummaryState.by`; "" for a page's, a person's, an import's."""


class TurnChanges(NamedTuple):
    """Changes of the transcripts since a revision: turns with their sessions, and removed `(session uuid, turn id)`."""

    revision: int
    turns: Iterable[tuple[Session, Turn]]
    removed: Iterable[tuple[str, str]]


class SummaryEmbedding(NamedTuple):
    """The vector of a summary: its embedder's name and `dimensions` little-endian float32."""

    model: str
    dimensions: int
    vector: bytes


class SummaryState(NamedTuple):
    """The progress of summarising a session; positions of turns are -1 for nothing yet.

    `by` is `rules`, `model` or "" (somebody else's summary), `through` the last turn in the summary, `chats_through`
    the last in a chat's, `last` the session's last turn, `revision` the store's when this was read.
    """

    session: Session
    by: str
    through: int
    chats_through: int
    last: int
    revision: int


class ChatSummary(NamedTuple):
    """The summary of the chat that holds a turn, and its vector if there is one."""

    turn_id: str
    summary: str
    embedding: SummaryEmbedding | None = None


class SummaryUpdate(NamedTuple):
    """Summaries to store: of chats, and the session's (None: unchanged) up to the turn `through`.

    `told` is their base.
    """

    told: SummaryState
    chats: Sequence[ChatSummary] = ()
    summary: str | None = None
    title: str = ""
    by: str = ""
    embedding: SummaryEmbedding | None = None
    through: int = -1
