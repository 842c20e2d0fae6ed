"""How the summaries of sessions and chats are kept in the tables of the transcripts."""

from __future__ import annotations

from memorybook._light import TYPE_CHECKING, Iterator
from memorybook.errors import InvalidInput, NotFound
from memorybook.storage.index.columns import Value, bindable, maybe_bindable, readable
from memorybook.storage.sqlite import Connection
from memorybook.storage.transcript_rows import CHAT, EMBEDDING, SESSION, session_of, turns_of

if TYPE_CHECKING:
    from memorybook.formats.summary_changes import SummaryEmbedding, SummaryState, SummaryUpdate
    from memorybook.model import Session, Turn


def told(db: Connection, number: int) -> SummaryState:
    """See `SqliteTranscripts.told`."""
    from memorybook.formats.summary_changes import SummaryState

    columns = f"{SESSION}, summary_by, summary_through, chats_through"
    [(*row, by, through, chats_through)] = db.execute(f"SELECT {columns} FROM sessions WHERE id=?", (number,))
    [(last,)] = db.execute("SELECT max(position) FROM turns WHERE session=?", (number,))
    [(revision,)] = db.execute("SELECT revision FROM state")
    return SummaryState(
        session_of(row, ()), readable(by), through, chats_through, -1 if last is None else last, revision
    )


def tell(db: Connection, number: int, telling: SummaryUpdate) -> bool:
    """See `SqliteTranscripts.tell`."""
    before = telling.told
    gone = "SELECT 1 FROM removed WHERE session=? AND revision>? LIMIT 1"
    [(standing,)] = db.execute("SELECT summary FROM sessions WHERE id=?", (number,))
    if readable(standing) != before.session.summary:
        return False
    if db.first(gone, (bindable(before.session.uuid), before.revision)):
        return False
    edited = "SELECT 1 FROM turns WHERE session=? AND position<=? AND revision>? LIMIT 1"
    if db.first(edited, (number, before.last, before.revision)):
        return False
    for chat in telling.chats:
        found = db.first("SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(chat.turn_id), number))
        if found is not None:
            db.execute("UPDATE chats SET summary=? WHERE id=?", (bindable(chat.summary), found[0]))
            set_embedding(db, "chats", found[0], chat.embedding)
    db.execute(
        "UPDATE sessions SET chats_through=?, summary_through=? WHERE id=?", (before.last, telling.through, number)
    )
    if telling.summary is not None:
        db.execute(
            "UPDATE sessions SET summary=?, title=?, summary_by=? WHERE id=?",
            (bindable(telling.summary), bindable(telling.title), telling.by, number),
        )
        set_embedding(db, "sessions", number, telling.embedding)
    return True


def chats_after(db: Connection, number: int, session: str, position: int) -> Iterator[tuple[Turn, ...]]:
    """The turns of each chat that has one after that position."""
    later = "SELECT chat FROM turns WHERE session=? AND position>?"
    rows = db.execute(f"SELECT {CHAT} FROM chats WHERE id IN ({later}) ORDER BY position", (number, position))
    for row in rows:
        yield tuple(turns_of(session, row))


def chat_summaries(db: Connection, session: str) -> dict[str, str]:
    """See `SqliteTranscripts.chat_summaries`."""
    rows = db.execute(
        "SELECT turns.turn_id, chats.summary FROM chats JOIN sessions ON sessions.id=chats.session"
        " JOIN turns ON turns.session=chats.session AND turns.position=chats.position"
        " WHERE sessions.uuid=? AND chats.summary<>'' ORDER BY chats.position",
        (bindable(session),),
    )
    return {readable(turn): readable(summary) for turn, summary in rows}


def running(db: Connection, limit: int) -> list[tuple[Session, SummaryEmbedding | None]]:
    """See `SqliteTranscripts.running`: what told a page of a session is nobody's summary here, see `update`."""
    rows = db.execute(
        f"SELECT {EMBEDDING}, {SESSION} FROM sessions WHERE ended IS NULL AND summary_by<>'' AND summary<>''"
        " ORDER BY updated DESC, id DESC LIMIT ?",
        (limit,),
    )
    return [(session_of(row, ()), _embedding(model, size, vector)) for model, size, vector, *row in rows]


def unsaid(db: Connection, number: int, position: int) -> None:
    """Let go of a summary that was made of turns some of which are removed, the first at that position."""
    made = "SELECT 1 FROM sessions WHERE id=? AND summary_by<>''"
    if db.first(made, (number,)):
        db.execute("UPDATE sessions SET summary='', title='', summary_by='', summary_through=-1 WHERE id=?", (number,))
        set_embedding(db, "sessions", number, None)
    db.execute("UPDATE sessions SET chats_through=min(chats_through, ?) WHERE id=?", (position - 1, number))


def summarized(db: Connection, number: int, session: str, turn_id: str | None) -> tuple[str, int]:
    """Table and row of what a summary is about: the session, or the chat that holds the turn. Raises NotFound."""
    if turn_id is None:
        return "sessions", number
    row = db.first("SELECT chat FROM turns WHERE turn_id=? AND session=?", (bindable(turn_id), number))
    if row is None:
        raise NotFound(f"session {session!r} has no turn {turn_id!r}; read the session to see its turns")
    return "chats", row[0]


def embedding_of(db: Connection, table: str, number: int) -> SummaryEmbedding | None:
    """The vector of what `summarized` gave."""
    [row] = db.execute(f"SELECT {EMBEDDING} FROM {table} WHERE id=?", (number,))
    return _embedding(*row)


def _embedding(model: Value, dimensions: Value, vector: Value) -> SummaryEmbedding | None:
    """The columns `EMBEDDING` as a vector; None if there is none."""
    from memorybook.formats.summary_changes import SummaryEmbedding

    if not (isinstance(vector, bytes) and isinstance(dimensions, int)):
        return None
    return SummaryEmbedding(readable(model), dimensions, vector)


def set_embedding(db: Connection, table: str, number: int, embedding: SummaryEmbedding | None) -> None:
    """Keep the vector of what `summarized` gave; None drops it. Raises InvalidInput for one of another length."""
    model, dimensions, vector = embedding or (None, None, None)
    if dimensions is not None and (dimensions < 1 or len(vector or b"") != 4 * dimensions):
        problem = f"a vector of {dimensions} dimensions has {4 * dimensions} bytes, not {len(vector or b'')}"
        raise InvalidInput(problem)
    values = (maybe_bindable(model), dimensions, vector, number)
    db.execute(f"UPDATE {table} SET ({EMBEDDING}) = (?, ?, ?) WHERE id=?", values)
