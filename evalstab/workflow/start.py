"""Where a request goes: one series, two in turn, or a ladder; and the same for a folder."""

from __future__ import annotations

from pathlib import Path

from evalstab.errors import FolderError, UsageError
from evalstab.series.folder import open_series
from evalstab.series.ladder import is_ladder
from evalstab.workflow import against, agents, ladder
from evalstab.workflow import run as running
from evalstab.workflow.loop import resumable
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import Outcome, People


def start(request: RunRequest, people: People) -> Outcome:
    """Carry a request out, whatever it asks for."""
    if request.agent is not None:
        if request.several:
            raise UsageError("--agent carries out one series: give one --concurrency, no --context")
        return agents.run(request, people)
    if not request.several:
        return against.run(request, people)
    if request.against is not None:
        raise UsageError(
            "--against compares one series: give one --concurrency and no --context above 16k"
        )
    return ladder.climb(request, people)


def go_on(
    root: Path,
    people: People,
    *,
    repeats: int | None = None,
    gate: str | None = None,
    early_stop: bool = True,
) -> Outcome:
    """Resume a series, or a ladder."""
    if is_ladder(root):
        resume = ladder.resume_ladder
    else:
        file = open_series(root).file
        if file.endpoint.get("imported"):
            raise FolderError(f"{root} was imported: there is nothing to go on with; score it")
        resume = agents.resume if file.conditions.get("agent") else running.resume
        _tell_if_longer(root, repeats, people)
    with resumable(root):
        return resume(root, people, repeats=repeats, gate=gate, early_stop=early_stop)


def _tell_if_longer(root: Path, repeats: int | None, people: People) -> None:
    """Say so where ``--repeats`` asks for no more trials than there are."""
    there = len({trial.index for trial in open_series(root).trials()})
    if repeats is not None and repeats <= there:
        people.announce(
            f"{root} has {there} trials already, --repeats {repeats} adds none: give the number "
            "of all trials that it shall have"
        )
