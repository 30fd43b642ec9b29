"""What a server tells of itself outside the chat, by dialect: paths, bodies, error answers."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from evalstab.chat import Json
from evalstab.sim import llama_pages, ollama_pages, refusals, vllm_pages
from evalstab.sim.chat import refused_key
from evalstab.sim.pages import Page, models
from evalstab.sim.refusals import Refusal
from evalstab.sim.world import World

_HOSTED: dict[str, Page] = {"GET /v1/models": models}
_PAGES: Mapping[str, dict[str, Page]] = {
    "vllm": vllm_pages.VLLM,
    "sglang": vllm_pages.SGLANG,
    "llamacpp": llama_pages.LLAMACPP,
    "ik_llamacpp": llama_pages.IK_LLAMACPP,
    "minimax": _HOSTED,
    "ollama": ollama_pages.OLLAMA,
}
MARK = {"simulated_by": "evalstab"}
"""Stands on the list of models, whichever server it seems to be: no report may be mistaken."""
_OPEN = frozenset({"/health", "/v1/health", "/ping", "/"})


def routes(world: World) -> list[Route]:
    """All routes of the world's dialect but the chat."""
    made = []
    for place, page in _PAGES[world.settings.dialect.name].items():
        method, path = place.split(" ")
        made.append(_route(world, path, method, page))
    return made


def _route(world: World, path: str, method: str, page: Page) -> Route:
    async def handle(request: Request) -> Response:
        body: Json = {}
        if refused := _not_now(world, request):
            return _refusal(refused)
        if method == "POST" and (raw := await request.body()):
            try:
                body = msgspec.json.decode(raw)
            except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
                return _refusal(refusals.bad_json(world.settings.dialect, str(error)))
        if not isinstance(body, dict):
            return _refusal(refusals.bad_json(world.settings.dialect, "an object is needed"))
        answer = page(world, body)
        if path == "/v1/models" and isinstance(answer, dict):
            answer |= MARK
        headers = llama_pages.headers(world)
        if isinstance(answer, str):
            return PlainTextResponse(answer, headers=headers)
        return JSONResponse(answer, headers=headers)

    return Route(path, handle, methods=[method])


async def not_found(request: Request, _: Exception) -> Response:
    """The answer for a path that this server does not have."""
    name = request.app.state.dialect
    if name in {"llamacpp", "ik_llamacpp"}:
        error = {"message": "File Not Found", "type": "not_found_error", "code": 404}
        return JSONResponse({"error": error}, 404)
    if name == "ollama":
        return PlainTextResponse("404 page not found", 404)
    return JSONResponse({"detail": "Not Found"}, 404)


def _not_now(world: World, request: Request) -> Refusal | None:
    if request.url.path not in _OPEN and (refused := refused_key(world, request.headers)):
        return refused
    return refusals.loading(world.settings.dialect) if world.is_loading() else None


def _refusal(refused: Refusal) -> Response:
    return JSONResponse(refused.body, refused.status)
