"""What a cold search may import."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


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
