"""Transcripts in SQLite: the contract, and what only a file and several processes can show."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import apsw
import pytest

from books import summary_vectors
from conformance.transcripts import START, TranscriptsConformance, ids, session, turn
from memorybook.errors import InvalidInput, NotFound, Unavailable
from memorybook.model import Session, Turn
from memorybook.storage.transcript_rows import MIGRATIONS, MOST_REPLIES
from memorybook.storage.transcripts import SqliteTranscripts

HISTORY = ("946ea50131141f405401f1259442e56c", "ad292cb0c1d75e0b25c259ea3b89d4f9", "b22dad29a3a4a69aff4072f943a72f1e")

WRITER = """
import sys
from memorybook.model import Session, Turn
from memorybook.storage.transcripts import SqliteTranscripts

path, name = sys.argv[1:]
transcripts = SqliteTranscripts(path)
for n in range(100_000):
    turn = Turn(id=f"{name}-{n}", session="shared", role="user" if n % 3 == 0 else "tool", text="x" * 300)
    transcripts.append(Session(uuid="shared"), [turn])
    print(turn.id, flush=True)
"""


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "state" / "transcripts.sqlite")


@pytest.fixture
def transcripts(path: str) -> Iterator[SqliteTranscripts]:
    store = SqliteTranscripts(path)
    yield store
    store.close()


def rows(path: str, sql: str) -> list[tuple[object, ...]]:
    """What somebody else reads in the file."""
    connection = apsw.Connection(path)
    try:
        return connection.execute(sql).fetchall()
    finally:
        connection.close()


class TestSqliteTranscripts(TranscriptsConformance):
    pass


def test_reading_never_creates_the_file(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.revision()
    transcripts.sessions()
    transcripts.remove("s1")
    transcripts.chat_summaries("s1")
    with pytest.raises(NotFound):
        transcripts.told("s1")
    assert not os.path.exists(os.path.dirname(path))


def test_using_it_after_closing_is_refused(transcripts: SqliteTranscripts) -> None:
    transcripts.append(session(), [turn("a")])
    transcripts.close()
    with pytest.raises(Unavailable, match="closed"):
        transcripts.revision()


def test_a_chat_is_a_users_turn_with_its_replies(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(
        session(), [turn("a", minute=0, text="喜欢"), turn("b", "assistant", minute=1), turn("c", "tool", minute=2)]
    )
    transcripts.append(session(), [turn("d", minute=3)])
    chats = rows(
        path, "SELECT turn_id, role, user_input, ai_replies, position, created, updated FROM chats ORDER BY id"
    )
    assert [chat[:3] for chat in chats] == [("a", "user", "喜欢"), ("d", "user", "text of d")]
    assert [chat[4] for chat in chats] == [0, 3]
    assert chats[0][5:] == ("2026-02-24T10:00:00.000000Z", "2026-02-24T10:02:00.000000Z")
    replies = json.loads(str(chats[0][3]))
    assert [(reply["id"], reply["role"], reply["content"]) for reply in replies] == [
        ("b", "assistant", "text of b"),
        ("c", "tool", "text of c"),
    ]
    assert set(replies[0]) == {"id", "role", "speaker", "content", "tool_calls", "created", "metadata", "position"}


def test_sql_can_look_into_the_replies(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a"), turn("b", "assistant")])
    transcripts.append(session(), [turn("c", "tool")])
    query = "SELECT value ->> 'id' FROM chats, json_each(ai_replies) ORDER BY 1"
    assert rows(path, query) == [("b",), ("c",)]


@pytest.mark.parametrize(
    ("replies", "text", "chats"), [(MOST_REPLIES, "x", 1), (MOST_REPLIES + 1, "x", 2), (4, "x" * 100_000, 2)]
)
def test_a_full_chat_goes_on_in_another(
    transcripts: SqliteTranscripts, path: str, replies: int, text: str, chats: int
) -> None:
    said = [turn("a"), *(turn(f"r{n}", "tool", text=text) for n in range(replies))]
    for one in said:
        transcripts.append(session(), [one])
    whole = SqliteTranscripts(path + "2")
    whole.append(session(), said)
    assert rows(path, "SELECT count(*) FROM chats") == rows(path + "2", "SELECT count(*) FROM chats") == [(chats,)]
    assert transcripts.turns("s1") == whole.turns("s1")
    whole.close()


def test_turn_ids_stand_in_their_column_at_once(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [])
    assert rows(path, "SELECT turn_ids FROM sessions") == [("[]",)]
    transcripts.append(session(), [turn("a")])
    transcripts.append(session(), [turn("b", "assistant"), turn("a")])
    assert rows(path, "SELECT turn_ids FROM sessions") == [('["a","b"]',)]
    transcripts.update(Session(uuid="s1", ended=START))
    assert rows(path, "SELECT turn_ids FROM sessions") == [('["a","b"]',)]
    transcripts.remove("s1", ["a"])
    assert rows(path, "SELECT turn_ids FROM sessions") == [('["b"]',)]
    transcripts.append(session(), [turn("c"), turn('"茶,', "assistant")])
    assert rows(path, "SELECT turn_ids FROM sessions") == [('["b","c","\\"茶,"]',)]
    transcripts.append(session(), [turn("\ud800"), turn("d")])
    transcripts.append(session(), [turn("e")])
    assert len(transcripts.session("s1").turn_ids) == 6
    assert rows(path, "SELECT json_array_length(CAST(turn_ids AS TEXT)) FROM sessions") == [(6,)]


def test_turn_ids_of_an_older_book_are_there_once_the_session_grows(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a")])
    rows(path, "UPDATE sessions SET turn_ids=NULL")
    transcripts.append(session(), [turn("b")])
    assert rows(path, "SELECT turn_ids FROM sessions") == [('["a","b"]',)]


def test_every_time_in_the_tables_has_its_zone(transcripts: SqliteTranscripts, path: str) -> None:
    east = datetime(2026, 2, 24, 17, 0, 5, tzinfo=timezone(timedelta(hours=8)))
    transcripts.append(session(), [replace(turn("a"), time=east), replace(turn("b", "assistant"), time=east)])
    transcripts.update(Session(uuid="s1", ended=east))
    told = "2026-02-24T09:00:05.000000Z"
    assert rows(path, "SELECT created, updated, ended FROM sessions")[0][1:] == (told, told)
    assert rows(path, "SELECT created, json_extract(ai_replies, '$[0].created') FROM chats") == [(told, told)]


def test_forgotten_text_is_gone_from_the_disk(transcripts: SqliteTranscripts, path: str) -> None:
    secret = "xyzzy-" + "q" * 50
    transcripts.append(session(), [turn("a", text=secret), turn("b", "assistant", text=secret), turn("c")])
    transcripts.append(session("s2"), [turn("a", of="s2", text=secret)])
    transcripts.set_chat_summary("s1", "a", secret)
    assert any(secret.encode() in file.read_bytes() for file in Path(path).parent.iterdir())
    transcripts.remove("s1", ["a", "b"])
    transcripts.remove("s2")
    assert not any(secret.encode() in file.read_bytes() for file in Path(path).parent.iterdir())
    assert transcripts.vacuum()


@pytest.mark.timeout(20)
def test_a_removal_does_not_wait_for_a_reader(transcripts: SqliteTranscripts) -> None:
    transcripts.append(session(), [turn("a"), turn("b")])
    reader = iter(transcripts.changes(0).turns)
    next(reader)
    assert transcripts.remove("s1", ["a"]) == 1
    assert len(list(reader)) == 1


def test_a_file_that_was_taken_away_is_made_anew(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a")])
    for name in os.listdir(os.path.dirname(path)):
        os.unlink(os.path.join(os.path.dirname(path), name))
    assert transcripts.revision() == 0
    transcripts.append(session(), [turn("b")])
    other = SqliteTranscripts(path)
    assert ids(other.turns("s1")) == ["b"]
    other.close()


def test_the_vector_of_a_summary_is_stored(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a"), turn("b", "assistant")])
    assert summary_vectors(path) == [None]
    transcripts.set_summary_embedding("s1", "static/x", b"\x00\x01\x02\x03" * 3, 3)
    assert summary_vectors(path) == [("static/x", 3, b"\x00\x01\x02\x03" * 3)]
    assert summary_vectors(path, "chats") == [None]
    transcripts.set_summary_embedding("s1", "static/y", b"\x00" * 4, 1, turn_id="b")
    assert summary_vectors(path, "chats") == [("static/y", 1, b"\x00" * 4)]


@pytest.mark.parametrize(("vector", "dimensions"), [(b"\x00" * 4, 2), (b"", 0), (b"\x00" * 5, 1)])
def test_a_vector_of_the_wrong_length_is_refused(
    transcripts: SqliteTranscripts, vector: bytes, dimensions: int
) -> None:
    transcripts.append(session(), [])
    with pytest.raises(InvalidInput, match=str(dimensions)):
        transcripts.set_summary_embedding("s1", "m", vector, dimensions)


def test_a_new_summary_drops_the_vector_of_the_old_one(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a")])
    transcripts.set_summary_embedding("s1", "m", b"\x00" * 4, 1)
    transcripts.update(session(title="new title"))
    assert summary_vectors(path) != [None]
    transcripts.update(session(title="new title", summary="new"))
    assert summary_vectors(path) == [None]


def test_a_chat_can_have_a_summary(transcripts: SqliteTranscripts, path: str) -> None:
    transcripts.append(session(), [turn("a"), turn("b", "assistant"), turn("c"), turn("d")])
    transcripts.set_summary_embedding("s1", "m", b"\x00" * 4, 1, turn_id="a")
    transcripts.set_chat_summary("s1", "b", "about a")
    transcripts.set_chat_summary("s1", "c", "关于 c")
    assert transcripts.chat_summaries("s1") == {"a": "about a", "c": "关于 c"}
    assert not any(summary_vectors(path, "chats"))
    transcripts.remove("s1", ["b"])
    assert transcripts.chat_summaries("s1") == {"c": "关于 c"}


def test_a_summary_of_nothing_is_not_found(transcripts: SqliteTranscripts) -> None:
    with pytest.raises(NotFound, match="s1"):
        transcripts.set_chat_summary("s1", "a", "x")
    transcripts.append(session(), [])
    with pytest.raises(NotFound, match="'a'"):
        transcripts.set_chat_summary("s1", "a", "x")
    with pytest.raises(NotFound, match="s2"):
        transcripts.set_summary_embedding("s2", "m", b"\x00" * 4, 1)


def test_threads_may_share_it(transcripts: SqliteTranscripts) -> None:
    def write(name: str) -> None:
        for n in range(20):
            transcripts.append(session(), [turn(f"{name}{n}")])
            transcripts.turns("s1")

    threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(ids(transcripts.turns("s1"))) == sorted(f"{name}{n}" for name in "abcd" for n in range(20))
    assert [one.position for one in transcripts.turns("s1")] == list(range(80))


def test_processes_that_are_killed_lose_nothing_they_acknowledged(transcripts: SqliteTranscripts, path: str) -> None:
    acknowledged: list[str] = []
    for attempt in range(2):
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", WRITER, path, f"{attempt}{name}"], stdout=subprocess.PIPE, text=True
            )
            for name in "ab"
        ]
        for writer in writers:
            assert writer.stdout is not None
            acknowledged += [writer.stdout.readline().strip() for _ in range(15)]
        for writer in writers:
            writer.send_signal(signal.SIGKILL)
            assert writer.stdout is not None
            acknowledged += writer.stdout.read().split()
            writer.wait()
            writer.stdout.close()
    stored = ids(transcripts.turns("shared"))
    assert set(acknowledged) <= set(stored)
    assert len(set(stored)) == len(stored) == transcripts.counts()["turns"]
    assert [one.position for one in transcripts.turns("shared")] == list(range(len(stored)))
    assert sorted(stored) == sorted(ids(one for _, one in transcripts.changes(0).turns))
    assert rows(path, "PRAGMA integrity_check") == [("ok",)]


def test_no_migration_that_was_ever_released_changes() -> None:
    assert [hashlib.sha256(sql.encode()).hexdigest()[:32] for sql in MIGRATIONS] == list(HISTORY)


TALK = Session(uuid="s1", title="Tea", summary="They like tea.")


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
