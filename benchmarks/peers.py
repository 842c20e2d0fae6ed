"""memorybook beside what people would otherwise use: the same corpus, questions and embedder, side by side.

Usage: python benchmarks/peers.py [DATA] [--scope conv-26] [--size 10000 …] [--only NAME …] [--out FOLDER]

Each peer (see `roster.py`) is installed by pip into a virtual environment of its own below `--envs`, and is run there
by its adapter, `adapters/with_NAME.py`: one process fills a durable store and ends, another opens it and answers. A
peer that cannot be installed or run here, or takes longer than `--limit` for a store, is a row with the reason.

Quality: the conversations of DATA/locomo, a store per conversation, every turn a passage; R@k is the share of a
question's relevant turns among the first k results, nDCG@10 as in recall.py. Every setting of a peer is given the
turns plain and as `[date] Speaker: text`; shown are its defaults on plain turns, and its best by R@10.

Time: a generated corpus (`corpus.py`; one passage in five is Chinese) per `--size`. After all stores are filled,
every peer is asked in turn, `--rounds` times over, each time by a new process that warms up on three questions; the
round with the lowest p50 counts. Cold is from the start of that process to its first answer, the least of the
rounds; found is the share of questions whose passage is among the first ten.

The shared embedder is wordllama's 256-d static one, from the files in its wheel, or a `--model`: a folder with
tokenizer.json, config.json and an ONNX file, mean-pooled over 256 tokens. Nothing is fetched but packages.
`--out` gets peers.json (every row, with all versions), peers.md and peers.png; `--resume` keeps its finished rows.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

from benchmarks import corpus, environments, measure, versus
from benchmarks.recall import ndcg, recall_at
from benchmarks.roster import FIELDS, LABELLED, PEERS, PLAIN, Peer, Setting

ADAPTERS = Path(__file__).resolve().parent / "adapters"
DEPTH = 10
EACH = 25
"""Generated questions of each kind."""

Row = dict[str, Any]


class Place(NamedTuple):
    """One store to be: its passages, written out for each way of giving them, and its questions.

    Attributes:
        name: Of the conversation, or of the size.
        rows: Way of giving a turn -> file.
        questions: File.
        relevant: Ids per question.
    """

    name: str
    rows: Mapping[str, Path]
    questions: Path
    relevant: list[list[str]]


class Run(NamedTuple):
    """A peer with one setting, given turns in one way, and the folder of the shared embedder ("" the static one)."""

    peer: Peer
    setting: Setting
    text: str
    environment: environments.Environment
    model: str = ""


# --- what is asked -------------------------------------------------------------------------------


def conversations(data: Path, only: str | None, work: Path) -> list[Place]:
    """The conversations of DATA/locomo with their questions; none if it is not there."""
    folder = data / "locomo"
    if not (folder / "queries.jsonl").exists():
        measure.say(f"skipped quality: no {folder / 'queries.jsonl'}")
        return []
    queries = [query for query in _read(folder / "queries.jsonl") if query["relevant_ids"]]
    places = []
    for scope in dict.fromkeys(query["scope"] for query in queries):
        if only in (None, scope):
            asked = [(query["question"], query["relevant_ids"]) for query in queries if query["scope"] == scope]
            places.append(_place(work, scope, map(_turn, _read(folder / f"{scope}.jsonl")), asked))
    return places


def generated(size: int, work: Path) -> Place:
    """A generated corpus of that many passages, with questions of every kind."""
    rows = ((f"p{p.number}", p.text, p.speaker, p.time.isoformat(), p.session) for p in corpus.passages(size))
    asked = [(question.text, [f"p{question.answer}"]) for question in corpus.questions(size, EACH)]
    return _place(work, str(size), rows, asked)


def _turn(row: Row) -> tuple[str, str, str, str, str]:
    return row["id"], row["content"], row["speaker"], row["timestamp"], row["session"]


def _place(
    work: Path,
    name: str,
    turns: Iterator[tuple[str, str, str, str, str]],
    asked: Sequence[tuple[str, list[str]]],
) -> Place:
    from dateutil import parser

    rows: list[Row] = []
    for id, content, speaker, timestamp, session in turns:
        date = f"{parser.parse(timestamp, dayfirst=not timestamp[:4].isdigit()):%Y-%m-%d}"
        row = {"id": id, "content": content, "speaker": speaker, "timestamp": timestamp, "session": session}
        rows.append({**row, "date": date})
    files = {way: work / f"{name}.{way}.jsonl" for way in (PLAIN, LABELLED, FIELDS)}
    for way, path in files.items():
        label = "[{date}] {speaker}: {content}" if way == LABELLED else "{content}"
        _write(path, [{**row, "text": label.format_map(row)} for row in rows])
    _write(work / f"{name}.questions.jsonl", [{"question": question} for question, _ in asked])
    return Place(name, files, work / f"{name}.questions.jsonl", [relevant for _, relevant in asked])


# --- one job of an adapter -----------------------------------------------------------------------


def job(run: Run, phase: str, places: Sequence[Place], stores: Path, limit: float) -> Row:
    """What the adapter reports of one phase, or `{"failed": "why"}`. Its stores are below `stores`."""
    work = Path(tempfile.mkdtemp(dir=stores))
    asked = {
        "phase": phase,
        "options": run.setting.options,
        "k": DEPTH,
        "out": str(work / "report.json"),
        "stores": [
            {"folder": str(stores / p.name), "corpus": str(p.rows[run.text]), "questions": str(p.questions)}
            for p in places
        ],
    }
    (work / "job.json").write_text(json.dumps(asked), encoding="utf-8")
    command = [run.environment.python, str(ADAPTERS / f"with_{run.peer.name}.py"), str(work / "job.json")]
    started = time.monotonic()
    environment = {**measure.ENVIRONMENT, "HOME": str(work), "PYTHONWARNINGS": "ignore", "PEERS_MODEL": run.model}
    why = _ended(command, work, environment, limit * len(places))
    if why:
        return {"failed": f"{phase}: {why}"}
    report: Row = json.loads((work / "report.json").read_text(encoding="utf-8"))
    if "first" in report:
        report["cold_ms"] = 1000 * (report.pop("first") - started)
    shutil.rmtree(work)
    return report


def _ended(command: Sequence[str], work: Path, environment: Mapping[str, str], limit: float) -> str:
    """Run it to its end; "" if that was well, else why not."""
    with (work / "log.txt").open("wb") as log:
        child = subprocess.Popen(
            command, cwd=work, env=environment, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        try:
            code = child.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            return f"not done after {limit:.0f} s"
    if code == 0:
        return ""
    said = (work / "log.txt").read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return (said or [f"exit code {code}"])[-1][:200]


# --- quality and time ----------------------------------------------------------------------------


def quality(run: Run, places: Sequence[Place], work: Path, limit: float) -> Row:
    """One row: how much of what is relevant the run finds."""
    stores = Path(tempfile.mkdtemp(dir=work))
    filled = job(run, "fill", places, stores, limit)
    answered = filled if "failed" in filled else job(run, "ask", places, stores, limit)
    shutil.rmtree(stores, ignore_errors=True)
    row = described(run, "locomo")
    if "failed" in answered:
        return {**row, "failed": answered["failed"]}
    relevant = [ids for place in places for ids in place.relevant]
    return {**row, **judged(answered["answers"], relevant), **times(answered)}


def judged(answers: Sequence[Sequence[str]], relevant: Sequence[Sequence[str]]) -> Row:
    """R@k and nDCG@10 in percent, averaged over questions."""
    pairs = list(zip(answers, relevant, strict=True))
    row = {f"R@{k}": measure.mean([recall_at(found, wanted, k) for found, wanted in pairs]) for k in (1, 5, 10)}
    row["nDCG@10"] = measure.mean([ndcg(found, wanted) for found, wanted in pairs])
    return {"questions": len(pairs), **{name: round(value, 1) for name, value in row.items()}}


def times(answered: Row) -> Row:
    return {
        "p50_ms": measure.significant(measure.median(answered["ms"]), 3),
        "p95_ms": measure.significant(measure.percentile(answered["ms"], 0.95), 3),
    }


def described(run: Run, corpus_name: str) -> Row:
    return {
        "corpus": corpus_name,
        "peer": run.peer.name,
        "title": run.peer.title,
        "setting": run.setting.name,
        "text": run.text,
        "hybrid": run.setting.hybrid,
        "durable": run.peer.durable,
        "embedder": Path(run.model).name or "static",
        "version": run.environment.version,
        "installed_mb": run.environment.installed_mb,
    }


def speed(runs: Sequence[Run], place: Place, work: Path, limit: float, rounds: int) -> Iterator[Row]:
    """A row per run: fill all, then ask all in turn, `rounds` times."""
    filled: list[tuple[Run, Path, Row]] = []
    for run in runs:
        stores = Path(tempfile.mkdtemp(dir=work))
        measure.say(f"{place.name}: filling {run.peer.title}, {run.setting.name}")
        report = job(run, "fill", [place], stores, limit)
        if "failed" in report:
            shutil.rmtree(stores, ignore_errors=True)
            yield {**described(run, place.name), "failed": report["failed"]}
        else:
            report["disk_mb"] = measure.folder_mb(stores)
            filled.append((run, stores, report))
    asked: list[list[Row]] = [[] for _ in filled]
    for number in range(rounds):
        for (run, stores, _), reports in zip(filled, asked, strict=True):
            if not any("failed" in report for report in reports):
                measure.say(f"{place.name}, round {number + 1}: asking {run.peer.title}, {run.setting.name}")
                reports.append(job(run, "ask", [place], stores, limit))
    for (run, stores, report), reports in zip(filled, asked, strict=True):
        shutil.rmtree(stores, ignore_errors=True)
        yield {**described(run, place.name), **_timed(report, reports, place)}


def _timed(filled: Row, asked: Sequence[Row], place: Place) -> Row:
    failed = next((report["failed"] for report in asked if "failed" in report), None)
    if failed:
        return {"failed": failed}
    best = min(asked, key=lambda report: measure.median(report["ms"]))
    return {
        "passages_per_s": measure.significant(filled["rows"] / filled["seconds"], 3),
        "disk_mb": filled["disk_mb"],
        **times(best),
        "cold_ms": measure.significant(min(report["cold_ms"] for report in asked), 3),
        "rss_mb": max(report["rss_mb"] for report in asked),
        "found": judged(best["answers"], place.relevant)["R@10"],
    }


# --- the command ---------------------------------------------------------------------------------


def prepared(options: argparse.Namespace) -> tuple[list[Run], list[Row]]:
    """A run per setting and text of each peer that can be installed, and rows for those that cannot."""
    runs: list[Run] = []
    rows: list[Row] = []
    for peer in PEERS:
        if (options.only and peer.name not in options.only) or peer.name in options.skip:
            continue
        try:
            environment = environments.prepare(peer, options.envs, options.model)
        except environments.NotInstalled as error:
            rows.append({"corpus": "all", "peer": peer.name, "title": peer.title, "failed": f"install: {error}"})
            continue
        ways = [(setting, text) for setting in peer.settings for text in peer.texts]
        runs += [Run(peer, setting, text, environment, options.model) for setting, text in ways]
    return runs, rows


def measured(options: argparse.Namespace, runs: Sequence[Run], work: Path) -> Iterator[Row]:
    """Every row, as it is done; those that are already in `options.done` are left out."""
    places = conversations(options.data, options.scope, work) if options.data else []
    for run in runs if places else ():
        if _key(described(run, "locomo")) not in options.done:
            measure.say(f"locomo: {run.peer.title}, {run.setting.name}, {run.text}")
            yield quality(run, places, work, options.limit)
    for size in options.sizes:
        left = [run for run in runs if run.text == run.peer.texts[0]]
        left = [run for run in left if _key(described(run, str(size))) not in options.done]
        if left:
            yield from speed(left, generated(size, work), work, options.limit, options.rounds)


def _key(row: Row) -> tuple[str, ...]:
    return tuple(str(row.get(name)) for name in ("corpus", "peer", "setting", "text", "version", "embedder"))


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and show; the arguments are those of the command line if None."""
    options = parser().parse_args(arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    kept = options.out / "peers.json"
    rows = json.loads(kept.read_text(encoding="utf-8"))["rows"] if options.resume and kept.exists() else []
    rows = [row for row in rows if "failed" not in row]
    options.done = {_key(row) for row in rows}
    runs, missing = prepared(options)
    rows += missing
    facts = measure.machine()
    found = {"facts": facts, "packages": {run.peer.name: run.environment.packages for run in runs}}
    with tempfile.TemporaryDirectory(dir=options.work) as work:
        for row in measured(options, runs, Path(work)):
            rows.append(row)
            kept.write_text(json.dumps({**found, "rows": rows}, indent=1) + "\n", encoding="utf-8")
    text = versus.report(rows, facts)
    print(text)
    (options.out / "peers.md").write_text(text, encoding="utf-8")
    measure.plot(options.out / "peers.png", versus.panels(rows))
    if options.page:
        measure.refresh(options.page, "peers", text)
    return 0


def parser() -> argparse.ArgumentParser:
    names = [peer.name for peer in PEERS]
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("data", type=Path, nargs="?", help="folder that holds locomo/; without it time alone is measured")
    made.add_argument("--scope", help="only this conversation")
    made.add_argument("--size", type=int, action="append", dest="sizes", default=[], help="passages of a timed corpus")
    made.add_argument("--only", action="append", choices=names, help="only this peer; may be given again")
    made.add_argument("--skip", action="append", choices=names, default=[], help="not this peer; may be given again")
    made.add_argument("--model", type=_model, default="", help="an ONNX sentence-transformer to embed with instead")
    made.add_argument("--limit", type=float, default=600, help="seconds a process may take per store (default: 600)")
    made.add_argument("--rounds", type=int, default=3, help="how often every peer is asked for its time (default: 3)")
    made.add_argument("--envs", type=Path, default=environments.default_folder(), help="folder for the environments")
    made.add_argument("--work", type=Path, help="folder for the stores, removed at the end (default: the system's)")
    made.add_argument("--out", type=Path, default=Path("peers"), help="folder for the results (default: peers)")
    made.add_argument("--resume", action="store_true", help="keep the finished rows that are in --out")
    made.add_argument("--page", type=Path, help="a page with a place for these tables, docs/benchmarks.md")
    return made


def _model(name: str) -> str:
    folder = Path(name).expanduser().resolve()
    if name and not (folder / "tokenizer.json").is_file():
        raise argparse.ArgumentTypeError(f"no tokenizer.json in {name!r}: name the folder of an ONNX model")
    return str(folder) if name else ""


def _read(path: Path) -> list[Row]:
    with path.open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
