"""Settings that are known to confound a judgement of stability."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evalstab.chat import Json
from evalstab.endpoint.base import Reply
from evalstab.endpoint.known_parameters import known_ignored
from evalstab.endpoint.server_facts import ServerFacts
from evalstab.settings import EndpointSettings
from evalstab.workflow.checking.model import CheckRow

LEAST_MAX_TOKENS = 8_192
"""A thinking model that judges eleven documents writes this much in one answer."""

TEMPERATURE_OF: dict[str, str] = {
    "vllm": "vLLM takes it from the model's generation_config.json, else 1.0",
    "sglang": "SGLang takes it from the model's generation_config.json, else 1.0",
    "ollama": "Ollama takes it from the Modelfile, else 1.0",
}
WHOLE_PROMPT = "it acts on the whole prompt: names and numbers of the documents are punished"
PENALTIES: dict[str, dict[str, str]] = {
    "repetition_penalty": {"vllm": f"{WHOLE_PROMPT} (vLLM)"},
    "repeat_penalty": dict.fromkeys(
        ("llama.cpp", "ik_llama.cpp", "ollama", "lm-studio"),
        "it acts on the last tokens of prompt and answer: repeated names are punished",
    ),
}
_NEUTRAL = {"repetition_penalty": 1, "repeat_penalty": 1}
_GROWS = "names and criteria must be repeated in a long answer, and each repetition is punished"


def confounder_rows(
    settings: EndpointSettings, facts: ServerFacts, task_limit: int | None
) -> Iterator[CheckRow]:
    """A warning for each setting that confounds; one row that all is well where none does."""
    rows = [
        *_temperature(settings, facts),
        *_penalties(settings, facts),
        *_limits(settings, task_limit),
    ]
    if settings.sampling.seed is not None and settings.sampling.seed != "per-trial":
        rows.append(
            CheckRow(
                "seed", "warning", f"the fixed seed {settings.sampling.seed} is sent",
                'leave it out or set sampling.seed = "per-trial": trials must be independent',
            )
        )  # fmt: skip
    yield from rows or [CheckRow("settings", "ok", "none that is known to confound")]


def _temperature(settings: EndpointSettings, facts: ServerFacts) -> Iterator[CheckRow]:
    sent = settings.sampling.temperature
    if sent == 0:
        yield CheckRow(
            "temperature", "warning", "0 is sent: what still varies is batching and cache",
            "judge a model at the temperature at which it is used",
        )  # fmt: skip
    if sent is not None or "temperature" in settings.extra_body:
        return
    if default := facts.sampling.get("temperature"):
        told = f"not set: the server uses {default.value:.3g} ({default.source})"
    else:
        told = TEMPERATURE_OF.get(str(facts.value("engine")), "the server's default is not known")
        told = f"not set: {told}"
    yield CheckRow("temperature", "warning", told, "set sampling.temperature")


def _penalties(settings: EndpointSettings, facts: ServerFacts) -> Iterator[CheckRow]:
    engine = str(facts.value("engine"))
    sent: Json = settings.sampling.model_dump(exclude_none=True) | settings.extra_body
    for name, neutral in _NEUTRAL.items():
        value, source = sent.get(name), "sent"
        if value is None and (default := facts.sampling.get(name)):
            value, source = default.value, f"the server's own ({default.source})"
        if _is_other(value, neutral) and not (source == "sent" and known_ignored(facts, name)):
            why = PENALTIES[name].get(engine, "penalties on repetition bear on long answers")
            told = f"{value:g}, {source}: {why}"
            yield CheckRow(name, "warning", told, f"compare with {name} = 1 before you judge")
    for name in ("frequency_penalty", "presence_penalty"):
        if _is_other(sent.get(name), 0):
            told = f"{sent[name]:g} is sent: {_GROWS}"
            yield CheckRow(name, "warning", told, f"compare with {name} = 0 before you judge")


def _is_other(value: Any, neutral: float) -> bool:
    return isinstance(value, (int, float)) and value != neutral


def _limits(settings: EndpointSettings, task_limit: int | None) -> Iterator[CheckRow]:
    sent = settings.sampling.max_tokens or task_limit
    if sent is not None and sent < LEAST_MAX_TOKENS:
        yield CheckRow(
            "max_tokens", "warning", f"{sent:,} tokens an answer: long reasoning is cut by us",
            f"leave it out, or set at least {LEAST_MAX_TOKENS:,}",
        )  # fmt: skip


def thinking_row(settings: EndpointSettings, reply: Reply | None) -> CheckRow | None:
    """Whether the thinking switch did what it was told; ``None`` where it was told nothing."""
    if settings.thinking == "auto":
        return None
    subject, wanted = "thinking", settings.thinking == "on"
    if reply is None:
        return CheckRow(subject, "unknown", f"asked to be {settings.thinking}; no answer came")
    if bool(reply.reasoning) == wanted:
        return CheckRow(subject, "ok", f"asked to be {settings.thinking}, and so it is")
    told = "reasoning arrived all the same" if reply.reasoning else "no reasoning arrived"
    advice = "this model has another switch, or none: see its chat template, send it in extra_body"
    return CheckRow(subject, "warning", f"asked to be {settings.thinking}; {told}", advice)
