from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memorybook.config import Config
from memorybook.errors import InvalidInput
from memorybook.workspace import book_root, project_key, tenant_key


@pytest.fixture(autouse=True)
def _git() -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")


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


def test_a_broken_git_folder_falls_back_to_the_folder(tmp_path: Path) -> None:
    (tmp_path / ".git").write_text("gitdir: nowhere", encoding="utf-8")
    assert project_key(str(tmp_path)).startswith(tmp_path.name[:20].split("/")[0][:3])


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


def test_a_file_is_no_book_and_has_none_below(tmp_path: Path) -> None:
    (tmp_path / "afile").write_text("x")
    for book in ("afile", "afile/deeper/still"):
        with pytest.raises(InvalidInput, match="afile is a file, not a directory: give the book's directory"):
            book_root(Config(), cwd=str(tmp_path), book=book)


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
