"""Rewriting an entry as somebody asks for, by the language model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook import validate as given
from memorybook.entries.mask import Mask
from memorybook.entries.read import known
from memorybook.entries.remember import reworded
from memorybook.entries.rewrite import revise as rewrite
from memorybook.errors import Conflict, NotFound, Unavailable
from memorybook.model import Entry, Update
from memorybook.results import Known

if TYPE_CHECKING:
    from memorybook.context import Context

MOST_INSTRUCTION = 4_000
"""Characters of an instruction."""


class Revised(NamedTuple):
    """What became of an entry.

    Attributes:
        known: The entry as it stands now.
        before: Its text before.
        refused: Why the model left it as it was; "" if it did what was asked.
        operation: Id of the operation; None if the text is as it was.
        redacted: How many secrets were masked in the instruction and the entry.
        usage: What the model's calls took, and its name.
    """

    known: Known
    before: str
    refused: str
    operation: str | None
    redacted: int
    usage: Mapping[str, Any]

    def json(self) -> dict[str, Any]:
        """`{"entry": {…}, "before", "changed", "refused", "operation", "redacted", "usage"}`."""
        return {
            **self.known.json(),
            "before": self.before,
            "changed": self.operation is not None,
            "refused": self.refused,
            "operation": self.operation,
            "redacted": self.redacted,
            "usage": dict(self.usage),
        }


def revise(context: Context, id: str, instruction: str) -> Revised:
    """Let the language model rewrite an entry's text.

    Numbers, dates and names that the instruction does not name stay as they are, and none are made up; a model that
    does not keep to it is asked once more. If it refuses, the entry is left as it was.

    Args:
        id: Of the entry.
        instruction: What to change, in any language; secrets in it are masked.

    Raises:
        NotFound: No entry has that id.
        InvalidInput: A blank instruction, or one of over 4,000 characters.
        Unavailable: There is no language model.
        LLMFailed: The model gave no text that can be used; the entry is as it was.
        Conflict: Somebody changed the entry meanwhile.
    """
    mask = Mask(context)
    wanted = mask.text(given.text_of(instruction, "instruction", limit=MOST_INSTRUCTION).strip())
    book = context.book
    entry = _entry(context, id)
    importance, wanted = given.asked_importance(wanted)
    if importance is not None:
        now = _with_importance(context, id, importance)
        if not wanted:
            return Revised(now, entry.text, "", now.operation, mask.count, {})
        entry = now.entry
    llm = context.metered()
    if llm is None:
        raise Unavailable(
            f"to change {id!r} by an instruction needs a language model and none is set (llm.model): "
            "give its new text instead"
        )
    revision = rewrite(
        replace(entry, text=mask.text(entry.text)),
        wanted,
        llm=llm,
        now=book.now(),
        language=context.config.language,
        zone=book.zone,
    )
    usage = {**revision.usage.json(), "model": llm.name}
    text = mask.text(revision.text)
    if revision.refused or text == entry.text:
        refused = revision.refused or "the text is as it should be already"
        return Revised(known(book, [entry])[0], entry.text, refused, None, mask.count, usage)
    change = Update(id=id, fields=reworded(context, id, text), reason=f"revised: {wanted[:200]}")
    with book.documents.lock():  # the model took its time
        if _entry(context, id).text != entry.text:
            raise Conflict(f"entry {id!r} was changed while the model was at work: look at it, and ask again")
        result = book.apply([change], actor=context.actor, door=context.door, kind="revise", usage=usage)
    operation = result.operation.id if result.operation else None
    now = known(book, [result.outcomes[0].entry or entry])[0]
    return Revised(now, entry.text, "", operation, mask.count, usage)


def _with_importance(context: Context, id: str, importance: str | float) -> Known:
    """Set the importance alone."""
    from memorybook.entries.remember import update

    return update(
        context, id, text=None, category=None, importance=importance, tags=None, group=None, expires=None, metadata=None
    )


def _entry(context: Context, id: str) -> Entry:
    for entry in context.book.entries():
        if entry.id == id:
            return entry
    raise locale.error(NotFound, "problems.no_entry", name=repr(id))
