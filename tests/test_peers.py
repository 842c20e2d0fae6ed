"""The comparison with peers: what is asked of an adapter, what is counted, what is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import adapter
import pytest

from benchmarks import environments, peers, roster, versus
from inference import tiny_model
from memorybook.inference.local import LocalEmbedder
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
    names = ["memorybook", "sqlite", "grep"]
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


def test_an_adapter_that_fails_or_takes_too_long_is_a_row_with_the_reason(tmp_path: Path) -> None:
    fails = [sys.executable, "-c", "raise SystemExit('no such model')"]
    sleeps = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert peers._ended(fails, tmp_path, {}, 30) == "no such model"
    assert peers._ended(sleeps, tmp_path, {}, 0.2) == "not done after 0 s"


def test_a_peer_that_cannot_be_installed_is_a_row_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(peer: roster.Peer, folder: Path, model: str) -> environments.Environment:
        raise environments.NotInstalled("No matching distribution found for certifi>=2026.10.19")

    monkeypatch.setattr(environments, "prepare", refuse)
    peers.main(["--only", "basic_memory", "--out", str(tmp_path)])
    assert "| basic-memory | all | all | install: No matching distribution found" in capsys.readouterr().out


def test_an_environment_is_made_once_and_again_for_other_requirements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []

    def make(peer: roster.Peer, home: Path) -> environments.Environment:
        made.append(peer.name)
        home.mkdir(parents=True, exist_ok=True)
        return environments.Environment("python", "1", 0.5, {"x": "1"})

    monkeypatch.setattr(environments, "_make", make)
    peer = roster.Peer("x", "X", "x", ("x",), (roster.Setting("defaults"),))
    assert environments.prepare(peer, tmp_path) == environments.prepare(peer, tmp_path)
    environments.prepare(peer._replace(requirements=("x>2",)), tmp_path)
    assert made == ["x", "x"]


def test_a_python_that_is_too_old_is_said() -> None:
    with pytest.raises(environments.NotInstalled, match=r"needs Python 9\.0 or newer"):
        environments._interpreter((9, 0))
    assert environments._interpreter((3, 11)) == sys.executable


def test_the_reason_of_a_failed_command_is_its_last_error() -> None:
    script = "import sys; sys.exit('ERROR: first\\nERROR: no such package\\nhint')"
    with pytest.raises(environments.NotInstalled, match=r"^no such package$"):
        environments._run([sys.executable, "-c", script])


def test_every_peer_has_its_adapter_and_named_settings() -> None:
    adapters = {path.stem.removeprefix("with_") for path in peers.ADAPTERS.glob("with_*.py")}
    assert adapters == {peer.name for peer in roster.PEERS}
    assert all(len({setting.name for setting in peer.settings}) == len(peer.settings) for peer in roster.PEERS)


def test_the_shared_embedder_is_ours_on_english() -> None:
    texts = [text for _, _, text in TURNS]
    ours = StaticEmbedder().embed(texts)
    assert abs(adapter.embed(texts) - ours).max() < 1e-5  # type: ignore[operator]


def test_a_sentence_transformer_in_its_place_is_ours_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tiny_model.make(tmp_path / "model")
    monkeypatch.setattr(adapter, "MODEL", str(folder))
    monkeypatch.setattr(adapter, "DIMENSIONS", tiny_model.DIMENSIONS)
    adapter._sentence_model.cache_clear()
    texts = [text for _, _, text in TURNS] * 5
    ours = LocalEmbedder(str(folder)).embed(texts)
    assert abs(adapter.embed(texts) - ours).max() < 1e-5  # type: ignore[operator]


def test_words_of_a_question_are_distinct_and_without_function_words_if_others_are_left() -> None:
    assert adapter.query_words("What did Ann's ann do?", stop=False) == ["what", "did", "ann", "s", "do"]
    assert adapter.query_words("What did Ann paint?", stop=True) == ["ann", "paint"]
    assert adapter.query_words("Who was it?", stop=True) == ["who", "was", "it"]


def test_a_line_of_a_session_file_leads_back_to_its_row(tmp_path: Path) -> None:
    rows: list[adapter.Row] = [
        {
            "id": id,
            "text": text,
            "content": text,
            "speaker": who,
            "date": "2023-05-08",
            "session": "S 1",
            "timestamp": "",
        }
        for id, who, text in TURNS
    ]
    adapter.write_markdown(rows, tmp_path / "notes")
    lines = (tmp_path / "notes" / "2023-05-08-S-1.md").read_text(encoding="utf-8").splitlines()
    places = adapter.read_places(tmp_path / "notes")
    for id, _, text in TURNS:
        assert places[f"2023-05-08-S-1.md:{adapter.heading_at(lines.index(text) + 1)}"] == id


def test_of_each_peer_its_best_and_its_defaults_are_shown() -> None:
    rows = [row("a", "defaults"), row("a", "best", **{"R@10": 9.0}), row("b", "only", **{"R@10": 5.0})]
    assert [(r["peer"], r["setting"]) for r in versus.shown(rows)] == [("a", "best"), ("a", "defaults"), ("b", "only")]


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


def test_a_model_that_is_none_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peers.main(["--model", str(tmp_path)])
    assert "no tokenizer.json in" in capsys.readouterr().err


def test_help_tells_how_to_use_it() -> None:
    script = Path(peers.__file__)
    done = subprocess.run([sys.executable, str(script), "--help"], capture_output=True, text=True, check=True)
    assert "the same corpus, questions and embedder" in done.stdout
