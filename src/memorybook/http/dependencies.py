"""How a route does its work: whose book, whose word, what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header
from starlette.requests import Request

from memorybook.http.api_tokens import Caller, Tokens
from memorybook.http.books import Books
from memorybook.http.error_responses import Failed, Refusal
from memorybook.memory import Memory

T = TypeVar("T")

FAILS: dict[int | str, dict[str, Any]] = {"default": {"model": Failed, "description": "What went wrong."}}
"""Of every route, in its `responses`."""


def caller_of(request: Request) -> Caller:
    """Who asks."""
    return cast("Caller", request.scope["caller"])


def books_of(request: Request) -> Books:
    """All that is served."""
    return cast("Books", request.app.state.books)


class Asking:
    """A request for the book of one tenant.

    Args:
        request: The request.
        tenant: Whose book the owner means.
    """

    def __init__(
        self,
        request: Request,
        tenant: Annotated[
            str | None,
            Header(alias="X-Memorybook-Tenant", description="Whose book is meant, for the owner of many."),
        ] = None,
    ) -> None:
        self.books = books_of(request)
        self.caller = caller_of(request)
        self.tenant = self.books.tenant(self.caller, tenant)

    async def work(self, do: Callable[[Memory], T]) -> T:
        """What `do` answers for the book; see `Books.work`."""
        return await self.books.work(self.tenant, self.caller.person, do)


Asked = Annotated[Asking, Depends()]


def owner_only(request: Request) -> Tokens:
    """The tokens, for the owner alone. Raises Refusal."""
    if not caller_of(request).owner:
        raise Refusal(403, "forbidden", "only the owner's token may look after tokens, tenants and the server")
    return books_of(request).tokens


Owned = Annotated[Tokens, Depends(owner_only)]


def body(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON body with these parameters as OpenAPI has it: null is as good as left out, others there are none."""
    required = list(parameters.get("required", ()))
    properties = {name: kind if name in required else _or_null(kind) for name, kind in parameters["properties"].items()}
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": bool(required)}}


def _or_null(kind: Mapping[str, Any]) -> dict[str, Any]:
    if "type" not in kind:
        return dict(kind)
    types = [kind["type"]] if isinstance(kind["type"], str) else kind["type"]
    named = {"enum": [*kind["enum"], None]} if "enum" in kind else {}
    return {**kind, "type": [*types, "null"], **named}


def raw_body(kind: str, *, required: bool = True) -> dict[str, Any]:
    """A body of bytes as OpenAPI has it."""
    content = {kind: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"content": content, "required": required}}
