"""Routes of sessions: what was said, and what is being said."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from memorybook.formats.json_schema import checked
from memorybook.http import memory_routes, schemas
from memorybook.http.dependencies import FAILS, Asked, body
from memorybook.http.json_wire import answer, given

router = APIRouter(prefix="/sessions", tags=["sessions"], responses=FAILS)

_NAME = {"type": "object", "properties": {"name": {"type": "string"}}, "required": []}
_MESSAGES = {"messages": {"type": "array", "items": {"type": "object"}}}
_ADDED = {"type": "object", "properties": _MESSAGES, "required": ["messages"]}
_LAST = {"type": "object", "properties": _MESSAGES, "required": []}


@router.get("", response_model=schemas.Talks)
async def sessions(
    asked: Asked,
    limit: Annotated[int, Query(description="At most this many.")] = 20,
    since: Annotated[str | None, Query(description="Only those of this day or later, YYYY-MM-DD.")] = None,
    until: Annotated[str | None, Query(description="Only those of this day or earlier.")] = None,
) -> Response:
    """Sessions, newest first, those that are open included."""
    return answer((await asked.work(lambda memory: memory.sessions(limit=limit, since=since, until=until))).json())


@router.get("/{session:path}", response_model=schemas.Recollection)
async def session(
    session: str,
    asked: Asked,
    limit: Annotated[int | None, Query(description="At most this many turns, the last ones; else all.")] = None,
) -> Response:
    """A session with its turns, by uuid or name."""
    return answer((await asked.work(lambda memory: memory.recall_session(session, limit=limit))).json())


@router.post("", response_model=schemas.Held, openapi_extra=body(_NAME))
async def open_session(request: Request, asked: Asked) -> Response:
    """Open a session, or go on with an open one of that name; one that nobody ends is closed when it is idle."""
    return await _verb(asked, "open_session", checked("a session", _NAME, await given(request)))


@router.post("/{session:path}/messages", response_model=schemas.Held, openapi_extra=body(_ADDED))
async def add_messages(session: str, request: Request, asked: Asked) -> Response:
    """Add messages to an open session, on disk before the answer; one whose id is known is left as it was."""
    told = checked("a session", _ADDED, await given(request))
    return await _verb(asked, "add_messages", {**told, "session": session})


@router.post("/{session:path}/end", response_model=schemas.Memorized, openapi_extra=body(_LAST))
async def end_session(session: str, request: Request, asked: Asked) -> Response:
    """Remember what was said in a session, and close it."""
    told = checked("the end of a session", _LAST, await given(request))
    return await _verb(asked, "end_session", {**told, "session": session})


async def _verb(asked: Asked, name: str, arguments: dict[str, Any]) -> Response:
    found = await asked.work(lambda memory: memory_routes.call(memory, name, arguments))
    if name in memory_routes.SAID:
        asked.books.heard(asked.tenant)
    return answer(found)
