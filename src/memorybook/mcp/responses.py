"""Answers in the protocol's words: data of a bounded size with a few lines of text, or an error in one sentence.

An answer as JSON holds at most `MOST` tokens as `count_tokens` counts them. Long texts in its lists are cut first. Then
each large value (a text, a list, metadata) gets an equal share of the room that the rest leaves; what one does not need
goes to the others. Lists lose their end, where the least important is; a document is cut between lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import quote

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from mcp import MCPError
from memorybook import tools
from memorybook.config.settings import OFF
from memorybook.errors import InvalidInput, MemoryBookError, NotFound
from memorybook.mcp import tool_catalog
from memorybook.memory import Memory
from memorybook.search.tool_results import marked, result_lines
from memorybook.text.tokens import count_tokens

_LONGEST = 1_000
"""Characters of an error."""


def called(memory: Callable[[], Memory], name: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool; what it raises on purpose becomes an error that the model can act on."""
    try:
        answer = tools.call(memory(), name, arguments, for_model=True)
    except MemoryBookError as error:
        return refused(str(error))
    return answered(tool_catalog.once(name, answer))


def answered(answer: dict[str, Any]) -> CallToolResult:
    """Return an answer of bounded size.

    Its lines stand between the markers of recalled text, so that a host's transcript brings them back to no book.
    """
    shown = bounded(answer)
    return CallToolResult(content=[TextContent(type="text", text=marked(brief(shown)))], structured_content=shown)


def refused(sentence: str, *lines: str) -> CallToolResult:
    """Return an error of the tool, not of the protocol.

    Lines of the book below it are marked as those of an answer are.
    """
    told = _short(sentence)
    if lines:
        told += "\n" + str(writable(marked("\n".join(lines))))
    return CallToolResult(content=[TextContent(type="text", text=told)], is_error=True)


def _short(sentence: str) -> str:
    """Shorten the middle of a sentence, which may quote a long value."""
    told = str(writable(sentence))
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST // 2]}…{told[-_LONGEST // 2 :]}"


@contextmanager
def refusals() -> Iterator[None]:
    """Turn MemoryBookError into an error of the protocol, where no tool is called."""
    try:
        yield
    except MemoryBookError as error:
        code = INVALID_PARAMS if isinstance(error, InvalidInput | NotFound) else INTERNAL_ERROR
        raise MCPError(code=code, message=_short(str(error))) from error


# --- lines of text -----------------------------------------------------------------------------------

Shown = Mapping[str, Any]


def brief(answer: Shown) -> str:
    """Return the answer as lines of text; what was left out comes last."""
    told = _TOLD[next((field for field in _TOLD if field in answer), "")](answer)
    return "\n".join([*told, *(f"({sentence})" for sentence in answer.get("left_out", ()))])


def _line(text: str) -> str:
    return " ".join(text.split())


def _opened(answer: Shown) -> list[str]:
    last = answer["from"] + answer["lines"] - 1
    turn = answer.get("turn")
    if turn is None and not answer["lines"]:
        return [f"{answer['path']} has {answer['total_lines']} lines: there are none from that one on"]
    if turn is None:
        return [f"{answer['path']}, lines {answer['from']} to {last} of {answer['total_lines']}:", answer["text"]]
    about = [turn["speaker"] or turn["role"], turn.get("time"), turn["session_name"] or turn["session"]]
    return [", ".join(filter(None, about)) + ":", answer["text"]]


def _entry(answer: Shown) -> list[str]:
    entry = answer["entry"]
    about = [entry["category"], entry["state"], f"score {entry['score']:.2f}", "pinned" if entry["pinned"] else ""]
    about += [answer.get("action", ""), f"group {entry['group']}" if entry.get("group") else ""]
    lines = [f"{entry['id']} ({', '.join(filter(None, about))}): {entry['text']}"]
    if entry.get("trust") == "suspect":
        lines.append(
            "kept as suspect, for it tells its reader what to do: a search finds it, no prompt brings it by itself"
        )
    if answer.get("refused"):
        lines.append(f"nothing was changed: {answer['refused']}")
    return [*lines, *_masked(answer)]


def _masked(answer: Shown) -> list[str]:
    return [f"secrets masked: {answer['redacted']}"] if answer.get("redacted") else []


def _flushed(answer: Shown) -> list[str]:
    lines = [f"written: {place['path']}#L{place['line']}" for place in answer["written"]]
    lines += [f"left out ({one['reason']}): {_line(one['text'])[:120]}" for one in answer["skipped"]]
    return [*(lines or ["nothing new to write"]), *_masked(answer)]


def things(told: Shown) -> str:
    """Return `2 entries, 1 note`, of what a receipt names; "" for nothing."""
    counts = {"entry": len(told["entries"]), "note": len(told["notes"]), "document": len(told["documents"])}
    counts |= {"session": told["sessions"], "turn": told["turns"]}
    many = {"entry": "entries"}
    return ", ".join(f"{n} {one if n == 1 else many.get(one, one + 's')}" for one, n in counts.items() if n)


def _recollected(answer: Shown) -> list[str]:
    if answer["disabled"]:
        return [OFF]
    lines = []
    for session in answer["sessions"]:
        about = [session.get("started"), f"{session['turns']} turns", session["name"], session["path"]]
        told = _line(session["summary"] or session["title"])
        lines.append(f"session {session['uuid']} ({', '.join(filter(None, about))}): {told}")
    for turn in answer["turns"]:
        who = ", ".join(filter(None, [turn["speaker"] or turn["role"], turn.get("time")]))
        lines.append(f"{turn['place']} ({who}): {_line(turn['text'])}")
    head = [answer["reason"]] if answer["reason"] else []
    if not answer["has_relevant"]:
        head.append("nothing found" if not lines else "nothing that is surely about it; the nearest all the same:")
    return [*head, *lines, *(f"(less than it could be: {reason})" for reason in answer["degraded"])]


def _review(answer: Shown) -> list[str]:
    lines = []
    for one in answer["proposals"]:
        why = f" ({_line(one['reason'])})" if one["reason"] else ""
        lines.append(f"{one['id']} ({one['kind']}, {one['state']}): {_line('; '.join(one['told']))}{why}")
    return [*lines, f"{len(lines)} of {answer['total']} proposals; only a person accepts or rejects them"]


def _status(answer: Shown) -> list[str]:
    counted = (
        f"{name} {number}"
        for group in ("entries", "documents", "transcripts")
        for name, number in answer[group].items()
        if number
    )
    lines = [f"book: {answer['root']}" + ("" if answer["exists"] else " (nothing written yet)")]
    lines += [OFF] if answer["disabled"] else []
    lines.append(f"stored: {', '.join(counted) or 'nothing'}")
    waiting = [f"{name} {number}" for name, number in answer["waiting"].items() if number]
    lines += [f"waiting: {', '.join(waiting)}"] if waiting else []
    return [*lines, *(f"degraded: {reason}" for reason in answer["degraded"]), *answer["warnings"]]


_TOLD: Mapping[str, Callable[[Shown], list[str]]] = {
    "tool": lambda answer: [str(answer["reason"])],
    "results": lambda answer: [OFF] if answer["disabled"] else result_lines(answer),
    "total_lines": _opened,
    "entry": _entry,
    "duplicate": lambda answer: [
        f"{'there already' if answer['duplicate'] else 'written'}: {answer['path']}#L{answer['line']}",
        *_masked(answer),
    ],
    "written": _flushed,
    "receipt": lambda answer: [
        f"{'would go' if answer['receipt']['dry_run'] else 'forgotten'}: {things(answer['receipt']) or 'nothing'}",
        *(f"    {line}" for line in answer.get("would_go", ())),
        *answer["receipt"]["remains"],
    ],
    "scene": _recollected,
    "proposals": _review,
    "root": _status,
}
"""By a field that only answers of that kind have."""


# --- size --------------------------------------------------------------------------------------------

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
"""Path of names to a value in an answer."""


def bounded(answer: dict[str, Any]) -> dict[str, Any]:
    """Return a copy that fits, is valid UTF-8 and has no nulls; `left_out` says what was cut."""
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
    """Count the tokens of a value as JSON; of one far too large at least so many, which need not be counted."""
    text = json.dumps(value, ensure_ascii=False)
    return count_tokens(text) if len(text) <= 5 * MOST else len(text) // 5


def writable(value: Any) -> Any:
    """Return a copy with U+FFFD for lone surrogates."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, Mapping):
        return {writable(name): writable(one) for name, one in value.items()}
    return [writable(one) for one in value] if isinstance(value, list | tuple) else value


def _filled(value: Any) -> Any:
    """Return a copy without nulls, an eighth of the tokens of a search."""
    if isinstance(value, Mapping):
        given = {name: one for name, one in value.items() if one is not None}
        return {name: one if name in _OTHERS else _filled(one) for name, one in given.items()}
    return [_filled(one) for one in value] if isinstance(value, list | tuple) else value


def _shortened(value: Any, *, listed: bool = False) -> Any:
    """Return a copy with the long texts in lists cut."""
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
            told[place] = _note_left_out(shown, place, value, kept)
    return [told[place] for place in large if place in told]


def _large(value: Mapping[str, Any], *names: str) -> Iterator[Place]:
    """Yield the paths of lists, long texts and metadata, outside of lists."""
    for name, one in value.items():
        if isinstance(one, dict) and name != "metadata":
            yield from _large(one, *names, name)
        elif one and (isinstance(one, dict | list) or (isinstance(one, str) and len(one) > SHORT)):
            yield (*names, name)


def _part(value: Any, tokens: int) -> Any:
    """Return as much of the beginning as fits; of metadata nothing."""
    if isinstance(value, str):
        return beginning(value, tokens)
    if isinstance(value, dict):
        return {}
    kept: list[Any] = []
    for item in value:
        tokens -= size(item) + 2
        if tokens < 0:
            break
        kept.append(item)
    return kept


def beginning(text: str, tokens: int) -> str:
    """Return as much of the text's beginning as fits into so many tokens of JSON."""
    low, high = 0, min(len(text), tokens * 5)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if size(text[:middle]) <= tokens else (low, middle - 1)
    return text[:low]


def _note_left_out(shown: dict[str, Any], place: Place, value: Any, kept: Any) -> str:
    """Describe what was left out of a value; a cut text is marked."""
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
    """Return where the whole of a text is; "" if it has no place of its own."""
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
