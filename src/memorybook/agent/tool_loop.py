"""The loop of an agent's turn: the model asks for tools, is answered, and in the end says something. Bounded."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from memorybook.agent.agent_words import WORDS
from memorybook.agent.toolset import AgentTool, clip, offered_tools
from memorybook.agent.window import Context
from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.formats.llm_messages import Message, Reply, ToolCall, ToolSchema, Usage

if TYPE_CHECKING:
    from memorybook.protocols import LLM
    from memorybook.sessions.recall_types import Recollection

MAX_ROUNDS = 10
"""Rounds of tools in one turn, unless the caller says otherwise."""


class Outcome(NamedTuple):
    """What came of a turn.

    Attributes:
        text: The answer.
        messages: All that the model was sent, with its answers.
        usage: Of all calls of the model.
        tools: Names of the tools that were called, in order.
        stopped: Whether it was ended because there were too many rounds of tools.
        context: What the model was given besides the talk.
        found: What the user's words asked to be recalled; None if they asked for nothing.
    """

    text: str
    messages: tuple[Message, ...] = ()
    usage: Usage = Usage()
    tools: tuple[str, ...] = ()
    stopped: bool = False
    context: Context = Context()
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
    """Let the model speak, and call tools, until it answers.

    Args:
        llm: The model, within its budget.
        messages: What it is sent first.
        tools: What it may call; what one raises goes back to the model as text.
        more: What it may load besides, see `toolset.offered_tools`.
        max_rounds: Rounds of tools, at least 0; after the last the model is told to answer.
        language: Of what it is told, `en` or `zh`.
        keep: Given each message as it comes: the model's, and the answers of tools.
        called: Told the name of each tool that was called, and whether it answered.
        piece: Given what the model says piece by piece, as it comes, also what it says before it calls a tool; None
            waits for whole replies. Whatever ends a reply in the middle, an interrupt of the user too, leaves the
            part that came with `keep`, as a message with `"cut": True`.

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
            said[-1] = {**said[-1], "content": f"{said[-1]['content']}\n{WORDS[language].last_round}"}
        talk += said
    stopped = bool(reply.tool_calls)
    text = reply.text or (WORDS[language].gave_up.format(rounds=max_rounds) if stopped else "")
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
    """The model's reply, each piece told as it comes where that is wanted and the model can."""
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
    """Keep the message also if the user interrupts just then; it is kept once, by its id."""
    message = {**message, "id": secrets.token_hex(8)}
    try:
        keep(message)
    except KeyboardInterrupt:
        keep(message)
        raise


def _answer(tools: Mapping[str, AgentTool], call: ToolCall) -> tuple[bool, str]:
    """Whether the tool answered, and its answer, or what went wrong, as text for the model."""
    tool = tools.get(call.name)
    if tool is None:
        return False, f"Error: there is no tool {call.name!r}; there are {', '.join(tools)}"
    try:
        answer = tool.call(call.arguments)
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)
        return True, clip(tool.shown(text))
    except MemoryBookError as error:
        return False, tool.shown(f"Error: {error}")
    except Exception as error:  # a tool is anybody's
        return False, tool.shown(f"Error: {type(error).__name__}: {error}")
