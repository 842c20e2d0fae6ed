"""The shape of the package, as rules that can fail: who may import whom, and how large things may grow."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "memorybook"

VALUES = {"arrays", "documents", "errors", "hits", "model", "patterns", "protocols", "replies", "standard", "typed"}
CORE = VALUES | {"text", "formats"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "typed": set(),
    "standard": {"typed"},
    "arrays": {"typed"},
    "patterns": {"typed"},
    "model": {"errors"},
    "hits": {"errors", "typed"},
    "documents": {"typed"},
    "replies": set(),
    "protocols": {"documents", "errors", "hits", "model", "typed"},
    "formats": VALUES | {"text"},
    "text": VALUES | {"formats"},
    # these five never import each other
    "storage": CORE,
    "inference": CORE,
    "lifecycle": CORE,
    "recall": CORE,
    "importers": CORE,
    "testing": CORE | {"inference"},
    "config_files": {"errors", "standard", "typed"},
    "config_values": {"errors", "config_files", "standard", "typed"},
    "config": {"errors", "config_files", "config_values", "standard", "typed"},
    "arguments": VALUES,
    "workspace": {"errors", "config", "patterns", "typed"},
    "answers": VALUES,
    "pages": CORE | {"lifecycle"},
    "draft": CORE | {"lifecycle", "pages"},
    "reversal": CORE | {"lifecycle", "pages", "draft"},
    "writing": CORE | {"pages", "draft", "reversal"},
    "embedding": VALUES,
    "book": CORE | {"lifecycle", "recall", "draft", "reversal", "writing", "embedding"},
    # only memory wires back ends
    "lifetime": CORE | {"answers", "memory", "remembering", "verbs"},
    "remembering": {"errors", "memory", "verbs"},
    "memory": CORE
    | {"answers", "arguments", "book", "config", "lifetime", "replies", "workspace", "verbs", "storage", "inference"}
    | {"providers"},
    "verbs": CORE
    | {"answers", "arguments", "book", "draft", "pages", "writing", "importers", "lifecycle", "memory", "recall"},
    "providers": CORE
    | {"answers", "arguments", "book", "config", "importers", "lifecycle", "memory", "recall", "verbs", "writing"},
    "agent": CORE | {"answers", "config", "lifecycle", "memory", "providers", "recall", "tools", "verbs", "workspace"},
    "tools": {"errors", "memory", "standard", "typed"},
    "cli": VALUES | {"answers", "config", "memory", "providers", "tools", "workspace", "lifecycle", "text"},
    "__main__": {"cli"},
    "__init__": VALUES | {"answers", "config", "memory", "tools"},
}

FREE_OF_THIRD_PARTIES = {
    "errors", "model", "hits", "protocols", "formats", "lifecycle", "recall", "config", "workspace", "answers",
    "draft", "book", "tools", "memory", "lifetime", "providers", "agent",
}  # fmt: skip

MAY_USE_SQLITE = {"storage"}


def modules() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


def part_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of the code that runs: what stands under `if TYPE_CHECKING` does not."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from running(node)


def imported(path: Path) -> Iterator[str]:
    """Every module named by an import anywhere in the file, also inside functions."""
    for node in running(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            module = node.module or ""
            if module == "memorybook":
                yield from (f"memorybook.{alias.name}" for alias in node.names)
            else:
                yield module


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    part = part_of(path)
    allowed = MAY_IMPORT[part] | {part}
    for module in imported(path):
        if module.startswith("memorybook."):
            assert module.split(".")[1] in allowed, f"{part} may not import {module}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_third_parties_stay_at_the_edges(path: Path) -> None:
    part = part_of(path)
    for module in imported(path):
        top = module.split(".")[0]
        if top in sys.stdlib_module_names or top in {"memorybook", "__future__"}:
            assert top != "sqlite3", "SQLite is apsw's, not the standard library's"
            continue
        assert part not in FREE_OF_THIRD_PARTIES, f"{part} imports {module}"
        assert top != "apsw" or part in MAY_USE_SQLITE, f"{part} imports {module}"


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_modules_and_functions_stay_small(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 500, "over 500 lines: split it along the nouns"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            docstring = ast.get_docstring(node, clean=False) or ""
            length = (node.end_lineno or 0) - node.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)
            assert length <= 50, f"{node.name} has {length} lines"


def test_no_drawer_modules() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert not [path for path in modules() if path.stem in drawers]


HANDS_ON_THE_ENVIRONMENT = {"memory", "cli", "agent"}
"""`open`, `Workspace` and the command line give it to config; the command line also asks how to speak to a terminal."""


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if part_of(path) not in HANDS_ON_THE_ENVIRONMENT],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_only_config_and_the_wiring_read_the_environment(path: Path) -> None:
    assert "os.environ" not in path.read_text(encoding="utf-8").replace("``os.environ``", "")


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_named_tuples_stand_in_modules_whose_types_are_text(path: Path) -> None:
    """`typed.NamedTuple` reads the annotations of a class body, which later versions of Python leave out otherwise."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    taken = {
        (node.module, name.name) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for name in node.names
    }
    assert ("memorybook.typed", "NamedTuple") not in taken or ("__future__", "annotations") in taken


@pytest.mark.parametrize("question", ["tea", "what did we say of the market and her tea?", "她喜欢什么茶tea？"])
def test_a_search_imports_nothing_heavy(tmp_path: Path, question: str) -> None:
    """The path of a cold search leaves out what it does not use."""
    (tmp_path / "MEMORY.md").write_text("## Preferences\n- likes tea\n", encoding="utf-8")
    book = ["--book", str(tmp_path)]
    command = [sys.executable, "-m", "memorybook", *book, "search", question]
    subprocess.run(command, check=True, capture_output=True)
    script = (
        "import sys; from memorybook.cli import main; "
        f"code = main({[*book, 'search', question]!r}); "
        "heavy = {'dataclasses', 'inspect', 'numpy', 'tokenizers', 'pathlib', 'pydantic', 'asyncio', 'rich', "
        "'httpx2', 'wordllama', 'logging', 'concurrent.futures', 'tomllib', 'shtab', 'difflib', 'uuid', 'json', "
        "'typing', 'argparse', 're', 'functools', 'contextlib', 'datetime', 'threading', 'memorybook.model', "
        "'memorybook.formats', 'memorybook.draft', 'memorybook.config_values'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr.strip().endswith("[]")
    assert "likes tea" in done.stdout
