"""Real conversations with what a careful model extracts from them, and a model that answers with it.

Reads the folder named by `MEMORYBOOK_DATA`; tests that use it skip without it (`needs_recordings`).
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from pathlib import Path
from typing import Any

import pytest

from memorybook.errors import LLMFailed
from memorybook.importers import read
from memorybook.lifecycle.candidate import Candidate, Extraction
from memorybook.lifecycle.extract import extract
from memorybook.lifecycle.ground import Grounded, ground
from memorybook.lifecycle.names import squeezed
from memorybook.model import IMPORTANCE, Entry, Session, Turn
from memorybook.protocols import LLM
from memorybook.replies import Form, Message, Reply, ToolSchema, Usage
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


@dataclass
class RecordedLLM:
    """A model that answers an extraction prompt with what was recorded for its session.

    Keys become the aliases that the prompt shows for entries of the same text (recorded names of entries that it does
    not show are left out and counted), turn ids those that it shows for them. Every other form fails.

    Attributes:
        prompts: Tokens of each system prompt and its form.
        talks: Tokens of each conversation as shown.
        unshown: Reinforced or contradicted records that the prompt did not show.
        shown: Those that it did.
    """

    sessions: Sequence[Recorded]
    name: str = "recorded"
    prompts: list[int] = field(default_factory=list)
    talks: list[int] = field(default_factory=list)
    unshown: int = 0
    shown: int = 0

    def complete(
        self,
        messages: Sequence[Message],
        *,
        form: Form[Any] | None = None,
        tools: Sequence[ToolSchema] = (),
        tool_choice: str | None = None,
        max_tokens: int | None = None,
    ) -> Reply:
        """The recorded extraction of the session that is asked about."""
        if form is None or form.name != "remember":
            raise LLMFailed("the recorded model answers extractions only")
        system, user = str(messages[0]["content"]), str(messages[1]["content"])
        self.prompts.append(sum(map(count_tokens, (system, form.description, json.dumps(form.schema)))))
        self.talks.append(count_tokens(user))
        data = form.read(self.answer(system, user))
        return Reply(data=data, usage=Usage(calls=1, input_tokens=self.prompts[-1] + self.talks[-1]))

    def answer(self, system: str, user: str) -> dict[str, Any]:
        """The answer as JSON, in the aliases of this prompt."""
        said = {alias: squeezed(text)[:60] for alias, text in _shown_turns(user)}
        one = max(self.sessions, key=lambda each: _shared(each, said))
        turns = {turn.id: alias for turn in one.turns for alias, text in said.items() if _same(turn.text, text)}
        known = {squeezed(line[2]): line[1] for line in re.finditer(r"(?m)^(m\d+) (.+)$", system)}
        answer = dict(one.extraction)
        answer["candidates"] = [self._candidate(each, turns, known) for each in one.extraction["candidates"]]
        return answer

    def _candidate(self, each: Mapping[str, Any], turns: Mapping[str, str], known: Mapping[str, str]) -> dict[str, Any]:
        contents = {one["key"]: one["content"] for session in self.sessions for one in session.extraction["candidates"]}
        changed = {name: value for name, value in each.items() if name not in ("key", "source_turns")}
        for name in ("reinforces", "contradicts"):
            aliases = [_alias_of(contents[key], known) for key in each[name]]
            self.shown += sum(alias is not None for alias in aliases)
            self.unshown += sum(alias is None for alias in aliases)
            changed[name] = list(dict.fromkeys(alias for alias in aliases if alias is not None))
        changed["turns"] = [turns[id] for id in each["source_turns"] if id in turns]
        return changed


def _shown_turns(user: str) -> Iterator[tuple[str, str]]:
    """Alias and text of each turn in a prompt."""
    for found in re.finditer(r"(?m)^(t\d+) \d\d:\d\d [^\n]*?: (.*(?:\n  .*)*)", user):
        yield found[1], found[2]


def _alias_of(content: str, known: Mapping[str, str]) -> str | None:
    """The alias of the line that shows a statement, which may leave out its beginning and end."""
    return next((alias for line, alias in known.items() if line in squeezed(content)), None)


def _same(text: str, shown: str) -> bool:
    return squeezed(text)[:60] == shown


def _shared(one: Recorded, said: Mapping[str, str]) -> int:
    texts = {squeezed(turn.text)[:60] for turn in one.turns}
    return sum(text in texts for text in said.values())


# --- the whole conversation ----------------------------------------------------------------------


@dataclass(frozen=True)
class Replayed:
    """What one session gave: as extracted, and after grounding."""

    recorded: Recorded
    extraction: Extraction
    grounded: Grounded


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
        grounded = ground(found.candidates, one.turns, known=known, now=now, zone=zone_of(name))
        yield Replayed(one, found, grounded)
        for candidate in grounded.kept:
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
        id=id,
        text=one.content,
        category=one.category,
        score=IMPORTANCE[one.importance],
        scored=day,
        last_activated=day,
        created=created,
        entities=one.entities,
        group=one.group,
        expires=one.expires,
        trust=one.trust,
    )


def report(name: str) -> dict[str, Any]:
    """Counts of one replay: `python tests/recorded.py` prints them."""
    model = RecordedLLM(recorded(name))
    sessions = list(replay(name, model))
    prompts = sorted(model.prompts)
    reasons = Counter(
        re.sub("'.*'", "…", gone.reason)
        for one in sessions
        for gone in (*one.extraction.discarded, *one.grounded.set_aside)
    )
    return {
        "sessions": len(sessions),
        "calls": len(prompts),
        "candidates": sum(len(one.recorded.extraction["candidates"]) for one in sessions),
        "kept": sum(len(one.grounded.kept) for one in sessions),
        "reinforcing": sum(bool(each.reinforces) for one in sessions for each in one.grounded.kept),
        "contradicting": sum(bool(each.contradicts) for one in sessions for each in one.grounded.kept),
        "set aside": dict(reasons),
        "turns left out": dict(Counter(reason for one in sessions for _, reason in one.extraction.skipped)),
        "requests to forget": sum(len(one.extraction.forget_requests) for one in sessions),
        "prompt tokens p50, max": (prompts[len(prompts) // 2], prompts[-1]),
        "talk tokens p50, max": (sorted(model.talks)[len(prompts) // 2], max(model.talks)),
        "records named that the prompt showed, did not": (model.shown, model.unshown),
    }


if __name__ == "__main__":
    for each in NAMES:
        print(each, json.dumps(report(each), ensure_ascii=False, indent=1))
