from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from memorybook.formats.document import DocumentInfo
from memorybook.storage.index.index_schema import open_index
from memorybook.storage.index.index_sync import Table
from memorybook.storage.sqlite import Connection


@pytest.fixture
def db(tmp_path: Path) -> Connection:
    return open_index(str(tmp_path / "index.sqlite"))


@pytest.fixture
def other(db: Connection) -> Connection:
    """Another process's connection to the same index."""
    return open_index(db.path)


def info(path: str, stamp: str = "1") -> DocumentInfo:
    return DocumentInfo(path, 10, stamp, 0.0)


def store(db: Connection, *infos: DocumentInfo) -> None:
    for one in infos:
        db.execute("DELETE FROM documents WHERE path=?", (one.path,))
        db.execute("INSERT INTO documents (path, size, stamp, hash, modified) VALUES (?, ?, ?, '', 0)", one[:3])


def differing(table: Table, db: Connection, listed: Iterable[DocumentInfo]) -> tuple[list[str], list[str]]:
    changed, gone = table.compare(db, tuple(listed))
    return [one.path for one, _ in changed], sorted(path for path, _ in gone)


def test_what_is_as_stored_does_not_differ_however_often_it_is_asked(db: Connection) -> None:
    table, listed = Table(), [info("a.md"), info("b.md")]
    store(db, *listed)
    for _ in range(3):
        assert differing(table, db, listed) == ([], [])


def test_new_changed_and_missing_documents_differ(db: Connection) -> None:
    table = Table()
    store(db, info("same.md"), info("changed.md"), info("gone.md"))
    listed = [info("same.md"), info("changed.md", "2"), info("new.md")]
    assert differing(table, db, [info("same.md"), info("changed.md"), info("gone.md")]) == ([], [])
    assert differing(table, db, listed) == (["changed.md", "new.md"], ["gone.md"])


def test_an_empty_stamp_vouches_for_nothing(db: Connection) -> None:
    table, listed = Table(), [info("a.md", "")]
    store(db, *listed)
    for _ in range(2):
        assert differing(table, db, listed) == (["a.md"], [])


def test_each_difference_comes_with_what_the_index_has_of_it(db: Connection) -> None:
    store(db, info("a.md"), info("b.md"))
    [(_, changed), (_, new)], [(_, gone)] = Table().compare(db, (info("a.md", "2"), info("c.md")))
    assert changed is not None
    assert (changed.size, changed.stamp) == (10, "1")
    assert new is None
    assert gone.id == changed.id + 1


def test_what_another_process_wrote_is_seen(db: Connection, other: Connection) -> None:
    table, listed = Table(), [info("a.md")]
    store(db, *listed)
    assert differing(table, db, listed) == ([], [])
    store(other, info("a.md", "2"))
    assert differing(table, db, listed) == (["a.md"], [])
    other.execute("DELETE FROM documents")
    assert differing(table, db, [info("b.md")]) == (["b.md"], [])


def test_a_path_that_is_not_utf8_is_compared_as_any_other(db: Connection) -> None:
    table, odd = Table(), info("caf\udce9.md")
    db.execute("INSERT INTO documents (path, size, stamp, hash, modified) VALUES (?, 10, '1', '', 0)", (b"x",))
    db.execute("UPDATE documents SET path=?", (odd.path.encode("utf-8", "surrogatepass"),))
    changed, gone = table.compare(db, (odd,))
    assert [one.path for one, _ in changed] == [] == gone
    assert differing(table, db, []) == ([], [odd.path])
