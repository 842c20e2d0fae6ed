"""A conversation owned by another program: stored as turns, item by item, and returned unchanged.

It may continue at any time; one that nobody ends is remembered once it is idle, as with agent hosts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid4, uuid5

from memorybook.entries.read import Mask
from memorybook.entries.same import words
from memorybook.errors import InvalidInput, NotFound, Unavailable
from memorybook.forget.cutting import without_forgotten_turns
from memorybook.forget.tombstones import turn_key
from memorybook.formats.messages_json import TOOL_TEXT_LIMIT, clean, cut
from memorybook.frameworks import empty_if_missing
from memorybook.model import Role, Session, Turn
from memorybook.prompt.recall import WORTH_A_LOOK, build
from memorybook.results import Memorized
from memorybook.search.types import Query
from memorybook.sessions.memorize import end
from memorybook.sessions.turns import ANSWERS, HOSTED, mask_turns
from memorybook.text.screen import screen
from memorybook.text.sentences import without_recalled
from memorybook.validate import MAX_QUERY, budget_of, words_of

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.protocols import Transcripts
    from memorybook.search.types import Passage


ITEM = "item"
"""Field of a turn's metadata that holds the item as its program had it."""


class HostedItem(NamedTuple):
    """One item of a conversation.

    Attributes:
        data: As its program has it, a JSON value; given back as it is, but for secrets, which are masked.
        text: What of it was said, to be found and remembered; "" if nothing was.
        role, speaker, tool_calls: As in `Turn`.
        id: Its own; what is added once more under the id is left as it was, and what was forgotten is left out. "" is
            given one.
        time: When it was said, timezone-aware; None for now.
    """

    data: Any
    text: str = ""
    role: Role = ""
    speaker: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    id: str = ""
    time: datetime | None = None


class HostedSession:
    """One conversation of another program. Safe to share between threads and processes.

    Args:
        memory: An open memory.
        name: What the program calls the conversation; the same name is the same conversation.
        host: What the program is called, such as `openai-agents`: names are its own.
    """

    def __init__(self, memory: Memory, name: str, *, host: str) -> None:
        if not isinstance(name, str):
            raise InvalidInput(f"a conversation is named by a text, not {name!r}")
        own = f"memorybook:{host}:{name}".encode("utf-8", "backslashreplace").decode()  # of any text, half pairs too
        self.uuid = str(uuid5(NAMESPACE_URL, own))
        self._memory = empty_if_missing(memory)
        self._name = name
        self._host = host

    @property
    def is_kept(self) -> bool:
        """True if turns are kept at all, as the settings say."""
        return self._memory.config.enabled and self._memory.config.transcripts.enabled

    def items(self, last: int | None = None) -> list[Any]:
        """Return the items in order, or only the last so many."""
        return [_data(turn) for turn in self._kept.turns(self.uuid, last=last)]

    def add(self, items: Sequence[HostedItem]) -> None:
        """Add items at the end; on disk on return. Raises InvalidInput for what JSON cannot say."""
        now, mask, kept = self._memory.book.now(), Mask(self._memory.context), self._kept
        if not items:
            return
        try:
            json.dumps([item.data for item in items], allow_nan=False)  # no other program reads Python's NaN
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(f"an item of a conversation must be JSON: {error}") from None
        session = Session(uuid=self.uuid, name=mask.text(self._name), source=HOSTED, channel=self._host)
        keys = {turn_key(self.uuid, item.id): item for item in items if item.id}
        forgotten = {keys[key].id for key in self._memory.book.journal.buried(keys)} if keys else ()
        turns = [
            Turn(
                id=item.id or str(uuid4()),
                session=self.uuid,
                text=_said(item),
                role=item.role,
                speaker=item.speaker,
                time=item.time or now,
                tool_calls=item.tool_calls,
                metadata={ITEM: item.data},
            )
            for item in items
            if item.id not in forgotten
        ]
        masked = mask_turns(mask, turns)
        told = []
        for was, turn in zip(masked, without_forgotten_turns(self._memory.book, masked), strict=True):
            if was.text != turn.text:  # its item, too, is without what was forgotten, or goes
                item = turn.metadata[ITEM]
                left = {} if (swapped := _swapped(item, was.text, turn.text)) == item else {ITEM: swapped}
                turn = replace(turn, metadata=left)
            if turn.text.strip() or not was.text.strip():
                told.append(turn)
        new = kept.append(session, told)
        known = kept.told(self.uuid).session
        if new and known.ended is not None:  # it goes on
            kept.update(replace(known, ended=None))

    def pop(self) -> Any:
        """Take away the last item; None if there is none."""
        while last := self._kept.turns(self.uuid, last=1):
            if self._kept.remove(self.uuid, [last[0].id]):  # else another one took it just now
                return _data(last[0])
        return None

    def clear(self) -> None:
        """Take away all items; what was remembered of them stays."""
        self._kept.remove(self.uuid, [turn.id for turn in self._kept.turns(self.uuid)])

    def recall(self, query: str, *, max_tokens: int | None = None) -> str:
        """Return the block for a prompt, see `Memory.recall`, without this conversation; "" if there is none.

        With `recall.auto_recall` the past conversations that the words ask for stand behind it, if there is room.
        """
        memory, budget = self._memory, budget_of(max_tokens)
        query = query if len(query) <= MAX_QUERY else ""  # a message that long asks for nothing in particular
        if memory.config.provider == "tiered":
            found = build(memory.context, query, max_tokens=budget, without=self.uuid).use()
        else:
            found = memory.recall(query, max_tokens=budget)
        left = budget - found.tokens - 1
        if left < 1 or not memory.config.recall.auto_recall:
            return found.text
        past = memory.recollect(query, current=self.uuid, max_tokens=left)
        return "\n".join(filter(None, (found.text, past.text if past else "")))

    def end(self) -> Memorized:
        """Remember what was said, see `Memory.process_session_end`, and close it until it goes on.

        Where nothing is kept nothing is done.
        """
        if not self.is_kept:
            return Memorized(session=self.uuid)
        try:
            self._kept.told(self.uuid)
        except NotFound:
            return Memorized(session=self.uuid)
        found = self._memory.process_session_end(session_id=self.uuid)
        end(self._memory.context, self.uuid, self._memory.book.now())
        return found

    @property
    def _kept(self) -> Transcripts:
        """Where its turns are. Raises Unavailable if turns are not kept."""
        if not self.is_kept:
            raise Unavailable("conversations are not kept: set enabled and transcripts.enabled = true")
        return self._memory.book.transcripts


def _said(item: HostedItem) -> str:
    """Return what of an item is kept as text: not what came out of a book, nor all that a tool told."""
    if item.role == "tool" and ANSWERS.search(item.speaker):
        return ""
    text = without_recalled(clean(item.text)).strip()
    return cut(text, TOOL_TEXT_LIMIT) if item.role == "tool" else text


def _swapped(value: Any, old: str, new: str) -> Any:
    if isinstance(value, Mapping):
        return {name: _swapped(each, old, new) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_swapped(each, old, new) for each in value]
    return new if value == old else value


def _data(turn: Turn) -> Any:
    """Return the item; of a turn that somebody else added a message."""
    return turn.metadata.get(ITEM, {"role": turn.role or "user", "content": turn.text})


# --- all conversations of one user ----------------------------------------------------------------


_POOL = 200
"""Candidates to look through."""


class UserHit(NamedTuple):
    """A search hit of a user's memory.

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


class UserMemory:
    """The conversations of one user, and what is remembered of them. Safe to share between threads and processes.

    Args:
        memory: An open memory, the user's alone: what is made of a talk is held against all that the book knows.
        host: What the program is called.
        owner: Names that tell its users apart; conversations of the same name are each one's own.
    """

    def __init__(self, memory: Memory, host: str, owner: Sequence[str]) -> None:
        self._memory = empty_if_missing(memory)
        self._host = "/".join(quote(each, safe="", errors="surrogatepass") for each in (host, *owner))

    def session(self, name: str) -> HostedSession:
        """Return the conversation of that name, of this user; "" is the one of what was said in none."""
        return HostedSession(self._memory, name, host=self._host)

    def keep(self, session: str, items: Sequence[HostedItem]) -> None:
        """Keep what was said in a conversation, see `HostedSession.add`; where nothing is kept nothing is done."""
        kept = self.session(session)
        if kept.is_kept:
            kept.add(items)

    def search(self, query: str, *, limit: int) -> list[UserHit]:
        """Return at most so much that is worth a look, most relevant first; nothing while memory is switched off."""
        if not (self._memory.config.enabled and query.strip()):
            return []

        def keep(passage: Passage) -> bool:
            return passage.trust != "suspect" and passage.state != "superseded"

        least = max(WORTH_A_LOOK, self._memory.config.min_score)
        asked = Query(words_of(query), pool=_POOL)
        hits = self._memory.book.search(asked, limit=2 * limit, min_score=least, keep=keep).hits
        found = []
        for hit in [hit for hit in hits if not screen(hit.passage.text)][:limit]:
            passage = hit.passage
            turns = self._memory.book.transcripts.find(passage.turn or "", passage.session)
            if passage.source != "turn":  # an entry in the words of its turn
                turns = [turn for turn in turns if words(passage.text) <= words(turn.text)]
            if turns:
                turn, time = turns[0], turns[0].time.isoformat() if turns[0].time else None
                item = turn.metadata.get(ITEM)
                found.append(UserHit(turn.id, turn.text, turn.speaker or turn.role or None, time, item))
            else:
                found.append(UserHit(passage.entry, hit.snippet, time=passage.date))
        return found

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
