"""Measure what the intervals and the stopping rule promise, on Mallows rankings of 11 candidates.

    python benchmarks/coverage.py             2,000 replicates a cell, about two minutes
    python benchmarks/coverage.py --quick     200 replicates, seconds
    python benchmarks/coverage.py --json      the same numbers as one JSON document

Coverage of nominal 95 % intervals of the expected tau of two future trials, and the share that lie
above it (they overstate the stability). Stopping: pass, fail and expected trials of the planned
looks for a threshold of .6, beside looking after every trial. Same seed, same numbers.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np

from evalstab.statistics.intervals import cap_interval, reg_interval
from evalstab.statistics.kendall import pair_taus, pair_values
from evalstab.statistics.mallows import expected_tau, sample
from evalstab.statistics.quantiles import normal_quantile, t_quantile
from evalstab.statistics.ranks import FloatArray, places_from_order_numbers
from evalstab.statistics.sequential import Look, decide, planned_looks

M = 11
STEP = 4 / (M * (M - 1))
THRESHOLD = 0.6
MAX_TRIALS = 20
BOOTSTRAPS = 1999


@dataclass(frozen=True)
class Cell:
    """Mallows phi, trials of a series, and candidates that each trial misses at random."""

    phi: float
    trials: int
    missing: int = 0


CELLS = (
    Cell(0.1, 5),
    Cell(0.3, 5),
    Cell(0.5, 5),
    Cell(0.7, 5),
    Cell(0.3, 3),
    Cell(0.3, 20),
    Cell(0.3, 5, missing=2),
    Cell(0.3, 5, missing=4),
)

Limits = tuple[float | None, float | None]
Sampler = Callable[[np.random.Generator, int], FloatArray]


@dataclass(frozen=True)
class Coverage:
    """Percentages of series without interval, and of the intervals that cover and lie above."""

    method: str
    cell: Cell
    undefined: float
    covers: float | None
    above: float | None
    width: float | None


@dataclass(frozen=True)
class Stopping:
    """Percentages of series that pass and fail under a rule, and the mean number of trials."""

    rule: str
    model: str
    truth: float
    passes: float
    fails: float
    expected_trials: float


def reg(tau: FloatArray, _rng: np.random.Generator) -> Limits:
    """The recommended interval."""
    interval = reg_interval(tau, STEP)
    return interval.low, interval.high


def cap(tau: FloatArray, _rng: np.random.Generator) -> Limits:
    """Its strict version."""
    interval = cap_interval(tau, STEP)
    return interval.low, interval.high


def pairs_as_independent(tau: FloatArray, _rng: np.random.Generator) -> Limits:
    """The common mistake: a t interval of the pair taus."""
    values = pair_values(tau)
    half = t_quantile(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values))
    return float(values.mean() - half), float(values.mean() + half)


def jackknife_t(tau: FloatArray, _rng: np.random.Generator) -> Limits:
    """Jackknife over trials, on the plain scale and without a guard."""
    n = len(tau)
    spread = _sum_of_squares(tau)
    error = math.sqrt((n - 1) / n * spread) * 2 / (n - 2)
    mean = float(pair_values(tau).mean())
    half = t_quantile(0.975, n - 1) * error
    return mean - half, mean + half


def infinitesimal_jackknife(tau: FloatArray, _rng: np.random.Generator) -> Limits:
    """4/N^2 sum (h_i - U)^2 with a normal quantile."""
    mean = float(pair_values(tau).mean())
    half = normal_quantile(0.975) * 2 / len(tau) * math.sqrt(_sum_of_squares(tau))
    return mean - half, mean + half


def bootstrap_duplicates_one(tau: FloatArray, rng: np.random.Generator) -> Limits:
    """Percentile bootstrap over trials; a trial drawn twice agrees with itself."""
    n = len(tau)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS)
    full = np.where(np.eye(n, dtype=bool), 1.0, tau)
    means = (((counts @ full) * counts).sum(axis=1) - n) / (n * (n - 1))
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def bootstrap_duplicates_dropped(tau: FloatArray, rng: np.random.Generator) -> Limits:
    """Percentile bootstrap over trials; pairs of a trial with itself are left out."""
    n = len(tau)
    counts = rng.multinomial(n, np.full(n, 1 / n), size=BOOTSTRAPS)
    others = np.where(np.eye(n, dtype=bool), 0.0, tau)
    pairs = n**2 - (counts**2).sum(axis=1)
    usable = pairs > 0
    means = ((counts @ others) * counts).sum(axis=1)[usable] / pairs[usable]
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _sum_of_squares(tau: FloatArray) -> float:
    typical = np.nanmean(tau, axis=1)
    return float(((typical - pair_values(tau).mean()) ** 2).sum())


METHODS: dict[str, Callable[[FloatArray, np.random.Generator], Limits]] = {
    "pairs as independent": pairs_as_independent,
    "percentile bootstrap, duplicates = 1": bootstrap_duplicates_one,
    "percentile bootstrap, duplicates dropped": bootstrap_duplicates_dropped,
    "infinitesimal jackknife, normal": infinitesimal_jackknife,
    "jackknife-t": jackknife_t,
    "REG": reg,
    "CAP": cap,
}


WITH_GAPS = ("REG", "CAP")
"""Methods that also serve series in which trials miss candidates."""


def measure_coverage(
    cell: Cell, replicates: int, seed: int, methods: tuple[str, ...] = tuple(METHODS)
) -> list[Coverage]:
    """Coverage of each method in one cell; methods without a rule for gaps are left out there."""
    rng = np.random.default_rng([seed, round(cell.phi * 1000), cell.trials, cell.missing])
    truth = expected_tau(cell.phi, M).value or 0.0
    rows = sample(rng, cell.phi, M, replicates * cell.trials)
    if cell.missing:
        gaps = rng.permuted(np.tile(np.arange(M) < cell.missing, (len(rows), 1)), axis=1)
        rows = places_from_order_numbers(np.where(gaps, np.nan, rows))
    taus = [pair_taus(places).tau for places in rows.reshape(replicates, cell.trials, M)]
    found = []
    for method in methods:
        if cell.missing and method not in WITH_GAPS:
            continue
        limits = [METHODS[method](tau, rng) for tau in taus]
        found.append(_summary(method, cell, truth, limits))
    return found


def _summary(method: str, cell: Cell, truth: float, limits: list[Limits]) -> Coverage:
    defined = np.array([pair for pair in limits if None not in pair], dtype=np.float64)
    undefined = 100 * (1 - len(defined) / len(limits))
    if not len(defined):
        return Coverage(method, cell, undefined, None, None, None)
    low, high = defined[:, 0], defined[:, 1]
    covers = 100 * float(((low <= truth + 1e-12) & (truth <= high + 1e-12)).mean())
    above = 100 * float((low > truth + 1e-12).mean())
    return Coverage(method, cell, undefined, covers, above, float((high - low).mean()))


def mallows_with_tau(tau: float) -> Sampler:
    """Mallows trials whose expected pairwise tau is `tau`."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if (expected_tau(middle, M).value or 0) > tau else (low, middle)
    return lambda rng, size: sample(rng, low, M, size)


def mixed_with_random(share: float, main: Sampler) -> Sampler:
    """Trials of `main`, but each with chance `share` a random order instead."""

    def draw(rng: np.random.Generator, size: int) -> FloatArray:
        trials = main(rng, size)
        strange = rng.random(size) < share
        trials[strange] = sample(rng, 1.0, M, int(strange.sum()))
        return trials

    return draw


MODELS: dict[str, tuple[float, Sampler]] = {
    "stable .85": (0.85, mallows_with_tau(0.85)),
    "fair .75": (0.75, mallows_with_tau(0.75)),
    "exactly .60": (0.60, mallows_with_tau(0.60)),
    "poor .45": (0.45, mallows_with_tau(0.45)),
    "unstable .25": (0.25, mallows_with_tau(0.25)),
    "identical + 22.5 % random": (0.60, mixed_with_random(0.225, mallows_with_tau(1.0))),
    "tau .75 + 10.6 % random": (0.60, mixed_with_random(0.106, mallows_with_tau(0.75))),
}

RULES: dict[str, tuple[Look, ...]] = {
    "default": planned_looks(MAX_TRIALS, THRESHOLD).looks,
    "provisional": planned_looks(MAX_TRIALS, THRESHOLD, provisional=True).looks,
    "naive peeking": tuple(Look(n, 0.05, 0.05) for n in range(3, MAX_TRIALS + 1)),
}


def measure_stopping(rule: str, model: str, replicates: int, seed: int) -> Stopping:
    """What a rule does to series of one model."""
    truth, draw = MODELS[model]
    rng = np.random.default_rng([seed, list(MODELS).index(model)])
    passes = fails = trials = 0
    for _ in range(replicates):
        tau = pair_taus(draw(rng, MAX_TRIALS)).tau
        for look in RULES[rule]:
            seen = tau[: look.trials, : look.trials]
            decision = decide(partial(reg_interval, seen, STEP), look, THRESHOLD)
            if decision.status != "undecided":
                break
        trials += look.trials
        passes += decision.status == "pass"
        fails += decision.status == "fail"
    scale = 100 / replicates
    return Stopping(rule, model, truth, passes * scale, fails * scale, trials / replicates)


def main(arguments: list[str]) -> None:
    """Measure everything and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="200 replicates instead of 2,000")
    parser.add_argument("--replicates", type=int, help="replicates of each cell")
    parser.add_argument("--seed", type=int, default=20250101)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    options = parser.parse_args(arguments)
    replicates = options.replicates or (200 if options.quick else 2000)
    covered = [row for cell in CELLS for row in measure_coverage(cell, replicates, options.seed)]
    stopped = [
        measure_stopping(rule, model, replicates, options.seed)
        for rule in RULES
        for model in MODELS
    ]
    if options.json:
        plain = {
            "seed": options.seed,
            "replicates": replicates,
            "coverage": [asdict(row) for row in covered],
            "stopping": [asdict(row) for row in stopped],
        }
        print(json.dumps(plain, indent=1))
    else:
        print(f"seed {options.seed}, {replicates} replicates, {M} candidates\n")
        print(as_tables(covered, stopped))


def as_tables(covered: list[Coverage], stopped: list[Stopping]) -> str:
    """Two Markdown tables."""
    heads = ("method", "phi", "trials", "missing", "undefined %", "covers %", "above %", "width")
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|---|---|---|"]
    for c in covered:
        measured = (c.covers, c.above, c.width)
        numbers = " | ".join("-" if x is None else f"{x:.3g}" for x in (c.undefined, *measured))
        cell = f"{c.cell.phi} | {c.cell.trials} | {c.cell.missing}"
        lines.append(f"| {c.method} | {cell} | {numbers} |")
    lines += ["", "| rule | model | pass % | fail % | trials |", "|---|---|---|---|---|"]
    for s in stopped:
        numbers = f"{s.passes:.1f} | {s.fails:.1f} | {s.expected_trials:.1f}"
        lines.append(f"| {s.rule} | {s.model} | {numbers} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(sys.argv[1:])
