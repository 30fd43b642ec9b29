"""What to do next: commands that the program understands, the cheapest first."""

from __future__ import annotations

import shlex

import pytest

from evalstab.gate.next import Asked, advice, commands, longer_gate
from evalstab.gate.policy import load_policy
from evalstab.gate.verdict import judge
from tests.gate.making import Json, fault, people, same, scores_of, trial

NIGHTLY = load_policy("nightly", {})
ACCEPTANCE = load_policy("acceptance", {})
SAMPLING: Json = {"repetition_penalty": 1.1, "frequency_penalty": 0.4, "temperature": 0.6}


def asked(**conditions: object) -> Asked:
    """A series of a rating task on a real endpoint."""
    place = "reports/a b"
    target = ("--endpoint", "rig")
    return Asked(place, "eleven-profiles", target, "rig", dict(conditions), 11)


def test_a_failed_gate_at_long_context() -> None:
    names = people(11)
    made = [trial(n, names, **fault("tool.truncated")) for n in range(1, 6)]
    verdict = judge(NIGHTLY, scores_of(made, names))
    found = commands(verdict, NIGHTLY, asked(context=[80_000], sampling=SAMPLING, groups=1))
    verbs = [shlex.split(line)[1] for line in found]
    assert verbs == ["view", "check", "run", "run", "launch", "run"]
    assert [line.partition(":")[0] for line in advice(verdict)] == ["Tool calls"]
    assert "--context 16k" in found[2]
    assert "extra_body.repetition_penalty=1" in found[3]
    assert "sampling.frequency_penalty=0" in found[3]
    assert all("'reports/a b" in line for line in found[2:])


@pytest.mark.parametrize(
    ("keys", "candidates", "steps"),
    [
        (("trial_has:text.foreign_script",), 11, ("evalstab view",)),
        (("deliverables_incomplete",), 11, ("evalstab view",)),
        (("stability.kendall_tau.mean",), 11, ("--groups 2",)),
        (("winner_other",), 5, ("--shuffle",)),
        (("trial_has:trial.order_echo",), 11, ("--shuffle", "--groups 2")),
        (
            ("trial_has:tool.unfinished", "stability.scale.cv"),
            11,
            ("evalstab view", "--groups 2"),
        ),
    ],
)
def test_each_rule_that_fails_has_a_step_of_its_own(
    keys: tuple[str, ...], candidates: int, steps: tuple[str, ...]
) -> None:
    target = ("--endpoint", "sim:faulty")
    one = Asked("reports/a", "t", target, "sim:faulty", {}, candidates, simulated=True)
    rules = [{"key": key, "status": "fail", "reason": ""} for key in keys]
    found = commands({"status": "fail", "rules": rules}, NIGHTLY, one)
    assert len(found) == len(steps)
    assert all(step in line for step, line in zip(steps, found, strict=True))


def test_an_open_gate_goes_on_to_its_next_look() -> None:
    verdict = judge(ACCEPTANCE, same(5))
    assert commands(verdict, ACCEPTANCE, asked()) == ["evalstab resume 'reports/a b' --repeats 8"]


def test_a_provisional_pass_can_be_made_a_full_one() -> None:
    verdict = judge(NIGHTLY, same(5))
    found = commands(verdict, NIGHTLY, asked())
    assert found == ["evalstab resume 'reports/a b' --gate acceptance --repeats 20"]


def test_a_full_pass_needs_nothing() -> None:
    assert commands(judge(ACCEPTANCE, same(13)), ACCEPTANCE, asked()) == []


def test_a_gate_that_cannot_pass_is_never_proposed() -> None:
    few = Asked("reports/a", "three-notes", ("--endpoint", "rig"), "rig", {}, 2)
    names = people(2)
    scores = scores_of([trial(n, names) for n in range(1, 6)], names)
    assert longer_gate(NIGHTLY, 2, {}) is None
    assert longer_gate(NIGHTLY, 11, {}) is not None
    assert longer_gate(ACCEPTANCE, 11, {}) is None
    verdict = judge(NIGHTLY, scores)
    assert not any("--gate" in line for line in commands(verdict, NIGHTLY, few))
    verdict = judge(ACCEPTANCE, scores)
    assert verdict["status"] == "undecided"
    assert not any("resume" in line for line in commands(verdict, ACCEPTANCE, few))
