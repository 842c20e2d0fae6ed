"""The REST API as one table: which method and path serve which verb of `Memory`.

The server makes its routes from it and `memorybook.client` its requests. Parameters come from the verb's signature:
those in the path, then the query of a GET, or the JSON body of anything else.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from memorybook.formats.json_schema import type_of
from memorybook.memory import Memory

API = "/api/v1"


class Resource(NamedTuple):
    """A verb as a resource.

    Attributes:
        verb: Name of the method of `Memory`.
        method, path: As OpenAPI has them; `{name:path}` may contain slashes.
        long: Whether POST is accepted, too, for arguments that are too long for an address.
    """

    verb: str
    method: str
    path: str
    long: bool = False

    @property
    def reads(self) -> bool:
        """True if repeating it is safe."""
        return self.method == "GET"


RESOURCES: tuple[Resource, ...] = (
    Resource("search", "GET", "/search", long=True),
    Resource("recall_memory", "GET", "/search/faded", long=True),
    Resource("get", "GET", "/read", long=True),
    Resource("entries", "GET", "/entries"),
    Resource("remember", "POST", "/entries"),
    Resource("update", "PATCH", "/entries/{id}"),
    Resource("pin", "PATCH", "/entries/{id}"),
    Resource("unpin", "PATCH", "/entries/{id}"),
    Resource("confirm", "POST", "/entries/{id}/confirm"),
    Resource("revise", "POST", "/entries/{id}/revise"),
    Resource("why", "GET", "/entries/{id}/why"),
    Resource("forget", "POST", "/forget"),
    Resource("purge", "POST", "/purge"),
    Resource("append", "POST", "/notes"),
    Resource("flush", "POST", "/notes/flush"),
    Resource("store_if_worthwhile", "POST", "/tasks"),
    Resource("recall", "POST", "/prompt"),
    Resource("preview", "GET", "/prompt/preview", long=True),
    Resource("retrieve_and_inject", "POST", "/prompt/memories"),
    Resource("get_prompt_memories", "GET", "/prompt/entries"),
    Resource("get_prompt_memories_text", "GET", "/prompt/text"),
    Resource("summarize_existing", "GET", "/prompt/summary"),
    Resource("open_session", "POST", "/sessions"),
    Resource("add_messages", "POST", "/sessions/{session:path}/messages"),
    Resource("end_session", "POST", "/sessions/{session:path}/end"),
    Resource("sessions", "GET", "/sessions"),
    Resource("recall_session", "GET", "/sessions/{which:path}"),
    Resource("process_session_end", "POST", "/conversations"),
    Resource("recollect", "GET", "/recall", long=True),
    Resource("recall_history", "GET", "/recall/history"),
    Resource("recall_topic", "GET", "/recall/topic", long=True),
    Resource("recall_within", "GET", "/recall/session", long=True),
    Resource("detect", "GET", "/recall/detect", long=True),
    Resource("documents", "GET", "/documents"),
    Resource("document", "GET", "/documents/{path:path}"),
    Resource("write_document", "PUT", "/documents/{path:path}"),
    Resource("remove_document", "DELETE", "/documents/{path:path}"),
    Resource("rename_document", "POST", "/documents/{path:path}/rename"),
    Resource("history", "GET", "/operations"),
    Resource("activity", "GET", "/operations/days"),
    Resource("undo", "POST", "/operations/{operation}/undo"),
    Resource("review", "GET", "/proposals"),
    Resource("accept", "POST", "/proposals/accept"),
    Resource("reject", "POST", "/proposals/reject"),
    Resource("init", "POST", "/init"),
    Resource("status", "GET", "/status"),
    Resource("sync", "POST", "/sync"),
    Resource("rebuild", "POST", "/rebuild"),
    Resource("tidy", "POST", "/tidy"),
    Resource("close_idle", "POST", "/close-idle"),
    Resource("retry_parked", "POST", "/retry"),
)

BY_VERB: Mapping[str, Resource] = {each.verb: each for each in RESOURCES}


class Parameters(NamedTuple):
    """What a verb takes.

    Attributes:
        schema: JSON Schema of all of it.
        listed: The parameter that takes several words; "" if none does.
        nullable: Parameters for which None is a value.
    """

    schema: Mapping[str, Any]
    listed: str
    nullable: frozenset[str]


@cache
def parameters_of(verb: str) -> Parameters:
    """Return what the verb takes, from its signature."""
    properties: dict[str, Mapping[str, Any]] = {}
    required, listed, nullable = list[str](), "", list[str]()
    for parameter in list(inspect.signature(getattr(Memory, verb)).parameters.values())[1:]:
        kind = type_of(parameter)
        if kind is None:
            continue
        if parameter.kind is parameter.VAR_POSITIONAL:
            listed = parameter.name
        elif parameter.default is parameter.empty:
            required.append(parameter.name)
        elif str(parameter.annotation).endswith(" | None"):
            nullable.append(parameter.name)
        properties[parameter.name] = kind
    schema = {"type": "object", "properties": properties, "required": required}
    return Parameters(schema, listed, frozenset(nullable))
