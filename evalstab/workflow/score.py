"""Score a series from its records, and report it; no network."""

from __future__ import annotations

from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.measures.score import SCHEMA_VERSION, write_scores
from evalstab.report.shape import read_shaped
from evalstab.report.write import terminal_summary, write_report
from evalstab.series.folder import SeriesFolder, open_series
from evalstab.series.pruned import require_records
from evalstab.workflow.gates import judge_of

SCORES = "scores.json"


def score(root: Path, *, processes: int = 1) -> Json:
    """All measures again from the records: rewrites scores.json and the reports."""
    require_records(root)
    folder = open_series(root)
    scores = write_scores(folder, processes=processes, judge=judge_of(folder))
    write_report(folder, scores)
    return scores


def summary(root: Path) -> str:
    """The terminal summary of a scored series."""
    folder = open_series(root)
    return terminal_summary(folder, read_scores(folder))


def read_scores(folder: SeriesFolder) -> Json:
    """The scores of a series; FolderError where it has not been scored."""
    path = folder.root / SCORES
    if not path.is_file():
        raise FolderError(f"{folder.root} has no scores yet: run `evalstab score {folder.root}`")
    again = f"run `evalstab score {folder.root}`"
    try:
        scores = read_shaped(path)
    except FolderError as error:
        raise FolderError(f"{error}; {again}") from error
    if scores["schema_version"] > SCHEMA_VERSION:
        raise FolderError(f"{path} was written by a newer evalstab: upgrade, or {again}")
    return scores
