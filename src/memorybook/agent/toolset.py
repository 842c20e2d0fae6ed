"""An agent's tools: the core memory tools, the rest, which the model loads by name, and the loop of a turn."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook import locale
from memorybook import tools as memory_tools
from memorybook.agent.turn_context import TurnContext
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.formats.json_schema import checked, decoded, described_without
from memorybook.formats.llm_messages import Message, Reply, ToolCall, ToolSchema, Usage
from memorybook.formats.messages_json import cut
from memorybook.search.tool_results import marked

if TYPE_CHECKING:
    from memorybook.memory import Memory
    from memorybook.protocols import LLM
    from memorybook.sessions.recall_block import Recollection

CORE: Mapping[str, Sequence[str]] = {
    "memory_search": ("query", "max_results", "category", "since", "until"),
    "memory_get": ("target",),
    "memory_remember": ("text", "category", "importance", "expires"),
    "memory_append": ("text", "section"),
    "memory_update": ("id", "text", "importance", "expires"),
    "memory_forget": ("target", "query", "session", "source", "dry_run"),
    "recall_topic": ("query", "since", "until"),
}
"""Tools offered from the first step, with the parameters that the model is shown; all parameters are accepted."""

LOAD = "memory_tools"
"""Name of the tool that loads the others."""

WIDTH = 16_000
"""Maximum characters of a tool's answer that the model is shown."""

MAX_ROUNDS = 10
"""Default of the rounds of tools in one turn."""


class AgentTool(NamedTuple):
    """A tool that an agent may call: its schema, the function, and a filter of the text that the model is shown."""

    schema: ToolSchema
    call: Callable[[Mapping[str, Any]], Any]
    shown: Callable[[str], str] = str

    def answer(self, arguments: Mapping[str, Any] | str) -> str:
        """Return its answer as text for the model, `Error: …` if the book refuses; arguments may be JSON text."""
        try:
            return self.shown(str(self.call(decoded(self.schema.name, arguments))))
        except MemoryBookError as error:
            return self.shown(f"Error: {error}")


def tools_of(
    memory: Memory,
    wrote: Callable[[list[str]], Any] = lambda operations: None,
    names: Collection[str] | None = None,
    *,
    current: str = "",
) -> list[AgentTool]:
    """Return the memory tools of these names (see `tools.offered`) over an open memory, with all their parameters.

    Their answers are marked as recalled text, so that they are not remembered again.

    Args:
        memory: The book.
        wrote: Called with the operations of each call.
        names: None takes all but `memory_purge`.
        current: Uuid of the current conversation, which recalls of past ones exclude; "" if the model gives it.
    """

    def tool(name: str) -> AgentTool:
        schema = memory_tools.schema(name)
        known = schema["parameters"]["properties"]
        filled = {"current": current} if current and known.pop("current", None) else {}

        def call(arguments: Mapping[str, Any]) -> str:
            found = memory_tools.call(memory, name, {**arguments, **filled}, for_model=True)
            wrote(operations_in(found))
            answer = memory_tools.text(found).replace("<!--", "<! --").replace("-->", "-- >")
            return marked(cut(answer, WIDTH - 200))

        return AgentTool(ToolSchema(**schema), call)

    return list(map(tool, memory_tools.offered(names)))


def core_of(tools: Sequence[AgentTool]) -> list[AgentTool]:
    """Return the tools of `CORE` among these, without rarer parameters, defaults, and mentions of other tools."""
    others = memory_tools.TOOLS.keys() - CORE.keys()
    found = []
    for tool in tools:
        name, schema = tool.schema.name, tool.schema
        if name in CORE:
            known, required = schema.parameters["properties"], schema.parameters["required"]
            shown = {one: {key: value for key, value in known[one].items() if key != "default"} for one in CORE[name]}
            parameters = {"type": "object", "properties": shown} | ({"required": required} if required else {})
            description = described_without(schema.description, others)
            found.append(tool._replace(schema=ToolSchema(name, description, parameters)))
    return found


def operations_in(answer: Mapping[str, Any]) -> list[str]:
    """Return ids of the operations that a verb's answer names; none for an undo."""
    if "undone" in answer:
        return []
    made = (answer, answer.get("receipt") or {}, *answer.get("accepted", ()))
    return [each["operation"] for each in made if each.get("operation")]


# --- loading -------------------------------------------------------------------------------------


def offered_tools(
    tools: Sequence[AgentTool], more: Sequence[AgentTool], messages: Sequence[Message]
) -> dict[str, AgentTool]:
    """Return the tools that a model is offered, by name; calling `LOAD` adds those of `more` to it.

    What earlier messages loaded or called is loaded. A tool of `more` replaces an offered one of its name, which has
    fewer parameters.

    Raises:
        InvalidInput: Two of the tools have one name.
    """
    offered = {tool.schema.name: tool for tool in tools}
    if len(offered) < len(tools) or (more and LOAD in offered):
        raise InvalidInput("two tools have one name")
    if not more:
        return offered
    by_name = {tool.schema.name: tool for tool in more}
    listed = ", ".join(name for name in by_name if name not in offered)
    parameters = {
        "type": "object",
        "properties": {"names": {"type": "array", "items": {"type": "string"}, "description": "Tools to load."}},
    }
    schema = ToolSchema(
        LOAD,
        f"Load tools for the next step: {listed}. Without names, describe them. An offered tool gets its rarer "
        "parameters.",
        parameters,
    )

    def load(arguments: Mapping[str, Any]) -> str:
        given = checked(LOAD, {**parameters, "required": []}, arguments)
        names = given.get("names") or []
        for name in names:
            if name not in by_name:
                raise InvalidInput(f"no tool {name!r} to load: there are {', '.join(by_name)}")
        offered.update((name, by_name[name]) for name in names)
        head = "Loaded, call them from the next step on:" if names else "Load what you need by name:"
        first = {name: tool.schema.description.partition(". ")[0].removesuffix(".") for name, tool in by_name.items()}
        lines = (f"- {name}: {first[name]}." for name in names or by_name if names or name not in CORE)
        return marked("\n".join([head, *lines]))

    loader = offered[LOAD] = AgentTool(schema, load)
    for call in (call for message in messages for call in message.get("tool_calls") or ()):
        asked = call.get("function") or {}
        name = str(asked.get("name"))
        if name == LOAD:
            loader.answer(str(asked.get("arguments") or ""))
        elif name in by_name:
            offered.setdefault(name, by_name[name])
    return offered


# --- the loop of a turn ---------------------------------------------------------------------------


class Outcome(NamedTuple):
    """The result of a turn.

    Attributes:
        text: The answer.
        messages: Everything the model was sent, and its answers.
        usage: Total of all calls of the model.
        tools: Names of the tools that were called, in order.
        stopped: Whether it ended because of too many rounds of tools.
        context: The memory block of the prompt.
        found: The past talks that the user's words asked for; None for none.
    """

    text: str
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    tools: tuple[str, ...] = ()
    stopped: bool = False
    context: TurnContext = TurnContext()
    found: Recollection | None = None


def converse(
    llm: LLM,
    messages: Sequence[Message],
    tools: Sequence[AgentTool],
    *,
    more: Sequence[AgentTool] = (),
    max_rounds: int = MAX_ROUNDS,
    language: str = "en",
    keep: Callable[[Message], Any] = lambda message: None,
    called: Callable[[str, bool], None] = lambda name, ok: None,
    piece: Callable[[str], None] | None = None,
) -> Outcome:
    """Run the model with tools until it answers.

    Args:
        llm: The model, within its budget.
        messages: The first messages.
        tools: What it may call; an error of a tool goes back to the model as text.
        more: What it may load besides, see `offered_tools`.
        max_rounds: Rounds of tools, at least 0; after the last the model is told to answer.
        language: Of messages to the model, `en` or `zh`.
        keep: Called with each new message: the model's, and the answers of tools.
        called: Called with the name of each tool that was called, and whether it answered.
        piece: Called with the reply piece by piece, also with text before a tool call; None waits for whole replies.
            If a reply breaks off, by an interrupt too, `keep` gets the part that came, with `"cut": True`.

    Raises:
        InvalidInput: Two tools of one name, or fewer than 0 rounds.
        LLMFailed: The model; BudgetSpent where it may not be asked any more.
        KeyboardInterrupt: The user's.
    """
    if max_rounds < 0:
        raise InvalidInput(f"max_rounds {max_rounds} is below 0")
    offered = offered_tools(tools, more, messages)
    talk, usage, names = list(messages), Usage(), []
    for left in range(max_rounds, -1, -1):
        reply = _asked(llm, talk, [tool.schema for tool in offered.values()], keep, piece)
        usage += reply.usage
        if not reply.tool_calls or not left:
            break
        said = [reply.message()]
        for call in reply.tool_calls:
            ok, answer = _answer(offered, call)
            called(call.name, ok)
            names.append(call.name)
            said.append({"role": "tool", "tool_call_id": call.id, "name": call.name, "content": answer})
        for message in said:
            keep(message)
        if left == 1:
            said[-1] = {**said[-1], "content": f"{said[-1]['content']}\n{locale.message('agent.last_round', language)}"}
        talk += said
    stopped = bool(reply.tool_calls)
    text = reply.text or (locale.message("agent.gave_up", language, rounds=max_rounds) if stopped else "")
    answer_message = {"role": "assistant", "content": text}
    _keep_surely(keep, answer_message)
    return Outcome(text, (*talk, answer_message), usage, tuple(names), stopped)


def _asked(
    llm: LLM,
    talk: Sequence[Message],
    schemas: Sequence[ToolSchema],
    keep: Callable[[Message], Any],
    piece: Callable[[str], None] | None,
) -> Reply:
    """Return the model's reply, streamed to `piece` if there is one and the model can."""
    stream = getattr(llm, "stream", None)
    if piece is None or stream is None:
        return llm.complete(talk, tools=schemas)
    pieces: list[str] = []
    coming: Generator[str, None, Reply] = stream(talk, tools=schemas)
    try:
        while True:
            pieces.append(next(coming))
            piece(pieces[-1])
    except StopIteration as end:
        reply: Reply = end.value
        return reply
    except BaseException:
        coming.close()
        if "".join(pieces).strip():
            _keep_surely(keep, {"role": "assistant", "content": "".join(pieces), "cut": True})
        raise


def _keep_surely(keep: Callable[[Message], Any], message: Message) -> None:
    """Keep the message even if the user interrupts meanwhile; its id makes the second try harmless."""
    message = {**message, "id": secrets.token_hex(8)}
    try:
        keep(message)
    except KeyboardInterrupt:
        keep(message)
        raise


def _answer(tools: Mapping[str, AgentTool], call: ToolCall) -> tuple[bool, str]:
    """Return whether the tool answered, and its answer or error as text for the model."""
    tool = tools.get(call.name)
    if tool is None:
        return False, f"Error: there is no tool {call.name!r}; there are {', '.join(tools)}"
    try:
        answer = tool.call(call.arguments)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
        return True, cut(tool.shown(text), WIDTH)
    except MemoryBookError as error:
        return False, tool.shown(f"Error: {error}")
    except Exception as error:  # a tool is anybody's
        return False, tool.shown(f"Error: {type(error).__name__}: {error}")
