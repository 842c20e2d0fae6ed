"""What rules keep of 660 labelled talks, sentence by sentence.

Usage: python benchmarks/kept.py [--lang en] [--missed] [--wrong]

`benchmarks/data/statements_{en,zh}.tsv` holds the talks, written for this purpose by a language model. A line is a
speaker, a label and a sentence; `U` begins a turn of the user, `U+` goes on with it, `A` is the assistant, in a talk
between people the speaker is a name. Labels: what an entry is, `event` (worth a note), `with` (worth keeping together
with the sentence before it), `no` (not worth keeping); `>3` after a label says that the sentence makes line 3 of its
talk untrue. A sentence counts as kept if an entry holds how it ends. Precision: of the kept sentences, how
many are labelled as worth keeping; recall: the other way round. Changes: of the kept sentences that make a kept one
untrue, how many supersede it.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import memorybook
from memorybook.config.settings import Config

DATA = Path(__file__).parent / "data"


class Line(NamedTuple):
    """A labelled sentence: its speaker as in the file, its label, the line it makes untrue (0 for none), its text."""

    speaker: str
    label: str
    untrue: int
    text: str


def talks(language: str) -> Iterator[list[Line]]:
    """The labelled talks of a language."""
    text = (DATA / f"statements_{language}.tsv").read_text(encoding="utf-8")
    for talk in text.removeprefix("# ").split("\n# "):
        lines = [line.split("\t") for line in talk.splitlines()[1:] if line.count("\t") == 2]
        yield [Line(speaker, *_label(label), said) for speaker, label, said in lines]


def _label(text: str) -> tuple[str, int]:
    label, _, untrue = text.partition(">")
    return label, int(untrue or 0)


def messages(talk: list[Line]) -> list[dict[str, str]]:
    """The talk as messages."""
    said: list[dict[str, str]] = []
    for line in talk:
        name = line.speaker.rstrip("+")
        if line.speaker.endswith("+") and said:
            said[-1]["content"] += ("" if "\u4e00" <= line.text[:1] <= "\u9fff" else " ") + line.text
        else:
            role = {"U": {"role": "user"}, "A": {"role": "assistant"}}.get(name, {"speaker": name})
            said.append({**role, "content": line.text})
    return said


def judge(talk: list[Line], counts: Counter[str], folder: str) -> tuple[list[str], list[str]]:
    """Count what rules keep of a talk; returns the sentences that they missed and those wrongly kept."""
    with memorybook.open(folder, config=Config(vector_enabled=False, timezone="UTC")) as memory:
        memory.process_session_end(messages(talk), "talk")
        entries = {entry.id: entry for entry in memory.book.entries()}
    texts = {id: "".join(entry.text.split()) for id, entry in entries.items()}

    def holding(line: Line) -> set[str]:
        core = "".join(line.text.split()).rstrip(".。!！")
        return {id for id, text in texts.items() if core[-min(12, max(3, len(core) // 3)) :] in text}

    missed, wrong = [], []
    for line in (line for line in talk if line.speaker != "A" and line.label not in ("event", "with")):
        worth, kept = line.label != "no", holding(line)
        counts["worth"] += worth
        counts["kept"] += bool(kept)
        counts["both"] += worth and bool(kept)
        missed += [line.text] * (worth and not kept)
        wrong += [line.text] * (bool(kept) and not worth)
        if line.untrue and kept and (old := holding(talk[line.untrue - 1]) - kept):
            counts["changes"] += 1
            counts["superseded"] += any(entries[id].superseded_by for id in old)
    return missed, wrong


def main() -> None:
    """Print a line for each language."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lang", choices=("en", "zh"))
    parser.add_argument("--missed", action="store_true", help="list what is worth keeping and was not kept")
    parser.add_argument("--wrong", action="store_true", help="list what was kept and is not worth it")
    options = parser.parse_args()
    print("| language | sentences worth keeping | recall | precision | changes superseded |\n|---|---|---|---|---|")
    for language in [options.lang] if options.lang else ["en", "zh"]:
        counts: Counter[str] = Counter()
        for talk in talks(language):
            with tempfile.TemporaryDirectory() as folder:
                missed, wrong = judge(talk, counts, folder)
            for text in [*missed * options.missed, *wrong * options.wrong]:
                print(text)
        shares = [counts["both"] / counts["worth"], counts["both"] / counts["kept"]]
        cells = [f"{100 * share:.1f}" for share in (*shares, counts["superseded"] / max(1, counts["changes"]))]
        print(f"| {language} | {counts['worth']} | {' | '.join(cells)} of {counts['changes']} |")


if __name__ == "__main__":
    main()
