"""Rules for every module: nothing is too large, and what Python 3.11 reads wrongly stands nowhere."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

FILES = sorted((Path(__file__).parent.parent / "src" / "memorybook").rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    return [*ast.walk(parsed(path))]


def test_modules_and_functions_can_be_read_at_a_sitting() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert text.count("\n") <= 800 or path.name == "memory.py", path
        for node in nodes(path):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 70, f"{path}: {node.name}"


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
    some = [path for path in FILES if re.search(r"[*+?}]\+", path.read_text(encoding="utf-8"))]
    assert [(path, text) for path in some for text in strings(parsed(path)) if has_possessive_group(text)] == []


@pytest.mark.parametrize(
    ("source", "refused"),
    [
        (r"r'(?:a|b)*+'", True), (r"r'\((?:[^()]|\))?+'", True), (r"r'(a){1,3}+'", True), (r"f'{WORD}++'", True),
        (r"f'(?:{WORD}){{2}}+'", True), (r"'(?:' + WORD + ')*+'", True), (r"WORD + '?+'", True),
        (r"r'(?:a++|[)*+]|\)*+|[])*+])+'", False), (r"rf'[{LETTERS}]++(?:{WORD})+\d{{1,3}}+'", False),
        (r"'\'()*+,-./'", False),
    ],
)  # fmt: skip
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
