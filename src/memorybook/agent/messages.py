"""Messages of an agent, and the turns that are stored of them."""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from difflib import SequenceMatcher
from itertools import takewhile
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.entries.read import Mask
from memorybook.errors import InvalidInput
from memorybook.search.tool_results import CLOSE, OPEN
from memorybook.sessions.turns import mask_turns, turns_of
from memorybook.text.sentences import is_chinese, without_recalled

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.formats.llm_messages import Message
    from memorybook.memory import Memory
    from memorybook.model import Turn

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


def is_empty(message: Message) -> bool:
    """Whether it is a user's message without content; pictures alone are content."""
    content = message.get("content")
    return message.get("role") == "user" and not (content.strip() if isinstance(content, str) else content)


def is_reply(message: Message) -> bool:
    """Whether it is a message of the model to the user."""
    return message.get("role") == "assistant" and not message.get("tool_calls")


def without_recalled_text(message: Message) -> Message:
    """Return the message without the recalled blocks in it, which are not remembered again."""
    text = text_of(message)
    return {**message, "content": without_recalled(text).strip()} if OPEN in text else message


def recalled_by_tools(messages: Sequence[Message]) -> list[str]:
    """Return what memory tools answered since the user spoke last."""
    found = []
    for message in reversed(messages):
        if message["role"] == "user":
            break
        found += _RECALLED.findall(text_of(message))
    return found


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
