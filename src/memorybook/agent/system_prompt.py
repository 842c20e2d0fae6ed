"""The system prompt of a host: its own files in order, and after them what the book remembers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.text.tokens import count_tokens

if TYPE_CHECKING:
    from memorybook.memory import Memory

FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "USER.md", "TOOLS.md")
"""What hosts keep beside their agents, in the order in which a prompt has them."""

MOST = 20_000
"""Characters of one file that are taken."""


class SystemPrompt(NamedTuple):
    """A system prompt.

    Attributes:
        text: Each file under its name, then the memory block.
        tokens: Estimated size of `text`.
        files: Names of the files in it, in order.
        left_out: Files that are not in it, or only in part, with the reason; one that does not exist is not named.
    """

    text: str
    tokens: int
    files: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...] = ()


def system_prompt(
    memory: Memory, query: str = "", *, folder: str = ".", files: Sequence[str] = FILES, max_tokens: int | None = None
) -> SystemPrompt:
    """Build a host's system prompt: its files verbatim, in the order given, then what is remembered for the query.

    Args:
        memory: The book; the memory block is that of `Memory.recall`.
        query: What the user just said; "" takes what stands in every prompt.
        folder: Where the files are.
        files: Paths below `folder`; those that do not exist are passed over.
        max_tokens: Of the memory block; None is the default of `Memory.recall`.

    Raises:
        InvalidInput: As `Memory.recall`.
    """
    parts: list[str] = []
    names: list[str] = []
    left_out: list[tuple[str, str]] = []
    for name in files:
        try:
            with open(os.path.join(folder, name), encoding="utf-8-sig") as file:
                text = file.read(MOST + 1).strip()
        except FileNotFoundError:
            continue
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            left_out.append((name, f"not read: {reason}"))
            continue
        if len(text) > MOST:
            left_out.append((name, f"cut after {MOST} characters"))
            text = f"{text[:MOST].rstrip()}…"
        if text:
            names.append(name)
            parts.append(f"## {name}\n\n{text}")
    remembered = memory.recall(query, max_tokens=max_tokens).text
    text = "\n\n".join(filter(None, [*parts, remembered]))
    return SystemPrompt(text, count_tokens(text), tuple(names), tuple(left_out))
