"""Reasoning tokens with their source, blocks, growth; active context with its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from evalstab.chat import Usage
from evalstab.measures import context, reasoning
from evalstab.measures.base import Measured
from evalstab.measures.view import TrialView, read_trial
from evalstab.task.load import load_task
from evalstab.trial.record import Step
from tests.measures.series_making import (
    Written,
    counted,
    make_series,
    make_step,
    make_task,
    write_trial,
    writes,
)

THOUGHT = "Ich vergleiche die Nachweise der Reihe nach und wäge sie gegeneinander ab. "


def trial_of(root: Path, steps: Sequence[Step], target: int | None = None) -> TrialView:
    series = make_series(root / "series", make_task(root / "task"))
    write_trial(series, 1, Written(list(steps)))
    return read_trial(series.trial(1), load_task(series.task_folder), target)


def values_of(measured: Measured) -> dict[str, Any]:
    values: dict[str, Any] = measured.values["reasoning"]
    return values


def test_the_server_s_split_counts(tmp_path: Path) -> None:
    steps = [
        make_step(1, reasoning=THOUGHT, content="Ja.", usage=counted(1_000, 300, 280)),
        make_step(2, reasoning=THOUGHT * 4, usage=counted(2_000, 900, 880)),
        make_step(3, content="Fertig.", usage=counted(3_000, 10)),
    ]
    values = values_of(reasoning.compute(trial_of(tmp_path, steps)))
    assert (values["tokens"], values["tokens_source"], values["blocks"]) == (1_160, "server", 2)
    assert values["largest_block_tokens"] == 880
    assert values["largest_block"] == {"step": 2, "context_tokens": 2_000}
    assert [step["tokens"] for step in values["per_step"]] == [280, 880, 0]


def test_nothing_but_reasoning_is_counted_by_the_server(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning=THOUGHT, usage=counted(1_000, 300))]
    values = values_of(reasoning.compute(trial_of(tmp_path, steps)))
    assert (values["tokens"], values["tokens_source"]) == (300, "server")


def test_a_share_of_the_answer_is_an_estimate(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning="a" * 300, content="b" * 100, usage=counted(1_000, 400))]
    values = values_of(reasoning.compute(trial_of(tmp_path, steps)))
    assert (values["tokens"], values["tokens_source"]) == (300, "estimate")


def test_the_tokenizer_endpoint_is_named(tmp_path: Path) -> None:
    known = Usage(prompt_tokens=500, completion_tokens=200, reasoning_tokens=150)
    trial = trial_of(tmp_path, [make_step(1, reasoning="a" * 300, content="b", counted=known)])
    values = values_of(reasoning.compute(trial))
    assert (values["tokens"], values["tokens_source"]) == (150, "tokenizer")
    assert context.compute(trial).values["active_context_tokens"] == 700
    assert context.compute(trial).values["tokens_source"] == "tokenizer"


def test_without_any_count_lengths_are_divided(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, [make_step(1, reasoning="a" * 350, content="b" * 35)])
    values = values_of(reasoning.compute(trial))
    assert (values["tokens"], values["tokens_source"]) == (100, "estimate")
    found = context.compute(trial).values
    assert found["tokens_source"] == "estimate"
    assert found["active_context_tokens"] > 110


def test_no_reasoning_is_null_where_nothing_can_be_said(tmp_path: Path) -> None:
    steps = [make_step(1, content="Fertig.", usage=counted(100, 5))]
    values = values_of(reasoning.compute(trial_of(tmp_path, steps)))
    assert (values["tokens"], values["blocks"]) == (0, 0)
    assert values["largest_block_tokens"] is None
    assert values["largest_block_tokens_reason"] == "no reasoning arrived"


def test_growth_over_context(tmp_path: Path) -> None:
    steps = [
        make_step(n, reasoning=THOUGHT, usage=counted(10_000 * n - 100 * n, 100 * n, 100 * n))
        for n in range(1, 8)
    ]
    growth = values_of(reasoning.compute(trial_of(tmp_path, steps)))["growth"]
    assert growth["per_10k"] == pytest.approx(100.0)
    assert growth["ci_low"] == pytest.approx(100.0)
    assert reasoning.growth([(1, 1)] * 4)["per_10k"] is None
    assert reasoning.growth([(5, 1)] * 9)["per_10k_reason"] == "the context did not grow"


def test_growth_has_the_interval_of_least_squares() -> None:
    points = [(10_000, 5), (20_000, 1), (30_000, 9), (40_000, 6), (50_000, 12)]
    growth = reasoning.growth(points)
    reference = stats.linregress([context / 10_000 for context, _ in points], [5, 1, 9, 6, 12])
    half = stats.t.ppf(0.975, 3) * reference.stderr
    assert growth["per_10k"] == pytest.approx(reference.slope)
    assert growth["ci_low"] == pytest.approx(reference.slope - half)
    assert growth["ci_high"] == pytest.approx(reference.slope + half)


def test_thinking_in_the_first_step_only(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning=THOUGHT)] + [make_step(n, content="x") for n in range(2, 6)]
    measured = reasoning.compute(trial_of(tmp_path, steps))
    assert [found.code for found in measured.findings] == ["reasoning.first_step_only"]


def test_repeated_reasoning_is_a_share(tmp_path: Path) -> None:
    steps = [make_step(1, reasoning=THOUGHT * 40)]
    share = values_of(reasoning.compute(trial_of(tmp_path, steps)))["repeated_share"]
    assert share == pytest.approx(39 / 40, abs=0.02)


def test_context_is_that_of_the_delivery(tmp_path: Path) -> None:
    write, result = writes("ranking.json", "[]")
    steps = [
        make_step(1, content="a", usage=counted(9_000, 100)),
        make_step(2, calls=[write], results=[result], usage=counted(5_000, 50)),
        make_step(3, content="b", usage=counted(6_000, 60)),
    ]
    values = context.compute(trial_of(tmp_path, steps)).values
    assert values["active_context_tokens"] == 5_050
    assert values["largest_context_tokens"] == 9_100


def test_a_missed_target_is_a_finding(tmp_path: Path) -> None:
    steps = [make_step(1, content="a", usage=counted(40_000, 100))]
    missed = context.compute(trial_of(tmp_path / "a", steps, 60_000))
    assert [found.code for found in missed.findings] == ["context.target_missed"]
    assert context.compute(trial_of(tmp_path / "b", steps, 41_000)).findings == []


def test_a_record_without_steps(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, [])
    assert context.compute(trial).values["active_context_tokens_reason"] == (
        "the record holds no step"
    )
    assert values_of(reasoning.compute(trial))["tokens_reason"] == "no step was answered"
