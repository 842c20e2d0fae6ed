"""Session transcripts of Claude Code: `~/.claude/projects/PROJECT/SESSION.jsonl`.

A line is an event. Messages (`user`, `assistant`) hold a string or blocks; what the program wrote
for itself (meta lines, side chains, compaction summaries, reminders, thinking) is not the talk.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import tzinfo
from typing import Any

from memorybook.importers.chat_jsonl import TOOL_TEXT_LIMIT, content_of
from memorybook.importers.records import Record, Said, Warn, clean, cut, word
from memorybook.importers.times import parse_time

NAME = "claude-code"
APART = False

_EVENTS = frozenset(("user", "assistant", "summary", "system", "attachment", "file-history-snapshot", "progress"))
_OWN = ("isMeta", "isSidechain", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage")
_TITLES = {"summary": "summary", "custom-title": "customTitle", "ai-title": "aiTitle"}
_INJECTED = (
    r"(?s)<(system-reminder|local-command-(?:stdout|stderr|caveat)|bash-(?:stdout|stderr)|task-notification)>"
    r"(?:(?!<\1>).)*?</\1>"
)


def matches(sample: Sequence[Mapping[str, Any]]) -> bool:
    """Whether these first objects of a file are events of a transcript."""
    return any(_is_event(fields) for fields in sample)


def _is_event(fields: Mapping[str, Any]) -> bool:
    kind = fields.get("type")
    if kind in ("user", "assistant"):
        return isinstance(fields.get("message"), dict)
    return kind in _TITLES or (kind in _EVENTS and "sessionId" in fields) or "leafUuid" in fields


def read(records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]) -> Iterator[Said]:
    """The messages of a transcript, each tool result as a message of the tool.

    Titles found on the way are put into `titles` by session id ("" where the line names none).
    """
    tools: dict[str, str] = {}
    for record in records:
        fields = record.fields
        _keep_title(fields, titles)
        if fields.get("type") in ("user", "assistant") and not any(fields.get(flag) for flag in _OWN):
            yield from _event(record, tools, timezone, warn)


def _keep_title(fields: Mapping[str, Any], titles: dict[str, str]) -> None:
    name = _TITLES.get(str(fields.get("type")))
    title = word(fields.get(name)) if name else ""
    if title:
        titles[word(fields.get("sessionId"))] = " ".join(title.split())


def _event(record: Record, tools: dict[str, str], timezone: tzinfo, warn: Warn) -> Iterator[Said]:
    fields = record.fields
    message = fields.get("message")
    if not isinstance(message, dict):
        warn(f"line {record.line}: a {fields.get('type')} line without a message, skipped")
        return
    content = message.get("content")
    text, calls = content_of(content)
    said = Said(
        text=typed_text(text),
        role="assistant" if fields["type"] == "assistant" else "user",
        time=parse_time(fields.get("timestamp"), timezone),
        stamp=word(fields.get("timestamp")),
        session=word(fields.get("sessionId")),
        id=word(fields.get("uuid")),
        tool_calls=calls,
        metadata={name: word(fields[name]) for name in ("cwd", "gitBranch") if word(fields.get(name))},
        line=record.line,
    )
    tools.update((str(call["id"]), str(call["name"])) for call in calls)
    yield from _results(said, content if isinstance(content, list) else [], tools)
    if said.text or calls:
        yield said._replace(speaker=said.role)


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
