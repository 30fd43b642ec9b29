"""One trial's entry in ``scores.json``: the record read once, every measure, all findings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.findings import Finding
from evalstab.measures.base import put
from evalstab.measures.catalogue import TRIAL_MEASURES
from evalstab.measures.facts import trial_facts
from evalstab.measures.series_view import ScoredTrial
from evalstab.measures.view import TrialView, read_trial
from evalstab.series.folder import TrialFolder
from evalstab.task.model import Task

FINDINGS_SHOWN = 100
"""Findings of one code that a trial lists; all of them are counted."""

UNFINISHED_REASON = "the trial has not ended"


def score_trial(
    folder: TrialFolder,
    task: Task,
    target: int | None = None,
    *,
    detect_languages: bool = True,
) -> ScoredTrial:
    """Score one attempt from its record and workspace; pure, offline, never raises for bad data.

    ``target`` is the active context that was asked for. ``detect_languages`` false leaves out the
    sentence-wise language scan, which takes most of the time.
    """
    trial = read_trial(folder, task, target, detect_languages=detect_languages)
    values = _head(trial)
    findings = list(trial.recorded)
    for measure in TRIAL_MEASURES:
        measured = measure.compute(trial)
        values |= measured.values
        findings += measured.findings
    set_findings(values, findings)
    return ScoredTrial(values, trial_facts(trial))


def set_findings(values: Json, findings: Sequence[Finding]) -> None:
    """Write a trial's findings, by step, with their counts; long lists are cut and say so."""
    ordered = sorted(findings, key=lambda f: (f.step is None, f.step or 0))
    counts = Counter(found.code for found in ordered)
    shown: Counter[str] = Counter()
    entries: list[Json] = []
    for found in ordered:
        shown[found.code] += 1
        if shown[found.code] <= FINDINGS_SHOWN:
            entries.append(finding_entry(found, values["index"]))
    values["findings"] = entries
    values["finding_counts"] = dict(sorted(counts.items()))
    values["findings_omitted"] = {
        code: count - FINDINGS_SHOWN
        for code, count in sorted(counts.items())
        if count > FINDINGS_SHOWN
    }


def finding_entry(found: Finding, trial: int | None) -> Json:
    """A finding as it stands in ``scores.json``; null means that the place does not apply."""
    entry: dict[str, Any] = msgspec.to_builtins(found)
    return {"trial": trial, **entry}


def add_finding(values: Json, found: Finding) -> None:
    """Add a finding that only the other trials of the series could show."""
    counts = values["finding_counts"]
    counts[found.code] = counts.get(found.code, 0) + 1
    if counts[found.code] <= FINDINGS_SHOWN:
        values["findings"].append(finding_entry(found, values["index"]))
    else:
        omitted = values["findings_omitted"]
        omitted[found.code] = omitted.get(found.code, 0) + 1


def cause_of_loss(trial: TrialView) -> str:
    """Why an attempt brought no completed trial: the last fault that is not the model's, else how
    it ended."""
    if trial.ended is None:
        return "unfinished"
    codes = [found.code for found in _last_findings(trial) if found.side != "model"]
    return codes[-1] if codes else trial.ended.ending


def _last_findings(trial: TrialView) -> Iterable[Finding]:
    last = trial.steps[-1].number if trial.steps else None
    return (found for found in trial.recorded if found.step in (None, last))


def _head(trial: TrialView) -> Json:
    ended = trial.ended
    values: Json = {"index": trial.index, "attempt": trial.attempt}
    if ended is not None and trial.damage is None:
        values |= {"outcome": ended.outcome, "reason": ended.reason}
    else:
        values |= {"outcome": "aborted", "reason": trial.damage or UNFINISHED_REASON}
    put(values, "seconds", *_seconds(trial))
    values["steps"] = len(trial.steps)
    values["resumed"] = trial.resumed
    if values["outcome"] != "completed":
        values["cause"] = cause_of_loss(trial)
    return values


def _seconds(trial: TrialView) -> tuple[float | None, str]:
    """Time spent in the trial: as it ended, else up to the end of its last step."""
    if trial.ended is not None:
        spent = trial.ended.seconds
    elif trial.steps:
        spent = trial.steps[-1].event.started + trial.steps[-1].event.seconds
    else:
        return None, "no step was finished"
    return (spent, "") if spent > 0 else (None, "the record holds no times")
