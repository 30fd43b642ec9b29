"""What llama.cpp and ik_llama.cpp tell of themselves."""

from __future__ import annotations

import json

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.conversation import text_of
from evalstab.sim.counting import prompt_of
from evalstab.sim.pages import Page, count_tokens, metric_lines, text_tokens
from evalstab.sim.world import World

_SAMPLING: Json = {
    "seed": 4294967295,
    "temperature": 0.8,
    "top_k": 40,
    "top_p": 0.95,
    "min_p": 0.05,
    "repeat_penalty": 1.0,
    "n_predict": -1,
}
_TEMPLATE = "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}"


def headers(world: World) -> dict[str, str]:
    """ik_llama.cpp states its start in a header of every page."""
    if world.settings.dialect.name != "ik_llamacpp":
        return {}
    return {"Process-Start-Time-Unix": str(int(world.started))}


def _path(world: World) -> str:
    return f"/models/{world.settings.served}.gguf"


def _props(world: World, _: Json) -> Json:
    settings = world.settings
    page: Json = {
        "default_generation_settings": {"params": _SAMPLING, "n_ctx": settings.context},
        "total_slots": 1,
        "model_alias": settings.served,
        "model_path": _path(world),
        "modalities": {"vision": False, "audio": False},
        "chat_template": _TEMPLATE,
        "chat_template_caps": {"supports_tools": True, "supports_tool_calls": True},
    }
    if settings.dialect.name == "ik_llamacpp":
        return page | {
            "system_prompt": "",
            "model_name": settings.served,
            "n_ctx": settings.context,
        }
    return page | {"build_info": settings.dialect.version, "is_sleeping": False}


def _short_props(world: World, _: Json) -> Json:
    settings = world.settings
    return {
        "model_name": settings.served,
        "model_path": _path(world),
        "modalities": {"vision": False, "audio": False},
        "n_ctx": settings.context,
    }


def _health(_: World, __: Json) -> Json:
    return {"status": "ok"}


def _ik_health(world: World, _: Json) -> Json:
    busy = min(world.in_flight, 1)
    return {"status": "ok", "slots_idle": 1 - busy, "slots_processing": busy}


def _ik_version(world: World, _: Json) -> Json:
    features = {"sql": False, "zstd_compression": False}
    return {"version": int(world.settings.dialect.version), "features": features}


def _slots(world: World, _: Json) -> list[Json]:
    settings = world.settings
    slot: Json = {"id": 0, "id_task": world.counters.requests, "n_ctx": settings.context}
    if settings.dialect.name == "ik_llamacpp":
        return [slot | _SAMPLING | {"state": min(world.in_flight, 1), "prompt": ""}]
    return [slot | {"is_processing": world.in_flight > 0, "params": _SAMPLING}]


def _metrics(world: World, _: Json) -> str:
    counters = world.counters
    values = [
        (
            "llamacpp:prompt_tokens_total",
            "counter",
            float(counters.prompt_tokens - counters.cached_tokens),
        ),
        ("llamacpp:prompt_seconds_total", "counter", counters.prompt_seconds),
        ("llamacpp:tokens_predicted_total", "counter", float(counters.generated_tokens)),
        ("llamacpp:tokens_predicted_seconds_total", "counter", counters.decode_seconds),
        ("llamacpp:n_tokens_max", "counter", float(counters.largest)),
        ("llamacpp:requests_processing", "gauge", float(world.in_flight)),
        ("llamacpp:requests_deferred", "gauge", 0.0),
    ]
    if world.settings.dialect.name == "ik_llamacpp":
        share = min(counters.largest / world.settings.context, 1.0)
        values.append(("llamacpp:kv_cache_usage_ratio", "gauge", share))
        values.append(("llamacpp:kv_cache_tokens", "gauge", float(counters.largest)))
    return metric_lines(values)


def _models(world: World, _: Json) -> Json:
    settings = world.settings
    meta = {
        "n_vocab": 150_000,
        "n_ctx": settings.context,
        "n_ctx_train": settings.context,
        "n_embd": 4096,
        "n_params": 228_000_000_000,
        "size": 151_000_000_000,
    }
    entry = {
        "id": settings.served,
        "object": "model",
        "created": int(world.started),
        "owned_by": "llamacpp",
        "meta": meta,
    }
    return {"object": "list", "data": [entry], "models": [{"name": settings.served}]}


def _ik_models(world: World, _: Json) -> Json:
    context = world.settings.context
    entry = {
        "id": world.settings.served,
        "slug": world.settings.served,
        "object": "model",
        "owned_by": "llamacpp",
        "context_window": context,
        "max_context_window": context,
        "truncation_policy": {"mode": "tokens", "limit": context},
    }
    return {"object": "list", "data": [entry]}


def _tokenize(_: World, body: Json) -> Json:
    return {"tokens": [tokens.token_id(piece) for piece in text_tokens(body, "content")]}


def _apply_template(_: World, body: Json) -> Json:
    messages = [m for m in body.get("messages") or [] if isinstance(m, dict)]
    turns = [
        f"<|im_start|>{m.get('role')}\n{text_of(m.get('content'))}<|im_end|>\n" for m in messages
    ]
    tools = f"<tools>{json.dumps(body['tools'])}</tools>\n" if body.get("tools") else ""
    return {"prompt": tools + "".join(turns) + "<|im_start|>assistant\n"}


def _input_tokens(world: World, body: Json) -> Json:
    return {"input_tokens": prompt_of(world.settings.dialect, body, warm=False).tokens}


_COMMON: dict[str, Page] = {
    "GET /props": _props,
    "GET /slots": _slots,
    "GET /metrics": _metrics,
    "POST /tokenize": _tokenize,
    "POST /apply-template": _apply_template,
}
LLAMACPP: dict[str, Page] = _COMMON | {
    "GET /v1/models": _models,
    "GET /models": _models,
    "GET /health": _health,
    "GET /v1/health": _health,
    "POST /v1/chat/completions/input_tokens": _input_tokens,
    "POST /v1/messages/count_tokens": count_tokens,
}
IK_LLAMACPP: dict[str, Page] = _COMMON | {
    "GET /v1/models": _ik_models,
    "GET /health": _ik_health,
    "GET /v1/props": _short_props,
    "GET /version": _ik_version,
}
