"""The API's own description, as `/docs` shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Operation(NamedTuple):
    """One method of a path.

    Attributes:
        id: The anchor on the page.
        method, path: As they are called.
        summary, description: What it does; "" for none.
        parameters: OpenAPI's, of path, query and header.
        body: Media type -> OpenAPI's description of what is sent.
        answers: Status -> OpenAPI's description of what is answered.
    """

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Mapping[str, Any]]
    body: Mapping[str, Any]
    answers: Mapping[str, Any]


def operations_of(described: Mapping[str, Any]) -> list[Operation]:
    """Return the operations of an OpenAPI document in its order."""
    return [
        Operation(
            one.get("operationId", f"{method}-{path}"),
            method.upper(),
            path,
            one.get("summary", ""),
            one.get("description", ""),
            one.get("parameters", []),
            one.get("requestBody", {}).get("content", {}),
            one.get("responses", {}),
        )
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]


def readable_json(value: object) -> str:
    """Return it as JSON for people: indented, with every script as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False)
