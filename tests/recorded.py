"""Real conversations with what a careful model extracts from them, and a model that answers with it.

Reads the folder named by `MEMORYBOOK_DATA`; tests that use it skip without it (`needs_recordings`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest

from benchmarks import scripted
from conversations import read
from memorybook.entries.extract import extract
from memorybook.entries.read_reply import Candidate, Extraction
from memorybook.entries.same import squeezed
from memorybook.model import Entry, Session, Turn
from memorybook.protocols import LLM
from memorybook.text.tokens import count_tokens, normalise

DATA = Path(os.environ.get("MEMORYBOOK_DATA") or Path(__file__).parents[2] / "shared" / "data")

NAMES = ("conv-30", "zh-agent")

needs_recordings = pytest.mark.skipif(
    not (DATA / "zh-agent" / "extractions.jsonl").is_file()
    or not (DATA / "llm" / "conv-30.extractions.jsonl").is_file(),
    reason="the recorded extractions are not here: set MEMORYBOOK_DATA",
)

CHINA = timezone(timedelta(hours=8))


@dataclass(frozen=True)
class Recorded:
    """One session: its turns, and the extraction that was recorded for it, with keys and turn ids as in the file."""

    session: Session
    turns: tuple[Turn, ...]
    extraction: Mapping[str, Any]


def recorded(name: str) -> list[Recorded]:
    """The sessions of `conv-30` (two friends, English) or `zh-agent` (an engineer and an assistant, mostly Chinese)."""
    english = name == "conv-30"
    talk = DATA / "locomo" / "conv-30.jsonl" if english else DATA / "zh-agent" / "conversation.jsonl"
    answers = DATA / "llm" / "conv-30.extractions.jsonl" if english else DATA / "zh-agent" / "extractions.jsonl"
    by_session = {one["session"]: one for one in map(json.loads, answers.read_text(encoding="utf-8").splitlines())}
    found = read(str(talk), timezone=zone_of(name))
    return [
        Recorded(each.session, each.turns, by_session[each.session.name])
        for each in found.sessions
        if each.session.name in by_session
    ]


def zone_of(name: str) -> tzinfo:
    """The timezone in which people of that conversation count days."""
    return UTC if name == "conv-30" else CHINA


class RecordedLLM(scripted.Recorded):
    """A model that answers an extraction prompt with what was recorded for its session.

    Attributes:
        prompts: Tokens of each system prompt and its form.
        talks: Tokens of each conversation as shown.
    """

    def __init__(self, sessions: Sequence[Recorded]) -> None:
        super().__init__({turn.id: turn.text for one in sessions for turn in one.turns}, self._recorded)
        self.sessions = sessions
        self._contents = {
            one["key"]: one["content"] for session in sessions for one in session.extraction["candidates"]
        }

    @property
    def prompts(self) -> list[int]:
        forms = [(str(each.messages[0]["content"]), each.form) for each in self.requests if each.form is not None]
        return [sum(map(count_tokens, (system, form.description, json.dumps(form.schema)))) for system, form in forms]

    @property
    def talks(self) -> list[int]:
        return [count_tokens(str(each.messages[1]["content"])) for each in self.requests]

    def _recorded(self, said: Mapping[str, str]) -> dict[str, Any]:
        """What was recorded for the session of which most turns are shown."""
        shown = set(said.values())
        one = max(self.sessions, key=lambda each: sum(squeezed(turn.text)[:60] in shown for turn in each.turns))
        return {**one.extraction, "candidates": [self._named(each) for each in one.extraction["candidates"]]}

    def _named(self, each: Mapping[str, Any]) -> dict[str, Any]:
        named = {"turns": each["source_turns"], "supersedes": self._texts(each["contradicts"])}
        rest = {name: value for name, value in each.items() if name not in ("key", "source_turns", "contradicts")}
        return {**rest, **named, "reinforces": self._texts(each["reinforces"])}

    def _texts(self, keys: Sequence[str]) -> list[str]:
        return [self._contents[key] for key in keys]


# --- the whole conversation ----------------------------------------------------------------------


@dataclass(frozen=True)
class Replayed:
    """What one session gave: candidates that stand, and those of which it is doubted."""

    recorded: Recorded
    extraction: Extraction

    @property
    def kept(self) -> list[Candidate]:
        return [one for one in self.extraction.candidates if not one.doubt]

    @property
    def doubted(self) -> list[Candidate]:
        """Candidates of the answer, not sentences of its summary."""
        return [one for one in self.extraction.candidates if one.doubt and one.quote]


def replay(name: str, llm: LLM | None = None) -> Iterator[Replayed]:
    """Extract and ground session after session, each with the entries that the earlier ones left behind.

    The book is the simplest that keeps the laws: equal text strengthens, what is contradicted is superseded.
    """
    sessions = recorded(name)
    book: dict[str, Entry] = {}
    for one in sessions:
        now = max(turn.time for turn in one.turns if turn.time is not None).astimezone(zone_of(name))
        known = [entry for entry in book.values() if entry.state == "active"]
        found = extract(one.turns, session=one.session, now=now, llm=llm or RecordedLLM(sessions), known=known)
        yield Replayed(one, found)
        for candidate in found.candidates:
            if not candidate.doubt:
                _kept(book, candidate, now)


def _kept(book: dict[str, Entry], one: Candidate, now: datetime) -> None:
    key = normalise(one.content)
    if key in book:
        book[key] = replace(book[key], score=book[key].score + (1 - book[key].score) * 0.2)
        return
    entry = entry_of(one, f"e{len(book)}", now.date(), now)
    for old, known in list(book.items()):
        if known.id in one.contradicts:
            book[old] = replace(known, superseded_by=entry.id, score=known.score / 2)
    book[key] = entry


def entry_of(one: Candidate, id: str, day: date, created: datetime) -> Entry:
    """A candidate as a new entry."""
    return Entry(
        id=id, text=one.content, category=one.category, score=one.score, scored=day, last_activated=day,
        created=created, entities=one.entities, group=one.group, expires=one.expires, trust=one.trust,
    )  # fmt: skip
