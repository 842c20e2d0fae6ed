"""What extraction finds, as frozen values: by rules or by a model, before anything is matched or stored."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from memorybook.book.fade import importance_score
from memorybook.model import Category, Discarded, Trust

if TYPE_CHECKING:
    from memorybook.formats.llm_messages import Usage


Importance = Literal["high", "medium", "low"] | float
"""A word, or a number 0..1."""

Audience = Literal["agent", "people"]
"""Who is spoken to: an agent, who can be told to remember and how to behave, or people among themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A statement that may become an entry.

    Attributes:
        content: The statement, in the language of the talk, to be read by itself.
        category: See `Category`.
        importance: How firmly it was said: `high`, `medium` or `low`, or a number 0..1.
        tags: Words for finding it, without `#`.
        entities: Names in it, at most 8.
        group: Where it belongs, `work/api`; None if nobody filed it. Rules do not file.
        turn_ids: Turns it rests on, in order, at least one.
        quote: The words of one of these turns that it rests on.
        expires: Day a todo lapses; None if it names none.
        trust: The lowest of the turns it rests on: `user`, `agent`, `tool`, `import` for an imported session, `suspect`
            for what a person insists on in a turn that tries to instruct its reader.
        reinforces: Ids of known entries that say the same.
        contradicts: Ids of known entries that are no longer true by it, finished todos among them.
        disputes: Ids of known entries of which only a person can say whether they are no longer true by it.
        told: Whether the user asked in so many words that it be remembered, or always be done so.
        doubt: Why it waits for a person's word, as it does not rest on what was said; "" if it does.
        changes: Whether rules are to find what is no longer so by it, as no model has looked.
    """

    content: str
    category: Category
    importance: Importance
    turn_ids: tuple[str, ...]
    quote: str
    tags: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    group: str | None = None
    expires: date | None = None
    trust: Trust = "user"
    reinforces: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    disputes: tuple[str, ...] = ()
    told: bool = False
    doubt: str = ""
    changes: bool = False

    @property
    def score(self) -> float:
        """What its importance is worth as the score of an entry."""
        return importance_score(self.importance)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteCandidate:
    """Something that happened or is planned, worth a line in the day's notes but not an entry.

    Attributes:
        text: One line, to be read by itself.
        time: When it was said, UTC.
        turn_id: Turn it rests on.
        kind: Always `event`.
    """

    text: str
    time: datetime
    turn_id: str
    kind: str = "event"


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetRequest:
    """A command to forget something, or not to keep it, as it was said; nothing was stored for it.

    Attributes:
        text: The user's words.
        turn_id: Turn they stand in.
        ids: Known entries that are meant, where a model said so; () leaves finding them to the caller.
        said: What the words point at, where they name nothing (`forget what I just said`): the statement beside them
            or the turn before; "" if they name it, or nothing stands there.
        said_in: Turn in which that stands; "" if `said` is.
    """

    text: str
    turn_id: str
    ids: tuple[str, ...] = ()
    said: str = ""
    said_in: str = ""


class Skipped(NamedTuple):
    """A text that was left out, and why."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """What a talk holds that is worth keeping.

    Attributes:
        candidates: In the order in which they were first said, no two alike.
        notes: The same; only rules find them.
        skipped: What of the talk was refused, with the reason: what had a cue, or turns that instruct.
        discarded: What a model found and was set aside, with the reason.
        forget_requests: Commands to forget; carrying them out is the caller's.
        summary: What the talk was about; "" from rules (`sessions.summarize` writes theirs).
        decisions: What was decided, as sentences; () from rules.
        open_questions: What was left open; () from rules.
        usage: What the model's calls cost; None if none was called.
    """

    candidates: tuple[Candidate, ...] = ()
    notes: tuple[NoteCandidate, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    forget_requests: tuple[ForgetRequest, ...] = ()
    summary: str = ""
    decisions: tuple[str, ...] = ()
    open_questions: tuple[str, ...] = ()
    usage: Usage | None = None
