"""Requests to a language model and its answers, as frozen values independent of any wire format.

Messages are mappings as OpenAI's wire has them: `{"role": "system" | "user" | "assistant", "content": text}`;
an assistant's message may hold `tool_calls` (`ToolCall.json()`), and what a tool answered is
`{"role": "tool", "tool_call_id": id, "content": text}`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, astuple, dataclass, field
from operator import add
from typing import Any, Generic, TypeVar

T = TypeVar("T")

Message = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Usage:
    """Costs of calls; `+` adds two.

    `calls` includes `failed` ones; tokens as the server counted them, else estimated.
    """

    calls: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(*map(add, astuple(self), astuple(other)))

    @property
    def tokens(self) -> int:
        """Both kinds, as budgets count them."""
        return self.input_tokens + self.output_tokens

    def json(self) -> dict[str, int | float]:
        """Return all fields for journals and answers; seconds rounded to milliseconds."""
        return {**asdict(self), "seconds": round(self.seconds, 3)}


@dataclass(frozen=True, slots=True)
class ToolSchema:
    """A tool that the model may call.

    Name (`[A-Za-z0-9_-]+`, at most 64), description, JSON schema of its arguments.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A model's call of an offered tool; `arguments` are decoded and need not fit the schema."""

    id: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def json(self) -> dict[str, Any]:
        """Return the call as an assistant's message has it."""
        arguments = json.dumps(dict(self.arguments), ensure_ascii=False)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


@dataclass(frozen=True, slots=True)
class Form(Generic[T]):
    """A structured answer: name (`[A-Za-z0-9_-]+`, at most 64), description and JSON schema are shown to the model.

    `read` turns any decoded JSON (at most 64 levels, finite numbers) into the value, or raises ValueError with a
    sentence that tells the model what to mend.
    """

    name: str
    description: str
    schema: Mapping[str, Any]
    read: Callable[[Any], T]


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer of a model: text, the form's value, tool calls in order, usage of all requests.

    `cut` at the token limit.
    """

    text: str = ""
    data: Any = None
    tool_calls: tuple[ToolCall, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cut: bool = False

    def message(self) -> dict[str, Any]:
        """Return the assistant's message that continues the conversation."""
        calls = [call.json() for call in self.tool_calls]
        return {"role": "assistant", "content": self.text} | ({"tool_calls": calls} if calls else {})
