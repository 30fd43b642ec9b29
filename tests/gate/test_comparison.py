"""Two series: what may be compared, and which of the two questions is answered how."""

from __future__ import annotations

import numpy as np
import pytest

from evalstab.errors import FolderError, UsageError
from evalstab.gate.comparable import differences, not_varied, require_equal_work
from evalstab.gate.comparison import TOO_FEW, Pair, compare
from evalstab.gate.evidence import Evidence, evidence_of
from evalstab.statistics.mallows import sample
from tests.gate.making import from_places

BASE = {"model": "m", "quant": "AWQ", "launch": "unknown", "sampling": {"temperature": 0.6}}
NEW = {"model": "m", "quant": "GPTQ", "launch": "unknown", "sampling": {"temperature": 1.0}}


def test_other_work_is_refused_by_its_fields() -> None:
    with pytest.raises(FolderError, match="max_steps"):
        require_equal_work({"max_steps": 60, "prompt": "a"}, {"max_steps": 12, "prompt": "a"})
    assert require_equal_work({"prompt": "a"}, {"prompt": "a"}) == []
    assert require_equal_work({"prompt": "a", "x": 1}, {"prompt": "a"}) == ["x"]
    assert require_equal_work({}, {"prompt": "a"}) == ["the whole work"]


def test_declared_factors_are_the_question_and_the_rest_is_said() -> None:
    found = {one.factor: one.kind for one in differences(BASE, NEW, ["quant"])}
    assert found == {
        "quant": "declared",
        "sampling.temperature": "undeclared",
        "launch": "cannot tell",
    }
    covering = differences(BASE, NEW, ["sampling"])
    assert {one.factor: one.kind for one in covering}["sampling.temperature"] == "declared"
    assert not_varied(covering, ["sampling", "model"]) == ["model"]


def test_an_unknown_factor_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="quant"):
        differences(BASE, NEW, ["quants"])


def test_a_condition_that_one_side_does_not_state_cannot_be_told() -> None:
    found = {one.factor: one.kind for one in differences({}, NEW, [])}
    assert found["model"] == "cannot tell"


def side(phi: float, trials: int, seed: int, *, reverse: bool = False) -> Evidence:
    """Simulated trials around one order, or around its reverse."""
    places = sample(np.random.default_rng(seed), phi, 11, trials)
    return evidence_of(from_places(12 - places if reverse else places), 1)


def test_less_stable_and_the_same_consensus() -> None:
    found = compare(Pair(side(0.15, 10, 1), side(0.75, 10, 2)))
    assert found["stability"]["answer"] == "yes"
    assert found["stability"]["difference"] < 0
    assert found["not_worse"]["answer"] == "no"


def test_as_stable_and_another_consensus() -> None:
    found = compare(Pair(side(0.1, 9, 3), side(0.1, 9, 4, reverse=True)))
    assert found["stability"]["answer"] == "not shown"
    assert found["consensus"]["answer"] == "yes"
    assert found["consensus"]["tau_between"] < -0.8


def test_the_same_model_twice() -> None:
    found = compare(Pair(side(0.1, 20, 5), side(0.1, 20, 6)))
    answers = [found[key]["answer"] for key in ("stability", "consensus", "scale")]
    assert "yes" not in answers
    assert found["not_worse"]["answer"] == "yes"


def test_too_few_trials_are_said_and_never_no_change() -> None:
    found = compare(Pair(side(0.3, 3, 7), side(0.3, 3, 8, reverse=True)))
    assert found["consensus"]["answer"] == TOO_FEW
    assert found["consensus"]["smallest_p"] == pytest.approx(0.1)
    one = compare(Pair(side(0.3, 1, 7), side(0.3, 1, 8)))
    assert {one[k]["answer"] for k in ("stability", "consensus", "scale")} == {TOO_FEW}


def test_a_count_that_cannot_change_costs_the_others_nothing() -> None:
    pair = Pair(side(0.3, 5, 9), side(0.3, 5, 10, reverse=True))
    few = compare(pair, ["deliverables_incomplete"])
    many = compare(pair, ["deliverables_incomplete", "unranked", "trial_has:text.loop"])
    assert few["consensus"]["p_holm"] == many["consensus"]["p_holm"]
    assert few["consensus"]["answer"] == "yes"


def test_error_of_the_stability_question_when_only_the_consensus_moved() -> None:
    """A permutation test on mean tau would reject in most of these; 5 % is nominal."""
    changed = 0
    for seed in range(60):
        pair = Pair(side(0.3, 5, 100 + seed), side(0.3, 5, 500 + seed, reverse=True))
        p = compare(pair)["stability"]["p"]
        changed += p is not None and p < 0.05
    assert changed <= 9


def test_differences_are_told_in_words() -> None:
    found = differences(
        {"context": None, "shuffle": False}, {"context": [16_000, 40_000], "shuffle": True}, ()
    )
    assert [one.sentence() for one in found] == [
        "context: natural size → 16,000 and 40,000 tokens (not declared)",
        "shuffle: no → yes (not declared)",
    ]
