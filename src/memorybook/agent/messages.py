"""Messages of an agent and the turns that are kept of them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.agent.agent_words import WORDS
from memorybook.entries.mask import Mask
from memorybook.errors import InvalidInput
from memorybook.search.snippets import CLOSE, OPEN
from memorybook.sessions.turns import mask_turns, turns_of
from memorybook.text.sentences import is_chinese, without_recalled

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.model import Turn

ROLES = ("user", "assistant", "system", "tool")


class Kept(NamedTuple):
    """A message of the conversation, with its id and time, and the position of its turn in the session."""

    message: Message
    position: int


def stamped(message: Message, now: datetime) -> dict[str, Any]:
    """The message with an id and a time, checked.

    Raises:
        InvalidInput: It has no role that is known, or what is in it is no JSON.
    """
    if isinstance(message, Mapping) and message.get("role") and message["role"] not in ROLES:
        raise InvalidInput(f"role {repr(message['role'])[:80]} is not one of {', '.join(ROLES)}")
    if not isinstance(message, Mapping) or not message.get("role"):
        raise InvalidInput(f"message {repr(message)[:80]} has no role: give one of {', '.join(ROLES)}, and content")
    try:
        json.dumps(dict(message))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"message {repr(message)[:80]} is no JSON object ({error})") from None
    given = {"id": str(message.get("id") or secrets.token_hex(8)), "timestamp": message.get("timestamp")}
    return {**message, **given, "timestamp": given["timestamp"] or now.isoformat()}


def says_nothing(message: Message) -> bool:
    """Whether it is a user's message without any content; pictures alone are content."""
    content = message.get("content")
    return message.get("role") == "user" and not (content.strip() if isinstance(content, str) else content)


def own(message: Message) -> Message:
    """The message without what recall had put into it, which is no turn of the talk and is not remembered again."""
    text = text_of(message)
    return {**message, "content": without_recalled(text).strip()} if OPEN in text else message


def recalled_by_tools(messages: Sequence[Message]) -> list[str]:
    """What tools of the memory answered since the user spoke last."""
    found = []
    for message in reversed(messages):
        if message["role"] == "user":
            break
        found += _RECALLED.findall(text_of(message))
    return found


_RECALLED = re.compile(f"(?s){re.escape(OPEN)}(.*?){re.escape(CLOSE)}")


def turn_of(memory: Memory, message: Message, session: str) -> Turn | None:
    """The turn that is kept of a stamped message, secrets masked; None if it says nothing of its own."""
    message = own(message)
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
    """The message that a turn was kept of, as far as it was."""
    message: dict[str, Any] = {**turn.metadata, "role": turn.role or "user", "content": turn.text, "id": turn.id}
    if turn.time is not None:
        message["timestamp"] = turn.time.isoformat()
    if turn.speaker not in ("", turn.role):
        message["name"] = turn.speaker
    return message | ({"tool_calls": [dict(call) for call in turn.tool_calls]} if turn.tool_calls else {})


def text_of(message: Message) -> str:
    """What a message says: its content, or the texts among its blocks."""
    return words_of(message.get("content"))


def words_of(content: Any) -> str:
    """The text of a content: a string, or the texts among blocks."""
    if isinstance(content, str):
        return content
    blocks = content if isinstance(content, Sequence) else ()
    texts = (block if isinstance(block, str) else block.get("text") for block in blocks if block)
    return "\n".join(text for text in texts if isinstance(text, str))


def sent(message: Message) -> dict[str, Any]:
    """The message as a model is sent it; that a reply was cut short is said at its end."""
    fields = ("role", "content", "tool_calls", "tool_call_id")
    given = {"content": ""} | {name: message[name] for name in fields if message.get(name) is not None}
    if not message.get("cut"):
        return given
    text = text_of(message).rstrip()
    return given | {"content": f"{text} {WORDS['zh' if is_chinese(text) else 'en'].cut}"}


def whole(messages: Sequence[Message]) -> list[Message]:
    """The messages without calls of tools that were not answered and answers to calls that are not there.

    No model takes them; a crash, or a cut through the history, leaves them behind.
    """
    asked: set[str] = set()
    found: list[Message] = []
    for place, message in enumerate(messages):
        if message["role"] == "tool":
            if message.get("tool_call_id") in asked:
                found.append(message)
            continue
        asked = _calls(message)
        if asked <= _answers(messages[place + 1 :]):
            found.append(message)
            continue
        asked = set()
        if text_of(message).strip():
            found.append({name: value for name, value in message.items() if name != "tool_calls"})
    return found


def _calls(message: Message) -> set[str]:
    return {str(call.get("id")) for call in message.get("tool_calls") or ()}


def _answers(following: Sequence[Message]) -> set[str]:
    """The calls that are answered right after."""
    found = set()
    for message in following:
        if message["role"] != "tool":
            break
        found.add(str(message.get("tool_call_id")))
    return found


def cut_at(messages: Sequence[Message], keep: int) -> int:
    """Where to cut so that at least the last `keep` messages stay, and calls of tools with their answers."""
    place = max(0, len(messages) - keep)
    while 0 < place < len(messages) and messages[place].get("role") == "tool":
        place -= 1
    return place


def aligned(kept: Sequence[Kept], messages: Sequence[Message]) -> dict[int, int]:
    """Place among `messages` -> place among `kept`, where they say the same in the same order."""
    ours, theirs = [_key(each.message) for each in kept], [_key(message) for message in messages]
    matcher = SequenceMatcher(None, ours, theirs, autojunk=False)
    return {block.b + step: block.a + step for block in matcher.get_matching_blocks() for step in range(block.size)}


def _key(message: Message) -> tuple[Any, ...]:
    return message.get("role"), text_of(message), tuple(sorted(_calls(message)))
