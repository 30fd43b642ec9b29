"""JUnit XML: readable by the usual reader, whatever a model or server wrote."""

from __future__ import annotations

import io

from hypothesis import given, settings
from hypothesis import strategies as st
from junitparser import JUnitXml

from evalstab.gate.junit import LONGEST, junit
from evalstab.gate.policy import load_policy
from evalstab.gate.verdict import judge
from tests.gate.making import Json, five_runs, people, same, scores_of, trial

NIGHTLY = load_policy("nightly", {})


def judged(scores: Json) -> Json:
    """Scores with the verdict of the nightly gate."""
    return scores | {"verdict": judge(NIGHTLY, scores)}


def cases(document: bytes) -> dict[str, str]:
    """Name of each test case and the tag of its result, empty where it passed."""
    found = JUnitXml.fromfile(io.BytesIO(document))
    return {
        case.name: "".join(type(r).__name__.lower() for r in case.result)
        for suite in found
        for case in suite
    }


def test_failure_is_the_model_and_counts_agree() -> None:
    document = junit(judged(five_runs()))
    found = cases(document)
    assert found["verdict"] == "failure"
    assert found["rule winner"] == "failure"
    assert found["rule tau"] == "skipped"
    assert found["rule complete"] == ""
    assert found["trial 001"] == ""
    read = JUnitXml.fromfile(io.BytesIO(document))
    assert read.tests == len(found)
    assert read.failures == sum(tag == "failure" for tag in found.values())


def test_error_is_the_environment_and_skipped_was_not_run() -> None:
    names = people(11)
    made = [trial(1, names), trial(2, None, outcome="invalid", reason="died", cause="server.dead")]
    scores = scores_of(made, names, planned=5, attrition={"server.dead": 1})
    found = cases(junit(judged(scores)))
    assert found["verdict"] == "error"
    assert found["trial 002"] == "error"
    assert found["trial 003"] == found["trial 005"] == "skipped"


def test_an_open_verdict_is_skipped_and_a_pass_has_no_failure() -> None:
    assert cases(junit(judged(same(2, planned=5))))["verdict"] == "skipped"
    names = people(11)
    made = [trial(n, names) for n in range(1, 6)]
    made[2] |= {"outcome": "failed", "reason": "step limit", "cause": "step_limit"}
    scores = judged(scores_of(made, names, attrition={"step_limit": 1}))
    assert scores["verdict"]["status"] == "pass"
    assert set(cases(junit(scores)).values()) == {""}


def test_without_a_gate_there_are_the_trials() -> None:
    assert list(cases(junit(same(2)))) == ["trial 001", "trial 002"]


@given(st.text(st.characters(codec=None), max_size=50))
@settings(max_examples=60, deadline=None)
def test_hostile_texts_stay_valid_xml(text: str) -> None:
    bad = f"\x1b[31m]]>&<failure>\x00\x0b\ufffe{text}" + "x" * 10 * LONGEST
    names = people(11)
    made = [trial(n, names, reason=bad, outcome="failed", cause=bad) for n in range(1, 6)]
    made[0]["finding_counts"] = {bad: 1}
    scores = scores_of(made, names)
    scores["series"] |= {"task": bad, "endpoint": bad, "model": bad, "id": bad}
    scores = judged(scores)
    scores["verdict"]["gate"] = bad
    scores["verdict"]["rules"][0] |= {"name": bad, "reason": bad, "status": "fail"}
    document = junit(scores)
    assert len(cases(document)) >= 6
    assert len(document) < 60 * LONGEST
    document.decode("utf-8")
