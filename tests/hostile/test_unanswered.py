"""Series whose server never answered: the endpoint is to blame, and the message says so."""

from __future__ import annotations

from pathlib import Path

from evalstab.endpoint.base import Attempt
from evalstab.findings import finding
from evalstab.measures.score import score_series
from evalstab.series.folder import SeriesFolder
from evalstab.trial.record import Step
from evalstab.workflow.gates import unjudgeable
from tests.measures.series_making import AT, Written, make_series, make_step, make_task, write_trial


def series_of(tmp_path: Path, trial: Written) -> SeriesFolder:
    """A series with this one trial."""
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"))
    write_trial(series, 1, trial)
    return series


def test_a_stalled_server_is_to_blame_for_what_was_not_written(tmp_path: Path) -> None:
    attempt = Attempt(
        number=1,
        at=AT,
        status=200,
        action="end_trial",
        error="nothing for 3 s",
        findings=(finding("stream.stalled", step=1),),
    )
    step = Step(number=1, started=0.0, seconds=3.0, attempts=(attempt,), results=(), append=())
    reason = "nothing for 3 s"
    trial = Written(steps=[step], outcome="failed", ending="endpoint", reason=reason)
    series = series_of(tmp_path, trial)
    scores = score_series(series)
    assert {f["side"] for f in scores["trials"][0]["findings"]} == {"endpoint"}
    problem = unjudgeable(scores, series)
    assert problem is not None
    assert "stream.stalled: nothing for 3 s" in problem
    assert "tool" not in problem


def test_a_model_that_only_talks_is_to_blame_itself(tmp_path: Path) -> None:
    series = series_of(tmp_path, Written(steps=[make_step(1, content="Fertig.")]))
    scores = score_series(series)
    missing = [
        f for f in scores["trials"][0]["findings"] if f["code"] == "trial.deliverable_missing"
    ]
    assert [f["side"] for f in missing] == ["model"]
    assert "never called a tool" in (unjudgeable(scores, series) or "")
