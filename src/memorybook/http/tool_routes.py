"""Routes of the tools and of the verbs of `Memory`: one for each, made of what these say of themselves."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from memorybook import tools
from memorybook.http import memory_routes
from memorybook.http.dependencies import FAILS, Asked, body
from memorybook.http.json_wire import answer, form, given
from memorybook.shapes import ANSWERS, Disabled

Route = Callable[..., Awaitable[Response]]

router = APIRouter(responses=FAILS)


def _tool(name: str) -> Route:
    async def call(request: Request, asked: Asked) -> Response:
        arguments = await given(request)

        def work(memory: Any) -> dict[str, Any]:
            memory_routes.check(memory, name.removeprefix("memory_"), arguments)
            return tools.call(memory, name, arguments)

        return answer(await asked.work(work))

    return call


def _verb(name: str) -> Route:
    async def call(request: Request, asked: Asked) -> Response:
        arguments = await given(request)
        show, kind = form(request)
        found = await asked.work(lambda memory: memory_routes.call(memory, name, arguments, show=show))
        if name in memory_routes.SAID:
            asked.books.heard(asked.tenant)
        return answer(found, kind=kind)

    return call


for _name in tools.TOOLS:
    _schema = tools.schema(_name)
    router.add_api_route(
        f"/tools/{_name}",
        _tool(_name),
        methods=["POST"],
        operation_id=_name,
        summary=_schema["description"].split(". ")[0],
        description=_schema["description"],
        response_model=ANSWERS[_name] | Disabled,
        openapi_extra=body(_schema["parameters"]),
        tags=["tools"],
    )

for _name, _answer in memory_routes.VERBS.items():
    _verb_told = memory_routes.told(_name)
    router.add_api_route(
        f"/memory/{_name}",
        _verb(_name),
        methods=["POST"],
        operation_id=f"memory.{_name}",
        summary=_verb_told.summary,
        description=_verb_told.description,
        response_model=_answer,
        openapi_extra=body(_verb_told.parameters),
        tags=["memory"],
    )
