"""Patterns of rules, compiled when a text first needs them."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern of a rule, compiled when a text first needs it."""
    return re.compile(pattern)
