"""What a server says of itself: every fact with the page it came from; unknown is ``None``."""

from __future__ import annotations

from typing import Any

import msgspec

from evalstab.chat import Json


class Fact(msgspec.Struct, frozen=True):
    """One thing that a server stated, and where."""

    value: Any
    source: str


class ServerFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that one look at a server's own pages told; ``None`` where it told nothing.

    ``engine`` is one of vllm, sglang, llama.cpp, ik_llama.cpp, ollama, lm-studio, tgi, koboldcpp,
    or ``hosted: NAME``. ``context`` is what one session really gets, in tokens (never the size that
    the model was trained for, which is ``context_trained``); ``slots`` how many requests are
    computed at once; ``kv_pool`` the tokens for which the whole KV cache has room. ``sampling`` are
    the values used where a request sends none. ``live`` counts at the moment of looking: running
    and waiting requests, used share of the KV cache. ``pages`` says what each page answered.
    ``simulated``: it is a simulated endpoint, whose other facts are those of what it stands for.
    """

    engine: Fact | None = None
    version: Fact | None = None
    model: Fact | None = None
    models: tuple[str, ...] = ()
    context: Fact | None = None
    context_trained: Fact | None = None
    slots: Fact | None = None
    kv_dtype: Fact | None = None
    kv_pool: Fact | None = None
    quant: Fact | None = None
    dtype: Fact | None = None
    tool_parser: Fact | None = None
    reasoning_parser: Fact | None = None
    template_sha256: Fact | None = None
    supported_parameters: Fact | None = None
    sampling: dict[str, Fact] = msgspec.field(default_factory=dict)
    live: dict[str, float] = msgspec.field(default_factory=dict)
    counters: dict[str, float] = msgspec.field(default_factory=dict)
    pages: dict[str, str] = msgspec.field(default_factory=dict)
    notes: tuple[str, ...] = ()
    simulated: bool = False

    def value(self, name: str) -> Any:
        """The value of a fact, ``None`` where it is not known."""
        fact = getattr(self, name)
        return fact.value if isinstance(fact, Fact) else None

    @property
    def server(self) -> str | None:
        """Engine and version in words, ``None`` where the engine is not known."""
        engine, version = self.value("engine"), self.value("version")
        return f"{engine} {version}" if engine and version else engine

    def for_launch(self) -> Json:
        """The facts in the vocabulary of launches; those not known are absent.

        A llama.cpp server states the context of one slot, the others that of one request.
        """
        slotted = str(self.value("engine")).endswith("llama.cpp")
        named = {
            "engine": "engine",
            "version": "version",
            "model": "model",
            "ctx_per_slot" if slotted else "ctx": "context",
            "parallel": "slots",
            "kv_k": "kv_dtype",
            "kv_v": "kv_dtype",
            "kv_tokens": "kv_pool",
            "quant": "quant",
            "dtype": "dtype",
            "tool_call_parser": "tool_parser",
            "reasoning_parser": "reasoning_parser",
            "chat_template_sha256": "template_sha256",
        }
        known = {theirs: self.value(ours) for theirs, ours in named.items()}
        known |= {f"server_{name}": fact.value for name, fact in self.sampling.items()}
        return {name: value for name, value in known.items() if value is not None}
