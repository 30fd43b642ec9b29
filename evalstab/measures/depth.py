"""How deep the evidence stood that a model found: rubric points by the depth of their facts.

Generated tasks know where each fact stands. A criterion counts as found where the ranking gives the
points that the counting fact is worth. Depth is the share of the input (opening message, then the
documents in the order in which this trial lists them) before the fact; ballast is not part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import TaskError
from evalstab.measures.view import TrialView
from evalstab.task.brief import opening_messages
from evalstab.task.generate.facts import Fact, FactSheet, read_facts
from evalstab.task.variation import in_order

BANDS = 5
_TOLERANCE = 1e-9


@lru_cache(maxsize=4)
def facts_of_task(folder: Path) -> FactSheet | None:
    """The fact sheet of a task folder; None where there is none, or it cannot be read."""
    try:
        return read_facts(folder)
    except TaskError:
        return None


def found_by_depth(trial: TrialView) -> list[Json] | None:
    """Facts and found points in five bands of depth; None for a task without known facts."""
    sheet, ranking = facts_of_task(trial.task.folder), trial.ranking
    if sheet is None or ranking is None or not ranking.criteria:
        return None
    bands: list[Json] = [
        {"from": band / BANDS, "to": (band + 1) / BANDS, "facts": 0, "found": 0}
        for band in range(BANDS)
    ]
    for fact, depth in _placed(trial, sheet):
        given = ranking.criteria.get(fact.candidate, {}).get(fact.criterion or "")
        band = bands[min(int(depth * BANDS), BANDS - 1)]
        band["facts"] += 1
        band["found"] += given is not None and abs(given - (fact.points or 0)) < _TOLERANCE
    return bands


def _placed(trial: TrialView, sheet: FactSheet) -> Iterator[tuple[Fact, float]]:
    """Facts that count, with their depth in this trial's reading order."""
    variation = trial.started.variation if trial.started else {}
    task = trial.task
    order = variation.get("order")
    if isinstance(order, list) and set(order) == set(task.candidates):
        task = in_order(task, order)
    before = sum(len(str(message["content"])) for message in opening_messages(task))
    starts: dict[str, int] = {}
    for path, data in task.inputs.items():
        starts[path] = before
        before += len(data.decode("utf-8-sig"))
    for fact in sheet.facts:
        if fact.role == "counts" and fact.file in starts:
            yield fact, (starts[fact.file] + fact.start) / max(before, 1)
