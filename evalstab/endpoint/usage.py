"""What a server says about tokens and time, wherever it says it.

Serves A3, A14 and C12 (zeros mean unknown), A22 (reasoning tokens in two places), C9 to C11
(usage anywhere, the last one replaces), B2 and C18 to C20 (arithmetic against the limits) and
the ``timings`` of the llama.cpp family.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from evalstab.chat import ServerTimings, Usage
from evalstab.endpoint.base import Asked

CutBy = Literal["max_tokens_sent", "context", "stream", "unknown"]

MAX_COUNT = 1_000_000_000
SHORT_OF_ESTIMATE = 0.8
FALLEN_SINCE_LAST = 0.98
SHIFTED_BELOW = 0.9


def read_usage(value: Any) -> Usage | None:
    """Token counts out of a ``usage`` object; ``None`` where no count above zero stands in it."""
    if not isinstance(value, dict):
        return None
    prompt = _count(value, "prompt_tokens", "input_tokens")
    completion = _count(value, "completion_tokens", "output_tokens")
    if not prompt and not completion:
        return None
    cached = _detail(value, "prompt_tokens_details", "cached_tokens")
    if cached is None:
        cached = _count(value, "prompt_cache_hit_tokens", "cached_tokens")
    thought = _detail(value, "completion_tokens_details", "reasoning_tokens")
    return Usage(
        prompt_tokens=prompt or None,
        completion_tokens=completion or None,
        reasoning_tokens=thought or _count(value, "reasoning_tokens") or None,
        cached_tokens=cached,
    )


def read_timings(value: Any) -> ServerTimings | None:
    """The server's own clock out of a ``timings`` object; milliseconds become seconds."""
    if not isinstance(value, dict):
        return None
    prompt, cached = _count(value, "prompt_n"), _count(value, "cache_n")
    decoded = _count(value, "predicted_n")
    used = _count(value, "n_past")
    if used is None and prompt is not None and decoded is not None:
        used = prompt + decoded + (cached or 0)
    return ServerTimings(
        prompt_tokens=prompt,
        prompt_seconds=_seconds(value, "prompt_ms"),
        decoded_tokens=decoded,
        decode_seconds=_seconds(value, "predicted_ms"),
        cached_tokens=cached,
        context_used=used,
        context_size=_count(value, "n_ctx") or None,
        drafted_tokens=_count(value, "draft_n"),
        accepted_tokens=_count(value, "draft_n_accepted"),
    )


@dataclass(frozen=True, slots=True)
class Ledger:
    """The counts of one response set against the limits that are known."""

    usage: Usage | None
    timings: ServerTimings | None
    asked: Asked

    @property
    def completion(self) -> int | None:
        """Tokens generated, as the usage or else the server's clock states them."""
        stated = self.usage.completion_tokens if self.usage else None
        return stated or (self.timings.decoded_tokens if self.timings else None) or None

    @property
    def prompt(self) -> int | None:
        """Tokens of the prompt, cached ones included even where a server leaves them out."""
        stated = (self.usage.prompt_tokens if self.usage else None) or 0
        if self.timings and self.timings.prompt_tokens is not None:
            stated = max(stated, self.timings.prompt_tokens + (self.timings.cached_tokens or 0))
        return stated or None

    @property
    def context_size(self) -> int | None:
        """The window of the server, as its clock or else the request's owner states it."""
        return (self.timings.context_size if self.timings else None) or self.asked.context_size

    @property
    def at_limit(self) -> bool:
        """Whether generation went on up to the limit that was sent (B1, B2)."""
        limit = self.asked.max_tokens
        return bool(limit and self.completion and self.completion >= limit)

    @property
    def at_wall(self) -> bool:
        """Whether prompt and completion together fill the context."""
        total, size = self._total(), self.context_size
        return total is not None and size is not None and total >= size

    def cut_by(self, finish: str | None) -> CutBy:
        """What ended the generation, for a response that is known to be cut."""
        if self.at_limit:
            return "max_tokens_sent"
        below = self.completion is not None and self.asked.max_tokens is not None
        if self.at_wall or (finish == "length" and below):
            return "context"
        return "unknown"

    def shifted(self) -> bool:
        """Whether earlier context was discarded while generating (C19)."""
        total, size = self._total(), self.context_size
        if total is None:
            return False
        if size is not None and total > size:
            return True
        used = self.timings.context_used if self.timings else None
        return used is not None and used < SHIFTED_BELOW * total

    def silently_truncated(self) -> dict[str, int] | None:
        """The numbers that show that the server read less than was sent (C18), if they do."""
        prompt = self.prompt
        if prompt is None:
            return None
        estimate, before = self.asked.prompt_estimate, self.asked.previous_context
        if estimate is not None and prompt < SHORT_OF_ESTIMATE * estimate:
            return {"prompt_tokens": prompt, "sent": estimate}
        if before is not None and prompt < FALLEN_SINCE_LAST * before:
            return {"prompt_tokens": prompt, "step_before": before}
        return None

    def _total(self) -> int | None:
        if self.prompt is None or self.completion is None:
            return None
        return self.prompt + self.completion


def _count(value: dict[str, Any], *names: str) -> int | None:
    for name in names:
        found = value.get(name)
        if isinstance(found, float) and 0 <= found < MAX_COUNT:
            found = int(found)
        if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < MAX_COUNT:
            return found
    return None


def _detail(value: dict[str, Any], outer: str, inner: str) -> int | None:
    details = value.get(outer)
    return _count(details, inner) if isinstance(details, dict) else None


def _seconds(value: dict[str, Any], name: str) -> float | None:
    found = value.get(name)
    if isinstance(found, bool) or not isinstance(found, (int, float)):
        return None
    return found / 1000 if 0 <= found < MAX_COUNT else None
