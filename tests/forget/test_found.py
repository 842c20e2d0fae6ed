"""What several parts find is one: what any of them takes whole is gone, else what all of them leave stays."""

from __future__ import annotations

from datetime import date

import pytest

from memorybook.forget.found import Found, together
from memorybook.model import Entry


def part(gone: str, left: str = "") -> Found:
    day = date(2026, 5, 1)
    entry = Entry(id="e1", text=gone, category="fact", score=0.5, scored=day, last_activated=day)
    return Found((entry,), left={"e1": left} if left else {})


@pytest.mark.parametrize(
    ("parts", "left"),
    [
        ([part("A.", "B. C."), part("A.", "B. C.")], "B. C."),
        ([part("A.", "B. C."), part("B.", "A. C.")], "C."),
        ([part("A. B. C."), part("B.", "A. C.")], None),
        ([part("B.", "A. C."), part("A. B. C.")], None),
    ],
)
def test_what_stays_is_what_all_leave(parts: list[Found], left: str | None) -> None:
    found = together(parts)
    assert found.left.get("e1") == left
    assert len(found.entries) == 1
