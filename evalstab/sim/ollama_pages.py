"""What Ollama tells of itself."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.sim.dice import fingerprint
from evalstab.sim.pages import Page
from evalstab.sim.world import World

_SIZE = 81_000_000_000


def _version(world: World, _: Json) -> Json:
    return {"version": world.settings.dialect.version}


def _greeting(_: World, __: Json) -> str:
    return "Ollama is running"


def _details() -> Json:
    return {
        "parent_model": "",
        "format": "gguf",
        "family": "simulated",
        "families": ["simulated"],
        "parameter_size": "122B",
        "quantization_level": "Q4_K_M",
    }


def _entry(world: World) -> Json:
    served = world.settings.served
    digest = fingerprint("ollama", served, length=64)
    return {"name": served, "model": served, "size": _SIZE, "digest": digest, "details": _details()}


def _running(world: World, _: Json) -> Json:
    loaded = {
        "size_vram": _SIZE,
        "expires_at": "2318-01-01T00:00:00Z",
        "context_length": world.settings.context,
    }
    return {"models": [_entry(world) | loaded]}


def _tags(world: World, _: Json) -> Json:
    return {"models": [_entry(world)]}


def _show(world: World, _: Json) -> Json:
    return {
        "modelfile": f"FROM {world.settings.served}",
        "parameters": "temperature 0.6",
        "template": "{{ .Prompt }}",
        "details": _details(),
        "model_info": {"simulated.context_length": 262_144},
        "capabilities": ["completion", "tools", "thinking"],
    }


def _models(world: World, _: Json) -> Json:
    entry = {"id": world.settings.served, "object": "model", "owned_by": "library"}
    return {"object": "list", "data": [entry | {"created": int(world.started)}]}


OLLAMA: dict[str, Page] = {
    "GET /": _greeting,
    "GET /api/version": _version,
    "GET /api/ps": _running,
    "GET /api/tags": _tags,
    "POST /api/show": _show,
    "GET /v1/models": _models,
}
