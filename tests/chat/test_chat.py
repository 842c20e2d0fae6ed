from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

import llm_server
import memorybook
from chat.conftest import Talk, Terminal, breaking_off, using
from inference import server
from inference.server import Service

# --- with the book alone -------------------------------------------------------------------------


def test_without_a_model_it_remembers_and_answers_with_what_it_finds(talk: Talk, tmp_path: Path) -> None:
    first = talk("Remember that my ferry leaves at 14:30.", "I talked to Bob about the red bicycle today.")
    assert "no language model is set (llm.model)" in first
    assert "· remembered: The user's ferry leaves at 14:30. [" in first
    assert "◆" in first
    assert "stored 1 · 1 turn\n" in first
    assert "· remembered: The user talked to Bob about the red bicycle today.\n" in first
    second = talk("When does my ferry leave?", "what about tungsten?")
    assert "No model is set. This is what I found:" in second
    assert "   Remember that my ferry leaves at 14:30." in second
    assert "The book says nothing about it yet." in second
    with memorybook.open(str(tmp_path / "book")) as memory:
        [one] = memory.entries().entries
        assert (one.entry.text, one.entry.hits) == ("The user's ferry leaves at 14:30.", 1)
        assert [session.ended is not None for session in memory.book.transcripts.sessions()] == [True, True]


@pytest.mark.parametrize(
    ("said", "done", "found"),
    [
        (
            "Remember that my bus leaves at 15:00, and when does the ferry leave?",
            "remembered: The user's bus leaves at 15:00. [",
            "The ferry leaves from pier 4 at noon.",
        ),
        ("记住我对花生过敏。渡轮几点开？", "已记住：用户对花生过敏。 [", "渡轮中午从四号码头开。"),
    ],
)
def test_an_order_is_carried_out_and_the_question_beside_it_answered(
    talk: Talk, said: str, done: str, found: str
) -> None:
    shown = talk(f"/remember {found}", said, "Remember that I like tea, will you?")
    assert done in shown
    assert found in shown.partition(done)[2]
    assert shown.partition("The user likes tea. [")[2].count("1. ") == 0


@pytest.mark.parametrize(("said", "told"), [("Hello there!", "Ask me what"), ("你好！", "您可以问我")])
def test_a_greeting_finds_nothing(talk: Talk, said: str, told: str) -> None:
    talk("/remember 好的，你好，记住了。", "/remember Hello there is what I say.")
    shown = talk(said)
    assert told in shown
    assert "1. " not in shown


@pytest.mark.parametrize(
    ("known", "said", "asked", "kept"),
    [
        ("We call the new service heron.", "My cat is called Miso.", "What is my cat called?", "says nothing about it"),
        ("我们把新服务叫做苍鹭。", "我家的小猫名叫米索。", "我家的小猫名叫什么？", "记忆库里还没有相关内容"),
    ],
)
def test_a_statement_is_kept_and_answers_what_is_asked_later(
    talk: Talk, known: str, said: str, asked: str, kept: str
) -> None:
    first, _, second = talk(f"/remember {known}", said, asked).partition(kept)
    assert "1. " not in first
    assert said in second.partition("1. ")[2]
    assert known not in second


@pytest.mark.parametrize(
    ("before", "now", "question", "left", "moved"),
    [
        ("I live in Berlin.", "I moved to Hamburg last week.", "Where do I live?", "Berlin", "Hamburg"),
        ("我住在北京。", "我搬到上海了。", "我住在哪里？", "北京", "上海"),
    ],
)
def test_what_was_replaced_is_neither_remembered_nor_the_first_answer(
    talk: Talk, before: str, now: str, question: str, left: str, moved: str
) -> None:
    talk(before)
    assert left not in talk(now).splitlines()[-1]
    _, _, found = talk(question).partition("1. ")
    assert 0 < found.find(moved) < found.find(left)


def test_a_question_about_the_last_talk_is_answered_with_it(talk: Talk) -> None:
    talk("I talked to Bob about the red bicycle today.", "He wants to sell it for ninety euros.")
    shown = talk("What did we talk about last time?")
    assert "· recalled 1 session" in shown
    assert "I talked to Bob about the red bicycle t… (" in shown
    assert "· 记住了：用户今天和小王聊了红色自行车的事。\n" in talk("我今天和小王聊了红色自行车的事。")
    shown = talk("我们上次聊了什么？")
    assert "· 想起了" in shown
    assert "红色自行车" in shown
    assert "· 上一次会话\n" in talk("/sessions 上次", options=["--set", "language=zh"])


def test_what_is_no_text_is_refused_in_one_sentence(talk: Talk, tmp_path: Path) -> None:
    assert talk("I row.", "a" + "\0\1" * 8, "I sail.").count("the input is not UTF-8 text") == 1
    assert "a line of more than 1,000,000 bytes" in talk("a" * 1_000_001)
    with memorybook.open(str(tmp_path / "book")) as memory:
        [session] = memory.book.transcripts.sessions()
        assert [turn.text for turn in memory.book.transcripts.turns(session.uuid)] == ["I row."]


def test_what_is_said_plainly_is_forgotten_at_once(talk: Talk, tmp_path: Path) -> None:
    talk("Remember that my dentist is called Doctor Marlow.")
    shown = talk("Forget what I said about my dentist Doctor Marlow.")
    assert "· forgot: The user's dentist is called Doctor Marlow." in shown
    assert "forgot 1" in shown
    assert "Marlow" not in talk("What is my dentist called?", "/recall dentist", "/sessions")
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert memory.entries().total == 0


# --- with a model --------------------------------------------------------------------------------


def test_a_model_answers_is_given_what_was_said_before_and_remembers(talk: Talk, service: Service) -> None:
    first = talk("Remember: the harbour gate code is on the blue card.", options=using(service))
    assert "You said: Remember: the harbour gate code is on the blue card." in first
    assert "· remembered: " in first
    second = talk("Where is the harbour gate code?", options=[*using(service), "--system", "You are a porter."])
    system = next(body for body in service.requests if "You are a porter." in str(body))["messages"][0]["content"]
    assert "] User: Remember: the harbour gate code is on the blue card.\n" in system
    tokens = re.search(r"· 2 turns · context (\d+) tokens", second)
    assert tokens is not None
    assert int(tokens[1]) > 50


def test_what_a_model_stores_by_its_tools_is_counted(talk: Talk, service: Service) -> None:
    service.script = [
        llm_server.call(
            ("c1", "memory_remember", {"text": "The user sails."}), ("c2", "memory_search", {"query": "x"})
        ),
        llm_server.say("Noted."),
    ]
    assert "stored 1 · 2 turns" in talk("I have sailed all my life.", options=using(service))


def test_a_long_talk_is_compacted(talk: Talk, service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memorybook.chat.terminal.COMPACT_FROM", 1)
    shown = talk(*(f"This is what I say about topic {number} today." for number in range(7)), options=using(service))
    assert "· the conversation was compacted; nothing new to remember; the talk is kept" in shown
    assert "=== Summary of this session ===" in str(
        [body for body in service.requests if "topic 6" in str(body["messages"][-1])]
    )


@pytest.mark.parametrize(
    ("said", "failed", "waits", "asked", "begun"),
    [
        ("I prefer green tea in the morning, always.", "failed: the language model at",
         "not remembered yet, the session waits", "What did we talk about last time?",
         "New session started. (the previous session waits to be remembered: the language model at"),
        ("我们决定早上喝绿茶，不再喝咖啡。", "失败：语言模型", "暂未记住，会话在排队", "我们上次聊了什么？",
         "已开始新会话。（上一次会话等待记忆：语言模型"),
    ],
)  # fmt: skip
def test_a_model_that_fails_ends_the_session_all_the_same(
    talk: Talk, service: Service, tmp_path: Path, said: str, failed: str, waits: str, asked: str, begun: str
) -> None:
    service.usual = server.status(400)
    shown = talk(said, options=using(service))
    assert failed in shown
    assert waits in shown
    again = talk(asked, "/new", options=using(service))
    assert said in str(service.requests)
    assert "going on" not in again
    assert begun in again
    later = datetime.now(UTC) + timedelta(hours=1)
    with memorybook.open(str(tmp_path / "book"), clock=lambda: later) as memory:
        assert all(session.ended for session in memory.book.transcripts.sessions())
        assert [each.queued for each in memory.retry_parked()] == [0, 0]
        assert any("green tea" in known.entry.text or "绿茶" in known.entry.text for known in memory.entries().entries)


@pytest.mark.parametrize("said", ["We decided to rent a flat in Kiel.", "我们决定在基尔租房。"])
def test_without_a_model_every_provider_ends_a_session_and_rules_remember_it(
    talk: Talk, tmp_path: Path, said: str
) -> None:
    talk(said, "/new", options=["--set", "provider=flat"])
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert [(one.title, one.ended is not None) for one in memory.book.transcripts.sessions()] == [(said[:-1], True)]
        assert [known.entry.text for known in memory.entries().entries] == [said]
        assert not memory.book.journal.parked()


@pytest.mark.parametrize(
    ("said", "asked", "told"),
    [("We sail.", "And then?", "degraded: no model"), ("我们出海。", "然后呢？", "降级：no model")],
)
def test_a_summary_that_could_not_be_told_shows_in_the_next_status(
    talk: Talk, service: Service, monkeypatch: pytest.MonkeyPatch, said: str, asked: str, told: str
) -> None:
    failed = threading.Event()

    def refresh(*_: object) -> str:
        failed.set()
        return "no model"

    monkeypatch.setattr("memorybook.agent.session.refresh", refresh)

    def later(handler: server.Handler, body: dict[str, Any]) -> None:
        assert failed.wait(10)
        time.sleep(0.05)  # until it is told
        llm_server.say("And so on.")(handler, body)

    service.script = [llm_server.say("Fine."), later]
    assert told in talk(said, asked, options=using(service))


def test_an_interrupt_in_mid_reply_keeps_what_came(talk: Talk, service: Service, tmp_path: Path) -> None:
    service.script = [breaking_off(lambda: os.kill(os.getpid(), signal.SIGINT)), llm_server.say("Boil water first.")]
    talk("/remember The user likes green tea.")
    shown = talk("How is green tea made?", "Go on.", options=using(service))
    assert "Green tea is made\n" in shown
    assert re.search(r"interrupted; the received part of the answer is stored · .* · context [1-9]", shown)
    assert "Boil water first." in shown
    sent = [(message["role"], message["content"]) for message in service.requests[1]["messages"][1:]]
    assert sent == [
        ("user", "How is green tea made?"),
        ("assistant", "Green tea is made (the user interrupted here)"),
        ("user", "Go on."),
    ]
    with memorybook.open(str(tmp_path / "book")) as memory:
        [session] = memory.book.transcripts.sessions()
        turns = memory.book.transcripts.turns(session.uuid)
    assert (turns[1].text, turns[1].metadata["cut"]) == ("Green tea is made ", True)


@pytest.mark.parametrize(
    ("said", "told"), [("We sail to Marstal.", "before it was stored: say it again"), ("我们去青岛。", "请再说一遍")]
)
def test_an_interrupt_before_the_words_are_kept_says_so(
    talk: Talk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, told: str
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("memorybook.agent.session.AgentSession.add", interrupted)
    assert told in talk(said)
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert memory.book.transcripts.sessions() == []


def test_a_kill_in_mid_reply_loses_no_turn(talk: Talk, service: Service, tmp_path: Path) -> None:
    halfway = threading.Event()
    service.script = [breaking_off(halfway.set)]
    command = [sys.executable, "-m", "memorybook", "chat", "--book", str(tmp_path / "book"), *using(service)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(b"How is green tea made?\n")
        process.stdin.flush()
        assert halfway.wait(20)
        process.kill()
    shown = talk("Well?", options=[*using(service), "--set", "timezone=Asia/Shanghai"])
    hours = (datetime.now(ZoneInfo("Asia/Shanghai")) - timedelta(minutes=minutes) for minutes in (0, 1))
    assert any(f"continuing the session of {hour:%H:%M}" in shown for hour in hours)
    assert "was stored but not answered: How is green tea made?" in shown
    assert [message["content"] for message in service.requests[1]["messages"][1:]] == [
        "How is green tea made?",
        "Well?",
    ]


# --- sessions ------------------------------------------------------------------------------------


def test_two_chats_at_once_are_two_sessions(talk: Talk, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memorybook", "chat", "--book", str(tmp_path / "book")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        other.stdin.write("The first chat talks of apples.\n")
        other.stdin.flush()
        while "◆" not in other.stdout.readline():
            pass
        talk("The second chat talks of pears.")
        other.stdin.close()
        other.stdout.read()
    with memorybook.open(str(tmp_path / "book")) as memory:
        sessions = memory.book.transcripts.sessions()
        texts = [[turn.text for turn in memory.book.transcripts.turns(session.uuid)] for session in sessions]
    assert sorted(texts) == [["The first chat talks of apples."], ["The second chat talks of pears."]]


def test_a_session_that_is_left_idle_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, talk: Talk) -> None:
    lines = iter(["I prefer window seats on trains.", "And now?", "And then?"])
    times = [datetime(2026, 2, 24, 10, tzinfo=UTC)]

    def late(prompt: str) -> str:
        times.append(times[-1] + timedelta(hours=1))
        return next(lines, "/quit")

    monkeypatch.setattr("memorybook.chat.terminal.lacks_editing", lambda: True)
    monkeypatch.setattr("builtins.input", late)
    monkeypatch.setattr("memorybook.book.book.Book.now", lambda self: times[-1])
    shown = talk(options=["--set", "idle_timeout=1800"])
    assert "an earlier session that was left open has ended" in shown
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert [known.entry.text for known in memory.entries().entries] == ["The user prefers window seats on trains."]
        assert len(memory.sessions().sessions) >= 2


def test_a_session_is_gone_on_from(talk: Talk, service: Service) -> None:
    talk("We want to sail to Marstal in May.", options=using(service))
    shown = talk("How far is it?", options=[*using(service), "--session", "last time"])
    assert "continuing from We want to sail to Marstal in May" in shown
    body = next(body for body in service.requests if "How far is it?" in str(body["messages"][-1]))
    assert "We want to sail to Marstal in May." in body["messages"][0]["content"]
    assert "no session" in talk(options=["--session", "ffffffff"], code=3)


# --- commands ------------------------------------------------------------------------------------


def test_commands_are_the_command_lines_verbs(talk: Talk) -> None:
    shown = talk(
        "/remember I don't like coffee.", "/memory", "/memory coffee", "/undo", "/memory", "/undo", "/review",
        "/forget something that nobody said", "/why nobody", "/why", "/pin --help", "/compact", "/status", "/Hepl",
        "/etc/hosts is a file, is it not?", "/exit", "never said",
    )  # fmt: skip
    assert re.search(r"created \w{6} fact 0.60  I don't like coffee\.", shown)
    assert "1. 1.00  MEMORY.md" in shown
    assert "undid remember" in shown
    assert "No entries." in shown
    assert "nothing in this chat can be undone" in shown
    assert "Nothing waits." in shown
    assert "nothing in the book says this" in shown
    assert "no entry 'nobody'" in shown
    assert "· /why ID: explain why an entry is in the book" in shown
    assert "usage: memorybook pin" in shown
    assert "there is nothing to compact" in shown
    assert "sqlite_hybrid" in shown
    assert "there is no command '/Hepl'; did you mean /help?" in shown
    assert "you> /etc/hosts is a file" in shown
    assert "never said" not in shown


def test_the_recalls_are_commands(talk: Talk) -> None:
    shown = talk(
        "We want to sail to Marstal in May.", "/new", "/sessions", "/sessions last time", "/recall", "/recall Marstal",
        "/recall -n 1 Marstal",
    )  # fmt: skip
    assert "New session started." in shown
    assert shown.count("We want to sail to Marstal in May") >= 6


@pytest.mark.parametrize(("said", "when"), [("We want to sail to Marstal.", "last time"), ("我们想去青岛。", "上次")])
def test_a_recall_takes_words_for_a_time(talk: Talk, said: str, when: str) -> None:
    assert said in talk(said, "/new", f"/recall {when}").partition("New session" if said.isascii() else "新会话")[2]
    here, word = ("The mast is of ash.", "mast") if said.isascii() else ("桅杆是白蜡木的。", "桅杆")
    shown = talk(here, f"/recall {word}", "What was in May 1999?", "/recall in May 1999").partition(f"/recall {word}")[
        2
    ]
    assert here in shown  # said in no earlier talk
    assert "What was" not in shown.partition("/recall in May 1999")[2]


def test_a_recall_knows_a_session_by_its_name_and_says_that_nothing_was_said_on_a_day(
    talk: Talk, tmp_path: Path
) -> None:
    with memorybook.open(str(tmp_path / "book")) as memory:
        memory.process_session_end([{"role": "user", "content": "The mast is made of ash."}], "e3")
    shown = talk("/recall e3", "What did we talk about on 3 May 1999?")
    assert "The mast is made of ash." in shown
    assert "nearest" not in shown
    assert "Nothing was said then: 1999-05-03." in shown


@pytest.mark.parametrize(("said", "word"), [("peanuts make me ill.", "peanuts"), ("我对花生过敏。", "花生")])
def test_a_single_word_is_no_id_to_forget(talk: Talk, tmp_path: Path, said: str, word: str) -> None:
    talk(f"/remember {said}", "/remember I like green tea.")
    with memorybook.open(str(tmp_path / "book")) as memory:
        [tea] = [known.entry.id for known in memory.entries().entries if "tea" in known.entry.text]
    shown = talk(f"/forget --query {word} --dry-run", f"/forget {word}", f"/forget {tea}")
    assert ("forget asks before it goes on" in shown) or ("forget 需要您先确认" in shown)
    assert shown.count("would forget 1 entry") + shown.count("将忘掉 1 条记忆") == 2
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert tea not in [known.entry.id for known in memory.entries().entries]


def test_what_was_taken_back_does_not_come_back_at_the_end(talk: Talk, tmp_path: Path) -> None:
    shown = talk("Remember that my ferry leaves at 14:30.", "/undo", "/sessions", "Shall we sail to Marstal in May?")
    assert "undid order" in shown
    assert "(untitled)" in shown
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert memory.entries().total == 0
        [session] = memory.sessions().sessions
        assert (session.title, session.turns) == ("Shall we sail to Marstal in May?", 2)
        assert "ferry" not in session.summary
    talk("Remember that my dentist is called Doctor Marlow.")
    talk("Forget what I said about my dentist Doctor Marlow.", "/undo")
    with memorybook.open(str(tmp_path / "book")) as memory:
        assert "Doctor Marlow" in memory.entries().entries[0].entry.text


def test_undo_takes_back_only_what_was_done_in_this_chat(talk: Talk, service: Service, tmp_path: Path) -> None:
    book = str(tmp_path / "book")

    def by_another(handler: server.Handler, body: dict[str, Any]) -> None:
        with memorybook.open(book) as memory:
            memory.remember("Somebody else likes plums.")
        llm_server.say("Noted.")(handler, body)

    service.script = [llm_server.call(("c1", "memory_remember", {"text": "The user sails."})), by_another]
    shown = talk("I have sailed all my life.", "/undo", "/undo", options=using(service))
    assert "undid remember" in shown
    assert "nothing in this chat can be undone" in shown
    with memorybook.open(book) as memory:
        assert [known.entry.text for known in memory.entries().entries] == ["Somebody else likes plums."]


@pytest.mark.parametrize("command", ["/help", "/帮助"])
def test_help_is_in_the_language_of_the_talk(talk: Talk, command: str) -> None:
    shown = talk("你好呀，今天天气不错。", command)
    assert ("固定一条" in shown and "待审核：等您" in shown) if command == "/help" else ("输入有误：没有命令" in shown)


@pytest.mark.parametrize(
    ("said", "word", "entry"),
    [
        ("Remember that my ferry leaves at noon.", "ferry", "The user's ferry leaves at noon."),
        ("记住：我对花生过敏。花生酱能吃吗？", "花生", "用户对花生过敏。"),
    ],
)
def test_memory_shows_what_is_remembered_and_not_what_was_said(talk: Talk, said: str, word: str, entry: str) -> None:
    shown = talk("/remember The sail is red.", said, f"/memory {word}").partition(f"/memory {word}")[2]
    assert "1. 1.00  MEMORY.md:" in shown
    assert entry in shown
    assert "2. " not in shown


def test_commands_may_be_typed_in_full_width(talk: Talk) -> None:
    shown = talk(
        "／ｒｅｍｅｍｂｅｒ　我喜欢ＡＢＣ。", "、memory", "／undo　－－dry-run　ｘ", "、 是顿号。", "／ｑｕｉｔ", "没说"
    )
    assert "我喜欢ＡＢＣ。" in shown.partition("、memory")[2]
    assert "no operation 'x'" in shown
    assert "1 条消息" in shown
    assert "没说" not in shown


def test_a_chinese_book_is_spoken_to_in_chinese_whatever_the_machine_speaks(talk: Talk) -> None:
    talk("/remember 我对花生过敏。")
    shown = talk(
        "/memory", "/memory 花生", "/sessions", "/recall 火星", "/forget 火星", "/undo", "/remember 我喜欢茶。",
        "/undo", "/review", "/status", "/export", "/pin zzz", "我们去青岛。", "123?", "ok", "/sessions", "/forget 茶",
        "忘掉我对花生过敏这件事。", "/review", "/review accept p9", "/undo", "/undo zzz", "/why zzz", "/sessions 火星",
        "/sessions 2020-01-01", "/recall 昨天的花生", "/new 港口",
    )  # fmt: skip
    assert "（撤销：要求忘掉" in shown
    assert not re.search(r"[0-9a-f]{8}-[0-9a-f]{4}-", shown)
    told = re.sub(
        r"/\S+|turn:\w+|memorybook|llm\.model|embeddings\.model|Ctrl-D|sqlite_hybrid|tiered|MEMORY\.md|--yes|[0-9a-f-]{36}",
        "",
        shown,
    )
    assert re.findall(r"[A-Za-z]{3,}[ :,.][A-Za-z ]{3,}", told) == []
    assert "· 没有设置语言模型" in shown


def test_a_talk_as_json_is_one_document(talk: Talk, service: Service) -> None:
    shown = talk("Hello there, model.", "/memory", options=[*using(service), "--json", "-q"])
    found = json.loads(shown)
    assert found["turns"][0]["user"] == "Hello there, model."
    assert found["turns"][0]["assistant"] == "You said: Hello there, model."
    assert found["turns"][0]["status"]["turns"] == 2
    assert found["remembered"] == []


@pytest.mark.parametrize(
    ("said", "told", "kept"),
    [
        ("Shall we sail to Marstal?", "conversations are not stored", "Kept"),
        ("我们去青岛出海好吗？", "不保存对话", "已保存"),
    ],
)
def test_without_transcripts_the_words_are_nowhere(talk: Talk, tmp_path: Path, said: str, told: str, kept: str) -> None:
    options = ["--set", "transcripts.enabled=false", "--set", f"language={'en' if said.isascii() else 'zh'}"]
    tea, order = ("I like tea.", "Forget what I said about") if said.isascii() else ("我喜欢茶。", "忘掉我说过的")
    orders = [f"{order} {word}." for word in (("tea", "plums") if said.isascii() else ("茶", "李子"))]
    shown = talk(said, f"/remember {tea}", *orders, options=options)
    assert told in shown
    assert kept not in shown
    assert tea in shown.partition(orders[0])[2]  # which went
    files = [path for path in (tmp_path / "book").rglob("*") if path.is_file()]
    for words in (said, order):
        assert [path for path in files if words.encode() in path.read_bytes()] == []


def test_nothing_is_kept_while_memory_is_switched_off(talk: Talk, tmp_path: Path) -> None:
    shown = talk("Remember that I like tea.", "/memory", options=["--set", "enabled=false"])
    assert "memory is switched off" in shown
    assert not (tmp_path / "book").exists()


def test_without_the_extra_a_terminal_reads_plain_lines_and_is_told_of_it(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = iter(["Hello there, my friend."])
    monkeypatch.setattr("memorybook.chat.terminal._is_terminal", lambda: True)
    monkeypatch.setattr("memorybook.chat.terminal.find_spec", lambda name: None)
    monkeypatch.setattr("builtins.input", lambda prompt: next(lines, "/quit"))
    shown = talk()
    assert "pip install 'memorybook[chat]'" in shown
    assert "1 turn" in shown


# --- in a terminal -------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_talk_in_a_terminal(service: Service, tmp_path: Path, language: str) -> None:
    chinese = language == "zh"
    env = {"LANG": "zh_CN.UTF-8"} if chinese else {"LANG": "en_US.UTF-8"}
    service.script = [breaking_off(lambda: None)]
    terminal = Terminal(tmp_path / "book", *using(service), env=env)
    try:
        terminal.see("我>" if chinese else "you>")
        terminal.type("绿茶怎么泡？\r" if chinese else "How is green tea made?\r")
        terminal.see("Green tea is made")
        terminal.type("\x03")
        terminal.see("已打断" if chinese else "interrupted; the received part")
        terminal.see(">")
        terminal.type("/he")
        terminal.see("本页" if chinese else "this page")
        terminal.type("\t\r")
        terminal.see("/quit ")
        terminal.type("记住：我喜欢喝绿茶。\r" if chinese else "Remember that I like green tea.\r")
        terminal.see("已记住：用户喜欢喝绿茶。" if chinese else "remembered: The user likes green tea.")
        terminal.see("You said: ")
        terminal.see("存入 1 条" if chinese else "stored 1")
        terminal.see("我>" if chinese else "you>")
        terminal.type("\x04")
        terminal.see("正在记忆" if chinese else "remembering")
        assert terminal.ends() == 0
        assert "\x1b[38;5;220m◆" in terminal.raw
    finally:
        terminal.close()


def test_leaving_can_be_left_to_the_queue(service: Service, tmp_path: Path) -> None:
    service.script = [llm_server.say("Noted.")]
    asked = threading.Event()

    def never(handler: server.Handler, body: dict[str, object]) -> None:
        asked.set()
        server.hang(handler, body)

    service.usual = never
    terminal = Terminal(tmp_path / "book", *using(service))
    try:
        terminal.see("you>")
        terminal.type("I prefer green tea in the morning, always.\r")
        terminal.see("Noted.")
        terminal.see("you>")
        terminal.type("\x04")
        terminal.see("remembering")
        assert asked.wait(10)
        terminal.type("\x03")
        terminal.see("not remembered yet, the session waits: Ctrl-C")
        assert terminal.ends() in (0, 130)
    finally:
        terminal.close()
    with memorybook.open(str(tmp_path / "book")) as memory:
        [session] = memory.book.transcripts.sessions()
        assert len(memory.book.transcripts.turns(session.uuid)) == 2
        assert session.ended is not None
        assert [each.session for each in memory.book.journal.parked()] == [session.uuid]


def test_what_is_no_utf_8_ends_no_talk(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "memorybook", "chat", "--book", str(tmp_path / "book")]
    done = subprocess.run(command, input=b"\xef\xbb\xbfgr\xfcn \x00 \x1b[31m\r\n", capture_output=True, check=True)
    assert b"\\x1b[31m" in done.stdout
    with memorybook.open(str(tmp_path / "book")) as memory:
        [session] = memory.book.transcripts.sessions()
        [turn] = memory.book.transcripts.turns(session.uuid)
    assert turn.text == "gr\ufffdn \x00 \x1b[31m"


@pytest.mark.parametrize(
    ("order", "correction", "asked"),
    [
        (
            "Remember that the hive inspection is every second Sunday.",
            "Actually the inspection is every third Sunday.",
            "when is the inspection?",
        ),
        ("记住蜂箱每两周检查一次。", "不对，是每三周检查一次。", "蜂箱多久检查一次？"),
    ],
)
def test_what_was_corrected_in_this_chat_is_shown_behind_its_correction(
    talk: Talk, order: str, correction: str, asked: str
) -> None:
    shown = talk(order, correction, asked).partition(f"> {asked}")[2]
    assert 0 < shown.index(correction) < shown.index(order)
