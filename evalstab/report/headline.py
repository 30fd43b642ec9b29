"""The few numbers that a series is known by: on top of its page, and on its card."""

from __future__ import annotations

from collections.abc import Iterator

from evalstab.chat import Json
from evalstab.report import numbers
from evalstab.report.facts import Facts, block, number, numbers_of

Named = tuple[str, str]
"""What a number is, and the number with its unit."""


def headline(facts: Facts) -> tuple[Named, ...]:
    """Name and value of each; what is not known is said to be so.

    The decode rate is ``speed.decode_tok_s.p50`` of scores.json, as in the history: the median over
    the steps at the depth of the rankings, without answers that the client could not keep up with.
    """
    return tuple(_numbers(facts))


def with_interval(tau: Json) -> str:
    """A mean tau with its interval where it has one; ``tau`` has the keys of scores.json."""
    mean = number(tau, "mean")
    if mean is None:
        return numbers.UNKNOWN
    low, high = number(tau, "ci_low"), number(tau, "ci_high")
    between = "" if low is None or high is None else f" ({numbers.interval(low, high)})"
    return numbers.decimal(mean) + between


def _numbers(facts: Facts) -> Iterator[Named]:
    yield "Kendall tau (95 %)", with_interval(block(facts.stability, "kendall_tau"))
    distinct = number(facts.stability, "winner", "distinct")
    shown = numbers.UNKNOWN if distinct is None else numbers.count(distinct)
    yield "different first places", f"{shown} in {numbers.plural(len(facts.ranked), 'ranking')}"
    tops = numbers_of(facts.valid, "top_score")
    yield (
        "highest total",
        f"{numbers.points(min(tops))} to {numbers.points(max(tops))}" if tops else numbers.UNKNOWN,
    )
    for name, path in (
        ("with foreign spans", ("language", "spans")),
        ("with unfinished calls", ("tool_calls", "unfinished")),
    ):
        known = numbers_of(facts.valid, *path)
        hits = sum(value > 0 for value in known)
        yield f"trials {name}", f"{hits} of {len(known)}" if known else numbers.UNKNOWN
    valid = len(facts.valid)
    loops = sum(any(".loop" in c or "reworded" in c for c in _codes(t)) for t in facts.valid)
    yield "trials with loops", f"{loops} of {valid}" if valid else numbers.UNKNOWN
    speed = number(facts.scores, "speed", "decode_tok_s", "p50")
    size = number(facts.scores, "speed", "context_tokens")
    at = "" if size is None else f" at {numbers.short(size)}"
    title = rate_title("decode rate", simulated=bool(facts.series.get("simulated")))
    yield title, numbers.UNKNOWN if speed is None else f"{numbers.rate(speed)}{at}"


def rate_title(title: str, *, simulated: bool) -> str:
    """The name of a rate or time of the endpoint; one of the simulator's is called so."""
    return f"{title}, simulated" if simulated else title


def _codes(trial: Json) -> set[str]:
    return set(block(trial, "finding_counts"))
