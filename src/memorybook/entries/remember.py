"""Writing by verb: remember, append, flush, update. Each masks secrets and ends in one `Book.apply`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from memorybook.book import fade
from memorybook.entries.read import Mask, known
from memorybook.entries.same import lowest
from memorybook.errors import InvalidInput
from memorybook.formats import memory_md, session_md
from memorybook.formats.sections import BY_AGENT
from memorybook.model import CATEGORY_ALIASES, Add, Append, Category, Entry, Note, Update
from memorybook.results import NAMED, Appended, Known, Remembered
from memorybook.text.screen import screen

if TYPE_CHECKING:
    from memorybook.context import Context


def remember(
    context: Context,
    text: str,
    *,
    category: Category,
    importance: str | float,
    tags: Sequence[str],
    group: str | None,
    expires: str | None,
    metadata: Mapping[str, Any],
    session: str | None,
    named: str = "",
) -> Remembered:
    """See `Memory.remember`."""
    mask = Mask(context)
    text = mask.text(text.strip())
    book = context.book
    now = book.now()
    lapses = date.fromisoformat(expires) if expires else None
    entry = Entry(
        id=memory_md.new_id(()),
        text=text,
        category=category,
        score=fade.importance_score(importance),
        scored=now.date(),
        last_activated=now.date(),
        created=now,
        session=session and mask.text(session),
        archived=lapses is not None and lapses < now.date(),
        tags=mask.words(tags),
        group=mask.text(group) if group else None,
        expires=lapses,
        trust="suspect" if screen(text) else context.actor,
        metadata=mask.json(metadata),
        unknown=_alias(named),
    )
    change = Add(entry=entry, reason="remembered")
    result = book.apply([change], actor=context.actor, door=context.door, session=entry.session, kind="remember")
    outcome = result.outcomes[0]
    standing = known(book, [outcome.entry or entry])[0]
    if outcome.applied is None:
        return Remembered(standing, "duplicate", mask.count)
    operation = result.operation.id if result.operation else None
    if outcome.applied.kind == "add":
        return Remembered(standing, "created", mask.count, operation)
    return Remembered(standing, "strengthened", mask.count, operation)


def _alias(name: str) -> tuple[tuple[str, str], ...]:
    """What an entry keeps of the name of its category, if that is an alias."""
    return ((NAMED, name),) if name in CATEGORY_ALIASES else ()


def append(context: Context, text: str, *, kind: str | None, tags: Sequence[str], section: str | None) -> Appended:
    """See `Memory.append`."""
    mask = Mask(context)
    text, tags = mask.text(text), mask.words(tags)
    kind = mask.text(kind) if kind else None
    book = context.book
    if section is None:
        change = note_change(context, text, kind=kind, tags=tags, reason="appended")
    else:
        section, said = mask.text(section), " ".join(text.split()).removeprefix("- ")
        item = " ".join([*([f"[{kind}]"] if kind else []), said, *(f"#{tag}" for tag in tags)])
        line = _by_whom(context, section, " ".join(item.split()))
        change = Append(path="MEMORY.md", line=line, section=section, reason="appended")
    result = book.apply([change], actor=context.actor, door=context.door, kind="append")
    outcome = result.outcomes[0]
    operation = result.operation.id if result.operation else None
    return Appended(outcome.path, outcome.line, outcome.applied is None, mask.count, operation)


def _by_whom(context: Context, section: str, item: str) -> str:
    """The list item, stamped where no person adds it; as it is if it stands there already."""
    if context.actor == "user" or context.book.memory().item_line(section, item) is not None:
        return item
    return item + BY_AGENT


def note_change(context: Context, text: str, *, kind: str | None, tags: Sequence[str], reason: str) -> Append:
    """The change that appends a note, stamped now, to the file of the book's day."""
    now = context.book.now()
    note = Note(time=now, text=" ".join(text.split()), kind=kind, tags=tuple(tags))
    return Append(path=session_md.daily_path(context.book.day(now)), line=session_md.render_line(note), reason=reason)


def update(
    context: Context,
    id: str,
    *,
    text: str | None,
    category: Category | None,
    importance: str | float | None,
    tags: Sequence[str] | None,
    group: str | None,
    expires: str | None,
    metadata: Mapping[str, Any] | None,
    named: str = "",
) -> Known:
    """See `Memory.update`."""
    mask = Mask(context)
    today = context.book.now().date()
    fields: dict[str, Any] = {}
    if text is not None:
        fields |= reworded(context, id, mask.text(text.strip()))
    if category is not None:
        kept = next((each.unknown for each in context.book.entries() if each.id == id), ())
        fields |= {"category": category, "unknown": (*(each for each in kept if each[0] != NAMED), *_alias(named))}
    if importance is not None:
        fields |= {"score": fade.importance_score(importance), "scored": today, "last_activated": today}
    if tags is not None:
        fields["tags"] = mask.words(tags)
    if group is not None:
        fields["group"] = mask.text(group) if group else None
    if expires is not None:
        fields["expires"] = lapses = date.fromisoformat(expires) if expires else None
        if lapses and lapses < today and context.actor != "user" and _is_of_a_person(context, id):
            raise InvalidInput(f"a person's word stands behind entry {id!r}: it does not lapse at an agent's word")
    if metadata is not None:
        fields["metadata"] = mask.json(metadata)
    if not fields:
        raise InvalidInput("nothing to update: give a text, category, importance, tags, group, expires or metadata")
    return set_fields(context, id, fields, reason="updated")._replace(redacted=mask.count)


def _is_of_a_person(context: Context, id: str) -> bool:
    return any(entry.id == id and entry.trust == "user" for entry in context.book.entries())


def reworded(context: Context, id: str, text: str) -> dict[str, Any]:
    """The fields of an entry that has another text from now on: it is trusted no more than whoever worded it.

    `suspect` if the text tries to instruct its reader; a text that stays as it is keeps its trust.
    """
    if screen(text):
        return {"text": text, "trust": "suspect"}
    entry = next((one for one in context.book.entries() if one.id == id), None)
    if entry is None or entry.text == text:
        return {"text": text}
    trust = lowest(entry.trust, context.actor)
    return {"text": text} if trust == entry.trust or context.actor == "user" else {"text": text, "trust": trust}


def set_fields(context: Context, id: str, fields: Mapping[str, Any], *, reason: str) -> Known:
    """Set fields of the entry as it stands now."""
    change = Update(id=id, fields=fields, reason=reason)
    kind = "update" if reason == "updated" else "pin"
    result = context.book.apply([change], actor=context.actor, door=context.door, kind=kind)
    entry = result.outcomes[0].entry
    [now] = known(context.book, [entry] if entry else [])
    return now._replace(operation=result.operation.id if result.operation else None)
