"""Every integration is a small file with an extra and a page of its own, and says how to install its framework."""

from __future__ import annotations

import importlib
import sys
import tomllib
from pathlib import Path

import pytest

from memorybook.errors import MissingExtra

ROOT = Path(__file__).parents[2]
MODULES = (ROOT / "src/memorybook/frameworks").glob("[!_]*.py")
NAMES = sorted(path.stem for path in MODULES if "MissingExtra" in path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_an_integration_is_small_and_has_its_extra_its_page_and_its_tests(name: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert name.replace("_", "-") in extras
    assert (ROOT / f"src/memorybook/frameworks/{name}.py").read_text(encoding="utf-8").count("\n") < 100
    page = (ROOT / f"docs/integrations/{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert f"pip install '.[{name.replace('_', '-')}]'" in page
    assert (ROOT / f"tests/frameworks/test_{name}.py").exists()


@pytest.mark.parametrize("name", NAMES)
def test_an_integration_without_its_framework_names_the_install_command(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, f"memorybook.frameworks.{name}", raising=False)
    try:
        importlib.import_module(f"memorybook.frameworks.{name}")
    except MissingExtra as missing:
        told = str(missing)
    else:
        pytest.skip("its framework is installed here")
    assert f"pip install 'memorybook[{name.replace('_', '-')}]'" in told
