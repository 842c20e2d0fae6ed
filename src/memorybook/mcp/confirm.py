"""Forgetting, which a person agrees to first: by the host's question, or by `yes` where a host cannot ask.

What would go is looked up for the question, and once more before it goes: where the two differ nothing does. A `yes`
counts once, and only for what the last refusal named: nobody can have agreed to what nobody was shown.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from typing import Annotated, Any

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp.types import CallToolResult
from pydantic import BaseModel, Field

from memorybook import tools
from memorybook.errors import InvalidInput, MemoryBookError, NotFound
from memorybook.mcp.responses import answered, called, refused, things
from memorybook.mcp.tool_catalog import ASKS_FIRST, WOULD_GO
from memorybook.memory import Memory

_NAMED = 5
"""Entries, and notes and documents, that a question shows."""

_LONGEST = 200
"""Characters of each."""


class Consent(BaseModel):
    """A person's answer."""

    forget: bool = Field(title="Forget · 忘掉", description="True: forget it. False: keep it.")


def asking(memory: Callable[[], Memory]) -> Callable[..., CallToolResult]:
    """Return the tool's function: it asks a person where the host can, and forgets what they saw."""
    named: dict[str, Any] = {}  # by book: what the last refusal named

    def look(arguments: dict[str, Any]) -> Any:
        try:
            _agreed(arguments)
            return _would_go(memory(), arguments)
        except MemoryBookError as error:
            return error

    def ask(arguments: dict[str, Any], shown: Any, context: Context[Any, Any]) -> Any:
        if isinstance(shown, MemoryBookError):
            return refused(str(shown))
        try:
            return _answer(memory(), arguments, shown, named, can_ask=_can_ask(context))
        except MemoryBookError as error:
            return refused(str(error))

    def run(arguments: dict[str, Any], shown: Any, consent: Any) -> CallToolResult:
        said = consent.data if isinstance(consent, AcceptedElicitation) else None
        if isinstance(said, CallToolResult):
            return said
        if said is None or not said.forget:
            return refused("nothing was forgotten: the user was asked and does not want it")
        if look(arguments) != shown:
            return refused("nothing was forgotten, for something else fits by now: call memory_forget again")
        return called(memory, ASKS_FIRST, _own(arguments))

    looked = Annotated[Any, Resolve(look)]
    ask.__annotations__["shown"] = looked
    run.__annotations__ |= {"shown": looked, "consent": Annotated[ElicitationResult[Consent], Resolve(ask)]}
    return run


def _would_go(memory: Memory, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the tool would forget."""
    return tools.call(memory, ASKS_FIRST, {**_own(arguments), "dry_run": True})


def _answer(
    memory: Memory, arguments: Mapping[str, Any], shown: Mapping[str, Any], named: dict[str, Any], *, can_ask: bool
) -> Consent | Elicit[Consent] | CallToolResult:
    """Return the consent, the question for a person, or the answer where none is needed. Raises NotFound."""
    if "receipt" not in shown:  # switched off: the call says so
        return Consent(forget=True)
    receipt = shown["receipt"]
    if arguments.get("dry_run") is True:
        return answered({**shown, WOULD_GO: _words(memory, arguments, receipt)})
    if not things(receipt):
        raise NotFound("nothing in the book fits: nothing would go")
    if not can_ask and named.pop(memory.root, None) == receipt and _agreed(arguments):
        return Consent(forget=True)
    lines = [f"    {line}" for line in _words(memory, arguments, receipt)]
    if can_ask:
        return Elicit("\n".join([f"Forget {things(receipt)}? 要忘掉吗？", "", *lines]), Consent)
    named[memory.root] = receipt
    return refused(_unasked(receipt), *lines)


def _own(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments without `yes`."""
    return {name: value for name, value in arguments.items() if name != "yes"}


def _agreed(arguments: Mapping[str, Any]) -> bool:
    yes = arguments.get("yes")
    if yes is not None and not isinstance(yes, bool):
        raise InvalidInput(f"memory_forget takes 'yes' as a boolean, not {yes!r}")
    return bool(yes)


def _can_ask(context: Context[Any, Any]) -> bool:
    """Return whether the host can show a form; the bare capability of older hosts means it can."""
    capabilities = context.client_capabilities
    asks = capabilities.elicitation if capabilities is not None else None
    return asks is not None and (asks.form is not None or asks.url is None)


def _unasked(told: Mapping[str, Any]) -> str:
    return (
        f"a person has to agree before {things(told)} may go, and this host cannot ask: show the user what goes, and "
        "once they agree call memory_forget again with yes: true. What goes:"
    )


def _words(memory: Memory, arguments: Mapping[str, Any], told: Mapping[str, Any]) -> list[str]:
    """Return the first texts that would go; callers indent them, so that no host reads them as markup."""
    ids, rest = told["entries"], (*told["notes"], *told["documents"])
    said = [tools.call(memory, "memory_get", {"target": id})["entry"]["text"] for id in ids[:_NAMED]]
    named = [arguments[name] for name in ("session", "source") if arguments.get(name)]
    if told["turns"] == 1 and named and named[0].startswith("turn:"):
        said.append(tools.call(memory, "memory_get", {"target": named[0]})["text"])
    if told["sessions"] and arguments.get("session"):
        found = tools.call(memory, "recall_session", {"which": arguments["session"], "limit": 1})["sessions"]
        said[:0] = [talk["title"] for talk in found if talk["title"]]
    lines = [_plain(text) for text in dict.fromkeys((*named, *said, *rest[:_NAMED]))]
    return [*lines, "…"] if len(ids) > _NAMED or len(rest) > _NAMED else lines


def _plain(text: str) -> str:
    """Return the beginning of the text as one line, without invisible characters."""
    line = " ".join(text.split())
    return "".join(c for c in line if unicodedata.category(c) not in ("Cc", "Cf"))[:_LONGEST]
