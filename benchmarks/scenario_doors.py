"""After "forget …": every door through which a book could still tell it, see `benchmarks/scenarios.py`."""

from __future__ import annotations
from collections.abc import Callable, Sequence
from typing import Any
from benchmarks.scenario_books import Row, Taken
PASSES = ("said", "again", "echoed")
def forgotten(taken: Taken, order: Row, verdict: Callable[..., Any]) -> Row:
    raise NotImplementedError
