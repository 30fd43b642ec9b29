"""By what a server is known, and where each engine states what: tables only.

Sources are the servers' own code and pages (docs/check.md). The order of
``SIGNATURES`` matters: relatives answer each other's pages.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from evalstab.endpoint.server_pages import MODELS

Kind = Literal["whole", "word", "names"]

VLLM_INFO = "server_info?config_format=json"


@dataclass(frozen=True, slots=True)
class Signature:
    """An engine is known where the text (or number) at ``path`` matches ``pattern``."""

    engine: str
    page: str
    path: str
    pattern: str = r".+"


SIGNATURES: tuple[Signature, ...] = (
    Signature("koboldcpp", MODELS, "data[0].owned_by", r"koboldcpp"),
    Signature("ollama", "api/version", "version", r"\d+\.\d+.*"),
    Signature("ik_llama.cpp", "v1/props", "n_ctx", r"\d+"),
    Signature("llama.cpp", "props", "build_info"),
    Signature("llama.cpp", "props", "default_generation_settings.n_ctx", r"\d+"),
    Signature("vllm", VLLM_INFO, "vllm_config.model_config.model"),
    Signature("sglang", "get_server_info", "version"),
    Signature("sglang", "server_info", "version"),
    Signature("sglang", "get_model_info", "is_generation", r"True|False"),
    Signature("vllm", "version", "version", r"\d+\.\d+.*"),
    Signature("lm-studio", "api/v1/models", "models[0].key"),
    Signature("lm-studio", "api/v0/models", "data[0].compatibility_type"),
    Signature("tgi", "info", "model_id"),
    Signature("vllm", MODELS, "data[0].owned_by", r"vllm"),
    Signature("sglang", MODELS, "data[0].owned_by", r"sglang"),
    Signature("llama.cpp", MODELS, "data[0].owned_by", r"llamacpp"),
)

HOSTS: dict[str, str] = {
    "openrouter.ai": "OpenRouter",
    "api.openai.com": "OpenAI",
    "api.deepseek.com": "DeepSeek",
    "api.minimax.io": "MiniMax",
    "api.minimaxi.com": "MiniMax",
    "api.moonshot.ai": "Moonshot",
    "api.moonshot.cn": "Moonshot",
    "aliyuncs.com": "DashScope",
    "api.mistral.ai": "Mistral",
    "api.groq.com": "Groq",
    "api.x.ai": "xAI",
    "api.together.xyz": "Together",
    "api.fireworks.ai": "Fireworks",
    "integrate.api.nvidia.com": "NVIDIA",
    "generativelanguage.googleapis.com": "Google",
}
"""Hosted services by the end of their host name: their pages beside the API are not asked for."""


@dataclass(frozen=True, slots=True)
class Row:
    """Where a fact stands: page and path; the first row that tells something wins."""

    fact: str
    page: str
    path: str
    kind: Kind = "word"


ANY: tuple[Row, ...] = (
    Row("context", MODELS, "data[?].max_model_len", "whole"),
    Row("context", MODELS, "data[?].context_window", "whole"),
    Row("context", MODELS, "data[?].top_provider.context_length", "whole"),
    Row("context", MODELS, "data[?].context_length", "whole"),
    Row("supported_parameters", MODELS, "data[?].supported_parameters", "names"),
    Row("model", MODELS, "data[?].root"),
)

_LLAMA: tuple[Row, ...] = (
    Row("model", "props", "model_path"),
    Row("context", "props", "default_generation_settings.n_ctx", "whole"),
    Row("context", "slots", "[0].n_ctx", "whole"),
    Row("context_trained", MODELS, "data[?].meta.n_ctx_train", "whole"),
    Row("slots", "props", "total_slots", "whole"),
    Row("quant", "props", "model_ftype"),
    Row("quant", MODELS, "data[?].meta.ftype"),
)

_SGLANG_FACTS: tuple[tuple[str, str, Kind], ...] = (
    ("version", "version", "word"),
    ("model", "model_path", "word"),
    ("context", "context_length", "whole"),
    ("slots", "max_running_requests", "whole"),
    ("kv_dtype", "kv_cache_dtype", "word"),
    ("kv_pool", "max_total_num_tokens", "whole"),
    ("quant", "quantization", "word"),
    ("dtype", "dtype", "word"),
    ("tool_parser", "tool_call_parser", "word"),
    ("reasoning_parser", "reasoning_parser", "word"),
)
_SGLANG: tuple[Row, ...] = tuple(
    Row(fact, page, f"{prefix}{key}", kind)
    for page in ("get_server_info", "server_info")
    for prefix in ("", "server_args.", "scheduler_info.", "internal_states[0].")
    for fact, key, kind in _SGLANG_FACTS
)

_CONFIG = "vllm_config"

ROWS: dict[str, tuple[Row, ...]] = {
    "vllm": (
        Row("version", "version", "version"),
        *ANY,
        Row("context", VLLM_INFO, f"{_CONFIG}.model_config.max_model_len", "whole"),
        Row("model", VLLM_INFO, f"{_CONFIG}.model_config.model"),
        Row("slots", VLLM_INFO, f"{_CONFIG}.scheduler_config.max_num_seqs", "whole"),
        Row("kv_dtype", VLLM_INFO, f"{_CONFIG}.cache_config.cache_dtype"),
        Row("kv_pool", VLLM_INFO, f"{_CONFIG}.cache_config.kv_cache_size_tokens", "whole"),
        Row("quant", VLLM_INFO, f"{_CONFIG}.model_config.quantization"),
        Row("dtype", VLLM_INFO, f"{_CONFIG}.model_config.dtype"),
    ),
    "sglang": (*_SGLANG, Row("model", "get_model_info", "model_path"), *ANY),
    "llama.cpp": (Row("version", "props", "build_info"), *_LLAMA),
    "ik_llama.cpp": (*_LLAMA, Row("context", MODELS, "data[?].context_window", "whole")),
    "ollama": (
        Row("version", "api/version", "version"),
        Row("context", "api/ps", "models[?].context_length", "whole"),
        Row("quant", "api/ps", "models[?].details.quantization_level"),
        Row("quant", "api/tags", "models[?].details.quantization_level"),
        Row("model", "api/tags", "models[?].digest"),
    ),
    "lm-studio": (
        Row("context", "api/v1/models", "models[?].loaded_instances[0].config.context_length",
            "whole"),
        Row("context", "api/v0/models", "data[?].loaded_context_length", "whole"),
        Row("slots", "api/v1/models", "models[?].loaded_instances[0].config.parallel", "whole"),
        Row("quant", "api/v1/models", "models[?].quantization.name"),
        Row("quant", "api/v0/models", "data[?].quantization"),
        Row("context_trained", "api/v1/models", "models[?].max_context_length", "whole"),
        Row("context_trained", "api/v0/models", "data[?].max_context_length", "whole"),
    ),
    "tgi": (
        Row("version", "info", "version"),
        Row("model", "info", "model_id"),
        Row("context", "info", "max_total_tokens", "whole"),
        Row("slots", "info", "max_concurrent_requests", "whole"),
        Row("dtype", "info", "model_dtype"),
    ),
}  # fmt: skip
"""Facts by engine. The context that a llama.cpp server states here is that of one slot."""

WITH_PROPS = frozenset({"llama.cpp", "ik_llama.cpp"})
DEFAULTS = ("default_generation_settings.params", "default_generation_settings")
"""Where ``/props`` states the sampling values that the server uses by itself."""

SAMPLING = (
    *("temperature", "top_k", "top_p", "min_p", "typical_p", "repeat_penalty", "repeat_last_n"),
    *("presence_penalty", "frequency_penalty", "dry_multiplier", "mirostat", "seed"),
)
"""Sampling values by the names that llama.cpp gives them."""

WITH_METRICS = frozenset({"vllm", "sglang", "llama.cpp", "ik_llama.cpp", "tgi"})

GAUGES: dict[str, tuple[str, ...]] = {
    "running": (
        *("vllm:num_requests_running", "sglang:num_running_reqs"),
        "llamacpp:requests_processing",
    ),
    "waiting": (
        *("vllm:num_requests_waiting", "sglang:num_queue_reqs"),
        *("llamacpp:requests_deferred", "tgi_queue_size"),
    ),
    "kv_used": (
        *("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc", "sglang:token_usage"),
        "llamacpp:kv_cache_usage_ratio",
    ),
}
"""What is so at the moment of looking: requests computed and waiting, used share of the KV."""
