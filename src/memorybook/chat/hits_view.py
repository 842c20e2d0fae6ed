"""What the book alone answers: the talks that were asked for, else what fits the words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from memorybook.entries.current_first import renewed
from memorybook.prompt.recall import WORTH_A_LOOK, tell_hits, tells_beside
from memorybook.search.types import Query
from memorybook.sessions.dialogue import is_small
from memorybook.text.sentences import is_question

if TYPE_CHECKING:
    from memorybook.chat.display import Screen
    from memorybook.memory import Memory
    from memorybook.search.types import Answer, Passage
    from memorybook.sessions.recall_types import Recollection


def show_found(text: str, recalled: Recollection | None, memory: Memory, current: str, screen: Screen) -> list[str]:
    """Show what was found for what a user says; why it may be less.

    That is the talks that were asked for, where something was said in them; what the user told about themselves
    stands rather in the book, and so does what no talk has. A question is shown what is worth a look, a statement that
    only if a search finds something relevant. Greetings, thanks and the like look for nothing.

    Args:
        text: What the user says.
        recalled: What of past talks it asks for; None if it asks for none.
        memory: The book.
        current: Uuid of this session; "" before there is one.
        screen: Where it is shown.
    """
    if is_small(text):
        screen.remark(kept(memory, screen.words.kept) + screen.words.small)
        return []
    nothing = screen.words.nothing
    if recalled is not None and not recalled.has_relevant:
        if recalled.span is not None and not recalled.sessions:
            nothing = screen.words.nothing_then.format(" – ".join(filter(None, dict.fromkeys(recalled.span))))
        recalled = None
    if recalled is not None and recalled.turns and recalled.scene != "history":
        return _show_recalled(recalled, screen)
    limit, asks = memory.config.recall.max_search_results, is_question(text)
    answer = _found(text, memory, current, limit).json()
    worth = _worth(answer) if asks or answer["has_relevant"] else []
    if asks and not worth:
        worth = _worth(_found(text, memory, current, limit, said_here=True).json())
    if worth:
        screen.remark(screen.words.found)
        screen.draw("search", {**answer, "results": worth, "has_relevant": True, "cut": 0})
    elif recalled is not None:
        return _show_recalled(recalled, screen)
    else:
        screen.remark(kept(memory, screen.words.kept) + nothing)
    return list(answer["index"].get("degraded") or ())


def kept(memory: Memory, words: str) -> str:
    """The words, which say that a talk is kept; "" where it is not."""
    return words if memory.config.enabled and memory.config.transcripts.enabled else ""


def show_remembered(text: str, memory: Memory, screen: Screen) -> None:
    """Show what is remembered of this, no turns, which `/recall` finds; what fits badly only if nothing fits well."""
    limit = memory.config.max_results
    found = memory.book.search(Query(text), limit=limit, keep=lambda one: one.source != "turn")
    answer = renewed(memory.book, Query(text), found, limit=limit).json()
    screen.draw("search", {**answer, "results": _worth(answer) or answer["results"], "cut": 0})


def _show_recalled(found: Recollection, screen: Screen) -> list[str]:
    screen.remark(screen.words.found)
    screen.draw(f"recall-{found.scene}", found.json())
    return []


def _worth(answer: dict[str, Any]) -> list[dict[str, Any]]:
    return [hit for hit in answer["results"] if hit["relevance"] >= WORTH_A_LOOK]


def _found(text: str, memory: Memory, current: str, limit: int, *, said_here: bool = False) -> Answer:
    """What the book says, but for what was only asked; of this very session if wanted.

    One who looks for what was asked finds it. Turns are named as `get` opens them.
    """

    def keep(one: Passage) -> bool:
        if one.source not in ("turn", "summary"):
            return True
        here = one.source == "turn" and one.session == current
        return (said_here or not here) and tells_beside(one.text, text, questions=not here)

    return tell_hits(memory.context, text, limit=limit, without=None if said_here else current, keep=keep)
