"""Render text of memories as HTML that runs no script and loads nothing."""

from __future__ import annotations

from functools import cache

import nh3
from markdown_it import MarkdownIt
from markupsafe import Markup, escape

_TAGS = {
    "p", "br", "hr", "em", "strong", "s", "code", "pre", "blockquote", "ul", "ol", "li", "a",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
"""What may stand in a memory; headings become bold lines, pictures and raw HTML are shown as text."""


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}).enable(["table", "strikethrough"])
    return parser.disable(["image", "heading", "lheading"])


def markdown(text: str) -> Markup:
    """Return Markdown as sanitised HTML; links open outside and carry no referrer."""
    html = nh3.clean(
        _parser().render(text.encode("utf-8", "replace").decode()),
        tags=_TAGS,
        attributes={"a": {"href", "title"}},
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow",
    )
    return Markup(html)  # noqa: S704 - cleaned above


def marked(text: str, quotes: list[str]) -> Markup:
    """Return plain text with the quotes in it marked; the first occurrence of each."""
    spans = sorted((at, at + len(quote)) for quote in quotes if quote and (at := text.find(quote)) >= 0)
    parts, end = list[Markup](), 0
    for first, last in spans:
        if first >= end:
            parts += [escape(text[end:first]), Markup("<mark>"), escape(text[first:last]), Markup("</mark>")]
            end = last
    return Markup("").join([*parts, escape(text[end:])])
