from __future__ import annotations

import gzip
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest

from memorybook.memory import Memory
from serving import OWNER, Served


def user(text: str, **more: str) -> dict[str, str]:
    return {"role": "user", "content": text, **more}


def posted(client: httpx2.Client, path: str, /, **body: Any) -> Any:
    response = client.post(path, content=json.dumps(body))  # in ASCII, as text may be no UTF-8
    assert response.status_code == 200, response.text
    return response.json()


def error_of(response: httpx2.Response, status: int) -> str:
    """The code of the error, which is told as every error is."""
    assert response.status_code == status, response.text
    error = response.json()["error"]
    assert error["request_id"] == response.headers["X-Request-ID"]
    assert error["message"]
    assert "Traceback" not in response.text
    return str(error["code"])


# --- verbs ---------------------------------------------------------------------------------------


def test_a_call_that_cannot_be_is_one_clear_sentence(one: Served) -> None:
    for path in ("/search", "/search?query=x&max_results=0", "/search?query=x&colour=red", "/search?query=x&explain=2"):
        assert error_of(one.client.get(path), 400) == "invalid_input"
    for content in (b"{}", b"{not json", b'{"query":' * 2000, b"[1]"):
        assert error_of(one.client.post("/search", content=content), 400) == "invalid_input"
    nan = one.client.post("/entries", content=b'{"text": "x", "importance": NaN}')
    assert error_of(nan, 400) == "invalid_input"
    assert error_of(one.client.get("/entries/nobody/why"), 404) == "not_found"
    assert error_of(one.client.post("/entries/x/revise", json={"instruction": "y"}), 400) == "no_model"
    assert error_of(one.client.post("/memory/backup", json={"path": "/tmp/x"}), 404) == "not_found"
    for limit in ("many", "9" * 400):
        assert error_of(one.client.get(f"/entries?limit={limit}"), 400) == "invalid_input"
    assert error_of(one.client.delete("/search"), 405) == "method_not_allowed"
    for path, allowed in (
        ("/documents/a/b.md", "DELETE, GET, HEAD, PUT"),
        ("/sessions", "GET, HEAD, POST"),
        ("/sessions/a/b/end", "GET, HEAD, POST"),
        ("/nowhere", ""),
    ):
        assert one.client.options(path).headers.get("Allow", "") == allowed


def test_a_parameter_without_a_value_says_none(one: Served) -> None:
    for number in range(25):
        posted(one.client, "/notes", text=f"line {number}")
    assert len(one.client.get("/operations").json()["operations"]) == 20
    assert len(one.client.get("/operations?limit=").json()["operations"]) > 20
    for path in ("/entries", "/sessions"):
        assert one.client.get(path, params={"limit": 10**30}).status_code == 200


def test_what_is_too_long_for_an_address_is_posted(one: Served) -> None:
    posted(one.client, "/entries", text="Bob has a blue bike.")
    found = one.client.get("/search", params={"query": "blue bike", "explain": "true"}).json()
    assert "Bob has a blue bike" in found["hits"][0]["snippet"]
    assert posted(one.client, "/search", query="blue bike", explain=True)["hits"] == found["hits"]


def test_what_is_no_utf8_comes_through(one: Served) -> None:
    text = "caf\udce9 in Köln"
    made = posted(one.client, "/entries", text=text)
    assert made["known"]["entry"]["text"] == text
    put = one.client.put("/documents/bytes.md", content=b"# caf\xe9\r\n", headers={"If-None-Match": "*"})
    assert put.status_code == 200
    assert one.client.get("/documents/bytes.md").content == b"# caf\xe9\r\n"


# --- documents -----------------------------------------------------------------------------------


def test_a_document_is_changed_only_by_who_knows_how_it_stands(one: Served) -> None:
    client = one.client
    assert error_of(client.put("/documents/notes/a.md", content="# A\n"), 428) == "precondition_required"
    assert error_of(client.put("/documents/notes/a.md", content="", headers={"If-Match": "A"}), 400) == "invalid_input"
    made = client.put("/documents/notes/a.md", content="# A\n", headers={"If-None-Match": "*"})
    assert made.status_code == 200
    tag = made.headers["ETag"]
    seen = client.head("/documents/notes/a.md")
    assert (seen.headers["ETag"], seen.headers["Content-Length"], seen.content) == (tag, "4", b"")
    assert client.get("/documents/notes/a.md", headers={"If-None-Match": tag}).status_code == 304
    again = client.put("/documents/notes/a.md", content="# 二\n", headers={"If-Match": tag})
    assert again.headers["ETag"] != tag

    for refused in (
        client.put("/documents/notes/a.md", content="# C\n", headers={"If-Match": tag}),
        client.put("/documents/notes/a.md", content="# C\n", headers={"If-None-Match": "*"}),
        client.delete("/documents/notes/a.md", headers={"If-Match": tag}),
    ):
        assert error_of(refused, 409) == "conflict"
        assert refused.headers["ETag"] == again.headers["ETag"]
        assert refused.json()["current"] == {"text": "# 二\n", "etag": again.json()["revision"]}

    gone = client.delete("/documents/notes/a.md", headers={"If-Match": again.headers["ETag"]})
    assert gone.json()["revision"] is None
    assert error_of(client.get("/documents/notes/a.md"), 404) == "missing_document"
    missing = client.put("/documents/notes/a.md", content="x", headers={"If-Match": "*"})
    assert error_of(missing, 404) == "missing_document"
    assert "notes/a.md" not in [each["path"] for each in client.get("/documents").json()]


@pytest.mark.parametrize(
    "path", ["../secret.md", "%2e%2e/secret.md", "a%00.md", "%ff.md", "notes.txt", ".memorybook/x.md", "/etc/a.md"]
)
def test_no_path_leads_out_of_the_book(one: Served, path: str) -> None:
    read = httpx2.get(f"{one.url}/api/v1/documents/{path}", headers=one.client.headers)
    assert read.status_code in (400, 404)
    wrote = httpx2.put(f"{read.url}", content="x", headers=one.client.headers | {"If-None-Match": "*"})
    assert wrote.status_code in (400, 404, 405)


# --- entries -------------------------------------------------------------------------------------


def test_an_entry_is_changed_only_by_who_knows_how_it_stands(one: Served) -> None:
    client = one.client
    id = posted(client, "/entries", text="The kettle is red.")["known"]["entry"]["id"]
    tag = client.get(f"/entries/{id}").headers["ETag"]
    posted(client, "/entries", text="The kettle is red.")  # said again: stronger, but the same
    assert client.get(f"/entries/{id}", headers={"If-None-Match": tag}).status_code == 304
    assert error_of(client.patch(f"/entries/{id}", json={"tags": ["red"]}), 428) == "precondition_required"
    changed = client.patch(f"/entries/{id}", json={"tags": ["red"], "pinned": True}, headers={"If-Match": tag})
    assert changed.status_code == 200, changed.text
    entry = changed.json()["entry"]
    assert (entry["tags"], entry["pinned"]) == (["red"], True)
    assert changed.json()["operation"]

    for refused in (
        client.patch(f"/entries/{id}", json={"text": "It is blue."}, headers={"If-Match": tag}),
        client.delete(f"/entries/{id}", headers={"If-Match": tag}),
    ):
        assert error_of(refused, 409) == "conflict"
        assert refused.headers["ETag"] == changed.headers["ETag"]
        assert refused.json()["current"]["entry"]["tags"] == ["red"]

    current = {"If-Match": changed.headers["ETag"]}
    assert error_of(client.patch(f"/entries/{id}", json={}, headers=current), 400) == "invalid_input"
    assert error_of(client.patch(f"/entries/{id}", json={"colour": "x"}, headers=current), 400) == "invalid_input"
    assert client.get("/entries?category=fact&limit=1").json()["entries"]
    assert client.delete(f"/entries/{id}", headers=current).json()["entries"] == [id]
    assert error_of(client.get(f"/entries/{id}"), 404) == "not_found"
    assert error_of(client.get("/entries/MEMORY.md"), 404) == "not_found"


# --- sessions, archives --------------------------------------------------------------------------


def test_a_session_is_opened_said_into_and_ended(one: Served) -> None:
    client = one.client
    held = client.post("/sessions", json={"name": "the/harbour"}).json()
    said = posted(client, f"/sessions/{held['session']}/messages", messages=[user("We meet at the harbour.", id="m1")])
    assert said["turns"] == ["m1"]
    again = {"messages": [user("We meet at the harbour.", id="m1")]}
    for named in ("the/harbour", "the%2Fharbour"):
        assert posted(client, f"/sessions/{named}/messages", **again)["new"] == 0
    assert [turn["text"] for turn in client.get("/sessions/the/harbour").json()["turns"]] == ["We meet at the harbour."]
    for path in ("/messages", "/end"):
        other = client.post(f"/sessions/the/harbour{path}", json=again | {"session": "another"})
        assert error_of(other, 400) == "invalid_input"
    assert posted(client, "/sessions/the/harbour/end")["session"] == held["session"]
    assert error_of(client.post("/sessions/the/harbour/messages", json={"messages": [user("x")]}), 409) == "conflict"
    assert error_of(client.post("/sessions/nobody/messages", json={"messages": [user("x")]}), 404) == "not_found"
    listed = client.get("/sessions?limit=200").json()["sessions"]
    assert [each["open"] for each in listed if each["uuid"] == held["session"]] == [False]


def test_a_session_that_nobody_ends_is_closed_by_the_servers_tick(one: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    held = one.client.post("/sessions", json={}).json()["session"]
    posted(one.client, f"/sessions/{held}/messages", messages=[user("Hello there.")])
    one.books.tick()
    assert one.client.get(f"/sessions/{held}").json()["sessions"][0]["open"]
    monkeypatch.setattr(Memory, "close_idle", lambda memory, limit: [memory.end_session(held)])
    one.books.tick()
    assert not one.client.get(f"/sessions/{held}").json()["sessions"][0]["open"]


def _page_is_a_folder(place: Path) -> None:
    (place / "MEMORY.md").unlink()
    (place / "MEMORY.md").mkdir()


BROKEN: dict[str, Callable[[Path], object]] = {
    "page": _page_is_a_folder,
    "journal": lambda place: (place / ".memorybook" / "journal.sqlite").write_bytes(b"no database at all"),
    "transcripts": lambda place: (place / ".memorybook" / "transcripts.sqlite").write_bytes(b"no database at all"),
    "index": lambda place: (place / ".memorybook" / "index.sqlite").unlink(missing_ok=True),
    "folder": lambda place: place.rename(place.parent.parent / "another"),
    "笔记": lambda place: (place / "笔记.md").symlink_to("/etc/passwd"),
}


@pytest.mark.parametrize("broken", BROKEN)
def test_a_tenant_is_told_of_no_place_on_the_servers_disk(many: Served, tmp_path: Path, broken: str) -> None:
    name = f"nosy{[*BROKEN].index(broken)}"
    many.client.post("/tenants", json={"name": name})
    owner = {"X-Memorybook-Tenant": name}
    shown = many.client.get("/status", headers=owner).json()
    assert shown["root"].startswith(many.books.root), "the owner may know"
    token = many.client.post("/tokens", json={}, headers=owner).json()["token"]
    with many.asking(token) as nosy:
        posted(nosy, "/entries", text="Likes tea. 喜欢喝茶。")
        [place] = Path(many.books.root).glob(f"server-{name}-*")
        answers = [nosy.get("/status"), nosy.post("/init")]
        calling = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
        told = {"name": "memory_status", "arguments": {}}
        headers = {"Accept": "application/json, text/event-stream"}
        answers.append(nosy.post(many.url + "/mcp", json={**calling, "params": told}, headers=headers))
        assert {answer.status_code for answer in answers} == {200}
        assert answers[0].json()["root"] == f".../{place.name}"
        BROKEN[broken](place)  # whatever goes wrong names the document, not where it is
        failing = (
            "/documents/MEMORY.md", "/search?query=tea", "/operations", "/status", "/sessions", "/documents/no.md",
        )  # fmt: skip
        failed = [nosy.post("/entries", json={"text": "Likes rye. 喜欢黑麦。"}), *map(nosy.get, failing)]
        failed.append(nosy.get("/sessions/the/nobody"))
        assert max(answer.status_code for answer in failed) >= 400
        for answer in (*answers, *failed):
            assert str(tmp_path.parents[1]) not in answer.text
            assert many.books.root not in answer.text
            assert "markdown" in answer.headers["Content-Type"] or json.loads(answer.content)


def test_a_book_is_taken_along_and_brought(one: Served, many: Served) -> None:
    posted(one.client, "/conversations", messages=[user("I prefer rye bread.")], session_id="bread")
    exported = one.client.get("/export?session=bread")
    assert exported.headers["Content-Type"] == "application/json"
    many.client.post("/tenants", json={"name": "baker"})
    baker = {"X-Memorybook-Tenant": "baker"}
    brought = many.client.post("/import?name=sessions.json&dry_run=true", content=exported.content, headers=baker)
    assert (brought.status_code, brought.json()["new_turns"]) == (200, 1)
    for name in ("../x", 150 * "é"):
        bad = many.client.post("/import", params={"name": name}, content=b"", headers=baker)
        assert error_of(bad, 400) == "invalid_input"
    unread = many.client.post("/import?name=chat.bin", content=b"\x00", headers=baker)
    assert error_of(unread, 400) == "invalid_input"
    assert "'chat.bin' is not a text file" in unread.text, "by the name that it was given"
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("chats.json", exported.content)
        archive.writestr("other.json", "{}")
    mixed = many.client.post("/import?name=all.zip&dry_run=true", content=packed.getvalue(), headers=baker).json()
    assert [told.partition(" without")[0] for told in mixed["warnings"]] == ["1 file in 'all.zip'"]

    kept = one.client.get("/backup").content
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(kept))) as book:
        assert any(name.endswith("MEMORY.md") for name in book.getnames())
    assert error_of(many.client.get("/backup", headers=baker), 404) == "not_found"


def test_a_tenant_that_left_a_session_open_is_looked_after_and_another_is_not(
    many: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ida", "leo"):
        many.client.post("/tenants", json={"name": name})
        named = {"X-Memorybook-Tenant": name}
        assert many.client.post("/sessions", json={}, headers=named).status_code == 200
    asked: list[str] = []

    def close_idle(memory: Memory, limit: int) -> tuple[()]:
        asked.append(memory.root)
        if "leo" in memory.root:
            raise OSError("his disk is gone")
        return ()

    monkeypatch.setattr(Memory, "close_idle", close_idle)
    many.books.tokens.state.note("ida", seconds=0)
    many.books.tick()
    assert any("server-ida-" in root for root in asked)
    assert not any("server-leo-" in root for root in asked)
    many.books.tokens.state.note("leo", seconds=0)
    asked.clear()
    many.books.tick()
    monkeypatch.setattr(many.books.tokens.state, "_clock", lambda: time.monotonic() + 60)
    many.books.tick()
    assert not any("server-ida-" in root for root in asked), "nothing of hers is open any more"
    assert sum("server-leo-" in root for root in asked) == 2, "his is tried again"
    many.client.delete("/tenants/leo")
    many.books.tick()


# --- The commands of `docs/server.md` are run, against servers of this process --------------------


PAGE = Path(__file__).parents[2] / "docs" / "server.md"


@pytest.mark.skipif(shutil.which("curl") is None or shutil.which("bash") is None, reason="needs curl and bash")
def test_every_command_of_the_page_is_answered(one: Served, many: Served) -> None:
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    asked = [block for block in blocks if block.startswith("curl")]
    assert len(asked) >= 5
    env = os.environ | {"MEMORYBOOK": one.url, "MANY": many.url, "TOKEN": OWNER}
    script = "\n".join(["set -euo pipefail", *asked])
    done = subprocess.run(["bash", "-c", script], env=env, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout[-2000:]
