"""What was forgotten does not come back, nobody loses a turn for it, and a purge leaves no word of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from books import CONFIG
from clock import Clock
from forget.test_purge import holding
from memorybook.entries.match import Proposed
from memorybook.entries.review import accept, propose
from memorybook.errors import LLMFailed
from memorybook.forget.forget import purge
from memorybook.formats import session_md
from memorybook.memory import Memory
from memorybook.model import Remove
from memorybook.sessions.summary import BY_MODEL, SUMMARIZED, last_page
from sessions.test_end_session import Open, answer, candidate, opened, said, texts

__all__ = ["opened"]

TALKS: Mapping[str, tuple[str, ...]] = {
    "en": (
        "I prefer short answers always.",
        "Remember that my boat is called Wanda.",
        "Remember that my locker is opened by the word heron.",
        "Remember that my cat is called Tom.",
    ),
    "zh": (
        "我喜欢简短的回答。", "记住：我的船叫做万达号。", "记住：我的柜子密码是苍鹭两个字。", "记住：我的猫叫做汤姆。",
    ),
}  # fmt: skip
WORDS = {"en": ("Wanda", "heron", "Tom"), "zh": ("万达", "苍鹭", "汤姆")}
BOAT, CAT = "The user's boat is called Wanda.", "The user's cat is called Tom."
LONG = "Remember that my secret partner Zorbulon Petrovich lives in Berlin with his two cats and a very old dog."
LANGUAGES = pytest.mark.parametrize("language", TALKS)


def page(memory: Memory) -> str:
    [path] = Path(memory.root, "sessions").glob("*.md")
    return path.read_text(encoding="utf-8")


def entry(memory: Memory, word: str) -> Any:
    return next(known.entry for known in memory.entries().entries if word in known.entry.text)


def turn_of(memory: Memory, word: str) -> str:
    return next(f"turn:{turn.id}" for turn in memory.book.transcripts.turns("s1") if word in turn.text)


def parts(memory: Memory) -> tuple[Any, str]:
    """The last page of the session, and the reason it was written with."""
    found = last_page(memory.context, memory.book.transcripts.session("s1"))
    return found.ours, found.reason


# --- no turn is lost -----------------------------------------------------------------------------


@LANGUAGES
@pytest.mark.parametrize("how", ["forget", "purge", "purge by id"])
def test_what_follows_a_forgotten_last_turn_is_remembered(opened: Open, language: str, how: str) -> None:
    memory, talk, (_, heron, cat) = opened(), TALKS[language], WORDS[language]
    memory.process_session_end(said(*talk[:3]), "s1")
    if how == "purge by id":
        purge(memory.context, entry(memory, heron).id)
    elif how == "purge":
        purge(memory.context, source=turn_of(memory, heron))
    else:
        memory.forget(source=turn_of(memory, heron))
    found = memory.process_session_end(said(*talk), "s1")
    assert found.new == 1
    assert any(cat in text for text in texts(memory))
    assert session_md.parse(page(memory)).turns == 3
    assert heron not in page(memory)


def test_what_follows_turns_that_a_person_let_go_is_remembered(opened: Open) -> None:
    memory = opened()
    talk = ["I moved to Berlin for the job at Siemens.", TALKS["en"][1], "Please forget that my boat is called Wanda."]
    assert memory.process_session_end(said(*talk), "s1").proposals == ()
    assert [turn.text for turn in memory.book.transcripts.turns("s1")] == [talk[0], "(left out on request)"]
    talk += ["Remember that my cat is called Tom.", "Remember that my dog is called Rex."]
    assert memory.process_session_end(said(*talk), "s1").new == 2


# --- the summary stays ours ----------------------------------------------------------------------


@LANGUAGES
def test_a_summary_without_what_was_purged_is_written_on(opened: Open, language: str) -> None:
    memory, talk, (boat, _, cat) = opened(), TALKS[language], WORDS[language]
    memory.process_session_end(said(*talk[:3]), "s1")
    purge(memory.context, entry(memory, boat).id)
    assert parts(memory) == (True, SUMMARIZED)
    assert (session_md.parse(page(memory)).turns, boat in page(memory)) == (2, False)
    memory.process_session_end(said(*talk), "s1")
    assert cat in page(memory)
    assert boat not in page(memory)


def test_a_summary_that_a_person_edits_after_a_purge_is_theirs(opened: Open) -> None:
    memory, talk = opened(), TALKS["en"]
    memory.process_session_end(said(*talk[:3]), "s1")
    purge(memory.context, entry(memory, "Wanda").id)
    [path] = Path(memory.root, "sessions").glob("*.md")
    path.write_text(f"{page(memory)}\nMy own words.\n", encoding="utf-8")
    assert not parts(memory)[0]
    memory.process_session_end(said(*talk), "s1")
    assert "My own words." in page(memory)


def test_what_a_model_wrote_of_the_rest_stays_above_what_it_writes_next(opened: Open) -> None:
    memory = opened([answer(candidate(BOAT), summary=f"{BOAT} They live in Berlin."), answer(summary="It rained.")])
    memory.process_session_end(said("My boat is called Wanda, and we live in Berlin."), "s1")
    purge(memory.context, entry(memory, "Wanda").id)
    assert parts(memory) == (True, BY_MODEL)
    memory.process_session_end(said("It rained today and I was out all day long."), "s1")
    assert session_md.parse(page(memory)).summary == "They live in Berlin.\n\nIt rained."


# --- nothing of it comes back --------------------------------------------------------------------


@LANGUAGES
@pytest.mark.parametrize("how", ["forget", "accept"])
def test_rules_do_not_tell_of_a_forgotten_entry_again(opened: Open, language: str, how: str) -> None:
    memory, talk, (boat, _, cat) = opened(), TALKS[language], WORDS[language]
    memory.process_session_end(said(*talk[:2]), "s1")
    if how == "forget":
        memory.forget(entry(memory, boat).id)
    else:
        accept(
            memory.context, propose(memory.context, [Proposed("forget", (Remove(id=entry(memory, boat).id),), "asked")])
        )
    memory.process_session_end(said(*talk[:2], talk[3]), "s1")
    assert boat not in page(memory)
    assert cat in page(memory)


def test_a_request_to_forget_holds_when_the_session_goes_on(opened: Open) -> None:
    memory = opened()
    talk = ["I moved to Berlin for the job at Siemens.", TALKS["en"][1], "Please forget that my boat is called Wanda."]
    memory.process_session_end(said(*talk), "s1")
    memory.process_session_end(said(*talk, "Remember that my cat is called Tom."), "s1")
    assert "Wanda" not in page(memory)
    assert "Tom" in page(memory)


def test_a_model_does_not_tell_of_it_in_any_part_of_a_summary(opened: Open) -> None:
    told = answer(candidate(CAT, quote="my cat is called Tom"), summary=f"{BOAT} {CAT}", decisions=[BOAT, CAT],
                  open_questions=[BOAT])  # fmt: skip
    memory = opened([answer(candidate(BOAT), summary="They talked."), told])
    memory.process_session_end(said("Hello. My boat is called Wanda."), "s1")
    memory.forget(entry(memory, "Wanda").id)
    memory.process_session_end(said("Hello. My boat is called Wanda.", "Remember that my cat is called Tom."), "s1")
    summary = session_md.parse(page(memory))
    assert "Wanda" not in page(memory)
    assert (summary.decisions, summary.open_questions) == ((CAT,), ())


def test_a_title_made_of_a_forgotten_turn_is_made_anew(opened: Open) -> None:
    memory = opened()
    memory.process_session_end(said(LONG), "s1")
    assert "Zorbulon" in memory.book.transcripts.session("s1").title
    memory.forget(source=turn_of(memory, "Zorbulon"))
    memory.process_session_end(said("Remember that my cat is called Tom."), "s1")
    assert "Zorbulon" not in page(memory)
    assert "Tom" in memory.book.transcripts.session("s1").title


@pytest.mark.parametrize("text", ["Decision: we use Postgres 15 for billing.", "决定：账单服务使用 Postgres 15。"])
def test_a_flush_of_messages_brings_nothing_back(opened: Open, text: str) -> None:
    memory = opened()
    assert memory.flush(messages=said(text)).written
    memory.forget(query="Postgres 15")
    flushed = memory.flush(messages=said(text))
    assert (flushed.written, [reason for _, reason in flushed.skipped]) == ((), ["forgotten before"])
    assert "Postgres" not in str(memory.book.journal.operations(limit=1))


def test_the_journal_keeps_no_new_copy_of_what_was_forgotten(opened: Open) -> None:
    memory = opened()
    memory.process_session_end(said(*TALKS["en"][:3]), "s1")
    memory.purge(source=turn_of(memory, "heron"))
    memory.process_session_end(said(*TALKS["en"]), "s1")
    assert holding(memory.root, "heron") == []
    [left] = memory.book.journal.operations(limit=1)[0].discarded
    assert (left.text[:5], left.reason) == ("turn:", "forgotten before")


@LANGUAGES
@pytest.mark.parametrize("confirmed", [False, True])
def test_a_person_who_asks_to_remember_it_after_all_is_heard(
    opened: Open, clock: Clock, language: str, confirmed: bool
) -> None:
    memory, talk, (boat, _, _) = opened(), TALKS[language], WORDS[language]
    memory.process_session_end(said(talk[1]), "s1")
    text = entry(memory, boat).text
    memory.forget(entry(memory, boat).id)
    clock.now += timedelta(days=1)
    memory = opened(require_user_confirmation=confirmed)
    assert memory.process_session_end(said(talk[1]), "s2").new == (not confirmed)
    memory.accept(every=True)
    assert texts(memory) == [text]
    clock.now += timedelta(days=1)
    memory.forget(entry(memory, boat).id)
    mentioned = opened([answer(candidate(text))] * 2)
    assert mentioned.process_session_end(said(text), "s3").new == 0
    assert mentioned.remember(text).action == "created"
    assert mentioned.process_session_end(said(text), "s4").reinforced == 1


# --- no word is left -----------------------------------------------------------------------------


def test_a_quote_in_a_reason_is_purged(opened: Open) -> None:
    memory = opened([answer(candidate(BOAT, quote="my boat is called Wanda"), summary="They talked about boats.")])
    memory.process_session_end(said("You know, my boat is called Wanda, and it rains today, bye."), "s1")
    assert purge(memory.context, entry(memory, "Wanda").id).remains == ()
    assert holding(memory.root, "Wanda") == []


def test_a_title_that_was_cut_is_purged(opened: Open) -> None:
    memory = opened()
    memory.process_session_end(said(LONG, "I moved to Berlin for the job at Siemens."), "s1")
    assert purge(memory.context, entry(memory, "Zorbulon").id).remains == ()
    assert holding(memory.root, "Zorbulon") == []
    assert session_md.parse(page(memory)).title == "I moved to Berlin for the job at Siemens"


@LANGUAGES
def test_a_turn_takes_its_line_of_the_summary_along(opened: Open, language: str) -> None:
    memory, (boat, heron, _) = opened(), WORDS[language]
    memory.process_session_end(said(*TALKS[language][:3]), "s1")
    assert purge(memory.context, source=turn_of(memory, boat)).remains == ()
    assert holding(memory.root, boat) == []
    assert heron in page(memory)


def test_what_was_left_out_of_a_session_is_purged_with_it(opened: Open) -> None:
    told = candidate("Mira Zorbulon earns 9000 euros a month.", quote="Mira Zorbulon earns a lot")
    memory = opened([answer(told, summary="They talked.")])
    memory.process_session_end(said("Mira Zorbulon earns a lot of money each month they say."), "s1")
    assert holding(memory.root, "9000 euros")
    assert purge(memory.context, session="s1").remains == ()
    assert holding(memory.root, "Zorbulon") == []


def test_a_session_that_waits_still_does_when_the_reason_is_purged(opened: Open) -> None:
    memory = opened([answer(candidate(BOAT)), LLMFailed(f"cannot be used: {BOAT!r}")])
    memory.process_session_end(said("Hello. My boat is called Wanda."), "s0")
    memory.process_session_end(said("Remember that my cat is called Tom and my dog is Rex."), "s1")
    purge(memory.context, entry(memory, "Wanda").id)
    assert [(each.session, each.reason) for each in memory.book.journal.parked(kind="memorize")] == [("s1", "(purged)")]


def test_a_turn_is_purged_out_of_what_waits_without_transcripts(opened: Open) -> None:
    memory = opened([LLMFailed("down")], transcripts=CONFIG.transcripts._replace(enabled=False))
    memory.process_session_end(said("My boat is called Wanda.", "My cat is called Tom."), "s1")
    purge(memory.context, query="My boat is called Wanda.")
    [waits] = memory.book.journal.parked(kind="memorize")
    assert "Wanda" not in str(waits.payload)
    assert "Tom" in str(waits.payload)
