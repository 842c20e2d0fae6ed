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

from cli.conftest import Shell
from memorybook.cli.call import ALIASES, VERBS, Call
from memorybook.cli.wording import visible


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


# --- Export, backup and restore as commands: what they print, and their exit codes ----------------


TALK = b'{"role": "user", "content": "I prefer green tea, never coffee.", "id": "t1"}\n'


@pytest.fixture
def talked(shell: Any) -> Any:
    """A shell in whose book is a session."""
    assert shell("memorize", "-", "--session", "tea", stdin=TALK).code == 0
    return shell


def test_an_export_says_what_the_file_holds_and_what_is_new(talked: Any, nowhere: Path) -> None:
    first = talked("export", "sessions.json")
    assert first.out == "sessions.json holds 1 session with 1 turn; 1 session and 1 turn new\n"
    assert json.loads(talked("export", "sessions.json", "--json").out)["new_turns"] == 0
    assert talked("forget", "--session", "tea", "--yes").code == 0
    last = talked("export", "sessions.json")
    assert last.out == "sessions.json holds 0 sessions with 0 turns; 0 sessions and 0 turns new\n"
    assert "1 turn of what was forgotten since went out of it" in last.err
    assert json.loads(Path("sessions.json").read_text()) == []


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_an_export_to_stdout_is_the_document_alone(talked: Any, flags: tuple[str, ...]) -> None:
    [session] = json.loads(talked("export", "-", "--session", "tea", *flags).out)
    assert session["name"] == "tea"
    assert talked("export", "-", "--session", "none", *flags).code == 3


@pytest.mark.parametrize("nasty", ["\x1b[2J", "\x9b31m", "\u202egnp", "\u2069", "\U000e0041", "\x7f 绿茶"])
def test_an_export_holds_nothing_that_acts_on_a_terminal(shell: Any, nasty: str) -> None:
    said = {"role": "user", "content": f"I prefer tea. {nasty}", "id": "t1"}
    assert shell("memorize", "-", "--session", "tea", stdin=json.dumps(said).encode()).code == 0
    out = shell("export", "-").out
    assert visible(out) == out
    assert json.loads(out)[0]["chats"][0]["user_input"] == said["content"]


def test_a_backup_comes_back_as_a_book(talked: Any, nowhere: Path) -> None:
    Path(json.loads(talked("status", "--json").out)["root"], "photo.jpg").write_bytes(b"x")
    done = talked("backup", "book.tar.gz")
    assert "book.tar.gz holds 2 documents, the turns and the journal, " in done.out
    assert "not in it, as they are no documents: photo.jpg" in done.err
    assert talked("restore", "book.tar.gz", "--into", "copy").out.startswith(f"{nowhere}/copy is the book again: ")
    assert "green tea" in talked("--book", "copy", "search", "what about coffee?").out
    assert talked("restore", "book.tar.gz").code == 4
    replaced = talked("restore", "book.tar.gz", "--replace")
    assert "what stood there before is kept in " in replaced.err
    assert json.loads(talked("restore", "book.tar.gz", "--into", "other", "--json").out)["documents"] == 2


def test_what_cannot_be_used_is_a_sentence(talked: Any, nowhere: Path) -> None:
    Path("mine.txt").write_text("mine")
    for words in (["export", "mine.txt"], ["backup", "mine.txt"], ["restore", "mine.txt", "--into", "x"]):
        done = talked(*words)
        assert (done.code, done.err.count("\n")) == (2, 1), done.err
        assert "'mine.txt'" in done.err
    assert talked("restore", "none.tar.gz").code == 3
    assert talked("--book", "nothing", "export", "x.json").code == 3
    assert talked("--set", "enabled=false", "backup", "x.tar.gz").code == 0
    assert not Path("x.tar.gz").exists()


# --- `memorybook sync-summaries` ------------------------------------------------------------------


def test_two_machines_exchange_what_they_have_over_a_folder(shell: Shell, tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shell("--book", "laptop", "add", "Deploys are on Fridays.", "--group", "work")
    talk = b'{"role": "user", "content": "We decided to meet at the harbour."}\n'
    shell("--book", "laptop", "memorize", "-", "--session", "tea", stdin=talk)
    exchange = ["sync-summaries", "--from", str(shared), "--to", str(shared), "--group", "work"]
    handed = shell("--book", "laptop", *exchange, "--node", "laptop")
    assert handed.out == f"handed out in {shared}/laptop: 3 written, 0 removed, 0 as they were\n"
    taken = shell("--book", "desk", *exchange, "--node", "desk")
    assert taken.out.startswith("laptop: 1 summary new, 1 entry new\n")
    assert "to take it back: memorybook undo" in taken.err
    assert shell("--book", "desk", *exchange, "--node", "desk").out.startswith("laptop: nothing new\n")
    assert "sessions/laptop/" in shell("--book", "desk", "search", "harbour").out
    give = ["--book", "laptop", "sync-summaries", "--to", str(shared), "--node", "laptop", "--sessions"]
    counts = [shell(*give, *names).out.partition(": ")[2] for names in (["none"], ["x", "tea"], ["all"], ["none"])]
    assert counts == [
        "0 written, 2 removed, 1 as they were\n",
        "1 written, 0 removed, 1 as they were\n",
        "0 written, 0 removed, 2 as they were\n",
        "0 written, 1 removed, 1 as they were\n",
    ]
    assert shell(*give, "none", "tea").code == 2


def test_what_is_left_out_gone_and_skipped_is_shown(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "phone" / "sessions"
    folder.mkdir(parents=True)
    (folder / "a.md").write_text("---\nsession: a\n---\n# A\n\nAll is well.\n")
    shell("--book", "desk", "sync-summaries", "--from", f"pocket={tmp_path}/phone")
    [page] = Path("desk/sessions/pocket").iterdir()
    (folder / "a.md").write_text("---\n")
    (folder / "b.md").write_text("---\nsession: b\n---\n# B\n\nAll is well.\n")
    again = shell("--book", "desk", "sync-summaries", "--dry-run", "--from", f"pocket={tmp_path}/phone", "/nowhere")
    assert again.code == 0
    assert (
        "pocket: 1 summary new\n  left out (is no summary of a session, or is still being written): a.md" in again.out
    )
    assert "no longer there" not in again.out, "it is not known what it was"
    assert "skipped /nowhere: there is no folder" in again.err
    (folder / "a.md").unlink()
    gone = shell("--book", "desk", "sync-summaries", "--json", "--from", f"pocket={tmp_path}/phone")
    answer = json.loads(gone.out)
    assert answer["nodes"][0]["gone"] == [f"sessions/pocket/{page.name}"]
    assert shell("--book", "desk", "sync-summaries", "--from", f"pocket={tmp_path}/phone").out.count("kept here") == 1
    assert shell("--book", "desk", "sync-summaries").code == 2
    assert shell("--book", "desk", "sync-summaries", "--from", "/nowhere").code == 3


def test_an_operation_of_very_many_changes_is_cut_among_others_and_whole_alone(shell: Shell, tmp_path: Path) -> None:
    folder = tmp_path / "sessions"
    folder.mkdir()
    for number in range(60):
        (folder / f"{number}.md").write_text(f"---\nsession: s{number}\n---\n# Talk {number}\n")
    shell("add", "Tea is green.")
    done = json.loads(shell("sync-summaries", "--json", "--from", f"laptop={tmp_path}").out)
    shown = shell("history").out
    assert shown.count("sessions/laptop/") == 50
    assert f"… 10 more: memorybook history {done['operation']}" in shown
    assert shell("history", done["operation"]).out.count("sessions/laptop/") == 60
