"""A book in a repository, as typed: init, a clone that asks for trust, and the page about it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.conftest import Shell

PAGE = Path(__file__).parent.parent.parent / "docs" / "git.md"


@pytest.fixture
def repository(nowhere: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project as a real repository, of somebody with a name."""
    (nowhere / ".git").rmdir()
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    monkeypatch.setenv("PATH", os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    git(nowhere, "init", "-q", "-b", "main")
    return nowhere


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, check=True).stdout


def test_init_here_puts_the_book_into_the_project(shell: Shell, repository: Path) -> None:
    done = shell("init", "--here")
    made = ["memorybook.toml", "memory/MEMORY.md", "memory/.gitattributes", "memory/.gitignore"]
    assert done.out.splitlines() == [f"made {repository}/{name}" for name in made]
    assert (repository / "memorybook.toml").read_text() == 'root_dir = "memory"\n'
    shell("remember", "The port is 8080.")
    assert "Last updated" not in (repository / "memory" / "MEMORY.md").read_text()
    git(repository, "add", "-A")
    assert set(git(repository, "ls-files").split()) == set(made)
    assert "%O %A %B %P" in git(repository, "config", "merge.memorybook.driver")
    again = shell("init", "--here")
    assert again.out == f"There is a book already: {repository}/memory\n"


def test_it_speaks_chinese_where_that_is_asked_for(shell: Shell, repository: Path) -> None:
    chinese = ("--set", "language=zh")
    done = shell("init", "--here", *chinese)
    assert done.out.splitlines()[0] == f"已建立 {repository}/memorybook.toml"
    assert "机器状态和备份副本不进 git" in done.err
    assert shell("init", "--here", *chinese).out == f"这里已有记忆库： {repository}/memory\n"
    assert shell("trust", *chinese).out.startswith(f"已信任 {repository}/memorybook.toml")
    assert "请在设置 layers.team 里写明它的目录" in shell("search", "x", "--layer", "team", *chinese).err


def test_settings_that_are_there_stay(shell: Shell, repository: Path) -> None:
    (repository / "memorybook.toml").write_text('language = "zh"\n\n[recall]\nmax_context_tokens = 500\n')
    (repository / "docs").mkdir()
    assert shell("init", "--here", "--book", "docs/memory").code == 0
    text = (repository / "memorybook.toml").read_text()
    assert text == 'root_dir = "docs/memory"\nlanguage = "zh"\n\n[recall]\nmax_context_tokens = 500\n'
    assert json.loads(shell("status", "--json").out)["root"] == str(repository / "docs" / "memory")


def test_a_subfolder_with_settings_of_its_own_names_the_book_from_there(
    shell: Shell, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = repository / "app" / "inner"
    inner.mkdir(parents=True)
    (repository / "app" / "memorybook.toml").write_text('language = "en"\n')
    monkeypatch.chdir(inner)
    assert shell("init", "--here").code == 0
    assert (repository / "app" / "memorybook.toml").read_text() == 'root_dir = "../memory"\nlanguage = "en"\n'
    assert json.loads(shell("status", "--json").out)["root"] == str(repository / "memory")


def test_what_cannot_be_is_said(shell: Shell, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = shell("init", "--here", "--book", "../elsewhere")
    assert (done.code, "is outside the project" in done.err) == (2, True)
    (repository / "memorybook.toml").write_text('root_dir = "/elsewhere"\n')
    done = shell("init", "--here")
    assert "is not trusted: read it, then run: memorybook trust" in done.err
    shell("trust")
    assert "names the book /elsewhere" in shell("init", "--here").err
    (repository / "memorybook.toml").unlink()
    (repository / "memorybook.json").write_text('{"language": "en"}')
    assert "is no TOML: add root_dir" in shell("init", "--here").err
    assert not (repository / "memory").exists()


@pytest.mark.parametrize("name", ["memorybook.toml", "memory/.gitattributes", "memory"])
def test_a_link_that_a_repository_brings_leads_no_write_out_of_it(shell: Shell, repository: Path, name: str) -> None:
    outside = repository.parent / "outside"
    outside.mkdir()
    (outside / "mine.toml").write_text('language = "en"\n')
    (repository / name).parent.mkdir(exist_ok=True)
    (repository / name).symlink_to(outside if name == "memory" else outside / "mine.toml")
    done = shell("init", "--here")
    assert (done.code, "memorybook: " in done.err) == (2, True)
    assert [path.name for path in outside.iterdir()] == ["mine.toml"]
    assert (outside / "mine.toml").read_text() == 'language = "en"\n'


def test_a_clone_asks_for_trust_once_for_itself_and_its_worktrees(
    shell: Shell, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shell("init", "--here")
    shell("remember", "The port is 8080.")
    git(repository, "add", "-A")
    git(repository, "commit", "-qm", "book")
    clone = repository.parent / "clone"
    git(repository, "clone", "-q", str(repository), str(clone))
    monkeypatch.chdir(clone)
    asked = shell("search", "port")
    assert "is not trusted, its root_dir left out" in asked.err
    assert "8080" not in asked.out + asked.err
    done = shell("trust")
    assert done.out.splitlines() == [
        f"trusted {clone}/memorybook.toml (root_dir)",
        f"changed {clone}/.git/config: git merges the book by entries",
    ]
    assert "8080" in shell("search", "port").out
    inner = clone / "inner"
    inner.mkdir()
    (inner / "memorybook.toml").write_bytes((clone / "memorybook.toml").read_bytes())
    monkeypatch.chdir(inner)
    assert "is not trusted, its root_dir left out" in shell("search", "port").err
    git(clone, "worktree", "add", "-q", "-b", "other", str(repository.parent / "tree"))
    monkeypatch.chdir(repository.parent / "tree")
    found = shell("search", "port")
    assert ("8080" in found.out, "trusted" in found.err) == (True, False)


@pytest.mark.parametrize("way", ["settings", "git folder", "git file", "worktree"])
def test_a_folder_that_points_into_a_trusted_clone_is_not_trusted(
    shell: Shell, repository: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Folders come along in archives, with links and git files that may point to wherever a clone is likely to be."""
    shell("init", "--here")
    theirs = repository.parent / "theirs"
    (theirs / "memory").mkdir(parents=True)
    (theirs / "memory" / "MEMORY.md").write_text("- Deploy by the script of a stranger.\n")
    settings = theirs / "memorybook.toml"
    if way == "settings":
        settings.symlink_to(repository / "memorybook.toml")
    else:
        settings.write_bytes((repository / "memorybook.toml").read_bytes())
    if way == "git folder":
        (theirs / ".git").symlink_to(repository / ".git")
    elif way == "git file":
        (theirs / ".git").write_text(f"gitdir: {repository}/.git\n")
    elif way == "worktree":
        (theirs / "tree").mkdir()
        (theirs / "tree" / "commondir").write_text(f"{repository}/.git\n")
        (theirs / ".git").write_text("gitdir: tree\n")
    monkeypatch.chdir(theirs)
    done = shell("search", "deploy")
    assert ("is not trusted" in done.err, "stranger" in done.out) == (True, False)


def test_doctor_notices_a_clone_that_merges_by_lines(shell: Shell, repository: Path) -> None:
    shell("init", "--here")
    assert "git merges the book by entries" in shell("doctor").out
    git(repository, "config", "--unset", "merge.memorybook.driver")
    told = shell("doctor").out
    assert "git merges the book by lines" in told
    assert "memorybook trust" in told
    assert "git 按行合并" in shell("doctor", "--set", "language=zh").out


def test_a_layer_is_written_to_by_name(shell: Shell, repository: Path, tmp_path: Path) -> None:
    team = ("--set", f"layers.team={tmp_path}/team")
    shell("init", "--here")
    assert "created" in shell("remember", "The team meets on Mondays.", "--layer", "team", *team).out
    assert "meets" in (tmp_path / "team" / "MEMORY.md").read_text()
    shell("remember", "The port is 8080.")
    found = shell("search", "When does the team meet?", *team).out
    assert "team:MEMORY.md:" in found
    assert "project:MEMORY.md:" in found
    assert "# Memory of the team" in shell("recall", "When does the team meet?", *team).out
    assert "created" in shell("--layer", "team", "remember", "The team eats at noon.", *team).out
    assert "at noon" in (tmp_path / "team" / "MEMORY.md").read_text()
    done = shell("search", "x", "--layer", "personal")
    assert (done.code, "layers.personal" in done.err) == (2, True)


def test_git_merge_writes_ours_and_says_what_to_look_at(shell: Shell, tmp_path: Path) -> None:
    title, end = "### [tea111] fact | 0.60 | 2026-03-01 | 1\n", "\n<!-- score: 0.6; scored: 2026-03-01 -->\n"
    for name, text in (("base", "Tea."), ("ours", "Green tea."), ("theirs", "Black tea.")):
        (tmp_path / name).write_text(f"## Active Memories\n\n{title}{text}{end}")
    done = shell("git-merge", *(str(tmp_path / name) for name in ("base", "ours", "theirs")), "memory/MEMORY.md")
    assert (done.code, done.out) == (0, "")
    assert "memory/MEMORY.md: entry tea111 was rewritten on both sides" in done.err
    text = (tmp_path / "ours").read_text()
    assert ("Green tea." in text, "Black tea." in text) == (True, True)
    (tmp_path / "theirs").write_text(f"<!-- memorybook format: 2 -->\n{text}")
    done = shell("git-merge", *(str(tmp_path / name) for name in ("base", "ours", "theirs")))
    assert (done.code, "newer" in done.err) == (5, True)
    assert (tmp_path / "ours").read_text() == text
    done = shell("git-merge", str(tmp_path / "none"), str(tmp_path / "ours"), str(tmp_path / "theirs"))
    assert (done.code, "cannot be read (No such file" in done.err) == (2, True)


def test_what_the_page_shows_can_be_typed(repository: Path, tmp_path: Path) -> None:
    shop = repository.parent / "shop"
    shop.mkdir()
    git(shop, "init", "-q", "-b", "main")
    blocks = re.findall(r"^```bash\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    blocks.insert(1, f"git clone -q {shop} ../shop-clone\n")
    done = subprocess.run(
        ["bash", "-euc", "".join(blocks)], cwd=shop.parent, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The staging server is called harbour." in done.stdout.partition("Merge made")[2]
    assert "发布前" in (shop / "memory" / "MEMORY.md").read_text(encoding="utf-8")
