"""The TypeScript client: its types are of this server's API, and it talks to a real server."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from memorybook.http.access import Logins
from memorybook.http.app import build_app
from serving import OWNER, books_at

CLIENT = Path(__file__).parents[1] / "clients" / "typescript"


def test_the_types_are_made_of_the_api_as_it_is(tmp_path: Path) -> None:
    books = books_at(tmp_path / "book")
    described = build_app(books, Logins(books.tokens.state)).openapi()
    document = (CLIENT / "openapi.json").read_bytes()
    known = json.loads(document)
    anew = "the API has changed: run `npm run generate` in clients/typescript, as its README says"
    assert plain({**known, "info": {}}) == plain({**described, "info": {}}), anew
    first = (CLIENT / "src" / "schema.ts").read_text(encoding="utf-8").splitlines()[0]
    assert hashlib.sha256(document).hexdigest() in first, anew


def plain(value: Any) -> Any:
    """The document without the indentation of docstrings, which Python 3.13 cuts off."""
    if isinstance(value, Mapping):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return " ".join(value.split()) if isinstance(value, str) else value


def test_the_client_has_the_version_of_the_package() -> None:
    described = json.loads((CLIENT / "openapi.json").read_bytes())
    assert json.loads((CLIENT / "package.json").read_bytes())["version"] == described["info"]["version"]


@pytest.mark.timeout(420)  # a registry that is slow, and two runs of the compiler
def test_the_client_talks_to_a_real_server(tmp_path: Path) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        pytest.skip("needs node 20.3 or later, and npm")
    at = tmp_path / "client"
    shutil.copytree(CLIENT, at, ignore=shutil.ignore_patterns("node_modules", "dist", "build"))
    install = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=0", "--prefer-offline"]
    try:
        installed = subprocess.run(install, cwd=at, capture_output=True, text=True, timeout=180)
    except subprocess.TimeoutExpired:
        pytest.skip("npm cannot install here in time")
    if installed.returncode != 0:
        pytest.skip(f"npm cannot install here: {installed.stderr[-300:]}")
    command = [sys.executable, "-m", "memorybook", "--book", str(tmp_path / "book"), "serve", "--port", "0", "--json"]
    environment = {**os.environ, "MEMORYBOOK_TOKEN": OWNER, "XDG_STATE_HOME": str(tmp_path / "state")}
    with subprocess.Popen([*command, "-q"], stdout=subprocess.PIPE, env=environment, text=True) as server:
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            environment = {**os.environ, "MEMORYBOOK_URL": url, "MEMORYBOOK_TOKEN": OWNER}
            ran = subprocess.run([npm, "test"], cwd=at, capture_output=True, text=True, env=environment, timeout=180)
        finally:
            server.terminate()
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "# fail 0" in ran.stdout
    assert "# skipped 0" in ran.stdout
