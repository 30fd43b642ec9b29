"""What vLLM and SGLang tell of themselves."""

from __future__ import annotations

from evalstab.chat import Json
from evalstab.sim.pages import (
    KV_DTYPE,
    Page,
    count_tokens,
    empty,
    metric_lines,
    models,
    tokenize,
)
from evalstab.sim.world import World

_BLOCK = 16


def _version(world: World, _: Json) -> Json:
    return {"version": world.settings.dialect.version}


def _used(world: World) -> float:
    return min(world.in_flight * world.counters.largest / (2 * world.settings.context), 1.0)


def _vllm_metrics(world: World, _: Json) -> str:
    counters, settings = world.counters, world.settings
    label = f'{{engine="0",model_name="{settings.served}"}}'
    info = (
        f'vllm:cache_config_info{{block_size="{_BLOCK}",cache_dtype="{KV_DTYPE}",'
        f'enable_prefix_caching="True",engine="0",gpu_memory_utilization="0.92",'
        f'num_gpu_blocks="{2 * settings.context // _BLOCK}"}}'
    )
    return metric_lines(
        [
            ("process_start_time_seconds", "gauge", round(world.started, 2)),
            (f"vllm:num_requests_running{label}", "gauge", float(world.in_flight)),
            (f"vllm:num_requests_waiting{label}", "gauge", 0.0),
            (f"vllm:kv_cache_usage_perc{label}", "gauge", _used(world)),
            (f"vllm:prefix_cache_queries_total{label}", "counter", float(counters.prompt_tokens)),
            (f"vllm:prefix_cache_hits_total{label}", "counter", float(counters.cached_tokens)),
            (f"vllm:prompt_tokens_total{label}", "counter", float(counters.prompt_tokens)),
            (f"vllm:generation_tokens_total{label}", "counter", float(counters.generated_tokens)),
            (f"vllm:num_preemptions_total{label}", "counter", 0.0),
            (info, "gauge", 1.0),
        ]
    )


def _vllm_info(world: World, _: Json) -> Json:
    settings = world.settings
    return {
        "vllm_config": {
            "model_config": {
                "model": settings.served,
                "dtype": "torch.bfloat16",
                "quantization": "awq_marlin",
                "max_model_len": settings.context,
            },
            "cache_config": {
                "cache_dtype": KV_DTYPE,
                "block_size": _BLOCK,
                "num_gpu_blocks": 2 * settings.context // _BLOCK,
                "enable_prefix_caching": True,
            },
            "scheduler_config": {"max_num_seqs": 256, "enable_chunked_prefill": True},
            "parallel_config": {"tensor_parallel_size": 8, "pipeline_parallel_size": 1},
        },
        "vllm_env": {},
        "system_env": {},
    }


def _sglang_metrics(world: World, _: Json) -> str:
    counters = world.counters
    label = f'{{model_name="{world.settings.served}",tp_rank="0"}}'
    hits = counters.cached_tokens / counters.prompt_tokens if counters.prompt_tokens else 0.0
    return metric_lines(
        [
            ("process_start_time_seconds", "gauge", round(world.started, 2)),
            (f"sglang:num_running_reqs{label}", "gauge", float(world.in_flight)),
            (f"sglang:num_queue_reqs{label}", "gauge", 0.0),
            (f"sglang:token_usage{label}", "gauge", _used(world)),
            (f"sglang:cache_hit_rate{label}", "gauge", hits),
            (f"sglang:prompt_tokens_total{label}", "counter", float(counters.prompt_tokens)),
            (f"sglang:generation_tokens_total{label}", "counter", float(counters.generated_tokens)),
            (f"sglang:cached_tokens_total{label}", "counter", float(counters.cached_tokens)),
        ]
    )


def _sglang_info(world: World, _: Json) -> Json:
    settings = world.settings
    return {
        "model_path": settings.served,
        "served_model_name": settings.served,
        "context_length": settings.context,
        "kv_cache_dtype": KV_DTYPE,
        "tp_size": 8,
        "reasoning_parser": "minimax",
        "tool_call_parser": "minimax-m2",
        "max_total_num_tokens": 2 * settings.context,
        "max_req_input_len": settings.context - 6,
        "internal_states": [{"last_gen_throughput": 0.0}],
        "version": settings.dialect.version,
    }


def _sglang_model(world: World, _: Json) -> Json:
    served = world.settings.served
    return {
        "model_path": served,
        "tokenizer_path": served,
        "is_generation": True,
        "preferred_sampling_params": None,
        "weight_version": "default",
    }


def _sglang_load(world: World, _: Json) -> Json:
    return {"num_reqs": world.in_flight, "num_waiting_reqs": 0, "dp_rank": 0}


VLLM: dict[str, Page] = {
    "GET /v1/models": models,
    "GET /health": empty,
    "GET /ping": empty,
    "GET /version": _version,
    "GET /metrics": _vllm_metrics,
    "GET /server_info": _vllm_info,
    "POST /tokenize": tokenize,
    "POST /v1/messages/count_tokens": count_tokens,
    "POST /reset_prefix_cache": empty,
}
SGLANG: dict[str, Page] = {
    "GET /v1/models": models,
    "GET /health": empty,
    "GET /health_generate": empty,
    "GET /get_server_info": _sglang_info,
    "GET /server_info": _sglang_info,
    "GET /get_model_info": _sglang_model,
    "GET /model_info": _sglang_model,
    "GET /get_load": _sglang_load,
    "GET /metrics": _sglang_metrics,
    "POST /tokenize": tokenize,
    "GET /flush_cache": empty,
    "POST /flush_cache": empty,
}
