"""What agents were told: agent files of Letta, threads of Zep, notes of Obsidian, a project's instructions."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import Any

from memorybook.exchange.importers.foreign_formats import by_hour, day_of_name, markdown_text, statement_of
from memorybook.exchange.importers.records import Page, Statement, objects, several
from memorybook.formats.messages_json import Record, Said, Warn, clean, content_of, first, json_safe, said_in, word
from memorybook.formats.timestamps import parse_time

# --- Letta ----------------------------------------------------------------------------------------
# Agent files (`.af`): one object with `agents` and `blocks`, each message under its agent; early ones are one agent
# with `core_memory` and `messages`. Of the API: archival passages, blocks and messages, in lists.
# https://github.com/letta-ai/agent-file; https://github.com/letta-ai/letta, letta/schemas: agent_file.py, passage.py

_REPLY = "send_message"
"""The tool by which an agent speaks; the text beside its call is what it thought."""

_KINDS = {
    "user_message": "user",
    "assistant_message": "assistant",
    "tool_call_message": "assistant",
    "tool_return_message": "tool",
}


def is_letta(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is an agent file, or a passage, block or message of the API."""
    if isinstance(fields.get("agents"), list) and isinstance(fields.get("blocks"), list):
        return True
    passage = isinstance(fields.get("text"), str) and not {"archive_id", "embedding_config"}.isdisjoint(fields)
    block = isinstance(fields.get("value"), str) and {"label", "limit"} <= fields.keys()
    return (
        isinstance(fields.get("core_memory"), list)
        or ((passage or block) and "role" not in fields)
        or word(fields.get("message_type")).endswith("_message")
    )


def read_letta(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Said | Statement | Page]:
    """Yield blocks as pages, passages as statements, and what an agent and its user said to each other."""
    left = Counter[str]()
    for record in records:
        fields = record.fields
        if fields.get("message_type"):
            yield from _letta_message(record.line, fields, "", timezone, warn, left)
        elif "value" in fields:
            yield from _blocks([fields], "")
        elif isinstance(fields.get("text"), str):
            yield from _passage(fields, timezone, left)
        else:
            agents = objects(fields.get("agents")) or [fields]
            name = word(agents[0].get("name"))
            yield from _blocks(objects(first(fields, "blocks", "core_memory")), name)
            for agent in agents:
                yield from _blocks(objects(agent.get("memory_blocks")), word(agent.get("name")))
                for message in objects(agent.get("messages")):
                    yield from _letta_message(record.line, message, word(agent.get("name")), timezone, warn, left)
    for what, count in left.items():
        warn(f"{several(count, what)} left out")


def _blocks(blocks: Iterable[Mapping[str, Any]], agent: str) -> Iterator[Page]:
    """Yield blocks of core memory, whose lines are entries with its label; a persona's lines name their agent."""
    for block in blocks:
        label, value = word(block.get("label")), block.get("value")
        lines = clean(value).split("\n") if isinstance(value, str) else []
        told = [line.strip() for line in lines if re.search(r"[^\W_]", line) and not re.search(r":\s*\?\s*$", line)]
        text = "\n".join(line if re.match(r"#{1,6}\s|[-*+•]\s|\d+[.)]\s", line) else f"- {line}" for line in told)
        if text:
            title = f"{agent or 'agent'} (persona)" if label == "persona" else ""
            yield Page(text, title=title, tags=(label,) if label else (), category="context" if title else "")


def _passage(fields: Mapping[str, Any], timezone: tzinfo, left: Counter[str]) -> Iterator[Statement]:
    text = clean(fields["text"]).strip()
    if fields.get("is_deleted") is True:
        left["deleted passage"] += 1
    elif first(fields, "file_id", "source_id") is not None:
        left["passage of a file"] += 1
    elif text:
        yield statement_of(fields, text, timezone)


def _letta_message(
    line: int, message: Mapping[str, Any], agent: str, timezone: tzinfo, warn: Warn, left: Counter[str]
) -> Iterator[Said]:
    kind = word(message.get("message_type"))
    role = _KINDS.get(kind, "") if kind else word(message.get("role"))
    if role not in ("user", "assistant", "tool"):
        left["system message or thought"] += 1
        return
    given = objects(message.get("tool_calls")) or objects([message.get("tool_call")])
    calls = [_call(call) for call in given]
    spoken = [word(call["arguments"].get("message")) for call in calls if call["name"] == _REPLY]
    others = [call for call in calls if call["name"] != _REPLY]
    text = content_of(first(message, "content", "text", "tool_return"))[0]
    if role == "user":
        said, event = _unpacked(text)
        if event not in ("", "user_message"):
            left["event"] += 1
            return
    elif role == "tool":
        said = "" if word(message.get("name")) == _REPLY else _unpacked(text)[0]
    else:
        said = "\n".join(filter(None, spoken)) or ("" if calls else text)
    if not said.strip() and not others:
        left["tool's empty answer" if role == "tool" else "empty message"] += 1
        return
    fields = {"role": role, "content": said, "tool_calls": others, "time": first(message, "created_at", "date")}
    fields["name"] = first(message, "name") if role != "assistant" else None
    for one in filter(None, [said_in(Record(line, fields), timezone=timezone, warn=warn, session=agent)]):
        yield one._replace(lasting=bool(agent))


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    inner = call.get("function")
    named = inner if isinstance(inner, dict) else call
    arguments = named.get("arguments")
    read = _object(arguments) if isinstance(arguments, str) else arguments
    id = word(first(call, "id", "tool_call_id"))
    return {"id": id, "name": word(named.get("name")), "arguments": json_safe(read if isinstance(read, dict) else {})}


def _unpacked(text: str) -> tuple[str, str]:
    """Return the message in the JSON that wraps it, and the kind that this names; a text without wrapping as it is."""
    fields = _object(text)
    inner = fields.get("message") if "type" in fields or "status" in fields else None
    return (clean(inner), word(fields.get("type"))) if isinstance(inner, str) else (text, word(fields.get("type")))


def _object(text: str) -> dict[str, Any]:
    try:
        read = json.loads(text) if text.lstrip().startswith("{") else {}
    except (ValueError, RecursionError):
        return {}
    return read if isinstance(read, dict) else {}


# --- Zep ------------------------------------------------------------------------------------------
# Answers of Zep Cloud and Graphiti as they are saved: facts (edges) with the times between which they hold, messages of
# sessions and threads, or an object that has both. https://help.getzep.com/facts, /v2/sdk-reference/memory/get

_FACTS = ("edges", "facts", "relevant_facts", "items")
_TALKS = ("threads", "sessions")


def is_zep(fields: Mapping[str, Any]) -> bool:
    """Return whether an object is a fact, a message with its kind of role, or holds facts or threads."""
    if isinstance(fields.get("fact"), str):
        return "role" not in fields
    held = any(
        isinstance(one, str) or (isinstance(one, dict) and "fact" in one)
        for key in _FACTS
        for one in (fields[key][:1] if isinstance(fields.get(key), list) else ())
    )
    talks = any("messages" in one for key in _TALKS for one in objects(fields.get(key)))
    return held or talks or isinstance(fields.get("role_type"), str)


def read_zep(
    records: Iterable[Record], *, timezone: tzinfo, warn: Warn, titles: dict[str, str]
) -> Iterator[Said | Statement]:
    """Yield facts as statements that expire when they ceased to hold, and the messages of each thread."""
    nodes = 0
    for record in records:
        fields = record.fields
        nodes += len(objects(fields.get("nodes")))
        if isinstance(fields.get("fact"), str):
            yield from _fact(fields, timezone)
            continue
        for key in _FACTS:
            listed = fields.get(key)
            for one in listed if isinstance(listed, list) else ():
                yield from _fact({"fact": one} if isinstance(one, str) else one, timezone)
        talks = [one for key in _TALKS for one in objects(fields.get(key))]
        for talk in [fields, *talks]:
            thread = word(first(talk, "thread_id", "session_id", "uuid", "id"))
            for message in objects(talk.get("messages")) or ([fields] if "role_type" in talk else []):
                yield from _zep_message(record.line, message, thread, timezone, warn)
    if nodes:
        warn(f"{several(nodes, 'node')} left out: what they sum up is in the facts")


def _fact(fields: Any, timezone: tzinfo) -> Iterator[Statement]:
    text = fields.get("fact") if isinstance(fields, dict) else None
    if not isinstance(text, str) or not text.strip():
        return
    ended = parse_time(first(fields, "invalid_at", "expired_at"), timezone)
    named = {"relation": word(fields.get("name")), "invalid_at": word(first(fields, "invalid_at", "expired_at"))}
    yield Statement(
        text=clean(text).strip(),
        key=word(first(fields, "uuid", "id")) or text,
        time=parse_time(first(fields, "valid_at", "created_at"), timezone),
        metadata={name: value for name, value in named.items() if value},
        expires=ended and ended.astimezone(timezone).date(),
    )


def _zep_message(line: int, message: Mapping[str, Any], thread: str, timezone: tzinfo, warn: Warn) -> Iterator[Said]:
    """Yield a message: where a `role_type` stands, `role` is the name of whoever speaks."""
    role = first(message, "role_type", "role")
    name = first(message, "name") or (message.get("role") if "role_type" in message else None)
    fields = {
        "role": "" if role == "norole" else role,
        "name": name,
        "content": message.get("content"),
        "time": first(message, "created_at", "timestamp"),
        "id": first(message, "uuid", "id"),
        "session": first(message, "session_id", "thread_id", "session"),
    }
    for one in filter(None, [said_in(Record(line, fields), timezone=timezone, warn=warn, session=thread)]):
        yield one._replace(lasting=bool(one.session))


# --- notes in Markdown ----------------------------------------------------------------------------


# --- Obsidian -------------------------------------------------------------------------------------
# A vault is a folder with `.obsidian/` in it. https://help.obsidian.md/properties, /syntax, /plugins/daily-notes

_CREATED = (
    "created",
    "date created",
    "created_at",
    "created at",
    "creation date",
    "date",
    "创建时间",
    "创建日期",
    "日期",
)
_TAGS = ("tags", "tag", "标签")
_ALIASES = ("aliases", "alias", "别名")
_SYNTAX = (
    (r"(?s)%%.*?%%", ""),  # comments
    (r"!\[\[[^\]\n]*\]\]|!\[[^\]\n]*\]\([^)\n]*\)", ""),  # embeds
    (r"\[\[[^\]|\n]*\|([^\]\n]+)\]\]", r"\1"),  # links with a name of their own
    (r"\[\[#\^?([^\]\n]+)\]\]|\[\[([^\]#|\n]+)(?:#[^\]\n]*)?\]\]", r"\1\2"),
    (r"(?m)^([ \t]*(?:>[ \t]*)+)\[![\w-]+\][+-]?[ \t]*(.*?)[ \t]*$", r"\1\2"),  # callouts
    (r"(?m)^[ \t]*(?:>[ \t]*)+", ""),
    (r"(?m)[ \t]+\^[\w-]+[ \t]*$", ""),  # ids of blocks
    (r"==(?=\S)([^=\n]+)==", r"\1"),
    (r"(?m)^([ \t]*(?:[-*+][ \t]+)?[\w ]{1,40})::[ \t]+", r"\1: "),  # fields of Dataview
)


def read_obsidian(path: str, stream: Iterable[bytes], *, timezone: tzinfo, warn: Warn, origin: str) -> Iterator[Page]:
    """Yield a note: on its day if its name is one, else as entries that name what the note is about.

    Links read as the names they show; embeds, comments and drawings are left out. Front matter gives tags, aliases
    (tags too) and the day of writing.
    """
    properties, text = front_matter(markdown_text(path, stream, warn))
    if "excalidraw-plugin" in properties:
        return
    for pattern, plain in _SYNTAX:
        text = re.sub(pattern, plain, text)
    title = os.path.splitext(os.path.basename(path))[0]
    text = re.sub(r"\A\s*#[ \t](?!.*\d:\d\d).*", "", text)
    if not re.search(r"\w", text):
        return
    words = (each for name in (*_TAGS, *_ALIASES) for each in _words(properties.get(name), name in _TAGS))
    tags = tuple(dict.fromkeys(re.sub(r"\s+", "-", word.strip().lstrip("#")) for word in words if word.strip()))
    inside = os.path.relpath(path, origin) if os.path.isdir(origin) else os.path.basename(path)
    metadata = {"note": PurePath(inside).as_posix()}
    if (day := day_of_name(title)) is not None:
        for hour, part in by_hour(text):
            yield Page(part, parse_time(datetime.combine(day, hour), timezone), tags=tags, metadata=metadata)
        return
    stamps = (parse_time(properties.get(name), timezone) for name in _CREATED)
    yield Page(text, title=title, tags=tags, metadata=metadata, created=next(filter(None, stamps), None))


def front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the properties at the top of a note, by their names in lower case, and the text below them.

    Read are lines `name: value`, lists in brackets and lists of `- ` lines: what notes hold of YAML.
    """
    found = re.match(r"\s*---[ \t]*\n(.*?)^---[ \t]*(?:\n|\Z)", text, re.S | re.M)
    if found is None:
        return {}, text
    properties: dict[str, Any] = {}
    name = ""
    for line in found[1].splitlines():
        item = re.match(r"\s*-\s+(.+)", line)
        pair = re.match(r"([^\s#:-][^:]*?)\s*:(?:\s+(.*))?$", line)
        if pair is not None:
            name, value = pair[1].strip("\"' ").lower(), (pair[2] or "").strip()
            listed = value.startswith("[") and value.endswith("]") and not value.startswith("[[")
            properties[name] = [_bare(one) for one in value[1:-1].split(",")] if listed else _bare(value)
        elif item is not None and name:
            held = properties[name] or []
            properties[name] = [*held, _bare(item[1])] if isinstance(held, list) else held
    return json_safe(properties), text[found.end() :]


def _bare(value: str) -> str:
    value = value.strip()
    quoted = re.fullmatch(r"\"(.*)\"|'(.*)'", value)
    return (quoted[1] or quoted[2] or "") if quoted else value


def _words(value: Any, spaces: bool) -> list[str]:
    """Return the words of a property: a list, or text that commas divide; and spaces, if asked for."""
    if isinstance(value, str):
        return re.split(r"[,，\s]+" if spaces else r"[,，]", value)
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def is_template(folders: Iterable[str]) -> bool:
    """Return whether a note is in a folder for templates, as vaults call it."""
    return any(re.fullmatch(r"[\W\d_]*(?:templates?|templater|模板)", name.lower()) for name in folders)


# --- instructions of a project ----------------------------------------------------------------------
# `CLAUDE.md`, `AGENTS.md` and the like. https://code.claude.com/docs/en/memory, https://agents.md

_NAMES = (
    r"(?:claude(?:\.local)?|agents(?:\.(?:local|override))?|gemini|copilot-instructions)\.md|\.(?:cursor|windsurf)rules"
)


def is_instructions(name: str) -> bool:
    """Return whether a file of this name tells agents what to do in a project."""
    return re.fullmatch(_NAMES, name.lower()) is not None


def read_instructions(
    path: str, stream: Iterable[bytes], *, timezone: tzinfo, warn: Warn, origin: str
) -> Iterator[Page]:
    """Yield the page of a project's instructions, whose commands are items too; what it imports is named, not read.

    What stands there is no speech of the user: it never is a preference, and says which file it is from.
    """
    text = front_matter(markdown_text(path, stream, warn))[1]
    text = re.sub(r"\A\s*#[ \t].*", "", text)
    text = re.sub(r"(?ms)^[ \t]*```(?:bash|sh|shell|zsh|console)[ \t]*\n(.*?)^[ \t]*```[ \t]*$", _commands, text)
    imports = re.compile(r"(?m)^[ \t]*(?:[-*+][ \t]+)?@([\w~./\\-]+)[ \t]*$")
    named = imports.findall(text)
    text = imports.sub("", text)
    if named:
        many = several(len(named), "imported file")
        warn(f"{many} not read: {', '.join(named[:5])}{' …' if len(named) > 5 else ''}; import what you want of them")
    if other := len(re.findall(r"(?m)^[ \t]*```[ \t]*\S*[ \t]*$", text)) // 2:
        warn(f"{several(other, 'block')} of code left out")
    if re.search(r"\w", text):
        yield Page(text, category="workflow", metadata={"instructions": os.path.basename(path)})


def _commands(fenced: re.Match[str]) -> str:
    lines = (line.strip().removeprefix("$ ") for line in fenced[1].splitlines())
    return "\n" + "".join(f"- `{line}`\n" for line in lines if line and not line.startswith("#"))
