"""API tokens: the owner's, and those the owner issues; only digests are stored."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Literal, NamedTuple

from memorybook.errors import ConfigError, Conflict, InvalidInput, NotFound, Unavailable
from memorybook.http.server_state import ServerState
from memorybook.storage.output_file import put_in_place

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
