"""Books under git: the merge by entries as a function, and two clones that work and pull as they like."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
from datetime import UTC, date, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import memorybook
from formats.strategies import DOCUMENTS
from memorybook.errors import Unavailable
from memorybook.exchange import git_merge
from memorybook.formats.memory_md import parse, template
from memorybook.memory import Memory
from memorybook.model import Entry

NOW = datetime(2026, 3, 6, 8, 30, tzinfo=UTC)
DAY = date(2026, 3, 1)


def entry(id: str, text: str, **fields: object) -> Entry:
    return Entry(id=id, text=text, category="fact", score=0.6, scored=DAY, last_activated=DAY, **fields)  # type: ignore[arg-type]


def book(*entries: Entry, prose: str = "") -> str:
    document = parse(template() + prose, modified=NOW)
    for one in entries:
        document = document.with_entry(one)
    return document.render(now=NOW)


def entries(text: str) -> dict[str, Entry]:
    return {one.id: one for one in parse(text, modified=NOW).entries}


TEA, PORT = entry("tea111", "The user likes tea."), entry("port11", "服务器的端口是8080。")


def test_what_each_added_stands_in_the_merge_as_it_was() -> None:
    base = book(TEA)
    rain = entry("rain11", "It rains in Bergen.")
    merged = git_merge.merge(base, book(TEA, PORT), book(TEA, rain), now=NOW)
    assert entries(merged.text) == {"tea111": TEA, "port11": PORT, "rain11": rain}
    assert merged.remarks == ()
    assert "-->\n###" not in merged.text  # a blank line between entries, as everywhere


def test_nothing_that_counts_or_dates_the_document_is_left() -> None:
    old = "# Agent Memory\n\n<!-- Last updated: 2026-01-01T00:00:00Z -->\n<!-- Total entries: 1 -->\n\n## Notes\n"
    ours, theirs = old + "\nours\n", old.replace("01-01", "02-01") + "\ntheirs\n"
    assert git_merge.merge(old, ours, theirs, now=NOW).text == "# Agent Memory\n\n\n## Notes\n\ntheirs\nours\n"


def test_an_entry_that_one_removed_stays_removed_though_the_other_rewrote_it() -> None:
    rewritten = entry("tea111", "The user likes green tea.")
    for ours, theirs in ((book(PORT), book(rewritten, PORT)), (book(rewritten, PORT), book(PORT))):
        merged = git_merge.merge(book(TEA, PORT), ours, theirs, now=NOW)
        assert entries(merged.text) == {"port11": PORT}
        assert "tea" not in merged.text
        assert merged.remarks == ("entry tea111 was removed on one side and rewritten on the other: it stays removed",)


def test_an_entry_that_both_rewrote_stands_twice_and_each_says_so() -> None:
    ours, theirs = entry("tea111", "The user likes green tea."), entry("tea111", "The user likes black tea.")
    merged = git_merge.merge(book(TEA), book(ours), book(theirs), now=NOW)
    found = entries(merged.text)
    (other,) = set(found) - {"tea111"}
    assert (found["tea111"].text, found["tea111"].contradicts) == (theirs.text, (other,))
    assert (found[other].text, found[other].contradicts) == (ours.text, ("tea111",))
    assert merged.remarks == (f"entry tea111 was rewritten on both sides: ours is now entry {other}, look at both",)


def test_fields_that_each_changed_are_all_kept() -> None:
    base = entry("tea111", "Likes tea.", tags=("a", "b"), hits=2)
    ours = entry("tea111", "Likes tea.", tags=("a", "b", "ours"), hits=4, pinned=True, metadata={"x": 1})
    theirs = entry("tea111", "Likes tea.", tags=("b", "theirs"), hits=3, group="work", metadata={"y": 2})
    merged = entries(git_merge.merge(book(base), book(ours), book(theirs), now=NOW).text)["tea111"]
    assert (merged.hits, merged.pinned, merged.group) == (5, True, "work")
    assert set(merged.tags) == {"b", "ours", "theirs"}
    assert merged.metadata == {"x": 1, "y": 2}


def test_the_later_score_holds() -> None:
    early = entry("tea111", "Likes tea.")
    late = Entry(
        id="tea111", text="Likes tea.", category="fact", score=0.4, scored=date(2026, 3, 5), last_activated=DAY
    )
    base = Entry(
        id="tea111", text="Likes tea.", category="fact", score=0.9, scored=date(2026, 2, 1), last_activated=DAY
    )
    for ours, theirs in ((early, late), (late, early)):
        assert entries(git_merge.merge(book(base), book(ours), book(theirs), now=NOW).text)["tea111"].score == 0.4


def test_without_anything_in_common_both_stand() -> None:
    merged = git_merge.merge("", book(TEA), book(PORT), now=NOW)
    assert entries(merged.text) == {"tea111": TEA, "port11": PORT}


@given(DOCUMENTS, DOCUMENTS)
def test_what_only_one_side_changed_is_the_merge(base: str, changed: str) -> None:
    base, changed = (re.sub("Last updated|Total entries", "", text) for text in (base, changed))
    for ours, theirs in ((base, changed), (changed, base), (changed, changed)):
        assert git_merge.merge(base, ours, theirs, now=NOW).text == changed


@given(DOCUMENTS, DOCUMENTS, DOCUMENTS)
def test_no_text_raises(base: str, ours: str, theirs: str) -> None:
    git_merge.merge(base, ours, theirs, now=NOW)


LINES = st.text(st.sampled_from("ab 茶;|[#-"), min_size=1, max_size=9).filter(lambda text: bool(text.strip()))
SIDES = st.dictionaries(st.sampled_from(["a1", "b2", "c3", "d4", "e5"]), st.tuples(st.booleans(), LINES)).map(
    lambda side: {id: entry(id, text, archived=archived) for id, (archived, text) in side.items()}
)


@given(SIDES, SIDES, SIDES)
def test_by_id_removals_of_either_and_additions_and_changes_of_both_hold(
    base: dict[str, Entry], ours: dict[str, Entry], theirs: dict[str, Entry]
) -> None:
    merged = entries(git_merge.merge(*[book(*side.values()) for side in (base, ours, theirs)], now=NOW).text)
    gone = {id for id in base if id not in ours or id not in theirs}
    assert (ours.keys() | theirs.keys()) - gone <= merged.keys()
    assert not gone & merged.keys()
    changed = {
        one.text for side in (ours, theirs) for id, one in side.items() if id not in gone and base.get(id) != one
    }
    was = {one.text for one in base.values()}
    assert changed - was <= {one.text for one in merged.values()}


# --- with git --------------------------------------------------------------------------------------


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, env=_environment())
    assert done.returncode == 0, f"git {words}: {done.stdout}{done.stderr}"
    return done.stdout


def _environment() -> dict[str, str]:
    names = {f"GIT_{who}_{what}": "one@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return os.environ | names | {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def clones(folder: Path) -> list[Path]:
    """Two clones of a project with a book, each with the driver."""
    first, second = folder / "first", folder / "second"
    (first / "memory").mkdir(parents=True)
    git(first, "init", "-q", "-b", "main")
    git_merge.write_git_files(str(first / "memory"))
    with memorybook.open(first / "memory") as memory:
        memory.init()
        memory.remember("The first of all.")
    git(first, "add", "-A")
    git(first, "commit", "-qm", "book")
    git(folder, "clone", "-q", str(first), str(second))
    for place in (first, second):
        git_merge.set_driver(str(place))
    return [first, second]


def synchronise(first: Path, second: Path) -> None:
    for place in (first, second):
        git(place, "add", "-A")
        git(place, "commit", "-qm", "work", "--allow-empty")
    git(first, "pull", "-q", "--no-rebase", "--no-edit", str(second), "main")
    git(second, "pull", "-q", "--ff-only", str(first), "main")


class TwoClones(RuleBasedStateMachine):
    """Two clones of a book: whatever each does, a pull has no conflict, and what it makes is what the two did."""

    def __init__(self) -> None:
        super().__init__()
        self._folder = tempfile.TemporaryDirectory()
        self._count = 0

    @initialize()
    def clone(self) -> None:
        self.places = clones(Path(self._folder.name))
        self.books = [memorybook.open(place / "memory") for place in self.places]
        self.base = self._entries(0)

    def _entries(self, who: int) -> dict[str, str]:
        return {one.id: one.text for one in entries((self.places[who] / "memory" / "MEMORY.md").read_text()).values()}

    def _pick(self, who: int, which: int) -> tuple[Memory, str] | None:
        ids = sorted(self._entries(who))
        return (self.books[who], ids[which % len(ids)]) if ids else None

    @rule(who=st.integers(0, 1), thing=st.sampled_from(["an oak", "a kettle", "一台打印机", "the key"]))
    def remember(self, who: int, thing: str) -> None:
        self._count += 1
        self.books[who].remember(f"Shelf {self._count} holds {thing}.")

    @rule(who=st.integers(0, 1), which=st.integers(0, 9))
    def rewrite(self, who: int, which: int) -> None:
        if picked := self._pick(who, which):
            self._count += 1
            picked[0].update(picked[1], text=f"Written anew as number {self._count}.")

    @rule(who=st.integers(0, 1), which=st.integers(0, 9))
    def pin(self, who: int, which: int) -> None:
        if picked := self._pick(who, which):
            picked[0].pin(picked[1])

    @rule(who=st.integers(0, 1), which=st.integers(0, 9))
    def forget(self, who: int, which: int) -> None:
        if picked := self._pick(who, which):
            picked[0].forget(picked[1])

    @rule(who=st.integers(0, 1))
    def note(self, who: int) -> None:
        self._count += 1
        self.books[who].append(f"Note {self._count}.")

    @rule(who=st.integers(0, 1))
    def write_by_hand(self, who: int) -> None:
        self._count += 1
        path = self.places[who] / "memory" / "MEMORY.md"
        path.write_text(path.read_text().replace("## Decisions\n", f"## Decisions\n\nDecided: {self._count}\n", 1))

    @rule()
    def pull(self) -> None:
        ours, theirs = self._entries(0), self._entries(1)
        notes = {line for place in self.places for line in self._lines(place)}
        synchronise(*self.places)
        found = self._entries(0)
        assert found == self._entries(1)
        for id in ours.keys() | theirs.keys():
            gone = id in self.base and (id not in ours or id not in theirs)
            assert (id in found) != gone
        wanted = [
            side[id] for side in (ours, theirs) for id in side.keys() & found.keys() if side[id] != self.base.get(id)
        ]
        assert set(wanted) <= set(found.values())
        assert all(line in self._lines(place) for place in self.places for line in notes)
        self.base = found

    def _lines(self, place: Path) -> list[str]:
        text = "".join(
            path.read_text()
            for path in sorted({*(place / "memory").glob("[!.]*/*.md"), place / "memory" / "MEMORY.md"})
        )
        return [line for line in text.split("\n") if line.startswith("Decided: ") or "Note " in line]

    @invariant()
    def tell(self) -> None:
        for who, memory in enumerate(getattr(self, "books", ())):
            told = {known.entry.id: known.entry.text for known in memory.entries().entries}
            assert told == self._entries(who)

    def teardown(self) -> None:
        for memory in getattr(self, "books", ()):
            memory.close()
        self._folder.cleanup()


TestTwoClones = TwoClones.TestCase
TestTwoClones.settings = settings(max_examples=6, stateful_step_count=12, deadline=None)


def test_a_branch_and_a_worktree_have_the_book_of_their_commit(tmp_path: Path) -> None:
    first, _ = clones(tmp_path)
    git(first, "checkout", "-q", "-b", "feature")
    with memorybook.open(first / "memory") as memory:
        memory.remember("The feature uses Redis.")
        git(first, "commit", "-qam", "feature")
        git(first, "worktree", "add", "-q", str(tmp_path / "tree"), "main")
        git(first, "checkout", "-q", "--detach", "main")
        assert [known.entry.text for known in memory.entries().entries] == ["The first of all."]
        git(first, "checkout", "-q", "feature")
        assert memory.entries().total == 2
    with memorybook.open(tmp_path / "tree" / "memory") as memory:
        assert [known.entry.text for known in memory.entries().entries] == ["The first of all."]
        memory.remember("Main moved on.")
    git(tmp_path / "tree", "commit", "-qam", "main")
    git(first, "merge", "-q", "--no-edit", "main")
    with memorybook.open(first / "memory") as memory:
        assert memory.entries().total == 3


def test_without_git_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unavailable, match="git cannot be started"):
        git_merge.set_driver(str(tmp_path))
    with pytest.raises(Unavailable, match="git cannot be started"):
        git_merge.has_driver(str(tmp_path))
