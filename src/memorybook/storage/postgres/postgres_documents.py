"""Documents as rows: bytes by path, with compare and swap; lines are appended without writing the rest anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from secrets import token_hex
from typing import Any

from memorybook.errors import MissingDocument
from memorybook.formats.document import DocumentInfo
from memorybook.storage import safe_open
from memorybook.storage.fileless import FilelessDocuments
from memorybook.storage.postgres.postgres_connection import Tenant
from memorybook.storage.postgres.postgres_sql import adapted, restored

FOLDED = 64
"""Lines appended to a document from which it is written whole."""


class PostgresDocuments(FilelessDocuments):
    """`Documents` of a tenant."""

    def __init__(self, tenant: Tenant) -> None:
        self._tenant = tenant

    def list(self) -> Sequence[DocumentInfo]:
        """Return every document, in no order."""
        rows = self._tenant.rows("SELECT path, size, stamp, modified FROM documents")
        return [DocumentInfo(_path(path), *rest) for path, *rest in rows]

    def revision(self) -> int:
        """Return how often documents were written or removed."""
        rows = self._tenant.rows("SELECT revision FROM books")
        return int(rows[0][0]) if rows else 0

    def _whole(self, path: str) -> tuple[bytes, float]:
        rows = self._tenant.rows(
            "SELECT data || coalesce((SELECT string_agg(line, ''::bytea ORDER BY n) FROM appended"
            " WHERE appended.path=documents.path), ''), modified FROM documents WHERE path=$1",
            adapted((path,)),
        )
        if not rows:
            raise MissingDocument(f"there is no document {path!r}")
        return rows[0][0], rows[0][1]

    def _revision_of(self, path: str) -> str | None:
        rows = self._tenant.rows("SELECT revision FROM documents WHERE path=$1", adapted((path,)))
        if not rows:
            return None
        return rows[0][0] or safe_open.digest(self._whole(path)[0])  # unknown since something was appended

    def _put(self, path: str, data: bytes) -> str:
        stamp, [key] = token_hex(8), adapted((path,))
        self._tenant.rows("DELETE FROM appended WHERE path=$1", (key,))
        self._tenant.rows(
            "INSERT INTO documents (path, data, size, revision, stamp, modified) VALUES ($1, $2, $3, $4, $5, $6)"
            " ON CONFLICT (tenant, path) DO UPDATE SET data=excluded.data, size=excluded.size,"
            " revision=excluded.revision, stamp=excluded.stamp, modified=excluded.modified",
            (key, data, len(data), safe_open.digest(data), stamp, time.time()),
        )
        self._changed()
        return stamp

    def _changed(self) -> None:
        self._tenant.rows(
            "INSERT INTO books (revision) VALUES (1) ON CONFLICT (tenant)"
            " DO UPDATE SET revision=books.revision+1, used=current_date"
        )
        self._tenant.made = self._tenant.held.changed = True

    def _added(self, path: str, line: str) -> str:
        added, [key] = safe_open.encode(f"{line}\n", path), adapted((path,))
        rows = self._tenant.rows(
            "SELECT size, length(data), (SELECT count(*) FROM appended WHERE appended.path=documents.path),"
            " substring(data FROM length(data)) FROM documents WHERE path=$1",
            (key,),
        )
        if not rows:
            return self._put(path, added)
        [(size, written, lines, last)] = rows
        if lines >= FOLDED:
            return self._put(path, self._whole(path)[0] + added)
        if not lines and written and last != b"\n":  # whoever wrote it left the last line open
            added = b"\n" + added
        stamp = token_hex(8)
        self._tenant.rows("INSERT INTO appended (path, line) VALUES ($1, $2)", (key, added))
        self._tenant.rows(
            "UPDATE documents SET size=$2, revision=NULL, stamp=$3, modified=$4 WHERE path=$1",
            (key, size + len(added), stamp, time.time()),
        )
        self._changed()
        return stamp

    def _alone(self) -> AbstractContextManager[Any]:
        return self._tenant.transaction()

    def remove(self, path: str) -> None:
        """Remove the document. Raises MissingDocument, UnsafePath."""
        safe_open.split_path(path)
        [key] = adapted((path,))
        with self._tenant.transaction():
            if not self._tenant.rows("DELETE FROM documents WHERE path=$1 RETURNING 1", (key,)):
                raise MissingDocument(f"there is no document {path!r}")
            self._tenant.rows("DELETE FROM appended WHERE path=$1", (key,))
            self._changed()

    def prepare(self) -> None:
        """Make the book."""
        self._tenant.rows("INSERT INTO books DEFAULT VALUES ON CONFLICT DO NOTHING")
        self._tenant.made = True


def _path(value: str) -> str:
    from memorybook.storage.columns import readable

    return readable(restored([(value,)])[0][0])
