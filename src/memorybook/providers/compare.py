"""The same conversation through two providers, each on a copy of the book: what either would remember and show."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.alike import same_statement
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.exchange import importers
from memorybook.formats.messages_json import read_messages
from memorybook.model import Entry, Turn
from memorybook.protocols import MemorizeInput
from memorybook.providers import PROVIDERS, open_provider
from memorybook.providers.copies import copied
from memorybook.sessions.turns import zone_of
from memorybook.text.tokens import count_tokens, normalise

if TYPE_CHECKING:
    from memorybook.formats.messages_json import ImportedSession
    from memorybook.memory import Memory
    from memorybook.model import Operation, Spent
    from memorybook.protocols import MemoryProvider

Transcript = str | Sequence[Mapping[str, Any]]
"""A file in a format of `exchange.importers` (`-` reads standard input), or messages, which may name sessions."""


class EntryChange(NamedTuple):
    """What became of an entry: `created`, `changed`, `strengthened`, `superseded`, `archived` or `removed`."""

    action: str
    id: str
    text: str


class Ran(NamedTuple):
    """What one provider did with the conversation.

    Attributes:
        provider: Its name.
        sessions: How many sessions it was given; `failed` holds the reasons of those that it could not remember.
        entries: What became of entries, in the order of the book; one that several things became of has several.
        notes: Lines that it wrote into daily notes; `history` the paragraphs of HISTORY.md.
        summaries: Paths of the summaries that it wrote.
        discarded: What it found and did not store, with the reason.
        proposals: How many changes it leaves to a person.
        calls, failed_calls, input_tokens, output_tokens: What its language model took.
        seconds: Of the clock, searching and writing included.
        prompt: The block that it gives for the question; `prompt_tokens` its size.
    """

    provider: str
    sessions: int
    failed: tuple[str, ...]
    entries: tuple[EntryChange, ...]
    notes: tuple[str, ...]
    history: tuple[str, ...]
    summaries: tuple[str, ...]
    discarded: tuple[tuple[str, str], ...]
    proposals: int
    calls: int
    failed_calls: int
    input_tokens: int
    output_tokens: int
    seconds: float
    prompt: str
    prompt_tokens: int

    def json(self) -> dict[str, Any]:
        """All of it; `entries` as `{"action", "id", "text"}`, `discarded` as `{"text", "reason"}`."""
        return {
            **{name: list(value) if isinstance(value, tuple) else value for name, value in self._asdict().items()},
            "entries": [told._asdict() for told in self.entries],
            "discarded": [{"text": text, "reason": reason} for text, reason in self.discarded],
            "seconds": round(self.seconds, 3),
        }


class Compared(NamedTuple):
    """Two providers beside each other.

    Attributes:
        question: For which both gave their block.
        runs: What each did.
        both: Statements that stand in the books of both after it and did not before; the words are the first's.
        only: Those that stand in the book of one alone, for each provider in turn.
    """

    question: str
    runs: tuple[Ran, Ran]
    both: tuple[str, ...]
    only: tuple[tuple[str, ...], tuple[str, ...]]

    def json(self) -> dict[str, Any]:
        """`{"question", "runs": [{…}, {…}], "both": [text], "only": {provider: [text]}}`."""
        return {
            "question": self.question,
            "runs": [ran.json() for ran in self.runs],
            "both": list(self.both),
            "only": {ran.provider: list(texts) for ran, texts in zip(self.runs, self.only, strict=True)},
        }


def compare(
    memory: Memory,
    transcript: Transcript,
    a: str | None = None,
    b: str | None = None,
    *,
    question: str | None = None,
) -> Compared:
    """Let two providers remember the same conversation, each in its own copy of the book, session after session.

    Nothing is written to the book, not even what the calls took, though that counts against the budget of the day
    while the copies are there. Sessions of the conversation that the book knows are new to the copies; what was
    remembered from them is not.

    Args:
        memory: An open memory.
        transcript: See `Transcript`.
        a, b: Two of `flat`, `tiered`, `agentic`; both None take `flat` and `tiered`, or where there is no language
            model, without which `flat` remembers nothing, `tiered` and `agentic`.
        question: What the prompt blocks are for; None takes what a user said last.

    Raises:
        InvalidInput: No such provider, the same one twice, or nothing that can be read.
        NotFound: There is no such file.
    """
    if a is None and b is None:
        a, b = ("flat", "tiered") if _has_model(memory) else ("tiered", "agentic")
    if a is None or b is None:
        raise InvalidInput(f"{a or b!r} is one provider: name two to compare")
    for name in (a, b):
        if name not in PROVIDERS:
            raise InvalidInput(f"there is no provider {name!r}: it is one of {', '.join(PROVIDERS)}")
    if a == b:
        raise InvalidInput(f"{a!r} is one provider: name two to compare")
    sessions = _sessions(memory, transcript)
    asked = _last_said(sessions) if question is None else question
    first, said_by_first = _run(memory, sessions, a, asked)
    second, said_by_second = _run(memory, sessions, b, asked)
    both = tuple(text for text in said_by_first if _among(text, said_by_second))
    only_first = tuple(text for text in said_by_first if text not in both)
    only_second = tuple(text for text in said_by_second if not _among(text, both))
    return Compared(asked, (first, second), both, (only_first, only_second))


def _has_model(memory: Memory) -> bool:
    try:
        return memory.llm is not None
    except MemoryBookError:  # one is set, and whoever asks it says what is wrong
        return True


def _sessions(memory: Memory, transcript: Transcript) -> Sequence[ImportedSession]:
    if isinstance(transcript, str):
        stdin = sys.stdin.buffer if transcript == "-" else None
        return importers.read(transcript, timezone=zone_of(memory.context), stream=stdin).sessions
    return read_messages(transcript, timezone=zone_of(memory.context))


def _last_said(sessions: Sequence[ImportedSession]) -> str:
    said = [turn for each in sessions for turn in each.turns if turn.role in ("user", "") and turn.text.strip()]
    return said[-1].text if said else ""


def message_of(turn: Turn) -> dict[str, Any]:
    """A turn as the message that it was."""
    return {
        "id": turn.id,
        **({"role": turn.role} if turn.role else {}),
        "speaker": turn.speaker or turn.role or "?",
        "content": turn.text,
        **({"timestamp": turn.time.isoformat()} if turn.time else {}),
        **({"tool_calls": [dict(call) for call in turn.tool_calls]} if turn.tool_calls else {}),
        **{name: value for name, value in turn.metadata.items() if name not in ("id", "role", "content")},
    }


# --- one run ---------------------------------------------------------------------------------------


def _run(memory: Memory, sessions: Sequence[ImportedSession], name: str, question: str) -> tuple[Ran, tuple[str, ...]]:
    """What a provider does, and the statements that it made current."""
    known = {key for each in sessions for key in (each.session.uuid, each.session.name) if key}
    with copied(memory, provider=name, without=known) as copy:
        today = copy.book.now().date()
        before, spent = _entries(copy), copy.book.journal.spent(today)
        began = time.monotonic()
        provider = open_provider(copy)
        failed = tuple(filter(None, (_remembered(provider, each) for each in sessions)))
        prompt = provider.recall(question)
        provider.close()
        seconds = time.monotonic() - began
        after = _entries(copy)
        operations = [*reversed(copy.book.journal.operations())]
        ran = Ran(
            provider=name,
            sessions=len(sessions),
            failed=failed,
            entries=tuple(_became(before, after)),
            notes=_lines(operations, "daily/"),
            history=_lines(operations, "HISTORY.md"),
            summaries=_put(operations, "sessions/"),
            discarded=tuple((each.text, each.reason) for one in operations for each in one.discarded),
            proposals=len(copy.book.journal.proposals()),
            **_used(copy, today, spent),
            seconds=seconds,
            prompt=prompt,
            prompt_tokens=count_tokens(prompt),
        )
        old = {normalise(entry.text) for entry in before.values() if entry.state == "active"}
        current = (entry.text for entry in after.values() if entry.state == "active")
        return ran, tuple(text for text in current if normalise(text) not in old)


def _remembered(provider: MemoryProvider, each: ImportedSession) -> str:
    """Why a session could not be remembered; "" if it was."""
    messages = [message_of(turn) for turn in each.turns]
    given = MemorizeInput(messages, archive_all=True, session=each.session.uuid)
    result = provider.memorize(given)
    return "" if result.ok else f"{each.session.name or each.session.uuid}: {result.reason}"


def _used(copy: Memory, today: date, before: Spent) -> dict[str, int]:
    spent = copy.book.journal.spent(today)
    return {
        "calls": spent.calls - before.calls,
        "failed_calls": spent.failed - before.failed,
        "input_tokens": spent.input_tokens - before.input_tokens,
        "output_tokens": spent.output_tokens - before.output_tokens,
    }


def _entries(copy: Memory) -> dict[str, Entry]:
    return {entry.id: entry for entry in copy.book.entries()}


def _became(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> Iterable[EntryChange]:
    for id, entry in after.items():
        old = before.get(id)
        if old is None:
            yield EntryChange("created", id, entry.text)
        if old is not None and (old.text, old.category) != (entry.text, entry.category):
            yield EntryChange("changed", id, entry.text)
        if entry.hits > (1 if old is None else old.hits):
            yield EntryChange("strengthened", id, entry.text)
        if entry.state != "active" and (old is None or old.state != entry.state):
            yield EntryChange(entry.state, id, entry.text)
    yield from (EntryChange("removed", id, entry.text) for id, entry in before.items() if id not in after)


def _lines(operations: Iterable[Operation], path: str) -> tuple[str, ...]:
    """Lines that were appended under this path."""
    changes = (change for one in operations for change in one.changes)
    return tuple(c.after for c in changes if c.kind == "append" and c.after and c.target.startswith(path))


def _put(operations: Iterable[Operation], path: str) -> tuple[str, ...]:
    """Documents that were written under this path."""
    changes = (change for one in operations for change in one.changes)
    return tuple(dict.fromkeys(c.target for c in changes if c.kind == "put" and c.target.startswith(path)))


def _among(text: str, others: Iterable[str]) -> bool:
    """Whether one of the others makes the same statement, in whichever words."""
    key = normalise(text)
    return any(
        normalise(other) == key or same_statement(text, other, None) or same_statement(other, text, None)
        for other in others
    )
