"""The ASGI application: routes, middleware and the books they serve."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import metadata
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from memorybook.config.settings import machine_paths
from memorybook.errors import MemoryBookError
from memorybook.http import admin_routes, routes
from memorybook.http.access import PUBLIC, Access, Gate, Logins, names_of
from memorybook.http.http_messages import Refusal, handle
from memorybook.http.mcp_route import McpApp
from memorybook.http.middleware import Heads, Limits, Metrics, Tracing
from memorybook.http.rest_api import API

if TYPE_CHECKING:
    from memorybook.http.books import Books


def build_app(books: Books, logins: Logins) -> FastAPI:
    """Return the application that serves these books and closes them when it ends.

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
    api.include_router(routes.router)
    app.include_router(api)
    app.include_router(admin_routes.router)
    app.include_router(admin_routes.probes)
    app.state.mcp = McpApp(books)
    app.router.routes.append(app.state.mcp.route())
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    app.add_exception_handler(MemoryBookError, handle)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _invalid)
    settings = books.config.server
    app.add_middleware(Heads)
    app.add_middleware(Limits, settings=settings)
    placeless = machine_paths(books.config, books.root)
    hosts = names_of(settings.host, settings.hosts)
    app.add_middleware(Access, gate=Gate(hosts, books.tokens.caller, logins, placeless))
    app.add_middleware(Tracing, metrics=app.state.metrics)  # the last one added is the first to be asked
    return app


def _described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document, with the records of answers and the security scheme."""
    described = FastAPI.openapi(app)
    components = described.setdefault("components", {})
    components.setdefault("schemas", {}).update(routes.RECORDS)
    components["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    described["security"] = [{"token": []}]
    for path in PUBLIC:
        described["paths"][path]["get"]["security"] = []
    return described


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    books: Books = app.state.books
    async with books.serving(), app.state.mcp.running():
        yield


async def _unknown(request: Request, error: Exception) -> Response:
    """Answer an unknown path, or a method that a path does not have."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(_allowed(request.app, request.url.path))
        told = f"{request.method} is not one of the methods of this place: {allowed}"
        return await handle(request, Refusal(405, "method_not_allowed", told, {"Allow": allowed}))
    code = "not_found" if error.status_code == 404 else "invalid_input"
    told = "there is no such place" if error.status_code == 404 else str(error.detail)
    return await handle(request, Refusal(error.status_code, code, told, error.headers))


def _allowed(app: FastAPI, path: str) -> list[str]:
    """Return the methods of a path over all routes."""
    paths = app.openapi()["paths"].items()
    found = {method.upper() for place, methods in paths if _fits(place, path) for method in methods}
    return sorted(found | ({"HEAD"} if "GET" in found else set())) or ["POST"]  # of MCP, which is described elsewhere


def _fits(place: str, path: str) -> bool:
    """Return whether the path fits the template; paths of documents and names of sessions may contain slashes."""
    pattern = re.sub(r"\\{(path|session|which)\\}", ".+", re.escape(place))
    return re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), path) is not None


async def _invalid(request: Request, error: Exception) -> Response:
    """Answer an invalid parameter or header."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, given = ".".join(map(str, first["loc"][1:])), repr(first.get("input"))[:80]
    return await handle(request, Refusal(400, "invalid_input", f"{name}: {first['msg']}, not {given}"))
