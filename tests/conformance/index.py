"""What every implementation of `Index` does.

Subclass, and give a fixture `make`: a function from an embedder (None for words alone) to an empty
index. The truth is a real book on disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from memorybook.errors import EmbedderFailed, UnsafePath
from memorybook.formats.document import Document, DocumentInfo
from memorybook.model import Session, Turn
from memorybook.protocols import Documents, Embedder, Index, Transcripts
from memorybook.search.types import Candidate, Candidates, Passage, Query, SyncReport
from memorybook.storage.directory import DirectoryDocuments
from memorybook.storage.index.index_schema import FEW
from memorybook.storage.transcripts import SqliteTranscripts
from memorybook.testing import HashEmbedder

if TYPE_CHECKING:
    from memorybook.protocols import Vectors

Make = Callable[[Embedder | None], Index]

START = datetime(2026, 2, 24, 10, 0, tzinfo=UTC)

MEMORY = """# Agent Memory

## Active Memories

### [a1] preference | 0.90 | 2026-02-20 | 3
The user likes terse code with few comments.

### [a2] fact | 0.60 | 2026-02-21 | 1
生产数据库在上海的服务器上。

## Archived Memories

### [x1] fact | 0.10 | 2026-01-10 | 2
The user once tried Vue.
"""


class Remote(HashEmbedder):
    """A remote embedder that answers, or fails while `down` is set."""

    local = False

    def __init__(self, dimensions: int = 64) -> None:
        super().__init__(dimensions)
        self.name = f"remote/hash-{dimensions}"
        self.down = False

    def embed(self, texts: Iterable[str]) -> Vectors:
        """As HashEmbedder, or raises EmbedderFailed."""
        texts = list(texts)
        if self.down:
            self.calls += 1
            raise EmbedderFailed("connection refused")
        return super().embed(texts)


class Book(NamedTuple):
    """The truth of a small book and where it lies."""

    root: Path
    documents: Documents
    transcripts: Transcripts

    def write(self, path: str, text: str) -> None:
        """Write a document as an editor does, whatever is there."""
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text.encode("utf-8", "surrogateescape"))

    def remove(self, path: str) -> None:
        """Delete a document as a file manager does."""
        (self.root / path).unlink()

    def rename(self, path: str, to: str) -> None:
        """Rename one so."""
        os.rename(self.root / path, self.root / to)

    def say(self, *texts: str, session: str = "u1", name: str = "S1", speaker: str = "Alice") -> None:
        """Add turns to a session, one a minute."""
        before = len(self.transcripts.turns(session))
        turns = [
            Turn(
                id=f"t{before + n}",
                session=session,
                role="user",
                speaker=speaker,
                text=text,
                time=START + timedelta(minutes=before + n),
            )
            for n, text in enumerate(texts)
        ]
        self.transcripts.append(Session(uuid=session, name=name), turns)

    def sync(self, index: Index) -> SyncReport:
        """Bring the index up to date."""
        return index.sync(self.documents, self.transcripts)

    def search(self, index: Index, text: str, **filters: object) -> Candidates:
        """As every search does: sync, then candidates."""
        self.sync(index)
        return index.candidates(Query(text, **filters))  # type: ignore[arg-type]

    def texts(self, index: Index, text: str, **filters: object) -> set[str]:
        """Texts that the words leg brings."""
        return {c.passage.text.strip() for c in self.search(index, text, **filters).items if c.words is not None}

    def close(self) -> None:
        """Release the files."""
        self.documents.close()
        self.transcripts.close()


def open_book(root: Path) -> Book:
    """A book in that folder."""
    return Book(
        root, DirectoryDocuments(str(root)), SqliteTranscripts(str(root / ".memorybook" / "transcripts.sqlite"))
    )


@pytest.fixture
def book(tmp_path: Path) -> Iterator[Book]:
    """An empty book."""
    root = tmp_path / "book"
    root.mkdir()
    opened = open_book(root)
    yield opened
    opened.close()


def turn_key(passage: Passage) -> object:
    """What tells one passage from another, whatever index it comes from."""
    return passage


def by_words(found: Candidates) -> dict[Passage, float]:
    """BM25 by passage."""
    return {c.passage: c.words for c in found.items if c.words is not None}


def by_cosine(found: Candidates) -> dict[Passage, float]:
    """Cosine by passage."""
    return {c.passage: c.cosine for c in found.items if c.cosine is not None}


def holding(found: Candidates, text: str) -> Candidate:
    """The one candidate whose text holds this."""
    [candidate] = [c for c in found.items if text in c.passage.text]
    return candidate


class Spoiled:
    """Documents of which one cannot be read, or is gone by the time it is read."""

    def __init__(self, documents: Documents, path: str, error: Exception) -> None:
        self._documents, self._path, self._error = documents, path, error

    def list(self) -> Iterable[DocumentInfo]:
        """As it is."""
        return self._documents.list()

    def revision(self) -> int | None:
        """As it is."""
        return self._documents.revision()

    def read(self, path: str) -> Document:
        """Raises for the spoiled one."""
        if path == self._path:
            raise self._error
        return self._documents.read(path)


class IndexConformance:
    """The contract of `Index`, one behaviour a test."""

    def test_an_empty_book_has_no_candidates(self, make: Make, book: Book) -> None:
        found = book.search(make(HashEmbedder()), "anything at all")
        assert (found.items, found.neighbours, found.degraded, found.pending_vectors) == ((), (), (), 0)

    def test_each_source_is_found_with_its_fields(self, make: Make, book: Book) -> None:
        book.write("MEMORY.md", MEMORY)
        book.write("daily/2026-02-24.md", "- 2026-02-24T10:12:33Z [pref] Terse answers, please. #prefs\n")
        book.say("Terse is good")
        found = book.search(make(None), "terse")
        by_source = {c.passage.source: c.passage for c in found.items}
        assert set(by_source) == {"entry", "note", "turn"}
        entry = by_source["entry"]
        assert (entry.entry, entry.category, entry.score, entry.state) == ("a1", "preference", 0.9, "active")
        assert (entry.path, entry.pinned) == ("MEMORY.md", False)
        assert entry.start_line <= 6 <= entry.end_line
        assert (by_source["note"].path, by_source["note"].date) == ("daily/2026-02-24.md", "2026-02-24")
        turn = by_source["turn"]
        assert (turn.session, turn.turn, turn.speaker, turn.position) == ("u1", "t0", "Alice", 0)

    def test_chinese_is_found_by_words_and_by_single_characters(self, make: Make, book: Book) -> None:
        book.write("MEMORY.md", MEMORY)
        index = make(None)
        for question in ("数据库", "服务器在哪里", "沪上海"):
            assert book.texts(index, question) == {"生产数据库在上海的服务器上。"}
        assert book.texts(index, "火车") == set()

    def test_identifiers_and_paths_are_found_whole_and_in_parts(self, make: Make, book: Book) -> None:
        book.say("the bug is in parse_header", "see src/net/http.py", "nothing here")
        index = make(None)
        for question in ("parse_header", "header", "PARSE_HEADER"):
            assert book.texts(index, question) == {"the bug is in parse_header"}
        for question in ("src/net/http.py", "http.py"):
            assert book.texts(index, question) == {"see src/net/http.py"}

    def test_words_are_joined_by_or(self, make: Make, book: Book) -> None:
        book.say("red apples", "green pears", "blue plums")
        assert book.texts(make(None), "apples pears") == {"red apples", "green pears"}

    def test_what_a_small_book_is_about_is_asked_for_beside_a_rarer_word(self, make: Make, book: Book) -> None:
        many = [f"上海第{n}天" for n in range(FEW)]
        book.say(*many, "出差时带伞")
        index = make(None)
        assert book.texts(index, "上海出差") == {*many, "出差时带伞"}
        book.say("上海下雨")
        assert book.texts(index, "上海出差") == {"出差时带伞"}

    def test_idf_is_told_for_every_word_of_the_question(self, make: Make, book: Book) -> None:
        from math import log

        book.say("red apples", "green apples", "blue plums")
        idf = book.search(make(None), "apples zebra").idf
        assert idf["zebra"] == pytest.approx(log(1 + 3.5 / 0.5))
        assert sorted(idf.values()) == pytest.approx([log(1 + 1.5 / 2.5), log(1 + 3.5 / 0.5)])

    @pytest.mark.parametrize(
        "question",
        ['"', "AND", "a AND NOT (b", "NEAR(a b)", "text:apples*", "^x", "'; --", "???", "a\x00b", "\udcff", "…", "的"],
    )
    def test_any_question_is_answered(self, make: Make, book: Book, question: str) -> None:
        book.write("MEMORY.md", MEMORY)
        assert book.search(make(HashEmbedder()), question).degraded == ()

    def test_any_text_can_be_indexed_and_comes_back(self, make: Make, book: Book) -> None:
        odd = "pears \udce9 and \x00 'quotes\" \U0001f600 喜欢"
        book.write("notes.md", odd + "\n")
        book.say("pears \ud800 said", speaker="\udcffAlice")
        index = make(HashEmbedder())
        found = book.search(index, "pears")
        assert holding(found, "pears \ud800 said").passage.speaker == "\udcffAlice"
        assert holding(found, "\udce9").passage.path == "notes.md"
        assert book.sync(index).changed == 0

    def test_what_does_not_change_is_not_read_again(self, make: Make, book: Book) -> None:
        book.write("MEMORY.md", MEMORY)
        book.say("hello")
        index = make(HashEmbedder())
        first = book.sync(index)
        again = book.sync(index)
        assert (first.checked, first.changed) == (1, 2)
        assert (again.checked, again.changed, again.removed) == (1, 0, 0)

    def test_an_edit_is_seen_by_the_next_search(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.write("notes.md", "We meet on Monday.\n")
        assert book.texts(index, "Monday Friday") == {"We meet on Monday."}
        book.write("notes.md", "We meet on Friday.\n")
        assert book.texts(index, "Monday Friday") == {"We meet on Friday."}

    def test_an_edit_that_keeps_size_and_time_of_writing_is_seen(self, make: Make, book: Book) -> None:
        index = make(None)
        book.write("notes.md", "We meet on Monday.\n")
        book.texts(index, "meet")
        status = os.stat(book.root / "notes.md")
        book.write("notes.md", "We meet on Sunday.\n")
        os.utime(book.root / "notes.md", ns=(status.st_atime_ns, status.st_mtime_ns))
        assert book.texts(index, "Sunday") == {"We meet on Sunday."}

    def test_deleted_and_renamed_documents_are_seen(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.write("a.md", "pears are ripe\n")
        book.write("b.md", "plums are ripe\n")
        assert len(book.texts(index, "ripe")) == 2
        book.remove("a.md")
        book.rename("b.md", "c.md")
        found = book.search(index, "ripe")
        assert {c.passage.path for c in found.items} == {"c.md"}
        assert book.sync(index).removed == 0

    def test_lines_that_move_take_their_vectors_along(self, make: Make, book: Book) -> None:
        embedder = HashEmbedder()
        index = make(embedder)
        book.write("notes.md", "# Plans\n\npears are ripe\n")
        book.sync(index)
        embedded = len(embedder.texts)
        book.write("notes.md", "\n\n\n# Plans\n\npears are ripe\n")
        book.sync(index)
        assert len(embedder.texts) == embedded
        assert holding(book.search(index, "pears"), "pears").passage.end_line == 6
        book.rename("notes.md", "other.md")
        embedded = len(embedder.texts)
        book.sync(index)
        assert len(embedder.texts) == embedded

    def test_text_that_is_added_again_is_not_embedded_again(self, make: Make, book: Book) -> None:
        embedder = HashEmbedder()
        index = make(embedder)
        for text in ("pears are ripe\n", "plums\n", "pears are ripe\n"):
            book.write("notes.md", text)
            book.sync(index)
        assert [text for text in embedder.texts if text in ("pears are ripe", "plums")] == ["pears are ripe", "plums"]

    def test_the_same_text_twice_is_two_passages(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.write("a.md", "pears are ripe\n")
        book.write("b.md", "pears are ripe\n")
        found = book.search(index, "pears")
        assert [round(c.cosine or 0, 3) for c in found.items] == [round(found.items[0].cosine or 0, 3)] * 2
        book.remove("a.md")
        assert {c.passage.path for c in book.search(index, "pears").items} == {"b.md"}

    def test_removed_turns_and_sessions_are_gone(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.say("red apples", "green apples")
        book.say("blue apples", session="u2", name="S2")
        assert len(book.texts(index, "apples")) == 3
        book.transcripts.remove("u1", ["t0"])
        assert book.texts(index, "apples") == {"green apples", "blue apples"}
        book.transcripts.remove("u2")
        assert book.texts(index, "apples") == {"green apples"}

    def test_a_renamed_session_is_found_by_its_new_name(self, make: Make, book: Book) -> None:
        index = make(None)
        book.say("red apples")
        book.sync(index)
        book.transcripts.update(Session(uuid="u1", name="S9", path="sessions/2026-02-24-S9.md"))
        found = book.search(index, "apples", session="S9")
        assert holding(found, "apples").passage.path == "sessions/2026-02-24-S9.md"
        assert book.texts(index, "apples", session="S1") == set()

    def test_transcripts_that_begin_anew_replace_the_old_ones(self, make: Make, book: Book, tmp_path: Path) -> None:
        index = make(None)
        book.say("red apples")
        book.say("green apples")
        book.say("blue apples")
        book.sync(index)
        other = SqliteTranscripts(str(tmp_path / "other.sqlite"))
        fresh = book._replace(transcripts=other)
        fresh.say("yellow apples")
        assert fresh.texts(index, "apples") == {"yellow apples"}
        other.close()

    def test_a_document_that_cannot_be_read_keeps_its_text_and_says_so(self, make: Make, book: Book) -> None:
        index = make(None)
        book.write("a.md", "pears are ripe\n")
        book.sync(index)
        book.write("a.md", "pears are rotten\n")
        book.write("b.md", "plums are ripe\n")
        spoiled = Spoiled(book.documents, "a.md", UnsafePath("it is a link"))
        report = index.sync(spoiled, book.transcripts)  # type: ignore[arg-type]
        assert [reason for reason in report.degraded if "a.md" in reason and "it is a link" in reason]
        found = index.candidates(Query("ripe"))
        assert {c.passage.path for c in found.items} == {"a.md", "b.md"}
        assert book.texts(index, "pears") == {"pears are rotten"}

    def test_a_document_that_vanishes_while_it_is_read_is_removed(self, make: Make, book: Book) -> None:
        from memorybook.errors import MissingDocument

        index = make(None)
        book.write("a.md", "pears are ripe\n")
        book.sync(index)
        book.write("a.md", "pears are rotten\n")
        spoiled = Spoiled(book.documents, "a.md", MissingDocument("a.md"))
        assert index.sync(spoiled, book.transcripts).degraded == ()  # type: ignore[arg-type]
        assert index.candidates(Query("pears")).items == ()

    def test_filters_let_only_what_they_name_through(self, make: Make, book: Book) -> None:
        book.write("MEMORY.md", MEMORY)
        book.write("daily/2026-02-22.md", "- 2026-02-22T10:12:33Z The user called.\n")
        book.write("daily/2026-02-25.md", "- 2026-02-25T10:12:33Z The user wrote.\n")
        book.say("The user waved")
        book.say("The user left", session="u2", name="S2")
        index = make(HashEmbedder())

        def shown(**filters: object) -> set[str]:
            return {c.passage.text.strip() for c in book.search(index, "user", **filters).items}

        assert shown(category="preference") == {"The user likes terse code with few comments."}
        assert shown(session="u1") == {"The user waved"} == shown(session="S1")
        assert shown(session="S2", sources=frozenset({"turn"})) == {"The user left"}
        assert {text for text in shown(sources=frozenset({"note"})) if "called" in text or "wrote" in text}
        assert len(shown(sources=frozenset({"note"}))) == 2
        dated = book.search(index, "user", since="2026-02-22", until="2026-02-24").items
        assert {c.passage.date for c in dated} <= {"2026-02-22", "2026-02-23", "2026-02-24"}
        assert any("called" in c.passage.text for c in dated)
        assert shown(sources=frozenset()) == set()
        assert shown(session="nobody") == set()

    def test_filters_never_starve(self, make: Make, book: Book) -> None:
        book.say(*(f"apples apples number {n}" for n in range(150)))
        book.say("a long story about many things in which apples come last", session="u2", name="S2")
        found = book.search(make(HashEmbedder()), "apples", session="S2", pool=5)
        [only] = found.items
        assert only.words is not None
        assert only.cosine is not None

    def test_a_pool_is_the_best_of_each_leg(self, make: Make, book: Book) -> None:
        book.say(*(f"apples {'and pears ' * n}" for n in range(20)))
        index = make(HashEmbedder())
        everything = book.search(index, "apples", pool=100)
        some = book.search(index, "apples", pool=5)
        for leg in (by_words, by_cosine):
            best = sorted(leg(everything).values(), reverse=True)[:5]
            assert sorted(leg(some).values(), reverse=True) == pytest.approx(best, abs=1e-6)

    def test_turns_beside_the_best_are_neighbours(self, make: Make, book: Book) -> None:
        book.say("how was the trip", "Paris was lovely", "we ate snails", "goodbye")
        book.say("another talk", session="u2", name="S2")
        found = book.search(make(None), "Paris")
        assert {c.passage.text for c in found.neighbours} == {"how was the trip", "we ate snails"}

    def test_turns_are_read_by_their_positions(self, make: Make, book: Book) -> None:
        book.say("one", "two", "three", "four", "five")
        book.say("sechs", "七", session="u2", name="S2")
        index = make(None)
        book.sync(index)

        def read(*spans: tuple[str, int, int]) -> list[tuple[str | None, int, str]]:
            return sorted((turn.session, turn.position, turn.text) for turn in index.turns(spans))

        assert read(("u1", 1, 2)) == [("u1", 1, "two"), ("u1", 2, "three")]
        assert read(("u1", 3, 99)) == read(("u1", -2, -1)) == [("u1", 3, "four"), ("u1", 4, "five")]
        assert read(("u2", -99, -1)) == read(("u2", 0, 1)) == [("u2", 0, "sechs"), ("u2", 1, "七")]
        assert read(("u1", 0, 0), ("u2", -1, -1)) == [("u1", 0, "one"), ("u2", 1, "七")]
        assert read(("u1", 9, 12)) == read(("u1", 3, 2)) == read(("nobody", -3, -1)) == read() == []
        [turn] = index.turns([("u1", 4, 4)])
        assert turn == holding(book.search(index, "five"), "five").passage

    def test_turns_that_were_removed_are_not_read(self, make: Make, book: Book) -> None:
        index = make(None)
        assert list(index.turns([("u1", -3, -1)])) == []
        book.say("one", "two", "three")
        book.sync(index)
        book.transcripts.remove("u1", ["t2"])
        book.sync(index)
        assert sorted(turn.text for turn in index.turns([("u1", -2, -1)])) == ["one", "two"]

    def test_entries_are_read_by_id_and_by_the_turn_they_rest_on(self, make: Make, book: Book) -> None:
        index = make(None)
        assert list(index.entries(["a1"], turns=[("u1", "t0")])) == []
        entry = "### [{}] fact | 0.60 | 2026-02-24 | 1\n{}\n<!-- session: u1; source: turn:t0; {} -->\n"
        lived = entry.format("a1", "The user lives in Oslo.", "superseded_by: b2")
        book.write(
            "MEMORY.md", f"## Active Memories\n\n{entry.format('b2', '用户住在卑尔根。', 'trust: user')}\n{lived}"
        )
        book.write("archive/2026-01.md", f"# Archive 2026-01\n\n{entry.format('b2', 'An older copy.', 'trust: user')}")
        book.say("I live in Oslo", "now in Bergen")
        book.sync(index)
        [found] = index.entries({"a1"})
        assert (found.text, found.state, found.superseded_by) == ("The user lives in Oslo.", "superseded", "b2")
        assert found in {candidate.passage for candidate in book.search(index, "Oslo").items}
        assert [one.text for one in index.entries(["b2", "none"])] == ["用户住在卑尔根。", "An older copy."]
        resting = index.entries(turns=[("u1", "t0"), ("u1", "t1")])
        assert [one.entry for one in resting] == ["b2", "a1", "b2"]
        assert list(index.entries(["a1"], query=Query("x", category="todo"))) == []
        assert list(index.entries(["a1"], query=Query("x", session="S1", category="fact"))) == [found]
        assert list(index.entries()) == []

    def test_neighbours_obey_the_filters(self, make: Make, book: Book) -> None:
        book.say("how was the trip", "Paris was lovely")
        assert book.search(make(None), "Paris", sources=frozenset({"turn"})).neighbours
        assert book.search(make(None), "Paris", since="2030-01-01").neighbours == ()

    def test_without_an_embedder_only_words_answer(self, make: Make, book: Book) -> None:
        book.say("red apples")
        found = book.search(make(None), "apples")
        assert (found.embedder, found.degraded, found.pending_vectors) == (None, (), 0)
        assert holding(found, "apples").cosine is None

    def test_a_local_embedder_embeds_while_syncing(self, make: Make, book: Book) -> None:
        book.say("red apples", "blue plums")
        found = book.search(make(HashEmbedder()), "red apples")
        assert (found.embedder, found.pending_vectors) == ("local/hash-64", 0)
        assert holding(found, "apples").cosine == pytest.approx(1.0, abs=1e-3)

    def test_names_of_speakers_do_not_enter_the_question_vector(self, make: Make, book: Book) -> None:
        embedder = HashEmbedder()
        book.say("I like apples")
        book.search(make(embedder), "What does Alice like?")
        assert "Alice" not in embedder.texts[-1]

    def test_a_question_that_the_embedder_cannot_read_is_no_failure(self, make: Make, book: Book) -> None:
        book.say("red apples ???")
        found = book.search(make(HashEmbedder()), "???")
        assert (found.embedder, found.degraded) == (None, ())

    def test_a_text_that_the_embedder_cannot_read_is_not_pending(self, make: Make, book: Book) -> None:
        embedder = HashEmbedder()
        index = make(embedder)
        book.say("???", "red apples")
        assert book.sync(index).pending_vectors == 0
        calls = embedder.calls
        book.sync(index)
        assert embedder.calls == calls

    def test_vectors_of_a_remote_embedder_come_later(self, make: Make, book: Book) -> None:
        embedder = Remote()
        index = make(embedder)
        book.say("red apples", "blue plums", "green pears")
        assert book.sync(index).pending_vectors == 3
        assert embedder.calls == 0
        found = index.candidates(Query("apples"))
        assert (found.embedder, found.pending_vectors) == (None, 3)
        assert found.degraded
        assert holding(found, "apples").words is not None
        steps: list[tuple[int, int]] = []
        assert index.embed_pending(limit=2, progress=lambda done, total: steps.append((done, total))) == 1
        assert steps[-1] == (2, 2)
        assert index.embed_pending() == 0
        found = index.candidates(Query("apples"))
        assert (found.embedder, found.pending_vectors, found.degraded) == ("remote/hash-64", 0, ())

    def test_words_answer_while_the_embedder_is_down_and_it_is_left_alone(self, make: Make, book: Book) -> None:
        embedder = Remote()
        index = make(embedder)
        book.say("red apples")
        book.sync(index)
        index.embed_pending()
        embedder.down = True
        found = index.candidates(Query("apples"))
        assert found.embedder is None
        assert "connection refused" in found.degraded[0]
        assert holding(found, "apples").words is not None
        calls = embedder.calls
        again = index.candidates(Query("apples"))
        assert embedder.calls == calls
        assert "connection refused" in again.degraded[0]
        embedder.down = False
        book.say("blue plums")
        book.sync(index)
        assert index.embed_pending() == 0
        assert index.candidates(Query("apples")).degraded == ()

    def test_embedding_that_fails_keeps_what_was_done_and_raises(self, make: Make, book: Book) -> None:
        embedder = Remote()
        index = make(embedder)
        book.say("red apples", "blue plums")
        book.sync(index)
        index.embed_pending(limit=1)
        embedder.down = True
        with pytest.raises(EmbedderFailed, match="connection refused"):
            index.embed_pending()
        assert index.candidates(Query("apples")).pending_vectors == 1

    def test_a_local_embedder_that_fails_costs_only_its_leg(self, make: Make, book: Book) -> None:
        class Broken(HashEmbedder):
            def embed(self, texts: object) -> Vectors:
                raise EmbedderFailed("weights are missing")

        index = make(Broken())
        book.say("red apples")
        report = book.sync(index)
        assert "weights are missing" in report.degraded[0]
        assert report.pending_vectors == 1
        assert book.texts(index, "apples") == {"red apples"}

    def test_an_answer_of_the_wrong_shape_is_refused(self, make: Make, book: Book) -> None:
        class Short(HashEmbedder):
            def embed(self, texts: object) -> Vectors:
                return super().embed(["one"])

        book.say("red apples", "blue plums")
        report = book.sync(make(Short()))
        assert "dimensions" in report.degraded[0]

    def test_rebuilding_answers_the_same_and_embeds_nothing_again(self, make: Make, book: Book) -> None:
        embedder = HashEmbedder()
        index = make(embedder)
        book.write("MEMORY.md", MEMORY)
        book.say("the user likes apples", "me too")
        before = book.search(index, "user likes")
        embedded = len(embedder.texts)
        steps: list[tuple[int, int]] = []
        report = index.rebuild(
            book.documents, book.transcripts, progress=lambda done, total: steps.append((done, total))
        )
        assert report.pending_vectors == 0
        assert steps[-1] == (3, 3)
        assert len(embedder.texts) == embedded
        after = index.candidates(Query("user likes"))
        assert by_words(after) == pytest.approx(by_words(before))
        assert by_cosine(after) == pytest.approx(by_cosine(before), abs=1e-6)
        assert index.vacuum()

    def test_stats_count(self, make: Make, book: Book) -> None:
        book.write("MEMORY.md", MEMORY)
        book.say("hello")
        index = make(HashEmbedder())
        book.sync(index)
        stats = index.stats()
        assert stats["by_source"]["entry"] == 3
        assert stats["by_source"]["turn"] == 1
        assert stats["passages"] == sum(stats["by_source"].values()) == stats["vectors"]
        assert (stats["pending"], stats["embedder"]) == (0, "local/hash-64")
        assert make(None).stats()["embedder"] is None

    def test_threads_share_an_index(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.sync(index)
        failures: list[BaseException] = []

        def work(number: int) -> None:
            try:
                for step in range(6):
                    book.write(f"n{number}-{step}.md", f"apples of {number} and {step}\n")
                    assert f"apples of {number} and {step}" in book.texts(index, "apples", pool=1000)
            except BaseException as error:
                failures.append(error)

        threads = [Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(book.texts(index, "apples", pool=1000)) == 24

    def test_words_alone_are_compared_where_meaning_is_not_asked_for(self, make: Make, book: Book) -> None:
        index = make(HashEmbedder())
        book.write("a.md", "apples and pears\n")
        both, words = book.search(index, "apples"), book.search(index, "apples", meaning=False)
        assert (both.embedder, words.embedder) == (HashEmbedder().name, None)
        assert by_words(words) == by_words(both) != {}
        assert (by_cosine(words), words.degraded) == ({}, ())

    def test_closing_twice_does_nothing(self, make: Make, book: Book) -> None:
        index = make(None)
        book.sync(index)
        index.close()
        index.close()


LINES = st.lists(
    st.sampled_from("apple apples pear plum ripe red Berlin src/a.py foo_bar it's 苹果 上海 喜欢 数据库 的 7".split()),
    min_size=1,
    max_size=8,
).map(" ".join)
"""Small texts of few words, in which everything repeats."""

BOOKS = st.lists(st.tuples(st.sampled_from(["a.md", "b.md", "turn"]), LINES), max_size=14)


def agree(one: Candidates, other: Candidates) -> None:
    """Assert that two indexes found the same."""
    assert set(by_words(one)) == set(by_words(other))
    assert by_words(one) == pytest.approx(by_words(other), abs=1e-6)
    assert set(by_cosine(one)) == set(by_cosine(other))
    assert by_cosine(one) == pytest.approx(by_cosine(other), abs=1e-3)
    assert set(one.neighbours) == set(other.neighbours)
    assert len(one.neighbours) == len(other.neighbours)
    assert one.idf == pytest.approx(other.idf)
    assert list(one.idf) == list(other.idf)
    assert {c.passage: c.holds for c in one.items} == {c.passage: c.holds for c in other.items}
    assert (one.embedder, one.degraded, one.pending_vectors) == (other.embedder, other.degraded, other.pending_vectors)


class OracleConformance:
    """The same candidates as an `oracle`, another fixture like `make`."""

    @settings(
        max_examples=settings().max_examples // 2,
        # several classes inherit it, each with an index of its own: an example of one is worth trying with all
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
            HealthCheck.differing_executors,
        ],
    )
    @given(first=BOOKS, second=BOOKS, question=LINES, session=st.sampled_from([None, "u1", "S2"]))
    def test_candidates_are_the_oracles(
        self,
        make: Make,
        oracle: Make,
        tmp_path_factory: pytest.TempPathFactory,
        first: list[tuple[str, str]],
        second: list[tuple[str, str]],
        question: str,
        session: str | None,
    ) -> None:
        book = open_book(tmp_path_factory.mktemp("book"))
        index, reference = make(HashEmbedder()), oracle(HashEmbedder())
        for lines in (first, second):
            for path in ("a.md", "b.md"):
                book.write(
                    path, "\n\n".join(f"# {n}\n\n{text}" for n, (where, text) in enumerate(lines) if where == path)
                )
            for number, (where, text) in enumerate(lines):
                if where == "turn":
                    which = number % 2 + 1
                    book.say(text, session=f"u{which}", name=f"S{which}", speaker=("Alice", "Berlin")[number % 2])
            agree(book.search(index, question, session=session), book.search(reference, question, session=session))
            for pool in (1, 3):
                one, other = (index.candidates(Query(question, pool=pool)) for index in (index, reference))
                # which of several with equal scores come is not said
                assert sorted(by_words(one).values()) == pytest.approx(sorted(by_words(other).values()), abs=1e-9)
        book.close()
        index.close()
