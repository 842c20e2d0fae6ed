"""Cases of a parametrised test as a text: several on a line, their parts in order."""

from __future__ import annotations

from typing import Any


def table(text: str) -> list[Any]:
    """Cases that `¦` or a line break parts; one of several parts, which `→` parts, is a tuple of them."""
    cases = [case.strip() for line in text.strip().splitlines() for case in line.split(" ¦ ")]
    return [tuple(case.split(" → ")) if " → " in case else case for case in cases]
