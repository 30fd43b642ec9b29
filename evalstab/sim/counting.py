"""What a request costs: prompt tokens as this server counts them, and how many are cached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evalstab.chat import Json
from evalstab.sim import tokens
from evalstab.sim.conversation import text_of
from evalstab.sim.dialect import Dialect
from evalstab.sim.pace import Schedule

_PER_MESSAGE = 4
_BLOCK = 16


@dataclass(frozen=True, slots=True)
class Prompt:
    """Tokens of a prompt, and how many of them the prefix cache already holds."""

    tokens: int
    cached: int


def prompt_of(dialect: Dialect, body: Mapping[str, Any], *, warm: bool, begin: int = 0) -> Prompt:
    """Tokens of the request's prompt.

    The cache holds whatever an earlier step put there since the message at ``begin``, in whole
    blocks of 16; what comes before only where an earlier trial sent it (``warm``).
    """
    messages = [m for m in body.get("messages") or [] if isinstance(m, dict)]
    costs = [_message(dialect, message) for message in messages]
    head = _PER_MESSAGE + (tokens.count(json.dumps(body["tools"])) if body.get("tools") else 0)
    total = head + sum(costs)
    known = _known(messages, begin)
    held = head + sum(costs[: known + 1]) if known is not None else (total - 1) * warm
    return Prompt(total, held // _BLOCK * _BLOCK)


def _known(messages: Sequence[Json], begin: int) -> int | None:
    """Position of the last message that an earlier step has already processed."""
    for at in range(len(messages) - 1, begin, -1):
        if messages[at].get("role") == "assistant":
            return at
    return None


def _message(dialect: Dialect, message: Json) -> int:
    cost = _PER_MESSAGE + tokens.count(text_of(message.get("content")))
    for call in message.get("tool_calls") or []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict):
            cost += 1 + tokens.count(str(function.get("arguments", "")))
    return cost + tokens.count(_replayed(dialect, message))


def _replayed(dialect: Dialect, message: Json) -> str:
    """Reasoning that this server reads back; what stands in another field is dropped silently."""
    for field in dialect.replayed:
        value = message.get(field)
        if field == "reasoning_details" and isinstance(value, list):
            return "".join(text_of([part]) for part in value)
        if isinstance(value, str):
            return value
    return ""


def usage_of(dialect: Dialect, prompt: Prompt, completion: int, reasoning: int) -> Json:
    """The usage as this server states it."""
    usage: Json = {
        "prompt_tokens": prompt.tokens,
        "completion_tokens": completion,
        "total_tokens": prompt.tokens + completion,
    }
    if "cached" in dialect.usage:
        usage["prompt_tokens_details"] = {"cached_tokens": prompt.cached}
    if "reasoning" in dialect.usage:
        usage["completion_tokens_details"] = {"reasoning_tokens": reasoning}
    if "reasoning-on-top" in dialect.usage:
        usage["reasoning_tokens"] = reasoning
    return usage


def timings_of(
    dialect: Dialect, prompt: Prompt, schedule: Schedule, completion: int, context: int
) -> Json:
    """The server's own clock for one answer, as the llama.cpp family states it."""
    fresh = schedule.prefill_tokens
    timings: Json = {
        "prompt_n": fresh,
        "prompt_ms": round(schedule.prefill * 1000, 3),
        "prompt_per_second": fresh / schedule.prefill if schedule.prefill else 0.0,
        "predicted_n": completion,
        "predicted_ms": round(schedule.decode * 1000, 3),
        "predicted_per_second": completion / schedule.decode if schedule.decode else 0.0,
    }
    if dialect.name == "ik_llamacpp":
        return timings | {"n_ctx": context, "n_past": prompt.tokens + completion}
    return timings | {"cache_n": prompt.cached}
