"""Settings files of other programs, changed as text: compared, replaced at once, with what they were before beside.

Comments of JSON and of TOML stay. What cannot be changed without loss is refused.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any, NamedTuple

from memorybook.errors import Conflict, InvalidInput

_BACKUP = ".memorybook-backup"


class Changed(NamedTuple):
    """The result of changing a settings file.

    Attributes:
        action: `written`, `removed`, or `unchanged` where it is as it should be.
        path: The file.
        backup: What the file was before; "" if there was none, or nothing changed.
    """

    action: str
    path: str
    backup: str = ""


def changed(path: str, change: Callable[[str], str], *, removes: bool, dry: bool = False) -> Changed:
    """Replace the text of a file with what `change` makes of it.

    Args:
        path: The file; a link to one is followed, and stays.
        change: Given the text, "" if there is no file; raises InvalidInput with the reason where it cannot.
        removes: Whether something is to go: then a file that is not there is not made, and one that holds nothing any
            more is removed.
        dry: Only say what would be done.

    Raises:
        InvalidInput: The file is not what its program reads, or cannot be changed without losing something of it.
        Conflict: It was saved by somebody else at the same moment.
        OSError: The disk refuses.
    """
    place = os.path.realpath(path)  # a link, as those who keep their settings in one place have them, stays
    before = _read(place)
    if before is None and removes:
        return Changed("unchanged", path)
    try:
        text = (before or b"").decode()
        after = change(text)
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8: it is left as it is") from None
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} is left as it is, for {error}: change it by hand, --print shows what belongs there"
        ) from None
    if after == text and before is not None:
        return Changed("unchanged", path)
    backup = ""
    if removes and not os.path.islink(path) and _is_empty(after):  # it held nothing but what is ours
        if not dry:
            os.remove(place)
    elif not dry:
        backup = _replace(place, before, after.encode())
    return Changed("removed" if removes else "written", path, backup)


def json_with(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    """Return JSON text with its object changed, laid out as it was; itself if nothing changed.

    Raises InvalidInput if it is not plain JSON, or what `change` raises.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    plain = without_comments(body)
    try:
        root = json.loads(plain, object_pairs_hook=_once, parse_float=_number) if plain.strip() else {}
        if not isinstance(root, dict):
            raise InvalidInput("it is no object")
        before = deepcopy(root)
        change(root)
        if root == before and body.strip():
            return text
        return mark + (_dumped(root, body) if plain == body or not plain.strip() else edited(body, root))
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno} is not JSON, with or without comments") from None
    except InvalidInput:
        raise
    except (RecursionError, ValueError):
        raise InvalidInput("it is nested too deeply, or has an integer of thousands of digits") from None


def _is_empty(text: str) -> bool:
    """Return whether settings hold nothing but empty objects, and no comment."""

    def holds(value: Any) -> bool:
        return any(map(holds, value.values())) if isinstance(value, dict) else True

    body = text.removeprefix("\ufeff").strip()
    try:
        return not body or not holds(json.loads(body))
    except ValueError:  # TOML, or a comment
        return False


def values_in(path: str, *, toml: bool = False) -> dict[str, Any]:
    """Return what a settings file holds; {} if there is none. Raises InvalidInput, OSError."""
    try:
        text = (_read(os.path.realpath(path)) or b"").decode("utf-8-sig")
        found = tomllib.loads(text) if toml else values(text) if text.strip() else {}
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} cannot be read ({error})") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"{path} cannot be read (it is no object)")
    return found


def check_paths(*paths: str) -> None:
    """Raise InvalidInput for a path that is not UTF-8."""
    for path in paths:
        if _is_cut(path):
            raise InvalidInput(f"the path {path!r} is not UTF-8, which a settings file cannot hold")


def _is_cut(text: str) -> bool:
    """Return whether the text has a lone surrogate, which only an escape can express."""
    return any("\ud800" <= c <= "\udfff" for c in text)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except (FileNotFoundError, IsADirectoryError):
        return None


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise InvalidInput("a name stands twice in one object")
    return found


def _number(text: str) -> float:
    number = float(text)
    if Decimal(text) != Decimal(repr(number)):
        raise InvalidInput(f"{text[:40]} is a number that would be rounded")
    return number


def _dumped(root: Any, like: str) -> str:
    """Print JSON laid out as the text was: its indentation, line ends, and whether it ends with one."""
    lines = [line for line in like.split("\n")[1:] if line.strip()]
    blank = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    flat = bool(like.strip()) and "\n" not in like.strip() and like.strip() != "{}"
    shown = json.dumps(root, indent=None if flat else blank or 2, ensure_ascii=False)
    if _is_cut(shown):
        shown = json.dumps(root, indent=None if flat else blank or 2)
    shown += "\n" if like.endswith("\n") or not like.strip() else ""
    return shown.replace("\n", "\r\n") if "\r\n" in like else shown


def _replace(path: str, before: bytes | None, after: bytes) -> str:
    """Put the bytes in the file's place at once; returns the path of what was there before, "" if nothing was."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = 0o666 if before is None else os.stat(path).st_mode & 0o777
    backup = ""
    if before is not None:  # earlier backups are kept
        places = (path + _BACKUP + (f"-{number}" if number > 1 else "") for number in itertools.count(1))
        backup = next(each for each in places if not os.path.lexists(each) or _read(each) == before)
    aside = f"{path}.memorybook-{os.getpid()}"
    try:
        if before is not None and not os.path.lexists(backup):
            _write(aside, before, mode)
            os.replace(aside, backup)
        _write(aside, after, mode)
        if _read(path) != before:
            raise Conflict(f"{path} was saved by somebody else just now: try again")
        os.replace(aside, path)
    except BaseException:
        if os.path.lexists(aside):
            os.remove(aside)
        raise
    return backup


def _write(path: str, data: bytes, mode: int) -> None:
    """Create a file durably; for a new one the mode follows the umask."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        if mode != 0o666:
            os.chmod(path, mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


# --- TOML: one table, every other line left as it is -------------------------------------------------


def toml_with(
    text: str,
    keys: Sequence[str],
    entry: Mapping[str, Any] | None,
    replaced: frozenset[str],
    change: Callable[[dict[str, Any]], None],
) -> str:
    """Put the entry into the table of those keys; None removes that table and those below it.

    Other keys of the table stay, except those in `replaced`. `change` does the same to the values.

    Raises:
        InvalidInput: It is no TOML, or the table is written in a way that cannot be changed line by line.
    """
    if text.startswith("\ufeff"):
        return "\ufeff" + toml_with(text[1:], keys, entry, replaced, change)
    before, wanted = _parsed(text), _parsed(text)
    try:
        change(wanted)
    except InvalidInput:
        raise InvalidInput(f"{'.'.join(keys)} cannot be a table of its own there") from None
    if before == wanted:
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
        after = text + gap + toml_table(keys, entry).replace("\n", end)
    if not _is_whole(after) or _meaning(_parsed(after), keys) != _meaning(wanted, keys):
        raise InvalidInput(f"{'.'.join(keys)} cannot be a table of its own there")
    return after


def toml_table(keys: Sequence[str], entry: Mapping[str, Any]) -> str:
    """Return a table of strings and lists of strings."""
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


def _meaning(values: dict[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    """Return the values without empty tables around ours, which need no line of their own."""
    if len(keys) == 1:
        return values
    inner = _meaning(values[keys[0]], keys[1:]) if isinstance(values.get(keys[0]), dict) else values.get(keys[0])
    return {name: one for name, one in {**values, keys[0]: inner}.items() if name != keys[0] or inner}


def _spans(lines: Sequence[str], keys: Sequence[str]) -> list[range]:
    """Return the line ranges of our table and those below it, each with the blank lines that follow."""
    starts = [at for at, line in enumerate(lines) if line.lstrip().startswith("[") and _is_whole("".join(lines[:at]))]
    spans = []
    for start, end in itertools.pairwise([*starts, len(lines)]):
        if (_header(lines[start]) or ())[: len(keys)] == tuple(keys):
            while start + 1 < end < len(lines) and lines[end - 1].lstrip().startswith("#"):
                end -= 1  # comments right above the next header belong to that
            spans.append(range(start, end))
    return spans


def _is_whole(text: str) -> bool:
    """Return whether the text ends between two statements."""
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def _header(line: str) -> tuple[str, ...] | None:
    """Return the keys of a header; None for one of an array of tables."""
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
    """Return the lines of a table without the statements about these keys."""
    kept: list[str] = []
    run: list[str] = []
    for line in lines:
        run.append(line)
        if _is_whole("".join(run)):
            if not without & tomllib.loads("".join(run)).keys():
                kept += run
            run = []
    return kept + run


# --- JSON with comments, and with commas behind the last member -----------------------------------


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
