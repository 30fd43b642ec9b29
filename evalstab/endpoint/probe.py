"""One short request before a series: how fast this endpoint reads and writes, and how it counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.endpoint.base import Asked, Attempt, ChatRequest, Endpoint, History

PROBE_TOKENS = 64


@dataclass(frozen=True, slots=True)
class Probe:
    """What one short request showed; None where it did not tell.

    ``prompt_tokens`` as the server counted them; ``prefill`` and ``decode`` in tokens a second by
    the client's clock, at the short context of the request.
    """

    prompt_tokens: int | None = None
    prefill: float | None = None
    decode: float | None = None
    problem: str | None = None


async def probe(
    endpoint: Endpoint, fields: Json, messages: Sequence[Json], *, header: bool = False
) -> Probe:
    """Ask for a few tokens without tools; never raises for a fault of the server."""
    asked = {key: value for key, value in fields.items() if not key.startswith("tool")}
    asked.pop("parallel_tool_calls", None)
    asked["max_tokens"] = PROBE_TOKENS
    history = History()
    history.append(*messages)
    attempt = await endpoint.attempt(
        ChatRequest(
            history=history,
            fields=asked,
            asked=Asked(stream=bool(asked.get("stream")), max_tokens=PROBE_TOKENS),
            trial_header="probe/0/1" if header else None,
            trial_clock=time.monotonic(),
        )
    )
    return _read(attempt)


def _read(attempt: Attempt) -> Probe:
    reply, clock = attempt.reply, attempt.clock
    if reply is None or attempt.status != 200:
        return Probe(problem=attempt.error or f"HTTP {attempt.status}")
    prompt = reply.usage.prompt_tokens if reply.usage else None
    written = reply.usage.completion_tokens if reply.usage else None
    cached = (reply.usage.cached_tokens if reply.usage else None) or 0
    first = clock.first if clock else None
    last = clock.last if clock else None
    prefill = decode = None
    if prompt and first and first > 0:
        prefill = (prompt - cached) / first
    if written and written > 8 and first is not None and last is not None and last > first:
        decode = (written - 1) / (last - first)
    return Probe(prompt, prefill, decode)
