"""How fast a simulated answer comes: an absolute schedule, computed before the first token.

Times are seconds on the server's own clock, counted from the arrival of the request. Because the
schedule is absolute, a late send never shifts the ones after it.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from dataclasses import dataclass

from evalstab.sim.persona import Curve, Pace


def log_linear(curve: Curve, context: float) -> float:
    """The curve's value at a context: log-linear between its points and beyond the last.

    Below the first point its value holds. One point is a constant.
    """
    if len(curve) == 1 or context <= curve[0][0]:
        return curve[0][1]
    at = min(bisect_right(curve, (context, math.inf)), len(curve) - 1)
    (x0, y0), (x1, y1) = curve[at - 1], curve[at]
    share = (context - x0) / (x1 - x0)
    return math.exp(math.log(y0) + share * (math.log(y1) - math.log(y0)))


def linear(curve: Curve, context: float) -> float:
    """The curve's value at a context: linear between its points, constant outside."""
    if context <= curve[0][0]:
        return curve[0][1]
    for (x0, y0), (x1, y1) in itertools.pairwise(curve):
        if context < x1:
            return y0 + (y1 - y0) * (context - x0) / (x1 - x0)
    return curve[-1][1]


@dataclass(frozen=True, slots=True)
class Schedule:
    """When each token of one answer is due.

    ``due`` has one time per token, the first one being the time to first token. ``prefill`` and
    ``decode`` are the two durations that a server states in its timings.
    """

    due: tuple[float, ...]
    prefill: float
    decode: float
    prefill_tokens: int


def model_schedule(pace: Pace, prompt: int, cached: int, tokens: int) -> Schedule:
    """The schedule of an answer by a persona's pace.

    The prompt's uncached tokens are read at the prefill rate of the whole prompt; each token is
    decoded at the rate of the context that it extends.
    """
    fresh = max(prompt - cached, 1)
    prefill = fresh / log_linear(pace.prefill, prompt)
    due: list[float] = []
    now = pace.overhead + prefill
    step = 0.0
    for number in range(tokens):
        if number % 64 == 0:
            step = 1.0 / log_linear(pace.decode, prompt + number)
        now += step
        due.append(now)
    decode = now - pace.overhead - prefill
    return Schedule(tuple(due), prefill, decode, fresh)


def fixed_schedule(rate: float, first: float, tokens: int) -> Schedule:
    """A constant rate in tokens per second with the first token after ``first`` seconds."""
    due = tuple(first + number / rate for number in range(tokens))
    decode = (tokens - 1) / rate if tokens else 0.0
    return Schedule(due, first, decode, 1)
