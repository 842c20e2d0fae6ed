"""History and why: every operation told, and every entry traced to what it rests on."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from books import entry
from entries.test_operations import apply, chat, last
from memorybook.entries.history import history, told, undo, why
from memorybook.errors import InvalidInput, NotFound
from memorybook.memory import Memory
from memorybook.model import Add, Applied, Discarded, Put, Supersede


def test_history_tells_what_was_done_newest_first(memory: Memory) -> None:
    assert history(memory.context).operations == ()
    tea = memory.remember("The tea is black", tags=["hot"]).known.entry.id
    memory.append("bought bread")
    memory.update(tea, text="The tea is green", importance="high", group="home")
    memory.pin(tea)
    memory.forget(tea)
    found = history(memory.context)
    assert [each.operation.kind for each in found.operations] == ["forget", "pin", "update", "append", "remember"]
    assert [each.told for each in found.operations] == [
        (f"- {tea}: The tea is green (forgotten)",),
        (f"~ {tea}: pinned no → yes (pinned)",),
        (
            f"~ {tea}: text 'The tea is black' → 'The tea is green', score 0.60 → 0.80,"
            " group nothing → 'home' (updated)",
        ),
        ("+ daily/2026-02-24.md: - 2026-02-24T10:12:33Z bought bread (appended)",),
        (f"+ {tea}: The tea is black (remembered)",),
    ]
    assert not found.more
    json.dumps(found.json())


def test_history_of_one_thing(memory: Memory, tmp_path: Path) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    done = last(memory)
    memory.append("bought bread")
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    assert [each.operation.id for each in history(memory.context, tea).operations] == [done]
    assert [each.operation.kind for each in history(memory.context, "daily/2026-02-24.md").operations] == ["append"]
    assert [each.operation.kind for each in history(memory.context, "s1").operations] == ["import"]
    assert history(memory.context, "session:s1") == history(memory.context, "s1")
    assert [each.operation.id for each in history(memory.context, done).operations] == [done]
    with pytest.raises(NotFound, match="nobody"):
        history(memory.context, "nobody")


def test_history_shows_what_belongs_to_what_was_asked(memory: Memory) -> None:
    done = apply(memory, Add(entry=entry("e1", "One")), Add(entry=entry("e2", "Two")))
    assert history(memory.context, "e2").operations[0].told == ("+ e2: Two",)
    assert len(history(memory.context, done).operations[0].told) == 2


def test_history_is_cut_and_says_so(memory: Memory) -> None:
    for n in range(3):
        memory.append(f"line {n}")
    assert history(memory.context, limit=2).more
    assert not history(memory.context, limit=3).more
    assert len(history(memory.context, limit=None).operations) == 3
    assert memory.history(limit=10**30) == memory.history(limit=None)
    with pytest.raises(InvalidInput, match="0 is below 1"):
        history(memory.context, limit=0)


def test_an_entry_that_a_person_wrote_has_no_history_yet(memory: Memory) -> None:
    memory.init()
    page = Path(memory.root, "MEMORY.md")
    page.write_text("## Active Memories\n\n### [mine] fact | 0.50 | 2026-02-24 | 1\nMine.\n", encoding="utf-8")
    assert history(memory.context, "mine").operations == ()
    assert why(memory.context, "mine").story == ()


def test_what_was_undone_says_by_what(memory: Memory) -> None:
    memory.remember("The tea is black")
    done = last(memory)
    by = undo(memory.context, done).operation
    [undoing, undone] = history(memory.context).operations
    assert (undone.undone_by, undoing.operation.undoes, undoing.operation.id) == (by, done, by)
    assert undoing.json()["undoes"] == done


def test_what_was_left_out_and_what_it_cost_is_told(memory: Memory) -> None:
    left = Discarded(text="maybe tea", reason="stands in no turn", quote="tea?")
    memory.book.apply([], actor="agent", door="test", kind="memorize", discarded=[left], usage={"calls": 1})
    [found] = history(memory.context).json()["operations"]
    assert found["discarded"] == [{"text": "maybe tea", "reason": "stands in no turn", "quote": "tea?"}]
    assert found["usage"] == {"calls": 1}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("put", "sessions/a.md", None, "x", ""), "+ sessions/a.md, written"),
        (("put", "sessions/a.md", "y", "x", "why"), "~ sessions/a.md, rewritten (why)"),
        (("drop", "sessions/a.md", "y", None, ""), "- sessions/a.md, all of it"),
        (("drop", "daily/a.md", "- y", "", ""), "- daily/a.md: - y"),
        (("item", "MEMORY.md", None, "TODO\nbuy", ""), "+ MEMORY.md, TODO: buy"),
        (("item", "MEMORY.md", "TODO\nbuy", None, ""), "- MEMORY.md, TODO: buy"),
        (("turns", "session:s", '{"turns":[{"position":1}]}', None, ""), "- 1 turn of session s"),
        (("add", "e1", None, "nonsense", ""), "add e1"),
    ],
)
def test_every_kind_of_change_is_told(change: tuple[str, str, str | None, str | None, str], words: str) -> None:
    kind, target, before, after, reason = change
    assert told(Applied(kind=kind, target=target, before=before, after=after, reason=reason)) == words


def test_a_purged_change_says_so() -> None:
    assert told(Applied(kind="add", target="e1", before=None, after="", purged=True)) == "add e1: purged"


def test_why_shows_the_turn_and_its_quote(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "What a day."))
    [known] = memory.entries().entries
    memory.recall("uncle ghp_" + "a1B2" * 9)
    found = why(memory.context, known.entry.id)
    [ground] = found.rests_on
    assert ground.source == "turn:m0"
    assert ground.text == "Remember that my uncle is a xylophonist."
    assert ground.quote
    assert ground.quote in ground.text
    assert (ground.session_name, ground.speaker) == ("s1", "user")
    assert [each.operation.kind for each in found.story] == ["import"]
    [shown] = found.prompts
    assert "uncle" in shown.query
    assert "a1B2" not in shown.query
    assert found.known is not None
    assert found.known.access_count == 1
    json.dumps(found.json())


def test_why_says_what_is_no_longer_kept(memory: Memory, tmp_path: Path) -> None:
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist."))
    [known] = memory.entries().entries
    memory.book.transcripts.remove(known.entry.session or "")
    [ground] = why(memory.context, known.entry.id).rests_on
    assert ground.text is None
    assert "xylophonist" in ground.quote


def test_why_tells_what_replaced_what(memory: Memory) -> None:
    job = memory.remember("The user works at Acme").known.entry.id
    new = entry("new", "The user works at Initech", source="sessions/a.md#L1-L2", contradicts=(job,))
    apply(
        memory, Put(path="sessions/a.md", text="# talk\nnow at Initech\n"), Add(entry=new), Supersede(id=job, by="new")
    )
    found = why(memory.context, "new")
    assert found.supersedes == ((job, "The user works at Acme"),)
    assert found.contradicts == found.supersedes
    assert [(each.source, each.text) for each in found.rests_on] == [("sessions/a.md#L1-L2", "# talk\nnow at Initech")]
    assert why(memory.context, job).superseded_by == ("new", "The user works at Initech")
    assert memory.remember("the user works at ACME").action == "created"


def test_why_of_an_entry_that_is_gone(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.forget(tea)
    found = why(memory.context, tea)
    assert found.known is None
    assert [each.operation.kind for each in found.story] == ["remember", "forget"]
    assert found.json()["entry"] is None
    for unknown in ("nobody", "daily/2026-02-24.md"):
        with pytest.raises(NotFound, match="no entry"):
            why(memory.context, unknown)
