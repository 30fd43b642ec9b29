"""Writes the derived files of a series folder: the page and its plots.

What draws is imported when something is drawn: it takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import UsageError
from evalstab.report import markdown, terminal
from evalstab.report.model import build_report
from evalstab.series.files import write_whole
from evalstab.series.folder import SeriesFolder

FORMATS = ("md",)
REPORT_FILE = "report.md"


def write_report(
    folder: SeriesFolder, scores: Json, formats: Collection[str] = FORMATS, out: Path | None = None
) -> list[Path]:
    """Write the report of a series; returns the files written, the page first.

    The files go into the series folder, or into ``out``. UsageError for an unknown format,
    FolderError where the disk refuses.
    """
    if unknown := sorted(set(formats) - set(FORMATS)):
        raise UsageError(f"no report format {', '.join(unknown)}: known are {', '.join(FORMATS)}")
    from evalstab.report.plots import draw  # noqa: PLC0415

    report = build_report(folder, scores)
    place = out or folder.root
    written: list[Path] = []
    if "md" in formats:
        pages = {place / REPORT_FILE: markdown.render(report)}
        pages |= {place / markdown.PLOTS / f"{f.name}.svg": draw(f) for f in report.figures}
        for path, text in pages.items():
            write_whole(path, text)
            written.append(path)
    return written


def terminal_summary(folder: SeriesFolder, scores: Json, *, colour: bool | None = None) -> str:
    """The first screen for a terminal; ``colour`` None asks stdout and NO_COLOR."""
    return terminal.render(build_report(folder, scores), colour=colour)
