"""Routes of documents: Markdown as it stands, with its revision as ETag."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from memorybook.errors import Conflict, MissingDocument
from memorybook.formats.document import Document
from memorybook.http import etags, schemas
from memorybook.http.dependencies import FAILS, Asked, raw_body
from memorybook.http.json_wire import answer, shown
from memorybook.memory import Memory

MARKDOWN = "text/markdown; charset=utf-8"

router = APIRouter(prefix="/documents", tags=["documents"], responses=FAILS)


@router.get("", response_model=list[schemas.DocumentInfo])
async def documents(asked: Asked) -> Response:
    """All documents, by path."""
    return answer(shown(await asked.work(lambda memory: memory.documents())))


@router.get(
    "/{path:path}",
    response_class=Response,
    responses={200: {"content": {"text/markdown": {}}}, 304: {"description": "As `If-None-Match` has it."}},
    openapi_extra={"parameters": [etags.IF_NONE_MATCH]},
)
async def document(path: str, request: Request, asked: Asked) -> Response:
    """The text of a document, byte for byte."""
    found = await asked.work(lambda memory: memory.document(path))
    headers = {"ETag": etags.quoted(found.revision)}
    if etags.known(request.headers, found.revision):
        return Response(status_code=304, headers=headers)
    return Response(_bytes(found.text), headers=headers, media_type=MARKDOWN)


@router.put(
    "/{path:path}",
    response_model=schemas.Written,
    openapi_extra={
        "parameters": [etags.IF_MATCH, etags.IF_NONE_MATCH],
        **raw_body("text/markdown", required=False),
    },
)
async def write(path: str, request: Request, asked: Asked) -> Response:
    """Let the body be the text of the document; `If-Match` says which it takes the place of.

    `If-None-Match: *` makes a new one. Another one by now: 409 with the text as it stands and its ETag.
    """
    expect = etags.expected(request.headers, new=True)
    text = (await request.body()).decode("utf-8", "surrogateescape")
    return _written(await asked.work(lambda memory: _changed(memory, path, expect, text)))


@router.delete("/{path:path}", response_model=schemas.Written, openapi_extra={"parameters": [etags.IF_MATCH]})
async def remove(path: str, request: Request, asked: Asked) -> Response:
    """Take a document out of the book; `undo` brings it back. `If-Match` as for a change."""
    expect = etags.expected(request.headers)
    return _written(await asked.work(lambda memory: _changed(memory, path, expect, None)))


def _changed(memory: Memory, path: str, expect: str | None, text: str | None) -> dict[str, Any]:
    """Write the text, or take the document away for None; a conflict tells what stands there now."""
    try:
        if expect is None:
            memory.document(path)  # * is for what there is
        if text is None:
            return memory.remove_document(path, expect=expect).json()
        return memory.write_document(path, text, expect=expect).json()
    except Conflict as conflict:
        try:
            now: Document = memory.document(path)
        except MissingDocument:
            raise conflict from None
        raise etags.changed(str(conflict), now.revision, {"text": now.text}) from None


def _written(found: dict[str, Any]) -> Response:
    revision = found["revision"]
    return answer(found, headers={"ETag": etags.quoted(revision)} if revision else {})


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
