"""What every importer shares: lines into records, records into sessions with stable identities."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput
from memorybook.model import Role, Session, Turn

EXPECTED = (
    "expected JSON Lines of messages (role or speaker, content or text), a JSON array of them, "
    "a Claude Code transcript or a history.jsonl"
)

Warn = Callable[[str], None]


class Record(NamedTuple):
    """One JSON object of a file, and the line (or place in the array), from 1, it stood at."""

    line: int
    fields: Mapping[str, Any]


class Said(NamedTuple):
    """One message as a format read it, not yet placed in a session.

    Attributes:
        text: What was said.
        role, speaker: As in `Turn`.
        time: UTC; None if unknown.
        stamp: The time as the file spells it: identities rest on it, so that they do not hang on a timezone setting.
        session: The file's own name for its session; "" if it has none.
        scope: The file's own scope; "" if it has none.
        id: The file's own id; "" if it has none.
        tool_calls, metadata: As in `Turn`.
        line: Where it stood.
    """

    text: str
    role: Role = ""
    speaker: str = ""
    time: datetime | None = None
    stamp: str = ""
    session: str = ""
    scope: str = ""
    id: str = ""
    tool_calls: tuple[Mapping[str, Any], ...] = ()
    metadata: Mapping[str, Any] = {}
    line: int = 0


class ImportedSession(NamedTuple):
    """A session as its file tells it, with all of its turns in order."""

    session: Session
    turns: tuple[Turn, ...]


ROLES: Mapping[str, Role] = {
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "bot": "assistant",
    "model": "assistant",
    "system": "system",
    "developer": "system",
    "tool": "tool",
    "function": "tool",
    "toolresult": "tool",
    "tool_result": "tool",
}


def role_of(value: Any) -> Role:
    """The role that a word such as `human` or `AI` stands for; "" for a name or nothing."""
    return ROLES.get(value.strip().lower(), "") if isinstance(value, str) else ""


def first(fields: Mapping[str, Any], *names: str) -> Any:
    """The first of these fields that holds something; None if none does."""
    for name in names:
        value = fields.get(name)
        if value is not None and value != "":
            return value
    return None


def word(value: Any) -> str:
    """A name or id as text; "" for what can be neither."""
    return clean(str(value)).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def clean(text: str) -> str:
    """`text` with Unix line ends, and what no UTF-8 file can hold (half a surrogate pair) replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """`text`, or its first `limit` characters and a word on how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"


def json_safe(value: Any) -> Any:
    """`value` with every string cleaned; for the metadata that travels along."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [json_safe(one) for one in value]
    if isinstance(value, dict):
        return {clean(name): json_safe(one) for name, one in value.items()}
    return value


# --- reading -----------------------------------------------------------------------------------


def records(name: str, stream: Iterable[bytes], warn: Warn) -> Iterator[Record]:
    """The JSON objects of a file: one a line, or in one array, or under `messages`.

    JSON Lines are read line by line, a broken line is a warning. Raises InvalidInput for a file
    that is not UTF-8 text.
    """
    lines = _lines(name, stream, warn)
    opening = next(((number, line) for number, line in lines if line.strip()), None)
    if opening is None:
        raise InvalidInput(f"{name!r} is empty; {EXPECTED}")
    if _opens_document(opening[1]):
        yield from _document(name, "".join([opening[1], *(line for _, line in lines)]), warn)
        return
    yield from _line_records([opening], warn)
    yield from _line_records(lines, warn)


def _lines(name: str, stream: Iterable[bytes], warn: Warn) -> Iterator[tuple[int, str]]:
    for number, raw in enumerate(stream, 1):
        if number == 1:
            _refuse_other_encodings(name, raw)
            raw = raw.removeprefix(b"\xef\xbb\xbf")
        try:
            yield number, raw.decode()
        except UnicodeDecodeError:
            warn(f"line {number}: some bytes are not UTF-8 and were replaced")
            yield number, raw.decode(errors="replace")


def _refuse_other_encodings(name: str, raw: bytes) -> None:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or (len(raw) > 3 and raw[:4].count(0) == 2):
        raise InvalidInput(f"{name!r} is UTF-16; convert it to UTF-8 first, e.g. iconv -f UTF-16 -t UTF-8 {name!r}")
    if b"\0" in raw[:1000]:
        raise InvalidInput(f"{name!r} is not a text file; {EXPECTED}")


def _opens_document(line: str) -> bool:
    """Whether a first line begins one JSON document, and not JSON Lines."""
    text = line.strip()
    if text.startswith("["):
        return True
    if not text.startswith("{"):
        return False
    value = _json(text)
    return text == "{" or (isinstance(value, dict) and isinstance(value.get("messages"), list))


def _document(name: str, text: str, warn: Warn) -> Iterator[Record]:
    value = _json(text)
    if isinstance(value, dict):
        value = [value]
    if not isinstance(value, list):
        raise InvalidInput(f"{name!r} is broken JSON; {EXPECTED}")
    for place, fields in enumerate(_messages(value), 1):
        if isinstance(fields, dict):
            yield Record(place, fields)
        else:
            warn(f"item {place}: not an object, skipped")


def _messages(values: list[Any]) -> Iterator[Any]:
    """The messages of an array, of objects with a `messages` array, or of several such objects."""
    for value in values:
        if not (isinstance(value, dict) and isinstance(value.get("messages"), list)):
            yield value
            continue
        name = first(value, "session", "session_id", "id", "name", "title")
        for message in value["messages"]:
            named = isinstance(message, dict) and name is not None and "session" not in message
            yield {**message, "session": name} if named else message


def _line_records(lines: Iterable[tuple[int, str]], warn: Warn) -> Iterator[Record]:
    for number, line in lines:
        text = line.strip()
        if not text:
            continue
        fields = _json(text)
        if isinstance(fields, dict):
            yield Record(number, fields)
        else:
            warn(f"line {number}: not a JSON object, skipped ({text[:40]!r})")


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


# --- sessions ----------------------------------------------------------------------------------


def sessions(said: Iterable[Said], *, source: str, titles: Mapping[str, str], warn: Warn) -> list[ImportedSession]:
    """The sessions that these messages make up, in the order in which they begin.

    A session's uuid rests on its name and first message alone: the same conversation imported
    again, renamed or grown, is the same session, and another file's `S1` is another.
    """
    groups: dict[tuple[str, str], list[Said]] = {}
    for one in said:
        groups.setdefault((one.scope, one.session), []).append(one)
    return [_session(name, group, source, titles.get(name, ""), warn) for (_, name), group in groups.items()]


def _session(name: str, said: list[Said], source: str, title: str, warn: Warn) -> ImportedSession:
    opening = said[0]
    uuid = _uuid(opening.scope, name, opening.speaker, opening.text, opening.stamp)
    turns = tuple(_turns(uuid, said, warn))
    times = [turn.time for turn in turns if turn.time is not None]
    begin, end = (min(times), max(times)) if times else (None, None)
    session = Session(
        uuid=uuid,
        name=name,
        title=title,
        created=begin,
        updated=end,
        ended=end,
        source=f"import:{os.path.basename(source)}",
        turn_ids=tuple(turn.id for turn in turns),
    )
    return ImportedSession(session, turns)


def _turns(uuid: str, said: Iterable[Said], warn: Warn) -> Iterator[Turn]:
    seen: dict[str, Said] = {}
    occurrences: dict[tuple[str, ...], int] = {}
    for one in said:
        what = (one.speaker, one.stamp, one.text)
        again = seen.get(one.id) if one.id else None
        if again is not None and (again.speaker, again.stamp, again.text) == what:
            continue  # replayed by the writer, e.g. when a session is resumed
        if again is not None:
            warn(f"line {one.line}: id {one.id!r} is used twice, another was made")
        occurrences[what] = occurrences.get(what, 0) + 1
        name = one.id if one.id and again is None else _digest(*what, str(occurrences[what]))[:12]
        seen[name] = one
        yield Turn(
            id=name,
            session=uuid,
            text=one.text,
            role=one.role,
            speaker=one.speaker or one.role,
            time=one.time,
            position=-1,
            tool_calls=one.tool_calls,
            metadata=one.metadata,
        )


def _digest(*parts: str) -> str:
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()


def _uuid(*parts: str) -> str:
    from uuid import UUID

    return str(UUID(hex=_digest("memorybook session", *parts)[:32], version=5))
