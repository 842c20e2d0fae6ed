"""How a route does its work: whose book, whose word, what comes back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar, cast

from fastapi import Depends, Header
from starlette.requests import Request

from memorybook.memory import Memory
from memorybook.servers.http.books import Books
from memorybook.servers.http.refusals import Failed, Refusal
from memorybook.servers.http.tokens import Caller, Tokens

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


def body(schema: Mapping[str, Any], *, kind: str = "application/json", required: bool = True) -> dict[str, Any]:
    """The request's body as OpenAPI has it."""
    return {"requestBody": {"content": {kind: {"schema": dict(schema)}}, "required": required}}
