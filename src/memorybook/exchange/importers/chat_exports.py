"""Data exports of ChatGPT and of Claude."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import Page, several, tool_results
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

# --- conversations --------------------------------------------------------------------------------


def _conversation(
    record: Record,
    said: Iterable[Said],
    timezone: tzinfo,
    titles: dict[str, str],
    *,
    id: tuple[str, ...],
    title: str,
    created: str,
    updated: str,
) -> Iterator[Said]:
    """Yield the turns of a conversation, named by its id, else by its title; the other arguments are its fields."""
    fields = record.fields
    lasting = word(first(fields, *id))
    name = lasting or " ".join(filter(None, (word(fields.get(title)), word(fields.get("create_time")))))
    if shown := " ".join(word(fields.get(title)).split()):
        titles[name] = shown
    for one in timed(said, *(parse_time(fields.get(field), timezone) for field in (created, updated))):
        yield one._replace(session=name, lasting=bool(lasting), line=record.line)


def _up(record: Record, nodes: Mapping[str, Mapping[str, Any]], here: Any, parent: str, warn: Warn) -> list[Any]:
    """Return the nodes from the root down to `here`."""
    path: list[Any] = []
    visited: set[str] = set()
    while isinstance(here, str) and here in nodes:
        if here in visited:
            warn(f"conversation {record.line}: its messages follow each other in a circle, which was cut")
            break
        visited.add(here)
        path.append(nodes[here])
        here = nodes[here].get(parent)
    return path[::-1]


# --- ChatGPT --------------------------------------------------------------------------------------
# ChatGPT's data export: `conversations.json` (or `conversations-000.json` …), an array of conversations.
# A conversation is a tree of messages, `mapping`, as questions can be edited and answers made again; the talk is the
# path from `current_node` up to its root.
# https://help.openai.com/en/articles/7260999-how-do-i-export-my-chatgpt-history-and-data


_OWN = frozenset(("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"))
_HIDDEN = ("is_visually_hidden_from_conversation", "is_user_system_message")
_MEDIA = {"image": "image", "audio": "audio", "video": "video"}


def is_chatgpt(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation of ChatGPT."""
    return isinstance(fields.get("mapping"), dict)


def read_chatgpt(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of each conversation."""
    for record in records:
        mapping = record.fields.get("mapping")
        if not isinstance(mapping, dict):
            warn(f"conversation {record.line}: no mapping of messages, skipped")
            continue
        said = (
            said for message in _chatgpt_branch(record, mapping, warn) for said in _chatgpt_turns(message, timezone)
        )
        fields: Any = {"id": ("conversation_id", "id"), "created": "create_time", "updated": "update_time"}
        yield from _conversation(record, said, timezone, titles, title="title", **fields)


def _chatgpt_branch(record: Record, mapping: Mapping[str, Any], warn: Warn) -> list[Mapping[str, Any]]:
    """Return the messages down to the current node, or to the newest end where none is named."""
    nodes = {id: node for id, node in mapping.items() if isinstance(node, dict)}
    if len(nodes) < len(mapping):
        warn(f"conversation {record.line}: {several(len(mapping) - len(nodes), 'node')} that are no objects, left out")
    here = record.fields.get("current_node")
    if not isinstance(here, str) or here not in nodes:
        parents = {parent for node in nodes.values() if isinstance(parent := node.get("parent"), str)}
        ends = [id for id in nodes if id not in parents] or list(nodes)
        times = {id: _object(nodes[id].get("message")).get("create_time") for id in reversed(ends)}
        fine = {id: time if isinstance(time, float | int) and 0 <= time < 1e20 else 0.0 for id, time in times.items()}
        here = max(fine, key=lambda id: fine[id], default=None)
    path = _up(record, nodes, here, "parent", warn)
    return [message for node in path if isinstance(message := node.get("message"), dict)]


def _chatgpt_turns(message: Mapping[str, Any], timezone: tzinfo) -> Iterator[Said]:
    """Yield the turn of a message, unless it was never shown or is empty."""
    author, content = _object(message.get("author")), _object(message.get("content"))
    metadata = _object(message.get("metadata"))
    if any(metadata.get(flag) for flag in _HIDDEN) or word(content.get("content_type")) in _OWN:
        return
    role = role_of(author.get("role"))
    text, media = _text(content)
    calls: tuple[Mapping[str, Any], ...] = ()
    recipient = word(message.get("recipient"))
    if role == "assistant" and recipient not in ("", "all"):
        text, calls = "", ({"name": recipient, "arguments": text},)
    elif word(message.get("channel")) == "analysis":
        return  # thoughts
    media += [word(file.get("name")) for file in _objects(metadata.get("attachments")) if word(file.get("name"))]
    if not text.strip() and media and role != "tool":
        text = f"[{', '.join(media)}]"
    if not text.strip() and not calls:
        return
    stamp = message.get("create_time")
    model = word(metadata.get("model_slug"))
    yield Said(
        text=cut(text, TOOL_TEXT_LIMIT) if role == "tool" else text,
        role=role,
        speaker=word(author.get("name")) if role == "tool" else role,
        time=parse_time(stamp, timezone),
        stamp=word(stamp),
        id=word(message.get("id")),
        tool_calls=calls,
        metadata={**({"attachments": media} if media else {}), **({"model": model} if model else {})},
    )


def _text(content: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return what a content says, and which pictures and recordings are in it."""
    parts = content.get("parts")
    texts: list[str] = []
    media: list[str] = []
    for part in parts if isinstance(parts, list) else []:
        kind = word(_object(part).get("content_type"))
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(value := first(_object(part), "text"), str):
            texts.append(value)
        elif kind:
            media.append(_MEDIA.get(kind.split("_")[0], kind))
    if not texts:
        value = first(content, "text", "result", "output_str", "content")
        titled = [word(content.get(name)) for name in ("title", "url") if word(content.get(name))]
        texts += [*titled, value] if isinstance(value, str) else []
    return clean("\n".join(text for text in texts if text.strip())), media


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: Any) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


# --- Claude ---------------------------------------------------------------------------------------
# Claude's data export: `conversations.json`, an array of conversations with `chat_messages`, and `memories.json`.
# https://support.claude.com/en/articles/9450526-how-can-i-export-my-claude-data

_UNSHOWN = r"(?:```\s*)?This block is not supported on your current device yet\.(?:\s*```)?"
_HEADING = r"(?m)^[ \t]*(\*{1,3}|_{1,3})(?=\S)((?:(?!\1).)+)(?<![\s.。!！?？])\1[:：]?[ \t]*$"
"""What Claude writes for a heading of what it remembers: a line that is bold or italic alone, and no sentence."""

_MEMORIES = frozenset(("conversations_memory", "project_memories"))


def is_claude(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a conversation of Claude, or what it remembers."""
    return isinstance(fields.get("chat_messages"), list) or not _MEMORIES.isdisjoint(fields)


def read_claude(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Said | Page]:
    """Yield the messages of each conversation; what Claude remembers."""
    for record in records:
        if not _MEMORIES.isdisjoint(record.fields):
            projects = record.fields.get("project_memories")
            kept = (record.fields.get("conversations_memory"), *_object(projects).values())
            texts = [clean(text) for text in kept if isinstance(text, str) and text.strip()]
            yield from (Page(re.sub(_HEADING, r"## \2", text)) for text in texts)
            continue
        messages = record.fields.get("chat_messages")
        if not isinstance(messages, list):
            warn(f"conversation {record.line}: no chat_messages, skipped")
            continue
        said = (said for message in _claude_branch(record, messages, warn) for said in _claude_turns(message, timezone))
        fields: Any = {"id": ("uuid", "id"), "created": "created_at", "updated": "updated_at"}
        yield from _conversation(record, said, timezone, titles, title="name", **fields)


def _claude_branch(record: Record, held: list[Any], warn: Warn) -> list[Mapping[str, Any]]:
    """Return the messages up to the current one by their parents; as they stand, if they have none."""
    messages = _objects(held)
    if broken := len(held) - len(messages):
        warn(f"conversation {record.line}: {several(broken, 'message')} that are no objects, left out")
    by_id = {id: message for message in messages if isinstance(id := message.get("uuid"), str)}
    here = record.fields.get("current_leaf_message_uuid")
    return _up(record, by_id, here, "parent_message_uuid", warn) or messages


def _claude_turns(message: Mapping[str, Any], timezone: tzinfo) -> Iterator[Said]:
    """Yield the turn of a message, and after it the answers of the tools that it called."""
    role = role_of(first(message, "sender", "role"))
    content = message.get("content")
    text, calls = content_of(content)
    if not text.strip() and isinstance(plain := message.get("text"), str) and not calls:
        text = re.sub(_UNSHOWN, "", clean(plain)).strip()
    held = [file for kind in ("attachments", "files", "files_v2") for file in _objects(message.get(kind))]
    files = [name for file in held if (name := word(file.get("file_name")))]
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
    yield from tool_results(said, content, lambda block: {"speaker": word(block.get("name")) or "tool"})
