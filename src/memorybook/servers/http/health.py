"""Routes outside the API: how the server is, what it counts, where things are."""

from __future__ import annotations

from importlib import metadata
from typing import cast

from fastapi import APIRouter
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from starlette.requests import Request
from starlette.responses import Response

from memorybook.servers.http import shapes
from memorybook.servers.http.asking import FAILS, Owned, books_of
from memorybook.servers.http.tracing import Metrics
from memorybook.servers.http.wire import answer

router = APIRouter(tags=["server"], responses=FAILS)


@router.get("/healthz", response_model=shapes.Health)
async def healthz() -> Response:
    """Whether the server answers; for anybody."""
    return answer({"status": "ok"})


@router.get("/readyz", response_model=shapes.Health, responses={503: {"model": shapes.Health}})
async def readyz(request: Request) -> Response:
    """Whether what is written now is kept: 503 while writes fail; for anybody."""
    ready = await books_of(request).ready()
    return answer({"status": "ready" if ready else "not_ready"}, status=200 if ready else 503)


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
