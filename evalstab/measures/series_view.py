"""All trials of a series as the series measures see them: their scores, and a few facts each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evalstab.chat import Json
from evalstab.measures.facts import TrialFacts
from evalstab.series.folder import SeriesFile
from evalstab.task.model import Task

JUDGED = frozenset({"completed", "failed"})
"""Outcomes that say something about the model; aborted and invalid trials do not."""


@dataclass(frozen=True, slots=True)
class ScoredTrial:
    """One trial: its entry in ``scores.json`` and what else the series needs of it."""

    values: Json
    facts: TrialFacts

    @property
    def index(self) -> int:
        """The trial's number, from 1."""
        return int(self.values["index"])

    @property
    def judged(self) -> bool:
        """Whether the trial ran to an end that is the model's own."""
        return self.values["outcome"] in JUDGED


@dataclass(frozen=True, slots=True)
class SpoiltAttempt:
    """An attempt that was set aside; ``cause`` as attrition counts it."""

    index: int
    attempt: int
    cause: str


@dataclass(frozen=True, slots=True)
class SeriesView:
    """A series: what was decided before it, its trials by index, attempts that were spoilt."""

    root: Path
    file: SeriesFile
    task: Task
    trials: Sequence[ScoredTrial]
    spoilt: Sequence[SpoiltAttempt] = ()

    @property
    def judged(self) -> list[ScoredTrial]:
        """Trials that ran to an end of the model's own, in order."""
        return [trial for trial in self.trials if trial.judged]

    @property
    def answered(self) -> list[ScoredTrial]:
        """The judged trials in which at least one answer arrived: only these can be compared."""
        return [trial for trial in self.judged if trial.facts.answers]

    @property
    def simulated(self) -> bool:
        """Whether the endpoint was the embedded simulator."""
        endpoint = self.file.endpoint
        name = str(endpoint.get("name", ""))
        return bool(endpoint.get("simulated")) or name.startswith("sim:")

    def condition(self, name: str) -> Any:
        """A declared condition of the series (context, shuffle, cache …), None where not set."""
        return self.file.conditions.get(name)


def context_target(file: SeriesFile) -> int | None:
    """The active context that was asked for, None where the task has its natural size."""
    value = file.conditions.get("context")
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, int) and not isinstance(value, bool) else None
