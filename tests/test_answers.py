"""What stands in a text stands there in any common form and not by luck; the benchmark runs on next to nothing."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import answers, standing

TURNS = (
    ("t0", "Ann", "My sister plays the cello in an orchestra in Lisbon."),
    ("t1", "Bob", "The bakery on Mill Street sells rye bread on Fridays."),
    ("t2", "Ann", "I painted the kitchen yellow last weekend."),
    ("t3", "Bob", "我昨天在博物馆看了恐龙化石。"),
    ("t4", "Ann", "My sister left the orchestra and moved to Porto."),
)
ASKED: tuple[dict[str, Any], ...] = (
    {"id": "q0", "question": "Where is rye bread sold?", "category": "place", "relevant_ids": ["t1"]},
    {"id": "q1", "question": "What colour has the kitchen?", "category": "look", "relevant_ids": ["t2"]},
    {"id": "q2", "question": "What about the orchestra?", "category": "kin", "relevant_ids": ["t0"], "before_idx": 4},
    {"id": "q3", "question": "Nobody knows this", "category": "kin", "relevant_ids": []},
)
EVIDENCE = standing.Turn("I went to the new climbing gym near the harbour yesterday.", "1:56 pm on 8 May, 2023")
THERE = f"- [2023-05-08] Ann: {EVIDENCE.text} (turn:D1:3)"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set of one conversation and some answers."""
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    turns = [
        {"id": id, "session": "s", "speaker": speaker, "ts": f"2026-02-0{at + 1}", "idx": at, "text": text}
        for at, (id, speaker, text) in enumerate(TURNS)
    ]
    write_lines(folder / "corpus.jsonl", [{**turn, "scope": "one"} for turn in turns])
    write_lines(folder / "queries.jsonl", [{"scope": "one", **query} for query in ASKED])
    told = [{"id": "q0", "answer": "Mill Street bakery"}, {"id": "q1", "answer": "Blue", "corrected": "Yellow (t2)"}]
    write_lines(folder / "answers.jsonl", told)
    return folder.parent


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


def said(answer: str, text: str, question: str = "?") -> bool:
    return standing.is_said([answer], question, standing.lines_of(text))


def stands(answer: str, text: str, question: str = "?") -> bool:
    return standing.stands([answer], question, [EVIDENCE], standing.lines_of(text))


# --- what stands in a text -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "2023-05-07", "7 May 2023", "7May, 2023", "the 7th of May, 2023", "May 7, 2023", "May 7th 2023", "2023/5/7",
        "2023年05月07日",
    ],
)  # fmt: skip
def test_a_date_is_read_in_any_common_form(text: str) -> None:
    assert standing.dates(f"It was {text}, at 19:00") == {(2023, 5, 7)}


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("June 2023", (2023, 6, None)), ("2023年6月", (2023, 6, None)), ("08月25日", (None, 8, 25)),
        ("13 August", (None, 8, 13)), ("since 2016", (2016, None, None)),
    ],
)  # fmt: skip
def test_of_a_date_what_is_not_said_is_open(text: str, date: standing.Date) -> None:
    assert standing.dates(text) == {date}


@pytest.mark.parametrize("text", ["5 maybe", "she may 3 times", "12 marches", "1,999 steps", "a 5K run"])
def test_other_figures_are_no_dates(text: str) -> None:
    assert not {date for date in standing.dates(text) if date[0]}


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ("The “Blue Harbour” café", "- [2026-01-01] Ann: we met at the blue harbour café!"),
        ("three dogs", "- she has 3 dogs"),
        ("三个周", "- 持续时间是3个周。"),
        ("painted pots", "- Ann: I was painting a pot"),
        ("running, pottery", "- Ann: I like running\n- Bob: pottery is fun"),
        ("Lisbon; because her sister lives there", "- off to Lisbon"),
        ("世界之窗", "- [2024-04-02] 我: 我参观的景区是世界之窗。"),
    ],
)
def test_an_answer_is_said_in_these_or_much_the_same_words(answer: str, line: str) -> None:
    assert said(answer, line)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("a red bicycle", "- Ann: a red car\n- Bob: a bicycle"), ("running, pottery", "- Ann: I like running"),
        ("上海; 世界之窗", "- 我在上海。"), ("yes", "- yes, of course"), ("4个", "- 我有4个苹果"),
        ("7 May 2023", "- [2023-05-07] Bob: hello"), ("2024年04月13日 周六 19:00", "- 时间是2024-04-13 09:00。"),
        ("The week before 9 June 2023", "- it was on 9 June 2023"),
    ],
)  # fmt: skip
def test_an_answer_is_not_said_by_pieces_of_it(answer: str, text: str) -> None:
    assert not said(answer, text)


def test_a_turn_stands_in_one_line_that_holds_most_of_its_words() -> None:
    turn = standing.Turn("I painted the kitchen yellow last weekend")
    for text, share in (
        ("- [2026-02-03] Ann: I painted  the kitchen yellow last weekend. (turn:t2)", 100),
        ("- Ann painted the kitchen yellow the weekend before, the last one", 100),
        ("- painted the kitchen\n- yellow last weekend", 0),
    ):
        assert standing.share_of([turn], standing.lines_of(text)) == share


@pytest.mark.parametrize("answer", ["yes", "2", "a place for bouldering", "7 May 2023", "The day before 8 May 2023"])
def test_an_answer_follows_from_the_turns_it_rests_on(answer: str) -> None:
    assert stands(answer, THERE)
    assert not stands(answer, "- [2023-05-08] Ann: hello")


def test_a_date_follows_only_from_a_line_with_its_day() -> None:
    bare = f"- Ann: {EVIDENCE.text}"
    assert not stands("7 May 2023", bare)
    assert not stands("7 May 2023", f"- [2023-05-09] Ann: {EVIDENCE.text}")
    assert stands("7 May 2023", f"- [2023-05-07] Ann: {EVIDENCE.text}")
    assert stands("7 May 2023", f"### 8 May 2023\n- Ann: hello\n{bare}")


# --- the benchmark -------------------------------------------------------------------------------


def test_the_benchmark_judges_every_system_at_every_budget(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "answers.json"
    flags = [
        "--set", "tiny", "--set", "absent", "--budget", "200", "--budget", "600", "--jobs", "1", "--json", str(out),
    ]  # fmt: skip
    assert answers.main([str(data), *flags, "--held-out", "--categories"]) == 0
    printed = capsys.readouterr()
    assert "skipped absent" in printed.err
    assert "| tiny | 3 | answer | 600 | 100.0 | 100.0 | 100.0 |" in printed.out
    assert "| tiny | evidence | 600 | bm25 |" in printed.out
    rows = json.loads(out.read_text(encoding="utf-8"))["questions"]
    assert len(rows) == 3 * 3 * 2
    assert all(row["tokens"] <= row["budget"] and row["ms"] > 0 for row in rows)
    assert {row["answer"] for row in rows if row["id"] == "q2"} == {None}
    assert all(row["evidence"] == 100 for row in rows if row["budget"] == 600)


def test_a_question_knows_only_what_was_said_before(data: Path) -> None:
    asked = answers.questions(data / "tiny")
    texts: list[str] = []

    def judge(found: list[dict[str, Any]], *_: object) -> None:
        texts.extend(row.pop("text") for row in found if row["id"] == "q2")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(answers, "judge", judge)
        answers.run(data / "tiny", asked, [600], answers.SYSTEMS)
    assert len(texts) == 3
    assert all("Lisbon" in text and "Porto" not in text for text in texts)
