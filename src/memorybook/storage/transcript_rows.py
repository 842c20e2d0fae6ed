"""The tables of the transcripts, and their rows as values.

Tables, for people who like SQL (times are ISO 8601 in UTC with microseconds and `Z`, so that they sort as text):

- `sessions`: one row each. `turn_ids` is a JSON array of all its turns; NULL only in a book of an older version, until
  the session grows. `summary_embedding` holds little-endian float32.
  `summary_by` says whose words the summary is (`rules`, `model`, or empty for somebody else's), `summary_through` up to
  which position it tells of the turns, `chats_through` up to which the chats have theirs.
- `chats`: a user's turn with the replies to it, `ai_replies` = JSON array of `{id, role, speaker,
  content, tool_calls, created, metadata, position}`. In a talk between people chats have no
  replies. A chat without `turn_id` holds replies that came before any user's turn, or goes on
  with a long chat: a chat takes 64 replies or 256 KiB, so that storing one more costs the same
  however long an agent works on one request.
- `turns`: where each message is (`chat`, `position`) and the revision it was stored with.
- `removed`: which turns are gone, without their text. `state`: the revision. `seal`: the database's name, and how
  often something was committed.

Text that UTF-8 cannot say (lone surrogates) is stored as a blob in the same column.
"""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Any, Iterator, Sequence, cast
from memorybook.errors import InvalidInput
from memorybook.storage import seal
from memorybook.storage.index.columns import (
    Value,
    as_json,
    bindable,
    list_of,
    maybe_stamp,
    maybe_time_of,
    object_of,
    readable,
    stamp,
)

if TYPE_CHECKING:
    from memorybook.model import Role, Session, Turn

MIGRATIONS: tuple[str, ...] = (
    """
    CREATE TABLE sessions (
        id INTEGER PRIMARY KEY,
        uuid TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL DEFAULT '',
        title TEXT NOT NULL DEFAULT '',
        summary TEXT NOT NULL DEFAULT '',
        summary_embedding BLOB,
        summary_embedding_model TEXT,
        summary_embedding_dimensions INTEGER,
        turn_ids TEXT,
        path TEXT NOT NULL DEFAULT '',
        created TEXT,
        updated TEXT,
        ended TEXT,
        source TEXT NOT NULL DEFAULT '',
        channel TEXT NOT NULL DEFAULT '',
        chat_id TEXT NOT NULL DEFAULT ''
    );
    CREATE INDEX sessions_by_name ON sessions (name);
    CREATE INDEX sessions_by_time ON sessions (updated, id);
    CREATE TABLE chats (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (id),
        turn_id TEXT,
        speaker TEXT NOT NULL DEFAULT '',
        role TEXT NOT NULL DEFAULT '',
        user_input TEXT NOT NULL DEFAULT '',
        tool_calls TEXT NOT NULL DEFAULT '[]',
        ai_replies TEXT NOT NULL DEFAULT '[]',
        position INTEGER NOT NULL,
        metadata TEXT NOT NULL DEFAULT '{}',
        summary TEXT NOT NULL DEFAULT '',
        summary_embedding BLOB,
        summary_embedding_model TEXT,
        summary_embedding_dimensions INTEGER,
        created TEXT,
        updated TEXT,
        revision INTEGER NOT NULL
    );
    CREATE INDEX chats_by_session ON chats (session, position);
    CREATE TABLE turns (
        id INTEGER PRIMARY KEY,
        session INTEGER NOT NULL REFERENCES sessions (id),
        turn_id TEXT NOT NULL,
        chat INTEGER NOT NULL,
        position INTEGER NOT NULL,
        revision INTEGER NOT NULL
    );
    CREATE UNIQUE INDEX turns_by_id ON turns (turn_id, session);
    CREATE UNIQUE INDEX turns_by_position ON turns (session, position);
    CREATE INDEX turns_by_revision ON turns (revision);
    CREATE TABLE removed (
        session TEXT NOT NULL,
        turn_id TEXT NOT NULL,
        revision INTEGER NOT NULL,
        PRIMARY KEY (session, turn_id)
    ) WITHOUT ROWID;
    CREATE INDEX removed_by_revision ON removed (revision);
    CREATE TABLE state (revision INTEGER NOT NULL);
    INSERT INTO state VALUES (0);
    """,
    """
    ALTER TABLE sessions ADD COLUMN summary_by TEXT NOT NULL DEFAULT '';
    ALTER TABLE sessions ADD COLUMN summary_through INTEGER NOT NULL DEFAULT -1;
    ALTER TABLE sessions ADD COLUMN chats_through INTEGER NOT NULL DEFAULT -1;
    CREATE INDEX sessions_open ON sessions (updated) WHERE ended IS NULL;
    """,
    seal.TABLE,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

REPLIES = ("assistant", "tool")
"""Roles that answer a user's turn."""

MOST_REPLIES = 64
MOST_REPLY_TEXT = 256 * 1024
"""What a chat takes at most: replies, and characters of theirs."""

SESSION = "uuid, name, title, summary, path, created, updated, ended, source, channel, chat_id"
CHAT = "turn_id, speaker, role, user_input, tool_calls, ai_replies, position, metadata, created"
EMBEDDING = "summary_embedding_model, summary_embedding_dimensions, summary_embedding"


def check(session: Session, turns: Sequence[Turn]) -> None:
    """Raise InvalidInput for what cannot be stored: no uuid, no id, a turn of another session."""
    if not session.uuid:
        raise InvalidInput("a session needs a uuid")
    for turn in turns:
        if not turn.id:
            raise InvalidInput(f"a turn of session {session.uuid!r} has no id; make one from its content")
        if turn.session != session.uuid:
            raise InvalidInput(f"turn {turn.id!r} belongs to session {turn.session!r}, not to {session.uuid!r}")


def session_row(session: Session) -> list[Value]:
    """The columns `SESSION` of a session. Raises InvalidInput for a time without timezone."""
    texts = (session.uuid, session.name, session.title, session.summary, session.path)
    times = (session.created, session.updated, session.ended)
    place = (session.source, session.channel, session.chat_id)
    return [*map(bindable, texts), *map(maybe_stamp, times), *map(bindable, place)]


def session_of(row: Sequence[Any], turn_ids: tuple[str, ...]) -> Session:
    """The session with these columns `SESSION`."""
    from memorybook.model import Session

    uuid, name, title, summary, path, created, updated, ended, source, channel, chat_id = row
    return Session(
        uuid=readable(uuid),
        name=readable(name),
        title=readable(title),
        summary=readable(summary),
        path=readable(path),
        created=maybe_time_of(created),
        updated=maybe_time_of(updated),
        ended=maybe_time_of(ended),
        source=readable(source),
        channel=readable(channel),
        chat_id=readable(chat_id),
        turn_ids=turn_ids,
    )


def widened(before: Session, after: Session) -> Session:
    """The session as `after` says, from the earlier beginning to the later end."""
    from dataclasses import replace

    created = [time for time in (before.created, after.created) if time is not None]
    updated = [time for time in (before.updated, after.updated) if time is not None]
    return replace(
        after,
        created=min(created, default=None),
        updated=max(updated, default=None),
        turn_ids=before.turn_ids,
    )


def split(turns: Sequence[Turn], count: int, size: int) -> tuple[list[Turn], list[list[Turn]]]:
    """The replies that go on with a chat of `count` replies and `size` characters, then new chats."""
    groups: list[list[Turn]] = [[]]
    for turn in turns:
        reply = turn.role in REPLIES
        if not reply or count >= MOST_REPLIES or size >= MOST_REPLY_TEXT:
            groups.append([])
            count = size = 0
        if reply:
            count += 1
            size += len(turn.text)
        groups[-1].append(turn)
    return groups[0], groups[1:]


def chat_row(turns: Sequence[Turn]) -> list[Value]:
    """The columns `CHAT` of a chat of these turns, at least one."""
    head, replies = (None, turns) if turns[0].role in REPLIES else (turns[0], turns[1:])
    said = as_json([reply_of(turn) for turn in replies])
    if head is None:
        return [None, "", "", "", "[]", said, turns[0].position, "{}", maybe_stamp(turns[0].time)]
    texts = (head.id, head.speaker, head.role, head.text)
    calls, metadata = as_json(head.tool_calls), as_json(head.metadata)
    return [*map(bindable, texts), calls, said, head.position, metadata, maybe_stamp(head.time)]


def reply_of(turn: Turn) -> dict[str, Any]:
    """A reply as it stands in `ai_replies`."""
    return {
        "id": turn.id,
        "role": turn.role,
        "speaker": turn.speaker,
        "content": turn.text,
        "tool_calls": turn.tool_calls,
        "created": maybe_stamp(turn.time),
        "metadata": turn.metadata,
        "position": turn.position,
    }


def turns_of(session: str, chat: Sequence[Any]) -> Iterator[Turn]:
    """The turns of a chat, given its columns `CHAT`."""
    from memorybook.model import Turn

    turn_id, speaker, role, text, calls, replies, position, metadata, created = chat
    if turn_id is not None:
        yield Turn(
            id=readable(turn_id),
            session=session,
            text=readable(text),
            role=cast("Role", readable(role)),
            speaker=readable(speaker),
            time=maybe_time_of(created),
            position=position,
            tool_calls=tuple(list_of(calls)),
            metadata=object_of(metadata),
        )
    for reply in list_of(replies):
        yield Turn(
            id=reply["id"],
            session=session,
            text=reply["content"],
            role=reply["role"],
            speaker=reply["speaker"],
            time=maybe_time_of(reply["created"]),
            position=reply["position"],
            tool_calls=tuple(reply["tool_calls"]),
            metadata=reply["metadata"],
        )


def marks(columns: str) -> str:
    """As many `?` as there are columns."""
    return ", ".join("?" for _ in columns.split(", "))


def times_of(turns: Sequence[Turn]) -> list[str]:
    """Times of the turns that have one, as text."""
    return [stamp(turn.time) for turn in turns if turn.time is not None]


def last_time(turns: Sequence[Turn]) -> str | None:
    """The latest of `times_of`; None if no turn has one."""
    return max(times_of(turns), default=None)
