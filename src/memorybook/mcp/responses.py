"""The tools that hosts are offered, and answers in the protocol's words: bounded data with lines of text, or an error.

An answer as JSON holds at most `MOST` tokens as `count_tokens` counts them. Long texts in its lists are cut first. Then
each large value (a text, a list, metadata) gets an equal share of the room that the rest leaves; what one does not need
goes to the others. Lists lose their end, where the least important is; a document is cut between lines.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from types import NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints
from urllib.parse import quote

from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations

from mcp import MCPError
from memorybook import tools
from memorybook.config.settings import OFF
from memorybook.errors import InvalidInput, MemoryBookError, NotFound
from memorybook.formats.json_schema import described_without
from memorybook.memory import Memory
from memorybook.results import Appended, Receipt
from memorybook.search.tool_results import marked, result_lines
from memorybook.sessions.recall_block import FoundSession, FoundTurn
from memorybook.text.tokens import count_tokens

_LONGEST = 1_000
"""Characters of an error."""


def called(memory: Callable[[], Memory], name: str, arguments: Mapping[str, Any]) -> CallToolResult:
    """Call the tool; what it raises on purpose becomes an error that the model can act on."""
    try:
        answer = tools.call(memory(), name, arguments, for_model=True)
    except MemoryBookError as error:
        return refused(str(error))
    return answered(once(name, answer))


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


# --- what tools answer -------------------------------------------------------------------------------

# A shape is a type, `[shape]` for a list, `{field: shape}` for an object, or a record with its own fields.
# What may be None may be missing.

_Strings = list[str]

_ENTRY = {
    **dict.fromkeys(("id", "text", "category", "last_activated"), str),
    **dict.fromkeys(("created_at", "session", "source", "group", "expires_at", "trust", "superseded_by"), str | None),
    **dict.fromkeys(("hits", "access_count"), int),
    **dict.fromkeys(("tags", "entities", "links"), _Strings),
    "score": float, "state": Literal["active", "archived", "superseded"], "pinned": bool, "metadata": dict[str, Any],
    "confirmed_on": str | None, "lasting": bool,
}  # fmt: skip

_HIT = {
    **dict.fromkeys(("path", "snippet"), str),
    **dict.fromkeys(("date", "id", "category", "turn", "session", "speaker", "place", "unconfirmed_since"), str | None),
    **dict.fromkeys(("start_line", "end_line"), int),
    **dict.fromkeys(("score", "relevance"), float),
    "source": Literal["entry", "note", "summary", "document", "turn"],
    "state": Literal["archived", "superseded"] | None,
    "trust": Literal["agent", "tool", "document", "import", "suspect"] | None,
    "why": dict[str, float] | None,
}  # fmt: skip

_INDEX = {"fresh": bool, "backend": str, "checked_files": int, "pending_vectors": int, "degraded": _Strings}

_FOUND = {
    "results": [_HIT], "has_relevant": bool, "knows": float, "nearest": bool | None, "threshold": float,
    "cut": int | None, "left_out": _Strings | None, "disabled": bool, "backend": str, "root": str, "index": _INDEX,
}  # fmt: skip

_TURN = {
    **dict.fromkeys(("id", "session", "session_name", "role", "speaker"), str),
    "position": int, "time": str | None, "tool_calls": list[dict[str, Any]], "metadata": dict[str, Any],
}  # fmt: skip

_OPENED = {
    **dict.fromkeys(("path", "text"), str | None),
    **dict.fromkeys(("from", "lines", "total_lines"), int | None),
    "turn": (_TURN, None), "entry": (_ENTRY, None),
}  # fmt: skip

_WRITTEN = {"redacted": int, "operation": str | None}

_REMEMBERED = {"entry": _ENTRY, "action": Literal["created", "strengthened", "duplicate"], **_WRITTEN}

_FLUSHED = {"written": [{"path": str, "line": int}], "skipped": [{"text": str, "reason": str}], **_WRITTEN}

_CHANGED = {
    "entry": _ENTRY, "operation": str | None, "redacted": int | None, "before": str | None,
    "changed": bool | None, "refused": str | None, "usage": dict[str, Any] | None, "proposals": (_Strings, None),
}  # fmt: skip

_RECOLLECTION = {
    "scene": Literal["history", "topic", "session", "within"], "sessions": [FoundSession], "turns": [FoundTurn],
    "has_relevant": bool, "span": ({"since": str | None, "until": str | None}, None), "reason": str,
    "degraded": _Strings, "text": str, "tokens": int, "disabled": bool,
}  # fmt: skip

_PROPOSAL = {
    **dict.fromkeys(("id", "kind", "reason", "state", "stale"), str),
    "time": str | None, "told": _Strings, "changes": list[dict[str, Any]], "operation": str | None,
}  # fmt: skip

_REVIEW = {"proposals": [_PROPOSAL], "total": int, "kinds": dict[str, int]}

_STATUS = {
    "root": str, "exists": bool, "disabled": bool, "provider": str, "pending_operations": int,
    **dict.fromkeys(("documents", "entries", "transcripts", "waiting"), dict[str, int]),
    **dict.fromkeys(("index", "settings"), dict[str, Any]),
    **dict.fromkeys(("degraded", "warnings"), _Strings),
}  # fmt: skip

DISABLED = {"disabled": Literal[True], "tool": str, "reason": str}
"""While memory is switched off every tool answers this and does nothing."""

ANSWERS: Mapping[str, Any] = {
    **dict.fromkeys(("memory_search", "recall_memory"), _FOUND),
    **dict.fromkeys(("memory_update", "memory_pin"), _CHANGED),
    **dict.fromkeys(("recall_history", "recall_topic", "recall_session", "recall_within"), _RECOLLECTION),
    "memory_get": _OPENED,
    "memory_append": Appended,
    "memory_flush": _FLUSHED,
    "memory_remember": _REMEMBERED,
    "memory_forget": {"receipt": Receipt},
    "memory_review": _REVIEW,
    "memory_status": _STATUS,
}
"""Shapes of answers by tool."""


# --- what hosts are told -----------------------------------------------------------------------------

ASKS_FIRST = "memory_forget"
"""The tool that needs consent."""

WOULD_GO = "would_go"
"""Field of its dry run with the texts that would go."""

_ALWAYS_ANSWERS = frozenset({"memory_search", "recall_memory", "memory_status"})
"""Tools that have an answer of their own while memory is switched off."""

_REPEATS: Mapping[str, frozenset[str]] = dict.fromkeys(
    ("recall_history", "recall_topic", "recall_session", "recall_within"), frozenset({"text", "tokens"})
)
"""Fields that say again what the others say, as a block for a prompt: a quarter of an answer, left out."""

_SIMPLE: Mapping[Any, Mapping[str, str]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string"},
    Any: {},
}
"""JSON Schema of simple types."""

_YES = {
    "type": "boolean",
    "description": "Only where the host cannot ask a person: true once they agreed to what the last refusal named.",
}

_LINES = {"type": "array", "items": {"type": "string"}}

_LEFT_OUT = {"left_out": _LINES}
"""What was left out of an answer, and how to get it."""


def _hints(title: str, *, reads: bool = False, destroys: bool = False, repeatable: bool = False) -> ToolAnnotations:
    """Return hints for a host's permission dialogs; no tool reaches beyond the book."""
    return ToolAnnotations(
        title=title,
        read_only_hint=reads,
        destructive_hint=destroys,
        idempotent_hint=repeatable or reads,
        open_world_hint=False,
    )


OFFERS: Mapping[str, ToolAnnotations] = {
    "memory_search": _hints("Search memory", reads=True),
    "memory_get": _hints("Open a document, entry or turn", reads=True),
    "memory_append": _hints("Write a note", repeatable=True),
    "memory_flush": _hints("Save before compaction"),
    "memory_remember": _hints("Remember a statement"),
    "memory_update": _hints("Change an entry", destroys=True),
    "memory_pin": _hints("Keep an entry from fading", repeatable=True),
    "memory_forget": _hints("Forget", destroys=True),
    "recall_memory": _hints("Search faded memory", reads=True),
    "recall_history": _hints("List recent conversations", reads=True),
    "recall_topic": _hints("Find conversations about something", reads=True),
    "recall_session": _hints("Open a past conversation", reads=True),
    "recall_within": _hints("Search one conversation", reads=True),
    "memory_review": _hints("List what waits for a person", reads=True),
    "memory_status": _hints("Memory status", reads=True),
}
"""Tools by name, in the order in which they are listed."""


def described(name: str) -> str:
    """Return the description of a tool, without the sentences about tools that are not offered."""
    return described_without(str(tools.schema(name)["description"]), tools.TOOLS.keys() - OFFERS.keys())


def takes(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments: nothing but what it has; `yes` where a person may have to agree."""
    parameters: dict[str, Any] = tools.schema(name)["parameters"]
    for schema in parameters["properties"].values():
        if not isinstance(schema["type"], str):  # some hosts do not know a list of types
            schema["anyOf"] = [{"type": kind} for kind in schema.pop("type")]
    more = {"yes": _YES} if name == ASKS_FIRST else {}
    required = {"required": parameters["required"]} if parameters["required"] else {}
    properties = {**parameters["properties"], **more}
    return {"type": "object", "properties": properties, **required, "additionalProperties": False}


def answers(name: str) -> dict[str, Any]:
    """Return the JSON Schema of a tool's structured answer, with what was left out, or that memory is off.

    What its fields mean stands in the tool's description, if a model has to know; what is null is left out of answers.
    """
    whole = schema_of(once(name, ANSWERS[name]) if name in _REPEATS else ANSWERS[name])
    if name in _ALWAYS_ANSWERS:
        return {**whole, "properties": {**whole["properties"], **_LEFT_OUT}}
    off, required = schema_of(DISABLED), whole.pop("required", [])
    more = {WOULD_GO: _LINES} if name == ASKS_FIRST else {}
    either = {"anyOf": [{"required": required}, {"required": off["required"]}]} if required else {}
    return {**whole, "properties": {**off["properties"], **whole["properties"], **more, **_LEFT_OUT}, **either}


def once(name: str, answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer without repeated fields."""
    repeats = _REPEATS.get(name, frozenset())
    return {field: value for field, value in answer.items() if field not in repeats}


def schema_of(shape: Any) -> dict[str, Any]:
    """Return the JSON Schema of a shape with definitions inlined, which not every host resolves.

    What may be null may be missing. pydantic could tell it, too, but a host waits for that at every start.
    """
    if not isinstance(shape, dict | list | tuple) and shape in _SIMPLE:
        return dict(_SIMPLE[shape])
    if hasattr(shape, "_fields"):
        shape = get_type_hints(shape, None, {"datetime": datetime})
    if isinstance(shape, dict):
        forms = {name: one if isinstance(one, tuple) else get_args(one) for name, one in shape.items()}
        sure = [name for name, form in forms.items() if not any(each in (None, NoneType) for each in form)]
        properties = {name: schema_of(one) for name, one in shape.items()}
        return {"type": "object", "properties": properties, **({"required": sure} if sure else {})}
    if isinstance(shape, list):
        return {"type": "array", "items": schema_of(shape[0])}
    origin, arguments = get_origin(shape), [each for each in get_args(shape) or shape if each not in (None, NoneType)]
    if origin is Literal:
        [kind] = {type(each) for each in arguments}
        return {**_SIMPLE[kind], **({"enum": arguments} if len(arguments) > 1 else {"const": arguments[0]})}
    if origin in (list, tuple):
        return {"type": "array", "items": schema_of(arguments[0])}
    if origin is dict:
        values = schema_of(arguments[1])
        return {"type": "object", **({"additionalProperties": values} if values else {})}
    return schema_of(arguments[0])  # or null
