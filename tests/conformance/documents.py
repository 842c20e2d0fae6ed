"""What every `Documents` promises. Subclass `DocumentsConformance` and give it a `documents` fixture."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from memorybook.errors import Conflict, InvalidInput, MissingDocument, UnsafePath
from memorybook.protocols import Documents

UNSAFE_PATHS = [
    # nothing, or not Markdown
    "", ".", "..", "/", ".md", "a", "a.txt", "a.MD", "a.md/", "a.md.txt", "MEMORY.md.bak",
    # absolute
    "/a.md", "/etc/passwd", "/etc/passwd.md", "//server/a.md", "C:/a.md", "c:a.md", "file:///a.md",
    # climbing out
    "../a.md", "daily/../../a.md", "daily/../a.md", "a/..", "./a.md", "daily/./a.md", "...md", ".../a.md", "a//b.md",
    # backward slashes
    "daily\\a.md", "..\\a.md", "\\\\server\\a.md", "C:\\a.md",
    # control characters
    "a\0.md", "\0/a.md", "a.md\0.md", "a\n.md", "a\r.md", "a\t.md", "a\x1b[2J.md", "a\x7f.md", "a\x85.md",
    # text that shows differently from what it is
    "a\u202edm.md", "a\u2066b.md", "a\u200b.md", "a\u200d.md", "a\ufeff.md", "a\u00ad.md", "\u3164.md", "a\u2028b.md",
    "a\U000e0041.md", "a\udce9.md", "a\ud800.md",
    # machine state and hidden files
    ".memorybook/a.md", ".git/a.md", "daily/.a.md", ".a.md", "daily/.git/a.md", "~/a.md", "~root/a.md",
    # encoded separators
    "%2e%2e/a.md", "..%2fa.md", "a%2Fb.md", "a%5cb.md", "a%00.md", "%252e%252e%252fa.md",
    # look-alikes
    "．．／a.md", "．．/a.md", "a／b.md", "a＼b.md", "a∕b.md", "a⁄b.md", "‥/a.md", "․․/a.md", "％２ｅ/a.md", "a﹨b.md",
    # names of devices
    "con.md", "NUL.md", "daily/aux.md", "com1.md", "LPT9.md", "nul.tar.md", "conin$.md", "ｃｏｎ.md", "com¹.md",
    # trailing dots and spaces
    "a./b.md", "a /b.md", " a.md", "a\u3000/b.md", "a…/b.md",
    # too long, too deep
    "a/b/c/d/e/f/g.md", "a" * 201 + ".md", "x" * 300 + ".md", "记" * 90 + ".md", "/".join(["a" * 200] * 6) + ".md",
]  # fmt: skip

SAFE_PATHS = [
    "MEMORY.md", "daily/2026-02-24.md", "archive/2026-02.md", "sessions/2026-02-24-a1b2.md", "notes/笔记/二月.md",
    "Meeting notes (final).md", "a.b.c.md", "console.md", "Ünïcödé.md", "50%.md", "what?.md", "don't.md",
    "a/b/c/d/e/f.md",
]  # fmt: skip


class DocumentsConformance:
    """The tests; `documents` is an empty book."""

    @pytest.fixture
    def documents(self) -> Documents:
        raise NotImplementedError

    def test_an_empty_book_lists_nothing(self, documents: Documents) -> None:
        assert list(documents.list()) == []

    def test_what_is_written_is_read_back_with_its_revision(self, documents: Documents) -> None:
        revision = documents.write("MEMORY.md", "你好 memory\n", expect=None)
        document = documents.read("MEMORY.md")
        assert document.text == "你好 memory\n"
        assert document.revision == revision
        assert document.modified > 1_700_000_000

    @pytest.mark.parametrize(
        "text", ["", "\ufeffBOM\r\nCRLF\r\n", "bytes that are no UTF-8: \udcff\udc80", "a\0b", "no end"]
    )
    def test_any_text_comes_back_as_it_was(self, documents: Documents, text: str) -> None:
        documents.write("a.md", text, expect=None)
        assert documents.read("a.md").text == text

    def test_the_same_text_has_the_same_revision_wherever_it_stands(self, documents: Documents) -> None:
        assert documents.write("a.md", "x", expect=None) == documents.write("b/c.md", "x", expect=None)

    def test_writing_needs_the_revision_that_stands(self, documents: Documents) -> None:
        first = documents.write("a.md", "1", expect=None)
        second = documents.write("a.md", "2", expect=first)
        with pytest.raises(Conflict, match=r"a\.md"):
            documents.write("a.md", "3", expect=first)
        assert documents.read("a.md") == ("2", second, documents.read("a.md").modified)

    def test_creating_needs_that_there_is_none(self, documents: Documents) -> None:
        documents.write("a.md", "1", expect=None)
        with pytest.raises(Conflict, match="exists"):
            documents.write("a.md", "2", expect=None)
        assert documents.read("a.md").text == "1"

    def test_replacing_needs_that_there_is_one(self, documents: Documents) -> None:
        with pytest.raises((Conflict, MissingDocument), match=r"a\.md"):
            documents.write("a.md", "1", expect="0" * 32)
        assert list(documents.list()) == []

    def test_writing_the_same_text_again_keeps_the_revision(self, documents: Documents) -> None:
        revision = documents.write("a.md", "1", expect=None)
        assert documents.write("a.md", "1", expect=revision) == revision

    def test_lines_are_appended_in_order_to_a_document_that_appending_made(self, documents: Documents) -> None:
        documents.append("daily/2026-02-24.md", "one")
        documents.append("daily/2026-02-24.md", "二")
        assert documents.read("daily/2026-02-24.md").text == "one\n二\n"

    def test_a_torn_last_line_is_ended_before_the_next(self, documents: Documents) -> None:
        documents.write("a.md", "torn", expect=None)
        documents.append("a.md", "next")
        assert documents.read("a.md").text == "torn\nnext\n"

    @pytest.mark.parametrize("line", ["a\nb", "a\n", "\r", "a\r\nb"])
    def test_a_line_with_a_line_break_is_refused(self, documents: Documents, line: str) -> None:
        with pytest.raises(InvalidInput, match="line break"):
            documents.append("a.md", line)
        assert list(documents.list()) == []

    def test_text_with_a_lone_surrogate_is_refused(self, documents: Documents) -> None:
        with pytest.raises(InvalidInput, match="surrogate"):
            documents.write("a.md", "\ud800", expect=None)

    def test_an_append_changes_the_revision(self, documents: Documents) -> None:
        revision = documents.write("a.md", "1\n", expect=None)
        documents.append("a.md", "2")
        with pytest.raises(Conflict):
            documents.write("a.md", "3", expect=revision)

    def test_the_listing_tells_paths_and_sizes(self, documents: Documents) -> None:
        for path in SAFE_PATHS:
            documents.write(path, f"{path}\n", expect=None)
        assert {info.path: info.size for info in documents.list()} == {p: len(p.encode()) + 1 for p in SAFE_PATHS}

    def test_equal_stamps_mean_equal_content(self, documents: Documents) -> None:
        revision = documents.write("a.md", "1", expect=None)
        before = next(iter(documents.list())).stamp
        documents.write("a.md", "2", expect=revision)
        after = next(iter(documents.list())).stamp
        assert before != after or not before

    def test_equal_revisions_mean_that_nothing_changed(self, documents: Documents) -> None:
        text = documents.write("a.md", "1", expect=None)
        for _ in range(3_000):  # who lists often may be told of changes
            list(documents.list())
            if (before := documents.revision()) is not None:
                break
        changes: list[Callable[[], object]] = [
            lambda: documents.write("a.md", "2", expect=text),
            lambda: documents.append("b/c.md", "3"),
            lambda: documents.remove("a.md"),
        ]
        for change in changes:
            change()
            now = documents.revision()
            assert now is None or now != before
            before = now

    def test_a_removed_document_is_gone(self, documents: Documents) -> None:
        documents.write("a.md", "1", expect=None)
        documents.remove("a.md")
        assert list(documents.list()) == []
        with pytest.raises(MissingDocument, match=r"a\.md"):
            documents.read("a.md")
        documents.write("a.md", "again", expect=None)

    def test_what_is_not_there_cannot_be_read_or_removed(self, documents: Documents) -> None:
        for path in ("a.md", "no/such/folder.md"):
            with pytest.raises(MissingDocument, match=path):
                documents.read(path)
            with pytest.raises(MissingDocument, match=path):
                documents.remove(path)

    @pytest.mark.parametrize("path", UNSAFE_PATHS, ids=ascii)
    def test_an_unsafe_path_is_refused_everywhere(self, documents: Documents, path: str) -> None:
        with pytest.raises(UnsafePath):
            documents.read(path)
        with pytest.raises(UnsafePath):
            documents.write(path, "x", expect=None)
        with pytest.raises(UnsafePath):
            documents.append(path, "x")
        with pytest.raises(UnsafePath):
            documents.remove(path)
        assert list(documents.list()) == []

    def test_closing_twice_does_nothing(self, documents: Documents) -> None:
        documents.close()
        documents.close()
