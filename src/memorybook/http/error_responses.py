"""What the server answers when it does not do what it is asked: one table from what was raised to a status.

==========================  ======  ==================================================
raised                      status  code
==========================  ======  ==================================================
`InvalidInput` and below       400  `invalid_input`, `unsafe_path`, `config`
`Refusal`                    (own)  `unauthorized`, `forbidden`, `person_only`, `too_large` …
`NotFound` and below           404  `not_found`, `missing_document`
`Conflict`                     409  `conflict`
`Unavailable` and below        503  `unavailable`, `book_locked`, `llm_failed` …
anything else                  500  `unexpected`: a mistake in here, whose traceback is in the log
==========================  ======  ==================================================
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send
from typing_extensions import TypedDict

from memorybook.errors import MemoryBookError
from memorybook.http.json_wire import answer

_log = logging.getLogger("memorybook.server")


class Refusal(MemoryBookError):
    """The server itself refuses: who asks, how, or how much.

    Args:
        status: Of the HTTP answer.
        code: For programs.
        message: For people, one sentence.
        headers: That the answer has besides.
        more: What the answer says besides `error`.
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
    """What went wrong: for programs, for people, and under which id the log has it."""

    code: str
    message: str
    request_id: str


class Failed(TypedDict):
    """Every answer that is no success."""

    error: Error


def only_a_person(what: str) -> Refusal:
    """The refusal of what only a person may do."""
    return Refusal(
        403, "person_only", f"{what}: only a person may, with the owner's token or one that acts as the user"
    )


def too_many_at_a_time() -> Refusal:
    """The refusal of more than the server takes at a time."""
    return Refusal(503, "busy", "too much is asked at a time: try again")


def stopping() -> Refusal:
    """The refusal of what is not done when the server will wait no longer for its own end."""
    return Refusal(504, "late", "the server stops, and ends what was begun: look later what came of it")


def response(error: Exception, request_id: str) -> Response:
    """The answer to a request that raised; what nothing in here raises on purpose goes into the log."""
    if isinstance(error, RecursionError):
        error = Refusal(400, "invalid_input", "the JSON is nested too deeply")
    if isinstance(error, ClientDisconnect):
        error = Refusal(400, "invalid_input", "the connection broke before all of the body had come")
    if isinstance(error, MemoryBookError):
        status, code, message = error.status, error.code, str(error)
    else:
        _log.error("request %s failed", request_id, exc_info=error)
        status, code, message = 500, "unexpected", "something went wrong in the server: its log has more"
    headers = dict(error.headers) if isinstance(error, Refusal) else {}
    if status == 503:
        headers.setdefault("Retry-After", "1")
    more = error.more if isinstance(error, Refusal) else {}
    told = {"code": code, "message": message, "request_id": request_id}
    return answer({"error": told, **more}, status=status, headers=headers)


async def handle(request: Request, error: Exception) -> Response:
    """As `response`, for the handlers of an application."""
    return response(error, request.scope.get("request_id", ""))


async def refuse(scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
    """Answer a request that goes no further; a websocket is closed before it is open."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008})
        return
    await response(error, scope.get("request_id", ""))(scope, receive, send)
