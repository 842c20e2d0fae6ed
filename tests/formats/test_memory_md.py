from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from formats.strategies import DOCUMENTS, ENTRIES
from memorybook.errors import InvalidInput
from memorybook.formats import memory_md
from memorybook.formats.memory_md import MemoryDocument
from memorybook.model import Entry

EDITED = datetime(2026, 3, 5, 12, tzinfo=UTC)
NOW = datetime(2026, 3, 6, 8, 30, 5, tzinfo=UTC)

EXAMPLE = """\
# Agent Memory

<!-- Last updated: 2026-02-20T10:30:00 -->
<!-- Total entries: 15 -->

## Active Memories

### [a1b2c3] preference | 0.92 | 2026-02-20 | 12
用户喜欢简洁的代码风格，不喜欢过多注释

### [d4e5f6] fact | 0.88 | 2026-02-19 | 8
用户的主要开发语言是 Python，常用 FastAPI 框架

### [g7h8i9] workflow | 0.85 | 2026-02-20 | 15
用户每天早上 9 点查看 A 股行情，关注新能源板块

## Archived Memories

### [x1y2z3] fact | 0.18 | 2026-01-10 | 2
用户曾尝试用 Vue 写前端，但后来放弃了
"""

ENTRY = Entry(
    id="n3w3n3", text="Likes tea.", category="fact", score=0.6, scored=date(2026, 3, 1), last_activated=date(2026, 3, 1)
)


def parse(text: str) -> MemoryDocument:
    return memory_md.parse(text, modified=EDITED)


def render(document: MemoryDocument) -> str:
    return document.render(now=NOW)


def again(document: MemoryDocument) -> MemoryDocument:
    return parse(render(document))


def test_the_example_has_four_entries() -> None:
    entries = parse(EXAMPLE).entries
    assert [(entry.id, entry.category, entry.score, entry.hits, entry.archived) for entry in entries] == [
        ("a1b2c3", "preference", 0.92, 12, False),
        ("d4e5f6", "fact", 0.88, 8, False),
        ("g7h8i9", "workflow", 0.85, 15, False),
        ("x1y2z3", "fact", 0.18, 2, True),
    ]
    assert entries[1].text == "用户的主要开发语言是 Python，常用 FastAPI 框架"
    assert entries[3].last_activated == entries[3].scored == date(2026, 1, 10)


def test_the_example_renders_as_it_was() -> None:
    assert render(parse(EXAMPLE)) == EXAMPLE


@settings(max_examples=2 * settings().max_examples)
@given(DOCUMENTS)
@example("##Active Memories")
@example("\ufeff## Active Memories\r\n- a\r\n\tb\r\n\r\n1) c")
def test_any_text_that_is_not_changed_stays_as_it_is(text: str) -> None:
    document = parse(text)
    assert render(document) == text
    assert len({entry.id for entry in document.entries}) == len(document.entries)


@given(DOCUMENTS, ENTRIES, st.sampled_from(["\n", "\r\n"]))
@example("## Active Memories\n-->\n<!-- score: 0.5; scored: 2026-01-01 -->\n<<<<<<< HEAD", ENTRY, "\n")
@example("```\n## Active Memories\n```", replace(ENTRY, text="```\nx\n```"), "\n")
@example("```\nopen", replace(ENTRY, text="```\nx\n```"), "\n")
@example("## Active Memories\n### [a]\n---", ENTRY, "\n")
def test_an_entry_can_be_added_to_any_text_and_taken_out_again(text: str, entry: Entry, newline: str) -> None:
    document = parse(text.replace("\r", "").replace("\n", newline))
    entry = replace(entry, archived=entry.archived or document.with_entry(entry).entries[-1].archived)
    changed = document.with_entry(entry)
    read = again(changed)
    expected = changed.get(entry.id)
    assert read.get(entry.id) == expected
    assert sorted(read.entries, key=by_id) == sorted(changed.entries, key=by_id)
    assert read.prose.rstrip("\r\n") == document.prose.rstrip("\r\n")
    assert not read.unsettled
    assert again(read.without(entry.id)).entries == read.without(entry.id).entries


def by_id(entry: Entry) -> str:
    return entry.id


@given(st.binary(max_size=60))
def test_bytes_that_are_no_text_survive(data: bytes) -> None:
    text = (b"# A\n" + data).decode("utf-8", "surrogateescape")
    assert render(parse(text)).encode("utf-8", "surrogateescape") == b"# A\n" + data


def test_other_bytes_outside_the_sections_survive_an_addition() -> None:
    text = b"# A\n\xff\xfe \xe4\xbd\n".decode("utf-8", "surrogateescape")
    assert (
        render(parse(text).with_entry(ENTRY)).encode("utf-8", "surrogateescape").startswith(b"# A\n\xff\xfe \xe4\xbd\n")
    )


def test_missing_sections_are_made_at_the_end_active_before_archived() -> None:
    document = parse("# Mine\n\nProse").with_entry(replace(ENTRY, id="old", archived=True)).with_entry(ENTRY)
    text = render(document)
    assert text.startswith("# Mine\n\nProse\n\n## Active Memories\n\n### [n3w3n3]")
    assert "-->\n\n## Archived Memories\n\n### [old]" in text
    assert render(again(document)) == text


def test_a_missing_active_section_comes_before_the_archived_one() -> None:
    text = render(parse("## Archived Memories\n\n## Notes\n").with_entry(ENTRY))
    assert text.startswith("## Active Memories\n\n### [n3w3n3]")
    assert text.endswith("-->\n\n## Archived Memories\n\n## Notes\n")


def test_an_entry_moves_to_the_section_it_says() -> None:
    document = parse(EXAMPLE)
    archived = replace(document.entries[0], archived=True)
    moved = again(document.with_entry(archived))
    assert moved.get("a1b2c3") == archived
    assert [entry.id for entry in moved.entries] == ["d4e5f6", "g7h8i9", "a1b2c3", "x1y2z3"]


def test_edits_are_values_and_do_not_touch_each_other() -> None:
    document = parse(EXAMPLE)
    assert document.without("a1b2c3").get("a1b2c3") is None
    assert document.without("nobody") is document
    assert document.with_entry(document.entries[0]) is document
    assert document.with_entry(ENTRY).entries[3] == ENTRY
    assert render(document) == EXAMPLE


def test_a_changed_entry_takes_its_own_place() -> None:
    document = parse(
        "## Active Memories\n\n" + "".join(f"### [{id}] fact | 0.50 | 2026-02-03 | 4\nx{id}\n" for id in "abc")
    )
    changed = replace(document.entries[1], text="y")
    assert again(document.with_entry(changed)).entries == (document.entries[0], changed, document.entries[2])
    assert document.with_entry(changed).entries == (document.entries[0], changed, document.entries[2])


def test_sections_are_sorted_by_strength_and_equals_keep_their_order() -> None:
    document = parse(EXAMPLE).with_entry(replace(ENTRY, score=0.1))
    assert [entry.id for entry in again(document).entries[:4]] == ["a1b2c3", "d4e5f6", "g7h8i9", "n3w3n3"]
    flat: Callable[[Entry], float] = lambda entry: -entry.hits  # noqa: E731
    text = document.render(now=NOW, strength=flat)
    assert [entry.id for entry in parse(text).entries[:4]] == ["n3w3n3", "d4e5f6", "a1b2c3", "g7h8i9"]


def test_an_untouched_block_stays_as_a_person_wrote_it() -> None:
    block = "###  [a1b2]  fact |0.50|  2026-02-03 | 4\n  Indented   text \n\n\nmore\n<!--   tags:a -->"
    text = render(parse(f"## Active Memories\n\n\n{block}\n\n\n").with_entry(replace(ENTRY, score=0.1)))
    assert text.startswith(f"## Active Memories\n\n{block}\n\n### [n3w3n3]")


def test_the_header_is_only_renewed_where_it_stands_above_the_headings() -> None:
    text = "# A\n\n## B\n<!-- Total entries: 9 -->\n"
    assert render(parse(text).with_entry(ENTRY)).startswith(text)


def test_windows_line_ends_are_kept() -> None:
    text = render(parse(EXAMPLE.replace("\n", "\r\n")).with_entry(ENTRY).with_item("TODO", "one\ntwo"))
    assert text.count("\n") == text.count("\r\n")
    assert parse(text).get("n3w3n3") == ENTRY


MACHINE = "### [m1m1m1] fact | {score} | 2026-01-10 | 2\nText\n<!-- score: 0.6; scored: 2026-02-01{flag} -->\n"


def test_an_entry_that_a_person_archives_is_at_most_at_the_bound() -> None:
    document = parse("## Archived Memories\n\n" + MACHINE.format(score="0.60", flag=""))
    entry = document.entries[0]
    assert (entry.score, entry.scored, entry.last_activated) == (0.2, date(2026, 3, 5), date(2026, 1, 10))
    assert document.unsettled


def test_an_entry_that_a_person_takes_out_of_the_archive_is_at_least_at_the_bound_and_active_from_that_day() -> None:
    moved = MACHINE.format(score="0.60", flag="; archived").replace("score: 0.6", "score: 0.1").replace("0.60", "0.10")
    entry = parse("## Active Memories\n\n" + moved).entries[0]
    assert (entry.score, entry.scored, entry.last_activated) == (0.2, date(2026, 3, 5), date(2026, 3, 5))
    assert not entry.archived


def test_a_new_score_counts_before_the_bound() -> None:
    entry = parse("## Active Memories\n\n" + MACHINE.format(score="0.90", flag="; archived")).entries[0]
    assert entry.score == 0.9


def test_an_entry_that_was_archived_for_another_reason_keeps_its_score() -> None:
    entry = parse("## Archived Memories\n\n" + MACHINE.format(score="0.60", flag="; archived")).entries[0]
    assert (entry.score, entry.scored) == (0.6, date(2026, 2, 1))


def test_a_rewrite_settles_what_a_person_changed() -> None:
    document = parse("## Archived Memories\n\n" + MACHINE.format(score="0.60", flag=""))
    settled = memory_md.parse(render(document.settled()), modified=NOW)
    assert settled.entries == document.entries
    assert not settled.unsettled
    assert settled.settled() is settled


@pytest.mark.parametrize(
    "heading", ["## active memories", "##  Active Memory ##", "## Active Memories:", "##活跃记忆", "## 当前记忆"]
)
def test_headings_of_the_active_section_may_vary(heading: str) -> None:
    document = parse(f"{heading}\n### [a1] fact | 0.50 | 2026-02-03 | 4\nText\n")
    assert [(entry.id, entry.archived) for entry in document.entries] == [("a1", False)]
    assert render(document.with_entry(ENTRY)).startswith(heading)


def test_entries_by_hand_are_read_and_given_a_lasting_id() -> None:
    text = (
        "## Active Memories\n\nA paragraph\nof two lines.\n\n- an item\n  with more\n* [ ] buy milk\n2. numbered\n\n"
        "### preference | 0.8\nLikes tea.\n\n### A free title\n\nand a text\n\n### [a1] fact | 0.50 | 2026-02-03 | 4\n"
        "Text\n<!-- tags: a --> tail\n\n- after the comment\n"
    )
    document = parse(text)
    assert [(entry.text, entry.category, entry.score) for entry in document.entries] == [
        ("A paragraph\nof two lines.", "fact", 0.6), ("an item\nwith more", "fact", 0.6), ("buy milk", "todo", 0.6),
        ("numbered", "fact", 0.6), ("Likes tea.", "preference", 0.8), ("A free title\nand a text", "fact", 0.6),
        ("Text", "fact", 0.5), ("tail", "fact", 0.6), ("after the comment", "fact", 0.6),
    ]  # fmt: skip
    assert document.entries == parse(text).entries
    settled = again(document.settled())
    assert sorted(settled.entries, key=by_id) == sorted(document.entries, key=by_id)
    assert render(document) == text


def test_a_fenced_paragraph_is_one_entry() -> None:
    text = "## Active Memories\n\n```bash\n# one\n\ntwo\n```\n\n- next\n"
    assert [entry.text for entry in parse(text).entries] == ["```bash\n# one\n\ntwo\n```", "next"]


def test_an_id_that_is_taken_is_given_anew_with_a_warning() -> None:
    block = "### [a1] fact | 0.50 | 2026-02-03 | 4\nText\n\n"
    document = parse("## Active Memories\n\n" + block * 3)
    ids = [entry.id for entry in document.entries]
    assert ids[0] == "a1"
    assert len(set(ids)) == 3
    assert document.warnings == (
        f"line 6: another entry has the id 'a1'; this one is now {ids[1]!r}",
        f"line 9: another entry has the id 'a1'; this one is now {ids[2]!r}",
    )


def test_what_cannot_be_read_stays_where_it_was() -> None:
    text = (
        "## Active Memories\n\n<!-- kept: a hint\nof two lines -->\n\n### [b1] fact | 0.50 | 2026-02-03 | 4\nFirst\n\n"
        "### [b2] fact | 0.5 | today\n\n### [b3] fact | 0.40 | 2026-02-03 | 4\nLast\n<!-- tags: a -->\n\n---\n\n-\n"
    )
    document = parse(text)
    assert [entry.id for entry in document.entries] == ["b1", "b3"]
    assert document.warnings == (
        "line 9: 'today' is no date; read as the day the file was changed",
        "line 9: no text stands under this title; it is kept as it is",
    )
    changed = render(document.with_entry(replace(ENTRY, score=0.1)).without("b3"))
    for kept in ("<!-- kept: a hint\nof two lines -->\n", "### [b2] fact | 0.5 | today\n", "\n---\n", "\n-\n"):
        assert kept in changed
    assert [entry.id for entry in parse(changed).entries] == ["b1", "n3w3n3"]


def test_a_broken_title_is_kept_in_its_place_and_reported() -> None:
    broken = "### [bad fact | x\nIts text\n<!-- tags: a -->"
    document = parse(f"## Active Memories\n\n### [b1] fact | 0.50 | 2026-02-03 | 4\nFirst\n\n{broken}\n\nloose\n")
    assert document.warnings == ("line 6: the [ of this title is never closed; the block is kept as it is",)
    assert [entry.text for entry in document.entries] == ["First", "loose"]
    changed = render(document.with_entry(ENTRY))
    assert f"\n\n{broken}\n\n### [" in changed
    assert again(document.with_entry(ENTRY)).warnings == (document.warnings[0].replace("line 6", "line 7"),)


PIECES = st.sampled_from(
    [
        "### [", "### ", "###[", "[", "]", " | ", "|", "｜", " ", "\n", "\n\n", "fact", "0.60", "2026-02-03", "high",
        ": ", "; ", "<!-- ", " -->", "\n<!-- tags: ", "\n<!-- score: 0.5; ", "- ", "(", ")", "yesterday", "```\n",
        "```",
    ]
)  # fmt: skip


@settings(max_examples=2 * settings().max_examples)
@given(st.lists(st.one_of(st.none(), PIECES), max_size=25))
@example(["### [", None, " fact | ", None])
@example(["### [a1] ", None, "|", None, "|", None, "|", None, "|", None, "\n", None])
def test_no_word_of_a_block_is_lost_on_a_rewrite(pieces: list[str | None]) -> None:
    words = [f"w{place}w" if piece is None else piece for place, piece in enumerate(pieces)]
    document = parse("## Active Memories\n\n" + "".join(words) + "\n")
    changed = render(document.with_entry(ENTRY))
    assert [word for word in words if word.startswith("w") and word not in changed] == []


def test_an_unfinished_merge_is_kept_and_reported() -> None:
    text = (
        "## Active Memories\n\n<<<<<<< HEAD\n### [b1] fact | 0.50 | 2026-02-03 | 4\nOne\n=======\nTwo\n>>>>>>> x\n\n"
        "### [b2] fact | 0.50 | 2026-02-03 | 4\nSecond\n"
    )
    document = parse(text)
    assert [entry.id for entry in document.entries] == ["b2"]
    assert [warning.split(":")[0] for warning in document.warnings] == ["line 3", "line 4"]
    changed = render(document.with_entry(replace(ENTRY, score=0.1)))
    assert text.partition("### [b2]")[0].split() == changed.partition("### [b2]")[0].split()


def test_an_example_in_a_code_fence_is_no_section() -> None:
    text = "# A\n\n```markdown\n## Active Memories\n### [a1] fact | 0.50 | 2026-02-03 | 4\nText\n```\n"
    document = parse(text)
    assert document.entries == ()
    assert document.warnings[0] == "line 4: '## Active Memories' stands in a code fence and is read as an example"
    changed = again(document.with_entry(ENTRY))
    assert changed.entries == (ENTRY,)
    assert changed.prose.startswith(text)


def test_an_entry_outside_the_sections_is_reported() -> None:
    text = "## Active Memories\n\n## Mine\n\n### [a1] fact | 0.50 | 2026-02-03 | 4\nText\n"
    assert parse(text).entries == ()
    assert parse(text).warnings == ("line 5: this entry stands outside the managed sections and is not read",)


def test_a_heading_of_the_first_level_ends_a_section_but_not_within_code() -> None:
    text = "## Active Memories\n\n### [a1] fact | 0.50 | 2026-02-03 | 4\n```\n# code\n```\n\n# Mine\nprose\n"
    document = parse(text)
    assert document.entries[0].text == "```\n# code\n```"
    assert document.prose == "# Mine\nprose\n"


def test_a_fresh_book_has_headings_to_fill() -> None:
    text = memory_md.template()
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "# Agent Memory", "## Preferences", "## Project Facts", "## Decisions", "## TODO",
    ]  # fmt: skip
    assert "## 偏好\n" in memory_md.template("书", language="zh")
    changed = render(parse(text).with_entry(ENTRY))
    assert "<!-- Last updated: 2026-03-06T08:30:05Z -->\n<!-- Total entries: 1 -->\n" in changed
    assert changed.partition("## Preferences")[2].startswith(
        text.partition("## Preferences")[2] + "\n## Active Memories"
    )


def test_items_are_added_at_the_end_of_their_section() -> None:
    document = parse(memory_md.template()).with_item("preferences", "Tea").with_item("## Preferences", "Short\nanswers")
    text = render(document.with_item("TODO", "Last"))
    assert "## Preferences\n\n- Tea\n- Short\n  answers\n\n## Project Facts\n" in text
    assert text.endswith("## TODO\n\n- Last\n")
    assert "Total entries: 0" in text
    assert document.item_line("Preferences", "Tea") == 8
    assert document.item_line("Preferences", "Short\nanswers") == 9
    assert document.item_line("Preferences", "Short") is None
    assert document.item_line("Nowhere", "Tea") is None


def test_items_come_before_a_subsection_and_after_prose() -> None:
    text = render(parse("```\n## A\n```\n## A\nprose\n### B\n").with_item("A", "x"))
    assert text == "```\n## A\n```\n## A\nprose\n- x\n### B\n"


def test_a_missing_section_is_made_before_the_managed_ones() -> None:
    text = render(parse(EXAMPLE).with_item("Rules", "x"))
    assert text == EXAMPLE.replace("## Active", "## Rules\n\n- x\n\n## Active")
    assert render(parse("## Active Memories\n").with_item("R", "x")) == "## R\n\n- x\n\n## Active Memories\n"
    assert render(parse("").with_item("R", "x")) == "## R\n\n- x\n"
    assert render(parse("prose").with_item("R", "x")) == "prose\n\n## R\n\n- x\n"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["# A\n\n## B\n\n- y\n\n## C\n", "## B", "## B\n- y", "## B\n\n\n## C\n", "\ufeff## B\n- y\n"]
)
def test_an_item_taken_out_leaves_what_was_there(text: str, newline: str) -> None:
    document = parse(text.replace("\n", newline))
    with_item = again(document.with_item("B", "one\ntwo"))
    assert with_item.item_line("B", "one\ntwo") is not None
    without = render(with_item.without_item("B", "one\ntwo"))
    assert without.split() == text.split()
    assert document.without_item("B", "one") is document


@pytest.mark.parametrize("section", ["Active Memories", "## archived memories", "归档记忆", "", " # ", "a\nb"])
def test_items_are_refused_where_entries_stand(section: str) -> None:
    with pytest.raises(InvalidInput, match="section"):
        parse(EXAMPLE).with_item(section, "x")


def test_an_archive_holds_archived_entries_under_its_title() -> None:
    text = memory_md.render_archive("archive/2026-02.md", (ENTRY, replace(ENTRY, id="b", score=0.7)), now=NOW)
    assert text.startswith("# Archive 2026-02\n\n### [b]")
    document = parse(text)
    assert document.entries == (replace(ENTRY, id="b", score=0.7, archived=True), replace(ENTRY, archived=True))
    assert render(document) == text
    assert document.prose == ""
    assert memory_md.archive_path(date(2026, 2, 3)) == "archive/2026-02.md"


def test_an_archives_title_below_other_text_is_a_persons() -> None:
    assert parse("# Agent Memory\n\n# Archive 2026-02\n\n- mine\n").entries == ()


def test_an_archive_under_another_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="YYYY-MM"):
        memory_md.archive_template("archive/old.md")
