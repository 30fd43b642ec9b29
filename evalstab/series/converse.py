"""One attempt at a trial on the disk: begun, or gone on with from its record."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, field

from evalstab.chat import Json
from evalstab.series.files import disk_error
from evalstab.series.folder import TrialFolder
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.tools.toolbox import Toolbox
from evalstab.tools.workspace import Workspace
from evalstab.trial.loop import TrialPlan, Watcher, run_trial
from evalstab.trial.record import Record, TrialEnded, read_events
from evalstab.trial.resume import Opening, go_on


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """What one conversation is asked: the task as this trial sees it, request fields, messages.

    ``variation`` is recorded: in what this differs from other trials, as declared.
    """

    task: Task
    fields: Json
    messages: tuple[Json, ...]
    variation: Json = field(default_factory=dict)


async def converse(
    plan: TrialPlan, folder: TrialFolder, asked: Asking, watcher: Watcher
) -> TrialEnded:
    """Carry the attempt in this folder to its end; what has ended already is only read.

    An attempt that was aborted has not ended: it goes on.

    FolderError where the disk refuses, or the record began otherwise.
    """
    events = list(read_events(folder.record)) if folder.record.exists() else []
    if events and isinstance(events[-1], TrialEnded) and events[-1].outcome != "aborted":
        return events[-1]
    opening = Opening(
        series=plan.series,
        trial=folder.index,
        attempt=folder.attempt,
        fields=asked.fields,
        messages=asked.messages,
        answer_file=ANSWER_FILE if asked.task.spec.tools == "none" else None,
        variation=asked.variation,
    )
    try:
        toolbox = _fresh_toolbox(asked.task, folder)
        record = Record(folder.record)
    except OSError as error:
        raise disk_error(folder.path, error) from error
    try:
        talk = go_on(opening, events, record, toolbox)
        if isinstance(talk, TrialEnded):
            return talk
        return await run_trial(plan, talk, record, watcher)
    except OSError as error:
        raise disk_error(folder.path, error) from error
    finally:
        record.close()


def _fresh_toolbox(task: Task, folder: TrialFolder) -> Toolbox:
    shutil.rmtree(folder.workspace, ignore_errors=True)
    return Toolbox(task, Workspace.create(folder.workspace, task.inputs))
