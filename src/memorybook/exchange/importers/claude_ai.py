"""Claude's data export: `conversations.json`, an array of conversations with `chat_messages`, and `memories.json`.

https://support.claude.com/en/articles/9450526-how-can-i-export-my-claude-data
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import Page, several
from memorybook.formats.messages_json import (
    TOOL_TEXT_LIMIT,
    Record,
    Said,
    Warn,
    clean,
    content_of,
    cut,
    first,
    role_of,
    timed,
    word,
)
from memorybook.text.times import parse_time

NAME = "claude"
APART = True

_UNSHOWN = r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?"
_HEADING = r"(?m)^[ \t]*(\*{1,3}|_{1,3})(?=\S)((?:(?!\1).)+)(?<![\s.。!！?？])\1[:：]?[ \t]*$"
"""What Claude writes for a heading of what it remembers: a line that is bold or italic alone, and no sentence."""

_MEMORIES = frozenset(("conversations_memory", "project_memories"))


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are conversations."""
    return any(isinstance(fields.get("chat_messages"), list) or _MEMORIES & fields.keys() for fields in sample)


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said | Page]:
    """The messages of each conversation, on the branch that was shown last where it says so; what Claude remembers."""
    for record in records:
        if _MEMORIES & record.fields.keys():
            yield from _memories(record.fields)
            continue
        messages = record.fields.get("chat_messages")
        if not isinstance(messages, list):
            warn(f"conversation {record.line}: no chat_messages, skipped")
            continue
        id = word(first(record.fields, "uuid", "id"))
        name = id or word(record.fields.get("name"))
        title = " ".join(word(record.fields.get("name")).split())
        if title:
            titles[name] = title
        broken = sum(not isinstance(message, dict) for message in messages)
        if broken:
            warn(f"conversation {record.line}: {several(broken, 'message')} that are no objects, left out")
        shown = _shown(record.fields, [one for one in messages if isinstance(one, dict)])
        found = (said for message in shown for said in _message(message, timezone))
        times = (parse_time(record.fields.get(name), timezone) for name in ("created_at", "updated_at"))
        for said in timed(found, *times):
            yield said._replace(session=name, lasting=bool(id), line=record.line)


def _memories(fields: Mapping[str, Any]) -> Iterator[Page]:
    projects = fields.get("project_memories")
    for text in (fields.get("conversations_memory"), *(projects.values() if isinstance(projects, dict) else ())):
        if isinstance(text, str) and text.strip():
            yield Page(re.sub(_HEADING, r"## \2", clean(text)))


def _shown(fields: Mapping[str, Any], messages: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The messages up to the current one by their parents; as they stand, if they have none."""
    by_id = {id: message for message in messages if isinstance(id := message.get("uuid"), str)}
    here = fields.get("current_leaf_message_uuid")
    path: list[Mapping[str, Any]] = []
    while isinstance(here, str) and here in by_id:
        path.append(by_id.pop(here))
        here = path[-1].get("parent_message_uuid")
    return path[::-1] or messages


def _message(message: Mapping[str, Any], timezone: tzinfo) -> Iterator[Said]:
    """The turn of a message, and after it the answers of the tools that it called."""
    role = role_of(first(message, "sender", "role"))
    content = message.get("content")
    text, calls = content_of(content)
    if not text.strip() and isinstance(plain := message.get("text"), str) and not calls:
        text = re.sub(_UNSHOWN, "", clean(plain)).strip()
    files = [name for kind in ("attachments", "files", "files_v2") for name in _names(message.get(kind))]
    if not text.strip() and files:
        text = f"[{', '.join(files)}]"
    stamp = message.get("created_at")
    said = Said(
        text=text,
        role=role,
        speaker=role or word(message.get("sender")),
        time=parse_time(stamp, timezone),
        stamp=word(stamp),
        id=word(message.get("uuid")),
        tool_calls=calls,
        metadata={"attachments": list(dict.fromkeys(files))} if files else {},
    )
    if text.strip() or calls:
        yield said
    yield from _results(said, content if isinstance(content, list) else [])


def _names(files: Any) -> Iterator[str]:
    for file in files if isinstance(files, list) else []:
        name = word(file.get("file_name")) if isinstance(file, dict) else ""
        if name:
            yield name


def _results(said: Said, blocks: list[Any]) -> Iterator[Said]:
    for place, block in enumerate(blocks):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            text = cut(content_of(block.get("content"))[0].strip(), TOOL_TEXT_LIMIT)
            if text:
                yield said._replace(
                    text=text,
                    role="tool",
                    speaker=word(block.get("name")) or "tool",
                    id=f"{said.id}:{place}" if said.id else "",
                    tool_calls=(),
                    metadata={"is_error": True} if block.get("is_error") else {},
                )
