"""The journal in SQLite: the contract, and what only a file and several processes can show."""

from __future__ import annotations

import hashlib
import hmac
import os
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import apsw
import pytest

from conformance.journal import START, JournalConformance, ids, operation
from memorybook.errors import InvalidInput, NotFound
from memorybook.model import Patch
from memorybook.storage.journal import MIGRATIONS, MOST_ASKED, SqliteJournal, new_operation_id
from memorybook.text.patch import diff, pack

HISTORY = (
    "710c0d584b0a282117e5a0625ace703d", "ec2cb1c9d610cbd50cf749504bdb075e", "9a46f66dd4c8abdfba6cdb6156dd0285",
    "6245685c98fcf50a0a8e0987db55ba7f", "b22dad29a3a4a69aff4072f943a72f1e",
)  # fmt: skip

WRITER = """
import sys
from datetime import UTC, datetime
from memorybook.model import Applied, Operation
from memorybook.storage.journal import MIGRATIONS, SqliteJournal, new_operation_id

journal = SqliteJournal(sys.argv[1])
while True:
    now = datetime.now(UTC)
    change = Applied(kind="add", target="e1", before=None, after="x" * 300)
    operation = Operation(id=new_operation_id(now), time=now, actor="a", door="cli", changes=(change,))
    journal.begin(operation)
    journal.shown(["e1"], time=now)
    journal.done(operation.id)
    print(operation.id, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "journal.sqlite")


@pytest.fixture
def journal(path: str) -> Iterator[SqliteJournal]:
    store = SqliteJournal(path)
    yield store
    store.close()


def rows(path: str, sql: str) -> list[tuple[object, ...]]:
    """What somebody else reads in the file."""
    connection = apsw.Connection(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


class TestSqliteJournal(JournalConformance):
    pass


def test_reading_never_creates_the_file(journal: SqliteJournal, path: str) -> None:
    journal.pending()
    journal.operations()
    journal.buried(["d"])
    journal.access_counts(["e"])
    journal.bury([], reason="", time=START)
    with pytest.raises(NotFound):
        journal.usage("o1")
    assert not os.path.exists(os.path.dirname(path))


def test_an_operation_tells_what_it_used(journal: SqliteJournal) -> None:
    journal.begin(operation("o1"))
    assert journal.usage("o1") is None
    journal.done("o1", usage={"calls": 2, "tokens": {"in": 7}})
    journal.done("o1")
    assert journal.usage("o1") == {"calls": 2, "tokens": {"in": 7}}
    with pytest.raises(NotFound, match="o2"):
        journal.usage("o2")
    with pytest.raises(InvalidInput, match="JSON"):
        journal.done("o1", usage={"calls": object()})


def test_a_tombstone_keeps_its_first_reason(journal: SqliteJournal, path: str) -> None:
    journal.bury(["d1"], reason="forgotten", time=START)
    journal.bury(["d1"], reason="again", time=START + timedelta(days=1))
    assert rows(path, "SELECT reason, time FROM tombstones") == [("forgotten", "2026-02-24T10:00:00.000017Z")]


def test_tombstones_are_keyed_by_a_secret_of_the_book(journal: SqliteJournal, path: str, tmp_path: Path) -> None:
    other = SqliteJournal(str(tmp_path / "other.sqlite"))
    for each in (journal, other):
        each.bury(["d1"], reason="forgotten", time=START)
        assert each.buried(["d1", "d2"]) == {"d1"}
        assert each.buried(["d1", *map(str, range(MOST_ASKED))]) == {"d1"}
    [(kept,)], [(elsewhere,)] = (
        rows(each, "SELECT digest FROM tombstones") for each in (path, str(tmp_path / "other.sqlite"))
    )
    assert kept not in ("d1", elsewhere)
    other.close()


def test_a_tombstone_is_the_hmac_of_its_digest(journal: SqliteJournal, path: str) -> None:
    journal.bury(["d1"], reason="forgotten", time=START)
    [(key, kept)] = rows(path, "SELECT key, digest FROM secret, tombstones")
    assert isinstance(key, bytes)
    assert kept == hmac.digest(key, b"d1", "sha256").hex()[:32]


def test_tombstones_of_an_older_version_are_keyed_at_the_next_use(journal: SqliteJournal, path: str) -> None:
    journal.bury(["d1"], reason="forgotten", time=START)
    rows(path, "INSERT INTO tombstones_unkeyed VALUES ('d2', '', 'forgotten', '2026-02-24T10:00:00.000017Z')")
    assert journal.buried(["d1", "d2", "d3"]) == {"d1", "d2"}
    assert rows(path, "SELECT count(*) FROM tombstones_unkeyed") == [(0,)]
    assert rows(path, "SELECT count(*) FROM tombstones WHERE digest IN ('d1', 'd2')") == [(0,)]


@pytest.mark.usefixtures("forcing")
def test_only_intentions_and_tombstones_are_forced_to_disk(journal: SqliteJournal) -> None:
    journal.begin(operation("o1"))
    journal.done("o1")
    connection = journal._store.created()
    assert connection.execute("PRAGMA synchronous") == [(2,)]
    journal.shown(["e1"], time=START)
    with pytest.raises(NotFound):
        journal.done("unknown")
    assert connection.execute("PRAGMA synchronous") == [(2,)]


def test_ids_of_operations_sort_by_time_and_differ() -> None:
    early = datetime(999, 12, 31, 23, 59, 59, tzinfo=UTC)
    late = datetime(2026, 2, 24, 10, 12, 33, 123456, tzinfo=UTC)
    assert new_operation_id(early) < new_operation_id(late - timedelta(microseconds=1)) < new_operation_id(late)
    assert new_operation_id(late).startswith("20260224-101233123456-")
    assert len({new_operation_id(late) for _ in range(100)}) == 100
    with pytest.raises(InvalidInput, match="timezone"):
        new_operation_id(datetime(2026, 1, 1))


def test_processes_that_are_killed_lose_nothing_they_acknowledged(journal: SqliteJournal, path: str) -> None:
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, text=True) for _ in "ab"]
    acknowledged: list[str] = []
    for writer in writers:
        assert writer.stdout is not None
        acknowledged += [writer.stdout.readline().strip() for _ in range(20)]
    for writer in writers:
        writer.kill()
        assert writer.stdout is not None
        acknowledged += writer.stdout.read().split()
        writer.wait()
        writer.stdout.close()
    kept = {one.id: one for one in journal.operations()}
    assert all(kept[name].done for name in acknowledged)
    assert len(journal.pending()) <= 2
    assert len(acknowledged) <= journal.access_counts(["e1"])["e1"] <= len(acknowledged) + 4
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_no_migration_that_was_ever_released_changes() -> None:
    assert [hashlib.sha256(sql.encode()).hexdigest()[:32] for sql in MIGRATIONS] == list(HISTORY)


def test_a_journal_of_the_first_version_is_read_and_goes_on(path: str) -> None:
    os.makedirs(os.path.dirname(path))
    old = apsw.Connection(path)
    old.execute(MIGRATIONS[0])
    old.execute("PRAGMA user_version=1")
    old.execute(
        "INSERT INTO operations (id, time, actor, door, done, usage)"
        " VALUES ('o1', '2026-02-24T10:00:00.000017Z', 'user', 'cli', 1, '{\"calls\": 1}')"
    )
    old.execute("INSERT INTO changes VALUES (1, 0, 'add', 'e1', NULL, 'text of e1', 'said')")
    old.execute("INSERT INTO tombstones VALUES ('d1', 'forgotten', '2026-02-24T10:00:00.000000Z')")
    old.execute("INSERT INTO access VALUES ('e1', 3)")
    old.close()
    journal = SqliteJournal(path)
    [found] = journal.operations(target="e1")
    assert (found.id, found.kind, found.usage, found.discarded, found.undoes) == ("o1", "", {"calls": 1}, (), None)
    assert [change.after for change in found.changes] == ["text of e1"]
    assert journal.patches("o1") == []
    assert journal.buried(["d1"]) == {"d1"}
    journal.begin(operation("o2", "e1"))
    assert ids(journal.operations(target="e1")) == ["o2", "o1"]
    assert dict(journal.access_counts(["e1"])) == {"e1": 3}
    journal.close()


def test_what_was_purged_is_in_no_file(path: str) -> None:
    journal = SqliteJournal(path)
    patch = Patch(path="MEMORY.md", before=None, after="d", hunks=pack(diff(None, "a secret kiosk\n")))
    journal.begin(operation("o1", "kiosk"), patches=[patch])
    journal.begin(operation("o2", "other"))
    assert dict(journal.purge({"kiosk"}, lambda text: "secret kiosk" in text)) == {
        **dict.fromkeys(["discarded", "parked", "proposals", "prompts", "access"], 0),
        "changes": 1,
        "patches": 1,
    }
    assert journal.vacuum()
    folder = Path(path).parent
    assert not any(b"text of kiosk" in file.read_bytes() for file in folder.iterdir())
    assert any(b"text of other" in file.read_bytes() for file in folder.iterdir())
    [change] = journal.operation("o1").changes
    assert (change.purged, change.before, change.after) == (True, None, "")
    journal.close()


def test_a_reader_elsewhere_holds_the_log_and_is_told_of(path: str) -> None:
    journal = SqliteJournal(path)
    journal.begin(operation("o1", "kiosk"))
    reader = apsw.Connection(path)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM operations").fetchall()
    journal.purge({"kiosk"}, lambda text: False)
    assert not journal.vacuum()
    reader.execute("COMMIT")
    assert journal.vacuum()
    assert not any(b"text of kiosk" in file.read_bytes() for file in Path(path).parent.iterdir())
    reader.close()
    journal.close()
