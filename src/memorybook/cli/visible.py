"""What a person sees: characters that would act on a terminal are shown, remarks go to stderr."""

from __future__ import annotations

import os
import sys

from memorybook.typed import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TextIO

_ACTING = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"  # C0 without tab and newline, DEL, C1: escapes, bells; ends of lines
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi: text that reads otherwise than it is
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"  # annotations, tags (unseen text), bytes that are not UTF-8
)


def visible(text: str) -> str:
    r"""The text with such characters written as escapes.

    >>> visible("\x1b[31mred 红")
    '\\x1b[31mred 红'
    """
    if text.isprintable():
        return text
    import re

    return re.sub(_ACTING, lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


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
