"""The page of an integration, run against the real framework."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

PAGES = Path(__file__).parents[2] / "docs" / "integrations"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(name: str, **given: Any) -> dict[str, Any]:
    """Run the page's Python blocks one after the other, as one program; returns what they leave.

    Args:
        name: The page's, without `.md`.
        given: Names that the page takes for granted, such as a scripted `model`.
    """
    page = PAGES / f"{name}.md"
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "__main__", **given}
    for block in BLOCK.finditer(text):
        above = text.count("\n", 0, block.start(1))  # so that what fails is shown where it stands
        exec(compile("\n" * above + block[1], str(page), "exec"), names)
    return names
