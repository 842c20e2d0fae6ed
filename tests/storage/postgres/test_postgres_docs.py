"""docs/scale.md: its program runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "scale.md"


def test_the_program_of_the_page_runs(
    dsn: str, tenant: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MEMORYBOOK_STORAGE_DSN", dsn)
    [program] = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(program.replace('"ann"', repr(tenant)), str(PAGE), "exec"), {})
    assert "The user prefers green tea." in capsys.readouterr().out
