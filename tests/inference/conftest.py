from __future__ import annotations

import pytest


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Pauses are noted instead of made."""
    made: list[float] = []
    monkeypatch.setattr("time.sleep", made.append)
    return made
