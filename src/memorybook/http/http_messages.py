"""Requests and answers: JSON bodies, ETags, and errors by status.

JSON is sent in ASCII, so that text which is not UTF-8 survives as lone surrogates.

==========================  ======  ==================================================
raised                      status  code
==========================  ======  ==================================================
`InvalidInput` and below       400  `invalid_input`, `unsafe_path`, `config`
`Refusal`                    (own)  `unauthorized`, `forbidden`, `person_only`, `too_large` …
`NotFound` and below           404  `not_found`, `missing_document`
`Conflict`                     409  `conflict`
`Unavailable` and below        503  `unavailable`, `book_locked`, `llm_failed` …
anything else                  500  `unexpected`: a bug, whose traceback is in the log
==========================  ======  ==================================================
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from typing import Any, NoReturn

from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict

from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.model import Entry
from memorybook.results import to_json

_log = logging.getLogger("memorybook.server")


# --- JSON --------------------------------------------------------------------------------------------


def answer(value: Any, *, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """Return a response with a JSON value."""
    return Response(json.dumps(value), status, dict(headers or {}), "application/json")


async def given(request: Request) -> dict[str, Any]:
    """Read the JSON object of a request; an empty body is an empty object.

    Raises:
        InvalidInput: It is not a JSON object.
    """
    body = await request.body()
    if not body:
        return {}

    def refuse_constant(name: str) -> NoReturn:
        raise ValueError(f"{name} is no number of JSON")

    try:
        value = json.loads(body, parse_constant=refuse_constant)
    except RecursionError:
        raise InvalidInput("the JSON is nested too deeply") from None
    except ValueError as problem:
        raise InvalidInput(f"the body is no JSON ({str(problem)[:200]})") from None
    if not isinstance(value, dict):
        raise InvalidInput(f"the body must be a JSON object, not {type(value).__name__}")
    return value


# --- errors ------------------------------------------------------------------------------------------


class Refusal(MemoryBookError):
    """Raised where the server itself refuses a request.

    Args:
        status: Of the HTTP answer.
        code: For programs.
        message: One sentence for people.
        headers: More headers of the answer.
        more: More fields of the answer, beside `error`.
    """

    code = "refusal"

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.headers = headers or {}
        self.more = more or {}


class Error(TypedDict):
    """An error: its code for programs, a sentence for people, and the id of the request in the log."""

    code: str
    message: str
    request_id: str


class Failed(TypedDict):
    """The body of every answer that is not a success."""

    error: Error


def only_a_person(what: str) -> Refusal:
    """Return the refusal of what only a person may do."""
    return Refusal(
        403, "person_only", f"{what}: only a person may, with the owner's token or one that acts as the user"
    )


def too_many_at_a_time() -> Refusal:
    """Return the refusal of more work than the server takes at a time."""
    return Refusal(503, "busy", "too many requests at a time: try again")


def response(error: Exception, request_id: str) -> Response:
    """Return the response to a request that raised; an unexpected error is logged."""
    if isinstance(error, RecursionError):
        error = Refusal(400, "invalid_input", "the JSON is nested too deeply")
    if isinstance(error, ClientDisconnect):
        error = Refusal(400, "invalid_input", "the connection broke before all of the body had come")
    if isinstance(error, MemoryBookError):
        status, code, message = error.status, error.code, str(error)
    else:
        _log.error("request %s failed", request_id, exc_info=error)
        status, code, message = 500, "unexpected", "an unexpected error: see the server's log"
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    if status == 503:
        headers.setdefault("Retry-After", "1")
    more = error.more if isinstance(error, Refusal) else {}
    told = {"code": code, "message": message, "request_id": request_id}
    return answer({"error": told, **more}, status=status, headers=headers)


async def handle(request: Request, error: Exception) -> Response:
    """Handle an exception of the application, see `response`."""
    return response(error, request.scope.get("request_id", ""))


async def refuse(scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
    """Answer a request that goes no further; a websocket is closed before it opens."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await response(error, scope.get("request_id", ""))(scope, receive, send)


# --- ETags -------------------------------------------------------------------------------------------

_MOVES_BY_ITSELF = frozenset({"score", "hits", "last_activated"})


def _header(name: str, description: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "required": False, "schema": {"type": "string"}, "description": description}


IF_MATCH = _header("If-Match", "The ETag of what is changed, or * for whatever is there.")
IF_NONE_MATCH = _header("If-None-Match", "ETags that the caller has; * to create something new.")


def etag(revision: str) -> dict[str, str]:
    """Return the header with the ETag of a revision."""
    return {"ETag": f'"{revision}"'}


def entry_revision(entry: Entry) -> str:
    """Return a revision of what an entry says and how it is filed; fading and use do not change it."""
    said = {name: value for name, value in to_json(entry).items() if name not in _MOVES_BY_ITSELF}
    return hashlib.blake2b(json.dumps(said, sort_keys=True).encode(), digest_size=12).hexdigest()


def expected(headers: Headers, *, new: bool = False) -> str | None:
    """Return the revision that a change is made for: None for whatever is there, "" for nothing yet.

    Args:
        headers: With `If-Match: "…"` or `*`; with `new` also `If-None-Match: *`.
        new: Whether there may be nothing yet.

    Raises:
        Refusal: There is no such header.
        InvalidInput: It is not one revision.
    """
    if new and headers.get("if-none-match", "").strip() == "*" and "if-match" not in headers:
        return ""
    given = headers.get("if-match")
    if given is None:
        way = 'If-Match: "ETAG"' + (", or If-None-Match: * for a new one" if new else "")
        raise Refusal(428, "precondition_required", f"a change needs the revision it is made for: {way}")
    given = given.strip()
    if given == "*":
        return None
    if len(given) < 3 or given[0] != '"' or given[-1] != '"' or '"' in given[1:-1]:
        raise InvalidInput(f"If-Match {given[:80]!r} is not one ETag in quotes, or *")
    return given[1:-1]


def known(headers: Headers, revision: str) -> bool:
    """Return whether the caller has this revision already (`If-None-Match`)."""
    given = headers.get("if-none-match", "")
    return any(each.strip().removeprefix("W/") in (f'"{revision}"', "*") for each in given.split(","))


def changed(message: str, revision: str, current: Mapping[str, Any]) -> Refusal:
    """Return the refusal of a change that was made for another revision, with what is there now."""
    return Refusal(409, "conflict", message, etag(revision), {"current": {**current, "etag": revision}})
