"""LangGraph's long-term store over a book: items are documents that a person reads, found by the book's search."""

from __future__ import annotations

from asyncio import to_thread
from collections.abc import Iterable
from copy import deepcopy
from typing import Any

from memorybook.errors import InvalidInput, MissingExtra
from memorybook.formats.item_md import Item
from memorybook.frameworks.key_value import Items, fits
from memorybook.memory import Memory

try:
    from langgraph.store import base
except ImportError:
    raise MissingExtra("the store needs the package langgraph: pip install 'memorybook[langgraph]'") from None


class BookStore(base.BaseStore):
    """A `BaseStore` over an open memory. Items do not expire; `index` says which of their texts a search finds."""

    def __init__(self, memory: Memory) -> None:
        self._items = Items(memory)

    def batch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Carry out operations: what is read is as it was before the batch, of puts to one item the last one holds.

        Raises:
            InvalidInput: No such operation or operator of a filter, or a value that cannot be kept.
            Unavailable: Memory is switched off.
        """
        puts: dict[Any, base.PutOp] = {}
        results: list[base.Result] = []
        for op in ops:
            match op:
                case base.GetOp():
                    item = self._items.get(op.namespace, op.key)
                    results.append(item and _item(base.Item, item))
                case base.SearchOp():
                    results.append(self._search(op))
                case base.ListNamespacesOp():
                    every = {item.namespace for item in self._items.all()}
                    matching = {name for name in every if all(_matches(name, c) for c in op.match_conditions or ())}
                    names = sorted({name[: op.max_depth] for name in matching})
                    results.append(names[op.offset : op.offset + op.limit])
                case base.PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise InvalidInput(f"no operation of a store: {op!r}")
        for op in puts.values():
            if op.value is None:
                self._items.remove(op.namespace, op.key)
                continue
            paths = None if op.index is None else op.index or ()
            texts = paths and [text for path in paths for text in base.get_text_at_path(op.value, path)]
            self._items.put(op.namespace, op.key, dict(op.value), texts=texts)
        return results

    async def abatch(self, ops: Iterable[base.Op]) -> list[base.Result]:
        """Carry out operations in a thread, see `batch`."""
        return await to_thread(self.batch, [*ops])

    def _search(self, op: base.SearchOp) -> list[base.SearchItem]:
        depth, end = len(op.namespace_prefix), op.offset + op.limit
        items = [item for item in self._items.all() if item.namespace[:depth] == tuple(op.namespace_prefix)]
        values = ((item, item.value if isinstance(item.value, dict) else {}) for item in items)
        wanted = (op.filter or {}).items()
        items = [item for item, value in values if all(fits(value.get(name), each) for name, each in wanted)]
        scores: dict[Any, float] = {}
        if op.query and op.query.strip() and items and end > 0:
            found = self._items.search(op.query, items, limit=end)
            scores = {item[:2]: score for item, score in found}
            items = [*(item for item, _ in found), *(item for item in items if item[:2] not in scores)]
        return [_item(base.SearchItem, each, score=scores.get(each[:2])) for each in items[op.offset : end]]


def _item(kind: Any, item: Item, **more: Any) -> Any:
    times = {"created_at": item.created, "updated_at": item.updated}
    return kind(namespace=item.namespace, key=item.key, value=deepcopy(item.value), **times, **more)


def _matches(namespace: tuple[str, ...], condition: base.MatchCondition) -> bool:
    wanted = condition.path
    if condition.match_type == "suffix":
        namespace, wanted = namespace[::-1], wanted[::-1]
    return len(namespace) >= len(wanted) and all(w in ("*", n) for n, w in zip(namespace, wanted, strict=False))
