"""A night as one JUnit document: the night itself, then the suites of every series.

Error = endpoint, rig or configuration; failure = the model; skipped = left out, or still open.
"""

from __future__ import annotations

from typing import Any

from junitparser import Error, JUnitXml, Skipped, TestCase, TestSuite

from evalstab.gate.junit import clean, junit, written
from evalstab.nightly.night import Item, Night
from evalstab.nightly.results import scores_of


def night_junit(night: Night) -> bytes:
    """The document, UTF-8; texts of models and servers are cut, and freed of what XML cannot hold.

    Drift stands in the output of a series, never as a failure: the exit code does not speak of it.
    """
    document = JUnitXml("evalstab nightly")
    suite = TestSuite("night")
    for key in ("id", "started", "ended", "budget", "exit_code"):
        suite.add_property(key, clean(getattr(night, key)))
    for item in night.items:
        suite.add_testcase(_case(item))
    document.add_testsuite(suite)
    for item in night.items:
        for result in item.results:
            scores = scores_of(result.folder)
            if scores is not None:
                for own in JUnitXml.fromstring(junit(scores)):
                    own.name = clean(f"{item.name}: {own.name}")
                    own.add_property("folder", clean(result.folder))
                    document.add_testsuite(own)
    return written(document)


def _case(item: Item) -> Any:
    case = TestCase(clean(item.name), "evalstab.nightly", round(item.seconds, 3))
    lines = [f"{result.folder}: {result.state}. {result.reading}" for result in item.results]
    pages = [f"[[ATTACHMENT|{clean(result.folder)}/report.html]]" for result in item.results]
    case.system_out = "\n".join([clean("\n".join(lines)), *pages])
    problem = clean(item.problem or "")
    if item.status == "left_out":
        case.result = [Skipped(problem, "left out")]
    elif item.status in ("planned", "running"):
        case.result = [Skipped("not finished: evalstab nightly goes on with it", "not run")]
    elif item.status in ("stopped", "cut"):
        case.result = [Error(problem, item.status)]
    return case
