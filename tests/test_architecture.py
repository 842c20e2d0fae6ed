"""The house as rules that can fail: imports go down and never in a circle, names are single, nothing is too large."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "memorybook"
FILES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    "errors locale _light model protocols results validate config text formats search.types",
    "search storage inference",
    "book context",
    "entries sessions forget exchange prompt providers",
    "memory aio",
    "tools agent",
    "client testing cli chat http mcp hooks frameworks __init__ __main__",
]
"""The parts of the package, lowest first; a part imports those of its own layer and of the layers below it."""
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts.split()}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(parsed(path))]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")


NAMES = {name_of(path) for path in FILES}


def imports(path: Path) -> set[str]:
    """The modules of the package that a module imports, anywhere in it."""
    found = set[str]()
    for node in nodes(path):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memorybook":
            base = (node.module or "").removeprefix("memorybook").removeprefix(".")
            found |= {f"{base}.{one.name}".removeprefix(".") for one in node.names} & NAMES or {base or "__init__"}
    return found - {name_of(path)}


def test_imports_go_down_and_never_in_a_circle() -> None:
    graph = {name_of(path): imports(path) for path in FILES}
    heights = {name: HEIGHT.get(name, HEIGHT[name.split(".")[0]]) for name in graph}
    assert [(name, other) for name in graph for other in graph[name] if heights[name] < heights[other]] == []
    list(TopologicalSorter(graph).static_order())


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.name for path in FILES if path.name != "__init__.py" and path.parent.name != "views")
    assert [name for name, times in names.items() if times > 1] == []
    assert len(list(SOURCE.glob("*.py"))) <= 15


def test_modules_and_functions_can_be_read_at_a_sitting() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 800 or path.name == "memory.py", path
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 70, f"{path}: {node.name}"


# --- rules for every line ------------------------------------------------------------------------

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
    assert [(path, text) for path in FILES for text in strings(parsed(path)) if has_possessive_group(text)] == []


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


def test_named_tuples_stand_in_modules_whose_types_are_text() -> None:
    """`_light.NamedTuple` reads the annotations of a class body, which later versions of Python leave out otherwise."""
    wrong = [
        path
        for path in FILES
        if ("memorybook._light", "NamedTuple") in names_taken(path)
        and ("__future__", "annotations") not in names_taken(path)
    ]
    assert wrong == []


def names_taken(path: Path) -> set[tuple[str | None, str]]:
    """Every name that is imported from a module anywhere in the file."""
    taken = (node for node in nodes(path) if isinstance(node, ast.ImportFrom))
    return {(node.module, name.name) for node in taken for name in node.names}
