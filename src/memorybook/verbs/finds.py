"""What a query finds that may go into a prompt."""

from __future__ import annotations

from memorybook import arguments as given
from memorybook.hits import Query
from memorybook.text.screen import screen
from memorybook.text.tokens import normalise
from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from memorybook.book import Book
    from memorybook.hits import Hit, Passage
    from memorybook.memory import Memory

WORTH_A_LOOK = 0.3
"""Relevance from which a hit may go into a prompt: below what counts as an answer, a reader can still judge it."""


def worth(memory: Memory, query: str) -> list[Hit]:
    """The relevant and trusted hits, also those that are no longer true, best first."""
    limit = min(200, 3 * memory.config.max_results)
    asked = Query(given.words_of(query), pool=max(100, 2 * limit))
    answer = memory.book.search(asked, limit=limit, min_score=memory.config.min_score, keep=unbidden)
    return [
        hit
        for hit in answer.hits
        if hit.relevance >= WORTH_A_LOOK
        and hit.passage.trust != "suspect"
        and not screen(hit.passage.text)
        and (hit.passage.path != "MEMORY.md" or hit.passage.entry is not None or hit.passage.trust == "agent")
    ]


def telling(hits: Sequence[Hit], query: str, *, known: Iterable[str] = ()) -> list[Hit]:
    """What of the hits tells a prompt something that is not known from it, each statement once, in their order."""
    from memorybook.recall import telling as rules

    return rules.telling(hits, query, known=known, retold=_retold)


def tells_beside(text: str, question: str, *, questions: bool) -> bool:
    """Whether any line says something else than the question, and more than questions do.

    Questions count, if `questions` says so, where it is asked what was asked or said.
    """
    from memorybook.lifecycle.sentences import sentences, told
    from memorybook.recall.reading import is_about_talk, spoken

    asked, questions = normalise(question), questions and is_about_talk(question)
    lines = (spoken(line)[1] for line in text.splitlines())
    return any(normalise(line) != asked and (questions or any(map(told, sentences(line)))) for line in lines)


def _retold(text: str) -> str:
    from memorybook.lifecycle.voice import stand_alone

    return stand_alone(text, "")


def unbidden(passage: Passage) -> bool:
    """Whether a passage may go into a prompt that did not ask for it.

    What a tool told may not: a page of the web or a file says what its author wants, and nobody trusted it. A search
    still finds it.
    """
    return passage.role != "tool"


def apart(book: Book, hits: Sequence[Hit]) -> list[Hit]:
    """The hits as a text names them: a turn by SESSION/ID where turns of several sessions have its id."""
    shared = book.transcripts.shared({hit.passage.turn or "" for hit in hits if hit.passage.source == "turn"})
    return [_named(hit) if hit.passage.source == "turn" and hit.passage.turn in shared else hit for hit in hits]


def _named(hit: Hit) -> Hit:
    return hit._replace(passage=hit.passage._replace(turn=f"{hit.passage.session}/{hit.passage.turn}"))
