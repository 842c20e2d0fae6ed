"""What a server on a pipe reads, and the memory that it opens when it is first asked for."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.errors import ConfigError
from memorybook.mcp import Opening
from memorybook.mcp.server import UNREADABLE, Mended
from memorybook.memory import Memory


class Closing:
    closed = 0

    def __enter__(self) -> Closing:
        return self

    def __exit__(self, *_: object) -> None:
        self.closed += 1


def test_before_a_host_is_greeted_nothing_heavy_is_imported_but_what_the_protocol_brings() -> None:
    script = (
        "import sys, mcp.server, mcp.types; theirs = set(sys.modules); "
        "from memorybook.mcp import build; build(lambda: None); "
        "heavy = {'sqlite3', 'numpy', 'tokenizers', 'jsonschema', 'difflib', 'tomllib', 'zipfile', 'fastapi', "
        "'memorybook.cli', 'memorybook.book.transaction', "
        "'memorybook.formats.memory_md', 'memorybook.exchange.importers', 'memorybook.inference', 'memorybook.model', "
        "'memorybook.storage', 'memorybook.entries.remember'}; "
        "print(sorted(heavy & (set(sys.modules) - theirs)), 'memorybook.tools' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stdout == "[] True\n"


def test_what_was_asked_before_the_pipe_ended_is_answered(tmp_path: Path) -> None:
    calls = [("memory_remember", {"text": "The lamp is green."}), ("memory_search", {"query": "灯"})]
    asked: list[tuple[str, dict[str, Any]]] = [
        (
            "initialize",
            {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        ),
        ("notifications/initialized", {}),
        *(("tools/call", {"name": name, "arguments": arguments}) for name, arguments in calls),
        ("no/such", {}),
    ]
    lines = [
        {"jsonrpc": "2.0", "method": method, "params": params} | ({} if method.startswith("not") else {"id": number})
        for number, (method, params) in enumerate(asked)
    ]
    done = subprocess.run(
        [sys.executable, "-m", "memorybook", "--book", str(tmp_path / "book"), "mcp"],
        input="".join(f"{json.dumps(line)}\n" for line in lines),
        check=True,
        capture_output=True,
        text=True,
    )
    assert sorted(json.loads(line)["id"] for line in done.stdout.splitlines()) == [0, 2, 3, 4]


def test_many_calls_at_once_open_one_memory_which_is_closed() -> None:
    opened: list[Closing] = []
    inside = threading.Barrier(4)

    def open_slowly() -> Memory:
        opened.append(Closing())
        return cast("Memory", opened[-1])

    memory = Opening(open_slowly)
    memory.close()
    assert opened == [], "closing opens nothing"
    found: list[Any] = []

    def call() -> None:
        inside.wait()
        found.append(memory())

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == opened * 4
    memory.close()
    assert opened[0].closed == 1


def test_a_memory_that_could_not_be_opened_is_tried_again() -> None:
    tries: Iterator[Any] = iter([ConfigError("no"), Closing()])

    def opened() -> Memory:
        found = next(tries)
        if isinstance(found, Exception):
            raise found
        return cast("Memory", found)

    memory = Opening(opened)
    with pytest.raises(ConfigError):
        memory()
    assert memory() is memory()


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"id": 8, "from": %s}}' % ("9" * 5000), 7),
        (
            '{"method": "tools/call", "params": {"id": "x", "from": %s}, "jsonrpc": "2.0", "id": "a\\"b"}'
            % ("9" * 5000),
            'a"b',
        ),
        ('{"jsonrpc": "2.0", "id": 7, "method": 5}', 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params"', 7),
        ('{"jsonrpc": "2.0", "id": 7, "method": "ping"}', None),
        ("hello", None),
        ('{"id": 7, "result"', None),
    ],
)
def test_a_line_that_cannot_be_read_asks_for_what_there_is_not(line: str, id: str | int | None) -> None:
    read = io.BufferedReader(Mended(io.BytesIO(f"{line}\n".encode()))).read().decode()
    if id is None:
        assert read == f"{line}\n"
    else:
        assert json.loads(read) == {"jsonrpc": "2.0", "id": id, "method": UNREADABLE}


@given(st.lists(st.text(st.sampled_from('\\"ud8茶\ud83c\udf75\n{')), max_size=4), st.booleans(), st.integers(1, 9))
def test_half_of_a_pair_is_mended_and_all_else_stays(texts: list[str], escaped: bool, size: int) -> None:
    lines = [json.dumps({"text": text}, ensure_ascii=True) for text in texts]
    if not escaped:
        lines = [line.replace("\\u8336", "茶") for line in lines]
    read = io.BufferedReader(Mended(io.BytesIO("".join(f"{line}\n" for line in lines).encode())), size).read()
    whole = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    assert [json.loads(line)["text"] for line in read.splitlines()] == whole
    if not any("\ud800" <= char <= "\udfff" for char in "".join(whole)) and whole == texts:
        assert read.decode() == "".join(f"{line}\n" for line in lines)
