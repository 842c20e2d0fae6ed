"""Forgetting goes clause by clause: what else is said stays, and what says nothing any more is not told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.forget.units import is_id
from memorybook.memory import Memory
from memorybook.model import Session, Turn
from memorybook.sessions.user_commands import Obeyed, obey
from memorybook.text.utterances import PLACEHOLDERS, says_something


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "book")) as opened:
        yield opened


def talk(memory: Memory, *texts: str, name: str = "s1") -> None:
    roles = ("user", "assistant")
    turns = [{"role": roles[number % 2], "content": text} for number, text in enumerate(texts)]
    memory.process_session_end(turns, name)


def order(memory: Memory, text: str) -> Obeyed:
    now = memory.book.now()
    turn = Turn(id="o1", session="order", role="user", text=text, time=now)
    session = Session(uuid="order", name="order", created=now)
    memory.book.transcripts.append(session, [turn])
    done = obey(memory.context, session, turn)
    assert done is not None
    return done


def told(memory: Memory, name: str = "s1") -> list[str]:
    return [turn.text for turn in memory.book.transcripts.turns(name)]


def entries(memory: Memory) -> list[str]:
    return [known.entry.text for known in memory.entries().entries]


STUMPS = [
    (("I'm allergic to hazelnuts.", "Noted, you're allergic to hazelnuts.", "It rains."), "Forget about hazelnuts."),
    (("OK. I'm allergic to hazelnuts.", "Got it: no hazelnuts.", "It rains."), "Forget about hazelnuts."),
    (("I bought hazelnuts.", "Sure, hazelnuts it is. Thanks!", "It rains."), "Forget about hazelnuts."),
    (("Hazelnuts make me ill.", "Understood. Hazelnuts are bad for you.", "It rains."), "Forget about hazelnuts."),
    (("I hate hazelnuts.", "Will do, hazelnuts are off the list.", "It rains."), "Forget about hazelnuts."),
    (("我对榛子过敏。", "好的，你对榛子过敏。", "下雨了。"), "榛子的事别留"),
    (("嗯，我对榛子过敏。", "记下了，你对榛子过敏。", "下雨了。"), "榛子的事别留"),
    (("我讨厌榛子。", "明白了，不放榛子。谢谢你。", "下雨了。"), "榛子的事别留"),
    (("我吃榛子会不舒服。", "收到，榛子不能吃。", "下雨了。"), "榛子的事别留"),
    (("我买了榛子。", "好，榛子买了。", "下雨了。"), "榛子的事别留"),
]


@pytest.mark.parametrize(("texts", "said"), STUMPS)
def test_a_turn_of_which_nothing_telling_is_left_is_gone(memory: Memory, texts: tuple[str, ...], said: str) -> None:
    talk(memory, *texts)
    order(memory, said)
    assert told(memory) == [texts[-1]]
    block = memory.recall("What do you know?").text
    assert not any(mark in block for mark in PLACEHOLDERS)
    shown = [hit.passage.text for hit in memory.search("left out on request 按要求略去 noted 好的").hits]
    assert all(map(says_something, shown))
    assert texts[-1] in block


TWO = [
    ("My dentist is Dr Wong and my doctor is Dr Lee.", "Forget my dentist.", "Wong", "My doctor is Dr Lee."),
    ("My dentist is in Kiel, my doctor is in Bonn.", "Forget my dentist.", "Kiel", "My doctor is in Bonn."),
    ("My dentist is Bo. My lawyer is Cy.", "Forget about my dentist.", "Bo", "My lawyer is Cy."),
    (
        "My landlord lives in Bonn, my brother lives in Kiel.",
        "Forget my landlord.",
        "Bonn",
        "My brother lives in Kiel.",
    ),
    ("I have a cat named Tiger and my wife has a parrot.", "Forget my cat.", "Tiger", "My wife has a parrot."),
    ("我的牙医是王大夫，我的医生是李大夫。", "把我的牙医忘了", "王大夫", "我的医生是李大夫。"),
    ("我的牙医在城东，我的医生在城西。", "忘掉我的牙医", "城东", "我的医生在城西。"),
    ("我的房东姓马。我的律师姓牛。", "把我的房东忘了", "姓马", "我的律师姓牛。"),
    ("我的猫叫小虎，我的狗叫大黄。", "把我的猫忘了", "小虎", "我的狗叫大黄。"),
    ("我的教练是老周，我的会计是老吴。", "忘掉我的教练", "老周", "我的会计是老吴。"),
]


@pytest.mark.parametrize(("text", "said", "gone", "kept"), TWO)
@pytest.mark.parametrize("how", ["order", "query"])
def test_an_entry_keeps_what_else_it_says(memory: Memory, text: str, said: str, gone: str, kept: str, how: str) -> None:
    id = memory.remember(text).known.entry.id
    talk(memory, text, "ok")
    if how == "order":
        operation = order(memory, said).operation
    else:
        receipt = memory.forget(query=said.removeprefix("Forget ").removeprefix("about ").strip("把了忘掉."))
        operation = receipt.operation
        assert f"what else it says stays: {kept} ({id})" in receipt.remains
    assert {known.entry.id: known.entry.text for known in memory.entries().entries}[id] == kept
    assert gone not in " ".join(entries(memory))
    assert gone not in " ".join(told(memory))
    assert kept[1:].lower() in " ".join(told(memory)).lower()
    memory.undo(operation or "")
    assert text in entries(memory)


NUMBERS = [
    ("I earn 85,000 a year.", "The project budget is 85,000.", "Forget what I earn."),
    ("My rent is 1,250 euros.", "The laptop costs 1,250 euros.", "Forget my rent."),
    ("My gym costs 49 a month.", "Bus line 49 goes to the harbour.", "Forget my gym."),
    ("My salary is 120000.", "The archive holds 120000 photos.", "Forget my salary."),
    ("My mortgage is 2,400 a month.", "The hall seats 2,400 guests.", "Forget my mortgage."),
    ("我年薪85000。", "项目预算是85000。", "把我的年薪忘了"),
    ("我的房租是2400。", "这台电脑卖2400。", "把我的房租忘了"),
    ("我的月供是6800。", "图书馆有6800本书。", "把我的月供忘了"),
    ("我的健身卡花了1200。", "礼堂能坐1200人。", "把我的健身卡忘了"),
    ("我的工资是15000。", "仓库有15000件货。", "把我的工资忘了"),
]


@pytest.mark.parametrize(("text", "other", "said"), NUMBERS)
def test_the_same_number_in_another_matter_stays(memory: Memory, text: str, other: str, said: str) -> None:
    talk(memory, text, other, other, "ok")
    done = order(memory, said)
    assert len(done.forgotten) == 1
    assert told(memory) == [other, other, "ok"]


@pytest.mark.parametrize(
    ("value", "known"), [("edge-12", True), ("5550192", True), ("85,000", False), ("85000", False), ("12kg", False)]
)
def test_an_amount_is_no_identifier(value: str, known: bool) -> None:
    assert is_id(value) is known


CHANGED = [
    ("Remember that I live in Porto.", "Remember that I live in Lisbon now.", "Forget that I live in Lisbon.", "Porto"),
    ("I moved to Porto.", "Actually I live in Lisbon now.", "Forget that I live in Lisbon.", "Porto"),
    ("记住我住在杭州。", "记住我现在住在宁波。", "我住宁波的事别留", "杭州"),
]


@pytest.mark.parametrize(("old", "new", "said", "before"), CHANGED)
def test_what_was_true_before_is_told_as_no_longer_so(
    memory: Memory, old: str, new: str, said: str, before: str
) -> None:
    talk(memory, old, "Nice!", new, "Good.")
    done = order(memory, said)
    assert [before in text for text in done.before] == [True]
    assert [known.entry.state for known in memory.entries().entries] == ["superseded"]
    mark = "(no longer so)" if old.isascii() else "（后来已不是这样）"
    question = "Where do I live?" if old.isascii() else "我住在哪里？"
    lines = [line for line in memory.recall(question).text.splitlines() if before in line]
    assert lines
    assert all(mark in line for line in lines)


def test_a_receipt_names_what_was_true_before(memory: Memory) -> None:
    talk(memory, "Remember that I live in Porto.", "Nice!", "Remember that I live in Lisbon now.", "Good.")
    known = next(one.entry.id for one in memory.entries(state="active").entries)
    receipt = memory.forget(known)
    assert receipt.remains[0].startswith("what was true before stays, as no longer so: The user lives in Porto")


WRITTEN = [
    ("- The cake is chocolate. Clara loathes hazelnuts.", "We met at noon. Hazelnuts are dear.", "hazelnuts"),
    ("- 蛋糕是巧克力的。克拉拉不吃榛子。", "今天开会。榛子涨价了。", "榛子"),
]


@pytest.mark.parametrize(("line", "free", "query"), WRITTEN)
@pytest.mark.parametrize("purged", [False, True])
def test_what_a_person_wrote_is_found_and_keeps_the_rest(
    memory: Memory, line: str, free: str, query: str, purged: bool
) -> None:
    memory.init()
    hot, daily = Path(memory.root, "MEMORY.md"), Path(memory.root, "daily", "2026-05-01.md")
    hot.write_text(f"# Agent Memory\n\n## Notes\n\n{line}\n", encoding="utf-8")
    daily.parent.mkdir(exist_ok=True)
    daily.write_text(f"# 2026-05-01\n\n{free}\n", encoding="utf-8")
    receipt = memory.forget(query=query)
    assert len(receipt.notes) == 2
    texts = [path.read_text(encoding="utf-8") for path in (hot, daily)]
    assert not any(query in text.lower() for text in texts)
    end = "。" if "。" in line else "."
    assert all(text.split(end)[0] in left for text, left in zip((line, free), texts, strict=True))
    if purged:
        assert memory.purge(forgotten=True).remains == ()
        held = [path for path in Path(memory.root).rglob("*") if path.is_file()]
        assert not [path for path in held if query.encode() in path.read_bytes().lower()]
    else:
        memory.undo(receipt.operation or "")
        assert (line in hot.read_text(encoding="utf-8"), free in daily.read_text(encoding="utf-8")) == (True, True)


def test_an_order_about_somebody_leaves_others_alone(memory: Memory) -> None:
    said = [
        {"speaker": name, "content": text}
        for name, text in (("Ann", "I worry about my health."), ("Bob", "Shall we play on Friday?"))
    ]
    memory.process_session_end([{"role": "", **each} for each in said], "s1")
    done = order(memory, "Bob asks us to drop anything on his health.")
    assert (done.forgotten, done.proposals) == ((), ())
    assert "I worry about my health." in told(memory)


ECHOES = [
    ("She won't have a stairlift, I asked.", "Forget about the stairlift.", "You told me Brigid wants no stairlift."),
    ("她不要电梯椅，我问过了。", "电梯椅的事别留", "你说过布丽吉不想装电梯椅。"),
]


@pytest.mark.parametrize(("text", "said", "echo"), ECHOES)
@pytest.mark.parametrize("anew", [False, True])
def test_an_echo_in_other_words_stays_away_until_the_user_says_it_anew(
    memory: Memory, text: str, said: str, echo: str, anew: bool
) -> None:
    talk(memory, text, "ok")
    order(memory, said)
    thing = "电梯椅" if "椅" in text else "stairlift"
    first = ("Now she wants a stairlift." if text.isascii() else "她现在想要电梯椅了。") if anew else "Hello there."
    time = "2030-01-01T10:00:00Z"
    turns = [
        {"role": role, "content": each, "timestamp": time} for role, each in (("user", first), ("assistant", echo))
    ]
    memory.process_session_end(turns, "s2")
    assert (thing in " ".join(told(memory, "s2"))) is anew


def test_purging_erases_the_questions_that_named_it(memory: Memory) -> None:
    talk(memory, "My neighbour Quillfeather lets the dog out.", "ok", "It rains.", "ok")
    order(memory, "Forget about Quillfeather.")
    memory.remember("The dog is called Tiger.")
    memory.recall("What did Quillfeather do with the dog?")
    memory.search("Quillfeather")
    assert memory.purge(forgotten=True).remains == ()
    held = [path for path in Path(memory.root).rglob("*") if path.is_file()]
    assert not [path for path in held if b"quillfeather" in path.read_bytes().lower()]


class Names:
    """A model that says which of the entries it is shown an order means: those that hold a word."""

    name = "names"

    def __init__(self, word: str) -> None:
        self.word = word
        self.asked = 0

    def complete(self, messages: Any, *, form: Any = None, **_: Any) -> Any:
        from memorybook.errors import LLMFailed
        from memorybook.formats.llm_messages import Reply, Usage

        self.asked += 1
        if not self.word:
            raise LLMFailed("down")
        shown = str(messages[0]["content"]).splitlines()
        known = [line.split()[0] for line in shown if line.startswith("m") and self.word in line]
        answer = {"candidates": [], "summary": "", "forget": [{"turn": "t1", "text": "that", "known": known}]}
        return Reply(data=form.read({**answer, "decisions": [], "open_questions": []}), usage=Usage(calls=1))


@pytest.mark.parametrize("word", ["Corolla", ""])
@pytest.mark.parametrize(
    ("text", "said"),
    [("Wren drives a green Corolla.", "You don't need to know my car."), ("我开一辆 Corolla。", "把我的车忘了")],
)
def test_a_model_says_what_an_order_in_other_words_means(tmp_path: Path, word: str, text: str, said: str) -> None:
    model = Names(word)
    with memorybook.open(str(tmp_path / "book"), llm=model) as memory:
        memory.remember(text)
        memory.remember("Tea is green.")
        done = order(memory, said)
        assert model.asked == 1 or not word
        assert (text not in entries(memory)) is bool(word)
        assert bool(done.forgotten) is bool(word)
        assert "Tea is green." in entries(memory)


def test_a_name_said_beside_somebody_else_stays(memory: Memory) -> None:
    talk(memory, "Morning. My name is Petra, I run a studio in Maastricht with my brother Joost.")
    order(memory, "Forget what I told you about Joost.")
    assert entries(memory) == ["The user's name is Petra"]
    assert told(memory) == ["Morning. My name is Petra"]


OWN = [
    ("我叫林岚，和弟弟小宇开了面馆。", "小宇", "我叫林岚"),
    ("我住在宁波，跟老周合租。", "老周", "我住在宁波"),
    ("I'm Petra, and run a studio with my brother Joost.", "Joost", "I'm Petra"),
    ("I moved to Bonn, sharing a flat with Zora.", "Zora", "I moved to Bonn"),
]


@pytest.mark.parametrize(("text", "who", "kept"), OWN)
def test_the_users_own_clause_stays_where_the_next_one_has_no_subject(
    memory: Memory, text: str, who: str, kept: str
) -> None:
    memory.remember(text)
    talk(memory, text, "ok")
    memory.forget(query=who)
    assert (entries(memory), told(memory)) == ([kept], [kept, "ok"])
