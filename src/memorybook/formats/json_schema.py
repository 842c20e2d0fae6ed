"""JSON Schema of the parameters of tools, from signature and docstring, and validation of arguments."""

from __future__ import annotations

import inspect
import json
import keyword
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


_TEXTS = {"type": "array", "items": {"type": "string"}}

_CATEGORIES = "preference fact decision experience workflow skill_usage todo context skill pattern"
"""Those of `model.CategoryName`, which is not imported: a server lists its tools before it needs entries."""

TYPES: Mapping[str, Mapping[str, Any]] = {
    "str": {"type": "string"},
    "str | date": {"type": "string"},
    "CategoryName": {"type": "string", "enum": _CATEGORIES.split()},
    "State": {"type": "string", "enum": ["active", "archived", "superseded"]},
    "Importance | float": {"type": ["string", "number"]},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "Sequence[str]": _TEXTS,
    "Sequence[int]": {"type": "array", "items": {"type": "integer"}},
    "Mapping[str, Any]": {"type": "object"},
    "Sequence[Mapping[str, Any]]": {"type": "array", "items": {"type": "object"}},
    "Any": {},
    "Log": {"type": ["string", "array"]},
}
"""JSON Schema of annotations, without `| None`. A parameter of any other type cannot be sent."""


def type_of(parameter: inspect.Parameter) -> Mapping[str, Any] | None:
    """Return the JSON Schema of a parameter; None if it cannot be sent. That it may be None is not said."""
    if parameter.kind is parameter.VAR_POSITIONAL:
        return _TEXTS
    return TYPES.get(str(parameter.annotation).removesuffix(" | None"))


def schema_of(function: Callable[..., Any], name: str = "", doc: str = "") -> dict[str, Any]:
    """Return name, description and parameters (JSON Schema) of a function as a tool.

    Args:
        function: Its signature tells types and defaults; its first parameter is left out.
        name: Of the tool; the function's own by default.
        doc: Description and, below an empty line, the parameters in order, `name: description`; by default those of
            the function's docstring.
    """
    summary, _, told = doc.partition("\n\n") if doc else (inspect.getdoc(function) or "").partition("\nArgs:\n")
    lines = dict(line.strip().split(": ", 1) for line in told.splitlines() if ": " in line)
    known = {each.name.removesuffix("_"): each for each in list(inspect.signature(function).parameters.values())[1:]}
    properties = {}
    for public, line in lines.items():
        default = known[public].default
        shown = {} if default in (inspect.Parameter.empty, None, (), False) else {"default": default}
        properties[public] = {**(type_of(known[public]) or {}), "description": line, **shown}
    required = [public for public in lines if known[public].default is inspect.Parameter.empty]
    return {
        "name": name or function.__name__,
        "description": " ".join(summary.split()),
        "parameters": {"type": "object", "properties": properties, "required": required},
    }


def described_without(description: str, tools: Collection[str]) -> str:
    """Return a tool's description without the sentences that name one of these tools."""
    sentences = description.removesuffix(".").split(". ")
    return ". ".join(one for one in sentences if not any(tool in one for tool in tools)) + "."


def checked(name: str, parameters: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Validate the arguments of a call; returns them without those that are None.

    Raises:
        InvalidInput: One that the schema of its parameters does not have, one that is missing, or of another type.
    """
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
    """Parse the arguments of a call; "" is an empty object. Raises InvalidInput."""
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
    """Return whether the value has a type of the schema; a boolean is no number."""
    kinds = _kinds(schema)
    if not any(isinstance(value, _PYTHON[kind]) for kind in kinds) or ("boolean" in kinds) != isinstance(value, bool):
        return False
    return "items" not in schema or all(fits(item, schema["items"]) for item in value)


def described(schema: Mapping[str, Any]) -> str:
    """Describe the type of a schema in words."""
    words = " or ".join(f"{'an' if kind[0] in 'aio' else 'a'} {kind}" for kind in _kinds(schema))
    return f"{words} of {schema['items']['type']}s" if "items" in schema else words


def _kinds(schema: Mapping[str, Any]) -> Sequence[str]:
    return [schema["type"]] if isinstance(schema["type"], str) else schema["type"]


def private(name: str) -> str:
    """Return the name of the parameter in Python, where keywords get an underscore."""
    return f"{name}_" if keyword.iskeyword(name) else name


WIRES: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "openai": lambda schema: {"type": "function", "function": schema},
    "openai-responses": lambda schema: {"type": "function", "strict": False, **schema},
    "anthropic": lambda schema: {
        "name": schema["name"],
        "description": schema["description"],
        "input_schema": schema["parameters"],
    },
}
"""A tool in the format of each API."""
