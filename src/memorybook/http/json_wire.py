"""JSON as it comes and goes: lossless, also for text that is not UTF-8."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import Response

from memorybook import values
from memorybook.errors import InvalidInput


def shown(value: Any) -> Any:
    """What a verb of `Memory` answers, as JSON: its own `json()` where it has one."""
    if hasattr(value, "json"):
        return value.json()
    if hasattr(value, "_asdict"):
        return {name: shown(each) for name, each in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [shown(each) for each in value]
    return value


JSON = "application/json"


def answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None, kind: str = JSON) -> Response:
    """The answer with a JSON value, in ASCII: bytes that are not UTF-8 come through as lone surrogates."""
    return Response(json.dumps(value), status, dict(headers or {}), kind)


def form(request: Request) -> tuple[Callable[[Any], Any], str]:
    """How a verb's answer is shown to whoever asks, with the media type: as JSON, or exactly as for our own client."""
    exact = request.headers.get("accept") == values.KIND
    return (values.to_json, values.KIND) if exact else (shown, JSON)


async def given(request: Request) -> dict[str, Any]:
    """The JSON object of a request; an empty body is an empty one.

    Raises:
        InvalidInput: It is none.
    """
    body = await request.body()
    if not body:
        return {}
    try:
        value = json.loads(body, parse_constant=_no_constant)
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply") from None
    except ValueError as problem:
        raise InvalidInput(f"the body is no JSON ({str(problem)[:200]})") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"the body must be a JSON object, not {type(value).__name__}")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")
