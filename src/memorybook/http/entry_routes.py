"""Routes of entries, with an ETag of what each says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from memorybook import tools
from memorybook.errors import InvalidInput, NotFound
from memorybook.formats.json_schema import checked
from memorybook.http import etags, schemas
from memorybook.http.dependencies import FAILS, Asked, body
from memorybook.http.json_wire import answer, given
from memorybook.memory import Memory
from memorybook.results import Known

router = APIRouter(prefix="/entries", tags=["entries"], responses=FAILS)

_FIELDS = {
    name: kind
    for name, kind in tools.schema("memory_update")["parameters"]["properties"].items()
    if name not in ("id", "instruction")
} | {"pinned": {"type": "boolean", "description": "Whether it is kept from fading."}}
_PARAMETERS = {"type": "object", "properties": _FIELDS, "required": []}


@router.get("", response_model=schemas.Listed)
async def entries(
    asked: Asked,
    category: Annotated[str | None, Query(description="Only of this category.")] = None,
    group: Annotated[str | None, Query(description="Only of this group and those below it.")] = None,
    state: Annotated[str | None, Query(description="active, archived or superseded.")] = None,
    limit: Annotated[int | None, Query(description="At most this many.")] = None,
) -> Response:
    """Entries, strongest first."""
    found = await asked.work(lambda memory: memory.entries(category=category, group=group, state=state, limit=limit))
    return answer(found.json())


@router.get(
    "/{id}",
    response_model=schemas.Changed,
    responses={304: {"description": "As `If-None-Match` has it."}},
    openapi_extra={"parameters": [etags.IF_NONE_MATCH]},
)
async def entry(id: str, request: Request, asked: Asked) -> Response:
    """An entry with all its fields."""
    found = await asked.work(lambda memory: _entry(memory, id))
    revision = etags.of_entry(found["entry"])
    if etags.known(request.headers, revision):
        return Response(status_code=304, headers={"ETag": etags.quoted(revision)})
    return _answered(found)


@router.patch(
    "/{id}", response_model=schemas.Changed, openapi_extra={"parameters": [etags.IF_MATCH], **body(_PARAMETERS)}
)
async def change(id: str, request: Request, asked: Asked) -> Response:
    """Change fields of an entry; what is left out stays. Another one by now: 409 with the entry as it stands."""
    expect = etags.expected(request.headers)
    fields = checked("an entry", _PARAMETERS, await given(request))
    if not fields:
        raise InvalidInput(f"nothing to change: give one of {', '.join(_FIELDS)}")
    return _answered(await asked.work(_standing(id, expect, lambda memory: _updated(memory, id, dict(fields)))))


@router.delete("/{id}", response_model=schemas.Forgotten, openapi_extra={"parameters": [etags.IF_MATCH]})
async def forget(id: str, request: Request, asked: Asked) -> Response:
    """Forget an entry, so that imports do not bring it back; `undo` does."""
    expect = etags.expected(request.headers)
    return answer(await asked.work(_standing(id, expect, lambda memory: memory.forget(id).json())))


def _standing(
    id: str, expect: str | None, do: Callable[[Memory], dict[str, Any]]
) -> Callable[[Memory], dict[str, Any]]:
    """`do` for the entry as it is expected, with no other writer between the look and the change."""

    def work(memory: Memory) -> dict[str, Any]:
        _entry(memory, id)  # makes no lock for what is not there
        with memory.book.documents.lock():
            now = _entry(memory, id)
            revision = etags.of_entry(now["entry"])
            if expect not in (None, revision):
                raise etags.changed(f"entry {id!r} was changed since it was read", revision, now)
            return do(memory)

    return work


def _entry(memory: Memory, id: str) -> dict[str, Any]:
    found = memory.get(id)
    if not isinstance(found, Known) or found.entry.id != id:
        raise NotFound(f"no entry {id[:80]!r} in this book")
    return found.json()


def _updated(memory: Memory, id: str, fields: dict[str, Any]) -> dict[str, Any]:
    pinned = fields.pop("pinned", None)
    found = memory.update(id, **fields) if fields else None
    if pinned is not None:
        pinned_now = memory.pin(id, pinned=pinned)
        before = found or pinned_now
        found = pinned_now._replace(redacted=before.redacted, operation=pinned_now.operation or before.operation)
    assert found is not None
    return found.json()


def _answered(found: dict[str, Any]) -> Response:
    return answer(found, headers={"ETag": etags.quoted(etags.of_entry(found["entry"]))})
