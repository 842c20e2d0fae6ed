"""Any function as a language model: messages in, text out. Forms and tools are asked for in words."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from memorybook.errors import InvalidInput, LLMFailed
from memorybook.formats.llm_messages import Reply
from memorybook.inference.structured_output import Asking, Raw, RawCall, Request, Tally, spelled_out

if TYPE_CHECKING:
    from memorybook.protocols import LLM, Function


def as_llm(given: LLM | Function) -> LLM:
    """The model itself, or a model of a function. Raises InvalidInput for anything else."""
    if hasattr(given, "complete"):
        return cast("LLM", given)
    if not callable(given):
        raise InvalidInput(f"{given!r} is no language model: give a function of messages, or an object with `complete`")
    return callable_llm(given)


def callable_llm(function: Function, *, name: str = "") -> Asking:
    """An LLM of a function; whatever the function raises becomes LLMFailed. Its name is the function's if not given."""
    name = name or f"callable/{getattr(function, '__name__', type(function).__name__)}"

    def once(request: Request, tally: Tally) -> Raw:
        tally.allow()
        messages = spelled_out(request) if request.form or request.tools else request.messages
        began = time.monotonic()
        try:
            raw = raw_of(function([dict(message) for message in messages]))
        except Exception as error:  # the function is anybody's
            tally.add(request, time.monotonic() - began, None)
            if isinstance(error, LLMFailed):
                raise
            raise LLMFailed(f"the language model {name!r} failed ({type(error).__name__}: {error})") from error
        tally.add(request, time.monotonic() - began, raw)
        return raw

    return Asking(name, once)


def raw_of(answer: Any) -> Raw:
    """What a function answered, as any model's answer. Raises TypeError for what is none."""
    if isinstance(answer, str):
        return Raw(answer)
    if isinstance(answer, Reply):
        text = answer.text if answer.data is None or answer.text else json.dumps(answer.data, ensure_ascii=False)
        calls = tuple(RawCall(call.id, call.name, call.arguments) for call in answer.tool_calls)
        return Raw(text, calls, answer.usage.input_tokens or None, answer.usage.output_tokens or None, answer.cut)
    if isinstance(answer, Mapping):
        return Raw(json.dumps(dict(answer), ensure_ascii=False))
    raise TypeError(f"it returned {type(answer).__name__}; return text, a dict or a Reply")
