"""A language model that answers extractions with what was recorded, in the aliases of the prompt it is shown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memorybook.entries.same import squeezed
from memorybook.errors import LLMFailed
from memorybook.testing import ScriptedLLM

Row = dict[str, Any]

Texts = Mapping[str, str]
"""What was said, by the id of the turn or the alias that a prompt gives it."""


class Recorded(ScriptedLLM):
    """A model that answers an extraction with what was recorded, and fails every other form.

    The texts that a candidate `supersedes` or `reinforces` become the aliases under which the prompt shows them,
    `turns` those of the turns of the same text.

    Args:
        texts: Turn id -> what was said.
        answer: What is answered: an extraction, or what gives it for the turns that a prompt shows.

    Attributes:
        shown, unshown: Known statements that an answer names and the prompt showed, and those that it did not.
        failed: Names of the other forms that were asked for.
    """

    def __init__(self, texts: Texts, answer: Row | Callable[[Texts], Row] | None = None) -> None:
        super().__init__(then=self._filled)
        self.texts = texts
        self.answer: Row | Callable[[Texts], Row] = answer or {}
        self.shown = self.unshown = 0
        self.failed: list[str] = []

    @property
    def calls(self) -> int:
        """How often an extraction was asked for."""
        return len(self.requests) - len(self.failed)

    def _filled(self, messages: Sequence[Mapping[str, Any]]) -> Row:
        form = self.requests[-1].form
        if form is None or form.name != "remember":
            self.failed.append("" if form is None else form.name)
            raise LLMFailed("the recorded model answers extractions only")
        system, user = (str(message["content"]) for message in messages[:2])
        said = {alias: squeezed(text)[:60] for alias, text in re.findall(_TURN, user)}
        known = {squeezed(text): alias for alias, text in re.findall(r"(?m)^(m\d+) (.+)$", system)}
        answer = self.answer(said) if callable(self.answer) else self.answer
        alias_of = {text: alias for alias, text in said.items()}
        turns = {id: alias_of[key] for id, text in self.texts.items() if (key := squeezed(text)[:60]) in alias_of}
        return {
            **{name: answer.get(name, []) for name in ("decisions", "open_questions")},
            "summary": answer.get("summary", ""),
            "candidates": [self._candidate(one, turns, known) for one in answer.get("candidates", ())],
            "forget": [_forget(one, answer, turns, known) for one in answer.get("forget", ())],
        }

    def _candidate(self, one: Row, turns: Texts, known: Texts) -> Row:
        return {
            **{name: value for name, value in one.items() if name not in ("supersedes", "reinforces", "turns")},
            "turns": [turns[id] for id in one["turns"] if id in turns],
            "contradicts": self._aliases(one.get("supersedes", ()), known),
            "reinforces": self._aliases(one.get("reinforces", ()), known),
        }

    def _aliases(self, texts: Sequence[str], known: Texts) -> list[str]:
        """The aliases of the lines that show statements, which may leave out their beginning and end."""
        found = [next((alias for line, alias in known.items() if line in squeezed(text)), None) for text in texts]
        self.unshown += found.count(None)
        self.shown += len(found) - found.count(None)
        return list(dict.fromkeys(alias for alias in found if alias is not None))


_TURN = r"(?m)^(t\d+) \d\d:\d\d [^\n]*?: (.*(?:\n  .*)*)"


def _forget(one: Row, answer: Row, turns: Texts, known: Texts) -> Row:
    gone = [squeezed(text) for text in answer.get("gone", ())]
    named = [alias for line, alias in known.items() if any(line in text for text in gone)]
    return {"turn": turns.get(one["turn"], ""), "text": one["what"], "known": named}
