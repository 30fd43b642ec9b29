"""The flags of inference servers and what they set, by one vocabulary for all of them.

Sources: vLLM's engine arguments, SGLang's server arguments, tools/server/README.md of llama.cpp,
docs/parameters.md of ik_llama.cpp. No defaults stand here: what a command line does not say is not
known from it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["text", "whole", "size", "numbers", "on", "off", "switch"]
Engine = Literal["vllm", "sglang", "llama.cpp", "ik_llama.cpp"]


@dataclass(frozen=True, slots=True)
class Flag:
    """``keys``: what it sets. ``on``/``off``/``switch`` take no value (``switch`` may take one)."""

    keys: tuple[str, ...]
    kind: Kind = "text"


def _table(*rows: tuple[str, str, Kind]) -> dict[str, Flag]:
    return {
        name: Flag(tuple(keys.split()), kind)
        for names, keys, kind in rows
        for name in names.split()
    }


VLLM = _table(
    ("--model", "model", "text"),
    ("--tensor-parallel-size -tp", "tp", "whole"),
    ("--pipeline-parallel-size -pp", "pp", "whole"),
    ("--data-parallel-size -dp", "dp", "whole"),
    ("--decode-context-parallel-size -dcp", "dcp", "whole"),
    ("--enable-expert-parallel -ep", "expert_parallel", "on"),
    ("--kv-cache-dtype", "kv_k kv_v", "text"),
    ("--max-model-len", "ctx", "size"),
    ("--enable-prefix-caching", "prefix_cache", "on"),
    ("--no-enable-prefix-caching", "prefix_cache", "off"),
    ("--max-num-seqs", "parallel", "whole"),
    ("--max-num-batched-tokens", "batch", "size"),
    ("--quantization -q", "quant", "text"),
    ("--dtype", "dtype", "text"),
    ("--attention-backend", "attention", "text"),
    ("--enforce-eager", "eager", "on"),
    ("--enable-auto-tool-choice", "auto_tool_choice", "on"),
    ("--disable-custom-all-reduce", "custom_all_reduce", "off"),
    ("--trust-remote-code", "trust_remote_code", "on"),
    ("--async-scheduling", "async_scheduling", "on"),
    ("--speculative-config", "speculative", "text"),
    ("--reasoning-parser", "reasoning_parser", "text"),
    ("--tool-call-parser", "tool_call_parser", "text"),
    ("--chat-template", "chat_template", "text"),
    ("--override-generation-config", "server_sampling", "text"),
    ("--generation-config", "generation_config", "text"),
    ("--gpu-memory-utilization", "memory_share", "text"),
    ("--block-size", "block_size", "whole"),
    ("--served-model-name", "served_name", "text"),
    ("--host", "host", "text"),
    ("--port", "port", "whole"),
    ("--config", "config_file", "text"),
    ("--api-key", "api_key", "text"),
)

SGLANG = _table(
    ("--model-path --model", "model", "text"),
    ("--tp --tp-size --tensor-parallel-size", "tp", "whole"),
    ("--pp-size --pipeline-parallel-size", "pp", "whole"),
    ("--dp --dp-size --data-parallel-size", "dp", "whole"),
    ("--ep --ep-size --expert-parallel-size", "ep", "whole"),
    ("--kv-cache-dtype", "kv_k kv_v", "text"),
    ("--context-length", "ctx", "whole"),
    ("--disable-radix-cache", "prefix_cache", "off"),
    ("--max-running-requests", "parallel", "whole"),
    ("--chunked-prefill-size", "batch", "whole"),
    ("--quantization", "quant", "text"),
    ("--quantization-param-path", "kv_scales", "text"),
    ("--dtype", "dtype", "text"),
    ("--attention-backend", "attention", "text"),
    ("--enable-deterministic-inference", "deterministic", "on"),
    ("--disable-cuda-graph", "eager", "on"),
    ("--disable-custom-all-reduce", "custom_all_reduce", "off"),
    ("--trust-remote-code", "trust_remote_code", "on"),
    ("--enable-metrics", "metrics", "on"),
    ("--page-size", "block_size", "whole"),
    ("--mem-fraction-static", "memory_share", "text"),
    ("--reasoning-parser", "reasoning_parser", "text"),
    ("--tool-call-parser", "tool_call_parser", "text"),
    ("--chat-template", "chat_template", "text"),
    ("--served-model-name", "served_name", "text"),
    ("--host", "host", "text"),
    ("--port", "port", "whole"),
    ("--config", "config_file", "text"),
    ("--api-key", "api_key", "text"),
)

LLAMA = _table(
    ("-m --model", "model", "text"),
    ("-mu --model-url", "model", "text"),
    ("-hf -hfr --hf-repo", "model", "text"),
    ("-dr --docker-repo", "model", "text"),
    ("-hff --hf-file", "hf_file", "text"),
    ("-ctk --cache-type-k", "kv_k", "text"),
    ("-ctv --cache-type-v", "kv_v", "text"),
    ("-ctkd --cache-type-k-draft", "draft_kv_k", "text"),
    ("-ctvd --cache-type-v-draft", "draft_kv_v", "text"),
    ("-c --ctx-size", "ctx", "whole"),
    ("-np --parallel --n-parallel", "parallel", "whole"),
    ("-sm --split-mode", "split_mode", "text"),
    ("-ts --tensor-split", "tensor_split", "numbers"),
    ("-mg --main-gpu", "main_gpu", "whole"),
    ("-dev --device", "devices", "text"),
    ("-ngl --gpu-layers --n-gpu-layers", "gpu_layers", "text"),
    ("-ot --override-tensor", "override_tensor", "text"),
    ("-cmoe --cpu-moe", "cpu_moe", "on"),
    ("-ncmoe --n-cpu-moe", "cpu_moe_layers", "whole"),
    ("-b --batch-size", "batch", "whole"),
    ("-ub --ubatch-size", "ubatch", "whole"),
    ("-fa --flash-attn", "flash_attention", "switch"),
    ("-t --threads", "threads", "whole"),
    ("-tb --threads-batch", "threads_batch", "whole"),
    ("--cache-prompt", "prefix_cache", "on"),
    ("--no-cache-prompt", "prefix_cache", "off"),
    ("--cache-reuse", "cache_reuse", "whole"),
    ("-cram --cache-ram", "cache_ram_mib", "whole"),
    ("-sps --slot-prompt-similarity", "slot_similarity", "text"),
    ("--context-shift", "context_shift", "on"),
    ("--no-context-shift", "context_shift", "off"),
    ("--swa-full", "swa_full", "on"),
    ("-kvu --kv-unified", "kv_unified", "on"),
    ("-nkvo --no-kv-offload", "kv_offload", "off"),
    ("--mlock", "mlock", "on"),
    ("--no-mmap", "mmap", "off"),
    ("-cb --cont-batching", "continuous_batching", "on"),
    ("-nocb --no-cont-batching", "continuous_batching", "off"),
    ("-fit --fit", "fit", "text"),
    ("-md --model-draft", "draft_model", "text"),
    ("--jinja", "jinja", "on"),
    ("--no-jinja", "jinja", "off"),
    ("--chat-template", "chat_template", "text"),
    ("--chat-template-file", "chat_template", "text"),
    ("--chat-template-kwargs", "chat_template_kwargs", "text"),
    ("--reasoning-format", "reasoning_format", "text"),
    ("--reasoning-budget", "reasoning_budget", "whole"),
    ("--reasoning-preserve", "reasoning_preserve", "on"),
    ("--temp --temperature", "server_temperature", "text"),
    ("--top-k", "server_top_k", "text"),
    ("--top-p", "server_top_p", "text"),
    ("--min-p", "server_min_p", "text"),
    ("--repeat-penalty", "server_repeat_penalty", "text"),
    ("-s --seed", "server_seed", "text"),
    ("--metrics", "metrics", "on"),
    ("--slots", "slots_page", "on"),
    ("--no-warmup", "warmup", "off"),
    ("-v --verbose", "verbose", "on"),
    ("-a --alias", "served_name", "text"),
    ("--models-preset", "config_file", "text"),
    ("--host", "host", "text"),
    ("--port", "port", "whole"),
    ("--api-key", "api_key", "text"),
    ("-hft --hf-token", "hf_token", "text"),
)

IK_ONLY = _table(
    ("-khad --k-cache-hadamard", "k_hadamard", "on"),
    ("-mla --mla-use", "mla", "whole"),
    ("-amb --attention-max-batch", "attention_max_batch", "whole"),
    ("-fmoe --fused-moe", "fused_moe", "on"),
    ("-no-fmoe --no-fused-moe", "fused_moe", "off"),
    ("-rtr --run-time-repack", "run_time_repack", "on"),
    ("-ser --smart-expert-reduction", "smart_experts", "text"),
    ("-smf16 --split-mode-f16", "split_mode_float", "on"),
    ("-smf32 --split-mode-f32", "split_mode_float", "off"),
    ("-grt --graph-reduce-type", "graph_reduce", "text"),
    ("-gr --graph-reuse", "graph_reuse", "on"),
    ("--max-gpu", "max_gpu", "whole"),
    ("--no-fug", "fused_up_gate", "off"),
    ("-crs --cache-ram-similarity", "cache_ram_similarity", "text"),
)

TABLES: dict[str, dict[str, Flag]] = {
    "vllm": VLLM,
    "sglang": SGLANG,
    "llama.cpp": LLAMA,
    "ik_llama.cpp": LLAMA | IK_ONLY,
}

IK_SPLIT_MODES = frozenset({"graph", "attn"})
IK_CACHE_TYPES = frozenset({"q8_KV", "q6_0", "q8_0_r8"})

NOT_ANSWERS = frozenset(
    {"host", "port", "api_key", "hf_token", "metrics", "slots_page", "verbose", "served_name"}
)
"""What changes neither answers nor speed: kept, but outside the fingerprint."""
