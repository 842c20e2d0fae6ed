"""What memories tell of talks in which the truth changes: right, stale, forgotten, invented, unknown.

Usage: python -m benchmarks.truth [--only memorybook …] [--lang en] [--talk en-violin] [--json FILE] [--page PAGE.md]

Every talk of `benchmarks/truth` (its README says what is labelled) is given to each system, in a store of its own, and
its questions are asked an hour after the last turn. A system tells at most `TOKENS` tokens a question, its best first.

- right: of the questions with an answer, those told one.
- stale: of the questions whose answer changed, those told a wrong value alone, or above the answer.
- forgotten but told: of the orders to forget, those after which the order or a question of the talk is told what was
  to be gone. memorybook hears the order in a chat; to the others it is one more turn, as they have no order to forget.
- invented: of the statements that nobody stands by (jokes, quotations, what the model made up), those told to any
  question in words that are not those of a turn.
- unknown but claimed: of the questions without an answer, those told anything. memorybook says itself whether it knows
  (`has_relevant`); the others say so by finding nothing.

Systems that keep turns get turns. Those that keep what a model extracts get the recorded extraction of each session,
the model's inventions with it, as statements in their order. Peers are run by their adapters beside `peers.py`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from benchmarks import environments, measure, peers, scenario_books, scenario_doors
from benchmarks.roster import PEERS, PLAIN
from benchmarks.scenarios import verdict
from memorybook.text.tokens import count_tokens

HERE = Path(__file__).parent
TOKENS = 400
RESULTS = 10
FIGURES = ("right", "stale", "forgotten but told", "invented", "unknown but claimed")
MODES = {"rules": "memorybook, rules", "model": "memorybook, recorded model"}
SYSTEMS = {
    "grep": ("stop words out", False),
    "basic_memory": ("hybrid", False),
    "memsearch": ("hybrid", False),
    "reme": ("hybrid", False),
    "mem0": ("hybrid", True),
    "langgraph": ("vectors of the text", True),
}
"""Name of a peer -> its setting in `roster.py`, and whether it is given what a model extracted."""

Row = dict[str, Any]
Lines = Sequence[str]


# --- scoring ---------------------------------------------------------------------------------------


def flat(text: str) -> str:
    """The text in lower case and without runs of white space."""
    return " ".join(text.lower().split())


def holds(lines: Lines, strings: Sequence[str]) -> bool:
    """Whether a line has one of the strings."""
    return any(each.lower() in line.lower() for line in lines for each in strings)


def quoted(line: str, turn: str) -> bool:
    """Whether a line gives a turn in its own words, whole or a part of it, behind its speaker or not."""
    said, told = flat(turn), flat(line)
    parts = (told, *(told.partition(mark)[2] for mark in (": ", "：")))
    return bool(said) and (said[:40] in told or any(part.strip("… ") in said for part in parts if part))


def invented(lines: Lines, label: Row, turns: Mapping[str, str]) -> bool:
    """Whether a line states what nobody stands by, otherwise than in the words of a turn."""
    return any(
        holds([line], label["match"]) and not any(quoted(line, turn) for turn in turns.values()) for line in lines
    )


def score(talk: scenario_books.Talk, told: Sequence[Row], after: Mapping[str, Sequence[Lines]]) -> Iterator[Row]:
    """A row for each thing that counts: its figure, whether it happened, and what was told.

    Args:
        talk: With its labels.
        told: `lines` and `claimed` for each question.
        after: Lines for the order and for each question once it was said, by order.
    """
    turns = {turn["id"]: turn["content"] for turn in talk.turns}

    def row(figure: str, happened: bool, about: str, lines: Lines) -> Row:
        return {
            "talk": talk.id,
            "lang": talk.lang,
            "figure": figure,
            "happened": happened,
            "about": about,
            "told": [*lines],
        }

    for question, answer in zip(talk.gold["questions"], told, strict=True):
        lines = answer["lines"]
        if not question["answerable"]:
            yield row("unknown but claimed", answer["claimed"], question["q"], lines)
            continue
        seen = verdict(lines, question)
        yield row("right", seen["right"], question["q"], lines)
        if question["wrong"]:
            yield row("stale", seen["misled"] or seen["old first"], question["q"], lines)
    for label in talk.gold["never"]:
        lines = [line for answer in told for line in answer["lines"] if invented([line], label, turns)]
        yield row("invented", bool(lines), label["statement"], lines)
    for order in talk.gold["forget"]:
        lines = [line for answer in after[order["order"]] for line in answer if holds([line], order["gone"])]
        yield row("forgotten but told", bool(lines), order["order"], lines)


# --- memorybook ------------------------------------------------------------------------------------


def memorybook_told(talk: scenario_books.Talk, mode: str, root: str) -> list[Row]:
    """The rows of a talk that was taken into a book by the rules, or with the recorded model."""
    beside = scenario_books.distractor(Path(root), talk.lang)
    after: dict[str, list[Lines]] = {}
    told: list[Row] = []
    for order in talk.gold["forget"]:
        with tempfile.TemporaryDirectory(dir=root) as folder:
            taken = scenario_books.Taken(talk, mode, beside, Path(folder))
            with taken.open() as memory:
                taken.take_in(memory)
                for question in [] if told else talk.gold["questions"]:
                    recalled = memory.recall(question["q"], max_tokens=TOKENS)
                    lines = beside.without(recalled.text, bare=True)
                    told.append({"lines": lines, "claimed": recalled.has_relevant})
            scenario_doors.say(taken, order)
            with taken.open() as memory:
                asked = [order["order"], *(question["q"] for question in talk.gold["questions"])]
                after[order["order"]] = [
                    beside.without(memory.recall(one, max_tokens=TOKENS).text, bare=True) for one in asked
                ]
    return list(score(talk, told, after))


# --- peers -----------------------------------------------------------------------------------------


def rows_of(talk: scenario_books.Talk, extracted: bool) -> list[Row]:
    """What a peer is given of a talk: its turns, or what the recorded model extracted from them."""
    given = []
    for session in talk.sessions:
        parts = [(turn["id"], turn["role"], turn["content"], turn["timestamp"]) for turn in session["turns"]]
        if extracted:
            end, found = parts[-1][3], talk.extractions[session["id"]]["candidates"]
            parts = [(f"{session['id']}-m{n}", "user", one["content"], end) for n, one in enumerate(found, 1)]
        given += [_row(session["id"], *part) for part in parts]
    return given


def _row(session: str, id: str, speaker: str, content: str, timestamp: str) -> Row:
    day = datetime.fromisoformat(timestamp).date().isoformat()
    return {
        "id": id, "text": content, "content": content, "speaker": speaker, "timestamp": timestamp,
        "session": session, "date": day,
    }  # fmt: skip


def packed(ids: Sequence[str], texts: Mapping[str, str]) -> list[str]:
    """The texts found, as many as fit."""
    left, lines = TOKENS, []
    for id in ids:
        left -= count_tokens(texts[id]) + 1
        if left < 0:
            break
        lines.append(texts[id])
    return lines


def peer_told(run: peers.Run, talks: Sequence[scenario_books.Talk], extracted: bool, work: Path) -> list[Row]:
    """The rows of all talks given to a peer. Raises NotInstalled, with why, if it does not get through."""
    places, texts = [], dict[str, str]()
    for talk in talks:
        rows = rows_of(talk, extracted)
        asked = [question["q"] for question in talk.gold["questions"]]
        last = talk.turns[-1]["timestamp"]
        cases = [(talk.id, rows, asked)]
        for number, order in enumerate(talk.gold["forget"]):
            said = _row(f"{talk.id}-order", f"{talk.id}-order{number}", "user", order["order"], last)
            cases.append((f"{talk.id}-after{number}", [*rows, said], [order["order"], *asked]))
        for name, given, questions in cases:
            texts |= {row["id"]: row["text"] for row in given}
            _write(work / f"{name}.jsonl", given)
            _write(work / f"{name}.questions.jsonl", [{"question": one} for one in questions])
            places.append(
                peers.Place(
                    name, {PLAIN: work / f"{name}.jsonl"}, work / f"{name}.questions.jsonl", [[]] * len(questions)
                )
            )
    for phase in ("fill", "ask"):
        answered = peers.job(run, phase, places, work, 60)
        if "failed" in answered:
            raise environments.NotInstalled(answered["failed"])
    found = iter(answered["answers"])
    scored: list[Row] = []
    for talk in talks:
        before = [packed(next(found), texts) for _ in talk.gold["questions"]]
        told = [{"lines": lines, "claimed": bool(lines)} for lines in before]
        after = {
            order["order"]: [packed(next(found), texts) for _ in range(1 + len(before))]
            for order in talk.gold["forget"]
        }
        scored += score(talk, told, after)
    return scored


def _write(path: Path, rows: Sequence[Row]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


# --- the command -----------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    """A line for each system and language: the share of every figure in percent."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["system"], row["lang"]), []).append(row)
    body = []
    for (system, lang), members in groups.items():
        some = {figure: [row["happened"] for row in members if row["figure"] == figure] for figure in FIGURES}
        shares = [f"{100 * measure.mean(each):.0f}" if each else "–" for each in some.values()]
        body.append([system, lang, len({row["talk"] for row in members}), *shares])
    return measure.table(["system", "language", "talks", *(f"{figure}, %" for figure in FIGURES)], body)


def run(
    chosen: Sequence[scenario_books.Talk], only: Sequence[str], jobs: int, envs: Path
) -> tuple[list[Row], list[str]]:
    """The rows of every system, and a line for each that could not be run."""
    rows: list[Row] = []
    missing: list[str] = []
    if "memorybook" in only:
        with tempfile.TemporaryDirectory() as root:
            for lang in sorted({talk.lang for talk in chosen}):
                scenario_books.build(HERE / "none", Path(root), lang)
            for mode, title in MODES.items():
                measure.say(title)
                done = scenario_books.spread(memorybook_told, [(talk, mode, root) for talk in chosen], jobs)
                rows += [{"system": title, **row} for part in done for row in part]
    for peer in PEERS:
        if peer.name not in SYSTEMS or peer.name not in only:
            continue
        name, extracted = SYSTEMS[peer.name]
        setting = next(each for each in peer.settings if each.name == name)
        measure.say(peer.title)
        try:
            environment = environments.prepare(peer, envs)
            with tempfile.TemporaryDirectory() as work:
                told = peer_told(peers.Run(peer, setting, PLAIN, environment), chosen, extracted, Path(work))
        except environments.NotInstalled as error:
            missing.append(f"- {peer.title}: {error}")
            continue
        rows += [{"system": f"{peer.title} {environment.version}", **row} for row in told]
    return rows, missing


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument(
        "--only", action="append", choices=["memorybook", *SYSTEMS], help="only this system; may be repeated"
    )
    made.add_argument("--lang", choices=("en", "zh"), help="only talks in this language")
    made.add_argument("--talk", action="append", dest="talks", help="only this talk; may be repeated")
    made.add_argument("--jobs", type=int, default=2, help="processes for memorybook (default: 2)")
    made.add_argument(
        "--envs", type=Path, default=environments.default_folder(), help="folder of the peers' environments"
    )
    made.add_argument("--json", type=Path, help="a file for all rows, with what was told")
    made.add_argument("--page", type=Path, help="a page with a place for the table, docs/benchmarks.md")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the arguments are those of the command line if None."""
    flags = parser()
    options = flags.parse_args(arguments)
    chosen = [
        talk
        for talk in scenario_books.talks(HERE)
        if options.lang in (None, talk.lang) and (not options.talks or talk.id in options.talks)
    ]
    if not chosen:
        flags.error("there is no such talk")
    rows, missing = run(chosen, options.only or ["memorybook", *SYSTEMS], options.jobs, options.envs)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    text = "\n".join([table(rows), *missing, "", measure.where_and_when(measure.machine())])
    print(text)
    if options.page:
        measure.refresh(options.page, "truth", text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
