"""`memorybook evaluate`: the figures of one's own questions, and questions drafted by a model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from cli.conftest import Shell
from memorybook.cli import evaluate
from memorybook.errors import InvalidInput, NotFound, Unavailable
from memorybook.testing import ScriptedLLM

BOOKS = {
    "en": (
        "The boiler is serviced by Hartley in May.",
        "Who is the boiler serviced by?",
        "Hartley",
        "What does the tandem's saddle weigh?",
    ),
    "zh": ("锅炉由哈特利公司在五月检修。", "锅炉由谁检修？", "哈特利", "双人自行车的座垫多重？"),
}


@pytest.fixture(params=BOOKS)
def asked(
    request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[tuple[memorybook.Memory, tuple[str, str, str, str]]]:
    """A book with one entry, and what is asked of it."""
    with memorybook.open(str(tmp_path / "book")) as memory:
        memory.remember(BOOKS[request.param][0])
        yield memory, BOOKS[request.param]


def questions(*rows: dict[str, Any]) -> list[evaluate.Question]:
    return evaluate.read_questions("\n".join(json.dumps(row, ensure_ascii=False) for row in rows), "q.jsonl")


def test_a_book_that_knows_gets_full_marks(asked: tuple[memorybook.Memory, tuple[str, str, str, str]]) -> None:
    memory, (_, question, answer, unknown) = asked
    [before] = memory.entries().entries
    figures = evaluate.evaluate(memory, questions({"question": question, "answer": answer}, {"question": unknown}))
    assert (figures["questions"], figures["answerable"]) == (2, 1)
    assert figures["recall"] == {"R@1": 100, "R@5": 100, "R@10": 100, "MRR": 100}
    assert figures["block"] | {"tokens": 0} == {"right": 100, "misled": 0, "old_first": 0, "tokens": 0}
    assert figures["knowing"] == {"known": 100, "claimed": 0, "AUC": 100}
    assert list(memory.entries().entries) == [before]  # nothing counts as used


def test_an_answer_that_the_book_lacks_is_missed_and_a_wrong_one_misleads(
    asked: tuple[memorybook.Memory, tuple[str, str, str, str]],
) -> None:
    memory, (_, question, answer, _) = asked
    figures = evaluate.evaluate(memory, questions({"question": question, "answer": "Pettigrew", "wrong": [answer]}))
    assert figures["recall"]["R@10"] == 0
    assert (figures["block"]["right"], figures["block"]["misled"]) == (0, 100)
    assert figures["knowing"]["claimed"] is figures["knowing"]["AUC"] is None


def test_ids_of_turns_or_entries_say_what_is_relevant(
    asked: tuple[memorybook.Memory, tuple[str, str, str, str]],
) -> None:
    memory, (_, question, _, _) = asked
    [known] = memory.entries().entries
    assert (
        evaluate.evaluate(memory, questions({"question": question, "turns": [known.entry.id]}))["recall"]["R@1"] == 100
    )
    assert evaluate.evaluate(memory, questions({"question": question, "turns": ["other"]}))["recall"]["R@1"] == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "has no questions"), ("[]", "q.jsonl:1: a question is a JSON object"), ("{}", '"question" must be a text'),
        ('{"question": "x", "answer": 3}', '"answer" must be'),
        ('{"question": "x", "answerable": true}', 'give "answer" or "turns"'), ("\n{", "q.jsonl:2: "),
    ],
)  # fmt: skip
def test_questions_that_cannot_be_used_are_named(text: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        evaluate.read_questions(text, "q.jsonl")


def test_a_model_drafts_questions_whose_answers_stand_in_the_entry(
    asked: tuple[memorybook.Memory, tuple[str, str, str, str]],
) -> None:
    memory, (text, question, answer, _) = asked
    [known] = memory.entries().entries
    good = {"memory": "m1", "question": question, "answer": answer}
    model = ScriptedLLM(
        [{"questions": [{"memory": "m1", "question": question, "answer": "Rome"}]}, {"questions": [{**good}]}]
    )
    with memorybook.open(str(memory.root), llm=model) as modelled:
        drafted = list(evaluate.drafts(modelled, 5))
    assert drafted == [{"question": question, "answer": [answer], "turns": [known.entry.id]}]
    assert text in str(model.requests[0].messages)
    figures = evaluate.evaluate(
        memory, questions({"question": question, "answer": [answer], "turns": [known.entry.id]})
    )
    assert figures["recall"]["R@1"] == 100


def test_without_a_model_or_entries_nothing_is_drafted(tmp_path: Path) -> None:
    with memorybook.open(str(tmp_path / "book")) as memory:
        memory.remember("x is y")
        with pytest.raises(Unavailable, match=r"needs a language model and none is set \(llm.model\)"):
            list(evaluate.drafts(memory, 5))
    with memorybook.open(str(tmp_path / "empty"), llm=ScriptedLLM([])) as memory:
        memory.init()
        with pytest.raises(NotFound, match="no entries"):
            list(evaluate.drafts(memory, 5))


def test_the_command(shell: Shell, tmp_path: Path) -> None:
    book, file = str(tmp_path / "book"), tmp_path / "q.jsonl"
    shell("--book", book, "add", "The boiler is serviced by Hartley.")
    rows = [
        {"question": "Who services the boiler?", "answer": "Hartley"},
        {"question": "Who fixes it?", "answer": "Ann"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    done = shell("--book", book, "evaluate", str(file))
    assert done.code == 0
    assert "2 questions, 2 of them answerable" in done.out
    assert "recall: R@1 50 %" in done.out
    assert "missed: Who fixes it?" in done.out
    assert json.loads(shell("--book", book, "evaluate", str(file), "--json").out)["questions"] == 2
    assert json.loads(shell("--book", book, "evaluate", "-", "--json", stdin=file.read_bytes()).out)["answerable"] == 2


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "give a file of questions, or --make"),
        (("q.jsonl", "--make"), "give a file of questions, or --make"),
        (("nowhere.jsonl",), "nowhere.jsonl cannot be read"),
        (("--make",), "needs a language model"),
    ],
)
def test_calls_that_cannot_be_carried_out_say_why(
    shell: Shell, tmp_path: Path, words: tuple[str, ...], told: str
) -> None:
    book = str(tmp_path / "book")
    shell("--book", book, "add", "The boiler is serviced by Hartley.")
    done = shell("--book", book, "evaluate", *words)
    assert done.code
    assert told in done.err
