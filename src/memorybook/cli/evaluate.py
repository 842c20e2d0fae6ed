"""The verb evaluate: how well a book answers its owner's own questions, and questions drafted by the language model."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.cli.call import command, write
from memorybook.entries.read import Mask
from memorybook.entries.read_reply import TEXT, Step, ask, list_of, object_of, prompt_language
from memorybook.errors import InvalidInput, NotFound, Unavailable

if TYPE_CHECKING:
    from memorybook.cli.call import Call
    from memorybook.cli.show import Page
    from memorybook.memory import Memory

DEPTHS = (1, 5, 10)
"""Results within which an answer is looked for."""

SHOWN = 20
"""Results of each search."""

DRAFTED = 20
"""Questions drafted unless told otherwise; each rests on one entry."""


class Question(NamedTuple):
    """A question with what is known of its answer.

    Attributes:
        question: What is asked.
        answer: Strings of which any is right.
        wrong: Strings that no longer hold or never did.
        turns: Ids of turns, or of entries, that have the answer.
        answerable: Whether the book can know.
    """

    question: str
    answer: tuple[str, ...]
    wrong: tuple[str, ...]
    turns: tuple[str, ...]
    answerable: bool


# --- reading -----------------------------------------------------------------------------------------


def read_questions(text: str, name: str) -> list[Question]:
    """Read questions, a JSON object a line. Raises InvalidInput, with the line that cannot be used."""
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                found.append(_question(json.loads(line)))
            except (ValueError, RecursionError) as problem:
                raise InvalidInput(f"{name}:{number}: {problem}") from None
    if not found:
        raise InvalidInput(f"{name} has no questions: write one JSON object a line, as docs/evaluate.md shows")
    return found


def _question(row: Any) -> Question:
    if not isinstance(row, dict):
        raise ValueError("a question is a JSON object")
    asked = row.get("question", row.get("q"))
    if not isinstance(asked, str) or not asked.strip():
        raise ValueError('"question" must be a text')
    answer, wrong, turns = (_texts(row, name) for name in ("answer", "wrong", "turns"))
    answerable = row.get("answerable", bool(answer or turns))
    if not isinstance(answerable, bool) or answerable != bool(answer or turns):
        raise ValueError('give "answer" or "turns" for a question that is answerable, and neither for one that is not')
    return Question(asked, answer, wrong, turns, answerable)


def _texts(row: dict[str, Any], name: str) -> tuple[str, ...]:
    value = row.get(name) or []
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(each, str) and each.strip() for each in texts):
        raise ValueError(f'"{name}" must be a text or a list of texts')
    return tuple(texts)


def read_file(name: str) -> str:
    """Read a file, or stdin for `-`. Raises NotFound, InvalidInput."""
    try:
        return sys.stdin.buffer.read().decode() if name == "-" else Path(name).read_text(encoding="utf-8-sig")
    except OSError as error:
        raise NotFound(f"{name} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InvalidInput(f"{name} is not UTF-8 text") from None


# --- measuring ---------------------------------------------------------------------------------------


def evaluate(memory: Memory, questions: Sequence[Question], *, max_tokens: int | None = None) -> dict[str, Any]:
    """Ask every question and return the figures, in percent, with a row for each question.

    Nothing is written or counted as used. `recall`, `block` and `knowing` are explained in docs/evaluate.md.
    """
    rows = [_row(memory, question, max_tokens) for question in questions]
    sure, unsure = ([row for row in rows if row["answerable"] is one] for one in (True, False))
    told = [row for row in sure if row["right"] is not None]
    recall = {f"R@{depth}": _share([0 < row["rank"] <= depth for row in sure]) for depth in DEPTHS}
    recall["MRR"] = _share([1 / row["rank"] if row["rank"] else 0 for row in sure])
    return {
        "questions": len(rows),
        "answerable": len(sure),
        "recall": recall,
        "block": {
            **{name: _share([row[name] for row in told]) for name in ("right", "misled", "old_first")},
            "tokens": round(fmean(row["tokens"] for row in rows)),
        },
        "knowing": {
            "known": _share([row["claimed"] for row in sure]),
            "claimed": _share([row["claimed"] for row in unsure]),
            "AUC": _share([(a["knows"] > b["knows"]) + 0.5 * (a["knows"] == b["knows"]) for a in sure for b in unsure]),
        },
        "rows": rows,
    }


def _share(marks: Sequence[float]) -> float | None:
    return round(100 * fmean(marks), 1) if marks else None


def _row(memory: Memory, asked: Question, max_tokens: int | None) -> dict[str, Any]:
    found = memory.search(asked.question, max_results=SHOWN)
    block = memory.preview(asked.question, max_tokens=max_tokens)
    rank = 0
    for place, hit in enumerate(found.hits, 1):
        passage = hit.passage
        named = {passage.turn, passage.entry} & set(asked.turns)
        if named or (not asked.turns and _first([passage.text], asked.answer)):
            rank = place
            break
    right: bool | None = None
    misled = old_first = False
    if asked.answer:
        lines = [line.text for line in block.lines if line.part != "frame"]
        at, old = _first(lines, asked.answer), _first(lines, asked.wrong)
        right, misled, old_first = at > 0, bool(old) and not at, 0 < old < at
    return {
        "question": asked.question, "answerable": asked.answerable, "rank": rank, "right": right, "misled": misled,
        "old_first": old_first, "claimed": block.has_relevant, "knows": found.knows, "tokens": block.tokens,
    }  # fmt: skip


def _first(lines: Sequence[str], texts: Sequence[str]) -> int:
    """Place of the first line that holds one of the texts, from 1; 0 if none does. Case does not matter."""
    wanted = [" ".join(text.lower().split()) for text in texts]
    for place, line in enumerate(lines, 1):
        said = " ".join(line.lower().split())
        if any(each in said for each in wanted):
            return place
    return 0


# --- drafting ----------------------------------------------------------------------------------------


def drafts(memory: Memory, limit: int) -> Iterator[dict[str, Any]]:
    """Draft questions on the strongest entries with the language model, one request for every ten entries.

    An answer that does not occur in its entry is left out. Raises Unavailable without a model, LLMFailed.
    """
    context = memory.context
    llm = context.metered()
    if llm is None:
        raise Unavailable("to draft questions needs a language model and none is set (llm.model): write them yourself")
    mask = Mask(context).text
    known = sorted(memory.entries().entries, key=lambda one: -one.strength)[:limit]
    if not known:
        raise NotFound("the book has no entries to ask about yet")
    for start in range(0, len(known), 10):
        texts = {f"m{n}": one.entry for n, one in enumerate(known[start : start + 10], 1)}
        shown = "\n".join(f"{alias} {mask(' '.join(entry.text.split()))}" for alias, entry in texts.items())
        language = prompt_language(context.config.language, shown)
        said = {alias: entry.text for alias, entry in texts.items()}
        answer, _ = ask(llm, _DRAFT, language, shown, partial(_read, said))
        for alias, question, words in answer:
            yield {"question": question, "answer": [words], "turns": [texts[alias].id]}


def _read(said: dict[str, str], value: Any) -> list[tuple[str, str, str]]:
    """Return (alias, question, answer) of each draft that can be used. Raises ValueError if none can."""
    found: dict[str, tuple[str, str, str]] = {}
    for each in value["questions"] if isinstance(value, dict) and isinstance(value.get("questions"), list) else ():
        if isinstance(each, dict):
            alias, question, words = (str(each.get(name) or "").strip() for name in ("memory", "question", "answer"))
            copied = bool(question and words and alias in said and _first([said[alias]], [words]))
            if copied and not _first([question], [words]):
                found.setdefault(alias, (alias, question, words))
    if not found:
        raise ValueError("no question has an answer that is copied from its memory and does not occur in the question")
    return list(found.values())


_DRAFT = Step(
    "evaluate",
    {
        "en": "You write test questions for a memory. Below are statements that it keeps, each with its alias.\n"
        "For each one write a question that its owner might ask weeks later, in other words than the statement's.\n"
        "`memory` is the alias; `answer` is the shortest text that answers it, copied from the statement.\n"
        "The question must not contain the answer. Leave out statements about which nobody would ask.",
        "zh": "你为一个记忆库出测试题。下面是它保存的记忆，每条前面有编号。\n"
        "为每条写一个主人几周后可能会问的问题，措辞要和记忆不同。\n"
        "memory 是编号；answer 是能回答问题的最短文字，要从记忆中原样抄出。\n"
        "问题里不能出现答案。没人会问的记忆就略去。",
    },
    {"en": "Questions about the memories.", "zh": "关于这些记忆的问题。"},
    object_of(questions=list_of(object_of(memory=TEXT, question=TEXT, answer=TEXT))),
)


# --- the verb ----------------------------------------------------------------------------------------


def _shown(shown: dict[str, Any], page: Page) -> None:
    words = page.words
    head = words("{questions} questions, {answerable} of them answerable", **shown)
    page.line(("strong", head))

    def figure(value: float | None) -> str:
        return "–" if value is None else f"{value:g} %"

    recall, block, knowing = shown["recall"], shown["block"], shown["knowing"]
    page.line(("strong", words("recall: ")), ", ".join(f"{name} {figure(value)}" for name, value in recall.items()))
    told = {name: figure(block[name]) for name in ("right", "misled", "old_first")} | {"tokens": block["tokens"]}
    said = words("right {right}, misled {misled}, old first {old_first}, {tokens} tokens", **told)
    page.line(("strong", words("block: ")), said)
    said = words("known {known}, claimed {claimed}, AUC {AUC}", **{name: figure(one) for name, one in knowing.items()})
    page.line(("strong", words("knowing: ")), said)
    for row in shown["rows"]:
        if row["answerable"] and (row["right"] is False or not row["rank"]):
            page.line(("warn", words("missed: ")), row["question"])
        elif row["misled"] or row["old_first"]:
            page.line(("warn", words("told what is old: ")), row["question"])
        elif not row["answerable"] and row["claimed"]:
            page.line(("warn", words("claimed to know: ")), row["question"])


@command("evaluate", show=_shown)
def _evaluate(call: Call) -> dict[str, Any] | None:
    options = call.options
    if options.make == bool(options.questions):
        raise InvalidInput("give a file of questions, or --make to draft some")

    def work(memory: Memory) -> dict[str, Any] | None:
        if options.make:
            for row in drafts(memory, options.limit or DRAFTED):
                write(json.dumps(row, ensure_ascii=False) + "\n", encoding="utf-8")
            return None
        questions = read_questions(read_file(options.questions), options.questions)
        return evaluate(memory, questions, max_tokens=options.max_tokens)

    return call.unless_off(work)
