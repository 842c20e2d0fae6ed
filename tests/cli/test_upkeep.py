from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from memorybook.cli.call import ALIASES, VERBS, Call


class Upkept:
    """In place of a memory: says what it is asked for, and reports progress where it can."""

    def __init__(self) -> None:
        self.config = SimpleNamespace(enabled=True, warnings=())
        self.root = "/the/book"
        self.imported: list[tuple[str, str | None]] = []
        self.closed = False

    def init(self) -> dict[str, Any]:
        return {"root": self.root, "created": ["MEMORY.md"], "hint": ""}

    def sync(self, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        if progress:
            progress(1, 2)
            progress(2, 0)
        return {"checked": 2, "progress": progress is not None}

    def rebuild(self, *, progress: Callable[[int, int], None] | None = None) -> dict[str, Any]:
        return self.sync(progress=progress)

    def import_file(self, path: str, *, scope: str | None, progress: Any, **rest: Any) -> Any:
        self.imported.append((path, scope))
        answer = {"turns": 3, "progress": progress is not None}
        return SimpleNamespace(json=lambda: answer)

    def watch(self, on_change: Callable[[dict[str, Any]], None], *, stop: Any) -> None:
        on_change({"checked": 2, "changed": 1, "removed": 0, "degraded": ("slow",), "warnings": ["a.md:1: odd"]})
        on_change({"checked": 2, "changed": 0, "removed": 1})
        raise KeyboardInterrupt

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> Upkept:
    upkept = Upkept()
    monkeypatch.setattr(Call, "memory", upkept)
    return upkept


@pytest.mark.usefixtures("memory")
@pytest.mark.parametrize("verb", ["sync", "rebuild"])
def test_the_index_is_brought_up_to_date_without_a_bar_in_a_pipe(shell: Any, verb: str) -> None:
    assert json.loads(shell(verb, "--json").out) == {"checked": 2, "progress": False}
    assert "checked                2\n" in shell(verb).out


def test_watch_tells_each_change_until_ctrl_c(shell: Any, memory: Upkept) -> None:
    done = shell("watch")
    assert done.code == 130
    assert done.out == "checked 2, changed 1, removed 0\nchecked 2, changed 0, removed 1\n"
    assert "watching /the/book" in done.err
    assert "memorybook: slow\nmemorybook: a.md:1: odd\n" in done.err


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True)
    call = Call("sync", [])
    with call.progress("Indexing") as progress:
        assert progress is not None
        progress(1, 2)
        progress(5, 0)
    with Call("sync", ["--quiet"]).progress("Indexing") as progress:
        assert progress is None
    assert capsys.readouterr().out == ""


# --- trust ---------------------------------------------------------------------------------------


def test_trust_the_projects_file(shell: Any, nowhere: Path) -> None:
    (nowhere / "memorybook.toml").write_text("root_dir = 'book'")
    done = shell("trust")
    assert done.out == f"trusted {nowhere}/memorybook.toml (root_dir)\n"
    assert Call("list", []).config().root_dir == str(nowhere / "book")


def test_the_status_of_a_book_that_cannot_be_opened_says_what_was_left_out(
    shell: Any, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "memorybook.toml").write_text("[vector]\nbase_url = 'http://127.0.0.1:9/v1'")
    monkeypatch.setenv("MEMORYBOOK_EMBEDDINGS_MODEL", "m")
    for words in ([], ["--json"]):
        found = shell("status", *words)
        assert found.code
        assert "vector.base_url left out" in found.err.splitlines()[0]
        assert "set embeddings.base_url" in found.err.splitlines()[1]


@pytest.mark.parametrize("part", ["embeddings", "vector", "llm"])
@pytest.mark.parametrize("model", ["m", "local/org/name", "pydantic-ai/openai:gpt-5"])
def test_a_model_that_an_untrusted_file_names_stops_no_command(
    shell: Any, nowhere: Path, part: str, model: str
) -> None:
    (nowhere / "memorybook.toml").write_text(f"[{part}]\nmodel = {model!r}\nbase_url = 'http://127.0.0.1:9/v1'")
    for words in (["add", "Ann drinks green tea."], ["search", "tea"], ["flush", "We decided to use pnpm."]):
        found = shell(*words)
        assert not found.code
        assert f"its {part}.model, {part}.base_url left out" in found.err


def test_an_untrusted_file_is_remarked(
    nowhere: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (nowhere / "memorybook.toml").write_text("root_dir = 'book'")
    Call("list", []).config()
    assert "is not trusted, its root_dir left out" in capsys.readouterr().err
    Call("list", ["--json"]).config()
    assert "is not trusted" in json.loads(capsys.readouterr().err)["warning"]["message"]
    for words in (["--quiet"], ["--quiet", "--json"]):
        Call("list", words).config()
    Call("status", []).config()
    assert capsys.readouterr().err == ""


# --- completion ----------------------------------------------------------------------------------


def test_completion_knows_every_verb_and_alias(shell: Any) -> None:
    done = shell("completion", "bash")
    assert done.code == 0
    verbs = next(line for line in done.out.splitlines() if line.startswith("_shtab_memorybook_subparsers="))
    assert set(re.findall(r"[\w-]+", verbs.partition("=")[2])) == {*VERBS, *ALIASES}


def test_bash_accepts_the_script_and_completes_with_it(shell: Any, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(shell("completion", "bash").out)
    ask = (
        f"source {script}; COMP_WORDS=(memorybook sea); COMP_CWORD=1; "
        "_shtab_memorybook memorybook sea memorybook; echo ${COMPREPLY[@]}"
    )
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "search"
