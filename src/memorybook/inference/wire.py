"""What the wires have in common: what a server was found to take, and reading JSON that may be anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from memorybook.inference.structured_output import Raw, RawCall

if TYPE_CHECKING:
    from memorybook.inference.http_client import Response
    from memorybook.inference.structured_output import Request


class Dialect(NamedTuple):
    """How one server is spoken to.

    Attributes:
        mode: How forms are asked for: `json_schema`, `tool`, `prompted`.
        fixed: Whether the mode was set, and must stay.
        limit: What the limit of tokens is called.
        forced: Whether a call of a tool can be demanded.
        counted: Whether a stream can be asked for its usage.
        temperature: Asked for; None leaves it to the server.
    """

    mode: str
    fixed: bool = False
    limit: str = "max_tokens"
    forced: bool = True
    counted: bool = True
    temperature: float | None = None


class Draft:
    """An answer that comes in pieces, so far without its text."""

    def __init__(self) -> None:
        self.input_tokens: int | None = None
        self.output_tokens: int | None = None
        self.cut = False
        self.ended = False
        self._calls: dict[str, list[str]] = {}

    def call(self, index: Any, id: str, name: str, arguments: str) -> None:
        """Add to the call of that index."""
        known = self._calls.setdefault(str(index), ["", "", ""])
        self._calls[str(index)] = [known[0] or id, known[1] or name, known[2] + arguments]

    def whole(self, text: str) -> Raw:
        """The answer, once all of it is there."""
        calls = tuple(RawCall(*call) for call in self._calls.values())
        return Raw(text, calls, self.input_tokens, self.output_tokens, self.cut)


class Wire(Protocol):
    """What a module that speaks a wire has."""

    TAIL: str
    """Of the address."""

    def headers(self, key: str) -> dict[str, str]:
        """Of every request."""

    def body(self, request: Request, dialect: Dialect, model: str, *, stream: bool = False) -> dict[str, Any]:
        """What to post."""

    def concede(self, dialect: Dialect, request: Request, response: Response) -> Dialect | None:
        """A plainer dialect for a server that refused this request; None if none would help."""

    def answer(self, found: Any) -> Raw:
        """The answer in a decoded body. Raises ValueError if it is none."""

    def piece(self, event: Any, draft: Draft) -> str:
        """The text that an event of a stream adds; all else of it goes into the draft. Raises ValueError."""


def named(found: Any, name: str | None = None) -> Mapping[str, Any]:
    """The object, or the one that it has under that name; empty if there is none."""
    if name is not None:
        found = found.get(name) if isinstance(found, Mapping) else None
        if isinstance(found, str) and found:
            found = {"message": found}
    return found if isinstance(found, Mapping) else {}


def check(found: Any) -> None:
    """Raise ValueError if an answer, or an event of a stream, is an error."""
    error = named(found, "error")
    if error:
        raise ValueError(f"an error: {text_of(error) or dict(error)}"[:300])


def text_of(found: Any) -> str:
    """Text as it stands, in a list of parts, or as the message of an error; "" for all else."""
    if isinstance(found, str):
        return found
    if isinstance(found, Mapping):
        return text_of(found.get("text") or found.get("message"))
    if isinstance(found, list):
        return "".join(text_of(part) for part in found if not isinstance(part, list))
    return ""


def count(found: Any) -> int | None:
    """A number of tokens; None for whatever cannot be one, and for 0, which servers say that do not count."""
    return found if type(found) is int and 0 < found < 10**9 else None
