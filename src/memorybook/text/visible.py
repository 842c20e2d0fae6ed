"""Characters that would act on a terminal, or are not seen there, written as escapes."""

from __future__ import annotations

from memorybook._light import quoted

_ACTING = (
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029"  # C0 without tab and newline, DEL, C1: escapes, bells; ends of lines
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # bidi: text that reads otherwise than it is
    "\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"  # annotations, tags (unseen text), bytes that are not UTF-8
)


def visible(text: str) -> str:
    r"""Return the text with such characters written as escapes.

    >>> visible("\x1b[31mred 红")
    '\\x1b[31mred 红'
    """
    if text.isprintable():
        return text
    import re

    return re.sub(_ACTING, lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def visible_json(text: str) -> str:
    r"""Return a JSON document with such characters in its strings as JSON escapes: the same values.

    >>> visible_json('"\u202ered 红"')
    '"\\u202ered 红"'
    """
    if text.isprintable():
        return text
    import re

    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")  # halves of a pair are one
    return re.sub(_ACTING, lambda found: quoted(found[0])[1:-1], text)
