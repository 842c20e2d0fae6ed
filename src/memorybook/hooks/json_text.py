"""JSON with comments and commas behind the last member, as editors keep it: read, and changed with comments kept."""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput

_TOKEN = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_LAST_COMMA = re.compile(r'"(?:[^"\\\n]|\\.)*"|,(?=\s*[\]}])')
_MOST = 1_000


def without_comments(text: str) -> str:
    """Return JSON text of the same length and lines, with blanks for comments and for commas behind the last member."""
    return _LAST_COMMA.sub(lambda found: found[0] if found[0][0] == '"' else " ", _blanked(text))


def values(text: str) -> Any:
    """Return what the text holds. Raises ValueError, RecursionError."""
    return json.loads(without_comments(text))


def edited(text: str, root: Any) -> str:
    """Return the text with its values changed to `root`, member by member; comments and all else stay.

    Raises InvalidInput if a comment would be lost.
    """
    for _ in range(_MOST):
        node = _Node.read(without_comments(text))
        if node.value == root:
            return text
        text = _changed(text, node, root)
    raise InvalidInput("too much of it would change")


class _Node(NamedTuple):
    """A value and where it stands in the text; of an object or a list also its members, by the start of each.

    Attributes:
        value: What it is.
        start, end: Where it stands.
        members: Key or position, where the member begins, its value.
    """

    value: Any
    start: int
    end: int
    members: tuple[tuple[str | int, int, _Node], ...] = ()

    @classmethod
    def read(cls, plain: str, at: int = 0) -> _Node:
        """Read the value that begins at the first character from `at` on that is no blank."""
        start = _skip(plain, at)
        value, end = json.JSONDecoder().raw_decode(plain, start)
        if not isinstance(value, dict | list):
            return cls(value, start, end)
        members: list[tuple[str | int, int, _Node]] = []
        at = _skip(plain, start + 1)
        while plain[at] not in "]}":
            key, after = json.JSONDecoder().raw_decode(plain, at) if isinstance(value, dict) else (len(members), at)
            node = cls.read(plain, _skip(plain, after) + 1 if isinstance(value, dict) else at)
            members.append((key, at, node))
            at = _skip(plain, node.end)
            at = _skip(plain, at + 1) if plain[at] == "," else at
        return cls(value, start, end, tuple(members))


def _skip(plain: str, at: int) -> int:
    while plain[at] in " \t\r\n":
        at += 1
    return at


def _blanked(text: str) -> str:
    return _TOKEN.sub(lambda one: one[0] if one[0][0] == '"' else re.sub(r"[^\r\n]", " ", one[0]), text)


def _changed(text: str, node: _Node, wanted: Any) -> str:
    """Make one of the changes that lead from the node's value to the wanted one."""
    known = node.value
    if isinstance(known, dict) and isinstance(wanted, dict):
        for at, (key, _, member) in enumerate(node.members):
            if key not in wanted:
                return _removed(text, node, at)
            if member.value != wanted[key]:
                return _changed(text, member, wanted[key])
        key, value = next((key, value) for key, value in wanted.items() if key not in known)
        return _added(text, node, f"{json.dumps(key, ensure_ascii=False)}: ", value)
    if isinstance(known, list) and isinstance(wanted, list) and known:
        differs = [at for at, (one, other) in enumerate(zip(known, wanted, strict=False)) if one != other]
        if not differs and len(wanted) > len(known):
            return _added(text, node, "", wanted[len(known)])
        if len(wanted) < len(known):
            return _removed(text, node, differs[0] if differs else len(wanted))
        return _changed(text, node.members[differs[0]][2], wanted[differs[0]])
    old = text[node.start : node.end]
    if _blanked(old) != old:
        raise InvalidInput("comments of what changes would be lost")
    return text[: node.start] + _printed(text, wanted, _margin(text, node.start)) + text[node.end :]


def _added(text: str, node: _Node, key: str, value: Any) -> str:
    """Put a member behind the last one, and behind the comments that follow it."""
    close = node.end - 1
    here = _margin(text, close if text[:close].rstrip(" \t").endswith("\n") else node.start)
    own_line = bool(node.members) and "\n" in text[node.start : node.members[0][1]]
    inner = _margin(text, node.members[0][1]) if own_line else here + _unit(text)
    end = node.start + len(text[node.start : close].rstrip())
    gap = "\r\n" if "\r\n" in text else "\n"
    told = gap + inner + key + _printed(text, value, inner)
    tail = text[end:] if "\n" in text[end:close] else gap + here + text[close:]
    if not node.members:
        return text[:end] + told + tail
    last = node.members[-1][2].end
    comma = "" if "," in _blanked(text)[last:close] else ","
    return text[:last] + comma + text[last:end] + told + ("," if not comma else "") + tail


def _removed(text: str, node: _Node, at: int) -> str:
    """Take a member out, with its comma and, where nothing else stands on them, its lines."""
    _, start, member = node.members[at]
    bare = _blanked(text)
    comma = bare.find(",", member.end, node.end)
    end = member.end
    if comma >= 0 and not bare[member.end : comma].strip():
        end = comma + 1
    elif at:  # the last one: the comma before it goes
        before = bare.rfind(",", node.start, start)
        text, start, end = text[:before] + text[before + 1 :], start - 1, end - 1
    inside = text[start:end]
    if _blanked(inside) != inside:
        raise InvalidInput("comments of what changes would be lost")
    line = text.rfind("\n", 0, start) + 1
    if not text[line:start].strip() and line > node.start:
        left = text[end : text.find("\n", end)]
        if not left.strip():
            start, end = len(text[: line - 1].removesuffix("\r")), end + len(left.rstrip("\r"))
    if len(node.members) == 1 and not text[node.start + 1 : start].strip():
        end += len(text[end:]) - len(text[end:].lstrip())  # nothing is left between its brackets
        start = node.start + 1
    return text[:start] + text[end:]


def _margin(text: str, at: int) -> str:
    """Return the blanks that the line begins with in which `at` is."""
    line = text[text.rfind("\n", 0, at) + 1 :]
    return line[: len(line) - len(line.lstrip(" \t"))]


def _unit(text: str) -> str:
    """Return what a level is indented by."""
    found = re.search(r"\n([ \t]+)[^\s/*]", text)
    return found[1] if found else "  "


def _printed(text: str, value: Any, margin: str) -> str:
    lines = json.dumps(value, indent=_unit(text), ensure_ascii=False).split("\n")
    return ("\r\n" if "\r\n" in text else "\n").join([lines[0], *(margin + line for line in lines[1:])])
