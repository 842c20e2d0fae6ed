"""Session transcripts of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`.

A line is an event. Messages (`user`, `assistant`) hold a string or blocks, and what was typed while the agent worked
is an `attachment`; what the program wrote for itself (meta lines, side chains, compaction summaries, reminders,
thinking) is not the talk. The format is not published; it is as versions 1.0 to 2.1 write it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.exchange.importers.records import several
from memorybook.formats.messages_json import TOOL_TEXT_LIMIT, Record, Said, Warn, clean, content_of, cut, word
from memorybook.text.times import parse_time

NAME = "claude-code"
APART = False

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


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are events of a transcript."""
    return any(_is_event(fields) for fields in sample)


def _is_event(fields: Mapping[str, Any]) -> bool:
    kind = word(fields.get("type"))
    if kind in ("user", "assistant"):
        return isinstance(fields.get("message"), dict)
    return kind in _TITLES or (kind in _EVENTS and "sessionId" in fields) or "leafUuid" in fields


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a transcript, each tool result as a message of the tool.

    Titles found on the way are put into `titles` by session id ("" where the line names none).
    """
    tools: dict[str, str] = {}
    left = Counter[str]()
    for record in records:
        fields = record.fields
        _keep_title(fields, titles)
        kind = word(fields.get("type"))
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


def _keep_title(fields: Mapping[str, Any], titles: dict[str, str]) -> None:
    name = _TITLES.get(str(fields.get("type")))
    title = word(fields.get(name)) if name else ""
    if title:
        titles[word(fields.get("sessionId"))] = " ".join(title.split())


def _queued(record: Record, timezone: tzinfo) -> Iterator[Said]:
    """What a person typed while the agent worked."""
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
    yield from _results(said, content if isinstance(content, list) else [], tools)
    if said.text or calls:
        yield said._replace(speaker=said.role)


def _made(record: Record, timezone: tzinfo) -> Said:
    """What every turn has of its line."""
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


def _results(said: Said, blocks: list[Any], tools: Mapping[str, str]) -> Iterator[Said]:
    """The tool results that a `user` line carries back, as turns of the tool."""
    for place, block in enumerate(blocks):
        if not isinstance(block, dict) or block.get("type") != "tool_result":
            continue
        call = word(block.get("tool_use_id"))
        text = cut(content_of(block.get("content"))[0].strip(), TOOL_TEXT_LIMIT)
        if not text:
            continue
        failed = {"is_error": True} if block.get("is_error") else {}
        yield said._replace(
            text=text,
            role="tool",
            speaker=tools.get(call, "tool"),
            id=f"{said.id}:{place}" if said.id else "",
            tool_calls=(),
            metadata={**said.metadata, "tool_call_id": call, **failed},
        )


def typed_text(text: str) -> str:
    """What a person typed: commands as they were typed, without what the program wrote around it."""
    text = re.sub(_INJECTED, "", clean(text))
    command = re.search(r"<command-name>(.*?)</command-name>", text)
    if command:
        arguments = re.search(r"(?s)<command-args>(.*?)</command-args>", text)
        return f"/{command[1].strip().lstrip('/')} {arguments[1].strip() if arguments else ''}".strip()
    text = re.sub(r"(?s)<bash-input>(.*?)</bash-input>", r"!\1", text)
    return re.sub(r"\[Request interrupted by user[^\]]*\]", "", text).strip()
