"""Answers of a bounded size: what does not fit is left out, said, and told how to get.

An answer as JSON holds at most `MOST` tokens as `count_tokens` counts them. Long texts in its lists are shortened
first, then its lists from the end, where the least important stands; a document is cut between lines.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from memorybook.text.tokens import count_tokens

MOST = 8_000
"""Tokens of one answer: some 30,000 characters of English, 5,000 of Chinese."""

SHORT = 600
"""Characters that stay of a long text in a list."""

_ROOM = 400
"""Tokens kept for saying what was left out."""

_MORE: Mapping[str, str] = {
    "results": "ask with a smaller max_results or a narrower query, and open one with memory_get",
    "sessions": "ask for fewer with limit or top, and open one with recall_session",
    "turns": "look for one with recall_within, and open it with memory_get turn:SESSION/ID",
    "proposals": "ask for one kind at a time, or for fewer with limit",
}
"""How to get what was left out of a list."""

_OPEN = "open it by its id or path with memory_get"


def bounded(answer: dict[str, Any], *, target: str = "", most: int = MOST) -> dict[str, Any]:
    """The answer, with `left_out` (sentences) if something of it had to go; every text of it can be written as UTF-8.

    Args:
        answer: A tool's, which stays as it is.
        target: What was opened, for saying how to go on; "" if nothing was.
        most: Its size in tokens, as JSON.
    """
    answer = _writable(answer)
    if size(answer) <= most:
        return answer
    left_out: list[str] = []
    whole, room = answer, most - _ROOM
    shown = {name: _shortened(value) for name, value in whole.items()} if any(_lists(whole)) else dict(whole)
    if shown != whole:
        left_out.append(f"long texts are cut with …: {_OPEN}")
    if size(shown) > room:
        shown = _with_less_text(shown, target, room, left_out)
    if size(shown) > room:
        shown = _with_shorter_lists(shown, room, left_out)
    return {**shown, "left_out": left_out}


def size(value: Any) -> int:
    """Tokens of a value as JSON."""
    return count_tokens(json.dumps(value, ensure_ascii=False))


def _writable(value: Any) -> Any:
    """The value with `\N{REPLACEMENT CHARACTER}` for what is no character: half a pair, a byte that is not UTF-8."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {_writable(name): _writable(one) for name, one in value.items()}
    return [_writable(one) for one in value] if isinstance(value, list | tuple) else value


def _lists(value: Mapping[str, Any], *names: str) -> Iterator[tuple[str, ...]]:
    """Where lists with something in them stand, outside other lists."""
    for name, one in value.items():
        if isinstance(one, Mapping):
            yield from _lists(one, *names, name)
        elif isinstance(one, list) and one:
            yield (*names, name)


def _shortened(value: Any, *, listed: bool = False) -> Any:
    """The value with long texts cut, those in lists."""
    if isinstance(value, str):
        return value[:SHORT].rstrip() + "…" if listed and len(value) > SHORT else value
    if isinstance(value, list):
        return [_shortened(one, listed=True) for one in value]
    return {name: _shortened(one, listed=listed) for name, one in value.items()} if isinstance(value, dict) else value


def _with_less_text(shown: dict[str, Any], target: str, room: int, left_out: list[str]) -> dict[str, Any]:
    """The answer with its one text cut: of a document or turn whole lines stay, of an entry or block a beginning."""
    holder = shown["entry"] if isinstance(shown.get("entry"), dict) else shown
    text = holder.get("text")
    if not isinstance(text, str) or not text:
        return shown
    allowed = room - size({**shown, "text": ""}) if holder is shown else room - size({**holder, "text": ""})
    if any(_lists(shown)) and holder is shown:  # the block of a recollection, which its lists hold, too
        allowed = room // 3
    if size(text) <= allowed:
        return shown
    kept = beginning(text, max(allowed, 0))
    if "total_lines" not in shown:
        left_out.append(f"the text is cut after {len(kept)} of {len(text)} characters: {_whole(target)}")
        cut = {**holder, "text": kept + "…"}
        return cut if holder is shown else {**shown, "entry": cut}
    lines = kept.split("\n")[:-1]
    if not lines:
        left_out.append(f"line {shown['from']} is cut after {len(kept)} characters: {_whole(target)}")
        return {**shown, "text": kept + "…", "lines": 1}
    reached = shown["from"] + len(lines)
    left_out.append(f"lines {reached} to {shown['total_lines']} are left out: go on with from={reached}")
    return {**shown, "text": "\n".join(lines), "lines": len(lines)}


def _whole(target: str) -> str:
    place = f"turn/{target.removeprefix('turn:')}" if target.startswith("turn:") else target
    place = place if target.startswith("turn:") or target.endswith(".md") else f"entry/{target}"
    return f"the resource memory://{place} is the whole" if target else "it is a summary of what the lists hold"


def beginning(text: str, tokens: int) -> str:
    """As much of the text's beginning as so many tokens hold, as JSON."""
    low, high = 0, min(len(text), tokens * 5)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


def _with_shorter_lists(shown: dict[str, Any], room: int, left_out: list[str]) -> dict[str, Any]:
    """The answer with lists cut at the end, so that each has an equal share of what room there is."""
    places = [*_lists(shown)]
    shown = json.loads(json.dumps(shown))  # lists in it are cut in place
    found = [(names, _at(shown, names)) for names in places]
    left = room - size(shown) + sum(size(items) for _, items in found)
    for number, (names, items) in enumerate(found):
        share, count, total = left // (len(found) - number), 0, len(items)
        while count < total and (share := share - size(items[count]) - 2) >= 0:
            count += 1
        left -= sum(size(item) + 2 for item in items[:count])
        if count < total:
            del items[count:]
            left_out.append(f"{total - count} of {total} {names[-1]} are left out: {_MORE.get(names[-1], _OPEN)}")
    return shown


def _at(value: dict[str, Any], names: tuple[str, ...]) -> list[Any]:
    for name in names[:-1]:
        value = value[name]
    found: list[Any] = value[names[-1]]
    return found
