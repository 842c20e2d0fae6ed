"""A served memory answers as one at hand does: value by value, error by error."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import httpx2
import jsonschema
import pytest

from agent.model import extracting
from memorybook import errors, results
from memorybook.client import Client, connect
from memorybook.config.settings import Config
from memorybook.errors import (
    Conflict,
    InvalidInput,
    LLMFailed,
    MemoryBookError,
    NotFound,
    Refused,
    Unavailable,
    error_of,
)
from memorybook.http.rest_api import BY_VERB
from memorybook.memory import Memory
from memorybook.memory import open as open_memory
from serving import OWNER, Served, serving

PAGE = Path(__file__).parent.parent / "docs" / "client.md"


def judge(messages: Sequence[Any]) -> dict[str, Any]:
    """A language model that rewords, takes from a talk what it is told to remember, and fails at anything else."""
    if "短一点" in messages[-1]["content"]:
        return {"text": "Tea: green.", "refused": ""}
    found = extracting(messages)
    if not found["candidates"]:
        raise LLMFailed("nobody asked for anything to be remembered")
    return found


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served") / "book", llm=judge) as server:
        yield server


@pytest.fixture
def far(served: Served) -> Iterator[Client]:
    with connect(served.url + "/", f" {OWNER}\n") as book:
        yield book


# --- the same story, told to both ------------------------------------------------------------------

CHAT = [
    {"id": "t1", "role": "user", "content": "Remember: I only eat rye bread.", "timestamp": "2026-02-24T09:01:00Z"},
    {"id": "t2", "role": "assistant", "content": "Noted: rye.", "timestamp": "2026-02-24T09:02:00Z"},
    {"id": "t3", "role": "user", "content": "记住：我们决定周六在港口见面。", "timestamp": "2026-02-24T09:03:00Z"},
]


def refused(ask: Callable[[], object]) -> tuple[type[MemoryBookError], str, str]:
    with pytest.raises(MemoryBookError) as caught:
        ask()
    return type(caught.value), caught.value.code, str(caught.value)


def story(book: Memory | Client) -> Iterator[tuple[str, object]]:
    """Every verb, with what it answered."""
    yield "init", book.init()
    made = book.remember("The user prefers green tea.", category="preference", tags=("tea", "茶"), importance="high")
    yield "remember", made
    yield "remember", book.remember("用户对芒果过敏", expires=date(2031, 1, 1), metadata={"深": [1, None, {"x": 0.1}]})
    yield "remember", book.remember("caf\udce9 is where she reads", importance="low", session="S1", group="places/out")
    yield "remember", book.remember("The user prefers green tea.", category="preference")
    yield "append", book.append("部署了 v2; the key is sk-ant-api03-" + "x" * 95, kind="ops", tags=["deploy"])
    yield "append", book.append("Never force-push.", section="Decisions")
    yield "flush", book.flush("- We decided to ship on Friday.\n- ok\n- 我们决定周五发布。")
    yield "flush", book.flush(messages=[{"role": "user", "content": "I decided to buy a kettle."}])
    id = made.known.entry.id
    yield "update", book.update(id, tags=["tea"], importance=0.7, group="home", expires=date(2031, 5, 5))
    yield "update", book.update(id, expires="", group="")
    yield "pin", book.pin(id)
    yield "unpin", book.unpin(id)
    yield "confirm", book.confirm(id, lasting=True)
    yield "revise", book.revise(id, "shorter 短一点")
    yield "get", book.get(id)
    yield "get", book.get("MEMORY.md", start=2, lines=3)
    yield "get", book.get("MEMORY.md#L2-L4")
    yield "entries", book.entries(limit=2)
    yield "entries", book.entries(category="preference", state="active")
    yield from finding(book)
    yield from talking(book)
    yield from keeping(book, id)


def finding(book: Memory | Client) -> Iterator[tuple[str, object]]:
    yield "search", book.search("which tea does the user prefer", explain=True)
    yield "search", book.search("他对什么过敏", max_results=2, since=date(2020, 1, 1), min_score=0.1)
    yield "search", book.search("the boiling point of tungsten")
    yield "recall_memory", book.recall_memory("tea")
    yield "recall", book.recall("绿茶 or green tea?", max_tokens=500)
    yield "preview", book.preview("绿茶 or green tea?", max_tokens=500)
    yield "retrieve_and_inject", book.retrieve_and_inject("the user prefers green tea", min_score=0.1)
    yield "get_prompt_memories", book.get_prompt_memories(5)
    yield "get_prompt_memories_text", book.get_prompt_memories_text(5)
    yield "summarize_existing", book.summarize_existing()


def talking(book: Memory | Client) -> Iterator[tuple[str, object]]:
    yield "open_session", book.open_session("bread")
    yield "add_messages", book.add_messages("bread", CHAT)
    yield "add_messages", book.add_messages("bread", CHAT[:1])
    yield "get", book.get("turn:t1")
    yield "end_session", book.end_session("bread", [{"role": "assistant", "content": "Good night. 晚安。"}])
    yield "process_session_end", book.process_session_end([{"role": "user", "content": "记住：我喜欢坐火车。"}], "旅行")
    yield "process_session_end", book.process_session_end(session_id="旅行", model="")
    yield "retry_parked", book.retry_parked()
    yield "close_idle", book.close_idle(limit=1)
    yield "sessions", book.sessions(limit=None)
    yield "recall_history", book.recall_history(3, until=date(2031, 1, 1))
    yield "recall_topic", book.recall_topic("rye bread", top=2)
    yield "recall_session", book.recall_session("bread", limit=2)
    yield "recall_within", book.recall_within("bread", "在哪里见面")
    yield "detect", book.detect("What did we decide about bread in 2025?")
    yield "detect", book.detect("你好")
    yield "recollect", book.recollect("我们上次说了什么？")
    task = "Fix the login test 修复登录"
    yield (
        "store_if_worthwhile",
        book.store_if_worthwhile(task, {"root cause": "an expired token"}, ["ran it", {"x": 1}]),
    )


def keeping(book: Memory | Client, id: str) -> Iterator[tuple[str, object]]:
    written = book.write_document("plans/五月.md", "# Plans\r\n- caf\udce9\n", expect="")
    yield "write_document", written
    yield "document", book.document("plans/五月.md")
    yield "rename_document", book.rename_document("plans/五月.md", "plan.md", expect=written.revision)
    yield "documents", book.documents()
    yield "error", refused(lambda: book.write_document("plan.md", "x", expect="another"))
    yield "remove_document", book.remove_document("plan.md")
    yield "sync", book.sync()
    yield "rebuild", book.rebuild()
    yield "tidy", book.tidy(dry_run=True, apply=["expire"])
    yield "review", book.review(state="rejected")
    yield "accept", book.accept(every=True)
    yield "reject", book.reject(every=True, reason="不要")
    yield "why", book.why(id)
    receipt = book.forget(id)
    yield "forget", receipt
    yield "undo", book.undo(str(receipt.operation))
    yield "history", book.history(limit=None)
    yield "activity", book.activity(limit=5)
    yield "purge", book.purge(id)
    wrong: Any = object()
    for ask in (
        lambda: book.get("nothing.md"),
        lambda: book.get("不存在"),
        lambda: book.search(" "),
        lambda: book.search("tea", min_score=2),
        lambda: book.search("tea", session="nobody"),
        lambda: book.write_document("../x.md", ""),
        lambda: book.remove_document("gone.md"),
        lambda: book.undo("20200101-000000000000-abcdef"),
        lambda: book.undo(str(receipt.operation)),
        lambda: book.accept("x1"),
        lambda: book.update(id, text="x"),
        lambda: book.remember("x", category="喵"),  # type: ignore[arg-type]
    ):
        yield "error", refused(ask)
    for call in ((), ("tea", 5)):
        with pytest.raises(TypeError):
            cast("Any", book).search(*call)
    with pytest.raises(InvalidInput):
        book.remember("x", metadata={"x": wrong})


IDS = re.compile(
    r"\b\d{8}-\d{12}-[0-9a-f]{6}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){0,3}(?:-[0-9a-f]{12})?\b"
    r"|(?:\b|T)\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?\b|\b[a-z0-9]{6}\b"
)
"""What may be an id or a time of day; words of six letters are taken for ids, too, in both."""

OWN = {"input_tokens", "modified", "revision", "root", "seconds", "size", "stamp", "tokens"}
"""Fields that differ between two books of the same content: for their ids and times have other letters."""


def plain(value: Any, root: str) -> Any:
    """The value with its types, without ids, times and places."""
    if isinstance(value, datetime):
        return "a time"
    if isinstance(value, str):
        text = value.replace(root, "ROOT")
        for day in (datetime.now(UTC).date(), datetime.now(UTC).date() - timedelta(days=1)):
            text = text.replace(day.isoformat(), "TODAY")
        return IDS.sub("ID", text)
    kind: Any = type(value)
    names = results._fields(kind)
    if names is not None:
        found = {name: plain(getattr(value, name), root) for name in names if name not in OWN}
        return kind, found
    if isinstance(value, Mapping):
        return {name: plain(each, root) for name, each in value.items() if name not in OWN}
    if isinstance(value, Sequence):
        return type(value), [plain(each, root) for each in value]
    return value


def test_a_served_memory_answers_as_one_at_hand(served: Served, far: Client, tmp_path: Path) -> None:
    config = Config(backend="sqlite_fts", timezone="UTC")
    told = set()
    with open_memory(str(tmp_path / "book"), config=config, door="http", llm=judge) as opened:
        near = opened.seen_by(door="http", actor="user")
        for (verb, here), (same, there) in zip(story(near), story(far), strict=True):
            assert verb == same
            assert plain(there, served.books.root) == plain(here, near.root), verb
            if verb != "error":
                told.add(verb)
                kind, sent = results.hints_of(getattr(Memory, verb))["return"], json.dumps(results.to_json(here))
                assert results.from_json(kind, json.loads(sent)) == here, "nothing is lost on the way"
                records: dict[str, Any] = {}
                schema = results.schema_of(kind, records)
                jsonschema.validate(json.loads(sent), {**schema, "components": {"schemas": records}})
        status = far.status()
        assert status.keys() == near.status().keys()
    assert told | {"status"} == set(BY_VERB)


# --- what there is -----------------------------------------------------------------------------------

AT_HAND = {
    "book", "config", "heartbeat", "ingest", "llm", "restore", "root", "seen_by", "sync_summaries", "watch",
}  # fmt: skip
"""What only a memory has that is open in this process."""

NEEDS_A_FUNCTION = {"llm", "progress"}


def verbs_of(kind: type) -> dict[str, inspect.Signature]:
    return {
        name: inspect.signature(member)
        for name, member in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }


def test_the_client_has_every_verb_as_memory_has_it() -> None:
    near, far = verbs_of(Memory), verbs_of(Client)
    assert near.keys() - far.keys() == AT_HAND & near.keys()
    assert far.keys() <= near.keys()
    assert set(BY_VERB) <= far.keys()
    for name, signature in far.items():
        known = near[name]
        kept = [each for each in known.parameters.values() if each.name not in NEEDS_A_FUNCTION]
        if name in ("export", "backup"):  # whose file has to be named
            kept[1] = kept[1].replace(default=inspect.Parameter.empty, annotation="str")
        assert signature == known.replace(parameters=kept), name
    page = PAGE.read_text(encoding="utf-8")
    assert all(f"`{name}`" in page for name in AT_HAND | NEEDS_A_FUNCTION)


def test_every_error_comes_back_as_itself() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, MemoryBookError)]
    for kind in kinds[1:]:
        assert error_of(kind.code, kind.status) is kind
    assert [error_of("?", status) for status in (401, 403, 413, 418, 429, 500, 504)] == [
        Refused, Refused, InvalidInput, InvalidInput, Unavailable, Unavailable, Unavailable,
    ]  # fmt: skip


# --- files and tasks ---------------------------------------------------------------------------------


def test_files_of_this_machine_come_and_go(far: Client, served: Served, tmp_path: Path) -> None:
    chats = [tmp_path / "聊天 one.jsonl", tmp_path / ".two.jsonl"]
    for number, path in enumerate(chats):
        turn = {"id": f"i{number}", "session": f"import-{number}", "speaker": "Ann", "content": "I prefer oat milk."}
        path.write_text(json.dumps(turn | {"timestamp": "2026-02-24T09:00:00Z"}) + "\n", encoding="utf-8")
    brought = far.import_file(*map(str, chats), since=date(2026, 1, 1))
    assert (brought.files, brought.sessions, brought.new_turns, brought.dry_run) == (2, 2, 2, False)
    again = far.import_file(str(chats[0]), dry_run=True)
    assert (again.turns, again.new_turns, again.dry_run) == (1, 0, True)
    for wrong in ((), (str(tmp_path),), (str(tmp_path / "none"),)):
        with pytest.raises((InvalidInput, NotFound)):
            far.import_file(*wrong)

    exported, packed = tmp_path / "out.json", tmp_path / "book.tar.gz"
    report = far.export(str(exported), session="import-1")
    assert (report.path, report.sessions, report.turns) == (str(exported), 1, 1)
    assert "oat milk" in exported.read_text(encoding="utf-8")
    with pytest.raises(Conflict, match="another name"):
        far.export(str(exported))
    with pytest.raises(InvalidInput):
        far.backup(str(exported))
    for _ in range(2):
        made = far.backup(str(packed))
        assert (made.path, made.packed) == (str(packed), packed.stat().st_size)
    with open_memory(str(tmp_path / "again"), config=Config(backend="scan")) as opened:
        assert opened.restore(str(packed)).documents == made.documents
    with pytest.raises(NotFound):
        far.export(str(tmp_path / "no.json"), session="nobody")
    assert not (tmp_path / "no.json").exists()


def test_finished_tasks_are_remembered(served: Served) -> None:
    with connect(served.url, OWNER) as far, far.task("Find out why the nightly build broke 构建", session="ci") as task:
        task.result = "The root cause was a full disk on the runner."
    done = served.client.get("/operations?limit=1").json()["operations"][0]["operation"]
    assert (done["kind"], done["session"]) == ("store", "ci")


# --- what goes wrong ---------------------------------------------------------------------------------


def test_who_may_not_is_told_so(served: Served, far: Client) -> None:
    with connect(served.url, "nobody's") as nobody:
        assert refused(nobody.entries)[:2] == (Refused, "unauthorized")
    with connect(served.url, served.client.post("/tokens", json={}).json()["token"]) as agent:
        assert refused(lambda: agent.accept(every=True))[:2] == (Refused, "person_only")
    with connect(served.url, OWNER, tenant="ann") as tenant:
        assert refused(tenant.entries)[0] is InvalidInput
    with connect(f"{served.url}/api/v1", OWNER) as lost:
        assert refused(lambda: lost.get("MEMORY.md"))[0] is Unavailable
    for ask in (lost.status, lambda: lost.export("out.json")):
        assert "closed" in refused(ask)[2]


def test_an_export_that_does_not_say_what_it_is_leaves_no_file(tmp_path: Path) -> None:
    silent = httpx2.MockTransport(lambda request: httpx2.Response(200, text="{}"))
    with Client("http://x", httpx2.Client(base_url="http://x/", transport=silent)) as book:
        assert refused(lambda: book.export(str(tmp_path / "out.json")))[0] is Unavailable
    assert not [*tmp_path.iterdir()]


@pytest.mark.parametrize(
    "given",
    [
        ("localhost:8765", "x"), ("ftp://x", "x"), ("http://", "x"), ("http://x:99999", "x"), ("http://u:p@x", "x"),
        ("http://x?token=1", "x"), (None, "x"), ("http://x", ""), ("http://x", "ключ"), ("http://x", "a\nb"),
        ("http://x", None),
    ],
)  # fmt: skip
def test_an_address_or_a_token_that_cannot_be_one_is_refused_at_once(given: tuple[Any, Any]) -> None:
    with pytest.raises(InvalidInput):
        connect(*given)


def test_settings_of_a_connection_are_checked(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput):
        connect("http://x", "x", timeout=0)
    with pytest.raises(InvalidInput):
        connect("http://x", "x", tenant="一")
    for wrong in (tmp_path / "none.pem", PAGE):
        with pytest.raises(InvalidInput, match="certificates"):
            connect("https://x", "x", ca=str(wrong))


def busy(code: str = "busy", status: int = 503) -> httpx2.Response:
    return httpx2.Response(status, json={"error": {"code": code, "message": "not now"}}, headers={"Retry-After": "2"})


def fine(request: httpx2.Request) -> httpx2.Response:
    return httpx2.Response(200, content=json.dumps({}))


Scripted = Sequence[httpx2.Response | Exception | None]
"""What happens to each request, None for an answer; the last goes on."""


@pytest.mark.parametrize(
    ("verb", "happens", "error", "asked"),
    [
        ("status", [httpx2.ReadError("reset"), None], None, 2),
        ("status", [httpx2.RemoteProtocolError("gone")], Unavailable, 3),
        ("status", [httpx2.ReadTimeout("late")], Unavailable, 1),
        ("sync", [httpx2.ReadError("reset"), None], Unavailable, 1),
        ("sync", [httpx2.ConnectError("refused"), httpx2.ConnectError("refused"), None], None, 3),
        ("sync", [httpx2.ConnectError("refused")], Unavailable, 3),
        ("sync", [httpx2.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED]")], Unavailable, 1),
        ("sync", [busy(), busy("too_many", 429), None], None, 3),
        ("sync", [busy("late", 504)], Unavailable, 1),
        ("status", [busy("book_locked")], errors.BookLocked, 1),
        ("status", [httpx2.Response(502, text="<html>")], Unavailable, 1),
        ("entries", [None], Unavailable, 1),
        ("entries", [httpx2.Response(200, text="[" * 50_000)], Unavailable, 1),
    ],
)  # fmt: skip
def test_nothing_is_asked_twice_that_may_have_been_done(
    verb: str, happens: Scripted, error: type[Exception] | None, asked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    paused: list[float] = []
    monkeypatch.setattr("memorybook.client.time.sleep", paused.append)
    requests: list[httpx2.Request] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        requests.append(request)
        found = happens[min(len(requests), len(happens)) - 1]
        if isinstance(found, Exception):
            raise found
        return found or fine(request)

    with Client("http://x", httpx2.Client(base_url="http://x/", transport=httpx2.MockTransport(answer))) as book:
        if error is None:
            assert getattr(book, verb)() == {}
        else:
            with pytest.raises(error) as caught:
                getattr(book, verb)()
            assert type(caught.value) is error
    assert (len(requests), len(paused)) == (asked, asked - 1)
    assert paused == [] or all(pause == 2 for pause in paused) == isinstance(happens[0], httpx2.Response)


# --- the page ----------------------------------------------------------------------------------------


def test_every_example_of_the_page_runs(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    monkeypatch.setenv("MEMORYBOOK_TOKEN", OWNER)
    place: dict[str, Any] = {}
    for block in blocks:
        exec(block.replace("http://127.0.0.1:8765", served.url), place)
