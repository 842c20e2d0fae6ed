"""The memory tools of every interface: verbs of `Memory`, described for models in `tools.txt`.

A tool takes the open memory and the caller's arguments, and returns a JSON object. Types and defaults of its parameters
are those of the verb. A trailing underscore keeps a parameter from being a keyword of Python; callers do not see it.
"""

from __future__ import annotations

import os

from memorybook._light import TYPE_CHECKING, Any, Callable, Collection, Mapping, Sequence, cast

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.model import CategoryName, Importance


def _memory_get(memory: Memory, target: str, from_: int = 1, lines: int | None = None) -> dict[str, Any]:
    return memory.get(target, start=from_, lines=lines).json()


def _memory_update(
    memory: Memory,
    id: str,
    text: str | None = None,
    category: CategoryName | None = None,
    importance: Importance | float | None = None,
    tags: Sequence[str] | None = None,
    group: str | None = None,
    expires: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    instruction: str | None = None,
    confirmed: bool = False,
) -> dict[str, Any]:
    if instruction is not None or confirmed:
        fields = (text, category, importance, tags, group, expires, metadata)
        if any(field is not None for field in fields) or (confirmed and instruction is not None):
            from memorybook.errors import InvalidInput

            alone = "a confirmation" if confirmed else "an instruction"
            raise InvalidInput(f"{alone} is given alone: change other fields in a call of their own")
        return memory.confirm(id).json() if instruction is None else memory.revise(id, instruction).json()
    return memory.update(
        id,
        text=text,
        category=category,
        importance=importance,
        tags=tags,
        group=group,
        expires=expires,
        metadata=metadata,
    ).json()


def _recall_session(memory: Memory, which: str, limit: int = 50, current: str | None = None) -> dict[str, Any]:
    return memory.recall_session(which, limit=limit, current=current).json()


def _memory_history(memory: Memory, id: str | None = None, limit: int | None = None) -> dict[str, Any]:
    return memory.history(id, limit=20 if limit is None else limit).json()


def _memory_undo(memory: Memory, operation: str, dry_run: bool = False) -> dict[str, Any]:
    if (
        memory.context.actor != "user"
        and operation != "MEMORY.md"
        and memory.book.journal.operation(operation).actor == "user"
    ):
        from memorybook.errors import InvalidInput

        told = f"operation {operation!r} was a person's: only a person takes it back"
        raise InvalidInput(f"{told}, with memorybook undo {operation}")
    return memory.undo(operation, dry_run=dry_run).json()


TOOLS: Mapping[str, str | Callable[..., dict[str, Any]]] = {
    "memory_search": "search",
    "memory_get": _memory_get,
    "memory_append": "append",
    "memory_flush": "flush",
    "memory_remember": "remember",
    "memory_update": _memory_update,
    "memory_pin": "pin",
    "memory_forget": "forget",
    "memory_list": "entries",
    "memory_recall": "recall",
    "recall_memory": "recall_memory",
    "recall_history": "recall_history",
    "recall_topic": "recall_topic",
    "recall_session": _recall_session,
    "recall_within": "recall_within",
    "memory_history": _memory_history,
    "memory_why": "why",
    "memory_undo": _memory_undo,
    "memory_purge": "purge",
    "memory_review": "review",
    "memory_status": "status",
}
"""Tool -> verb or function, in the order in which they are listed."""


def call(memory: Memory, name: str, arguments: Mapping[str, Any] | str, *, for_model: bool = False) -> dict[str, Any]:
    """Call a tool by name; while memory is switched off it does nothing and says so.

    Arguments are an object, or its JSON as models write it, by the names of `schema` or of `validate.ALSO`; None is
    the same as left out. With `for_model` a search returns only the hits that a model can use, see
    `search.tool_results.select`.

    Raises:
        InvalidInput: No such tool, an argument it does not have, one that is missing, or of another type.
        MemoryBookError: What the tool raises.
    """
    from memorybook.errors import InvalidInput
    from memorybook.formats.json_schema import checked, decoded, private
    from memorybook.validate import renamed

    tool = TOOLS.get(name)
    if tool is None:
        raise InvalidInput(f"no tool {name!r}: there are {', '.join(TOOLS)}")
    parameters = schema(name)["parameters"]
    given = checked(name, parameters, renamed(parameters["properties"], decoded(name, arguments)))
    if for_model and name in ("memory_search", "recall_memory"):
        from memorybook.search.tool_results import search_for_model

        search = memory.search if name == "memory_search" else memory.recall_memory
        return search_for_model(search, memory.book.transcripts, memory.config.max_results, **given)
    return run(memory, name, **{private(each): value for each, value in given.items()})


def text(answer: Mapping[str, Any]) -> str:
    """Return the answer of a tool as text for a model: compact lines of a search, JSON of anything else."""
    from memorybook.search.tool_results import answer_text

    return answer_text(answer)


def run(memory: Memory, name: str, **arguments: Any) -> dict[str, Any]:
    """Call the tool of that name; while memory is switched off it returns `{"disabled": true, …}` and does nothing."""
    if not memory.config.enabled and name not in ("memory_search", "recall_memory", "memory_status"):
        return disabled(name)
    tool = TOOLS[name]
    found: Any = getattr(memory, tool)(**arguments) if isinstance(tool, str) else tool(memory, **arguments)
    return found if isinstance(found, dict) else cast("dict[str, Any]", found.json())


def disabled(name: str) -> dict[str, Any]:
    """Return what a tool or command answers while memory is switched off."""
    from memorybook.config.settings import OFF

    return {"disabled": True, "tool": name, "reason": OFF}


def schema(name: str) -> dict[str, Any]:
    """Return name, description and parameters (JSON Schema) of a tool."""
    from memorybook.formats.json_schema import schema_of
    from memorybook.memory import Memory

    tool = TOOLS[name]
    with open(os.path.join(os.path.dirname(__file__), "tools.txt"), encoding="utf-8") as file:
        texts = dict(part.split("\n", 1) for part in file.read().split("\n## ")[1:])
    return schema_of(getattr(Memory, tool) if isinstance(tool, str) else tool, name, texts[name])


def offered(names: Collection[str] | None = None) -> list[str]:
    """Return the tools of these names, in order; None takes all but `memory_purge`, which is for a person.

    Raises:
        InvalidInput: There is no such tool.
    """
    from memorybook.errors import InvalidInput

    for unknown in () if names is None else (name for name in names if name not in TOOLS):
        raise InvalidInput(f"no tool {unknown!r}: there are {', '.join(TOOLS)}")
    return [name for name in TOOLS if (name != "memory_purge" if names is None else name in names)]


def schemas(wire: str, names: Collection[str] | None = None) -> list[dict[str, Any]]:
    """Return the tools for the `tools` of a request to a model; a call that comes back is one for `call`.

    Args:
        wire: `openai` (Chat Completions), `openai-responses` or `anthropic` (Messages).
        names: Of the tools, see `offered`.

    Raises:
        InvalidInput: No such wire, or no such tool.
    """
    from memorybook.errors import InvalidInput
    from memorybook.formats.json_schema import WIRES

    if wire not in WIRES:
        raise InvalidInput(f"no wire {wire!r}: there are {', '.join(WIRES)}")
    return [WIRES[wire](schema(name)) for name in offered(names)]
