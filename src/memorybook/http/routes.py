"""Routes of the book: the verbs of `Memory` as `rest_api` lists them, conditional changes, files to take along."""

from __future__ import annotations

import inspect
import json
import math
import os
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from importlib import metadata
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, cast

from fastapi import APIRouter, Depends, Header, Query
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from typing_extensions import TypedDict

from memorybook import tools
from memorybook.errors import Conflict, InvalidInput, MemoryBookError, MissingDocument, NotFound
from memorybook.formats.document import Document
from memorybook.formats.json_schema import checked
from memorybook.http import http_messages as messages
from memorybook.http.access import ActsAs, Caller, Tokens
from memorybook.http.books import Books
from memorybook.http.http_messages import Failed, Refusal, answer, etag, given, only_a_person
from memorybook.http.middleware import Metrics
from memorybook.http.rest_api import API, BY_VERB, RESOURCES, Resource, parameters_of
from memorybook.memory import Memory
from memorybook.results import Imported, Known, hints_of, schema_of, to_json
from memorybook.validate import asked_importance, renamed

if TYPE_CHECKING:
    from memorybook.exchange.export import Backup, Export

T = TypeVar("T")
Route = Callable[..., Awaitable[Response]]

FAILS: dict[int | str, dict[str, Any]] = {"default": {"model": Failed, "description": "What went wrong."}}
"""The `responses` of every route."""

RECORDS: dict[str, Any] = {}
"""JSON Schemas of the records in answers, for the components of OpenAPI."""

router = APIRouter(responses=FAILS)


# --- whose book --------------------------------------------------------------------------------------


def caller_of(request: Request) -> Caller:
    """Return who asks."""
    return cast("Caller", request.scope["caller"])


def books_of(request: Request) -> Books:
    """Return all that is served."""
    return cast("Books", request.app.state.books)


class TenantBook:
    """The book that a request is for.

    Args:
        request: The request.
        tenant: Whose book the owner means.
    """

    def __init__(
        self,
        request: Request,
        tenant: Annotated[
            str | None,
            Header(alias="X-Memorybook-Tenant", description="Whose book is meant, for the owner of many."),
        ] = None,
    ) -> None:
        self.books = books_of(request)
        self.caller = caller_of(request)
        self.tenant = self.books.tenant(self.caller, tenant)

    async def work(self, do: Callable[[Memory], T]) -> T:
        """Return what `do` returns for the book; see `Books.work`."""
        return await self.books.work(self.tenant, self.caller.person, do)


InBook = Annotated[TenantBook, Depends()]


# --- OpenAPI -----------------------------------------------------------------------------------------


def body(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Describe a JSON body with these parameters; null is the same as left out, and there are no others."""
    required = list(parameters.get("required", ()))
    properties = {}
    for name, kind in parameters["properties"].items():
        if name not in required and "type" in kind:
            types = [kind["type"]] if isinstance(kind["type"], str) else kind["type"]
            kind = {**kind, "type": [*types, "null"], **({"enum": [*kind["enum"], None]} if "enum" in kind else {})}
        properties[name] = kind
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"requestBody": {"content": {"application/json": {"schema": schema}}, "required": bool(required)}}


def _raw_body(kind: str, *, required: bool = True) -> dict[str, Any]:
    content = {kind: {"schema": {"type": "string", "format": "binary"}}}
    return {"requestBody": {"content": content, "required": required}}


def _returns(verb: str) -> dict[int | str, dict[str, Any]]:
    """Describe what a verb returns, with the errors of every route."""
    schema = schema_of(hints_of(getattr(Memory, verb))["return"], RECORDS)
    return {**FAILS, 200: {"description": "Done.", "content": {"application/json": {"schema": schema}}}}


def _add(resource: Resource, route: Route, *, method: str = "", **more: Any) -> None:
    """Add the route of a verb, described by its signature and docstring."""
    method = method or resource.method
    fixed = [part.strip("{}").removesuffix(":path") for part in resource.path.split("/") if part.startswith("{")]
    text = inspect.getdoc(getattr(Memory, resource.verb)) or ""
    takes = parameters_of(resource.verb).schema
    rest = {name: kind for name, kind in takes["properties"].items() if name not in fixed}
    required = [name for name in takes["required"] if name not in fixed]
    where = [{"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in fixed]
    described: dict[str, Any] = {"parameters": where}
    if method == "GET":
        described["parameters"] += [
            {"name": name, "in": "query", "required": name in required, "schema": kind} for name, kind in rest.items()
        ]
    elif rest:
        described |= body({"properties": rest, "required": required})
    router.add_api_route(
        resource.path,
        route,
        methods=[method],
        operation_id=resource.verb if method == resource.method else f"{resource.verb}_long",
        summary=text.split("\n", 1)[0],
        description=text,
        responses=_returns(resource.verb) | more.get("responses", {}),
        openapi_extra=more.get("extra", described),
        tags=[resource.path.split("/")[1]],
    )


# --- verbs -------------------------------------------------------------------------------------------

_A_PERSONS_WORD = frozenset({"accept", "reject", "purge"})
_SPEAKS = frozenset({"open_session", "add_messages"})
"""Verbs that may leave a session open that nobody ends."""


def _verb(resource: Resource) -> Route:
    async def route(request: Request, book: InBook) -> Response:
        takes = parameters_of(resource.verb)
        asked = _query(takes.schema, request) if request.method == "GET" else await given(request)
        for name, value in request.path_params.items():
            if name in asked:
                raise InvalidInput(f"{name} is given in the address")
            asked[name] = value
        asked = renamed(takes.schema["properties"], asked)
        arguments = checked(resource.verb, takes.schema, asked)
        arguments |= {each: None for each in takes.nullable & asked.keys() if asked[each] is None}

        def work(memory: Memory) -> Any:
            _check(memory, resource.verb, arguments)
            words = arguments.pop(takes.listed, ())
            found = to_json(getattr(memory, resource.verb)(*words, **arguments))
            if resource.verb in _SPEAKS:
                book.books.heard(book.tenant)
            return found

        return answer(await book.work(work))

    return route


def _query(schema: Mapping[str, Any], request: Request) -> dict[str, Any]:
    """Read the parameters in the address; a number or a truth value that is empty is None."""
    lists = {name: request.query_params.getlist(name) for name in request.query_params}
    kinds = {name: kind.get("type") for name, kind in schema["properties"].items()}
    found: dict[str, Any] = {}
    for name, values in renamed(kinds, lists).items():
        kind, text = kinds.get(name), values[-1]
        found[name] = values if kind == "array" else text
        if kind in ("integer", "number", "boolean"):
            with suppress(ValueError, OverflowError):  # the text itself is refused later
                number = float(text) if kind == "number" and not text.isdecimal() else int(text)
                found[name] = number if math.isfinite(number) else text
            found[name] = {"": None, "true": True, "false": False}.get(text.lower(), found[name])
    return found


def _check(memory: Memory, verb: str, arguments: Mapping[str, Any]) -> None:
    """Raise Refusal for what this server cannot do, or the caller may not."""
    instruction = arguments.get("instruction")
    rewords = verb == "revise" and isinstance(instruction, str) and asked_importance(instruction)[1]
    if rewords and memory.context.metered() is None:
        raise Refusal(400, "no_model", "this server has no language model: give the new text yourself")
    if memory.context.actor == "user" or arguments.get("dry_run") is True:
        return
    if verb in _A_PERSONS_WORD:
        raise only_a_person(f"{verb} is a person's word")
    if verb == "tidy" and arguments.get("apply") is not None:
        raise only_a_person("tidy carries out without asking what a person has set")
    if verb == "undo":
        operation = arguments["operation"]
        if memory.book.journal.operation(operation).actor == "user":
            raise only_a_person(f"operation {operation!r} was a person's")


# --- entries -----------------------------------------------------------------------------------------

_FIELDS = {
    name: kind
    for name, kind in tools.schema("memory_update")["parameters"]["properties"].items()
    if name not in ("id", "instruction", "confirmed")
} | {"pinned": {"type": "boolean", "description": "Whether it is kept from fading."}}
_ENTRY = {"type": "object", "properties": _FIELDS, "required": []}


@router.get(
    "/entries/{id}",
    responses=_returns("update") | {304: {"description": "As `If-None-Match` has it."}},
    openapi_extra={"parameters": [messages.IF_NONE_MATCH]},
    tags=["entries"],
)
async def entry(id: str, request: Request, book: InBook) -> Response:
    """Return an entry with all its fields."""
    found = await book.work(lambda memory: _entry(memory, id))
    revision = messages.entry_revision(found.entry)
    if messages.known(request.headers, revision):
        return Response(status_code=304, headers=etag(revision))
    return answer(to_json(found), headers=etag(revision))


@router.patch(
    "/entries/{id}",
    responses=_returns("update"),
    openapi_extra={"parameters": [messages.IF_MATCH], **body(_ENTRY)},
    tags=["entries"],
)
async def update(id: str, request: Request, book: InBook) -> Response:
    """Change fields of an entry; others stay. 409, with the entry as it is, if it was changed since it was read."""
    expect = messages.expected(request.headers)
    fields = checked("an entry", _ENTRY, renamed(_FIELDS, await given(request)))

    def change(memory: Memory) -> Known:
        pinned = fields.pop("pinned", None)
        found = memory.update(id, **fields) if fields or pinned is None else None
        if pinned is None:
            return cast("Known", found)
        now = memory.pin(id, pinned=pinned)
        before = found or now
        return now._replace(redacted=before.redacted, operation=now.operation or before.operation)

    found = await book.work(_unchanged(id, expect, change))
    return answer(to_json(found), headers=etag(messages.entry_revision(found.entry)))


@router.delete(
    "/entries/{id}",
    responses=_returns("forget"),
    openapi_extra={"parameters": [messages.IF_MATCH]},
    tags=["entries"],
)
async def forget(id: str, request: Request, book: InBook) -> Response:
    """Forget an entry, so that imports do not bring it back; undo does."""
    expect = messages.expected(request.headers)

    def work(memory: Memory) -> Any:
        _entry(memory, id)
        return memory.forget(id)

    return answer(to_json(await book.work(_unchanged(id, expect, work))))


def _unchanged(id: str, expect: str | None, do: Callable[[Memory], T]) -> Callable[[Memory], T]:
    """Return `do` for an entry of the expected revision, with no other writer between the look and the change."""

    def work(memory: Memory) -> T:
        if expect is None:
            return do(memory)
        _entry(memory, id)  # makes no lock for what is not there
        with memory.book.storage.transaction():
            now = _entry(memory, id)
            revision = messages.entry_revision(now.entry)
            if expect != revision:
                raise messages.changed(f"entry {id!r} was changed since it was read", revision, to_json(now))
            return do(memory)

    return work


def _entry(memory: Memory, id: str) -> Known:
    found = memory.get(id)
    if not isinstance(found, Known) or found.entry.id != id:
        raise NotFound(f"no entry {id[:80]!r} in this book")
    return found


# --- documents ---------------------------------------------------------------------------------------

_MARKDOWN = "text/markdown; charset=utf-8"


async def document(path: str, request: Request, book: InBook) -> Response:
    """Return a document byte for byte, or as JSON with its revision."""
    found = await book.work(lambda memory: memory.document(path))
    headers = etag(found.revision)
    if messages.known(request.headers, found.revision):
        return Response(status_code=304, headers=headers)
    if request.headers.get("accept", "").startswith("application/json"):
        return answer(to_json(found), headers=headers)
    return Response(found.text.encode("utf-8", "surrogateescape"), headers=headers, media_type=_MARKDOWN)


async def write_document(
    path: str,
    request: Request,
    book: InBook,
    overwrite: Annotated[bool, Query(description="Whether whatever is there is replaced.")] = False,
) -> Response:
    """Write the text of a document. `If-Match` names what it replaces; `If-None-Match: *` makes a new one."""
    expect = None if overwrite else messages.expected(request.headers, new=True)
    text = (await request.body()).decode("utf-8", "surrogateescape")
    return await _written(
        book,
        path,
        lambda memory: memory.write_document(path, text, expect=expect),
        there=expect is None and not overwrite,
    )


async def remove_document(path: str, request: Request, book: InBook) -> Response:
    """Take a document out of the book; undo brings it back."""
    expect = messages.expected(request.headers)
    return await _written(book, path, lambda memory: memory.remove_document(path, expect=expect))


async def _written(book: TenantBook, path: str, write: Callable[[Memory], Any], *, there: bool = False) -> Response:
    """Answer a change of a document; a conflict says what is there now. With `there` it has to exist."""

    def work(memory: Memory) -> Any:
        try:
            if there:
                memory.document(path)
            return write(memory)
        except Conflict as conflict:
            try:
                now = memory.document(path)
            except MissingDocument:
                raise conflict from None
            raise messages.changed(str(conflict), now.revision, {"text": now.text}) from None

    found = await book.work(work)
    return answer(to_json(found), headers=etag(found.revision) if found.revision else {})


# --- files -------------------------------------------------------------------------------------------


@router.get(
    "/export", response_class=FileResponse, responses={200: {"content": {"application/json": {}}}}, tags=["files"]
)
async def export(
    book: InBook, session: Annotated[str | None, Query(description="Only this session, by uuid or name.")] = None
) -> Response:
    """Download all sessions with their chats as one JSON document."""
    return await _file(
        book, "sessions.json", "application/json", lambda memory, path: memory.export(path, session=session)
    )


@router.get(
    "/backup", response_class=FileResponse, responses={200: {"content": {"application/gzip": {}}}}, tags=["files"]
)
async def backup(book: InBook) -> Response:
    """Download the whole book as one archive: documents, turns and journal, at one moment."""
    return await _file(book, "memorybook.tar.gz", "application/gzip", lambda memory, path: memory.backup(path))


async def _file(book: TenantBook, name: str, kind: str, make: Callable[[Memory, str], Export | Backup]) -> Response:
    """Answer with the file that `make` writes; it is removed once it is sent."""
    folder = tempfile.mkdtemp(prefix="memorybook-")
    try:
        path = os.path.join(folder, name)
        made = await book.work(lambda memory: make(memory, path))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sent = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    counts = {name: value for name, value in made.json().items() if isinstance(value, int)}
    headers = {"X-Memorybook-Wrote": json.dumps(counts)}
    return FileResponse(path, media_type=kind, filename=name, headers=headers, background=sent)


@router.post(
    "/import",
    responses=_returns("import_file"),
    openapi_extra=_raw_body("application/octet-stream"),
    tags=["files"],
)
async def import_file(
    request: Request,
    book: InBook,
    name: Annotated[str, Query(description="Name of the file.")] = "upload",
    format: Annotated[str | None, Query(description="Its format; recognised by its content by default.")] = None,
    scope: Annotated[str | None, Query(description="Only the lines of this scope.")] = None,
    since: Annotated[str | None, Query(description="Only from this day on, YYYY-MM-DD.")] = None,
    by_model: Annotated[bool, Query(description="Whether the language model is asked.")] = False,
    dry_run: Annotated[bool, Query(description="Only say what would be added.")] = False,
) -> Response:
    """Import a file of another program, the body; `docs/import.md` lists the formats."""
    long = len(name.encode("utf-8", "replace")) > 200
    if not name or long or not name.isprintable() or "/" in name or name.startswith((".", "-")):
        raise InvalidInput(f"name {name[:80]!r} is not a plain name of a file")
    content = await request.body()

    def work(memory: Memory) -> Imported:
        with tempfile.TemporaryDirectory(prefix="memorybook-") as folder:
            path = os.path.join(folder, name)
            with open(path, "wb") as file:
                file.write(content)
            inside = folder + os.sep  # is nobody's business
            try:
                found = memory.import_file(
                    path, scope=scope, format=format, since=since, by_model=by_model, dry_run=dry_run
                )
            except MemoryBookError as error:
                error.args = (str(error).replace(inside, ""),)
                raise
            return found._replace(warnings=tuple(told.replace(inside, "") for told in found.warnings))

    return answer(to_json(await book.work(work)))


_text_or_record = {"text/markdown": {}, "application/json": {"schema": schema_of(Document, RECORDS)}}
_add(
    BY_VERB["document"],
    document,
    extra={"parameters": [messages.IF_NONE_MATCH]},
    responses={200: {"content": _text_or_record}, 304: {"description": "As `If-None-Match` has it."}},
)
_etags = {"parameters": [messages.IF_MATCH, messages.IF_NONE_MATCH]}
_add(BY_VERB["write_document"], write_document, extra=_etags | _raw_body("text/markdown", required=False))
_add(BY_VERB["remove_document"], remove_document, extra={"parameters": [messages.IF_MATCH]})
_BY_REVISION = ("document", "write_document", "remove_document", "update", "pin", "unpin")
"""Verbs with routes of their own, which speak of ETags."""

for _resource in RESOURCES:
    if _resource.verb not in _BY_REVISION:
        _add(_resource, _verb(_resource))
        if _resource.long:
            _add(_resource, _verb(_resource), method="POST")


# --- the server itself: tenants, tokens, health and metrics ---------------------------------------


admin = APIRouter(prefix=API, responses=FAILS)
"""Tenants and tokens."""

probes = APIRouter(tags=["server"], responses=FAILS)
"""Health and metrics, outside the API."""


class Tenant(TypedDict):
    """A tenant of the server."""

    name: str
    created: str


class Token(TypedDict):
    """A token that was given out, without its secret."""

    id: str
    acts_as: Literal["agent", "user"]
    label: str
    created: str


class Issued(Token):
    """A new token; its text is told only once."""

    token: str


class Link(TypedDict):
    """A one-time link: its path on this server."""

    path: str


class Health(TypedDict):
    """The state of the server."""

    status: Literal["alive", "ok", "failing", "ready", "not_ready"]


def _owner_only(request: Request) -> Tokens:
    """Return the tokens, for the owner alone. Raises Refusal."""
    if not caller_of(request).owner:
        raise Refusal(403, "forbidden", "only the owner's token may manage tokens, tenants and the server")
    return books_of(request).tokens


Owned = Annotated[Tokens, Depends(_owner_only)]

_NAME = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
_TOKEN: dict[str, Any] = {
    "type": "object",
    "properties": {"acts_as": {"type": "string", "enum": ["agent", "user"]}, "label": {"type": "string"}},
    "required": [],
}


@admin.get("/tenants", response_model=dict[Literal["tenants"], list[Tenant]], tags=["tenants"])
async def tenants(tokens: Owned, request: Request) -> Response:
    """List the tenants."""
    found = await books_of(request).run(tokens.tenants)
    return answer({"tenants": [{"name": name, **told} for name, told in sorted(found.items())]})


@admin.post("/tenants", response_model=Tenant, status_code=201, openapi_extra=body(_NAME), tags=["tenants"])
async def add_tenant(tokens: Owned, request: Request) -> Response:
    """Create a tenant, with a book of its own."""
    name = checked("a tenant", _NAME, await given(request))["name"]
    if not books_of(request).many:
        raise InvalidInput("this server has one book: tenants are for memorybook serve --workspace DIR")
    return answer(await books_of(request).run(lambda: tokens.add_tenant(name)), status=201)


@admin.delete("/tenants/{name}", status_code=204, response_class=Response, tags=["tenants"])
async def drop_tenant(
    name: str,
    _: Owned,
    request: Request,
    erase: Annotated[bool, Query(description="Also delete its book; by default it stays on disk.")] = False,
) -> Response:
    """Close a tenant and revoke its tokens."""
    await books_of(request).run(lambda: books_of(request).drop(name, erase=erase))
    return Response(status_code=204)


@admin.get("/tokens", response_model=dict[Literal["tokens"], list[Token]], tags=["tokens"])
async def listed(tokens: Owned, book: InBook) -> Response:
    """List the tokens for the book, without their secrets."""
    return answer({"tokens": await book.books.run(lambda: tokens.listed(book.tenant))})


@admin.post(
    "/tokens",
    response_model=Issued,
    status_code=201,
    openapi_extra=body(_TOKEN),
    tags=["tokens"],
)
async def issue(tokens: Owned, book: InBook, request: Request) -> Response:
    """Issue a token for the book; its text is told only once. `acts_as` says whether it speaks for a person."""
    told = checked("a token", _TOKEN, await given(request))
    acts_as, label = cast("ActsAs", told.get("acts_as", "agent")), told.get("label", "")
    made = await book.books.run(lambda: tokens.issue(book.tenant, acts_as=acts_as, label=label))
    return answer(made, status=201)


@admin.delete("/tokens/{id}", status_code=204, response_class=Response, tags=["tokens"])
async def revoke(id: str, tokens: Owned, book: InBook) -> Response:
    """Revoke a token."""
    await book.books.run(lambda: tokens.revoke(book.tenant, id))
    return Response(status_code=204)


@admin.post("/login-links", response_model=Link, status_code=201, tags=["tokens"])
async def login_link(request: Request) -> Response:
    """Issue a one-time link to the page, for a browser of whoever asks; it is valid for 15 minutes."""
    logins, caller = request.app.state.logins, caller_of(request)
    token = await books_of(request).run(lambda: logins.link(caller))
    return answer({"path": f"/?token={token}"}, status=201)


# --- health and metrics ------------------------------------------------------------------------------


@probes.get("/livez", response_model=Health)
async def livez() -> Response:
    """Return whether the process answers; public."""
    return answer({"status": "alive"})


@probes.get("/healthz", response_model=Health, responses={503: {"model": Health}})
@probes.get("/readyz", response_model=Health, responses={503: {"model": Health}})
async def readyz(request: Request) -> Response:
    """Return whether writes are kept: 503 while they fail; public."""
    ready = await books_of(request).ready()
    well, ill = ("ok", "failing") if request.url.path == "/healthz" else ("ready", "not_ready")
    return answer({"status": well if ready else ill}, status=200 if ready else 503)


@probes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, _: Owned) -> Response:
    """Return metrics for Prometheus; needs the owner's token."""
    books, counted = books_of(request), cast("Metrics", request.app.state.metrics)
    counted.works.set(books.works)
    counted.books.set(books.in_use)
    counted.ready.set(await books.ready())
    return Response(generate_latest(counted.registry), media_type=CONTENT_TYPE_LATEST)


@probes.get("/", response_model=dict[str, str])
async def root() -> Response:
    """Return the version and where the API is described."""
    version = metadata.version("memorybook")
    return answer({"name": "memorybook", "version": version, "openapi": f"{API}/openapi.json"})
