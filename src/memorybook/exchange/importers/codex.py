"""Session files of Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-*.jsonl`.

A line is `{timestamp, type, payload}`: `session_meta` first, then `response_item`s (what the model was sent and said)
and `event_msg`s (what was shown); early versions wrote response items without the wrapping, and what was shown not at
all. https://github.com/openai/codex/blob/main/codex-rs/protocol/src/protocol.rs (RolloutLine), models.rs (ResponseItem)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import several
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
    word,
)
from memorybook.text.times import parse_time

NAME = "codex"
APART = False

_WRAPPED = frozenset(("session_meta", "response_item", "event_msg", "turn_context", "compacted"))
_CALLS = frozenset(("function_call", "custom_tool_call", "local_shell_call", "web_search_call", "tool_search_call"))
_OUTPUTS = frozenset(("function_call_output", "custom_tool_call_output", "local_shell_call_output"))
_INJECTED = (
    r"\s*(?:<(?:environment_context|user_instructions|permissions instructions|turn_aborted|skill|skills_instructions|"
    r"subagent_notification|collaboration_mode|user_shell_command|model_switch|personality_spec|apps_instructions|"
    r"INSTRUCTIONS|recommended_plugins)\b|# AGENTS\.md instructions)"
)


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are lines of a session."""
    return any(
        (word(fields.get("type")) in _WRAPPED and isinstance(fields.get("payload"), dict))
        or (word(fields.get("type")) in _CALLS | _OUTPUTS and "call_id" in fields)
        or ("instructions" in fields and "id" in fields and "timestamp" in fields)
        for fields in sample
    )


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a session: of the user as they were typed, where that is recorded."""
    reader = _Reader(timezone)
    for record in records:
        reader.take(record)
    if reader.sub_agent:
        warn("a sub-agent's own session, left out: what it found is in the session that asked it")
        return
    for what, count in reader.unknown.items():
        warn(f"{several(count, 'line')} of an unknown kind, {what or 'none'!r}, left out")
    for said in reader.told():
        yield said._replace(session=reader.session, lasting=bool(reader.session))


class _Reader:
    """Takes the lines of one session."""

    def __init__(self, timezone: tzinfo) -> None:
        self.session = ""
        self.sub_agent = False
        self.unknown: dict[str, int] = {}
        self._timezone = timezone
        self._metadata: dict[str, Any] = {}
        self._tools: dict[str, str] = {}
        self._said: list[tuple[bool, Said]] = []

    def told(self) -> Iterator[Said]:
        """The messages; what was sent and what was shown of one and the same say it once."""
        shown = {said.role for event, said in self._said if event}
        sent = {said.role for event, said in self._said if not event}
        for event, said in self._said:
            by_event = "user" in shown if said.role == "user" else said.role not in sent
            if event == by_event or said.role == "tool" or said.tool_calls:
                yield said

    def take(self, record: Record) -> None:
        """Look at a line."""
        fields = record.fields
        payload = fields.get("payload")
        kind = word(fields.get("type"))
        if kind == "session_meta" or (not kind and "instructions" in fields and not self.session):
            self._meta(payload if isinstance(payload, dict) else fields)
        elif kind == "event_msg" and isinstance(payload, dict):
            self._event(record, payload)
        elif kind == "response_item" and isinstance(payload, dict):
            self._item(record, payload)
        elif kind in _CALLS | _OUTPUTS | {"message"}:
            self._item(record, fields)
        elif kind not in ("turn_context", "compacted", "reasoning") and "record_type" not in fields:
            self.unknown[kind] = self.unknown.get(kind, 0) + 1

    def _meta(self, fields: Mapping[str, Any]) -> None:
        if self.session:
            return  # of the session that this one was forked from
        self.session = word(fields.get("id"))
        source = fields.get("source")
        self.sub_agent = isinstance(source, dict) and any(str(key).lower().startswith("sub") for key in source)
        git = fields.get("git")
        branch = word(git.get("branch")) if isinstance(git, dict) else ""
        self._metadata = {
            **({"cwd": word(fields["cwd"])} if word(fields.get("cwd")) else {}),
            **({"gitBranch": branch} if branch else {}),
        }

    def _event(self, record: Record, payload: Mapping[str, Any]) -> None:
        role = {"user_message": "user", "agent_message": "assistant"}.get(word(payload.get("type")), "")
        text = payload.get("message")
        if role and isinstance(text, str):
            self._say(record, payload, role, clean(text), event=True)

    def _item(self, record: Record, item: Mapping[str, Any]) -> None:
        kind = word(item.get("type"))
        if kind == "message":
            role = role_of(item.get("role"))
            text = content_of(item.get("content"))[0]
            if role in ("user", "assistant") and not re.match(_INJECTED, text):
                self._say(record, item, role, text)
        elif kind in _CALLS:
            self._call(record, item)
        elif kind in _OUTPUTS:
            call = word(item.get("call_id"))
            text = cut(_output(item.get("output")).strip(), TOOL_TEXT_LIMIT)
            self._say(record, item, "tool", text, speaker=self._tools.get(call, "tool"), call=call)

    def _call(self, record: Record, item: Mapping[str, Any]) -> None:
        name = word(item.get("name")) or word(item.get("type")).removesuffix("_call")
        id = word(first(item, "call_id", "id"))
        self._tools[id] = name
        call = {"id": id, "name": name, "arguments": json_safe(first(item, "arguments", "input", "action"))}
        self._said.append((False, self._made(record, item, "assistant", "")._replace(tool_calls=(call,))))

    def _say(
        self,
        record: Record,
        item: Mapping[str, Any],
        role: str,
        text: str,
        *,
        speaker: str = "",
        call: str = "",
        event: bool = False,
    ) -> None:
        if text.strip():
            said = self._made(record, item, role, text)
            metadata = {**said.metadata, "tool_call_id": call} if call else said.metadata
            self._said.append((event, said._replace(speaker=speaker or role, metadata=metadata)))

    def _made(self, record: Record, item: Mapping[str, Any], role: str, text: str) -> Said:
        stamp = first(record.fields, "timestamp")
        return Said(
            text=text,
            role=role_of(role),
            speaker=role,
            time=parse_time(stamp, self._timezone),
            stamp=word(stamp),
            id=word(item.get("id")),
            metadata=self._metadata,
            line=record.line,
        )


def _output(value: Any) -> str:
    """The text of a tool's output: a string, in which JSON may wrap it, blocks, or an object with a `content`."""
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
