"""Messages as JSON objects, each with a role or a speaker and a text: read into turns, and turns into sessions."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, tzinfo
from hashlib import sha256
from itertools import compress, groupby
from typing import Any, NamedTuple
from uuid import UUID

from memorybook.errors import InvalidInput
from memorybook.formats.timestamps import Order, orders_of, parse_time, readings
from memorybook.model import Role, Session, Turn

SESSION = ("session", "session_id", "sessionId", "conversation_id", "thread_id")
ID = ("id", "uuid", "message_id")
"""Fields in which a message has the name of its session, and its own."""

CAME_IN = "import"
"""Field of a turn's metadata: the source that it came from, where its session began in another."""

Warn = Callable[[str], None]

TOOL_TEXT_LIMIT = 4000
"""Characters of a tool's output that are kept; the rest is for a log, not for a memory."""

TEXT = ("content", "text", "message")
_TIME = ("timestamp", "ts", "time", "created_at", "datetime", "date")
_SPEAKER = ("speaker", "name", "author", "sender", "from")
_CALLS = ("tool_calls", "tool")
_USED = frozenset((*TEXT, *_TIME, *SESSION, *ID, *_SPEAKER, *_CALLS, "role", "scope"))


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
        lasting: Whether `session` is an id that no other talk in the world has: then identity rests on it alone.
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
    lasting: bool = False


class ImportedSession(NamedTuple):
    """A session as its file tells it, with all of its turns in order."""

    session: Session
    turns: tuple[Turn, ...]


ROLES: Mapping[str, Role] = {
    "user": "user", "human": "user", "assistant": "assistant", "ai": "assistant", "bot": "assistant",
    "model": "assistant", "system": "system", "developer": "system", "tool": "tool", "function": "tool",
    "toolresult": "tool", "tool_result": "tool",
}  # fmt: skip


# --- one message -------------------------------------------------------------------------------


def read_messages(messages: Iterable[Mapping[str, Any]], *, timezone: tzinfo) -> tuple[ImportedSession, ...]:
    """Read a caller's messages into the sessions that they name, never none.

    Args:
        messages: `{"role"|"speaker", "content"|"text", "timestamp", …}` in order.
        timezone: Of times without an offset.

    Raises:
        InvalidInput: None of them holds a text or tool calls.
    """
    warnings: list[str] = []
    records = (Record(number, plain(message)) for number, message in enumerate(messages, 1))
    read = (said_in(record, timezone=timezone, warn=warnings.append) for record in records)
    said = dated(filter(None, read), timezone=timezone, warn=warnings.append)
    found = tuple(sessions(said, source="messages", titles={}, warn=warnings.append))
    if not found:
        because = f" ({warnings[0]})" if warnings else ""
        raise InvalidInput(f"no message could be read: give each a role or speaker, and a content or text{because}")
    return found


def plain(message: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message as JSON has it, whatever mapping it is; values that JSON does not know become text.

    Raises InvalidInput for what is no mapping, or has names or circles that JSON cannot have.
    """
    if not isinstance(message, Mapping):
        raise InvalidInput(f"message {repr(message)[:80]} is no object: give role and content")

    def text(value: object) -> str:
        return value.isoformat() if isinstance(value, datetime) else str(value)

    try:
        read: dict[str, Any] = json.loads(json.dumps(dict(message), default=text))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"message {repr(message)[:80]} is no JSON object ({error})") from None
    return read


def said_in(record: Record, *, timezone: tzinfo, warn: Warn, session: str = "") -> Said | None:
    """Read the message of one object; None, and a warning, if it has neither text nor tool calls.

    Its time is read as one that stands alone: `dated` reads those of a file together.
    """
    fields = record.fields
    role, speaker = who_of(fields)
    text, called = content_of(first(fields, *TEXT))
    given, tool = fields.get("tool_calls"), word(fields.get("tool"))
    own = [json_safe(call) for call in given if isinstance(call, dict)] if isinstance(given, list) else []
    if tool and role == "assistant" and not own:
        own = [{"name": tool, "arguments": text}]
    calls = (*own, *called)
    if not text.strip() and not calls:
        warn(f"line {record.line}: no content or text, skipped")
        return None
    rest = {clean(name): json_safe(value) for name, value in fields.items() if name not in _USED and value is not None}
    stamp = first(fields, *_TIME)
    time = parse_time(stamp, timezone)
    if stamp is not None and time is None and not readings(word(stamp)):
        warn(f"line {record.line}: {stamp!r} is no time that names one moment; the turn has none")
    return Said(
        text=cut(text, TOOL_TEXT_LIMIT) if role == "tool" else text,
        role=role,
        speaker=speaker,
        time=time,
        stamp=word(stamp),
        session=word(first(fields, *SESSION)) or session,
        scope=word(fields.get("scope")),
        id=word(first(fields, *ID)),
        tool_calls=calls,
        metadata={**rest, "tool": tool} if tool and role != "assistant" else rest,
        line=record.line,
    )


def content_of(value: Any) -> tuple[str, tuple[Mapping[str, Any], ...]]:
    """Return text and tool calls of a content: a string, blocks (`{"type": "text", …}`) or nothing."""
    if isinstance(value, str):
        return clean(value), ()
    blocks = [value] if isinstance(value, dict) else value if isinstance(value, list) else []
    texts: list[str] = []
    for block in blocks:
        if isinstance(block, dict) and block.get("type", "text") in ("text", "input_text", "output_text"):
            block = first(block, "text", "content")
        texts += [clean(block)] if isinstance(block, str) else []
    calls = tuple(
        {"id": word(block.get("id")), "name": word(block.get("name")), "arguments": json_safe(block.get("input"))}
        for block in blocks
        if isinstance(block, dict) and block.get("type") == "tool_use"
    )
    return "\n".join(text for text in texts if text.strip()), calls


def who_of(fields: Mapping[str, Any]) -> tuple[Role, str]:
    """Return role and speaker. A talk between people has names and no roles; a role's word is also a speaker's."""
    role = role_of(fields.get("role"))
    speaker = word(first(fields, *_SPEAKER)) or ("" if role else word(fields.get("role")))
    return role or role_of(speaker), speaker or role


def role_of(value: Any) -> Role:
    """Return the role that a word such as `human` or `AI` stands for; "" for a name or nothing."""
    return ROLES.get(value.strip().lower(), "") if isinstance(value, str) else ""


def first(fields: Mapping[str, Any], *names: str) -> Any:
    """Return the first of these fields that holds something; None if none does."""
    return next((value for name in names if (value := fields.get(name)) is not None and value != ""), None)


def word(value: Any) -> str:
    """Return a name or id as text; "" for what can be neither."""
    return clean(str(value)).strip() if isinstance(value, str | int | float) and not isinstance(value, bool) else ""


def clean(text: str) -> str:
    """Return the text with Unix line ends, and what no UTF-8 file can hold (half a surrogate pair) replaced."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def cut(text: str, limit: int) -> str:
    """Return the text, or its first `limit` characters and how many are missing."""
    return text if len(text) <= limit else f"{text[:limit]}… [{len(text) - limit} more characters]"


def json_safe(value: Any, depth: int = 0) -> Any:
    """Return a JSON value with every string cleaned; `…` for what lies too deep in it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list | dict) and depth == _DEEPEST:
        return "…"
    if isinstance(value, list):
        return [json_safe(one, depth + 1) for one in value]
    if isinstance(value, dict):
        return {clean(name): json_safe(one, depth + 1) for name, one in value.items()}
    return value


_DEEPEST = 40


# --- sessions ----------------------------------------------------------------------------------


def dated(
    said: Iterable[Said], *, timezone: tzinfo, warn: Warn, assumed: Callable[[Iterable[str]], Order] | None = None
) -> list[Said]:
    """Return the messages of a file, with the times read together whose day and month may change places.

    Where nothing decides it, the order is what `assumed` says of such times, else those that have two meanings are
    left out; `warn` is told which.
    """
    spoken = list(said)
    in_question = [bool(one.stamp and readings(one.stamp)) for one in spoken]
    if not any(in_question):
        return spoken
    talks: dict[tuple[str, str], list[str]] = {}
    for one in compress(spoken, in_question):
        talks.setdefault((one.scope, one.session), []).append(one.stamp)
    orders = orders_of(talks.values())
    order = orders[0] if len(orders) == 1 else None
    unsure = [one.stamp for one in compress(spoken, in_question) if order is None and one.time is None]
    if unsure:
        shown = repr(" ".join(unsure[0].split()))
        what = f"{len(unsure)} times such as {shown}" if len(unsure) > 1 else f"the time {shown}"
        order = assumed(unsure) if assumed and orders else None
        done = f"{_MEANING[order]} was assumed" if order else "left out"
        why = "nothing in the file tells which" if orders else "others in the file are in different orders"
        warn(f"{what} can be read day first or month first, and {why}: {done}")
    return [
        one._replace(time=parse_time(one.stamp, timezone, order)) if asked and order else one
        for one, asked in zip(spoken, in_question, strict=True)
    ]


_MEANING: Mapping[Order, str] = {"dmy": "day first", "mdy": "month first", "ymd": "year first"}


def timed(said: Iterable[Said], begun: datetime | None, ended: datetime | None) -> Iterator[Said]:
    """Yield the messages of a conversation; one without a time has that of the one before, the first has `begun`.

    Where none has a time, the last has `ended`. Identities do not change.
    """
    spoken = list(said)
    if len(spoken) > 1 and ended is not None and all(one.time is None for one in spoken):
        spoken[-1] = spoken[-1]._replace(time=ended if begun is None else max(begun, ended))
    time = begun
    for one in spoken:
        time = one.time or time
        yield one._replace(time=time)


def sessions(
    said: Iterable[Said], *, source: str, titles: Mapping[str, str], warn: Warn, apart: bool = False
) -> Iterator[ImportedSession]:
    """Yield the sessions that these messages make up, in the order in which they begin.

    A session's uuid rests on its name and first message alone, or on its name if that lasts: the same conversation
    imported again, renamed or grown, is the same session, and another file's `S1` is another.

    `source` names the file; `titles` (by session) is read with a session's messages; `warn` is told what is odd;
    `apart` says that the messages of a session stand together, so that only one session is held.
    """
    groups: Iterable[tuple[tuple[str, str], Iterable[Said]]]
    if apart:
        groups = groupby(said, key=lambda one: (one.scope, one.session))
    else:
        sorted_out: dict[tuple[str, str], list[Said]] = {}
        for one in said:
            sorted_out.setdefault((one.scope, one.session), []).append(one)
        groups = sorted_out.items()
    for (_, name), group in groups:
        spoken = list(group)
        yield _session(name, spoken, source, titles.get(name, ""), warn)


def _session(name: str, said: list[Said], source: str, title: str, warn: Warn) -> ImportedSession:
    opening = said[0]
    first_said = () if opening.lasting else (opening.speaker, opening.text, opening.stamp)
    digest = digest_of("memorybook session", opening.scope, name, *first_said)
    uuid = str(UUID(hex=digest[:32], version=5))
    turns = tuple(_turns(uuid, said, warn))
    times = [turn.time for turn in turns if turn.time is not None]
    end = max(times, default=None)
    session = Session(
        uuid=uuid,
        name=" ".join(name.split()),
        title=title,
        created=min(times, default=None),
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
        name = one.id if one.id and again is None else digest_of(*what, str(occurrences[what]))[:12]
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


def digest_of(*parts: str) -> str:
    """Return SHA-256 of the parts, in hexadecimal digits."""
    return sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
