"""Remarks for a person, on stderr, where characters that would act on a terminal are shown."""

from __future__ import annotations

import os
import sys

from memorybook._light import TYPE_CHECKING
from memorybook.text.visible import visible

if TYPE_CHECKING:
    from typing import TextIO


def remark(message: str) -> None:
    """One line for a person, on stderr."""
    to_stderr(f"memorybook: {visible(message)}")


def to_stderr(line: str) -> None:
    """One line as it is, on stderr; bytes that are not UTF-8 as escapes, as JSON writes them.

    A stderr that is full takes nothing: there is nowhere left to say so.
    """
    try:
        sys.stderr.write(line.encode("utf-8", "backslashreplace").decode() + "\n")
        sys.stderr.flush()
    except OSError:
        silence(sys.stderr)


def silence(stream: TextIO) -> None:
    """Send what a stream still holds, and all that follows, nowhere: the interpreter flushes it again on leaving."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
