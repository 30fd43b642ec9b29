"""Ranking, deliverables and accuracy, from files as a model leaves them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evalstab.measures import accuracy, deliverables, ranking
from evalstab.measures.base import Measured
from evalstab.measures.view import TrialView, read_trial
from evalstab.task.load import load_task
from tests.measures.series_making import (
    CRITERIA,
    PEOPLE,
    Written,
    make_series,
    make_step,
    make_task,
    ranking_json,
    write_trial,
    writes,
)

TOTALS = {person: 150.0 - 7 * ((5 * place) % 11) for place, person in enumerate(PEOPLE)}
TABLE = '[[deliverables]]\npath = "bericht.md"\nkind = "markdown"\nformat = "markdown-table"'


def trial_of(
    root: Path, files: Mapping[str, str], *, order: Sequence[str] = (), **task: Any
) -> TrialView:
    made = make_task(root / "task", **task)
    series = make_series(root / "series", made)
    calls = [writes(path, text, id_=str(n)) for n, (path, text) in enumerate(files.items())]
    steps = [
        make_step(1, content="Ich beginne."),
        make_step(2, calls=[c for c, _ in calls], results=[r for _, r in calls]),
        make_step(3, content="Fertig."),
    ]
    write_trial(series, 1, Written(steps, dict(files), variation={"order": order} if order else {}))
    return read_trial(series.trial(1), load_task(series.task_folder))


def codes(measured: Measured) -> list[str]:
    return [found.code for found in measured.findings]


def test_order_totals_and_winner(tmp_path: Path) -> None:
    measured = ranking.compute(trial_of(tmp_path, {"ranking.json": ranking_json(TOTALS)}))
    assert measured.findings == []
    best = max(TOTALS, key=lambda person: TOTALS[person])
    assert measured.values["ranking"][0] == [best]
    assert measured.values["winner"] == best
    assert measured.values["winners"] == [best]
    assert measured.values["top_score"] == 150
    assert measured.values["totals"] == TOTALS
    assert sum(measured.values["criteria"]["person_02"].values()) == TOTALS["person_02"]


def test_a_tied_first_place_has_winners_and_no_winner(tmp_path: Path) -> None:
    entries = [{"candidate": p, "place": max(1, n), "total": 10} for n, p in enumerate(PEOPLE)]
    text = json.dumps({"ranking": entries})
    measured = ranking.compute(trial_of(tmp_path, {"ranking.json": text}))
    assert measured.values["winner"] is None
    assert measured.values["winner_reason"] == "the first place is tied"
    assert measured.values["winners"] == ["person_01", "person_02"]
    assert codes(measured) == ["trial.constant_scores"]


def test_nothing_written(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, {})
    values = ranking.compute(trial).values
    for key in ("ranking", "totals", "criteria", "winner", "winners", "top_score"):
        assert values[key] is None
        assert values[f"{key}_reason"] == "ranking.json was not written"
    measured = deliverables.compute(trial)
    assert measured.values["deliverables"]["missing"] == ["ranking.json"]
    assert codes(measured) == ["trial.deliverable_missing"]


def test_prose_instead_of_json_is_invalid(tmp_path: Path) -> None:
    trial = trial_of(tmp_path, {"ranking.json": "person_03 ist am besten."})
    assert ranking.compute(trial).values["ranking"] is None
    measured = deliverables.compute(trial)
    assert measured.values["deliverables"]["invalid"] == ["ranking.json"]
    assert measured.findings[0].code == "trial.deliverable_invalid"
    assert measured.findings[0].step == 2


def test_missing_and_unknown_candidates(tmp_path: Path) -> None:
    some = {p: t for p, t in TOTALS.items() if p != "person_04"} | {"person_77": 3.0}
    measured = ranking.compute(trial_of(tmp_path, {"ranking.json": ranking_json(some)}))
    assert codes(measured) == ["trial.incomplete_ranking", "trial.unknown_candidate"]
    assert measured.findings[0].detail == {"missing": ["person_04"]}
    assert measured.findings[1].detail == {"unknown": ["person_77"]}
    assert {f.step for f in measured.findings} == {2}


def test_sums_that_do_not_add_up(tmp_path: Path) -> None:
    document = json.loads(ranking_json(TOTALS))
    document["ranking"][3]["total"] += 5
    document["ranking"][4]["criteria"]["K01"] = 11
    measured = ranking.compute(trial_of(tmp_path, {"ranking.json": json.dumps(document)}))
    assert "trial.arithmetic" in codes(measured)
    (found,) = [f for f in measured.findings if f.code == "trial.arithmetic"]
    assert {slip["kind"] for slip in found.detail["slips"]} == {"sum", "points"}


def test_two_deliverables_that_disagree(tmp_path: Path) -> None:
    order = sorted(TOTALS, key=lambda p: -TOTALS[p])
    order[0], order[1] = order[1], order[0]
    rows = [f"| {n} | {p} | {TOTALS[p]:g} |" for n, p in enumerate(order, 1)]
    table = "\n".join(["| Platz | Kandidat | Summe |", "|---|---|---|", *rows])
    files = {"ranking.json": ranking_json(TOTALS), "bericht.md": table}
    measured = ranking.compute(trial_of(tmp_path, files, extra=TABLE))
    kinds = {f.detail["kind"] for f in measured.findings if f.code == "trial.contradiction"}
    assert "order" in kinds


@pytest.mark.parametrize(
    ("order", "name"),
    [
        (PEOPLE, "order of the task"),
        (tuple(reversed(PEOPLE)), "order of the task, reversed"),
    ],
)
def test_echoes(tmp_path: Path, order: tuple[str, ...], name: str) -> None:
    totals = {person: 150.0 - 7 * place for place, person in enumerate(order)}
    measured = ranking.compute(trial_of(tmp_path, {"ranking.json": ranking_json(totals)}))
    assert codes(measured) == ["trial.order_echo"]
    assert measured.findings[0].detail["order"] == name


def test_the_shuffled_reading_order_is_echoed(tmp_path: Path) -> None:
    order = sorted(TOTALS, key=lambda person: -TOTALS[person])
    files = {"ranking.json": ranking_json(TOTALS)}
    measured = ranking.compute(trial_of(tmp_path, files, order=order))
    assert codes(measured) == ["trial.order_echo"]
    assert measured.findings[0].detail["order"] == "reading order"


def test_the_true_order_is_no_echo(tmp_path: Path) -> None:
    totals = {person: 150.0 - 7 * place for place, person in enumerate(PEOPLE)}
    trial = trial_of(tmp_path, {"ranking.json": ranking_json(totals)}, truth=totals)
    assert ranking.compute(trial).findings == []
    values = accuracy.compute(trial).values["accuracy"]
    known = {"kendall_tau_truth": 1.0, "mean_abs_error": 0.0, "winner_right": True}
    assert known.items() <= values.items()


def test_accuracy_of_a_reversed_order(tmp_path: Path) -> None:
    totals = {person: 150.0 - 7 * place for place, person in enumerate(PEOPLE)}
    turned = {person: 80.0 + 7 * place for place, person in enumerate(PEOPLE)}
    trial = trial_of(tmp_path, {"ranking.json": ranking_json(turned)}, truth=totals)
    values = accuracy.compute(trial).values["accuracy"]
    assert values["kendall_tau_truth"] == -1.0
    assert values["mean_abs_error"] == pytest.approx(420 / 11)
    assert values["winner_right"] is False


def test_no_truth_and_no_ranking_are_reasons(tmp_path: Path) -> None:
    one = trial_of(tmp_path / "a", {"ranking.json": ranking_json(TOTALS)})
    assert accuracy.compute(one).values == {
        "accuracy": None,
        "accuracy_reason": "the task has no known truth",
    }
    other = trial_of(tmp_path / "b", {}, truth=TOTALS)
    assert accuracy.compute(other).values["accuracy_reason"] == "no ranking was delivered"


def test_an_announcement_without_the_act(tmp_path: Path) -> None:
    made = make_task(tmp_path / "task")
    series = make_series(tmp_path / "series", made)
    step = make_step(1, content="Ich habe alles gelesen. Jetzt schreibe ich die Rangfolge:")
    write_trial(series, 1, Written([step]))
    trial = read_trial(series.trial(1), load_task(series.task_folder))
    assert codes(deliverables.compute(trial)) == [
        "trial.deliverable_missing",
        "trial.announced_only",
    ]


def test_the_fixture_adds_up() -> None:
    document = json.loads(ranking_json({"person_01": 37.0}))
    assert sum(document["ranking"][0]["criteria"].values()) == 37
    assert len(document["ranking"][0]["criteria"]) == len(CRITERIA)
