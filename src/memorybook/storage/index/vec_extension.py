"""The sqlite-vec library as another way to find the nearest vectors: SQL over the float rows, no files beside it."""

from __future__ import annotations

from collections.abc import Sequence

import apsw

from memorybook.storage.sqlite import Connection, Value

_ENTRY = "sqlite3_vec_init"
_ONE = b"\x00\x00\x80\x3f"  # 1.0 as float32
_DISTANCE = "vec_distance_cosine"


class VecExtension:
    """A library at a path, loaded into every connection that is opened with `load`.

    Attributes:
        failure: Why the built-in scan answers instead, for `degraded`; "" if the library is in use.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self.failure = ""

    def load(self, raw: apsw.Connection) -> None:
        """Load it; what hinders is in `failure`. Nothing else may be loaded into the connection afterwards."""
        try:
            raw.enable_load_extension(True)
            try:
                raw.load_extension(self._path, _ENTRY)
            finally:
                raw.enable_load_extension(False)
            raw.execute(f"SELECT {_DISTANCE}(?1, ?1)", (_ONE,)).fetchall()
            self.failure = ""
        except (apsw.Error, ValueError) as error:
            self.failure = (
                f"the sqlite-vec library {self._path!r} cannot be loaded ({error}): vectors are compared by the"
                " built-in scan; set sqlite_vec_extension_path to a file that can"
            )

    def nearest(
        self, connection: Connection, model: int, query: bytes, count: int, where: str, values: Sequence[Value]
    ) -> list[tuple[int, float]]:
        """(text, cosine) of the `count` texts most similar to the query, best first.

        Args:
            connection: Opened with `load`, which did not fail.
            model: Id of the model whose vectors are compared.
            query: A vector of that model, float32.
            count: At most so many.
            where: Condition over `passages AS p` that a passage with the text must meet; "" for any passage.
            values: What to bind in it.
        """
        found = connection.execute(
            f"SELECT e.text, 1.0 - {_DISTANCE}(e.vector, ?) AS cosine FROM embeddings AS e"
            " WHERE e.model=? AND length(e.vector)=?"
            f" AND e.text IN (SELECT p.dense FROM passages AS p {'WHERE ' + where if where else ''})"
            " ORDER BY cosine DESC, e.text DESC LIMIT ?",
            (query, model, len(query), *values, count),
        )
        return [(int(text), float(cosine)) for text, cosine in found]
