"""The benchmarks run, on next to nothing, and their figures are what they are said to be."""

from __future__ import annotations

import json
import math
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import memorybook
from benchmarks import (
    compare,
    conversations,
    corpus,
    detect,
    difference,
    intake,
    kept,
    knowing,
    measure,
    recall,
    server_load,
    small,
    speed,
)
from benchmarks.kept import Line
from memorybook.config.settings import Config

TURNS = (
    ("t0", "s1", "Ann", "My sister plays the cello in an orchestra in Lisbon."),
    ("t1", "s1", "Bob", "The bakery on Mill Street sells rye bread on Fridays."),
    ("t2", "s2", "Ann", "I painted the kitchen yellow last weekend."),
    ("t3", "s2", "Bob", "我昨天在博物馆看了恐龙化石。"),
    ("t4", "s3", "Ann", "My sister left the orchestra and moved to Porto."),
)
ASKED: tuple[dict[str, Any], ...] = (
    {"id": "q0", "question": "Where is rye bread sold?", "category": "place", "relevant_ids": ["t1"]},
    {"id": "q1", "question": "Which orchestra is my sister in?", "category": "kin", "relevant_ids": ["t0", "t4"]},
    {"id": "q2", "question": "在哪里看了恐龙？", "category": "place", "relevant_ids": ["t3"]},
    {"id": "q3", "question": "What about the orchestra?", "category": "kin", "relevant_ids": ["t0"], "before_idx": 4},
    {"id": "q4", "question": "Nobody knows this", "category": "kin", "relevant_ids": []},
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with one set of one conversation."""
    folder = tmp_path / "data" / "tiny"
    folder.mkdir(parents=True)
    turns = [
        {"id": id, "session": session, "speaker": speaker, "ts": f"2026-02-0{number + 1}", "idx": number, "text": text}
        for number, (id, session, speaker, text) in enumerate(TURNS)
    ]
    write_lines(folder / "corpus.jsonl", [{**turn, "scope": "one"} for turn in turns])
    write_lines(folder / "queries.jsonl", [{"scope": "one", **query} for query in ASKED])
    return folder.parent


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")


# --- recall --------------------------------------------------------------------------------------


def test_recall_is_the_share_of_what_is_relevant() -> None:
    assert recall.recall_at(["a", "b", "c"], ["c", "x"], 2) == 0
    assert recall.recall_at(["a", "b", "c"], ["c", "x"], 3) == 50


def test_gain_is_discounted_by_rank_and_complete_when_the_relevant_lead() -> None:
    assert recall.ndcg(["a", "b", "c"], ["a", "b"]) == pytest.approx(100)
    assert recall.ndcg(["x", "a"], ["a"]) == pytest.approx(100 / math.log2(3))
    assert recall.ndcg(["x"], ["a"]) == 0


def test_reciprocal_rank_looks_at_the_first_relevant() -> None:
    assert recall.reciprocal_rank(["x", "a", "b"], ["a", "b"]) == 50
    assert recall.reciprocal_rank(["x"], ["a"]) == 0


def test_the_four_recalls_are_asked_for_every_question_with_evidence(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    flags = ["--set", "tiny", "--setting", "words", "backend=sqlite_fts", "--only", "recall", "--out", str(out)]
    assert conversations.main([str(data), *flags]) == 0
    rows = json.loads((out / "conversations.json").read_text(encoding="utf-8"))["questions"]
    figures = {row["id"]: (row["topic sessions"], row["topic turns"], row["session sessions"]) for row in rows}
    assert set(figures) == {"q0", "q1", "q2", "q3"}
    assert figures["q0"][:2] == (100, 100)
    assert figures["q3"][0] == 100  # of the sessions before the question
    assert "| tiny | words | 4 |" in (out / "conversations.md").read_text(encoding="utf-8")


def test_recall_runs_and_keeps_every_question(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    code = recall.main([str(data), "--set", "tiny", "--set", "absent", "--held-out", "--out", str(out)])
    printed = capsys.readouterr()
    assert code == 0
    assert f"skipped absent: no {data / 'absent' / 'queries.jsonl'}" in printed.err
    assert "| tiny | hybrid | 4 |" in printed.out
    assert "`hybrid` against `words`" in printed.out
    assert (out / "recall.md").read_text(encoding="utf-8") + "\n" == printed.out
    assert (out / "recall.png").read_bytes().startswith(b"\x89PNG")
    rows = json.loads((out / "recall.json").read_text(encoding="utf-8"))["questions"]
    assert [(row["setting"], row["id"]) for row in rows] == [
        (setting, f"q{number}") for setting in ("words", "hybrid") for number in range(4)
    ]
    assert all(row["R@5"] == 100 and row["tokens"] > 0 and row["ms"] > 0 for row in rows)
    earlier = next(row for row in rows if row["id"] == "q3")
    assert "t0" in earlier["found"]
    assert "t4" not in earlier["found"]


def test_sets_are_averaged_with_equal_weight_and_a_page_is_filled(data: Path, tmp_path: Path) -> None:
    other = data / "other"
    other.mkdir()
    turns = (data / "tiny" / "corpus.jsonl").read_text(encoding="utf-8")
    (other / "one.jsonl").write_text(turns, encoding="utf-8")
    missing = {"id": "q", "scope": "one", "question": "rye bread", "relevant_ids": ["not there"]}
    write_lines(other / "queries.jsonl", [missing])
    page = tmp_path / "page.md"
    page.write_text("<!-- recall -->\n<!-- /recall -->\n", encoding="utf-8")
    words = ["--setting", "words", "backend=sqlite_fts"]
    assert recall.main([str(data), "--set", "tiny", "--set", "other", *words, "--page", str(page)]) == 0
    text = page.read_text(encoding="utf-8")
    assert "| other | words | 1 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 |" in text
    assert "Averaged over the sets:" in text
    averaged = text.partition("Averaged over the sets:")[2]
    assert next(line for line in averaged.splitlines() if line.startswith("| words |")).split(" | ")[3] == "50.0"


def test_nothing_to_ask_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert recall.main([str(tmp_path)]) == 1
    assert f"nothing to ask in {tmp_path}" in capsys.readouterr().err


# --- comparing -----------------------------------------------------------------------------------


def test_a_difference_that_every_question_shows_is_better() -> None:
    found = difference.difference([0.0, 50.0] * 20, [10.0, 60.0] * 20)
    assert (found.change, found.low, found.high, found.agree) == (10, 10, 10, 1)
    assert found.verdict == "better"
    assert difference.difference([10.0, 60.0] * 20, [0.0, 50.0] * 20).verdict == "worse"


def test_a_difference_that_questions_disagree_on_is_noise() -> None:
    found = difference.difference([0.0, 100.0] * 10, [100.0, 50.0] * 10)
    assert found.change == 25
    assert found.low < 0 < found.high
    assert found.verdict == "noise"


def test_two_runs_are_compared_by_set_category_and_question(tmp_path: Path) -> None:
    def run(name: str, *values: float) -> Path:
        rows = [
            {"set": "tiny", "setting": "hybrid", "id": f"q{n}", "category": "ab"[n % 2], "R@10": value}
            for n, value in enumerate(values)
        ]
        path = tmp_path / f"{name}.json"
        path.write_text(json.dumps({"questions": rows}), encoding="utf-8")
        return path

    text = difference.files(run("old", 0, 100, 0, 100), run("new", 50, 100, 50, 100, 0))
    assert "| tiny | all | 4 | 50.0 | 75.0 | +25.0 |" in text
    assert "| tiny | a | 2 | 0.0 | 50.0 | +50.0 | +50.0 … +50.0 | 100 % | better |" in text


# --- the corpus ----------------------------------------------------------------------------------


def test_the_corpus_is_the_same_every_time_and_one_in_five_is_chinese() -> None:
    said = list(corpus.passages(500))
    assert said == [corpus.passage(number) for number in range(500)]
    assert len({one.text for one in said}) == 500
    assert 70 <= sum(one.chinese for one in said) <= 130


def test_questions_ask_with_the_words_of_their_answer() -> None:
    asked = corpus.questions(300, 3)
    assert [question.kind for question in asked] == [*corpus.KINDS] * 3
    for question in asked:
        answer = corpus.passage(question.answer)
        told = [word for word in answer.words if word in question.text]
        assert len(told) >= {"three words": 3, "twelve with function words": 5}.get(question.kind, 6)
        assert answer.chinese == (question.kind == "six Chinese words")


@pytest.mark.parametrize("most", [None, 30, 0])
def test_a_book_of_the_corpus_holds_every_passage_once(most: int | None, tmp_path: Path) -> None:
    turned = corpus.turns_of(150, most)
    files = corpus.write_chats(tmp_path / "chats", turned)
    assert turned + corpus.write_documents(tmp_path / "book", 150, turned) == 150
    turns = [json.loads(line)["content"] for path in files for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(turns) == (75 if most is None else most)
    pages = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "book").rglob("*.md"))
    for said in corpus.passages(150):
        assert turns.count(said.text) + pages.count(said.text) == 1


# --- speed ---------------------------------------------------------------------------------------


def test_speed_runs_every_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "apart", lambda call, *arguments: {"peak_mb": 1.0, **call(*arguments)})
    small = ["--sizes", "40", "--questions", "1", "--repeat", "1", "--rounds", "2", "--files", "20"]
    code = speed.main([*small, "--out", str(tmp_path / "out"), "--work", str(tmp_path / "work")])
    printed = capsys.readouterr()
    assert code == 0, printed.err
    found = json.loads((tmp_path / "out" / "speed.json").read_text(encoding="utf-8"))
    steps = found["sizes"]["40"]
    assert {*steps} == {"ingest", "search", "cold", "append", "rebuild"}
    assert steps["append"]["found"] == steps["search"]["found"] == 100
    assert steps["rebuild"]["ratio"] > 0
    assert found["sync"]["files"] == 20
    assert "–" not in printed.out, "every cell has its figure"
    assert (tmp_path / "out" / "speed.png").read_bytes().startswith(b"\x89PNG")


# --- what they share -----------------------------------------------------------------------------


def test_percentiles_lie_between_neighbours() -> None:
    assert measure.percentile([4, 1, 3, 2], 0.5) == 2.5
    assert measure.percentile([7], 0.95) == 7
    assert math.isnan(measure.median([]))


def test_a_place_on_a_page_is_filled_and_nothing_else_changes(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- x -->\nold\n<!-- /x -->\nafter\n", encoding="utf-8")
    for text in ("new\n", "newer"):
        measure.refresh(page, "x", text)
    assert page.read_text(encoding="utf-8") == "before\n<!-- x -->\nnewer\n<!-- /x -->\nafter\n"
    with pytest.raises(ValueError, match="no place for 'y'"):
        measure.refresh(page, "y", "text")


def test_detection_is_counted_by_part_and_language(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = (
        ("a", "en", "What did we decide?", "topic"),
        ("b", "en", "where were we", "session"),
        ("c", "zh", "你好", None),
    )
    rows = [dict(zip(("id", "lang", "text", "scene"), row, strict=True)) for row in said]
    write_lines(tmp_path / "mine.jsonl", [*rows, {"id": "d", "lang": "en", "text": "rain", "scene": "within"}])
    flags = [str(tmp_path / "mine.jsonl"), "--part", "mine", "--failures", "--out", str(tmp_path)]
    assert detect.main(flags) == 0
    told = capsys.readouterr().out
    assert "| mine | en | 3 | 3 | 100.0 | 66.7 | 33.3 |" in told
    assert "d wanted within, found None: rain" in told
    assert {detect.part_of(f"en-{number:03}") for number in range(20)} == {"kept aside", "tuning"}
    assert len(json.loads((tmp_path / "detect.json").read_text(encoding="utf-8"))["inputs"]) == 4


IN_MEMORY = "storage.kind=memory"


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_small_books_answer_first_also_what_was_asked_before(
    lang: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shelf = [book for book in recall.lines(small.SHIPPED) if book["lang"] == lang and len(book["entries"]) <= 10]
    write_lines(tmp_path / "some.jsonl", shelf)
    flags = [str(tmp_path / "some.jsonl"), "--setting", "hybrid", IN_MEMORY, "--failures", "--out", str(tmp_path)]
    assert small.main(flags) == 0
    told = capsys.readouterr().out
    assert f"| kept aside | {lang} | hybrid | turns | yes |" in told
    rows = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))["questions"]
    for where, echoes, share in (("entries", False, 0.95), ("entries", True, 0.9), ("turns", True, 0.85)):
        asked = [row for row in rows if (row["kept"], row["echoes"]) == (where, echoes)]
        plain = [row["rank"] == 1 for row in asked if row["kind"] not in ("synonym", "none")]
        assert len(plain) >= 40
        assert sum(plain) >= share * len(plain), told
        assert {row["question"] for row in asked if row["kind"] == "none"} == {
            q for book in shelf for q in book["none"]
        }


def test_books_in_other_languages_answer_by_words_and_days_are_told(tmp_path: Path) -> None:
    shelf, words = tmp_path / "languages.jsonl", ["words", "backend=sqlite_fts", IN_MEMORY]
    books = small.SHIPPED.with_name("languages.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    shelf.write_text(
        "".join(book for book in books if json.loads(book)["lang"] in ("ja", "ko", "ru")), encoding="utf-8"
    )
    assert small.main([str(shelf), "--setting", *words, "--out", str(tmp_path)]) == 0
    rows = json.loads((tmp_path / "small.json").read_text(encoding="utf-8"))["questions"]
    for lang, know in (("ja", 0.9), ("ko", 0.85), ("ru", 0.8)):
        plain = [row for row in rows if row["lang"] == lang and row["kind"] not in ("synonym", "none")]
        assert sum(row["rank"] == 1 for row in plain) >= 0.93 * len(plain)
        assert sum(row["knows"] for row in plain) >= know * len(plain)
        assert sum(row["knows"] for row in rows if (row["lang"], row["kind"]) == (lang, "none")) <= 4


@pytest.mark.parametrize("direction", ["en to zh", "zh to en"])
def test_a_diary_in_two_languages_answers_in_either(direction: str, tmp_path: Path) -> None:
    shelf = [book for book in recall.lines(small.SHIPPED.with_name("languages.jsonl")) if book["lang"] == direction]
    settings = {"embeddings.model": "multilingual", "storage.kind": "memory"}
    asked = [*small.asked(shelf[0], settings, "multilingual", "turns")]
    across = [row for row in asked if row.kind != "none" and not row.echoes]
    assert len({row.question for row in across}) == 30
    assert sum(0 < row.rank <= 5 for row in across) >= 0.9 * len(across)
    assert sum(0 < row.rank <= 5 for row in across if row.kind == "day") >= 4


# --- a served book -------------------------------------------------------------------------------


def test_acknowledged_lines_are_looked_for_in_the_book(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path), config=Config(backend="scan")) as memory:
        for line in ("served 0 line 0", "served 1 line 1", "direct 0 line 0"):
            memory.append(line)
        [daily] = [info.path for info in memory.documents() if info.path.startswith("daily/")]
        memory.write_document(daily, memory.document(daily).text + "- 2026-02-24T10:00:00Z served 1 line 1\n")
    found = server_load.judged(str(tmp_path), ["served 0 line 0", "served 1 line 1", "served 2 line 2"])
    assert found == {"lost": 1, "twice": 1, "not_acknowledged": 1}
    assert server_load.quantiles([0.004, 0.001, 0.002]) == {"p50": 2.0, "p95": 4.0, "p99": 4.0, "max": 4.0}


# --- Two providers beside each other, as the benchmark compares them ------------------------------


SAID = (
    ("a", "user", "Remember that harbour-api runs on port 8443."),
    ("a", "assistant", "Noted."),
    ("b", "user", "I prefer green tea in the morning."),
)


@pytest.fixture
def chat(tmp_path: Path) -> Path:
    rows = [
        {"session": session, "role": role, "content": text, "timestamp": f"2026-02-23T09:0{number}:00Z"}
        for number, (session, role, text) in enumerate(SAID)
    ]
    path = tmp_path / "conv-1.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_two_providers_stand_beside_each_other(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(chat.parent), "--providers", "tiered, agentic"]) == 0
    out = capsys.readouterr().out
    assert "| entries | 2 | 2 |" in out
    assert "Remembered by both (2):" in out
    assert "Only by" not in out
    assert out.count("User: I prefer green tea in the morning.") == 2


def test_a_provider_that_fails_says_why_once(chat: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare.main([str(chat), "--providers", "flat,tiered", "--query", "which port?"]) == 0
    out = capsys.readouterr().out
    assert "| failed | 2 | 0 |" in out
    assert out.count("needs a language model") == 1
    assert "Only by tiered (2):" in out


# --- The benchmark of what goes into a book counts right, and on a few labelled talks nothing is amiss ---


DATA = Path(os.environ.get("MEMORYBOOK_DATA") or Path(__file__).parents[2] / "shared" / "data")

needs_talks = pytest.mark.skipif(
    not (DATA / "scenarios" / "talks.jsonl").is_file(), reason=f"no scenarios in {DATA}; set MEMORYBOOK_DATA"
)

GOLD: dict[str, Any] = {
    "remember": [{"fact": "On Thursdays.", "match": ["Thursdays"], "kind": "fact"}],
    "superseded": [
        {"old_match": ["Tuesdays"], "new_match": ["Wednesdays"]},
        {"old_match": ["Wednesdays"], "new_match": ["Thursdays"]},
    ],
    "never": [{"match": "\\bzig\\b", "why": "joke"}],
}


def test_entries_are_held_against_the_labels() -> None:
    found = intake.count(["On Thursdays.", "Written in Zig.", "On Tuesdays."], GOLD, ["On Wednesdays."])
    assert [one["kept"] for one in found["remember"]] == [True]
    assert [(one["old"], one["new"]) for one in found["superseded"]] == [(True, True), (False, True)]
    assert [one["kept"] for one in found["never"]] == [True]
    assert [one["right"] for one in found["entries"]] == [True, False, False]


def test_a_new_value_that_never_was_there_is_missed() -> None:
    found = intake.count(["On Thursdays."], GOLD)
    assert [(one["old"], one["new"]) for one in found["superseded"]] == [(False, False), (False, True)]


def rows(tmp_path: Path, *flags: str) -> list[dict[str, Any]]:
    out = tmp_path / "rows.json"
    assert intake.main([str(DATA), "--jobs", "1", "--json", str(out), *flags]) == 0
    found: list[dict[str, Any]] = json.loads(out.read_text(encoding="utf-8"))
    return found


TALKS = [flag for id in ("dev-en05", "dev-en10", "dev-en18", "dev-zh03", "dev-zh08", "dev-zh15")
         for flag in ("--talk", id)]  # fmt: skip


@needs_talks
def test_all_facts_and_changes_of_recorded_extractions_in_one_call_a_session(tmp_path: Path) -> None:
    for row in rows(tmp_path, "--mode", "model", *TALKS):
        assert all(one["kept"] for one in row["remember"])
        assert not any(one["old"] or not one["new"] for one in row["superseded"])
        assert (row["calls"], row["failed"]) == (row["sessions"], [])


@needs_talks
def test_nothing_of_a_misbehaving_answer_is_stored_and_it_is_said(tmp_path: Path) -> None:
    found = rows(tmp_path, "--mode", "bad", *TALKS)
    assert len(found) >= 8
    assert [row["id"] for row in found if any(row[name] for name in intake.WRONG)] == []


# --- The benchmark of what rules keep: its labelled talks can be read, and are judged sentence by sentence ---


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_line_has_a_label_and_what_it_makes_untrue_was_said_before(language: str) -> None:
    labels = {"-", "no", "with", "event", "fact", "preference", "instruction", "workflow", "decision", "plan", "todo"}
    for talk in kept.talks(language):
        assert {line.label for line in talk} <= labels
        assert all(line.untrue <= place for place, line in enumerate(talk))


def test_a_sentence_counts_as_kept_if_an_entry_says_it(tmp_path: Path) -> None:
    talk = [
        Line("U", "no", 0, "Could you look at the weather?"),
        Line("A", "-", 0, "It rains."),
        Line("U", "fact", 0, "My sister Ann is a vet in Lyon."),
        Line("U+", "no", 0, "I prefer tea."),
        Line("U", "fact", 0, "Maybe the blue one, who knows."),
    ]
    counts: Counter[str] = Counter()
    missed, wrong = kept.judge(talk, counts, str(tmp_path / "book"))
    assert (missed, wrong) == (["Maybe the blue one, who knows."], ["I prefer tea."])
    assert (counts["worth"], counts["kept"], counts["both"]) == (2, 2, 1)


# --- The benchmark of what a book knows: its figures are what they are said to be -----------------


def test_the_area_under_the_curve_is_the_share_of_pairs_in_order() -> None:
    assert knowing.auc([0.9, 0.5], [0.5, 0.1]) == pytest.approx(87.5)
    assert knowing.auc([0.1], [0.9]) == 0


def test_a_place_is_that_of_the_first_that_is_wanted() -> None:
    assert knowing.first_of(["a", None, "b"], ["b", "c"]) == 3
    assert knowing.first_of(["a"], ["b"]) == 0
    assert knowing.line_of(["# Memory", "- User: It is on Mondays."], ["It is on  Mondays."]) == 2


def test_a_talk_is_taken_in_and_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ("Yoga class is on Mondays", "I like plain tea", "Yoga class moved to Friday, Mondays are full")
    sessions = []
    for day, text in enumerate(said, 1):
        time = f"2026-03-0{day}T10:00:00+00:00"
        turn = {"id": f"t{day}", "role": "user", "content": text, "timestamp": time}
        sessions.append({"id": f"s{day}", "time": time, "turns": [turn]})
    changed = {"answerable": True, "answer": ["Friday"], "turns": ["t3"], "older": ["t1"]}
    unknown: dict[str, Any] = {"answerable": False, "answer": [], "turns": [], "older": []}
    questions = [
        {"id": "q1", "talk": "one", "question": "Which day is the yoga class?", **changed},
        {"id": "q3", "talk": "one", "question": "Which tea do I like?", **changed, "turns": ["t2"], "older": []},
        {"id": "q2", "talk": "one", "question": "Who repaired the submarine?", **unknown},
    ]
    for name, rows in (("talks", [{"id": "one", "lang": "en", "sessions": sessions}]), ("questions", questions)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    assert knowing.main([str(tmp_path), "--setting", "words", "backend=sqlite_fts"]) == 0
    [line] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| words | one")]
    assert line == "| words | one | 2 | 1 | 100.0 | 50.0 | 0.0 | 100.0 | 100.0 | 100.0 | 1 of 1 | 1 of 1 |"
