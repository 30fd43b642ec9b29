"""KV arithmetic against published configurations; every value has its source."""

from __future__ import annotations

from typing import Any

import pytest

from evalstab.endpoint.kv import Kv, kv_of, relative_work, sessions
from evalstab.errors import ConfigError

HYBRID = ["linear_attention", "linear_attention", "linear_attention", "full_attention"]

QWEN35: dict[str, Any] = {
    "model_type": "qwen3_5_moe",
    "text_config": {
        "num_hidden_layers": 48,
        "layer_types": HYBRID * 12,
        "num_attention_heads": 32,
        "num_key_value_heads": 2,
        "head_dim": 256,
        "hidden_size": 3072,
    },
}
"""Qwen3.5-122B-A10B: 12 of 48 layers attend to everything, 2 KV heads of 256 (field notes); the
pattern is that of Qwen3-Next, ``full_attention_interval`` 4."""

MINIMAX: dict[str, Any] = {
    "num_hidden_layers": 62,
    "num_attention_heads": 48,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "hidden_size": 3072,
    "attn_type_list": [1] * 62,
}
"""MiniMax-M2: the defaults of ``configuration_minimax_m2.py`` in ModelCloud/GPTQModel."""

HY3: dict[str, Any] = {"num_hidden_layers": 80, "num_key_value_heads": 8, "head_dim": 128}
"""HY3: 80 of 80 layers, 8 KV heads of 128 (field notes; no configuration was at hand)."""

LLAMA: dict[str, Any] = {
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "hidden_size": 4096,
}
"""Llama-3.1-8B: sglang/Model_Config.md in citsjtu2020/LLM-Prof; no head_dim is stated."""

QWEN25: dict[str, Any] = {
    "num_hidden_layers": 28,
    "num_attention_heads": 28,
    "num_key_value_heads": 4,
    "hidden_size": 3584,
    "sliding_window": 131072,
    "use_sliding_window": False,
    "max_window_layers": 28,
}
"""Qwen2.5-7B: the same file; its sliding window is switched off."""

QWEN3: dict[str, Any] = {
    "num_hidden_layers": 48,
    "num_attention_heads": 32,
    "num_key_value_heads": 4,
    "head_dim": 128,
    "hidden_size": 2048,
    "sliding_window": None,
}
"""Qwen3-30B-A3B: the same file; head_dim is not hidden_size / heads."""

GPT_OSS: dict[str, Any] = {
    "num_hidden_layers": 24,
    "num_attention_heads": 64,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "hidden_size": 2880,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 12,
}
"""gpt-oss-20b: config.json in EchoCog/gpt-oss-20b."""

GEMMA: dict[str, Any] = {
    "model_type": "gemma3",
    "text_config": {
        "num_hidden_layers": 34,
        "num_attention_heads": 8,
        "num_key_value_heads": 4,
        "head_dim": 256,
        "hidden_size": 2560,
        "sliding_window": 1024,
        "sliding_window_pattern": 6,
    },
}
"""gemma-3-4b-it: config.json as quoted in several public test suites; five of six are windowed."""

DEEPSEEK: dict[str, Any] = {
    "num_hidden_layers": 61,
    "num_attention_heads": 128,
    "num_key_value_heads": 128,
    "hidden_size": 7168,
    "kv_lora_rank": 512,
    "qk_rope_head_dim": 64,
}
"""DeepSeek-V3: its technical report, and the configuration quoted in many repositories."""

QWEN_NEXT: dict[str, Any] = {
    "num_hidden_layers": 48,
    "full_attention_interval": 4,
    "num_attention_heads": 16,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "hidden_size": 2048,
}
"""Qwen3-Next-80B-A3B-Instruct: config.json, states an interval and no list of layers."""

NEMOTRON: dict[str, Any] = {
    "num_hidden_layers": 52,
    "hybrid_override_pattern": "MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME",
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "hidden_size": 2688,
}
"""Nemotron-3-Nano-30B-A3B: the pattern as published, ``*`` is an attention layer."""


def test_relative_work_of_the_field_notes() -> None:
    qwen, minimax, hy3 = kv_of(QWEN35), kv_of(MINIMAX), kv_of(HY3)
    assert (qwen.full, minimax.full, hy3.full) == (12, 62, 80)
    assert relative_work(qwen, qwen) == 1
    assert relative_work(minimax, qwen) == pytest.approx(10.3, abs=0.05)
    assert relative_work(hy3, qwen) == pytest.approx(13.3, abs=0.05)


def test_sessions_of_the_field_notes() -> None:
    assert sessions(474_777, 262_144) == pytest.approx(1.81, abs=0.005)
    assert sessions(1_551_018, 262_144) == pytest.approx(5.9, abs=0.05)


@pytest.mark.parametrize(
    ("config", "full", "windowed", "bytes_per_token"),
    [
        (QWEN35, 12, 0, 12 * 2 * 2 * 256 * 2),
        (MINIMAX, 62, 0, 253_952),
        (HY3, 80, 0, 327_680),
        (LLAMA, 32, 0, 131_072),
        (QWEN25, 28, 0, 57_344),
        (QWEN3, 48, 0, 98_304),
        (GPT_OSS, 12, 12, 24_576),
        (GEMMA, 5, 29, 20_480),
        (DEEPSEEK, 61, 0, 70_272),
        (QWEN_NEXT, 12, 0, 24_576),
        (NEMOTRON, 6, 0, 6_144),
    ],
    ids=[
        "Qwen3.5-122B-A10B",
        "MiniMax-M2",
        "HY3",
        "Llama-3.1-8B",
        "Qwen2.5-7B",
        "Qwen3-30B-A3B",
        "gpt-oss-20b",
        "gemma-3-4b",
        "DeepSeek-V3",
        "Qwen3-Next-80B",
        "Nemotron-3-Nano",
    ],
)
def test_published_configurations(
    config: dict[str, Any], full: int, windowed: int, bytes_per_token: int
) -> None:
    kv = kv_of(config)
    assert (kv.full, kv.windowed) == (full, windowed)
    assert kv.bytes_per_token == bytes_per_token


def test_a_session_counts_its_windows_once() -> None:
    kv = kv_of(GPT_OSS)
    layer = 2 * 8 * 64 * 2
    assert kv.bytes_at(100_000) == 12 * layer * 100_000 + 12 * layer * 128
    assert kv.bytes_at(100) == 24 * layer * 100


def test_the_cache_type_scales_the_bytes_and_not_the_work() -> None:
    wide, narrow = kv_of(MINIMAX, "bfloat16"), kv_of(MINIMAX, "q8_0")
    assert narrow.bytes_per_token / wide.bytes_per_token == pytest.approx(34 / 64)
    assert narrow.work == wide.work
    assert kv_of(MINIMAX, "fp8_e4m3").bytes_per_token == wide.bytes_per_token / 2


def test_tokens_in_a_pool() -> None:
    kv: Kv = kv_of(LLAMA)
    assert kv.tokens_in(131_072 * 1000) == 1000
    assert kv_of(LLAMA | {"layer_types": ["linear_attention"] * 32}).tokens_in(1e9) is None


def test_what_is_missing_is_named() -> None:
    with pytest.raises(ConfigError, match="num_hidden_layers"):
        kv_of({"hidden_size": 4096})
    with pytest.raises(ConfigError, match="num_key_value_heads"):
        kv_of({"num_hidden_layers": 4, "hidden_size": 4096})
    with pytest.raises(ConfigError, match="q8_0"):
        kv_of(LLAMA, "q8_1")
