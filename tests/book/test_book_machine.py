"""A book under everything that happens to one: agents, a person's editor, crashes, a lost index, all in any order."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import memorybook
from memorybook.book import transaction
from memorybook.config.settings import Config, StorageSettings
from memorybook.entries.history import undo
from memorybook.errors import Conflict
from memorybook.forget.forget import purge
from memorybook.formats import memory_md
from memorybook.model import Archive, Reinforce, Remove, Supersede, Update
from memorybook.storage import target
from memorybook.text.tokens import normalise

pytestmark = pytest.mark.timeout(600)  # what fails is made smaller, and that takes minutes

CONFIG = Config(timezone="UTC", vector_enabled=False)

SUBJECTS = ["heron", "Postgres", "部署窗口", "oat milk", "芒果", "a | b; c", "# not a heading", "x <!-- y -->", "über"]

ACTS = [
    "remember", "say again", "append", "item", "update", "pin", "forget", "archive", "bring back", "remove",
    "supersede", "flush", "import",
]  # fmt: skip

CRASHES = ["journal.begin", "documents.write", "documents.append", "journal.done"]
ERASING = ["journal.purge", "documents.forget_versions", "index.rebuild", "journal.vacuum", "transcripts.vacuum"]


FORMAT: Any = memory_md
PAGES: Any = transaction
FOLDERS = ["daily/", "sessions/", "archive/"]


class Crash(BaseException):
    """The process dies here; nothing may catch it."""


class Book(RuleBasedStateMachine):
    """A real book beside what it ought to hold."""

    config = CONFIG
    atomic = False
    """Whether a crash takes back all of a change, instead of leaving what opening completes."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="memorybook-machine-"))
        self.root = self.folder / "book"
        self.now = datetime.now(UTC).replace(hour=6)  # a note said twice is one of two days at midnight
        self.made = 0
        self.new_id, FORMAT.new_id = FORMAT.new_id, self.next_id
        self.most_archived = PAGES.ARCHIVED_IN_MEMORY
        self.patched = pytest.MonkeyPatch()  # a person's save is whole at once: nobody need wait for its second half
        self.patched.setattr(target, "_QUIET_CUT", target._QUIET)
        self.memory = self.opened()
        self.live: dict[str, str] = {}
        self.notes: list[str] = []
        self.items: list[str] = []
        self.superseded: set[str] = set()
        self.unanswered: set[str] = set()
        self.all: dict[str, str] = {}
        self.said = 0

    def next_id(self, taken: object) -> str:
        """Ids in order instead of at random, so that what fails can be done again."""
        self.made += 1
        return f"made{self.made:03}"

    def opened(self) -> memorybook.Memory:
        return memorybook.open(str(self.root), config=self.config, clock=self.clock)

    def clock(self) -> datetime:
        """A minute later at every look: a person's editor tells its copies of the page apart by their times."""
        self.now += timedelta(minutes=1)
        return self.now

    def teardown(self) -> None:
        FORMAT.new_id, PAGES.ARCHIVED_IN_MEMORY = self.new_id, self.most_archived
        self.memory.close()
        self.patched.undo()
        shutil.rmtree(self.folder)

    # --- small steps ---------------------------------------------------------------------------

    def statement(self, subject: str) -> str:
        """A text that nobody has said yet."""
        self.said += 1
        name = f"statement{self.said} is"
        self.all[name] = f"{name} about {subject}"
        return self.all[name]

    def some(self, number: int) -> str:
        return sorted(self.live)[number % len(self.live)]

    def titled(self, number: int) -> str | None:
        """One that stands in MEMORY.md under a title; an undo may have taken back that a person's got one."""
        page = self.page
        ids = sorted(id for id in self.live if f"### [{id}]" in page)
        return ids[number % len(ids)] if ids else None

    @property
    def current(self) -> list[str]:
        """Ids of the entries that are still held true."""
        return sorted(self.live.keys() - self.superseded)

    def pages(self, *folders: str) -> dict[str, str]:
        """The documents in these folders by path, as they are now."""
        found = [path for folder in folders for path in sorted(self.root.glob(f"{folder}*.md"))]
        return {str(path.relative_to(self.root)): path.read_bytes().decode() for path in found}

    @property
    def page(self) -> str:
        """MEMORY.md."""
        return self.pages("MEMORY")["MEMORY.md"]

    def edit(self, change: Callable[[str], str]) -> None:
        """A person opens MEMORY.md, changes it and saves."""
        (self.root / "MEMORY.md").write_text(change(self.page), encoding="utf-8")

    def holds(self, text: str) -> list[str]:
        """Where it stands in what is kept of the book."""
        files = [path for path in self.root.rglob("*") if path.is_file()]
        return [str(path) for path in files if text.encode() in path.read_bytes()]

    def block(self, text: str, id: str) -> str:
        found = re.search(rf"(?ms)^### \[{id}\].*?(?=^##|\Z)", text)
        assert found, id
        return found[0]

    def truth(self) -> dict[str, str]:
        """What the documents say, read here anew: each id with its text."""
        found: list[tuple[str, str]] = []
        for path in self.pages("MEMORY", "archive/"):
            modified = self.memory.book.documents.read(path).modified
            text = self.pages(path.removesuffix(".md"))[path]
            document = memory_md.parse(text, modified=datetime.fromtimestamp(modified, UTC))
            assert document.warnings == ()
            assert document.render(now=datetime.now(UTC)) == text
            found += [(entry.id, entry.text) for entry in document.entries]
        assert len(found) == len(dict(found)), "an id stands twice"
        return dict(found)

    # --- what an agent does --------------------------------------------------------------------

    @initialize(most_archived=st.sampled_from([1, 200]))
    def begin(self, most_archived: int) -> None:
        """Of two archived entries one stands in an archive, or none ever does."""
        PAGES.ARCHIVED_IN_MEMORY = most_archived
        self.memory.init()

    @rule(subject=st.sampled_from(SUBJECTS))
    def remember(self, subject: str) -> None:
        text = self.statement(subject)
        kept = self.memory.remember(text, tags=["a b", "c;d"], metadata={"subject": subject})
        assert kept.action == "created"
        self.live[kept.known.entry.id] = text

    @precondition(lambda self: self.current)
    @rule(number=st.integers(0, 99))
    def say_again(self, number: int) -> None:
        id = self.current[number % len(self.current)]
        kept = self.memory.remember(f"  {self.live[id].upper()} ")
        retried = id in self.unanswered  # what was done without an answer, and is asked again, counts once
        assert kept.action in (("strengthened", "duplicate") if retried else ("strengthened",)), kept.action
        assert kept.known.entry.id == id
        self.unanswered.discard(id)

    @rule(subject=st.sampled_from(SUBJECTS), again=st.booleans())
    def append(self, subject: str, again: bool) -> None:
        text = self.statement(subject)
        assert not self.memory.append(text).duplicate
        self.notes.append(text)
        if again:
            assert self.memory.append(text).duplicate

    @rule(subject=st.sampled_from(SUBJECTS))
    def append_item(self, subject: str) -> None:
        text = self.statement(subject)
        assert not self.memory.append(text, section="Preferences").duplicate
        self.items.append(text)

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99), subject=st.sampled_from(SUBJECTS))
    def update(self, number: int, subject: str) -> None:
        id, text = self.some(number), self.statement(subject)
        known = self.memory.update(id, text=text, importance="high")
        if not known.proposals:  # a person's own entry waits for them
            self.live[id] = text
        assert known.entry.text == self.live[id]

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99), pinned=st.booleans())
    def pin(self, number: int, pinned: bool) -> None:
        known = self.memory.pin(self.some(number), pinned=pinned)
        assert known.entry.pinned is pinned or known.proposals  # an agent unpins what a person wrote only if asked

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99))
    def forget(self, number: int) -> None:
        id = self.some(number)
        same = self.saying(self.live[id])
        assert {*self.memory.forget(id).entries} == same
        for each in same:
            del self.live[each]
        self.superseded -= same

    def saying(self, text: str) -> set[str]:
        """The entries that say it: one that is no longer true and one that is again may."""
        return {id for id, said in self.live.items() if said == text}

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99), back=st.booleans())
    def archive(self, number: int, back: bool) -> None:
        id = self.some(number)
        change = Update(id=id, fields={"archived": False}) if back else Archive(id=id)
        self.memory.book.apply([change], actor="user", door="test")

    @precondition(lambda self: len(self.current) > 1)
    @rule(number=st.integers(0, 99))
    def supersede(self, number: int) -> None:
        old, new = self.current[number % len(self.current)], self.current[(number + 1) % len(self.current)]
        self.memory.book.apply([Supersede(id=old, by=new)], actor="user", door="test")
        self.superseded.add(old)
        again = self.memory.remember(self.live[old])
        assert again.action == "created"  # what is no longer true is a new statement when it is said again
        self.live[again.known.entry.id] = self.live[old]

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99))
    def purge(self, number: int) -> None:
        """Nothing is left of it in any file."""
        id = self.some(number)
        purge(self.memory.context, id)
        self.purged(id)

    def purged(self, id: str) -> None:
        text = self.live[id]
        for each in self.saying(text):
            del self.live[each]
            self.superseded.discard(each)
        assert self.holds(text) == []

    @precondition(lambda self: self.live)
    @rule(place=st.sampled_from([*CRASHES, *ERASING]), after=st.booleans(), number=st.integers(0, 99))
    def crash_in_a_purge(self, place: str, after: bool, number: int) -> None:
        """A purge that is cut short is made whole by the next one of the same entry."""
        id = self.some(number)
        self.crashing(place, after, lambda: purge(self.memory.context, id))
        self.reopen()
        purge(self.memory.context, id)
        self.purged(id)

    # --- time goes by --------------------------------------------------------------------------

    @rule(days=st.integers(0, 60), accepted=st.booleans())
    def tidy(self, days: int, accepted: bool) -> None:
        """What tidying takes out is logged, and it takes out nothing else; so is what a person takes out by a word."""
        self.now += timedelta(days=days)
        done = self.memory.tidy(apply=["expire", "archive", "remove"])
        waiting = [each.proposal for each in done.proposed if each.kind in ("archive", "remove") and each.proposal]
        if accepted and waiting:
            self.memory.accept(*waiting)
        for id in self.live.keys() - self.truth().keys():
            applied = self.memory.book.journal.operations(target=id)[0].changes
            assert ("remove", id) in [(change.kind, change.target) for change in applied]
            del self.live[id]
            self.superseded.discard(id)

    # --- undo ----------------------------------------------------------------------------------

    def documents(self) -> dict[str, str]:
        self.truth()  # a person's save is merged by whoever reads first
        return self.pages("", *FOLDERS)

    def act(self, name: str, number: int) -> bool:
        """Do something as one operation; False if there is nothing to do it to."""
        text = self.statement("something to undo")
        id = self.some(number) if self.live else ""
        changes: dict[str, Any] = {
            "archive": Archive(id=id),
            "bring back": Update(id=id, fields={"archived": False}),
            "remove": Remove(id=id),
            "supersede": Supersede(id=id, by=self.some(number + 1) if self.live else ""),
            "say again": Reinforce(id=id),
        }
        if name in changes:
            if not id or (name == "supersede" and len(self.live) < 2):
                return False
            return self.memory.book.apply([changes[name]], actor="user", door="test").operation is not None
        if name in ("update", "pin", "forget"):
            verbs: dict[str, Callable[[], Any]] = {
                "update": lambda: not self.memory.update(id, text=text, importance="high").proposals,
                "pin": lambda: self.memory.pin(id, pinned=bool(number % 2)),
                "forget": lambda: self.memory.forget(id),
            }
            return bool(id and verbs[name]())
        if name == "import":
            chat = self.folder / "chat.jsonl"
            said = f"Remember that {text}."
            chat.write_text(json.dumps({"role": "user", "content": said, "session": "u"}) + "\n", encoding="utf-8")
            return self.memory.import_file(str(chat)).new_turns > 0
        written: dict[str, Callable[[], Any]] = {
            "remember": lambda: self.memory.remember(text),
            "append": lambda: self.memory.append(text),
            "item": lambda: self.memory.append(text, section="Preferences"),
            "flush": lambda: self.memory.flush(f"- {text}\n- {self.statement('more')}"),
        }
        return bool(written[name]())

    def newest(self) -> str:
        return self.memory.book.journal.operations(limit=1)[0].id

    @rule(name=st.sampled_from(ACTS), number=st.integers(0, 99), twice=st.booleans())
    def do_and_undo(self, name: str, number: int, twice: bool) -> None:
        """Whatever is undone at once leaves the documents as they were to the byte, and done again as it left them."""
        before = self.documents()
        if not self.act(name, number):
            return
        after = self.documents()
        undone = undo(self.memory.context, self.newest())
        assert self.documents() == before
        if twice:
            redone = undo(self.memory.context, undone.operation or "")
            assert self.documents() == after
            undo(self.memory.context, redone.operation or "")
            assert self.documents() == before

    @rule(number=st.integers(0, 99))
    def undo_something(self, number: int) -> None:
        """Whatever else was done since: nothing is lost that the journal does not tell, or nothing is done at all."""
        journal = self.memory.book.journal
        undone = journal.undone()
        operations = [each for each in journal.operations(limit=30) if each.id not in undone]
        if not operations:
            return
        operation = operations[number % len(operations)]
        before, texts = self.documents(), self.truth()
        try:
            told = undo(self.memory.context, operation.id).changes
        except Conflict:
            assert self.documents() == before
            return
        targets = {change.target for change in told}
        now = self.truth()
        for id in {*texts, *now}:
            assert id in targets or texts.get(id) == now.get(id)
        self.look_again(told)

    def look_again(self, told: Any) -> None:
        """What the book holds by now, after checking that lines come and go only as the journal tells."""
        self.live = self.truth()
        self.superseded = {each.id for each in self.memory.book.entries() if each.superseded_by}
        daily = "".join(self.pages("daily/").values())
        moved = "".join(f"{change.before}{change.after}" for change in told)
        prose = self.memory.book.memory().prose
        notes, items = re.findall(r"statement\d+ is", daily), re.findall(r"(?m)^- (statement\d+ is)", prose)
        for was, now in ((self.notes, notes), (self.items, items)):
            for text in was:
                name = text.split(" about")[0]
                assert name in now or name in moved
            was[:] = [self.all[name] for name in now]

    @rule(place=st.sampled_from([*CRASHES, "transcripts.remove"]), after=st.booleans(), name=st.sampled_from(ACTS))
    def crash_in_an_undo(self, place: str, after: bool, name: str) -> None:
        """An undo that is cut short is finished on opening, to the byte, or never was."""
        before = self.documents()
        if not self.act(name, 0):
            return
        done = self.newest()
        self.crashing(place, after, lambda: undo(self.memory.context, done))
        self.reopen()
        if done not in self.memory.book.journal.undone():
            undo(self.memory.context, done)
        assert self.documents() == before

    @rule()
    def import_a_chat(self) -> None:
        self.said += 1
        text = f"Remember that the box number{self.said} is called heron{self.said}."
        chat = self.folder / f"chat{self.said}.jsonl"
        chat.write_text(json.dumps({"role": "user", "content": text, "session": "s"}) + "\n", encoding="utf-8")
        known = set(self.truth())
        assert self.memory.import_file(str(chat)).entries == 1
        assert self.memory.import_file(str(chat)).entries == 0
        [new] = {id: said for id, said in self.truth().items() if id not in known}.items()
        assert f"heron{self.said}" in new[1]
        self.live[new[0]] = new[1]

    # --- what a person does --------------------------------------------------------------------

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99))
    def reword(self, number: int) -> None:
        id, text = self.titled(number), self.statement("by hand")
        if id is None:
            return
        self.edit(
            lambda page: page.replace(block := self.block(page, id), re.sub(r"\n.*\n", f"\n{text}\n", block, count=1))
        )
        self.live[id] = text

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99))
    def delete(self, number: int) -> None:
        id = self.titled(number)
        if id is None:
            return
        self.edit(lambda page: page.replace(self.block(page, id), ""))
        del self.live[id]
        self.superseded.discard(id)

    @precondition(lambda self: self.live)
    @rule(number=st.integers(0, 99))
    def move_to_the_end(self, number: int) -> None:
        """Cut the entry out and paste it below the archived ones, or into a new section of them."""
        id = self.titled(number)
        if id is None:
            return
        block = self.block(self.page, id)

        def moved(page: str) -> str:
            rest = page.replace(block, "").rstrip("\n")
            heading = "" if "## Archived Memories" in page else "\n\n## Archived Memories"
            return f"{rest}{heading}\n\n{block.rstrip()}\n\n"

        self.edit(moved)

    @rule()
    def write_an_item(self) -> None:
        text = self.statement("my own list")
        self.edit(lambda page: page.replace("## TODO\n", f"## TODO\n- {text}\n"))
        self.items.append(text)

    @precondition(lambda self: "## Active Memories" in self.page)
    @rule()
    def write_an_entry_without_an_id(self) -> None:
        text, known = self.statement("my own entry"), set(self.truth())
        self.edit(lambda page: page.replace("## Active Memories\n", f"## Active Memories\n\n- {text}\n"))
        self.memory.remember(text, importance="high")  # a rewrite writes its id down
        [(id, said)] = [(id, said) for id, said in self.truth().items() if id not in known]
        assert said == text
        self.live[id] = text

    # --- what happens to both ------------------------------------------------------------------

    @rule(
        place=st.sampled_from(CRASHES), after=st.booleans(), verb=st.sampled_from(["remember", "append", "both", "put"])
    )
    def crash(self, place: str, after: bool, verb: str) -> None:
        """Die in the middle of a change; what was journalled comes true on opening, anything else never was."""
        text, known = self.statement("a crash"), set(self.live)
        reached = self.crashing(place, after, lambda: self.attempt(verb, text))
        self.reopen()
        if not reached or (not self.atomic and (after or place != "journal.begin")):
            self.expect(verb, text, known)

    def crashing(self, place: str, after: bool, act: Callable[[], Any]) -> bool:
        """Do it and die when it gets to that place, or right after; whether it got there."""
        part, name = place.split(".")
        owner: Any = getattr(self.memory.book, part)
        real = getattr(owner, name)

        def dying(*given: Any, **named: Any) -> Any:
            if after:
                real(*given, **named)
            raise Crash

        setattr(owner, name, dying)
        try:
            act()
        except Crash:
            return True
        return False

    def attempt(self, verb: str, text: str) -> None:
        from memorybook.model import Append, Put

        if verb == "remember":
            self.memory.remember(text)
        elif verb == "append":
            self.memory.append(text)
        else:
            changes: list[Any] = [Append(path="daily/2026-01-01.md", line=f"- 2026-01-01T10:00:00Z {text}")]
            changes += [Put(path="sessions/s.md", text=f"# {text}\n")] * (verb == "put")
            scored = {"score": 0.5, "scored": self.now.date()}
            changes += [Update(id=id, fields=scored) for id in sorted(self.live)[:2]] * (verb == "both")
            self.memory.book.apply(changes, actor="user", door="test")

    def expect(self, verb: str, text: str, known: set[str]) -> None:
        if verb == "remember":
            [(id, said)] = [(id, said) for id, said in self.truth().items() if id not in known]
            assert said == text
            self.live[id] = text
            self.unanswered.add(id)
        else:
            self.notes.append(text)
        if verb == "put":
            assert self.memory.get("sessions/s.md").json()["text"] == f"# {text}"
        if verb == "both":
            scores = {known.entry.id: known.entry.score for known in self.memory.entries().entries}
            assert all(scores[id] == 0.5 for id in sorted(known)[:2])

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()
        assert self.memory.book.journal.pending() == []

    @rule(close=st.booleans())
    def lose_the_index(self, close: bool) -> None:
        if close:
            self.memory.close()
        for left in self.root.glob(".memorybook/index.sqlite*"):
            left.unlink()
        if close:
            self.memory = self.opened()

    @precondition(lambda self: self.live or self.notes)
    @rule(number=st.integers(0, 999))
    def search(self, number: int) -> None:
        texts = [*self.live.values(), *self.notes, *self.items]
        text = sorted(texts)[number % len(texts)]
        hits = self.memory.search(text, max_results=200).hits
        assert any(
            normalise(text) in normalise(hit.passage.text) for hit in hits
        )  # a turn stands for the entry that was made from it
        found = {hit.passage.text for hit in hits if hit.passage.entry or hit.passage.source == "note"}
        assert found <= set(texts)

    # --- what is always true -------------------------------------------------------------------

    @invariant()
    def the_documents_hold_what_was_acknowledged(self) -> None:
        assert self.truth() == self.live
        known = {known.entry.id: known.entry.text for known in self.memory.entries().entries}
        assert known == self.live
        current = [normalise(known[id]) for id in self.current]
        assert len(set(current)) == len(current)

    @invariant()
    def every_note_and_item_stands_once(self) -> None:
        daily = "".join(self.pages("daily/").values())
        statements = re.findall(r"statement\d+ is", daily)
        assert sorted(statements) == sorted(text.split(" about")[0] for text in self.notes)
        prose = self.memory.book.memory().prose
        items = re.findall(r"(?m)^- (statement\d+) is", prose)
        assert sorted(items) == sorted(text.split(" is")[0] for text in self.items)

    @invariant()
    def nothing_is_left_undone(self) -> None:
        assert self.memory.book.journal.pending() == []
        assert self.memory.book.index.sync(self.memory.book.documents, self.memory.book.transcripts).warnings == ()


class BookInMemory(Book):
    """The same in memory, where a person edits by other means."""

    config = CONFIG._replace(storage=StorageSettings("memory"))

    def pages(self, *folders: str) -> dict[str, str]:
        documents = self.memory.book.documents
        paths = sorted(info.path for info in documents.list())
        chosen = [path for path in paths if any(fnmatchcase(path, f"{folder}*.md") for folder in folders)]
        return {path: documents.read(path).text for path in chosen if path.count("/") < 2}

    def edit(self, change: Callable[[str], str]) -> None:
        read = self.memory.book.documents.read("MEMORY.md")
        self.memory.book.documents.write("MEMORY.md", change(read.text), expect=read.revision)

    def holds(self, text: str) -> list[str]:
        assert not self.root.exists()
        return [*self.memory.book.storage.leftovers(re.compile(re.escape(text.encode())).search, 0)[0]]


Book.TestCase.settings = BookInMemory.TestCase.settings = settings(
    max_examples=settings().max_examples // 2,
    stateful_step_count=20,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestBook = Book.TestCase
TestBookInMemory = BookInMemory.TestCase
