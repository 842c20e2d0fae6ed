"""What the adapters share: the job they are given, the clock around the peer's own calls, the embedder.

An adapter is a program of its own, run by the peer's Python as `python with_X.py JOB.json`. The job:
`{"phase": "fill" | "ask", "options": {...}, "k": 10, "stores": [{"folder", "corpus", "questions"}], "out": path}`.
`fill` makes one durable store per folder from a corpus (JSON Lines of `Row`); `ask`, in a process of its own,
opens each again and answers its questions (JSON Lines of `{"question"}`). The report is written to `out`:
seconds and rows for `fill`; ids and milliseconds per question, and the moment of the first answer, for `ask`.

Nothing outside the standard library is imported here but what the embedder needs, when it is first used.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypedDict

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

MODEL = os.environ.get("PEERS_MODEL", "")
"""Folder of a sentence-transformer exported to ONNX that takes the static embedder's place; "" for that one."""

NAME = Path(MODEL).name if MODEL else "wordllama-256"
DIMENSIONS = int(json.loads(Path(MODEL, "config.json").read_text(encoding="utf-8"))["hidden_size"]) if MODEL else 256
LONGEST = 256  # tokens that a sentence-transformer reads, as all-MiniLM is published
WARM_UP = 3  # questions asked before the clock runs


class Row(TypedDict):
    """One passage: `text` is what a peer is given, the rest what memorybook's importer and filters can use."""

    id: str
    text: str
    content: str
    speaker: str
    date: str
    session: str
    timestamp: str


class Store(Protocol):
    """A peer's store in a folder: filled once, asked afterwards by another process."""

    def fill(self, rows: Sequence[Row]) -> None:
        """Take in all rows; durable after `close`."""

    def find(self, question: str, k: int) -> list[str]:
        """Ids of the k best rows, best first, having fetched their texts as well."""

    def close(self) -> None:
        """Release what is held."""


class WithoutClose:
    """For peers that have nothing to close."""

    def close(self) -> None:
        """Nothing to do."""


Open = Callable[[str, dict[str, Any]], Store]


def read_rows(path: str) -> list[Any]:
    with Path(path).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def main(open_store: Open) -> None:
    """Do the job named on the command line with stores that `open_store(folder, options)` opens."""
    job = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    report = (fill if job["phase"] == "fill" else ask)(job, open_store)
    report["rss_mb"] = round(_peak_mb(), 1)
    Path(job["out"]).write_text(json.dumps(report), encoding="utf-8")


def fill(job: dict[str, Any], open_store: Open) -> dict[str, Any]:
    seconds, count = 0.0, 0
    if find_spec("wordllama"):
        embed(["warm"])
    for place in job["stores"]:
        rows: list[Row] = read_rows(place["corpus"])
        Path(place["folder"]).mkdir(parents=True)
        store = open_store(place["folder"], job["options"])
        started = time.perf_counter()
        store.fill(rows)
        store.close()
        seconds += time.perf_counter() - started
        count += len(rows)
    return {"seconds": seconds, "rows": count}


def ask(job: dict[str, Any], open_store: Open) -> dict[str, Any]:
    answers: list[list[str]] = []
    ms: list[float] = []
    first = None
    for place in job["stores"]:
        questions = [str(row["question"]) for row in read_rows(place["questions"])]
        store = open_store(place["folder"], job["options"])
        for question in questions[:WARM_UP]:
            store.find(question, job["k"])
            first = first or time.monotonic()
        for question in questions:
            started = time.perf_counter()
            answers.append(store.find(question, job["k"]))
            ms.append(1000 * (time.perf_counter() - started))
        store.close()
    return {"answers": answers, "ms": ms, "first": first}


def _peak_mb() -> float:
    """Peak memory of this process. Linux tells the real one apart from what the process that started it had."""
    try:
        with Path("/proc/self/status").open(encoding="ascii") as file:
            return next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak / 1e6 if sys.platform == "darwin" else peak / 1024


def embed(texts: Sequence[str]) -> npt.NDArray[np.float32]:
    """Unit rows (n, DIMENSIONS) by the shared embedder.

    Without a model the mean of token vectors, as wordllama's own `embed(norm=True)`, from its wheel's files. They
    are read directly, for the peers' sake: importing wordllama and its `load()` cost half a second more.
    """
    import numpy as np

    rows = np.zeros((len(texts), DIMENSIONS), dtype=np.float32)
    fill_rows, batch = (_sentence_rows, 16) if MODEL else (_static_rows, 512)
    for start in range(0, len(texts), batch):
        fill_rows(texts[start : start + batch], rows[start : start + batch])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)
    return rows


def embed_lists(texts: Sequence[str]) -> list[list[float]]:
    rows: list[list[float]] = embed(texts).tolist()
    return rows


def _static_rows(texts: Sequence[str], rows: npt.NDArray[np.float32]) -> None:
    import numpy as np

    tokenizer, weights = _static_model()
    for number, encoding in enumerate(tokenizer.encode_batch(list(texts), add_special_tokens=False)):
        if encoding.ids:
            rows[number] = weights[encoding.ids].mean(axis=0, dtype=np.float32)


def _sentence_rows(texts: Sequence[str], rows: npt.NDArray[np.float32]) -> None:
    import numpy as np

    tokenizer, session = _sentence_model()
    encodings = tokenizer.encode_batch(list(texts))
    mask = np.array([encoding.attention_mask for encoding in encodings], dtype=np.int64)
    fed = {"input_ids": np.array([encoding.ids for encoding in encodings], dtype=np.int64), "attention_mask": mask}
    wanted = {one.name: fed.get(one.name, np.zeros_like(mask)) for one in session.get_inputs()}
    tokens = session.run(None, wanted)[0]
    rows[:] = (tokens * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)


@cache
def _sentence_model() -> tuple[Any, Any]:
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(Path(MODEL, "tokenizer.json")))
    tokenizer.enable_truncation(LONGEST)
    tokenizer.enable_padding()
    return tokenizer, InferenceSession(str(next(Path(MODEL).rglob("*.onnx"))), providers=["CPUExecutionProvider"])


@cache
def _static_model() -> tuple[Any, Any]:
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    spec = find_spec("wordllama")
    if spec is None or spec.origin is None:
        raise SystemExit("the shared embedder is not installed in this environment: pip install wordllama")
    folder = Path(spec.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer, load_file(folder / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]


def write_markdown(rows: Sequence[Row], notes: Path) -> None:
    """Rows as peers that read Markdown keep them: a file per session and a heading per row, in the folder `notes`.

    Beside it `places.json` says which row stands where; see `read_places`.
    """
    notes.mkdir()
    files: dict[str, list[Row]] = {}
    for row in rows:
        session = "".join(c if c.isalnum() else "-" for c in row["session"])
        files.setdefault(f"{row['date'] or 'undated'}-{session}.md", []).append(row)
    places = {}
    for name, inside in files.items():
        lines = [f"# {inside[0]['date']} {inside[0]['session']}", ""]
        for number, row in enumerate(inside, 1):
            lines += [f"## {number}", "", one_line(row["text"]), ""]
            places[f"{name}:{number}"] = row["id"]
        (notes / name).write_text("\n".join(lines), encoding="utf-8")
    notes.with_name("places.json").write_text(json.dumps(places), encoding="utf-8")


def read_places(notes: Path) -> dict[str, str]:
    """`FILE:NUMBER of the heading` -> row id, once `write_markdown` has written the folder."""
    path = notes.with_name("places.json")
    places: dict[str, str] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return places


def write_notes(rows: Sequence[Row], notes: Path) -> None:
    """A file `DATE/NUMBER.md` per row, for peers whose smallest hit is a file; `places.json` as in `write_markdown`."""
    places = {}
    for number, row in enumerate(rows):
        path = notes / (row["date"] or "undated") / f"{number}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{one_line(row['text'])}\n", encoding="utf-8")
        places[str(number)] = row["id"]
    notes.with_name("places.json").write_text(json.dumps(places), encoding="utf-8")


def heading_at(line: int) -> int:
    """The number of the heading whose section holds that line (1-based) of such a file."""
    return max(0, (line - 3) // 4 + 1)


def one_line(text: str) -> str:
    return " ".join(text.split())


QUESTION_WORDS = frozenset(
    "a about all am an and any are as at be been before but by can could did do does for from had has have he her him "
    "his how i if in into is it its me my of on or our she so some than that the their them then there these they this "
    "to up us was we were what when where which who whom whose why will with would you your".split()
)
"""Function words, for peers whose keyword search has no list of its own but whose manual says to leave them out."""


def query_words(question: str, *, stop: bool) -> list[str]:
    """The distinct words of a question in lower case, without function words if `stop` and others are left."""
    words = list(dict.fromkeys("".join(c if c.isalnum() else " " for c in question.lower()).split()))
    return ([word for word in words if word not in QUESTION_WORDS] or words) if stop else words


def offline() -> None:
    """Keep the peer from asking a hub for models: a refused look-up would be timed as its own."""
    os.environ.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1")
