"""What a server tells of itself: models, health, metrics, properties, by dialect."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from evalstab.chat import Json
from evalstab.sim import refusals, tokens
from evalstab.sim.chat import refused_key
from evalstab.sim.refusals import Refusal
from evalstab.sim.world import World

Handler = Callable[[Request], Awaitable[Response]]


def routes(world: World) -> list[Route]:
    """All routes of the world's dialect but the chat."""
    return [
        _get(world, "/v1/models", lambda: models(world)),
        _get(world, "/health", lambda: {}),
        _post(world, "/tokenize", lambda body: tokenize(world, body)),
    ]


def models(world: World) -> Json:
    """The models that are served."""
    settings = world.settings
    entry = {
        "id": settings.served,
        "object": "model",
        "created": int(world.started),
        "owned_by": settings.dialect.name,
        "root": settings.served,
        "max_model_len": settings.context,
    }
    return {"object": "list", "data": [entry]}


def tokenize(world: World, body: Json) -> Json:
    """The tokens of a text."""
    ids = [tokens.token_id(piece) for piece in tokens.pieces(str(body.get("prompt", "")))]
    return {"count": len(ids), "max_model_len": world.settings.context, "tokens": ids}


def _get(world: World, path: str, answer: Callable[[], Json]) -> Route:
    async def handle(request: Request) -> Response:
        if refused := _not_now(world, request):
            return _refusal(refused)
        return JSONResponse(answer())

    return Route(path, handle, methods=["GET"])


def _post(world: World, path: str, answer: Callable[[Json], Json]) -> Route:
    async def handle(request: Request) -> Response:
        if refused := _not_now(world, request):
            return _refusal(refused)
        try:
            body = msgspec.json.decode(await request.body())
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            return _refusal(refusals.bad_json(world.settings.dialect, str(error)))
        if not isinstance(body, dict):
            return _refusal(refusals.bad_json(world.settings.dialect, "an object is needed"))
        return JSONResponse(answer(body))

    return Route(path, handle, methods=["POST"])


def _not_now(world: World, request: Request) -> Refusal | None:
    if request.url.path != "/health" and (refused := refused_key(world, request.headers)):
        return refused
    return refusals.loading(world.settings.dialect) if world.is_loading() else None


def _refusal(refused: Refusal) -> Response:
    return JSONResponse(refused.body, refused.status)
