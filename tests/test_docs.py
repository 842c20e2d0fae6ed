"""The documentation is run: every console session and every Python block, in order, page by page."""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import llm_server
from inference.server import Service
from machine import without_settings
from memorybook import tools
from memorybook.agent.toolset import LOAD
from memorybook.cli import main
from memorybook.cli.call import VERBS
from memorybook.config import settings

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ID = re.compile(r"\b(?:\d{8}-\d{12}-[0-9a-f]{6}|(?=[a-z]*\d)(?=\d*[a-z])[a-z0-9]{6})\b")
"""Of an operation or an entry, as a page writes it: it stands for the one that there is when the page is run."""

SAID_TO_A_CHAT = re.compile(r"^(?:you|我)> (.*)\n", re.MULTILINE)
"""Lines of a page that are typed."""


@pytest.fixture(scope="module")
def model() -> Iterator[Service]:
    """The server of the model that the pages name."""
    with llm_server.serve() as service:
        service.usual = llm_server.quoting
        yield service


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project's folder with the files that the pages speak of, and a home of its own."""
    project = tmp_path / "project"
    project.mkdir()
    shutil.copytree(ROOT / "examples", project / "examples")
    shutil.copy(ROOT / "examples" / "chat.jsonl", project)
    return project


@pytest.fixture(autouse=True)
def machine(place: Path, model: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with no settings of its own but where models are served, and the programs of this environment."""
    without_settings(monkeypatch, place.parent)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("MEMORYBOOK_LLM_BASE_URL", model.url)
    monkeypatch.setenv("MEMORYBOOK_LLM_API_KEY", llm_server.KEY)
    monkeypatch.chdir(place)


def sessions(block: str) -> list[tuple[str, str]]:
    """Command and expected output, for each line that begins with `$ `."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)[1:]
    return list(zip(parts[::2], parts[1::2], strict=True))


def matches(expected: str, shown: str, known: dict[str, str]) -> bool:
    """Whether the output is as shown on the page, where … stands for anything on a line; ids become known."""
    pattern, new = "", list[str]()
    for piece in re.split(f"(…|{ID.pattern})", expected.strip("\n")):
        if piece == "…":
            pattern += "[^\n]*"
        elif piece in new:
            pattern += f"(?P=id{new.index(piece)})"
        elif ID.fullmatch(piece) and piece not in known:
            pattern += f"(?P<id{len(new)}>[a-z0-9-]+)"
            new.append(piece)
        else:
            pattern += re.escape(known.get(piece, piece))
    found = re.fullmatch(pattern, shown.strip("\n"))
    known.update((id, found[f"id{number}"]) for number, id in enumerate(new) if found)
    return found is not None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_shows_is_what_happens(
    page: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: dict[str, str] = {}
    for language, block in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "console":
            for command, expected in sessions(block):
                program, *words = shlex.split(ID.sub(lambda id: known.get(id[0], id[0]), command))
                assert program == "memorybook", f"no other program is shown: {command}"
                typed = "".join(f"{line}\n" for line in SAID_TO_A_CHAT.findall(expected))
                monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(typed.encode())))
                code = main(words)
                shown, complaint = capsys.readouterr()
                assert code == 0, (command, complaint)
                assert matches(expected, shown, known), f"{command}\n{shown}"
        elif language == "python":
            exec(compile(block, page.name, "exec"), {"__name__": "__main__"})
            capsys.readouterr()


def test_the_program_that_the_pages_call_is_installed() -> None:
    done = subprocess.run(["memorybook", "init"], capture_output=True, text=True, check=True)
    assert "MEMORY.md" in done.stdout


def test_every_page_is_in_the_menu_of_the_site() -> None:
    site = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    pages = {str(page.relative_to(ROOT / "docs")) for page in (ROOT / "docs").rglob("*.md")}
    assert set(re.findall(r"[\w/-]+\.md", str(site["nav"]))) == pages, "name each page in the nav of mkdocs.yml"


def test_every_setting_is_documented() -> None:
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([\w.]+)` \|", page, re.MULTILINE))
    assert documented == set(settings.settings(settings.Config()))


@pytest.mark.parametrize("verb", VERBS)
def test_every_command_has_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([verb, "--help"]) == 0
    assert f"memorybook {verb}" in capsys.readouterr().out


def test_agents_page_stays_short_and_names_files_that_exist() -> None:
    text = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 80
    rows = [line.split("|")[2:4] for line in text.splitlines() if line.startswith("| ")][1:]
    for edited, tested in rows:
        for name in (*named(edited), *named(tested)):
            assert [*(ROOT / "src" / "memorybook").glob(name), *ROOT.glob(name)], name
        assert named(edited), "a row names what to edit"
        assert all(name.startswith("tests/") for name in named(tested)), f"{tested} names no test"
        assert named(tested), "a row names its test"


def named(cell: str) -> list[str]:
    """Files, folders and patterns that a cell of the table names."""
    return re.findall(r"`([\w/*]+(?:\.py|\.md|/))`", cell)


def test_the_pages_name_only_tools_that_exist() -> None:
    for page in PAGES:
        for name in re.findall(r"\b(memory_[a-z]+|recall_memory)\b", page.read_text(encoding="utf-8")):
            assert name in tools.TOOLS or name in {"memory_type", "memory_window", LOAD}, (page.name, name)
