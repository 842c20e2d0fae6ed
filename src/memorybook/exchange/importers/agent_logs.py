"""Transcripts that agent programs keep: Claude Code's, Codex's, and histories of what was typed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import several, tool_results
from memorybook.formats.messages_json import (
    TOOL_TEXT_LIMIT,
    Record,
    Said,
    Warn,
    clean,
    content_of,
    cut,
    first,
    json_safe,
    role_of,
    said_in,
    word,
)
from memorybook.text.times import parse_time

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
            if not self.session:  # else of the session that this one was forked from
                self._meta(payload if isinstance(payload, dict) else fields)
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

    def _meta(self, fields: Mapping[str, Any]) -> None:
        self.session = word(fields.get("id"))
        source, git = fields.get("source"), fields.get("git")
        self.sub_agent = isinstance(source, dict) and any(str(key).lower().startswith("sub") for key in source)
        branch = git.get("branch") if isinstance(git, dict) else ""
        found = {"cwd": word(fields.get("cwd")), "gitBranch": word(branch)}
        self._metadata = {name: value for name, value in found.items() if value}

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
