"""The approximate index of large tenants: it finds what comparing every vector finds, and what came since."""

from __future__ import annotations

import random
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from conformance.storage import NOW
from memorybook.config.settings import Config
from memorybook.errors import Unavailable
from memorybook.model import Session, Turn
from memorybook.search.types import Query
from memorybook.storage import postgres_admin, postgres_index
from memorybook.storage.postgres_storage import PostgresStorage
from memorybook.storage.stores import open_storage
from memorybook.testing import HashEmbedder

WORDS = "ferry heron tea boat river garden release budget doctor school kitchen piano lake market train server".split()


def say(storage: PostgresStorage, chance: random.Random, first: int, count: int) -> None:
    turns = [
        Turn(id=f"t{n}", session="s", role="user", text=" ".join(chance.choices(WORDS, k=9)) + f" {n}", time=NOW)
        for n in range(first, first + count)
    ]
    storage.transcripts.append(Session(uuid="s"), turns)


def built(config: Config, tenant: str, dsn: str) -> PostgresStorage:
    storage = open_storage(config, tenant)
    assert isinstance(storage, PostgresStorage)
    say(storage, random.Random(3), 0, 40)
    storage.open_index(HashEmbedder()).sync(storage.documents, storage.transcripts)
    assert postgres_index.build(dsn, least=40)[tenant] == 40
    return storage


def test_of_a_tenant_that_is_erased_no_index_says_the_name(config: Config, tenant: str, dsn: str) -> None:
    built(config, tenant, dsn)
    naming = "SELECT indexname FROM pg_indexes WHERE indexdef LIKE %s"
    with psycopg.connect(dsn, autocommit=True) as raw:
        assert raw.execute(naming, (f"%{tenant}%",)).fetchall()
        postgres_admin.erase(dsn, tenant)
        assert not raw.execute(naming, (f"%{tenant}%",)).fetchall()


def test_a_restored_book_has_an_index_of_its_own(config: Config, tenant: str, dsn: str) -> None:
    storage = built(config, tenant, dsn)
    storage.restore(lambda _: None, identity="", replace=True, now=NOW)
    say(storage, random.Random(3), 100, 40)
    storage.open_index(HashEmbedder()).sync(storage.documents, storage.transcripts)
    assert postgres_index.build(dsn, least=40)[tenant] == 40


def test_a_large_tenant_is_searched_with_an_index_of_its_own(config: Config, tenant: str, dsn: str) -> None:
    storage = open_storage(config, tenant)
    assert isinstance(storage, PostgresStorage)
    chance = random.Random(3)
    say(storage, chance, 0, 700)
    index = storage.open_index(HashEmbedder())
    index.sync(storage.documents, storage.transcripts)
    questions = [Query(" ".join(chance.sample(WORDS, 3)), pool=20) for _ in range(20)]
    exact = [{one.passage.turn: one.cosine for one in index.candidates(each).items} for each in questions]
    assert postgres_index.build(dsn, least=600)[tenant] == 700
    assert tenant not in postgres_index.build(dsn, least=600), "it is up to date"
    found = [{one.passage.turn: one.cosine for one in index.candidates(each).items} for each in questions]
    near = [{turn for turn, cosine in one.items() if cosine is not None} for one in exact]
    again = [{turn for turn, cosine in one.items() if cosine is not None} for one in found]
    assert sum(len(one & other) for one, other in zip(near, again, strict=True)) >= 0.97 * sum(map(len, near))

    say(storage, chance, 700, 5)
    storage.transcripts.append(Session(uuid="s"), [Turn(id="new", session="s", role="user", text="zebra", time=NOW)])
    index.sync(storage.documents, storage.transcripts)
    assert index.candidates(Query("zebra", pool=5)).items[0].passage.turn in {"new", *(f"t{n}" for n in range(705))}
    assert "new" in {one.passage.turn for one in index.candidates(Query("zebra", pool=5)).items if one.cosine}
    storage.transcripts.remove("s", ["new"])
    index.sync(storage.documents, storage.transcripts)
    assert "new" not in {one.passage.turn for one in index.candidates(Query("zebra", pool=5)).items}
    storage.transcripts.remove("s", ["t3"])
    index.rebuild(storage.documents, storage.transcripts)
    kept = "SELECT (SELECT count(*) FROM near), (SELECT count(*) FROM embeddings), (SELECT count(*) FROM texts)"
    assert storage._tenant.rows(kept) == [(699, 704, 704)], "nothing is left of what is nowhere any more"
    assert {one.passage.turn for one in index.candidates(questions[0]).items} == set(found[0]) - {"t3"}
    storage.erase()
    assert storage._tenant.rows("SELECT count(*) FROM near") == [(0,)]


INVALID = (
    "SELECT indexrelid::regclass::text FROM pg_index WHERE indrelid='memorybook.near'::regclass AND NOT indisvalid"
)
WAITS = "SELECT pid FROM pg_stat_activity WHERE query LIKE 'CREATE INDEX%' AND wait_event_type='Lock'"


def test_nobody_who_writes_waits_for_an_index_and_one_that_was_cut_off_is_built_again(
    config: Config, tenant: str, dsn: str
) -> None:
    built(config, f"{tenant}-before", dsn)
    storage = open_storage(config, tenant)
    assert isinstance(storage, PostgresStorage)
    say(storage, random.Random(4), 100, 60)
    index = storage.open_index(HashEmbedder())
    index.sync(storage.documents, storage.transcripts)
    question = Query("ferry heron", pool=20)
    with (
        ThreadPoolExecutor(1) as threads,
        psycopg.connect(dsn) as writes,
        psycopg.connect(dsn, autocommit=True, options="-c lock_timeout=2s") as other,
    ):
        writes.execute("DELETE FROM memorybook.near WHERE tenant='nobody'")
        building = threads.submit(postgres_index.build, dsn, least=40)
        while not (waits := other.execute(WAITS).fetchall()):
            assert not building.done()
            time.sleep(0.02)
        other.execute("DELETE FROM memorybook.near WHERE tenant='nobody'")
        with pytest.raises(Unavailable, match="already"):
            postgres_index.build(dsn, least=40)
        other.execute("SELECT pg_cancel_backend(%s)", waits[0])
        with pytest.raises(Unavailable):
            building.result()
        writes.rollback()
        assert other.execute(INVALID).fetchall()
        exact = index.candidates(question).items
        assert postgres_index.build(dsn, least=40)[tenant] == 60
        assert not other.execute(INVALID).fetchall()
    assert {one.passage.turn for one in index.candidates(question).items} == {one.passage.turn for one in exact}


def test_whoever_may_not_build_one_is_told_which_rights_are_needed(config: Config, tenant: str, dsn: str) -> None:
    built(config, tenant, dsn)
    role = f"builder_{uuid4().hex[:12]}"
    theirs = make_conninfo(dsn, user=role)
    with psycopg.connect(dsn, autocommit=True) as raw:
        raw.execute(f"CREATE ROLE {role} LOGIN")
        try:
            raw.execute(f"GRANT memorybook TO {role}")
            raw.execute("DELETE FROM memorybook.near WHERE tenant=%s", (tenant,))
            for change in (f"ALTER ROLE {role} BYPASSRLS", f"GRANT postgres TO {role}"):
                with pytest.raises(Unavailable, match="BYPASSRLS who owns memorybook's tables or is a member") as told:
                    postgres_index.build(theirs, least=40)
                assert "\n" not in str(told.value)
                raw.execute(change)
            assert postgres_index.build(theirs, least=40)[tenant] == 40
        finally:
            raw.execute(f"DROP ROLE {role}")
