"""The project's own client and loop, as the commands use them."""

from __future__ import annotations

from typing import Any

from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.settings import EndpointSettings


def client(url: str, model: str = "") -> OpenAIChat:
    """The client of a series."""
    return OpenAIChat(EndpointSettings(base_url=url, model=model), None)


def request(model: str, messages: list[dict[str, Any]], clock: float = 0.0) -> ChatRequest:
    """One streamed request."""
    history = History()
    history.append(*messages)
    fields = {"model": model, "stream": True}
    return ChatRequest(history=history, fields=fields, asked=Asked(), trial_clock=clock)


def heard(attempt: Attempt) -> tuple[int, int]:
    """Chunks and characters that an attempt brought; AssertionError where it failed."""
    assert attempt.reply is not None, attempt.error
    assert attempt.clock is not None
    return attempt.clock.chunks, len(attempt.reply.content or "")


def stamps(attempt: Attempt) -> list[float]:
    """When each chunk was read, in seconds after the request was sent."""
    clock = attempt.clock
    assert clock is not None
    assert clock.first is not None
    at = clock.first
    reads = [at]
    for gap in clock.gaps_us:
        at += gap / 1e6
        reads.append(at)
    counts = clock.per_read or (1,) * len(reads)
    return [read for read, count in zip(reads, counts, strict=True) for _ in range(count)]
