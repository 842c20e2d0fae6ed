from __future__ import annotations

import pytest

from memorybook.chat.commands import COMMANDS, Screen, Status, order_in, spoken, status_parts
from memorybook.chat.terminal import completions
from memorybook.cli.call import Options
from memorybook.errors import InvalidInput

PLAIN = {"no_color": False, "quiet": False, "json": False}


@pytest.fixture
def screen() -> Screen:
    made = Screen(Options(**PLAIN))
    made.page.width = 12
    return made


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["Green t", "ea is", " made of leaves."], "Green tea is\nmade of\nleaves.\n"),
        (["绿茶是用", "茶叶泡的。"], "绿茶是用茶叶\n泡的。\n"), (["one\n", "\ntwo"], "one\n\ntwo\n"),
        (["<thi", "nk>Tea, or coffee?</th", "ink>Tea."], "Tea.\n"), (["\x1b[31mred"], "\\x1b[31mred\n"), ([], ""),
    ],
)  # fmt: skip
def test_a_reply_is_shown_as_it_comes(
    screen: Screen, pieces: list[str], shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for piece in pieces:
        screen.piece(piece)
    screen.end()
    assert capsys.readouterr().out == shown


def test_all_but_the_last_word_is_shown_before_the_end(screen: Screen, capsys: pytest.CaptureFixture[str]) -> None:
    screen.piece("Green tea is")
    assert capsys.readouterr().out == "Green tea"
    screen.remark("more of it than fits")
    assert capsys.readouterr().out == " is\n· more of it\n  than fits\n"


def test_what_may_be_a_thought_is_not_said_yet() -> None:
    assert [spoken(text) for text in ("<", "<think>x", "<b>", "</think>")] == ["", "", "<b>", "</think>"]


@pytest.mark.parametrize(
    ("status", "language", "state"),
    [
        (Status(0), "en", "ok"),
        (Status(0, stored=2, forgotten=1, waiting=3), "zh", "存入 2 条 · 忘掉 1 条 · 3 项待审核"),
        (Status(0, "recalled 1 turn", trouble=("no embedder",)), "en", "recalled 1 turn · degraded: no embedder"),
        (Status(0, trouble=("down",), failed=True), "zh", "失败：down"),
        (Status(0, cut=True, failed=True), "en", "interrupted; the received part of the answer is stored"),
    ],
)
def test_the_line_under_a_reply(status: Status, language: str, state: str) -> None:
    made = status_parts(status._replace(seconds=1.26, turns=1, tokens=7), language)
    line = "".join(part if isinstance(part, str) else part[1] for part in made)
    size = "1 turn · context 7 tokens" if language == "en" else "1 条消息 · 上下文 7 词元"
    assert line == f"◆ 1.3 s · {state} · {size}"
    styles = [part[0] for part in made if not isinstance(part, str)]
    assert (styles[0], styles[2]) == ("gold", "bad" if status.trouble or status.cut else "good")


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/fo", ["/forget"]), ("/", [one.name for one in COMMANDS]), ("/why ", ["a1b2c3", "a9z8y7"]),
        ("/forget a9", ["a9z8y7"]), ("/sessions ", ["5f2c"]), ("/remember ", []), ("/why a1b2c3 ", []), ("why", []),
    ],
)  # fmt: skip
def test_commands_and_ids_are_completed(typed: str, offered: list[str]) -> None:
    known = {"entries": [("a1b2c3", "tea"), ("a9z8y7", "coffee")], "sessions": [("5f2c", "a trip")]}
    found = list(completions(typed, known.__getitem__, "en"))
    assert [one.text for one in found] == offered
    assert all(one.display_meta_text for one in found)


@pytest.mark.parametrize(
    ("line", "verb", "words"),
    [
        ("/remember I don't mind", "add", ["I don't mind"]),
        ("/remember --type todo 'call Bob'", "add", ["--type", "todo", "call Bob"]),
        ("/review accept p1", "review", ["accept", "p1"]),
        ('/why "', "why", ['"']),
    ],
)
def test_a_command_is_a_verb_with_its_words(line: str, verb: str, words: list[str]) -> None:
    order = order_in(line)
    assert order is not None
    assert order.command.verb is not None
    assert order.command.verb(order.rest) == (verb, words)


def test_what_several_commands_begin_with_is_none() -> None:
    with pytest.raises(InvalidInput, match="there is no command '/re'"):
        order_in("/re")
    assert order_in("/usr/bin is a folder") is None
    assert order_in("and /or") is None
