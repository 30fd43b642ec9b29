"""Speed by active context: time to first token, decode rate, prefill rate.

Rates come from the client's clock (``Clock``): the decode rate is tokens per second after the
first chunk, with the tokens that came in the first chunk left out; the prefill rate is the tokens
that had to be read (prompt less cached ones) over the time to the first token, queueing included.
What the server says of itself stands beside it and is never mixed in. A rate that the clock cannot
carry (several tokens in few frames, too few tokens, a cut stream, a saturated reader) is null.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from evalstab.chat import Usage
from evalstab.endpoint.base import Attempt, Clock, Reply
from evalstab.measures.base import Direction, Fact, Measured, TrialMeasure, put
from evalstab.measures.view import StepView, TrialView

LEAST_TOKENS = 16
LEAST_CHUNKS = 8
LEAST_PROMPT = 256
LEAST_SECONDS = 1e-4
LEAST_SPAN = 0.02
"""Seconds from the first to the last frame below which their stamps are no measurement."""

FRESH_SHARE = 0.02
"""Share of the prompt that must have been read anew for a prefill rate: below it, what passes
before the first token is mostly something else."""

MOST_BUNCHED = 0.5
CUT_CODES = frozenset({"stream.dropped", "stream.stalled", "server.error_in_stream"})

Rate = tuple[float | None, str]
"""A number, or None and the reason."""


@dataclass(frozen=True, slots=True)
class _Pace:
    """What one step's accepted answer says of speed."""

    context: int | None
    ttft: Rate
    decode: Rate
    prefill: Rate
    cached: int | None
    server_decode: Rate
    server_prefill: Rate
    latency: Rate = (None, "the record holds no times")
    gap: Rate = (None, "the record holds no times")


def compute(trial: TrialView) -> Measured:
    """Quantiles over the steps of the trial, and every step by its context."""
    counts_cached = any(_stated_cached(step.reply) for step in trial.steps)
    paces = [
        _pace(step, step.event.attempts[-1], counts_cached, _no_times(trial))
        for step in trial.steps
        if step.event.attempts and step.reply is not None
    ]
    values: dict[str, Any] = {
        "ttft_s": _quantiles(paces, lambda pace: pace.ttft, (50, 99)),
        "decode_tok_s": _quantiles(paces, lambda pace: pace.decode, (50,)),
        "prefill_tok_s": _quantiles(paces, lambda pace: pace.prefill, (50,)),
        "server_decode_tok_s": _quantiles(paces, lambda pace: pace.server_decode, (50,)),
        "server_prefill_tok_s": _quantiles(paces, lambda pace: pace.server_prefill, (50,)),
        "by_context": [_row(pace) for pace in paces],
    }
    return Measured({"speed": values})


def _quantiles(
    paces: Sequence[_Pace], take: Callable[[_Pace], Rate], percents: tuple[int, ...]
) -> dict[str, Any]:
    rates = [take(pace) for pace in paces]
    known = [rate for rate, _ in rates if rate is not None]
    reasons = dict.fromkeys(reason for rate, reason in rates if rate is None)
    why = "; ".join(list(reasons)[:3]) or "no step was answered"
    values: dict[str, Any] = {}
    for percent in percents:
        put(values, f"p{percent}", percentile(known, percent) if known else None, why)
    return values


def percentile(values: npt.ArrayLike, percent: float) -> float:
    """Quantile of at least one value, linear between neighbours.

    As ``numpy.percentile``, whose own cost a call is several times that of a step's few gaps.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    place = (len(ordered) - 1) * (percent / 100)
    below = int(place)
    low, high = float(ordered[below]), float(ordered[min(below + 1, len(ordered) - 1)])
    share = place - below
    return high - (high - low) * (1 - share) if share >= 0.5 else low + (high - low) * share


def _row(pace: _Pace) -> dict[str, Any]:
    row: dict[str, Any] = {}
    put(row, "context_tokens", pace.context, "nobody counted the tokens of this step")
    put(row, "decode_tok_s", *pace.decode)
    put(row, "prefill_tok_s", *pace.prefill)
    put(row, "ttft_s", *pace.ttft)
    put(row, "cached_tokens", pace.cached, "the server does not state cached tokens")
    put(row, "latency_s", *pace.latency)
    put(row, "gap_p99_ms", *pace.gap)
    put(row, "server_decode_tok_s", *pace.server_decode)
    put(row, "server_prefill_tok_s", *pace.server_prefill)
    return row


def _no_times(trial: TrialView) -> str:
    """Why a record may hold no times: its source says."""
    unknown = trial.started.unknown if trial.started else {}
    return unknown.get("times", "the record holds no times")


def _pace(step: StepView, attempt: Attempt, counts_cached: bool, no_times: str) -> _Pace:
    reply, clock = attempt.reply, attempt.clock
    assert reply is not None
    cached = _stated_cached(reply)
    if cached is None and counts_cached:
        cached = 0
    server = _server_rates(reply)
    if clock is None:
        missing = (None, no_times)
        return _Pace(
            step.known_context, missing, missing, missing, cached, *server, missing, missing
        )
    ttft = _ttft(clock)
    return _Pace(
        context=step.known_context,
        ttft=ttft,
        decode=_decode(clock, reply, attempt),
        prefill=_prefill(ttft, reply, cached),
        cached=cached,
        server_decode=server[0],
        server_prefill=server[1],
        latency=(clock.end, ""),
        gap=_gap(clock, attempt),
    )


def _gap(clock: Clock, attempt: Attempt) -> Rate:
    """99th percentile of the time between two tokens' frames, in milliseconds."""
    if clock.unreliable:
        return None, clock.unreliable
    if any(found.code in CUT_CODES for found in attempt.findings):
        return None, "the stream was cut"
    gaps = clock.gaps_us
    if len(gaps) < LEAST_TOKENS:
        return None, f"fewer than {LEAST_TOKENS} gaps between frames"
    bunched = sum(count > 1 for count in clock.per_read)
    if bunched > MOST_BUNCHED * len(gaps):
        return None, "frames arrived in bunches, so most of them have no time of their own"
    return percentile(gaps, 99) / 1000, ""


def _ttft(clock: Clock) -> Rate:
    if clock.unreliable:
        return None, clock.unreliable
    if clock.first is None:
        return None, "the answer was not streamed, or nothing came"
    return clock.first, ""


def _decode(clock: Clock, reply: Reply, attempt: Attempt) -> Rate:
    problem = clock.unreliable or _not_whole(clock, reply, attempt)
    tokens = _completion(reply)
    if problem is None and tokens is None:
        problem = "the server states no completion tokens"
    if problem is not None or tokens is None or clock.first is None or clock.last is None:
        return None, problem or "the answer was not streamed, or nothing came"
    if tokens < LEAST_TOKENS:
        return None, f"fewer than {LEAST_TOKENS} tokens"
    chunks = min(clock.chunks, tokens)
    if chunks < LEAST_CHUNKS:
        return None, f"{tokens} tokens came in {chunks} frames"
    seconds = clock.last - clock.first
    if seconds < LEAST_SPAN:
        return None, "all of the answer came at one moment"
    return tokens * (chunks - 1) / chunks / seconds, ""


def _not_whole(clock: Clock, reply: Reply, attempt: Attempt) -> str | None:
    if clock.first is None:
        return "the answer was not streamed, or nothing came"
    if any(found.code in CUT_CODES for found in attempt.findings):
        return "the stream was cut"
    usage = reply.usage
    if usage and usage.reasoning_tokens and not reply.reasoning:
        return "reasoning tokens were counted but not streamed"
    return None


def _prefill(ttft: Rate, reply: Reply, cached: int | None) -> Rate:
    seconds, reason = ttft
    if seconds is None:
        return None, reason
    prompt = _prompt(reply)
    if prompt is None or cached is None:
        uncounted = "the server states no prompt tokens"
        return None, uncounted if prompt is None else "the server does not state cached tokens"
    fresh = prompt - cached
    if fresh < LEAST_PROMPT:
        return None, f"fewer than {LEAST_PROMPT} tokens had to be read"
    if fresh < FRESH_SHARE * prompt:
        return None, "nearly all of the prompt was cached: what passed is no reading time"
    if seconds < LEAST_SECONDS:
        return None, "all of the answer came at one moment"
    return fresh / seconds, ""


def _server_rates(reply: Reply) -> tuple[Rate, Rate]:
    timings = reply.timings
    if timings is None:
        nothing: Rate = (None, "the server states no timings")
        return nothing, nothing
    return (
        _server_rate(timings.decoded_tokens, timings.decode_seconds, LEAST_TOKENS),
        _server_rate(timings.prompt_tokens, timings.prompt_seconds, LEAST_PROMPT),
    )


def _server_rate(tokens: int | None, seconds: float | None, least: int) -> Rate:
    if tokens is None or seconds is None or seconds < LEAST_SECONDS:
        return None, "the server states no timings"
    if tokens < least:
        return None, f"fewer than {least} tokens"
    return tokens / seconds, ""


def _stated_cached(reply: Reply | None) -> int | None:
    if reply is None:
        return None
    if reply.usage is not None and reply.usage.cached_tokens is not None:
        return reply.usage.cached_tokens
    return reply.timings.cached_tokens if reply.timings else None


def _usage(reply: Reply) -> Usage | None:
    return reply.usage or reply.counted


def _completion(reply: Reply) -> int | None:
    usage = _usage(reply)
    return usage.completion_tokens if usage else None


def _prompt(reply: Reply) -> int | None:
    usage = _usage(reply)
    return usage.prompt_tokens if usage else None


def _fact(key: str, meaning: str, unit: str, direction: Direction = "neither") -> Fact:
    return Fact(f"speed.{key}", meaning, unit, "above 0", direction)


_LOW: Direction = "lower is better"
_HIGH: Direction = "higher is better"

MEASURE = TrialMeasure(
    name="speed",
    meaning="How fast the endpoint reads and writes as the conversation grows.",
    facts=(
        _fact("ttft_s.p50", "Median over steps of the time to the first token.", "s", _LOW),
        _fact("ttft_s.p99", "The same, 99th percentile over steps.", "s", _LOW),
        _fact("decode_tok_s.p50", "Median over steps of the decode rate.", "tok/s", _HIGH),
        _fact("prefill_tok_s.p50", "Median over steps of the prefill rate.", "tok/s", _HIGH),
        _fact("server_decode_tok_s.p50", "Decode rate by the server's clock.", "tok/s", _HIGH),
        _fact("server_prefill_tok_s.p50", "Prefill rate by the server's clock.", "tok/s", _HIGH),
        _fact(
            "by_context",
            "Each step: active context, the three rates, cached tokens, latency of the whole "
            "answer, 99th percentile of the gaps between frames, the server's own two rates.",
            "list",
        ),
    ),
    compute=compute,
)
