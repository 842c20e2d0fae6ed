"""What a tool takes, as JSON Schema told from its signature and docstring, and whether a value fits."""

from __future__ import annotations

import inspect
import json
import keyword
import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from memorybook.errors import InvalidInput

_PYTHON: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list, tuple),
    "object": (Mapping,),
}


def schema_of(tool: Callable[..., dict[str, Any]]) -> dict[str, Any]:
    """Name, description and parameters (JSON Schema) of a tool."""
    text = inspect.getdoc(tool) or ""
    summary, _, told = text.partition("\nArgs:\n")
    hints = typing.get_type_hints(tool, {**tool.__globals__, "Memory": Any})
    parameters = list(inspect.signature(tool).parameters.values())[1:]
    lines = dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)
    properties = {
        _public(p.name): {**_type(hints[p.name]), "description": lines[_public(p.name)]}
        | ({} if p.default in (p.empty, None, (), False) else {"default": p.default})
        for p in parameters
    }
    return {
        "name": tool.__name__,
        "description": " ".join(summary.split()),
        "parameters": {
            "type": "object",
            "properties": properties,
            "required": [_public(p.name) for p in parameters if p.default is p.empty],
        },
    }


def described_without(description: str, tools: Collection[str]) -> str:
    """Return a tool's description without the sentences that name one of these tools."""
    sentences = description.removesuffix(".").split(". ")
    return ". ".join(one for one in sentences if not any(tool in one for tool in tools)) + "."


def checked(name: str, parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call of `name` without None. Raises InvalidInput for what its schema does not allow."""
    properties = parameters["properties"]
    for given in arguments.keys() - properties.keys():
        raise InvalidInput(f"{name} takes no {given!r}: it takes {', '.join(properties) or 'nothing'}")
    taken = {given: value for given, value in arguments.items() if value is not None}
    for missing in parameters["required"]:
        if missing not in taken:
            raise InvalidInput(f"{name} needs {missing!r}")
    for given, value in taken.items():
        if "type" in properties[given] and not fits(value, properties[given]):
            raise InvalidInput(f"{name} takes {given!r} as {described(properties[given])}, not {repr(value)[:80]}")
    return taken


def decoded(name: str, arguments: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Return the arguments of a call of `name` as an object; "" is an empty one. Raises InvalidInput for other text."""
    if not isinstance(arguments, str):
        return arguments
    try:
        found = json.loads(arguments or "{}")
    except ValueError as error:
        raise InvalidInput(f"the arguments of {name} are no JSON ({error}): {arguments[:80]!r}") from None
    if not isinstance(found, dict):
        raise InvalidInput(f"the arguments of {name} are a JSON object, not {arguments[:80]!r}")
    return found


def fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Return whether the value is of a type that the schema names; a boolean is no number."""
    kinds = _kinds(schema)
    if not any(isinstance(value, _PYTHON[kind]) for kind in kinds) or ("boolean" in kinds) != isinstance(value, bool):
        return False
    return "items" not in schema or all(fits(item, schema["items"]) for item in value)


def described(schema: Mapping[str, Any]) -> str:
    """Return the type that the schema names, in words."""
    words = " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in _kinds(schema))
    return f"{words} of {schema['items']['type']}s" if "items" in schema else words


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    return [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def private(name: str) -> str:
    """Return the parameter that callers know by the name: a word of Python has an underscore there."""
    return f"{name}_" if keyword.iskeyword(name) else name


def _public(parameter: str) -> str:
    return parameter.removesuffix("_")


def _type(hint: Any) -> dict[str, Any]:
    """JSON Schema of a parameter's type; None in a union only says that it may be left out."""
    simple = {str: "string", int: "integer", float: "number", bool: "boolean"}
    if hint in simple:
        return {"type": simple[hint]}
    arguments = [each for each in typing.get_args(hint) if each is not type(None)]
    origin = typing.get_origin(hint)
    if origin is Sequence:
        return {"type": "array", "items": _type(arguments[0])}
    if origin is Mapping:
        return {"type": "object"}
    if len(arguments) == 1:
        return _type(arguments[0])
    return {"type": [_type(each)["type"] for each in arguments]}


WIRES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "openai": lambda schema: {"type": "function", "function": schema},
    "openai-responses": lambda schema: {"type": "function", "strict": False, **schema},
    "anthropic": lambda schema: {
        "name": schema["name"],
        "description": schema["description"],
        "input_schema": schema["parameters"],
    },
}
"""A tool as the requests of each API have it."""
