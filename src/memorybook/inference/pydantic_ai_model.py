"""Any model that pydantic-ai knows, as a language model of memorybook (the extra `pydantic-ai`).

The provider's address and key are where pydantic-ai looks for them, mostly in the environment.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from memorybook.errors import ConfigError, LLMFailed, MissingExtra
from memorybook.inference.structured_output import (
    LanguageModel,
    Raw,
    RawCall,
    Request,
    Tally,
    clean,
    spelled_out,
    text_of,
)

if TYPE_CHECKING:
    from memorybook.config.settings import LLMSettings


def open_model(model: Any, settings: LLMSettings) -> LanguageModel:
    """Return the model of that name, such as `openai:gpt-5-mini`, or one made with pydantic-ai.

    Raises:
        MissingExtra: pydantic-ai, or its part for this provider, is not installed.
        ConfigError: It knows no such model, or the provider's key is not set.
    """
    try:
        from pydantic_ai.exceptions import UserError
        from pydantic_ai.models import infer_model
    except ImportError as error:
        raise MissingExtra(_missing(error)) from None
    try:
        inferred = infer_model(model)
    except ImportError as error:
        raise MissingExtra(_missing(error)) from None
    except (UserError, ValueError) as error:
        raise ConfigError(f"pydantic-ai cannot use llm.model {model!r}: {error}") from None
    return PydanticAIModel(inferred, settings)


def _missing(error: ImportError) -> str:
    return f"llm.model wants pydantic-ai ({error}): pip install 'memorybook[pydantic-ai]', and the provider's package"


class PydanticAIModel(LanguageModel):
    """Asks in an event loop of its own, so that it works wherever it is called from."""

    def __init__(self, model: Any, settings: LLMSettings) -> None:
        super().__init__(f"pydantic-ai/{model.model_name}")
        self._model = model
        self._settings = settings
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memorybook-llm", daemon=True)
        self._thread.start()

    def request(self, request: Request, tally: Tally) -> Raw:
        """See `LanguageModel.request`."""
        from pydantic_ai.direct import model_request
        from pydantic_ai.messages import TextPart, ToolCallPart

        settings = self._settings
        words = request.spelled or (request.form and settings.mode == "prompted")
        limit = request.max_tokens or settings.max_tokens

        def ask() -> Raw:
            asked = model_request(
                self._model,
                _messages(spelled_out(request) if words else request.messages),
                model_settings={"timeout": settings.timeout}
                | ({"max_tokens": limit} if limit else {})
                | ({"temperature": settings.temperature} if settings.temperature >= 0 else {}),
                model_request_parameters=_parameters(request, settings.mode),
            )
            try:
                answer = asyncio.run_coroutine_threadsafe(
                    asyncio.wait_for(asked, settings.timeout), self._loop
                ).result()
            except Exception as error:  # providers raise what they like
                late = f"did not answer within {settings.timeout:g} seconds"
                what = late if isinstance(error, TimeoutError) else f"failed: {error}"
                raise LLMFailed(f"the language model {self._model.model_name!r} {what}; try again later") from None
            called = [part for part in answer.parts if isinstance(part, ToolCallPart)]
            calls = tuple(RawCall(part.tool_call_id, part.tool_name, part.args) for part in called)
            text = "".join(part.content for part in answer.parts if isinstance(part, TextPart))
            usage, cut = answer.usage, answer.finish_reason == "length"
            return Raw(text, calls, usage.input_tokens or None, usage.output_tokens or None, cut)

        return self._timed(request, tally, ask, f"the language model {self._model.model_name!r} failed")

    def close(self) -> None:
        """End the event loop; the model cannot be used afterwards."""
        if self._loop.is_running():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def _parameters(request: Request, mode: str) -> Any:
    from pydantic_ai.models import ModelRequestParameters
    from pydantic_ai.output import OutputObjectDefinition

    form = request.form
    if form and mode == "json_schema":
        wanted = OutputObjectDefinition(json_schema=dict(form.schema), name=form.name, description=form.description)
        return ModelRequestParameters(output_mode="native", output_object=wanted)
    if form and mode != "prompted":
        tool = _tool(form.name, form.description, form.schema, kind="output")
        return ModelRequestParameters(output_mode="tool", output_tools=[tool], allow_text_output=False)
    tools = [_tool(tool.name, tool.description, tool.parameters) for tool in request.tools]
    return ModelRequestParameters(function_tools=tools, allow_text_output=not request.tool_choice)


def _tool(name: str, description: str, schema: Mapping[str, Any], *, kind: str = "function") -> Any:
    from pydantic_ai.tools import ToolDefinition

    return ToolDefinition(name=name, parameters_json_schema=dict(schema), description=description, kind=kind)


def _messages(messages: Any) -> list[Any]:
    from pydantic_ai import messages as theirs

    made: list[Any] = []
    names: dict[str, str] = {}
    for message in messages:
        text = clean(text_of(message.get("content")))
        if message["role"] == "assistant":
            parts: list[Any] = [theirs.TextPart(text)] if text else []
            for call in message.get("tool_calls") or ():
                names[call["id"]] = call["function"]["name"]
                parts.append(theirs.ToolCallPart(call["function"]["name"], call["function"]["arguments"], call["id"]))
            made.append(theirs.ModelResponse(parts=parts))
        elif message["role"] == "tool":
            id = str(message.get("tool_call_id"))
            made.append(theirs.ModelRequest(parts=[theirs.ToolReturnPart(names.get(id, "tool"), text, id)]))
        else:
            part = theirs.SystemPromptPart if message["role"] == "system" else theirs.UserPromptPart
            made.append(theirs.ModelRequest(parts=[part(text)]))
    return made
