"""Prompts for a host's own loop: documents and memories quoted as data, and its system prompt with the memory."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook.agent.turn_context import shortened
from memorybook.errors import InvalidInput
from memorybook.model import Entry
from memorybook.results import Known, Recalled
from memorybook.search.tool_results import CLOSE, OPEN, fenced
from memorybook.search.types import Answer, Hit, place_of
from memorybook.text.screen import screen
from memorybook.text.tokens import count_tokens, language_of

if TYPE_CHECKING:
    from memorybook.memory import Memory

MAX_TOKENS = 4_000
"""Default size of a composed prompt."""

_LEAST = 60
"""Minimum tokens of a document that is cut; a smaller piece is left out."""


Remembered = str | Hit | Known | Entry
"""A memory as searches, lists and callers have it."""

Document = str | Mapping[str, Any]
"""Text, or `{"text"|"content", "title"|"path"|"source"}`."""


class Composed(NamedTuple):
    """A prompt, and what is in it.

    Attributes:
        prompt: The quoted data and the question.
        system: The system prompt as given.
        memories: Those in the prompt; `[n]` is the n-th.
        documents: Those in the prompt, cut ones too; `[Dn]` is the n-th.
        left_out: How many memories and documents had no room, or are not trusted.
        tokens: Estimated size of system and prompt.
    """

    prompt: str
    system: str
    memories: tuple[Remembered, ...]
    documents: tuple[Document, ...]
    left_out: int
    tokens: int

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages for a model; quoted data is part of the question, not of the system prompt."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.prompt}]


def compose(
    system: str,
    documents: Sequence[Document],
    memories: Sequence[Remembered] | Answer | Recalled,
    question: str,
    *,
    max_tokens: int = MAX_TOKENS,
    language: str = "auto",
) -> Composed:
    """Compose a prompt of memories, retrieved documents and a question.

    Each memory is `[1] …` and each document `[D1] …`, between the markers of recalled text; the question follows.
    Memories and documents share the room that system and question leave, half each; what one does not need the other
    takes. What does not fit is left out from the end, the last document is cut. Memories that are suspect, superseded
    or instruct their reader are left out; documents are the caller's own choice.

    Args:
        system: The host's system prompt.
        documents: Best first.
        memories: Best first; the answer of a search; or that of `Memory.recall`, which alone has what is true now in
            the place of what was replaced, and corrections with what they correct.
        question: What the user asks.
        max_tokens: Of system and prompt together; system and question are never cut.
        language: Of the titles, `en` or `zh`; `auto` takes that of the question.

    Raises:
        InvalidInput: A blank question, or `max_tokens` below 1.
    """
    if not question.strip() or max_tokens < 1:
        raise InvalidInput("the question is blank" if max_tokens >= 1 else f"max_tokens {max_tokens} is below 1")
    spoken = language_of(language, [question])
    titles = [locale.message(f"compose.{name}", spoken) for name in ("data", "memories", "documents")]
    if isinstance(memories, Recalled):
        given: list[Remembered] = [*memories.cold, *memories.hot]
    else:
        given = list(memories.hits if isinstance(memories, Answer) else memories)
    fit = [(memory, line) for memory in given if (line := _line(memory))]
    remembered = [(memory, f"[{number}] {line}") for number, (memory, line) in enumerate(fit, 1)]
    retrieved = [(document, f"[D{number}] {_document(document)}") for number, document in enumerate(documents, 1)]
    room = max_tokens - count_tokens(system) - count_tokens("\n".join([OPEN, *titles, CLOSE, question])) - 4
    share = max(room // 2, room - sum(_cost(text) for _, text in retrieved))
    used, lines = _fitting(remembered, share, cut=False)
    taken, pages = _fitting(retrieved, room - sum(map(_cost, lines)), cut=True)
    parts = [f"{title}\n" + "\n".join(body) for title, body in zip(titles[1:], (lines, pages), strict=True) if body]
    quoted = "\n\n".join([f"{OPEN}\n{titles[0]}", *parts]) + f"\n{CLOSE}\n\n" if parts else ""
    prompt = quoted + question
    left_out = len(given) + len(documents) - len(used) - len(taken)
    return Composed(prompt, system, tuple(used), tuple(taken), left_out, count_tokens(system) + count_tokens(prompt))


def _cost(text: str) -> int:
    """Count the tokens of a text on lines of its own, rounded up."""
    return count_tokens(f"{text}\n") + 1


def _fitting(items: Sequence[tuple[Any, str]], room: int, *, cut: bool) -> tuple[list[Any], list[str]]:
    """Return the first items whose texts fit, with `cut` a piece of the next one, and these texts."""
    used: list[Any] = []
    texts: list[str] = []
    for item, text in items:
        cost = _cost(text)
        if cost > room and cut and room > _LEAST:
            text = shortened(text, room - 2)
            cost = _cost(text)
        if cost > room:
            break
        used.append(item)
        texts.append(text)
        room -= cost
    return used, texts


def _line(memory: Remembered) -> str:
    """Return the memory on one line, with its place; "" if it is not trusted or no longer true."""
    if isinstance(memory, Known):
        memory = memory.entry
    if isinstance(memory, str):
        return "" if screen(memory) else fenced(memory)
    if isinstance(memory, Entry):
        unfit = memory.trust == "suspect" or memory.superseded_by is not None or screen(memory.text)
        return "" if unfit else f"{fenced(memory.text)} ({memory.category}, {memory.id})"
    p = memory.passage
    if p.trust == "suspect" or p.state == "superseded" or screen(p.text):
        return ""
    who = f"{fenced(p.speaker)}: " if p.speaker else ""
    return f"{who}{fenced(memory.snippet)} ({f'{p.date}, ' if p.date else ''}{place_of(p)})"


def _document(document: Document) -> str:
    """Return the document's text under its title, unable to close the markers around it."""
    if isinstance(document, str):
        return _quoted(document)
    text = document.get("text") or document.get("content") or ""
    title = document.get("title") or document.get("path") or document.get("source") or ""
    if not isinstance(text, str):
        raise InvalidInput(f"document {repr(document)[:80]} has no text: give text, or {{'text', 'title'}}")
    return f"{fenced(str(title))}\n{_quoted(text)}" if title else _quoted(text)


def _quoted(text: str) -> str:
    return text.strip().replace("<!--", "<! --").replace("-->", "-- >")


# --- system prompt -------------------------------------------------------------------------------

FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
"""The files of a host that `system_prompt` reads by default, in order."""

MOST = 20_000
"""Maximum characters of one file."""


class SystemPrompt(NamedTuple):
    """A system prompt.

    Attributes:
        text: Each file under its name, then the memory block.
        tokens: Estimated size of `text`.
        files: Names of the files in it, in order.
        left_out: Files that were not read, or cut, with the reason; missing ones are not named.
    """

    text: str
    tokens: int
    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def system_prompt(
    memory: Memory, query: str = "", *, folder: str = ".", files: Sequence[str] = FILES, max_tokens: int | None = None
) -> SystemPrompt:
    """Build a host's system prompt: its files verbatim, in the order given, then what is remembered for the query.

    Args:
        memory: The book; the memory block is that of `Memory.recall`.
        query: What the user just said; "" for what every prompt has.
        folder: Directory of the files.
        files: Paths below `folder`; missing ones are skipped.
        max_tokens: Of the memory block; None is the default of `Memory.recall`.

    Raises:
        InvalidInput: As `Memory.recall`.
    """
    parts: list[str] = []
    names: list[str] = []
    left_out: list[tuple[str, str]] = []
    for name in files:
        try:
            with open(os.path.join(folder, name), encoding="utf-8-sig") as file:
                text = file.read(MOST + 1).strip()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            left_out.append((name, f"not read: {reason}"))
            continue
        if len(text) > MOST:
            left_out.append((name, f"cut after {MOST} characters"))
            text = f"{text[:MOST].rstrip()}…"
        if text:
            names.append(name)
            parts.append(f"## {name}\n\n{text}")
    remembered = memory.recall(query, max_tokens=max_tokens).text
    text = "\n\n".join(filter(None, [*parts, remembered]))
    return SystemPrompt(text, count_tokens(text), tuple(names), tuple(left_out))
