"""Revisions as HTTP has them: ETag, If-Match and If-None-Match."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers

from memorybook.errors import InvalidInput
from memorybook.http.error_responses import Refusal

_MOVES_BY_ITSELF = frozenset({"score", "hits", "last_activated", "access_count"})


def _header(name: str, told: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": told}


IF_MATCH = _header("If-Match", "The ETag of what is changed, or * for whatever stands there.")
IF_NONE_MATCH = _header("If-None-Match", "ETags that the caller has; * before something new.")


def quoted(revision: str) -> str:
    """The ETag of a revision."""
    return f'"{revision}"'


def of_entry(entry: Mapping[str, Any]) -> str:
    """The revision of an entry: of what it says and how it is filed, not of how it ages and is used."""
    said = {name: value for name, value in entry.items() if name not in _MOVES_BY_ITSELF}
    text = json.dumps(said, sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def expected(headers: Headers, *, new: bool = False) -> str | None:
    """The revision that a change is made for: None for whatever stands there, "" for nothing yet.

    Args:
        headers: With `If-Match: "…"` or `*`; with `new` also `If-None-Match: *`.
        new: Whether there may be nothing yet.

    Raises:
        Refusal: There is no such header.
        InvalidInput: It is not one revision.
    """
    if new and headers.get("if-none-match", "").strip() == "*" and "if-match" not in headers:
        return ""
    given = headers.get("if-match")
    if given is None:
        way = 'If-Match: "REVISION", as its ETag was' + (", or If-None-Match: * for a new one" if new else "")
        raise Refusal(428, "precondition_required", f"say what it is that you change: {way}")
    given = given.strip()
    if given == "*":
        return None
    if len(given) < 3 or given[0] != '"' or given[-1] != '"' or '"' in given[1:-1]:
        raise InvalidInput(f"If-Match {given[:80]!r} is not one ETag in quotes, or *")
    return given[1:-1]


def known(headers: Headers, revision: str) -> bool:
    """Whether the caller has this revision already (`If-None-Match`)."""
    given = headers.get("if-none-match", "")
    return any(each.strip().removeprefix("W/") in (quoted(revision), "*") for each in given.split(","))


def changed(message: str, revision: str, current: Mapping[str, Any]) -> Refusal:
    """The refusal of a change that was made for another revision, with what stands there now."""
    return Refusal(409, "conflict", message, {"ETag": quoted(revision)}, {"current": {**current, "etag": revision}})
