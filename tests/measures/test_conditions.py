"""Findings of the series: variation, seeds, conditions, caches, saturation, launch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstab.endpoint.base import Clock
from evalstab.measures.score import score_series
from evalstab.series.folder import SeriesFolder
from tests.measures.series_making import (
    Written,
    counted,
    make_series,
    make_step,
    make_task,
    write_trial,
)


def series_of(root: Path, *trials: Written, **changes: Any) -> SeriesFolder:
    series = make_series(root / "series", make_task(root / "task"), **changes)
    (series.root / "launch.json").write_text("{}")
    for index, trial in enumerate(trials, 1):
        write_trial(series, index, trial)
    return series


def trial(text: str, *, cached: int | None = None, **more: Any) -> Written:
    usage = counted(10_000, 50, cached=cached)
    return Written([make_step(1, content=text, usage=usage, **more)])


def findings(series: SeriesFolder) -> dict[str, Any]:
    scores = score_series(series, detect_languages=False)
    return {found["code"]: found["detail"] for found in scores["findings"]}


def test_nothing_to_say(tmp_path: Path) -> None:
    assert findings(series_of(tmp_path, trial("a"), trial("b"), trial("c"))) == {}


def test_equal_outputs_are_one_observation(tmp_path: Path) -> None:
    series = series_of(tmp_path, trial("a"), trial("a"), trial("a"))
    assert findings(series) == {"series.no_variation": {"trials": 3}}
    assert score_series(series)["stability"]["distinct_outputs"] == 1


def test_one_trial_has_no_variation_to_show(tmp_path: Path) -> None:
    assert findings(series_of(tmp_path, trial("a"))) == {}


def test_a_fixed_seed(tmp_path: Path) -> None:
    trials = [Written([make_step(1, content=t)], fields={"seed": 7}) for t in "abc"]
    assert findings(series_of(tmp_path, *trials)) == {"series.fixed_seed": {"seed": 7}}


def test_a_seed_for_each_trial_is_no_fixed_one(tmp_path: Path) -> None:
    trials = [Written([make_step(1, content=str(n))], fields={"seed": n}) for n in range(3)]
    assert findings(series_of(tmp_path, *trials)) == {}


@pytest.mark.parametrize(
    ("odd", "name"),
    [
        (
            Written([make_step(1, content="x")], fields={"model": "m2", "top_p": 0.5}),
            "fields.top_p",
        ),
        (Written([make_step(1, content="x")], fields={"model": "m3"}), "fields.model"),
        (Written([make_step(1, content="x")], opening="Etwas anderes."), "opening"),
        (Written([make_step(1, content="x", model="other")]), "model"),
        (Written([make_step(1, content="x", provider="B")]), "provider"),
        (Written([make_step(1, content="x", fingerprint="fp_2")]), "system_fingerprint"),
        (
            Written([make_step(1, content="x")], fields={"model": "m2", "tools": [{"a": 1}]}),
            "tools",
        ),
    ],
)
def test_mixed_conditions(tmp_path: Path, odd: Written, name: str) -> None:
    usual = [
        Written([make_step(1, content=t, model="m2-awq", provider="A", fingerprint="fp_1")])
        for t in ("a", "b", "c")
    ]
    found = findings(series_of(tmp_path, *usual, odd))
    assert list(found) == ["series.mixed_conditions"]
    differing = found["series.mixed_conditions"]["differing"]
    assert list(differing) == [name]
    assert [1, 2, 3] in differing[name].values()
    assert not any("(" in value for value in differing[name])


def test_a_declared_shuffle_may_change_the_opening(tmp_path: Path) -> None:
    trials = [
        Written([make_step(1, content=t)], opening=t, variation={"order": [t]}) for t in "abc"
    ]
    assert findings(series_of(tmp_path, *trials)) == {}


def test_only_the_first_trial_was_cold(tmp_path: Path) -> None:
    series = series_of(tmp_path, trial("a"), trial("b", cached=9_000), trial("b", cached=9_000))
    detail = findings(series)["series.cold_first_run"]
    assert detail["later_cached"] == [9_000, 9_000]
    assert detail["first_output_differs"] is True


def test_all_cold_or_all_warm_is_no_cold_first(tmp_path: Path) -> None:
    warm = [trial(t, cached=9_000) for t in "abc"]
    assert findings(series_of(tmp_path / "a", *warm)) == {}
    assert findings(series_of(tmp_path / "b", trial("a"), trial("b"))) == {}


def test_a_saturated_client(tmp_path: Path) -> None:
    slow = Clock(sent=0.0, end=1.0, unreliable="the reader fell behind")
    found = findings(series_of(tmp_path, trial("a"), trial("b", clock=slow)))
    detail = found["series.saturated"]
    assert detail["trials"] == [2]
    assert detail["answers"] == [detail["reasons"]["the reader fell behind"]]


def test_no_launch_artefact(tmp_path: Path) -> None:
    series = series_of(tmp_path, trial("a"), trial("b"))
    (series.root / "launch.json").unlink()
    assert list(findings(series)) == ["series.unproven_launch"]


def test_a_simulated_endpoint_needs_no_launch(tmp_path: Path) -> None:
    endpoint = {"name": "sim:drifting", "model": "drifting", "simulated": True}
    series = series_of(tmp_path, trial("a"), trial("b"), endpoint=endpoint)
    (series.root / "launch.json").unlink()
    assert findings(series) == {}
