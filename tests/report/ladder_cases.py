"""Ladders to report on and to judge: rungs made from tables of totals, no endpoint."""

from __future__ import annotations

import copy
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFile
from evalstab.series.ladder import LadderFile, Rung, write_ladder
from tests.report.report_cases import FIVE_RUN, scores_of

NAMES = ["Erika Musterfrau", "Otto Normal", "Max Mustermann", "Lieschen Müller", "Jane Doe"]
STEADY: list[list[float | None]] = [[50.0, 40.0, 30.0, 20.0, 10.0]] * 5
TORN: list[list[float | None]] = [
    [50.0, 40.0, 30.0, 20.0, 10.0],
    [10.0, 20.0, 30.0, 40.0, 50.0],
    [30.0, 10.0, 50.0, 20.0, 40.0],
    [20.0, 50.0, 10.0, 40.0, 30.0],
    [40.0, 30.0, 20.0, 10.0, 50.0],
]
Totals = list[list[float | None]]


def ladder_of(
    root: Path,
    rungs: Sequence[tuple[str, int | None, int, Totals | None]],
    **changes: Any,
) -> LadderFile:
    """A ladder with a scored series for each rung: name, size, level, totals; None: not run."""
    made = tuple(
        Rung(
            name=name,
            context_target=size,
            concurrency=level,
            control=number == 0,
            status="planned" if totals is None else "done",
        )
        for number, (name, size, level, totals) in enumerate(rungs)
    )
    file = LadderFile(
        id="a-ladder", created="2026-11-30T02:14:00+00:00", task="eleven-profiles",
        endpoint="minimax-awq", simulated=False, repeats=5, seed=1,
        request={
            "task": "eleven-profiles", "endpoint": "minimax-awq",
            "contexts": [size for _, size, _, _ in rungs if size],
            "levels": sorted({level for _, _, level, _ in rungs}),
        },
        rungs=made,
    )  # fmt: skip
    root.mkdir(parents=True, exist_ok=True)
    write_ladder(root, msgspec.structs.replace(file, **changes))
    for name, size, level, totals in rungs:
        if totals is not None:
            _rung(root / name, size, level, totals)
    return file


def _rung(place: Path, size: int | None, level: int, totals: Totals) -> None:
    scores = copy.deepcopy(scores_of(totals, NAMES))
    scores["series"] |= {"context_target": size}
    for number, trial in enumerate(scores["trials"]):
        trial["active_context_tokens"] = (size or 9_000) + number
        trial["tokens_source"] = "server"
    place.mkdir()
    shutil.copyfile(FIVE_RUN / "series.json", place / "series.json")
    file = msgspec.json.decode((place / "series.json").read_bytes(), type=SeriesFile)
    conditions = file.conditions | {"context": [size] if size else [], "concurrency": level}
    task = file.task | {"candidates": NAMES}
    changed = msgspec.structs.replace(file, conditions=conditions, task=task)
    write_json(place / "series.json", changed)
    write_json(place / "scores.json", scores)
