"""Writes the derived files of a series folder: the pages and the plots.

What draws is imported when something is drawn: it takes longer to load than all the rest.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import UsageError
from evalstab.report import markdown, terminal
from evalstab.report.facts import facts_of
from evalstab.report.model import build_report
from evalstab.report.page import Report
from evalstab.report.place import here
from evalstab.series.files import write_whole
from evalstab.series.folder import SeriesFolder

FORMATS = ("md", "html")
REPORT_FILE = "report.md"
PAGE_FILE = "report.html"


def write_report(
    folder: SeriesFolder, scores: Json, formats: Collection[str] = FORMATS, out: Path | None = None
) -> list[Path]:
    """Write the report of a series; returns the files written, the pages first.

    The files go into the series folder, or into ``out``. UsageError for an unknown format,
    FolderError where the disk refuses.
    """
    if unknown := sorted(set(formats) - set(FORMATS)):
        raise UsageError(f"no report format {', '.join(unknown)}: known are {', '.join(FORMATS)}")
    report = build_report(folder, scores)
    drawn = draw_all(report)
    place = out or folder.root
    pages: dict[Path, str] = {}
    if "md" in formats:
        pages[place / REPORT_FILE] = markdown.render(report)
        pages |= {place / markdown.PLOTS / f"{name}.svg": svg for name, svg in drawn.items()}
    if "html" in formats:
        pages[place / PAGE_FILE] = _page(report, drawn, folder, scores)
    for path, text in pages.items():
        write_whole(path, text)
    return list(pages)


def page(folder: SeriesFolder, scores: Json) -> str:
    """The self-contained page of a series, transcripts included."""
    report = build_report(folder, scores)
    return _page(report, draw_all(report), folder, scores)


def draw_all(report: Report) -> dict[str, str]:
    """The SVG of every figure of a report, by name."""
    if not report.figures:
        return {}
    from evalstab.report.plots import draw  # noqa: PLC0415

    return {figure.name: draw(figure) for figure in report.figures}


def terminal_summary(folder: SeriesFolder, scores: Json, *, colour: bool | None = None) -> str:
    """The first screen for a terminal; ``colour`` None asks stdout and NO_COLOR."""
    return terminal.render(build_report(folder, scores, here(folder.root)), colour=colour)


def _page(report: Report, drawn: dict[str, str], folder: SeriesFolder, scores: Json) -> str:
    from evalstab.report.html import render  # noqa: PLC0415
    from evalstab.report.opened import transcripts_of  # noqa: PLC0415

    return render(report, drawn, transcripts_of(folder, facts_of(scores)))
