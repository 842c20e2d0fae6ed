"""Sessions with their chats as one JSON document, readable by MongoDB's tools (extended JSON).

An array with one object for each session, and in it `chats`: a turn of the user, or of a person, with the replies to
it. Fields are named as the columns of the transcripts' tables; ids are `{"$oid": …}`, made of the session's uuid and
the turn's id, so that they are the same in every export; times are `{"$date": "2026-02-24T10:12:33Z"}`, with as many
digits as they have. In metadata and tool calls a key that begins with `$` has a `＄` before it, as it would be read as
an operator, and so has one that begins with that; numbers that JSON has no words for are `{"$numberDouble": "NaN"}`.

Fields that are not known here are kept by `Exported.extra` and written again, and so are ids of another make. What was
said without an id gets one when it is read, the same each time: that of its chat, else one made of its place and words.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from math import isfinite
from typing import Any, NamedTuple, cast, get_args

from memorybook.errors import InvalidInput
from memorybook.model import Role, Session, Turn
from memorybook.text.screen import visible_json

_TEXTS = ("name", "title", "summary", "path", "source", "channel", "chat_id")
_TIMES = ("created", "updated", "ended")
_SESSION = frozenset(("uuid", *_TEXTS, *_TIMES, "turn_ids", "chats"))
_TURN = ("role", "speaker", "tool_calls", "created", "metadata", "position")
_REPLY = frozenset(("id", "content", *_TURN))
_CHAT = frozenset(("turn_id", "user_input", "summary", "ai_replies", *_TURN))
_REPLIES = ("assistant", "tool")
_ROLES = get_args(Role)
_CHUNK = 1 << 20
_MARK = "＄"
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

Fields = dict[str, Any]


class Extra(NamedTuple):
    """Fields that are not known here: of the session, of chats by the `_id` made here, of replies by their id."""

    session: Mapping[str, Any] = {}
    chats: Mapping[str, Mapping[str, Any]] = {}
    replies: Mapping[str, Mapping[str, Any]] = {}


NO_EXTRA = Extra()


class Exported(NamedTuple):
    """A session of a document.

    Its fields with turn ids, turns in order, chats' summaries by first turn, and the rest.
    """

    session: Session
    turns: tuple[Turn, ...]
    summaries: Mapping[str, str] = {}
    extra: Extra = NO_EXTRA


# --- writing -------------------------------------------------------------------------------------


def render(
    session: Session, turns: Iterable[Turn], summaries: Mapping[str, str], extra: Extra = NO_EXTRA
) -> Iterator[bytes]:
    """Yield the session's object in pieces, a line for each chat, without a line break at its end; see `Exported`."""
    head: Fields = {"_id": _oid(session.uuid), "uuid": session.uuid}
    head |= {name: getattr(session, name) for name in _TEXTS}
    head |= {name: _date(getattr(session, name)) for name in _TIMES}
    head |= {"turn_ids": session.turn_ids, **extra.session}
    yield _encoded(f'{_dumped(head)[:-1]},"chats":[')
    for number, chat in enumerate(_chats(session.uuid, turns, summaries, extra)):
        yield _encoded(f",\n{_dumped(chat)}" if number else f"\n{_dumped(chat)}")
    yield b"\n]}"


def _chats(uuid: str, turns: Iterable[Turn], summaries: Mapping[str, str], extra: Extra) -> Iterator[Fields]:
    for said in _grouped(turns):
        head = None if said[0].role in _REPLIES else said[0]
        id = _oid(uuid, said[0].id)
        told = "\n".join(filter(None, (summaries.get(turn.id) for turn in said)))
        first = said[0].position if head is None else 0
        yield {
            "_id": id,
            "turn_id": None if head is None else head.id,
            "user_input": "" if head is None else head.text,
            **_said(head or Turn(id="-", session=uuid, text="", time=said[0].time, position=first)),
            "summary": told,
            **extra.chats.get(id["$oid"], {}),
            "ai_replies": [
                {"id": turn.id, "content": turn.text, **_said(turn), **extra.replies.get(turn.id, {})}
                for turn in (said if head is None else said[1:])
            ],
        }


def _grouped(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    """Yield a turn with the replies to it; replies that nothing was asked for first are together."""
    group: list[Turn] = []
    for turn in turns:
        if group and turn.role not in _REPLIES:
            yield group
            group = []
        group.append(turn)
    if group:
        yield group


def _said(turn: Turn) -> Fields:
    return {
        "role": turn.role,
        "speaker": turn.speaker,
        "tool_calls": _escaped(list(turn.tool_calls)),
        "created": _date(turn.time),
        "metadata": _escaped(turn.metadata),
        "position": turn.position,
    }


def _oid(*names: str) -> dict[str, str]:
    """Return an id made of a session's uuid, and a turn's id."""
    return {"$oid": sha256(b"\0".join(map(_encoded, names))).hexdigest()[:24]}


def _date(time: datetime | None) -> dict[str, str] | None:
    if time is None:
        return None
    utc = time.astimezone(UTC).replace(tzinfo=None)
    digits = "seconds" if not utc.microsecond else "microseconds" if utc.microsecond % 1000 else "milliseconds"
    return {"$date": f"{utc.isoformat(timespec=digits)}Z"}


def _escaped(value: Any) -> Any:
    """Return metadata or tool calls as extended JSON takes them; unchanged if nothing in them would be misread."""
    if not value:
        return value
    text = _dumped(value)
    if not any(mark in text for mark in ('"$', f'"{_MARK}', "NaN", "Infinity")):
        return value
    return _spelled(json.loads(text))


_WORDS = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _spelled(value: Any) -> Any:
    if isinstance(value, dict):
        return {_MARK + name if name[:1] in ("$", _MARK) else name: _spelled(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    return value if not isinstance(value, float) or isfinite(value) else {"$numberDouble": _WORDS[repr(value)]}


def _dumped(value: Any) -> str:
    return visible_json(json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict))


def _encoded(text: str) -> bytes:
    """Return the text as UTF-8; half a surrogate pair, which UTF-8 cannot say, as JSON escapes it."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        whole = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return whole.encode("utf-8", "backslashreplace")


# --- reading -------------------------------------------------------------------------------------


def is_session(value: Any) -> bool:
    """Return whether a JSON value is a session of such a document."""
    return (
        isinstance(value, dict)
        and isinstance(value.get("chats"), list)
        and bool(_uuid(value))
        and all(isinstance(chat, dict) and "user_input" in chat for chat in value["chats"])
    )


def parse(value: Mapping[str, Any]) -> Exported:
    """Read the session of an object for which `is_session` holds; fields that cannot be what they should are empty."""
    session = session_of(value)
    turns: dict[str, Turn] = {}
    summaries: dict[str, str] = {}
    chats: dict[str, Fields] = {}
    replies: dict[str, Fields] = {}
    for place, chat in enumerate(value["chats"]):
        said = list(_turns(session.uuid, place, chat))
        for turn, fields in said:
            turns.setdefault(turn.id, turn)
            if fields is not chat and (left := _left(fields, _REPLY)):
                replies[turn.id] = left
        if said:
            made, summary = _oid(session.uuid, said[0][0].id), _text(chat.get("summary"))
            summaries |= {said[0][0].id: summary} if summary else {}
            chats |= {made["$oid"]: left} if (left := _left(chat, _CHAT, made)) else {}
    extra = Extra(_left(value, _SESSION, _oid(session.uuid)), chats, replies)
    session = replace(session, turn_ids=tuple(turns))
    return Exported(session, tuple(numbered(turns.values())), summaries, extra)


def numbered(turns: Iterable[Turn]) -> Iterator[Turn]:
    """Yield the turns with their places as positions."""
    for place, turn in enumerate(turns):
        yield turn if turn.position == place else replace(turn, position=place)


def session_of(value: Mapping[str, Any]) -> Session:
    """Return the session's own fields."""
    fields: Fields = {name: _text(value.get(name)) for name in _TEXTS}
    fields |= {name: _time(value.get(name)) for name in _TIMES}
    ids = value.get("turn_ids")
    turn_ids = tuple(filter(None, map(_text, ids))) if isinstance(ids, list) else ()
    return Session(uuid=_uuid(value), turn_ids=turn_ids, **fields)


def summaries_of(value: Mapping[str, Any]) -> dict[str, str]:
    """Return the summaries of the chats that begin with a turn, by its id."""
    found = {_text(chat.get("turn_id")): _text(chat.get("summary")) for chat in value["chats"]}
    return {id: summary for id, summary in found.items() if summary}


def has_turns(chat: Mapping[str, Any]) -> bool:
    """Return whether anything was said in a chat of such a session."""
    return any(_turns("", 0, chat))


def _turns(uuid: str, place: int, chat: Mapping[str, Any]) -> Iterator[tuple[Turn, Mapping[str, Any]]]:
    """Yield the turns of the chat at this place, each with the object that it was read from."""
    text = _text(chat.get("user_input"))
    if id := _name(chat.get("turn_id")) or (text and (_name(chat.get("_id")) or _oid(uuid, f"{place}", text)["$oid"])):
        yield _turn(uuid, id, text, chat, "user" if chat.get("role") is None else _role(chat)), chat
    replies = chat.get("ai_replies")
    for number, reply in enumerate(replies if isinstance(replies, list) else ()):
        if isinstance(reply, dict):
            text = _text(reply.get("content"))
            made = text and (_name(reply.get("_id")) or _oid(uuid, f"{place}.{number}", text)["$oid"])
            if id := _name(reply.get("id")) or made:
                yield _turn(uuid, id, text, reply, _role(reply) or "assistant"), reply


def _role(fields: Mapping[str, Any]) -> Role:
    role = fields.get("role")
    return cast("Role", role) if role in _ROLES else ""


def _turn(uuid: str, id: str, text: str, fields: Mapping[str, Any], role: Role) -> Turn:
    calls, metadata = fields.get("tool_calls"), fields.get("metadata")
    called = _unescaped(calls) if isinstance(calls, list) else ()
    return Turn(
        id=id,
        session=uuid,
        text=text,
        role=role,
        speaker=_text(fields.get("speaker")),
        time=_time(fields.get("created")),
        tool_calls=tuple(call for call in called if isinstance(call, dict)),
        metadata=_unescaped(metadata) if isinstance(metadata, dict) else {},
    )


def _left(fields: Mapping[str, Any], known: frozenset[str], made: Fields | None = None) -> Fields:
    """Return what is not known here; `made` is the `_id` that it has here anyway."""
    return {name: value for name, value in fields.items() if name not in known and (name != "_id" or value != made)}


def _uuid(value: Mapping[str, Any]) -> str:
    id = value.get("_id")
    return _text(value.get("uuid")) or (_name(id) if isinstance(id, dict) else "")


def _name(id: Any) -> str:
    """Return an id as text, also one of MongoDB's make; "" if it is none."""
    return _text(id.get("$oid") if isinstance(id, dict) else id)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _time(value: Any) -> datetime | None:
    """Return the moment of `{"$date": …}`: ISO 8601, or milliseconds since 1970 as a number or `{"$numberLong": …}`."""
    date = value.get("$date") if isinstance(value, dict) else value
    if isinstance(date, dict):
        date = date.get("$numberLong")
        date = int(date) if isinstance(date, str) and date.removeprefix("-").isdecimal() else None
    try:
        if isinstance(date, int) and not isinstance(date, bool):
            return _EPOCH + timedelta(milliseconds=date)
        moment = datetime.fromisoformat(date) if isinstance(date, str) else None
        return None if moment is None or moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _unescaped(value: Any) -> Any:
    """Return what `_escaped` was given; numbers as MongoDB's tools spell them, too."""
    if isinstance(value, dict):
        [(name, spelled), *more] = value.items() or [("", None)]
        if name in _NUMBERS and not more:
            with suppress(TypeError, ValueError):
                return _NUMBERS[name](spelled)
        return {name.removeprefix(_MARK): _unescaped(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_unescaped(one) for one in value]
    return value


_NUMBERS: Mapping[str, Callable[[Any], float]] = {"$numberDouble": float, "$numberLong": int, "$numberInt": int}


# --- reading a file, one session at a time -------------------------------------------------------


def objects(name: str, read: Callable[[int], str]) -> Iterator[tuple[Fields, str]]:
    """Yield each session of a document with its text, one at a time. Raises InvalidInput.

    `read` gives the next so many characters, "" at the end: an array, or objects one after another.
    """
    pieces = _Pieces(name, read)
    closing = "]" if pieces.skip("[") else ""
    while pieces.peek() == "{":
        yield pieces.value()
        pieces.skip(",")
    if pieces.peek() != closing or (pieces.skip(closing) and pieces.peek()):
        raise pieces.broken("it is cut short" if not pieces.peek() else "something else is in it")


class _Pieces:
    """A JSON text, read as it is needed."""

    def __init__(self, name: str, read: Callable[[int], str]) -> None:
        self._name = name
        self._read = read
        self._text = ""
        self._at = 0
        self._blank = re.compile(r"[\ufeff\s]*")

    def peek(self) -> str:
        """Return the next character that is no blank; "" at the end."""
        while True:
            found = self._blank.match(self._text, self._at)
            self._at = found.end() if found else self._at
            if self._at < len(self._text):
                return self._text[self._at]
            self._text, self._at = self._read(_CHUNK), 0
            if not self._text:
                return ""

    def skip(self, character: str) -> bool:
        """Pass over the next character if it is this one; return whether it was."""
        found = self.peek() == character != ""
        self._at += found
        return found

    def value(self) -> tuple[Fields, str]:
        """Return the session that begins here, and its text."""
        while True:
            try:
                found, end = _DECODER.raw_decode(self._text, self._at)
                break
            except RecursionError:
                raise self.broken("it is nested too deeply") from None
            except ValueError as error:
                self._text, self._at = self._text[self._at :], 0
                more = self._read(max(_CHUNK, len(self._text)))
                if not more:
                    raise self.broken(str(error)) from None
                self._text += more
        if not is_session(found):
            raise self.broken("it holds something else than sessions with their chats")
        text, self._at = self._text[self._at : end], end
        return found, text

    def broken(self, why: str) -> InvalidInput:
        """Return the error of a text that is no such document."""
        return InvalidInput(f"{self._name!r} is no export of sessions ({why}): give another file")


_DECODER = json.JSONDecoder()
