"""The simulated server: the chat route and all that stands around it."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Route

from evalstab.sim.chat import Chat
from evalstab.sim.introspection import routes
from evalstab.sim.truth import TruthFile
from evalstab.sim.world import Settings, World


def application(settings: Settings) -> Starlette:
    """The ASGI application of a simulated server."""
    head = {
        "persona": settings.persona.name,
        "dialect": settings.dialect.name,
        "seed": settings.seed,
    }
    world = World(settings)
    chat = Chat(world, TruthFile(settings.truth, head))
    paths = ("/v1/chat/completions", "/chat/completions")
    return Starlette(routes=[Route(p, chat, methods=["POST"]) for p in paths] + routes(world))
