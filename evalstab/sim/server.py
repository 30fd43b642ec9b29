"""The simulated server: the routes that ask the model and all that stands around them."""

from __future__ import annotations

from starlette.applications import Starlette
from starlette.routing import Route

from evalstab.sim.apis import spoken
from evalstab.sim.chat import Chat
from evalstab.sim.introspection import not_found, routes
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
    truth = TruthFile(settings.truth, head)
    asked = [Route(api.path, Chat(world, truth, api)) for api in spoken(settings.dialect)]
    app = Starlette(routes=[*asked, *routes(world)], exception_handlers={404: not_found})
    app.state.dialect = settings.dialect.name
    return app
