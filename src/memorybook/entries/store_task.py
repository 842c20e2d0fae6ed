"""Remembering a finished task, if it taught anything worth keeping."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from memorybook import validate as given
from memorybook.book.transaction import Result
from memorybook.book.undo import ATTEMPTS
from memorybook.entries.match import Action, Alike, Ledger, Near, Talk, match
from memorybook.entries.read import Mask, known
from memorybook.entries.read_reply import Candidate
from memorybook.entries.review import propose_or_apply
from memorybook.entries.task_value import Task, weigh
from memorybook.errors import Conflict, InvalidInput, NotFound
from memorybook.forget.tombstones import remembered, unnamed
from memorybook.model import Add, Change, Discarded
from memorybook.results import Known
from memorybook.sessions.memorize import heard
from memorybook.sessions.summarize import title_of
from memorybook.sessions.turns import zone_of
from memorybook.text.sentences import without_recalled

if TYPE_CHECKING:
    from memorybook.context import Context

Log = str | Iterable[str | Mapping[str, Any]]
"""A log: text, or lines, or steps as JSON objects (a message's role and content, a tool's name and output)."""

MOST_TEXT = 200_000
"""Characters that are looked at of each text of a task: its beginning and its end."""


class Kept(NamedTuple):
    """What became of one memory of a task.

    Attributes:
        action: `created`, `strengthened`, `merged`, `updated` or `proposed`, see `match.Action`.
        text: What it says.
        reason: Why, in a few words.
        known: The entry that says it, as it stands or (for `proposed`) would; None if there is none yet.
    """

    action: Action
    text: str
    reason: str
    known: Known | None

    def json(self) -> dict[str, Any]:
        """`{"action", "text", "reason", "type", "importance", "entry": {…}}`; the last three null without an entry."""
        entry = None if self.known is None else self.known.json()["entry"]
        return {
            "action": self.action,
            "text": self.text,
            "reason": self.reason,
            "type": entry and entry["category"],
            "importance": entry and entry["score"],
            "entry": entry,
        }


class Stored(NamedTuple):
    """What `store_if_worthwhile` found a task worth, and what it stored.

    Attributes:
        should_store: Whether anything of the task was worth keeping.
        reasoning: Why, in a sentence or two.
        score: 0..1, how likely it will help later; it is what `threshold` applies to.
        threshold: The setting `store_threshold`.
        memories: What was stored or proposed, and how.
        discarded: What was found and set aside, with the reason.
        by: Who judged: `model`, `rules`, or "" if nothing had to be judged.
        redacted: How many secrets were masked.
        operation: Id of the operation; None if there was nothing to do or to tell.
        proposals: Ids of what waits in the review queue; what a person rejected before does not wait again.
        usage: What the model's calls took, and its name; None if none was asked.
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
    usage: Mapping[str, Any] | None = None
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
        }


def store_if_worthwhile(
    context: Context,
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
        InvalidInput: A blank or endless goal, a log that is none, or metadata that is no JSON object.
    """
    config, book = context.config, context.book
    goal = _checked(task_goal, error)
    session_id = given.session_of(session_id)
    log = lines_of(execution_log)
    extra = given.metadata_of(metadata) if metadata else {}
    if not config.enabled or not config.auto_store:
        switch = "enabled" if not config.enabled else "auto_store"
        told = f"{switch} is false: finished tasks are not remembered"
        return Stored(False, told, 0.0, config.store_threshold, disabled=True)
    mask = Mask(context)
    task = _masked(mask, goal, as_text(task_result), log, error)
    llm = context.metered()
    verdict = weigh(
        task,
        threshold=config.store_threshold,
        now=book.now(),
        llm=llm,
        trust=context.actor,
        language=config.language,
        zone=zone_of(context),
    )
    about = {"task": title_of(" ".join(task.goal.split())), **mask.json(extra)}
    stored = Stored(
        verdict.should_store,
        verdict.reasoning,
        verdict.score,
        config.store_threshold,
        discarded=verdict.discarded,
        by=verdict.by,
        redacted=mask.count,
        usage=None if verdict.usage is None or llm is None else {**verdict.usage.json(), "model": llm.name},
        degraded=verdict.degraded,
    )
    for _ in range(ATTEMPTS - 1):
        with suppress(Conflict, NotFound):  # a person takes out an entry right now
            return _submitted(context, stored, verdict.candidates, about, session_id)
    return _submitted(context, stored, verdict.candidates, about, session_id)


def _checked(goal: str, error: str) -> str:
    """The goal, if it and the error are texts that can be looked at."""
    goal = given.text_of(goal, "task_goal")
    if not ends(goal):
        raise InvalidInput(f"task_goal has {len(goal)} characters and no blanks: say in a sentence what was to be done")
    if not isinstance(error, str):
        raise InvalidInput(f"error must be text, not {repr(error)[:80]}")
    return goal


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
    """The lines of a log; a step of role and content or tool and output reads `role: content`.

    Raises:
        InvalidInput: No text, and no list of texts and objects.
    """
    if not isinstance(log, Iterable) or isinstance(log, bytes | Mapping):
        raise InvalidInput(f"execution_log must be text, or a list of lines or steps, not {repr(log)[:80]}")
    steps = [log] if isinstance(log, str) else list(log)
    for step in steps:
        if not isinstance(step, str | Mapping):
            raise InvalidInput(f"a step of execution_log must be text or an object, not {repr(step)[:80]}")
    lines = "\n".join(step if isinstance(step, str) else _step(step) for step in steps)
    return [line for line in ends(lines).split("\n") if line.strip()]


def ends(text: str, most: int = MOST_TEXT) -> str:
    """The text, or its beginning and end, in at most `most` characters; cut between words, no secret is halved."""
    if len(text) <= most:
        return text
    head, tail = text[: most // 2].rsplit(None, 1), text[-(most // 2) :].split(None, 1)
    return "\n".join([*head[:-1], *tail[1:]])


def _step(step: Mapping[str, Any]) -> str:
    for name, said in (("role", "content"), ("tool", "output"), ("name", "result"), ("step", "result")):
        if step.keys() == {name, said}:
            return f"{as_text(step[name])}: {as_text(step[said])}"
    return as_text(dict(step))


def _masked(mask: Mask, goal: str, result: str, log: Sequence[str], error: str) -> Task:
    """The task without secrets, and without what recall had put into its texts; secrets may span lines of the log."""
    texts = (ends(goal), ends(result), "\n".join(log), ends(error))
    said = (mask.text(without_recalled(text).strip()) for text in texts)
    goal, result, lines, error = said
    return Task(goal, result, tuple(lines.split("\n")) if lines else (), error)


# --- what to write -------------------------------------------------------------------------------


def _submitted(
    context: Context, stored: Stored, candidates: Sequence[Candidate], about: Mapping[str, Any], session: str | None
) -> Stored:
    """Match the memories with what is known now; carry out what they change as one operation, or propose it."""
    kept = remembered(context, [one.content for one in candidates])
    left = [one for one in candidates if not kept(one.content)]
    ledger = _matched(context, [one for one in candidates if one not in left], session)
    forgotten = [unnamed(one.content) for one in left]
    discarded = (*stored.discarded, *forgotten, *ledger.discarded)
    submitted = propose_or_apply(
        context,
        [_of_task(change, about) for change in ledger.changes],
        kind="store",
        session=session,
        discarded=discarded,
        usage=stored.usage,
        proposed=ledger.proposals,
    )
    operation = submitted.result.operation
    waiting = context.config.require_user_confirmation
    return stored._replace(
        should_store=any(decision.action != "discarded" for decision in ledger.decisions),
        memories=tuple(_kept(context, ledger, submitted.result, waiting)),
        discarded=discarded,
        operation=operation.id if operation else None,
        proposals=submitted.proposals,
    )


def _matched(context: Context, candidates: Iterable[Candidate], session: str | None) -> Ledger:
    """What the memories do to the entries as they stand; a task has no turns that they could name."""
    entries = {entry.id: entry for entry in context.book.entries()}
    near, alike = Near(context, entries), Alike(context)
    talk = Talk(context.book.now(), session, heard=heard(context, session) if session else ())
    ledger = Ledger(entries, talk, context.config.conflicts)
    match(ledger, (replace(candidate, turn_ids=()) for candidate in candidates), near, alike)
    return ledger


def _of_task(change: Change, about: Mapping[str, Any]) -> Change:
    """The change, an entry it adds with what its task says of itself."""
    if not isinstance(change, Add):
        return change
    return replace(change, entry=replace(change.entry, metadata={**about, **change.entry.metadata}))


def _kept(context: Context, ledger: Ledger, result: Result, waiting: bool) -> Iterator[Kept]:
    """What became of each memory that is not discarded, with its entry as it stands, or would."""
    standing = {outcome.entry.id: outcome.entry for outcome in result.outcomes if outcome.entry is not None}
    for decision in ledger.decisions:
        entry = standing.get(decision.id or "") or ledger.entries.get(decision.id or "")
        if decision.action == "discarded":
            continue
        action = "proposed" if waiting else decision.action
        told = f"{decision.reason}: {decision.detail}" if decision.detail else decision.reason
        yield Kept(action, decision.text, told, None if entry is None else known(context.book, [entry])[0])
