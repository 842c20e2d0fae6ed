"""The ASGI application: routes, middleware, MCP and the books they serve."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from importlib import metadata
from typing import Any, cast

from fastapi import APIRouter, FastAPI
from fastapi.exceptions import RequestValidationError
from mcp.server.transport_security import TransportSecuritySettings
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from memorybook.errors import MemoryBookError
from memorybook.http import routes
from memorybook.http.access import PUBLIC, STATIC, Access, Logins, names_of, wants_page
from memorybook.http.books import Books
from memorybook.http.http_messages import Refusal, handle
from memorybook.http.middleware import Heads, Limits, Metrics, Tracing
from memorybook.http.rest_api import API
from memorybook.http.server_state import ask
from memorybook.mcp import Opening, build
from memorybook.storage.stores import placeless

# --- MCP --------------------------------------------------------------------------------------------

PATH = "/mcp"


_opening: ContextVar[Opening] = ContextVar("opening")
"""The memory of the request's tenant, opened at first use and held until the answer."""


class McpApp:
    """The ASGI application behind `PATH`; hosts and origins are checked before it."""

    def __init__(self, books: Books) -> None:
        self._books = books
        self.server = build(lambda: _opening.get()())
        self._app = self.server.streamable_http_app(
            streamable_http_path=PATH,
            stateless_http=True,
            json_response=True,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=books.config.server.max_body,
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve MCP (ASGI) for the token's book, or the one the owner names. Raises Refusal as `Books.work`."""
        named = Request(scope).headers.get("x-memorybook-tenant")
        tenant = await ask(self._books.tokens.state, lambda: self._books.tenant(scope["caller"], named))
        whole = await Request(scope, receive).body()  # before it takes the tenant's turn
        body = iter([{"type": "http.request", "body": whole}])
        begun, late = False, False

        async def given() -> Message:
            return next(body, None) or await receive()

        async def told(message: Message) -> None:
            nonlocal begun
            if not late:
                begun = True
                await send(message)

        async def answer() -> None:
            opening = Opening(lambda: self._books.opened(tenant, person=False, door="mcp"))
            _opening.set(opening)
            try:
                await self._app(scope, given, told)
            finally:
                await run_in_threadpool(opening.close)

        try:
            await self._books.answering(tenant, answer)
        except Refusal:
            late = True
            if not begun:
                raise


# --- application ------------------------------------------------------------------------------------


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
    app.state.logins = logins
    app.state.metrics = Metrics()
    api = APIRouter(prefix=API)
    api.include_router(routes.router)
    app.include_router(api)
    app.state.page = None
    with suppress(ImportError):  # the extra `ui`
        from memorybook.http.page import page_routes

        app.include_router(page_routes.router)
        app.mount(STATIC, StaticFiles(packages=[("memorybook.http.page", "static")]), name="static")
        app.state.page = page_routes.failed
    app.include_router(routes.admin)
    app.include_router(routes.probes)
    app.state.mcp = McpApp(books)
    # only POST: the server sends nothing unasked, and an open stream would occupy a request slot
    app.router.routes.append(Route(PATH, endpoint=app.state.mcp, methods=["POST"]))
    app.openapi = lambda: _described(app)  # type: ignore[method-assign]
    app.add_exception_handler(MemoryBookError, handle)
    app.add_exception_handler(HTTPException, _unknown)
    app.add_exception_handler(RequestValidationError, _invalid)
    settings = books.config.server
    app.add_middleware(Heads)
    app.add_middleware(Limits, settings=settings, state=books.tokens.state)
    app.add_middleware(
        Access,
        hosts=names_of(settings.host, settings.hosts),
        caller=books.tokens.caller,
        revoked=books.tokens.revoked,
        logins=logins,
        placeless=placeless(books.config, books.root),
        page=app.state.page,
    )
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
    async with books.serving(), app.state.mcp.server.session_manager.run():
        yield


async def _unknown(request: Request, error: Exception) -> Response:
    """Answer an unknown path, or a method that a path does not have."""
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        allowed = ", ".join(_allowed(request.app, request.url.path))
        told = f"{request.method} is not one of the methods of this place: {allowed}"
        refusal = Refusal(405, "method_not_allowed", told, {"Allow": allowed})
    elif error.status_code == 404:
        refusal = Refusal(404, "not_found", "there is no such place", error.headers)
    else:
        refusal = Refusal(error.status_code, "invalid_input", str(error.detail), error.headers)
    if request.app.state.page is not None and wants_page(request.scope):
        return cast("Response", await request.app.state.page(request, refusal))
    return await handle(request, refusal)


def _allowed(app: FastAPI, path: str) -> list[str]:
    """Return the methods of a path over all routes; paths of documents and names of sessions may contain slashes."""
    found: set[str] = set()
    for place, methods in app.openapi()["paths"].items():
        pattern = re.sub(r"\\{(path|session|which)\\}", ".+", re.escape(place))
        if re.fullmatch(re.sub(r"\\{\w+\\}", "[^/]+", pattern), path):
            found |= {method.upper() for method in methods}
    if not found:  # MCP and the page are described elsewhere
        found = {"POST"} if path == PATH or path.startswith("/act/") else {"GET"}
    return sorted(found | ({"HEAD"} if "GET" in found else set()))


async def _invalid(request: Request, error: Exception) -> Response:
    """Answer an invalid parameter or header."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    name, given = ".".join(map(str, first["loc"][1:])), repr(first.get("input"))[:80]
    return await handle(request, Refusal(400, "invalid_input", f"{name}: {first['msg']}, not {given}"))
