"""Score a series from its records, and report it; no network."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError, nearest
from evalstab.gate.junit import junit
from evalstab.measures.score import write_scores
from evalstab.report.write import terminal_summary, write_report
from evalstab.series.files import write_whole
from evalstab.series.folder import SeriesFolder, open_series
from evalstab.workflow.gates import judge_of

SCORES = "scores.json"
JUNIT_FILE = "junit.xml"
FORMATS = ("md", "json", "junit")


def score(root: Path, *, processes: int = 1) -> Json:
    """All measures again from the records: rewrites scores.json, report.md and the plots."""
    folder = open_series(root)
    scores = write_scores(folder, processes=processes, judge=judge_of(folder))
    write_report(folder, scores)
    return scores


def summary(root: Path) -> str:
    """The terminal summary of a scored series."""
    folder = open_series(root)
    return terminal_summary(folder, read_scores(folder))


def report(root: Path, form: str, output: Path | None) -> Path:
    """Write the report in one format; returns where it stands."""
    if form not in FORMATS:
        raise UsageError(f"--format {form!r}. {nearest(form, FORMATS)}")
    folder = open_series(root)
    scores = read_scores(folder)
    if form == "junit":
        made = output or folder.root / JUNIT_FILE
        write_whole(made, junit(scores))
    elif form == "json":
        made = folder.root / SCORES
    else:
        made = next(p for p in write_report(folder, scores) if p.name == "report.md")
    if output is not None and output != made:
        write_whole(output, made.read_bytes())
        return output
    return made


def read_scores(folder: SeriesFolder) -> Json:
    """The scores of a series; FolderError where it has not been scored."""
    path = folder.root / SCORES
    if not path.is_file():
        raise FolderError(f"{folder.root} has no scores yet: run `evalstab score {folder.root}`")
    try:
        scores: Json = msgspec.json.decode(path.read_bytes(), type=dict)
    except msgspec.DecodeError as error:
        raise FolderError(f"{path} cannot be read: {error}; run `evalstab score`") from error
    return scores
