"""Routes of the page: each view reads verbs of `Memory` and shows what they answer; forms carry out verbs.

A view is two functions of a module of `views`, `read_NAME` and `show_NAME` (see `View`). Forms are posted to
`/act/VERB` and lead back to where they were.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import parse_qs, quote

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse

from memorybook import locale
from memorybook.cli.demo import demo_book
from memorybook.errors import MemoryBookError, NotFound
from memorybook.http.access import STREAM, wants_page
from memorybook.http.http_messages import Refusal
from memorybook.http.page import actions
from memorybook.http.page.rendering import HEADERS, Ask, ask_of, page
from memorybook.http.page.views import care, conversations, entries, history, search
from memorybook.http.routes import books_of, caller_of, root
from memorybook.http.server_state import ask
from memorybook.memory import Memory

router = APIRouter(include_in_schema=False)

_TENANT, _LIVE_EVERY = "tenant", 15
"""The cookie that says whose book an owner of many is shown, and tenths of a second between two looks for changes."""


class View(NamedTuple):
    """A view: its name, its address, its functions, and the heading it stands under in the menu; "" for none.

    `read` calls verbs of a memory, and `show` makes of what they answered the values of its template.
    """

    name: str
    path: str
    read: Callable[..., Any]
    show: Callable[[Any, Ask], dict[str, Any]]
    group: str = ""


VIEWS = (
    View("now", "/", search.read_now, search.show_now, "ask"),
    View("explain", "/search", search.read_explain, search.show_explain, "ask"),
    View("memories", "/memories", entries.read_memories, entries.show_memories, "memory"),
    View("why", "/memories/{id}", entries.read_why, entries.show_why),
    View(
        "conversations", "/conversations", conversations.read_conversations, conversations.show_conversations, "memory"
    ),
    View("conversation", "/conversations/{id:path}", conversations.read_conversation, conversations.show_conversation),
    View("fading", "/fading", entries.read_memories, entries.show_fading, "memory"),
    View("worth", "/worth", entries.read_worth, entries.show_worth, "memory"),
    View("river", "/river", history.read_river, history.show_river, "time"),
    View("operations", "/history", history.read_operations, history.show_operations, "time"),
    View("proposals", "/review", care.read_proposals, care.show_proposals, "care"),
    View("forgetting", "/forget", care.read_forgetting, care.show_forgetting, "care"),
    View("health", "/health", care.read_health, care.show_health, "care"),
)
GROUPS = ("ask", "memory", "time", "care")


class Reader:
    """Who looks at the page, and at whose book.

    An owner of many books chooses one, which a cookie keeps; a tenant's person sees their own.
    """

    def __init__(self, request: Request) -> None:
        self.books = books_of(request)
        self.caller = caller_of(request)
        self.tenants = sorted(self.books.tokens.tenants()) if self.books.many and self.caller.owner else []
        chosen = request.cookies.get(_TENANT, "")
        self.chosen = chosen if chosen in self.tenants else next(iter(self.tenants), None)

    async def work(self, do: Callable[[Memory], Any]) -> Any:
        """Run `do` with the memory of the book that is shown. Raises NotFound if there is none yet."""
        if self.books.many and self.caller.owner and self.chosen is None:
            raise locale.error(NotFound, "page.no_tenants")
        tenant = await ask(self.books.tokens.state, lambda: self.books.tenant(self.caller, self.chosen))

        def work(memory: Memory) -> Any:  # a book begins with what is first remembered
            return do(memory.seen_by(door="http", actor=memory.context.actor, missing_ok=True))

        return await self.books.work(tenant, self.caller.person, work)


async def reader_of(request: Request) -> Reader:
    """Return who looks."""
    return await ask(books_of(request).tokens.state, lambda: Reader(request))


def _frame(memory: Memory, reader: Reader, request: Request, view: str) -> dict[str, Any]:
    """Return what surrounds every view."""
    menu = [(group, [each for each in VIEWS if each.group == group]) for group in GROUPS]
    theme = request.cookies.get("theme", "auto")
    return {
        "menu": menu,
        "here": view,
        "theme": theme if theme in ("light", "dark") else "auto",
        "waiting": len(memory.book.journal.proposals()),
        "root": memory.root if reader.caller.owner else "",
        "person": reader.caller.person,
        "demo": False,
        "tenants": reader.tenants,
        "tenant": reader.chosen,
        "done": actions.receipt(memory, request.query_params.get("done", "")),
    }


def _is_empty(memory: Memory) -> bool:
    """Return whether nothing was ever written into the book."""
    if not memory.book.storage.exists():
        return True
    counts, done = memory.book.transcripts.counts(), memory.history(limit=1).operations
    return not (done or counts.get("sessions") or len(memory.documents()) > 1 or memory.entries(limit=1).total)


def _route(view: View) -> Callable[[Request], Any]:
    async def route(request: Request) -> Response:
        if view.path == "/" and not wants_page(request.scope):
            return await root()
        reader = await reader_of(request)

        def work(memory: Memory) -> tuple[Ask, dict[str, Any], Any]:
            demo = "own" not in request.cookies and _is_empty(memory)
            if demo:
                memory = demo_book()
            book, language = memory.book, memory.config.language
            ask = ask_of(request, book.day(book.now()), language, book.zone)._replace(stale=memory.config.stale)
            frame = _frame(memory, reader, request, view.name) | {"demo": demo}
            frame["person"] = frame["person"] and not demo
            return ask, frame, view.read(memory, ask, **request.path_params)

        try:
            ask, frame, found = await reader.work(work)
            status = getattr(getattr(found, "error", None), "status", 200)  # of what a view shows instead
            return page(view.name, ask, frame, view.show(found, ask), status=status)
        except MemoryBookError as error:
            return await failed(request, error, reader)

    return route


async def _outer_frame(request: Request, reader: Reader | None) -> dict[str, Any]:
    """Return what surrounds a page that is no view of a book: the menu where there is a book to show, else nothing."""
    frame: dict[str, Any] = {"menu": [], "here": "", "theme": request.cookies.get("theme", "auto"), "waiting": 0}
    frame |= {"root": "", "person": False, "tenants": [], "tenant": None, "done": None, "demo": False}
    if reader is not None:
        with suppress(MemoryBookError):
            frame = await reader.work(lambda memory: _frame(memory, reader, request, ""))
    return frame


async def failed(request: Request, error: MemoryBookError, reader: Reader | None = None) -> HTMLResponse:
    """Return a page that says what went wrong, in the frame where there is a book to show."""
    status = getattr(error, "status", 500)
    frame = await _outer_frame(request, reader)
    ask = ask_of(request, datetime.now(UTC).date(), "auto")
    view: dict[str, Any] = {"name": "login" if status == 401 else "failed", "error": locale.describe(error, ask.lang)}
    if isinstance(error, Refusal) and error.more:
        view = {"name": "conflict", **error.more}
    return page("failed", ask, frame, view, status=status)


for each in VIEWS:
    router.add_api_route(each.path, _route(each), methods=["GET"], name=f"page {each.name}")


@router.get("/docs")
async def docs(request: Request) -> Response:
    """Show the API's own description: every path with its parameters, body and answers."""
    described = request.app.openapi()
    frame = await _outer_frame(request, await reader_of(request))
    ask = ask_of(request, datetime.now(UTC).date(), "auto")
    view = {"operations": operations_of(described), "records": described["components"]["schemas"]}
    return page("docs", ask, frame, {**view, "document": request.app.openapi_url, "json": readable_json})


@router.post("/act/{name}")
async def act(name: str, request: Request) -> Response:
    """Carry out a verb with the fields of a form, and lead back with a receipt."""
    fields = parse_qs((await request.body()).decode("utf-8", "replace"), keep_blank_values=True)
    back = fields.pop("back", ["/"])[-1]
    if not back.startswith("/") or back.startswith("//"):
        back = "/"
    reader = await reader_of(request)
    try:
        outcome = await reader.work(lambda memory: actions.carry_out(memory, name, fields, reader.caller.person))
    except MemoryBookError as error:
        return await failed(request, error, reader)
    place = outcome.back or back
    done = f"{'&' if '?' in place else '?'}done={quote(outcome.operation)}" if outcome.operation else ""
    return RedirectResponse(f"{place}{done}", 303)


_CHOICES: Mapping[str, tuple[str, ...] | None] = {
    "lang": ("en", "zh"),
    "theme": ("auto", "light", "dark"),
    "own": ("yes",),
    _TENANT: None,
}
"""What a reader may choose, with the values; None takes any."""


@router.get("/choose")
async def choose(request: Request) -> Response:
    """Keep a choice of the reader, `lang`, `theme` or `tenant`, in a cookie, and lead back."""
    query, back = request.query_params, request.query_params.get("back", "/")
    response = RedirectResponse(back if back.startswith("/") and not back.startswith("//") else "/", 303)
    for name, allowed in _CHOICES.items():
        value = query.get(name)
        if value is not None and value.isascii() and (allowed is None or value in allowed):
            response.set_cookie(name, value, max_age=365 * 86400, httponly=True, samesite="strict")
    return response


# --- live ------------------------------------------------------------------------------------------


@router.get(STREAM)
async def live(request: Request) -> Response:
    """Stream a stamp of the book, again whenever it changed, until the browser or the server leaves."""
    reader = await reader_of(request)
    leaving: Callable[[], bool] = getattr(request.app.state, "leaving", bool)

    async def events() -> AsyncIterator[str]:
        before = now = ""
        tokens, caller = reader.books.tokens, reader.caller
        while not await request.is_disconnected():
            if await ask(tokens.state, lambda: tokens.revoked(caller)):
                return
            with suppress(MemoryBookError):  # the next look may succeed
                now = await reader.work(_stamp)
            yield f"event: stamp\ndata: {now}\n\n" if now != before else ": still here\n\n"
            before = now
            for _ in range(_LIVE_EVERY):
                if leaving():
                    return
                await asyncio.sleep(0.1)

    return StreamingResponse(events(), 200, dict(HEADERS), "text/event-stream")


def _stamp(memory: Memory) -> str:
    """Return a text that changes whenever what the book holds does."""
    documents: Mapping[str, str] = {info.path: f"{info.stamp or info.modified}" for info in memory.documents()}
    last = memory.history(limit=1).operations
    turns = memory.book.transcripts.revision()
    return str(hash((tuple(documents.items()), turns, last[0].operation.id if last else "")))


# --- the API's own description, as /docs shows it -------------------------------------------------


class Operation(NamedTuple):
    """One method of a path.

    Attributes:
        id: The anchor on the page.
        method, path: As they are called.
        summary, description: What it does; "" for none.
        parameters: OpenAPI's, of path, query and header.
        body: Media type -> OpenAPI's description of what is sent.
        answers: Status -> OpenAPI's description of what is answered.
    """

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: list[Mapping[str, Any]]
    body: Mapping[str, Any]
    answers: Mapping[str, Any]


def operations_of(described: Mapping[str, Any]) -> list[Operation]:
    """Return the operations of an OpenAPI document in its order."""
    return [
        Operation(
            one.get("operationId", f"{method}-{path}"),
            method.upper(),
            path,
            one.get("summary", ""),
            one.get("description", ""),
            one.get("parameters", []),
            one.get("requestBody", {}).get("content", {}),
            one.get("responses", {}),
        )
        for path, methods in described["paths"].items()
        for method, one in methods.items()
    ]


def readable_json(value: object) -> str:
    """Return it as JSON for people: indented, with every script as it is."""
    return json.dumps(value, indent=2, ensure_ascii=False)
