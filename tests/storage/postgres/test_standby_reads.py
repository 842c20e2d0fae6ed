"""Searches that read from a standby find all that was written before, wherever they read."""

from __future__ import annotations

from collections.abc import Iterator
from time import sleep
from uuid import uuid4

import pytest

import memorybook
from benchmarks.postgres_servers import Server, dsn_of, servers
from books import CONFIG
from memorybook.config.settings import Config, StorageSettings
from memorybook.memory import Memory
from memorybook.storage import postgres_connection
from memorybook.storage.postgres_admin import upgrade
from memorybook.storage.sqlite import Row

ASKED = "FROM terms WHERE term IN"


@pytest.fixture(scope="module")
def pair() -> Iterator[tuple[Server, Server]]:
    """A primary, and a standby that logs what it is asked."""
    with servers(2) as [primary, standby]:
        primary.make().start(fsync="off")
        upgrade(primary.dsn)
        standby.follow(primary).start(fsync="off", log_statement="all")
        yield primary, standby


@pytest.fixture
def config(pair: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch) -> Config:
    monkeypatch.setattr(postgres_connection, "_away", {})
    return CONFIG._replace(storage=StorageSettings(dsn=dsn_of(*pair), standby_reads=True))


@pytest.fixture
def memory(config: Config) -> Iterator[Memory]:
    with memorybook.open(f"tenant-{uuid4().hex[:8]}", config=config) as opened:
        yield opened


def asked(server: Server) -> int:
    return (server.folder / "log").read_text(errors="replace").count(ASKED)


def caught_up(primary: Server, standby: Server) -> None:
    [(written,)] = primary.say("SELECT pg_current_wal_lsn()::text")
    while not standby.say(f"SELECT pg_last_wal_replay_lsn() >= '{written}'::pg_lsn")[0][0]:
        sleep(0.01)


@pytest.mark.parametrize(("text", "question"), [("Ann's ferry leaves at noon.", "ferry"), ("渡轮中午出发。", "渡轮")])
def test_a_standby_is_asked_if_it_has_everything_and_only_then(
    pair: tuple[Server, Server], memory: Memory, text: str, question: str
) -> None:
    primary, standby = pair
    memory.remember(text)
    memory.search(question)
    caught_up(primary, standby)
    before = asked(standby)
    assert memory.search(question).hits[0].passage.text == text
    assert asked(standby) == before + 1
    standby.say("SELECT pg_wal_replay_pause()")
    try:
        memory.remember("Bob keeps bees. 鲍勃养蜜蜂。")
        assert "Bob" in memory.search("bees 蜜蜂").hits[0].passage.text
        assert asked(standby) == before + 1
        memory.forget(query=question)
        assert all(text != hit.passage.text for hit in memory.search(question).hits)
        assert asked(standby) == before + 1
    finally:
        standby.say("SELECT pg_wal_replay_resume()")
    caught_up(primary, standby)
    assert all(text != hit.passage.text for hit in memory.search(question).hits)
    assert asked(standby) == before + 2


def test_a_search_goes_on_at_the_primary_when_the_standby_goes(
    pair: tuple[Server, Server], memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    primary, standby = pair
    memory.remember("Ann's ferry leaves at noon.")
    memory.search("ferry")
    caught_up(primary, standby)
    begin = postgres_connection.Tenant.begin_at_standby
    left: list[bool] = []

    def begin_and_die(self: postgres_connection.Tenant, standing: Row) -> object:
        raw = begin(self, standing)
        if raw is not None and not left:
            left.append(True)
            standby.say("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name='memorybook'")
        return raw

    monkeypatch.setattr(postgres_connection.Tenant, "begin_at_standby", begin_and_die)
    assert memory.search("ferry").hits[0].passage.text == "Ann's ferry leaves at noon."
    assert left
    standby.stop()
    try:
        assert memory.search("ferry").hits[0].passage.text == "Ann's ferry leaves at noon."
    finally:
        standby.start(fsync="off", log_statement="all")


def test_an_address_without_a_standby_is_asked_alone(pair: tuple[Server, Server]) -> None:
    primary, _ = pair
    alone = CONFIG._replace(storage=StorageSettings(dsn=primary.dsn, standby_reads=True))
    with memorybook.open(f"tenant-{uuid4().hex[:8]}", config=alone) as memory:
        memory.remember("Ann's ferry leaves at noon.")
        for _ in range(2):
            assert memory.search("ferry").has_relevant
