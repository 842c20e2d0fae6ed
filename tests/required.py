"""Proof that a text which fits a regular expression holds one of some literals, read off its parse tree.

Used to show that no sieve ever keeps a pattern from a text that it fits. White space counts as one
space and case does not count, as in `memorybook.text.sentences.fold`.
"""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from itertools import product
from typing import Any

_MANY = 400
"""Spellings of a part that are followed; a part with more may be any text."""


def requires(pattern: str, hints: Iterable[str]) -> bool:
    """Whether every text in which the pattern is found holds one of the hints. False also when that is not seen."""
    parse: Any = import_module("re._parser").parse
    return _sequence_requires(parse(pattern), tuple(hints))


def _sequence_requires(items: Any, hints: tuple[str, ...]) -> bool:
    run = {""}
    for item in items:
        if _item_requires(item, hints):
            return True
        spelled = _spellings(item)
        if spelled is None:
            run = {""}
            continue
        both = {before + after for before, after in product(run, spelled)}
        run = both if len(both) <= _MANY else spelled
        if _all_hold(run, hints):
            return True
    return False


def _all_hold(texts: set[str], hints: tuple[str, ...]) -> bool:
    return all(any(hint in text for hint in hints) for text in texts)


def _item_requires(item: Any, hints: tuple[str, ...]) -> bool:
    name, value = str(item[0]), item[1]
    if name == "SUBPATTERN":
        return _sequence_requires(value[3], hints)
    if name == "ATOMIC_GROUP":
        return _sequence_requires(value, hints)
    if name == "BRANCH":
        return all(_sequence_requires(branch, hints) for branch in value[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
        return value[0] >= 1 and _sequence_requires(value[2], hints)
    return False


def _spellings(item: Any) -> set[str] | None:
    """Every text that the part can stand for, folded; None if there are too many."""
    name, value = str(item[0]), item[1]
    if name == "LITERAL":
        return {chr(value).lower()}
    if name == "IN":
        return _class_spellings(value)
    if name in ("AT", "ASSERT", "ASSERT_NOT"):
        return {""}
    if name == "SUBPATTERN":
        return _sequence_spellings(value[3])
    if name == "BRANCH":
        return _united(_sequence_spellings(branch) for branch in value[1])
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        return _repeated(value[0], value[1], _sequence_spellings(value[2]))
    return None


def _class_spellings(members: Any) -> set[str] | None:
    spelled: set[str] = set()
    for kind, value in members:
        if str(kind) == "LITERAL":
            spelled.add(chr(value).lower())
        elif str(value) == "CATEGORY_SPACE":
            spelled.add(" ")
        else:
            return None
    return spelled


def _sequence_spellings(items: Any) -> set[str] | None:
    run = {""}
    for item in items:
        spelled = _spellings(item)
        if spelled is None or len(run) * len(spelled) > _MANY:
            return None
        run = {before + after for before, after in product(run, spelled)}
    return run


def _united(parts: Iterable[set[str] | None]) -> set[str] | None:
    united: set[str] = set()
    for part in parts:
        if part is None:
            return None
        united |= part
    return united if len(united) <= _MANY else None


def _repeated(least: int, most: int, part: set[str] | None) -> set[str] | None:
    if part == {" "}:
        return {" "} if least else {"", " "}
    if part is None or most > 2:
        return None
    return {"".join(chosen) for times in range(least, most + 1) for chosen in product(part, repeat=times)}
