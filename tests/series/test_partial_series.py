"""A series that is not complete says so everywhere, and counts no trial that has not ended."""

from __future__ import annotations

import html
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from evalstab.workflow.rungs import first_screen
from evalstab.workflow.score import score

RECORDED = Path(__file__).parents[2] / "fixtures" / "series-drifting"
SAID = "2 of 5 valid, no verdict."
OF_A_RANKING = ("ranking", "totals", "criteria", "winner", "winners", "top_score", "accuracy")


@pytest.fixture(scope="module")
def partial(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Five planned: two ended, one killed, one spoilt by its disk, one not begun."""
    root = tmp_path_factory.mktemp("partial") / "series"
    shutil.copytree(RECORDED, root)
    killed = root / "trials" / "003" / "events.jsonl"
    killed.write_bytes(b"".join(killed.read_bytes().splitlines(keepends=True)[:-1]))
    damaged = root / "trials" / "004" / "events.jsonl"
    lines = damaged.read_bytes().splitlines(keepends=True)
    damaged.write_bytes(b"".join([*lines[:-2], b"\x00\x00\n", lines[-1]]))
    shutil.rmtree(root / "trials" / "005")
    return root, score(root)


def test_every_page_says_how_many_trials_are_valid(partial: tuple[Path, dict[str, Any]]) -> None:
    root, _ = partial
    page = re.sub(r"<[^>]+>", "", html.unescape((root / "report.html").read_text()))
    for text in ((root / "report.md").read_text(), page, first_screen(root)):
        assert SAID in text.replace("\\", "")


def test_a_trial_that_has_not_ended_has_no_winner(partial: tuple[Path, dict[str, Any]]) -> None:
    root, scores = partial
    assert json.loads((root / "scores.json").read_text()) == scores
    outcomes = [trial["outcome"] for trial in scores["trials"]]
    assert outcomes == ["completed", "completed", "aborted", "aborted"]
    assert (root / "trials" / "003" / "workspace" / "ranking.json").is_file()
    for trial, why in zip(scores["trials"][2:], ("has not ended", "is damaged"), strict=True):
        for key in OF_A_RANKING:
            assert trial[key] is None
            assert why in trial[f"{key}_reason"]
    assert scores["series"]["repeats_done"] == 2
    assert scores["stability"]["trials"] == [1, 2]
    assert scores["stability"]["trials_ranked"] == 2
    assert len(scores["stability"]["winner"]["sequence"]) == 2
