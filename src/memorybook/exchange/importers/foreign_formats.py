"""Formats of other programs: exports of ChatGPT and Claude, transcripts of agents, memories of mem0 and Markdown."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time, tzinfo
from typing import Any

from memorybook.errors import InvalidInput
from memorybook.exchange.importers.records import Page, Statement, as_object, objects, raw_lines, several, tool_results
from memorybook.formats.messages_json import (
    TOOL_TEXT_LIMIT,
    Record,
    Said,
    Warn,
    clean,
    content_of,
    cut,
    dated,
    first,
    json_safe,
    role_of,
    said_in,
    timed,
    word,
)
from memorybook.formats.timestamps import parse_time

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


_INNER = frozenset(("thoughts", "reasoning_recap", "user_editable_context", "model_editable_context"))
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
        times = {id: as_object(nodes[id].get("message")).get("create_time") for id in reversed(ends)}
        fine = {id: time if isinstance(time, float | int) and 0 <= time < 1e20 else 0.0 for id, time in times.items()}
        here = max(fine, key=lambda id: fine[id], default=None)
    path = _up(record, nodes, here, "parent", warn)
    return [message for node in path if isinstance(message := node.get("message"), dict)]


def _chatgpt_turns(message: Mapping[str, Any], timezone: tzinfo) -> Iterator[Said]:
    """Yield the turn of a message, unless it was never shown or is empty."""
    author, content = as_object(message.get("author")), as_object(message.get("content"))
    metadata = as_object(message.get("metadata"))
    if any(metadata.get(flag) for flag in _HIDDEN) or word(content.get("content_type")) in _INNER:
        return
    role = role_of(author.get("role"))
    text, media = _text(content)
    calls: tuple[Mapping[str, Any], ...] = ()
    recipient = word(message.get("recipient"))
    if role == "assistant" and recipient not in ("", "all"):
        text, calls = "", ({"name": recipient, "arguments": text},)
    elif word(message.get("channel")) == "analysis":
        return  # thoughts
    media += [word(file.get("name")) for file in objects(metadata.get("attachments")) if word(file.get("name"))]
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
        kind = word(as_object(part).get("content_type"))
        if isinstance(part, str):
            texts.append(part)
        elif isinstance(value := first(as_object(part), "text"), str):
            texts.append(value)
        elif kind:
            media.append(_MEDIA.get(kind.split("_")[0], kind))
    if not texts:
        value = first(content, "text", "result", "output_str", "content")
        titled = [word(content.get(name)) for name in ("title", "url") if word(content.get(name))]
        texts += [*titled, value] if isinstance(value, str) else []
    return clean("\n".join(text for text in texts if text.strip())), media


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
            kept = (record.fields.get("conversations_memory"), *as_object(projects).values())
            texts = [clean(text) for text in kept if isinstance(text, str) and text.strip()]
            yield from (Page(re.sub(_HEADING, r"## \2", text)) for text in texts)
            continue
        messages = record.fields.get("chat_messages")
        if not isinstance(messages, list):
            warn(f"conversation {record.line}: no chat_messages, skipped")
            continue
        shown = objects(messages)
        if broken := len(messages) - len(shown):
            warn(f"conversation {record.line}: {several(broken, 'message')} that are no objects, left out")
        by_id = {id: message for message in shown if isinstance(id := message.get("uuid"), str)}
        here = record.fields.get("current_leaf_message_uuid")  # up to it by their parents; as they stand without any
        shown = _up(record, by_id, here, "parent_message_uuid", warn) or shown
        said = (said for message in shown for said in _claude_turns(message, timezone))
        fields: Any = {"id": ("uuid", "id"), "created": "created_at", "updated": "updated_at"}
        yield from _conversation(record, said, timezone, titles, title="name", **fields)


def _claude_turns(message: Mapping[str, Any], timezone: tzinfo) -> Iterator[Said]:
    """Yield the turn of a message, and after it the answers of the tools that it called."""
    role = role_of(first(message, "sender", "role"))
    content = message.get("content")
    text, calls = content_of(content)
    if not text.strip() and isinstance(plain := message.get("text"), str) and not calls:
        text = re.sub(_UNSHOWN, "", clean(plain)).strip()
    held = [file for kind in ("attachments", "files", "files_v2") for file in objects(message.get(kind))]
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


# --- Claude Code ----------------------------------------------------------------------------------
# Session transcripts of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`.
# A line is an event. Messages (`user`, `assistant`) hold a string or blocks, and what was typed while the agent worked
# is an `attachment`; what the program wrote for itself (meta lines, side chains, compaction summaries, reminders,
# thinking) is not the talk. The format is not published; it is as versions 1.0 to 2.1 write it.


_EVENTS = frozenset(("user", "assistant", "summary", "system", "attachment", "file-history-snapshot", "progress"))
_ASIDE = _EVENTS | {
    "queue-operation", "custom-title", "ai-title", "last-prompt", "agent-name", "agent-color", "agent-setting", "tag",
    "mode", "permission-mode", "pr-link", "cost-state", "worktree-state", "content-replacement", "agent_metadata",
    "saved_hook_context", "context-collapse-commit", "context-collapse-snapshot", "attribution-snapshot", "atis-latch",
}  # fmt: skip
"""Lines beside the talk."""

_OWN = ("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_INJECTED = (
    r"(?s)<(system-reminder|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|task-notification)>"
    r"(?:(?!<\1>).)*?</\1>"
)


def is_claude_code(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is an event of a transcript."""
    kind = word(fields.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(fields.get("message"), dict)
    return kind in _TITLES or (kind in _EVENTS and "sessionId" in fields) or "leafUuid" in fields


def read_claude_code(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Said]:
    """Yield the messages of a transcript, each tool result as a message of the tool.

    Titles found on the way are put into `titles` by session id ("" where the line names none).
    """
    tools: dict[str, str] = {}
    left = Counter[str]()
    for record in records:
        fields = record.fields
        kind = word(fields.get("type"))
        if title := word(fields.get(_TITLES.get(kind, ""))):
            titles[word(fields.get("sessionId"))] = " ".join(title.split())
        if fields.get("isSidechain"):
            left["of sub-agents"] += 1
        elif any(fields.get(flag) for flag in _OWN):
            continue
        elif kind in ("user", "assistant"):
            yield from _event(record, tools, timezone, warn)
        elif kind == "attachment":
            yield from _queued(record, timezone)
        elif kind not in _ASIDE:
            left[f"of an unknown kind, {kind or 'none'!r}"] += 1
    for what, count in left.items():
        warn(f"{several(count, 'line')} {what}, left out")


def _queued(record: Record, timezone: tzinfo) -> Iterator[Said]:
    """Yield what a person typed while the agent worked."""
    held = record.fields.get("attachment")
    if not isinstance(held, dict) or held.get("type") != "queued_command":
        return
    origin = held.get("origin")
    by_person = not isinstance(origin, dict) or origin.get("kind") in (None, "human")
    text = typed_text(content_of(held.get("prompt"))[0])
    if text and by_person and held.get("commandMode") in (None, "prompt"):
        yield _made(record, timezone)._replace(text=text, role="user", speaker="user")


def _event(record: Record, tools: dict[str, str], timezone: tzinfo, warn: Warn) -> Iterator[Said]:
    fields = record.fields
    message = fields.get("message")
    if not isinstance(message, dict):
        warn(f"line {record.line}: a {fields.get('type')} line without a message, skipped")
        return
    content = message.get("content")
    text, calls = content_of(content)
    said = _made(record, timezone)._replace(
        text=typed_text(text), role="assistant" if fields["type"] == "assistant" else "user", tool_calls=calls
    )
    tools.update((str(call["id"]), str(call["name"])) for call in calls)

    def told(block: Mapping[str, Any]) -> dict[str, Any]:
        call = word(block.get("tool_use_id"))
        return {"speaker": tools.get(call, "tool"), "metadata": {**said.metadata, "tool_call_id": call}}

    yield from tool_results(said, content, told)
    if said.text or calls:
        yield said._replace(speaker=said.role)


def _made(record: Record, timezone: tzinfo) -> Said:
    """Return what every turn has of its line."""
    fields = record.fields
    session = word(fields.get("sessionId"))
    return Said(
        text="",
        time=parse_time(fields.get("timestamp"), timezone),
        stamp=word(fields.get("timestamp")),
        session=session,
        lasting=bool(session),
        id=word(fields.get("uuid")),
        metadata={name: word(fields[name]) for name in ("cwd", "gitBranch") if word(fields.get(name))},
        line=record.line,
    )


def typed_text(text: str) -> str:
    """Return what a person typed: commands as they were typed, without what the program wrote around it."""
    text = re.sub(_INJECTED, "", clean(text))
    command = re.search(r"<command-name>(.*?)</command-name>", text)
    if command:
        arguments = re.search(r"(?s)<command-args>(.*?)</command-args>", text)
        return f"/{command[1].strip().lstrip('/')} {arguments[1].strip() if arguments else ''}".strip()
    text = re.sub(r"(?s)<bash-input>(.*?)</bash-input>", r"!\1", text)
    return re.sub(r"\[Request interrupted by user[^\]]*\]", "", text).strip()


# --- Codex ----------------------------------------------------------------------------------------
# Session files of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.
# A line is `{timestamp, type, payload}`: `session_meta` first, then `response_item`s (what the model was sent and said)
# and `event_msg`s (what was shown); early versions wrote response items without the wrapping, and what was shown not at
# all. https://github.com/openai/codex, codex-rs/protocol/src: protocol.rs (RolloutLine), models.rs (ResponseItem)

_WRAPPED = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))
_INSERTED = (
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill|skills_instructions|"
    r"subagent_notification|collaboration_mode|user_shell_command|model_switch|personality_spec|apps_instructions|"
    r"INSTRUCTIONS|recommended_plugins)\b|# AGENTS\.md instructions)"
)


def is_codex(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a line of a session."""
    kind = word(fields.get("type"))
    wrapped = kind in _WRAPPED and isinstance(fields.get("payload"), dict)
    return (
        wrapped
        or (kind in _CALLS | _OUTPUTS and "call_id" in fields)
        or {"instructions", "id", "timestamp"} <= fields.keys()
    )


def read_codex(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a session: of the user as they were typed, where that is recorded."""
    reader = _Reader(timezone)
    for record in records:
        reader.take(record)
    if reader.sub_agent:
        warn("a sub-agent's own session, left out: what it found is in the session that asked it")
        return
    for what, count in reader.unknown.items():
        warn(f"{several(count, 'line')} of an unknown kind, {what or 'none'!r}, left out")
    for said in reader.messages():
        yield said._replace(session=reader.session, lasting=bool(reader.session))


class _Reader:
    """Takes the lines of one session."""

    def __init__(self, timezone: tzinfo) -> None:
        self.session = ""
        self.sub_agent = False
        self.unknown = Counter[str]()
        self._timezone = timezone
        self._metadata: dict[str, Any] = {}
        self._tools: dict[str, str] = {}
        self._said: list[tuple[bool, Said]] = []

    def messages(self) -> Iterator[Said]:
        """Yield the messages; what was sent and what was shown of one and the same say it once."""
        shown = {said.role for event, said in self._said if event}
        sent = {said.role for event, said in self._said if not event}
        for event, said in self._said:
            by_event = "user" in shown if said.role == "user" else said.role not in sent
            if event == by_event or said.role == "tool" or said.tool_calls:
                yield said

    def take(self, record: Record) -> None:
        """Read a line."""
        fields = record.fields
        payload = fields.get("payload")
        kind = word(fields.get("type"))
        if kind == "session_meta" or (not kind and "instructions" in fields and not self.session):
            if self.session:  # of the session that this one was forked from
                return
            meta = payload if isinstance(payload, dict) else fields
            self.session = word(meta.get("id"))
            source, git = meta.get("source"), meta.get("git")
            self.sub_agent = isinstance(source, dict) and any(str(key).lower().startswith("sub") for key in source)
            branch = word(git.get("branch") if isinstance(git, dict) else "")
            found = {"cwd": word(meta.get("cwd")), "gitBranch": branch}
            self._metadata = {name: value for name, value in found.items() if value}
        elif kind == "event_msg" and isinstance(payload, dict):
            role = {"user_message": "user", "agent_message": "assistant"}.get(word(payload.get("type")), "")
            text = payload.get("message")
            if role and isinstance(text, str):
                self._say(record, payload, role, clean(text), event=True)
        elif kind == "response_item" and isinstance(payload, dict):
            self._item(record, payload)
        elif kind in _CALLS | _OUTPUTS | {"message"}:
            self._item(record, fields)
        elif kind not in ("turn_context", "compacted", "reasoning") and "record_type" not in fields:
            self.unknown[kind] += 1

    def _item(self, record: Record, item: Mapping[str, Any]) -> None:
        kind = word(item.get("type"))
        if kind == "message":
            role, text = role_of(item.get("role")), content_of(item.get("content"))[0]
            if role in ("user", "assistant") and not re.match(_INSERTED, text):
                self._say(record, item, role, text)
        elif kind in _CALLS:
            name, id = word(item.get("name")) or kind.removesuffix("_call"), word(first(item, "call_id", "id"))
            self._tools[id] = name
            call = {"id": id, "name": name, "arguments": json_safe(first(item, "arguments", "input", "action"))}
            self._say(record, item, "assistant", "", tool_calls=(call,))
        elif kind in _OUTPUTS:
            call_id = word(item.get("call_id"))
            text = cut(_output(item.get("output")).strip(), TOOL_TEXT_LIMIT)
            metadata = self._metadata | ({"tool_call_id": call_id} if call_id else {})
            self._say(record, item, "tool", text, speaker=self._tools.get(call_id, "tool"), metadata=metadata)

    def _say(
        self, record: Record, item: Mapping[str, Any], role: str, text: str, *, event: bool = False, **more: Any
    ) -> None:
        if not text.strip() and "tool_calls" not in more:
            return
        stamp = first(record.fields, "timestamp")
        said = Said(
            text=text,
            role=role_of(role),
            speaker=role,
            time=parse_time(stamp, self._timezone),
            stamp=word(stamp),
            id=word(item.get("id")),
            metadata=self._metadata,
            line=record.line,
        )
        self._said.append((event, said._replace(**more)))


def _output(value: Any) -> str:
    """Return a tool's output as text: a string, JSON in a string, blocks, or an object with a `content`."""
    if isinstance(value, str) and value.startswith("{"):
        try:
            wrapped = json.loads(value)
        except (ValueError, RecursionError):
            return clean(value)
        inner = wrapped.get("output") if isinstance(wrapped, dict) else None
        return clean(inner) if isinstance(inner, str) else clean(value)
    if isinstance(value, dict):
        value = first(value, "content", "output")
    return content_of(value)[0]


# --- histories ------------------------------------------------------------------------------------
# The `history.jsonl` of agent programs: a run's messages under a metadata line, or prompts as they were typed.
# Three shapes: messages `{role, content, timestamp}` after `{"_type": "metadata", "key": "channel:chat"}`;
# Claude Code's prompts `{display, timestamp, project, sessionId}`; Codex's `{session_id, ts, text}`.


def is_history(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is of a run's history."""
    return fields.get("_type") == "metadata" or _is_prompt(fields)


def _is_prompt(fields: Mapping[str, Any]) -> bool:
    if "role" in fields or "speaker" in fields:
        return False
    return {"display", "timestamp"} <= fields.keys() or {"session_id", "ts", "text"} <= fields.keys()


def read_history(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield the messages of a run, or the prompts that a person typed, as turns of the user."""
    yield from dated(_history(records, timezone, warn), timezone=timezone, warn=warn)


def read_chat(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """Yield messages that are objects of their own."""
    said = (said_in(record, timezone=timezone, warn=warn) for record in records)
    yield from dated(filter(None, said), timezone=timezone, warn=warn)


def _history(records: Iterable[Record], timezone: tzinfo, warn: Warn) -> Iterator[Said]:
    session = ""
    for record in records:
        fields = record.fields
        if fields.get("_type") == "metadata":
            session = word(first(fields, "key", "session", "session_id", "id"))
        elif not _is_prompt(fields):
            yield from filter(None, [said_in(record, timezone=timezone, warn=warn, session=session)])
        elif isinstance(text := first(fields, "display", "text"), str) and text.strip():
            stamp = first(fields, "timestamp", "ts")
            yield Said(
                text=clean(text),
                role="user",
                speaker="user",
                time=parse_time(stamp, timezone),
                stamp=word(stamp),
                session=word(first(fields, "sessionId", "session_id", "project")),
                metadata={"project": json_safe(fields["project"])} if fields.get("project") else {},
                line=record.line,
            )


# --- mem0 -----------------------------------------------------------------------------------------
# Memories of mem0, as `get_all` and the export of its platform give them, alone or under `results` or `memories`.
# https://docs.mem0.ai/api-reference/memory/get-memories, https://docs.mem0.ai/cookbooks/essentials/exporting-memories


_OWNERS = ("user_id", "agent_id", "app_id", "run_id", "actor_id")
_IDS = ("id", "memory_id", "uuid")


def is_mem0(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a memory."""
    if "role" in fields or "speaker" in fields:
        return False
    own = {"categories", "hash", "state", *_OWNERS} & fields.keys()
    return isinstance(fields.get("memory"), str) or (isinstance(fields.get("content"), str) and len(own) > 1)


def read_mem0(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Statement]:
    """Yield each memory as a statement; those that were deleted are left out."""
    deleted = 0
    for record in records:
        fields = record.fields
        text = first(fields, "memory", "content", "text", "data")
        if not isinstance(text, str) or not text.strip():
            warn(f"memory {record.line}: no text, skipped")
        elif fields.get("deleted") is True or word(fields.get("state")).lower() == "deleted":
            deleted += 1
        else:
            yield statement_of(fields, clean(text).strip(), timezone)
    if deleted:
        warn(f"{several(deleted, 'memory', 'memories')} deleted there, left out")


def statement_of(fields: Mapping[str, Any], text: str, timezone: tzinfo) -> Statement:
    """Return the memory that an object holds, with its times, tags, metadata and the day it expires."""
    given = fields.get("metadata")
    metadata = given if isinstance(given, dict) else {}
    given_tags = first(fields, "categories", "tags")
    words = (
        word(first(one, "name", "category") if isinstance(one, dict) else one)
        for one in (given_tags if isinstance(given_tags, list) else [given_tags])
    )
    tags = tuple(dict.fromkeys(filter(None, words)))
    expires = parse_time(first(fields, "expiration_date", "expirationDate"), timezone)
    owners = {name: word(fields.get(name)) for name in _OWNERS if word(fields.get(name))}
    return Statement(
        text=text,
        key=word(first(fields, *_IDS)) or text,
        time=parse_time(first(fields, "created_at", "createdAt"), timezone),
        changed=parse_time(first(fields, "updated_at", "updatedAt"), timezone),
        category=word(first(metadata, "category", "type")) or (tags[0] if tags else ""),
        tags=tags,
        metadata={**json_safe(metadata), **owners},
        expires=expires and expires.astimezone(timezone).date(),
    )


# --- Markdown -------------------------------------------------------------------------------------
# Memories that agents keep as Markdown: OpenClaw's `MEMORY.md`, `USER.md`, `memory/YYYY-MM-DD[-slug].md`.
# What stands in a file of a day is notes of that day; what stands elsewhere is long-term memory.
# https://docs.openclaw.ai/concepts/memory

_LASTING = ("memory.md", "user.md")
_MOST = 16 << 20
_NOT = ("readme.md", "dreams.md", "agents.md", "claude.md")


def is_memory(path: str) -> bool:
    """Return whether a Markdown file of this name, with the folders it is in, is an agent's memory.

    A page of a day is one where memories are kept, or at the top of what was named; elsewhere it is anything.
    """
    *folders, name = re.split(r"[\\/]", path.lower())
    if not name.endswith(".md") or name in _NOT:
        return False
    return name in _LASTING or "memory" in folders or (_day(name) is not None and len(folders) <= 1)


def read_markdown(path: str, stream: Iterable[bytes], *, timezone: tzinfo, warn: Warn) -> Iterator[Page]:
    """Yield the page of a file, or its parts where headings of a day's file name the hour.

    Raises InvalidInput for a file that is larger than any memory is.
    """
    text = markdown_text(path, stream, warn)
    if re.search(r"(?m)^(?:<!-- Total entries:|### \[\S+\] \w+ \| [01]\.\d\d \| )", text):
        warn("it is the MEMORY.md of a memorybook, left out: `memorybook restore` takes a whole book")
        return
    text = re.sub(r"\A(\s*)#[ \t](?!.*\d:\d\d).*", r"\1", text)  # the title
    text = re.sub(r"(?m)^- \*\*(?:Session Key|Session ID|Source)\*\*:.*$", "", text)  # of OpenClaw's session hook
    day = _day(os.path.basename(path))
    if day is None:
        yield Page(text)
        return
    for hour, part in by_hour(text):
        yield Page(part, parse_time(datetime.combine(day, hour), timezone))


def markdown_text(path: str, stream: Iterable[bytes], warn: Warn) -> str:
    """Return the text of a Markdown file. Raises InvalidInput if it is larger than any memory is."""
    raw, size = [], 0
    for line in raw_lines(stream):
        raw.append(line)
        size += len(line)
        if size > _MOST:
            raise InvalidInput(f"{path!r} is larger than {_MOST >> 20} MB: it is no page of memories")
    text = b"".join(raw).decode("utf-8-sig", "replace")
    if "\ufffd" in text:
        warn("some bytes are not UTF-8 and were replaced")
    return clean(text)


def day_of_name(name: str) -> date | None:
    """Return the day that a file's name begins with: `2026-02-20`, `20260220`, `2026年2月20日`, `2026.2.20`."""
    found = re.match(r"(\d{4})[-._年](\d\d?)[-._月](\d\d?)(?!\d)|(\d{4})(\d\d)(\d\d)(?!\d)", name)
    numbers = [int(each) for each in found.groups() if each] if found else []
    try:
        return date(*numbers) if numbers else None
    except ValueError:
        return None


def _day(name: str) -> date | None:
    found = re.match(r"(\d{4})-(\d\d)-(\d\d)(?!\d)", name)
    try:
        return date(int(found[1]), int(found[2]), int(found[3])) if found else None
    except ValueError:
        return None


def by_hour(text: str) -> Iterator[tuple[time, str]]:
    """Yield the parts of a day's page; what stands before the first hour is of the day's beginning."""
    pattern = r"#{1,6}\s.*?(?<![\d:.])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?(?![\d:])\s*(UTC|Z\b)?"
    hour, lines, fenced = time(), list[str](), False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith(("```", "~~~"))
        found = None if fenced else re.match(pattern, line)
        if found:
            yield hour, "\n".join(lines)
            zone = UTC if found[4] else None
            hour, lines = time(int(found[1]), int(found[2]), int(found[3] or 0), tzinfo=zone), []
        else:
            lines.append(line)
    yield hour, "\n".join(lines)
