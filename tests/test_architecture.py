"""The house as rules that can fail: imports go down and never in a circle, names are single."""

from __future__ import annotations

import ast
from collections import Counter
from graphlib import TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "memorybook"
FILES = sorted(SOURCE.rglob("*.py"))

LAYERS = [
    "errors locale _light model protocols results validate config text formats search.types",
    "search storage inference", "book context", "entries sessions forget exchange prompt providers", "memory aio",
    "tools agent", "client testing cli chat http mcp hooks frameworks __init__ __main__",
]  # fmt: skip
"""The parts of the package, lowest first; a part imports those of its own layer and of the layers below it."""
HEIGHT = {part: height for height, parts in enumerate(LAYERS) for part in parts.split()}


NAMES = {".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path for path in FILES}


def imports(name: str) -> set[str]:
    """The modules of the package that a module imports, anywhere in it."""
    found = set[str]()
    for node in ast.walk(ast.parse(NAMES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "memorybook":
            base = (node.module or "").removeprefix("memorybook").removeprefix(".")
            found |= {f"{base}.{one.name}".removeprefix(".") for one in node.names} & set(NAMES) or {base or "__init__"}
    return found - {name}


def test_imports_go_down_and_never_in_a_circle() -> None:
    graph = {name: imports(name) for name in NAMES}
    heights = {name: HEIGHT.get(name, HEIGHT[name.split(".")[0]]) for name in graph}
    assert [(name, other) for name in graph for other in graph[name] if heights[name] < heights[other]] == []
    list(TopologicalSorter(graph).static_order())


def test_no_two_modules_have_one_name() -> None:
    names = Counter(path.name for path in FILES if path.name != "__init__.py" and path.parent.name != "views")
    assert [name for name, times in names.items() if times > 1] == []
    assert len(list(SOURCE.glob("*.py"))) <= 15
