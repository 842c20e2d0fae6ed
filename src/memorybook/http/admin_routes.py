"""Routes of the server itself: tenants, tokens, health and metrics."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Depends, Query
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response
from typing_extensions import TypedDict

from memorybook.errors import InvalidInput
from memorybook.formats.json_schema import checked
from memorybook.http.api_tokens import ActsAs, Tokens
from memorybook.http.http_messages import Refusal, answer, given
from memorybook.http.middleware import Metrics
from memorybook.http.rest_api import API
from memorybook.http.routes import FAILS, InBook, body, books_of, caller_of

router = APIRouter(prefix=API, responses=FAILS)
"""Tenants and tokens."""

probes = APIRouter(tags=["server"], responses=FAILS)
"""Health and metrics, outside the API."""


class Tenant(TypedDict):
    """A tenant of the server."""

    name: str
    created: str


class Token(TypedDict):
    """A token that was given out, without its secret."""

    id: str
    acts_as: Literal["agent", "user"]
    label: str
    created: str


class Issued(Token):
    """A new token; its text is told only once."""

    token: str


class Link(TypedDict):
    """A one-time link: its path on this server."""

    path: str


class Health(TypedDict):
    """The state of the server."""

    status: Literal["alive", "ok", "failing", "ready", "not_ready"]


def _owner_only(request: Request) -> Tokens:
    """Return the tokens, for the owner alone. Raises Refusal."""
    if not caller_of(request).owner:
        raise Refusal(403, "forbidden", "only the owner's token may manage tokens, tenants and the server")
    return books_of(request).tokens


Owned = Annotated[Tokens, Depends(_owner_only)]

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


@router.get("/tenants", response_model=dict[Literal["tenants"], list[Tenant]], tags=["tenants"])
async def tenants(tokens: Owned, request: Request) -> Response:
    """List the tenants."""
    found = await books_of(request).run(tokens.tenants)
    return answer({"tenants": [{"name": name, **told} for name, told in sorted(found.items())]})


@router.post("/tenants", response_model=Tenant, status_code=201, openapi_extra=body(_NAME), tags=["tenants"])
async def add_tenant(tokens: Owned, request: Request) -> Response:
    """Create a tenant, with a book of its own."""
    name = checked("a tenant", _NAME, await given(request))["name"]
    if not books_of(request).many:
        raise InvalidInput("this server has one book: tenants are for memorybook serve --workspace DIR")
    return answer(await books_of(request).run(lambda: tokens.add_tenant(name)), status=201)


@router.delete("/tenants/{name}", status_code=204, response_class=Response, tags=["tenants"])
async def drop_tenant(
    name: str,
    _: Owned,
    request: Request,
    erase: Annotated[bool, Query(description="Also delete its book; by default it stays on disk.")] = False,
) -> Response:
    """Close a tenant and revoke its tokens."""
    await books_of(request).run(lambda: books_of(request).drop(name, erase=erase))
    return Response(status_code=204)


@router.get("/tokens", response_model=dict[Literal["tokens"], list[Token]], tags=["tokens"])
async def listed(tokens: Owned, book: InBook) -> Response:
    """List the tokens for the book, without their secrets."""
    return answer({"tokens": await book.books.run(lambda: tokens.listed(book.tenant))})


@router.post(
    "/tokens",
    response_model=Issued,
    status_code=201,
    openapi_extra=body(_TOKEN),
    tags=["tokens"],
)
async def issue(tokens: Owned, book: InBook, request: Request) -> Response:
    """Issue a token for the book; its text is told only once. `acts_as` says whether it speaks for a person."""
    told = checked("a token", _TOKEN, await given(request))
    acts_as, label = cast("ActsAs", told.get("acts_as", "agent")), told.get("label", "")
    made = await book.books.run(lambda: tokens.issue(book.tenant, acts_as=acts_as, label=label))
    return answer(made, status=201)


@router.delete("/tokens/{id}", status_code=204, response_class=Response, tags=["tokens"])
async def revoke(id: str, tokens: Owned, book: InBook) -> Response:
    """Revoke a token."""
    await book.books.run(lambda: tokens.revoke(book.tenant, id))
    return Response(status_code=204)


@router.post("/login-links", response_model=Link, status_code=201, tags=["tokens"])
async def login_link(request: Request) -> Response:
    """Issue a one-time link to the page, for a browser of whoever asks; it is valid for 15 minutes."""
    logins, caller = request.app.state.logins, caller_of(request)
    token = await books_of(request).run(lambda: logins.link(caller))
    return answer({"path": f"/?token={token}"}, status=201)


# --- health and metrics ------------------------------------------------------------------------------


@probes.get("/livez", response_model=Health)
async def livez() -> Response:
    """Return whether the process answers; public."""
    return answer({"status": "alive"})


@probes.get("/healthz", response_model=Health, responses={503: {"model": Health}})
@probes.get("/readyz", response_model=Health, responses={503: {"model": Health}})
async def readyz(request: Request) -> Response:
    """Return whether writes are kept: 503 while they fail; public."""
    ready = await books_of(request).ready()
    well, ill = ("ok", "failing") if request.url.path == "/healthz" else ("ready", "not_ready")
    return answer({"status": well if ready else ill}, status=200 if ready else 503)


@probes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, _: Owned) -> Response:
    """Return metrics for Prometheus; needs the owner's token."""
    books, counted = books_of(request), cast("Metrics", request.app.state.metrics)
    counted.works.set(books.works)
    counted.books.set(books.in_use)
    counted.ready.set(await books.ready())
    return Response(generate_latest(counted.registry), media_type=CONTENT_TYPE_LATEST)


@probes.get("/", response_model=dict[str, str])
async def root() -> Response:
    """Return the version and where the API is described."""
    version = metadata.version("memorybook")
    return answer({"name": "memorybook", "version": version, "openapi": f"{API}/openapi.json"})
