"""Messages on their way into the transcripts: read, masked, named as they are known there, stored."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.entries.read import Mask
from memorybook.errors import InvalidInput, NotFound
from memorybook.forget.cutting import without_forgotten_turns
from memorybook.forget.tombstones import FORGOTTEN, turn_key
from memorybook.formats.messages_json import read_messages
from memorybook.model import Session, Turn
from memorybook.text.screen import screen
from memorybook.text.sentences import without_recalled

if TYPE_CHECKING:
    from datetime import tzinfo

    from memorybook.context import Context


SOURCE = "agent"
"""What the session of an agent or a chat comes from, as the transcripts have it."""

HOSTED = "hook"
"""What the session of an agent host comes from, whose hooks tell of it; not every host tells of its end."""

GOING_ON = (SOURCE, HOSTED)
"""Sources of sessions that go on by themselves until they are ended; all others are given whole."""


def zone_of(context: Context) -> tzinfo:
    """Return the book's timezone; the machine's, with its summer time, when the setting is `local`."""
    from dateutil import tz

    return context.book.zone or tz.tzlocal()


def turns_of(context: Context, messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Read messages of a caller as turns. Raises InvalidInput if none can be read."""
    return tuple(turn for each in read_messages(messages, timezone=zone_of(context)) for turn in each.turns)


def talk_of(
    context: Context, messages: Sequence[Mapping[str, Any]], session: str | None
) -> tuple[Session, tuple[Turn, ...]]:
    """Read the messages of one session: the session as it is known, or a new one, and their turns.

    Args:
        context: Where it is to be known.
        messages: `{"role"|"speaker", "content", "timestamp", …}` in order.
        session: Its uuid or name; None takes the name that the messages give, else what they begin with.

    Raises:
        InvalidInput: No message can be read, or they name several sessions and `session` says not which.
        Conflict: Several sessions are called so.
    """
    found = read_messages(messages, timezone=zone_of(context))
    if session is None and len(found) > 1:
        names = ", ".join(repr(each.session.name) for each in found[:5])
        raise InvalidInput(f"the messages are of {len(found)} sessions ({names}): give them one by one")
    turns = tuple(turn for each in found for turn in each.turns)
    read = found[0].session
    for name in filter(None, [session] if session else [read.name or read.uuid, read.uuid]):
        with suppress(NotFound):
            read = context.book.transcripts.session(name)
            break
    else:
        now = context.book.now()  # newer than all before it
        read = replace(read, source="", created=read.created or now, updated=read.updated or now)
        if session is not None:
            is_uuid = re.fullmatch(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", session)
            read = replace(read, uuid=session, name="" if is_uuid else session)
    return read, tuple(replace(turn, session=read.uuid) for turn in turns)


# --- no echo -------------------------------------------------------------------------------------

ANSWERS = re.compile(
    r"(?:^|[^A-Za-z])(?:memory_(?:search|get|append|flush|remember|update|pin|forget|list|recall|history|why|undo|purge"
    r"|review|status)|recall_(?:memory|history|topic|session|within))$"
)
"""Names of memory's tools, as hosts call them: `mcp__memorybook__memory_search`, whatever the server is called."""


def own(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Return what was said, without what came out of a book: recalled blocks, answers of memory's tools."""
    found = []
    for turn in turns:
        if turn.role == "tool" and ANSWERS.search(turn.speaker):
            continue
        text = without_recalled(turn.text)
        if text == turn.text:
            found.append(turn)
        elif text.strip() or turn.tool_calls:
            found.append(replace(turn, text=text.strip()))
    return tuple(found)


# --- masking -------------------------------------------------------------------------------------


def mask_turns(mask: Mask, turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Mask secrets in the turns, in speakers, tool calls and metadata too."""
    speakers = {name: mask.text(name) for name in dict.fromkeys(turn.speaker for turn in turns)}
    return tuple(
        replace(
            turn,
            text=mask.text(turn.text),
            speaker=speakers[turn.speaker],
            tool_calls=tuple(mask.json(list(turn.tool_calls))),
            metadata=mask.json(turn.metadata),
        )
        for turn in turns
    )


# --- storing -------------------------------------------------------------------------------------


class Stored(NamedTuple):
    """A stored session.

    Attributes:
        session: The session in the transcripts.
        turns: Its turns up to the last given one; without transcripts only the given ones.
        new: Number of turns not stored before.
        redacted: Number of secrets masked.
        skipped: Texts left out, with the reason; for forgotten ones only the turn.
    """

    session: Session
    turns: tuple[Turn, ...]
    new: int = 0
    redacted: int = 0
    skipped: tuple[tuple[str, str], ...] = ()


def store(context: Context, session: Session, turns: Sequence[Turn], *, dry_run: bool = False) -> Stored:
    """Cut out of the turns what recall had put in, mask them, leave out what was forgotten; durable on return.

    With `dry_run` nothing is kept, and the answer is the same.
    """
    book = context.book
    mask = Mask(context)
    title, uuid = mask.text(session.title), mask.text(session.uuid)
    clean = mask_turns(mask, own(turns if uuid == session.uuid else [replace(turn, session=uuid) for turn in turns]))
    name, source = mask.text(session.name), mask.text(session.source)
    session = replace(session, uuid=uuid, name=name, source=source, title="" if screen(title) else title)
    keys = [turn_key(session.uuid, turn.id) for turn in clean]
    buried = book.journal.buried(keys)
    skipped = [(f"turn:{turn.id}", FORGOTTEN) for turn, key in zip(clean, keys, strict=True) if key in buried]
    clean = tuple(turn for turn, key in zip(clean, keys, strict=True) if key not in buried)
    known = book.transcripts.turns(session.uuid)
    here = {turn.id for turn in known}
    now = None if session.source.startswith("import:") else book.now()
    was = {turn.id: turn.text for turn in clean}
    left = without_forgotten_turns(book, clean, now=now)
    gone = [turn for turn in left if turn.text != was[turn.id] and not turn.text.strip() and turn.id not in here]
    skipped += [(f"turn:{turn.id}", FORGOTTEN) for turn in gone]
    clean = as_known([turn for turn in left if turn not in gone], known)
    if not context.config.transcripts.enabled or not clean:
        return Stored(session, clean, len(clean), mask.count, tuple(skipped))
    kept = {turn.id: turn for turn in known}
    if dry_run:
        new = tuple(turn for turn in clean if turn.id not in kept)
        kept |= {turn.id: turn for turn in new}
    else:
        new = book.transcripts.append(session, clean)
        kept = {turn.id: turn for turn in book.transcripts.turns(session.uuid)}
    given = {turn.id: turn.text for turn in clean}
    others = [one for turn in clean if (one := kept[turn.id]).text != turn.text]  # what is left of the rest is known
    given |= {turn.id: turn.text for turn in without_forgotten_turns(book, others, now=now)}
    skipped += [(turn.text, f"turn {turn.id!r} is kept as it was") for turn in clean if turn.text != given[turn.id]]
    standing = session if dry_run and not known else book.transcripts.session(session.uuid)
    ended = max((time for time in (standing.ended, session.ended) if time is not None), default=None)
    end = max(place for place, id in enumerate(kept, 1) if id in given)
    return Stored(replace(standing, ended=ended), tuple(kept.values())[:end], len(new), mask.count, tuple(skipped))


_MADE = re.compile(r"[0-9a-f]{12}")


def as_known(turns: Sequence[Turn], known: Sequence[Turn]) -> tuple[Turn, ...]:
    """Give turns that came without ids of their own the ids under which they are known.

    What the two have in common is what is known up to its end, so that a session told from its beginning and one told
    in parts come to the same.
    """
    if not known or not all(_MADE.fullmatch(turn.id) for turn in turns):
        return tuple(turns)
    said, standing = ([(turn.role, turn.speaker, turn.text, turn.time) for turn in each] for each in (turns, known))
    count, size = len(known), len(turns)
    start = next(place for place in range(count + 1) if standing[place : place + size] == said[: count - place])
    ids = [turn.id for turn in known[start : start + size]]
    return (*(replace(turn, id=id) for turn, id in zip(turns, ids, strict=False)), *turns[len(ids) :])
