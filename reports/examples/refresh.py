"""Build the example reports again from the records of the series under ``fixtures/``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from evalstab.workflow.score import score

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "reports" / "examples"
EXAMPLES = {"drifting": "fixtures/series-drifting", "real-model": "fixtures/series-real"}
"""Folder of an example, and the series that it is built from."""


def build(name: str, out: Path) -> list[Path]:
    """Score a copy of one series and put its report into ``out``; returns the files, page first."""
    with tempfile.TemporaryDirectory() as place:
        series = Path(place) / name
        shutil.copytree(ROOT / EXAMPLES[name], series)
        score(series)
        shutil.rmtree(out, ignore_errors=True)
        (out / "plots").mkdir(parents=True)
        made = [series / "report.md", *sorted((series / "plots").glob("*.svg"))]
        return [Path(shutil.copyfile(file, out / file.relative_to(series))) for file in made]


if __name__ == "__main__":
    for example in EXAMPLES:
        build(example, HERE / example)
