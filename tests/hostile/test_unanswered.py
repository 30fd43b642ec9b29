"""Series whose server never answered: the endpoint is to blame, and the message says so."""

from __future__ import annotations

from pathlib import Path

from evalstab.endpoint.base import Attempt
from evalstab.findings import finding
from evalstab.measures.score import score_series
from evalstab.report.markdown import render
from evalstab.report.model import build_report
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


def refused() -> Written:
    """A trial whose one request was refused, for its prompt is larger than the context."""
    found = finding(
        "context.overflow", step=1, detail={"prompt": 298_863, "limit": 262_144, "status": 400}
    )
    attempt = Attempt(
        number=1, at=AT, status=400, action="end_trial", error="HTTP 400", findings=(found,)
    )
    step = Step(number=1, started=0.0, seconds=0.1, attempts=(attempt,), results=(), append=())
    return Written(steps=[step], outcome="failed", ending="context", reason="HTTP 400: too long")


def test_refused_prompts_are_the_endpoints_with_both_sizes(tmp_path: Path) -> None:
    series = series_of(tmp_path, refused())
    write_trial(series, 2, refused())
    scores = score_series(series)
    problem = unjudgeable(scores, series) or ""
    told = "context.overflow: the prompt comes to 298,863 tokens, the server holds 262,144"
    assert f"by the endpoint: {told}" in problem
    assert "tool" not in problem
    report = build_report(series, scores)
    assert f"2 by the endpoint ({told})" in report.answer.points[0]
    assert "Faults of the model: not known, something else ended every trial." in (
        report.answer.points
    )
    page = render(report)
    assert "of these failed 2 (2 ended by something else)" in page
    assert "2, of these scored as failed 2." in page


def test_trials_without_an_answer_are_not_called_identical(tmp_path: Path) -> None:
    series = series_of(tmp_path, refused())
    write_trial(series, 2, refused())
    write_trial(series, 3, Written(steps=[make_step(1, content="Fertig.")]))
    scores = score_series(series)
    assert "series.no_variation" not in [found["code"] for found in scores["findings"]]
    assert scores["stability"]["distinct_outputs"] is None
    assert scores["divergence"]["pairs"] == 0
    write_trial(series, 4, Written(steps=[make_step(1, content="Fertig.")]))
    scores = score_series(series)
    assert [f["detail"] for f in scores["findings"] if f["code"] == "series.no_variation"] == [
        {"trials": 2}
    ]
    assert scores["stability"]["distinct_outputs"] == 1
    assert scores["divergence"]["pairs"] == 1
