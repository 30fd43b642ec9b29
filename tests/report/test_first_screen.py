"""What the first screen and its tables say of truth, of labels, and of trials not judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.report.model import build_report
from evalstab.report.page import Paragraph, Report, Table
from evalstab.report.write import terminal_summary
from tests.report.report_cases import folder_at, scores_of

STABLE = [[9, 5, 1], [8, 5, 1], [9, 4, 1]]


def table(report: Report, title: str) -> Table:
    section = next(section for section in report.sections if section.title == title)
    return next(block for block in section.blocks if isinstance(block, Table))


def held_against_truth(root: Path, right: list[bool], taus: list[float]) -> Report:
    scores = scores_of([list(row) for row in STABLE])
    for trial, winner, tau in zip(scores["trials"], right, taus, strict=True):
        trial["accuracy"] = {"winner_right": winner, "kendall_tau_truth": tau}
    return build_report(folder_at(root), scores)


def test_a_stable_and_wrong_judge_does_not_look_good(tmp_path: Path) -> None:
    report = held_against_truth(tmp_path, [False] * 3, [-1.0, -1.0, -0.33])
    assert report.answer.line == (
        "No gate was asked. The order came out the same in all 3 ranked trials. By the known "
        "truth it is wrong: the winner is right in 0 of 3."
    )
    assert report.answer.points[0] == (
        "Truth: the winner is right in 0 of 3 ranked trials, median tau to the truth \u22121.00 "
        "(chance 0). This is how right, not how stable."
    )


def test_a_right_judge_is_said_to_be_right_apart_from_stability(tmp_path: Path) -> None:
    report = held_against_truth(tmp_path, [True, True, False], [1.0, 1.0, 0.33])
    assert report.answer.line.endswith("The order came out the same in all 3 ranked trials.")
    assert report.answer.points[0].startswith("Truth: the winner is right in 2 of 3")


def test_without_a_truth_nothing_is_said_of_it(tmp_path: Path) -> None:
    scores = scores_of([list(row) for row in STABLE])
    for trial in scores["trials"]:
        trial["accuracy"] = None
    assert not any(
        "ruth" in point for point in build_report(folder_at(tmp_path), scores).answer.points
    )


def test_a_trial_whose_record_is_damaged_shows_no_result(tmp_path: Path) -> None:
    scores = scores_of([list(row) for row in STABLE])
    scores["trials"][1] |= {"outcome": "aborted", "reason": "line 4: the record is damaged"}
    rows = table(build_report(folder_at(tmp_path), scores), "Trials").rows
    assert rows[1][1:5] == ("aborted", "–", "–", "–")
    assert "–" not in rows[0][1:5]


def test_the_cold_trial_is_left_out_of_the_sources_and_kept_in_the_rows(tmp_path: Path) -> None:
    scores = scores_of([list(row) for row in STABLE])
    point = {"context_tokens": 5000, "decode_tok_s": 50.0, "prefill_tok_s": 900.0, "ttft_s": 5.0}
    for trial in scores["trials"]:
        trial["speed"] = {"by_context": []}
    scores["trials"][0]["speed"] = {"by_context": [point]}
    cold = {"trial": 1, "ttft_s": 5.0, "context_tokens": 5000, "prefill_tok_s": 900.0}
    scores["speed"] = {"sources": [{"source": "client clock"}], "cold_first": cold}
    report = build_report(folder_at(tmp_path), scores)
    assert table(report, "Speed by active context").rows[0][3:5] == ("900", "5.0")
    section = next(s for s in report.sections if s.title == "Speed by active context")
    told = [block.text for block in section.blocks if isinstance(block, Paragraph)][-1]
    assert "by source, just above; the rows by active context hold its steps too" in told


@pytest.mark.parametrize(
    ("folder", "page", "terminal"),
    [
        ("reports/night", "reports/night", "reports/night"),
        ("reports/ladder/16k", "reports/ladder/16k", "reports/ladder/16k"),
        ("deep/a night", "'a night'", "'deep/a night'"),
    ],
)
def test_commands_name_the_folder_so_that_they_can_be_pasted(
    folder: str, page: str, terminal: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scores = scores_of([list(row) for row in STABLE])
    scores["series"]["repeats_planned"] = 5
    series = folder_at(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    assert f"evalstab resume {page} goes on" in build_report(series, scores).notices[0]
    assert f"evalstab resume {terminal} goes on" in terminal_summary(series, scores)
    monkeypatch.chdir(tmp_path / folder)
    assert f"evalstab resume {page} goes on" in build_report(series, scores).notices[0]
    assert "evalstab resume ." in terminal_summary(series, scores)
