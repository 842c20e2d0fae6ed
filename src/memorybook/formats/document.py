"""What a store of documents tells of one: in a listing, and as read.

Apart from the seams in `memorybook.protocols`, so that a cold search need not make those.
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


RULES, MODEL = "rules", "model"
"""Whose words a session's summary is, see `SummaryState.by`; "" for a page's, a person's, an import's."""


class TurnChanges(NamedTuple):
    """What changed in the transcripts since a revision.

    Attributes:
        revision: The revision now; give it back next time.
        turns: Turns added or altered since, each with its session.
        removed: Keys `(session uuid, turn id)` that are gone.
    """

    revision: int
    turns: Iterable[tuple[Session, Turn]]
    removed: Iterable[tuple[str, str]]


class SummaryEmbedding(NamedTuple):
    """The vector of a summary.

    Attributes:
        model: Name of the embedder that made it.
        dimensions: Its length.
        vector: `dimensions` little-endian float32.
    """

    model: str
    dimensions: int
    vector: bytes


class SummaryState(NamedTuple):
    """How far the summaries of a session tell of it; positions are -1 for nothing yet.

    Attributes:
        session: Its own fields, without its turns' ids.
        by: Whose words its summary is: `rules`, `model`, or "" for somebody else's.
        through: Position of the last turn that its summary tells of.
        chats_through: Position of the last turn whose chat has its summary, if there is something to say of it.
        last: Position of its last turn.
        revision: Of the store when this was read.
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
    """Summaries to be kept of a session.

    Attributes:
        told: What they go on from.
        chats: Those of chats.
        summary, title, by, embedding: The session's; `summary` None leaves them as they are.
        through: Position of the last turn that the session's summary tells of now.
    """

    told: SummaryState
    chats: Sequence[ChatSummary] = ()
    summary: str | None = None
    title: str = ""
    by: str = ""
    embedding: SummaryEmbedding | None = None
    through: int = -1
