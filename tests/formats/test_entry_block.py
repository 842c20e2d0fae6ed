from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from formats.strategies import ENTRIES, TEXTS
from memorybook.errors import InvalidInput
from memorybook.formats.entry_block import UNSAFE, escape, fenced_blocks, has_open_fence, read_entry, unescape
from memorybook.formats.memory_md import new_id, parse_entry, render_entry
from memorybook.model import Category, Entry
from tables import table

EDITED = datetime(2026, 3, 5, 12, tzinfo=UTC)
ENTRY = Entry(
    id="a1b2c3", text="The user likes terse code.", category="preference", score=0.918734, scored=date(2026, 2, 20),
    last_activated=date(2026, 2, 20), hits=12, created=datetime(2026, 1, 3, 9, 12, tzinfo=UTC), session="5f2c",
    tags=("style", "python"), group="work/api", trust="user", pinned=True,
)  # fmt: skip
BLOCK = (
    "### [a1b2c3] preference | 0.92 | 2026-02-20 | 12\n"
    "The user likes terse code.\n"
    "<!-- score: 0.918734; scored: 2026-02-20; created: 2026-01-03T09:12:00Z; session: 5f2c; tags: style, python; "
    "group: work/api; trust: user; pinned -->"
)


def read(block: str) -> Entry:
    return parse_entry(block, modified=EDITED)


def test_an_entry_is_a_title_its_text_and_a_comment() -> None:
    assert render_entry(ENTRY) == BLOCK


@settings(max_examples=2 * settings().max_examples)
@given(ENTRIES)
def test_every_entry_comes_back_from_its_bytes(entry: Entry) -> None:
    written = render_entry(entry).encode("utf-8", "surrogateescape")
    assert read(written.decode("utf-8", "surrogateescape")) == entry


def test_windows_line_ends_are_read_as_line_ends() -> None:
    assert read(render_entry(replace(ENTRY, text="one\ntwo")).replace("\n", "\r\n")).text == "one\ntwo"


def test_code_in_closed_fences_stays_readable() -> None:
    text = "Build:\n```bash\n# install\nmake\n```"
    assert f"\n{text}\n" in render_entry(replace(ENTRY, text=text))


def test_in_a_document_with_an_open_fence_fences_are_escaped() -> None:
    block = render_entry(replace(ENTRY, text="```\nx\n```"), fences=False)
    assert "```" not in block
    assert read(block).text == "```\nx\n```"


def test_a_title_with_another_score_is_a_new_score_of_that_day() -> None:
    entry = read(BLOCK.replace("0.92", "0.40"))
    assert (entry.score, entry.scored) == (0.4, date(2026, 3, 5))


def test_a_title_that_agrees_to_two_decimals_keeps_the_exact_score() -> None:
    assert read(BLOCK.replace("| 0.92 |", "|0.920|")) == ENTRY


def test_without_a_comment_the_score_is_that_of_the_last_activation() -> None:
    entry = read("### [a1b2] fact | 0.35 | 2026-02-20 | 3\nText")
    assert (entry.score, entry.scored, entry.last_activated, entry.hits) == (
        0.35, date(2026, 2, 20), date(2026, 2, 20), 3,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("### [a1b2] preference | high | yesterday", ("preference", 0.8, date(2026, 3, 5), 1)),
        ("### [a1b2] skill | 0.7 | 2026/2/3 | 4", ("experience", 0.7, date(2026, 2, 3), 4)),
        ("###\t[a1b2]\tpattern\t|\t70%\t|\t2026-02-03\t|\t4", ("workflow", 0.7, date(2026, 2, 3), 4)),
        ("### [a1b2] 偏好 ｜ 高 ｜ 2026年2月3日", ("preference", 0.8, date(2026, 2, 3), 1)),
        ("###[a1b2] TODO | 1 | 2026-02-30 | many", ("todo", 1.0, date(2026, 3, 5), 1)),
        ("### [a1b2] gossip | 0.5 | 2026-02-03 | 4", ("context", 0.5, date(2026, 2, 3), 4)),
        ("### [a1b2] fact | 1.50 | 2026-02-03 | 4", ("fact", 0.6, date(2026, 2, 3), 4)),
        ("### [a1b2] fact | 0.5 | 2026-13-03 | " + "9" * 5000, ("fact", 0.5, date(2026, 3, 5), 1)),
        ("### [a1b2] fact", ("fact", 0.6, date(2026, 3, 5), 1)),
        ("### [a1b2]", ("fact", 0.6, date(2026, 3, 5), 1)),
    ],
)
def test_titles_by_hand_are_read_as_meant(title: str, expected: tuple[Category, float, date, int]) -> None:
    entry = read(f"{title}\nText")
    assert entry.text == "Text"
    assert (entry.category, entry.score, entry.last_activated, entry.hits) == expected


def test_an_unknown_category_and_further_cells_are_kept() -> None:
    entry = read("### [a1b2] gossip | 0.5 | 2026-02-03 | 4 | more | still\nText")
    assert entry.unknown == (("category", "gossip"), ("title", "more | still"))
    assert read(render_entry(entry)) == entry


def test_cells_of_a_title_that_cannot_be_read_are_kept() -> None:
    entry = read("### [a1b2] fact | 1.5 | yesterday | often | more\nText")
    assert entry.unknown == (("title", "1.5 | yesterday | often | more"),)
    assert read("### [a1b2] | 0.8\nText").category == "fact"


@pytest.mark.parametrize(
    ("title", "flaw"),
    table("""
        ### [bad fact | x → never closed ¦ ### [bad fact → never closed
        ### [bad fact | 0.60 | 2026-02-03 | 4 → never closed ¦ ### [two words] fact | 0.60 | 2026-02-03 | 4 → no id
        ### [] fact | 0.60 → no id ¦ ### [[a1b2]] fact | 0.60 → no id ¦ ### [a|b] fact | 0.60 → no id
        ### a1b2c3] fact | 0.60 | 2026-02-03 | 4 → place of its category ¦ ### a1b2c3] fact | x → place of its category
        ### [a1b2]] fact | 0.60 → place of its category ¦ ### [a1b2] [fact | 0.60 → place of its category
        ### fact [a1b2 | 0.60 → place of its category
    """),
)
def test_a_title_whose_brackets_are_wrong_is_broken(title: str, flaw: str) -> None:
    reading = read_entry(f"{title}\nText\n<!-- tags: a -->\n\nmore", day=EDITED.date(), archived=False)
    assert reading.entry is None
    assert reading.settled
    assert reading.length == len(f"{title}\nText\n<!-- tags: a -->")
    assert flaw in "".join(reading.warnings)


@pytest.mark.parametrize(
    "title",
    ["### [The docs](https://x.test) say so", "### [docs](https://x.test)", "### Use [0] | or else", "### a] b"],
)
def test_brackets_in_a_free_title_are_text(title: str) -> None:
    reading = read_entry(f"{title}\nText", day=EDITED.date(), archived=False)
    assert reading.entry is not None
    assert reading.entry.text == f"{title[4:]}\nText"


def test_comment_fields_may_be_loose_and_unknown_ones_stay_in_order() -> None:
    entry = read(
        "### [a1b2] fact | 0.50 | 2026-02-03 | 4\nText\n"
        "<!-- colour: red ;tags:a,,b;  pinned: yes; expires: soon; starred; session:; tags: c; created: 2026-01-01; : x"
        " -->"
    )
    assert (entry.tags, entry.pinned, entry.expires, entry.session) == (("a", "b"), True, None, None)
    assert entry.unknown == (("colour", "red"), ("expires", "soon"), ("starred", ""), ("tags", "c"), ("", "x"))
    assert entry.created == datetime(2026, 1, 1, tzinfo=UTC)
    assert read(render_entry(entry)) == entry


def test_a_comment_without_a_score_takes_the_titles() -> None:
    entry = read("### [a1b2] fact | 0.50 | 2026-02-03 | 4\nText\n<!-- tags: a -->")
    assert (entry.score, entry.scored, entry.tags) == (0.5, date(2026, 2, 3), ("a",))


@pytest.mark.parametrize(
    "field", ["score: 7", "score: x", "trust: king", "pinned: maybe", "metadata: [1]", "metadata: {"]
)
def test_a_field_that_cannot_be_read_is_kept(field: str) -> None:
    entry = read(f"### [a1b2] fact | 0.50 | 2026-02-03 | 4\nText\n<!-- tags: a; {field} -->")
    assert entry.unknown == (tuple(field.split(": ")),)
    assert read(render_entry(entry)) == entry


def test_a_comment_broken_over_lines_is_read() -> None:
    assert read(BLOCK.replace("; tags", ";\n     tags")) == ENTRY


@pytest.mark.parametrize(
    "block",
    [
        "", "text", "### [a1b2] fact | 0.5 | 2026-02-03 | 4", "### fact | 0.5\ntext",
        "### [a1b2] fact\n\n<!-- tags: a -->", "### [a]\n\u3000",
    ],
)  # fmt: skip
def test_what_is_no_entry_is_refused(block: str) -> None:
    with pytest.raises(InvalidInput, match="not an entry"):
        read(block)


def test_metadata_that_is_no_json_is_refused_by_the_entrys_name() -> None:
    with pytest.raises(InvalidInput, match="a1b2c3"):
        render_entry(replace(ENTRY, metadata={"a": {1, 2}}))


def test_new_ids_are_six_characters_and_not_taken() -> None:
    ids = {new_id(()) for _ in range(200)}
    assert len(ids) == 200
    assert all(len(id) == 6 and id.isascii() and id.isalnum() and id == id.lower() for id in ids)


def test_a_taken_id_is_not_given_again() -> None:
    class FirstTaken(set[str]):
        asked: tuple[str, ...] = ()

        def __contains__(self, id: object) -> bool:
            self.asked = (*self.asked, str(id))
            return len(self.asked) == 1

    taken = FirstTaken()
    assert new_id(taken) == taken.asked[1]


@given(TEXTS, st.sampled_from([UNSAFE, rf"[;,]|{UNSAFE}", rf"(?m)^#|{UNSAFE}"]))
def test_what_is_escaped_comes_back(text: str, pattern: str) -> None:
    assert unescape(escape(pattern, text)) == text


def test_what_names_no_character_stays() -> None:
    assert unescape("&#xFFFFFF; &amp; &#35;") == "&#xFFFFFF; &amp; &#35;"


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("```\nx\n```", [(0, 9)]), ("```py\nx\n````  \ny", [(0, 14)]), ("~~~\n```\n~~~", [(0, 11)]),
        ("````\n```\n````", [(0, 13)]), ("```\nx", [(0, 0)]), ("```a```\nx", []), ("a ```\nx\n```", [(8, 0)]),
    ],
)  # fmt: skip
def test_fences_close_as_in_markdown(text: str, spans: list[tuple[int, int]]) -> None:
    assert list(fenced_blocks(text)) == spans


def test_an_open_fence_is_found_after_a_closed_one() -> None:
    assert has_open_fence("```\nx\n```\n~~~\n")
    assert not has_open_fence("```\nx\n```\n")
