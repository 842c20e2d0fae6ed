"""JSON items of a book, for frameworks that keep values by namespace and key; each is a document, see `item_md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from operator import ge, gt, le, lt
from typing import TYPE_CHECKING, Any

from memorybook.entries import documents
from memorybook.entries.read import Mask
from memorybook.errors import InvalidInput, MissingDocument
from memorybook.formats import item_md
from memorybook.formats.item_md import Item, path_of
from memorybook.search.types import Query
from memorybook.validate import words_of

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.search.types import Passage

_POOLS = (200, 2_000, 20_000)
"""How many candidates are looked through for items among everything else, until enough are found."""

_ORDER = {"$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


class Items:
    """The items of an open memory's book; each that is written is an operation of it.

    All methods raise Unavailable while memory is switched off. Safe to share between threads.
    """

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._known: Mapping[str, tuple[str, Item | None]] = {}
        self._last = datetime.min.replace(tzinfo=UTC)

    def get(self, namespace: Sequence[str], key: str) -> Item | None:
        """Return the item, None if there is none.

        Raises:
            InvalidInput: A person's edit left no JSON in its document.
        """
        self._memory.config.check_enabled()
        path = path_of(namespace, key)
        try:
            item = _at(path, self._memory.document(path).text)
        except MissingDocument:
            return None
        if item is None:
            raise InvalidInput(f"document {path!r} does not hold the item of that name any more: mend its JSON")
        return item

    def put(self, namespace: Sequence[str], key: str, value: Any, *, texts: Sequence[str] | None = None) -> Item:
        """Let this be the item's value; secrets in it are masked.

        Args:
            namespace, key: Its name.
            value: JSON.
            texts: What a search finds of it; None takes all that the value says.

        Raises:
            InvalidInput: The value is not JSON, or the name, or a number in it, looks like a secret.
        """
        self._memory.config.check_enabled()
        path, mask = path_of(namespace, key), Mask(self._memory.context)
        known = None
        with suppress(MissingDocument):
            known = _at(path, self._memory.document(path).text)
        now = self._last = max(datetime.now(UTC), self._last + timedelta(microseconds=1))  # no two are made at once
        item = Item(tuple(namespace), key, mask.json(value), known.created if known else now, now)
        text = mask.text(item_md.render(item, texts=None if texts is None else mask.words(texts)))
        held = _at(path, text)
        if held is None:
            name = mask.text("/".join([*namespace, key]))
            raise InvalidInput(f"item {name!r} cannot be kept: its name, or a number in it, looks like a secret")
        self._memory.write_document(path, text)
        return held

    def remove(self, namespace: Sequence[str], key: str) -> bool:
        """Take the item away; whether there was one."""
        self._memory.config.check_enabled()
        try:
            self._memory.remove_document(path_of(namespace, key))
        except MissingDocument:
            return False
        return True

    def all(self) -> list[Item]:
        """Return every item, in its namespace oldest first, the namespace of the oldest first; not to be changed.

        Only documents that changed since the last call are read; those that hold no item any more are left out.
        """
        self._memory.config.check_enabled()
        known = {}
        for info in documents.documents(self._memory.context):
            if info.path.startswith(f"{item_md.FOLDER}/"):
                before = self._known.get(info.path)
                if before and info.stamp and before[0] == info.stamp:
                    known[info.path] = before
                else:
                    with suppress(MissingDocument):
                        known[info.path] = (info.stamp, _at(info.path, self._memory.document(info.path).text))
        self._known = known
        items = sorted((item for _, item in known.values() if item), key=lambda item: (item.created, item))
        begun = {item.namespace: number for number, item in reversed([*enumerate(items)])}
        return sorted(items, key=lambda item: begun[item.namespace])

    def search(self, query: str, among: Sequence[Item], *, limit: int) -> list[tuple[Item, float]]:
        """Return at most `limit` of these items with their relevance to a question, 0 to 1, best first."""
        self._memory.config.check_enabled()
        paths = {path_of(item.namespace, item.key): item for item in among}
        found: dict[str, float] = {}
        seen = 0

        def keep(passage: Passage) -> bool:
            nonlocal seen
            seen += 1
            return passage.path in paths

        for pool in _POOLS:
            seen, asked = 0, Query(words_of(query), pool=pool, sources=frozenset({"document"}))
            answer = self._memory.book.search(asked, limit=4 * limit, keep=keep)
            found = {}
            for hit in answer.hits:
                found.setdefault(hit.passage.path, hit.relevance)
            if len(found) >= min(limit, len(paths)) or (seen < pool and len(answer.hits) < 4 * limit):
                break
        return [(paths[path], relevance) for path, relevance in found.items()][:limit]


def _at(path: str, text: str) -> Item | None:
    """Return the item that the document holds, unless it is another's: a copy, or one whose name was edited."""
    item = item_md.parse(text)
    return item if item and path_of(item.namespace, item.key) == path else None


def fits(value: Any, wanted: Any) -> bool:
    """Return whether a value passes a filter: equal, containing its fields, or as `$eq`, `$ne`, `$gt`… compare.

    Raises:
        InvalidInput: No such comparison.
    """
    if isinstance(wanted, Mapping) and any(name.startswith("$") for name in wanted):
        return all(_compares(value, operator, other) for operator, other in wanted.items())
    if isinstance(wanted, Mapping):
        return isinstance(value, Mapping) and all(fits(value.get(name), inner) for name, inner in wanted.items())
    if isinstance(wanted, list | tuple):
        return isinstance(value, list) and len(value) == len(wanted) and all(map(fits, value, wanted))
    return bool(value == wanted)


def _compares(value: Any, operator: str, other: Any) -> bool:
    """Return whether a comparison holds; what is no number is neither less nor greater."""
    if operator in ("$eq", "$ne"):
        return bool(value == other) == (operator == "$eq")
    if operator not in _ORDER:
        raise InvalidInput(f"no operator {operator!r} of a filter: there are $eq, $ne, {', '.join(_ORDER)}")
    try:
        return bool(_ORDER[operator](float(value), float(other)))
    except (TypeError, ValueError, OverflowError):
        return False
