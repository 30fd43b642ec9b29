"""Rates from clocks, and every way in which a clock does not carry one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstab.chat import ServerTimings
from evalstab.endpoint.base import Clock
from evalstab.findings import finding
from evalstab.measures import speed
from evalstab.measures.view import read_trial
from evalstab.task.load import load_task
from evalstab.trial.record import Step
from tests.measures.series_making import (
    Written,
    counted,
    make_series,
    make_step,
    make_task,
    write_trial,
)


def values_of(root: Path, *steps: Step) -> dict[str, Any]:
    series = make_series(root / "series", make_task(root / "task"))
    write_trial(series, 1, Written(list(steps)))
    trial = read_trial(series.trial(1), load_task(series.task_folder))
    values: dict[str, Any] = speed.compute(trial).values["speed"]
    return values


def clock(first: float = 2.0, last: float = 12.0, chunks: int = 501, **more: Any) -> Clock:
    return Clock(sent=0.0, first=first, last=last, end=last, chunks=chunks, **more)


def test_rates_of_one_step(tmp_path: Path) -> None:
    step = make_step(1, content="x", usage=counted(10_000, 501, cached=4_000), clock=clock())
    values = values_of(tmp_path, step)
    assert values["ttft_s"] == {"p50": 2.0, "p99": 2.0}
    assert values["decode_tok_s"]["p50"] == pytest.approx(50.0)
    assert values["prefill_tok_s"]["p50"] == pytest.approx(3_000.0)
    (row,) = values["by_context"]
    assert row["context_tokens"] == 10_501
    assert row["cached_tokens"] == 4_000


def test_several_tokens_a_chunk_leave_the_first_chunk_out(tmp_path: Path) -> None:
    step = make_step(1, content="x", usage=counted(10, 500), clock=clock(chunks=100))
    values = values_of(tmp_path, step)
    assert values["decode_tok_s"]["p50"] == pytest.approx(500 * 99 / 100 / 10)


def test_a_cold_step_counts_as_uncached_where_the_server_counts_cached_ones(
    tmp_path: Path,
) -> None:
    cold = make_step(1, content="x", usage=counted(4_000, 100), clock=clock(chunks=100))
    warm = make_step(2, content="x", usage=counted(6_000, 100, cached=4_000), clock=clock())
    rows = values_of(tmp_path, cold, warm)["by_context"]
    assert [row["cached_tokens"] for row in rows] == [0, 4_000]
    assert [row["prefill_tok_s"] for row in rows] == [2_000.0, 1_000.0]


def test_unknown_cache_means_no_prefill_rate(tmp_path: Path) -> None:
    step = make_step(1, content="x", usage=counted(4_000, 100), clock=clock())
    values = values_of(tmp_path, step)
    assert values["prefill_tok_s"]["p50"] is None
    assert values["prefill_tok_s"]["p50_reason"] == "the server does not state cached tokens"


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (make_step(1, content="x", usage=counted(9, 500)), "the record holds no times"),
        (
            make_step(1, content="x", usage=counted(9, 500), clock=clock(unreliable="saturated")),
            "saturated",
        ),
        (
            make_step(1, content="x", usage=counted(9, 500), clock=clock(chunks=3)),
            "500 tokens came in 3 frames",
        ),
        (
            make_step(1, content="x", usage=counted(9, 5), clock=clock(chunks=5)),
            "fewer than 16 tokens",
        ),
        (make_step(1, content="x", clock=clock()), "the server states no completion tokens"),
        (
            make_step(
                1,
                content="x",
                usage=counted(9, 500),
                clock=clock(),
                findings=[finding("stream.dropped")],
            ),
            "the stream was cut",
        ),
        (
            make_step(1, content="x", usage=counted(9, 500, 400), clock=clock()),
            "reasoning tokens were counted but not streamed",
        ),
        (
            make_step(1, content="x", usage=counted(9, 500), clock=clock(last=2.0)),
            "all of the answer came at one moment",
        ),
        (
            make_step(1, content="x", usage=counted(9, 500), clock=Clock(sent=0.0, end=3.0)),
            "the answer was not streamed, or nothing came",
        ),
    ],
)
def test_no_decode_rate_and_why(tmp_path: Path, step: Step, reason: str) -> None:
    values = values_of(tmp_path, step)
    assert values["decode_tok_s"] == {"p50": None, "p50_reason": reason}
    assert values["by_context"][0]["decode_tok_s_reason"] == reason


def test_the_server_s_clock_stands_beside(tmp_path: Path) -> None:
    timings = ServerTimings(
        prompt_tokens=1_000,
        prompt_seconds=2.0,
        decoded_tokens=300,
        decode_seconds=6.0,
        cached_tokens=500,
    )
    step = make_step(1, content="x", usage=counted(1_500, 300), timings=timings)
    values = values_of(tmp_path, step)
    assert values["server_decode_tok_s"]["p50"] == 50.0
    assert values["server_prefill_tok_s"]["p50"] == 500.0
    assert values["decode_tok_s"]["p50"] is None
    assert values["by_context"][0]["cached_tokens"] == 500


def test_nothing_answered(tmp_path: Path) -> None:
    values = values_of(tmp_path)
    assert values["by_context"] == []
    assert values["ttft_s"]["p50_reason"] == "no step was answered"
