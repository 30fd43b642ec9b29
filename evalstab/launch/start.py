"""What a start (argv and environment) says, as evidence; secrets are gone before it leaves here."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from evalstab.launch.argv import Described, describe
from evalstab.launch.model import Evidence, Json, Rank
from evalstab.redact import redactor

RELEVANT = re.compile(
    r"^(?:CUDA_|NCCL_|VLLM_|SGLANG_|SGL_|LLAMA_|GGML_|OLLAMA_|TORCH|PYTORCH_|TRITON_|FLASHINFER_|"
    r"OMP_|MKL_|HIP_|ROCR_|HSA_)|^(?:NVIDIA_VISIBLE_DEVICES|HF_HOME|HF_HUB_OFFLINE|HF_HUB_CACHE|"
    r"TRANSFORMERS_OFFLINE|TOKENIZERS_PARALLELISM|LD_LIBRARY_PATH|LD_PRELOAD)$"
)
"""Variables that change results, speed, or which cards are used."""

_OF_THE_IMAGE = re.compile(r"^(?:CUDA_VERSION|NVIDIA_REQUIRE_|NCCL_VERSION|PYTHON)")


def relevant(env: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that changes answers or speed."""
    return {
        name: value
        for name, value in sorted(env.items())
        if RELEVANT.match(name) and not _OF_THE_IMAGE.match(name)
    }


def kept(env: Mapping[str, str]) -> tuple[dict[str, str], int]:
    """What of an environment may be written, secrets taken out, and how many variables may not.

    The secrets among those that are left out are remembered all the same.
    """
    important = relevant(redactor().env(env))
    return important, len(env) - len(important)


def start_evidence(
    rank: Rank, source: str, argv: Sequence[str], env: Mapping[str, str] | None
) -> tuple[Evidence, Described]:
    """Evidence out of a command line and an environment (None: it could not be read)."""
    made = describe(argv, env)
    clean = redactor()
    facts: Json = {"engine": made.engine} if made.engine else {}
    facts |= {key: clean.json(value) for key, value in made.settings.items()}
    facts.pop("api_key", None)
    facts.pop("hf_token", None)
    if made.others:
        facts["other_flags"] = clean.json(_without_secrets(made.others))
    raw: Json = {"argv": clean.argv(argv)}
    if env is None:
        raw["env"] = "unreadable"
    else:
        important, raw["env_not_kept"] = kept(env)
        raw["env"] = important
        if important:
            facts["env"] = important
    return Evidence(rank=rank, source=source, facts=facts, raw=raw), made


def _without_secrets(others: Mapping[str, object]) -> Json:
    if isinstance(argv := others.get("argv"), list):
        return {"argv": redactor().argv([str(word) for word in argv])}
    return {
        name: redactor().argv([name, str(value)])[1] if isinstance(value, str) else value
        for name, value in others.items()
    }
