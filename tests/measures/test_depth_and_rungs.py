"""Speed at depth, first divergence, position, and a ladder's rows, from records on the disk."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstab.chat import ServerTimings
from evalstab.endpoint.base import Clock, encoded_gaps
from evalstab.measures.ladder import ladder_result
from evalstab.measures.score import score_series
from evalstab.report.ladder import build_ladder_report
from evalstab.report.page import Table
from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFolder
from evalstab.series.ladder import LadderFile, Rung
from evalstab.trial.record import Step
from tests.measures.series_making import (
    PEOPLE,
    Written,
    counted,
    make_series,
    make_step,
    make_task,
    ranking_json,
    write_trial,
    writes,
)

FIXTURE = Path(__file__).parents[2] / "fixtures" / "speed-at-depth.json"
SETUPS = json.loads(FIXTURE.read_text(encoding="utf-8"))["setups"]
TOKENS = 401
TOTALS = {person: 140.0 - 6 * place for place, person in enumerate(PEOPLE)}


def _step(number: int, context: int, decode: float, prefill: float | None, **more: Any) -> Step:
    """A step whose clocks say these rates at this context; without ``prefill`` it was cached."""
    prompt = context - TOKENS
    first = prompt / prefill if prefill else 0.4
    last = first + (TOKENS - 1) / decode
    call, result = writes("ranking.json", ranking_json(TOTALS))
    return make_step(
        number,
        content=f"Stand {number} {more.get('words', '')}",
        calls=[call],
        results=[result],
        usage=counted(prompt, TOKENS, cached=0 if prefill else prompt - 16),
        timings=ServerTimings(
            prompt_tokens=prompt if prefill else 16,
            prompt_seconds=first,
            decoded_tokens=TOKENS,
            decode_seconds=TOKENS / decode,
            drafted_tokens=more.get("drafted"),
            accepted_tokens=more.get("accepted"),
        ),
        clock=Clock(
            sent=0.0,
            first=first,
            last=last,
            end=last,
            chunks=TOKENS,
            gaps=encoded_gaps((round(1e6 / decode),) * (TOKENS - 1)),
        ),
    )


def _series(root: Path, trials: list[Written], **changes: Any) -> SeriesFolder:
    series = make_series(root / "series", make_task(root / "task"), **changes)
    for index, trial in enumerate(trials, 1):
        write_trial(series, index, trial)
    return series


def _ranked(*steps: Step, **changes: Any) -> Written:
    return Written(list(steps), {"ranking.json": ranking_json(TOTALS)}, **changes)


@pytest.mark.parametrize("setup", SETUPS, ids=[setup["name"] for setup in SETUPS])
def test_the_operators_speed_table(setup: dict[str, Any], tmp_path: Path) -> None:
    known = []
    for number, point in enumerate(setup["points"]):
        size = point["context"]
        step = _step(1, size, point["decode"], point.get("prefill"))
        changes = {"conditions": {"context": [size], "concurrency": 1}}
        series = _series(tmp_path / str(number), [_ranked(step)] * 2, **changes)
        scores = score_series(series, detect_languages=False)
        rung = Rung(name=f"{size // 1000}k", context_target=size, concurrency=1, control=not number)
        known.append((rung, scores))
    result = ladder_result(known)
    file = LadderFile(
        id="x", created="", task="t", endpoint="rig", simulated=False, repeats=2, seed=1, request={}
    )
    report = build_ladder_report(file, result, tmp_path)
    table = next(s for s in report.sections if s.title == "Speed by rung").blocks[0]
    assert isinstance(table, Table)
    for point, row in zip(setup["points"], table.rows, strict=True):
        cells = dict(zip(table.header, row, strict=True))
        assert float(cells["decode tok/s"]) == pytest.approx(point["decode"], rel=0.005)
        if "prefill" in point:
            assert float(cells["prefill tok/s"]) == pytest.approx(point["prefill"], rel=0.005)
        else:
            assert cells["prefill tok/s"] == "–"


def test_a_ladder_of_load_blames_no_context(tmp_path: Path) -> None:
    known = []
    for level in (1, 2):
        conditions = {"context": None, "concurrency": level}
        trials = [_ranked(_step(1, 5_000, 30.0, None))] * 2
        series = _series(tmp_path / str(level), trials, conditions=conditions)
        scores = score_series(series, detect_languages=False)
        rung = Rung(name=f"c{level}", context_target=None, concurrency=level, control=level == 1)
        known.append((rung, scores))
    file = LadderFile(
        id="x", created="", task="t", endpoint="rig", simulated=False, repeats=2, seed=1, request={}
    )
    report = build_ladder_report(file, ladder_result(known), tmp_path)
    assert report.question == "Does load change this judgement?"
    assert "is not that of the load" in report.answer.points[0]
    assert not any("context" in point for point in report.answer.points)


def test_three_sources_and_why_one_is_missing(tmp_path: Path) -> None:
    series = _series(tmp_path, [_ranked(_step(1, 80_000, 13.1, 350.0))] * 2)
    client, server, counters = score_series(series, detect_languages=False)["speed"]["sources"]
    assert client["decode_tok_s"] == pytest.approx(13.1, rel=0.01)
    assert server["prefill_tok_s"] == pytest.approx(350)
    assert counters["decode_tok_s"] is None
    assert "was not read before and after" in counters["decode_tok_s_reason"]
    before = {"generated_tokens": 100.0, "decode_seconds": 5.0, "preemptions": 1.0, "started": 9.0}
    after = {"generated_tokens": 940.0, "decode_seconds": 65.0, "preemptions": 3.0, "started": 9.0}
    spans = [{"before": before, "after": after}]
    write_json(series.root / "metrics.json", {"schema_version": 1, "spans": spans})
    speed = score_series(series, detect_languages=False)["speed"]
    assert speed["sources"][2]["decode_tok_s"] == pytest.approx(14)
    assert speed["sources"][2]["prefill_tok_s"] is None
    assert speed["preemptions"] == 2
    spans[0]["after"] = after | {"started": 10.0}
    write_json(series.root / "metrics.json", {"schema_version": 1, "spans": spans})
    speed = score_series(series, detect_languages=False)["speed"]
    assert speed["sources"][2]["decode_tok_s_reason"] == (
        "the server was restarted during the series"
    )


def test_speculative_acceptance_from_timings(tmp_path: Path) -> None:
    step = _step(1, 9_000, 50.0, 900.0, drafted=200, accepted=150)
    speed = score_series(_series(tmp_path, [_ranked(step)]), detect_languages=False)["speed"]
    assert speed["speculative_acceptance"] == 0.75


def test_a_cold_first_trial_is_kept_apart(tmp_path: Path) -> None:
    cold = _ranked(_step(1, 40_000, 20.0, 500.0))
    warm = _ranked(_step(1, 40_000, 20.0, None))
    scores = score_series(_series(tmp_path, [cold, warm, warm]), detect_languages=False)
    assert [found["code"] for found in scores["findings"] if "cold" in found["code"]] == [
        "series.cold_first_run"
    ]
    speed = scores["speed"]
    assert speed["cold_first"]["prefill_tok_s"] == pytest.approx(500)
    assert speed["ttft_s"]["p99"] == pytest.approx(0.4)
    assert speed["prefill_tok_s"]["p50"] is None
    assert speed["decode_tok_s"]["steps"] == 3


def test_gaps_between_frames(tmp_path: Path) -> None:
    scores = score_series(_series(tmp_path, [_ranked(_step(1, 9_000, 50.0, 900.0))]))
    assert scores["speed"]["gap_p99_ms"]["p50"] == pytest.approx(20)
    (row,) = scores["trials"][0]["speed"]["by_context"]
    assert row["latency_s"] == pytest.approx((9_000 - TOKENS) / 900 + (TOKENS - 1) / 50)


def test_first_divergence_side_by_side(tmp_path: Path) -> None:
    same = [_step(1, 9_000, 50.0, 900.0)]
    one = _ranked(*same, _step(2, 10_000, 50.0, None, words="gut"))
    other = _ranked(*same, _step(2, 10_000, 50.0, None, words="gar nicht"))
    found = score_series(_series(tmp_path, [one, one, other]), detect_languages=False)["divergence"]
    assert found["pairs"] == 3
    assert found["identical_first_answers"] == 1
    assert found["identical_throughout"] == pytest.approx(1 / 3)
    assert found["first_step"] == {"least": 2, "median": 2.0}
    example = found["example"]
    assert (example["step"], example["channel"], example["trials"]) == (2, "content", [1, 3])
    assert example["texts"] == ["Stand 2 gut", "Stand 2 gar nicht"]
    assert example["at"] == len("Stand 2 g")
    assert found["engine_nondeterministic"] is None


@pytest.mark.parametrize(("words", "engine"), [("anders", True), ("", False)])
def test_at_temperature_0_differences_are_the_engines(
    words: str, engine: bool, tmp_path: Path
) -> None:
    fields = {"model": "m2", "temperature": 0}
    one = _ranked(_step(1, 9_000, 50.0, 900.0), fields=fields)
    other = _ranked(_step(1, 9_000, 50.0, 900.0, words=words), fields=fields)
    found = score_series(_series(tmp_path, [one, other]), detect_languages=False)["divergence"]
    assert found["engine_nondeterministic"] is engine


def test_trials_with_other_seeds_have_no_identical_requests(tmp_path: Path) -> None:
    trials = [
        _ranked(_step(1, 9_000, 50.0, 900.0), fields={"model": "m2", "seed": n}) for n in (1, 2)
    ]
    found = score_series(_series(tmp_path, trials), detect_languages=False)["divergence"]
    assert found["pairs"] == 0
    assert found["example_reason"] == "no two answered trials had identical requests"


def test_the_deviation_from_the_target_is_an_outcome(tmp_path: Path) -> None:
    conditions = {"conditions": {"context": [10_000], "concurrency": 1}}
    trials = [_ranked(_step(1, size, 50.0, 900.0)) for size in (10_200, 11_600, 8_400)]
    scores = score_series(_series(tmp_path, trials, **conditions), detect_languages=False)
    deviations = [trial["context_deviation"] for trial in scores["trials"]]
    assert deviations == pytest.approx([0.02, 0.16, -0.16])
    missed = ["context.target_missed" in t["finding_counts"] for t in scores["trials"]]
    assert missed == [False, True, True]
    found = [f for t in scores["trials"] for f in t["findings"]]
    sides = {f["side"] for f in found if f["code"] == "context.target_missed"}
    assert sides == {"harness"}


def test_what_a_ladder_says_of_rungs_that_fall_apart(tmp_path: Path) -> None:
    stable = [_ranked(_step(1, 9_000, 50.0, 900.0))] * 6
    loose = []
    points = list(TOTALS.values())
    for shift in range(6):
        turned = dict(zip(PEOPLE, points[shift:] + points[:shift], strict=True))
        step = _step(1, 60_000, 50.0, None)
        loose.append(Written([step], {"ranking.json": ranking_json(turned)}))
    one = score_series(_series(tmp_path / "a", stable), detect_languages=False)
    other = score_series(_series(tmp_path / "b", loose), detect_languages=False)
    control = Rung(name="16k", context_target=16_000, concurrency=1, control=True)
    deep = Rung(name="60k", context_target=60_000, concurrency=1)
    result = ladder_result([(control, one), (deep, other)])
    change = result["rungs"][1]["change"]
    assert change["reading"] == "less stable"
    assert change["ci_high"] < 0
    assert result["answer"] == {"reading": "less stable", "rung": "60k"}
    few = ladder_result([(control, one), (deep, one | {"trials": one["trials"][:2]})])
    assert few["rungs"][1]["change"]["reading"] == "too few trials"
    assert "3 ranked trials" in few["rungs"][1]["change"]["difference_reason"]
