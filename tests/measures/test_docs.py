"""The measures page is made from the code, and every measure describes what it writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from evalstab.findings import CODES
from evalstab.measures.base import SeriesMeasure, TrialMeasure
from evalstab.measures.catalogue import SERIES_MEASURES, TRIAL_MEASURES
from evalstab.measures.score import score_series
from tests.measures.test_score import five_trials

ROOT = Path(__file__).resolve().parents[2]
Measure = TrialMeasure | SeriesMeasure


def test_the_page_is_not_stale() -> None:
    made = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "generate.py"), "measures", "-"],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    page = (ROOT / "docs" / "measures" / "README.md").read_text(encoding="utf-8")
    assert page == made.stdout.removesuffix("\n"), "run: python docs/generate.py measures"


@pytest.mark.parametrize("measure", [*TRIAL_MEASURES, *SERIES_MEASURES], ids=lambda m: m.name)
def test_every_measure_explains_itself(measure: Measure) -> None:
    assert measure.meaning.endswith((".", "?"))
    assert set(measure.codes) <= CODES.keys()
    for fact in measure.facts:
        assert fact.meaning
        assert fact.unit


def test_every_fact_is_written_and_every_value_is_a_fact(tmp_path: Path) -> None:
    scores = score_series(five_trials(tmp_path))
    for measure in TRIAL_MEASURES:
        for fact in measure.facts:
            if not fact.key.startswith("accuracy."):
                assert has(scores["trials"][0], fact.key), fact.key
    for series_measure in SERIES_MEASURES:
        for fact in series_measure.facts:
            assert has(scores, fact.key), fact.key
    keys = {fact.key.split(".")[0] for measure in TRIAL_MEASURES for fact in measure.facts}
    head = {
        "index",
        "attempt",
        "outcome",
        "reason",
        "seconds",
        "steps",
        "resumed",
        "findings",
        "finding_counts",
        "findings_omitted",
    }
    written = {key for key in scores["trials"][0] if not key.endswith("_reason")}
    assert written <= keys | head


def has(document: dict[str, Any], key: str) -> bool:
    inner: Any = document
    for part in key.split("."):
        if not isinstance(inner, dict) or part not in inner:
            return False
        inner = inner[part]
    return True
