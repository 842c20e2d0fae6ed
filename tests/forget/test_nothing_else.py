"""Nothing is taken along: other people's sentences, other subjects', answers to other things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import memorybook
from memorybook.memory import Memory

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
