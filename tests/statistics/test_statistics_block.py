"""The stability block: keys, the five-run table, determinism, degenerate tables."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from evalstab.statistics import pairwise
from evalstab.statistics.block import stability_block
from evalstab.statistics.kendall import mean_tau, pair_taus, with_failures
from evalstab.statistics.noise import latent_totals, noise_ceiling
from evalstab.statistics.ranks import places_from_rankings, places_from_scores
from evalstab.statistics.value import Interval, Value

NAMES = [f"person_{j:02d}" for j in range(1, 12)]
MAXIMA = [158.0, 79, 75, 105, 80]
KEYS = {
    "trials_ranked": None,
    "trials_unranked": None,
    "success_rate": None,
    "coverage": None,
    "distinct_outputs": None,
    "unseen_share": None,
    "kendall_tau": ["mean", "ci_low", "ci_high", "min", "pairs", "with_failures", "noise_ceiling"],
    "weighted_tau": None,
    "kendall_w": None,
    "spearman": None,
    "rbo": None,
    "winner": [
        "sequence",
        "counts",
        "distinct",
        "changes",
        "pair_agreement",
        "modal_share",
        "entropy_bits",
    ],
    "scale": ["top_scores", "ratio", "cv", "log_sd"],
    "icc": ["absolute", "consistency", "standardised"],
    "candidates": None,
    "consensus": ["orders", "optima"],
}


def five_trials() -> np.ndarray:
    """Scores with the maxima, winners and one candidate's places of the five-run table."""
    shape = np.arange(11, 0, -1) / 11
    table = np.empty((5, 11))
    winners, places_of_9 = [10, 10, 10, 8, 5], [5, 6, 3, 1, 7]
    for row, top, first, place in zip(table, MAXIMA, winners, places_of_9, strict=True):
        order = [first, *(j for j in range(11) if j != first)]
        order.remove(8)
        order.insert(place - 1, 8)
        row[order] = top * shape
    return table


def test_keys_are_those_of_the_contract_and_plain() -> None:
    table = five_trials()
    plain = stability_block(places_from_scores(table), table, NAMES, distinct_outputs=5).to_dict()
    for key, inner in KEYS.items():
        assert key in plain
        if inner is not None:
            assert set(inner) <= plain[key].keys()
    assert plain.keys() - {f"{key}_reason" for key in KEYS} == KEYS.keys()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert type(plain["winner"]["distinct"]) is int
    assert type(plain["winner"]["changes"]) is int
    assert type(plain["consensus"]["optima"]) is int
    assert plain["kendall_tau"]["noise_ceiling"] is None
    assert plain["kendall_tau"]["noise_ceiling_reason"]
    assert set(plain["candidates"]["person_09"]) == {"places", "best", "worst", "range", "sd"}


def test_the_five_run_table_reads_as_published() -> None:
    table = five_trials()
    block = stability_block(places_from_scores(table), table, NAMES)
    winner = block.winner
    assert winner.sequence == ("person_11",) * 3 + ("person_09", "person_06")
    assert winner.counts == {"person_11": 3, "person_09": 1, "person_06": 1}
    assert (winner.distinct.value, winner.changes.value) == (3, 2)
    assert winner.pair_agreement.value == pytest.approx(0.3)
    assert winner.modal_share.value == pytest.approx(0.6)
    assert winner.entropy_bits.value == pytest.approx(1.370950594454669)
    assert block.scale.top_scores == tuple(MAXIMA)
    assert block.scale.ratio.value == pytest.approx(158 / 75)
    assert block.scale.cv.value == pytest.approx(0.35042712403727977)
    assert block.scale.log_sd.value == pytest.approx(0.31152248058443877)
    moved = block.candidates["person_09"]
    assert moved.places == (5, 6, 3, 1, 7)
    assert (moved.best.value, moved.worst.value, moved.range.value) == (1, 7, 6)
    assert moved.sd.value == pytest.approx(2.4083189157584592)
    assert block.unseen_share.value == pytest.approx(0.4507197283469412)
    assert block.kendall_tau.mean.value is not None
    assert block.kendall_tau.mean.value <= 1 - 2 * 3.3 / 55 + 1e-12


def test_scale_moves_where_order_does_not() -> None:
    table = np.outer(MAXIMA, np.arange(11, 0, -1) / 11)
    block = stability_block(places_from_scores(table), table, NAMES)
    assert block.kendall_tau.mean.value == 1.0
    assert block.kendall_w.value == pytest.approx(1.0)
    assert block.icc.standardised.value == pytest.approx(1.0)
    absolute, consistency = block.icc.absolute.value, block.icc.consistency.value
    assert absolute is not None
    assert consistency is not None
    assert absolute < consistency < 0.95


def test_unranked_trials_are_counted_and_cost_agreement() -> None:
    rankings = [[["a"], ["b"], ["c"]], None, [["a"], ["c"], ["b"]], None]
    block = stability_block(places_from_rankings(rankings, ["a", "b", "c"]), None, ["a", "b", "c"])
    assert (block.trials_ranked, block.trials_unranked) == (2, 2)
    assert block.success_rate.value == 0.5
    tau = block.kendall_tau
    assert tau.mean.value == pytest.approx(1 / 3)
    assert tau.with_failures.value == pytest.approx(1 / 3 / 6)
    assert (tau.pairs, tau.ci.low) == (1, None)
    assert block.winner.sequence == ("a", None, "a", None)
    assert block.winner.changes.value == 0
    assert block.candidates["b"].places == (2, None, 3, None)
    assert block.scale.ratio.value is None
    nothing = stability_block(places_from_rankings([None, None], ["a"]), None, ["a"])
    assert nothing.kendall_tau.with_failures.value == 0
    assert nothing.winner.distinct.value is None
    assert nothing.consensus.orders == ()


def test_every_pair_statistic_has_an_interval_around_the_mean_of_the_block() -> None:
    table = five_trials()
    table[2] = np.nan
    places = places_from_scores(table)
    block = stability_block(places, table, NAMES)
    means = {
        "kendall_tau": block.kendall_tau.mean,
        "weighted_tau": block.weighted_tau,
        "spearman": block.spearman,
        "rbo": block.rbo,
    }
    for name in pairwise.PAIR_STATISTICS:
        mean, interval = pairwise.pair_mean(name, places), pairwise.pair_interval(name, places)
        assert mean.value == pytest.approx(means[name].value, abs=1e-12)
        assert interval.low is not None
        assert interval.high is not None
        assert mean.value is not None
        assert interval.low < mean.value < interval.high <= 1
        assert interval.low >= (0 if name == "rbo" else -1)
        assert pairwise.pair_interval(name, places[:2]).reason is not None
        identical = pairwise.pair_interval(name, np.tile(places[0], (8, 1)))
        assert identical.high == 1.0
        assert 0.6 < (identical.low or 0) < 1
        assert pairwise.pair_mean(name, np.ones((3, 1))).reason is not None or name == "rbo"
    assert pairwise.pair_interval("kendall_tau", places) == block.kendall_tau.ci


def test_failed_pairs_have_bounds() -> None:
    mean = Value.of(0.8)
    worst, chance, best = (with_failures(mean, 4, 5, as_).value for as_ in (-1, 0, 1))
    assert chance == pytest.approx(0.8 * 6 / 10)
    assert worst == pytest.approx((0.8 * 6 - 4) / 10)
    assert best == pytest.approx((0.8 * 6 + 4) / 10)
    assert with_failures(Value.undefined("none"), 1, 1).value is None
    assert with_failures(Value.undefined("all tied"), 3, 4).value is None


def test_tied_winners_are_one_set_and_no_single_winner() -> None:
    places = places_from_scores([[5, 5, 1], [5, 5, 1], [5, 4, 1]])
    block = stability_block(places, None, ["a", "b", "c"])
    assert block.winner.sequence == (None, None, "a")
    assert block.winner.counts == {"a": 3, "b": 2}
    assert (block.winner.distinct.value, block.winner.changes.value) == (2, 1)
    assert block.winner.pair_agreement.value == pytest.approx((1 + 0.5 + 0.5) / 3)


def test_a_cycle_shows_all_its_optima() -> None:
    rankings = [[[x] for x in order] for order in ("ABC", "BCA", "CAB")]
    block = stability_block(places_from_rankings(rankings, list("ABC")), None, list("ABC"))
    assert block.consensus.optima.value == 3
    assert {"".join(order) for order in block.consensus.orders} == {"ABC", "BCA", "CAB"}


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (1, 1), (1, 3), (2, 1), (2, 3), (3, 2), (5, 4)])
@pytest.mark.parametrize("fill", [0.0, 7.5, -3.0, math.nan, 1e300, math.inf])
def test_degenerate_tables_give_reasons(shape: tuple[int, int], fill: float) -> None:
    scores = np.full(shape, fill)
    places = places_from_scores(np.where(np.isinf(scores), 0, scores))
    names = NAMES[: shape[1]]
    plain = stability_block(places, scores, names).to_dict()
    json.dumps(plain, allow_nan=False)
    assert plain["kendall_tau"]["mean"] is None
    assert plain["kendall_tau"]["mean_reason"]


def test_wrong_input_is_refused() -> None:
    places = places_from_scores([[3, 2, 1]])
    with pytest.raises(ValueError, match="2 ids for 3 columns"):
        stability_block(places, None, ["a", "b"])
    with pytest.raises(ValueError, match="more than once: a"):
        stability_block(places, None, ["a", "a", "b"])
    with pytest.raises(ValueError, match="no mid-rank places"):
        stability_block([[30.0, 20, 10]], None, ["a", "b", "c"])
    with pytest.raises(ValueError, match="shape"):
        stability_block(places, [[1.0, 2]], ["a", "b", "c"])


def test_a_value_is_a_number_or_a_reason() -> None:
    for wrong in ((None, None), (1.0, "why"), (math.nan, None), (math.inf, None)):
        with pytest.raises(ValueError, match="Value"):
            Value(*wrong)
    for ends in ((None, None, None), (0.0, None, "why"), (0.0, 1.0, "why"), (1.0, 0.0, None)):
        with pytest.raises(ValueError, match="nterval"):
            Interval(*ends)


def test_the_noise_ceiling_depends_on_how_close_the_candidates_are() -> None:
    far, near = np.linspace(0, 200, 11), np.linspace(50, 60, 11)
    ceilings = [noise_ceiling(totals, np.ones(10)).value for totals in (far, near)]
    assert ceilings[0] is not None
    assert ceilings[1] is not None
    assert 0.98 < ceilings[0] <= 1
    assert 0.1 < ceilings[1] < 0.7
    assert noise_ceiling(near, np.ones(10)) == noise_ceiling(near, np.ones(10))
    assert noise_ceiling(near, np.ones(10), error=0).value == 1.0
    assert abs(noise_ceiling(np.zeros(11), np.ones(10)).value or 0) < 0.02
    assert noise_ceiling([5.0, math.nan], np.ones(10)).value is None
    assert noise_ceiling(near, []).value is None


def test_the_noise_ceiling_of_two_candidates_is_the_exact_probability() -> None:
    """One criterion, totals 1 apart: a judge keeps or turns the pair with known chances."""
    # A judge sees a difference of 1 - 2, 1, 1 or 1 + 2 with equal chance: 3/4 keep the order.
    expected = (0.75 - 0.25) ** 2
    assert noise_ceiling([1.0, 0.0], [1.0]).value == pytest.approx(expected, abs=0.06)


def test_latent_totals_are_means_of_what_is_there() -> None:
    means = latent_totals([[1.0, math.nan, math.nan], [3.0, 4.0, math.nan]])
    np.testing.assert_array_equal(means, [2.0, 4.0, math.nan])


def test_a_thousand_trials_of_a_hundred_candidates() -> None:
    scores = np.random.default_rng(0).normal(size=(1000, 100))
    places = places_from_scores(scores)
    taus = pair_taus(places)
    assert len(taus.values()) == 499_500
    assert mean_tau(places).value == pytest.approx(taus.mean().value, abs=1e-12)
