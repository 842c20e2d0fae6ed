"""Markdown that people write: the notes of an Obsidian vault, and what a project tells its agents to do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from pathlib import PurePath
from typing import Any

from memorybook.exchange.importers.foreign_formats import by_hour, day_of_name, markdown_text
from memorybook.exchange.importers.records import Page, several
from memorybook.formats.messages_json import Warn, json_safe
from memorybook.formats.timestamps import parse_time

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
