"""The comment under an entry: `key: value` fields and bare flags between semicolons, exactly there and back.

Lists are divided by commas, metadata is a JSON object. A field that is not known, or holds what
cannot be read, is kept in order among the entry's unknown fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from memorybook.errors import InvalidInput
from memorybook.formats.escape import UNSAFE, escape, reference, unescape
from memorybook.model import TRUST_ORDER, Entry

_VALUE = rf"[;\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_ITEM = rf"[;,\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_KEY = rf"[;:\n\t]|(?<=-)>|\A\s|\s\Z|{UNSAFE}"
_FIELD = re.compile(r"(?:&#x[0-9A-Fa-f]{0,6};|[^;])+")
_FIRST = re.compile(r"\A.")


def written_fields(entry: Entry) -> list[str]:
    """The comment's fields, one text each; the exact score always comes first.

    Raises:
        InvalidInput: The metadata is no JSON object.
    """
    fields = [f"score: {float(entry.score)!r}", f"scored: {entry.scored}"]
    if entry.created is not None:
        fields.append(f"created: {_moment_text(entry.created)}")
    for key in ("session", "source"):
        fields += _written(key, getattr(entry, key))
    for key in ("tags", "entities", "links"):
        fields += _written_list(key, getattr(entry, key))
    fields += _written("group", entry.group)
    if entry.expires is not None:
        fields.append(f"expires: {entry.expires}")
    fields += _written("trust", entry.trust)
    fields += _written("superseded_by", entry.superseded_by)
    fields += _written_list("contradicts", entry.contradicts)
    if entry.metadata:
        fields += _written("metadata", _json_text(entry))
    fields += [_written_unknown(key, value) for key, value in entry.unknown]
    fields += [flag for flag in ("archived", "pinned") if getattr(entry, flag)]
    return fields


def _written(key: str, value: str | None) -> list[str]:
    return [] if value is None else [f"{key}: {escape(_VALUE, value) or '&#x;'}"]


def _written_list(key: str, values: tuple[str, ...]) -> list[str]:
    return [f"{key}: {', '.join([escape(_ITEM, value) or '&#x;' for value in values])}"] if values else []


def _written_unknown(key: str, value: str) -> str:
    reader = _READERS.get(key)
    if reader is not None and (not value or _reads(reader, escape(_VALUE, value))):
        name = _FIRST.sub(reference, key)  # else it would be taken for the field that it only looks like
    else:
        name = escape(_KEY, key) or "&#x;"
    return f"{name}: {escape(_VALUE, value)}" if value else name


def _json_text(entry: Entry) -> str:
    try:
        return json.dumps(dict(entry.metadata), ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"the metadata of entry {entry.id!r} is no JSON object: {error}") from error


def _moment_text(moment: datetime) -> str:
    text = moment.isoformat()
    return text.removesuffix("+00:00") + "Z" if text.endswith("+00:00") else text


# --- the comment -------------------------------------------------------------------------------


def _read_moment(raw: str) -> datetime:
    moment = datetime.fromisoformat(unescape(raw))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=1024)
def _read_list(raw: str) -> tuple[str, ...]:
    return tuple([unescape(item) for item in map(str.strip, raw.split(",")) if item])


def _read_score(raw: str) -> float:
    score = float(raw)
    if not 0.0 <= score <= 1.0:
        raise ValueError(raw)
    return score


def _read_trust(raw: str) -> str:
    if raw not in TRUST_ORDER:
        raise ValueError(raw)
    return raw


def _read_flag(raw: str) -> bool:
    if raw.lower() not in ("", "true", "yes", "false", "no"):
        raise ValueError(raw)
    return raw.lower() in ("", "true", "yes")


def _read_json(raw: str) -> Mapping[str, Any]:
    value = json.loads(unescape(raw))
    if not isinstance(value, dict):
        raise ValueError(raw)
    return MappingProxyType(value)


_READERS: Mapping[str, Callable[[str], Any]] = {
    "score": _read_score, "scored": date.fromisoformat, "created": _read_moment,
    "session": unescape, "source": unescape, "tags": _read_list, "entities": _read_list, "links": _read_list,
    "group": unescape, "expires": date.fromisoformat, "trust": _read_trust, "superseded_by": unescape,
    "contradicts": _read_list, "metadata": _read_json, "archived": _read_flag, "pinned": _read_flag,
}  # fmt: skip
_UNREADABLE = (ValueError, RecursionError, OverflowError)


def _reads(reader: Callable[[str], Any], raw: str) -> bool:
    try:
        reader(raw)
    except _UNREADABLE:
        return False
    return True


def read_fields(body: str, warnings: list[str]) -> dict[str, Any]:
    """Fields of the comment by their name in `Entry`; what is not known or not readable goes to `unknown`."""
    try:
        return _read_regular(body)
    except (KeyError, *_UNREADABLE):
        return _read_tolerant(body, warnings)


def _read_regular(body: str) -> dict[str, Any]:
    """The fields as a machine writes them, at a third of the cost; raises if anything is unusual."""
    if "&#x" in body or "  " in body or " ;" in body or "\n" in body:
        raise ValueError(body)
    parts = body.strip(" ").split("; ")
    fields: dict[str, Any] = {}
    for part in parts:
        key, _, raw = part.partition(": ")
        fields[key] = _READERS[key](raw)
    if len(fields) < len(parts):
        raise ValueError(body)
    return fields


def _read_tolerant(body: str, warnings: list[str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    unknown: list[tuple[str, str]] = []
    for part in _FIELD.findall(body) if "&#x" in body else body.split(";"):
        key, _, raw = part.partition(":")
        key, raw = key.strip(), raw.strip()
        reader = _READERS.get(key)
        if reader is None or key in fields:
            if key or raw:
                unknown.append((unescape(key), unescape(raw)))
        elif raw or reader is _read_flag:
            try:
                fields[key] = reader(raw)
            except _UNREADABLE:
                warnings.append(f"{key} {raw!r} cannot be read and is kept as it stands")
                unknown.append((key, unescape(raw)))
    if unknown:
        fields["unknown"] = tuple(unknown)
    return fields


def find_comment(block: str, start: int) -> tuple[int, int, str] | None:
    """Start of the entry's comment (at the newline before it), its end, and what stands between the marks.

    It is the first one that has a field of an entry; any other comment is text.
    """
    at = block.find("\n<!--", start)
    while at >= 0:
        close = block.find("-->", at + 5)
        if close < 0:
            return None
        body = block[at + 5 : close]
        if body.startswith(" score: ") or any(_is_field(part) for part in body.split(";")):
            return at, close + 3, body
        at = block.find("\n<!--", close)
    return None


def _is_field(part: str) -> bool:
    key, colon, _ = part.partition(":")
    reader = _READERS.get(key.strip())
    return reader is not None and (bool(colon) or reader is _read_flag)
