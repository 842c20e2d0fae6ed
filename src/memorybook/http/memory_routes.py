"""The verbs of `Memory` as routes take them: what each takes is told from its signature and docstring."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

from memorybook.formats.json_schema import checked
from memorybook.http import schemas
from memorybook.http.error_responses import Refusal, only_a_person
from memorybook.http.json_wire import shown
from memorybook.memory import Memory
from memorybook.validate import asked_importance, renamed

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
    "search": schemas.Found,
    "recall_memory": schemas.Found,
    "get": schemas.Opened,
    "entries": schemas.Listed,
    "recall": schemas.Recalled,
    "remember": schemas.Remembered,
    "append": schemas.Appended,
    "flush": schemas.Flushed,
    "update": schemas.Changed,
    "pin": schemas.Changed,
    "unpin": schemas.Changed,
    "revise": schemas.Changed,
    "forget": schemas.Forgotten,
    "purge": schemas.Forgotten,
    "history": schemas.History,
    "why": schemas.Why,
    "undo": schemas.Undone,
    "review": schemas.Review,
    "accept": schemas.Reviewed,
    "reject": schemas.Reviewed,
    "tidy": schemas.Tidied,
    "retrieve_and_inject": schemas.Injected,
    "store_if_worthwhile": schemas.Stored,
    "get_prompt_memories": list[schemas.Shared],
    "get_prompt_memories_text": str,
    "summarize_existing": str,
    "open_session": schemas.Held,
    "add_messages": schemas.Held,
    "end_session": schemas.Memorized,
    "process_session_end": schemas.Memorized,
    "retry_parked": list[schemas.Memorized],
    "close_idle": list[schemas.Memorized],
    "sessions": schemas.Talks,
    "recall_history": schemas.Recollection,
    "recall_topic": schemas.Recollection,
    "recall_session": schemas.Recollection,
    "recall_within": schemas.Recollection,
    "detect": schemas.Asked | None,
    "recollect": schemas.Recollection | None,
    "documents": list[schemas.DocumentInfo],
    "document": schemas.Document,
    "write_document": schemas.Written,
    "rename_document": schemas.Written,
    "remove_document": schemas.Written,
    "init": schemas.Made,
    "sync": schemas.Synced,
    "rebuild": schemas.Synced,
    "status": schemas.Status,
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
    arguments = renamed(verb.parameters["properties"], arguments)
    given = checked(name, verb.parameters, arguments)
    given |= {each: None for each in verb.nullable & arguments.keys() if arguments[each] is None}
    check(memory, name, given)
    words = given.pop(verb.listed, ())
    return show(getattr(memory, name)(*words, **given))


def check(memory: Memory, verb: str, given: Mapping[str, Any]) -> None:
    """Raises Refusal for what this server, or who asks, cannot have done; also for tools, without their `memory_`."""
    instruction = given.get("instruction")
    rewords = verb in ("revise", "update") and isinstance(instruction, str) and asked_importance(instruction)[1]
    if rewords and memory.context.metered() is None:
        raise Refusal(400, "no_model", "this server has no language model: give the new text yourself")
    if memory.context.actor == "user" or given.get("dry_run") is True:
        return
    if verb in _A_PERSONS_WORD:
        raise only_a_person(f"{verb} is a person's word")
    if verb == "tidy" and given.get("apply") is not None:
        raise only_a_person("tidy carries out without asking what a person has set")
    if verb == "undo":
        operation = given.get("operation")
        if isinstance(operation, str) and memory.book.journal.operation(operation).actor == "user":
            raise only_a_person(f"operation {operation!r} was a person's")
