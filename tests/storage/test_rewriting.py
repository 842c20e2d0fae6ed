"""Turns get other texts in their places: found anew, told anew, and nothing else changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from memorybook.model import Session, Turn
from memorybook.storage.transcripts import SqliteTranscripts

TALK = Session(uuid="s1", title="Tea", summary="They like tea.")


@pytest.fixture
def transcripts(tmp_path: Path) -> Iterator[SqliteTranscripts]:
    opened = SqliteTranscripts(str(tmp_path / "transcripts.sqlite"))
    yield opened
    opened.close()


def stored(transcripts: SqliteTranscripts) -> tuple[Turn, ...]:
    said = (("t1", "user", "I like tea. My cat is Tom."), ("t2", "assistant", "Noted."), ("t3", "user", "Bye."))
    return transcripts.append(TALK, [Turn(id=id, session="s1", role=role, text=text) for id, role, text in said])  # type: ignore[arg-type]


def test_a_turn_is_rewritten_in_its_place_and_back(transcripts: SqliteTranscripts) -> None:
    old = stored(transcripts)
    transcripts.set_chat_summary("s1", "t1", "They like tea.")
    revision = transcripts.revision()
    now = replace(TALK, title="", summary="")
    new = [replace(old[0], text="My cat is Tom.")]
    assert transcripts.rewrite(TALK, old[:1], now, new) == 1
    assert [turn.text for turn in transcripts.turns("s1")] == ["My cat is Tom.", "Noted.", "Bye."]
    assert (transcripts.session("s1").title, transcripts.session("s1").summary) == ("", "")
    assert transcripts.chat_summaries("s1") == {}
    assert [turn.id for _, turn in transcripts.changes(revision).turns] == ["t1"]
    assert transcripts.rewrite(now, new, TALK, old[:1]) == 1
    assert tuple(transcripts.turns("s1")) == old
    assert transcripts.session("s1").title == "Tea"


def test_what_is_not_as_it_was_is_left_alone(transcripts: SqliteTranscripts) -> None:
    old = stored(transcripts)
    other = replace(old[0], text="Something else.")
    assert transcripts.rewrite(TALK, [other], TALK, [replace(other, text="x")]) == 0
    assert tuple(transcripts.turns("s1")) == old


def test_a_reply_is_rewritten_within_its_chat(transcripts: SqliteTranscripts) -> None:
    old = stored(transcripts)
    transcripts.rewrite(TALK, old[1:2], TALK, [replace(old[1], text="OK.")])
    assert [turn.text for turn in transcripts.turns("s1")] == [old[0].text, "OK.", "Bye."]
