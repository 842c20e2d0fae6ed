"""A model hub on the loopback: as much of the protocol as fetching a model's files needs."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Hub(NamedTuple):
    """A running hub: its address and the paths that were asked for, with their methods."""

    url: str
    asked: list[str]


@contextmanager
def serve(name: str, folder: Path) -> Iterator[Hub]:
    """A hub with the one model `name`, whose files are those of `folder`."""
    files = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*")) if path.is_file()}
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_HEAD(self) -> None:
            self.send(body=False)

        def do_GET(self) -> None:
            self.send(body=True)

        def send(self, *, body: bool) -> None:
            path = self.path.partition("?")[0].strip("/")
            asked.append(f"{self.command} {path}")
            status, data, headers = answer(name, files, path)
            self.send_response(status)
            for header, value in ({"Content-Length": str(len(data))} | headers).items():
                self.send_header(header, value)
            self.end_headers()
            if body:
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield Hub(f"http://127.0.0.1:{server.server_address[1]}", asked)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def answer(name: str, files: dict[str, Path], path: str) -> tuple[int, bytes, dict[str, str]]:
    """Status, body and headers: what the model has, a tree of it, or one of its files."""
    json_type = {"Content-Type": "application/json"}
    if path in (f"api/models/{name}", f"api/models/{name}/revision/main", f"api/models/{name}/revision/{COMMIT}"):
        siblings = [{"rfilename": file} for file in files]
        return 200, json.dumps({"id": name, "sha": COMMIT, "siblings": siblings}).encode(), json_type
    if path.startswith(f"api/models/{name}/tree/"):
        tree = [
            {"type": "file", "path": file, "size": where.stat().st_size, "oid": digest(where)}
            for file, where in files.items()
        ]
        return 200, json.dumps(tree).encode(), json_type
    if path.startswith(f"{name}/resolve/") and (file := path.split("/", 4)[4]) in files:
        return 200, files[file].read_bytes(), {"ETag": f'"{digest(files[file])}"', "X-Repo-Commit": COMMIT}
    return 404, b'{"error": "Repository not found"}', json_type | {"X-Error-Code": "RepoNotFound"}


def digest(path: Path) -> str:
    """The digest that git has of a file."""
    data = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
