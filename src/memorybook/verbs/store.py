"""Remembering a finished task, if it taught anything worth keeping."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook import arguments as given
from memorybook.answers import Known
from memorybook.formats import memory_md
from memorybook.lifecycle import fade
from memorybook.lifecycle.candidate import Candidate
from memorybook.lifecycle.lessons import Task
from memorybook.lifecycle.sentences import without_recalled
from memorybook.lifecycle.summarize import title_of
from memorybook.lifecycle.worth import Verdict, weigh
from memorybook.model import Add, Discarded, Entry
from memorybook.text.tokens import digest
from memorybook.verbs.turns import FORGOTTEN
from memorybook.verbs.read import known
from memorybook.verbs.review import propose_or_apply
from memorybook.verbs.write import Mask

if TYPE_CHECKING:
    from datetime import datetime

    from memorybook.draft import Outcome
    from memorybook.memory import Memory
    from memorybook.replies import Usage

Log = str | Iterable[str | Mapping[str, Any]]
"""A log: text, or lines, or steps as JSON objects (a message's role and content, a tool's name and output)."""

MOST_LOG = 200_000
"""Characters of a log that are looked at: its beginning and its end."""


class Kept(NamedTuple):
    """What became of one memory of a task.

    Attributes:
        known: The entry as it stands in the book; for `proposed` as it would.
        action: `created`; `strengthened`, if the same statement was known; `duplicate`, if the same session had said
            it already; `proposed`, if it waits in the review queue.
    """

    known: Known
    action: Literal["created", "strengthened", "duplicate", "proposed"]

    def json(self) -> dict[str, Any]:
        """`{"action", "type", "importance", "entry": {…}}`."""
        entry = self.known.entry
        return {"action": self.action, "type": entry.category, "importance": entry.score, **self.known.json()}


class Stored(NamedTuple):
    """What `store_if_worthwhile` found a task worth, and what it stored.

    Attributes:
        should_store: Whether anything of the task was worth keeping.
        reasoning: Why, in a sentence or two.
        score: 0..1, how likely it will help later; it is what `threshold` applies to.
        threshold: The setting `store_threshold`.
        memories: What was stored or proposed.
        discarded: What was found and set aside, with the reason.
        by: Who judged: `model`, `rules`, or "" if nothing had to be judged.
        redacted: How many secrets were masked.
        operation: Id of the operation; None if there was nothing to do or to tell.
        proposals: Ids of what waits in the review queue; what a person rejected before does not wait again.
        usage: What the model's calls took; None if none was asked.
        degraded: Why rules judged though there is a model; "" otherwise.
        disabled: True when memory is switched off, or does not store tasks: nothing was judged.
    """

    should_store: bool
    reasoning: str
    score: float
    threshold: float
    memories: tuple[Kept, ...] = ()
    discarded: tuple[Discarded, ...] = ()
    by: Literal["model", "rules", ""] = ""
    redacted: int = 0
    operation: str | None = None
    proposals: tuple[str, ...] = ()
    usage: Usage | None = None
    degraded: str = ""
    disabled: bool = False

    def json(self) -> dict[str, Any]:
        """All fields; `"memories": [{"action", "type", …}]`, `"discarded": [{"text", "reason", "quote"}]`."""
        return {
            **self._asdict(),
            "score": round(self.score, 4),
            "memories": [each.json() for each in self.memories],
            "proposals": list(self.proposals),
            "discarded": [{"text": d.text, "reason": d.reason, "quote": d.quote} for d in self.discarded],
            "usage": None if self.usage is None else self.usage.json(),
        }


def store_if_worthwhile(
    memory: Memory,
    task_goal: str,
    task_result: Any = "",
    execution_log: Log = (),
    metadata: Mapping[str, Any] | None = None,
    *,
    session_id: str | None = None,
    error: str = "",
) -> Stored:
    """Remember what a finished task taught, if it is worth at least `store_threshold`; in one operation.

    Judged by the language model in one call, or by rules where there is none or it fails (`degraded` says so).
    Memories are held against the task's own texts, secrets in which are masked first. What a person wanted forgotten
    does not come back. With `auto_store = false` nothing is judged or stored; with `require_user_confirmation` each
    memory waits in the review queue.

    Args:
        task_goal: What was to be done.
        task_result: What came of it: text, or a JSON value.
        execution_log: What was done; of a long one the beginning and the end are looked at.
        metadata: JSON object of your own, kept with each memory.
        session_id: Session that the memories belong to; None makes them everybody's.
        error: What ended the task early; "" if it came to its end.

    Raises:
        InvalidInput: A blank goal, or metadata that is no JSON object.
    """
    config, book = memory.config, memory.book
    goal = given.text_of(task_goal, "task_goal")
    extra = given.metadata_of(metadata) if metadata else {}
    if not config.enabled or not config.auto_store:
        switch = "enabled" if not config.enabled else "auto_store"
        told = f"{switch} is false: finished tasks are not remembered"
        return Stored(False, told, 0.0, config.store_threshold, disabled=True)
    mask = Mask(memory)
    task = _masked(mask, goal, as_text(task_result), lines_of(execution_log), error)
    now = book.now()
    verdict = weigh(
        task,
        threshold=config.store_threshold,
        now=now,
        llm=memory.metered(),
        known=[entry for entry in book.entries() if entry.state == "active"],
        trust=memory.trust,
        language=config.language,
        zone=book.zone,
    )
    about = {"task": title_of(" ".join(task.goal.split())), **mask.json(extra)}
    verdict, changes = _changes(memory, verdict, about, now, session_id)
    stored = Stored(
        verdict.should_store and bool(changes),
        verdict.reasoning,
        verdict.score,
        config.store_threshold,
        discarded=verdict.discarded,
        by=verdict.by,
        redacted=mask.count,
        usage=verdict.usage,
        degraded=verdict.degraded,
    )
    return _submitted(memory, changes, stored, session_id)


# --- what the task says --------------------------------------------------------------------------


def as_text(value: Any) -> str:
    """A result as text: text as it is, None as "", anything else as JSON, or as Python shows it."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def lines_of(log: Log) -> list[str]:
    """The lines of a log; a step of role and content or tool and output reads `role: content`."""
    steps = [log] if isinstance(log, str) else log
    lines = "\n".join(step if isinstance(step, str) else _step(step) for step in steps)
    if len(lines) > MOST_LOG:
        lines = f"{lines[: MOST_LOG // 2]}\n{lines[-MOST_LOG // 2 :]}"
    return [line for line in lines.split("\n") if line.strip()]


def _step(step: Mapping[str, Any]) -> str:
    for name, said in (("role", "content"), ("tool", "output"), ("name", "result"), ("step", "result")):
        if step.keys() == {name, said}:
            return f"{as_text(step[name])}: {as_text(step[said])}"
    return as_text(dict(step))


def _masked(mask: Mask, goal: str, result: str, log: Sequence[str], error: str) -> Task:
    """The task without secrets, and without what recall had put into its texts; secrets may span lines of the log."""
    said = (mask.text(without_recalled(text).strip()) for text in (goal, result, "\n".join(log), error))
    goal, result, lines, error = said
    return Task(goal, result, tuple(lines.split("\n")) if lines else (), error)


# --- what to write -------------------------------------------------------------------------------


def _changes(
    memory: Memory, verdict: Verdict, about: Mapping[str, Any], now: datetime, session: str | None
) -> tuple[Verdict, list[Add]]:
    """The entries to add; what was forgotten for good is set aside."""
    buried = memory.book.journal.buried([digest(one.content) for one in verdict.candidates])
    left = [
        Discarded(text=one.content, reason=FORGOTTEN, quote=one.quote)
        for one in verdict.candidates
        if digest(one.content) in buried
    ]
    changes = [
        Add(entry=_entry(one, about, now, session), reason=f"said: {one.quote}")
        for one in verdict.candidates
        if digest(one.content) not in buried
    ]
    return verdict._replace(discarded=(*verdict.discarded, *left)), changes


def _entry(one: Candidate, about: Mapping[str, Any], now: datetime, session: str | None) -> Entry:
    return Entry(
        id=memory_md.new_id(()),
        text=one.content,
        category=one.category,
        score=fade.importance_score(one.importance),
        scored=now.date(),
        last_activated=now.date(),
        created=now,
        session=session,
        tags=one.tags,
        entities=one.entities,
        group=one.group,
        expires=one.expires,
        archived=one.expires is not None and one.expires < now.date(),
        trust=one.trust,
        metadata=about,
    )


def _submitted(memory: Memory, changes: Sequence[Add], stored: Stored, session: str | None) -> Stored:
    """Carry them out as one operation, which also tells what was set aside and what the model took, or propose them."""
    usage = None if stored.usage is None else stored.usage.json()
    result, proposals = propose_or_apply(
        memory, changes, kind="store", session=session, discarded=stored.discarded, usage=usage
    )
    operation = result.operation.id if result.operation else None
    if memory.config.require_user_confirmation:
        waiting = tuple(Kept(Known(change.entry, change.entry.score), "proposed") for change in changes)
        return stored._replace(memories=waiting, operation=operation, proposals=proposals)
    standing = known(memory.book, [each.entry or add.entry for each, add in zip(result.outcomes, changes, strict=True)])
    kept = tuple(Kept(entry, _action(each)) for entry, each in zip(standing, result.outcomes, strict=True))
    return stored._replace(memories=kept, operation=operation)


def _action(outcome: Outcome) -> Literal["created", "strengthened", "duplicate"]:
    if outcome.applied is None:
        return "duplicate"
    return "created" if outcome.applied.kind == "add" else "strengthened"
