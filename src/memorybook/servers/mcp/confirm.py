"""Forgetting, which a person agrees to first: by the host's question, or by `yes` where a host cannot ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from memorybook import tools
from memorybook.errors import InvalidInput, MemoryBookError, NotFound
from memorybook.memory import Memory
from memorybook.servers.mcp.brief import things
from memorybook.servers.mcp.offers import ASKS_FIRST
from memorybook.servers.mcp.results import called, refused

_NAMED = 5
"""How many entries, and how many notes, a question shows."""

_LONGEST = 200
"""Characters of each."""


class Consent(BaseModel):
    """What a person says when asked."""

    forget: bool = Field(title="Forget · 忘掉", description="True: forget it. False: keep it.")


def asking(memory: Callable[[], Memory]) -> Callable[..., CallToolResult]:
    """The tool's function: it asks before it forgets, unless it is told `yes` or only to say what would go."""

    def ask(arguments: dict[str, Any], context: Context[Any, Any]) -> Consent | Elicit[Consent] | MemoryBookError:
        try:
            if _agreed(arguments) or arguments.get("dry_run") is True:
                return Consent(forget=True)
            opened = memory()
            told = tools.call(opened, ASKS_FIRST, {**_own(arguments), "dry_run": True})
            if "receipt" not in told:  # switched off: the call says so
                return Consent(forget=True)
            if not things(told["receipt"]):
                return NotFound("nothing in the book fits: nothing would go")
            if not _can_ask(context):
                return _unasked(told["receipt"])
            return Elicit(_question(opened, told["receipt"]), Consent)
        except MemoryBookError as error:
            return error

    def run(arguments: dict[str, Any], consent: Any) -> CallToolResult:
        said = consent.data if isinstance(consent, AcceptedElicitation) else None
        if isinstance(said, MemoryBookError):
            return refused(str(said))
        if said is None or not said.forget:
            return refused("nothing was forgotten: the user was asked and does not want it")
        return called(memory, ASKS_FIRST, _own(arguments))

    run.__annotations__["consent"] = Annotated[ElicitationResult[Consent], Resolve(ask)]
    return run


def _own(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """What the tool itself takes."""
    return {name: value for name, value in arguments.items() if name != "yes"}


def _agreed(arguments: Mapping[str, Any]) -> bool:
    yes = arguments.get("yes")
    if yes is not None and not isinstance(yes, bool):
        raise InvalidInput(f"memory_forget takes 'yes' as a boolean, not {yes!r}")
    return bool(yes)


def _can_ask(context: Context[Any, Any]) -> bool:
    """Whether the host declared that it shows a person a form; the bare declaration of older hosts means it."""
    capabilities = context.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _unasked(told: Mapping[str, Any]) -> InvalidInput:
    return InvalidInput(
        f"a person has to agree before {things(told)} may go, and this host cannot ask: tell the user what goes "
        "(dry_run: true shows it), and once they agree call memory_forget again with yes: true"
    )


def _question(memory: Memory, told: Mapping[str, Any]) -> str:
    """What would go, counted, and the first of it in its own words."""
    ids, notes = told["entries"], told["notes"]
    said = [tools.call(memory, "memory_get", {"target": id})["entry"]["text"] for id in ids[:_NAMED]]
    lines = [f"- {' '.join(text.split())[:_LONGEST]}" for text in (*said, *notes[:_NAMED])]
    more = ["- …"] if len(lines) < len(ids) + len(notes) else []
    return "\n".join([f"Forget {things(told)}? 要忘掉吗？", *lines, *more])
