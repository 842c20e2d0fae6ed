"""The conversation of one tenant: its messages, its session in the book, and how far memory was given them."""

from __future__ import annotations

import json
import re
import secrets
import threading
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher
from itertools import islice, takewhile
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from uuid import uuid4

from memorybook import locale
from memorybook.entries.read import Mask
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, NotFound
from memorybook.forget.cutting import without_forgotten_turns
from memorybook.model import Session
from memorybook.providers import MemorizeInput
from memorybook.providers.tiered import Tiered
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.sessions.dialogue import MOST_TOKENS, is_worded
from memorybook.sessions.memorize import OVER, end, put_off
from memorybook.sessions.summarize import summarize
from memorybook.sessions.turns import SOURCE, mask_turns, turns_of
from memorybook.text.sentences import without_recalled
from memorybook.text.tokens import count_tokens, is_chinese, language_of

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.model import Turn
    from memorybook.protocols import MemoryProvider

# --- messages ------------------------------------------------------------------------------------

ROLES = ("user", "assistant", "system", "tool")


class StoredMessage(NamedTuple):
    """A message with `id` and `timestamp`, and the position of its turn in the session."""

    message: Message
    position: int


def with_id(message: Message, now: datetime) -> dict[str, Any]:
    """Return the message with `id` and `timestamp`.

    Raises:
        InvalidInput: It has no known role, or is not JSON.
    """
    if not isinstance(message, Mapping) or not message.get("role"):
        raise InvalidInput(f"message {repr(message)[:80]} has no role: give one of {', '.join(ROLES)}, and content")
    if message["role"] not in ROLES:
        raise InvalidInput(f"role {repr(message['role'])[:80]} is not one of {', '.join(ROLES)}")
    try:
        json.dumps(dict(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"message {repr(message)[:80]} is no JSON object ({error})") from None
    id, time = message.get("id") or secrets.token_hex(8), message.get("timestamp") or now.isoformat()
    return {**message, "id": str(id), "timestamp": time}


def is_empty(message: Message) -> bool:
    """Return whether it is a user's message without content; pictures alone are content."""
    content = message.get("content")
    return message.get("role") == "user" and not (content.strip() if isinstance(content, str) else content)


def is_reply(message: Message) -> bool:
    """Return whether it is a message of the model to the user."""
    return message.get("role") == "assistant" and not message.get("tool_calls")


def without_recalled_text(message: Message) -> Message:
    """Return the message without the recalled blocks in it, which are not remembered again."""
    text = text_of(message)
    return {**message, "content": without_recalled(text).strip()} if OPEN in text else message


def recalled_by_tools(messages: Sequence[Message]) -> list[str]:
    """Return what memory tools answered since the user spoke last."""
    since = takewhile(lambda message: message["role"] != "user", reversed(messages))
    return [text for message in since for text in _RECALLED.findall(text_of(message))]


_RECALLED = re.compile(f"(?s){re.escape(OPEN)}(.*?){re.escape(CLOSE)}")


def turn_of(memory: Memory, message: Message, session: str) -> Turn | None:
    """Return the turn that is stored of a message with an id, secrets masked; None if it says nothing of its own."""
    message = without_recalled_text(message)
    if not text_of(message).strip() and not message.get("tool_calls"):
        return None
    try:
        found = turns_of(memory.context, [{name: value for name, value in message.items() if name not in _PLACES}])
    except InvalidInput:  # pictures alone, say
        return None
    turn = replace(found[0], id=str(message["id"]), session=session)
    return mask_turns(Mask(memory.context), [turn])[0]


_PLACES = ("session", "session_id", "sessionId", "conversation_id", "thread_id", "scope", "messages")
"""Fields that would say of which session a message is; it is of this one."""


def message_of(turn: Turn) -> dict[str, Any]:
    """Rebuild a message from its turn."""
    message: dict[str, Any] = {**turn.metadata, "role": turn.role or "user", "content": turn.text, "id": turn.id}
    if turn.time is not None:
        message["timestamp"] = turn.time.isoformat()
    if turn.speaker not in ("", turn.role):
        message["name"] = turn.speaker
    return message | ({"tool_calls": [dict(call) for call in turn.tool_calls]} if turn.tool_calls else {})


def text_of(message: Message) -> str:
    """Return the text of a message, see `words_of`."""
    return words_of(message.get("content"))


def words_of(content: Any) -> str:
    """Return a content that is a string, or the texts among its blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    texts = (block if isinstance(block, str) else block.get("text") for block in blocks if block)
    return "\n".join(text for text in texts if isinstance(text, str))


def to_model(message: Message) -> dict[str, Any]:
    """Return the message as a model is sent it; a reply that was cut short says so at its end."""
    fields = ("role", "content", "tool_calls", "tool_call_id")
    given = {"content": ""} | {name: message[name] for name in fields if message.get(name) is not None}
    if not message.get("cut"):
        return given
    text = text_of(message).rstrip()
    note = locale.message("agent.cut_short", "zh" if is_chinese(text) else "en")
    return given | {"content": f"{text} {note}"}


def complete_calls(messages: Sequence[Message]) -> list[Message]:
    """Drop tool calls without answers and answers without calls, which a crash or a cut leaves and no model takes."""
    asked: set[str] = set()
    found: list[Message] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") in asked:
                found.append(message)
            continue
        asked = _calls(message)
        following = takewhile(lambda one: one["role"] == "tool", messages[place + 1 :])
        if asked <= {str(one.get("tool_call_id")) for one in following}:
            found.append(message)
            continue
        asked = set()
        if text_of(message).strip():
            found.append({name: value for name, value in message.items() if name != "tool_calls"})
    return found


def _calls(message: Message) -> set[str]:
    return {str(call.get("id")) for call in message.get("tool_calls") or ()}


def cut_position(messages: Sequence[Message], keep: int) -> int:
    """Return where to cut so that the last `keep` messages stay, and tool calls with their answers.

    Raises InvalidInput if `keep` is below 0.
    """
    if keep < 0:
        raise InvalidInput(f"keep {keep} is below 0: it counts messages")
    place = max(0, len(messages) - keep)
    while 0 < place < len(messages) and messages[place].get("role") == "tool":
        place -= 1
    return place


def align(kept: Sequence[StoredMessage], messages: Sequence[Message]) -> dict[int, int]:
    """Map places in `messages` to places in `kept`, where they say the same in the same order."""

    def key(message: Message) -> tuple[Any, ...]:
        return message.get("role"), text_of(message), tuple(sorted(_calls(message)))

    ours, theirs = [key(each.message) for each in kept], [key(message) for message in messages]
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    return {block.b + step: block.a + step for block in matcher.get_matching_blocks() for step in range(block.size)}


# --- events --------------------------------------------------------------------------------------

Kind = Literal[
    "remembered", "memorize_failed", "recall_failed", "retell_failed", "ended", "compacted", "tool", "obeyed",
    "recalled",
]  # fmt: skip


class Event(NamedTuple):
    """Something that happened in a session.

    Attributes:
        kind: `remembered` (data: `count`, `operation`), `memorize_failed`, `recall_failed` and `retell_failed`
            (`reason`), `ended` (`ended`: uuid of the session), `compacted` (`summary`, `count`), `tool` (`name`, `ok`,
            `operations`: ids of what it wrote), `obeyed` (`done`: see `sessions.user_commands.Obeyed`), `recalled`
            (`found`: a Recollection).
        text: One line for people, in their language.
        channel, chat_id: The tenant.
        session: Uuid of the current session; "" before its first message.
        data: See `kind`.
    """

    kind: Kind
    text: str
    channel: str
    chat_id: str
    session: str = ""
    data: Mapping[str, Any] = {}


OnEvent = Callable[[Event], None]


# --- the conversation ----------------------------------------------------------------------------


class View:
    """State of a tenant's conversations that no book stores; survives when the book is closed to make room.

    Attributes:
        heard: When this process last heard something in a session (uuid).
        session: The current session's uuid; "" before its first message.
        start: First position of it that the model is shown.
        summary: A host's own summary of the messages before `start`; "" to use the session's.
    """

    def __init__(self) -> None:
        self.heard: dict[str, datetime] = {}
        self.turn_to("")

    def turn_to(self, session: str) -> None:
        """Switch to that session, from its start; no-op if it is the current one."""
        if session != getattr(self, "session", None):
            self.session, self.start, self.summary = session, -1, ""  # pictures alone stand before turn 0


class Conversation:
    """A tenant's messages, each turn stored before anything else happens to it; not safe between threads.

    A session is over once the journal has it memorized up to `OVER`; of the others, the newest is the current one if
    it is not idle, and the rest wait to be remembered.

    Attributes:
        memory: The tenant's open memory.
        provider: The policy over it.
        channel, chat_id: The tenant.
        view: What no book stores of it.
        session: The current session; None before its first message.
        kept: Its messages, in order.
    """

    def __init__(self, memory: Memory, provider: MemoryProvider, channel: str, chat_id: str, view: View) -> None:
        self.memory = memory
        self.provider = provider
        self.channel = channel
        self.chat_id = chat_id
        self.session: Session | None = None
        self.kept: list[StoredMessage] = []
        self.view = view
        self._left: set[str] = set()
        self._revision = 0
        self._load()

    @property
    def stored(self) -> bool:
        """True if turns are stored on disk."""
        return self.memory.config.enabled and self.memory.config.transcripts.enabled

    @property
    def uuid(self) -> str:
        """Uuid of the current session; "" before its first message."""
        return self.session.uuid if self.session else ""

    @property
    def has_model(self) -> bool:
        """True if a language model is set, with settings that can be used."""
        try:
            return self.memory.llm is not None
        except MemoryBookError:
            return False

    def now(self) -> datetime:
        """Return the time by the book's clock."""
        return self.memory.book.now()

    def language(self, *texts: str) -> str:
        """Return `en` or `zh`: the setting, else that of the texts, else that of what the user said last."""
        said = (text_of(each.message) for each in reversed(self.kept) if each.message["role"] == "user")
        worded = list(filter(is_worded, texts)) or list(islice(filter(is_worded, said), 1)) or texts
        return language_of(self.memory.config.language, worded)

    # --- what is on disk -----------------------------------------------------------------------

    def refresh(self) -> None:
        """Take in what other processes stored; what they wrote to summaries or other tenants costs nothing."""
        if not self.stored or self.memory.book.transcripts.revision() == self._revision:
            return
        changes = self.memory.book.transcripts.changes(self._revision)
        known = {each.message["id"] for each in self.kept}
        place = (SOURCE, self.channel, self.chat_id)
        ours = [(s, turn) for s, turn in changes.turns if (s.source, s.channel, s.chat_id) == place]
        if (
            any(session.uuid != self.uuid or turn.id not in known or self._is_edited(turn) for session, turn in ours)
            or any(session == self.uuid for session, _ in changes.removed)
            or (self.session is not None and self.memory.book.journal.reached(self.uuid) == OVER)
        ):
            self._load()
        else:
            self._revision = changes.revision

    def _is_edited(self, turn: Turn) -> bool:
        """Return whether a turn no longer says what its live message does, as something of it was forgotten."""
        live = next((each.message for each in self.kept if each.message["id"] == turn.id), None)
        kept = turn_of(self.memory, live, turn.session) if live is not None else None
        return kept is not None and (kept.text, kept.tool_calls) != (turn.text, turn.tool_calls)

    def _load(self) -> None:
        if not self.stored:
            return
        transcripts = self.memory.book.transcripts
        self._revision = transcripts.revision()
        standing = [each for each in self._open_sessions() if not self._is_idle(each)]
        current = next((each for each in standing if each.uuid == self.view.session), next(iter(standing), None))
        if current is None or current.uuid != self.uuid:
            self.kept = []
        self.session = current
        self.view.turn_to(self.uuid)
        turns = transcripts.turns(current.uuid) if current is not None else ()
        edited = {turn.id for turn in turns if self._is_edited(turn)}
        live = {each.message["id"]: each.message for each in self.kept if each.message["id"] not in edited}
        self.kept = [StoredMessage(live.get(turn.id) or message_of(turn), turn.position) for turn in turns]

    def _open_sessions(self) -> list[Session]:
        """Return the tenant's sessions that are not over, the newest first."""
        found = self.memory.book.transcripts.going_on(SOURCE, self.channel, self.chat_id)
        return [each for each in found if self.memory.book.journal.reached(each.uuid) < OVER]

    def _is_idle(self, session: Session) -> bool:
        at = self.idle_at(session)
        return session.uuid in self._left or (at is not None and self.now() > at)

    @property
    def idle(self) -> bool:
        """True if the current session was left, or heard nothing for longer than `idle_timeout`."""
        return self.session is not None and self._is_idle(self.session)

    def idle_at(self, session: Session) -> datetime | None:
        """Return when the session is idle if nothing more is said; None for never."""
        timeout = self.memory.config.idle_timeout
        time = self.view.heard.get(session.uuid) or session.updated
        return time + timedelta(seconds=timeout) if timeout and time is not None else None

    def waiting(self) -> list[str]:
        """Return the sessions that are neither over nor current, the oldest first."""
        return [each.uuid for each in reversed(self._open_sessions()) if each.uuid != self.uuid] if self.stored else []

    def kept_of(self, session: str) -> list[StoredMessage]:
        """Return the messages of a session as they are stored."""
        if session == self.uuid and self.kept:
            return list(self.kept)
        turns = self.memory.book.transcripts.turns(session)
        return [StoredMessage(message_of(turn), turn.position) for turn in turns]

    # --- how far it is remembered --------------------------------------------------------------

    def offset(self, session: str, kept: Sequence[StoredMessage]) -> int:
        """Count the first of these messages of the session that are remembered."""
        return bisect_right(kept, self.memory.book.journal.reached(session), key=lambda each: each.position)

    @property
    def unremembered(self) -> list[StoredMessage]:
        """The messages of the current session that are not remembered yet."""
        return self.kept[self.offset(self.uuid, self.kept) :] if self.session else []

    def reach(self, session: str, position: int) -> None:
        """Record that the session is remembered up to that position."""
        self.memory.book.journal.reach(session, position, time=self.now())

    # --- talking -------------------------------------------------------------------------------

    def add(self, message: Message) -> Message:
        """Store a message; one whose id is known is left as it is. Raises InvalidInput."""
        given = with_id(message, self.now())
        if self.session is None and self.stored and not self.memory.config.transcripts.auto_session:
            raise locale.error(InvalidInput, "agent.no_open_session")
        for each in self.kept if message.get("id") else ():
            if each.message["id"] == given["id"]:
                return each.message
        self.session = self.session or self._new_session()
        self.view.turn_to(self.uuid)
        self.view.heard[self.uuid] = self.now()
        position = self.kept[-1].position if self.kept else -1
        turn = turn_of(self.memory, given, self.session.uuid) if self.stored else None
        if turn is not None:
            [left] = without_forgotten_turns(self.memory.book, [turn])
            if left != turn:
                if not left.text.strip() and not left.tool_calls:
                    return given  # it only repeats what was forgotten
                turn, given = left, message_of(left)
            transcripts = self.memory.book.transcripts
            known = transcripts.revision() == self._revision
            stored = transcripts.append(self.session, [turn])
            position = stored[0].position if stored else position
            self._revision += known  # by this turn; what others stored in between is still to be taken in
        elif not self.stored:
            position += 1
        self.kept.append(StoredMessage(given, position))
        return given

    def _new_session(self, name: str = "") -> Session:
        now = self.now()
        session = Session(uuid=str(uuid4()), name=name, created=now, updated=now)
        return replace(session, source=SOURCE, channel=self.channel, chat_id=self.chat_id)

    def usable(self, name: str) -> str:
        """Return the name as `open` takes it. Raises InvalidInput if it is blank, or of a session that cannot go on."""
        name = Mask(self.memory.context).text(" ".join(name.split()))
        if not name:
            raise locale.error(InvalidInput, "agent.session_name_blank")
        if self.session is not None and self.session.name == name:
            raise locale.error(InvalidInput, "agent.session_is_current", name=repr(name))
        if self.stored and self._named(name) is None:
            try:
                self.memory.book.transcripts.session(name)
            except NotFound:
                return name
            except Conflict:
                pass
            raise locale.error(InvalidInput, "agent.session_name_taken", name=repr(name))
        return name

    def _named(self, name: str) -> Session | None:
        """Return the tenant's session of that name that is neither over nor the current one."""
        return next((each for each in self._open_sessions() if each.name == name and each.uuid != self.uuid), None)

    def open(self, name: str) -> None:
        """Go on with the session of that usable name, or begin one."""
        known = self._named(name) if self.stored else None
        self.session = known or self._new_session(name)
        self.kept = self.kept_of(self.uuid) if known is not None else []
        self.view.turn_to(self.uuid)
        self.view.heard[self.uuid] = self.now()
        self._left.discard(self.uuid)
        if self.stored:
            self.memory.book.transcripts.append(self.session, [])

    def leave(self) -> str:
        """Begin anew with the next message; return the uuid of the session that was left, "" for none."""
        left, self.session, self.kept = self.uuid, None, []
        self.view.turn_to("")
        if left:
            self._left.add(left)
            self.view.heard.pop(left, None)
        return left

    def close(self, session: str) -> None:
        """Record that the session is over."""
        if self.stored:
            end(self.memory.context, session, self.now())
        else:
            self.reach(session, OVER)

    # --- what the model is shown ---------------------------------------------------------------

    def history(self, most: int) -> list[Message]:
        """Return at most so many last messages of the session, as a model is sent them."""
        return list(map(to_model, complete_calls([each.message for each in self.shown(most)])))

    def shown(self, most: int) -> list[StoredMessage]:
        """Return the last messages from `view.start` on, at most so many."""
        return [each for each in self.kept[-most:] if each.position >= self.view.start] if most else []

    def earlier(self, most: int) -> str:
        """Return a summary of the session: the host's, the stored one, or one of what `history` leaves out."""
        return self.view.summary or self.summary(made=self.view.start > 0 or len(self.kept) > most)

    def summary(self, *, made: bool = True) -> str:
        """Return the session's stored summary; if it has none, with `made` some of its sentences."""
        if not self.stored or self.session is None:
            return ""
        transcripts = self.memory.book.transcripts
        try:
            session = transcripts.told(self.uuid).session
        except NotFound:
            return ""
        if session.summary or not made:
            return session.summary
        return summarize(transcripts.turns(self.uuid), session=session, language=self.memory.config.language).summary


# --- giving it to memory -------------------------------------------------------------------------

_WRITTEN = frozenset({"add", "update", "merge", "reinforce", "supersede", "append"})
"""Kinds of changes that count as something remembered."""

_PAUSE, _LONGEST = 30, 3600  # seconds until the next try in the background, after one failure and at most


class Remembered(NamedTuple):
    """The result of giving messages to memory.

    Attributes:
        ok: False if it failed: they wait, and are tried again.
        things: How many were remembered.
        reason: Why it failed; "" if it did not.
        text: One line for people.
    """

    ok: bool
    things: int = 0
    reason: str = ""
    text: str = ""


class Compacted(NamedTuple):
    """The result of compacting a conversation.

    Attributes:
        messages: Its last messages, as a model is sent them.
        summary: Stands for those before.
        remembered: What memory was given before.
    """

    messages: tuple[Message, ...]
    summary: str
    remembered: Remembered


class SessionMemorizer:
    """Gives the sessions of one tenant to memory, one at a time; safe to share between threads.

    Args:
        window: See `MemorizeInput.memory_window`.
        tell: Called with the conversation, the kind, text and data of each event.
    """

    def __init__(self, window: int, tell: Callable[..., None]) -> None:
        self._window = window
        self._tell = tell
        self._alone = threading.Lock()
        self._failures = 0
        self._not_before: datetime | None = None

    def wanted(self, talk: Conversation) -> bool:
        """Return whether more than a window of the conversation is not remembered, and it did not fail just now.

        A provider that asks a model once for a session is given it at the end, or once it fills a call.
        """
        fresh = talk.unremembered
        if not (talk.memory.config.enabled and len(fresh) > self._window and self.ready(talk)):
            return False
        if not (talk.stored and talk.memory.llm is not None and isinstance(talk.provider, Tiered)):
            return True
        return sum(count_tokens(str(each.message.get("content", ""))) for each in fresh) >= MOST_TOKENS

    def ready(self, talk: Conversation) -> bool:
        """Return whether the next try in the background may be now."""
        return self._not_before is None or talk.now() >= self._not_before

    def remember(
        self, talk: Conversation, session: str, kept: Sequence[StoredMessage], *, archive_all: bool
    ) -> Remembered:
        """Give these messages of a session to memory, as far as they are new; with `archive_all` to the last one.

        How far it got is on disk before this returns; after a crash in between they are given once more.
        """
        if not talk.memory.config.enabled:
            return Remembered(True)
        with self._alone:
            offset = talk.offset(session, kept)
            if offset == len(kept):
                return Remembered(True)
            given = MemorizeInput(
                [without_recalled_text(each.message) for each in kept],
                last_consolidated=offset,
                archive_all=archive_all,
                memory_window=self._window,
                session=session,
            )
            result = talk.provider.memorize(given)
            through = len(kept) if archive_all else result.new_last_consolidated
            if result.ok and through > offset:
                talk.reach(session, kept[through - 1].position)
        if result.ok:
            self._failures, self._not_before = 0, None
            return self._done(talk, result.operation)
        pause = min(_LONGEST, _PAUSE * 2 ** min(self._failures, 10))  # a model that is down is not asked all the time
        self._failures += 1
        self._not_before = talk.now() + timedelta(seconds=pause)
        language = talk.language()
        text = locale.message("agent.memorize_failed", language, reason=locale.translate(result.reason, language))
        self._tell(talk, "memorize_failed", text, reason=result.reason)
        return Remembered(False, 0, result.reason, text)

    def put_off(self, talk: Conversation, session: str, kept: Sequence[StoredMessage], reason: str) -> Remembered:
        """Queue a session that is over to be remembered later; without a language model rules remember it now."""
        given = [] if talk.stored else [without_recalled_text(each.message) for each in kept]
        found = put_off(talk.memory.context, given, session, reason)
        return Remembered(False, 0, reason) if found.queued else self._done(talk, found.operation)

    def _done(self, talk: Conversation, operation: str | None) -> Remembered:
        changes = talk.memory.book.journal.operation(operation).changes if operation else ()
        things = sum(change.kind in _WRITTEN for change in changes)
        text = locale.message("agent.remembered", talk.language(), count=things)
        if things:
            self._tell(talk, "remembered", text, count=things, operation=operation)
        return Remembered(True, things, "", text)
