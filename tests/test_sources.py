"""Rules for every line of the sources, and what a cold search may import."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "memorybook"


@cache
def modules() -> dict[str, str]:
    """Path of each module -> its text."""
    return {str(path.relative_to(SOURCE)): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}


@cache
def parsed(path: str) -> ast.Module:
    return ast.parse(modules()[path])


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


def test_named_tuples_stand_in_modules_whose_types_are_text() -> None:
    """`_light.NamedTuple` reads the annotations of a class body, which later versions of Python leave out otherwise."""
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
    (tmp_path / "MEMORY.md").write_text("## Preferences\n- likes tea of the market\n", encoding="utf-8")
    book = ["--book", str(tmp_path)]
    command = [sys.executable, "-m", "memorybook", *book, "search", question]
    subprocess.run(command, check=True, capture_output=True)
    script = (
        "import sys; from memorybook.cli import main; "
        f"code = main({[*book, 'search', question]!r}); "
        "heavy = {'dataclasses', 'inspect', 'numpy', 'tokenizers', 'pathlib', 'pydantic', 'asyncio', 'rich', "
        "'httpx2', 'wordllama', 'logging', 'concurrent.futures', 'tomllib', 'shtab', 'difflib', 'uuid', 'json', "
        "'typing', 'argparse', 're', 'datetime', 'threading', 'memorybook.model', "
        "'memorybook.formats.memory_md', 'memorybook.book.transaction'}; "
        "print(sorted(heavy & set(sys.modules)), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert done.stderr.strip().endswith("[]")
    assert "likes tea" in done.stdout
