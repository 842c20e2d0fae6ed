"""The shape of the package, as rules that can fail: who may import whom, and how large things may grow."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "memorybook"

VALUES = {"arrays", "documents", "errors", "hits", "model", "patterns", "protocols", "replies", "standard", "typed"}
VALUES |= {"summaries"}
CORE = VALUES | {"text", "formats"}

MAY_IMPORT: dict[str, set[str]] = {
    "errors": set(),
    "typed": set(),
    "standard": {"typed"},
    "arrays": {"errors", "protocols", "standard", "typed"},
    "patterns": {"typed"},
    "model": {"errors"},
    "hits": {"errors", "typed"},
    "documents": {"typed"},
    "replies": set(),
    "protocols": {"documents", "errors", "hits", "model", "summaries", "typed"},
    "summaries": {"model", "standard", "typed"},
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
    "workspace": {"errors", "config", "standard", "typed"},
    "answers": VALUES,
    "pages": CORE | {"lifecycle"},
    "draft": CORE | {"lifecycle", "pages"},
    "reversal": CORE | {"lifecycle", "pages", "draft"},
    "writing": CORE | {"pages", "draft", "reversal"},
    "embedding": VALUES,
    "book": CORE | {"lifecycle", "recall", "draft", "reversal", "writing", "embedding"},
    # only memory wires back ends
    "lifetime": CORE | {"answers", "memory", "remembering", "verbs", "workspace"},
    "remembering": {"errors", "memory", "verbs"},
    "recollection": {"standard", "typed"},
    "values": VALUES | {"answers", "recall", "recollection", "verbs"},
    "client": VALUES | {"answers", "arguments", "memory", "remembering", "values", "verbs"},
    "foreign": {"errors", "storage"},
    "spool": {"standard", "storage"},
    "prepared": {"standard", "typed"},
    "conversations": CORE | {"answers", "memory", "recall", "recollection", "verbs"},
    "shelf": CORE | {"memory", "verbs"},
    "memory": CORE
    | {"answers", "arguments", "book", "config", "lifetime", "replies", "workspace", "verbs", "storage", "inference"}
    | {"conversations", "providers", "shelf"},
    "forget": CORE | {"lifecycle", "memory", "book", "verbs"},
    "verbs": CORE
    | {"forget"}
    | {"answers", "arguments", "book", "draft", "pages", "writing", "importers", "lifecycle", "memory", "recall"}
    | {"foreign", "prepared", "recollection", "spool"},
    "providers": CORE
    | {"answers", "arguments", "book", "config", "importers", "lifecycle", "memory", "recall", "verbs", "writing"},
    "agent": CORE
    | {
        "answers",
        "config",
        "forget",
        "lifecycle",
        "memory",
        "providers",
        "recall",
        "recollection",
        "tool_schema",
        "tools",
        "verbs",
    }
    | {"workspace"},
    "tool_schema": {"errors"},
    "shapes": set(),
    "tools": {"config", "errors", "memory", "recall", "standard", "tool_schema", "typed"},
    "chat": VALUES | {"agent", "cli", "lifecycle", "memory", "recollection", "text", "verbs"},
    # doors: what is in a book is the core's to say
    "servers": VALUES
    | {"agent", "answers", "arguments", "config", "memory", "recall", "recollection", "shapes", "text", "tool_schema"}
    | {"tools", "values", "workspace"},
    "hosted": CORE | {"forget", "answers", "arguments", "importers", "lifecycle", "memory", "verbs"},
    "filetree": VALUES | {"memory", "verbs"},
    "items": CORE | {"arguments", "memory", "verbs"},
    "owned": CORE | {"arguments", "hosted", "memory", "verbs"},
    "versioned": CORE | {"arguments", "filetree", "memory", "verbs"},
    "editor": VALUES | {"filetree", "memory", "text", "tool_schema"},
    "integrations": CORE
    | {"agent", "answers", "config", "editor", "filetree", "hosted", "importers", "items", "memory", "owned"}
    | {"recollection", "tool_schema", "tools", "verbs", "versioned", "workspace"},
    "cli": VALUES
    | {"answers", "chat", "config", "memory", "providers", "recollection", "tools", "workspace", "lifecycle", "text"}
    | {"hooks", "servers"},
    "hook": {"hooks"},
    "hooks": VALUES | {"config", "memory", "prepared", "recall", "servers", "spool", "text", "verbs", "workspace"},
    "__main__": {"cli"},
    "__init__": VALUES | {"answers", "config", "memory", "tools"},
}

LAYERS = (
    {"model", "text", "formats", "locale", "results", "config", "arguments", "answers"},
    {"search", "storage", "inference", "recall", "lifecycle", "importers"},
    {"book", "context", "draft", "pages", "writing", "reversal", "embedding"},
    {"entries", "sessions", "forget", "exchange", "prompt", "verbs"},
    {"memory", "aio", "lifetime", "conversations", "shelf", "remembering"},
    {"providers", "agent"},
    {"tools", "client", "cli", "chat", "http", "mcp", "hooks", "frameworks", "servers", "integrations", "hosted"}
    | {"editor", "filetree", "hook", "items", "owned", "values", "versioned", "__init__", "__main__"},
)
"""The parts in the order in which imports go down, lowest first; a part that is listed nowhere is below all of them."""

NEW_PARTS: dict[str, set[str]] = {
    "results": VALUES,
    "locale": {"errors", "standard", "typed"},
    "search": MAY_IMPORT["recall"] | {"arguments", "recall"},
    "context": MAY_IMPORT["book"] | {"book", "config"},
    "prompt": CORE | {"answers", "arguments", "book", "lifecycle", "recall"},
    "forget": MAY_IMPORT["verbs"] - {"memory"} | {"verbs"},
    "entries": MAY_IMPORT["verbs"] - {"memory"} | {"verbs"},
    "sessions": MAY_IMPORT["verbs"] - {"memory"} | {"verbs"},
    "exchange": MAY_IMPORT["verbs"] - {"memory"} | {"verbs"},
    "aio": MAY_IMPORT["memory"] | {"memory"},
    "http": MAY_IMPORT["servers"] | {"servers"},
    "mcp": MAY_IMPORT["servers"] | {"servers"},
    "frameworks": MAY_IMPORT["integrations"] | MAY_IMPORT["hosted"] | MAY_IMPORT["editor"] | {"integrations"},
}
"""What the parts that replace older ones may import of those. Of each other they may import what is not above them."""


@cache
def allowed(part: str) -> set[str]:
    """The parts of the package that a part may import."""
    layer = next((place for place, parts in enumerate(LAYERS) if part in parts), -1)
    below = set().union(*LAYERS[: layer + 1]) & NEW_PARTS.keys()
    return {part} | below | (NEW_PARTS | MAY_IMPORT)[part]


FREE_OF_THIRD_PARTIES = {
    "errors", "model", "hits", "protocols", "formats", "lifecycle", "recall", "config", "workspace", "answers",
    "draft", "book", "tools", "memory", "lifetime", "providers", "agent",
    "results", "context", "search", "prompt", "forget", "entries", "sessions",
}  # fmt: skip

MAY_USE_SQLITE = {"storage"}


@cache
def modules() -> dict[str, str]:
    """The text of every module by its path in the package."""
    paths = sorted(SOURCE.rglob("*.py"))
    return {path.relative_to(SOURCE).as_posix(): path.read_text(encoding="utf-8") for path in paths}


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse(modules()[path])


@pytest.fixture(scope="module", autouse=True)
def _trees() -> Iterator[None]:
    """A million nodes that the collector need not look through in later tests."""
    yield
    parsed.cache_clear()


def part_of(path: str) -> str:
    return path.split("/")[0].removesuffix(".py")


def running(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node of the code that runs: what stands under `if TYPE_CHECKING` does not."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from running(node)


@cache
def imported(path: str) -> list[str]:
    """Every module named by an import anywhere in the file, also inside functions."""
    found: list[str] = []
    for node in running(parsed(path)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found += (f"memorybook.{alias.name}" for alias in node.names) if module == "memorybook" else [module]
    return found


def test_imports_point_down() -> None:
    wrong = [
        f"{path} may not import {module}"
        for path in modules()
        for module in imported(path)
        if module.startswith("memorybook.") and module.split(".")[1] not in allowed(part_of(path))
    ]
    assert wrong == []


def test_new_parts_import_each_other_without_circles() -> None:
    graph: TopologicalSorter[str] = TopologicalSorter()
    for path in modules():
        part = part_of(path)
        found = {module.split(".")[1] for module in imported(path) if module.startswith("memorybook.")}
        if part in NEW_PARTS:
            graph.add(part, *found & NEW_PARTS.keys() - {part})
    graph.prepare()  # raises CycleError


def test_imports_are_absolute() -> None:
    assert [(path, module) for path in modules() for module in imported(path) if module.startswith(".")] == []


def may_use(part: str, top: str) -> bool:
    """Whether that part of the package may import that package."""
    if top == "sqlite3":  # SQLite is apsw's, not the standard library's
        return False
    if top in sys.stdlib_module_names or top in {"memorybook", "__future__"}:
        return True
    return part not in FREE_OF_THIRD_PARTIES and (top != "apsw" or part in MAY_USE_SQLITE)


def test_third_parties_stay_at_the_edges() -> None:
    wrong = [
        f"{path} may not import {module}"
        for path in modules()
        for module in imported(path)
        if not may_use(part_of(path), module.split(".")[0])
    ]
    assert wrong == []


def test_modules_stay_small() -> None:
    assert [path for path, text in modules().items() if text.count("\n") > 800] == [], "split it along the nouns"


def test_functions_stay_small() -> None:
    long = [
        f"{path}: {node.name} has {lines_of(node)} lines"
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > 70
    ]
    assert long == []


def lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """How many lines a function has, without its docstring."""
    docstring = ast.get_docstring(node, clean=False) or ""
    return (node.end_lineno or 0) - node.lineno + 1 - (docstring.count("\n") + 1 if docstring else 0)


def test_no_drawer_modules() -> None:
    drawers = {"utils", "util", "helpers", "helper", "common", "manager", "base", "misc"}
    assert not [path for path in modules() if Path(path).stem in drawers]


POSSESSIVE_GROUP = re.compile(r"(?<!\()\)(?:[*+?]|\{[^{}]*\})\+")


def strings(node: ast.AST) -> Iterator[str]:
    """Every string of a module, joined where its parts are; what is put into it shows as a group, `(?:)`."""
    if (text := joined(node)) is not None:
        yield text
    else:
        for child in ast.iter_child_nodes(node):
            yield from strings(child)


def joined(node: ast.AST) -> str | None:
    """The text of a string, of an f-string or of a sum with one of them; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=parts):
            return "".join(map(or_group, map(joined, parts)))
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            texts = joined(left), joined(right)
            return None if texts == (None, None) else "".join(map(or_group, texts))
    return None


def or_group(text: str | None) -> str:
    return "(?:)" if text is None else text


def has_possessive_group(pattern: str) -> bool:
    """Whether `*+`, `++`, `?+` or `{…}+` follows a group; `()` before it is a list of punctuation, no pattern."""
    single = re.sub(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]", "x", pattern, flags=re.DOTALL)
    return POSSESSIVE_GROUP.search(single) is not None


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Python before 3.11.5 matches such groups wrongly; a single character or class may be repeated so."""
    assert [(path, text) for path in modules() for text in strings(parsed(path)) if has_possessive_group(text)] == []


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        (r"r'(?:a|b)*+'", True),
        (r"r'\((?:[^()]|\))?+'", True),
        (r"r'(a){1,3}+'", True),
        (r"f'{WORD}++'", True),
        (r"f'(?:{WORD}){{2}}+'", True),
        (r"'(?:' + WORD + ')*+'", True),
        (r"WORD + '?+'", True),
        (r"r'(?:a++|[)*+]|\)*+|[])*+])+'", False),
        (r"rf'[{LETTERS}]++(?:{WORD})+\d{{1,3}}+'", False),
        (r"'\'()*+,-./'", False),
    ],
)
def test_possessive_groups_are_found_in_patterns(source: str, refused: bool) -> None:
    assert any(map(has_possessive_group, strings(ast.parse(source)))) is refused


HANDS_ON_THE_ENVIRONMENT = {"memory", "cli", "agent", "hook", "hooks"}
"""`open`, `Workspace`, hooks and the command line give it to config; the last also asks how to speak to a terminal."""


def test_only_config_and_the_wiring_read_the_environment() -> None:
    reading = {part_of(path) for path, text in modules().items() if "os.environ" in text.replace("``os.environ``", "")}
    assert reading - HANDS_ON_THE_ENVIRONMENT == set()


def test_named_tuples_stand_in_modules_whose_types_are_text() -> None:
    """`typed.NamedTuple` reads the annotations of a class body, which later versions of Python leave out otherwise."""
    wrong = [
        path
        for path in modules()
        if ("memorybook._light", "NamedTuple") in names_taken(path)
        and ("__future__", "annotations") not in names_taken(path)
    ]
    assert wrong == []


def names_taken(path: str) -> set[tuple[str | None, str]]:
    """Every name that is imported from a module anywhere in the file."""
    nodes = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom))
    return {(node.module, name.name) for node in nodes for name in node.names}


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
        "'memorybook.formats', 'memorybook.book.transaction', 'memorybook.config.allowed'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr.strip().endswith("[]")
    assert "likes tea" in done.stdout
