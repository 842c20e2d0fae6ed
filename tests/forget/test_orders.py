"""The law: forgotten is told no more from the moment it is said, at every door, undoable until purged; no more goes."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memorybook
from books import ON_DISK
from books import in_memory as in_memory
from forget.conftest import entries, everything, holding, order, said, state, talk, told
from memorybook.entries.match import Proposed
from memorybook.entries.review import propose
from memorybook.memory import Memory
from memorybook.model import Add, Entry, Session, Turn
from memorybook.sessions.user_commands import obey
from memorybook.text.tokens import PLACEHOLDERS, says_something

# --- what goes, and what stays ---------------------------------------------------------------------

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
    assert (texts[-1] in block, [mark for mark in PLACEHOLDERS if mark in block]) == (True, [])
    shown = [hit.passage.text for hit in memory.search("left out on request 按要求略去 noted 好的").hits]
    assert all(map(says_something, shown))


GONE = [
    (("collector listens on 7341", "ok", "scratch that, i swapped two digits. 7314", "ok", "Lint is green on main."),
     ("Forget the port the collector is on.", ("7314", "7341"), "Lint is green on main.")),
    (("We've got a new boy coming.", "ok", "He's called Danylo, joins 9C.", "ok", "and Danylo went to 9A.", "ok"),
     ("Remove the new boy's details.", ("Danylo",), "")),
    (("Hello", "Your budget for the trip?", "2400 all in, both of us"),
     ("Forget what I said about the budget.", ("2400",), "Hello")),
    (("你好呀", "薪资到底线了吗？", "一万四千五，过了"), ("把我的工资忘了", ("一万四千五",), "你好呀")),
    (("Mel: My car broke down near Bath.", "ok", "My car is a green Corolla."),
     ("Forget everything about my car.", ("Corolla",), "near Bath")),
    (("Tobi: I've got asthma, so sub me often.", "Tobi: Practice moved.", "Ann: The doctor says I may play again."),
     ("Tobi asks us to drop anything on his health.", ("asthma",), "The doctor says")),
    (("Ann: I worry about my health.", "Bob: Shall we play on Friday?"),
     ("Bob asks us to drop anything on his health.", (), "I worry about my health.")),
    (("蒋不二: 我演爹，台词抄了一半了",), ("蒋不二受伤的事他不想提，别留", (), "台词")),
    (("Rent is 890 euros, due on the 3rd.", "ok", "Lint is green."), ("Don't remember my rent.", ("890",), "Lint")),
    (("I'm allergic to shrimp.", "ok", "Lint is green."), ("Please forget my allergy.", ("shrimp",), "Lint")),
    (("My allergy is shrimp.", "ok", "Lint is green."), ("Forget that I'm allergic.", ("shrimp",), "Lint")),
    (("Hello", "ok", "The contractor comes on Friday."), ("Forget my contract.", (), "The contractor comes")),
    (("My manager is Lieve.", "ok", "Lint is green."),
     ("I'd rather you didn't remember who my manager is.", ("Lieve",), "Lint")),
    (("房租每月4200，5号交。", "好的", "测试都过了。"), ("别记我的房租了。", ("4200",), "测试都过了")),
    (("我们组决定方案用犀牛建模。", "好的", "测试都过了。"), ("别再记犀牛建模的事。", ("犀牛",), "测试都过了")),
    (("我在学游泳，每周三晚上七点上课，教练叫阿凯。", "好的", "游泳课下周起改到周四。", "好的", "测试都过了。"),
     ("游泳课的事忘掉吧。", ("游泳", "阿凯", "周四"), "测试都过了")),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "wanted"), GONE)
def test_an_order_takes_what_it_means(
    memory: Memory, texts: tuple[str, ...], wanted: tuple[str, tuple[str, ...], str]
) -> None:
    text, gone, stays = wanted
    talk(memory, *texts)
    memory.sync()
    done = order(memory, text)
    left = everything(memory, *gone)
    assert ([word for word in gone if word in left], stays in left, bool(done.forgotten)) == ([], True, bool(gone))


TWO = [
    ("My dentist is Dr Wong and my doctor is Dr Lee.", "Forget my dentist.", "Wong", "My doctor is Dr Lee."),
    ("My dentist is in Kiel, my doctor is in Bonn.", "Forget my dentist.", "Kiel", "My doctor is in Bonn."),
    ("My dentist is Bo. My lawyer is Cy.", "Forget about my dentist.", "Bo", "My lawyer is Cy."),
    ("My landlord lives in Bonn, my brother lives in Kiel.", "Forget my landlord.", "Bonn",
     "My brother lives in Kiel."),
    ("I have a cat named Tiger and my wife has a parrot.", "Forget my cat.", "Tiger", "My wife has a parrot."),
    ("我的牙医是王大夫，我的医生是李大夫。", "把我的牙医忘了", "王大夫", "我的医生是李大夫。"),
    ("我的牙医在城东，我的医生在城西。", "忘掉我的牙医", "城东", "我的医生在城西。"),
    ("我的房东姓马。我的律师姓牛。", "把我的房东忘了", "姓马", "我的律师姓牛。"),
    ("我的猫叫小虎，我的狗叫大黄。", "把我的猫忘了", "小虎", "我的狗叫大黄。"),
    ("我的教练是老周，我的会计是老吴。", "忘掉我的教练", "老周", "我的会计是老吴。"),
]  # fmt: skip


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


@pytest.mark.parametrize(
    ("old", "new", "question", "before"),
    [
        ("I am learning the cello, lessons every Wednesday.", "Cello lessons move to Thursday.", "cello", "Wednesday"),
        ("我在学游泳，每周三晚上七点上课。", "游泳课下周起改到周四。", "游泳", "周三"),
    ],
)
def test_so_is_what_only_may_have_been_replaced(memory: Memory, old: str, new: str, question: str, before: str) -> None:
    for day, text in enumerate((old, new), 1):
        said = {"role": "user", "content": text, "timestamp": f"2026-02-0{day}T10:00:00Z"}
        memory.process_session_end([said], session_id=f"s{day}")
    (later,) = (one.entry for one in memory.entries() if before not in one.entry.text)
    memory.forget(later.id)
    lines = [line for line in memory.recall(question).text.splitlines() if before in line]
    assert lines
    assert all("no longer so" in line or "不是这样" in line for line in lines)


def test_a_receipt_names_what_was_true_before(memory: Memory) -> None:
    talk(memory, "Remember that I live in Porto.", "Nice!", "Remember that I live in Lisbon now.", "Good.")
    known = next(one.entry.id for one in memory.entries(state="active").entries)
    receipt = memory.forget(known)
    assert receipt.remains[0].startswith("what was true before stays, as no longer so: The user lives in Porto")


WRITTEN = [
    ("- The cake is chocolate. Clara loathes hazelnuts.", "We met at noon. Hazelnuts are dear.", "hazelnuts"),
    ("- 蛋糕是巧克力的。克拉拉不吃榛子。", "今天开会。榛子涨价了。", "榛子"),
]


@ON_DISK
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
        assert holding(memory, query) == []
    else:
        memory.undo(receipt.operation or "")
        assert (line in hot.read_text(encoding="utf-8"), free in daily.read_text(encoding="utf-8")) == (True, True)


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


@ON_DISK
def test_purging_erases_the_questions_that_named_it(memory: Memory) -> None:
    talk(memory, "My neighbour Quillfeather lets the dog out.", "ok", "It rains.", "ok")
    order(memory, "Forget about Quillfeather.")
    memory.remember("The dog is called Tiger.")
    memory.recall("What did Quillfeather do with the dog?")
    memory.search("Quillfeather")
    assert memory.purge(forgotten=True).remains == ()
    assert holding(memory, "quillfeather") == []


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


# --- the law --------------------------------------------------------------------------------------

TALKS = {
    "en": (
        "Remember that I'm allergic to hazelnuts. My sister Lina lives in Kiel.",
        "Noted: you are allergic to hazelnuts.",
    ),
    "zh": ("记住我对榛子过敏。我姐姐莉娜住在基尔。", "记下了，你对榛子过敏。"),
}
WORDS = {"en": ("hazelnut", "Lina", "The user is allergic to hazelnuts"), "zh": ("榛子", "莉娜", "用户对榛子过敏")}


def messages(language: str) -> list[dict[str, Any]]:
    user, assistant = TALKS[language]
    return [
        {**one, "timestamp": "2026-02-24T10:12:33Z"}
        for one in (*said(user), {"role": "assistant", "content": assistant})
    ]


@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("how", ["id", "query", "order"])
def test_what_is_forgotten_is_told_nowhere_and_comes_back_byte_for_byte(
    memory: Memory, language: str, how: str
) -> None:
    word, other, note = WORDS[language]
    memory.process_session_end(messages(language), "s1")
    memory.append(note)
    before = state(memory)
    if how == "id":
        operation = memory.forget(
            next(one.entry.id for one in memory.entries().entries if word in one.entry.text)
        ).operation
    elif how == "query":
        operation = memory.forget(query=word).operation
    else:
        operation = order(
            memory, f"Forget what I said about the {word}s." if language == "en" else f"{word}的事别留"
        ).operation
    assert word not in everything(memory)
    assert other in everything(memory)
    assert memory.review().proposals == ()
    assert word not in memory.recall(word).text
    memory.undo(operation or "")
    after = {path: text for path, text in state(memory).items() if path != "order"}
    assert after == before


@pytest.mark.parametrize("language", TALKS)
def test_the_same_talk_and_its_echoes_stay_away(memory: Memory, language: str, tmp_path: Path) -> None:
    word, other, _ = WORDS[language]
    memory.process_session_end(messages(language), "s1")
    memory.forget(query=word)
    memory.process_session_end(messages(language), "s1")
    memory.process_session_end(messages(language), "s2")
    memory.flush(messages=messages(language))
    user, assistant = TALKS[language]
    first = user.replace("Remember that ", "").replace("记住", "").split(". ")[0].split("。")[0]
    memory.process_session_end([{"role": "assistant", "content": assistant}, *said(f"- {first}\n- {other}\n- x")], "s3")
    assert word not in everything(memory)
    assert other in everything(memory)


@pytest.mark.parametrize(("again", "text"), [("I'm allergic to hazelnuts.", "hazelnut"), ("我对榛子过敏。", "榛子")])
def test_what_a_user_says_anew_is_kept(memory: Memory, again: str, text: str) -> None:
    language = "en" if again.isascii() else "zh"
    memory.process_session_end(messages(language), "s1")
    memory.forget(query=text)
    later = (memory.book.now() + timedelta(days=1)).isoformat()
    memory.process_session_end([{"role": "user", "content": again, "timestamp": later}], "s2")
    assert text in everything(memory)


def test_the_order_itself_names_it_no_more(memory: Memory) -> None:
    memory.process_session_end(said("Pilar next door lets the dog out at noon."), "s1")
    order(memory, "Pilar moved away, forget her. Lint is green on main.")
    [turn] = memory.book.transcripts.turns("order")
    assert turn.text == "(left out on request) Lint is green on main."


def test_more_than_ten_memories_are_asked_about_first(memory: Memory) -> None:
    for number in range(11):
        memory.append(f"The heron database has shard {number} in room {number + 100}.")
    done = order(memory, "Forget what I said about the heron database.")
    assert (done.forgotten, len(done.proposals)) == ((), 1)
    memory.accept(every=True)
    assert "heron" not in everything(memory)


@ON_DISK
def test_a_persons_line_in_the_book_goes_and_comes_back(memory: Memory) -> None:
    memory.remember("The user is allergic to hazelnuts.")
    path = Path(memory.root, "MEMORY.md")
    text = path.read_text(encoding="utf-8").replace(
        "## Preferences\n", "## Preferences\n\n- I'm allergic to hazelnuts\n- I like tea\n"
    )
    path.write_text(text, encoding="utf-8")
    [known] = memory.entries().entries
    operation = memory.forget(known.entry.id).operation
    assert "hazelnut" not in path.read_text(encoding="utf-8")
    assert "- I like tea" in path.read_text(encoding="utf-8")
    memory.undo(operation or "")
    assert "- I'm allergic to hazelnuts" in path.read_text(encoding="utf-8")


@ON_DISK
@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("how", ["query", "id", "all"])
def test_purging_follows_what_was_forgotten_to_every_file(memory: Memory, language: str, how: str) -> None:
    word, other, note = WORDS[language]
    memory.process_session_end(messages(language), "s1")
    memory.append(note)
    id = next(one.entry.id for one in memory.entries().entries if word in one.entry.text)
    memory.forget(id)
    receipt = {
        "query": lambda: memory.purge(query=word),
        "id": lambda: memory.purge(id),
        "all": lambda: memory.purge(forgotten=True),
    }[how]()
    assert (receipt.remains, receipt.journal > 0, receipt.searched > 5, len(receipt.limits)) == ((), True, True, 2)
    assert holding(memory, word) == []
    memory.process_session_end(messages(language), "s2")
    assert word not in everything(memory)
    assert other in everything(memory)


OFF_THE_RECORD = [
    (("I prefer tea in the morning.", "Don't keep that."), "prefer tea"),
    (("I decided to leave Acme in May.", "This is off the record."), "Acme"),
    (("Off the record: I decided to leave Acme in May.",), "Acme"),
    (("I decided to leave Acme in May, but don't keep that.",), "Acme"),
    (("Don't write this down: I was fired from Acme.",), "Acme"),
    (("我决定五月离职。", "这事也别记"), "离职"),
    (("我被公司裁了，这事也别记。",), "裁了"),
    (("这个别记：我决定五月离职。",), "离职"),
]


@ON_DISK
@pytest.mark.parametrize(("texts", "word"), OFF_THE_RECORD)
def test_what_is_not_to_be_kept_is_neither_flushed_nor_remembered(
    memory: Memory, texts: tuple[str, ...], word: str
) -> None:
    messages = said(*texts, "Remember that the heron is grey.")
    [(path, _)] = memory.flush(messages=messages).written
    assert "heron" in memory.book.documents.read(path).text
    assert holding(memory, word) == []
    memory.process_session_end(messages, "s1")
    assert [known.entry.text for known in memory.entries().entries] == ["The heron is grey."]


ORDERS = [
    "Forget the port the collector is on.", "Drop everything about my iron tablets, they're none of your business.",
    "Please delete my new address from your records.", "Wojtek's new employer is confidential, please remove it.",
    "Leave my shoe size and brand out of your memory from now on.", "My agent dropped me, forget her.",
    "You don't need to know my car.", "Tobi asks us to drop anything on his health.", "端口号那条删了吧，换机房了",
    "妊娠糖尿病这个别再出现", "我升职的事先别留，还没公示", "把猫的事删了，它走了", "店里有几间房别记了",
    "纪先生搬走的地址清掉", "练车的事不用再记",
]  # fmt: skip


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_is_heard(memory: Memory, text: str) -> None:
    done = order(memory, text)
    assert [reason for _, reason in done.refused] == ["asks to forget: nothing was found under these words"]


@pytest.mark.parametrize(
    "text",
    [
        "Delete the temp file.", "Remove the unused import.", "Drop the tables, please.", "把这个文件删了",
        "把缓存清掉", "我把钥匙忘了",
    ],
)  # fmt: skip
def test_an_order_about_files_is_none(memory: Memory, text: str) -> None:
    now = memory.book.now()
    turn = Turn(id="o1", session="s", role="user", text=text, time=now)
    assert obey(memory.context, Session(uuid="s"), turn) is None


@pytest.mark.parametrize("purged", [False, True])
def test_a_statement_that_differs_in_one_word_stays(memory: Memory, purged: bool) -> None:
    one, other = (f"The heron database keeps its replica {where} of the river." for where in ("north", "south"))
    known = memory.remember(one).known.entry.id
    memory.remember(other)
    memory.process_session_end(said(one, other), "s1")
    memory.forget(known)
    if purged:
        memory.purge(known)
    assert [each.entry.text for each in memory.entries().entries] == [other]
    assert told(memory) == [other]


@pytest.mark.parametrize(
    ("talk", "text", "near"),
    [
        ("A green Corolla, in case you ask.", "You don't need to know my car.", "Corolla"),
        ("搬了，沁水花苑三栋，把宽带迁过来。", "我搬走后的地址清掉", "沁水花苑"),
    ],
)
def test_what_an_order_may_mean_is_named_and_not_taken(memory: Memory, talk: str, text: str, near: str) -> None:
    memory.process_session_end(said(talk), "s1")
    memory.sync()
    done = order(memory, text)
    assert (done.forgotten, done.operation) == ((), None)
    assert any(near in each for each in done.near)


@pytest.mark.parametrize(
    ("told", "text"),
    [
        ("My tooth hurts badly today.", "Don't keep that."),
        ("我今天牙疼得厉害。", "这事也别记"),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_what_is_not_to_be_kept_is_told_nowhere_until_it_is_undone(
    memory: Memory, told: str, text: str, at_once: bool
) -> None:
    if at_once:
        memory.process_session_end(said(told), "order")
        done = order(memory, text, name=memory.book.transcripts.sessions()[0].uuid)
        assert done.operation is not None
        operation = done.operation
    else:
        memory.process_session_end(said(told, text), "order")
        operation = next(one.id for one in memory.book.journal.operations() if one.kind != "undo")
    assert told.rstrip("。.") not in everything(memory)
    if at_once:
        memory.undo(operation)
        assert told.rstrip("。.") in everything(memory)


@pytest.mark.parametrize(
    ("before", "other", "asked", "gone"),
    [
        ("My bike got stolen last night, so I take the 36 bus now.", "Remember that I like oolong tea.",
         "Don't keep that about the bike being stolen, please.", "stolen"),
        ("我的自行车昨晚被偷了，现在坐36路。", "请记住：报告一律用中文写。", "别记自行车被偷的事。", "偷"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("later", [False, True])
def test_an_order_not_to_keep_what_it_names_means_just_that_wherever_it_was_said(
    memory: Memory, before: str, other: str, asked: str, gone: str, later: bool
) -> None:
    talks = [[before, other], [asked]] if later else [[before, other, asked]]
    for number, texts in enumerate(talks):
        memory.process_session_end(said(*texts), f"talk {number}")
    assert gone not in str(state(memory))
    assert any(other[-5:-1] in entry.text for entry in memory.book.entries())


# --- nothing else ------------------------------------------------------------------------------------

KEPT = [
    ("Remember that my locker is number 17.", "Want tea?", "No, but my daughter Lily starts school on Monday."),
    ("Remember that my locker is number 17.", "Want tea?", "Wait, can you remind me to pay the bill on the 20th?"),
    ("Remember that I was diagnosed with diabetes in 2019.", "Sorry.", "In 2019 we bought our house."),
    ("Remember that my son Leo has asthma.", "I see.", "Leo plays football on Sundays."),
    ("记住我的健身房叫力美健。", "还要别的吗？", "不是，我女儿莉莉星期一去橡树小学上学。"),
    ("记住我对花生过敏。", "要订午饭吗？", "不用，我女儿叫莉莉。"),
]


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


@ON_DISK
@pytest.mark.parametrize(
    ("old", "new"), [("The rent is 900 euros.", "The rent is 950 euros."), ("房租九百欧。", "房租九百五十欧。")]
)
def test_purging_finds_what_an_entry_said_before(memory: Memory, old: str, new: str) -> None:
    known = memory.remember(old).known.entry
    memory.update(known.id, text=new)
    memory.forget(known.id)
    memory.purge(forgotten=True)
    assert holding(memory, old.rstrip(".。")) == []


@ON_DISK
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


@ON_DISK
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
    assert holding(memory, name) == []


BESIDE = [
    (( "Caleb here. So Yusuf and I picked Lisbon.", "Yusuf doesn't care for windows.", "We stay two nights at Inés's.",
     ), "Caleb and Yusuf picked Lisbon and stay two nights with Inés.",
     ("Please wipe where we're staying.", "Inés", "Yusuf doesn't care for windows.")),
    (("我和云生选了大理。", "云生不挑座位。", "我们在小叶家住两晚。"), "用户和云生选了大理，在小叶家住两晚。",
     ("小叶家住两晚的事别留", "小叶", "云生不挑座位。")),
]  # fmt: skip


@pytest.mark.parametrize(("texts", "made", "wanted"), BESIDE)
def test_a_name_beside_what_goes_stays_where_else_it_is_said(
    memory: Memory, texts: tuple[str, ...], made: str, wanted: tuple[str, str, str]
) -> None:
    text, gone, stays = wanted
    other = "Caleb rows." if text.isascii() else "云生划船。"
    turns = [{"id": f"t{number}", **one} for number, one in enumerate(said(*texts), 1)]
    memory.process_session_end(turns, "s1")
    day = memory.book.now().date()
    fields: dict[str, Any] = {"category": "fact", "score": 0.5, "scored": day, "last_activated": day, "session": "s1"}
    memory.book.apply(
        [
            Add(entry=Entry(id="e1", text=made, source="turn:t1 turn:t3", **fields)),
            Add(entry=Entry(id="e2", text=other, source="turn:t11", **fields)),
        ],
        actor="user",
        door="test",
    )
    order(memory, text)
    left = everything(memory)
    assert (gone in left, stays in told(memory), other in entries(memory)) == (False, True, True)
