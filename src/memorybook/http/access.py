"""Authentication middleware: checks Host, Origin and token before any route, websockets included."""

from __future__ import annotations

import re
import secrets
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorybook.http.api_tokens import OWNER, Caller, digest
from memorybook.http.http_messages import Refusal, refuse
from memorybook.http.server_state import ServerState, ask

PUBLIC = frozenset({"/livez", "/healthz", "/readyz"})
"""Public paths."""

STATIC = "/static"
"""Before the files of the page, the same for everybody, which are public as well."""

STREAM = "/live"
"""The path of the page that is answered for as long as a browser shows the page."""

_LINK_LASTS = 900.0
_LOGIN_LASTS = 30 * 86400.0


class Logins:
    """One-time login links and the browser sessions they open; only digests are stored, for their time.

    Args:
        state: Keeps them.
    """

    def __init__(self, state: ServerState) -> None:
        self.state = state

    def link(self, caller: Caller = OWNER) -> str:
        """Issue the token of a link, valid once within 15 minutes, for a browser that acts as this caller."""
        token = secrets.token_urlsafe(32)
        self.state.put("link", digest(token), [*caller], seconds=_LINK_LASTS)
        return token

    def redeem(self, token: str) -> str | None:
        """Exchange the token of a link for a cookie; None if it is invalid or used."""
        caller = self.state.take("link", digest(token))
        if caller is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self.state.put("login", digest(cookie), caller, seconds=_LOGIN_LASTS)
        return cookie

    def caller(self, cookie: str) -> Caller | None:
        """Return whose browser has the cookie; None if it is invalid."""
        caller = self.state.get("login", digest(cookie))
        return None if caller is None else Caller(*caller)


_EVERYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - which is no name


def names_of(host: str, more: Iterable[str] = ()) -> frozenset[str]:
    """Return the host names that a server listening on `host` accepts."""
    own = () if host in _EVERYWHERE else (host,)
    written = (f"[{name}]" if name.count(":") > 1 and "[" not in name else name for name in (*own, *more))
    return frozenset(map(_name, ("127.0.0.1", "localhost", "[::1]", *written))) - {""}


class Access:
    """Check Host, Origin and token, and set `scope["caller"]` (None on public paths).

    Args:
        hosts: Names that the server may be called by, in lower case.
        caller: Whose a token is; None if nobody's.
        revoked: Whether the token is gone that a browser's link was issued for.
        logins: Of browsers.
        placeless: Takes out of a text where on this machine something is, see `config.settings.machine_paths`.
        page: Shows a refusal to a browser; None answers JSON to it too.
    """

    def __init__(
        self,
        app: ASGIApp,
        *,
        hosts: frozenset[str],
        caller: Callable[[str], Caller | None],
        revoked: Callable[[Caller], bool],
        logins: Logins,
        placeless: Callable[[str], str],
        page: Callable[[Request, Refusal], Awaitable[Response]] | None = None,
    ) -> None:
        self.app = app
        self._page = page
        self._hosts = hosts
        self._caller_of = caller
        self._revoked = revoked
        self._logins = logins
        self._placeless = placeless

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the middleware (ASGI)."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            hosts, origins = headers.getlist("host"), headers.getlist("origin")
            if len(hosts) != 1 or _name(hosts[0]) not in self._hosts:
                raise Refusal(421, "misdirected", "the Host header does not name this server: see server.hosts")
            if origins and (len(origins) > 1 or not _is_own(origins[0], hosts[0])):
                raise Refusal(403, "foreign_origin", "requests from other sites' pages are refused")
            if (came := await self._came_by_link(scope, headers)) is not None:
                await came(scope, receive, send)
                return
            public = scope["type"] == "http" and (scope["path"] in PUBLIC or scope["path"].startswith(f"{STATIC}/"))
            scope["caller"] = caller = (
                None if public else await ask(self._logins.state, lambda: self._caller(scope, headers))
            )
            if caller is not None and not caller.owner:
                send = _without_places(send, self._placeless)
        except Refusal as refusal:
            if self._page is not None and refusal.status == 401 and wants_page(scope):
                await (await self._page(Request(scope), refusal))(scope, receive, send)
            else:
                await refuse(scope, receive, send, refusal)
            return
        await self.app(scope, receive, send)

    async def _came_by_link(self, scope: Scope, headers: Headers) -> Response | None:
        """Redirect a browser that came by a one-time link, or by a used one but is logged in: without the token."""
        if scope["type"] != "http" or scope["method"] != "GET" or "authorization" in headers:
            return None
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        token = next((value for name, value in query if name == "token"), None)
        if token is None:
            return None
        cookie = await ask(self._logins.state, lambda: self._logins.redeem(token))
        if cookie is None and await ask(self._logins.state, lambda: self._browser(scope, headers)) is None:
            raise Refusal(401, "unauthorized", "this login link was used or has expired", _CHALLENGE)
        left = urlencode([(name, value) for name, value in query if name != "token"])
        path = "/" + scope["path"].lstrip("/")  # never another server's

        response = Response(status_code=303, headers={"Location": quote(path) + (f"?{left}" if left else "")})
        if cookie is not None:
            response.set_cookie(
                _cookie_name(scope),
                cookie,
                max_age=int(_LOGIN_LASTS),
                httponly=True,
                samesite="strict",
                secure=scope["scheme"] == "https",
            )
        return response

    def _browser(self, scope: Scope, headers: Headers) -> Caller | None:
        """Return as whom the browser is logged in; other programs on the host may have set cookies that none knows."""
        pairs = (each.partition("=") for line in headers.getlist("cookie") for each in line.split(";"))
        ours = (value.strip() for name, _, value in pairs if name.strip() == _cookie_name(scope))
        known = next(filter(None, map(self._logins.caller, ours)), None)
        return None if known is None or self._revoked(known) else known

    def _caller(self, scope: Scope, headers: Headers) -> Caller:
        given = headers.getlist("authorization")
        if given:
            kind, _, token = given[0].partition(" ")
            caller = self._caller_of(token.strip()) if len(given) == 1 and kind.lower() == "bearer" else None
        else:
            caller = self._browser(scope, headers)
        if caller is not None:
            return caller
        raise Refusal(401, "unauthorized", "a token is required: Authorization: Bearer …", _CHALLENGE)


def wants_page(scope: Scope) -> bool:
    """Return whether a browser asks for a page, outside the API."""
    headers = Headers(scope=scope)
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and "text/html" in headers.get("accept", "")
        and not scope["path"].startswith(("/api/", "/mcp"))
    )


def _without_places(send: Send, placeless: Callable[[str], str]) -> Send:
    """Take places of this machine out of JSON and pages that are sent; documents and streams stay as they are."""
    begun: Message | None = None

    async def told(message: Message) -> None:
        nonlocal begun
        is_start = message["type"] == "http.response.start"
        if is_start and any(
            name == b"content-type" and (b"json" in value or b"html" in value) for name, value in message["headers"]
        ):
            begun = message
            return
        if begun is not None:
            if not message.get("more_body"):
                text = message.get("body", b"").decode("utf-8", "surrogateescape")
                message = {**message, "body": placeless(text).encode("utf-8", "surrogateescape")}
                size = str(len(message["body"])).encode()
                headers = [(name, size if name == b"content-length" else value) for name, value in begun["headers"]]
                begun = {**begun, "headers": headers}
            await send(begun)
            begun = None
        await send(message)

    return told


_CHALLENGE = {"WWW-Authenticate": 'Bearer realm="memorybook"'}


def _cookie_name(scope: Scope) -> str:
    """Return the name of a browser's cookie, with the port that it asks: servers of one host share their cookies."""
    found = _HOST.fullmatch(Headers(scope=scope).get("host", "").lower())
    return f"memorybook-{found[2]}" if found is not None and found[2] else "memorybook"


_HOST = re.compile(r"([a-z0-9_.-]+|\[[0-9a-f:.]+\])(?::([0-9]{1,5}))?")
"""A Host header in lower case: name or address, and port."""


def _name(host: str) -> str:
    """Return the name in a Host header, in lower case and without the port; "" if it is invalid."""
    found = _HOST.fullmatch(host.lower())
    return found[1] if found else ""


def _is_own(origin: str, host: str) -> bool:
    """Return whether the origin is this server, by name and port."""
    scheme, _, place = origin.lower().partition("://")
    page, here = _HOST.fullmatch(place), _HOST.fullmatch(host.lower())
    if scheme not in ("http", "https") or page is None or here is None:
        return False
    usual = "443" if scheme == "https" else "80"
    return (page[1], page[2] or usual) == (here[1], here[2] or usual)
