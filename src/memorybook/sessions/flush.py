"""Flush: durable notes out of a text or a conversation that is about to be lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from memorybook.entries.candidate import Extraction, Skipped
from memorybook.entries.durable_notes import PRIVATE_REASONS, clean, notes_of
from memorybook.entries.extract import extract
from memorybook.entries.ground import ground
from memorybook.entries.mask import Mask
from memorybook.entries.remember import note_change
from memorybook.errors import ConfigError, InvalidInput, LLMFailed, Unavailable
from memorybook.forget.incoming import without_forgotten_turns
from memorybook.forget.tombstones import FORGOTTEN, remembered, unnamed
from memorybook.model import Discarded, Note, Turn
from memorybook.results import Flushed
from memorybook.sessions.turns import mask_turns, turns_of, zone_of
from memorybook.sessions.waiting_sessions import sure

if TYPE_CHECKING:
    from memorybook.context import Context


def flush(context: Context, text: str | None, messages: Sequence[Mapping[str, Any]] | None) -> Flushed:
    """See `Memory.flush`."""
    if (text is None) == (messages is None):
        raise InvalidInput("flush takes a text or messages, one of the two")
    if not isinstance(text, str | None):
        raise InvalidInput(f"text must be a string, not {type(text).__name__}; give a list of turns as messages=")
    mask = Mask(context)
    book = context.book
    found: list[Note] = []
    skipped: list[Skipped] = []
    cut: list[Discarded] = []
    if text is not None:
        found, skipped = notes_of(mask.text(text), now=book.now())
    else:
        left_out: list[Skipped] = []
        turns = mask_turns(mask, turns_of(context, messages or ()))
        left = without_forgotten_turns(book, turns, now=book.now())
        said = [clean(turn, left_out) for turn in left if turn.text.strip()]
        cut = [unnamed(was.text) for turn, was in zip(left, turns, strict=True) if turn != was]
        if said or not turns:
            found, skipped = notes_of(_extracted(context, said, left_out), now=book.now())
            skipped = [*left_out, *skipped]
    kept = remembered(context, [note.text for note in found] if messages is not None else [])
    gone = [note for note in found if not kept(note.text)]
    found = [note for note in found if note not in gone]
    reasons = [(each.text, each.reason) for each in skipped] + [(note.text, FORGOTTEN) for note in gone]
    reasons += [(each.text, each.reason) for each in cut]
    changes = [note_change(context, n.text, kind=n.kind, tags=n.tags, reason="flushed") for n in found]
    lost = [_journaled(each) for each in skipped if each.text]
    lost += [*cut, *(unnamed(note.text) for note in gone)]
    result = book.apply(changes, actor=context.actor, door=context.door, kind="flush", discarded=lost)
    written = []
    for note, outcome in zip(found, result.outcomes, strict=True):
        if outcome.applied is None:
            reasons.append((note.text, "duplicate"))
        else:
            written.append((outcome.path, outcome.line))
    return Flushed(tuple(written), tuple(reasons), mask.count, result.operation.id if result.operation else None)


def _journaled(left: Skipped) -> Discarded:
    """What is left out, as the journal keeps it: without words that were not to be kept."""
    if left.reason in PRIVATE_REASONS:
        return unnamed(left.text, left.reason)
    return Discarded(text=left.text, reason=left.reason)


def _extracted(context: Context, turns: Sequence[Turn], skipped: list[Skipped]) -> Extraction:
    """What turns hold that is worth keeping: by the model where there is one, else, or where it fails, by rules."""
    now, zone = context.book.now(), zone_of(context)
    try:
        llm = sure(context.metered())
        if llm is not None:
            language, mask = context.config.language, Mask(context).text
            found = extract(turns, session=None, now=now, llm=llm, language=language, zone=zone, mask=mask)
            grounded = ground(found.candidates, turns, now=now, zone=zone)
            doubted = [Discarded(text=one.content, reason=one.doubt, quote=one.quote) for one in grounded if one.doubt]
            kept = tuple(one for one in grounded if not one.doubt)
            return replace(found, candidates=kept, discarded=(*found.discarded, *doubted))
    except (LLMFailed, ConfigError, Unavailable) as error:
        skipped.append(Skipped("", f"rules looked, not a model: {error}"))
    return extract(turns, session=None, now=now)
