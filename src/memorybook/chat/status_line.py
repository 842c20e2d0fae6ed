"""The line under each reply: how long it took, what was recalled and stored, how large the talk is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from memorybook.agent.sentences_zh import told_in
from memorybook.chat.chat_words import WORDS, counted

if TYPE_CHECKING:
    from memorybook.cli.show import Part

ICON = "◆"


class Status(NamedTuple):
    """What is told of one turn.

    Attributes:
        seconds: From the input to the end of the reply.
        recalled: What was recalled, in a few words; "" for nothing.
        stored, forgotten, waiting: How many things were written, taken out, put into the review queue.
        trouble: What went wrong, or with what it went less well, one sentence each.
        failed: Whether the turn has no whole answer.
        cut: Whether that is because the user interrupted it.
        lost: Whether they did so before what they said was kept.
        turns: Messages of the session so far.
        tokens: Of the context that the turn was given; 0, which is not shown, where a model was given none.
    """

    seconds: float
    recalled: str = ""
    stored: int = 0
    forgotten: int = 0
    waiting: int = 0
    trouble: tuple[str, ...] = ()
    failed: bool = False
    cut: bool = False
    lost: bool = False
    turns: int = 0
    tokens: int = 0


def parts(status: Status, language: str) -> list[Part]:
    """The line in styled parts: a gold icon, the state in green or red, the rest faint."""
    words = WORDS[language]
    state = [
        status.recalled,
        words.stored.format(count=status.stored) if status.stored else "",
        words.forgot.format(count=status.forgotten) if status.forgotten else "",
        words.waits.format(count=status.waiting) if status.waiting else "",
    ]
    if status.cut:
        state.append(words.lost if status.lost else words.interrupted)
    elif status.trouble:
        trouble = "; ".join(told_in(language, each) for each in status.trouble)
        state.append((words.failed if status.failed else words.degraded).format(trouble))
    told = " · ".join(filter(None, state)) or words.fine
    size = [counted(status.turns, words.turns), words.tokens.format(count=status.tokens) if status.tokens else ""]
    return [
        ("gold", ICON),
        ("faint", f" {status.seconds:.1f} s · "),
        ("bad" if status.trouble or status.cut else "good", told),
        ("faint", "".join(f" · {each}" for each in size if each)),
    ]
