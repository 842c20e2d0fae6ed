"""The law: forgotten is no longer told, from the moment it is said, at every door, undoable until purged."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import memorybook
from memorybook.memory import Memory
from memorybook.model import Session, Turn
from memorybook.sessions.user_commands import Obeyed, obey


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with memorybook.open(str(tmp_path / "book")) as opened:
        yield opened


def said(*texts: str, role: str = "user") -> list[dict[str, Any]]:
    return [{"role": role, "content": text} for text in texts]


def state(memory: Memory) -> dict[str, object]:
    """All that a book tells, without what undoing cannot bring back: the order of MEMORY.md's stamps."""
    book = memory.book
    shown: dict[str, object] = {info.path: book.documents.read(info.path).text for info in book.documents.list()}
    for session in book.transcripts.sessions():
        shown[session.uuid] = (session, [(turn.id, turn.text) for turn in book.transcripts.turns(session.uuid)])
    return shown


def everything(memory: Memory) -> str:
    found = [str(each) for each in state(memory).values()]
    found += [hit.snippet for word in ("hazelnut", "榛子", "7314", "Danylo") for hit in memory.search(word).hits]
    return "\n".join(found)


def order(memory: Memory, text: str, *, name: str = "order") -> Obeyed:
    now = memory.book.now()
    turn = Turn(id="o1", session=name, role="user", text=text, time=now)
    session = Session(uuid=name, name=name, created=now)
    memory.book.transcripts.append(session, [turn])
    done = obey(memory.context, session, turn)
    assert done is not None
    return done


TALKS = {
    "en": (
        "Remember that I'm allergic to hazelnuts. My sister Lina lives in Kiel.",
        "Noted: you are allergic to hazelnuts.",
    ),
    "zh": ("记住我对榛子过敏。我姐姐莉娜住在基尔。", "记下了，你对榛子过敏。"),
}
WORDS = {"en": ("hazelnut", "Lina", "The user is allergic to hazelnuts"), "zh": ("榛子", "莉娜", "用户对榛子过敏")}


def talk(language: str) -> list[dict[str, Any]]:
    user, assistant = TALKS[language]
    return [{**one, "timestamp": "2026-02-24T10:12:33Z"} for one in (*said(user), *said(assistant, role="assistant"))]


@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("how", ["id", "query", "order"])
def test_what_is_forgotten_is_told_nowhere_and_comes_back_byte_for_byte(
    memory: Memory, language: str, how: str
) -> None:
    word, other, note = WORDS[language]
    memory.process_session_end(talk(language), "s1")
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
    memory.process_session_end(talk(language), "s1")
    memory.forget(query=word)
    memory.process_session_end(talk(language), "s1")
    memory.process_session_end(talk(language), "s2")
    memory.flush(messages=talk(language))
    user, assistant = TALKS[language]
    first = user.replace("Remember that ", "").replace("记住", "").split(". ")[0].split("。")[0]
    memory.process_session_end(said(assistant, role="assistant") + said(f"- {first}\n- {other}\n- x"), "s3")
    assert word not in everything(memory)
    assert other in everything(memory)


@pytest.mark.parametrize(("again", "text"), [("I'm allergic to hazelnuts.", "hazelnut"), ("我对榛子过敏。", "榛子")])
def test_what_a_user_says_anew_is_kept(memory: Memory, again: str, text: str) -> None:
    language = "en" if again.isascii() else "zh"
    memory.process_session_end(talk(language), "s1")
    memory.forget(query=text)
    later = (memory.book.now() + timedelta(days=1)).isoformat()
    memory.process_session_end([{"role": "user", "content": again, "timestamp": later}], "s2")
    assert text in everything(memory)


def test_a_correction_goes_with_what_it_corrects(memory: Memory) -> None:
    talk = said("collector listens on 7341", "scratch that, i swapped two digits. 7314", "Lint is green on main.")
    memory.process_session_end(talk, "s1")
    done = order(memory, "Forget the port the collector is on.")
    assert "7314" not in everything(memory)
    assert "7341" not in everything(memory)
    assert "Lint is green on main." in everything(memory)
    assert "scratch that, i swapped two digits. 7314" in done.forgotten


def test_a_name_that_it_brought_in_goes_from_later_talk_too(memory: Memory) -> None:
    talk = said(
        "We've got a new boy coming.", "He's called Danylo, joins 9C next Wednesday.", "and Danylo went over to 9A."
    )
    memory.process_session_end(talk, "s1")
    order(memory, "Remove the new boy's details.")
    assert "Danylo" not in everything(memory)


def test_the_order_itself_names_it_no_more(memory: Memory) -> None:
    memory.process_session_end(said("Pilar next door lets the dog out at noon."), "s1")
    order(memory, "Pilar moved away, forget her. Lint is green on main.")
    [turn] = memory.book.transcripts.turns("order")
    assert turn.text == "(left out on request) Lint is green on main."


@pytest.mark.parametrize("text", ["Forget what I told you about my submarine.", "潜水艇的事别留"])
def test_what_is_not_found_is_said_plainly(memory: Memory, text: str) -> None:
    memory.process_session_end(talk("en"), "s1")
    done = order(memory, text)
    assert [reason for _, reason in done.refused] == ["asks to forget: nothing was found under these words"]
    assert done.operation is None


def test_more_than_ten_memories_are_asked_about_first(memory: Memory) -> None:
    for number in range(11):
        memory.append(f"The heron database has shard {number} in room {number + 100}.")
    done = order(memory, "Forget what I said about the heron database.")
    assert (done.forgotten, len(done.proposals)) == ((), 1)
    memory.accept(every=True)
    assert "heron" not in everything(memory)


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


@pytest.mark.parametrize("language", TALKS)
@pytest.mark.parametrize("how", ["query", "id", "all"])
def test_purging_follows_what_was_forgotten_to_every_file(memory: Memory, language: str, how: str) -> None:
    word, other, note = WORDS[language]
    memory.process_session_end(talk(language), "s1")
    memory.append(note)
    id = next(one.entry.id for one in memory.entries().entries if word in one.entry.text)
    memory.forget(id)
    receipt = {
        "query": lambda: memory.purge(query=word),
        "id": lambda: memory.purge(id),
        "all": lambda: memory.purge(forgotten=True),
    }[how]()
    assert (receipt.remains, receipt.journal > 0, receipt.searched > 5, len(receipt.limits)) == ((), True, True, 2)
    held = [path for path in Path(memory.root).rglob("*") if path.is_file() and word.encode() in path.read_bytes()]
    assert held == []
    memory.process_session_end(talk(language), "s2")
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


@pytest.mark.parametrize(("texts", "word"), OFF_THE_RECORD)
def test_what_is_not_to_be_kept_is_neither_flushed_nor_remembered(
    memory: Memory, texts: tuple[str, ...], word: str
) -> None:
    messages = said(*texts, "Remember that the heron is grey.")
    [(path, _)] = memory.flush(messages=messages).written
    assert "heron" in memory.book.documents.read(path).text
    assert not [each for each in Path(memory.root).rglob("*") if each.is_file() and word.encode() in each.read_bytes()]
    memory.process_session_end(messages, "s1")
    assert [known.entry.text for known in memory.entries().entries] == ["The heron is grey."]


ORDERS = [
    "Forget the port the collector is on.",
    "Drop everything about my iron tablets, they're none of your business.",
    "Please delete my new address from your records.",
    "Wojtek's new employer is confidential, please remove it.",
    "Leave my shoe size and brand out of your memory from now on.",
    "My agent dropped me, forget her.",
    "You don't need to know my car.",
    "Tobi asks us to drop anything on his health.",
    "端口号那条删了吧，换机房了",
    "妊娠糖尿病这个别再出现",
    "我升职的事先别留，还没公示",
    "把猫的事删了，它走了",
    "店里有几间房别记了",
    "纪先生搬走的地址清掉",
    "练车的事不用再记",
]


@pytest.mark.parametrize("text", ORDERS)
def test_an_order_is_heard(memory: Memory, text: str) -> None:
    done = order(memory, text)
    assert [reason for _, reason in done.refused] == ["asks to forget: nothing was found under these words"]


@pytest.mark.parametrize(
    "text",
    [
        "Delete the temp file.",
        "Remove the unused import.",
        "Drop the tables, please.",
        "把这个文件删了",
        "把缓存清掉",
        "我把钥匙忘了",
    ],
)
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
    [session] = memory.book.transcripts.sessions()
    assert [turn.text for turn in memory.book.transcripts.turns(session.uuid)] == [other]


def test_what_somebody_else_said_of_another_thing_stays(memory: Memory) -> None:
    talk = [{"role": "", "speaker": "蒋不二", "content": text} for text in ("我演爹，台词抄了一半了", "我把票都买好了")]
    memory.process_session_end(talk, "s1")
    done = order(memory, "蒋不二受伤的事他不想提，别留")
    assert done.forgotten == ()
    assert "台词" in everything(memory)


def group_talk() -> list[dict[str, Any]]:
    spoken = (
        ("Tobi", "I've got asthma, so sub me every ten minutes."),
        ("Tobi", "Practice moved to the hall by the river."),
        ("Ann", "The doctor says I may play again."),
    )
    return [{"role": "", "speaker": name, "content": text} for name, text in spoken]


def test_the_nearest_statement_of_whom_the_order_names_goes_and_is_named(memory: Memory) -> None:
    memory.process_session_end(group_talk(), "s1")
    memory.sync()
    done = order(memory, "Tobi asks us to drop anything on his health.")
    assert ["asthma" in text for text in done.forgotten] == [True]
    left = everything(memory)
    assert ("asthma" in left, "Practice moved" in left, "doctor says" in left) == (False, True, True)


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


def test_what_is_mine_is_nobody_elses(memory: Memory) -> None:
    spoken = [{"role": "", "speaker": "Mel", "content": "My car broke down near Bath."}]
    memory.process_session_end(spoken, "s1")
    memory.process_session_end(said("My car is a green Corolla."), "s2")
    done = order(memory, "Forget everything about my car.")
    assert "Corolla" in " ".join(done.forgotten)
    assert "near Bath" in everything(memory)


ANSWERED = [
    ("Your budget for the trip?", "2400 all in, both of us", "Forget what I said about the budget.", "2400"),
    ("薪资到底线了吗？", "一万四千五，过了", "把我的工资忘了", "一万四千五"),
]


@pytest.mark.parametrize(("asked", "answer", "text", "gone"), ANSWERED)
def test_the_answer_to_a_question_about_it_goes_with_it(
    memory: Memory, asked: str, answer: str, text: str, gone: str
) -> None:
    talk = [*said("Hello"), *said(asked, role="assistant"), *said(answer)]
    memory.process_session_end(talk, "s1")
    order(memory, text)
    assert gone not in everything(memory)


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
