"""JSON items of frameworks as documents that a person can read: `items/NAMESPACE…/KEY.md`.

::

    # breakfast

    - drink: green tea
    - with: milk

    <!-- What is read is the JSON; the lines above are made from it. -->

    ```json
    {
      "item": ["users", "ann", "breakfast"],
      "created": "2026-02-24T10:12:33.123456+00:00",
      "updated": "2026-02-24T10:12:33.123456+00:00",
      "value": {
        "drink": "green tea",
        "with": ["milk"]
      }
    }
    ```

`item` is the namespace and, last, the key. What stands above the JSON is what a search finds.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, NamedTuple

from memorybook.errors import InvalidInput
from memorybook.formats.entry_block import UNSAFE, escape
from memorybook.text.redact_rules import is_random

FOLDER = "items"
"""The folder of a book that items are in."""

_FOLDERS = 4
"""How many labels of a namespace have a folder each; those of a longer one share the last, as paths are short."""

_MOST_BYTES = 120  # of a name in a path
_INVISIBLE = frozenset("\u034f\u115f\u1160\u3164\uffa0")
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)\Z")
_NOTE = "<!-- What is read is the JSON; the lines above are made from it. -->"
_FENCE = re.compile(r"^```json[ \t]*\r?\n(.*?)^```[ \t]*\r?$", re.MULTILINE | re.DOTALL)
_SPECIAL = re.compile(r"[\x7f\x85\u2028\u2029\ufeff\ud800-\udfff]")
_TEXT = rf"\A#|<(?=!--)|{UNSAFE}"
_LINES = re.compile(r"\r\n?|\n")


class Item(NamedTuple):
    """A JSON value under a key in a namespace of labels, any texts; times are timezone-aware."""

    namespace: tuple[str, ...]
    key: str
    value: Any
    created: datetime
    updated: datetime


# --- where it stands -----------------------------------------------------------------------------


def path_of(namespace: Sequence[str], key: str) -> str:
    """Return the path of the item's document: readable if the name is plain, else with a hash behind `=`.

    Never shared.
    """
    labels: list[tuple[str, ...]] = [(label,) for label in namespace]
    if len(labels) > _FOLDERS:
        labels[_FOLDERS - 1 :] = [tuple(namespace[_FOLDERS - 1 :])]
    return "/".join([FOLDER, *map(_part, labels), f"{_part((key,))}.md"])


@lru_cache(maxsize=5_000)
def _part(names: tuple[str, ...]) -> str:
    """Return a folder's or file's name: the name itself if it is plain and no other is written alike."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", "-".join(names)).upper().casefold().lower())
    kept = {c for c in folded if c == "_" or (unicodedata.category(c)[0] in "LMN" and c not in _INVISIBLE)}
    told = "".join([c if c in kept else "-" for c in folded]).encode()[:_MOST_BYTES].decode(errors="ignore")
    if names == (told,) and told and not _DEVICES.match(told):
        return told
    return f"{told}={sha256(json.dumps(names).encode()).hexdigest()[:16]}"


# --- writing -------------------------------------------------------------------------------------


def render(item: Item, *, texts: Sequence[str] | None = None) -> str:
    """Render the document; `texts` is what searches find, None takes all of the value.

    Raises InvalidInput for no JSON.
    """
    try:
        value = json.dumps(item.value, ensure_ascii=False, indent=2, allow_nan=False).replace("\n", "\n  ")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(f"the value of item {item.key!r} is not JSON: {error}") from error
    held = {
        "item": json.dumps([*item.namespace, item.key], ensure_ascii=False),
        "created": json.dumps(item.created.astimezone(UTC).isoformat()),
        "updated": json.dumps(item.updated.astimezone(UTC).isoformat()),
        "value": value,
    }
    shown = ",\n".join(f'  "{name}": {told}' for name, told in held.items())
    shown = _SPECIAL.sub(lambda found: f"\\u{ord(found[0]):04x}", shown)
    said = _leaves(item.value, ()) if texts is None else [((), text) for text in texts]
    above: list[str] = []
    for place, text in said:
        read = [
            line[: len(line) - len(line.lstrip())] + escape(_TEXT, line.lstrip()) for line in _LINES.split(text.strip())
        ]
        if any(read):
            label = f"{_on_a_line(' > '.join(place))}: " if place else ""
            above += [f"- {label}{read[0]}", *(f"  {line}" if line else "" for line in read[1:])]
    parts = [f"# {_on_a_line(item.key)}", "\n".join(above), _NOTE, f"```json\n{{\n{shown}\n}}\n```"]
    return "\n\n".join(filter(None, parts)) + "\n"


def _leaves(value: Any, place: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what the value says, with the names above it."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*place, str(name)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _leaves(inner, place)
    elif value is not None:
        yield place, value if isinstance(value, str) else json.dumps(value)


def _on_a_line(name: str) -> str:
    return escape(_TEXT, " ".join(name.split()))


# --- reading -------------------------------------------------------------------------------------


def parse(text: str) -> Item | None:
    """Return the item of a document, from the last JSON in it; None if that is none."""
    found = _held(text)
    return found[1] if found else None


def readable(text: str) -> str:
    """Return what of an item's document is searched: the lines above the JSON, without a machine's key."""
    found = _held(text)
    if found is None:
        return text
    above, key = text[: found[0]], found[1].key
    return above.replace(f"# {_on_a_line(key)}", "", 1) if is_random(key) else above


def _held(text: str) -> tuple[int, Item] | None:
    """Return where the JSON of an item begins, and the item."""
    found = [*_FENCE.finditer(text)]
    if not found:
        return None
    last = found[-1]
    try:
        read = json.loads(last[1])
        *namespace, key = read["item"]
        created, updated = (datetime.fromisoformat(read[name]).astimezone(UTC) for name in ("created", "updated"))
        item = Item(tuple(namespace), key, read["value"], created, updated)
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        return None
    return (last.start(), item) if all(isinstance(name, str) for name in read["item"]) else None
