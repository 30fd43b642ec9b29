"""From a series folder to scores.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from evalstab.endpoint.base import Clock
from evalstab.findings import finding
from evalstab.measures.score import score_series, write_scores
from evalstab.series.folder import SeriesFolder
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
from tests.measures.stable_keys import (
    CONTRACT_SERIES,
    CONTRACT_TRIAL,
    FINDING_KEYS,
    missing_keys,
    unexplained,
)

TOPS = (158, 79, 75, 105, 80)
WINNERS = ("person_11", "person_11", "person_11", "person_09", "person_06")
PLACES_OF_09 = (5, 6, 3, 1, 7)
REASONING = (6_700, 9_200, 12_900, 11_400, 8_100)
LARGEST = 10_070


def five_totals(trial: int) -> dict[str, float]:
    """Totals of one of the five trials: the known top, winner, and place of person_09."""
    winner, place = WINNERS[trial], PLACES_OF_09[trial]
    others = [p for p in PEOPLE if p not in ("person_09", winner)]
    turned = others[trial:] + others[:trial]
    order = turned if winner == "person_09" else [winner, *turned]
    order.insert(place - 1, "person_09")
    return {person: float(TOPS[trial] - 3 * rank) for rank, person in enumerate(order)}


def five_trials(root: Path) -> SeriesFolder:
    """The five-run table as a real series folder."""
    series = make_series(root / "series", make_task(root / "task"))
    for trial in range(5):
        text = ranking_json(five_totals(trial))
        write_call, result = writes("ranking.json", text)
        rest = REASONING[trial] - (LARGEST if trial == 2 else 4_000)
        steps = [
            make_step(
                1,
                reasoning=f"Ich lese die Profile, Fassung {trial}.",
                usage=counted(60_000, rest + 40, rest),
            ),
            make_step(
                2,
                reasoning="Ich vergleiche und entscheide.",
                calls=[write_call],
                results=[result],
                given=["Wrote ranking.json"],
                usage=counted(70_000, REASONING[trial] - rest + 900, REASONING[trial] - rest),
            ),
            make_step(3, content="Alles ist geschrieben.", usage=counted(81_000, 12)),
        ]
        write_trial(
            series, trial + 1, Written(steps, {"ranking.json": text}, seconds=1080.0 + 300 * trial)
        )
    return series


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    series = five_trials(tmp_path_factory.mktemp("five"))
    write_scores(series)
    scores: dict[str, Any] = json.loads((series.root / "scores.json").read_bytes())
    return scores


def test_the_five_run_table(five: dict[str, Any]) -> None:
    trials = five["trials"]
    assert [t["top_score"] for t in trials] == list(TOPS)
    assert [t["winner"] for t in trials] == list(WINNERS)
    assert [t["deliverables"]["complete"] for t in trials] == [1] * 5
    assert [t["reasoning"]["tokens"] for t in trials] == list(REASONING)
    assert max(t["reasoning"]["largest_block_tokens"] for t in trials) == LARGEST
    assert [t["active_context_tokens"] for t in trials][2] == 70_000 + LARGEST + 900
    assert {t["tokens_source"] for t in trials} == {"server"}
    stability = five["stability"]
    assert stability["candidates"]["person_09"]["places"] == list(PLACES_OF_09)
    assert stability["winner"]["sequence"] == list(WINNERS)


def test_statistics_of_the_five_run_table(five: dict[str, Any]) -> None:
    stability = five["stability"]
    assert stability["scale"]["cv"] == pytest.approx(0.350, abs=5e-4)
    assert stability["scale"]["ratio"] == pytest.approx(2.107, abs=5e-4)
    assert stability["scale"]["log_sd"] == pytest.approx(0.312, abs=5e-4)
    assert stability["scale"]["top_scores"] == list(TOPS)
    assert stability["winner"]["pair_agreement"] == pytest.approx(0.30)
    assert stability["winner"]["entropy_bits"] == pytest.approx(1.371, abs=5e-4)
    assert stability["winner"]["modal_share"] == pytest.approx(0.6)
    assert stability["winner"]["distinct"] == 3
    assert stability["winner"]["changes"] == 2
    assert stability["candidates"]["person_09"]["sd"] == pytest.approx(2.41, abs=5e-3)
    assert stability["candidates"]["person_09"]["range"] == 6
    assert stability["unseen_share"] == pytest.approx(0.451, abs=5e-4)
    assert stability["kendall_tau"]["mean"] <= 0.88
    assert stability["success_rate"] == 1
    assert stability["distinct_outputs"] == 5


def test_the_series_block(five: dict[str, Any]) -> None:
    assert five["series"] == {
        "id": "series",
        "task": "elf",
        "endpoint": "rig",
        "model": "m2",
        "context_target": None,
        "context_target_reason": "the task has its natural size",
        "repeats_planned": 5,
        "repeats_done": 5,
        "simulated": False,
        "attempts": 5,
        "invalid": 0,
        "attrition": {},
    }
    assert five["verdict"]["status"] == "none"
    assert [f["code"] for f in five["findings"]] == ["series.unproven_launch"]


def test_every_null_has_a_reason(five: dict[str, Any]) -> None:
    assert list(unexplained(five)) == []


def test_every_key_of_the_contract_is_there(five: dict[str, Any]) -> None:
    assert missing_keys(five, CONTRACT_SERIES) == []
    for trial in five["trials"]:
        assert missing_keys(trial, CONTRACT_TRIAL) == []
        for found in trial["findings"]:
            assert set(found) == FINDING_KEYS


def awkward_series(root: Path) -> SeriesFolder:
    """Every kind of trial that is no complete one, beside one that is."""
    series = make_series(root / "series", make_task(root / "task"), repeats=8)
    text = ranking_json(five_totals(0))
    write_call, result = writes("ranking.json", text)
    good = [
        make_step(
            1,
            calls=[write_call],
            results=[result],
            usage=counted(900, 300),
            clock=Clock(sent=0.0, first=0.5, last=3.5, end=3.6, chunks=300),
        ),
        make_step(2, content="Fertig."),
    ]
    write_trial(series, 1, Written(good, {"ranking.json": text}))
    write_trial(series, 2, Written([], {}, outcome=None))
    write_trial(series, 3, Written([make_step(1, content="")], {}))
    over = Written(
        [make_step(1, content="Ich lese.")],
        {},
        outcome="failed",
        ending="step_limit",
        reason="no end after 1 steps",
        findings=(finding("trial.step_limit"),),
    )
    write_trial(series, 4, over)
    dead = make_step(1, findings=[finding("server.dead")])
    write_trial(
        series, 5, Written([dead], {}, outcome="invalid", ending="endpoint"), name="005.invalid-1"
    )
    write_trial(series, 5, Written(good, {"ranking.json": text}))
    torn = write_trial(series, 6, Written(good, {"ranking.json": text}))
    with (torn / "events.jsonl").open("ab") as file:
        file.write(b'{"type":"step","num')
    broken = write_trial(series, 7, Written(good, {"ranking.json": text}))
    lines = (broken / "events.jsonl").read_bytes().splitlines(keepends=True)
    (broken / "events.jsonl").write_bytes(lines[0] + lines[1] + b"{broken}\n" + lines[2])
    empty = write_trial(series, 8, Written(good))
    (empty / "events.jsonl").write_bytes(b"")
    return series


def test_bad_trials_are_data(tmp_path: Path) -> None:
    scores = score_series(awkward_series(tmp_path))
    outcomes = [(t["index"], t["outcome"]) for t in scores["trials"]]
    assert outcomes == [
        (1, "completed"),
        (2, "aborted"),
        (3, "completed"),
        (4, "failed"),
        (5, "completed"),
        (6, "completed"),
        (7, "aborted"),
        (8, "aborted"),
    ]
    assert scores["trials"][1]["reason"] == "the trial has not ended"
    assert scores["trials"][6]["reason"].startswith("events.jsonl, line 3: JSON is malformed")
    assert scores["trials"][4]["attempt"] == 2
    series = scores["series"]
    assert (series["attempts"], series["invalid"], series["repeats_done"]) == (9, 1, 5)
    assert series["attrition"] == {"server.dead": 1, "step_limit": 1, "unfinished": 3}
    assert scores["stability"]["trials"] == [1, 3, 4, 5, 6]
    assert scores["stability"]["trials_ranked"] == 3
    assert scores["stability"]["success_rate"] == 0.6
    assert list(unexplained(scores)) == []
    for trial in scores["trials"]:
        assert missing_keys(trial, CONTRACT_TRIAL) == []
    msgspec.json.encode(scores)


def test_a_series_without_trials(tmp_path: Path) -> None:
    scores = score_series(make_series(tmp_path / "series", make_task(tmp_path / "task")))
    assert scores["trials"] == []
    assert scores["stability"]["kendall_tau"]["mean"] is None
    assert missing_keys(scores, CONTRACT_SERIES) == []
    assert list(unexplained(scores)) == []


def test_processes_change_nothing(tmp_path: Path) -> None:
    series = awkward_series(tmp_path)
    assert score_series(series, processes=2) == score_series(series)


def test_the_judge_is_asked_last(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"))
    scores = score_series(series, judge=lambda known: {"status": "fail", "seen": sorted(known)})
    assert scores["verdict"]["status"] == "fail"
    assert "stability" in scores["verdict"]["seen"]


def test_an_imported_record_without_times_and_counts(tmp_path: Path) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"), repeats=1)
    text = ranking_json(five_totals(0))
    write_call, result = writes("ranking.json", text)
    steps = [
        msgspec.structs.replace(step, started=0.0, seconds=0.0)
        for step in (
            make_step(1, reasoning="Ich lese.", calls=[write_call], results=[result]),
            make_step(2, content="Fertig."),
        )
    ]
    write_trial(series, 1, Written(steps, {"ranking.json": text}, seconds=0.0))
    (trial,) = score_series(series)["trials"]
    assert (trial["seconds"], trial["seconds_reason"]) == (None, "the record holds no times")
    assert trial["tokens_source"] == "estimate"
    assert trial["reasoning"]["tokens_source"] == "estimate"
    assert trial["speed"]["ttft_s"]["p50_reason"] == "the record holds no times"
    assert trial["winner"] == WINNERS[0]
    assert list(unexplained(trial)) == []
