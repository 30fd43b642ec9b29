"""What of a launch line and of a rig may be posted.

On a card of one's own, folders, accounts, hosts and addresses are taken out. On a shared one only
what is known to be harmless is left: options, numbers, and the words of a short list.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import PurePosixPath

_LONGEST = 4000
_GONE = "…"
_PATH = re.compile(
    r"(?<![\w/:.-])(?:~[\w.-]*|\.{1,2}|\$\{?\w+\}?)?(?:/[\w.@+-]+){2,}/?"
    r"|~[\w.-]*(?:/[\w.@+-]+)+/?"
    r"|\b[a-z]:[\\/](?:[^\\/:*?\"<>|\s]+[\\/])*[^\\/:*?\"<>|\s]*"
    r"|\b[\w.-]+@[\w.-]+",
    re.I,
)
_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,15}://\S+|\b\d{1,3}(?:\.\d{1,3}){3}\b|\[[0-9a-f:.%]+\]"
    r"|\b[\w-]+(?:\.[\w-]+)*\.(?:lan|local|home|internal|corp|intra|com|net|org|io|dev|de|example)"
    r"(?::\d+)?(?![\w/.-])",
    re.I,
)
_SSH = re.compile(r"\b(ssh|scp|mosh)((?:\s+-\S+(?:\s+\d+)?)*)\s+(?!-)\S+", re.I)
_NAMED = re.compile(r"(--(?:host|hostname|name|user|container|h)[= ]|-h )\S+", re.I)

_PROGRAMS_TEXT = """
vllm serve sglang llama-server llama-swap llama.cpp ollama python python3 docker podman run
lmdeploy api_server tabbyapi text-generation-launcher mlx_lm.server trtllm-serve
sglang.launch_server vllm.entrypoints.openai.api_server koboldcpp
"""
_PROGRAMS = frozenset(_PROGRAMS_TEXT.split())
_VALUES_TEXT = """
auto none true false on off yes no float16 bfloat16 float32 half fp8 fp8_e4m3 fp8_e5m2 int8 int4
awq gptq awq_marlin gptq_marlin marlin bitsandbytes gguf nvfp4 mxfp4 compressed-tensors f16 bf16
f32 q8_0 q6_k q5_k_m q5_1 q5_0 q4_k_m q4_1 q4_0 iq4_nl hermes mistral minimax minimax_m2
minimax_m2_append_think deepseek_r1 deepseek_v3 qwen3 qwen3_coder qwen25 llama3_json glm45
kimi_k2 gpt-oss openai harmony granite pythonic flash flashinfer flash_attn xformers triton fa3
trtllm_mha eager mp ray layer row sha256 fcfs linear yarn dynamic
"""
_VALUES = frozenset(_VALUES_TEXT.split())
_WORDS_TEXT = """
nvidia amd intel apple geforce rtx gtx quadro tesla radeon rx pro instinct arc ti super gb gib
mib mb sxm pcie nvl nvlink ada generation max ultra xeon epyc ryzen threadripper core cpu gpu
gpus cpus cores driver cuda rocm version memory x × w titan
"""
_WORDS = frozenset(_WORDS_TEXT.split())
_IMAGE = re.compile(
    r"(?:docker\.io/)?(?:vllm/vllm-openai|lmsysorg/sglang|ollama/ollama|openmmlab/lmdeploy)"
    r"|ghcr\.io/(?:ggml-org/llama\.cpp|huggingface/text-generation-inference)"
)
_TAG = re.compile(r"[\w.-]{1,60}")
_OPTION = re.compile(r"--?[a-z][a-z0-9_.-]{0,40}", re.I)
_NUMBER = re.compile(r"\d{1,10}(?:[.,]\d{1,10})?(?:x|×|k|m|g|gb|gib|mib|mb|w|%)?|[x×]\d*", re.I)
_NAMING = frozenset(
    {"--host", "--hostname", "--name", "--user", "--container", "-h", "--served-model-name", "-u"}
)
_CARD = re.compile(r"[a-z]{0,3}\d{1,4}[a-z]{0,4}", re.I)


def public(command: str) -> str:
    """A command line without folders, accounts, hosts and addresses: of paths the last part."""
    bare = _SSH.sub(rf"\1\2 {_GONE}", command[:_LONGEST])
    bare = _NAMED.sub(rf"\g<1>{_GONE}", bare)
    bare = _ADDRESS.sub(_GONE, bare)
    return _PATH.sub(_last_part, bare)


def shared_launch(command: str) -> str:
    """A command line of which only options, numbers and known words are left."""
    said: list[str] = []
    held_back = False
    for token in command[:_LONGEST].split():
        option, equals, value = token.partition("=")
        if held_back:
            said.append(_GONE)
        elif _OPTION.fullmatch(option):
            told = _GONE if option in _NAMING else _value(value)
            said.append(option if not equals else f"{option}={told}")
        else:
            said.append(_value(token))
        held_back = option in _NAMING and not equals and not held_back
    return " ".join(_once(said))


def shared_rig(rig: str) -> str:
    """A rig of which only numbers and words of hardware are left."""
    words = [w for w in re.split(r"[\s,;()/]+", rig[:_LONGEST]) if w]
    known = (
        w if w.lower() in _WORDS or _NUMBER.fullmatch(w) or _CARD.fullmatch(w) else _GONE
        for w in words
    )
    return " ".join(_once(known))


def _value(token: str) -> str:
    name = PurePosixPath(token).name if token.startswith("/") else token
    if token.lower() in _VALUES or _NUMBER.fullmatch(token) or name.lower() in _PROGRAMS:
        return name
    image, _, tag = token.partition(":")
    if _IMAGE.fullmatch(image) and (not tag or _TAG.fullmatch(tag)):
        return token
    return _GONE


def _once(words: Iterable[str]) -> list[str]:
    """The words, of several left out in a row one mark."""
    told: list[str] = []
    for word in words:
        if not (word == _GONE and told and told[-1] == _GONE):
            told.append(word)
    return told


def _last_part(match: re.Match[str]) -> str:
    found = match[0]
    if "@" in found:
        return _GONE
    return f"{_GONE}/" + re.split(r"[\\/]", found.rstrip("/\\"))[-1]
