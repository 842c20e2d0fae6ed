"""What the forms of the page do: each calls one verb with a person's words and says what came of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import uuid4

from memorybook.errors import MemoryBookError, NotFound
from memorybook.http.http_messages import Refusal, entry_revision, only_a_person
from memorybook.memory import Memory
from memorybook.results import Happened, Known, Receipt

Fields = Mapping[str, Sequence[str]]

_KEPT = 100
_receipts: dict[tuple[str, str], Receipt] = {}
"""The last receipts, by book and operation, until the process ends; of what was purged the counts alone."""


class Outcome(NamedTuple):
    """What a form did: its operation, and where to go instead of back."""

    operation: str | None = None
    back: str = ""


def receipt(memory: Memory, operation: str) -> Happened | None:
    """Return the operation that a page is shown after; None if there is none of that id."""
    if not operation:
        return None
    try:
        return memory.history(operation, limit=1).operations[0]
    except (MemoryBookError, IndexError):
        return None


def carry_out(memory: Memory, name: str, fields: Fields, person: bool) -> Outcome:
    """Do what a form asks. Raises Refusal for an unknown one, and for whoever is not a person."""
    do = _ACTIONS.get(name)
    if do is None:
        raise Refusal(404, "not_found", f"there is no action {name!r}")
    if not person:
        raise only_a_person("the page changes the book")
    return do(memory, fields)


def _one(fields: Fields, name: str) -> str:
    return (fields.get(name) or [""])[-1].strip()


def _remember(memory: Memory, fields: Fields) -> Outcome:
    category: Any = _one(fields, "category") or "fact"
    done = memory.remember(_one(fields, "text"), category=category, tags=_words(_one(fields, "tags")))
    return Outcome(done.operation, back=f"/memories/{done.entry.id}")


def _words(text: str) -> list[str]:
    parts = map(str.strip, text.replace("，", ",").replace("、", ",").split(","))
    return [part for part in parts if part]


def _update(memory: Memory, fields: Fields) -> Outcome:
    id = _one(fields, "id")
    known = memory.get(id)
    if not isinstance(known, Known):
        raise NotFound(f"no entry {id!r} in this book")
    names = [name for name in ("text", "category", "tags", "group", "expires") if name in fields]
    names += ["importance"] if _one(fields, "importance") else []
    wanted = {name: _one(fields, name) for name in names}
    if _one(fields, "revision") not in ("", entry_revision(known.entry)):
        more = {"now": known, "mine": wanted}
        raise Refusal(409, "conflict", f"entry {id!r} was changed meanwhile", more=more)
    values: dict[str, Any] = {name: _words(value) if name == "tags" else value for name, value in wanted.items()}
    return Outcome(memory.update(id, **values).operation)


def _forget(memory: Memory, fields: Fields) -> Outcome:
    which = {name: _one(fields, name) for name in ("query", "session", "source") if _one(fields, name)}
    verb = memory.purge if _one(fields, "how") == "purge" else memory.forget
    done: Receipt = verb(_one(fields, "target") or None, **which)  # type: ignore[arg-type]
    name = done.operation or uuid4().hex
    _receipts[memory.root, name] = done._replace(notes=(), documents=()) if verb == memory.purge else done
    while len(_receipts) > _KEPT:
        _receipts.pop(next(iter(_receipts)))
    return Outcome(done.operation, back=f"/forget?receipt={name}")


def kept_receipt(memory: Memory, name: str) -> Receipt | None:
    """Return a receipt of this process by the id of its operation; the journal does not keep what it counts."""
    return _receipts.get((memory.root, name))


def _review(memory: Memory, fields: Fields) -> Outcome:
    """Decide one proposal (`accept` or `reject` is its id), or those that are chosen, by `word`."""
    word, ids = _one(fields, "word"), [id for id in fields.get("id", ()) if id]
    for single in ("accept", "reject"):
        if id := _one(fields, single):
            word, ids = single, [id]
    place = [(name, value) for name in ("kind", "page") if (value := _one(fields, name))]
    if not ids:
        return Outcome(back=f"/review?{urlencode(place)}")
    done = memory.accept(*ids) if word == "accept" else memory.reject(*ids, reason=_one(fields, "reason"))
    counts = [(name, len(getattr(done, name))) for name in ("accepted", "rejected", "stale", "anew")]
    whys = [("why", reason[:200]) for reason in dict.fromkeys(why for _, why in done.stale)][:5]
    operations = [operation for _, operation in done.accepted if operation]
    told = urlencode([*place, *((name, count) for name, count in counts if count), *whys], errors="replace")
    return Outcome(operations[0] if len(operations) == 1 else None, back=f"/review?{told}")


def _mend(memory: Memory, fields: Fields) -> Outcome:
    verbs: Any = {"sync": memory.sync, "rebuild": memory.rebuild, "retry": memory.retry_parked}
    if (verb := _one(fields, "verb")) not in verbs:
        raise Refusal(404, "not_found", f"there is no action {verb!r}")
    verbs[verb]()
    return Outcome()


_ACTIONS: Mapping[str, Callable[[Memory, Fields], Outcome]] = {
    "remember": _remember,
    "update": _update,
    "pin": lambda memory, fields: Outcome(
        memory.pin(_one(fields, "id"), pinned=_one(fields, "pinned") != "no").operation
    ),
    "confirm": lambda memory, fields: Outcome(memory.confirm(_one(fields, "id")).operation),
    "forget": _forget,
    "undo": lambda memory, fields: Outcome(memory.undo(_one(fields, "operation")).operation),
    "review": _review,
    "tidy": lambda memory, fields: Outcome(memory.tidy().operation),
    "mend": _mend,
}
