"""Render templates: words of the page in the reader's language, days, bars, and the frame around each view."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, tzinfo
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

import nh3
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.requests import Request
from starlette.responses import HTMLResponse

from memorybook import locale
from memorybook.book.fade import month, unconfirmed
from memorybook.config.settings import StaleSettings
from memorybook.http.page import charts
from memorybook.model import Entry
from memorybook.search.types import place_of
from memorybook.text.splitting import entry_passage

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "same-origin",  # with no-referrer a browser sends forms with the origin null
}
"""Of every page: nothing comes from elsewhere, no script stands in the page itself."""


class Ask(NamedTuple):
    """What a request asks of a view.

    Attributes:
        values: The query, the last value of each name.
        lang: `en` or `zh`.
        path: Of the request.
        today: Day of the reader's book.
        lists: The query, all values of each name.
        zone: Of the reader's book: of all times that are shown; None is this machine's.
        stale: How long what was confirmed holds in the reader's book.
    """

    values: Mapping[str, str]
    lang: str
    path: str
    today: date
    lists: Mapping[str, list[str]] = {}
    zone: tzinfo | None = UTC
    stale: StaleSettings = StaleSettings()

    def text(self, name: str, default: str = "") -> str:
        """Return a value of the query, trimmed."""
        return self.values.get(name, default).strip()

    def number(self, name: str, default: int, most: int) -> int:
        """Return a whole number of the query between 1 and `most`; the default for anything else."""
        value = self.values.get(name, "")
        return min(most, max(1, int(value[:18]))) if value.isascii() and value.isdecimal() else default

    def cut(self, rows: Sequence[Any], size: int = 60) -> dict[str, Any]:
        """Return the rows of the page that is asked for, its number, how many pages and rows there are."""
        pages = max(1, -(-len(rows) // size))
        page = self.number("page", 1, pages)
        return {"rows": rows[(page - 1) * size : page * size], "page": page, "pages": pages, "count": len(rows)}

    def url(self, **changed: Any) -> str:
        """Return this address with other values; None leaves one out."""
        left = {**self.values, **changed}
        query = urlencode([(name, value) for name, value in left.items() if value not in (None, "")])
        return f"{self.path}?{query}" if query else self.path

    def local(self, moment: datetime | None) -> datetime | None:
        """Return a moment in the zone of the book, or as it is at the ends of the calendar."""
        with suppress(OverflowError):
            return moment and moment.astimezone(self.zone)
        return moment

    def day(self, moment: datetime) -> date:
        """Return the day of a moment in the zone of the book."""
        return (self.local(moment) or moment).date()

    def unconfirmed(self, entry: Entry) -> str:
        """Return the month since which nobody confirmed an entry; "" if its kind needs no confirming yet."""
        day = unconfirmed(self.stale, self.today)(entry_passage(entry))
        return self.month(day) if day else ""

    def month(self, day: str) -> str:
        """Return the month of a day (`YYYY-MM-DD`) as the reader says it."""
        return month(day, self.lang)

    def say(self, id: str, **values: Any) -> str:
        """Return a message of the page in the reader's language."""
        return locale.message(f"page.{id}", self.lang, **values)


def ask_of(request: Request, today: date, language: str, zone: tzinfo | None = UTC) -> Ask:
    """Return what a request asks; its language is chosen by cookie, the browser, or else the book."""
    wanted = request.cookies.get("lang", "")
    if wanted not in ("en", "zh"):
        first = request.headers.get("accept-language", "")[:2].lower()
        wanted = first if first in ("en", "zh") else language if language in ("en", "zh") else "en"
    query = request.query_params
    lists = {name: query.getlist(name) for name in query}
    path = request.url.path if request.method == "GET" else "/"  # a form has no page of its own
    return Ask({name: values[-1] for name, values in lists.items()}, wanted, path, today, lists, zone)


@cache
def environment() -> Environment:
    """Return the templates; what they are given is escaped, an unknown name is an error."""
    found = Environment(
        loader=PackageLoader("memorybook.http.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"md": markdown, "time": time, "percent": lambda value: f"{value * 100:.0f}"}
    found.filters["day"] = lambda value: str(value or "")[:10]
    found.filters["urlencode"] = lambda value: quote(str(value), errors="replace")
    found.globals |= {"marked": marked, "chart": charts, "place_of": place_of}
    return found


def page(name: str, ask: Ask, frame: Mapping[str, Any], view: Mapping[str, Any], *, status: int = 200) -> HTMLResponse:
    """Render the template of a view inside the frame."""
    known, kinds = locale.table("page", ask.lang), locale.table("answers", ask.lang)
    words = {
        "t": ask.say,
        "told": lambda text: locale.translate(text, ask.lang),
        "word": lambda kind, name: known.get(f"{kind}_{name}", name.replace("_", " ")),
        "kind_of": lambda name: kinds.get(name, name),
        "ask": ask,
    }
    html = environment().get_template(f"{name}.html").render(**frame, **view, **words)
    return HTMLResponse(html.encode("utf-8", "replace"), status, HEADERS)  # text of files may be no UTF-8


@pass_context
def time(context: Context, value: datetime | None, named: bool = False, after: datetime | None = None) -> Markup | str:
    """Return a time in the zone of the book as an element, with the name of the zone in it or beside; "" for None.

    The day is left out if it is that of `after`, which stands before.
    """
    if (moment := context["ask"].local(value)) is None:
        return ""
    shown = moment.isoformat(timespec="minutes")
    template = Markup('<time datetime="{}" title="UTC{}">{}{}</time>')
    name = f" UTC{shown[16:]}" if named else ""
    same = after is not None and str(context["ask"].local(after))[:10] == shown[:10]
    return template.format(shown, shown[16:], shown[11 * same : 16].replace("T", " "), name)


# --- text of memories as HTML that runs no script and loads nothing -------------------------------


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
