from __future__ import annotations

from datetime import UTC, datetime

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from formats.strategies import TEXTS, WORDS
from memorybook.formats.session_md import parse, render, summary_path
from memorybook.model import Session, SessionSummary

UUID = "5f2c0a3e-1111-4222-8333-00000012abCD"
SUMMARY = SessionSummary(
    session=UUID, name="planning", title="Where the index lives", summary="They talked.\n\nIt was long.",
    started=datetime(2026, 2, 24, 10, 12, 33, tzinfo=UTC), ended=datetime(2026, 2, 24, 11, 2, tzinfo=UTC), turns=20,
    decisions=("The index is derived.", "SQLite it is."), open_questions=("Who rebuilds it?",),
    turn_ids=(*[f"D1:{number}" for number in range(1, 19)], "x7", "x9"),
)  # fmt: skip
PAGE = f"""\
---
session: {UUID}
name: planning
started: "2026-02-24T10:12:33Z"
ended: "2026-02-24T11:02:00Z"
turns: 20
title: Where the index lives
---

# Where the index lives

They talked.

It was long.

## Decisions

- The index is derived.
- SQLite it is.

## Open questions

- Who rebuilds it?

## Turns

D1:1..18, x7, x9
""".replace('"', "")

MOMENTS = st.none() | st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC))
TURN_IDS = st.lists(
    st.one_of(TEXTS, st.builds("{}{}".format, st.sampled_from(["", "D1:", "a0", "x."]), st.integers(0, 12))), max_size=9
)
SUMMARIES = st.builds(
    SessionSummary,
    session=TEXTS, title=TEXTS, summary=TEXTS, name=TEXTS, started=MOMENTS, ended=MOMENTS, turns=st.integers(0, 10**6),
    decisions=WORDS, open_questions=WORDS, turn_ids=TURN_IDS.map(tuple),
)  # fmt: skip


def test_a_summary_is_front_matter_and_a_page() -> None:
    assert render(SUMMARY) == PAGE
    assert parse(PAGE) == SUMMARY


@given(SUMMARIES, st.sampled_from(["en", "zh"]))
@example(
    SessionSummary(session="", title="", summary="", turn_ids=("a01", "a02", "a03", "a8", "a9", "a10", "a11..12")), "en"
)
def test_every_summary_comes_back_from_its_bytes(summary: SessionSummary, language: str) -> None:
    written = render(summary, language=language).encode("utf-8", "surrogateescape")
    assert parse(written.decode("utf-8", "surrogateescape")) == summary


@given(TEXTS)
def test_no_text_raises(text: str) -> None:
    parse(text)
    parse(f"---\nturns: {text}\nstarted: {text}\n---\n## Decisions\n{text}\n## Turns\n{text}")


@pytest.mark.parametrize(
    "title", ["plain", 'a: "b"', "- x", "yes", "2026", "#1", "用户：是", "it's", "{a}", "null", "a\\n", "'q'"]
)
def test_front_matter_is_yaml(title: str) -> None:
    front = render(SessionSummary(session=UUID, title=title, summary="", turns=3)).split("---\n")[1]
    assert yaml.safe_load(front) == {"session": UUID, "title": title, "turns": 3}


def test_a_page_by_hand_is_read_as_meant() -> None:
    page = (
        "\ufeff---\nsession: 'it''s'\nturns: many\nstarted: 2026-02-24\nended: soon\nnoise\n---\n# Title #\n"
        "Text\n\n## More\nof it\n## open questions\n* One\n  and on\n\n2) Two\n-\nloose\n## TURNS\na1..3 b9..2\n"
    ).replace("\n", "\r\n")
    assert parse(page) == SessionSummary(
        session="it's", title="Title", summary="Text\n\n## More\nof it", started=datetime(2026, 2, 24, tzinfo=UTC),
        open_questions=("One\nand on", "Two", "loose"), turn_ids=("a1", "a2", "a3", "b9..2"),
    )  # fmt: skip


def test_a_page_without_front_matter_has_a_title_and_a_summary() -> None:
    assert parse("# A\n\n# B\ntext\n") == SessionSummary(session="", title="A", summary="# B\ntext")
    assert parse('---\ntitle: "\\x"\n---\n').title == '"\\x"'


@pytest.mark.parametrize(
    ("session", "path"),
    [
        (Session(uuid=UUID, name="S1", created=datetime(2026, 2, 24, 23, tzinfo=UTC)),
         "sessions/2026-02-24-s1-12abcd.md"),
        (Session(uuid=UUID, name="Ann 2026-02-24", created=datetime(2026, 2, 24, 23, tzinfo=UTC)),
         "sessions/2026-02-24-ann-12abcd.md"),
        (Session(uuid=UUID), "sessions/undated-12abcd.md"),
        (Session(uuid=UUID, name="../Ünï code/周会: A*B?\x00"), "sessions/undated-ünï-code-周会-a-b-12abcd.md"),
        (Session(uuid=UUID, name="．．/"), "sessions/undated-12abcd.md"),
        (Session(uuid=UUID, name="长" * 300), f"sessions/undated-{'长' * 40}-12abcd.md"),
    ],
)  # fmt: skip
def test_a_summary_has_a_safe_path(session: Session, path: str) -> None:
    assert summary_path(session) == path


def test_sessions_with_other_ids_have_paths_of_their_own() -> None:
    paths = {summary_path(Session(uuid=f"session-{number}\ud800", name="x")) for number in range(50)}
    assert len(paths) == 50


@pytest.mark.parametrize(
    ("summary", "heading"),
    [
        (SUMMARY, "## Decisions\n"),
        (SessionSummary(session="s", title="索引放在哪里", summary="用 SQLite。", decisions=("使用 SQLite",)),
         "## 决定\n"),
        (SessionSummary(session="s", title="", summary="", decisions=("周五部署到生产环境",)), "## 决定\n"),
        (SessionSummary(session="s", title="", summary="", decisions=("See 北京 office plans on Friday",)),
         "## Decisions\n"),
        (SessionSummary(session="s", title="", summary="", turn_ids=("D1:1",)), "## Turns\n"),
    ],
)  # fmt: skip
def test_headings_are_in_the_language_of_what_is_said(summary: SessionSummary, heading: str) -> None:
    page = render(summary, language="auto")
    assert heading in page
    assert render(summary) == page
    assert parse(page).decisions == summary.decisions
