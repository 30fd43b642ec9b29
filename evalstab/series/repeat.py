"""N trials, one after the other or a few at a time, until all are done or somebody says stop.

When to stop is handed in as a function, so that this room knows nothing of gates.
"""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from evalstab.chat import Json
from evalstab.errors import EndpointUnusable, FolderError
from evalstab.series.files import disk_error
from evalstab.series.folder import SeriesFolder, TrialFolder
from evalstab.task.model import Task
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace
from evalstab.trial.loop import TrialPlan, Watcher, run_trial
from evalstab.trial.record import Record, TrialEnded, read_events
from evalstab.trial.resume import Opening, go_on

BREAKER = 2

Stop = Callable[[int], Awaitable[bool]]
"""Asked with the number of trials finished so far; true ends the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPlan:
    """A series ready to run: ``fields_of`` gives the request fields of a trial by its index."""

    folder: SeriesFolder
    task: Task
    trial: TrialPlan
    fields_of: Callable[[int], Json]
    repeats: int
    concurrency: int = 1
    attempts: int = 3


async def run_series(plan: SeriesPlan, watcher: Watcher, stop: Stop) -> list[TrialEnded]:
    """Run or resume all trials; returns the endings in order of index.

    A trial that the rig or a restarted server spoilt is set aside and repeated; two spoilt
    attempts in a row end the series with EndpointUnusable (circuit breaker).
    """
    endings: dict[int, TrialEnded] = {}
    queue = list(range(1, plan.repeats + 1))
    breaker = _Breaker()
    stopped = False

    async def worker() -> None:
        nonlocal stopped
        while queue and not stopped:
            index = queue.pop(0)
            endings[index] = await _trial(plan, index, watcher, breaker)
            stopped = stopped or await stop(len(endings))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(plan.concurrency, plan.repeats)):
                group.create_task(worker())
    except* EndpointUnusable as errors:
        raise errors.exceptions[0] from None
    except* FolderError as errors:
        raise errors.exceptions[0] from None
    return [endings[index] for index in sorted(endings)]


@dataclass(slots=True)
class _Breaker:
    """Counts spoilt attempts in a row."""

    row: int = 0

    def note(self, ended: TrialEnded) -> None:
        self.row = self.row + 1 if ended.outcome == "invalid" else 0
        if self.row >= BREAKER:
            raise EndpointUnusable(
                f"{self.row} attempts in a row were spoilt ({ended.reason}): "
                "the series stops here; mend the rig and run `evalstab resume`"
            )


async def _trial(plan: SeriesPlan, index: int, watcher: Watcher, breaker: _Breaker) -> TrialEnded:
    while True:
        folder = plan.folder.trial(index)
        ended = await _attempt(plan, folder, watcher)
        if ended.outcome != "invalid":
            breaker.note(ended)
            return ended
        if folder.attempt >= plan.attempts:
            return ended
        plan.folder.set_aside(folder)
        breaker.note(ended)


async def _attempt(plan: SeriesPlan, folder: TrialFolder, watcher: Watcher) -> TrialEnded:
    events = list(read_events(folder.record)) if folder.record.exists() else []
    if events and isinstance(events[-1], TrialEnded):
        return events[-1]
    opening = Opening(
        series=plan.folder.file.id,
        trial=folder.index,
        attempt=folder.attempt,
        fields=plan.fields_of(folder.index),
        messages=tuple(plan.trial.opening),
        answer_file=plan.trial.answer_file,
    )
    try:
        toolbox = _fresh_toolbox(plan.task, folder)
        record = Record(folder.record)
    except OSError as error:
        raise disk_error(folder.path, error) from error
    try:
        talk = go_on(opening, events, record, toolbox)
        if isinstance(talk, TrialEnded):
            return talk
        return await run_trial(plan.trial, talk, record, watcher)
    except OSError as error:
        raise disk_error(folder.path, error) from error
    finally:
        record.close()


def _fresh_toolbox(task: Task, folder: TrialFolder) -> Toolbox:
    shutil.rmtree(folder.workspace, ignore_errors=True)
    return Toolbox(task, Workspace.create(folder.workspace, task.inputs))
