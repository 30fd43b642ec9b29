"""Pages that several servers have in common."""

from __future__ import annotations

from collections.abc import Callable

from evalstab.chat import Json
from evalstab.sim import asking, tokens
from evalstab.sim.counting import prompt_of
from evalstab.sim.world import World

Page = Callable[[World, Json], Json | list[Json] | str]
KV_DTYPE = "fp8_e4m3"


def models(world: World, _: Json) -> Json:
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


def empty(_: World, __: Json) -> str:
    """An answer without a body: the status says it all."""
    return ""


def text_tokens(body: Json, key: str) -> list[str]:
    """The tokens of the text in a request."""
    return tokens.pieces(str(body.get(key, "")))


def tokenize(world: World, body: Json) -> Json:
    """Token ids of a text, or the number of tokens of a chat prompt, as vLLM and SGLang say it."""
    if "messages" in body:
        count = prompt_of(world.settings.dialect, body, warm=False).tokens
        ids = list(range(count))
    else:
        ids = [tokens.token_id(piece) for piece in text_tokens(body, "prompt")]
    return {"count": len(ids), "max_model_len": world.settings.context, "tokens": ids}


def count_tokens(world: World, body: Json) -> Json:
    """Tokens of the prompt that a request of the messages API would have."""
    dialect = world.settings.dialect
    asked = asking.of_messages(body, dialect.replayed[0])
    many = prompt_of(dialect, asked, warm=False).tokens
    counted: Json = {"input_tokens": many}
    if dialect.events == "numbered":
        counted["context_management"] = {"original_input_tokens": many}
    return counted


def metric_lines(values: list[tuple[str, str, float]]) -> str:
    """Prometheus text of (name, kind, value)."""
    lines = []
    for name, kind, value in values:
        bare = name.split("{", 1)[0]
        lines += [f"# HELP {bare} {bare}", f"# TYPE {bare} {kind}", f"{name} {value!r}"]
    return "\n".join(lines) + "\n"
