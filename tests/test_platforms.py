"""Other systems, faked in processes of their own: what works there works, what cannot says so in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from memorybook.config.files import user_dir
from memorybook.errors import NotFound
from memorybook.storage import safe_open
from memorybook.storage.output_file import alone_in

WINDOWS = """
import os, sys
import asyncio, concurrent.futures.thread, logging, multiprocessing, random, shutil, socket, ssl, subprocess, tempfile
import anyio, apsw, fastapi, filelock, httpx2, mcp.client.stdio, mcp.server, mcp.server.stdio, numpy, uvicorn
import contextlib, prometheus_client

filelock.FileLock = contextlib.nullcontext  # its own needs what is taken away here

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in {"fcntl", "resource", "termios", "pwd", "grp", "tty", "pty", "curses", "readline"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in ("fcntl", "resource", "termios", "pwd", "grp"):
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
for name in (
    "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC", "O_NONBLOCK", "O_NOCTTY", "fchmod", "fork", "posix_spawn", "pread",
    "pwrite", "POSIX_SPAWN_OPEN", "getuid", "geteuid", "setsid", "killpg", "register_at_fork", "sched_getaffinity",
):
    delattr(os, name)
os.supports_dir_fd.clear()
os.supports_fd.clear()
os.supports_follow_symlinks.clear()
socket.SO_EXCLUSIVEADDRUSE = socket.SO_REUSEADDR
sys.platform = "win32"
known, sys.modules["ctypes"] = sys.modules.get("ctypes"), None  # then places come from the environment
import platformdirs
sys.modules["ctypes"] = known
"""
"""What a program does without on Windows, once the standard library and other packages are there."""

MACOS = """
import os, sys, subprocess, asyncio, fcntl, socket, ssl, shutil, tempfile, multiprocessing, ctypes, sysconfig

sysconfig.get_config_vars()
flushed = []
flush = fcntl.fcntl
fcntl.F_FULLFSYNC = 51
fcntl.fcntl = lambda file, command, *more: flushed.append(file) if command == 51 else flush(file, command, *more)
spawn = os.posix_spawn

def posix_spawn(*arguments, setsid=False, **named):
    if setsid:
        raise NotImplementedError("setsid")
    return spawn(*arguments, **named)

os.posix_spawn = posix_spawn
del os.sched_getaffinity
library = ctypes.CDLL

class Library:
    def __init__(self, name, *arguments, **named):
        self._library = library(name, *arguments, **named)

    def __getattr__(self, name):
        if name in {"inotify_init1", "inotify_add_watch", "renameat2"}:
            raise AttributeError(name)
        return getattr(self._library, name)

ctypes.CDLL = Library
opened = open

def without_proc(path, *arguments, **named):
    if str(path).startswith("/proc"):
        raise FileNotFoundError(2, "No such file or directory", path)
    return opened(path, *arguments, **named)

import builtins
builtins.open = without_proc
sys.platform = "darwin"
"""


COMMANDS = """
import contextlib, io, json
from memorybook.cli import main

answers = []
for words in json.loads(sys.argv[1]):
    with contextlib.redirect_stdout(io.StringIO()) as out, contextlib.redirect_stderr(io.StringIO()) as err:
        code = main(words)
    answers.append([code, out.getvalue(), err.getvalue()])
print(json.dumps(answers))
"""


def run(system: str, program: str, folder: Path, *arguments: str) -> str:
    """Run a program on that system and return what it printed; nothing stands on stderr."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith(("XDG_", "MEMORYBOOK_"))}
    env = plain | {"HOME": str(folder), "LOCALAPPDATA": str(folder / "Local"), "APPDATA": str(folder / "Roaming")}
    done = subprocess.run(
        [sys.executable, "-c", system + program, *arguments],
        cwd=folder, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def commands(system: str, folder: Path, *lines: list[str]) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each command line."""
    return [(code, out, err) for code, out, err in json.loads(run(system, COMMANDS, folder, json.dumps(lines)))]


def test_on_windows_what_needs_no_book_in_files_can_be_imported(tmp_path: Path) -> None:
    modules = (
        "aio agent.session client exchange.export http.app http.uvicorn_server mcp.server storage.in_memory "
        "storage.postgres_storage tools"
    )
    run(WINDOWS, "".join(f"import memorybook.{module}\n" for module in modules.split()), tmp_path)


def test_on_windows_a_book_in_files_says_what_to_do_instead_and_help_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]", encoding="utf-8")
    lines = [
        ["add", "Tea is green."], ["search", "tea"], ["recall", "茶"], ["status"], ["init"], ["sync"],
        ["setup", "--yes"], ["import", "x.json"], ["backup", "x.tar.gz"], ["serve", "--port", "0"],
        ["serve", "--workspace", "books"],
    ]  # fmt: skip
    told = [["--help"], ["--version"], ["search", "--help"]]
    answers = commands(WINDOWS, tmp_path, *lines, *told)
    for words, (code, out, err) in zip(lines, answers, strict=False):
        assert (words, code, out) == (words, 5, ""), err
        assert err.startswith("memorybook: books in files need Linux or macOS: on Windows run memorybook in WSL")
        assert err.count("\n") == 1
    for code, out, err in answers[len(lines) :]:
        assert (code, err, "memorybook" in out) == (0, "", True)
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_on_windows_a_book_in_memory_works_and_settings_are_where_windows_keeps_them(tmp_path: Path) -> None:
    program = """
import memorybook
from memorybook.config.settings import load

config = load(cwd=os.getcwd(), env=os.environ, arguments={"storage.kind": "memory"})
with memorybook.open("b", config=config) as memory:
    memory.remember("The user prefers green tea.")
    memory.process_session_end([{"role": "user", "content": "我喜欢乌龙茶。"}], "s")
    print(len(memory.search("green tea").hits), len(memory.search("乌龙茶").hits) > 0)
    memory.export("out.json")
from memorybook.config.files import user_dir
print(user_dir("config", {}, "x"))
"""
    found, _, place = run(WINDOWS, program, tmp_path).partition("\n")
    assert found == "1 True"
    assert place.startswith(str(tmp_path / "Local"))
    assert place.strip().endswith("memorybook")
    assert json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))


def test_on_windows_a_hook_never_holds_its_host_up(tmp_path: Path) -> None:
    program = """
sys.argv = ["memorybook-hook", "SessionStart", "--host", "claude-code"]
from memorybook.hooks.command import main
main()
"""
    assert run(WINDOWS, program, tmp_path) == ""


def test_on_windows_writers_into_one_folder_wait_for_each_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import filelock  # noqa: F401 - its part for this system

    monkeypatch.setattr(sys, "platform", "win32")
    order: list[str] = []

    def second() -> None:
        with alone_in(str(tmp_path)):
            order.append("second")

    with alone_in(str(tmp_path)) as alone:
        assert alone
        thread = threading.Thread(target=second)
        thread.start()
        thread.join(0.2)
        order.append("first")
    thread.join(20)
    assert order == ["first", "second"]
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(NotFound), alone_in(str(tmp_path / "missing")):
        pass


@pytest.mark.parametrize(
    ("kind", "place"), [("config", ".config"), ("state", ".local/state"), ("cache", ".cache")]
)  # fmt: skip
def test_elsewhere_xdg_says_where_they_are(kind: str, place: str) -> None:
    named = f"XDG_{kind.upper()}_HOME"
    assert user_dir(kind, {}, "/home/ann") == f"/home/ann/{place}/memorybook"
    assert user_dir(kind, {named: "/x"}, "/home/ann") == "/x/memorybook"
    assert user_dir(kind, {named: "x"}, "/home/ann") == f"/home/ann/{place}/memorybook"


def test_on_macos_a_book_works_and_is_flushed_out_of_the_drive(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "var").symlink_to("private")  # as /var is there
    program = """
import memorybook

with memorybook.open("var/book") as memory:
    memory.remember("The user prefers green tea.")
    memory.append("今天喝了乌龙茶。")
    memory.process_session_end([{"role": "user", "content": "I live in Lisbon."}], "s")
    with open("var/book/plan.md", "w") as file:
        file.write("# Plan\\nA trip to Faro.\\n")
    print(all(memory.search(word).has_relevant for word in ("green tea", "乌龙茶", "Lisbon", "Faro")))
print(bool(flushed))
"""
    assert run(MACOS, program, tmp_path) == "True\nTrue\n"


def test_on_macos_commands_run(tmp_path: Path) -> None:
    lines = [["add", "Tea is green."], ["status"], ["search", "tea"], ["doctor"], ["backup", "b.tar.gz"]]
    for words, (code, _, err) in zip(lines, commands(MACOS, tmp_path, *lines), strict=True):
        assert code == 0 or words == ["doctor"], err
        assert "unexpected" not in err


def test_on_macos_a_file_system_without_it_is_flushed_as_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import fcntl

    def refuse(*_: object) -> None:
        raise OSError(45, "Operation not supported")

    plain: list[int] = []
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)
    monkeypatch.setattr(fcntl, "fcntl", refuse)
    monkeypatch.setattr(os, "fsync", plain.append)
    monkeypatch.setattr(sys, "platform", "darwin")
    safe_open.sync(7)
    assert plain == [7]
