"""The tables in PostgreSQL, all in the schema `memorybook`, the migrations that make them, and its spelling of SQL.

Each table has a row's tenant as its last column, filled in by default and compared by row-level security, which holds
for the owner too: a statement without a tenant finds nothing and can write nothing. Every key begins with it, and large
tables are divided by it. What is to be looked up in an index must be a condition that row-level security lets through
(`leakproof`): comparisons are, arithmetic on columns is not. Plans are kept, and have to serve every tenant: the tenant
is compared with a subquery, whose value the planner does not know, and said to have many rows.

Journal and transcripts have the columns that they have in SQLite (`storage.journal`, `storage.transcript_rows`), the
index those of `storage.index.index_schema`; besides these there are

- `books`: one row for each tenant with a book; `revision` grows with every change of its documents; `moved` says at
  which other server or in which file it is by now, and keeps everybody out who comes here;
- `documents` and `appended`: the documents' bytes, and the lines that were appended since they were written whole;
- `segments.data`: what a vector file holds (`storage.index.vectors`);
- `versions`: how often a tenant's index was written;
- `server_state`: what servers of the same books share (`http.server_state`), which belongs to no tenant.

The shared statements are written for SQLite. Text that PostgreSQL cannot hold (NUL, lone surrogates) is stored behind a
mark, in base 64.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from memorybook.storage.columns import Surrogates
from memorybook.storage.sqlite import Row, Values

ROLE = "memorybook"
"""The role that servers take on: it owns nothing, and row-level security holds for it."""

PARTITIONS = 16
"""Parts of each large table, unless the first upgrade is told otherwise; 0 for none, which makes searches faster."""

_DIVIDED = frozenset(
    "documents appended sessions chats turns operations changes discarded patches texts passages words terms postings"
    " embeddings segments".split()
)

_DISTINCT = -0.0001  # ten thousand rows of each tenant

_TENANT = "tenant TEXT NOT NULL DEFAULT memorybook.tenant()"

_TABLES = """
passages (id bigint NOT NULL, dense bigint NOT NULL, path TEXT, start_line bigint, end_line bigint, text TEXT,
    source TEXT, heading TEXT, date TEXT, entry TEXT, category TEXT, score double precision, scored TEXT,
    activated TEXT, state TEXT, trust TEXT, session TEXT, turn TEXT, speaker TEXT, role TEXT, position bigint,
    time TEXT, superseded_by TEXT, pinned bigint, asks bigint; id)
books (identity TEXT NOT NULL DEFAULT '', revision bigint NOT NULL DEFAULT 0, used date NOT NULL DEFAULT current_date,
    moved TEXT NOT NULL DEFAULT '';)
versions (name TEXT NOT NULL, value bigint NOT NULL DEFAULT 0; name)
state (revision bigint NOT NULL;)
removed (session TEXT NOT NULL, turn_id TEXT NOT NULL, revision bigint NOT NULL; session, turn_id)
tombstones (digest TEXT NOT NULL, operation TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL, time TEXT NOT NULL;
    digest, operation)
tombstones_unkeyed (digest TEXT NOT NULL, operation TEXT NOT NULL DEFAULT '', reason TEXT NOT NULL, time TEXT NOT NULL;
    digest, operation)
secret (id bigint NOT NULL CHECK (id=1), key bytea NOT NULL; id)
access (entry TEXT NOT NULL, count bigint NOT NULL; entry)
prompts (seq IDENTITY, entry TEXT NOT NULL, time TEXT NOT NULL, session TEXT, query TEXT NOT NULL; seq)
parked (id TEXT NOT NULL, kind TEXT NOT NULL, session TEXT, payload TEXT NOT NULL, reason TEXT NOT NULL,
    tries bigint NOT NULL, since TEXT NOT NULL, next TEXT; id)
proposals (seq bigint NOT NULL, id TEXT NOT NULL, kind TEXT NOT NULL, changes TEXT NOT NULL, reason TEXT NOT NULL,
    time TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'open', decided TEXT, operation TEXT; seq)
memorized (session TEXT NOT NULL, digest TEXT NOT NULL, operation TEXT NOT NULL, time TEXT NOT NULL; session, digest)
reached (session TEXT NOT NULL, position bigint NOT NULL, time TEXT NOT NULL; session)
spent (day TEXT NOT NULL, calls bigint NOT NULL, failed bigint NOT NULL, input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL; day)
meta (name TEXT NOT NULL, value bigint; name)
known_documents (id IDENTITY, path TEXT NOT NULL, size bigint, stamp TEXT, hash TEXT, modified double precision; path)
session_names (uuid TEXT NOT NULL, name TEXT; uuid)
entries (path TEXT NOT NULL, entry TEXT NOT NULL, hits bigint, created TEXT, metadata TEXT, fields bigint, updated TEXT;
    path, entry)
models (id bigint NOT NULL, name TEXT NOT NULL, dimensions bigint NOT NULL, paused_until double precision, reason TEXT,
    unrelated double precision; name)
gone (text bigint NOT NULL; text)
pending (model bigint NOT NULL, text bigint NOT NULL; model, text)
documents (path TEXT NOT NULL, data bytea NOT NULL, size bigint NOT NULL, revision TEXT, stamp TEXT NOT NULL,
    modified double precision NOT NULL; path)
appended (path TEXT NOT NULL, n IDENTITY, line bytea NOT NULL; path, n)
sessions (id IDENTITY, uuid TEXT NOT NULL, name TEXT NOT NULL DEFAULT '', title TEXT NOT NULL DEFAULT '',
    summary TEXT NOT NULL DEFAULT '', summary_embedding bytea, summary_embedding_model TEXT,
    summary_embedding_dimensions bigint, turn_ids TEXT, path TEXT NOT NULL DEFAULT '', created TEXT, updated TEXT,
    ended TEXT, source TEXT NOT NULL DEFAULT '', channel TEXT NOT NULL DEFAULT '', chat_id TEXT NOT NULL DEFAULT '',
    summary_by TEXT NOT NULL DEFAULT '', summary_through bigint NOT NULL DEFAULT -1,
    chats_through bigint NOT NULL DEFAULT -1; id)
chats (id IDENTITY, session bigint NOT NULL, turn_id TEXT, speaker TEXT NOT NULL DEFAULT '',
    role TEXT NOT NULL DEFAULT '', user_input TEXT NOT NULL DEFAULT '', tool_calls TEXT NOT NULL DEFAULT '[]',
    ai_replies TEXT NOT NULL DEFAULT '[]', position bigint NOT NULL, metadata TEXT NOT NULL DEFAULT '{}',
    summary TEXT NOT NULL DEFAULT '', summary_embedding bytea, summary_embedding_model TEXT,
    summary_embedding_dimensions bigint, created TEXT, updated TEXT, revision bigint NOT NULL; id)
turns (id IDENTITY, session bigint NOT NULL, turn_id TEXT NOT NULL, chat bigint NOT NULL, position bigint NOT NULL,
    revision bigint NOT NULL; id)
operations (seq IDENTITY, id TEXT NOT NULL, time TEXT NOT NULL, actor TEXT NOT NULL, door TEXT NOT NULL, session TEXT,
    done bigint NOT NULL DEFAULT 0, usage TEXT, kind TEXT NOT NULL DEFAULT '', undoes TEXT; seq)
changes (operation bigint NOT NULL, n bigint NOT NULL, kind TEXT NOT NULL, target TEXT NOT NULL, before TEXT,
    after TEXT, reason TEXT NOT NULL, purged bigint NOT NULL DEFAULT 0; operation, n)
discarded (operation bigint NOT NULL, n bigint NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    quote TEXT NOT NULL DEFAULT ''; operation, n)
patches (operation bigint NOT NULL, n bigint NOT NULL, path TEXT NOT NULL, before TEXT, after TEXT,
    hunks bytea NOT NULL; operation, n)
texts (id IDENTITY, digest TEXT NOT NULL; digest)
words (rowid bigint NOT NULL, text TEXT; rowid)
terms (id bigint NOT NULL, term TEXT NOT NULL, holding bigint NOT NULL, passages bytea NOT NULL, codes bytea NOT NULL;
    id)
postings (id bigint NOT NULL, passages bytea NOT NULL, codes bytea NOT NULL; id)
embeddings (id IDENTITY, model bigint NOT NULL, text bigint NOT NULL, vector bytea; model, text)
segments (generation bigint NOT NULL, model bigint NOT NULL, after bigint NOT NULL, upto bigint NOT NULL,
    rows bigint NOT NULL, size bigint NOT NULL, written bigint NOT NULL, data bytea; generation)
"""
"""Each a name, its columns and, behind a semicolon, its key besides the tenant. Deleting from the first one fills
others."""

_INDEXES = """
UNIQUE sessions (uuid)
sessions (name)
sessions (updated, id)
chats (session, position)
UNIQUE turns (turn_id, session)
UNIQUE turns (session, position)
turns (revision, id)
removed (revision)
UNIQUE operations (id)
operations (seq) WHERE done=0
operations (seq) WHERE undoes IS NOT NULL
operations (session, seq) WHERE session IS NOT NULL
changes (target, operation)
changes (operation) WHERE purged=0 AND (reason='forgotten' OR reason LIKE 'asked to be forgotten%')
tombstones (operation)
UNIQUE proposals (id)
prompts (entry, seq)
texts (id)
passages (dense)
passages (path) WHERE source<>'turn'
passages (session, position)
UNIQUE passages (session, turn) WHERE source='turn'
passages (speaker) WHERE source='turn'
passages (entry) WHERE source='entry'
UNIQUE terms (term)
embeddings (model, id) WHERE vector IS NOT NULL
segments (model, after)
"""
"""Each begins with the tenant."""

_FUNCTIONS = """
CREATE FUNCTION memorybook.tenant() RETURNS text LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('memorybook.tenant', true), '');
CREATE FUNCTION memorybook.listed(numbers text) RETURNS TABLE (value bigint) LANGUAGE sql IMMUTABLE PARALLEL SAFE 
    ROWS 50 AS $$ SELECT unnest(translate(numbers, '[]', '{}')::bigint[]) $$;
CREATE FUNCTION memorybook.halves(numbers text) RETURNS TABLE (upper bigint, lower bigint)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE ROWS 50
    AS $$ SELECT one >> 32, one & 4294967295 FROM unnest(translate(numbers, '[]', '{}')::bigint[]) AS one OFFSET 0 $$;
"""

MOVED = "MB001"
"""The SQLSTATE of a transaction with a tenant that is at another server; its message is `books.moved`."""

RESTING = "rest"
"""How `books.moved` begins, before a blank and the name of a file, of a book at rest."""

LEFT, ARRIVING = "to", "from"
"""How `books.moved` begins, before a blank and the other server's address. A tenant that arrives is still there."""

_MOVING = f"""
CREATE FUNCTION memorybook.moved(place text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    RAISE EXCEPTION USING ERRCODE='{MOVED}', MESSAGE=place;
END $$;
CREATE FUNCTION memorybook.locked(name text) RETURNS void LANGUAGE plpgsql AS $$ BEGIN
    PERFORM pg_advisory_xact_lock(hashtextextended(name, 0));
    PERFORM memorybook.moved(moved) FROM memorybook.books WHERE moved<>'';  -- while this waited
END $$;
"""

_TRIGGERS = """
CREATE FUNCTION memorybook.passages_go() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    INSERT INTO memorybook.gone (text) SELECT DISTINCT dense FROM went
        WHERE NOT EXISTS (SELECT 1 FROM memorybook.passages AS p WHERE p.dense=went.dense) ON CONFLICT DO NOTHING;
    UPDATE memorybook.meta SET value=value+1 WHERE name='altered' AND EXISTS (SELECT 1 FROM went);
    RETURN NULL; END $$;
CREATE FUNCTION memorybook.passages_come() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    DELETE FROM memorybook.gone USING came WHERE gone.text=came.dense;
    RETURN NULL; END $$;
CREATE FUNCTION memorybook.passages_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    UPDATE memorybook.meta SET value=value+1 WHERE name='altered' AND EXISTS (SELECT 1 FROM went);
    RETURN NULL; END $$;
CREATE TRIGGER passages_go AFTER DELETE ON memorybook.passages REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION memorybook.passages_go();
CREATE TRIGGER passages_come AFTER INSERT ON memorybook.passages REFERENCING NEW TABLE AS came
    FOR EACH STATEMENT EXECUTE FUNCTION memorybook.passages_come();
CREATE TRIGGER passages_change AFTER UPDATE ON memorybook.passages REFERENCING OLD TABLE AS went
    FOR EACH STATEMENT EXECUTE FUNCTION memorybook.passages_change();
"""

_VIEW = """
CREATE VIEW memorybook.agent_memory WITH (security_invoker=true) AS SELECT
    p.entry AS id, p.session AS session_id, p.category AS memory_type, p.text AS content,
    (SELECT v.vector FROM memorybook.models AS m JOIN memorybook.embeddings AS v ON v.model=m.id AND v.text=p.dense
        ORDER BY m.id DESC LIMIT 1) AS vector,
    p.score AS importance, coalesce(e.hits, 0) AS access_count, p.activated AS last_accessed,
    coalesce(e.metadata, '{}') AS metadata, e.created AS created_at, coalesce(e.updated, p.activated) AS updated_at,
    p.id AS passage
FROM memorybook.passages AS p LEFT JOIN memorybook.entries AS e ON e.path=p.path AND e.entry=p.entry
WHERE p.source='entry';
"""

_SERVER = """
CREATE TABLE memorybook.server_state (scope text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL, data jsonb NOT NULL, ends double precision, PRIMARY KEY (scope, kind, name));
CREATE INDEX ON memorybook.server_state (scope, ends);
GRANT SELECT, INSERT, UPDATE, DELETE ON memorybook.server_state TO memorybook;
"""


def _declared(text: str) -> Iterable[tuple[str, str, str]]:
    for name, columns, key in re.findall(r"^(\w+) \((.*?);(.*?)\)$", text, re.MULTILINE | re.DOTALL):
        yield name, columns, ", ".join(["tenant", *filter(None, [key.strip()])])


def _table(name: str, columns: str, key: str, partitions: int) -> str:
    identity = "bigint NOT NULL GENERATED BY DEFAULT AS IDENTITY"
    columns = re.sub(r"\bIDENTITY\b", identity, f"{columns}, {_TENANT}")
    columns = re.sub(r"\bTEXT\b", 'text COLLATE "C"', columns)
    parts = range(partitions if name in _DIVIDED else 0)
    made = [
        f"CREATE TABLE memorybook.{name} ({columns}, PRIMARY KEY ({key}))",
        " PARTITION BY HASH (tenant);" if parts else ";",
        f"ALTER TABLE memorybook.{name} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;",
        f"CREATE POLICY tenants ON memorybook.{name} USING (tenant=(SELECT memorybook.tenant()));",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON memorybook.{name} TO {ROLE};",
    ]
    made += [
        f"CREATE TABLE memorybook.{name}_{part} PARTITION OF memorybook.{name}"
        f" FOR VALUES WITH (MODULUS {partitions}, REMAINDER {part});"
        for part in parts
    ]
    made += [
        f"ALTER TABLE memorybook.{one} ALTER COLUMN tenant SET (n_distinct={_DISTINCT});"
        for one in [f"{name}_{part}" for part in parts] or [name]
    ]
    return "\n".join(made)


def _index(line: str) -> str:
    unique, name, rest = re.fullmatch(r"(UNIQUE )?(\w+) \((.*)", line).groups("")  # type: ignore[union-attr]
    return f"CREATE {unique}INDEX ON memorybook.{name} (tenant, {rest};"


_COLUMN = r"(?:^|,)\s*(\w+) (double precision|\w+)"
_ADDED = {"passages": {"verified": "TEXT"}}
"""Columns that later migrations add."""

TABLES = {name: dict(re.findall(_COLUMN, columns)) | _ADDED.get(name, {}) for name, columns, _ in _declared(_TABLES)}
"""Every table that a tenant has rows in: its columns and their types by name, without the tenant."""

DERIVED = frozenset(
    "meta known_documents session_names entries models gone pending texts passages words terms postings embeddings"
    " segments versions".split()
)
"""Those that can be made again from the others."""


def _first(partitions: int) -> str:
    made = (
        _FUNCTIONS,
        *(_table(*table, partitions) for table in _declared(_TABLES)),
        *map(_index, _INDEXES.strip().splitlines()),
        _MOVING,
        _TRIGGERS,
        _VIEW,
        _SERVER,
        f"GRANT USAGE ON SCHEMA memorybook TO {ROLE};",
        f"GRANT SELECT ON memorybook.agent_memory, memorybook.migrations TO {ROLE};",
        f"GRANT USAGE, SELECT, UPDATE ON ALL SEQUENCES IN SCHEMA memorybook TO {ROLE};",
    )
    return "\n".join(made)


def _second(partitions: int) -> str:
    return "ALTER TABLE memorybook.passages ADD COLUMN verified TEXT NOT NULL DEFAULT '';"


MIGRATIONS: tuple[Callable[[int], str], ...] = (_first, _second)
"""Migration n makes version n of version n - 1, given the number of partitions. Only ever added to."""


# --- SQL and values -------------------------------------------------------------------------------


_MARK = "\x1a"
"""What begins a text that is stored in base 64."""

_LARGER = {"min": "least", "max": "greatest"}
_SPELLED = (
    (re.compile(r"SELECT value FROM json_each\(\?\) WHERE true"),
     "SELECT value FROM json_array_elements_text(CAST(? AS json)) AS value WHERE true"),
    (re.compile(r"IN \(SELECT value FROM json_each\((\?\d*)\)\)"), r"= ANY (translate(\1, '[]', '{}')::bigint[])"),
    (re.compile(r"IN \((SELECT \(SELECT .+ FROM json_each\(\?\d*\))\)"), r"= ANY (ARRAY(\1))"),
    (re.compile(r"json_each\((\?)\) AS place"), r"halves(\1) AS place"),
    (re.compile(r"place\.value>>32"), "place.upper"),
    (re.compile(r"place\.value&4294967295"), "place.lower"),
    (re.compile(r"json_each\("), "listed("),
    (re.compile(r"IN \(\)"), "IN (NULL)"),
    (re.compile(r"CROSS JOIN (\w+ AS \w+) ON"), r"JOIN \1 ON"),
    (re.compile(r"ON CONFLICT \((\w)"), r"ON CONFLICT (tenant, \1"),
    (re.compile(r"\b(min|max)\((\w+), (\?\d*)\)"), lambda found: f"{_LARGER[found[1]]}({found[2]}, {found[3]})"),
    (re.compile(r"typeof\((\S+?)\)='text'"), r"left(\1, 1)<>chr(26)"),
    (re.compile(r"LIMIT (\?\d*)"), r"LIMIT nullif(\1, -1)"),
)  # fmt: skip
_IGNORING = "INSERT OR IGNORE INTO"


@lru_cache(maxsize=4096)
def translated(sql: str) -> str:
    """Return a statement as PostgreSQL understands it, with numbered places for values."""
    for pattern, spelling in _SPELLED:
        sql = pattern.sub(spelling, sql)
    if sql.startswith(_IGNORING):
        sql = f"INSERT INTO{sql.removeprefix(_IGNORING)} ON CONFLICT DO NOTHING"
    counted = iter(range(1, 10_000))
    return re.sub(r"\?(\d*)", lambda found: f"${found[1] or next(counted)}", sql)


_INSERT = re.compile(
    r"INSERT INTO (\w+)(?: \(([\w, ]+)\))? VALUES \(\$1(?:, \$\d+)*\)"
    r"( ON CONFLICT(?: \(tenant, ([\w, ]+)\))? DO [^$]+)?"
)
_SELECT = re.compile(r"SELECT ([\w, ]+) FROM (\w+) WHERE (\w+)=\$1")


@lru_cache(maxsize=1024)
def of_many(sql: str) -> tuple[str, tuple[int, ...]] | None:
    """Rewrite a translated one-row statement for many rows, with an array for each value.

    Return the statement and the places of values in which no two rows may agree; None if its form is not supported.
    Each row is found by an index whatever the planner believes: new tables have no statistics and seem small.
    """
    if found := _INSERT.fullmatch(sql):
        table, columns, conflict, key = found.groups()
        names = columns.split(", ") if columns else [*TABLES[table]]
        once = tuple(map(names.index, key.split(", "))) if key else ()
        return f"INSERT INTO {table} ({', '.join(names)}) SELECT * FROM {_arrays(table, names)}{conflict or ''}", once
    if found := _SELECT.fullmatch(sql):
        columns, table, key = found.groups()
        given = f"{_arrays(table, [key])} WITH ORDINALITY AS given(value, place)"
        one = f"SELECT {columns} FROM {table} WHERE {key}=given.value OFFSET 0"
        return f"SELECT found.* FROM {given} CROSS JOIN LATERAL ({one}) AS found ORDER BY place", ()
    return None


def _arrays(table: str, names: Sequence[str]) -> str:
    types = (TABLES[table][name].replace("IDENTITY", "bigint") for name in names)
    return f"unnest({', '.join(f'${n}::{one}[]' for n, one in enumerate(types, 1))})"


def adapted(values: Values) -> list[Any]:
    """Return values as PostgreSQL can hold them."""
    return [
        _marked(value.encode("utf-8", "surrogatepass"))
        if isinstance(value, str) and ("\0" in value or value[:1] == _MARK)
        else _marked(value)
        if isinstance(value, Surrogates)
        else int(value)
        if isinstance(value, bool)
        else bytes(value)
        if isinstance(value, (bytearray, memoryview))
        else value
        for value in values
    ]


def _marked(data: bytes) -> str:
    return _MARK + b64encode(data).decode()


def restored(rows: list[Row]) -> list[Row]:
    """Return rows with what `adapted` marked as it was."""
    return [
        tuple([_unmarked(value) if isinstance(value, str) and value[:1] == _MARK else value for value in row])
        if any(isinstance(value, str) and value[:1] == _MARK for value in row)
        else row
        for row in rows
    ]


def _unmarked(value: str) -> str | bytes:
    data = b64decode(value[1:])
    try:
        return data.decode()
    except UnicodeDecodeError:
        return Surrogates(data)
