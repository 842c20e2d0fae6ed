"""The verbs of `Memory` as routes take them: what each takes is told from its signature and docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from memorybook.arguments import asked_importance
from memorybook.memory import Memory
from memorybook.servers.http import shapes
from memorybook.servers.http.refusals import Refusal, only_a_person
from memorybook.servers.http.wire import shown
from memorybook.tool_schema import checked

_TEXTS = {"type": "array", "items": {"type": "string"}}
_OBJECTS = {"type": "array", "items": {"type": "object"}}

_TYPES: Mapping[str, Mapping[str, Any]] = {
    "str": {"type": "string"},
    "str | date": {"type": "string"},
    "str | float": {"type": ["string", "number"]},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Sequence[str]": _TEXTS,
    "Mapping[str, Any]": {"type": "object"},
    "Sequence[Mapping[str, Any]]": _OBJECTS,
    "Any": {},
    "Log": {"type": ["string", "array"]},
}
"""JSON Schema of what annotations stand for; a parameter of another type cannot come over a wire and is left out."""

VERBS: Mapping[str, Any] = {
    "search": shapes.Found,
    "recall_memory": shapes.Found,
    "get": shapes.Opened,
    "entries": shapes.Listed,
    "recall": shapes.Recalled,
    "remember": shapes.Remembered,
    "append": shapes.Appended,
    "flush": shapes.Flushed,
    "update": shapes.Changed,
    "pin": shapes.Changed,
    "unpin": shapes.Changed,
    "revise": shapes.Changed,
    "forget": shapes.Forgotten,
    "purge": shapes.Forgotten,
    "history": shapes.History,
    "why": shapes.Why,
    "undo": shapes.Undone,
    "review": shapes.Review,
    "accept": shapes.Reviewed,
    "reject": shapes.Reviewed,
    "tidy": shapes.Tidied,
    "retrieve_and_inject": shapes.Injected,
    "store_if_worthwhile": shapes.Stored,
    "get_prompt_memories": list[shapes.Shared],
    "get_prompt_memories_text": str,
    "summarize_existing": str,
    "open_session": shapes.Held,
    "add_messages": shapes.Held,
    "end_session": shapes.Memorized,
    "process_session_end": shapes.Memorized,
    "retry_parked": list[shapes.Memorized],
    "close_idle": list[shapes.Memorized],
    "sessions": shapes.Talks,
    "recall_history": shapes.Recollection,
    "recall_topic": shapes.Recollection,
    "recall_session": shapes.Recollection,
    "recall_within": shapes.Recollection,
    "detect": shapes.Asked | None,
    "recollect": shapes.Recollection | None,
    "documents": list[shapes.DocumentInfo],
    "document": shapes.Document,
    "write_document": shapes.Written,
    "rename_document": shapes.Written,
    "remove_document": shapes.Written,
    "init": shapes.Made,
    "sync": shapes.Synced,
    "rebuild": shapes.Synced,
    "status": shapes.Status,
}
"""Every verb that is served, with what it answers; the rest of `Memory` is for a program that holds the book."""

_A_PERSONS_WORD = frozenset({"accept", "reject", "purge"})

SAID = frozenset({"open_session", "add_messages"})
"""Verbs after which a session may stand that somebody leaves open."""


class Verb(NamedTuple):
    """A verb as it is served.

    Attributes:
        summary, description: From its docstring.
        parameters: JSON Schema of what it takes.
        listed: The parameter that takes several words; "" if none does.
        nullable: Parameters for which None says something.
    """

    summary: str
    description: str
    parameters: Mapping[str, Any]
    listed: str
    nullable: frozenset[str]


@cache
def told(name: str) -> Verb:
    """The verb of that name."""
    method = getattr(Memory, name)
    text = inspect.getdoc(method) or ""
    properties: dict[str, Mapping[str, Any]] = {}
    required, listed, nullable = list[str](), "", list[str]()
    for parameter in list(inspect.signature(method).parameters.values())[1:]:
        annotation = str(parameter.annotation)
        several = parameter.kind is parameter.VAR_POSITIONAL
        kind = _TEXTS if several else _TYPES.get(annotation.removesuffix(" | None"))
        if kind is None:
            continue
        if several:
            listed = parameter.name
        elif parameter.default is parameter.empty:
            required.append(parameter.name)
        elif annotation.endswith(" | None"):
            nullable.append(parameter.name)
        properties[parameter.name] = kind
    parameters = {"type": "object", "properties": properties, "required": required}
    return Verb(text.split("\n", 1)[0], text, parameters, listed, frozenset(nullable))


def call(memory: Memory, name: str, arguments: Mapping[str, Any], *, show: Callable[[Any], Any] = shown) -> Any:
    """What the verb answers, as JSON. Raises what it raises, InvalidInput for other arguments than it takes."""
    verb = told(name)
    given = checked(name, verb.parameters, arguments)
    given |= {each: None for each in verb.nullable & arguments.keys() if arguments[each] is None}
    check(memory, name, given)
    words = given.pop(verb.listed, ())
    return show(getattr(memory, name)(*words, **given))


def check(memory: Memory, verb: str, given: Mapping[str, Any]) -> None:
    """Raises Refusal for what this server, or who asks, cannot have done; also for tools, without their `memory_`."""
    instruction = given.get("instruction")
    rewords = verb in ("revise", "update") and isinstance(instruction, str) and asked_importance(instruction)[1]
    if rewords and memory.metered() is None:
        raise Refusal(400, "no_model", "this server has no language model: give the new text yourself")
    if memory.actor == "user" or given.get("dry_run") is True:
        return
    if verb in _A_PERSONS_WORD:
        raise only_a_person(f"{verb} is a person's word")
    if verb == "tidy" and given.get("apply") is not None:
        raise only_a_person("tidy carries out without asking what a person has set")
    if verb == "undo":
        operation = given.get("operation")
        if isinstance(operation, str) and memory.book.journal.operation(operation).actor == "user":
            raise only_a_person(f"operation {operation!r} was a person's")
