from __future__ import annotations

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from formats.strategies import TEXTS
from memorybook.formats.session_md import parse_line, render_line
from memorybook.model import Note

TIME = datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC)
LINE = "- 2026-02-24T10:12:33Z [pref] The user wants short answers. #prefs"
NOTES = st.builds(
    Note,
    time=st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(
        lambda time: time.replace(microsecond=0)
    ),
    text=TEXTS.map(lambda text: " ".join(text.splitlines()).strip()),
    kind=st.none() | TEXTS,
    tags=st.lists(TEXTS, max_size=3).map(tuple),
)


def test_a_note_is_one_line() -> None:
    note = Note(time=TIME, text="The user wants short answers.", kind="pref", tags=("prefs",))
    assert render_line(note) == LINE
    assert parse_line(LINE + "\n") == note


@given(NOTES)
def test_every_note_comes_back_from_its_bytes(note: Note) -> None:
    line = render_line(note)
    assert line.splitlines() == [line]
    assert parse_line(line.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")) == note


@pytest.mark.parametrize(
    "text", ["[x] is a mark", "ends in #tag", "#tag", "#a #b", "[x]", "issue #3 and C#", "a # b", "10:12"]
)
def test_text_that_looks_like_a_kind_or_a_tag_comes_back(text: str) -> None:
    for kind, tags in ((None, ()), ("k", ("t", "u"))):
        note = Note(time=TIME, text=text, kind=kind, tags=tags)
        assert parse_line(render_line(note)) == note


def test_a_time_elsewhere_is_written_as_utc_in_seconds() -> None:
    note = Note(time=datetime.fromisoformat("2026-02-24T18:12:33.9+08:00"), text="喝茶")
    assert render_line(note) == "- 2026-02-24T10:12:33Z 喝茶"


@pytest.mark.parametrize(
    ("line", "time", "text"),
    [
        ("* 2026-02-24 9:05 喝茶", datetime(2026, 2, 24, 9, 5, tzinfo=UTC), "喝茶"),
        ("2026-02-24 tea", datetime(2026, 2, 24, tzinfo=UTC), "tea"),
        ("- 2026-02-24T18:12:33.25+08:00 tea", TIME, "tea"),
        ("  -  2026-02-24T18:12:33 +0800  tea", TIME, "tea"),
        ("- 2026-02-24T10:12:33Z", TIME, ""),
    ],
)
def test_lines_by_hand_are_read_as_meant(line: str, time: datetime, text: str) -> None:
    note = parse_line(line)
    assert note == Note(time=time, text=text)


@pytest.mark.parametrize(
    ("line", "time"),
    [("- tea", datetime(2026, 2, 24, tzinfo=UTC)), ("9:05:01 tea", datetime(2026, 2, 24, 9, 5, 1, tzinfo=UTC))],
)
def test_the_day_of_the_file_stands_in_for_a_missing_one(line: str, time: datetime) -> None:
    assert parse_line(line, day=date(2026, 2, 24)) == Note(time=time, text="tea")
    assert parse_line(line) is None


@pytest.mark.parametrize(
    "line", ["", "# 2026-02-24", "prose", "- 2026-02-30 x", "- 2026-02-24T25:00 x", "0001-01-01T00:00+14:00 x"]
)
def test_other_lines_are_no_notes(line: str) -> None:
    assert parse_line(line) is None


@given(TEXTS)
def test_no_line_raises(line: str) -> None:
    parse_line(line, day=date(2026, 2, 24))
