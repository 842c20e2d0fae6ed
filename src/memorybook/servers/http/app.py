"""The application: the routes, what stands before them, and the books behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from typing import TYPE_CHECKING

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memorybook.errors import MemoryBookError
from memorybook.servers.http import (
    archives,
    documents,
    entries,
    health,
    sessions,
    tenants,
    tool_routes,
)
from memorybook.servers.http.access import Access, Gate, Logins, names_of
from memorybook.servers.http.limits import Limits
from memorybook.servers.http.mcp_route import McpApp
from memorybook.servers.http.refusals import Refusal, handle
from memorybook.servers.http.tracing import Metrics, Tracing

if TYPE_CHECKING:
    from memorybook.servers.http.books import Books

API = "/api/v1"


def build_app(books: Books, logins: Logins) -> FastAPI:
    """The application that serves these books, which it closes when it ends.

    Args:
        books: What is served, with the settings and the tokens.
        logins: Of browsers.
    """
    app = FastAPI(
        title="memorybook",
        version=metadata.version("memorybook"),
        summary="Long-term memory for AI agents.",
        lifespan=_lifespan,
        openapi_url=f"{API}/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.books = books
    app.state.metrics = Metrics()
    api = APIRouter(prefix=API)
    for part in (tool_routes, documents, entries, sessions, archives, tenants):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(health.router)
    app.state.mcp = McpApp(books)
    app.router.routes.append(app.state.mcp.route())
    app.add_exception_handler(MemoryBookError, handle)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _invalid)
    settings = books.config.server
    app.add_middleware(Limits, settings=settings)
    app.add_middleware(Access, gate=Gate(names_of(settings.host, settings.hosts), books.tokens.caller, logins))
    app.add_middleware(Tracing, metrics=app.state.metrics)  # the last one added is the first to be asked
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    books: Books = app.state.books
    async with books.serving(), app.state.mcp.running():
        yield


async def _unknown(request: Request, error: Exception) -> Response:
    """No such route, or not with that method."""
    assert isinstance(error, HTTPException)
    codes = {404: "not_found", 405: "method_not_allowed"}
    refusal = Refusal(
        error.status_code, codes.get(error.status_code, "invalid_input"), str(error.detail), error.headers
    )
    return await handle(request, refusal)


async def _invalid(request: Request, error: Exception) -> Response:
    """A parameter of the address or a header that cannot be used."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, given = ".".join(map(str, first["loc"][1:])), repr(first.get("input"))[:80]
    return await handle(request, Refusal(400, "invalid_input", f"{name}: {first['msg']}, not {given}"))
