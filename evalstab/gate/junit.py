"""The verdict as JUnit XML, for whatever shows test results.

One suite for the gate, a case a rule; one for the series, a case a trial. Failure = the model (a
rule not kept, a trial that failed), error = the environment (invalid), skipped = not run, or still
open. Trials that failed under a gate that passes are told in their output, so that file and exit
code agree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

from evalstab.chat import Json

_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_ATTACHING = re.compile(r"\[\[(?=\s*ATTACHMENT)", re.IGNORECASE)
LONGEST = 2000


def junit(scores: Json) -> bytes:
    """The document, UTF-8. Texts of models and servers are cut, and freed of what XML cannot hold.

    Needs a scored series; a verdict of status ``none`` gives the trials alone.
    """
    return junit_of([("", scores)])


def junit_of(rungs: Sequence[tuple[str, Json]]) -> bytes:
    """The same for several series, as those of a ladder; suites bear the names of their rungs."""
    document = JUnitXml("evalstab")
    for name, scores in rungs:
        series, verdict = scores["series"], scores["verdict"]
        place = f"evalstab.{series['task']}.{series['endpoint']}"
        owner = clean(f"{place}.{name}" if name else place)
        suites = [_gate(owner, verdict)] if verdict["status"] != "none" else []
        for suite in [*suites, _trials(series, scores["trials"], verdict, owner)]:
            if name:
                suite.name = clean(f"{name}: {suite.name}")
            document.add_testsuite(suite)
    return written(document)


def written(document: JUnitXml) -> bytes:
    """The document with its sums, UTF-8, as the schema of Jenkins has it (junit-10.xsd)."""
    document.update_statistics()
    # junitparser counts skipped cases for the whole document, where no schema knows them.
    document._elem.attrib.pop("skipped", None)
    raw: bytes = document.tostring()
    return b"<?xml version='1.0' encoding='utf-8'?>\n" + raw + b"\n"


def clean(value: object) -> str:
    """Text that XML 1.0 can hold, of bounded length, and by which nobody attaches a file."""
    return _ATTACHING.sub("[ [", _NO_XML.sub("", str(value)[:LONGEST]))


def _gate(owner: str, verdict: Json) -> TestSuite:
    suite = TestSuite(clean(f"gate {verdict['gate']}"))
    for key in ("status", "provisional", "trials", "planned", "unseen_share"):
        suite.add_property(key, clean(verdict.get(key)))
    whole = _case("verdict", owner, 0.0)
    _mark(whole, verdict["status"], verdict.get("reason") or "", "verdict")
    whole.system_out = clean("\n".join([*verdict.get("notes", ()), *verdict.get("next", ())]))
    suite.add_testcase(whole)
    for rule in verdict["rules"]:
        case = _case(f"rule {rule['name']}", owner, 0.0)
        _mark(case, rule["status"], rule["reason"], str(rule["kind"]))
        case.system_out = clean(f"{rule['key']}: {rule['reason']}")
        suite.add_testcase(case)
    return suite


def _trials(series: Json, trials: list[Json], verdict: Json, owner: str) -> TestSuite:
    suite = TestSuite(clean(f"{series['task']} on {series['endpoint']}"))
    for key in ("id", "model", "context_target", "simulated", "attempts", "invalid"):
        suite.add_property(key, clean(series.get(key)))
    by_index = {int(trial["index"]): trial for trial in trials}
    last = max([int(series["repeats_planned"]), *by_index])
    for index in range(1, last + 1):
        trial = by_index.get(index)
        seconds = float((trial or {}).get("seconds") or 0.0)
        case = _case(f"trial {index:03d}", f"{owner}.trials", seconds)
        if trial is None:
            case.result = [Skipped("not run", "not run")]
        else:
            _trial(case, trial, passed=verdict["status"] == "pass")
        suite.add_testcase(case)
    return suite


def _trial(case: Any, trial: Json, *, passed: bool) -> None:
    outcome, reason = trial["outcome"], trial.get("reason") or ""
    counts = ", ".join(f"{code} × {n}" for code, n in (trial.get("finding_counts") or {}).items())
    case.system_out = clean(f"{outcome}: {reason}\n{counts}")
    if outcome == "failed" and not passed:
        _mark(case, "fail", reason, "failed")
    elif outcome in ("invalid", "aborted"):
        _mark(case, "invalid", reason, outcome)


def _case(name: str, owner: str, seconds: float) -> Any:
    return TestCase(clean(name), owner, round(seconds, 3))


def _mark(case: Any, status: str, reason: str, kind: str) -> None:
    kinds = {"fail": Failure, "invalid": Error, "undecided": Skipped}
    if status in kinds:
        word = "undecided: " if status == "undecided" else ""
        case.result = [kinds[status](clean(word + reason), clean(kind))]
