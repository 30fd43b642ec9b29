"""KV arithmetic: what a model's cache costs, from its ``config.json`` alone.

Arithmetic, not a measurement: servers add padding, blocks and replicas (an attention with fewer KV
heads than tensor-parallel ranks is stored several times). Linear-attention and state-space layers
keep a state of fixed size that does not grow with the context; it is not counted here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evalstab.errors import ConfigError, nearest

BYTES: dict[str, float] = {
    "f32": 4,
    "bf16": 2,
    "f16": 2,
    "fp8": 1,
    "int8": 1,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "int4": 0.5,
}
"""Bytes of one cached value; ``q*`` are blocks of 32 values with their scales (ggml)."""

_ALIASES = {
    "float32": "f32",
    "bfloat16": "bf16",
    "float16": "f16",
    "half": "f16",
    "fp16": "f16",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "auto": "bf16",
}
_FULL = frozenset({"full_attention", "attention", "global_attention", "global", "full"})
_WINDOWED = frozenset({"sliding_attention", "local_attention", "sliding", "chunked_attention"})
_INNER = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True, slots=True)
class Kv:
    """The KV cache of a model.

    ``full`` layers keep every token, ``windowed`` ones the last ``window``; ``layers`` counts all,
    those without a KV cache too. ``values`` is what one full-attention layer keeps of one token:
    keys and values, or the one compressed latent of MLA. ``width`` is the bytes of one value.
    """

    layers: int
    full: int
    windowed: int
    window: int
    heads: int
    head_dim: int
    values: int
    dtype: str
    width: float

    @property
    def bytes_per_token(self) -> float:
        """Bytes by which the cache grows with every further token of context."""
        return self.full * self.values * self.width

    @property
    def work(self) -> float:
        """Values read for each generated token and each token of context; compare, do not add."""
        return float(self.full * self.values)

    def bytes_at(self, context: int) -> float:
        """Bytes of one session of this many tokens, windows included."""
        windows = self.windowed * self.values * self.width * min(self.window, context)
        return self.bytes_per_token * context + windows

    def tokens_in(self, pool: float) -> int | None:
        """Tokens for which a pool of this many bytes has room; None where nothing grows."""
        return int(pool // self.bytes_per_token) if self.bytes_per_token else None


def relative_work(model: Kv, base: Kv) -> float | None:
    """KV work per generated token of ``model`` over that of ``base``, at the same context."""
    return model.work / base.work if base.work else None


def sessions(pool_tokens: float, context: float) -> float:
    """Sessions of this many tokens that fit a pool of tokens, as a fraction (1.81: one)."""
    return pool_tokens / context


def kv_dtype(name: str) -> str:
    """The name of a cache type as it is listed in ``BYTES``; ConfigError for an unknown one."""
    key = name.lower().removeprefix("torch.")
    key = _ALIASES.get(key, key)
    if key not in BYTES:
        raise ConfigError(f"KV cache type {name!r} is not known. {nearest(key, BYTES)}")
    return key


def kv_of(config: Mapping[str, Any], dtype: str = "bf16") -> Kv:
    """The cache that a model of this ``config.json`` keeps, in values of ``dtype``.

    Understands grouped-query and latent attention (MLA), sliding windows and hybrids (by
    ``layer_types``, an interval, a pattern, or a list). ConfigError names what is missing.
    """
    merged = dict(config)
    for key in _INNER:
        inner = config.get(key)
        merged |= inner if isinstance(inner, Mapping) else {}
    name = kv_dtype(dtype)
    layers = _layers(merged)
    full, windowed = _split(merged, layers)
    shared = _whole(merged, "num_kv_shared_layers") or 0
    full, windowed = _without_shared(merged, full, windowed, shared)
    heads, head_dim, values = _values(merged)
    return Kv(
        layers=layers,
        full=full,
        windowed=windowed,
        window=(_whole(merged, "sliding_window") or 0) if windowed else 0,
        heads=heads,
        head_dim=head_dim,
        values=values,
        dtype=name,
        width=BYTES[name],
    )


def _whole(config: Mapping[str, Any], *keys: str) -> int | None:
    for key in keys:
        value = config.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def _needed(config: Mapping[str, Any], *keys: str) -> int:
    value = _whole(config, *keys)
    if value is None:
        raise ConfigError(f"config.json states no {keys[0]}: is this a language model's config?")
    return value


def _layers(config: Mapping[str, Any]) -> int:
    return _needed(config, "num_hidden_layers", "n_layer", "num_layers")


def _values(config: Mapping[str, Any]) -> tuple[int, int, int]:
    """KV heads, head size, and the values that one layer keeps of one token."""
    latent = _whole(config, "kv_lora_rank")
    if latent is not None:
        size = latent + (_whole(config, "qk_rope_head_dim") or 0)
        return 1, size, size
    queries = _whole(config, "num_attention_heads", "n_head")
    heads = _whole(config, "num_key_value_heads", "num_kv_heads", "multi_query_group_num")
    heads = heads or queries
    if heads is None:
        raise ConfigError("config.json states neither num_key_value_heads nor num_attention_heads")
    stated = _whole(config, "head_dim", "kv_channels")
    size = stated or _needed(config, "hidden_size", "n_embd") // (queries or heads)
    return heads, size, 2 * heads * size


def _split(config: Mapping[str, Any], layers: int) -> tuple[int, int]:
    """How many layers keep every token, and how many a window."""
    kinds = config.get("layer_types") or config.get("layers_block_type")
    if isinstance(kinds, list) and kinds:
        return sum(k in _FULL for k in kinds), sum(k in _WINDOWED for k in kinds)
    flags = config.get("attn_type_list")
    if isinstance(flags, list) and flags:
        return sum(flag == 1 for flag in flags), 0
    pattern = config.get("hybrid_override_pattern")
    if isinstance(pattern, str):
        return pattern.count("*"), 0
    if interval := _whole(config, "full_attention_interval"):
        return layers // interval, 0
    if period := _whole(config, "attn_layer_period"):
        first = config.get("attn_layer_offset")
        first = first if isinstance(first, int) else 0
        return len(range(first, layers, period)), 0
    return _by_window(config, layers)


def _by_window(config: Mapping[str, Any], layers: int) -> tuple[int, int]:
    window = _whole(config, "sliding_window")
    if window is None or config.get("use_sliding_window") is False:
        return layers, 0
    if every := _whole(config, "sliding_window_pattern", "_sliding_window_pattern"):
        full = layers // every
    else:
        full = min(_whole(config, "max_window_layers") or 0, layers)
    return full, layers - full


def _without_shared(
    config: Mapping[str, Any], full: int, windowed: int, shared: int
) -> tuple[int, int]:
    """Layers at the end that use the cache of an earlier layer keep none of their own."""
    kinds = config.get("layer_types")
    if not shared or not isinstance(kinds, list):
        return full, windowed
    last = kinds[-shared:]
    return full - sum(k in _FULL for k in last), windowed - sum(k in _WINDOWED for k in last)
