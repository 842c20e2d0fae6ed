"""What a book keeps of labelled talks.

Usage: python benchmarks/intake.py DATA [--mode model|rules|bad] [--lang en] [--talk dev-en01] [--json FILE]

DATA holds `scenarios` (its README says what is labelled). Each talk is taken into a book of its own, session by
session (the clock at the end of each): by `rules` without a model, and with a `model` that replays recorded
extractions. Counted are the entries that are active once all sessions were taken in:

- remembered: the share of facts that an entry states.
- stale: the share of changes of which the old value stands without the new, or the new one is missing; `old`: the share
  of which the old value stands.
- precision: the share of entries that state a fact or a new value, and nothing old or forbidden. What is true and has
  no label counts against it, so it is the least that it can be.
- against the rules, by why: how many of the forbidden were stored.
- calls: of the model, for each session.

In mode `bad` the model misbehaves: each of the answers of `bad_extractions.jsonl` is given for its session, in a book
that holds what the answer takes for known. Stored: answers of which something forbidden became an active entry or
stands in the summary; lost: of which something that was to stay did not; doubled: that made a known statement a second
entry or reinforced it; silent: of which nothing was said, neither that the session waits nor that something is left out
or waits for a person's word.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

if not __package__:  # run as a file: `benchmarks` is a package of the checkout
    sys.path[0] = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

import memorybook
from benchmarks import measure, recall
from benchmarks.scenario_books import (
    Row,
    Taken,
    Talk,
    add_flags,
    asked_talks,
    build,
    distractor,
    files,
    matches,
    spread,
)
from memorybook.entries.same import RELATED, likeness

MODES = ("rules", "model")
BAD = "bad"


# --- counting --------------------------------------------------------------------------------------


def count(book_entries: Sequence[str], gold: Mapping[str, Any], replaced: Sequence[str] = ()) -> Row:
    """Hold the texts of active entries against the labels of a talk.

    Args:
        book_entries: Texts of active entries.
        gold: The labels.
        replaced: Texts of entries in the place of which others stand: a new value may be replaced in its turn.

    Returns:
        A row for each label, with what became of it, by the names of the labels: `remember` (`kept`), `superseded`
        (`old`: the old value stands; `new`: the new one does, or was replaced in its turn), `never` (`kept`); and
        `entries`, each text with `right`, whether a label confirms it.
    """
    remember, superseded, never = gold["remember"], gold["superseded"], gold["never"]

    def old(change: Row, text: str) -> bool:
        return matches(change["old_match"], text) and not matches(change["new_match"], text)

    def right(text: str) -> bool:
        wanted = any(matches(one["match"], text) for one in remember)
        wanted = wanted or any(matches(one["new_match"], text) for one in superseded)
        wrong = any(old(one, text) for one in superseded) or any(matches(one["match"], text) for one in never)
        return wanted and not wrong

    return {
        "remember": [{**one, "kept": any(matches(one["match"], text) for text in book_entries)} for one in remember],
        "superseded": [
            {
                **one,
                "old": any(old(one, text) for text in book_entries),
                "new": any(matches(one["new_match"], text) for text in (*book_entries, *replaced)),
            }
            for one in superseded
        ],
        "never": [{**one, "kept": any(matches(one["match"], text) for text in book_entries)} for one in never],
        "entries": [{"text": text, "right": right(text)} for text in book_entries],
    }


def kept(memory: memorybook.Memory, taken: Taken) -> Row:
    """What of the labels the active entries of a talk's book hold, and the secrets that are anywhere on disk."""
    gold, model = taken.talk.gold, taken.model
    texts, replaced = (
        [one.entry.text for one in memory.entries(state=state).entries if one.entry.id not in taken.beside.entries]
        for state in ("active", "superseded")
    )
    on_disk = [path.read_bytes().decode("utf-8", "ignore") for path in files(taken.folder)]
    secrets = [
        one["match"] for one in gold["never"]
        if one["why"] == "secret" and any(matches(one["match"], text) for text in on_disk)
    ]  # fmt: skip
    about = {"talk": taken.talk.id, "lang": taken.talk.lang, "mode": taken.mode, "on disk": secrets}
    seen: Row = {"sessions": len(taken.talk.sessions), "calls": 0}
    if model is not None:
        seen |= {"shown": model.shown, "unshown": model.unshown, "failed": model.failed, "calls": model.calls}
    return {**about, **count(texts, gold, replaced), **seen}


# --- one talk --------------------------------------------------------------------------------------


def measured(talk: Talk, mode: str, root: str) -> Row:
    """The figures of a talk in one mode."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(dir=root) as folder:
        taken = Taken(talk, mode, distractor(Path(root), talk.lang), Path(folder))
        taken.settings["tidy.apply"] = "expire"  # how entries fade is none of it
        with taken.open() as memory:
            taken.take_in(memory)
            found = kept(memory, taken)
    measure.say(f"{talk.id} {mode}: {time.perf_counter() - began:.1f} s")
    return found


def run(chosen: Sequence[Talk], modes: Sequence[str], *, jobs: int) -> list[Row]:
    """The figures of these talks in these modes, in `jobs` processes; nothing else is in their books."""
    with tempfile.TemporaryDirectory() as root:
        for lang in sorted({talk.lang for talk in chosen}):
            build(Path(root) / "none", Path(root), lang)
        return spread(measured, [(talk, mode, root) for mode in modes for talk in chosen], jobs)


# --- answers that misbehave ------------------------------------------------------------------------


def answered(bad: Mapping[str, Any], talk: Talk, root: str) -> Row:
    """What a book does with one misbehaving answer."""
    turns = next(one["turns"] for one in talk.sessions if one["id"] == bad["session"])
    with tempfile.TemporaryDirectory(dir=root) as folder:
        taken = Taken(talk, "model", distractor(Path(root), talk.lang), Path(folder))
        taken.clock.now = datetime.fromisoformat(turns[0]["timestamp"]) - timedelta(days=30)
        with taken.open() as memory:
            known = {memory.remember(text).known.entry.id: text for text in bad["known"]}
            taken.clock.now = datetime.fromisoformat(turns[-1]["timestamp"]) + timedelta(minutes=1)
            taken.expect(bad["answer"])
            done = memory.process_session_end(turns, bad["session"])
            entries = {one.entry.id: one.entry for one in memory.entries(state="active").entries}
            summary = memory.get(done.summary).json()["text"] if done.summary else ""
    new = [one.text for id, one in entries.items() if id not in known and id not in taken.beside.entries]
    again = [one for one in new if any(likeness(one, text, None) >= RELATED for text in known.values())]
    about = summary if bad["kind"] == "invented_summary_decisions" else ""
    return {
        "id": bad["id"], "lang": talk.lang, "kind": bad["kind"], "entries": new,
        "stored": [one for one in bad["must_not_store"] if any(matches(one, text) for text in (*new, about))],
        "lost": [text for text in bad["must_stay"] if text not in [one.text for one in entries.values()]],
        "doubled": bad["kind"] == "echo" and bool(again or (done.reinforced and bad["id"] not in SAID_AGAIN)),
        "silent": not (done.queued or done.proposals or done.discarded or bad["id"] in SAID_AGAIN),
    }  # fmt: skip


SAID_AGAIN = ("bad-23",)
"""Echoes of what was indeed said again: nothing is wrong with them but that they may not be stored twice."""


def bad_table(rows: Sequence[Row]) -> str:
    """A line for each kind of misbehaviour."""
    body = []
    for kind in sorted({row["kind"] for row in rows}):
        members = [row for row in rows if row["kind"] == kind]
        body.append([kind, len(members), *(sum(bool(row[name]) for row in members) for name in WRONG)])
    body.append(["all", len(rows), *(sum(bool(row[name]) for row in rows) for name in WRONG)])
    return measure.table(["kind", "answers", *WRONG], body)


WRONG = ("stored", "lost", "doubled", "silent")


def run_bad(folder: Path, chosen: Sequence[Talk], *, jobs: int) -> list[Row]:
    """What becomes of the misbehaving answers for these talks."""
    by_id = {talk.id: talk for talk in chosen}
    bad = [row for row in recall.lines(folder / "bad_extractions.jsonl") if row["talk"] in by_id]
    with tempfile.TemporaryDirectory() as root:
        for lang in sorted({talk.lang for talk in chosen}):
            build(Path(root) / "none", Path(root), lang)
        return spread(answered, [(row, by_id[row["talk"]], root) for row in bad], jobs)


# --- tables ----------------------------------------------------------------------------------------


def percent(flags: Iterable[bool]) -> str:
    """The share that is true."""
    return f"{measure.mean([100.0 * flag for flag in flags]):.1f}"


def grouped(rows: Iterable[Row]) -> dict[tuple[str, str], list[Row]]:
    """By language and mode, with all languages of a mode together where there are several."""
    groups: dict[tuple[str, str], list[Row]] = {}
    listed = list(rows)
    for row in listed:
        groups.setdefault((row["mode"], row["lang"]), []).append(row)
    for mode in {mode for mode, _ in groups}:
        if sum(key[0] == mode for key in groups) > 1:
            groups[mode, "both"] = [row for row in listed if row["mode"] == mode]
    return dict(sorted(groups.items(), key=lambda group: (-MODES.index(group[0][0]), *group[0]), reverse=True))


def kept_table(rows: Sequence[Row]) -> str:
    """A line for each mode and language."""
    whys = sorted({one["why"] for row in rows for one in row["never"]})
    body = []
    for (mode, lang), members in grouped(rows).items():
        facts, changes, never, entries = (
            [one for row in members for one in row[name]] for name in ("remember", "superseded", "never", "entries")
        )
        against, of = Counter(one["why"] for one in never if one["kept"]), Counter(one["why"] for one in never)
        figures = [
            percent(one["kept"] for one in facts),
            percent(one["old"] or not one["new"] for one in changes),
            percent(one["old"] for one in changes),
            percent(one["right"] for one in entries),
            len(entries),
            measure.significant(sum(row["calls"] for row in members) / sum(row["sessions"] for row in members)),
            sum(len(row["on disk"]) for row in members),
        ]
        body.append([mode, lang, *figures, *(f"{against[why]}/{of[why]}" for why in whys)])
    head = ["mode", "lang", "remembered", "stale", "old", "precision", "entries", "calls", "secrets on disk", *whys]
    return measure.table(head, body) + by_kind(rows)


def by_kind(rows: Sequence[Row]) -> str:
    """What is remembered, by the kind of fact."""
    kinds = sorted({one["kind"] for row in rows for one in row["remember"]})
    body = [
        [*key, *(percent(one["kept"] for row in members for one in row["remember"] if one["kind"] == kind)
                 for kind in kinds)]
        for key, members in grouped(rows).items()
    ]  # fmt: skip
    return "\nRemembered, by kind:\n\n" + measure.table(["mode", "lang", *kinds], body)


# --- the command -----------------------------------------------------------------------------------


def parser() -> argparse.ArgumentParser:
    """The flags."""
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_flags(made)
    made.add_argument("--mode", choices=(*MODES, BAD), help="only this mode")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; the arguments are those of the command line if None."""
    flags = parser()
    options = flags.parse_args(arguments)
    chosen = asked_talks(flags, options)
    if not chosen:
        return 0
    if options.mode == BAD:
        rows = run_bad(options.data / "scenarios", chosen, jobs=options.jobs)
    else:
        rows = run(chosen, [options.mode] if options.mode else MODES, jobs=options.jobs)
    if options.json:
        options.json.write_text(json.dumps(rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    table = bad_table if options.mode == BAD else kept_table
    print("\n".join([table(rows), measure.where_and_when(measure.machine())]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
