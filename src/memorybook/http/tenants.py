"""Routes of tenants and of the tokens that the owner gives out."""

from __future__ import annotations

from typing import Annotated, Any, cast

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from memorybook.errors import InvalidInput
from memorybook.formats.json_schema import checked
from memorybook.http import schemas
from memorybook.http.api_tokens import ActsAs
from memorybook.http.dependencies import FAILS, Asked, Owned, body, books_of
from memorybook.http.json_wire import answer, given

router = APIRouter(responses=FAILS)

_NAME = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
_TOKEN: dict[str, Any] = {
    "type": "object",
    "properties": {"acts_as": {"type": "string", "enum": ["agent", "user"]}, "label": {"type": "string"}},
    "required": [],
}


@router.get("/tenants", response_model=schemas.Tenants, tags=["tenants"])
async def tenants(tokens: Owned, request: Request) -> Response:
    """All tenants."""
    found = await books_of(request).run(tokens.tenants)
    return answer({"tenants": [{"name": name, **told} for name, told in sorted(found.items())]})


@router.post("/tenants", response_model=schemas.Tenant, status_code=201, openapi_extra=body(_NAME), tags=["tenants"])
async def add_tenant(tokens: Owned, request: Request) -> Response:
    """Make a tenant, with a book of its own."""
    name = checked("a tenant", _NAME, await given(request))["name"]
    if not books_of(request).many:
        raise InvalidInput("this server has one book: tenants are for memorybook serve --workspace DIR")
    return answer(await books_of(request).run(lambda: tokens.add_tenant(name)), status=201)


@router.delete("/tenants/{name}", status_code=204, response_class=Response, tags=["tenants"])
async def drop_tenant(
    name: str,
    _: Owned,
    request: Request,
    erase: Annotated[bool, Query(description="Whether its book is removed for good; else it stays on disk.")] = False,
) -> Response:
    """Close a tenant: its tokens are no good any more."""
    await books_of(request).run(lambda: books_of(request).drop(name, erase=erase))
    return Response(status_code=204)


@router.get("/tokens", response_model=schemas.Issuances, tags=["tokens"])
async def listed(tokens: Owned, asked: Asked) -> Response:
    """The tokens that were given out for the book, without what is secret of them."""
    return answer({"tokens": await asked.books.run(lambda: tokens.listed(asked.tenant))})


@router.post(
    "/tokens",
    response_model=schemas.Issued,
    status_code=201,
    openapi_extra=body(_TOKEN),
    tags=["tokens"],
)
async def issue(tokens: Owned, asked: Asked, request: Request) -> Response:
    """Make a token for the book; its text is told this once. `acts_as` says whether its word is a person's."""
    told = checked("a token", _TOKEN, await given(request))
    acts_as, label = cast("ActsAs", told.get("acts_as", "agent")), told.get("label", "")
    made = await asked.books.run(lambda: tokens.issue(asked.tenant, acts_as=acts_as, label=label))
    return answer(made, status=201)


@router.delete("/tokens/{id}", status_code=204, response_class=Response, tags=["tokens"])
async def revoke(id: str, tokens: Owned, asked: Asked) -> Response:
    """Let a token be no good any more."""
    await asked.books.run(lambda: tokens.revoke(asked.tenant, id))
    return Response(status_code=204)
