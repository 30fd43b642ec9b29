"""Scores that somebody edited, cut, or that a later version wrote: refused in one line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evalstab.errors import FolderError
from evalstab.measures.score import SCHEMA_VERSION, write_scores
from evalstab.workflow.score import read_scores
from tests.measures.series_making import Written, make_series, make_step, make_task, write_trial


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"trials": 5}, "cannot be read"),
        ({"stability": []}, "cannot be read"),
        ({"verdict": None}, "cannot be read"),
        ({"schema_version": SCHEMA_VERSION + 1}, "newer evalstab"),
    ],
)
def test_scores_of_another_shape_are_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    series = make_series(tmp_path / "series", make_task(tmp_path / "task"))
    write_trial(series, 1, Written(steps=[make_step(1, content="Fertig.")]))
    write_scores(series)
    assert read_scores(series)["trials"]
    file = series.root / "scores.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(FolderError, match=said):
        read_scores(series)
