"""What one user of a program told it, in a book of their own: found with all that the book holds, and forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from memorybook.frameworks.external_session import ITEM, HostedSession
from memorybook.prompt.recall import WORTH_A_LOOK
from memorybook.search.types import Query
from memorybook.text.screen import screen
from memorybook.validate import words_of

if TYPE_CHECKING:
    from memorybook.frameworks.external_session import HostedItem
    from memorybook.memory import Memory
    from memorybook.search.types import Hit, Passage

_POOL = 200
"""How many candidates are looked through."""


class Found(NamedTuple):
    """What was found.

    Attributes:
        id: Of the turn or the entry; None for a piece of a document.
        text: What it says.
        speaker: Who said a turn; None for what nobody said.
        time: When a turn was said, else the day it speaks of, ISO 8601; None if unknown.
        item: A turn as its program had it; None for anything else.
    """

    id: str | None
    text: str
    speaker: str | None = None
    time: str | None = None
    item: Any = None


class Owned:
    """The conversations of one user, and what is remembered of them. Safe to share between threads and processes.

    Args:
        memory: An open memory, the user's alone: what is made of a talk is held against all that the book knows.
        host: What the program is called.
        owner: Names that tell its users apart; conversations of the same name are each one's own.
    """

    def __init__(self, memory: Memory, host: str, owner: Sequence[str]) -> None:
        self._memory = memory
        self._host = "/".join(quote(each, safe="") for each in (host, *owner))

    def session(self, name: str) -> HostedSession:
        """The conversation of that name, of this user; "" is the one of what was said in none."""
        return HostedSession(self._memory, name, host=self._host)

    def keep(self, session: str, items: Sequence[HostedItem]) -> None:
        """Keep what was said in a conversation, see `HostedSession.add`; where nothing is kept nothing is done."""
        kept = self.session(session)
        if kept.is_kept:
            kept.add(items)

    def search(self, query: str, *, limit: int) -> list[Found]:
        """At most so much that is worth a look, most relevant first; nothing while memory is switched off."""
        if not (self._memory.config.enabled and query.strip()):
            return []

        def keep(passage: Passage) -> bool:
            return passage.trust != "suspect" and passage.state != "superseded"

        least = max(WORTH_A_LOOK, self._memory.config.min_score)
        asked = Query(words_of(query), pool=_POOL)
        hits = self._memory.book.search(asked, limit=2 * limit, min_score=least, keep=keep).hits
        fit = [hit for hit in hits if not screen(hit.passage.text)]
        return [*map(self._told, fit[:limit])]

    def _told(self, hit: Hit) -> Found:
        passage = hit.passage
        for turn in self._memory.book.transcripts.find(passage.turn or "", passage.session):
            if passage.source == "turn":
                time = turn.time.isoformat() if turn.time else None
                return Found(turn.id, turn.text, turn.speaker or turn.role or None, time, turn.metadata.get(ITEM))
        return Found(passage.entry, hit.snippet, time=passage.date)

    def remember(self, text: str, metadata: Mapping[str, Any] | None = None) -> None:
        """Add an entry, see `Memory.remember`."""
        self._memory.remember(text, metadata=metadata, session=self.session("").uuid)

    def forget(self, id: str) -> bool:
        """Forget a turn or an entry, see `Memory.forget`; whether there was such a one."""
        turns = self._memory.book.transcripts.find(id)
        for turn in turns:
            self._memory.forget(source=f"turn:{turn.session}/{turn.id}")
        entries = [entry for entry in self._memory.book.entries() if entry.id == id]
        for entry in entries:
            self._memory.forget(entry.id)
        return bool(turns or entries)
