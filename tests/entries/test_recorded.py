"""Extraction and grounding on real conversations with the extractions recorded for them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from itertools import cycle

import pytest

from memorybook.entries.extract import extract
from memorybook.entries.ground import ground
from memorybook.entries.read_reply import Candidate
from memorybook.model import Entry
from memorybook.testing import ScriptedLLM
from memorybook.text.days import named
from memorybook.text.tokens import figures
from recorded import DATA, NAMES, RecordedLLM, Replayed, entry_of, needs_recordings, recorded, replay, zone_of

pytestmark = needs_recordings


@cache
def replayed(name: str) -> tuple[RecordedLLM, list[Replayed]]:
    model = RecordedLLM(recorded(name))
    return model, list(replay(name, model))


@pytest.mark.parametrize("name", NAMES)
def test_one_call_a_session_with_a_short_prompt(name: str) -> None:
    model, sessions = replayed(name)
    assert len(model.prompts) == len(sessions) == {"conv-30": 19, "zh-agent": 12}[name]
    assert max(model.prompts) < {"conv-30": 2_500, "zh-agent": 3_000}[name]


@pytest.mark.parametrize("name", NAMES)
def test_every_recorded_candidate_comes_through(name: str) -> None:
    for one in replayed(name)[1]:
        found = {each.content for each in one.extraction.candidates}
        assert {each["content"] for each in one.recorded.extraction["candidates"]} <= found
        assert one.extraction.discarded == ()


@pytest.mark.parametrize("name", NAMES)
def test_hardly_anything_true_is_set_aside(name: str) -> None:
    _, sessions = replayed(name)
    candidates = sum(len(one.extraction.candidates) for one in sessions)
    aside = [gone.doubt for one in sessions for gone in one.doubted]
    assert len(aside) < 0.03 * candidates, Counter(aside)


@pytest.mark.parametrize("name", NAMES)
def test_true_quotes_entities_and_last_days_stay(name: str) -> None:
    for one in replayed(name)[1]:
        kept = {each.content: each for each in one.kept}
        for each in one.extraction.candidates:
            if each.content in kept and each.quote:
                after = kept[each.content]
                assert (after.quote, after.entities, after.expires) == (each.quote, each.entities, each.expires)


@pytest.mark.parametrize("name", NAMES)
def test_most_of_what_is_reinforced_or_contradicted_is_shown(name: str) -> None:
    model, _ = replayed(name)
    assert model.shown >= 0.8 * (model.shown + model.unshown)


def test_repeats_and_changes_reach_the_entries() -> None:
    sessions = replayed("zh-agent")[1]
    found = [each for one in sessions for each in one.kept]
    assert sum(bool(each.reinforces) for each in found) >= 8
    assert sum(bool(each.contradicts) for each in found) >= 34


def test_injected_turns_are_not_read_and_requests_to_forget_are_found() -> None:
    sessions = replayed("zh-agent")[1]
    assert [reason for one in sessions for _, reason in one.extraction.skipped] == [
        "asks to set earlier instructions aside"
    ] * 2
    assert [each.turn_id for one in sessions for each in one.extraction.forget_requests] == ["S6-15", "S9-23"]


def test_every_order_comes_through_a_model_that_finds_nothing() -> None:
    notes = json.loads((DATA / "zh-agent" / "annotations.json").read_text(encoding="utf-8"))
    ordered = set()
    for one in recorded("zh-agent"):
        now = one.turns[-1].time
        assert now is not None
        said = next(turn.text for turn in one.turns if turn.role == "user")
        model = ScriptedLLM(then={"summary": said[:200], "candidates": []})
        found = extract(one.turns, session=one.session, now=now, llm=model)
        ordered |= {id for each in found.candidates if each.told for id in each.turn_ids}
    assert {each["turn"] for each in notes["commands"]} <= ordered


# --- corrupted copies ----------------------------------------------------------------------------

_NAMES = {
    "en": cycle(["Martin", "Priya", "Kowalski", "Terraform"]),
    "zh": cycle(["蒋文博", "欧阳靖", "薛明哲", "邹凯"]),
}
_DAYS = cycle([-45, 30, -16, 9, -5, 4, 45, -30, 16, -9])


def corrupted(one: Candidate) -> Iterator[tuple[str, Candidate]]:
    """Copies with one number, date or name changed, under what was changed."""
    text = one.content
    dates = named(text)
    for figure in figures(text):
        digits = re.search(r"\d+(\.\d+)?", figure.text)
        if figure.sure and digits and not any(each.start <= figure.start < each.end for each in dates):
            wrong = figure.text.replace(digits[0], str(int(float(digits[0]) * 3 + 7)), 1)
            yield "number", replace(one, content=text[: figure.start] + wrong + text[figure.end :])
    for each in dates:
        if each.year and each.month and each.day:
            other = date(each.year, each.month, each.day) + timedelta(days=next(_DAYS))
            yield "date", replace(one, content=text[: each.start] + other.isoformat() + text[each.end :])
    for entity in one.entities:
        if entity in text and re.search("[A-Z\u4e00-\u9fff]", entity):
            other_name = next(_NAMES["zh" if re.search("[\u4e00-\u9fff]", entity) else "en"])
            entities = tuple(other_name if each == entity else each for each in one.entities)
            yield "name", replace(one, content=text.replace(entity, other_name), entities=entities)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_changed_is_caught(name: str) -> None:
    tried: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    book: list[Entry] = []
    for one in replayed(name)[1]:
        now = max(turn.time for turn in one.recorded.turns if turn.time is not None)
        wrong = [pair for each in one.extraction.candidates for pair in corrupted(each)]
        for kind in {kind for kind, _ in wrong}:
            copies = [each for name_of_kind, each in wrong if name_of_kind == kind]
            found = ground(copies, one.recorded.turns, known=book, now=now, zone=zone_of(name))
            tried[kind] += len(copies)
            caught[kind] += sum(bool(each.doubt) for each in found)
        book += [entry_of(each, f"e{len(book)}-{place}", now.date(), now) for place, each in enumerate(one.kept)]
    assert sum(caught.values()) > 0.9 * sum(tried.values()), (caught, tried)
    assert all(caught[kind] > 0.8 * tried[kind] for kind in tried), (caught, tried)
