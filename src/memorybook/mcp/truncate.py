"""Answers of a bounded size: what does not fit is left out, said, and told how to get.

An answer as JSON holds at most `MOST` tokens as `count_tokens` counts them. Long texts in its lists are cut first.
Then what is large (a text, a list, metadata) gets an equal share of the room that the rest leaves, what one does not
need going to the others: lists lose their end, where the least important stands, a document is cut between lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from memorybook.text.tokens import count_tokens

MOST = 8_000
"""Tokens of one answer: some 30,000 characters of English, 5,000 of Chinese."""

SHORT = 600
"""Characters that stay of a long text in a list."""

_OTHERS = frozenset({"metadata", "tool_calls", "changes"})
"""Fields whose nulls are left as they are, being somebody's own."""

_ROOM = 400
"""Tokens kept for saying what was left out."""

_MORE: Mapping[str, str] = {
    "results": "ask with a smaller max_results or a narrower query, and open one with memory_get",
    "sessions": "ask for fewer with limit or top, and open one with recall_session",
    "turns": "look for one with recall_within, and open it with memory_get turn:SESSION/ID",
    "proposals": "ask for one kind at a time, or for fewer with limit",
}
"""How to get what was left out of a list."""

Place = tuple[str, ...]
"""Where something stands in an answer: the names that lead to it."""


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """A copy of the answer that can be written as UTF-8, without nulls; `left_out` says in sentences what had to go."""
    answer = writable(_filled(answer))
    if size(answer) <= MOST:
        return answer
    left_out = list(answer.pop("left_out", ()))
    shown = _shortened(answer)
    left_out += [] if shown == answer else ["long texts are cut with …: open them by id or path with memory_get"]
    if size(shown) > MOST - _ROOM:
        left_out += _cut(shown, MOST - _ROOM)
    return {**shown, "left_out": left_out}


def size(value: Any) -> int:
    """Tokens of a value as JSON; of one far too large at least so many, which need not be counted."""
    text = json.dumps(value, ensure_ascii=False)
    return count_tokens(text) if len(text) <= 5 * MOST else len(text) // 5


def writable(value: Any) -> Any:
    """A copy, with U+FFFD for what is no character: half a pair, a byte that is not UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {writable(name): writable(one) for name, one in value.items()}
    return [writable(one) for one in value] if isinstance(value, list | tuple) else value


def _filled(value: Any) -> Any:
    """A copy without the fields that are null, an eighth of the tokens of a search."""
    if isinstance(value, Mapping):
        given = {name: one for name, one in value.items() if one is not None}
        return {name: one if name in _OTHERS else _filled(one) for name, one in given.items()}
    return [_filled(one) for one in value] if isinstance(value, list | tuple) else value


def _shortened(value: Any, *, listed: bool = False) -> Any:
    """A copy with long texts cut, those in lists."""
    if isinstance(value, str):
        return value[:SHORT].rstrip() + "…" if listed and len(value) > SHORT else value
    if isinstance(value, list):
        return [_shortened(one, listed=True) for one in value]
    return {name: _shortened(one, listed=listed) for name, one in value.items()} if isinstance(value, dict) else value


def _cut(shown: dict[str, Any], room: int) -> list[str]:
    """Cut in place what is large, so that the whole fits; what was left out, one sentence each."""
    large = {place: _at(shown, place) for place in _large(shown)}
    for place, value in large.items():
        _put(shown, place, type(value)())
    left = room - size(shown)
    told: dict[Place, str] = {}
    for number, place in enumerate(sorted(large, key=lambda place: size(large[place]))):
        value, share = large[place], max(0, left // (len(large) - number))
        kept = value if size(value) <= share else _part(value, share)
        _put(shown, place, kept)
        left -= size(kept)
        if kept is not value:
            told[place] = _told(shown, place, value, kept)
    return [told[place] for place in large if place in told]


def _large(value: Mapping[str, Any], *names: str) -> Iterator[Place]:
    """Where lists, long texts and metadata stand, outside of lists."""
    for name, one in value.items():
        if isinstance(one, dict) and name != "metadata":
            yield from _large(one, *names, name)
        elif one and (isinstance(one, dict | list) or (isinstance(one, str) and len(one) > SHORT)):
            yield (*names, name)


def _part(value: Any, tokens: int) -> Any:
    """As much of the beginning as fits; of metadata nothing, for it is one thing."""
    if isinstance(value, str):
        return beginning(value, tokens)
    kept: list[Any] = []
    for item in value if isinstance(value, list) else ():
        tokens -= size(item) + 2
        if tokens < 0:
            break
        kept.append(item)
    return kept if isinstance(value, list) else {}


def beginning(text: str, tokens: int) -> str:
    """As much of the text's beginning as so many tokens hold, as JSON."""
    low, high = 0, min(len(text), tokens * 5)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


def _told(shown: dict[str, Any], place: Place, value: Any, kept: Any) -> str:
    """What was left out of the value; a text is marked where it ends."""
    name = place[-1]
    if isinstance(value, list):
        more = _MORE.get(name, "open what they are about with memory_get")
        return f"{len(value) - len(kept)} of {len(value)} {name} are left out: {more}"
    if isinstance(value, dict):
        return f"{name} is left out, being too long"
    if name == "text" and "total_lines" in shown and "turn" not in shown and "\n" in kept:
        lines = kept.split("\n")[:-1]
        shown |= {"text": "\n".join(lines), "lines": len(lines)}
        reached = shown["from"] + len(lines)
        return f"lines {reached} to {shown['total_lines']} are left out: go on with from={reached}{_whole(shown)}"
    _put(shown, place, kept + "…")
    if name == "text" and "total_lines" in shown:
        shown["lines"] = kept.count("\n") + 1
    return f"{name} is cut after {len(kept)} of {len(value)} characters{_whole(shown)}"


def _whole(shown: Mapping[str, Any]) -> str:
    """Where all of a text is; "" where it has no place of its own."""
    if "turn" in shown:
        place = f"turn/{shown['turn']['session']}/{shown['turn']['id']}"
    elif "entry" in shown:
        place = f"entry/{shown['entry']['id']}"
    elif "total_lines" in shown:
        place = shown["path"]
    else:
        return ""
    return f"; the resource memory://{quote(place)} is the whole"


def _at(value: Any, place: Sequence[str]) -> Any:
    for name in place:
        value = value[name]
    return value


def _put(value: dict[str, Any], place: Place, new: Any) -> None:
    _at(value, place[:-1])[place[-1]] = new
