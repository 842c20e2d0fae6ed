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

from memorybook._light import TYPE_CHECKING, Any, Iterator, Mapping, Sequence
from memorybook.errors import InvalidInput, NotFound
from memorybook.storage.columns import TEXT, TIME, Columns, Value, as_json, bindable, json_of, readable, stamp
from memorybook.storage.sqlite import SEAL_TABLE, Connection

if TYPE_CHECKING:
    from memorybook.formats.document import SummaryEmbedding
    from memorybook.model import Session, Turn


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
    SEAL_TABLE,
)
"""Migration n makes version n of version n - 1. Only ever added to."""

REPLIES = ("assistant", "tool")
"""Roles that answer a user's turn."""

MOST_REPLIES = 64
MOST_REPLY_TEXT = 256 * 1024
"""What a chat takes at most: replies, and characters of theirs."""

SESSION = Columns(
    uuid=TEXT, name=TEXT, title=TEXT, summary=TEXT, path=TEXT, created=TIME, updated=TIME, ended=TIME, source=TEXT,
    channel=TEXT, chat_id=TEXT,
)  # fmt: skip
CHAT = "turn_id, speaker, role, user_input, tool_calls, ai_replies, position, metadata, created"
CHAT_MARKS = ", ".join("?" * 9)
EMBEDDING = "summary_embedding_model, summary_embedding_dimensions, summary_embedding"


def session_of(row: Sequence[Any], turn_ids: tuple[str, ...] = ()) -> Session:
    """Return the session with these columns `SESSION`."""
    from memorybook.model import Session

    return Session(**SESSION.fields(row), turn_ids=turn_ids)


def chat_row(turns: Sequence[Turn]) -> list[Value]:
    """Return the columns `CHAT` of a chat of these turns, at least one."""
    head, replies = (None, turns) if turns[0].role in REPLIES else (turns[0], turns[1:])
    said = as_json([reply_of(turn) for turn in replies])
    if head is None:
        return [None, "", "", "", "[]", said, turns[0].position, "{}", TIME.write(turns[0].time)]
    texts = (head.id, head.speaker, head.role, head.text)
    rest = (as_json(head.tool_calls), said, head.position, as_json(head.metadata), TIME.write(head.time))
    return [*map(bindable, texts), *rest]


def reply_of(turn: Turn) -> dict[str, Any]:
    """Return a reply as it stands in `ai_replies`."""
    return {
        "id": turn.id,
        "role": turn.role,
        "speaker": turn.speaker,
        "content": turn.text,
        "tool_calls": turn.tool_calls,
        "created": TIME.write(turn.time),
        "metadata": turn.metadata,
        "position": turn.position,
    }


def turns_of(session: str, chat: Sequence[Any]) -> Iterator[Turn]:
    """Yield the turns of a chat, given its columns `CHAT`."""
    from memorybook.model import Turn

    turn_id, speaker, role, text, calls, replies, position, metadata, created = chat
    said: list[Mapping[str, Any]] = json_of(replies, list)
    if turn_id is not None:
        texts = {"id": turn_id, "role": role, "speaker": speaker, "content": text}
        head: dict[str, Any] = {name: readable(value) for name, value in texts.items()}
        head |= {"created": created, "position": position, "tool_calls": json_of(calls, list)}
        said = [{**head, "metadata": json_of(metadata, dict)}, *said]
    for one in said:
        yield Turn(
            id=one["id"],
            session=session,
            text=one["content"],
            role=one["role"],
            speaker=one["speaker"],
            time=TIME.read(one["created"]),
            position=one["position"],
            tool_calls=tuple(one["tool_calls"]),
            metadata=one["metadata"],
        )


def times_of(turns: Sequence[Turn]) -> list[str]:
    """Return times of the turns that have one, as text."""
    return [stamp(turn.time) for turn in turns if turn.time is not None]


def summarized(db: Connection, number: int, session: str, turn_id: str | None) -> tuple[str, int]:
    """Return (table, row) of a summary's subject: the session, or the chat with the turn. Raises NotFound."""
    if turn_id is None:
        return "sessions", number
    row = db.first("SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(turn_id), number))
    if row is None:
        raise NotFound(f"session {session!r} has no turn {turn_id!r}; read the session to see its turns")
    return "chats", row[0]


def as_embedding(model: Value, dimensions: Value, vector: Value) -> SummaryEmbedding | None:
    """Return the columns `EMBEDDING` as a vector; None if there is none."""
    from memorybook.formats.document import SummaryEmbedding

    if not (isinstance(vector, bytes) and isinstance(dimensions, int)):
        return None
    return SummaryEmbedding(readable(model), dimensions, vector)


def set_embedding(db: Connection, table: str, number: int, embedding: SummaryEmbedding | None) -> None:
    """Keep the vector of what `summarized` gave; None drops it. Raises InvalidInput for one of another length."""
    model, dimensions, vector = embedding or (None, None, None)
    if dimensions is not None and (dimensions < 1 or len(vector or b"") != 4 * dimensions):
        problem = f"a vector of {dimensions} dimensions has {4 * dimensions} bytes, not {len(vector or b'')}"
        raise InvalidInput(problem)
    values = (bindable(model), dimensions, vector, number)
    db.execute(f"UPDATE {table} SET ({EMBEDDING}) = (?, ?, ?) WHERE id=?", values)
