"""One table of a TOML text, put in or taken out with every other line left as it is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

from memorybook.errors import InvalidInput


def with_entry(text: str, keys: Sequence[str], entry: Mapping[str, Any] | None, replaced: frozenset[str]) -> str:
    """The text with the entry in the table of those keys, or with None without that table and those below it.

    What else the table says stays, unless it is of `replaced`.

    Raises:
        InvalidInput: It is no TOML, or the table is written in a way that cannot be changed line by line.
    """
    if text.startswith("\ufeff"):
        return "\ufeff" + with_entry(text[1:], keys, entry, replaced)
    before = _parsed(text)
    known = _at(before, keys)
    if entry is None and known is None:
        return text
    wanted = None
    if entry is not None:
        kept = {name: value for name, value in known.items() if name not in replaced} if isinstance(known, dict) else {}
        wanted = {**entry, **kept}
        if known == wanted:
            return text
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines(keepends=True)
    spans = _spans(lines, keys)
    if entry is None:
        after = "".join(line for at, line in enumerate(lines) if not any(at in span for span in spans))
        if spans and spans[-1].stop == len(lines) and after.endswith(end * 2):  # the gap that stood before it
            after = after.removesuffix(end)
    elif own := next((span for span in spans if _header(lines[span.start]) == tuple(keys)), None):
        said = _statements(lines[own.start + 1 : own.stop], replaced)
        new = [lines[own.start].rstrip("\r\n") + end, *_assignments(entry, end), *said]
        after = "".join([*lines[: own.start], *new, *lines[own.stop :]])
    else:
        gap = "" if not text.strip() else end if text.endswith("\n") else end + end
        after = text + gap + table(keys, entry).replace("\n", end)
    if not _is_whole(after) or _meaning(_parsed(after), keys) != _meaning(_with(before, keys, wanted), keys):
        raise InvalidInput(f"{'.'.join(keys)} cannot be a table of its own there")
    return after


def table(keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """A table of texts and lists of texts."""
    return f"[{'.'.join(keys)}]\n{''.join(_assignments(entry, chr(10)))}"


def _assignments(entry: Mapping[str, Any], end: str) -> list[str]:
    # a JSON text is one of TOML, but for DEL
    return [
        f"{name} = {json.dumps(value, ensure_ascii=False)}{end}".replace("\x7f", "\\u007F")
        for name, value in entry.items()
    ]


def _parsed(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text, parse_float=str)  # nan is not equal to itself
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"it is no TOML ({error})") from None


def _at(values: Mapping[str, Any], keys: Sequence[str]) -> Any:
    found: Any = values
    for key in keys:
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _with(values: Mapping[str, Any], keys: Sequence[str], entry: Mapping[str, Any] | None) -> dict[str, Any]:
    first, rest = keys[0], keys[1:]
    if not rest:
        return {
            **{name: one for name, one in values.items() if name != first},
            **({} if entry is None else {first: entry}),
        }
    inner = values.get(first, {})
    return {**values, first: _with(inner if isinstance(inner, dict) else {}, rest, entry)}


def _meaning(values: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """The values, without the tables around ours if they are empty, which need no line of their own."""
    if len(keys) == 1:
        return values
    inner = _meaning(values[keys[0]], keys[1:]) if isinstance(values.get(keys[0]), dict) else values.get(keys[0])
    return {name: one for name, one in {**values, keys[0]: inner}.items() if name != keys[0] or inner}


def _spans(lines: Sequence[str], keys: Sequence[str]) -> list[range]:
    """The lines of our table and of each below it, header first; blank lines and comments before the next are its."""
    starts = [at for at, line in enumerate(lines) if line.lstrip().startswith("[") and _is_whole("".join(lines[:at]))]
    ends = [*starts, len(lines)][1:]
    return [
        range(start, _without_lead(lines, start, end))
        for start, end in zip(starts, ends, strict=True)
        if (_header(lines[start]) or ())[: len(keys)] == tuple(keys)
    ]


def _without_lead(lines: Sequence[str], start: int, end: int) -> int:
    """Where the table ends: comments right above the next header belong to that."""
    if end == len(lines):
        return end
    at = end
    while at > start + 1 and lines[at - 1].lstrip().startswith("#"):
        at -= 1
    return at


def _is_whole(text: str) -> bool:
    """Whether the text ends between two statements, not in a text or list of several lines."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header(line: str) -> tuple[str, ...] | None:
    """The keys that a header names; None for one of a list of tables."""
    try:
        values: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    keys: list[str] = []
    while isinstance(values, dict) and values:
        key = next(iter(values))
        keys.append(key)
        values = values[key]
    return tuple(keys) if isinstance(values, dict) else None


def _statements(lines: Sequence[str], without: frozenset[str]) -> list[str]:
    """The lines of a table but those of statements about these keys; comments and blank lines stay."""
    kept: list[str] = []
    run: list[str] = []
    for line in lines:
        run.append(line)
        if _is_whole("".join(run)):
            if not without & tomllib.loads("".join(run)).keys():
                kept += run
            run = []
    return kept + run
