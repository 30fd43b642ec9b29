"""Two series: has the stability changed, has the consensus moved, is the new one worse?

Two questions, two tests: Welch's t on the atanh scale for the first, PERMANOVA for the second. One
permutation test on mean tau would call the stability changed whenever the consensus moved. Holm's
correction covers the declared criteria; everything else is description.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from evalstab.chat import Json
from evalstab.gate.evidence import Evidence
from evalstab.measures.base import put
from evalstab.statistics.compare import (
    consensus_test,
    noise_ratio,
    non_inferiority,
    smallest_permutation_p,
    stability_difference,
    stability_test,
)
from evalstab.statistics.consensus import kemeny
from evalstab.statistics.intervals import tau_interval
from evalstab.statistics.kendall import tau_b
from evalstab.statistics.multiple import (
    fisher_exact_p,
    holm,
    rate_difference_interval,
    scale_test_p,
)
from evalstab.statistics.ranks import places_from_rankings

ALPHA = 0.05
DELTA = 0.10
DEFAULT_CRITERIA = ("deliverables_incomplete",)
TOO_FEW = "too few trials"
MOST_MOVED = 4
"""Candidates that are named as moved."""


@dataclass(frozen=True, slots=True)
class Pair:
    """The judged trials of both series, of the same candidates."""

    base: Evidence
    new: Evidence


def compare(pair: Pair, criteria: Sequence[str] = DEFAULT_CRITERIA) -> Json:
    """All tests and numbers of two series as plain data.

    ``criteria`` are count keys of a gate, tested by Fisher's exact test beside stability, consensus
    and scale. p values carry Holm's correction over all of them that can reject at all (Tarone
    1990) as ``p_holm``: a count that no trial has cannot change, and costs the others nothing.
    """
    found: Json = {
        "stability": _stability(pair),
        "consensus": _consensus(pair),
        "scale": _scale(pair),
    }
    rates = [_rate(pair, key) for key in criteria]
    family = [*found.values(), *rates]
    tested = [one for one in family if one["p"] is not None and one.get("least_p", 0) <= ALPHA]
    for one, adjusted in zip(tested, holm([one["p"] for one in tested]), strict=True):
        one["p_holm"] = adjusted
    for one in family:
        _decide(one)
    return found | {"criteria": rates, "not_worse": _not_worse(pair)}


def _stability(pair: Pair) -> Json:
    base, new = pair.base.places, pair.new.places
    test = stability_test(base, new)
    difference, limits = stability_difference(base, new)
    ratio = noise_ratio(base, new)
    found: Json = {
        "question": "Has the stability changed?",
        "test": "Welch's t of mean Kendall tau on the atanh scale",
    }
    put(found, "p", test.p, test.reason or "")
    put(found, "t", test.t, test.reason or "")
    put(found, "df", test.df, test.reason or "")
    for name, side in (("base", pair.base), ("new", pair.new)):
        mean, ci = side.taus.mean(), tau_interval(side.places)
        entry: Json = {"trials": side.number, "ranked": side.ranked}
        put(entry, "kendall_tau", mean.value, mean.reason or "")
        put(entry, "ci_low", ci.low, ci.reason or "")
        put(entry, "ci_high", ci.high, ci.reason or "")
        found[name] = entry
    put(found, "difference", difference.value, difference.reason or "")
    put(found, "ci_low", limits.low, limits.reason or "")
    put(found, "ci_high", limits.high, limits.reason or "")
    put(found, "noise_ratio", ratio.value, ratio.reason or "")
    return found


def _consensus(pair: Pair) -> Json:
    base, new = pair.base.places, pair.new.places
    n1, n2 = pair.base.ranked, pair.new.ranked
    found: Json = {
        "question": "Has the consensus moved?",
        "test": "PERMANOVA on Kendall distances",
    }
    least = smallest_permutation_p(n1, n2) if min(n1, n2) else 1.0
    test = consensus_test(base, new)
    reason = test.reason
    if least > ALPHA and test.p is not None:
        reason = f"no outcome of {n1} against {n2} trials can give a p below {least:.2g}"
    put(found, "p", None if least > ALPHA else test.p, reason or "")
    put(found, "f", test.f, test.reason or "")
    put(found, "r2", test.r2, test.reason or "")
    found |= {"smallest_p": least, "exact": test.exact}
    found["base_first"], found["new_first"] = _first(pair.base), _first(pair.new)
    orders = [_order(pair.base), _order(pair.new)]
    found["base_order"], found["new_order"] = orders
    tau = None
    if orders[0] and orders[1]:
        rankings = [[[c] for c in order] for order in orders if order]
        tau = tau_b(places_from_rankings(rankings, pair.base.candidates)).value
    put(found, "tau_between", tau, "one of the two has no single consensus")
    found["moved"] = _moved(pair)
    return found


def _moved(pair: Pair) -> list[Json]:
    """The candidates whose median place differs most between the series, the furthest first."""
    medians = [_median_places(side) for side in (pair.base, pair.new)]
    both = zip(pair.base.candidates, *medians, strict=True)
    moved = [
        {"candidate": who, "base": base, "new": new}
        for who, base, new in both
        if base is not None and new is not None and base != new
    ]
    moved.sort(key=lambda one: (-abs(one["new"] - one["base"]), one["base"], one["candidate"]))
    return moved[:MOST_MOVED]


def _median_places(side: Evidence) -> list[float | None]:
    columns = ([float(p) for p in column if p == p] for column in side.places.T)  # noqa: PLR0124
    return [median(known) if known else None for known in columns]


def _order(side: Evidence) -> list[str] | None:
    """The one Kemeny order of a series, None where there are several or none."""
    found = kemeny(side.places)
    if found is None or found.optima != 1:
        return None
    return [side.candidates[column] for column in found.orders[0]]


def _first(side: Evidence) -> list[str]:
    """Who stands first in the consensus orders that were found, several where they disagree."""
    found = kemeny(side.places)
    columns = {order[0] for order in found.orders if order} if found else set()
    return [side.candidates[column] for column in sorted(columns)]


def _scale(pair: Pair) -> Json:
    tops = [side.numbers("top_score") for side in (pair.base, pair.new)]
    test = scale_test_p(*tops)
    found: Json = {"question": "Has the score scale moved?", "test": "Welch's t on ln(top score)"}
    put(found, "p", test.value, test.reason or "")
    for name, values in zip(("base", "new"), tops, strict=True):
        mean = sum(values) / len(values) if values else None
        put(found, f"{name}_mean", mean, "no totals are stated")
    return found


def _rate(pair: Pair, key: str) -> Json:
    """A count of trials in both series."""
    hits = (pair.base.count(key), pair.new.count(key))
    sizes = (pair.base.number, pair.new.number)
    test = fisher_exact_p(hits[0], sizes[0], hits[1], sizes[1])
    limits = rate_difference_interval(hits[0], sizes[0], hits[1], sizes[1])
    found: Json = {"question": f"Has {key} changed?", "test": "Fisher's exact test", "key": key}
    put(found, "p", test.value, test.reason or "")
    found |= {"base": [hits[0], sizes[0]], "new": [hits[1], sizes[1]]}
    found["least_p"] = _least_fisher(sum(hits), *sizes)
    put(found, "ci_low", limits.low, limits.reason or "")
    put(found, "ci_high", limits.high, limits.reason or "")
    return found


def _least_fisher(hits: int, n1: int, n2: int) -> float:
    """The least p that any split of so many hits over both series could give."""
    splits = {max(0, hits - n2), min(hits, n1)}
    found = (fisher_exact_p(k, n1, hits - k, n2).value for k in splits)
    return min(1.0 if p is None else p for p in found)


def _decide(found: Json) -> None:
    """The answer of one test in words: changed, not shown, or too few trials to show anything."""
    if found["p"] is None:
        found["p_holm"] = None
        found["p_holm_reason"] = found["p_reason"]
        found["answer"] = TOO_FEW
        return
    found.setdefault("p_holm", found["p"])
    found["answer"] = "yes" if found["p_holm"] <= ALPHA else "not shown"


def _not_worse(pair: Pair) -> Json:
    """Is the new series at most ``DELTA`` less stable than the base, one-sided 95 %?"""
    base, new = pair.base.places, pair.new.places
    answer = non_inferiority(base, new, DELTA, ALPHA)
    difference, limits = stability_difference(base, new, 2 * ALPHA)
    found: Json = {
        "question": f"Is the new one at most {DELTA:g} of tau less stable?",
        "test": "non-inferiority, one-sided 95 %",
        "delta": DELTA,
        "answer": {"not_worse": "yes", "worse": "no", "undecided": "undecided"}[answer],
    }
    put(found, "difference", difference.value, difference.reason or "")
    put(found, "ci_low", limits.low, limits.reason or "")
    put(found, "ci_high", limits.high, limits.reason or "")
    return found


def criteria_of(verdict: Json) -> list[str]:
    """The counts that the gate of a series declared, else the default ones."""
    keys = [
        str(rule["key"])
        for rule in verdict.get("rules") or ()
        if rule.get("kind") in ("count", "rate") and _over_trials(str(rule.get("key", "")))
    ]
    return list(dict.fromkeys(keys)) or list(DEFAULT_CRITERIA)


def _over_trials(key: str) -> bool:
    return key.startswith(("trial_has:", "trial_true:")) or key in (
        "deliverables_incomplete",
        "unranked",
        "ranked",
    )
