"""What servers share whose books are in PostgreSQL: rows of one table, so that there may be any number of them."""

from __future__ import annotations

import json
from collections.abc import ItemsView, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

from memorybook.http.server_state import PARTS, Due, Register
from memorybook.storage.postgres_connection import Tenant

_NOW = "extract(epoch FROM clock_timestamp())::float8"
_PAGE = 1_000
_DUE = "due"

_PUT = f"""
WITH gone AS (DELETE FROM server_state WHERE scope=$1 AND ends<={_NOW} AND kind<>'{_DUE}'
    AND (kind, name)<>($2, $3))
INSERT INTO server_state (scope, kind, name, data, ends) VALUES ($1, $2, $3, CAST($4 AS jsonb), {_NOW}+$5)
    ON CONFLICT (scope, kind, name) DO UPDATE SET data=excluded.data, ends=excluded.ends"""

_WAIT = f"""
WITH quick AS (SELECT set_config('synchronous_commit', 'off', true) AS off)
INSERT INTO server_state AS s (scope, kind, name, data, ends)
    SELECT $1, 'rate', $2, jsonb_build_array($3::float8-1, {_NOW}, true), {_NOW}+3600 FROM quick WHERE off='off'
    ON CONFLICT (scope, kind, name) DO UPDATE SET ends=excluded.ends, data=(
        SELECT jsonb_build_array(CASE WHEN has>=1 THEN has-1 ELSE has END, {_NOW}, has>=1)
        FROM (SELECT least($3::float8, (s.data->>0)::float8+({_NOW}-(s.data->>1)::float8)*$4::float8) AS has) AS bucket)
    RETURNING (data->>0)::float8, (data->>2)::boolean"""
"""What is left in a token's bucket of a size that fills at a rate, and whether a request was taken out of it. A loss of
power may fill buckets again."""

_CLAIM = f"""
UPDATE server_state SET ends={_NOW}+$2 WHERE scope=$1 AND kind='{_DUE}' AND name=(
    SELECT name FROM server_state WHERE scope=$1 AND kind='{_DUE}' AND ends<={_NOW}
    ORDER BY ends LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING name, ends"""


class PostgresState:
    """`ServerState` in the table `server_state`, by the database's clock.

    Args:
        dsn: Of the database.
        scope: Whose state: servers of the same scope share it.
        pool: Connections of this process to the server, at most.
    """

    near = False

    def __init__(self, dsn: str, scope: str, *, pool: int) -> None:
        self._scope = scope
        self._nobody = Tenant(dsn, "", pool)
        self._register: Register = {part: _Rows(self._nobody, scope, part) for part in PARTS}

    def register(self) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
        """Return the tenants and tokens: each is looked up when it is asked for."""
        return self._register

    @contextmanager
    def changing(self) -> Iterator[Register]:
        """Change them in a transaction that no other server is in."""
        with self._nobody.transaction(f"register/{self._scope}"):
            yield self._register

    def put(self, kind: str, key: str, value: Any, *, seconds: float) -> None:
        """Keep a value for so long."""
        self._nobody.rows(_PUT, (self._scope, kind, key, json.dumps(value), float(seconds)))

    def get(self, kind: str, key: str) -> Any:
        """Return the value; None if there is none."""
        rows = self._nobody.rows(
            f"SELECT data FROM server_state WHERE scope=$1 AND kind=$2 AND name=$3 AND ends>{_NOW}",
            (self._scope, kind, key),
        )
        return rows[0][0] if rows else None

    def take(self, kind: str, key: str) -> Any:
        """Return the value once."""
        rows = self._nobody.rows(
            f"DELETE FROM server_state WHERE scope=$1 AND kind=$2 AND name=$3 RETURNING data, ends>{_NOW}",
            (self._scope, kind, key),
        )
        return rows[0][0] if rows and rows[0][1] else None

    def wait(self, token: str, rate: float) -> float:
        """Take one request out of the token's bucket, which holds two seconds' worth of them."""
        if not rate:
            return 0.0
        [(left, taken)] = self._nobody.rows(_WAIT, (self._scope, token, max(1.0, 2 * rate), float(rate)))
        return 0.0 if taken else float(1 - left) / rate

    def note(self, tenant: str, *, seconds: float) -> None:
        """Have the tenant claimed in so many seconds."""
        self.put(_DUE, tenant, None, seconds=seconds)

    def claim(self, *, seconds: float) -> Due | None:
        """Return the tenant that waits longest of those whose time has come, and that no other server takes now."""
        rows = self._nobody.rows(_CLAIM, (self._scope, float(seconds)))
        return Due(*rows[0]) if rows else None

    def settle(self, due: Due) -> None:
        """Forget the note that was claimed."""
        self._nobody.rows(
            f"DELETE FROM server_state WHERE scope=$1 AND kind='{_DUE}' AND name=$2 AND ends=$3", (self._scope, *due)
        )

    def check(self) -> None:
        """Write something."""
        self.put("check", "", None, seconds=0)


class _Rows(MutableMapping[str, dict[str, str]]):
    """Rows of one kind by name; changed in the transaction of their thread."""

    def __init__(self, nobody: Tenant, scope: str, kind: str) -> None:
        self._nobody = nobody
        self._of = (scope, kind)

    def __getitem__(self, name: str) -> dict[str, str]:
        if not name.isprintable():  # what a stranger sent
            raise KeyError(name)
        rows = self._nobody.rows(
            "SELECT data FROM server_state WHERE scope=$1 AND kind=$2 AND name=$3", (*self._of, name)
        )
        if not rows:
            raise KeyError(name)
        value: dict[str, str] = rows[0][0]
        return value

    def __setitem__(self, name: str, value: dict[str, str]) -> None:
        self._nobody.rows(
            "INSERT INTO server_state (scope, kind, name, data) VALUES ($1, $2, $3, CAST($4 AS jsonb))"
            " ON CONFLICT (scope, kind, name) DO UPDATE SET data=excluded.data",
            (*self._of, name, json.dumps(value)),
        )

    def __delitem__(self, name: str) -> None:
        if not self._nobody.rows(
            "DELETE FROM server_state WHERE scope=$1 AND kind=$2 AND name=$3 RETURNING 1", (*self._of, name)
        ):
            raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name, _ in self.pages())

    def __len__(self) -> int:
        [(count,)] = self._nobody.rows("SELECT count(*) FROM server_state WHERE scope=$1 AND kind=$2", self._of)
        return int(count)

    def items(self) -> ItemsView[str, dict[str, str]]:
        """Return names and values, read together."""
        return _Items(self)

    def pages(self) -> Iterator[tuple[str, dict[str, str]]]:
        """Yield names and values, in the order of names."""
        after = ""
        while found := self._nobody.rows(
            "SELECT name, data FROM server_state WHERE scope=$1 AND kind=$2 AND name>$3 ORDER BY name LIMIT $4",
            (*self._of, after, _PAGE),
        ):
            yield from ((name, value) for name, value in found)
            after = found[-1][0]


class _Items(ItemsView[str, dict[str, str]]):
    _mapping: _Rows

    def __iter__(self) -> Iterator[tuple[str, dict[str, str]]]:
        return self._mapping.pages()
