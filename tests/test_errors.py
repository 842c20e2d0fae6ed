"""The tree that `memorybook.errors` draws is the tree that there is."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import memorybook
from memorybook import errors
from memorybook.errors import MemoryBookError

ROW = re.compile(r"^    ((?:[│ ]   )*)([├└]── )?(\w+)(?: \((\w+)\))? +(\d) +(\d{3})   \S", re.MULTILINE)


def drawn() -> Iterator[tuple[str, str | None, str | None, int, int]]:
    """Name, parent, further base, exit code and status of every error that the docstring draws."""
    above: list[str] = []
    for indent, branch, name, base, code, status in ROW.findall(errors.__doc__ or ""):
        depth = len(indent) // 4 + bool(branch)
        above[depth:] = [name]
        yield name, above[depth - 1] if depth else None, base or None, int(code), int(status)


def real() -> Iterator[tuple[str, str | None, str | None, int, int]]:
    """The same of every class in the package."""
    for module in pkgutil.walk_packages(memorybook.__path__, "memorybook."):
        if not module.name.startswith("memorybook.frameworks."):  # whose frameworks are elsewhere
            importlib.import_module(module.name)
    found: list[type[MemoryBookError]] = [MemoryBookError]
    for error in found:
        found += [each for each in error.__subclasses__() if each.__module__.startswith("memorybook.")]
        parent, *further = error.__bases__
        above = None if error is MemoryBookError else parent.__name__
        yield error.__name__, above, further[0].__name__ if further else None, error.exit_code, error.status


def test_the_drawn_tree_is_the_tree() -> None:
    assert sorted(drawn(), key=str) == sorted(real(), key=str)


def test_every_error_has_a_code_of_its_own() -> None:
    for _ in real():
        pass
    classes = [MemoryBookError]
    for error in classes:
        classes += [each for each in error.__subclasses__() if each.__module__.startswith("memorybook.")]
    codes = [error.code for error in classes]
    assert len(codes) == len(set(codes))


def test_the_base_is_never_raised_itself() -> None:
    for path in Path(memorybook.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "MemoryBookError" in text else ():
            if isinstance(node, ast.Raise) and node.exc is not None:
                assert not ast.unparse(node.exc).startswith("MemoryBookError"), f"{path}:{node.lineno}"
