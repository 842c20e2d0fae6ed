"""What a file remembers by itself, taken into a book: entries, and the notes of its days."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from memorybook.book import fade
from memorybook.book.transaction import Draft, Outcome
from memorybook.entries.durable_notes import KINDS, notes_of
from memorybook.entries.mask import Mask
from memorybook.entries.read_reply import category_of
from memorybook.exchange.importers import Page, Statement
from memorybook.forget.tombstones import FORGOTTEN, remembered, unnamed
from memorybook.formats import memory_md, notes
from memorybook.model import Add, Append, Change, Discarded, Entry
from memorybook.sessions.memorize import BY_IMPORT
from memorybook.text.screen import screen
from memorybook.text.tokens import digest, normalise

if TYPE_CHECKING:
    from memorybook.context import Context

_WIDTH = 4000
_CATEGORIES = {kind: category for category, kind in KINDS.items()}


class Stated(NamedTuple):
    """What became of statements.

    Attributes:
        entries, strengthened, notes: How many were written, or are said once more.
        known: How many were imported before, or stand in the book.
        redacted: Secrets masked in them.
        skipped: Texts that were not taken, with the reason.
    """

    entries: int = 0
    strengthened: int = 0
    notes: int = 0
    known: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()


class _Wish(NamedTuple):
    """A change that a statement asks for, and the text and key by which it is known again."""

    change: Change
    text: str
    key: str


def take(context: Context, found: Sequence[Statement | Page], *, format: str, name: str, draft: Draft | None) -> Stated:
    """Write what is new of these, in one operation; with a draft, only into that.

    Args:
        context: The book's.
        found: The statements.
        format: Name of their format.
        name: Of their file.
        draft: Where to work them in for a dry run; None writes.
    """
    mask = Mask(context)
    name = mask.text(name)
    skipped: list[tuple[str, str]] = []
    wishes = list(_wishes(context, found, mask, name, skipped))
    kept = remembered(context, [wish.text for wish in wishes])
    gone = [wish for wish in wishes if not kept(wish.text)]
    skipped += [("(forgotten)", FORGOTTEN) for wish in gone]
    new = [wish for wish in wishes if kept(wish.text)]
    known = _known(context, new, f"import:{format}", draft)
    new = [wish for wish in new if wish.key not in known]
    left = [Discarded(text=text, reason=reason) for text, reason in skipped if reason != FORGOTTEN]
    left += [unnamed(wish.text) for wish in gone] if draft is None else []
    outcomes = _done(context, new, left, f"import:{format}", draft)
    kinds = [one.applied.kind if one.applied is not None else "" for one in outcomes]
    return Stated(
        entries=kinds.count("add"),
        strengthened=kinds.count("reinforce"),
        notes=kinds.count("append"),
        known=len(wishes) - len(gone) - len(new) + kinds.count(""),
        redacted=mask.count if new else 0,
        skipped=tuple(skipped),
    )


def _done(
    context: Context, new: Sequence[_Wish], left: Sequence[Discarded], scope: str, draft: Draft | None
) -> tuple[Outcome, ...]:
    if draft is not None:
        return tuple(draft.do(wish.change) for wish in new)
    if not new:
        return ()
    changes = [wish.change for wish in new]
    result = context.book.apply(changes, actor=context.actor, door=BY_IMPORT, kind="import", discarded=left)
    operation = result.operation.id if result.operation else ""
    keys = [wish.key for wish in new]
    context.book.journal.mark_memorized(scope, *keys, operation=operation, time=context.book.now())
    return result.outcomes


def _known(context: Context, wishes: Sequence[_Wish], scope: str, draft: Draft | None) -> set[str]:
    """Keys of what an import that stands has brought, and of what entries that stand say."""
    journal = context.book.journal
    undone = journal.undone()
    standing = {normalise(entry.text) for entry in context.book.entries()}
    known: set[str] = set()
    for wish in wishes:
        operation = journal.memorized(scope, wish.key)
        said = isinstance(wish.change, Add) and (
            normalise(wish.text) in standing or (draft is not None and draft.saying(wish.text) is not None)
        )
        if said or (operation is not None and operation not in undone):
            known.add(wish.key)
    return known


# --- what is wished ------------------------------------------------------------------------------


def _wishes(
    context: Context, found: Sequence[Statement | Page], mask: Mask, name: str, skipped: list[tuple[str, str]]
) -> Iterator[_Wish]:
    for one in found:
        if isinstance(one, Page):
            yield from _of_page(context, one, mask, name, skipped)
            continue
        text = mask.text(" ".join(one.text.split()))
        reason = screen(text)
        if reason is not None:
            skipped.append((text, reason))
        else:
            yield _Wish(
                Add(entry=_entry(context, one, text, mask, name), reason=f"imported from {name}"), text, _key(one)
            )


def _key(one: Statement) -> str:
    return digest(f"{one.key}\0{one.text}")


def _entry(context: Context, one: Statement, text: str, mask: Mask, name: str) -> Entry:
    now = context.book.now()
    return Entry(
        id=memory_md.new_id(()),
        text=text,
        category=category_of(one.category),
        score=fade.importance_score("medium"),
        scored=now.date(),
        last_activated=now.date(),
        created=one.time or one.changed or now,
        source=f"import:{name}",
        tags=tuple(tag for tag in mask.words(one.tags) if not screen(re.sub(r"[-_/]+", " ", tag))),
        expires=one.expires,
        archived=one.expires is not None and one.expires < now.date(),
        trust="import",
        metadata=mask.json(one.metadata),
    )


def _of_page(context: Context, page: Page, mask: Mask, name: str, skipped: list[tuple[str, str]]) -> Iterator[_Wish]:
    now = context.book.now()
    found, left = notes_of(mask.text(page.text), now=page.time or now, limit=len(page.text), width=_WIDTH, every=True)
    skipped += [(each.text, each.reason) for each in left if each.reason not in ("empty", "duplicate")]
    for note in found:
        if page.time is None:
            category = _CATEGORIES.get(note.kind or "", "fact")
            one = Statement(note.text, key="", category=category, tags=note.tags)
            yield _Wish(
                Add(entry=_entry(context, one, note.text, mask, name), reason=f"imported from {name}"),
                note.text,
                _key(one),
            )
        else:
            path, line = notes.daily_path(context.book.day(note.time)), notes.render_line(note)
            yield _Wish(
                Append(path=path, line=line, reason=f"imported from {name}"), note.text, digest(f"{path}\0{note.text}")
            )
