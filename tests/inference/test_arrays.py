from __future__ import annotations

import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import numpy as np
import pytest

from memorybook.inference import static as module
from memorybook.inference.static import IMPORT, ONCE, SOON, arrays


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """As in a process that has not imported numpy and has lost nothing yet, and in which no time goes by."""
    monkeypatch.setattr(module, "_lost", 0.0)
    monkeypatch.setattr(module, "monotonic", lambda: 7.0)
    monkeypatch.delitem(sys.modules, "numpy")
    return monkeypatch


def test_numpy_that_is_there_anyway_is_used_for_the_smallest_thing() -> None:
    assert arrays(0.0) is np


def test_it_is_done_without_until_as_much_was_lost_as_the_import_takes(fresh: pytest.MonkeyPatch) -> None:
    assert [arrays(IMPORT / 4) for _ in range(4)] == [None] * 4
    fresh.setitem(sys.modules, "numpy", np)
    assert arrays(IMPORT / 4) is np


def test_one_search_that_would_lose_more_than_the_import_takes_imports_it(fresh: pytest.MonkeyPatch) -> None:
    assert arrays(IMPORT) is None
    imported: list[str] = []

    def note(name: str, *_: object) -> ModuleType:
        imported.append(name)
        return np

    fresh.setattr("builtins.__import__", note)
    assert arrays(1.0) is np
    assert imported == ["numpy"]


def test_a_process_that_goes_on_imports_it_after_a_few_searches(fresh: pytest.MonkeyPatch) -> None:
    times = iter((7.0, 7.0 + ONCE, 8.0))
    fresh.setattr(module, "monotonic", lambda: next(times))
    imported: list[str] = []

    def note(name: str, *_: object) -> ModuleType:
        imported.append(name)
        return np

    fresh.setattr("builtins.__import__", note)
    assert arrays(IMPORT / SOON / 2) is None
    assert arrays(IMPORT / SOON / 2) is None
    assert arrays(1.0) is np
    assert imported == ["numpy"]


def test_a_numpy_that_is_still_being_imported_is_not_used(fresh: pytest.MonkeyPatch) -> None:
    half = ModuleType("numpy")
    half.__spec__ = ModuleSpec("numpy", None)
    fresh.setattr(half.__spec__, "_initializing", True, raising=False)  # as the import system has it meanwhile
    fresh.setitem(sys.modules, "numpy", half)
    fresh.setattr(half, "frombuffer", np.frombuffer, raising=False)  # there long before the rest
    assert arrays(1.0) is None
