"""What one user of a program told it, in a book that others' users share: nothing else of it is found or forgotten."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from memorybook.hits import Query
from memorybook.hosted import ITEM, HostedSession
from memorybook.text.screen import screen
from memorybook.verbs.finds import WORTH_A_LOOK

if TYPE_CHECKING:
    from memorybook.hits import Hit, Passage
    from memorybook.hosted import Item
    from memorybook.memory import Memory

_POOL, _SHARED_POOL = 200, 2_000
"""How many candidates are looked through in a user's own book, and in one that others share."""


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
        memory: An open memory.
        host: What the program is called.
        owner: Names that tell its users apart.
        alone: Whether the whole book is the user's: then all of it is found, and all may be forgotten.
    """

    def __init__(self, memory: Memory, host: str, owner: Sequence[str], *, alone: bool = False) -> None:
        self._memory = memory
        self._host = "/".join(quote(each, safe="") for each in (host, *owner))
        self._alone = alone

    def session(self, name: str) -> HostedSession:
        """The conversation of that name, of this user; "" is the one of what was said in none."""
        return HostedSession(self._memory, name, host=self._host)

    def keep(self, session: str, items: Sequence[Item]) -> None:
        """Keep what was said in a conversation, see `HostedSession.add`; where nothing is kept nothing is done."""
        kept = self.session(session)
        if kept.is_kept:
            kept.add(items)

    def search(self, query: str, *, limit: int) -> list[Found]:
        """At most so much that is worth a look, most relevant first; nothing while memory is switched off."""
        if not (self._memory.config.enabled and query.strip()):
            return []
        sessions = self._sessions()

        def keep(passage: Passage) -> bool:
            ours = sessions is None or passage.session in sessions
            return ours and passage.trust != "suspect" and passage.state != "superseded"

        least = max(WORTH_A_LOOK, self._memory.config.min_score)
        asked = Query(query, pool=_POOL if sessions is None else _SHARED_POOL)
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
        sessions = self._sessions()
        turns = [
            turn for turn in self._memory.book.transcripts.find(id) if sessions is None or turn.session in sessions
        ]
        for turn in turns:
            self._memory.forget(source=f"turn:{turn.session}/{turn.id}")
        entries = [entry for entry in self._memory.book.entries() if entry.id == id]
        found = [entry for entry in entries if sessions is None or entry.session in sessions]
        for entry in found:
            self._memory.forget(entry.id)
        return bool(turns or found)

    def _sessions(self) -> frozenset[str] | None:
        """The sessions that are the user's (uuid); None for all there are."""
        if self._alone:
            return None
        known = self._memory.book.transcripts.sessions(turn_ids=False)
        return frozenset({self.session("").uuid, *(each.uuid for each in known if each.channel == self._host)})
