"""What a finished task taught, found by rules: orders in its goal, what its result says, an error that was overcome."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from memorybook.entries.candidate import Candidate, Importance
from memorybook.entries.read_reply import merged_by_text
from memorybook.entries.rules import by_rules, entities_of
from memorybook.model import Category, Turn
from memorybook.sessions.summarize import cut_at_sentence, title_of
from memorybook.text.sentences import MAX_LENGTH, compiled, content_size, is_chinese, sentences

MOST = 5
"""Memories of one task."""


class Task(NamedTuple):
    """A finished task.

    Attributes:
        goal: What was to be done; never blank.
        result: What came of it; "" if nothing was said.
        log: What was done, line by line.
        error: What ended it early; "" if it came to its end.
    """

    goal: str
    result: str = ""
    log: tuple[str, ...] = ()
    error: str = ""


def turns_of(task: Task) -> tuple[Turn, ...]:
    """The texts of a task as turns `goal`, `log`, `result`, `error`, by which memories say what they rest on."""
    said = (
        Turn(id="goal", session="", text=task.goal, role="user"),
        Turn(id="log", session="", text="\n".join(task.log), role="tool"),
        Turn(id="result", session="", text=task.result, role="assistant"),
        Turn(id="error", session="", text=task.error, role="tool"),
    )
    return tuple(turn for turn in said if turn.text)


_LABEL = r"^[\W\d]*(?:{})\W{{0,3}}[:：]"
"""How a line says what it is, as results in Markdown do."""

_DO = (
    r"(?:run|use|check|call|set|keep|add|commit|push|test|start|stop|build|deploy|restart|back|verify|ask|write|read|open|"
    r"close|lock|pin|install|update|import|pass|escape|validate|mock|reset|clear|flush|wait|retry|mask|log|migrate|send)"
)

_SIGNS: tuple[tuple[Category, Importance, str], ...] = (
    (
        "preference",
        "high",
        r"(?i:\b(?:the\s+)?user\s+(?:prefers|likes|dislikes|hates|wants|insists|asked\s+(?:for|to|that|not)|always|never)\b)"
        r"|(?:用户|客户)(?:更|很|不|最|比较)?(?:喜欢|偏好|偏爱|希望|要求|讨厌|习惯)",
    ),
    (
        "decision",
        "high",
        rf"(?i:{_LABEL.format('decision|decided|决定|决策')})|(?i:\b(?:decided\s+(?:to|on|that|against)|chose|settled\s+on|"
        r"opted\s+for|went\s+with|agreed\s+(?:to|on|that)|(?:switched|migrated|moved)\s+(?:\S+\s+){0,4}?to)\b)"
        r"|(?<!没)决定(?!不了)|选用|选定|改用|改为用|换成了?|敲定|最终(?:选|采)|统一(?:用|采用|改)",
    ),
    (
        "experience",
        "medium",
        rf"(?i:{_LABEL.format('(?:root )?cause|reason|fix|solution|resolution|workaround|diagnosis')}"
        rf"|{_LABEL.format('lessons?(?: learn(?:ed|t))?')})"
        rf"|{_LABEL.format('原因|根因|根本原因|问题原因|解决|解决办法|解决方案|解决方法|修复|修复方案|教训|经验|结论')}"
        r"|(?i:\b(?:root\s+cause|(?:was|were|is|got)\s+caused\s+by|turned\s+out|the\s+(?:fix|culprit|trick|solution|"
        r"workaround|problem|cause|reason)\s+(?:was|is)|(?:fixed|solved|resolved|worked\s+around|cured)\s+(?:\S+\s+){0,6}?by"
        r"|(?:did\s+not|didn't|does\s+not|doesn't)\s+(?:work|help)\s+because|learn(?:ed|t)\s+that|"
        r"(?:then|now|after\s+that)\s+(?:it|they|everything)\s+(?:works|worked|passes|passed|succeeds|succeeded))\b)"
        r"|根本?原因|根因|原因(?:是|在于|为)|(?:问题|错误)(?:出在|在于|是由)|原来是|由[^，。]{1,20}(?:引起|导致|造成)|"
        r"(?:解决|修复)(?:办法|方法|方案|方式)|通过[^，。]{2,30}(?:解决|修复|绕过)|[^，。]{2,30}后(?:问题)?就?(?:解决|恢复|正常|好了)|"
        r"教训|踩坑",
    ),
    (
        "workflow",
        "medium",
        rf"(?i:{_LABEL.format('procedure|process|workflow|(?:note )?for next time')})|{_LABEL.format('流程|步骤|做法')}"
        r"|(?i:\b(?:from\s+now\s+on|in\s+(?:the\s+)?future|next\s+time|going\s+forward|make\s+sure\s+(?:to|that)|"
        r"(?:must|has\s+to|have\s+to|needs?\s+to)\s+(?:always\s+|first\s+|never\s+)?(?:be\s+)?\w+\s+(?:\S+\s+){0,8}?"
        rf"(?:before|first|whenever|every\s+time)|(?:always|never)\s+{_DO})\b)"
        r"|以后|今后|下次|务必|每次[^，。]{0,12}(?:都|要|先|必须)|必须先|要先[^，。]{2,30}再|先[^，。]{2,20}再[^，。]{2,20}|流程(?:是|为)|步骤(?:是|为|如下)",
    ),
)
"""How results and logs say what they taught, best first; precision goes before recall."""

_ELSEWHERE = r"(?i:\b(?:you|your|yours)\b|^(?:they|he|she|these|those|that|this)\b)|[您你]|^[他她它]"
"""Advice to whoever reads the result, and what leans on the sentence before it: no way of working, no decision."""

_TROUBLE = (
    r"(?i:\b(?:\w*error|\w*exception|failed|failure|fatal|traceback|denied|refused|timed\s*out|timeout|cannot|panic)\b)"
    r"|报错|错误|异常|失败|超时|崩溃|拒绝"
)


def learnt(task: Task) -> list[Candidate]:
    """What the user ordered in the goal, what result and log say was learnt, and an error that was overcome.

    The most important first, at most `MOST`; each with the words of the task it rests on.
    """
    found = [one for one in _of_goal(task) if one.category not in ("todo", "context")]
    found += _signs(task, task.result)
    found += _signs(task, "\n".join(task.log))
    if not any(one.category == "experience" for one in found):
        found += _overcome(task)
    return sorted(merged_by_text(found), key=lambda one: -one.score)[:MOST]


def _of_goal(task: Task) -> Iterable[Candidate]:
    """What the user said of themselves, or ordered for good, when they set the task."""
    turn = Turn(id="goal", session="", text=task.goal, role="user", speaker="user")
    found = by_rules([turn], session=None, now=datetime(2000, 1, 1, tzinfo=UTC)).candidates
    return [
        one for one in found if one.category != "fact" or compiled(r"\b(?:I|[Mm]y|[Ww]e|[Oo]ur)\b|我").search(one.quote)
    ]


class _Sign(NamedTuple):
    """A sentence that says what was learnt: its place among the sentences, where it stands, and what it is."""

    place: int
    start: int
    end: int
    text: str
    category: Category
    importance: Importance


def _signs(task: Task, text: str) -> Iterator[Candidate]:
    """What a text says was learnt; cause and cure that follow each other as one."""
    group: list[_Sign] = []
    for sign in _of_sentences(text):
        if group and not _goes_on(group, sign):
            yield _learnt(task, text, group)
            group = []
        group.append(sign)
    if group:
        yield _learnt(task, text, group)


def _of_sentences(text: str) -> Iterator[_Sign]:
    for place, one in enumerate(sentences(text)):
        if one.question or content_size(one.text) < 4 or len(one.text) > MAX_LENGTH // 2:
            continue
        said = re.sub(r"\*\*|__", "", one.text)
        found = next((sign for sign in _SIGNS if compiled(sign[2]).search(said)), None)
        if found is not None and not (found[0] in ("workflow", "decision") and compiled(_ELSEWHERE).search(said)):
            yield _Sign(place, one.start, one.end, said, found[0], found[1])


def _goes_on(group: Sequence[_Sign], sign: _Sign) -> bool:
    last = group[-1]
    size = sum(len(one.text) for one in group) + len(sign.text)
    return last.category == sign.category == "experience" and last.place + 1 == sign.place and size <= MAX_LENGTH // 2


def _learnt(task: Task, text: str, group: Sequence[_Sign]) -> Candidate:
    told = group[0].text
    mark, space = ("；", "") if is_chinese(told) else (";", " ")
    for one in group[1:]:
        told += ("" if told[-1] in ".!;。！；" else mark) + space + one.text
    return _memory(task, told, text[group[0].start : group[-1].end], group[0].category, group[0].importance)


def _overcome(task: Task) -> Iterator[Candidate]:
    """The first error of the log, with what came of the task all the same; for a task that came to its end."""
    error = next((" ".join(line.split()) for line in task.log if is_trouble(line)), "")
    outcome = next((one.text for one in sentences(task.result) if content_size(one.text) >= 4), "")
    if not error or not outcome or task.error:
        return
    error, outcome = cut_at_sentence(error, 120), cut_at_sentence(outcome, 160)
    chinese = is_chinese(f"{task.goal} {outcome}")
    told = f"遇到「{error}」，结果：{outcome}" if chinese else f'ran into "{error}"; outcome: {outcome}'
    yield _experience(task, told, error.removesuffix("…"))


def failure(task: Task) -> Candidate:
    """The error that ended a task, as an experience."""
    error = cut_at_sentence(" ".join(task.error.split()), 200)
    told = f"失败：{error}" if is_chinese(task.goal) else f"failed with {error}"
    return _experience(task, told, error.removesuffix("…"))


def outcome(task: Task) -> Candidate:
    """What came of a task, or the last that is known of it, where nobody can say what it taught."""
    last = next((text for text in (task.result, *reversed(task.log), task.goal) if text.strip()), "")
    told = cut_at_sentence(" ".join(last.split()), 200)
    return _memory(task, told, told.removesuffix("…"), "experience", "low")


def _experience(task: Task, told: str, quote: str) -> Candidate:
    return _memory(task, told, quote, "experience", "medium")


def _memory(task: Task, told: str, quote: str, category: Category, importance: Importance) -> Candidate:
    """A statement under the goal of its task, so that it can be read by itself."""
    goal = title_of(" ".join(task.goal.split()))
    content = f"{goal}：{told}" if is_chinese(goal) else f"{goal}: {told}"
    return Candidate(
        content=" ".join(content.split()),
        category=category,
        importance=importance,
        turn_ids=("goal",),
        quote=" ".join(quote.split()),
        entities=entities_of(told),
    )


def is_trouble(line: str) -> bool:
    """Whether a line of a log tells of an error."""
    return compiled(_TROUBLE).search(line) is not None
