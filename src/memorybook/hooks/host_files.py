"""Settings files of other programs, changed as text: compared, replaced at once, with what they were before beside.

What cannot be changed without loss, such as JSON with comments, is refused.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from copy import deepcopy
from decimal import Decimal
from typing import Any, NamedTuple

from memorybook.errors import Conflict, InvalidInput

_BACKUP = ".memorybook-backup"


class Changed(NamedTuple):
    """What became of a settings file.

    Attributes:
        action: `written`, `removed`, or `unchanged` where it is as it should be.
        path: The file.
        backup: What the file was before; "" if there was none, or nothing changed.
    """

    action: str
    path: str
    backup: str = ""


def changed(path: str, change: Callable[[str], str], *, removes: bool) -> Changed:
    """Replace the text of a file with what `change` makes of it.

    Args:
        path: The file; a link to one is followed, and stays.
        change: Given the text, "" if there is no file; raises InvalidInput with the reason where it cannot.
        removes: Whether something is to go: then a file that is not there is not made.

    Raises:
        InvalidInput: The file is not what its program reads, or cannot be changed without losing something of it.
        Conflict: It was saved by somebody else at the same moment.
        OSError: The disk refuses.
    """
    place = os.path.realpath(path)  # a link, as those who keep their settings in one place have them, stays
    before = _read(place)
    if before is None and removes:
        return Changed("unchanged", path)
    text = _decoded(before or b"", path)
    try:
        after = change(text)
    except InvalidInput as error:
        raise InvalidInput(
            f"{path} is left as it is, for {error}: change it by hand, --print shows what belongs there"
        ) from None
    if after == text and before is not None:
        return Changed("unchanged", path)
    backup = _replace(place, before, after.encode())
    return Changed("removed" if removes else "written", path, backup)


def json_with(text: str, change: Callable[[dict[str, Any]], None]) -> str:
    """JSON text with its object changed, laid out as it was; itself if nothing changed.

    Raises InvalidInput if it is not plain JSON, or what `change` raises.
    """
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    body = text.removeprefix(mark)
    try:
        root = json.loads(body, object_pairs_hook=_once, parse_float=_number) if body.strip() else {}
        if not isinstance(root, dict):
            raise InvalidInput("it is no object")
        before = deepcopy(root)
        change(root)
        return text if root == before and body.strip() else mark + _dumped(root, body)
    except json.JSONDecodeError as error:
        raise InvalidInput(f"line {error.lineno} is not plain JSON, such as a comment") from None
    except InvalidInput:
        raise
    except (RecursionError, ValueError):
        raise InvalidInput("it is nested too deeply, or has an integer of thousands of digits") from None


def check_paths(*paths: str) -> None:
    """Raises InvalidInput for a path that is not UTF-8."""
    for path in paths:
        if _is_cut(path):
            raise InvalidInput(f"the path {path!r} is not UTF-8, which a settings file cannot hold")


def _is_cut(text: str) -> bool:
    """Whether there is half a pair of surrogates in it, which only an escape can say."""
    return any("\ud800" <= c <= "\udfff" for c in text)


def _read(path: str) -> bytes | None:
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None


def _decoded(data: bytes, path: str) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"{path} is not UTF-8: it is left as it is") from None


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
    """JSON laid out as the text was: its indentation, line ends, and whether it ends with one."""
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
    backup = "" if before is None else _backup(path, before)
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


def _backup(path: str, before: bytes) -> str:
    """Where these bytes are kept, or have a place to be: what was kept before stays."""
    for number in itertools.count(1):
        place = path + _BACKUP + (f"-{number}" if number > 1 else "")
        if not os.path.lexists(place) or (os.path.isfile(place) and _read(place) == before):
            return place
    raise AssertionError


def _write(path: str, data: bytes, mode: int) -> None:
    """A new file, on the disk for sure; the mode as the process's mask leaves it for what was not there before."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        if mode != 0o666:
            os.chmod(path, mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
