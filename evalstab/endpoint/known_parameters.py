"""Request parameters that servers are known to ignore, and what a server's pages say of them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from evalstab.chat import Json
from evalstab.endpoint.server_facts import ServerFacts

_NOT_OF_OLLAMA = (
    *("top_k", "min_p", "typical_p", "repetition_penalty", "repeat_penalty", "num_ctx"),
    *("max_completion_tokens", "tool_choice", "parallel_tool_calls", "chat_template_kwargs"),
)

IGNORED: dict[str, dict[str, str]] = {
    "ollama": dict.fromkeys(_NOT_OF_OLLAMA, "not a field of Ollama's /v1 request"),
    "llama.cpp": {"repetition_penalty": "llama.cpp reads repeat_penalty"},
    "ik_llama.cpp": {"repetition_penalty": "ik_llama.cpp reads repeat_penalty"},
    "vllm": {
        "repeat_penalty": "vLLM reads repetition_penalty",
        "num_ctx": "vLLM's context is set with --max-model-len",
        "user": "documented as ignored",
    },
    "sglang": {
        "repeat_penalty": "SGLang reads repetition_penalty",
        "num_ctx": "SGLang's context is set with --context-length",
    },
}
"""By engine: what is known to be ignored and why (docs/check.md)."""

PROTOCOL = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "tools", "tool_choice"),
        *("parallel_tool_calls", "max_tokens", "chat_template_kwargs"),
    }
)
"""Fields that are no sampling parameters."""


def sampling_of(fields: Mapping[str, Any]) -> Json:
    """The sampling parameters of a request body."""
    return {name: value for name, value in fields.items() if name not in PROTOCOL}


def known_ignored(facts: ServerFacts, name: str) -> str | None:
    """Why this server is known to ignore a parameter; ``None`` where nothing says so.

    What a server lists as supported goes before what is known of its engine.
    """
    listed = facts.value("supported_parameters")
    if listed is not None:
        return None if name in listed else "not among the parameters that the model list names"
    return IGNORED.get(str(facts.value("engine")), {}).get(name)


def echoed(slots: Any, mark: int) -> Json | None:
    """The parameters that a llama.cpp server used for the request whose max_tokens was ``mark``."""
    for slot in slots[:64] if isinstance(slots, list) else []:
        params = slot.get("params", slot) if isinstance(slot, dict) else None
        if isinstance(params, dict) and mark in (params.get("max_tokens"), params.get("n_predict")):
            return params
    return None


def same_value(sent: Any, used: Any) -> bool:
    """Whether a value was taken over; servers keep floats in single precision."""
    numbers = isinstance(sent, (int, float)) and isinstance(used, (int, float))
    if numbers:
        return math.isclose(sent, used, rel_tol=1e-4, abs_tol=1e-6)
    return bool(sent == used)
