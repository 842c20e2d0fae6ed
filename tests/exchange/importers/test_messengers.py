"""Chats of people as messengers export them: every turn on its day, by whoever said it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable, Iterable
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conversations import Conversation, read
from memorybook.errors import InvalidInput
from memorybook.exchange.importers import opened
from memorybook.memory import Memory

DATA = Path(__file__).parents[2] / "data" / "messengers"
ALLERGIC = "I am allergic to nuts."
ZH = "我对花生过敏。"
MEDIA, APP = "of media, calls or deleted words alone, left out", "of the app itself, left out"

CHATS: dict[str, tuple[str, list[str], list[str]]] = {
    "whatsapp_ios_de.txt": ("whatsapp", [f"3 messages {MEDIA}"], [
        "2023-12-29 21:05:00 Ann: Wir sehen uns am Freitag",
        "2024-01-03 09:15:02 Ann: Ich bin gegen Nüsse allergisch.\nBitte merken!",
        "2024-01-03 09:17:00 Bo: Die Karte",
        "2024-01-03 23:59:59 Cem: Treffen um 10:30 - am Hafen: Tor 2",
    ]),
    "whatsapp_ios_zh.txt": ("whatsapp", [f"2 messages {MEDIA}"], [
        f"2024-01-03 09:15:02 张三: {ZH}\n第二行",
        "2024-01-03 21:17:00 李四: 好的，记住了",
        "2024-01-12 12:30:00 张三: 周五见",
    ]),
    "WhatsApp Chat with Ann.txt": ("whatsapp", [f"2 messages {MEDIA}", f"2 messages {APP}"], [
        "2023-12-29 21:05:00 Ann: See you on Friday",
        f"2024-01-03 09:15:00 Ann: {ALLERGIC}\n\nPlease remember!",
        "2024-01-03 09:17:00 Bo: The map",
        "2024-01-03 23:59:00 Bo: Meet at 10:30 - at the harbour: gate 2",
    ]),
    "whatsapp_android_us.txt": ("whatsapp", [
        f"1 message {MEDIA}",
        "2 times such as '1/3/24, 9:15 PM' can be read day first or month first, and nothing in the file tells which: "
        "month first was assumed",
    ], ["2024-01-03 21:15:00 Ann: I moved to Leeds.", "2024-02-04 00:05:00 Bo: Congratulations!"]),
    "telegram_result.json": ("telegram", [f"1 message {MEDIA}", f"1 message {APP}"], [
        "2023-12-29 21:05:00 Ann: See you on Friday",
        "2024-01-03 09:15:02 Ann: I am allergic to nuts, see https://example.org",
        "2024-01-03 09:17:00 Bo: The map",
        "2024-01-03 09:18:00 Harbour News: Gate 2 opens at six.",
    ]),
    "telegram_all.json": ("telegram", [], [
        f"2024-01-03 09:15:02 张三: {ZH}", "2024-01-03 09:16:00 李四: 记住了 @zhangsan",
        "2024-01-04 00:00:00 李四: 牛奶、鸡蛋",
    ]),
    "telegram_old_group.json": ("telegram", [f"1 message {APP}"], [
        "2024-01-03 09:15:02 Ann: Treffen um zehn", "2024-01-03 09:16:00 user2: Ja",
    ]),
    "messages.html": ("telegram", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f"2024-01-03 08:15:02 Ann: {ALLERGIC}\nSee the card <3", "2024-01-03 08:16:00 Ann: Please remember!",
        "2024-01-03 08:17:00 Bo: I will", "2024-01-03 08:19:00 Harbour News: Gate 2 opens at six.",
    ]),
    "wechat_李四.txt": ("wechat", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f"2024-01-03 09:15:02 张三: {ZH}\n第二行", "2024-01-03 09:17:00 李四: 好的，记住了\n2024-01-05 开会",
        "2024-01-12 21:31:00 张三: 周五见",
    ]),
    "李四_utf8.csv": ("wechat", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f'2024-01-03 09:15:02 我: {ZH}\n第二行, "重要"', "2024-01-03 09:17:00 李四: 好的，记住了",
        "2024-01-12 21:30:00 李四: 周五见",
    ]),
    "wechat_new.csv": ("wechat", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f"2024-01-03 09:15:02 张三: {ZH}", "2024-01-03 09:17:00 李四: 好的，记住了",
    ]),
    "wechat_chatlog.txt": ("wechat", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f"2024-01-03 09:15:02 我: {ZH}", "2024-01-03 09:17:00 李四: 好的，记住了",
    ]),
    "signal_chat.md": ("signal", [f"3 messages {MEDIA}"], [
        f"2024-01-03 09:15:02 Ann: {ALLERGIC}  \nPlease remember!", "2024-01-03 09:17:00 Me: I will",
        "2024-01-04 00:07:00 Ann: 早上好",
    ]),
    "signal_export.json": ("signal", [f"1 message {MEDIA}"], [
        f"2024-01-03 09:15:02 Ann: {ALLERGIC}", "2024-01-04 00:07:00 Me: 好的",
    ]),
    "signal_cli.jsonl": ("signal", [f"1 message {MEDIA}"], [
        f"2024-01-03 09:15:02 Ann: {ALLERGIC}", "2024-01-03 09:17:00 Me: 记住了",
        "2024-01-03 09:18:20 Cem: Treffen um zehn",
    ]),
    "signal_desktop.jsonl": ("signal", [f"1 message {MEDIA}", f"1 message {APP}"], [
        f"2024-01-03 09:15:02 Ann Lee: {ALLERGIC}", "2024-01-03 09:17:00 Me: I will",
        "2024-01-04 00:01:00 Ann Lee: 周五见",
    ]),
}  # fmt: skip


def lines(found: Conversation) -> list[str]:
    turns = [turn for _, turns in found.sessions for turn in turns]
    assert all(turn.role == "" for turn in turns)
    return [f"{turn.time:%Y-%m-%d %H:%M:%S} {turn.speaker}: {turn.text}" for turn in turns if turn.time]


def chat(text: str, name: str = "_chat.txt") -> Conversation:
    return read(name, timezone=UTC, stream=text.encode().splitlines(keepends=True))


@pytest.mark.parametrize("name", CHATS)
def test_every_turn_is_read_with_its_time_and_speaker(name: str) -> None:
    format, warnings, said = CHATS[name]
    found = read(str(DATA / name), timezone=UTC)
    assert (found.format, list(found.warnings), lines(found)) == (format, warnings, said)
    days = {(one.session.name, turn.time and turn.time.date()) for one in found.sessions for turn in one.turns}
    assert len(days) == len(found.sessions), "a day of a chat is a session"


def test_a_chat_has_its_name_and_answers_know_what_they_answer() -> None:
    names = {name: read(str(DATA / name), timezone=UTC).sessions[0].session.name for name in CHATS}
    assert names["WhatsApp Chat with Ann.txt"] == "Ann 2023-12-29"
    assert (names["telegram_all.json"], names["messages.html"]) == ("登山小组 2024-01-03", "Ann & Bo 2024-01-03")
    assert (names["李四_utf8.csv"], names["signal_desktop.jsonl"]) == ("李四 2024-01-03", "Ann Lee 2024-01-03")
    assert chat("[03.01.24, 09:15:02] Ann: a\n[03.01.24, 09:15:03] 李四: b").sessions[0].session.name == (
        "Ann, 李四 2024-01-03"
    )
    for name in ("messages.html", "telegram_result.json"):
        turns = [turn for one in read(str(DATA / name), timezone=UTC).sessions for turn in one.turns]
        assert {"reply_to": "3"} in [turn.metadata for turn in turns]
        assert turns[-1].metadata == {"forwarded_by": "Bo"}


@pytest.mark.parametrize(
    ("stamps", "days", "told"),
    [
        (["[29.12.23, 21:00:00]", "[03.01.24, 09:15:02]"], ["2023-12-29", "2024-01-03"], ""),
        (["[03/01/2024, 21:00:00]", "[05/01/2024, 09:15:02]", "[02/02/2024, 10:00:00]"],
         ["2024-01-03", "2024-01-05", "2024-02-02"], ""),
        (["[1/3/24, 9:00:00 PM]", "[1/13/24, 9:15:02 AM]"], ["2024-01-03", "2024-01-13"], ""),
        (["[03/01/2024, 21:00:00]"], ["2024-01-03"], "day first was assumed"),
        (["[24/1/3 上午9:00:00]"], ["2024-01-03"], ""),
        (["[3.1.2024 klo 9.15.02]"], ["2024-01-03"], ""),
        (["[2024. 1. 3. 오후 9:15:02]"], ["2024-01-03"], ""),
    ],
)  # fmt: skip
def test_the_order_of_day_and_month_is_that_of_the_file(stamps: list[str], days: list[str], told: str) -> None:
    found = chat("".join(f"{stamp} Ann: hello\n" for stamp in stamps))
    assert [line[:10] for line in lines(found)] == days
    assert [warning.rpartition(": ")[2] for warning in found.warnings] == ([told] if told else [])


def table(name: str) -> list[list[str]]:
    return [line.split("\t") for line in (DATA / name).read_text("utf-8").splitlines()]


def of_signal_cli(stamp: str, text: str) -> str:
    message = {"timestamp": int(stamp), "message": text}
    return json.dumps({"envelope": {"sourceName": "Ann", "sourceNumber": "+49", "dataMessage": message}}) + "\n"


SHAPES: dict[str, Callable[[str, str], str]] = {
    "whatsapp.txt": lambda stamp, text: f"{stamp} Ann: {text}\n",
    "telegram.html": lambda stamp, text: (
        f'<div class="message default"><div class="date" title="{stamp}"></div><div class="from_name">Ann</div>'
        f'<div class="text">{text}</div></div>\n'
    ),
    "telegram.json": lambda stamp, text: json.dumps(
        {"type": "message", "date_unixtime" if stamp.isdigit() else "date": stamp, "from": "Ann", "text": text}
    ),
    "signal.md": lambda stamp, text: f"[{stamp}] Ann: {text}  \n",
    "signal.json": lambda stamp, text: json.dumps({"date": stamp, "sender": "Ann", "body": text, "quote": ""}) + "\n",
    "signal.jsonl": of_signal_cli,
    "signal.array": lambda stamp, text: json.dumps(
        {"conversationId": "1", "sent_at": int(stamp), "sourceName": "Ann", "body": text}
    ),
    "wechat.txt": lambda stamp, text: f"{stamp} Ann\n{text}\n\n",
    "wechat.csv": lambda stamp, text: f"1,Ann,0,{text},{stamp}\n",
}
WHOLE = {
    "telegram.html": ("<title>Exported Data</title>\n", "", ""),
    "telegram.json": ('{"name": "Ann", "type": "personal_chat", "id": 1, "messages": [', ",", "]}"),
    "signal.array": ("[", ",", "]"),
    "wechat.csv": ("Type,Sender,IsSender,StrContent,StrTime\n", "", ""),
}
"""What stands before, between and behind the messages."""


def export(shape: str, said: Iterable[tuple[str, str]], timezone: tzinfo) -> Conversation:
    before, between, behind = WHOLE.get(shape, ("", "", ""))
    text = before + between.join(SHAPES[shape](stamp, text) for stamp, text in said) + behind
    return read(f"Ann/{shape}", timezone=timezone, stream=text.encode().splitlines(keepends=True))


DATED = table("dated.tsv")


@pytest.mark.parametrize("row", DATED[1:], ids=lambda row: " ".join(row[:2]))
def test_every_turn_has_its_time_in_the_spelling_of_each_country(row: list[str]) -> None:
    berlin = ZoneInfo("Europe/Berlin")
    shape, _, *stamps = row
    found = export(shape, [(stamp, f"word {number}") for number, stamp in enumerate(stamps)], berlin)
    assert (found.format, found.warnings) == (shape.partition(".")[0], ())
    times = [turn.time.astimezone(berlin) for one in found.sessions for turn in one.turns if turn.time]
    assert [f"{time:%Y-%m-%d %H:%M}" for time in times] == [moment[:16] for moment in DATED[0][2:]]


@pytest.mark.parametrize("row", table("said_by_app.tsv")[1:], ids=" ".join)
def test_what_the_app_says_in_any_language_is_no_turn(row: list[str]) -> None:
    format, _, note = row
    shape, stamp = {
        "whatsapp": ("whatsapp.txt", "03/01/2024, 21:15 -"),
        "signal": ("signal.md", "2024-01-03 09:15:02"),
        "wechat": ("wechat.txt", "2024-01-03 09:15:02"),
    }[format]
    found = export(shape, [(stamp, "Hello there"), (stamp, note), (stamp, "See you")], UTC)
    assert [turn.text for one in found.sessions for turn in one.turns] == ["Hello there", "See you"]


@pytest.mark.parametrize(
    "text",
    [
        "Did you delete the message?", "I deleted the message because Ann asked me to keep it quiet",
        "这条消息别删除，里面有地址：南京路1号", "Deleted message, sorry", "see report.pdf (page 3)", "<3",
        "Ich habe die Nachricht nicht gelesen", "List<String> is <b c>", "你删除了那条消息吗？",
    ],
)  # fmt: skip
def test_what_people_say_of_messages_is_a_turn(text: str) -> None:
    assert lines(chat(f"[03.01.24, 09:15:02] Ann: {text}\n")) == [f"2024-01-03 09:15:02 Ann: {text}"]


def test_texts_of_wechat_may_stand_without_blank_lines_and_old_tables_without_names() -> None:
    text = "2024-01-03 09:15:02 张三\n你好\n2024-01-03 09:16:02 李四\n嗯\n"
    assert lines(chat(text, "a.txt")) == ["2024-01-03 09:15:02 张三: 你好", "2024-01-03 09:16:02 李四: 嗯"]
    rows = "IsSender,StrContent,StrTime\n1,你好,2024-01-03 09:15:02\n0,嗯,2024-01-03 09:16:02\n"
    found = chat(rows + f"0,{'长' * 200_000},2024-01-03 09:17:02\n", "王五.csv")
    assert lines(found) == ["2024-01-03 09:15:02 我: 你好", "2024-01-03 09:16:02 王五: 嗯"]
    assert found.warnings == ("line 4: field larger than field limit (131072), skipped",)


def test_an_export_of_the_same_chat_adds_what_is_new(memory: Memory, tmp_path: Path) -> None:
    first = memory.import_file(str(DATA / "WhatsApp Chat with Ann.txt"))
    assert (first.sessions, first.new_turns, first.formats) == (2, 4, ("whatsapp",))
    _, _, *rest = (DATA / "WhatsApp Chat with Ann.txt").read_text("utf-8").splitlines(keepends=True)
    whole = "".join(rest).replace("03/01/2024, 11:59\u202fpm", "3.1.2024, 23:59")
    grown = tmp_path / "WhatsApp Chat with Ann.zip"  # spelled by another phone, without its beginning
    with zipfile.ZipFile(grown, "w") as archive:
        archive.writestr("_chat.txt", whole + "13/01/2024, 8:00\u202fam - Ann: Good morning\n")
        archive.writestr("IMG-20240103-WA0001.jpg", b"")
    again = memory.import_file(str(grown))
    assert (again.sessions, again.turns, again.new_turns) == (2, 4, 1)


def test_a_folder_of_one_chat_in_two_formats_is_taken_once(memory: Memory, tmp_path: Path) -> None:
    for name, of in (("data.json", "signal_export.json"), ("chat.md", "signal_chat.md"), ("notes.txt", "")):
        place = tmp_path / "export" / "Ann" / name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(DATA / of, place) if of else place.write_text("2024-01-03 09:15:02 INFO started\nready\n")
    brought = memory.import_file(str(tmp_path / "export"))
    assert (brought.formats, brought.turns) == (("signal",), 2)
    assert any("notes.txt" in warning for warning in brought.warnings)
    assert {one.name for one in memory.sessions().sessions} == {"Ann 2024-01-03", "Ann 2024-01-04"}


def test_one_chat_of_many_is_chosen_by_its_name() -> None:
    with open(DATA / "telegram_all.json", "rb") as file:
        found = list(opened("result.json", file, timezone=UTC, scope="登山小组").found)
    assert len(found) == 1


@pytest.mark.parametrize("format", ["whatsapp", "wechat", "telegram", "signal"])
def test_another_text_is_refused(memory: Memory, tmp_path: Path, format: str) -> None:
    (tmp_path / "a.txt").write_text("2024-01-03 is a day\n")
    with pytest.raises(InvalidInput):
        memory.import_file(str(tmp_path / "a.txt"), format=format)


def test_a_line_of_json_is_no_chat_of_text() -> None:
    stream = [json.dumps({"role": "user", "content": "[03.01.24, 09:15:02] Ann: hello"}).encode()]
    assert read("a.jsonl", timezone=UTC, stream=stream).format == "chat"


PIECES = [
    "[03.01.24, 09:15:02] ", "03/01/2024, 9:15\u202fpm - ", "[2024-01-03 09:15] ", "2024-01-03 09:15:02 ", "\u200e",
    "Ann: ", "张三", "\n", "\n\n", "> ", "<", ">", "[", "](./", ")", "(- ", " -)", '"', ",", "99.99.99", "</div>",
    "StrContent,StrTime,IsSender\n", "<title>Exported Data</title>", '<div class="message default" id="message1">',
    '<div class="text">',
]  # fmt: skip
NAMES = (
    "messages type chats list text from date id envelope dataMessage message groupInfo syncMessage sentMessage body "
    "recipient contact group chat chatItem standardMessage timestamp dateSent sender quote conversationId sent_at"
).split()
JSON: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just("2024-01-03"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=6),
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=12).map("".join))
def test_any_text_gives_a_conversation_or_is_refused(text: str) -> None:
    holds(text)


@given(JSON, st.sampled_from(["personal_chat", "message"]))
def test_any_objects_give_a_conversation_or_are_refused(value: Any, kind: str) -> None:
    holds(json.dumps(value))
    holds(json.dumps({"type": kind, "messages": [value]}))
    holds(json.dumps({"chats": {"list": [{"type": kind, "messages": [value, {"type": "message", "text": [value]}]}]}}))
    for name in ("envelope", "chatItem", "recipient", "chat", "backupTimeMs"):
        holds(json.dumps({name: value, "sender": value, "body": "a", "date": value, "quote": ""}))


def holds(text: str) -> None:
    try:
        found = chat(text)
    except InvalidInput:
        return
    for session, turns in found.sessions:
        assert turns
        assert len({turn.id for turn in turns}) == len(turns)
        assert session.turn_ids == tuple(turn.id for turn in turns)
    assert len({one.session.uuid for one in found.sessions}) == len(found.sessions)
