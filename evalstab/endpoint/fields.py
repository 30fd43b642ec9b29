"""The body of a request from the endpoint's settings: only what was set is sent."""

from __future__ import annotations

from evalstab.chat import Json, ToolSpec
from evalstab.settings import EndpointSettings

_SENT_AS_SET = ("temperature", "top_p", "frequency_penalty", "presence_penalty", "stop")


def request_fields(
    settings: EndpointSettings,
    tools: tuple[ToolSpec, ...],
    *,
    max_tokens: int | None = None,
    seed: int | None = None,
) -> Json:
    """All body fields but the messages, identical for every step of a trial.

    ``max_tokens`` is the task's limit, used where the settings name none. ``seed`` is sent only
    where the settings ask for one. Of what ``extra_body`` says of an object that is sent anyway
    (``stream_options``, ``chat_template_kwargs``), its keys are added to ours and go before them.
    """
    sampling = settings.sampling
    fields: Json = {"model": settings.model, "stream": settings.stream}
    if settings.stream:
        fields["stream_options"] = {"include_usage": True}
    for key in _SENT_AS_SET:
        if (value := getattr(sampling, key)) is not None:
            fields[key] = value
    limit = sampling.max_tokens if sampling.max_tokens is not None else max_tokens
    if limit is not None:
        fields["max_tokens"] = limit
    if seed is not None:
        fields["seed"] = seed
    if tools:
        fields["tools"] = [tool.as_openai() for tool in tools]
        if settings.tool_choice is not None:
            fields["tool_choice"] = settings.tool_choice
        if settings.parallel_tool_calls is not None:
            fields["parallel_tool_calls"] = settings.parallel_tool_calls
    if settings.thinking != "auto":
        wanted = settings.thinking == "on"
        fields["chat_template_kwargs"] = {"enable_thinking": wanted, "thinking": wanted}
    for key, value in settings.extra_body.items():
        own = fields.get(key)
        fields[key] = own | value if isinstance(own, dict) and isinstance(value, dict) else value
    return fields


def sampling_seed(settings: EndpointSettings, trial: int) -> int | None:
    """The seed sent with a trial: the fixed one, one a trial, or none."""
    seed = settings.sampling.seed
    return trial if seed == "per-trial" else seed


def not_set(settings: EndpointSettings) -> list[str]:
    """The usual sampling values that this client leaves to the server, for the report."""
    usual = ("temperature", "top_p", "top_k", "min_p", "max_tokens", "seed")
    named = settings.sampling.model_dump(exclude_none=True) | settings.extra_body
    return [key for key in usual if key not in named]
