"""Characters that would be read as structure, written as character references, and read back.

One escape serves every document: a hexadecimal character reference such as `&#x23;` for `#`, which
Markdown shows as the character itself. Only characters that stand where they would be taken for
structure are written so, and the `&` of a text that holds such a reference already. `&#x;` is the
empty text, for places where nothing would be read as absence.

So `unescape(escape(x)) == x` for every text, and what a person writes by hand is read as it stands.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from sys import maxunicode

from memorybook._light import TYPE_CHECKING, Iterable, NamedTuple, Sequence

if TYPE_CHECKING:
    from memorybook.model import Session, Turn


UNSAFE = r"[\x00-\x08\x0b-\x1f\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]|&(?=#x)"
"""Never written as they are: controls, other line ends, surrogates (not UTF-8), and the escape itself."""

_REFERENCE = re.compile(r"&#x([0-9A-Fa-f]{0,6});")
_FENCE = re.compile(r"(?m)^(?:(`{3,})[^`\n]*|(~{3,})[^\n]*)$")


def escape(pattern: str, text: str) -> str:
    """Replace every character that the pattern (given as text, compiled when needed) matches by a reference."""
    return re.sub(pattern, reference, text)


def reference(match: re.Match[str]) -> str:
    """Return the matched characters as references."""
    return "".join([f"&#x{ord(char):X};" for char in match[0]])


def unescape(text: str) -> str:
    """Return the text with its references as characters; one that names no character stays."""
    if "&#x" not in text:
        return text
    return _REFERENCE.sub(
        lambda at: at[0] if int(at[1] or "0", 16) > maxunicode else at[1] and chr(int(at[1], 16)), text
    )


class Fences:
    """The fenced code blocks of a text. A fence at a line's start that nothing closes is no fence."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._unclosed: dict[str, int] = {}  # shortest fence of each kind that is known to have no end further on

    def end(self, start: int) -> int:
        """Return the end of the fenced block that starts at `start`, 0 if it stays open.

        Ask in the order of the text.
        """
        opening = _FENCE.match(self._text, start)
        if opening is None:
            return 0
        marks = opening[1] or opening[2]
        if len(marks) >= self._unclosed.get(marks[0], len(marks) + 1):
            return 0
        closing = re.compile(rf"(?m)^{marks[0]}{{{len(marks)},}}[ \t\r]*$").search(self._text, opening.end())
        if closing is None:
            self._unclosed[marks[0]] = len(marks)
            return 0
        return closing.end()


def fences(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of every fenced block; a fence that stays open has the end 0."""
    reader = Fences(text)
    at = 0
    while (opening := _FENCE.search(text, at)) is not None:
        end = reader.end(opening.start())
        yield opening.start(), end
        at = end or opening.end()


def has_open_fence(text: str) -> bool:
    """Return whether a code fence is opened that nothing closes."""
    return ("```" in text or "~~~" in text) and any(not end for _, end in fences(text))


# --- values that stores exchange ----------------------------------------------------------------

MAX_BYTES = 64 * 2**20
"""Largest document, in bytes."""

IGNORED = b"*.md.bak\n"
"""What git is told not to take of a book, where nobody told it anything."""


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
    """What another program took from a document: the file that keeps it, its text, and what was left of it."""

    file: str
    text: str
    left: str


class Document(NamedTuple):
    """A document as read; text and revision ("") are those of before while somebody else is half-way through a save."""

    text: str
    revision: str
    modified: float


RULES, MODEL = "rules", "model"
"""Whose words a session's summary is, see `SummaryState.by`; "" for a page's, a person's, an import's."""


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
    """How far a session is summarised; positions of turns are -1 for nothing yet.

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
