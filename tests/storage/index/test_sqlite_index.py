from __future__ import annotations

import json
import math
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from threading import Barrier, Thread
from time import sleep, time
from typing import Any

import apsw
import pytest

from conformance.index import MEMORY, Book, IndexConformance, Make, OracleConformance, Remote, book, by_cosine, by_words
from memorybook.errors import Unavailable
from memorybook.formats.document import Document, DocumentInfo
from memorybook.model import Session, Turn
from memorybook.protocols import Embedder
from memorybook.search.types import Passage, Query
from memorybook.storage.directory import DirectoryDocuments
from memorybook.storage.index import index_schema, index_sync, sqlite_index
from memorybook.storage.index.index_sync import DOCUMENT, TURN
from memorybook.storage.index.scan_index import ScanIndex
from memorybook.storage.index.sqlite_index import TRIED, SqliteIndex, rebuild
from memorybook.storage.journal import SqliteJournal
from memorybook.storage.sqlite import Connection
from memorybook.testing import HashEmbedder

__all__ = ["book"]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[SqliteIndex] = []

    def make(embedder: Embedder | None) -> SqliteIndex:
        index = SqliteIndex(str(tmp_path / f"index-{len(made)}" / "index.sqlite"), embedder=embedder)
        made.append(index)
        return index

    yield make
    for index in made:
        index.close()


@pytest.fixture
def path(book: Book) -> str:
    return str(book.root / ".memorybook" / "index.sqlite")


class TestSqliteIndex(IndexConformance):
    pass


class TestSqliteIndexBesideAScan(OracleConformance):
    @pytest.fixture
    def oracle(self) -> Make:
        def oracle(embedder: Embedder | None) -> ScanIndex:
            return ScanIndex(embedder=embedder)

        return oracle


def sql(path: str, statement: str, values: Sequence[Any] = ()) -> list[tuple[object, ...]]:
    connection = apsw.Connection(path)
    rows = connection.execute(statement, values).fetchall()
    connection.close()
    return rows


def test_the_back_end_is_named_after_the_legs_that_answered(book: Book, path: str) -> None:
    book.say("red apples")
    assert book.search(SqliteIndex(path), "apples").backend == "sqlite_fts"
    assert book.search(SqliteIndex(path, embedder=HashEmbedder(), words_only=True), "apples").backend == "sqlite_fts"
    assert book.search(SqliteIndex(path, embedder=HashEmbedder()), "apples").backend == "sqlite_hybrid"
    assert book.search(SqliteIndex(path, embedder=HashEmbedder()), "???").backend == "sqlite_hybrid"


def test_common_words_change_no_score_and_no_rank(book: Book, path: str) -> None:
    book.say(*(f"apples and pears {'zebra' if n % 40 == 0 else n}" for n in range(200)), "apples apples apples")
    index, scan = SqliteIndex(path), ScanIndex()
    for question in ("apples zebra", "zebra apples pears 7", "apples pears", "zebra"):
        for pool in (3, 5, 100, 300):
            one = by_words(book.search(index, question, pool=pool))
            other = by_words(book.search(scan, question, pool=pool))
            assert sorted(one.values()) == pytest.approx(sorted(other.values()), abs=1e-9)


def test_filters_that_leave_out_the_best_bring_the_best_of_the_rest(book: Book, path: str) -> None:
    pool = 3
    book.say(*(f"apples apples 苹果 {n}" for n in range(TRIED * pool + 5)), session="u1", name="S1")
    book.say(*(f"apples 苹果 of the other {n} {'long ' * n}" for n in range(5)), session="u2", name="S2")
    book.say(*(f"nothing but pears {n}" for n in range(200)), session="u3", name="S3")
    index, scan = SqliteIndex(path), ScanIndex()
    for session in ("S1", "u2", "S3", "nobody"):
        one, other = (by_words(book.search(i, "apples 苹果", pool=pool, session=session)) for i in (index, scan))
        assert sorted(one.values()) == pytest.approx(sorted(other.values()), abs=1e-9)
        assert len(one) == (pool if session in ("S1", "u2") else 0)


def test_another_object_sees_what_one_brought_in(book: Book, path: str) -> None:
    book.say("red apples")
    embedder = HashEmbedder()
    book.sync(SqliteIndex(path, embedder=embedder))
    calls = embedder.calls
    other = SqliteIndex(path, embedder=embedder)
    assert book.sync(other).changed == 0
    assert embedder.calls == calls
    assert other.candidates(Query("apples")).items


def test_a_sync_that_may_not_take_long_leaves_what_is_much_to_others(book: Book, path: str) -> None:
    def left(index: SqliteIndex, most: float, text: str) -> tuple[bool, int, int]:
        index.most = most
        found = book.search(index, text)
        return index.behind, len(by_words(found)), found.pending_vectors

    book.write("a.md", "red apples")
    index = SqliteIndex(path)
    book.search(index, "apples")
    book.say("green apples", "green pears")
    few = DOCUMENT + TURN * 2.5  # a document that was written just now may have changed unseen
    assert left(index, few, "green") == (False, 2, 0)
    book.say("yellow apples " * 200, "苹果 " * 20, session="other")
    assert left(index, few, "yellow") == (True, 0, 0)
    assert left(index, math.inf, "yellow") == (False, 1, 0)
    hurried = SqliteIndex(path, embedder=HashEmbedder())
    assert left(hurried, TURN * 4, "green") == (True, 2, 5)
    assert left(hurried, DOCUMENT + TURN * 5, "green") == (False, 2, 0)


def test_two_that_sync_at_once_make_no_duplicates(book: Book, path: str) -> None:
    book.write("MEMORY.md", MEMORY)
    for number in range(5):
        book.write(f"notes{number}.md", f"# Notes\n\napples of basket {number}\n")
    book.say(*(f"apples number {n}" for n in range(50)))
    start = Barrier(3)
    failures: list[BaseException] = []

    def work() -> None:
        index = SqliteIndex(path, embedder=HashEmbedder())
        start.wait()
        try:
            assert len(book.texts(index, "apples", pool=1000)) == 55
        except BaseException as error:
            failures.append(error)
        index.close()

    threads = [Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    index = SqliteIndex(path)
    assert book.sync(index).changed == 0
    assert index.stats()["passages"] == 58
    assert sql(path, "SELECT value FROM meta WHERE name='passages'") == [(58,)]


class Interrupted:
    """Documents that let somebody else in while one of them is read for the first time."""

    def __init__(self, documents: DirectoryDocuments, meanwhile: object) -> None:
        self._documents, self._meanwhile = documents, meanwhile

    def __getattr__(self, name: str) -> object:
        return getattr(self._documents, name)

    def read(self, path: str) -> Document:
        document = self._documents.read(path)
        meanwhile, self._meanwhile = self._meanwhile, None
        if callable(meanwhile):
            meanwhile()
        return document


def test_a_sync_that_was_overtaken_does_not_put_old_text_over_new(book: Book, path: str) -> None:
    book.write("a.md", "old pears\n")
    slow, fast = SqliteIndex(path), SqliteIndex(path)

    def meanwhile() -> None:
        book.write("a.md", "new pears and plums\n")
        book.sync(fast)

    slow.sync(Interrupted(book.documents, meanwhile), book.transcripts)  # type: ignore[arg-type]
    assert {c.passage.text for c in slow.candidates(Query("pears")).items} == {"new pears and plums"}
    assert book.sync(fast).changed == 0


def test_what_was_brought_in_since_the_documents_were_listed_is_not_taken_for_gone(book: Book, path: str) -> None:
    ours, theirs = SqliteIndex(path), SqliteIndex(path)
    book.write("a.md", "pears\n")
    book.sync(ours)

    class Late(DirectoryDocuments):
        lists = 0

        def list(self) -> list[DocumentInfo]:
            listed = list(super().list())
            self.lists += 1
            if self.lists == 1:
                book.write("b.md", "apples\n")
                book.sync(theirs)
            return listed

    report = ours.sync(Late(str(book.root)), book.transcripts)
    assert (report.removed, report.degraded) == (0, ())
    assert [c.passage.path for c in theirs.candidates(Query("apples")).items] == ["b.md"]


def test_documents_that_never_hold_still_are_told(book: Book, path: str) -> None:
    fast = SqliteIndex(path)
    count = iter(range(1000))

    class Restless:
        def __getattr__(self, name: str) -> object:
            return getattr(book.documents, name)

        def read(self, path: str) -> Document:
            document = book.documents.read(path)
            book.write("a.md", f"pears {next(count)}\n")
            book.sync(fast)
            return document

    book.write("a.md", "pears\n")
    report = SqliteIndex(path).sync(Restless(), book.transcripts)  # type: ignore[arg-type]
    assert "faster than they can be read" in report.degraded[0]


def test_turns_that_were_overtaken_are_read_once_more(book: Book, path: str) -> None:
    book.say("red apples", "green apples")
    slow, fast = SqliteIndex(path), SqliteIndex(path)
    transcripts = book.transcripts
    entered: list[bool] = []

    class Overtaken:
        def __getattr__(self, name: str) -> object:
            return getattr(transcripts, name)

        def changes(self, after: int) -> object:
            changes = transcripts.changes(after)
            turns = list(changes.turns)
            if not entered:
                entered.append(True)
                transcripts.remove("u1", ["t0"])
                transcripts.update(Session(uuid="u1", name="renamed"))
                book.sync(fast)
            return changes._replace(turns=turns)

    slow.sync(book.documents, Overtaken())  # type: ignore[arg-type]
    assert {c.passage.text for c in slow.candidates(Query("apples", session="renamed")).items} == {"green apples"}


def test_a_failed_remote_embedder_is_left_alone_by_other_processes_too(book: Book, path: str) -> None:
    embedder = Remote()
    book.say("red apples")
    index = SqliteIndex(path, embedder=embedder)
    book.sync(index)
    index.embed_pending()
    embedder.down = True
    index.candidates(Query("apples"))
    other = Remote()
    found = book.search(SqliteIndex(path, embedder=other), "apples")
    assert other.calls == 0
    assert (found.backend, found.embedder) == ("sqlite_fts", None)
    assert "connection refused" in found.degraded[0]


def test_the_pause_ends(book: Book, path: str) -> None:
    embedder = Remote()
    book.say("red apples")
    index = SqliteIndex(path, embedder=embedder)
    book.sync(index)
    index.embed_pending()
    embedder.down = True
    index.candidates(Query("apples"))
    embedder.down = False
    sql(path, "UPDATE models SET paused_until=paused_until-31")
    assert index.candidates(Query("apples")).backend == "sqlite_hybrid"


def test_embedders_never_mix_and_both_keep_their_vectors(book: Book, path: str) -> None:
    book.say("red apples")
    small, large = HashEmbedder(32), Remote(64)
    book.sync(SqliteIndex(path, embedder=small))
    index = SqliteIndex(path, embedder=large)
    assert book.sync(index).pending_vectors == 1
    found = index.candidates(Query("apples"))
    assert (found.backend, found.embedder, len(by_words(found)), by_cosine(found)) == ("sqlite_fts", None, 1, {})
    index.embed_pending()
    assert index.candidates(Query("red apples")).embedder == "remote/hash-64"
    calls = small.calls
    again = book.search(SqliteIndex(path, embedder=small), "red apples")
    assert (small.calls, again.embedder) == (calls + 1, "local/hash-32")
    assert list(by_cosine(again).values()) == pytest.approx([1.0], abs=1e-3)


def test_the_same_name_with_other_dimensions_is_another_embedder(book: Book, path: str) -> None:
    book.say("red apples")
    small, large = HashEmbedder(32), HashEmbedder(64)
    large.name = small.name
    book.sync(SqliteIndex(path, embedder=small))
    found = book.search(SqliteIndex(path, embedder=large), "red apples")
    assert list(by_cosine(found).values()) == pytest.approx([1.0], abs=1e-3)


def test_entries_can_be_read_by_sql(book: Book, path: str) -> None:
    book.write("MEMORY.md", MEMORY)
    index = SqliteIndex(path, embedder=HashEmbedder(8))
    book.sync(index)
    connection = sqlite3.connect(path)
    columns = [c[0] for c in connection.execute("SELECT * FROM agent_memory").description]
    wanted = (
        "id session_id memory_type content vector importance access_count last_accessed metadata created_at updated_at"
        " passage"
    )
    assert columns == wanted.split()
    rows = connection.execute(
        "SELECT id, memory_type, importance, length(vector), last_accessed, metadata, access_count"
        " FROM agent_memory ORDER BY importance DESC"
    ).fetchall()
    connection.close()
    assert [row[:5] for row in rows] == [
        ("a1", "preference", 0.9, 32, "2026-02-20"),
        ("a2", "fact", 0.6, 32, "2026-02-21"),
        ("x1", "fact", 0.1, 32, "2026-01-10"),
    ]
    assert all(isinstance(json.loads(row[5]), dict) for row in rows)
    found = "SELECT id FROM agent_memory WHERE passage IN (SELECT rowid FROM words WHERE words MATCH 'vue')"
    assert sql(path, found) == [("x1",)]
    for column in ("session_id", "memory_type", "importance"):
        plan = sql(path, f"EXPLAIN QUERY PLAN SELECT id FROM agent_memory WHERE {column}=0.5")
        assert "SEARCH p USING INDEX" in str(plan), column
    whole = str(sql(path, "EXPLAIN QUERY PLAN SELECT vector FROM agent_memory WHERE memory_type='fact'"))
    assert "SEARCH v USING INDEX" in whole
    assert "SCAN v" not in whole
    assert "SEARCH p USING INTEGER PRIMARY KEY" in str(sql(path, "EXPLAIN QUERY PLAN " + found))


def test_an_edit_of_an_entrys_comment_alone_shows_in_sql(book: Book, path: str) -> None:
    text = "## Active Memories\n\n### [a1] fact | 0.50 | 2026-02-20 | 3\nApples.\n<!-- metadata: %s -->\n"
    for metadata in ('{"a": 1}', '{"a": 2, "名": "值"}'):
        book.write("MEMORY.md", text % metadata)
        book.sync(SqliteIndex(path))
        [(hits, shown)] = sql(path, "SELECT access_count, metadata FROM agent_memory")
        assert (hits, json.loads(str(shown))) == (3, json.loads(metadata))
    (book.root / "MEMORY.md").unlink()
    book.sync(SqliteIndex(path))
    assert sql(path, "SELECT count(*) FROM entries") == [(0,)]


@pytest.mark.parametrize("text", ["Apples from Kent.", "肯特的苹果。"])
def test_what_people_change_of_an_entry_is_its_update_in_sql(book: Book, path: str, text: str) -> None:
    day, shown = "2026-02-20", "SELECT id, access_count, updated_at FROM agent_memory ORDER BY id"
    page = "## Active Memories\n\n### [a1] fact | {} | 2026-02-20 | 3\n{}\n"
    page += "\n### [b2] fact | 0.50 | 2026-02-20 | 1\nPears.\n"
    for score, said in (("0.50", "Apples."), ("0.41", "Apples.")):  # it only fades
        book.write("MEMORY.md", page.format(score, said))
        book.sync(SqliteIndex(path))
        assert sql(path, shown) == [("a1", 3, day), ("b2", 1, day)]
    book.write("MEMORY.md", page.format("0.41", text))
    book.sync(SqliteIndex(path))
    [(_, hits, updated), other] = sql(path, shown)
    assert (hits, other) == (3, ("b2", 1, day))
    changed = datetime.fromtimestamp((book.root / "MEMORY.md").stat().st_mtime, UTC)
    assert updated == changed.isoformat()


def test_a_database_of_another_program_is_left_alone(book: Book, path: str) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    sql(path, "CREATE TABLE mine (x)")
    index = SqliteIndex(path)
    with pytest.raises(Unavailable, match="another program"):
        book.sync(index)
    assert sql(path, "SELECT count(*) FROM mine") == [(0,)]


def test_an_index_of_another_version_is_made_anew(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    book.say("red apples")
    book.sync(SqliteIndex(path, embedder=HashEmbedder()))
    monkeypatch.setattr(index_schema, "VERSION", index_schema.VERSION + 1)
    found = book.search(SqliteIndex(path, embedder=HashEmbedder()), "apples")
    assert len(found.items) == 1
    assert found.degraded == ()


def test_others_search_and_sync_while_one_rebuilds(book: Book, path: str) -> None:
    book.write("a.md", "red apples\n")
    one, other = SqliteIndex(path, embedder=HashEmbedder()), SqliteIndex(path, embedder=HashEmbedder())
    book.sync(one)
    seen = []

    def meanwhile() -> None:
        seen.append(book.texts(other, "apples"))
        book.write("b.md", "green apples\n")
        seen.append(book.texts(other, "apples"))

    one.rebuild(Interrupted(book.documents, meanwhile), book.transcripts)  # type: ignore[arg-type]
    assert seen == [{"red apples"}, {"red apples", "green apples"}]
    for index in (one, other):
        found = index.candidates(Query("apples"))
        assert {c.passage.text for c in found.items} == {"red apples", "green apples"}
        assert None not in [c.cosine for c in found.items]
    assert [name for name in os.listdir(os.path.dirname(path)) if "rebuild" in name] == []


def test_a_rebuild_keeps_vectors_of_the_model_in_use_or_of_all_models_if_none_is(book: Book, path: str) -> None:
    book.write("a.md", "red apples\n")
    first, second = HashEmbedder(), HashEmbedder(32)
    for embedder in (first, second):
        book.sync(SqliteIndex(path, embedder=embedder))
    SqliteIndex(path).rebuild(book.documents, book.transcripts)
    assert sql(path, "SELECT name FROM models ORDER BY id") == [(first.name,), (second.name,)]
    assert sql(path, "SELECT count(*) FROM embeddings") == [(2,)]
    SqliteIndex(path, embedder=second).rebuild(book.documents, book.transcripts)
    assert sql(path, "SELECT name FROM models") == [(second.name,)]
    assert sql(path, "SELECT count(*) FROM embeddings") == [(1,)]


def test_rebuilding_leaves_nothing_of_what_was_forgotten(book: Book, path: str) -> None:
    book.write("a.md", "the quick xylophone\n")
    index = SqliteIndex(path, embedder=HashEmbedder())
    book.sync(index)
    book.write("a.md", "something else\n")
    index.rebuild(book.documents, book.transcripts)
    index.close()
    assert b"xylophon" not in Path(path).read_bytes()
    assert sql(path, "SELECT count(*) FROM embeddings") == [(1,)]


def test_a_rebuild_clears_away_what_a_killed_one_left(book: Book, path: str) -> None:
    book.say("red apples")
    index = SqliteIndex(path)
    book.sync(index)
    for name, age in (("old", 7200), ("young", 60)):
        Path(f"{path}.rebuild-{name}").touch()
        os.utime(f"{path}.rebuild-{name}", (time() - age, time() - age))
    index.rebuild(book.documents, book.transcripts)
    assert not os.path.exists(f"{path}.rebuild-old")
    assert os.path.exists(f"{path}.rebuild-young")


def test_a_rebuild_beside_a_damaged_index_embeds_anew(book: Book, path: str) -> None:
    book.say("red apples")
    embedder = HashEmbedder()
    index = SqliteIndex(path, embedder=embedder)
    book.sync(index)
    sql(path, "DROP TABLE texts")
    index.rebuild(book.documents, book.transcripts)
    assert len(by_cosine(index.candidates(Query("apples")))) == 1


def test_a_rebuild_that_fails_leaves_the_old_index(book: Book, path: str) -> None:
    book.write("a.md", "red apples\n")
    index = SqliteIndex(path)
    book.sync(index)

    class Broken:
        def __getattr__(self, name: str) -> object:
            return getattr(book.documents, name)

        def list(self) -> object:
            raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        index.rebuild(Broken(), book.transcripts)  # type: ignore[arg-type]
    assert len(index.candidates(Query("apples")).items) == 1
    assert [name for name in os.listdir(os.path.dirname(path)) if "rebuild" in name] == []


def test_a_cold_search_imports_nothing_heavy(book: Book, path: str) -> None:
    book.write("MEMORY.md", MEMORY)
    sleep(0.05)  # a document that was just written is looked into again
    book.sync(SqliteIndex(path))
    SqliteJournal(str(book.root / ".memorybook" / "journal.sqlite")).spend(date(2026, 2, 24), calls=1)
    program = """if True:
        import sys
        before = set(sys.modules)
        from memorybook.search.types import Query
        from memorybook.storage.directory import DirectoryDocuments
        from memorybook.storage.index.sqlite_index import TRIED, SqliteIndex
        from memorybook.storage.journal import SqliteJournal
        from memorybook.storage.transcripts import SqliteTranscripts
        root, path = sys.argv[1:]
        journal = SqliteJournal(root + "/.memorybook/journal.sqlite")
        assert not journal.pending() and not journal.forgotten() and not journal.buried(["x"])
        index = SqliteIndex(path)
        index.sync(DirectoryDocuments(root), SqliteTranscripts(root + "/.memorybook/transcripts.sqlite"))
        assert index.candidates(Query("terse code")).items
        heavy = "numpy json dataclasses hashlib tokenizers pathlib uuid inspect logging asyncio".split()
        heavy += ["memorybook.model", "memorybook.text.splitting"]
        print([name for name in heavy if name in set(sys.modules) - before])
    """
    done = subprocess.run(
        [sys.executable, "-c", program, str(book.root), path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_searching_an_empty_book_makes_no_index(book: Book, path: str) -> None:
    index = SqliteIndex(path)
    assert book.sync(index).checked == 0
    assert index.candidates(Query("apples")).items == ()
    assert not os.path.exists(path)
    book.say("red apples")
    book.sync(index)
    assert len(index.candidates(Query("apples")).items) == 1


def test_a_sync_does_not_delete_by_the_numbers_of_before_a_rebuild(book: Book, path: str) -> None:
    for name in "abc":
        book.write(f"{name}.md", f"pears of {name}\n")
        book.sync(SqliteIndex(path))
    [row] = sql(path, "SELECT * FROM known_documents WHERE path='a.md'")
    (book.root / "a.md").unlink()
    book.write("b.md", "apples\n")
    slow, fast = SqliteIndex(path), SqliteIndex(path)

    def meanwhile() -> None:
        fast.rebuild(book.documents, book.transcripts)
        # the document that is to go stands there as it did, while its passage's number is another's by now
        sql(path, "UPDATE documents SET id=id+9")
        sql(path, "INSERT INTO known_documents VALUES (?, ?, ?, ?, ?, ?)", row)

    slow.sync(Interrupted(book.documents, meanwhile), book.transcripts)  # type: ignore[arg-type]
    assert book.texts(slow, "pears apples") == {"apples", "pears of c"}


def test_turns_that_a_search_read_are_not_read_again(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    book.say("red apples", "green apples", "苹果是红的", "pears")
    index, asked = SqliteIndex(path), list[int]()
    book.search(index, "apples 苹果")
    read = index_schema.passages

    def noting(connection: Connection, numbers: list[int]) -> dict[int, Passage]:
        asked.extend(numbers)
        return read(connection, numbers)

    monkeypatch.setattr(index_schema, "passages", noting)
    texts = ["red apples", "green apples", "苹果是红的", "pears"]
    assert sorted(turn.text for turn in index.turns([("u1", 0, 3)])) == sorted(texts)
    assert asked == []
    book.transcripts.remove("u1", ["t0"])
    book.sync(index)
    assert sorted(turn.text for turn in index.turns([("u1", 0, 3)])) == sorted(texts[1:])


def test_texts_are_counted_only_after_one_that_the_embedder_cannot_read(book: Book, path: str) -> None:
    class Noting(HashEmbedder):
        def __init__(self) -> None:
            super().__init__()
            self.told: list[tuple[int, int]] = []

        def unread(self, count: int, total: int) -> None:
            self.told.append((count, total))

    index = SqliteIndex(path, embedder=(embedder := Noting()))
    for text in ("red apples", "???", "青苹果", "！！"):
        book.say(text)
        book.sync(index)
    assert embedder.told == [(0, 0), (1, 2), (0, 0), (2, 4)]


def test_turns_placed_before_a_rebuild_are_placed_again(book: Book, path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_sync, "BATCH", 2)
    book.say("apples", "pears")
    slow, fast, transcripts = SqliteIndex(path), SqliteIndex(path), book.transcripts
    book.sync(slow)
    until = transcripts.changes(0)
    until = until._replace(turns=list(until.turns))
    book.say("plums", "quinces", "cherries")
    entered: list[bool] = []

    class Earlier:
        """Transcripts as they were."""

        def revision(self) -> int:
            return until.revision

        def changes(self, after: int) -> object:
            return until

    class Overtaken:
        def __getattr__(self, name: str) -> object:
            return getattr(transcripts, name)

        def changes(self, after: int) -> object:
            changes = transcripts.changes(after)
            return changes._replace(turns=self.turns(changes.turns))

        def turns(self, turns: Iterable[tuple[Session, Turn]]) -> Iterator[tuple[Session, Turn]]:
            for number, turn in enumerate(turns):
                if number == 2 and not entered:
                    entered.append(True)
                    rebuild(fast._open(), book.documents, Earlier())  # type: ignore[arg-type]
                yield turn

    slow.sync(book.documents, Overtaken())  # type: ignore[arg-type]
    assert entered
    assert sql(path, "SELECT count(*) FROM passages") == [(5,)]


def test_a_rebuild_may_end_while_another_one_looks_for_what_was_left(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.say("red apples")
    index = SqliteIndex(path)
    book.sync(index)
    listed = os.listdir
    monkeypatch.setattr(os, "listdir", lambda folder: [*listed(folder), "index.sqlite.rebuild-gone"])
    assert index.rebuild(book.documents, book.transcripts).changed > 0


def test_a_search_is_not_kept_waiting_by_the_copy_and_sees_what_it_brought(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.write("a.md", "pears\n")
    index = SqliteIndex(path)
    book.sync(index)
    live, copy, seen = index._open(), sqlite_index._copy, list[bool]()

    def copied(scratch: Connection, target: str) -> None:
        with live.lock:  # a search that goes on all the while
            thread = Thread(target=copy, args=(scratch, target))
            thread.start()
            thread.join(20)
            seen.append(thread.is_alive())
        version = live.version()
        copy(scratch, target)
        seen.append(live.version() == version)

    monkeypatch.setattr(sqlite_index, "_copy", copied)
    sqlite_index.rebuild(live, book.documents, book.transcripts)
    assert seen == [False, False]


def test_a_search_that_a_rebuild_overtakes_misses_nothing(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was synced is in the old pages only when the new ones take their place before the search reads."""
    book.write("a.md", "red apples\n")
    index = SqliteIndex(path)
    book.sync(index)
    copy, seen = sqlite_index._copy, list[set[str]]()

    def copied(scratch: Connection, target: str) -> None:
        book.write("b.md", "green apples\n")
        book.sync(index)
        copy(scratch, target)
        seen.append({c.passage.text for c in index.candidates(Query("apples")).items})

    monkeypatch.setattr(sqlite_index, "_copy", copied)
    index.rebuild(book.documents, book.transcripts)
    assert seen == [{"red apples", "green apples"}]


def test_threads_that_open_it_at_once_share_one_connection(
    book: Book, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    book.write("a.md", "red apples\n")
    make_whole = SqliteIndex(path)
    book.sync(make_whole)
    make_whole.close()
    index, together, made = SqliteIndex(path), Barrier(2), list[Connection]()
    open_index = index_schema.open_index

    def opened(*arguments: Any) -> Connection:
        together.wait(20)
        made.append(open_index(*arguments))
        return made[-1]

    monkeypatch.setattr(index_schema, "open_index", opened)
    threads = [Thread(target=book.sync, args=(index,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [connection._closed for connection in made if connection is not index._open()] == [True]
    assert not index._open()._closed
    index.close()
    assert [connection._closed for connection in made] == [True, True]


def test_passages_kept_of_one_database_are_not_given_for_another(book: Book, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads whose connections differ may use the same store at the same moment."""
    made = []
    for name in ("old", "new"):
        book.write("a.md", f"red apples of the {name} file\n")
        made.append(SqliteIndex(str(book.root / f"{name}.sqlite")))
        book.sync(made[-1])
    old, new = (index._open() for index in made)
    rows, meanwhile, before = sqlite_index._Rows(), [1], index_schema.noted

    def noted(db: Connection, name: str) -> Any:
        value = before(db, name)
        while meanwhile:
            rows.passages(new, [meanwhile.pop()])
        return value

    rows.passages(old, [1])
    monkeypatch.setattr(index_schema, "noted", noted)
    assert "old" in rows.passages(old, [1])[1].text
    assert not meanwhile
    assert "new" in rows.passages(new, [1])[1].text
    for index in made:
        index.close()


def test_passages_of_a_file_that_is_put_back_are_read_anew(book: Book, path: str) -> None:
    """Its ids go on from where they were, and may say of other passages what they said before."""
    index = SqliteIndex(path)
    book.write("a.md", "red apples\n")
    book.sync(index)
    index._open().execute("VACUUM INTO ?", (f"{path}.saved",))
    book.write("b.md", "green apples\n")
    assert book.texts(index, "apples") == {"red apples", "green apples"}
    (book.root / "b.md").unlink()
    for suffix in ("-wal", "-shm"):
        Path(path + suffix).unlink(missing_ok=True)
    Path(f"{path}.saved").replace(path)
    book.write("c.md", "yellow apples\n")
    assert book.texts(index, "apples") == {"red apples", "yellow apples"}
    index.close()
