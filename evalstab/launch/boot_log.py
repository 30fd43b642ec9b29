"""Effective values out of a server's boot log: for some engines the only proof there is."""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Callable, Iterator
from typing import Any

from evalstab.launch.model import Evidence, Json
from evalstab.redact import redactor

LINES = 2000
LINE_LIMIT = 20_000
KEPT = 40

_KV = re.compile(r"\bK \(([\w.]{1,20})\):.{0,60}\bV \(([\w.]{1,20})\):")
_LLAMA_VALUE = re.compile(
    r"(?:llama_context|llama_new_context_with_model|print_info|srv\s+\w+|llm_load_print_meta)\S*:?\s"
    r".{0,40}?\b(n_ctx|n_batch|n_ubatch|flash_attn|n_parallel|n_slots)\s*=\s*([\w.-]{1,20})"
)
_FILE_TYPE = re.compile(r"\b(?:file type|model ftype)\s*=\s*([^\n(]{1,60})")
_VLLM_ARGS = re.compile(r"non-default args: (\{.{0,15000}\})")
_VLLM_CONFIG = re.compile(
    r"Initializing an? \S{0,4} ?LLM engine \(v([\w.+-]{1,40})\) with config: (.*)"
)
_VLLM_VERSION = re.compile(r"vLLM API server version (\S{1,40})")
_VLLM_KV = re.compile(r"GPU KV cache size: ([\d,]{1,20}) tokens")
_SGLANG_ARGS = re.compile(r"server_args=ServerArgs\((.{0,15000})\)")
_PAIR = re.compile(r"\b(\w{1,40})=('[^']{0,400}'|\"[^\"]{0,400}\"|[\w.+-]{1,80})")

_VLLM_NAMES = {
    "model": "model",
    "model_tag": "model",
    "kv_cache_dtype": "kv_k kv_v",
    "max_model_len": "ctx",
    "max_seq_len": "ctx",
    "tensor_parallel_size": "tp",
    "pipeline_parallel_size": "pp",
    "data_parallel_size": "dp",
    "enable_prefix_caching": "prefix_cache",
    "max_num_seqs": "parallel",
    "quantization": "quant",
    "enforce_eager": "eager",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
}
_SGLANG_NAMES = {
    "model_path": "model",
    "kv_cache_dtype": "kv_k kv_v",
    "context_length": "ctx",
    "tp_size": "tp",
    "pp_size": "pp",
    "dp_size": "dp",
    "quantization": "quant",
    "attention_backend": "attention",
    "tool_call_parser": "tool_call_parser",
    "reasoning_parser": "reasoning_parser",
}
_LLAMA_NAMES = {
    "n_ctx": "ctx",
    "n_batch": "batch",
    "n_ubatch": "ubatch",
    "flash_attn": "flash_attention",
    "n_parallel": "parallel",
    "n_slots": "parallel",
}
_NOTHING = (None, "None", "auto", "")


def read_boot_log(text: str, source: str) -> Evidence | None:
    """What the first lines of a log say of effective values; None where they say nothing."""
    facts: Json = {}
    matched: list[str] = []
    for line in text.splitlines()[:LINES]:
        said = [pair for reader in _READERS for pair in reader(line[:LINE_LIMIT])]
        said = [(keys, value) for keys, value in said if value not in _NOTHING]
        if not said:
            continue
        matched.append(redactor().text(line[:1000]))
        for keys, value in said:
            for key in keys.split():
                facts.setdefault(key, redactor().json(value))
    if not facts:
        return None
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    raw = {"sha256": digest, "lines": matched[:KEPT]}
    return Evidence(rank="effective", source=source, facts=facts, raw=raw)


def _kv_types(line: str) -> Iterator[tuple[str, Any]]:
    if found := _KV.search(line):
        yield "kv_k", found[1]
        yield "kv_v", found[2]


def _llama(line: str) -> Iterator[tuple[str, Any]]:
    if found := _LLAMA_VALUE.search(line):
        yield _LLAMA_NAMES[found[1]], _plain(found[2])
    described = "print_info" in line or "llm_load_print_meta" in line
    if described and (found := _FILE_TYPE.search(line)):
        yield "quant", found[1].strip()


def _vllm(line: str) -> Iterator[tuple[str, Any]]:
    if found := _VLLM_VERSION.search(line):
        yield "version", found[1]
    if found := _VLLM_KV.search(line):
        yield "kv_tokens", int(found[1].replace(",", "") or 0)
    if found := _VLLM_ARGS.search(line):
        yield from _named(_literal(found[1]), _VLLM_NAMES)
    if found := _VLLM_CONFIG.search(line):
        yield "version", found[1]
        yield from _named(_pairs(found[2]), _VLLM_NAMES)


def _sglang(line: str) -> Iterator[tuple[str, Any]]:
    if found := _SGLANG_ARGS.search(line):
        yield from _named(_pairs(found[1]), _SGLANG_NAMES)


def _named(values: Json, names: dict[str, str]) -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if name in names:
            yield names[name], value


def _literal(text: str) -> Json:
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return _pairs(re.sub(r"'(\w{1,40})': ", r"\1=", text))
    return value if isinstance(value, dict) else {}


def _pairs(text: str) -> Json:
    return {name: _plain(value) for name, value in _PAIR.findall(text[:LINE_LIMIT])}


def _plain(text: str) -> Any:
    bare = text.strip("'\"")
    if bare in ("True", "False"):
        return bare == "True"
    return int(bare) if re.fullmatch(r"-?\d{1,18}", bare) else bare


_READERS: tuple[Callable[[str], Iterator[tuple[str, Any]]], ...] = (
    _kv_types,
    _llama,
    _vllm,
    _sglang,
)
