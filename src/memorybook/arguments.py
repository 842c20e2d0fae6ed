"""What callers give, checked once at the edge; everything behind it is valid.

All raise InvalidInput with the name of the argument and the value.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING

from memorybook.errors import InvalidInput

if TYPE_CHECKING:
    from memorybook.model import Category


def text_of(text: str, name: str, *, limit: int | None = None) -> str:
    """The text `name`, which may not be blank, nor longer than `limit` characters (None: any length)."""
    if not text.strip():
        raise InvalidInput(f"{name} is blank: give some words")
    if limit is not None and len(text) > limit:
        raise InvalidInput(f"{name} has {len(text)} characters, over {limit}: use flush or import for long texts")
    return text


def category_of(name: str) -> Category:
    """The category that a name or alias stands for."""
    from memorybook.model import CATEGORIES, CATEGORY_ALIASES

    known = CATEGORY_ALIASES.get(name, name)
    if known not in CATEGORIES:
        raise InvalidInput(f"category {name!r} is not one of {', '.join(CATEGORIES)}")
    return known


def tags_of(tags: Sequence[str]) -> tuple[str, ...]:
    """Tags without `#` and blanks, each once, in order."""
    if isinstance(tags, str):
        raise InvalidInput(f"tags must be a list, not the text {tags!r}")
    cleaned = (tag.strip().lstrip("#") for tag in tags)
    return tuple(dict.fromkeys(tag for tag in cleaned if tag))


def day_of(day: str | date | None, name: str) -> str | None:
    """`YYYY-MM-DD`, or None for None and ""."""
    if not day:
        return None
    if isinstance(day, datetime):
        return day.astimezone(UTC).date().isoformat()
    if isinstance(day, date):
        return day.isoformat()
    try:
        return date.fromisoformat(day.strip()[:10]).isoformat()
    except ValueError:
        raise InvalidInput(f"{name} {day!r} is not a day: write it as YYYY-MM-DD") from None
