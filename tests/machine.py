"""A machine that has no settings."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

SETTINGS = ("MEMORYBOOK_", "XDG_CONFIG_", "XDG_STATE_", "LANG", "LC_", "NO_COLOR", "COLUMNS", "CLAUDE_", "CODEX_")


def without_settings(patched: pytest.MonkeyPatch, home: Path) -> None:
    """Nothing in the environment, nothing at home; what is unpacked once a machine stays where it is."""
    for name in [name for name in os.environ if name.startswith(SETTINGS)]:
        patched.delenv(name)
    patched.setenv("XDG_CACHE_HOME", os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"))
    patched.setenv("HOME", str(home))
