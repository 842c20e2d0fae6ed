"""The comparison with peers: what is asked of an adapter, what is counted, what is shown."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import adapter
import pytest

from benchmarks import environments, peers, roster, versus
from memorybook.inference.static import StaticEmbedder

TURNS = [
    ("D1:1", "Ann", "I painted a sunrise over the lake last weekend."),
    ("D1:2", "Bob", "My dentist moved to another street."),
    ("D1:3", "Ann", "We adopted a puppy called Biscuit."),
    ("D1:4", "Bob", "The marathon is in October, I train at dawn."),
]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "locomo"
    folder.mkdir(parents=True)
    turns = [
        {"id": id, "session": "S1", "speaker": who, "timestamp": "1:56 pm on 8 May, 2023", "content": text}
        for id, who, text in TURNS
    ]
    (folder / "talk.jsonl").write_text("".join(json.dumps(turn) + "\n" for turn in turns), encoding="utf-8")
    asked = [("What is the puppy called?", ["D1:3"]), ("Who painted the sunrise?", ["D1:1"]), ("Anything?", [])]
    queries = [{"scope": "talk", "question": question, "relevant_ids": ids} for question, ids in asked]
    (folder / "queries.jsonl").write_text("".join(json.dumps(query) + "\n" for query in queries), encoding="utf-8")
    return folder.parent


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every peer is taken to be installed in the environment of these tests, and runs with its defaults."""
    made = environments.Environment(sys.executable, "1.0", 2.5, {})
    monkeypatch.setattr(environments, "prepare", lambda *_: made)
    quick = [peer._replace(settings=peer.settings[:1], texts=peer.texts[-1:]) for peer in roster.PEERS]
    monkeypatch.setattr(peers, "PEERS", quick)


def row(peer: str, setting: str, corpus: str = "locomo", /, **figures: Any) -> dict[str, Any]:
    known = {"title": peer.title(), "text": "plain", "version": "1", "hybrid": True, "durable": True}
    known |= {"questions": 2, "embedder": "static"}
    counted = {"R@1": 1.0, "R@5": 2.0, "R@10": 3.0, "nDCG@10": 4.0} if corpus == "locomo" else {}
    timed = dict.fromkeys(versus.TIME, 1.0)
    return {"corpus": corpus, "peer": peer, "setting": setting, **known, **timed, **counted, **figures}


@pytest.mark.usefixtures("here")
def test_peers_are_asked_what_we_are_and_shown_beside_us(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    names = ["memorybook", "sqlite"]
    flags = [str(data), "--out", str(out), "--size", "60", "--rounds", "1", "--work", str(tmp_path)]
    assert peers.main([*flags, *(part for name in names for part in ("--only", name))]) == 0
    found = json.loads((out / "peers.json").read_text(encoding="utf-8"))["rows"]
    assert [row for row in found if "failed" in row] == []
    assert {row["peer"] for row in found if row["corpus"] == "locomo"} == set(names)
    ours = next(row for row in found if row["peer"] == "memorybook" and row["setting"] == "hybrid")
    assert (ours["questions"], ours["R@5"]) == (2, 100.0)
    timed = [row for row in found if row["corpus"] == "60"]
    assert all(row["p50_ms"] > 0 and row["cold_ms"] > 0 and row["passages_per_s"] > 0 for row in timed)
    assert {row["peer"] for row in timed if row["found"] > 50} == set(names)
    text = (out / "peers.md").read_text(encoding="utf-8")
    assert "Hybrid search over durable storage, 60 passages: memorybook" in text
    assert (out / "peers.png").exists()


@pytest.mark.usefixtures("here")
def test_finished_rows_are_kept_on_resuming_and_failed_ones_tried_again(data: Path, tmp_path: Path) -> None:
    flags = [str(data), "--out", str(tmp_path / "out"), "--only", "grep", "--resume"]
    peers.main(flags)
    kept = tmp_path / "out" / "peers.json"
    found = json.loads(kept.read_text(encoding="utf-8"))
    done = found["rows"][0] = {**found["rows"][0], "R@10": 12.5}
    kept.write_text(json.dumps(found), encoding="utf-8")
    peers.main(flags)
    assert json.loads(kept.read_text(encoding="utf-8"))["rows"] == [done]
    kept.write_text(json.dumps({**found, "rows": [{**done, "failed": "ask: killed"}]}), encoding="utf-8")
    peers.main(flags)
    (again,) = json.loads(kept.read_text(encoding="utf-8"))["rows"]
    assert "failed" not in again
    assert again["R@10"] == 100.0


def test_every_peer_has_its_adapter_and_named_settings() -> None:
    adapters = {path.stem.removeprefix("with_") for path in peers.ADAPTERS.glob("with_*.py")}
    assert adapters == {peer.name for peer in roster.PEERS}
    assert all(len({setting.name for setting in peer.settings}) == len(peer.settings) for peer in roster.PEERS)


def test_the_shared_embedder_is_ours_on_english() -> None:
    texts = [text for _, _, text in TURNS]
    ours = StaticEmbedder().embed(texts)
    assert abs(adapter.embed(texts) - ours).max() < 1e-5  # type: ignore[operator]


def test_the_claim_is_on_the_fastest_durable_hybrid_of_a_peer() -> None:
    rows = [
        row("memorybook", "hybrid", "1000", p50_ms=2.0),
        row("memorybook", "words", "1000", p50_ms=0.5, hybrid=False),
        row("fast", "vectors", "1000", p50_ms=1.0, hybrid=False),
        row("ram", "hybrid", "1000", p50_ms=1.0, durable=False),
        row("slow", "hybrid", "1000", p50_ms=30.0),
        {**row("gone", "hybrid", "1000"), "failed": "fill: not done after 600 s"},
    ]
    assert "memorybook 2.0 ms, the fastest peer (Slow, hybrid) 30.0 ms: 15.0 times" in versus.claim(rows, "1000")
    assert "hold the index in memory: (Ram, hybrid) 1.0 ms: 0.5 times" in versus.claim(rows, "1000")
    assert versus.claim(rows[1:], "1000") == ""
