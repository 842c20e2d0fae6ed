"""How documents and turns become passages, and that their lines are exact."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memorybook.formats import memory_md, session_md
from memorybook.model import Entry, Note, Session, SessionSummary, Turn
from memorybook.search.types import Passage
from memorybook.text.splitting import MAX_TOKENS, dense_text, indexed_text, split, split_added, turn_passage
from memorybook.text.tokens import count_tokens

MEMORY = """# Agent Memory

<!-- Last updated: 2026-02-20T10:30:00Z -->
<!-- Total entries: 2 -->

## Preferences
- likes tea
  and cake
- [ ] buy cups

## Project Facts

## Active Memories

### [a1b2c3] preference | 0.92 | 2026-02-20 | 12
The user likes terse code.
<!-- score: 0.918734; scored: 2026-02-20; created: 2026-01-03T09:12:00Z; session: 5f2c; source: turn:S1-3; tags: style; entities: Go; group: work/api; trust: user; pinned -->

## Archived Memories

### [x1y2z3] fact | 0.18 | 2026-01-10 | 2
The user once tried Vue.

## Afterwards

A paragraph
of two lines.
"""  # noqa: E501


def texts(path: str, text: str) -> list[str]:
    return [passage.text for passage in split(path, text, 0.0).passages]


def only(path: str, text: str) -> Passage:
    (passage,) = split(path, text, 0.0).passages
    return passage


def test_memory_gives_its_entries_and_what_a_person_wrote_in_the_order_of_the_lines() -> None:
    found = split("MEMORY.md", MEMORY, 0.0).passages
    assert [(passage.start_line, passage.end_line, passage.text, passage.source) for passage in found] == [
        (7, 8, "likes tea\n  and cake", "document"),
        (9, 9, "buy cups", "document"),
        (15, 17, "The user likes terse code.", "entry"),
        (21, 22, "The user once tried Vue.", "entry"),
        (26, 27, "A paragraph\nof two lines.", "document"),
    ]
    assert found[0].heading == "Agent Memory > Preferences"
    assert found[4].heading == "Afterwards"


def test_an_entry_brings_all_that_ranking_needs() -> None:
    entry = split("MEMORY.md", MEMORY, 0.0).passages[2]
    assert entry == Passage(
        "MEMORY.md", 15, 17, "The user likes terse code.", "entry", heading="work/api > style, Go", date="2026-01-03",
        entry="a1b2c3", category="preference", score=0.918734, scored="2026-02-20", activated="2026-02-20",
        state="active", trust="user", session="5f2c", turn="S1-3", time="09:12:00", pinned=True, verified="2026-02-20",
    )  # fmt: skip


def test_an_archive_is_read_like_memory() -> None:
    entry = Entry(
        id="k1", text="Old.", category="fact", score=0.1, scored=date(2026, 2, 1), last_activated=date(2026, 1, 1),
        archived=True,
    )  # fmt: skip
    document = memory_md.render_archive("archive/2026-02.md", (entry,), now=datetime(2026, 2, 1, tzinfo=UTC))
    found = [passage for passage in split("archive/2026-02.md", document, 0.0).passages if passage.source == "entry"]
    assert [(passage.entry, passage.text, passage.state) for passage in found] == [("k1", "Old.", "archived")]


def test_what_memory_could_not_read_is_a_warning() -> None:
    broken = MEMORY.replace("### [x1y2z3]", "### [a1b2c3]")
    assert split("MEMORY.md", broken, 0.0).warnings


def test_each_note_is_a_passage_of_its_day() -> None:
    note = Note(
        time=datetime(2026, 2, 24, 23, 30, tzinfo=UTC), text="Likes short answers.", kind="pref", tags=("style",)
    )
    document = f"# Notes\n\n{session_md.render_line(note)}\nprose between\n- 08:15 by hand\n"
    found = split("daily/2026-02-25.md", document, 0.0).passages
    assert [(p.start_line, p.end_line, p.text, p.source, p.date) for p in found] == [
        (3, 3, "Likes short answers.", "note", "2026-02-25"),
        (4, 4, "prose between", "document", "2026-02-25"),
        (5, 5, "by hand", "note", "2026-02-25"),
    ]
    assert found[0].heading == "pref, style"


def test_a_note_in_a_file_of_another_name_has_the_day_of_its_stamp() -> None:
    assert only("daily/old.md", "- 2026-02-24T10:00:00Z tea\n").date == "2026-02-24"


_DAILY_LINES = st.lists(
    st.sampled_from(
        [
            "- 2026-02-24T10:12:33Z [pref] The user wants short answers. #prefs",
            "- 2026-02-24T10:12:34Z 用户喜欢简短的回答。#偏好", "- 2026-02-24T10:12:35Z &#x;",
            "* 09:30 a note written by hand", "- an item without a time", "# A heading", "prose in a line",
            "  behind an item", "", "===", "```", "~~~~", "<!-- a comment", "-->", "\ufeff", "- 2026-02-24 #one #two",
        ]
    )
)  # fmt: skip


@given(_DAILY_LINES, _DAILY_LINES, st.sampled_from(["daily/2026-02-24.md", "daily/loose.md"]))
def test_what_is_added_to_a_page_is_split_as_if_all_of_it_were_read(
    before: list[str], added: list[str], path: str
) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, added))
    more = split_added(path, old, new)
    if more is not None:
        assert split(path, old, 0.0).passages + more == split(path, old + new, 0.0).passages


def test_notes_added_to_a_page_of_notes_are_split_alone() -> None:
    page = "# 24 February\n\n- 2026-02-24T10:12:33Z one\n"
    (passage,) = split_added("daily/2026-02-24.md", page, "- 2026-02-24T10:12:34Z [pref] 第二条 #tag\n") or ()
    assert (passage.start_line, passage.text, passage.heading) == (4, "第二条", "pref, tag")


def test_prose_on_both_sides_of_a_note_is_not_one_passage() -> None:
    document = "before\n- 2026-02-24T10:00:00Z tea\nafter\n"
    assert texts("daily/2026-02-24.md", document) == ["before", "tea", "after"]


SUMMARY = SessionSummary(
    session="5f2c0a3e", title="Where the index lives", summary="We talked about the index.\n\nIt is derived.",
    started=datetime(2026, 2, 24, 10, tzinfo=UTC), turns=18, decisions=("The index is derived.", "Nobody edits it."),
    open_questions=("Who rebuilds it?",), turn_ids=("D1:1", "D1:2", "D1:3"),
)  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_summary_gives_its_text_and_each_decision_and_question(language: str) -> None:
    document = session_md.render(SUMMARY, language=language)
    found = split("sessions/2026-02-24-x.md", document, 0.0).passages
    assert [passage.text for passage in found] == [
        "We talked about the index.\n\nIt is derived.", "The index is derived.", "Nobody edits it.", "Who rebuilds it?",
    ]  # fmt: skip
    assert {(passage.source, passage.session, passage.date) for passage in found} == {
        ("summary", "5f2c0a3e", "2026-02-24")
    }
    assert found[0].heading == "Where the index lives"


def test_a_title_in_the_front_matter_alone_stands_above_the_summary() -> None:
    document = "---\nsession: s1\ntitle: Tea\n---\n\nWe drank it.\n"
    found = only("sessions/2026-02-24-x.md", document)
    assert (found.heading, found.text, found.start_line, found.date) == ("Tea", "We drank it.", 6, "2026-02-24")


def test_a_document_is_cut_by_its_headings() -> None:
    document = "intro\n\n# A\n\none\n\ntwo\n\n## B ##\n\n- x\n- y\n\nSetext\n======\nunder\n\n# Nothing under\n"
    found = split("notes/a.md", document, 0.0).passages
    assert [(p.heading, p.text, p.start_line, p.end_line) for p in found] == [
        ("", "intro", 1, 1), ("A", "one\n\ntwo", 5, 7), ("A > B", "- x\n- y", 11, 12), ("Setext", "under", 16, 16),
    ]  # fmt: skip


def test_paragraphs_that_carry_a_day_stand_alone_under_it() -> None:
    document = "[2026-02-01 10:00] one\n\nmore of it\n\n[2026-02-02 11:00] two\n"
    found = split("HISTORY.md", document, 0.0).passages
    assert [(passage.date, passage.text) for passage in found] == [
        ("2026-02-01", "[2026-02-01 10:00] one\n\nmore of it"),
        ("2026-02-02", "[2026-02-02 11:00] two"),
    ]


@pytest.mark.parametrize(
    ("path", "text", "day"),
    [
        ("log/2026-03-04.md", "x", "2026-03-04"), ("a.md", "# 2026-03-05\n\nx", "2026-03-05"), ("a.md", "x", None),
        ("trip-2026-02-30.md", "x", None), ("a.md", "# 2026-02-30 and 2026-03-02\n\nx", "2026-03-02"),
        ("a.md", "# 0000-01-01\n\nx", None),
    ],
)  # fmt: skip
def test_a_document_has_the_day_that_its_name_or_heading_gives(path: str, text: str, day: str | None) -> None:
    assert only(path, text).date == day


def test_a_code_fence_is_one_piece_and_its_comments_are_no_headings() -> None:
    document = "before\n\n```python\n# not a heading\n\nx = 1\n```\nafter\n"
    assert texts("a.md", document) == [document.strip()]
    assert texts("MEMORY.md", document) == ["before", "```python\n# not a heading\n\nx = 1\n```", "after"]


def test_a_list_item_goes_on_over_an_indented_paragraph() -> None:
    assert texts("MEMORY.md", "- one\n\n  more\n\n- two\n\nthree\n") == ["one\n\n  more", "two", "three"]


@pytest.mark.parametrize(
    "long",
    [
        "The user went to the market and bought apples. " * 100, "用户去了市场，买了苹果。" * 100, "word " * 2000,
        "苹果" * 1000, "x" * 20_000, "paragraph of a few words\n\n" * 200,
        "```\n" + "code(line, number) = 1\n" * 200 + "```",
    ],
    ids=["english", "chinese", "no sentence", "no stop", "one word", "paragraphs", "code"],
)  # fmt: skip
@pytest.mark.parametrize("path", ["a.md", "MEMORY.md"])
def test_a_long_text_is_cut_within_the_limit_and_loses_nothing(path: str, long: str) -> None:
    found = split(path, f"# T\n\n{long}\n", 0.0).passages
    assert len(found) > 1
    assert all(count_tokens(passage.text) <= MAX_TOKENS * 1.1 for passage in found)
    assert "".join("".join(passage.text for passage in found).split()) == "".join(long.split())


def test_sentences_are_cut_between_not_within() -> None:
    found = texts("a.md", "The user went to the market and bought apples. " * 100)
    assert all(text.endswith("apples.") for text in found)


PIECES = st.sampled_from(
    [
        *(
            "# H", "## H 2", "# ", "- item", "  - sub", "1. one", "text", "好的。", "```", "~~~", "<!--", "-->",
            "<!-- c -->",
        ),
        *("---", "===", "", "  more", "\t", "\x0b x", "a\u2028b", "long sentence. " * 120, "## Active Memories"),
        *("- 2026-02-24T10:00:00Z [pref] note #t", "### [a1] fact | 0.5 | 2026-01-01 | 1"),
    ]
)  # fmt: skip
DOCUMENTS = st.builds(
    lambda lines, end: end.join(lines),
    st.lists(PIECES | st.text(max_size=8), max_size=14),
    st.sampled_from(["\n", "\r\n"]),
)
PATHS = st.sampled_from(
    ["MEMORY.md", "archive/2026-02.md", "daily/2026-02-24.md", "sessions/2026-02-24-x.md", "HISTORY.md"]
)


@given(PATHS, DOCUMENTS)
def test_no_text_raises_and_lines_are_within_the_document(path: str, text: str) -> None:
    lines = text.split("\n")
    for passage in split(path, text, 0.0).passages:
        assert 1 <= passage.start_line <= passage.end_line <= len(lines)
        assert passage.text.strip()


@given(DOCUMENTS)
@example("```\n- 2026-02-24T10:00:00Z [pref] note #t\n```")
def test_the_lines_of_a_passage_contain_its_text(text: str) -> None:
    lines = text.split("\n")
    for path in ("HISTORY.md", "MEMORY.md", "daily/2026-02-24.md"):
        for passage in split(path, text, 0.0).passages:
            if passage.source == "document":
                assert passage.text in "\n".join(lines[passage.start_line - 1 : passage.end_line])


def test_a_note_shown_in_a_fenced_block_is_found_and_the_block_stays_whole() -> None:
    text = "```\n- 2026-02-24T10:00:00Z likes tea\nx\n```\n\ny\n"
    found = split("daily/2026-02-24.md", text, 0.0).passages
    assert [(p.source, p.text) for p in found] == [("document", text.strip()), ("note", "likes tea")]


SESSION = Session(uuid="u1", path="sessions/s.md", created=datetime(2026, 5, 1, tzinfo=UTC))
TURN = Turn(id="t1", session="u1", text="I like tea", role="user", speaker="Bob", position=3)


def test_a_turn_is_found_under_the_summary_of_its_session() -> None:
    turn = turn_passage(SESSION, TURN)
    assert turn == Passage(
        "sessions/s.md", 0, 0, "I like tea", "turn", date="2026-05-01", session="u1", turn="t1", speaker="Bob",
        role="user", position=3,
    )  # fmt: skip


def test_the_day_of_a_turn_is_its_own_and_it_may_have_none() -> None:
    late = Turn(id="t1", session="u1", text="x", role="assistant", time=datetime(2026, 6, 2, tzinfo=UTC))
    assert turn_passage(SESSION, late).date == "2026-06-02"
    assert turn_passage(SESSION, late).speaker == "assistant"
    assert turn_passage(Session(uuid="u1"), TURN).date is None
    first = Turn(id="t1", session="u1", text="x", time=datetime.min.replace(tzinfo=UTC))
    assert turn_passage(SESSION, first).date == "0001-01-01"


@pytest.mark.parametrize(
    ("passage", "indexed", "dense"),
    [
        (turn_passage(SESSION, TURN), "[2026-05-01] Bob: I like tea", "I like tea"),
        (Passage("", 0, 0, "x", "turn"), "x", "x"),
        (Passage("a.md", 1, 1, "x", "document", heading="A > B"), "A > B\nx", "A > B\nx"),
        (Passage("a.md", 1, 1, "x", "document", date="2026-01-02"), "[2026-01-02] x", "x"),
        (
            Passage("MEMORY.md", 1, 1, "x", "entry", heading="work > go", category="fact", date="2026-01-02"),
            "[2026-01-02] work > go fact\nx",
            "x",
        ),
        (Passage("daily/d.md", 1, 1, "x", "note", heading="pref"), "pref\nx", "x"),
    ],
)
def test_each_leg_sees_what_helps_it(passage: Passage, indexed: str, dense: str) -> None:
    assert indexed_text(passage) == indexed
    assert dense_text(passage) == dense


@pytest.mark.parametrize(
    ("line", "title"),
    [("# a", "a"), ("## a ##", "a"), ("# a#", "a#"), ("# a ## #", "a ##"), ("#\tC# #  \r", "C#"), ("# # a", "# a")],
)
def test_the_marks_that_close_a_heading_are_not_in_it(line: str, title: str) -> None:
    assert only("notes.md", f"{line}\n\ntext\n").heading == title


@pytest.mark.timeout(30)
def test_each_item_of_a_long_list_is_a_passage() -> None:
    assert len(split("MEMORY.md", "## Preferences\n" + "- likes tea\n" * 30_000, 0.0).passages) == 30_000
