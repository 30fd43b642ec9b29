"""Position effect: found where there is one, none where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from evalstab.statistics.position import position_effect
from evalstab.statistics.ranks import FloatArray

CANDIDATES = 8


def _trials(bias: float, noise: float, pairs: int, seed: int) -> tuple[FloatArray, list[int]]:
    """Places of trials that share their order in pairs; what is read first gets ``bias`` points."""
    rng = np.random.default_rng(seed)
    quality = np.arange(CANDIDATES, dtype=float)
    rows, orders = [], []
    for pair in range(pairs):
        position = rng.permutation(CANDIDATES)
        for _ in range(2):
            score = quality - bias * position + rng.normal(0, noise, CANDIDATES)
            rows.append((-score).argsort().argsort() + 1.0)
            orders.append(pair)
    return np.array(rows), orders


def test_a_judge_that_favours_what_it_reads_first() -> None:
    places, orders = _trials(bias=1.0, noise=0.4, pairs=8, seed=1)
    found = position_effect(places, orders)
    assert found.within.value is not None
    assert found.within.value > 0.7
    assert found.effect.value == pytest.approx(
        found.within.value - (found.between.value or 0), abs=1e-12
    )
    assert found.interval.low is not None
    assert found.interval.low > 0


def test_sampling_noise_alone_is_no_position_effect() -> None:
    covered = 0
    for seed in range(60):
        places, orders = _trials(bias=0.0, noise=1.5, pairs=6, seed=seed)
        interval = position_effect(places, orders).interval
        assert interval.low is not None
        assert interval.high is not None
        covered += interval.low <= 0 <= interval.high
    assert covered >= 51


def test_what_cannot_be_told_says_why() -> None:
    places, _ = _trials(0.5, 0.5, 2, 3)
    assert position_effect(places, [1, 1, 1, 1]).between.reason == (
        "all trials share one reading order"
    )
    alone = position_effect(places, [1, 2, 3, 4])
    assert alone.within.reason == "no two ranked trials share a reading order"
    assert alone.between.value is not None
    few = position_effect(places, [1, 1, 2, 2])
    assert few.effect.value is not None
    assert few.interval.reason == "needs 3 reading orders with two ranked trials each, there are 2"


def test_a_trial_without_ranking_leaves_its_pair_alone() -> None:
    places, orders = _trials(0.5, 0.5, 4, 3)
    places[0] = np.nan
    assert position_effect(places, orders).orders == 3
