"""Draw SVG: bars, curves, columns and a small graph; colours are classes of the style sheet, never inline styles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from itertools import accumulate

from markupsafe import Markup, escape

from memorybook.book import fade
from memorybook.book.fade import ARCHIVE_BELOW, PROMPT_FROM, REMOVE_BELOW
from memorybook.model import Entry

BOUNDS = (("prompt", PROMPT_FROM), ("archive", ARCHIVE_BELOW), ("remove", REMOVE_BELOW))


Point = tuple[date, float]
"""A day, and the strength of an entry on it."""


def strengths(entry: Entry, first: date, last: date | None = None, *, steps: int = 60) -> list[Point]:
    """Return how strong an entry is from one day to another, by default eight months later, in about so many steps."""
    span = 240 if last is None else (last - first).days
    days = (first + timedelta(days=number) for number in range(0, span + 1, max(1, span // steps)))
    return [(day, fade.strength(entry, day)) for day in days]


def _svg(width: float, height: float, body: Iterable[Markup], label: str, kind: str, *, role: str = "img") -> Markup:
    head = Markup('<svg class="{}" viewBox="0 0 {:g} {:g}" width="{:g}" height="{:g}" role="{}" aria-label="{}">')
    return head.format(kind, width, height, width, height, role, label) + Markup("").join(body) + Markup("</svg>")


def _rect(x: float, y: float, width: float, height: float, kind: str, title: str = "") -> Markup:
    told = Markup("<title>{}</title>").format(title) if title else Markup("")
    box = Markup('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="1.5" class="{}">')
    return box.format(x, y, max(0.0, width), max(0.0, height), kind) + told + Markup("</rect>")


def _text(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> Markup:
    return Markup('<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>').format(x, y, anchor, kind, text)


def strength(value: float, label: str) -> Markup:
    """Draw a strength of 0..1 as a bar with a tick where the prompt begins."""
    kind = "s-hi" if value >= PROMPT_FROM else "s-mid" if value >= ARCHIVE_BELOW else "s-lo"
    parts = [_rect(0, 3, 60, 6, "s-back"), _rect(0, 3, 60 * value, 6, kind), _rect(60 * PROMPT_FROM, 1, 1, 10, "tick")]
    return _svg(60, 12, parts, label, "strength")


def stack(parts: Sequence[tuple[str, str, float]], total: float, label: str, *, width: int = 640) -> Markup:
    """Draw (class, title, size) one after another in a bar of size `total`."""
    body, x = [_rect(0, 0, width, 16, "s-back")], 0.0
    for kind, title, size in parts:
        long = width * size / total if total else 0.0
        body.append(_rect(x, 0, long, 16, kind, f"{title}: {size:g}"))
        x += long
    return _svg(width, 16, body, label, "stack")


def scores(parts: Mapping[str, float], most: float, label: str, left: float = 40) -> Markup:
    """Draw the parts of a score, those below 0 to the left of the others, where there is so much room."""
    below = [(name, value) for name, value in parts.items() if value < 0]
    above = [(name, value) for name, value in parts.items() if value > 0]
    unit = 320 / most if most else 0.0
    x = left
    body = [_rect(left, 0, 320, 14, "s-back")]
    for name, value in above:
        body.append(_rect(x, 0, value * unit, 14, f"p-{name}", f"{name} {value:.2f}"))
        x += value * unit
    x = left
    for name, value in below:
        long = min(x, -value * unit)
        x -= long
        body.append(_rect(x, 0, long, 14, f"p-{name} minus", f"{name} {value:.2f}"))
    return _svg(left + 320, 14, body, label, "scores")


def curve(past: Sequence[Point], future: Sequence[Point], today: date, names: Mapping[str, str], label: str) -> Markup:
    """Draw how strong an entry was and will be, with the bounds and today; `names` are those of the bounds."""
    width, height, left, low = 640, 190, 36, 160
    days = [day for day, _ in (*past, *future)] or [today]
    first, last = min(days), max(days)
    span = max(1, (last - first).days)

    def x(day: date) -> float:
        return left + (width - left - 8) * (day - first).days / span

    def y(value: float) -> float:
        return low - (low - 14) * value

    def line(points: Sequence[Point], kind: str) -> Markup:
        drawn = " ".join(f"{x(day):.1f},{y(value):.1f}" for day, value in points)
        return Markup('<polyline points="{}" class="{}"/>').format(drawn, kind)

    body = [_rect(left, y(bound), width - left - 8, 0.8, f"bound {name}") for name, bound in BOUNDS]
    body += [line(past, "past"), line(future, "future")]
    body += [_text(width - 10, y(bound) - 3, names[name], "label", "end") for name, bound in BOUNDS]
    body += [_text(left - 6, y(value) + 4, f"{value:g}", "label", "end") for value in (0, 0.5, 1)]
    dot = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="4" class="dot"><title>{} {:.2f}</title></circle>')
    body += [dot.format(x(day), y(value), day, value) for day, value in past[-1:]]
    body.append(_rect(x(today), 10, 1, low - 10, "today"))
    body.append(_text(x(first), height - 10, str(first), "label"))
    body.append(_text(width - 8, height - 10, str(last), "label", "end"))
    if 0.2 < (today - first).days / span < 0.8:
        body.append(_text(x(today), height - 10, str(today), "label", "middle"))
    return _svg(width, height, body, label, "curve")


def spark(points: Sequence[Point], label: str) -> Markup:
    """Draw a curve of strength without axes."""
    if not points:
        return Markup("")
    first, span = points[0][0], max(1, (points[-1][0] - points[0][0]).days)
    drawn = " ".join(f"{1 + 118 * (day - first).days / span:.1f},{23 - 22 * value:.1f}" for day, value in points)
    body = [
        _rect(0, 23 - 22 * PROMPT_FROM, 120, 0.6, "bound prompt"),
        _rect(0, 23 - 22 * ARCHIVE_BELOW, 120, 0.6, "bound archive"),
        Markup('<polyline points="{}" class="future"/>').format(drawn),
    ]
    return _svg(120, 24, body, label, "spark")


def columns(
    days: Sequence[tuple[str, str, Mapping[str, int]]], kinds: Sequence[str], label: str, chosen: str = ""
) -> Markup:
    """Draw a column for each (day, address, count by kind), stacked by kind, each a link; one may be chosen."""
    most = max((sum(counts.values()) for _, _, counts in days), default=0) or 1
    wide = max(5, min(22, 900 // max(1, len(days))))
    body: list[Markup] = []
    for number, (day, address, counts) in enumerate(days):
        y = 72.0
        bars = [_rect(number * wide, 0, wide - 2, 74, "column chosen" if day == chosen else "column")]
        for kind in kinds:
            if counts.get(kind):
                tall = max(2.0, 68 * counts[kind] / most)
                y -= tall
                bars.append(_rect(number * wide, max(0.0, y), wide - 2, tall, f"k-{kind}"))
        told = f"{day}: {sum(counts.values())}"
        link = Markup('<a href="{}" aria-label="{}"><title>{}</title>').format(address, told, told)
        body.append(link + Markup("").join(bars) + Markup("</a>"))
    head = Markup('<svg class="columns{2}" viewBox="0 0 {0} 74" width="{0}" height="74" preserveAspectRatio="none" ')
    head += Markup('role="group" aria-label="{1}">')
    full = " full" if len(days) > 20 else ""
    return head.format(max(1, len(days)) * wide, label, full) + Markup("").join(body) + Markup("</svg>")


def _cut(text: str, width: int = 26) -> str:
    """Return the beginning of a text that is so wide; a Chinese character takes two places."""
    taken = list(accumulate(1 + (letter > "\u2e80") for letter in text))
    return text if not taken or taken[-1] <= width else text[: sum(place < width for place in taken)] + "…"


def graph(middle: str, around: Sequence[tuple[str, str, str]], label: str) -> Markup:
    """Draw one entry and, in a circle, those (address, text, kind of link) beside it."""
    width, height = 640, 300 if len(around) > 4 else 220
    body: list[Markup] = []
    for number, (address, text, kind) in enumerate(around):
        angle = 2 * math.pi * number / len(around) - math.pi / 2
        x, y = width / 2 + 150 * math.cos(angle), height / 2 + (height / 2 - 40) * math.sin(angle)
        line = Markup('<line x1="{:g}" y1="{:g}" x2="{:.1f}" y2="{:.1f}" class="edge e-{}"/>')
        body.insert(0, line.format(width / 2, height / 2, x, y, kind))
        anchor = "middle" if abs(math.cos(angle)) < 0.4 else "start" if math.cos(angle) > 0 else "end"
        away = 0 if anchor == "middle" else 9 if anchor == "start" else -9
        lower = 4 if anchor != "middle" else 18 if math.sin(angle) > 0 else -10
        node = Markup('<a href="{}"><circle cx="{:.1f}" cy="{:.1f}" r="6" class="node e-{}"/>{}<title>{}</title></a>')
        body.append(node.format(address, x, y, kind, _text(x + away, y + lower, _cut(text), "label", anchor), text))
    body.append(Markup('<circle cx="{:g}" cy="{:g}" r="9" class="node middle"/>').format(width / 2, height / 2))
    body.append(Markup("<title>{}</title>").format(escape(middle)))
    return _svg(width, height, body, label, "graph", role="group")


def scatter(dots: Sequence[tuple[float, float, int, str]], below: str, beside: str, label: str) -> Markup:
    """Draw (x, y, how many, title) on logarithmic axes; the more, the larger. `below` and `beside` name the axes."""
    width, height, left, low = 640, 230, 40, 190
    first, last = min((x for x, *_ in dots), default=1), max((x for x, *_ in dots), default=1)
    most = max((y for _, y, *_ in dots), default=0)

    def across(x: float) -> float:
        return left + 14 + (width - left - 30) * math.log((x or 1) / first) / (math.log(last / first) or 1)

    def up(y: float) -> float:
        return low - 12 - (low - 48) * math.log1p(y) / (math.log1p(most) or 1)

    ticks = [number * 10**power for power in range(5) for number in (1, 2, 5)]
    body = [_rect(left, low, width - left - 8, 0.8, "bound"), _text(width - 8, height - 4, below, "label", "end")]
    body.append(_text(left - 30, 16, beside, "label"))
    body += [_text(across(x), low + 16, str(x), "label", "middle") for x in ticks if first <= x <= last]
    for y in (0, *(tick for tick in ticks if tick <= most and (most < 20 or str(tick)[0] != "2"))):
        body += [_rect(left, up(y), width - left - 8, 0.5, "bound"), _text(left - 6, up(y) + 4, str(y), "label", "end")]
    circle = Markup('<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"><title>{}</title></circle>')
    for x, y, count, title in dots:
        kind = "cell" if y else "cell idle"
        body.append(circle.format(across(x), up(y), min(12, 2.5 + 1.2 * math.log2(count)), kind, title))
    return _svg(width, height, body, label, "curve scatter")
