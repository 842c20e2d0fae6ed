"""Routes outside the API: how the server is, what it counts, where things are."""

from __future__ import annotations

from importlib import metadata
from typing import cast

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from memorybook.http import schemas
from memorybook.http.dependencies import FAILS, Owned, books_of
from memorybook.http.json_wire import answer
from memorybook.http.tracing import Metrics

router = APIRouter(tags=["server"], responses=FAILS)


@router.get("/livez", response_model=schemas.Health)
async def livez() -> Response:
    """Whether the process answers, whatever it can do; for anybody."""
    return answer({"status": "alive"})


@router.get("/healthz", response_model=schemas.Health, responses={503: {"model": schemas.Health}})
async def healthz(request: Request) -> Response:
    """Whether all is well: 503 while writes fail; for anybody."""
    return await _told(request, "ok", "failing")


@router.get("/readyz", response_model=schemas.Health, responses={503: {"model": schemas.Health}})
async def readyz(request: Request) -> Response:
    """Whether what is written now is kept: 503 while writes fail; for anybody."""
    return await _told(request, "ready", "not_ready")


async def _told(request: Request, well: str, ill: str) -> Response:
    ready = await books_of(request).ready()
    return answer({"status": well if ready else ill}, status=200 if ready else 503)


@router.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(request: Request, _: Owned) -> Response:
    """What the server counts, for Prometheus; for the owner's token."""
    books, counted = books_of(request), cast("Metrics", request.app.state.metrics)
    counted.works.set(books.works)
    counted.books.set(books.in_use)
    counted.ready.set(await books.ready())
    return Response(generate_latest(counted.registry), media_type=CONTENT_TYPE_LATEST)


@router.get("/", response_model=dict[str, str])
async def root() -> Response:
    """What this is, and where its API is described."""
    version = metadata.version("memorybook")
    return answer({"name": "memorybook", "version": version, "openapi": "/api/v1/openapi.json"})
