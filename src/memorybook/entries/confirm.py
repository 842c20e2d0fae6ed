"""Saying that an entry still holds, and asking a person about those that nobody confirmed for long."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from memorybook import locale
from memorybook.book import fade
from memorybook.book.verified import unconfirmed
from memorybook.entries.match import Proposed
from memorybook.entries.read import known
from memorybook.entries.review import CONFIRM, ids_of, key, key_of
from memorybook.errors import Conflict, NotFound
from memorybook.model import Change, Entry, Reinforce, Update
from memorybook.text.splitting import entry_passage

if TYPE_CHECKING:
    from memorybook.context import Context
    from memorybook.results import Known

MOST_ASKED = 10
"""Entries that a person is asked about in one run."""


def confirm(context: Context, id: str, *, lasting: bool | None = None) -> Known:
    """See `Memory.confirm`. What was said or confirmed today already is left as it is."""
    book = context.book
    entry = next((one for one in book.entries() if one.id == id), None)
    if entry is None:
        raise locale.error(NotFound, "problems.no_entry", name=repr(id))
    if entry.superseded_by is not None:
        raise locale.error(Conflict, "problems.confirm_replaced", name=repr(id), other=repr(entry.superseded_by))
    today = book.now().date()
    changes: list[Change] = []
    if entry.confirmed_on is None or entry.confirmed_on < today:
        changes.append(Reinforce(id=id, reason="confirmed", confirms=True))
    fields: dict[str, bool] = {} if lasting in (None, entry.lasting) else {"lasting": bool(lasting)}
    if entry.archived and not (entry.expires and entry.expires < today):
        fields["archived"] = False
    if fields:
        changes.append(Update(id=id, fields=fields, reason="confirmed"))
    result = book.apply(changes, actor=context.actor, door=context.door, kind="confirm")
    [now] = known(book, [next((one.entry for one in reversed(result.outcomes) if one.entry), entry)])
    return now._replace(operation=result.operation.id if result.operation else None)


def to_confirm(context: Context, entries: Mapping[str, Entry], planned: Iterable[Proposed]) -> list[Proposed]:
    """Propose to confirm what nobody did for longer than its kind holds, the strongest first, a few at a time.

    Entries of other proposals are left out, those that came in or were said in the last days, and those of which a
    person did not want to be asked.
    """
    today, journal = context.book.now().date(), context.book.journal
    since = unconfirmed(context.config.stale, today)
    taken = {id for each in planned for change in each.changes for id in ids_of(change)}
    bound = today - timedelta(fade.GRACE_DAYS)
    current = [one for one in entries.values() if one.state == "active" and one.id not in taken]
    current = [one for one in current if one.last_activated < bound]
    asked = [(one, day) for one in current if (day := since(entry_passage(one)))]
    asked.sort(key=lambda each: (each[0].pinned, fade.strength(each[0], today)), reverse=True)
    found = [
        Proposed(CONFIRM, (Reinforce(id=one.id, reason="confirmed", confirms=True),), f"not confirmed since {day}")
        for one, day in asked
    ]
    rejected = {key_of(each.changes) for each in journal.proposals(state="rejected", kind=CONFIRM)}
    return [each for each in found if key(each.changes, entries) not in rejected][:MOST_ASKED]
