"""What is remembered, as prompts and callers want it: the strongest entries, one by one or as one text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from memorybook.errors import InvalidInput
from memorybook.lifecycle import fade
from memorybook.model import CATEGORIES, Category
from memorybook.recall.format import fenced
from memorybook.text.screen import screen
from memorybook.verbs.read import known, language_of, prompt_memories

if TYPE_CHECKING:
    from memorybook.answers import Known
    from memorybook.memory import Memory

_HEADINGS: Mapping[str, Mapping[Category, str]] = {
    "en": {
        "preference": "Preferences",
        "fact": "Facts",
        "decision": "Decisions",
        "experience": "Experiences",
        "workflow": "Ways of working",
        "skill_usage": "Use of tools",
        "todo": "To do",
        "context": "As things stand",
    },
    "zh": {
        "preference": "偏好",
        "fact": "事实",
        "decision": "决定",
        "experience": "经验",
        "workflow": "做事方式",
        "skill_usage": "工具用法",
        "todo": "待办",
        "context": "现状",
    },
}


def get_prompt_memories(memory: Memory, top_k: int = fade.PROMPT_BEST) -> tuple[Known, ...]:
    """See `Memory.get_prompt_memories`."""
    _check(top_k, "top_k")
    book = memory.book
    return tuple(prompt_memories(known(book, book.memory().entries), today=book.now().date(), limit=top_k))


def summarize_existing(memory: Memory, limit: int = 50) -> str:
    """See `Memory.summarize_existing`."""
    _check(limit, "limit")
    book = memory.book
    held = [
        each
        for each in known(book, book.memory().entries)
        if each.entry.state == "active" and each.entry.trust != "suspect" and not screen(each.entry.text)
    ]
    held.sort(key=lambda each: (-each.strength, each.entry.id))
    best = held[:limit]
    if not best:
        return ""
    language = language_of(memory.config.language, [each.entry.text for each in best])
    lines = [_opening(language, len(best), len(held))]
    for category in CATEGORIES:
        texts = [fenced(each.entry.text) for each in best if each.entry.category == category]
        if texts:
            lines += ["", f"## {_HEADINGS[language][category]}", *(f"- {text}" for text in texts)]
    return "\n".join(lines)


def _opening(language: str, shown: int, held: int) -> str:
    if language == "zh":
        return f"已有记忆 {held} 条：" if shown == held else f"已有记忆 {held} 条，以下是最强的 {shown} 条："
    return f"{held} known:" if shown == held else f"{held} known, the strongest {shown} of them:"


def _check(number: int, name: str) -> None:
    if number < 1:
        raise InvalidInput(f"{name} {number} is below 1")
