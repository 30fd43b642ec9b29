"""Verdicts: what passes, what fails, what stays open, and what is nobody's fault."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evalstab.gate.looks import pass_from
from evalstab.gate.policy import Policy, load_policy
from evalstab.gate.verdict import Circumstances, judge
from tests.gate.making import Json, fault, five_runs, from_places, people, same, scores_of, trial
from tests.gate.test_policy import policy

TAU: dict[str, Any] = {"name": "tau", "metric": "stability.kendall_tau.mean", "min": 0.5}
NIGHTLY = load_policy("nightly", {})
ACCEPTANCE = load_policy("acceptance", {})


def rule_of(verdict: Json, name: str) -> Json:
    """One rule of a verdict."""
    return next(rule for rule in verdict["rules"] if rule["name"] == name)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        ({"value": "stability.winner.distinct", "max": 1}, "fail"),
        ({"metric": "stability.scale.cv", "max": 0.20}, "fail"),
        ({"metric": "stability.scale.cv", "max": 0.25}, "undecided"),
        ({"rate": "stability.winner.modal_share", "min": 0.95}, "fail"),
        ({"rate": "stability.winner.modal_share", "min": 0.90}, "undecided"),
        ({"rate": "stability.winner.modal_share", "min": 0.80}, "undecided"),
        ({"rate": "trial_winner:person_11", "min": 0.80}, "undecided"),
        ({"metric": "stability.candidates.person_09.sd", "max": 1.5}, "fail"),
        ({"metric": "stability.candidates.person_09.sd", "max": 2.0}, "undecided"),
        ({"metric": "stability.winner.pair_agreement", "min": 0.5}, "undecided"),
    ],
)
def test_the_five_run_table_is_read_without_false_precision(
    rule: dict[str, Any], status: str
) -> None:
    verdict = judge(policy([{"name": "mine"} | rule]), five_runs())
    assert rule_of(verdict, "mine")["status"] == status
    assert verdict["status"] == status


def test_the_five_run_table_fails_both_shipped_gates() -> None:
    for gate in (NIGHTLY, ACCEPTANCE):
        verdict = judge(gate, five_runs())
        assert verdict["status"] == "fail"
        assert rule_of(verdict, "tau")["ci_high"] < 0.88


def test_the_numbers_of_the_five_run_table() -> None:
    scale = rule_of(
        judge(policy([{"name": "s", "metric": "stability.scale.cv", "max": 0.2}]), five_runs()), "s"
    )
    assert scale["value"] == pytest.approx(0.350, abs=0.001)
    assert scale["ci_low"] == pytest.approx(0.204, abs=0.001)
    rate = policy([{"name": "r", "rate": "stability.winner.modal_share", "min": 0.8}])
    found = rule_of(judge(rate, five_runs()), "r")
    assert found["value"] == pytest.approx(0.6)
    assert found["ci_high"] == pytest.approx(0.924, abs=0.001)


def test_five_alike_trials_pass_nightly_provisionally_and_say_what_was_not_seen() -> None:
    verdict = judge(NIGHTLY, same(5))
    assert (verdict["status"], verdict["provisional"]) == ("pass", True)
    assert any("45 %" in note for note in verdict["notes"])


def test_thirteen_alike_trials_pass_acceptance_and_eight_do_not() -> None:
    assert judge(ACCEPTANCE, same(8))["status"] == "undecided"
    verdict = judge(ACCEPTANCE, same(13))
    assert (verdict["status"], verdict["provisional"]) == ("pass", False)
    assert any("21 %" in note for note in verdict["notes"])


def test_identical_trials_are_determinism_not_stability() -> None:
    identical = same(13, findings=[{"code": "series.no_variation", "detail": {}}])
    verdict = judge(ACCEPTANCE, identical)
    assert rule_of(verdict, "tau")["status"] == "undecided"
    assert "determinism" in rule_of(verdict, "tau")["reason"]
    accepting = ACCEPTANCE.model_copy(update={"accept_identical": True})
    assert judge(accepting, identical)["status"] == "pass"


def test_a_repeated_input_order_cannot_pass() -> None:
    names = people(11)
    echo = [trial(n, names, **fault("trial.order_echo")) for n in range(1, 14)]
    for gate in (NIGHTLY, ACCEPTANCE):
        assert judge(gate, scores_of(echo, names))["status"] == "fail"


def test_trials_that_the_rig_lost_never_fail_and_never_pass() -> None:
    names = people(11)
    made = [trial(1, names), trial(2, names)]
    made += [trial(n, None, outcome="invalid", cause="server.dead") for n in (3, 4, 5)]
    verdict = judge(NIGHTLY, scores_of(made, names, attrition={"server.dead": 3}))
    assert verdict["status"] == "invalid"
    assert all(rule["status"] != "fail" for rule in verdict["rules"])


def test_a_model_that_kills_its_server_does_not_pass_on_the_survivors() -> None:
    verdict = judge(NIGHTLY, same(5, attrition={"server.restarted": 1}))
    assert verdict["status"] == "invalid"
    assert rule_of(verdict, "crashes")["status"] == "invalid"


def test_one_attempt_lost_to_the_rig_is_allowed_in_five() -> None:
    assert judge(NIGHTLY, same(5, attrition={"stream.dropped": 1}))["status"] == "pass"
    assert judge(NIGHTLY, same(5, attrition={"stream.dropped": 2}))["status"] == "invalid"


def test_a_trial_that_failed_by_itself_is_no_attrition() -> None:
    names = people(11)
    made = [trial(n, names) for n in range(1, 5)]
    made.append(trial(5, names, outcome="failed", cause="step_limit"))
    verdict = judge(NIGHTLY, scores_of(made, names, attrition={"step_limit": 1}))
    assert rule_of(verdict, "attrition")["value"] == 0


def test_missing_trials_leave_a_count_open() -> None:
    rule = {"name": "few", "count": "unranked", "at_most": 1}
    assert judge(policy([rule], repeats=20), same(10))["status"] == "undecided"
    assert judge(policy([rule], repeats=20), same(19))["status"] == "pass"


def test_a_count_fails_as_soon_as_nothing_can_mend_it() -> None:
    names = people(5)
    made = [trial(1, None), trial(2, None), trial(3, names)]
    rule = {"name": "few", "count": "unranked", "at_most": 1}
    assert judge(policy([rule], repeats=20), scores_of(made, names))["status"] == "fail"


def test_unranked_trials_count_as_disagreement_unless_excluded() -> None:
    names = people(11)
    made = [trial(n, names if n > 5 else None) for n in range(1, 14)]
    scores = scores_of(made, names)
    by = {
        how: rule_of(judge(policy([TAU], repeats=13, failed_as=how), scores), "tau")["status"]
        for how in ("excluded", "chance", "worst")
    }
    assert by == {"excluded": "pass", "chance": "undecided", "worst": "undecided"}


def test_our_own_token_limit_is_no_fault_of_the_model() -> None:
    names = people(11)
    rule = {"name": "calls", "count": "trial_has:tool.unfinished", "at_most": 0}
    for side, status in (("harness", "pass"), ("model", "fail")):
        made = [trial(n, names, **fault("tool.truncated", side)) for n in range(1, 6)]
        assert judge(policy([rule]), scores_of(made, names))["status"] == status


def test_a_number_that_was_not_measured_is_open() -> None:
    rule = {"name": "k", "value": "stability.kendall_tau.noise_ceiling", "min": 0.5}
    found = judge(policy([rule]), same(5))
    assert found["status"] == "undecided"
    assert rule_of(found, "k")["value"] is None
    assert "criteria" in rule_of(found, "k")["value_reason"]


def test_means_of_trials() -> None:
    rule = {"name": "time", "metric": "trials.seconds", "max": 1600.0}
    names = people(11)
    made = [trial(n, names, seconds=1400.0 + n) for n in range(1, 11)]
    assert judge(policy([rule], repeats=10), scores_of(made, names))["status"] == "pass"
    missing = [trial(n, names, seconds=None, seconds_reason="lost") for n in range(1, 11)]
    found = rule_of(judge(policy([rule], repeats=10), scores_of(missing, names)), "time")
    assert (found["status"], found["value_reason"]) == ("undecided", "lost")


@pytest.mark.parametrize(
    ("trials", "told"),
    [
        (5, "after 3 more trials (8 in all; it can only fail then, a pass is possible from 13 on)"),
        (8, "after 5 more trials (13 in all)"),
    ],
)
def test_the_next_look_is_told_as_more_trials_and_as_all(trials: int, told: str) -> None:
    verdict = judge(ACCEPTANCE, same(trials))
    assert f"The next planned look comes {told}." in verdict["notes"]


@pytest.mark.parametrize(
    ("rule", "first"),
    [
        ({"count": "ranked", "at_least": 4}, 4),
        ({"count": "unranked", "at_most": 2}, 8),
        ({"count": "unranked", "at_most": 1, "of": 6}, 5),
        ({"rate": "ranked", "min": 0.5}, 9),
        ({"rate": "ranked", "min": 0.9}, None),
        ({"metric": "stability.kendall_tau.mean", "min": 0.6}, 5),
    ],
)
def test_from_when_on_a_gate_can_pass(rule: Json, first: int | None) -> None:
    assert pass_from(policy([{"name": "x"} | rule], repeats=10), 10) == first


def test_a_gate_chosen_afterwards_says_so() -> None:
    verdict = judge(NIGHTLY, same(5), Circumstances(chosen_after=5))
    assert any("chosen after 5 trials" in note for note in verdict["notes"])


def test_trials_beside_a_running_one_do_not_change_a_look() -> None:
    """The verdict goes by the trials in front of the first that is still running."""
    names = people(11)
    made = [trial(n, names) for n in range(1, 15)]
    made[13] = trial(14, None)
    made[5] = trial(6, None, outcome="aborted")
    verdict = judge(ACCEPTANCE, scores_of(made, names))
    assert verdict["trials"] == 5


def test_the_verdict_is_the_same_whether_the_series_went_on_or_not() -> None:
    scores = five_runs()
    first = judge(ACCEPTANCE, scores)
    more = [trial(n, people(11)) for n in range(6, 21)]
    went_on = judge(ACCEPTANCE, scores_of([*scores["trials"], *more], people(11)))
    assert rule_of(went_on, "tau")["status"] == rule_of(first, "tau")["status"] == "fail"


_orders = st.lists(st.permutations(people(6)), min_size=0, max_size=9)
_codes = st.sampled_from([None, "tool.truncated", "trial.order_echo", "text.foreign_script"])
_outcomes = st.sampled_from(["completed", "failed", "invalid", "aborted"])


@st.composite
def _series(draw: st.DrawFn) -> Json:
    made = []
    for number, order in enumerate(draw(_orders), 1):
        code, outcome = draw(_codes), draw(_outcomes)
        ranking = order if draw(st.booleans()) else None
        extra: Json = {"outcome": outcome} | (fault(code) if code else {})
        if outcome in ("invalid", "aborted"):
            extra["cause"] = "server.dead" if outcome == "invalid" else "unfinished"
        made.append(trial(number, ranking, **extra))
    lost = sum(t["outcome"] == "invalid" for t in made)
    waiting = sum(t["outcome"] == "aborted" for t in made)
    causes = {"server.dead": lost, "unfinished": waiting}
    return scores_of(made, people(6), attrition={k: v for k, v in causes.items() if v})


@given(_series(), st.sampled_from([NIGHTLY, ACCEPTANCE]))
@settings(max_examples=60, deadline=None)
def test_no_series_breaks_a_verdict(scores: Json, gate: Policy) -> None:
    verdict = judge(gate, scores)
    statuses = {rule["status"] for rule in verdict["rules"]}
    assert verdict["status"] in {"pass", "fail", "undecided", "invalid"}
    assert (verdict["status"] == "pass") == (statuses == {"pass"} and verdict["trials"] >= 3)
    if verdict["status"] == "pass":
        assert not any(t["outcome"] == "invalid" for t in scores["trials"])
    for rule in verdict["rules"]:
        assert rule["reason"]
        for key in ("value", "ci_low", "ci_high"):
            assert rule[key] is not None or rule[f"{key}_reason"]
    assert verdict["more_repeats_needed"] is not None or verdict["more_repeats_needed_reason"]


@given(st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=40, deadline=None)
def test_lost_trials_alone_never_fail(good: int, lost: int) -> None:
    names = people(11)
    made = [trial(n, names) for n in range(1, good + 1)]
    made += [
        trial(n, None, outcome="invalid", cause="stream.dropped")
        for n in range(good + 1, good + lost + 1)
    ]
    scores = scores_of(made, names, attrition={"stream.dropped": lost} if lost else {})
    assert judge(NIGHTLY, scores)["status"] != "fail"


@given(st.permutations(range(11)))
@settings(max_examples=20, deadline=None)
def test_names_do_not_matter(order: list[int]) -> None:
    """Relabelling candidates, the same in every trial, changes no verdict."""
    import numpy as np  # noqa: PLC0415

    from evalstab.statistics.mallows import sample  # noqa: PLC0415

    places = sample(np.random.default_rng(3), 0.4, 11, 13)
    one, other = (judge(ACCEPTANCE, from_places(p)) for p in (places, places[:, order]))
    assert rule_of(one, "tau")["status"] == rule_of(other, "tau")["status"]
    assert rule_of(one, "tau")["ci_low"] == pytest.approx(rule_of(other, "tau")["ci_low"])


def test_without_a_valid_trial_nothing_is_judged() -> None:
    names = people(6)
    cut = trial(1, None, outcome="aborted", cause="server.dead")
    verdict = judge(NIGHTLY, scores_of([cut], names, attrition={"server.dead": 1}))
    assert verdict["status"] == "invalid"
    assert "spoilt all" in verdict["reason"]
    assert verdict["more_repeats_needed"] is None
    assert rule_of(verdict, "crashes")["value"] == 1
    assert rule_of(verdict, "crashes")["status"] == "invalid"
    assert judge(NIGHTLY, scores_of([], names))["reason"].endswith("none has ended yet")
