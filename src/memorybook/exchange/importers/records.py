"""Read the JSON objects of a file one by one: lines, an array, or messages under a conversation."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, datetime
from functools import cache
from itertools import chain
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput
from memorybook.formats.messages_json import (
    ID,
    SESSION,
    TOOL_TEXT_LIMIT,
    ImportedSession,
    Record,
    Said,
    Warn,
    content_of,
    cut,
    digest_of,
    first,
    json_safe,
    word,
)
from memorybook.formats.sessions_json import Exported

EXPECTED = (
    "expected JSON Lines of messages (role or speaker, content or text), a JSON array of them, an export of ChatGPT, "
    "Claude, mem0, Letta, Zep, WhatsApp, Telegram, WeChat or Signal, a session of Claude Code or Codex, or a "
    "history.jsonl"
)


class Statement(NamedTuple):
    """A statement in a file without a speaker: an entry, or a note of a day.

    Attributes:
        text: What it says; of an entry, as it is to stand in the book.
        key: By which it is known again, within its format.
        time: When it was first said or written; UTC, None if unknown.
        changed: When it was changed last; None if it never was.
        category: What its file calls its kind; "" if it has none. Any word may stand there.
        tags, metadata: As in `Entry`.
        expires: As in `Entry`.
    """

    text: str
    key: str
    time: datetime | None = None
    changed: datetime | None = None
    category: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    expires: date | None = None


class Page(NamedTuple):
    """Markdown that remembers: its list items and paragraphs are entries, or the notes of a day.

    Attributes:
        text: The Markdown.
        time: Of the notes in it; None if it is of no day, and holds entries.
        title: What its entries are about; stands before each that does not name it. "" if they speak for themselves.
        tags, metadata: Of all that is in it, as in `Entry`.
        created: When its entries were written; None if unknown.
        category: Of entries whose heading names no kind, and of those that it calls preferences: a document says what
            is to be done, not what a person likes. "" for facts, and preferences as they are called.
    """

    text: str
    time: datetime | None = None
    title: str = ""
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    created: datetime | None = None
    category: str = ""


Parsed = Said | ImportedSession | Exported | Statement | Page
"""What a format reads: messages yet to be put into sessions, whole sessions, what is remembered by itself."""

Taken = ImportedSession | Exported | Statement | Page
"""What a file gives to be taken in."""


def as_object(value: Any) -> Mapping[str, Any]:
    """Return an object as it is; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a list; none for anything else."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def several(count: int, one: str, many: str = "") -> str:
    """Return `1 line`, `2 lines`, `2 memories`."""
    return f"{count} {one}" if count == 1 else f"{count} {many or one + 's'}"


def tool_results(said: Said, content: Any, told: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Iterator[Said]:
    """Yield the tool results among the blocks of a message, as turns of the tool with what `told` says of them."""
    for place, block in enumerate(content if isinstance(content, list) else []):
        if isinstance(block, dict) and block.get("type") == "tool_result":
            text = cut(content_of(block.get("content"))[0].strip(), TOOL_TEXT_LIMIT)
            failed = {"is_error": True} if block.get("is_error") else {}
            fields = {"metadata": {}, **told(block)}
            if text:
                id = f"{said.id}:{place}" if said.id else ""
                fields["metadata"] = {**fields["metadata"], **failed}
                yield said._replace(text=text, role="tool", id=id, tool_calls=(), **fields)


# --- reading -----------------------------------------------------------------------------------


def records(name: str, stream: Iterable[bytes], warn: Warn) -> Iterator[Record]:
    """Yield the JSON objects of a file: one a line, in one array, or under `messages` and the like of one or of each.

    Lines, and the items of an array, are read one by one; a broken one is a warning. Raises InvalidInput for a file
    that is not UTF-8 text, and for a line, an item or a document that is too large to be held.
    """
    peek = getattr(stream, "peek", None)
    head = bytes(peek()) if peek is not None else b""
    if head.removeprefix(_MARK).lstrip().startswith(b"["):
        _refuse_other_encodings(name, head)
        yield from _array_records(name, _pieces(stream, warn), warn)
        return
    lines = text_lines(name, stream, warn)
    filled = ((number, line) for number, line in lines if line.strip())
    opening = next(filled, None)
    if opening is None:
        raise InvalidInput(f"{name!r} is empty; {EXPECTED}")
    text = opening[1].strip()
    if text.startswith("["):
        yield from _array_records(name, chain([opening[1]], (line for _, line in lines)), warn)
    elif text.startswith("{") and text.endswith(("{", "[", ",")) and _json(text) is None:  # no line of JSON Lines
        parts, size = [opening[1]], 0
        for _, line in lines:
            parts.append(line)
            size += len(line)
            if size > MOST:
                raise InvalidInput(
                    f"{name!r} is one JSON object of more than {MOST >> 20} MB: split it into JSON Lines"
                )
        if not isinstance(value := _json("".join(parts)), dict):
            raise InvalidInput(f"{name!r} is broken JSON; {EXPECTED}")
        yield from _unwrapped([value], warn)
    else:
        following = next(filled, None)
        if following is None and not name.lower().endswith(_LINES) and _wrapped(value := _json(text)) is not None:
            yield from _unwrapped([value], warn)
        else:
            for number, line in chain([opening], [following] if following else (), filled):
                fields = _json(text := line.strip())
                if _wrapped(fields) is not None:
                    yield from _unwrapped([fields], warn, number)
                elif isinstance(fields, dict):
                    yield Record(number, fields)
                else:
                    warn(f"line {number}: not a JSON object, skipped ({text[:40]!r})")


_MARK = b"\xef\xbb\xbf"
_LINES = (".jsonl", ".ndjson")
_CHUNK = 1 << 20


def _pieces(stream: Any, warn: Warn) -> Iterator[str]:
    """Yield the text of a file in pieces of about a megabyte."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    while True:
        raw = stream.read(_CHUNK)
        try:
            yield decoder.decode(raw, not raw)
        except UnicodeDecodeError:
            warn("some bytes are not UTF-8 and were replaced")
            decoder.errors = "replace"
            yield decoder.decode(raw, not raw)
        if not raw:
            return


def text_lines(name: str, stream: Iterable[bytes], warn: Warn) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file with their numbers, from 1. Raises InvalidInput if it is not UTF-8 text."""
    for number, raw in enumerate(raw_lines(stream), 1):
        if number == 1:
            _refuse_other_encodings(name, raw)
            raw = raw.removeprefix(_MARK)
        if len(raw) > MOST:
            raise InvalidInput(f"line {number} of {name!r} is longer than {MOST >> 20} MB: split the file")
        try:
            yield number, raw.decode()
        except UnicodeDecodeError:
            warn(f"line {number}: some bytes are not UTF-8 and were replaced")
            yield number, raw.decode(errors="replace")


def raw_lines(stream: Any) -> Iterator[bytes]:
    """Return the lines; of a file never more than can be held."""
    return iter(lambda: stream.readline(MOST + 1), b"") if hasattr(stream, "readline") else iter(stream)


def _refuse_other_encodings(name: str, raw: bytes) -> None:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(raw) > 3 and raw[:4].count(0) == 2):
        raise InvalidInput(f"{name!r} is UTF-16; convert it to UTF-8 first, e.g. iconv -f UTF-16 -t UTF-8 {name!r}")
    if b"\0" in raw[:1000]:
        raise InvalidInput(f"{name!r} is not a text file; {EXPECTED}")


def _array_records(name: str, pieces: Iterator[str], warn: Warn) -> Iterator[Record]:
    read = number = 0
    try:
        for number, text in enumerate(Items(name, pieces), 1):
            value = _json(text)
            if value is None and text != "null":
                warn(f"item {number}: broken JSON or nested too deeply, skipped ({text[:40]!r})")
                continue
            read += isinstance(value, dict)
            yield from _unwrapped([value], warn, number)
    except Unfinished:
        if not read:
            raise InvalidInput(f"{name!r} is broken JSON; {EXPECTED}") from None
        warn(f"the file ends in the midst of its array, after item {number}")


def _unwrapped(values: Iterable[Any], warn: Warn, number: int = 0) -> Iterator[Record]:
    """Yield the objects in these values; of a single one that stands in an array with its number there."""
    for place, fields in enumerate(_messages(values, several=bool(number)), 1):
        if isinstance(fields, dict):
            yield Record(number or place, fields)
        else:
            warn(f"item {number or place}: not an object, skipped")


def is_telegram_chat(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a chat of Telegram, with its messages."""
    return isinstance(value.get("messages"), list) and word(value.get("type")).endswith(_TELEGRAM_KINDS)


_TELEGRAM_KINDS = ("_chat", "_group", "_supergroup", "_channel", "saved_messages", "replies")
_LISTS = ("conversations", "results", "memories")
_WHOLE = frozenset(
    ("mapping", "chat_messages", "chats", "memory", "core_memory", "facts", "edges", "role", "content", "text")
)


def _wrapped(value: Any) -> list[Any] | None:
    """Return the list for which an object is only the wrapping; None for an object that says something itself."""
    if not isinstance(value, dict) or not _WHOLE.isdisjoint(value) or is_telegram_chat(value):
        return None
    return next((value[key] for key in ("messages", *_LISTS) if isinstance(value.get(key), list)), None)


def _messages(values: Iterable[Any], *, several: bool, inside: bool = False) -> Iterator[Any]:
    """Yield the objects of an array, where one wraps others these: conversations, and the messages of each.

    With `several` there may be more conversations than these, so that each must have a name.
    """
    for value in values:
        inner = _wrapped(value)
        if inner is None:
            yield value
        elif isinstance(value.get("messages"), list):
            yield from _of_session(value, inner, several)
        elif inside:
            yield value
        else:
            if inner is value.get("memories"):  # whatever a memory's text is called there
                inner = [
                    {**one, "memory": text}
                    if isinstance(one, dict) and isinstance(text := first(one, "memory", "content", "text"), str)
                    else one
                    for one in inner
                ]
            yield from _messages(inner, several=True, inside=True)


def _of_session(value: Mapping[str, Any], messages: list[Any], several: bool) -> Iterator[Any]:
    """Yield the messages of a conversation with its name; one of several that has none is called by all that is in it.

    A title alone is no name there: any number may be called "New chat".
    """
    name, title = first(value, "session", "session_id", "thread_id", "id", "name"), word(value.get("title"))
    made = name is None and several and not any(isinstance(one, dict) and first(one, *SESSION) for one in messages)
    if made:
        name = f"{title} {digest_of(json.dumps(json_safe(messages), sort_keys=True))[:12]}".strip()
    elif name is None:
        name = title or None
    for place, message in enumerate(messages):
        if name is None or not isinstance(message, dict) or "session" in message:
            yield message
        elif made and first(message, *ID) is None:  # so that what is there twice is taken once
            yield {**message, "session": name, "id": digest_of(name, str(place))[:12]}
        else:
            yield {**message, "session": name}


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- json items -----------------------------------------------------------------------------------
# The items of a JSON array, one at a time: an export of gigabytes is never held whole.

MOST = 256 << 20
"""Characters of a single item, line or object, from which on it is refused: each is held whole."""


class Unfinished(ValueError):
    """The text ends before its array does."""


class Items:
    """Iterates over the texts of an array's items without parsing them, so that a broken one can be skipped.

    Args:
        name: Of the file, for messages.
        pieces: The text, in pieces of any size; its first character that is no blank is `[`.

    Raises:
        Unfinished: While iterating, at the end of a text whose array does not end.
        InvalidInput: While iterating, for an item of more than `MOST` characters.
    """

    def __init__(self, name: str, pieces: Iterator[str]) -> None:
        self._name = name
        self._pieces = pieces
        self._text = ""
        self._at = 0

    def __iter__(self) -> Iterator[str]:
        self._skip(r"[\s\ufeff]*")
        self._at += 1
        while (begin := self._skip(r"[\s,]*")) != "]":
            end = self._end_of_nested() if begin in "[{" else self._end_of_plain()
            text, self._at = self._text[self._at : end], end
            yield text

    def _skip(self, blanks: str) -> str:
        """Return the next character after these. Raises Unfinished."""
        while True:
            found = _pattern(blanks).match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow():
                raise Unfinished

    def _grow(self) -> bool:
        """Read as much again as is held; whether there was more. What was passed over is let go."""
        parts = [self._text[self._at :]]
        if len(parts[0]) > MOST:
            raise InvalidInput(f"an item of {self._name!r} is larger than {MOST >> 20} MB: split the file")
        wanted = len(parts[0]) + 1
        for piece in self._pieces:
            parts.append(piece)
            wanted -= len(piece)
            if wanted <= 0:
                break
        self._text, self._at = "".join(parts), 0
        return len(parts) > 1

    def _end_of_plain(self) -> int:
        """Return where a string, a number or a word ends."""
        while True:
            found = _pattern(r'"(?:[^"\\]++|\\.)*"|[^\s,\]"]+|"').match(self._text, self._at)
            end = found.end() if found else self._at + 1
            if (end < len(self._text) and self._text[self._at : end] != '"') or not self._grow():
                return end

    def _end_of_nested(self) -> int:
        """Return where an object or an array ends, behind the bracket that closes it. Raises Unfinished."""
        depth = place = 0
        while True:
            found = _pattern(r'(?:[^"\[\]{}]++|"(?:[^"\\]++|\\.)*")*([\[\]{}])?').match(self._text, self._at + place)
            bracket = found[1] if found else None
            place = (found.end() if found else self._at) - self._at
            if bracket is None:
                if not self._grow():
                    raise Unfinished
                continue
            depth += 1 if bracket in "[{" else -1
            if depth == 0:
                return self._at + place


@cache
def _pattern(expression: str) -> re.Pattern[str]:
    return re.compile(expression, re.DOTALL)
