"""Is there room: the real context, trials at once, the KV cache."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.kv import Kv, kv_dtype, kv_of, sessions
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.errors import ConfigError
from evalstab.report.numbers import count, significant
from evalstab.workflow.checking.model import CheckRequest, CheckRow

LITTLE_ROOM = 1.1
"""A context of less than this times the target leaves a trial little room beyond its median."""

UNSURE = 0.75
"""How far an estimate of a task's size may be off."""

MORE_CONTEXT: dict[str, str] = {
    "vllm": "start vLLM with a larger --max-model-len",
    "sglang": "start SGLang with a larger --context-length",
    "llama.cpp": "raise --ctx-size (it is shared out to the slots of --parallel)",
    "ik_llama.cpp": "raise --ctx-size (it is shared out to the slots of --parallel)",
    "ollama": "set OLLAMA_CONTEXT_LENGTH, or num_ctx in the model's Modelfile",
    "lm-studio": "load the model with a larger context length",
    "tgi": "start TGI with a larger --max-total-tokens",
}
MORE_SLOTS: dict[str, str] = {
    "vllm": "raise --max-num-seqs",
    "sglang": "raise --max-running-requests",
    "llama.cpp": "raise --parallel, and --ctx-size with it",
    "ik_llama.cpp": "raise --parallel, and --ctx-size with it",
    "ollama": "set OLLAMA_NUM_PARALLEL",
    "lm-studio": "load the model with more parallel requests",
}


def context_rows(facts: ServerFacts, contexts: tuple[int, ...]) -> Iterator[CheckRow]:
    """The real context, held against each size asked for."""
    known = facts.context
    advice = MORE_CONTEXT.get(str(facts.value("engine")), "start the server with more context")
    if known is None:
        told = "the server does not state how much context a session really gets"
        asked = f"; {count(max(contexts))} tokens are asked for" if contexts else ""
        yield CheckRow(
            "real context", "unknown", told + asked,
            "look at how it was started; a trial that is cut short shows as a finding",
        )  # fmt: skip
        return
    size, told = int(known.value), f"{count(int(known.value))} tokens ({known.source})"
    if not contexts:
        yield CheckRow("real context", "ok", f"{told}; no --context was asked for")
    for target in contexts:
        subject = f"context for {count(target)}"
        if size < target:
            yield CheckRow(
                subject, "failed", f"{told}: {count(target)} tokens cannot be reached",
                f"{advice}, or ask for less",
            )  # fmt: skip
        elif size < target * LITTLE_ROOM:
            yield CheckRow(
                subject, "warning", f"{told}: longer trials will run into the end", advice
            )
        else:
            yield CheckRow(subject, "ok", told)


def natural_row(facts: ServerFacts, task: str, needed: int) -> CheckRow:
    """The real context, held against what a task takes of its own (an estimate)."""
    subject, told = f"context for {task}", f"the task takes about {count(needed)} tokens"
    if facts.context is None:
        return CheckRow(subject, "unknown", f"{told}; the server does not state its context")
    size = int(facts.context.value)
    told += f", the server has {count(size)} ({facts.context.source})"
    if size < needed * UNSURE:
        advice = MORE_CONTEXT.get(str(facts.value("engine")), "start the server with more context")
        return CheckRow(subject, "failed", told, advice)
    if size < needed / UNSURE:
        return CheckRow(subject, "warning", f"{told}: that may not do")
    return CheckRow(subject, "ok", told)


def slot_row(facts: ServerFacts, trials: int) -> CheckRow:
    """Whether as many trials as asked for are really computed at once."""
    subject = "trials at once"
    if facts.slots is None:
        if trials == 1:
            return CheckRow(subject, "ok", "one is asked for")
        return CheckRow(
            subject, "unknown", f"{trials} asked for: the server does not state its slots"
        )
    slots = int(facts.slots.value)
    told = f"{trials} asked for, the server computes {slots} at once ({facts.slots.source})"
    if slots < trials:
        more = MORE_SLOTS.get(str(facts.value("engine")), "start it with more slots")
        return CheckRow(
            subject, "failed", f"{told}: trials would wait for each other",
            f"{more}, or use --concurrency {slots}",
        )  # fmt: skip
    return CheckRow(subject, "ok", told)


def shortages(facts: ServerFacts | None, contexts: tuple[int, ...], trials: int) -> Iterator[str]:
    """What a series on this server must be warned of before its first request.

    A context that is too small is told where the series is made to reach it (``expected``).
    """
    if facts is None:
        return
    yield from (f"server: {note}" for note in facts.notes)
    for row in (slot_row(facts, trials), pool_row(facts, contexts, trials)):
        if row.status in ("warning", "failed"):
            yield f"warning: {row.subject}: {row.found}" + (f"; {row.advice}" if row.advice else "")


def pool_row(facts: ServerFacts, contexts: tuple[int, ...], trials: int) -> CheckRow:
    """Whether the KV cache has room for the sessions of all trials at once."""
    subject, target = "KV cache", max(contexts, default=None)
    dtype = facts.value("kv_dtype")
    kind = f", {dtype}" if dtype else ", type not stated"
    if facts.kv_pool is None:
        told = f"the server does not state the size of its KV cache{kind}"
        advice = "with --model-config FILE it can be worked out"
        return CheckRow(subject, "unknown", told, advice)
    pool = int(facts.kv_pool.value)
    told = f"room for {count(pool)} tokens{kind} ({facts.kv_pool.source})"
    if target is not None:
        told += f": {significant(sessions(pool, target))} sessions of {count(target)}"
        if pool < trials * target:
            return CheckRow(
                subject, "failed", f"{told}, {trials} are asked for",
                "give the KV cache more memory or a smaller type, or ask for fewer trials at once",
            )  # fmt: skip
    return CheckRow(subject, "ok" if dtype else "unknown", told)


def kv_arithmetic(request: CheckRequest, facts: ServerFacts) -> tuple[Json, CheckRow] | None:
    """What a session costs by the model's ``config.json``; ConfigError for a file that is none."""
    if request.model_config is None:
        return None
    config = _config(request)
    stated = facts.value("kv_dtype")
    try:
        dtype, assumed = kv_dtype(str(stated or "bf16")), not stated or stated == "auto"
    except ConfigError:
        dtype, assumed = "bf16", True
    kv = kv_of(config, dtype)
    pool = facts.value("kv_pool")
    found: Json = {
        "bytes_per_token": kv.bytes_per_token,
        "dtype": kv.dtype,
        "dtype_assumed": assumed,
        "sessions": [_session(kv, size, pool) for size in request.contexts or (16_000, 60_000)],
    }
    return found, CheckRow("KV arithmetic", "ok", _arithmetic(kv, found))


def _config(request: CheckRequest) -> Json:
    path = request.model_config
    assert path is not None
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict)
    except OSError as error:
        raise ConfigError(f"--model-config {path} cannot be read: {error.strerror}") from error
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ConfigError(f"--model-config {path} is no config.json: {error}") from error


def _session(kv: Kv, size: int, pool: int | None) -> Json:
    fit = sessions(pool, size) if pool else None
    return {"context_tokens": size, "bytes": kv.bytes_at(size), "fit": fit}


def _arithmetic(kv: Kv, found: Json) -> str:
    kind = f"{kv.dtype}, assumed" if found["dtype_assumed"] else kv.dtype
    parts = [f"{count(round(kv.bytes_per_token))} bytes a token ({kind})"]
    for one in found["sessions"]:
        size = f"{count(one['context_tokens'])} tokens take {significant(one['bytes'] / 2**30)} GiB"
        parts.append(size + (f", {significant(one['fit'])} fit" if one["fit"] else ""))
    return "; ".join(parts)
