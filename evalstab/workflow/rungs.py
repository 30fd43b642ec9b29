"""Score what a folder holds, be it a series or a ladder, and show it first; no network."""

from __future__ import annotations

from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.measures.ladder import ladder_result
from evalstab.report.ladder import ladder_summary, write_ladder_report
from evalstab.series.folder import SERIES_FILE, open_series
from evalstab.series.ladder import LadderFile, Rung, is_ladder, open_ladder, write_ladder
from evalstab.workflow.score import SCORES, read_scores, score, summary


def score_ladder(root: Path, *, anew: bool = True) -> Json:
    """The scores of all rungs and the ladder's result; its files are written again.

    ``anew``: every rung is scored from its records.
    """
    known: list[tuple[Rung, Json]] = []
    for rung in open_ladder(root).rungs:
        place = root / rung.name
        if (place / SERIES_FILE).is_file() and (anew or (place / SCORES).is_file()):
            known.append((rung, score(place) if anew else read_scores(open_series(place))))
    file = with_result(root, known)
    write_ladder(root, file)
    write_ladder_report(file, file.result or {}, root)
    return document(file, known)


def with_result(root: Path, known: list[tuple[Rung, Json]]) -> LadderFile:
    """The ladder with the result of these rungs; nothing is written."""
    file = open_ladder(root)
    names = {rung.name for rung, _ in known}
    missing = [rung for rung in file.rungs if rung.name not in names]
    planned = max([file.repeats, *(scores["series"]["repeats_planned"] for _, scores in known)])
    result = ladder_result(known, missing)
    return msgspec.structs.replace(file, repeats=planned, result=result)


def document(file: LadderFile, known: list[tuple[Rung, Json]]) -> Json:
    """What is printed of a ladder as JSON."""
    return {"series": [scores for _, scores in known], "ladder": msgspec.to_builtins(file)}


def ladder_first_screen(root: Path) -> str:
    """The terminal summary of a ladder."""
    file = open_ladder(root)
    return ladder_summary(file, file.result or ladder_result([]), root)


def scored(root: Path, *, processes: int = 1) -> Json:
    """The scores of a series or of all rungs of a ladder, from the records."""
    return score_ladder(root) if is_ladder(root) else score(root, processes=processes)


def first_screen(root: Path) -> str:
    """The terminal summary of a series or a ladder."""
    return ladder_first_screen(root) if is_ladder(root) else summary(root)
