"""Build the example reports again from the series under ``fixtures/``."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalstab.report.write import write_report
from evalstab.series.folder import open_series

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "reports" / "examples"
EXAMPLES = {"five-run": "fixtures/report/five-run"}
"""Folder of an example, and the series that it is built from."""


def build(name: str, out: Path) -> list[Path]:
    """Write one example into ``out``; returns its files, the page first."""
    series = ROOT / EXAMPLES[name]
    scores = msgspec.json.decode((series / "scores.json").read_bytes(), type=dict)
    return write_report(open_series(series), scores, out=out)


if __name__ == "__main__":
    for example in EXAMPLES:
        build(example, HERE / example)
