"""The memory tools of an agent's model: a core that it always has, and the rest, which it loads by name."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import tools as memory_tools
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.formats.json_schema import checked, decoded, described_without
from memorybook.formats.llm_messages import Message, ToolSchema
from memorybook.search.snippets import marked

if TYPE_CHECKING:
    from memorybook.memory import Memory

CORE: Mapping[str, Sequence[str]] = {
    "memory_search": ("query", "max_results", "category", "since", "until"),
    "memory_get": ("target",),
    "memory_remember": ("text", "category", "importance", "expires"),
    "memory_append": ("text", "section"),
    "memory_update": ("id", "text", "importance", "expires"),
    "memory_forget": ("target", "query", "session", "source", "dry_run"),
    "recall_topic": ("query", "since", "until"),
}
"""The tools that are offered from the first step, each with the parameters that are shown; all of them are taken."""

LOAD = "memory_tools"
"""The tool that loads the others."""

WIDTH = 16_000
"""Characters of a tool's answer that the model is shown."""


class AgentTool(NamedTuple):
    """A tool that an agent may call: what the model is told of it, what is called, what of its answer is shown."""

    schema: ToolSchema
    call: Callable[[Mapping[str, Any]], Any]
    shown: Callable[[str], str] = str

    def told(self, arguments: Mapping[str, Any] | str) -> str:
        """What it answers, as text for the model, or `Error: …` if the book refuses; arguments may be their JSON."""
        try:
            return self.shown(str(self.call(decoded(self.schema.name, arguments))))
        except MemoryBookError as error:
            return self.shown(f"Error: {error}")


Wrote = Callable[[list[str]], Any]
"""Given the operations of each call."""


def tools_of(
    memory: Memory,
    wrote: Wrote = lambda operations: None,
    names: Collection[str] | None = None,
    *,
    current: str = "",
) -> list[AgentTool]:
    """The memory tools of these names (see `tools.offered`) over an open memory, with all of their parameters.

    Their answers stand between the markers of recalled text, so that they are not remembered once more.

    Args:
        memory: What they work on.
        wrote: Given the operations of each call.
        names: None takes all but `memory_purge`.
        current: Uuid of the current conversation, which recalls of past ones leave out; "" if the model gives it.
    """
    return [_tool(memory, name, wrote, current) for name in memory_tools.offered(names)]


def core_of(tools: Sequence[AgentTool]) -> list[AgentTool]:
    """The tools of `CORE` among these, with the parameters that it shows."""
    return [tool._replace(schema=_short(tool.schema)) for tool in tools if tool.schema.name in CORE]


def _short(schema: ToolSchema) -> ToolSchema:
    """The schema with the parameters of `CORE`, without defaults and sentences about tools that are not in it."""
    known = schema.parameters["properties"]
    shown = {name: {key: one for key, one in known[name].items() if key != "default"} for name in CORE[schema.name]}
    required = schema.parameters["required"]
    parameters = {"type": "object", "properties": shown} | ({"required": required} if required else {})
    return ToolSchema(
        schema.name, described_without(schema.description, memory_tools.TOOLS.keys() - CORE.keys()), parameters
    )


def _tool(memory: Memory, name: str, wrote: Wrote, current: str) -> AgentTool:
    schema = memory_tools.schema(name)
    known = schema["parameters"]["properties"]
    filled = {"current": current} if current and "current" in known else {}
    for given in filled:
        del known[given]

    def call(arguments: Mapping[str, Any]) -> str:
        found = memory_tools.call(memory, name, {**arguments, **filled}, for_model=True)
        wrote(operations_in(found))
        answer = memory_tools.text(found).replace("<!--", "<! --").replace("-->", "-- >")
        return marked(clip(answer, WIDTH - 200))

    return AgentTool(ToolSchema(**schema), call)


def operations_in(answer: Mapping[str, Any]) -> list[str]:
    """Ids of the operations that a verb's answer tells of, but for those that took another back."""
    if "undone" in answer:
        return []
    made = (answer, answer.get("receipt") or {}, *answer.get("accepted", ()))
    return [each["operation"] for each in made if each.get("operation")]


def clip(text: str, width: int = WIDTH) -> str:
    """The text, cut to a width with a note of how much is missing."""
    return text if len(text) <= width else f"{text[:width]}… [{len(text) - width} more characters]"


# --- loading -------------------------------------------------------------------------------------


def offered_tools(
    tools: Sequence[AgentTool], more: Sequence[AgentTool], messages: Sequence[Message]
) -> dict[str, AgentTool]:
    """The tools that a model is offered, by name; those of `more` come in when it calls `LOAD`.

    What earlier messages loaded or called is loaded. A tool of `more` replaces an offered one of its name, which shows
    fewer parameters.

    Raises:
        InvalidInput: Two of the tools have one name.
    """
    offered = {tool.schema.name: tool for tool in tools}
    if len(offered) < len(tools) or (more and LOAD in offered):
        raise InvalidInput("two tools have one name")
    if more:
        by_name = {tool.schema.name: tool for tool in more}
        loader = offered[LOAD] = _loader(offered, by_name)
        for name, arguments in _calls_in(messages):
            if name == LOAD:
                loader.told(arguments)
            elif name in by_name:
                offered.setdefault(name, by_name[name])
    return offered


def _calls_in(messages: Sequence[Message]) -> Iterator[tuple[str, str]]:
    """Name and arguments, as JSON, of the calls of tools in a talk."""
    for message in messages:
        for call in message.get("tool_calls") or ():
            asked = call.get("function") or {}
            yield str(asked.get("name")), str(asked.get("arguments") or "")


def _loader(offered: dict[str, AgentTool], more: Mapping[str, AgentTool]) -> AgentTool:
    listed = ", ".join(name for name in more if name not in offered)
    parameters = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}, "description": "Tools to load."}},
    }
    schema = ToolSchema(
        LOAD,
        f"Make more tools available from the next step: {listed}. Without names, describe them. The name of an offered "
        "tool adds its rarer parameters.",
        parameters,
    )

    def call(arguments: Mapping[str, Any]) -> str:
        given = checked(LOAD, {**parameters, "required": []}, arguments)
        names = given.get("names") or []
        for name in names:
            if name not in more:
                raise InvalidInput(f"no tool {name!r} to load: there are {', '.join(more)}")
        offered.update((name, more[name]) for name in names)
        head = "Loaded, call them from the next step on:" if names else "Load what you need by name:"
        lines = (f"- {name}: {_summary(more[name])}" for name in names or more if names or name not in CORE)
        return marked("\n".join([head, *lines]))

    return AgentTool(schema, call)


def _summary(tool: AgentTool) -> str:
    """The first sentence of a tool's description."""
    return tool.schema.description.partition(". ")[0].removesuffix(".") + "."
