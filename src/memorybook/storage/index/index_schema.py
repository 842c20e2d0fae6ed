"""The tables of `index.sqlite`, conversion of passages to rows, and disposal of unusable files.

There are no migrations: everything is derived, so a file of another version is deleted and rebuilt.
"""

from __future__ import annotations

import os
from itertools import count
from math import inf, log

import apsw

from memorybook._light import TYPE_CHECKING, Any, Callable, Iterable, Iterator, Mapping, Sequence
from memorybook.errors import Unavailable
from memorybook.inference.static import vectors_of
from memorybook.search.types import Passage
from memorybook.storage.columns import Surrogates, Value, bindable, readable
from memorybook.storage.sqlite import Connection, Row, connect, immediate
from memorybook.text.tokens import without_names

if TYPE_CHECKING:
    from memorybook.formats.document import TurnChanges
    from memorybook.model import Session, Turn
    from memorybook.protocols import Embedder, Transcripts
    from memorybook.search.types import Query


APPLICATION = 0x6D62696E
"""`application_id` of our files, so that nobody else's database is ever thrown away."""

VERSION = 15
"""To be raised with the schema, and whenever the indexed words of a text change."""

FIELDS = Passage._fields
COLUMNS = ", ".join(f"p.{name}" for name in FIELDS)

_TYPES = {"score": "REAL"} | dict.fromkeys("start_line end_line position pinned asks".split(), "INTEGER")
_BYTES = frozenset((bytes, Surrogates))
_WHOLE = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

_PASSAGE_COLUMNS = ",\n    ".join(f"{name} {_TYPES.get(name, '')}".strip() for name in FIELDS)
_TOKENIZER = "ascii tokenchars '{}'".format(_WHOLE.replace("'", "''"))

SCHEMA = f"""
CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE known_documents (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    path UNIQUE, size INTEGER, stamp TEXT, hash TEXT, modified REAL
);
CREATE TABLE session_names (uuid PRIMARY KEY, name) WITHOUT ROWID;
CREATE INDEX sessions_by_name ON session_names (name);
CREATE TABLE texts (id INTEGER PRIMARY KEY AUTOINCREMENT, digest TEXT NOT NULL UNIQUE);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY,
    dense INTEGER NOT NULL,
    {_PASSAGE_COLUMNS}
);
CREATE TABLE entries (
    path, entry, hits INTEGER, created TEXT, metadata, fields INTEGER, updated TEXT, PRIMARY KEY (path, entry)
) WITHOUT ROWID;
CREATE INDEX passages_by_text ON passages (dense);
CREATE INDEX passages_by_path ON passages (path) WHERE source<>'turn';
CREATE INDEX passages_by_place ON passages (session, position) WHERE session IS NOT NULL;
CREATE UNIQUE INDEX turns_by_id ON passages (session, turn) WHERE source='turn';
CREATE INDEX turns_by_speaker ON passages (speaker) WHERE source='turn';
CREATE INDEX entries_by_id ON passages (entry) WHERE source='entry';
CREATE INDEX entries_by_type ON passages (category) WHERE source='entry';
CREATE INDEX entries_by_importance ON passages (score) WHERE source='entry';
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', contentless_delete=1, tokenize="{_TOKENIZER.replace('"', '""')}"
);
CREATE TABLE terms (
    id INTEGER PRIMARY KEY, term TEXT NOT NULL UNIQUE, holding INTEGER NOT NULL,
    passages BLOB NOT NULL, codes BLOB NOT NULL
);
CREATE TABLE postings (id INTEGER PRIMARY KEY, passages BLOB NOT NULL, codes BLOB NOT NULL);
CREATE TABLE models (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, dimensions INTEGER NOT NULL, paused_until REAL, reason TEXT,
    unrelated REAL
);
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY AUTOINCREMENT, model INTEGER NOT NULL, text INTEGER NOT NULL, vector BLOB,
    UNIQUE (model, text)
);
CREATE INDEX embeddings_by_model ON embeddings (model) WHERE vector IS NOT NULL;
CREATE TABLE gone (text INTEGER PRIMARY KEY);
CREATE TRIGGER text_goes AFTER DELETE ON passages WHEN NOT EXISTS (SELECT 1 FROM passages WHERE dense=old.dense)
    BEGIN INSERT OR IGNORE INTO gone VALUES (old.dense); END;
CREATE TRIGGER text_comes AFTER INSERT ON passages BEGIN DELETE FROM gone WHERE text=new.dense; END;
CREATE TRIGGER passage_goes AFTER DELETE ON passages
    BEGIN UPDATE meta SET value=value+1 WHERE name='altered'; END;
CREATE TRIGGER passage_changes AFTER UPDATE ON passages
    BEGIN UPDATE meta SET value=value+1 WHERE name='altered'; END;
CREATE TABLE pending (model INTEGER, text INTEGER, PRIMARY KEY (model, text)) WITHOUT ROWID;
CREATE TABLE segments (
    generation INTEGER PRIMARY KEY, model INTEGER NOT NULL, after INTEGER NOT NULL, upto INTEGER NOT NULL,
    rows INTEGER NOT NULL, size INTEGER NOT NULL, written INTEGER NOT NULL
);
CREATE VIEW agent_memory AS SELECT
    p.entry AS id, p.session AS session_id, p.category AS memory_type, p.text AS content,
    (SELECT v.vector FROM models AS m CROSS JOIN embeddings AS v ON v.model=m.id AND v.text=p.dense
        ORDER BY m.id DESC LIMIT 1) AS vector,
    p.score AS importance, coalesce(e.hits, 0) AS access_count, p.activated AS last_accessed,
    coalesce(e.metadata, '{{}}') AS metadata, e.created AS created_at, coalesce(e.updated, p.activated) AS updated_at,
    p.id AS passage
FROM passages AS p LEFT JOIN entries AS e ON e.path=p.path AND e.entry=p.entry WHERE p.source='entry';
INSERT INTO meta VALUES
    ('born', random()), ('generation', 0), ('last', 0), ('altered', 0),
    ('passages', 0), ('words', 0), ('terms', 0);
"""


def open_index(path: str, setup: Callable[[apsw.Connection], object] | None = None) -> Connection:
    """Open the index at `path`; one that is missing or of another version is made. Raises Unavailable, Damaged."""
    connection = connect(path, durable=False, setup=setup)

    def made_by() -> tuple[int, int]:
        [(application,)] = connection.execute("PRAGMA application_id")
        [(version,)] = connection.execute("PRAGMA user_version")
        return application, version

    if made_by() == (APPLICATION, VERSION):
        return connection
    try:
        with immediate(connection):
            application, version = made_by()
            if application != APPLICATION and connection.first("SELECT name FROM sqlite_schema LIMIT 1"):
                other = f"{connection.path!r} is the database of another program"
                raise Unavailable(f"{other}; choose another path for the index (db_path)")
            if (application, version) != (APPLICATION, VERSION):
                old = connection.execute(  # virtual tables before others: they take their own tables along
                    "SELECT type, name FROM sqlite_schema WHERE type IN ('view', 'table') AND name NOT LIKE 'sqlite_%'"
                    " ORDER BY type='view' DESC, sql LIKE 'CREATE VIRTUAL%' DESC, name DESC"
                )
                for kind, name in old:
                    connection.execute(f'DROP {kind} IF EXISTS "{name}"')
                connection.execute(f"{SCHEMA}; PRAGMA application_id={APPLICATION}; PRAGMA user_version={VERSION}")
    except BaseException:
        connection.close()
        raise
    return connection


def inode(path: str) -> tuple[int, int] | None:
    """Return what the path names now, to compare with what was opened; None if nothing."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def throw_away(path: str, opened: tuple[int, int] | None, *, ours: bool) -> None:
    """Remove a damaged index, unless another process did so already. Raises OSError.

    `opened` is the `inode` of the damaged file, None if it could not be opened; a file not known to be `ours`
    is moved aside.
    """
    from fcntl import LOCK_EX, flock

    folder = os.path.dirname(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # one process at a time: unlinking the log of a file that another has just made would damage it
        flock(descriptor, LOCK_EX)
        now = inode(path)
        if now is None or (opened is not None and now != opened):
            return
        for suffix in ("-wal", "-shm"):
            if os.path.lexists(path + suffix):
                os.unlink(path + suffix)
        if ours and not os.path.isdir(path):
            os.unlink(path)
        else:
            names = (f"{path}.damaged-{number}" for number in count(1))
            os.rename(path, next(name for name in names if not os.path.lexists(name)))
    finally:
        os.close(descriptor)


# --- what is noted of the whole ------------------------------------------------------------------


NOTED = "SELECT value FROM meta WHERE name=?"


def noted(connection: Connection, name: str) -> Any:
    """Return what `meta` says under a name that every index has. Raises apsw.CorruptError if it is not there."""
    return _only(connection.first(NOTED, (name,)), name)


def counted_up(connection: Connection, name: str, by: int) -> int:
    """Raise a number of `meta` by so much, in a transaction; return it. Raises apsw.CorruptError if it is not there."""
    return int(_only(connection.first("UPDATE meta SET value=value+? WHERE name=? RETURNING value", (by, name)), name))


def _only(row: Row | None, name: str) -> Any:
    if row is None:
        raise apsw.CorruptError(f"the index does not say its {name!r}")
    return row[0]


def born(connection: Connection) -> str:
    """Return a value that changes when the database is made anew, and with it the meaning of every id."""
    return str(noted(connection, "born"))


# --- passages as rows ----------------------------------------------------------------------------


def passage_of(row: Sequence[Value]) -> Passage:
    """Return the passage in a row of `COLUMNS`."""
    if not _BYTES.isdisjoint(map(type, row)):
        row = [readable(value) if isinstance(value, bytes) else value for value in row]
    return tuple.__new__(Passage, (*row[:-3], row[-3] == 1, row[-2] or 0, row[-1]))  # `_make` takes three times as long


def row_of(passage: Passage) -> tuple[Value, ...]:
    """Return what to bind for `FIELDS`."""
    return tuple([bindable(value) if type(value) is str and not value.isascii() else value for value in passage])


def listed(numbers: Iterable[int]) -> str:
    """Return numbers as one value to bind, for `IN (SELECT value FROM json_each(?))`."""
    return str(list(numbers))


def passages(connection: Connection, numbers: Iterable[int]) -> dict[int, Passage]:
    """Return passages by id; those that do not exist are missing."""
    rows: list[Row] = connection.execute(
        f"SELECT p.id, {COLUMNS} FROM passages AS p WHERE p.id IN (SELECT value FROM json_each(?))", (listed(numbers),)
    )
    return {row[0]: passage_of(row[1:]) for row in rows}


def standing(passage: Passage) -> tuple[bool, str, int]:
    """Sort key of entries: MEMORY.md first, then other documents, each in its order."""
    return passage.path != "MEMORY.md", passage.path, passage.start_line


PAUSE = 30.0
"""Seconds for which a remote embedder that failed is left alone."""

EVERYWHERE = 0.25
"""Share of the passages from which a word tells nothing of any, if they are more than `FEW`: it is asked for only if no
rarer one is."""

FEW = 32
"""Passages that are asked for in any case: in a small book, what it is about stands in a quarter of them."""

K1 = 0.9
"""How fast a word that is repeated in a passage stops adding to its BM25."""

B = 0.4
"""How much a passage's length counts in BM25, 0..1."""

NEIGHBOURED = 50
"""How many of the best candidates of each leg bring their neighbours along."""

_ROLES = frozenset({"", "user", "assistant", "system", "tool"})


def idf(passages: int, holding: int) -> float:
    """Return inverse document frequency as answers show it, above 0 always: log(1 + (N - n + .5) / (n + .5))."""
    return log(1.0 + (passages - holding + 0.5) / (holding + 0.5))


def bm25_idf(passages: int, holding: int) -> float:
    """Return the idf inside BM25: log((N - n + .5) / (n + .5)), at least 1e-6."""
    value = log((passages - holding + 0.5) / (holding + 0.5))
    return value if value > 0 else 1e-6


def searched(holding: Mapping[str, int], total: int) -> dict[str, int]:
    """Return the words that the words leg asks for, with how many of `total` passages hold them.

    Words that stand nearly everywhere are left out: scoring every turn for a speaker's name costs most of a search.
    """
    held = {word: count for word, count in holding.items() if count}
    return {word: count for word, count in held.items() if count <= max(total * EVERYWHERE, FEW)} or held


def question_vector(embedder: Embedder, question: str, speakers: Iterable[str]) -> bytes | None:
    """Return the question without the speakers' names as float32 bytes, if readable. Raises EmbedderFailed."""
    names = [speaker for speaker in speakers if speaker.lower() not in _ROLES]
    [vector] = vectors_of(embedder, [without_names(question, names)], asked=True)
    return vector


def inline(embedder: Embedder) -> float:
    """Return how many waiting texts a sync may embed by itself: `Embedder.inline`, without it all or none."""
    return float(getattr(embedder, "inline", inf if embedder.local else 0))


def neighbour_places(found: Mapping[int, Passage], *legs: Mapping[int, float]) -> set[tuple[str, int]]:
    """Return (session, position) around the `NEIGHBOURED` best turns of each leg, of scores by number."""
    places = set()
    for scores in legs:
        for number in sorted(scores, key=scores.__getitem__, reverse=True)[:NEIGHBOURED]:
            passage = found[number]
            if passage.source == "turn" and passage.session is not None:
                places |= {(passage.session, passage.position - 1), (passage.session, passage.position + 1)}
    return places


def admits(query: Query, passage: Passage, session_name: str) -> bool:
    """Return whether the query's filters let the passage through; `session_name` is the name of its session."""
    day = passage.date
    return (
        (query.category is None or passage.category == query.category)
        and (query.since is None or (day is not None and day >= query.since))
        and (query.until is None or (day is not None and day <= query.until))
        and (query.session is None or passage.session == query.session or (session_name == query.session))
        and (query.sources is None or passage.source in query.sources)
    )


def filters(query: Query) -> tuple[str, list[Value]]:
    """Return `admits` as SQL over `passages AS p`, with its values; "" if the query admits everything."""
    simple = (("p.category=?", query.category), ("p.date>=?", query.since), ("p.date<=?", query.until))
    parts = [condition for condition, value in simple if value is not None]
    values: list[Value] = [bindable(value) for _, value in simple if value is not None]
    if query.session is not None:
        parts.append("(p.session=? OR p.session IN (SELECT uuid FROM session_names WHERE name=?))")
        values += [bindable(query.session)] * 2
    if query.sources is not None:
        parts.append(f"p.source IN ({', '.join('?' * len(query.sources))})")
        values += sorted(query.sources)
    return " AND ".join(parts), values


def revision_of(transcripts: Transcripts, known: int | None) -> tuple[int | None, tuple[str, ...]]:
    """Return the transcripts' revision, with no reason; if they cannot be read, the one known, with the reason."""
    try:
        return transcripts.revision(), ()
    except Unavailable as error:
        return known, (str(TurnsUnread(error)),)


class TurnsUnread(Exception):
    """The transcripts cannot be read, whatever else can."""

    def __init__(self, error: Unavailable) -> None:
        super().__init__(f"turns are searched as they were known before: {error}")


def changes_of(transcripts: Transcripts, after: int) -> TurnChanges:
    """Return what changed in the transcripts after a revision. It, and reading its turns, raises TurnsUnread."""
    try:
        changes = transcripts.changes(after)
    except Unavailable as error:
        raise TurnsUnread(error) from error

    def turns() -> Iterator[tuple[Session, Turn]]:
        try:
            yield from changes.turns
        except Unavailable as error:
            raise TurnsUnread(error) from error

    return changes._replace(turns=turns())


def paused_reason(name: str, reason: str, seconds: float) -> str:
    """Return the sentence for `degraded` when the vector leg is left out."""
    again = f"; tried again in {max(1, round(seconds))} s" if seconds > 0 else ""
    return f"searched by words alone, the embedder {name!r} cannot be used: {reason}{again}"
