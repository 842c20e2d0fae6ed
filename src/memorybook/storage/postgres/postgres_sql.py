"""SQL and values as PostgreSQL spells them: the shared statements are written for SQLite.

Text that PostgreSQL cannot hold (NUL, lone surrogates) is stored behind a mark, in base 64.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from memorybook.storage.columns import Surrogates
from memorybook.storage.postgres.postgres_schema import TABLES
from memorybook.storage.sqlite import Row, Values

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
