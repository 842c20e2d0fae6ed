"""What transcripts tell besides turns: what changed, and how far summaries tell of a session."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Iterable, NamedTuple, Sequence

if TYPE_CHECKING:
    from memorybook.model import Session, Turn

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
