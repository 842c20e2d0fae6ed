"""Nothing is taken along: other people's sentences, other subjects', answers to other things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from memorybook.entries.merge_plan import Proposed
from memorybook.entries.review import propose
from memorybook.memory import Memory
from memorybook.model import Add, Entry

KEPT = [
    ("Remember that my locker is number 17.", "Want tea?", "No, but my daughter Lily starts school on Monday."),
    ("Remember that my locker is number 17.", "Want tea?", "Wait, can you remind me to pay the bill on the 20th?"),
    ("Remember that I was diagnosed with diabetes in 2019.", "Sorry.", "In 2019 we bought our house."),
    ("Remember that my son Leo has asthma.", "I see.", "Leo plays football on Sundays."),
    ("记住我的健身房叫力美健。", "还要别的吗？", "不是，我女儿莉莉星期一去橡树小学上学。"),
    ("记住我对花生过敏。", "要订午饭吗？", "不用，我女儿叫莉莉。"),
]


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "book")) as opened:
        yield opened


def talk(memory: Memory, *texts: str) -> None:
    roles = ("user", "assistant")
    turns = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    memory.process_session_end(turns, "s1")


def told(memory: Memory) -> list[str]:
    [session] = memory.book.transcripts.sessions()
    return [turn.text for turn in memory.book.transcripts.turns(session.uuid)]


@pytest.mark.parametrize(("first", "reply", "kept"), KEPT)
def test_the_next_turn_on_something_else_stays(memory: Memory, first: str, reply: str, kept: str) -> None:
    talk(memory, first, reply, kept)
    entry = next(one.entry for one in memory.entries().entries if one.entry.text.rstrip(".。")[-4:] in first)
    memory.forget(entry.id)
    assert kept in told(memory)
    assert first not in told(memory)


@pytest.mark.parametrize(
    ("said", "query", "kept", "gone"),
    [
        ("I like coffee. My brother Tom likes coffee too.", "I like coffee", "My brother Tom likes coffee", "I like"),
        ("I take lisinopril 10 mg. My mother takes lisinopril too.", "I take lisinopril", "My mother", "10 mg"),
        ("我对花生过敏，也对猫毛过敏。", "我对花生过敏", "猫毛", "花生"),
    ],
)
def test_a_statement_forgets_its_own_subject_alone(memory: Memory, said: str, query: str, kept: str, gone: str) -> None:
    talk(memory, said, "ok")
    memory.forget(query=query)
    left = " ".join(told(memory))
    assert kept in left
    assert gone not in left


@pytest.mark.parametrize(
    ("texts", "query", "kept"),
    [
        (("[shares image: a heron]", "ok", "[shares image: a teapot]"), "heron", "[shares image: a teapot]"),
        (("提醒一下：榛子很贵。", "好", "提醒一下：明天开会。"), "榛子", "提醒一下：明天开会。"),
    ],
)
def test_what_only_introduces_it_takes_nothing_else_along(
    memory: Memory, texts: tuple[str, ...], query: str, kept: str
) -> None:
    talk(memory, *texts)
    memory.forget(query=query)
    assert kept in told(memory)
    assert memory.purge(forgotten=True).remains == ()


def test_another_speakers_same_words_stay(memory: Memory) -> None:
    turns = [{"speaker": name, "content": "I prefer green tea."} for name in ("Ann", "Bob")]
    memory.process_session_end(turns, "s1")
    entry = next(one.entry for one in memory.entries().entries if one.entry.text.startswith("Ann"))
    memory.forget(entry.id)
    [session] = memory.book.transcripts.sessions()
    assert [turn.speaker for turn in memory.book.transcripts.turns(session.uuid)] == ["Bob"]


@pytest.mark.parametrize(
    ("old", "new"), [("The rent is 900 euros.", "The rent is 950 euros."), ("房租九百欧。", "房租九百五十欧。")]
)
def test_purging_finds_what_an_entry_said_before(memory: Memory, old: str, new: str) -> None:
    known = memory.remember(old).known.entry
    memory.update(known.id, text=new)
    memory.forget(known.id)
    memory.purge(forgotten=True)
    files = [path for path in Path(memory.root).rglob("*") if path.is_file()]
    assert not [path for path in files if old.rstrip(".。").encode() in path.read_bytes()]


@pytest.mark.parametrize(
    "line",
    ["- The cake is chocolate. Clara is allergic to hazelnuts.", "- 蛋糕是巧克力的。克拉拉对榛子过敏。"],
)
def test_a_line_keeps_what_else_it_says(memory: Memory, line: str) -> None:
    memory.init()
    path = Path(memory.root, "MEMORY.md")
    path.write_text(f"# Agent Memory\n\n## Notes\n\n{line}\n", encoding="utf-8")
    said = line.split("。" if "。" in line else ". ", 1)[1]
    operation = memory.forget(memory.remember(said).known.entry.id).operation
    text = path.read_text(encoding="utf-8")
    assert (line in text, line.removesuffix(said).strip() in text) == (False, True)
    memory.undo(operation or "")
    assert line in path.read_text(encoding="utf-8")


COMMON = [
    (
        "We decided to put a show together for the kids next month.",
        "My accountant wants to be paid on the first of the month, so put it on the list.",
        "Forget my accountant.",
    ),
    ("我们决定下个月为孩子们安排演出。", "我的会计要求每个月一号安排付款。", "忘掉我的会计"),
]


@pytest.mark.parametrize(("kept", "gone", "order"), COMMON)
def test_words_that_others_use_take_nothing_along(memory: Memory, kept: str, gone: str, order: str) -> None:
    filler = [f"We decided to paint door {number} red." for number in range(8)]
    for name, texts in (("s0", filler), ("s1", [kept]), ("s2", [gone])):
        memory.process_session_end([{"role": "user", "content": text} for text in texts], name)
    before = memory.document(memory.book.transcripts.session("s1").path).text
    memory.process_session_end([{"role": "user", "content": order}], "s3")
    assert memory.document(memory.book.transcripts.session("s1").path).text == before
    assert [turn.text for turn in memory.book.transcripts.turns("s1")] == [kept]
    assert memory.book.transcripts.turns("s2") in ([], ())


@pytest.mark.parametrize(
    ("said", "waits", "name"),
    [
        ("My co-author is Ingeborg.", "The paper is due in June and Ingeborg writes half of it.", "Ingeborg"),
        ("我的合著者叫英格博格。", "论文六月截止，英格博格写一半。", "英格博格"),
    ],
)
def test_what_waits_for_a_word_says_it_no_more(memory: Memory, said: str, waits: str, name: str) -> None:
    memory.process_session_end([{"role": "user", "content": said}], "s1")
    now = memory.book.now()
    entry = Entry(id="w1", text=waits, category="fact", score=0.5, scored=now.date(), last_activated=now.date())
    propose(memory.context, [Proposed("new", (Add(entry=entry),), "doubted")])
    assert [one.told for one in memory.review().proposals] == [(f"+ {waits}",)]
    operation = memory.forget(query=name).operation
    assert memory.review().proposals == ()
    assert memory.accept(every=True).accepted == ()
    memory.undo(operation or "")
    memory.forget(query=name)
    memory.purge(forgotten=True)
    assert not [each for each in Path(memory.root).rglob("*") if each.is_file() and name.encode() in each.read_bytes()]
