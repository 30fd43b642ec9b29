"""How often the interval rule errs and how many trials it takes, against simulated rankings.

Reference: Mallows rankings of 11 candidates, at most 20 trials, threshold .6: 4.9 % false passes
and 2.2 % false fails at exactly .6, 13.0 trials to pass at .85, 6.6 trials to fail at .25.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from evalstab.gate.evidence import Evidence
from evalstab.gate.metric import judge_metric
from evalstab.gate.policy import Policy, parse_policy
from evalstab.statistics.mallows import expected_tau, sample
from tests.gate.making import people

RULE = {"name": "tau", "metric": "stability.kendall_tau.mean", "min": 0.6}
GATE = parse_policy({"repeats": 20, "rules": [RULE]}, "test")


def phi_of(tau: float) -> float:
    """The dispersion whose expected tau this is, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if (expected_tau(middle, 11).value or 0.0) > tau:
            low = middle
        else:
            high = middle
    return low


def rates(gate: Policy, tau: float, replicates: int, seed: int) -> tuple[float, float, float]:
    """Shares of passes and fails, and the mean number of trials, over simulated series."""
    rng = np.random.default_rng(seed)
    names = dict.fromkeys(people(11))
    passes = fails = trials = 0
    for _ in range(replicates):
        order = np.argsort(sample(rng, phi_of(tau), 11, gate.repeats), axis=1)
        made = tuple(
            {"index": n, "ranking": [[list(names)[i]] for i in row], "outcome": "completed"}
            for n, row in enumerate(order, 1)
        )
        scores = {"stability": {"candidates": names}, "findings": [], "trials": made}
        found = judge_metric(gate.rules[0], gate, Evidence(scores, made, gate.repeats, ended=True))
        passes += found.status == "pass"
        fails += found.status == "fail"
        trials += found.trials
    return passes / replicates, fails / replicates, trials / replicates


def near(share: float, expected: float, replicates: int) -> bool:
    """Within four standard errors of a binomial share (and one count)."""
    error = math.sqrt(max(expected * (1 - expected), 1 / replicates) / replicates)
    return abs(share - expected) <= 4 * error + 1 / replicates


CASES = [
    (0.85, 1.000, 0.000, 13.0),
    (0.75, 0.985, 0.000, 13.8),
    (0.60, 0.049, 0.022, 19.6),
    (0.45, 0.000, 0.897, 13.2),
    (0.25, 0.000, 1.000, 6.6),
]


@pytest.mark.parametrize(("tau", "passes", "fails", "trials"), CASES)
def test_quickly(tau: float, passes: float, fails: float, trials: float) -> None:
    _check(tau, passes, fails, trials, replicates=120)


@pytest.mark.nightly
@pytest.mark.parametrize(("tau", "passes", "fails", "trials"), CASES)
def test_closely(tau: float, passes: float, fails: float, trials: float) -> None:
    _check(tau, passes, fails, trials, replicates=4000)


def _check(tau: float, passes: float, fails: float, trials: float, *, replicates: int) -> None:
    found = rates(GATE, tau, replicates, seed=7)
    assert near(found[0], passes, replicates), found
    assert near(found[1], fails, replicates), found
    assert abs(found[2] - trials) <= 4 * 6.5 / math.sqrt(replicates) + 0.1, found
