from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memorybook.cli import main
from memorybook.cli.call import VERBS, overview
from memorybook.errors import BookLocked, Conflict, MemoryBookError, NotFound


def error_of(err: str) -> dict[str, str]:
    found: dict[str, str] = json.loads(err)["error"]
    return found


def test_help_lists_every_verb_with_one_line(shell: Any) -> None:
    done = shell("--help")
    assert done.code == 0
    assert done.out == overview()
    for verb, (_, line) in VERBS.items():
        assert f"  {verb:<16}{line}\n" in done.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_help_with_an_example(shell: Any, verb: str) -> None:
    done = shell(verb, "--help")
    assert done.code == 0
    assert "example" in done.out
    assert f"memorybook {verb}" in done.out.partition("example")[2]
    assert all(len(line) <= 120 for line in done.out.splitlines())


@pytest.mark.parametrize("words", [["--version"], ["list", "--version"], ["--book", "x", "--version"]])
def test_the_version_is_told(shell: Any, words: list[str]) -> None:
    done = shell(*words)
    assert done.code == 0
    assert done.out.startswith("memorybook 0.")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["serach", "x"], "unknown command 'serach'; did you mean 'search'?"),
        (["delet"], "did you mean 'delete'?"),
        (["zzzz"], "unknown command 'zzzz'; see: memorybook --help"),
        (["--book", "x"], "no command given"),
        (["--bok", "x", "search"], "unknown option '--bok' before the command"),
        (["search"], "the following arguments are required: query"),
        (["search", "x", "--nope"], "unrecognized arguments: --nope"),
        (["search", "x", "--max", "3"], "unrecognized arguments: --max"),
        (["search", "x", "-n", "0"], "--max-results/--limit/-n: must be a whole number from 1 to 200, not '0'"),
        (["search", "x", "--max-results", "-1"], "must be a whole number from 1 to 200, not '-1'"),
        (["search", "x", "--max-results=1e99"], "must be a whole number from 1 to 200, not '1e99'"),
        (["search", "x", "--max-results", "9" * 5000], "must be a whole number from 1 to 200"),
        (["search", "x", "--min-score", "2"], "--min-score: must be a number from 0 to 1, not '2'"),
        (["search", "x", "--min-score", "nan"], "must be a number from 0 to 1, not 'nan'"),
        (["search", "x", "--min-score", "much"], "must be a number from 0 to 1, not 'much'"),
        (["list", "--set", "provider"], "--set: must be KEY=VALUE, not 'provider'"),
        (["add", "x", "--metadata", "[1]"], "--metadata: must be a JSON object"),
        (["add", "x", "--metadata", "{"], "--metadata: must be a JSON object"),
    ],
)
def test_usage_errors_are_one_sentence_and_exit_2(shell: Any, words: list[str], message: str) -> None:
    done = shell(*words)
    assert (done.code, done.out) == (2, "")
    assert message in done.err
    assert done.err.count("\n") == 1
    as_json = shell("--json", *words)
    assert (as_json.code, as_json.out) == (2, "")
    assert error_of(as_json.err)["code"] == "invalid_input"
    assert message in error_of(as_json.err)["message"]


def test_json_after_two_dashes_is_text(shell: Any, tools: Any) -> None:
    done = shell("add", "--", "--json", "serach")
    assert tools.last[1]["text"] == "--json serach"
    assert not done.out.startswith("{")


@pytest.mark.parametrize(
    ("error", "code", "name"),
    [
        (NotFound("no entry 'x'"), 3, "not_found"),
        (Conflict("changed"), 4, "conflict"),
        (BookLocked("held"), 5, "book_locked"),
        (MemoryBookError("failed"), 1, "error"),
    ],
)
def test_errors_have_their_exit_codes(shell: Any, tools: Any, error: Exception, code: int, name: str) -> None:
    tools.answers["memory_list"] = error
    assert shell("list") == (code, "", f"memorybook: {error}\n")
    done = shell("list", "--json")
    assert (done.code, done.out, error_of(done.err)) == (code, "", {"code": name, "message": str(error)})


def test_an_unexpected_error_is_one_line_with_its_type(shell: Any, tools: Any) -> None:
    tools.answers["memory_list"] = RuntimeError("two\nlines")
    done = shell("list")
    assert done.code == 1
    assert done.err == (
        "memorybook: unexpected RuntimeError: two lines "
        "(please report; run with MEMORYBOOK_DEBUG=1 for the traceback)\n"
    )


def test_ctrl_c_is_130(shell: Any, tools: Any) -> None:
    tools.answers["memory_list"] = KeyboardInterrupt()
    assert shell("list") == (130, "", "")


def test_an_error_shows_no_escape_sequences_and_bytes_that_are_not_text(shell: Any, tools: Any) -> None:
    tools.answers["memory_get"] = NotFound("no \x1b]0;x\x07 \udcff")
    assert shell("get", "x").err == "memorybook: no \\x1b]0;x\\x07 \\udcff\n"
    assert error_of(shell("get", "x", "--json").err)["message"] == "no \x1b]0;x\x07 \udcff"


def test_a_directory_that_is_gone_is_said(shell: Any, nowhere: Path) -> None:
    (nowhere / ".git").rmdir()
    nowhere.rmdir()
    done = shell("list")
    assert done.code == 3
    assert "current directory does not exist" in done.err


@pytest.mark.parametrize("words", [["--book", "b", "list", "--json"], ["list", "--json", "--book", "b"]])
def test_global_options_stand_before_or_after_the_verb(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("memorybook.cli.call.Call.run", lambda call: seen.append(call.options))
    assert main(words) == 0
    assert (seen[0].book, seen[0].json) == ("b", True)


def run(*words: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "memorybook", *words], capture_output=True, check=False, **options)


def test_a_reader_that_went_away_is_no_error() -> None:
    script = f"{sys.executable} -m memorybook completion bash 2>&1 >&3 | cat; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", f"exec 3> >(exec head -c 1 > /dev/null); sleep 0.3; {script}"], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_text_that_stdout_cannot_hold_is_escaped_and_json_is_utf8(tmp_path: Path) -> None:
    script = (
        "import sys; from memorybook.cli.call import Call, write; call = Call('list', ['--json']); "
        "write('记\\n') if sys.argv[1] == 'human' else call.write_json({'text': '记\\udcff'})"
    )
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = [
        subprocess.run([sys.executable, "-c", script, how], capture_output=True, env=env, check=True).stdout
        for how in ("human", "json")
    ]
    assert done[0] == b"\\u8bb0\n"
    assert json.loads(done[1].decode("utf-8")) == {"text": "记\udcff"}
    assert "记".encode() in done[1]


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("list >&-", 2, b"stdout is closed"),
        ("list --json >&-", 2, b"stdout is closed"),
        ("add - <&-", 2, b"stdin is closed"),
        ("import - <&-", 2, b"stdin is closed"),
        ("search - <&-", 2, b"stdin is closed"),
        ("list > /dev/full", 1, b"the system refused: No space left on device"),
        ("list --json > /dev/full", 1, b"the system refused: No space left on device"),
        ("list --help > /dev/full", 1, b"the system refused: No space left on device"),
        ("--help > /dev/full", 1, b"the system refused: No space left on device"),
        ("nosuch 2> /dev/full", 2, b""),
        ("nosuch 2>&-", 2, b""),
    ],
)
def test_streams_that_cannot_be_used_are_one_sentence(line: str, code: int, said: bytes, unbuffered: str) -> None:
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    main(["init"])
    script = f"{sys.executable} -m memorybook {line}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=False, env=env)
    assert done.returncode == code
    assert said in done.stderr
    assert done.stderr.count(b"\n") <= 1
    assert b"report" not in done.stderr


def test_what_the_system_refuses_names_the_file(shell: Any, tools: Any) -> None:
    tools.answers["memory_list"] = PermissionError(13, "Permission denied", "/a/file")
    assert shell("list") == (1, "", "memorybook: the system refused: Permission denied: '/a/file'\n")
    assert error_of(shell("list", "--json").err)["code"] == "system"
