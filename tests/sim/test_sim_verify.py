"""Precision and recall: findings held against injections."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstab.errors import FolderError
from evalstab.sim.verify import BESIDE, Row, compare, table, verify
from evalstab.text.rewording import MIN_REFERENCES

Json = dict[str, Any]


def _injection(code: str, **fields: Any) -> Json:
    place: Json = {"code": code, "step": 2, "channel": "reasoning", "start": 100, "end": 110}
    return place | {"excerpt": "x", "last_step": None} | fields


def _finding(code: str, **fields: Any) -> Json:
    return {"code": code, "step": 2, "channel": "reasoning", "start": 100, "end": 110} | fields


def _rows(injected: list[Json], reported: list[Json], **truth: Any) -> dict[str, Row]:
    scores = {
        "series": {"id": "s"},
        "trials": [{"index": 1, "attempt": 1, "findings": reported}],
    }
    trial = {"series": "s", "trial": 1, "attempt": 1, "injections": injected} | truth
    return {row.code: row for row in compare(scores, {"trials": [trial]})}


SCRIPT = "text.foreign_script"


def test_what_was_injected_and_found_counts_on_both_sides() -> None:
    row = _rows([_injection(SCRIPT)], [_finding(SCRIPT, start=95, end=104)])[SCRIPT]
    assert (row.injected, row.reported, row.found, row.right) == (1, 1, 1, 1)
    assert (row.precision, row.recall) == (1.0, 1.0)


@pytest.mark.parametrize(
    "away",
    [{"step": 3}, {"channel": "content"}, {"start": 400, "end": 410}, {"code": "text.loop"}],
)
def test_a_finding_elsewhere_is_wrong_and_leaves_the_injection_missed(away: Json) -> None:
    rows = _rows([_injection(SCRIPT)], [_finding(SCRIPT) | away])
    assert rows[SCRIPT].recall == 0
    assert rows[SCRIPT].missed
    wrong = rows["text.loop"] if "code" in away else rows[SCRIPT]
    assert wrong.precision == 0
    assert wrong.wrong


def test_a_file_is_seen_as_arguments_too_and_missing_offsets_do_not_hinder() -> None:
    written = _injection(SCRIPT, channel="file")
    assert (
        _rows([written], [_finding(SCRIPT, channel="arguments", start=900, end=910)])[SCRIPT].recall
        == 1
    )
    assert (
        _rows([written], [_finding(SCRIPT, channel="file", start=None, end=None)])[SCRIPT].recall
        == 1
    )


def test_several_findings_may_report_one_injection() -> None:
    parts = [_finding(SCRIPT, start=100, end=103), _finding(SCRIPT, start=105, end=110)]
    row = _rows([_injection(SCRIPT)], parts)[SCRIPT]
    assert (row.precision, row.recall, row.reported) == (1.0, 1.0, 2)


def test_a_fault_over_several_steps_may_be_reported_at_any_of_them() -> None:
    repeated = _injection("tool.repeated", channel="arguments", start=None, end=None, last_step=5)
    for step, recall in ((2, 1), (5, 1), (6, 0)):
        finding = _finding("tool.repeated", channel="arguments", step=step, start=None, end=None)
        assert _rows([repeated], [finding])["tool.repeated"].recall == recall


def test_undefined_shares_are_none() -> None:
    rows = _rows([_injection(SCRIPT)], [_finding("text.loop")])
    assert rows[SCRIPT].precision is None
    assert rows["text.loop"].recall is None
    assert "-" in table(list(rows.values()))


def test_what_a_fault_brings_about_is_neither_right_nor_wrong() -> None:
    dropped = _injection("stream.dropped", channel="transport", start=None, end=None)
    cut = _finding("tool.truncated", channel="arguments", start=None, end=None)
    assert _rows([dropped], [cut]).keys() == {"stream.dropped"}
    assert _rows([], [cut])["tool.truncated"].precision == 0


def test_what_follows_from_a_whole_trial_is_left_out() -> None:
    assert (
        _rows([_injection("")], [_finding("trial.step_limit"), _finding("context.shifted")]) == {}
    )


def test_other_series_and_unscored_attempts_do_not_count() -> None:
    assert _rows([_injection(SCRIPT)], [], series="another") == {}
    assert _rows([_injection(SCRIPT)], [], attempt=2) == {}


def test_a_reworded_loop_that_too_few_trials_can_show_is_explained() -> None:
    code = "reasoning.reworded_loop"
    row = _rows([_injection(code)], [])[code]
    assert (row.recall, BESIDE) == (0.0, MIN_REFERENCES)
    assert row.reason is not None
    assert "8 or more other trials" in row.reason
    assert row.reason in table([row])
    assert _rows([_injection(code)], [_finding(code)])[code].reason is None
    assert _rows([_injection(SCRIPT)], [])[SCRIPT].reason is None


def test_files_that_are_missing_or_something_else_are_named(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match=r"scores\.json"):
        verify(tmp_path, tmp_path / "truth.json")
    (tmp_path / "scores.json").write_text(json.dumps({"trials": []}))
    (tmp_path / "truth.json").write_text(json.dumps({"trials": []}))
    with pytest.raises(FolderError, match="form"):
        verify(tmp_path, tmp_path / "truth.json")
