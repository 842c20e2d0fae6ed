"""The book in other people's frameworks: one module each, which imports its framework and is imported by its users.

What several need: `external_session` (conversations), `memory_tool` (files), `key_value` (values by key).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memorybook.memory import Memory


def empty_if_missing(memory: Memory) -> Memory:
    """Return the memory as a framework reads it: a book that is not there yet is an empty one, and no error."""
    return memory.seen_by(door=memory.context.door, actor=memory.context.actor, missing_ok=True)
