"""Routes of what is taken along and brought: export, backup, import."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Query
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from memorybook.errors import InvalidInput, MemoryBookError
from memorybook.http import schemas
from memorybook.http.dependencies import FAILS, Asked, raw_body
from memorybook.http.json_wire import answer, form
from memorybook.memory import Memory

if TYPE_CHECKING:
    from memorybook.exchange.backup import Backup
    from memorybook.exchange.export import Export

router = APIRouter(tags=["archives"], responses=FAILS)


@router.get("/export", response_class=FileResponse, responses={200: {"content": {"application/json": {}}}})
async def export(
    asked: Asked, session: Annotated[str | None, Query(description="Only this session, by uuid or name.")] = None
) -> Response:
    """All sessions with their chats, as one JSON document."""
    return await _file(
        asked, "sessions.json", "application/json", lambda memory, path: memory.export(path, session=session)
    )


@router.get("/backup", response_class=FileResponse, responses={200: {"content": {"application/gzip": {}}}})
async def backup(asked: Asked) -> Response:
    """The whole book as one archive: documents, turns and journal, at one moment."""
    return await _file(asked, "memorybook.tar.gz", "application/gzip", lambda memory, path: memory.backup(path))


@router.post(
    "/import",
    response_model=schemas.Imported,
    openapi_extra=raw_body("application/octet-stream"),
)
async def import_file(
    request: Request,
    asked: Asked,
    name: Annotated[str, Query(description="Of the file.")] = "upload",
    format: Annotated[str | None, Query(description="What it is; else told by what is in it.")] = None,
    scope: Annotated[str | None, Query(description="Only the lines of this scope.")] = None,
    since: Annotated[str | None, Query(description="Only what is of this day or later, YYYY-MM-DD.")] = None,
    by_model: Annotated[bool, Query(description="Whether the language model is asked.")] = False,
    dry_run: Annotated[bool, Query(description="Only say what would be added.")] = False,
) -> Response:
    """Take in a file of what another program keeps, the body; see `docs/import.md` for what is known."""
    if (
        not name
        or len(name.encode("utf-8", "replace")) > 200
        or not name.isprintable()
        or "/" in name
        or name.startswith((".", "-"))
    ):
        raise InvalidInput(f"name {name[:80]!r} is not a plain name of a file")
    content = await request.body()
    show, kind = form(request)

    def work(memory: Memory) -> Any:
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
            return show(found._replace(warnings=tuple(told.replace(inside, "") for told in found.warnings)))

    return answer(await asked.work(work), kind=kind)


WROTE = "X-Memorybook-Wrote"
"""Header with the counts of what a file holds, JSON."""


async def _file(asked: Asked, name: str, kind: str, make: Callable[[Memory, str], Export | Backup]) -> Response:
    """The file that `make` makes, which is gone once it is sent."""
    folder = tempfile.mkdtemp(prefix="memorybook-")
    try:
        path = os.path.join(folder, name)
        made = await asked.work(lambda memory: make(memory, path))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    sent = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    counts = {name: value for name, value in made.json().items() if isinstance(value, int)}
    headers = {WROTE: json.dumps(counts)}
    return FileResponse(path, media_type=kind, filename=name, headers=headers, background=sent)
