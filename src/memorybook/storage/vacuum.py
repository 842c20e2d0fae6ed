"""Erasing for good: what was deleted from a database is in none of its files afterwards."""

from __future__ import annotations

from memorybook.storage.sqlite import Connection, checkpoint


def vacuum(connection: Connection | None) -> bool:
    """Write the database anew without its free pages and empty its write-ahead log; True if there is none.

    False if a reader elsewhere still needs the log: what it may hold then is gone once that reader is done and
    this is called again, or the last connection closes. Raises Unavailable, Damaged.
    """
    if connection is None:
        return True
    with connection.lock:
        checkpoint(connection)
        connection.execute("PRAGMA secure_delete=ON; VACUUM")
        return checkpoint(connection)
