"""A server's own counters, read from its ``/metrics`` page before and after a series.

Counters go under one name whatever the engine calls them; a series' share is the difference of two
readings. Whoever else used the server in between is counted with it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from evalstab.endpoint.base import Refusal

if TYPE_CHECKING:
    from evalstab.endpoint.openai_chat import OpenAIChat

COUNTERS: dict[str, tuple[str, ...]] = {
    "prompt_tokens": ("vllm:prompt_tokens", "sglang:prompt_tokens", "llamacpp:prompt_tokens"),
    "cached_tokens": (
        "vllm:prompt_tokens_cached",
        "vllm:prefix_cache_hits",
        "sglang:cached_tokens",
        "llamacpp:prompt_tokens_cached",
    ),
    "generated_tokens": (
        "vllm:generation_tokens",
        "sglang:generation_tokens",
        "llamacpp:tokens_predicted",
    ),
    "prompt_seconds": ("vllm:request_prefill_time_seconds_sum", "llamacpp:prompt_seconds"),
    "decode_seconds": (
        "vllm:request_decode_time_seconds_sum",
        "llamacpp:tokens_predicted_seconds",
    ),
    "preemptions": (
        "vllm:num_preemptions",
        "sglang:num_retracted_requests",
        "sglang:num_retracted_reqs",
    ),
    "drafted_tokens": ("vllm:spec_decode_num_draft_tokens",),
    "accepted_tokens": ("vllm:spec_decode_num_accepted_tokens",),
    "started": ("process_start_time_seconds",),
}
"""Names of the counters, and where engines keep them; with and without ``_total``."""

PROMPT_WITHOUT_CACHED = "llamacpp:"
"""Engines whose prompt counter leaves cached tokens out."""

_LINE = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{([^}]{0,2000})\})?\s+(\S{1,40})", re.M)
_LABEL = re.compile(r'(\w+)="([^"]{0,200})"')
_RANKS = ("tp_rank", "pp_rank", "moe_ep_rank")
_POOLS = ("vllm:cache_config_info", "sglang:cache_config_info")


def read_counters(text: str) -> dict[str, float]:
    """The counters that a page states, by our names; absent ones are missing.

    Several series of one counter (engines, models) are added up; copies of one rank each are not.
    """
    found: dict[str, dict[str, float]] = {}
    for name, labels, value in _samples(text):
        bare = name.removesuffix("_total")
        found.setdefault(bare, {}).setdefault(_without_ranks(labels), value)
    values: dict[str, float] = {}
    for ours, names in COUNTERS.items():
        for name in names:
            if name in found:
                values[ours] = sum(found[name].values())
                break
    if any(name.startswith(PROMPT_WITHOUT_CACHED) for name in found):
        values.setdefault("cached_tokens", 0.0)
        values["prompt_without_cached"] = 1.0
    return values


def pool_tokens(text: str) -> int | None:
    """Tokens that the KV cache has room for, as vLLM's labels state it; None where unknown."""
    for name, labels, _ in _samples(text):
        if name in _POOLS:
            stated = dict(_LABEL.findall(labels))
            for parts in (("kv_cache_size_tokens",), ("num_gpu_blocks", "block_size")):
                numbers = [stated.get(part, "") for part in parts]
                if all(number.isdecimal() for number in numbers):
                    return math.prod(map(int, numbers))
    return None


async def metrics_page(client: OpenAIChat) -> str | None:
    """The text of ``/metrics``, None where this server has none."""
    try:
        return (await client.get(client.beside("metrics"))).decode("utf-8", "replace")
    except (Refusal, ConnectionError, TimeoutError):
        return None


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float] | None:
    """What happened between two readings; None where the server was restarted in between."""
    if before.get("started") != after.get("started"):
        return None
    gone = {key: after[key] - before[key] for key in after if key in before and key != "started"}
    return None if any(value < 0 for value in gone.values()) else gone


def _samples(text: str) -> Iterator[tuple[str, str, float]]:
    for line in _LINE.finditer(text):
        try:
            value = float(line[3])
        except ValueError:
            continue
        if math.isfinite(value):
            yield line[1], line[2] or "", value


def _without_ranks(labels: str) -> str:
    kept = [f"{key}={value}" for key, value in _LABEL.findall(labels) if key not in _RANKS]
    return ",".join(sorted(kept))
