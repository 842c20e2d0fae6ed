"""The command line speaks the language of the setting, else that of the locale; JSON is the same in both."""

from __future__ import annotations

import json
import re

import pytest

from cli.conftest import Shell
from memorybook import locale
from memorybook.cli import main
from memorybook.cli.call import _GROUPS, TEXTS, VERBS

HAN = re.compile("[\u4e00-\u9fff]")


def said(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    """What a command says on stdout and stderr."""
    assert main(list(words)) == code
    return "".join(capsys.readouterr())


def help_texts() -> set[str]:
    """Every text of the help in English: lines of commands and arguments, titles of groups."""
    lines = [line for text in TEXTS.values() for line in text.partition("\n\n")[0].split("\n")]
    told = {line.strip().partition("  ")[2].strip() for line in lines if not line.startswith("+")}
    return (told | {line for _, line in VERBS.values()} | set(_GROUPS)) - {""}


def test_every_text_of_the_help_has_its_chinese_and_none_is_left_over() -> None:
    known = locale.table("help", "zh")
    assert help_texts() - known.keys() == set()
    notes = {" ".join(text.partition("\n\n")[2].partition("example")[0].split()) for text in TEXTS.values()}
    frame = {
        "usage:", "COMMAND", "[options]", "arguments:", "options:", "everywhere:", "example:", "examples:", "More:",
    }  # fmt: skip
    frame |= {
        "Long-term memory for AI agents, in Markdown that a person can read.",
        "Options, before or after the command",
    }
    assert known.keys() - help_texts() - notes == frame
    assert notes - {""} - known.keys() == set()
    assert all(HAN.search(text) or re.fullmatch("[a-z, 、或-]+|user|.*Cookie", text) for text in known.values())


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_is_chinese_where_the_locale_is(
    verb: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    shown = said(capsys, verb, "--help")
    assert locale.table("help", "zh")[VERBS[verb][1]][:20] in shown
    assert "everywhere" not in shown


def test_the_overview_is_in_the_language_that_is_set(capsys: pytest.CaptureFixture[str]) -> None:
    assert "搜索记忆库" in said(capsys, "--set", "language=zh", "--help")
    assert "search the book" in said(capsys, "--help")


def test_answers_and_errors_are_chinese_if_the_setting_is(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORYBOOK_LANGUAGE", "zh")
    assert shell("add", "用户对芒果过敏").out.startswith("已记住")
    assert HAN.search(shell("history", "-n", "1").out.partition("user")[0])
    for words, code, complaint in (
        (("serch",), 2, "没有这个命令：'serch'；是 'search' 吗？"),
        (("search",), 2, "缺少参数：query；见：memorybook search --help"),
        (("search", "--nothing", "x"), 2, "不认识的参数：--nothing；见：memorybook search --help"),
    ):
        done = shell(*words)
        assert (done.code, done.err) == (code, f"memorybook: {complaint}\n")


def test_the_setting_comes_before_the_locale(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    assert shell("add", "The user likes tea.").out.startswith("已记住")
    assert shell("--set", "language=en", "add", "The user likes rice.").out.startswith("created")


def test_json_is_the_same_in_both_languages(shell: Shell) -> None:
    errors = [json.loads(shell("--json", "--set", f"language={one}", "serch").err) for one in ("en", "zh")]
    assert errors[0] == errors[1]
    assert "did you mean" in errors[0]["error"]["message"]
