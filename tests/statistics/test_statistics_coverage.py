"""The coverage simulation reproduces the published tables, within Monte-Carlo error."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks" / "coverage.py"
SEED = 7

COVERAGE = {
    # (phi, trials): measured coverage in % of nominal 95 % intervals, 2,000 replicates a cell
    "pairs as independent": {
        (0.1, 5): 59.8,
        (0.3, 5): 69.0,
        (0.5, 5): 71.9,
        (0.7, 5): 78.3,
        (0.3, 3): 84.5,
        (0.3, 20): 38.8,
    },
    "percentile bootstrap, duplicates = 1": {(0.1, 5): 60.9, (0.3, 5): 63.4, (0.3, 20): 86.8},
    "percentile bootstrap, duplicates dropped": {(0.1, 5): 76.0, (0.3, 5): 85.0, (0.3, 3): 54.9},
    "infinitesimal jackknife, normal": {(0.1, 5): 73.3, (0.5, 5): 77.3, (0.3, 20): 90.2},
    "jackknife-t": {(0.1, 5): 94.8, (0.3, 5): 94.7, (0.3, 3): 94.9, (0.3, 20): 94.5},
    "REG": {
        (0.1, 5): 97.5,
        (0.3, 5): 96.2,
        (0.5, 5): 96.1,
        (0.7, 5): 97.0,
        (0.3, 3): 98.5,
        (0.3, 20): 95.0,
    },
}

STOPPING = {
    # (rule, model): pass %, fail %, expected trials; 10,000 replicates
    ("default", "stable .85"): (100, 0, 13.0),
    ("default", "fair .75"): (98.5, 0, 13.8),
    ("default", "exactly .60"): (4.9, 2.2, 19.6),
    ("default", "poor .45"): (0, 89.7, 13.2),
    ("default", "unstable .25"): (0, 100, 6.6),
    ("naive peeking", "exactly .60"): (21.2, 15.0, 15.7),
    ("naive peeking", "stable .85"): (100, 0, 3.8),
}


@pytest.fixture(scope="module")
def coverage() -> ModuleType:
    spec = importlib.util.spec_from_file_location("coverage_simulation", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def margin(percent: float, replicates: int, published_replicates: int) -> float:
    """Four standard errors of the difference of two simulated percentages, at least .5."""
    variance = percent * (100 - percent)
    return max(0.5, 4 * math.sqrt(variance / replicates + variance / published_replicates))


def test_reg_covers_and_the_common_mistake_does_not(coverage: ModuleType) -> None:
    for cell in (coverage.Cell(0.3, 5), coverage.Cell(0.3, 5, missing=2)):
        rows = coverage.measure_coverage(cell, 200, SEED, ("REG",))
        assert [row.method for row in rows] == ["REG"]
        assert rows[0].covers >= 92
        assert rows[0].above <= 6
        assert 0.2 < rows[0].width < 0.7
    (mistake,) = coverage.measure_coverage(
        coverage.Cell(0.3, 5), 200, SEED, ("pairs as independent",)
    )
    assert 55 < mistake.covers < 82


def test_the_default_rule_spends_its_error_and_peeking_overspends(coverage: ModuleType) -> None:
    default = coverage.measure_stopping("default", "exactly .60", 200, SEED)
    peeking = coverage.measure_stopping("naive peeking", "exactly .60", 200, SEED)
    assert default.passes <= 10
    assert default.fails <= 8
    assert default.expected_trials > 18.5
    assert peeking.passes > 13
    assert peeking.fails > 8


def test_the_seed_makes_the_numbers(coverage: ModuleType) -> None:
    cell = coverage.Cell(0.5, 5)
    one = coverage.measure_coverage(cell, 30, 1, ("REG",))
    assert one == coverage.measure_coverage(cell, 30, 1, ("REG",))
    assert one != coverage.measure_coverage(cell, 30, 2, ("REG",))


def test_the_script_prints_one_json_document_with_its_seed() -> None:
    command = [sys.executable, str(SCRIPT), "--replicates", "2", "--seed", "5", "--json"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=SCRIPT.parents[1],
        env={"PYTHONPATH": str(SCRIPT.parents[1])},
    )
    document: dict[str, Any] = json.loads(done.stdout)
    assert (document["seed"], document["replicates"]) == (5, 2)
    assert {"coverage", "stopping"} <= document.keys()


@pytest.mark.nightly
@pytest.mark.parametrize("method", sorted(COVERAGE))
def test_published_coverage(coverage: ModuleType, method: str) -> None:
    for (phi, trials), expected in COVERAGE[method].items():
        cell = coverage.Cell(phi, trials)
        (row,) = coverage.measure_coverage(cell, 2000, SEED, (method,))
        assert row.covers == pytest.approx(expected, abs=margin(expected, 2000, 2000)), cell


@pytest.mark.nightly
def test_coverage_with_missing_candidates(coverage: ModuleType) -> None:
    (row,) = coverage.measure_coverage(coverage.Cell(0.3, 5, missing=2), 2000, SEED, ("REG",))
    assert row.undefined == 0
    assert 95 <= row.covers <= 99.5
    assert row.above <= 2.5
    (sparse,) = coverage.measure_coverage(coverage.Cell(0.3, 5, missing=4), 500, SEED, ("REG",))
    assert sparse.undefined > 75


@pytest.mark.nightly
@pytest.mark.parametrize(("rule", "model"), sorted(STOPPING))
def test_published_error_and_expected_trials(coverage: ModuleType, rule: str, model: str) -> None:
    passes, fails, trials = STOPPING[rule, model]
    found = coverage.measure_stopping(rule, model, 2000, SEED)
    assert found.passes == pytest.approx(passes, abs=margin(passes, 2000, 10_000))
    assert found.fails == pytest.approx(fails, abs=margin(fails, 2000, 10_000))
    assert found.expected_trials == pytest.approx(trials, abs=0.5)


@pytest.mark.nightly
def test_the_minimum_of_trials_removes_cheap_passes(coverage: ModuleType) -> None:
    model = "identical + 22.5 % random"
    default = coverage.measure_stopping("default", model, 2000, SEED)
    provisional = coverage.measure_stopping("provisional", model, 2000, SEED)
    assert default.passes == pytest.approx(3.9, abs=margin(3.9, 2000, 10_000))
    assert provisional.passes > 20
