"""What the program says of its own work: `--verbose`, log lines, spans of OpenTelemetry."""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.testclient import TestClient

import memorybook
from memorybook import aio
from memorybook.config import telemetry
from memorybook.errors import InvalidInput

SECRET = {"en": "The vault opens with a whistle.", "zh": "金库的门要吹口哨才开。"}


@pytest.fixture
def spans(monkeypatch: pytest.MonkeyPatch) -> Iterator[InMemorySpanExporter]:
    """What is exported while the test runs."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(telemetry, "_tracers", [provider.get_tracer("memorybook")])
    yield exporter
    provider.shutdown()


def ended(spans: InMemorySpanExporter) -> list[Any]:
    return list(spans.get_finished_spans())


def named(spans: InMemorySpanExporter, name: str) -> Any:
    return next(span for span in ended(spans) if span.name == name)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_each_verb_is_a_span_that_quotes_nothing(tmp_path: Path, spans: InMemorySpanExporter, language: str) -> None:
    text = SECRET[language]
    with memorybook.open(tmp_path) as memory:
        memory.remember(text)
        memory.search(text)
        memory.recall(text)
        memory.forget(query=text)
        with pytest.raises(InvalidInput):
            memory.search(text, max_results=-1)
    finished = ended(spans)
    assert {"open", "remember", "search", "recall", "forget"} <= {span.name for span in finished}
    found = named(spans, "search").attributes
    assert (found["memorybook.door"], found["memorybook.hits"], found["memorybook.has_relevant"]) == ("python", 1, True)
    failed = finished[-1] if finished[-1].name == "search" else finished[-2]
    assert (failed.attributes["error.type"], failed.status.is_ok, failed.events) == ("invalid_input", False, ())
    told = " ".join(span.to_json() for span in finished)
    assert text not in told
    assert json.dumps(text)[1:-1] not in told
    assert str(tmp_path) not in told


def test_a_call_of_the_model_is_a_child_with_its_tokens(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    def model(messages: list[dict[str, Any]]) -> str:
        return '{"operations": []}'

    with memorybook.open(tmp_path, llm=model) as memory:
        memory.process_session_end([{"role": "user", "content": SECRET["en"]}], "s")
    call = next(span for span in ended(spans) if span.name.startswith("chat "))
    assert call.parent is not None
    assert call.attributes["gen_ai.operation.name"] == "chat"
    assert call.attributes["memorybook.calls"] >= 1
    assert call.attributes["gen_ai.usage.input_tokens"] > 100
    assert SECRET["en"] not in call.to_json()


def test_a_request_continues_the_trace_of_its_caller(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    from memorybook.config.settings import Config
    from memorybook.http.access import Logins, Tokens
    from memorybook.http.app import build_app
    from memorybook.http.books import Books, open_state

    root, config = str(tmp_path), Config()
    books = Books(config, root, many=False, tokens=Tokens(open_state(config, root, many=False), "t" * 32))
    headers = {"Authorization": "Bearer " + "t" * 32, "traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    with TestClient(
        build_app(books, Logins(books.tokens.state)), base_url="http://127.0.0.1", headers=headers
    ) as client:
        assert client.post("/api/v1/entries", json={"text": SECRET["zh"]}).status_code == 200
        assert client.get("/no/such/path").status_code == 404
    request, verb = named(spans, "POST /entries"), named(spans, "remember")
    assert f"{request.context.trace_id:x}" == "a" * 32
    assert f"{request.parent.span_id:x}" == "b" * 16
    assert verb.parent.span_id == request.context.span_id
    facts = request.attributes
    assert (facts["http.request.method"], facts["http.route"], facts["http.response.status_code"]) == (
        "POST", "/entries", 200,
    )  # fmt: skip
    assert facts["memorybook.token"] == "owner"
    assert named(spans, "GET other").attributes["http.response.status_code"] == 404
    assert not [span for span in ended(spans) if "/no/such" in span.to_json() or "口哨" in span.to_json()]


async def awaited(folder: Path) -> None:
    async with aio.open(folder) as memory:
        with telemetry.span("outer"):
            await memory.search("whistle", max_results=3)


def test_what_is_awaited_is_a_child_of_who_awaits_it(tmp_path: Path, spans: InMemorySpanExporter) -> None:
    import asyncio

    with memorybook.open(tmp_path) as memory:
        memory.remember(SECRET["en"])
    asyncio.run(awaited(tmp_path))
    assert named(spans, "search").parent.span_id == named(spans, "outer").context.span_id


def test_an_application_hears_the_verbs_in_its_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "memorybook"), memorybook.open(tmp_path, door="python") as memory:
        memory.remember(SECRET["en"])
        with pytest.raises(InvalidInput):
            memory.search("whistle", max_results=-1)
    lines = [record.getMessage() for record in caplog.records]
    for verb in ("open", "remember"):
        assert [line for line in lines if line.startswith(f"{verb} ") and "door=python" in line]
    assert [line for line in lines if line.startswith("search ") and line.endswith("failed=invalid_input")]
    assert not [line for line in lines if "whistle" in line]


def run(*arguments: str, cwd: Path, without: str = "", **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a process of its own, where the module `without` cannot be imported."""
    program = (
        "import sys\n"
        f"if {without!r}: sys.modules[{without!r}] = None\n"
        "from memorybook.cli import main\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    plain = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(
        [sys.executable, "-c", program, "--book", str(cwd / "book"), *arguments],
        cwd=cwd, env=plain | environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def test_verbose_tells_on_stderr_what_is_done(tmp_path: Path) -> None:
    assert run("add", SECRET["en"], cwd=tmp_path).stderr == ""
    said = run("search", "whistle", "--verbose", cwd=tmp_path)
    assert "whistle" in said.stdout
    assert " DEBUG search " in said.stderr
    assert "hits=1" in said.stderr
    assert "whistle" not in said.stderr
    before = run("-v", "--json", "search", "whistle", cwd=tmp_path)
    assert json.loads(before.stdout)["results"]
    lines = [json.loads(line)["log"] for line in before.stderr.splitlines()]
    assert any(line["message"].startswith("search ") and line["logger"] == "memorybook.work" for line in lines)
    assert {line["level"] for line in lines} == {"debug"}


class Collector(BaseHTTPRequestHandler):
    """Keeps what is sent to it."""

    came: list[tuple[str, bytes]] = []  # noqa: RUF012 - one server at a time

    def do_POST(self) -> None:
        self.came.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    Collector.came.clear()
    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def test_a_process_sends_spans_and_logs_where_the_environment_says(tmp_path: Path, collector: str) -> None:
    said = run("add", SECRET["en"], "--verbose", cwd=tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=collector)
    assert said.returncode == 0, said.stderr
    sent = {path: b"".join(body for to, body in Collector.came if to == path) for path, _ in Collector.came}
    assert set(sent) == {"/v1/traces", "/v1/logs"}
    assert b"remember" in sent["/v1/traces"]
    assert b"memorybook" in sent["/v1/traces"]
    assert b"remember " in sent["/v1/logs"]
    assert b"whistle" not in sent["/v1/traces"] + sent["/v1/logs"]


@pytest.mark.parametrize(
    ("environment", "without", "says"),
    [
        ({}, "", ""),
        ({"OTEL_SERVICE_NAME": "x"}, "", ""),
        ({"OTEL_SDK_DISABLED": "true", "OTEL_TRACES_EXPORTER": "console"}, "", ""),
        ({"OTEL_TRACES_EXPORTER": "console"}, "opentelemetry", ""),
        ({"OTEL_TRACES_EXPORTER": "nonsense"}, "", "OpenTelemetry cannot be set up as OTEL_* says"),
    ],
)
def test_nothing_is_sent_unless_it_is_asked_for_and_installed(
    tmp_path: Path, environment: dict[str, str], without: str, says: str
) -> None:
    done = run("add", SECRET["en"], cwd=tmp_path, without=without, **environment)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1 if says else 0)
    assert says in done.stderr
    assert "trace_id" not in done.stdout


def test_verbose_says_what_is_missing(tmp_path: Path) -> None:
    done = run("status", "-v", cwd=tmp_path, without="opentelemetry", OTEL_TRACES_EXPORTER="console")
    assert "pip install 'memorybook[otel]'" in done.stderr


def test_a_collector_that_is_gone_holds_no_command_up(tmp_path: Path) -> None:
    gone = "http://127.0.0.1:9"
    done = run("add", SECRET["en"], cwd=tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=gone, OTEL_LOGS_EXPORTER="none")
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
    assert "Failed to export" in done.stderr
    assert "whistle" not in done.stderr
    done = run("status", "-v", cwd=tmp_path, OTEL_EXPORTER_OTLP_ENDPOINT=gone, OTEL_LOGS_EXPORTER="none")
    assert done.stderr.count("Transient error") <= 1  # the second pause between tries would be too long


def test_a_server_of_tools_that_is_stopped_sends_what_it_has(tmp_path: Path, collector: str) -> None:
    assert run("add", SECRET["en"], cwd=tmp_path).returncode == 0
    asked: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
            "name": "memory_search", "arguments": {"query": "whistle"}}},
    ]  # fmt: skip
    command = [sys.executable, "-m", "memorybook", "--book", str(tmp_path / "book"), "mcp"]
    env = os.environ | {"OTEL_EXPORTER_OTLP_ENDPOINT": collector}
    with subprocess.Popen(command, env=env, cwd=tmp_path, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        for message in asked:
            server.stdin.write(json.dumps(message).encode() + b"\n")
            server.stdin.flush()
            if "id" in message:
                assert b"result" in server.stdout.readline()
        server.terminate()
        server.wait(20)
    sent = b"".join(body for path, body in Collector.came if path == "/v1/traces")
    assert b"search" in sent
    assert b"whistle" not in sent
