"""Erasing for good: what was deleted from a database is in none of its files afterwards."""

from __future__ import annotations

from memorybook.storage.sqlite import Connection


def vacuum(connection: Connection | None) -> bool:
    """Write the database anew without its free pages and empty its write-ahead log; True if there is none.

    False if a reader elsewhere still needs the log: what it may hold then is gone once that reader is done and
    this is called again, or the last connection closes. Of a server's files nothing is known.
    Raises Unavailable, Damaged.
    """
    if connection is None or connection.remote:
        return True
    with connection.lock:
        checkpoint(connection)
        connection.execute("PRAGMA secure_delete=ON; VACUUM")
        return checkpoint(connection)


def checkpoint(connection: Connection) -> bool:
    """Move the write-ahead log into the database and empty it, so that deleted text is not left in it.

    Returns False if a reader elsewhere still needs the log; the last connection to close does it then.
    """
    if connection.remote:
        return True
    with connection.lock:
        raw = connection.raw
        raw.set_busy_timeout(100)
        try:
            row = connection.first("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            raw.set_busy_timeout(connection.timeout_milliseconds)
        return row is not None and row[0] == 0
