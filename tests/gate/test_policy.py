"""Gate files: what is read, what is refused, and with which words."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from evalstab.errors import ConfigError
from evalstab.gate.evidence import JUDGED
from evalstab.gate.keys import find_number, known_keys
from evalstab.gate.looks import impossible, looks_of, require_possible
from evalstab.gate.policy import Policy, load_policy, parse_policy, require_known, shipped
from tests.gate.making import same

CONTRACT = """
repeats = 5
rules = [
  { name = "tau",        metric = "stability.kendall_tau.mean", min = 0.5 },
  { name = "complete",   count  = "deliverables_incomplete",     at_most = 0 },
  { name = "leaks",      count  = "trial_has:text.foreign_script", at_most = 1 },
  { name = "unfinished", count  = "trial_has:tool.unfinished",     at_most = 1 },
  { name = "winner",     value  = "stability.winner.distinct",     max = 2 },
  { name = "scale",      value  = "stability.scale.cv",            max = 0.20 },
]
"""


def policy(rules: list[dict[str, Any]], **changes: Any) -> Policy:
    """A policy from rules as they stand in TOML."""
    return parse_policy({"repeats": 5, "rules": rules} | changes, "gate.toml")


def test_shipped_policies_are_read_and_can_pass_on_eleven_candidates() -> None:
    assert shipped() == ["acceptance", "nightly"]
    for name in shipped():
        require_possible(load_policy(name, {}), 11)
    assert load_policy("nightly", {}).repeats == 5
    assert load_policy("acceptance", {}).repeats <= 20


def test_a_gate_of_evalstab_toml_goes_before_a_shipped_one() -> None:
    own = tomllib.loads(CONTRACT)
    found = load_policy("nightly", {"nightly": own | {"repeats": 7}})
    assert (found.repeats, found.name) == (7, "nightly")


def test_a_gate_file(tmp_path: Path) -> None:
    path = tmp_path / "strict.toml"
    path.write_text(CONTRACT)
    found = load_policy(str(path), {})
    assert found.name == "strict"
    assert [rule.kind for rule in found.rules] == ["metric", *["count"] * 3, *["value"] * 2]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"value": "stability.kendal_tau.mean", "min": 0.5}, "stability.kendall_tau.mean"),
        ({"metric": "stability.scale.cvv", "max": 0.2}, "stability.scale.cv"),
        ({"count": "deliverable_incomplete", "at_most": 0}, "deliverables_incomplete"),
        ({"count": "trial_has:text.foreign_scripts", "at_most": 0}, "text.foreign_script"),
        ({"count": "trial_hass:text.loop", "at_most": 0}, "trial_has"),
        ({"count": "trial_outcome:faild", "at_most": 0}, "failed"),
        ({"rate": "stability.winner.modal_shar", "min": 0.8}, "modal_share"),
        ({"metric": "stability.kendall_w", "min": 0.5}, "no interval is known"),
        ({"metric": "stability.winner.modal_share", "min": 0.5}, "write rate"),
        ({"metric": "stability.kendall_tau.mean", "max": 0.5}, "more agreement is better"),
        ({"metric": "stability.kendall_tau.mean", "min": 1.0}, "no number of trials"),
        ({"rate": "ranked", "min": 1.0}, "between 0 and 1"),
        ({"value": "stability.scale.cv"}, "exactly one of"),
        ({"value": "stability.scale.cv", "min": 0, "max": 1}, "exactly one of"),
        ({"value": "stability.scale.cv", "at_most": 1}, "exactly one of"),
        ({"count": "ranked", "max": 1}, "exactly one of"),
        ({"count": "ranked", "value": "stability.scale.cv", "at_most": 1}, "exactly one of"),
        ({"value": "stability.scale.cv", "maxx": 1}, "max"),
        ({"value": "stability.scale.cv", "max": "nan"}, "max"),
        ({"value": "stability.scale.cv", "max": 1, "of": 3}, "count rules"),
    ],
)
def test_a_wrong_rule_is_refused_with_the_mend(rule: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=r"gate\.toml") as error:
        policy([{"name": "mine"} | rule])
    assert words in str(error.value)


def test_unknown_gates_name_the_nearest() -> None:
    with pytest.raises(ConfigError, match="nightly"):
        load_policy("nigthly", {})
    with pytest.raises(ConfigError, match="does not exist"):
        load_policy("no/such.toml", {})


def test_two_rules_of_one_name_are_refused() -> None:
    rule = {"name": "x", "count": "unranked", "at_most": 0}
    with pytest.raises(ConfigError, match="two rules"):
        policy([rule, rule])


def test_every_known_series_key_is_in_real_scores_or_says_why_not() -> None:
    """Keys that a gate accepts are keys that the measures make (those of this small document)."""
    scores = same(5)
    for key in known_keys():
        if key.startswith("stability.") and find_number(scores, key) is None:
            head, _, last = key.rpartition(".")
            parent: Any = scores
            for part in head.split("."):
                parent = parent[part]
            assert f"{last}_reason" in parent, key
    assert JUDGED == ("completed", "failed")


def test_attrition_has_rules_of_its_own_unless_the_gate_brings_one() -> None:
    rules = [{"name": "x", "count": "unranked", "at_most": 0}]
    assert [r.name for r in policy(rules).all_rules] == ["x", "crashes", "attrition"]
    own = [*rules, {"name": "lost", "count": "attrition:server.*", "at_most": 3}]
    assert [r.name for r in policy(own).all_rules] == ["x", "lost"]


@pytest.mark.parametrize(
    ("rule", "repeats", "candidates", "needed"),
    [
        ({"rate": "trial_has:text.foreign_script", "max": 0.05}, 20, 11, 59),
        ({"rate": "stability.winner.modal_share", "min": 0.8}, 5, 11, 14),
        ({"rate": "stability.success_rate", "min": 0.9}, 28, 11, 29),
        ({"metric": "stability.kendall_tau.mean", "min": 0.5}, 5, 3, 19),
    ],
)
def test_a_gate_that_cannot_pass_names_the_trials_it_would_need(
    rule: dict[str, Any], repeats: int, candidates: int, needed: int
) -> None:
    gate = policy([{"name": "mine"} | rule], repeats=repeats)
    assert [one.needed for one in impossible(gate, candidates)] == [needed]
    with pytest.raises(ConfigError, match=f"--repeats {needed}"):
        require_possible(gate, candidates)
    require_possible(gate.with_repeats(needed), candidates)


def test_a_gate_that_may_not_pass_provisionally_needs_the_full_number() -> None:
    rule = {"name": "tau", "metric": "stability.kendall_tau.mean", "min": 0.6}
    gate = policy([rule], provisional=False)
    assert [one.needed for one in impossible(gate, 11)] == [13]
    require_possible(policy([rule]), 11)


def test_looks() -> None:
    assert looks_of(load_policy("acceptance", {}), 20) == [5, 8, 13, 20]
    assert looks_of(load_policy("nightly", {}), 5) == [5]
    counts = policy([{"name": "x", "count": "unranked", "at_most": 0}])
    assert looks_of(counts, 5) == [3, 4, 5]


@pytest.mark.parametrize(
    "rule",
    [
        {"name": "x", "rate": "trial_winner:nobody", "min": 0.5},
        {"name": "x", "metric": "stability.candidates.nobody.sd", "max": 1.0},
        {"name": "x", "value": "trials.totals.nobody", "max": 1.0},
        {"name": "x", "value": "stability.winner.counts.nobody", "max": 1.0},
    ],
)
def test_a_rule_about_a_candidate_that_there_is_not_is_refused(rule: dict[str, Any]) -> None:
    gate = policy([rule])
    with pytest.raises(ConfigError, match=r"no candidate 'nobody'. Did you mean 'nobody_1'"):
        require_known(gate, ["nobody_1", "velo"])
    require_known(gate, ["nobody", "velo"])


def test_an_impossible_rule_names_the_easier_side() -> None:
    most = policy([{"name": "x", "rate": "trial_has:text.foreign_script", "max": 0.05}])
    with pytest.raises(ConfigError, match="or a higher threshold"):
        require_possible(most, 6)


def test_errors_count_rules_from_one_and_name_only_what_is_wrong() -> None:
    unnamed = {"value": "stability.scale.cv", "max": 0.2}
    with pytest.raises(ConfigError) as refused:
        policy([{"name": "x"} | unnamed, unnamed])
    assert str(refused.value) == "gate.toml: rules[2].name: this key is missing. Add it"
    with pytest.raises(ConfigError) as refused:
        policy([{"name": "x", "value": "stability.scale.vc", "max": 0.2}])
    assert str(refused.value).startswith("gate.toml: rules[1]: unknown key")
    assert "\n" not in str(refused.value)
    with pytest.raises(ConfigError, match=r"rules: it is empty. Write at least 1$"):
        policy([])
