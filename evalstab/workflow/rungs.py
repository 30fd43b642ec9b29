"""Score and report what a folder holds, be it a series or a ladder; no network."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.errors import FolderError
from evalstab.measures.ladder import ladder_result
from evalstab.report.ladder import (
    build_ladder_report,
    ladder_page,
    ladder_summary,
    write_ladder_report,
)
from evalstab.report.write import draw_all
from evalstab.series.files import write_whole
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import Rung, is_ladder, open_ladder, write_ladder
from evalstab.workflow import reporting
from evalstab.workflow.score import SCORES, read_scores, score, summary


def score_ladder(root: Path, *, anew: bool = True) -> Json:
    """The scores of all rungs and the ladder's result; its files are written again.

    ``anew``: every rung is scored from its records.
    """
    file = open_ladder(root)
    known: list[tuple[Rung, Json]] = []
    for rung in file.rungs:
        place = root / rung.name
        if (place / SERIES_FILE).is_file() and (anew or (place / SCORES).is_file()):
            known.append((rung, score(place) if anew else read_scores(open_series(place))))
    file = msgspec.structs.replace(file, result=ladder_result(known))
    write_ladder(root, file)
    write_ladder_report(file, file.result or {}, root)
    return {"series": [scores for _, scores in known], "ladder": msgspec.to_builtins(file)}


def ladder_first_screen(root: Path) -> str:
    """The terminal summary of a ladder."""
    file = open_ladder(root)
    return ladder_summary(file, file.result or ladder_result([]), root)


def page_of(root: Path) -> bytes:
    """The page of a scored series or of a ladder, made anew; nothing is written."""
    if not is_ladder(root):
        return reporting.page_of(root)
    file = open_ladder(root)
    report = build_ladder_report(file, file.result or ladder_result([]), root)
    return ladder_page(file, report, draw_all(report)).encode()


def scored(root: Path, *, processes: int = 1) -> Json:
    """The scores of a series or of all rungs of a ladder, from the records."""
    return score_ladder(root) if is_ladder(root) else score(root, processes=processes)


def first_screen(root: Path) -> str:
    """The terminal summary of a series or a ladder."""
    return ladder_first_screen(root) if is_ladder(root) else summary(root)


def reported(root: Path, form: str, output: Path | None, *, share: bool = False) -> Path:
    """Write the report of a series in one format, or that of a ladder (page or Markdown)."""
    if not is_ladder(root):
        return reporting.report(root, form, output, share=share)
    made = _of_ladder(root, form, share=share)
    if output is None or output == made:
        return made
    write_whole(output, made.read_bytes())
    return output


def printed(root: Path, form: str, *, share: bool = False) -> str:
    """The same as text, for stdout."""
    if is_ladder(root):
        return _of_ladder(root, form, share=share).read_text(encoding="utf-8")
    return reporting.printed(root, form, share=share)


def _of_ladder(root: Path, form: str, *, share: bool) -> Path:
    if form not in ("md", "html") or share:
        what = "--share" if share else form
        raise FolderError(
            f"{root} is a ladder, whose report is html or md: name the series of a rung for {what}"
        )
    score_ladder(root, anew=False)
    return root / f"report.{form}"
