"""From a series folder to ``scores.json``: every trial, then the series, then the judge."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context

from evalstab.chat import Json
from evalstab.measures.base import put
from evalstab.measures.catalogue import SERIES_MEASURES
from evalstab.measures.series_view import (
    ScoredTrial,
    SeriesView,
    SpoiltAttempt,
    context_target,
)
from evalstab.measures.trial_score import (
    add_finding,
    cause_of_loss,
    finding_entry,
    score_trial,
)
from evalstab.measures.view import read_trial
from evalstab.series.files import write_json
from evalstab.series.folder import SeriesFolder, TrialFolder
from evalstab.task.grouping import judged_whole
from evalstab.task.load import load_task
from evalstab.task.model import Task
from evalstab.task.unasked import UNASKED, unasked_task

SCHEMA_VERSION = 1
SCORES_FILE = "scores.json"
LOW_PRIORITY = 19
Judge = Callable[[Json], Json]
"""Makes the verdict out of the other scores."""


def write_scores(folder: SeriesFolder, *, processes: int = 1, judge: Judge | None = None) -> Json:
    """Score a series and write its ``scores.json`` whole; returns the document."""
    scores = score_series(folder, processes=processes, judge=judge)
    write_json(folder.root / SCORES_FILE, scores)
    return scores


def score_series(
    folder: SeriesFolder,
    *,
    processes: int = 1,
    judge: Judge | None = None,
    detect_languages: bool = True,
) -> Json:
    """The scores of a series, from its files alone.

    ``processes`` above 1 scores trials in that many processes at low priority. ``judge`` makes the
    verdict; without one its status is ``none``. Raises TaskError where the copy of the task is
    broken; damaged records are data.
    """
    task = _task(folder)
    if (folder.file.conditions.get("groups") or 1) != 1:
        task = judged_whole(task)
    attempts = folder.trials()
    trials = _score_all(
        [attempt for attempt in attempts if not attempt.spoilt],
        partial(
            score_trial,
            task=task,
            target=context_target(folder.file),
            detect_languages=detect_languages,
        ),
        processes,
    )
    series = SeriesView(
        root=folder.root,
        file=folder.file,
        task=task,
        trials=trials,
        spoilt=[_spoilt(attempt, task) for attempt in attempts if attempt.spoilt],
    )
    return _document(series, judge)


def _task(folder: SeriesFolder) -> Task:
    """The copy of the task that was asked; one that asks for nothing where none was named."""
    if folder.file.task.get("name") == UNASKED:
        return unasked_task(str(folder.file.task.get("language") or "en"))
    return load_task(folder.task_folder, folder.file.task.get("overrides"))


def no_verdict() -> Json:
    """The verdict of a series for which no gate was asked."""
    verdict: Json = {"status": "none", "provisional": False}
    put(verdict, "gate", None, "no gate was asked for")
    verdict["rules"] = []
    put(verdict, "more_repeats_needed", None, "no gate was asked for")
    verdict["next"] = []
    return verdict


def _score_all(
    attempts: Sequence[TrialFolder],
    score: Callable[[TrialFolder], ScoredTrial],
    processes: int,
) -> list[ScoredTrial]:
    if processes <= 1 or len(attempts) < 2:
        return [score(attempt) for attempt in attempts]
    with ProcessPoolExecutor(
        min(processes, len(attempts)),
        mp_context=get_context("spawn"),
        initializer=_step_back,
    ) as pool:
        return list(pool.map(score, attempts, chunksize=max(1, len(attempts) // (8 * processes))))


def _step_back() -> None:
    """Give way to the processes that measure time."""
    os.nice(LOW_PRIORITY)


def _spoilt(attempt: TrialFolder, task: Task) -> SpoiltAttempt:
    return SpoiltAttempt(attempt.index, attempt.attempt, cause_of_loss(read_trial(attempt, task)))


def _document(series: SeriesView, judge: Judge | None) -> Json:
    measured = [measure.compute(series) for measure in SERIES_MEASURES]
    by_index = {trial.index: trial.values for trial in series.trials}
    for index, found in (pair for one in measured for pair in one.trial_findings):
        add_finding(by_index[index], found)
    scores: Json = {
        "schema_version": SCHEMA_VERSION,
        "series": _series_block(series),
        "trials": [trial.values for trial in series.trials],
        "findings": [finding_entry(f, None) for m in measured for f in m.findings],
    }
    for one in measured:
        scores |= one.values
    scores["verdict"] = judge(scores) if judge is not None else no_verdict()
    return scores


def _series_block(series: SeriesView) -> Json:
    file = series.file
    values: Json = {"id": file.id}
    put(values, "task", file.task.get("name", series.task.name), "")
    for key, name in (("endpoint", "name"), ("model", "model")):
        put(values, key, file.endpoint.get(name), "series.json does not say")
    put(values, "context_target", context_target(file), "the task has its natural size")
    invalid = [trial for trial in series.trials if trial.values["outcome"] == "invalid"]
    lost = Counter(_causes(series))
    values |= {
        "repeats_planned": SeriesFolder(series.root, file).planned,
        "repeats_done": len(series.judged),
        "simulated": series.simulated,
        "attempts": len(series.trials) + len(series.spoilt),
        "invalid": len(series.spoilt) + len(invalid),
        "attrition": dict(sorted(lost.items())),
    }
    return values


def _causes(series: SeriesView) -> Iterable[str]:
    """Why attempts brought no completed trial."""
    yield from (attempt.cause for attempt in series.spoilt)
    yield from (str(t.values["cause"]) for t in series.trials if "cause" in t.values)
