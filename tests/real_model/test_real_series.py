"""three-notes on a real model, end to end: what really came back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

NOTES = {f"notes/note_{letter}.md" for letter in "abc"}


@pytest.fixture(scope="module")
def scores(real_series: Path) -> dict[str, Any]:
    """scores.json of the series."""
    loaded: dict[str, Any] = json.loads((real_series / "scores.json").read_text())
    return loaded


@pytest.fixture(scope="module")
def steps(real_series: Path) -> list[dict[str, Any]]:
    """All recorded steps of the series."""
    lines = [
        json.loads(line)
        for record in sorted(real_series.glob("trials/*/events.jsonl"))
        for line in record.read_text().splitlines()
    ]
    return [event for event in lines if event["type"] == "step"]


def test_three_valid_trials_of_a_model_that_is_not_simulated(scores: dict[str, Any]) -> None:
    series = scores["series"]
    assert series["simulated"] is False
    assert series["model"] == "smollm2-135m-instruct"
    assert (series["repeats_done"], series["invalid"]) == (3, 0)
    assert {trial["outcome"] for trial in scores["trials"]} <= {"completed", "failed"}


def test_calls_arrive_as_calls_and_name_offered_tools(
    scores: dict[str, Any], steps: list[dict[str, Any]]
) -> None:
    calls = [call for step in steps for call in step["attempts"][-1]["reply"]["tool_calls"]]
    assert len(calls) >= len(steps) >= 3
    assert {call["name"] for call in calls} <= {"read_file", "submit_ranking"}
    paths = {json.loads(c["arguments"])["path"] for c in calls if c["name"] == "read_file"}
    assert paths <= NOTES
    assert sum(trial["tool_calls"]["total"] for trial in scores["trials"]) == len(calls)
    assert all(trial["tool_calls"]["unfinished"] == 0 for trial in scores["trials"])


def test_the_server_counts_and_times(scores: dict[str, Any], steps: list[dict[str, Any]]) -> None:
    for step in steps:
        reply = step["attempts"][-1]["reply"]
        usage, timings = reply["usage"], reply["timings"]
        assert reply["finish"] == "tool_calls"
        assert usage["prompt_tokens"] > 300
        assert timings["decoded_tokens"] == usage["completion_tokens"] > 0
        assert timings["prompt_tokens"] + timings["cached_tokens"] == usage["prompt_tokens"]
        assert timings["decode_seconds"] > 0
    for trial in scores["trials"]:
        assert trial["tokens_source"] == "server"
        assert 400 < trial["active_context_tokens"] < 8192
        assert trial["speed"]["server_decode_tok_s"]["p50"] > 0


def test_later_requests_of_a_trial_use_the_prefix_cache(steps: list[dict[str, Any]]) -> None:
    later = [step for step in steps if step["number"] > 1]
    assert later
    assert all(s["attempts"][-1]["reply"]["usage"]["cached_tokens"] > 100 for s in later)


def test_rankings_come_back_and_an_echo_is_noticed(scores: dict[str, Any]) -> None:
    ranked = [trial for trial in scores["trials"] if trial["ranking"]]
    assert len(ranked) >= 2
    whole = [t for t in ranked if len([who for group in t["ranking"] for who in group]) == 3]
    assert whole
    in_order = [["note_a"], ["note_b"], ["note_c"]]
    for trial in whole:
        if trial["ranking"] == in_order:
            assert trial["finding_counts"]["trial.order_echo"] == 1
        if len(trial["ranking"]) == 1:
            assert trial["finding_counts"]["trial.constant_scores"] == 1


def test_no_fault_is_laid_at_the_harness_or_the_rig(scores: dict[str, Any]) -> None:
    found = [f for trial in scores["trials"] for f in trial["findings"]]
    assert [f for f in found if f["side"] in ("harness", "rig")] == []


def test_the_report_judges_a_model(real_series: Path) -> None:
    page = (real_series / "report.md").read_text()
    assert "smollm2-135m-instruct" in page
    assert "simulated" not in page.lower()
