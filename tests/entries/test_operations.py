"""Undo: any operation comes back to the byte, keeps what others did since, and refuses with the reason shown."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import pytest

from books import Reopen, entry, files
from memorybook.book import fade
from memorybook.entries.history import undo
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.formats import changes_json, memory_md
from memorybook.memory import Memory
from memorybook.model import (
    Add,
    Append,
    Applied,
    Archive,
    Change,
    Drop,
    Operation,
    Put,
    Reinforce,
    Remove,
    Session,
    Supersede,
    Turn,
    Update,
)
from memorybook.protocols import Documents

DAY = datetime(2026, 2, 24, tzinfo=UTC).date()


def chat(tmp_path: Path, *said: str, session: str = "s1", **more: str) -> str:
    path = tmp_path / f"{session}.jsonl"
    turns = [
        {"id": f"m{n}", "role": "user", "content": text, "session": session, **more} for n, text in enumerate(said)
    ]
    path.write_text("".join(json.dumps(turn, ensure_ascii=False) + "\n" for turn in turns), encoding="utf-8")
    return str(path)


def last(memory: Memory) -> str:
    return memory.book.journal.operations(limit=1)[0].id


def said(memory: Memory) -> list[Turn]:
    return list(memory.book.transcripts.turns(memory.book.transcripts.session("s1").uuid))


def documents(memory: Memory) -> dict[str, str]:
    if memory.book.storage.machine:
        return {path: data.decode() for path, data in files(memory.root, "*.md").items()}
    return {info.path: memory.book.documents.read(info.path).text for info in sorted(memory.book.documents.list())}


class Page(NamedTuple):
    """A document that is no file, as a person sees it."""

    documents: Documents
    path: str

    def exists(self) -> bool:
        return self.path in {info.path for info in self.documents.list()}

    def read_text(self, encoding: str) -> str:
        return self.documents.read(self.path).text

    def write_text(self, text: str, encoding: str) -> None:
        expect = self.documents.read(self.path).revision if self.exists() else None
        self.documents.write(self.path, text, expect=expect)


def page_at(memory: Memory, path: str) -> Path | Page:
    if not memory.book.storage.machine:
        return Page(memory.book.documents, path)
    file = Path(memory.root, path)
    file.parent.mkdir(exist_ok=True)
    return file


@pytest.fixture(params=["files", "memory"])
def kept_in(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def memory(reopen: Reopen) -> Memory:
    return reopen()


def apply(memory: Memory, *changes: Change) -> str:
    result = memory.book.apply(changes, actor="user", door="test")
    assert result.operation is not None
    return result.operation.id


def filled(memory: Memory) -> dict[str, str]:
    """A book with a bit of everything."""
    memory.init()
    ids = {name: memory.remember(f"The {name} is known").known.entry.id for name in ("tea", "heron", "old one")}
    memory.append("bought bread")
    apply(memory, Archive(id=ids["old one"]), Put(path="sessions/a.md", text="# a talk\n\nabout tea\n"))
    page = page_at(memory, "MEMORY.md")
    page.write_text(page.read_text(encoding="utf-8").replace("## TODO\n", "## TODO\n- mine\n"), encoding="utf-8")
    archive = page_at(memory, "archive/2026-01.md")
    archive.write_text(
        "# Archive 2026-01\n\n### [cold1] fact | 0.10 | 2026-01-10 | 2\nThe cold one.\n", encoding="utf-8"
    )
    return {**ids, "cold": "cold1"}


Act = Callable[[Memory, dict[str, str], Path], object]

ACTS: dict[str, Act] = {
    "remember": lambda m, ids, _: m.remember("Something new", category="decision", tags=["a"]),
    "remember again": lambda m, ids, _: m.remember("the TEA is known"),
    "append": lambda m, ids, _: m.append("a line"),
    "append an item": lambda m, ids, _: m.append("an item", section="TODO"),
    "append an item to a new section": lambda m, ids, _: m.append("an item", section="Garden"),
    "flush": lambda m, ids, _: m.flush("- The user prefers dark mode.\n- The deploy window is Tuesday."),
    "update": lambda m, ids, _: m.update(ids["tea"], text="The tea is green", importance="high"),
    "pin": lambda m, ids, _: m.pin(ids["heron"]),
    "forget": lambda m, ids, _: m.forget(ids["tea"]),
    "forget by query": lambda m, ids, _: m.forget(query="bread bought"),
    "forget from the archive": lambda m, ids, _: m.forget(ids["cold"]),
    "import": lambda m, ids, tmp: m.import_file(
        chat(tmp, "Remember that my uncle is a xylophonist.", "We went to the Grand Canyon last week.")
    ),
    "archive": lambda m, ids, _: apply(m, Archive(id=ids["tea"])),
    "reinforce": lambda m, ids, _: apply(m, Reinforce(id=ids["tea"])),
    "remove": lambda m, ids, _: apply(m, Remove(id=ids["tea"]), Remove(id=ids["cold"])),
    "bring back from the archive": lambda m, ids, _: apply(m, Update(id=ids["cold"], fields={"archived": False})),
    "supersede": lambda m, ids, _: apply(
        m, Add(entry=entry("new", "The tea is gone")), Supersede(id=ids["tea"], by="new")
    ),
    "put": lambda m, ids, _: apply(m, Put(path="sessions/a.md", text="other")),
    "put a new one": lambda m, ids, _: apply(m, Put(path="sessions/b.md", text="new")),
    "drop a document": lambda m, ids, _: apply(m, Drop(path="sessions/a.md")),
    "drop a line": lambda m, ids, _: apply(m, Drop(path="sessions/a.md", line="")),
    "all at once": lambda m, ids, _: apply(
        m,
        Add(entry=entry("n1", "One more")),
        Update(id=ids["tea"], fields={"text": "x"}),
        Update(id=ids["tea"], fields={"text": "y", "archived": True}),
        Remove(id=ids["heron"]),
        Update(id=ids["cold"], fields={"archived": False}),
        Append(path="daily/2026-01-01.md", line="- 2026-01-01T10:00:00Z a note"),
        Append(path="MEMORY.md", line="an item", section="TODO"),
        Drop(path="sessions/a.md", line="about tea"),
        Put(path="sessions/c.md", text="c"),
    ),
}


@pytest.mark.parametrize("name", ACTS)
def test_what_is_undone_at_once_is_as_it_was_to_the_byte(memory: Memory, tmp_path: Path, name: str) -> None:
    ids = filled(memory)
    before = documents(memory)
    ACTS[name](memory, ids, tmp_path)
    after = documents(memory)
    assert after != before
    done = last(memory)
    planned = undo(memory.context, done, dry_run=True)
    assert documents(memory) == after
    undone = undo(memory.context, done)
    assert documents(memory) == before
    assert planned._replace(dry_run=False, operation=undone.operation) == undone
    assert not undone.adapted
    redone = undo(memory.context, undone.operation or "")
    assert documents(memory) == after
    assert redone.kind == "undo"
    assert memory.book.journal.pending() == []


@pytest.mark.parametrize("name", ACTS)
def test_what_others_did_since_stays(memory: Memory, tmp_path: Path, name: str) -> None:
    ids = filled(memory)
    known = {each.id: each for each in memory.book.entries()}
    ACTS[name](memory, ids, tmp_path)
    done = last(memory)
    memory.append("a later line")
    memory.append("a later item", section="TODO")
    later = memory.remember("A later entry").known.entry.id
    page = page_at(memory, "sessions/a.md")
    if page.exists():
        page.write_text(page.read_text(encoding="utf-8") + "a person's line\n", encoding="utf-8")
    archive = page_at(memory, "archive/2026-01.md")
    colder = "\n### [cold2] fact | 0.10 | 2026-01-10 | 2\nColder.\n"
    archive.write_text(archive.read_text(encoding="utf-8") + colder, encoding="utf-8")
    if name in ("put", "drop a document"):
        if name == "put":
            with pytest.raises(Conflict, match=r"sessions/a\.md"):
                undo(memory.context, done)
        return
    undo(memory.context, done)
    found = {each.id: each for each in memory.book.entries()}
    assert found.pop(later).text == "A later entry"
    assert found.pop("cold2").text == "Colder."
    today = memory.book.now().date()
    assert {id: fade.tidied(each, today) for id, each in found.items()} == {
        id: fade.tidied(each, today) for id, each in known.items()
    }
    text = "".join(text for path, text in documents(memory).items() if path.startswith("daily/"))
    assert "a later line" in text
    assert "bought bread" in text
    assert "a line" not in text.replace("a later line", "")
    assert "- a later item" in page_at(memory, "MEMORY.md").read_text(encoding="utf-8")
    if page.exists():
        assert page.read_text(encoding="utf-8") == "# a talk\n\nabout tea\na person's line\n"


def test_what_was_changed_since_is_shown_and_nothing_is_done(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.update(tea, text="The tea is green")
    done = last(memory)
    memory.update(tea, text="The tea is white " + "x" * 500)
    before = documents(memory)
    with pytest.raises(Conflict, match=r"The tea is green.*now there is .*The tea is white") as refused:
        undo(memory.context, done)
    assert len(str(refused.value)) < 800
    assert documents(memory) == before
    assert memory.book.journal.operations(limit=1)[0].kind != "undo"


def test_fields_that_the_operation_did_not_touch_keep_what_others_made_of_them(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.pin(tea)
    done = last(memory)
    memory.update(tea, text="The tea is green", tags=["hot"])
    undo(memory.context, done)
    [known] = memory.entries().entries
    assert (known.entry.text, known.entry.tags, known.entry.pinned) == ("The tea is green", ("hot",), False)


def test_what_was_strengthened_since_is_not_weakened_by_half(memory: Memory) -> None:
    memory.remember("The tea is black")
    memory.remember("The tea is black")
    done = last(memory)
    memory.remember("The tea is black")
    with pytest.raises(Conflict, match="changed since"):
        undo(memory.context, done)


def test_an_operation_is_undone_once(memory: Memory) -> None:
    memory.remember("The tea is black")
    done = last(memory)
    by = undo(memory.context, done).operation
    with pytest.raises(Conflict, match=f"already undone by '{by}'"):
        undo(memory.context, done)
    with pytest.raises(NotFound, match="nothing"):
        undo(memory.context, "nothing")
    undo(memory.context, by or "")
    undo(memory.context, done)
    assert memory.entries().entries == ()


def test_what_came_back_meanwhile_is_not_doubled(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.forget(tea)
    done = last(memory)
    memory.remember("the tea is BLACK")
    with pytest.raises(Conflict, match="same statement"):
        undo(memory.context, done)


def test_what_a_person_put_into_an_archive_meanwhile_is_not_doubled(memory: Memory) -> None:
    ids = filled(memory)
    shown = next(memory_md.render_entry(each) for each in memory.book.entries() if each.id == ids["tea"])
    memory.forget(ids["tea"])
    archive = page_at(memory, "archive/2026-01.md")
    archive.write_text(archive.read_text(encoding="utf-8") + f"\n{shown}\n", encoding="utf-8")
    before = documents(memory)
    with pytest.raises(Conflict, match="now there is"):
        undo(memory.context, last(memory))
    assert documents(memory) == before


def test_what_was_superseded_in_an_archive_and_said_again_is_not_doubled(memory: Memory) -> None:
    ids = filled(memory)
    apply(memory, Supersede(id="cold1", by=ids["tea"]))
    superseded = last(memory)
    assert memory.remember("The cold one.").action == "created"
    with pytest.raises(Conflict, match="with the same statement"):
        undo(memory.context, superseded)


def test_an_undone_forget_may_be_imported_again(memory: Memory, tmp_path: Path) -> None:
    path = chat(tmp_path, "Remember that my uncle is a xylophonist.", "What a day.")
    memory.import_file(path)
    [known] = memory.entries().entries
    turns = said(memory)
    session = memory.book.transcripts.session("s1")
    before = documents(memory)
    receipt = memory.forget(session="s1")
    assert receipt.turns == 2
    assert memory.book.transcripts.counts()["turns"] == 0
    assert not memory.search("xylophonist").hits
    assert memory.import_file(path).entries == 0
    undo(memory.context, receipt.operation or "")
    assert documents(memory) == before
    assert said(memory) == turns
    assert memory.book.transcripts.session("s1") == session
    assert memory.search("xylophonist").hits
    memory.forget(known.entry.id)
    assert undo(memory.context, last(memory)).exact == ("MEMORY.md", "sessions/undated-s1-8a5286.md")
    assert said(memory) == turns
    assert memory.book.transcripts.session("s1") == session


def test_an_import_that_was_undone_can_be_made_again(memory: Memory, tmp_path: Path) -> None:
    path = chat(tmp_path, "Remember that my uncle is a xylophonist.")
    assert memory.import_file(path).entries == 1
    undo(memory.context, last(memory))
    assert memory.entries().entries == ()
    assert memory.import_file(path).entries == 1


def test_sessions_imported_together_come_back_one_by_one(memory: Memory, tmp_path: Path) -> None:
    filled(memory)
    before = documents(memory)
    one, two = (Path(chat(tmp_path, f"Remember that the box {n} is red.", session=f"s{n}")) for n in (1, 2))
    one.write_text(one.read_text(encoding="utf-8") + two.read_text(encoding="utf-8"), encoding="utf-8")
    memory.import_file(str(one))
    [second, first] = memory.book.journal.operations(limit=2)
    took = undo(memory.context, second.id)
    assert (took.adapted, [f"forget --source {one.name}`" in told for told in took.remains]) == ((), [True])
    assert not undo(memory.context, first.id).adapted
    assert documents(memory) == before


def test_of_very_many_sessions_each_is_taken_back_change_by_change(memory: Memory, tmp_path: Path) -> None:
    filled(memory)
    known = {each.id: each for each in memory.book.entries()}
    many = tmp_path / "many.jsonl"
    lines = [Path(chat(tmp_path, f"Remember that the box {n} is red.", session=f"s{n}")).read_text() for n in range(40)]
    many.write_text("".join(lines), encoding="utf-8")
    memory.import_file(str(many))
    assert len(memory.book.entries()) == len(known) + 40
    for operation in memory.book.journal.operations(limit=40):
        assert "MEMORY.md" in undo(memory.context, operation.id).adapted
    assert {each.id: each for each in memory.book.entries()} == known
    assert [path for path in documents(memory) if path.startswith("sessions/")] == ["sessions/a.md"]


def test_operations_of_an_older_journal_are_undone_entry_by_entry(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    memory.append("a line")
    line = last(memory)
    memory.append("an item", section="TODO")
    item = last(memory)
    memory.update(tea, text="The tea is green")
    updated = last(memory)
    dropped = apply(memory, Drop(path="daily/2026-02-24.md", line="- 2026-02-24T10:12:33Z a line"))
    undoing = memory.book.journal._store.created()  # type: ignore[attr-defined]
    undoing.execute("DELETE FROM patches")
    undo(memory.context, dropped)
    assert page_at(memory, "daily/2026-02-24.md").read_text(encoding="utf-8") == "- 2026-02-24T10:12:33Z a line\n"
    for done in (updated, item, line):
        undo(memory.context, done)
    assert [known.entry.text for known in memory.entries().entries] == ["The tea is black"]
    assert not page_at(memory, "daily/2026-02-24.md").exists()
    assert "an item" not in page_at(memory, "MEMORY.md").read_text(encoding="utf-8")


class Crash(BaseException):
    """The process dies here."""


def dies_at(memory: Memory, place: str, after: bool, act: Callable[[], object]) -> None:
    """Do something that dies before a step of the book, such as `journal.begin`, or after it."""
    part, name = place.split(".")
    owner = getattr(memory.book, part)
    real = getattr(owner, name)

    def dying(*given: object, **named: object) -> None:
        if after:
            real(*given, **named)
        raise Crash

    with pytest.MonkeyPatch.context() as patched, contextlib.suppress(Crash):
        patched.setattr(owner, name, dying)
        act()
    memory.close()


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", ["journal.begin", "documents.write", "transcripts.restore", "journal.done"])
def test_an_interrupted_undo_is_finished_to_the_byte(
    memory: Memory, reopen: Reopen, tmp_path: Path, place: str, after: bool
) -> None:
    filled(memory)
    memory.import_file(chat(tmp_path, "Remember that my uncle is a xylophonist.", "We went to the Grand Canyon."))
    before = documents(memory)
    done = memory.forget(session="s1").operation or ""
    dies_at(memory, place, after, lambda: undo(memory.context, done))
    opened = reopen()
    assert opened.book.journal.pending() == []
    if place == "journal.begin" and not after:
        undo(opened.context, done)
    assert documents(opened) == before
    assert len(said(opened)) == 2
    assert done in opened.book.journal.undone()


def test_an_operation_that_changed_nothing_cannot_be_undone(memory: Memory) -> None:
    from memorybook.model import Discarded

    left = Discarded(text="x", reason="weak")
    result = memory.book.apply([], actor="user", door="test", kind="memorize", discarded=[left])
    assert result.operation is not None
    assert memory.book.journal.operation(result.operation.id).discarded == (left,)
    with pytest.raises(Conflict, match="changed nothing"):
        undo(memory.context, result.operation.id)


def test_a_person_saving_at_that_moment_makes_it_look_again(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory.remember("The tea is black")
    done = last(memory)
    page = page_at(memory, "MEMORY.md")
    real = memory.book.journal.begin
    saves = ["- saved meanwhile\n"]

    def begin(*given: object, **named: object) -> None:
        if saves:
            page.write_text(page.read_text(encoding="utf-8").replace("## TODO\n", "## TODO\n" + saves.pop()), "utf-8")
        real(*given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(memory.book.journal, "begin", begin)
    assert undo(memory.context, done).adapted == ("MEMORY.md",)
    assert "- saved meanwhile" in page.read_text(encoding="utf-8")
    assert memory.entries().entries == ()
    assert len(memory.book.journal.operations()) == 2


def crowded(memory: Memory) -> None:
    """A MEMORY.md that holds as many archived entries as it can, and an archive of this month."""
    old = [entry(f"old{n:03}", f"Old thing {n}", archived=True) for n in range(200)]
    apply(memory, *(Add(entry=each) for each in old), Add(entry=entry("hot", "A hot one")))
    apply(memory, Archive(id="hot"))
    assert page_at(memory, "archive/2026-02.md").exists()


def test_what_moved_on_to_an_archive_comes_back_with_the_undo(memory: Memory) -> None:
    crowded(memory)
    done = last(memory)
    assert set(undo(memory.context, done).exact) == {"MEMORY.md", "archive/2026-02.md"}
    assert not page_at(memory, "archive/2026-02.md").exists()
    assert len(memory.book.memory().entries) == 201


@pytest.mark.parametrize("redone", [False, True])
@pytest.mark.parametrize("written", [0, 1, 2])
def test_an_undo_that_dies_between_two_documents_of_entries_is_finished_to_the_byte(
    memory: Memory, reopen: Reopen, written: int, redone: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    crowded(memory)
    wanted = documents(memory)
    undone = undo(memory.context, last(memory)).operation or ""
    if not redone:
        wanted, undone = documents(memory), undo(memory.context, undone).operation or ""
    calls: list[str] = []

    def dying(real: Callable[..., object]) -> Callable[..., object]:
        def write(path: str, *given: object, **named: object) -> object:
            if len(calls) == written:
                raise Crash
            calls.append(path)
            return real(path, *given, **named)

        return write

    store = memory.book.documents
    with monkeypatch.context() as patched:
        patched.setattr(store, "write", dying(store.write))
        patched.setattr(store, "remove", dying(store.remove))
        patched.setattr(memory.book.journal, "done", dying(memory.book.journal.done))
        with pytest.raises(Crash):
            undo(memory.context, undone)
    assert len(calls) == written
    memory.close()
    opened = reopen()
    assert documents(opened) == wanted
    assert opened.book.journal.pending() == []


def test_entries_that_change_places_are_never_in_neither(memory: Memory) -> None:
    crowded(memory)
    [cold] = [each.id for each in memory.book.entries() if memory.book.memory().get(each.id) is None]
    late = replace(entry("late", "Late", archived=True), last_activated=DAY + timedelta(days=1))
    apply(memory, Update(id=cold, fields={"archived": False}), Add(entry=late))
    known = {each.id for each in memory.book.entries()}
    assert undo(memory.context, last(memory)).exact == ()
    assert {each.id for each in memory.book.entries()} == known - {"late"}
    assert {each.id: each.archived for each in memory.book.entries()}[cold]


def test_an_entry_that_only_faded_since_is_taken_back(memory: Memory) -> None:
    memory.remember("The tea is black")
    done = last(memory)
    [known] = memory.entries().entries
    memory.remember("Something else")
    apply(memory, Update(id=known.entry.id, fields={"scored": datetime(2026, 2, 25, tzinfo=UTC).date()}))
    undo(memory.context, done)
    assert [each.text for each in memory.book.entries()] == ["Something else"]


def test_an_item_that_is_gone_is_not_taken_out_again(memory: Memory) -> None:
    memory.append("buy milk", section="TODO")
    done = last(memory)
    page = page_at(memory, "MEMORY.md")
    page.write_text(page.read_text(encoding="utf-8").replace("buy milk", "buy oat milk"), encoding="utf-8")
    with pytest.raises(Conflict, match="the item under 'TODO'"):
        undo(memory.context, done)
    page.write_text(page.read_text(encoding="utf-8").replace("buy oat milk", "buy milk"), encoding="utf-8")
    undoing = undo(memory.context, done).operation
    memory.append("another", section="TODO")
    undo(memory.context, undoing or "")
    assert "- buy milk" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("place", ["journal.begin", "documents.write", "transcripts.remove", "journal.done"])
def test_an_interrupted_forget_is_finished_or_never_was(
    memory: Memory, reopen: Reopen, tmp_path: Path, place: str, after: bool
) -> None:
    filled(memory)
    path = chat(tmp_path, "Remember that my uncle is a xylophonist.")
    memory.import_file(path)
    memory.recall("uncle")
    dies_at(memory, place, after, lambda: memory.forget(session="s1"))
    opened = reopen()
    begun = place != "journal.begin" or after
    assert opened.book.journal.pending() == []
    assert opened.book.transcripts.counts()["turns"] == (0 if begun else 1)
    assert bool(opened.search("xylophonist").hits[:1] and opened.search("xylophonist").has_relevant) is not begun
    assert opened.import_file(path).entries == 0


ENTRY = "### [{id}] fact | 0.50 | 2026-02-24 | 1\n{text}\n<!-- score: 0.5; scored: 2026-02-24 -->"

PENDING: dict[str, tuple[Applied, str, str]] = {
    "an item": (Applied(kind="item", target="MEMORY.md", before=None, after="TODO\nwash up"), "MEMORY.md", "- wash up"),
    "an item out": (Applied(kind="item", target="MEMORY.md", before="TODO\nmine", after=None), "MEMORY.md", "!- mine"),
    "a line": (Applied(kind="append", target="daily/x.md", before=None, after="- x"), "daily/x.md", "- x\n"),
    "a line out": (
        Applied(kind="drop", target="sessions/a.md", before="about tea", after=""),
        "sessions/a.md",
        "!about",
    ),
    "a page": (Applied(kind="put", target="sessions/b.md", before=None, after="new\n"), "sessions/b.md", "new\n"),
    "a page out": (Applied(kind="drop", target="sessions/a.md", before="# a talk\n\nabout tea\n", after=None), "", ""),
    "another page": (Applied(kind="put", target="sessions/a.md", before="other", after="new"), "sessions/a.md", "!new"),
    "an entry": (
        Applied(kind="add", target="n1", before=None, after=ENTRY.format(id="n1", text="New one")),
        "MEMORY.md",
        "[n1]",
    ),
    "an entry out": (Applied(kind="remove", target="cold1", before="", after=None), "archive/2026-01.md", "!cold one"),
    "turns": (Applied(kind="turns", target="session:s", before=None, after=""), "", ""),
}


@pytest.mark.parametrize("name", PENDING)
def test_what_an_older_version_left_undone_is_finished(memory: Memory, reopen: Reopen, name: str) -> None:
    """Its journal has no patches: each change is carried out by itself, where nothing stands against it."""
    filled(memory)
    change, path, text = PENDING[name]
    if name == "an entry out":
        [cold] = [each for each in memory.book.entries() if each.id == "cold1"]
        change = replace(change, before=memory_md.render_entry(cold))
    if name == "turns":
        turn = Turn(id="t1", session="s", text="hello", position=0)
        change = replace(change, after=changes_json.render_turns(Session(uuid="s"), [turn], whole=True))
    time = memory.book.now()
    memory.book.journal.begin(Operation(id="o1", time=time, actor="", door="", changes=(change,)))
    memory.close()
    opened = reopen()
    assert opened.book.journal.pending() == []
    if name == "turns":
        assert [turn.text for turn in opened.book.transcripts.turns("s")] == ["hello"]
    elif name == "a page out":
        assert not page_at(opened, "sessions/a.md").exists()
    else:
        page = page_at(opened, path).read_text(encoding="utf-8")
        assert (text.removeprefix("!") in page) is not text.startswith("!")


def test_an_entry_cannot_supersede_itself(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    with pytest.raises(InvalidInput, match="itself"):
        apply(memory, Supersede(id=tea, by=tea))
    with pytest.raises(NotFound, match="nobody"):
        apply(memory, Supersede(id=tea, by="nobody"))


def test_an_entry_is_superseded_once(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    new = entry(tea, "The tea is green")  # the id is taken, so that it gets another one
    apply(memory, Add(entry=new))
    [other] = [each for each in memory.book.entries() if each.id != tea]
    apply(memory, Supersede(id=tea, by=other.id))
    [old] = [each for each in memory.book.entries() if each.id == tea]
    assert (old.superseded_by, old.state) == (other.id, "superseded")
    again = memory.book.apply([Supersede(id=tea, by=other.id)], actor="user", door="test")
    assert again.operation is None
    assert again.outcomes[0].entry == old


def test_what_supersedes_may_turn_out_to_be_known_already(memory: Memory) -> None:
    tea = memory.remember("The tea is black").known.entry.id
    green = memory.remember("The tea is green").known.entry.id
    apply(memory, Add(entry=entry("new", "the tea is GREEN")), Supersede(id=tea, by="new"))
    [old] = [each for each in memory.book.entries() if each.id == tea]
    assert old.superseded_by == green
    assert old.score < 0.31
