from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.config.project import MARK, Project, absence, book_root, keep, locate, project_around, tenant_key
from memorybook.config.settings import Config
from memorybook.errors import InvalidInput


@pytest.fixture(autouse=True)
def _git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


def project_key(cwd: str) -> str:
    return project_around("/nowhere", cwd).key


def checkout(path: Path, remote: str | None = None) -> Path:
    path.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(path)], check=True)
    if remote:
        subprocess.run(["git", "-C", str(path), "remote", "add", "origin", remote], check=True)
    return path


@pytest.mark.parametrize(
    "remote",
    [
        "https://github.com/owner/repo.git",
        "git@github.com:owner/repo.git",
        "ssh://git@github.com:22/owner/repo",
        "https://user:token@github.com/owner/repo/",
    ],
)
def test_a_key_comes_from_the_git_remote_without_credentials(tmp_path: Path, remote: str) -> None:
    top = checkout(tmp_path / "work", remote)
    (top / "deep" / "er").mkdir(parents=True)
    assert project_key(str(top)) == "github.com_owner_repo"
    assert project_key(str(top / "deep" / "er")) == "github.com_owner_repo"


def test_without_a_remote_the_folder_and_its_place_make_the_key(tmp_path: Path) -> None:
    first, second = checkout(tmp_path / "a" / "app"), checkout(tmp_path / "b" / "app")
    assert project_key(str(first)).startswith("app-")
    assert project_key(str(first)) != project_key(str(second))
    (first / "src").mkdir()
    assert project_key(str(first / "src")) == project_key(str(first))


def test_outside_git_the_folder_itself_counts(tmp_path: Path) -> None:
    folder = tmp_path / "我的 项目"
    folder.mkdir()
    assert project_key(str(folder)).startswith("我的-项目-")


def test_a_worktree_has_the_key_of_its_repository(tmp_path: Path) -> None:
    top = checkout(tmp_path / "work", "https://example.org/o/r")
    commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "x"]
    subprocess.run(["git", "-C", str(top), *commit], check=True)
    subprocess.run(["git", "-C", str(top), "worktree", "add", "-q", str(tmp_path / "tree")], check=True)
    assert project_key(str(tmp_path / "tree")) == "example.org_o_r"


def test_where_a_book_is(tmp_path: Path) -> None:
    config = Config(workspace_dir=str(tmp_path / "home"))
    cwd = str(tmp_path)
    assert book_root(config, cwd=cwd, book="mine") == str(tmp_path / "mine")
    assert book_root(config, cwd=cwd, project="work") == str(tmp_path / "home" / "work")
    assert book_root(config._replace(project_key="set"), cwd=cwd) == str(tmp_path / "home" / "set")
    assert book_root(config._replace(root_dir=str(tmp_path / "r")), cwd=cwd) == str(tmp_path / "r")
    assert book_root(config._replace(root_dir=str(tmp_path / "r")), cwd=cwd, project="p") == str(
        tmp_path / "home" / "p"
    )
    assert book_root(config, cwd=cwd) == str(tmp_path / "home" / project_key(cwd))


@pytest.mark.parametrize("key", ["", "../up", "a/b", ".hidden", " ", "x" * 200])
def test_a_key_that_is_no_folder_name_is_refused(tmp_path: Path, key: str) -> None:
    with pytest.raises(InvalidInput, match="folder name"):
        book_root(Config(workspace_dir=str(tmp_path)), cwd=str(tmp_path), project=key)


@pytest.mark.parametrize(
    ("book", "message"),
    [("", "book is blank"), (" ", "book is blank"), ("caf\udce9", "is not UTF-8"), ("a\0b", "has a NUL")],
)
def test_a_book_that_cannot_be_is_refused(tmp_path: Path, book: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        book_root(Config(workspace_dir=str(tmp_path)), cwd=str(tmp_path), book=book)


# --- a project that stays -------------------------------------------------------------------------


class Machine:
    """A workspace and folders of projects; `book_of` opens the one meant in a folder, as doors do."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.config = Config(workspace_dir=str(place / "books"))

    def make(self, folder: Path) -> str:
        """Write something in this folder."""
        root, found = locate(self.config, cwd=str(folder))
        Path(root).mkdir(parents=True, exist_ok=True)
        (Path(root) / "MEMORY.md").touch()
        assert keep(root, found).settled
        return root

    def book_of(self, folder: Path) -> str:
        return book_root(self.config, cwd=str(folder))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    return Machine(tmp_path)


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    return subprocess.run(["git", "-C", str(folder), *who, *words], check=True, capture_output=True, text=True).stdout


def commit(folder: Path) -> None:
    git(folder, "commit", "-q", "--allow-empty", "-m", "x")


def plain(path: Path) -> Path:
    path.mkdir(parents=True)
    return path


def remote_added(app: Path) -> Path:
    git(app, "remote", "add", "origin", "git@github.com:owner/app.git")
    return app


def remote_changed(app: Path) -> Path:
    git(remote_added(app), "remote", "set-url", "origin", "https://gitlab.example/team/other")
    return app


def renamed(app: Path) -> Path:
    return app.rename(app.parent / "应用 2")


def moved(app: Path) -> Path:
    (app.parent / "deep" / "er").mkdir(parents=True)
    return app.rename(app.parent / "deep" / "er" / "app")


def moved_with_a_remote(app: Path) -> Path:
    return moved(remote_added(app))


def parent_renamed(app: Path) -> Path:
    return app.parent.rename(app.parent.parent / "elsewhere") / app.name


def worktree(app: Path) -> Path:
    commit(app)
    git(app, "worktree", "add", "-q", str(app.parent / "tree"))
    return app.parent / "tree"


def worktree_of_a_renamed(app: Path) -> Path:
    return worktree(renamed(app))


def below(app: Path) -> Path:
    (app / "src" / "模块").mkdir(parents=True)
    return app / "src" / "模块"


def worktree_within(app: Path) -> Path:
    commit(app)
    git(app, "worktree", "add", "-q", str(app / ".trees" / "one"))
    return app / ".trees" / "one"


def replaced_by_a_link(app: Path) -> Path:
    place = app.rename(app.parent / "disk")
    app.symlink_to(place)
    return app


def git_begun(app: Path) -> Path:
    git(app, "init", "-q")
    return app


def git_begun_above(app: Path) -> Path:
    git(app.parent, "init", "-q")
    return app


def git_begun_and_renamed(app: Path) -> Path:
    return renamed(remote_added(git_begun(app)))


CHANGES = [remote_added, remote_changed, renamed, moved, moved_with_a_remote, parent_renamed, worktree,
           worktree_of_a_renamed, below, worktree_within, replaced_by_a_link]  # fmt: skip
OUTSIDE_GIT = [renamed, moved, parent_renamed, below, replaced_by_a_link, git_begun, git_begun_above,
               git_begun_and_renamed]  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_a_book_stays_that_of_its_checkout(machine: Machine, change: Callable[[Path], Path]) -> None:
    app = checkout(machine.place / "work" / "app")
    book = machine.make(app)
    folder = change(app)
    assert machine.book_of(folder) == book
    assert machine.book_of(folder) == book, "also the next time"
    assert ".memorybook-project" not in git(folder, "status", "--porcelain", "--ignored")


@pytest.mark.parametrize("change", OUTSIDE_GIT)
def test_a_book_stays_that_of_its_folder_outside_git(machine: Machine, change: Callable[[Path], Path]) -> None:
    app = plain(machine.place / "work" / "app")
    book = machine.make(app)
    folder = change(app)
    assert machine.book_of(folder) == book
    assert machine.book_of(folder) == book
    if (folder / ".git").is_dir():
        assert not (folder / ".memorybook-project").exists(), "git's own folder has it now"


@pytest.mark.parametrize("change", [remote_changed, renamed, moved, parent_renamed, worktree, below])
def test_a_book_stays_that_of_its_clone(machine: Machine, change: Callable[[Path], Path]) -> None:
    app = checkout(machine.place / "work" / "app", "https://github.com/owner/app")
    if change is remote_changed:
        git(app, "remote", "remove", "origin")
    book = machine.make(app)
    assert machine.book_of(change(app)) == book


@pytest.mark.parametrize("change", [remote_added, worktree, below])
def test_a_book_of_a_folder_that_is_not_marked_is_found_where_that_can_be_told(
    machine: Machine, change: Callable[[Path], Path]
) -> None:
    app = checkout(machine.place / "work" / "app")
    root, _ = locate(machine.config, cwd=str(app))
    Path(root).mkdir(parents=True)
    assert machine.book_of(change(app)) == root


def test_going_back_and_forth_keeps_the_book(machine: Machine) -> None:
    first = checkout(machine.place / "a")
    book = machine.make(first)
    for name in ("b", "a", "c", "a"):
        first = first.rename(machine.place / name)
        assert machine.book_of(first) == book


def test_clones_of_a_remote_share_its_book(machine: Machine) -> None:
    one, two = (checkout(machine.place / name, "git@github.com:owner/app.git") for name in ("one", "two"))
    book = machine.make(one)
    assert machine.book_of(two) == book
    git(two, "remote", "remove", "origin")
    assert machine.book_of(two) == machine.book_of(one) == book


@pytest.mark.parametrize("make", [checkout, plain])
def test_a_copy_of_a_folder_does_not_share_its_book(machine: Machine, make: Callable[[Path], Path]) -> None:
    app = make(machine.place / "app")
    book = machine.make(app)
    shutil.copytree(app, machine.place / "copy")
    root, found = locate(machine.config, cwd=str(machine.place / "copy"))
    assert root != book
    assert found.copy_of == (str(app), Path(book).name)
    told = absence(root, found)
    assert f"{machine.place / 'copy'} is a copy of {app}" in told
    assert repr(Path(book).name) in told
    assert machine.book_of(app) == book
    own = machine.make(machine.place / "copy")
    assert own == root
    assert (machine.book_of(app), machine.book_of(machine.place / "copy")) == (book, own)
    shutil.rmtree(app)
    assert machine.book_of(machine.place / "copy") == own, "it has another id by now"


@pytest.mark.parametrize("make", [checkout, plain])
def test_a_copy_goes_on_with_the_book_once_the_original_is_gone(machine: Machine, make: Callable[[Path], Path]) -> None:
    app = make(machine.place / "app")
    book = machine.make(app)
    shutil.copytree(app, machine.place / "copy")
    shutil.rmtree(app)
    assert machine.book_of(machine.place / "copy") == book


def test_a_copy_of_a_clone_is_one_more_clone(machine: Machine) -> None:
    app = checkout(machine.place / "app", "https://github.com/owner/app")
    book = machine.make(app)
    shutil.copytree(app, machine.place / "copy")
    assert machine.book_of(machine.place / "copy") == book
    assert machine.book_of((machine.place / "copy").rename(machine.place / "other")) == book


@pytest.mark.parametrize("make", [checkout, plain])
def test_a_folder_brings_along_no_id_of_a_book(machine: Machine, make: Callable[[Path], Path]) -> None:
    """A mark counts only if the workspace gave it to this very folder, or to one that is gone."""
    mine = machine.make(checkout(machine.place / "mine"))
    theirs = make(machine.place / "theirs")
    place = theirs / ".git" if (theirs / ".git").exists() else theirs
    for text in ("0" * 32, Path(mine).name, f"{Path(mine).name}\n", "x" * 5000, "\u00ff" * 32):
        (place / MARK).write_text(text, encoding="utf-8")
        assert machine.book_of(theirs) != mine


@pytest.mark.parametrize("inner", ["", "worktrees/tree", "modules/part"])
def test_a_git_file_that_comes_along_points_to_no_other_projects_book(machine: Machine, inner: str) -> None:
    mine = checkout(machine.place / "mine", "https://github.com/me/secret")
    commit(mine)
    git(mine, "worktree", "add", "-q", str(machine.place / "tree"))
    book = machine.make(mine)
    (mine / ".git/modules/part").mkdir(parents=True)
    (mine / ".git/modules/part/config").write_text("[core]\n\tworktree = ../../../part\n", encoding="utf-8")
    theirs = plain(machine.place / "theirs")
    (theirs / ".git").write_text(f"gitdir: {mine / '.git' / inner}\n", encoding="utf-8")
    assert machine.book_of(theirs) != book
    assert machine.make(theirs) != book
    assert machine.book_of(machine.place / "tree") == book


def test_a_submodule_is_a_project_of_its_own(machine: Machine) -> None:
    part = checkout(machine.place / "part")
    commit(part)
    whole = checkout(machine.place / "whole")
    git(whole, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(part), "sub")
    book = machine.make(whole)
    own = machine.make(whole / "sub")
    assert own != book
    assert (whole / ".git/modules/sub" / MARK).exists()
    whole = whole.rename(machine.place / "other")
    assert machine.book_of(whole / "sub") == own
    assert machine.book_of(whole) == book


def test_memory_that_is_switched_off_marks_nothing(machine: Machine) -> None:
    app = checkout(machine.place / "app")
    root, _ = locate(machine.config, cwd=str(app))
    Path(root).mkdir(parents=True)
    assert book_root(machine.config._replace(enabled=False), cwd=str(app)) == root
    assert not (app / ".git" / MARK).exists()


def test_another_project_at_the_place_of_one_has_a_book_of_its_own(machine: Machine) -> None:
    book = machine.make(checkout(machine.place / "app"))
    shutil.rmtree(machine.place / "app")
    other = checkout(machine.place / "app", "https://github.com/owner/other")
    assert machine.book_of(other) == str(machine.place / "books" / "github.com_owner_other") != book


def test_a_project_has_a_book_in_each_workspace(machine: Machine) -> None:
    app = checkout(machine.place / "app")
    here, there = machine, Machine(machine.place / "there")
    books = [here.make(app), there.make(app)]
    app = renamed(app)
    assert [here.book_of(app), there.book_of(app)] == books


@pytest.mark.parametrize("make", [checkout, plain])
def test_a_folder_that_cannot_be_written_has_its_book(machine: Machine, make: Callable[[Path], Path]) -> None:
    app = make(machine.place / "app")
    place = app / ".git" if (app / ".git").exists() else app
    (place / MARK).mkdir()  # as read-only as it gets for root
    root, found = locate(machine.config, cwd=str(app))
    Path(root).mkdir(parents=True)
    for _ in range(3):
        keep(root, found)
        assert machine.book_of(app) == root
    assert not list(place.glob(f"{MARK}.*"))
    assert not (machine.place / "books" / ".projects").read_text()


def test_what_one_opens_at_home_is_not_that_of_all_folders_below(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = machine.place / "home"
    book = machine.make(home)
    (home / "notes" / "deep").mkdir(parents=True)
    assert machine.book_of(home) == book
    assert machine.book_of(home / "notes") != book
    own = machine.make(home / "notes")
    assert machine.book_of(home / "notes" / "deep") == own
    machine.make(machine.place)
    assert machine.book_of(machine.place / "home" / "other" if plain(home / "other") else home) not in (own, book)


def test_a_key_or_directory_that_is_named_marks_nothing(machine: Machine) -> None:
    app = checkout(machine.place / "app")
    for config, how in (
        (machine.config, {"project": "one"}),
        (machine.config, {"book": "mine"}),
        (machine.config._replace(project_key="two"), {}),
        (machine.config._replace(root_dir=str(machine.place / "three")), {}),
    ):
        root = book_root(config, cwd=str(app), **how)
        Path(root).mkdir(parents=True)
        book_root(config, cwd=str(app), **how)
    assert not (app / ".git" / MARK).exists()
    assert not (machine.place / "books" / ".projects").exists()


def test_looking_for_a_book_that_is_not_there_writes_nothing(machine: Machine) -> None:
    app = checkout(machine.place / "app")
    machine.book_of(app)
    assert not (app / ".git" / MARK).exists()
    assert not (machine.place / "books").exists()


# --- a book that is not there ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("github.com_owner_ap", "github.com_owner_app"), ("github.com_owner_App", "github.com_owner_app"),
        ("notes-1a2b", "notes-1a2b3c4d"), ("笔记", "我的笔记-99aa88bb"), ("webste", "website"),
        ("app", "github.com_owner_app"),
    ],
)  # fmt: skip
def test_the_nearest_books_are_named(tmp_path: Path, name: str, near: str) -> None:
    for one in ("github.com_owner_app", "notes-1a2b3c4d", "我的笔记-99aa88bb", "website", ".projects", "no-book"):
        (tmp_path / one).mkdir()
    for one in ("github.com_owner_app", "notes-1a2b3c4d", "我的笔记-99aa88bb", "website"):
        (tmp_path / one / "MEMORY.md").touch()
    told = absence(str(tmp_path / name), Project(name))
    assert told.startswith(f"there is no book at {str(tmp_path / name)!r}; the nearest are {near!r}, ")
    assert told.endswith("It is made by what is remembered first, or with: memorybook init")
    assert "no-book" not in told


# --- tenants -------------------------------------------------------------------------------------

NAMES = (
    "", " ", ".", "..", "../x", "/etc", "a/b", "a\\b", "a-b", "A", "a", "\u00e9", "e\u0301", "用户", "con", "\0",
    "\ud800", "x" * 999,
)  # fmt: skip


def test_tenants_that_look_alike_have_different_folders() -> None:
    keys = {tenant_key(channel, chat_id) for channel in NAMES for chat_id in NAMES}
    assert len(keys) == len(NAMES) ** 2
    assert len({key.casefold() for key in keys}) == len(keys)


@given(st.text(), st.text() | st.integers())
def test_a_tenants_folder_is_a_plain_name(channel: str, chat_id: str | int) -> None:
    key = tenant_key(channel, chat_id)
    assert re.fullmatch(r"(?:[0-9a-z]+-){0,60}[0-9a-f]{32}", key.replace("--", "-"))
    assert len(key) <= 82
    assert key == tenant_key(channel, str(chat_id))


@given(st.tuples(st.text(), st.text()), st.tuples(st.text(), st.text()))
def test_two_tenants_never_share_a_folder(first: tuple[str, str], second: tuple[str, str]) -> None:
    assert (tenant_key(*first) == tenant_key(*second)) is (first == second)


def test_a_tenants_folder_is_readable() -> None:
    assert tenant_key("Telegram", 4711).startswith("telegram-4711-")


@pytest.mark.parametrize(("channel", "chat_id"), [(7, "x"), ("x", None), ("x", 1.5), ("x", True), (None, "x")])
def test_what_names_no_tenant_is_refused(channel: Any, chat_id: Any) -> None:
    with pytest.raises(InvalidInput, match="name no tenant"):
        tenant_key(channel, chat_id)
