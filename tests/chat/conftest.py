"""A chat as a person has it: over a pipe in this process, or in a terminal of another one; and a scripted model."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import llm_server
from agent.model import extracting
from inference.server import Answer, Handler, Service
from machine import without_settings
from memorybook.cli import main

Talk = Callable[..., str]


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty home, and no settings."""
    without_settings(monkeypatch, tmp_path / "home")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def talk(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Talk:
    """Say these lines to a chat, and see what it shows."""

    def run(*lines: str, options: Sequence[str] = (), code: int = 0) -> str:
        said = "".join(f"{line}\n" for line in lines).encode()
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(said)))
        found = main(["chat", "--book", str(tmp_path / "book"), *options])
        shown = capsys.readouterr()
        assert found == code, shown
        return shown.out + shown.err

    return run


@pytest.fixture
def service() -> Iterator[Service]:
    """A model that echoes its user, and extracts at a session's end what was said after `Remember:`."""
    with llm_server.serve() as service:
        service.usual = answering
        yield service


def answering(handler: Handler, body: dict[str, Any]) -> None:
    """The filled form of an extraction, else `You said: …`."""
    if "response_format" in body or any(tool["function"]["name"] == "memories" for tool in body.get("tools", ())):
        llm_server.fill(extracting(body["messages"]))(handler, body)
    else:
        llm_server.say(f"You said: {body['messages'][-1]['content']}")(handler, body)


def using(service: Service) -> list[str]:
    """Options that set this model."""
    settings = {"llm.base_url": service.url, "llm.api_key": llm_server.KEY, "llm.model": llm_server.MODEL}
    return [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]


def breaking_off(then: Callable[[], Any]) -> Answer:
    """Half a streamed answer, `then` something happens, and no other half."""

    def answer(handler: Handler, body: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        delta = {"choices": [{"index": 0, "delta": {"content": "Green tea is made "}, "finish_reason": None}]}
        handler.wfile.write(f"data: {json.dumps(delta)}\n\n".encode())
        handler.wfile.flush()
        time.sleep(0.05)
        then()
        handler.server.released.wait(10)
        handler.close_connection = True

    return answer


class Terminal:
    """A chat in a pseudo-terminal, driven by keys; what it shows is read without its escape sequences."""

    def __init__(self, book: Path, *options: str, env: Mapping[str, str] = {}) -> None:
        self._ours, theirs = pty.openpty()
        known = {**os.environ, "TERM": "xterm-256color", "PROMPT_TOOLKIT_NO_CPR": "1", "COLUMNS": "100", **env}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "memorybook", "chat", "--book", str(book), *options],
            stdin=theirs, stdout=theirs, stderr=theirs, env=known, start_new_session=True, close_fds=True,
            preexec_fn=_take_terminal,
        )  # fmt: skip
        os.close(theirs)
        self.raw = ""
        self._seen = 0

    @property
    def text(self) -> str:
        return re.sub(r"\x1b\][^\x07]*\x07|\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]", "", self.raw)

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def see(self, wanted: str, timeout: float = 20) -> str:
        """Wait until this is shown after what was seen before."""
        end = time.monotonic() + timeout
        while wanted not in self.text[self._seen :]:
            if time.monotonic() > end or not self._read(0.2):
                raise AssertionError(f"{wanted!r} is not in {self.text[self._seen :]!r}")
        self._seen = self.text.index(wanted, self._seen) + len(wanted)
        return self.text

    def _read(self, wait: float) -> bool:
        if not select.select([self._ours], [], [], wait)[0]:
            return True
        try:
            got = os.read(self._ours, 65536)
        except OSError:  # the other end is closed
            return False
        self.raw += got.decode("utf-8", "replace")
        return bool(got)

    def ends(self, timeout: float = 20) -> int:
        """Read to the end; the exit code."""
        end = time.monotonic() + timeout
        while self._read(0.2) and time.monotonic() < end and self.process.poll() is None:
            pass
        while self._read(0) and select.select([self._ours], [], [], 0)[0]:
            pass
        return self.process.wait(timeout)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._ours)


def _take_terminal() -> None:
    """Make the pseudo-terminal the controlling one, so that Ctrl-C is a signal."""
    import fcntl
    import termios

    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
