"""Authentication: API tokens, and the middleware that checks Host, Origin and token before any route.

The owner has a token and issues others; only digests are stored.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple
from urllib.parse import parse_qsl, quote, urlencode

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memorybook.errors import ConfigError, Conflict, InvalidInput, NotFound, Unavailable
from memorybook.http.http_messages import Refusal, refuse
from memorybook.http.server_state import ServerState, ask
from memorybook.storage.output_file import put_in_place

PUBLIC = frozenset({"/livez", "/healthz", "/readyz"})
"""Public paths."""

STATIC = "/static"
"""Before the files of the page, the same for everybody, which are public as well."""

STREAM = "/live"
"""The path of the page that is answered for as long as a browser shows the page."""

_LINK_LASTS = 900.0
_LOGIN_LASTS = 30 * 86400.0


# --- API tokens -----------------------------------------------------------------------------------


ActsAs = Literal["agent", "user"]

_TENANT = re.compile(r"[A-Za-z0-9_@+-][A-Za-z0-9._@+-]{0,99}")


class Caller(NamedTuple):
    """The caller of a request.

    Attributes:
        token: Id of the token, `owner` for the owner's.
        tenant: Whose book it is for; None for the owner's, who names one.
        person: Whether it acts as the user: what comes with it is a person's word.
    """

    token: str
    tenant: str | None
    person: bool

    @property
    def owner(self) -> bool:
        """True if it may manage tokens, tenants and the server."""
        return self.tenant is None


OWNER = Caller("owner", None, True)


def owner_token(path: str) -> str:
    """Return the owner's token in the file at `path`, creating it with mode 0600 if there is none.

    Raises:
        ConfigError: Others may read the file, or it is empty.
        Unavailable: The system refuses.
    """
    try:
        return _read(path)
    except FileNotFoundError:
        pass
    except OSError as error:
        raise Unavailable(f"the token {path!r} cannot be read: {error.strerror}") from None
    with put_in_place(path, make=True) as new, open(new, "w", encoding="ascii") as file:
        token = _read(path) if os.path.exists(path) else secrets.token_urlsafe(32)  # another server may be faster
        file.write(token + "\n")
    return token


def _read(path: str) -> str:
    with open(path, encoding="ascii", errors="replace") as file:
        if sys.platform != "win32" and stat.S_IMODE(os.fstat(file.fileno()).st_mode) & 0o077:
            raise ConfigError(f"others may read the token {path!r}: remove it, and a new one is made")
        token = file.read().strip()
    if len(token) < 16:
        raise ConfigError(f"the token in {path!r} is too short: remove the file, and a new one is made")
    return token


class Tokens:
    """The tenants and issued tokens of a server. Safe to share between threads.

    Args:
        state: Keeps them, for other servers too.
        owner: The owner's token.
        now: The time now.
    """

    def __init__(
        self, state: ServerState, owner: str, *, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self.state = state
        self._owner = owner.encode()
        self._now = now

    def caller(self, token: str) -> Caller | None:
        """Return whose token it is; None if it is unknown."""
        if hmac.compare_digest(token.encode("utf-8", "replace"), self._owner):
            return OWNER
        id = token[3:15] if token.startswith("mb_") else ""
        known = self.state.register()["tokens"].get(id)
        if known is None or not hmac.compare_digest(digest(token), known["sha256"]):
            return None
        return Caller(id, known["tenant"], known["acts_as"] == "user")

    def revoked(self, caller: Caller) -> bool:
        """Return whether the token of a caller is no longer valid; the owner's always is."""
        return not caller.owner and caller.token not in self.state.register()["tokens"]

    # --- tenants ---------------------------------------------------------------------------------

    def tenants(self) -> Mapping[str, Mapping[str, Any]]:
        """Return the tenants by name, with the time each was created."""
        return dict(self.state.register()["tenants"].items())

    def has_tenant(self, name: str) -> bool:
        """Return whether there is such a tenant."""
        return name in self.state.register()["tenants"]

    def add_tenant(self, name: str) -> dict[str, Any]:
        """Add a tenant. Raises InvalidInput, Conflict if the name is taken."""
        if not _TENANT.fullmatch(name):
            raise InvalidInput(
                f"tenant {name[:120]!r} is no name: use up to 100 letters, digits, '_', '-', '.', '@', '+'"
            )
        with self.state.changing() as kept:
            if name in kept["tenants"]:
                raise Conflict(f"there is a tenant {name!r} already")
            made = kept["tenants"][name] = {"created": self._moment()}
        return {"name": name, **made}

    def drop_tenant(self, name: str) -> None:
        """Close a tenant and revoke its tokens. Raises NotFound."""
        with self.state.changing() as kept:
            if kept["tenants"].pop(name, None) is None:
                raise no_tenant(name)
            for id in [id for id, token in kept["tokens"].items() if token["tenant"] == name]:
                del kept["tokens"][id]

    # --- tokens ----------------------------------------------------------------------------------

    def listed(self, tenant: str) -> list[dict[str, Any]]:
        """List the tokens of a tenant, without their secrets."""
        tokens = self.state.register()["tokens"].items()
        return [_listed(id, token) for id, token in tokens if token["tenant"] == tenant]

    def issue(self, tenant: str, *, acts_as: ActsAs = "agent", label: str = "") -> dict[str, Any]:
        """Issue a token for a tenant's book; its text is returned only once."""
        if acts_as not in ("agent", "user"):
            raise InvalidInput(f"acts_as {acts_as!r} is not one of agent, user")
        if len(label) > 200 or not label.isprintable():
            raise InvalidInput("the label of a token is one line of up to 200 characters")
        id = secrets.token_hex(6)
        text = f"mb_{id}_{secrets.token_urlsafe(32)}"
        with self.state.changing() as kept:
            made = kept["tokens"][id] = {
                "sha256": digest(text),
                "tenant": tenant,
                "acts_as": acts_as,
                "label": label,
                "created": self._moment(),
            }
        return {**_listed(id, made), "token": text}

    def revoke(self, tenant: str, id: str) -> None:
        """Revoke a token. Raises NotFound."""
        with self.state.changing() as kept:
            if kept["tokens"].get(id, {}).get("tenant") != tenant:
                raise NotFound(f"there is no token {id[:80]!r}")
            del kept["tokens"][id]

    def _moment(self) -> str:
        return self._now().astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def no_tenant(name: str) -> NotFound:
    """Return the error of an unknown tenant."""
    return NotFound(f"there is no tenant {name[:120]!r}")


def _listed(id: str, token: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": id, **{name: token[name] for name in ("acts_as", "label", "created")}}


def digest(token: str) -> str:
    """Return what is stored of a token, link or cookie."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# --- who is let in --------------------------------------------------------------------------------


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
