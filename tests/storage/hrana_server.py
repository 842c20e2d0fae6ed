"""A libSQL server as small as can be: Hrana over HTTP, for a process of its own.

Run as `python hrana_server.py FOLDER`; prints its port. Each token made of letters and digits is let in, to a
database of its own in the folder. It answers what the package asks: describe, batch,
get_autocommit and close on `/v3/pipeline`, and `/v3/cursor` for rows. A stream is a connection, by its baton.
"""

from __future__ import annotations

import base64
import json
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import apsw
import apsw.ext


def plain(value: Any) -> dict[str, Any]:
    """A value as the wire has it."""
    if value is None:
        return {"type": "null"}
    if isinstance(value, bytes):
        return {"type": "blob", "base64": base64.b64encode(value).decode()}
    if isinstance(value, int):
        return {"type": "integer", "value": str(value)}
    return {"type": "float" if isinstance(value, float) else "text", "value": value}


def read(value: dict[str, Any]) -> Any:
    """A value of the wire."""
    if value["type"] == "blob":
        text = value["base64"]
        return base64.b64decode(text + "=" * (-len(text) % 4))
    return int(value["value"]) if value["type"] == "integer" else value.get("value")


class Server(ThreadingHTTPServer):
    """Databases and their streams."""

    daemon_threads = True

    def __init__(self, folder: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.folder = folder
        self.streams: dict[str, apsw.Connection] = {}
        self.count = 0
        self.lock = threading.Lock()

    def stream(self, token: str, baton: str | None) -> tuple[str, apsw.Connection]:
        """The connection of a baton, or a new one."""
        with self.lock:
            if baton is None:
                self.count += 1
                baton = f"b{self.count}"
                connection = apsw.Connection(f"{self.folder}/{token}.db")
                connection.set_busy_timeout(0)
                connection.pragma("journal_mode", "wal")
                connection.pragma("synchronous", "off")  # it outlives no test
                self.streams[baton] = connection
            return baton, self.streams[baton]


class Handler(BaseHTTPRequestHandler):
    """`POST /v3/pipeline` and `/v3/cursor`."""

    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16
    server: Server

    def do_POST(self) -> None:
        """Answer a request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        token = self.headers["authorization"].removeprefix("Bearer ")
        if not token.isalnum():
            self.answer(401, {"message": "Unauthorized", "code": "AUTH"})
            return
        baton, connection = self.server.stream(token, body["baton"])
        if self.path == "/v3/cursor":
            self.answer(200, {"baton": baton, "base_url": None}, *self.streamed(connection, body["batch"]["steps"]))
            return
        results, closed = [], False
        for request in body["requests"]:
            closed = closed or request["type"] == "close"
            try:
                response = {"type": request["type"], **self.carried_out(connection, request)}
                results.append({"type": "ok", "response": response})
            except apsw.Error as error:
                results.append({"type": "error", "error": {"message": str(error), "code": type(error).__name__}})
        if closed:
            self.server.streams.pop(baton).close()
        self.answer(200, {"baton": None if closed else baton, "base_url": None, "results": results})

    def carried_out(self, connection: apsw.Connection, request: dict[str, Any]) -> dict[str, Any]:
        """What one request comes to."""
        kind = request["type"]
        if kind == "get_autocommit":
            return {"is_autocommit": not connection.in_transaction}
        if kind == "describe":
            found = apsw.ext.query_info(connection, request["sql"]).description
            cols = [{"name": name, "decltype": kind} for name, kind in found]
            return {"result": {"params": [], "cols": cols, "is_explain": False, "is_readonly": False}}
        return {"result": self.batch(connection, request["batch"]["steps"])} if kind == "batch" else {}

    def batch(self, connection: apsw.Connection, steps: list[dict[str, Any]]) -> dict[str, Any]:
        """The results of statements one after the other, each under its condition."""
        results: list[dict[str, Any] | None] = []
        errors: list[dict[str, Any] | None] = []

        def holds(condition: dict[str, Any] | None) -> bool:
            if condition is None:
                return True
            if condition["type"] == "ok":
                return results[condition["step"]] is not None
            assert condition["type"] == "not"
            return not holds(condition["cond"])

        for step in steps:
            result, error = None, None
            if holds(step["condition"]):
                try:
                    result = self.executed(connection, step["stmt"])
                except apsw.Error as problem:
                    error = {"message": str(problem), "code": type(problem).__name__}
            results.append(result)
            errors.append(error)
        return {"step_results": results, "step_errors": errors}

    def streamed(self, connection: apsw.Connection, steps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The same as a cursor tells it."""
        found = self.batch(connection, steps)
        for step, (result, error) in enumerate(zip(found["step_results"], found["step_errors"], strict=True)):
            if error is not None:
                yield {"type": "step_error", "step": step, "error": error}
            elif result is not None:
                yield {"type": "step_begin", "step": step, "cols": result["cols"]}
                yield from ({"type": "row", "row": row} for row in result["rows"])
                yield {"type": "step_end", "affected_row_count": 0, "last_insert_rowid": None}

    def executed(self, connection: apsw.Connection, statement: dict[str, Any]) -> dict[str, Any]:
        """The result of one statement."""
        before = connection.total_changes()
        values = [read(value) for value in statement.get("args") or ()]
        cursor = connection.execute(statement["sql"], values)
        try:
            names = [name for name, *_ in cursor.get_description()]
        except apsw.ExecutionCompleteError:
            names = []
        rows = [[plain(value) for value in row] for row in cursor]
        return {
            "cols": [{"name": name, "decltype": None} for name in names], "rows": rows,
            "affected_row_count": connection.total_changes() - before, "last_insert_rowid": None, "rows_read": 0,
            "rows_written": 0, "query_duration_ms": 0,
        }  # fmt: skip

    def answer(self, status: int, *lines: dict[str, Any]) -> None:
        """Send JSON."""
        data = b"\n".join(json.dumps(line).encode() for line in lines)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Nothing."""


if __name__ == "__main__":
    server = Server(*sys.argv[1:])
    print(server.server_port, flush=True)
    server.serve_forever()
