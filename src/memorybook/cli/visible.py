"""Characters that would act on a terminal instead of being seen."""

from __future__ import annotations

_ACTING = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # C0 without tab and newline, DEL, C1: escape sequences, OSC, bells
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
