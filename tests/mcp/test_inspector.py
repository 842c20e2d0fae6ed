"""The protocol's own inspector finds nothing about the schemas that a host might not understand."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

INSPECTOR = shutil.which("mcp-inspector")


@pytest.mark.skipif(INSPECTOR is None, reason="needs mcp-inspector: npm install -g @modelcontextprotocol/inspector@2")
@pytest.mark.parametrize("era", ["modern", "legacy"])
def test_the_inspectors_strict_check_finds_nothing(era: str, tmp_path: Path) -> None:
    server = [sys.executable, "-P", "-m", "memorybook", "--book", str(tmp_path / "book"), "mcp"]
    asked = ["--protocol-era", era, "--method", "tools/list", "--strict"]
    done = subprocess.run([str(INSPECTOR), "--cli", *server, *asked], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    assert '"memory_search"' in done.stdout
