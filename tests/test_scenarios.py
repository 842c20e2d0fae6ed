"""The benchmark of labelled talks runs, on one made-up talk, and its figures are what they are said to be."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scenario_books, scenario_doors, scenarios

DATA = Path(os.environ.get("MEMORYBOOK_DATA") or Path(__file__).parents[2] / "shared" / "data")

SAID = (
    ("s1", "user", "Our tutor Ragnhild comes on Tuesdays at seven."),
    ("s1", "assistant", "Noted."),
    ("s1", "user", "The boiler is serviced by Hartley in the spring."),
    ("s2", "user", "Ragnhild moved us to Thursdays at eight from now on."),
    ("s2", "assistant", "I will keep that in mind."),
)
TUESDAY, BOILER = "The user's tutor Ragnhild comes on Tuesdays at seven.", "The user's boiler is serviced by Hartley."
THURSDAY = "The user's tutor Ragnhild comes on Thursdays at eight."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one labelled talk and no distractors."""
    turns = [
        {"id": f"dev-t-{n}", "role": role, "content": text, "timestamp": f"2026-0{3 + int(session[1])}-02T10:0{n}:00Z"}
        for n, (session, role, text) in enumerate(SAID)
    ]
    sessions = [
        {"id": name, "time": part[0]["timestamp"], "turns": part}
        for name, part in (("s1", turns[:3]), ("s2", turns[3:]))
    ]
    gold: dict[str, Any] = {
        "id": "dev-t",
        "remember": [{"fact": THURSDAY, "match": ["Thursdays"], "from_turn": "dev-t-3", "kind": "fact"}],
        "superseded": [{"old_match": ["Tuesdays"], "new_match": ["Thursdays"]}],
        "never": [{"match": ["Noted"], "why": "paraphrase", "turn": "dev-t-1"}],
        "questions": [
            {"q": "When does Ragnhild come?", "answer": ["Thursdays"], "wrong": ["Tuesdays"], "turns": ["dev-t-3"]},
            {"q": "Who services the boiler?", "answer": ["Hartley"], "wrong": [], "turns": ["dev-t-2"]},
            {"q": "What does the dentist charge?", "answer": [], "wrong": [], "turns": []},
        ],
        "forget": [{"order": "Forget what I told you about Ragnhild.", "gone": ["Thursdays", "Tuesdays"]}],
    }  # fmt: skip
    for question in gold["questions"]:
        question["answerable"] = bool(question["answer"])
    extractions = [
        _extraction("s1", [_candidate(TUESDAY, "dev-t-0"), _candidate(BOILER, "dev-t-2")]),
        _extraction("s2", [_candidate(THURSDAY, "dev-t-3", [TUESDAY])]),
    ]
    folder = tmp_path / "data" / "scenarios"
    folder.mkdir(parents=True)
    talk = {"id": "dev-t", "lang": "en", "domain": "family", "sessions": sessions}
    for name, rows in (("talks", [talk]), ("gold", [gold]), ("extractions", extractions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return folder.parent


def _candidate(text: str, turn: str, supersedes: list[str] | None = None) -> dict[str, Any]:
    quote = next(said for n, (_, _, said) in enumerate(SAID) if turn.endswith(str(n)))
    about = {"content": text, "category": "fact", "importance": "high", "quote": quote}
    return {**about, "turns": [turn], "supersedes": supersedes or []}


def _extraction(session: str, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "dev-t", "session": session, "summary": "", "decisions": [], "candidates": candidates, "forget": []}


def ran(data: Path, out: Path, *flags: str) -> dict[str, list[dict[str, Any]]]:
    """The rows of a run."""
    assert scenarios.main([str(data), "--jobs", "1", "--json", str(out), *flags]) == 0
    found: dict[str, list[dict[str, Any]]] = json.loads(out.read_text(encoding="utf-8"))
    return found


# --- a question ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["the port is 7314"], (True, False, False)), (["the port is 7341"], (False, True, False)),
        (["the port is 7341", "no, 7314"], (True, False, True)), (["not 7341 but 7314"], (True, False, False)),
        (["7314", "7341"], (True, False, False)), ([], (False, False, False)),
    ],
)  # fmt: skip
def test_an_answer_is_right_unless_only_a_wrong_value_is_told(
    lines: list[str], expected: tuple[bool, bool, bool]
) -> None:
    found = scenarios.verdict(lines, {"answer": ["7314"], "wrong": ["7341"]})
    assert tuple(found.values()) == expected


def test_lines_of_the_distractor_are_known_by_their_place_and_by_their_text(tmp_path: Path) -> None:
    beside = scenario_books.Distractor(tmp_path, "en", ["I saw a greenhouse in the park."])
    text = "\n".join(
        (
            "- [2023-05-08] Ann: I saw a greenhouse in the park. (turn:x1)",
            "- [2023-05-08] Ann: a greenhouse (turn:D1:3)",
            "- [2026-05-08] user: my greenhouse is green (turn:dev-t-1)",
        )
    )
    assert beside.without(text, bare=True) == ["user: my greenhouse is green"]


def test_an_echo_of_the_question_is_not_told_and_figures_stand_alone(tmp_path: Path) -> None:
    judge = scenario_doors.Judge(["greenhouse", "7314"], scenario_books.Distractor(tmp_path, "en", []))
    assert judge.lines("about: my greenhouse?", echo="my greenhouse?") == []
    assert judge.lines("id a7314f, at 2026-01-01T00:00:00Z") == []
    assert judge.lines("port 7314.\nfine") == ["port 7314."]


# --- a talk ----------------------------------------------------------------------------------------


def test_a_talk_is_asked_in_both_modes(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ran(data, tmp_path / "rows.json", "--only", "told")
    assert "| model | en | block | 2 | 100.0 |" in capsys.readouterr().out
    assert all(row["whole"]["right"] for row in rows["told"] if row["answerable"])
    assert rows["forget"] == []
    [kept] = [row for row in rows["kept"] if row["mode"] == "model"]
    assert (kept["shown"], kept["unshown"]) == (1, 0)  # what is superseded is named by its alias
    assert [one["kept"] for one in kept["remember"]] == [True]
    assert [one["kept"] for one in kept["never"]] == [False]
    texts = [one["text"] for one in kept["entries"]]
    assert THURSDAY in texts
    assert TUESDAY not in texts


def test_every_door_is_asked_after_an_order_to_forget(data: Path, tmp_path: Path) -> None:
    rows = ran(data, tmp_path / "rows.json", "--only", "forget", "--mode", "model")
    [row] = rows["forget"]
    assert row["heard"]
    assert set(row["passes"]) == set(scenario_doors.PASSES)
    assert all(set(doors) == {*scenario_doors.ASKED, *scenario_doors.ONCE} for doors in row["passes"].values())
    assert row["passes"]["said"]["entries"] == 0
    assert row["outside"]["questions"] == 1
    assert row["outside"]["before"] == row["outside"]["said"] == 1


@pytest.mark.skipif(
    not (DATA / "scenarios" / "talks.jsonl").is_file(), reason=f"no scenarios in {DATA}; set MEMORYBOOK_DATA"
)
@pytest.mark.parametrize("talk", ["dev-en01", "dev-zh01"])
def test_the_labels_of_a_real_talk_hold(talk: str, tmp_path: Path) -> None:
    rows = ran(DATA, tmp_path / "rows.json", "--only", "told", "--mode", "model", "--talk", talk)
    sure = [row for row in rows["told"] if row["answerable"]]
    assert sure
    assert all(row["whole"]["right"] for row in sure)
    assert any(row["block"]["right"] for row in sure)
