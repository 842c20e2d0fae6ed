"""SQLite by hand: FTS5 and sqlite-vec joined by reciprocal rank fusion, as sqlite-vec's author shows hybrid search.

Options: `tokenize` of FTS5; `stop` leaves function words out of the question; `vectors: false` keeps words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import apsw
import sqlite_vec
from adapter import DIMENSIONS, Row, Store, embed, main, query_words

POOL = 100

HYBRID = """
WITH words AS (
    SELECT rowid, row_number() OVER (ORDER BY rank) AS place FROM fts WHERE fts MATCH ?1 ORDER BY rank LIMIT ?3
), near AS (
    SELECT rowid, row_number() OVER (ORDER BY distance) AS place FROM vectors WHERE embedding MATCH ?2 AND k = ?3
)
SELECT p.id, p.text FROM (SELECT * FROM words UNION ALL SELECT * FROM near) AS both
JOIN passages AS p ON p.rowid = both.rowid GROUP BY p.rowid ORDER BY sum(1.0 / (60 + both.place)) DESC LIMIT ?4
"""
WORDS = """
SELECT p.id, p.text FROM fts JOIN passages AS p ON p.rowid = fts.rowid WHERE fts MATCH ?1 ORDER BY rank LIMIT ?2
"""


class Sqlite:
    """One file with a table, its full text and its vectors."""

    def __init__(self, folder: str, options: dict[str, Any]) -> None:
        self.options = options
        self.vectors: bool = options.get("vectors", True)
        self.db = apsw.Connection(f"{folder}/store.sqlite")
        self.db.execute("PRAGMA journal_mode = wal")
        if self.vectors:
            self.db.enable_load_extension(True)
            self.db.load_extension(sqlite_vec.loadable_path())

    def fill(self, rows: Sequence[Row]) -> None:
        self.db.execute("CREATE TABLE passages (rowid INTEGER PRIMARY KEY, id TEXT, text TEXT)")
        tokenize = self.options.get("tokenize", "unicode61")
        self.db.execute(f"CREATE VIRTUAL TABLE fts USING fts5(text, content=passages, tokenize='{tokenize}')")
        if self.vectors:
            column = f"embedding float[{DIMENSIONS}] distance_metric=cosine"
            self.db.execute(f"CREATE VIRTUAL TABLE vectors USING vec0({column})")
        with self.db:
            self.db.executemany("INSERT INTO passages (id, text) VALUES (?, ?)", [(r["id"], r["text"]) for r in rows])
            self.db.execute("INSERT INTO fts (fts) VALUES ('rebuild')")
            if self.vectors:
                vectors = embed([row["text"] for row in rows])
                self.db.executemany(
                    "INSERT INTO vectors (rowid, embedding) VALUES (?, ?)",
                    ((number, row.tobytes()) for number, row in enumerate(vectors, 1)),
                )

    def find(self, question: str, k: int) -> list[str]:
        words = query_words(question, stop=self.options.get("stop", False))
        match = " OR ".join(f'"{word}"' for word in words)
        if self.vectors:
            found = self.db.execute(HYBRID, (match, embed([question])[0].tobytes(), POOL, k))
        else:
            found = self.db.execute(WORDS, (match, k))
        return [str(id) for id, _ in found]

    def close(self) -> None:
        self.db.close()


def open_store(folder: str, options: dict[str, Any]) -> Store:
    return Sqlite(folder, options)


if __name__ == "__main__":
    main(open_store)
