"""``run --against``: trials of two conditions in turn, so that the hour of the day bears on both.

The base's conditions are run again in a series of their own; the old series only says what they
were. Both endpoints must be up at the same time.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from evalstab.errors import EndpointUnusable
from evalstab.gate.comparable import require_equal_work
from evalstab.series.folder import SeriesFolder, claim, create_series, locked, open_series
from evalstab.workflow import run as running
from evalstab.workflow.compare import compare_series, table
from evalstab.workflow.loop import on_a_loop, resumable
from evalstab.workflow.prepare import Prepared, default_folder, prepare, series_file, work_of
from evalstab.workflow.provenance import keep
from evalstab.workflow.recorded import recorded
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import Outcome, People
from evalstab.workflow.score import score


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two series, ready to run."""

    prepared: Prepared
    folder: SeriesFolder


def run(request: RunRequest, people: People) -> Outcome:
    """A series, or two in turn where the request names one to run against."""
    if request.against is None:
        return running.run(request, people)
    return run_against(request, request.against, people)


def run_against(request: RunRequest, base: Path, people: People) -> Outcome:
    """Run the request and the conditions of ``base`` in turn, compare them; the new one's outcome.

    FolderError where the work is not the same; EndpointUnusable, saying which of the two it is,
    where one endpoint cannot be reached. ``base`` itself is not changed.
    """
    old = open_series(base)
    new_side = prepare(request)
    require_equal_work(old.file.work, work_of(new_side.task, new_side.settings))
    root = request.out or default_folder(new_side)
    base_side = recorded(old, new_side.repeats)
    base_root = root.with_name(f"{root.name}-base")
    with resumable(root), ExitStack() as stack:
        new = _ready(new_side, root, people, stack)
        try:
            again = _ready(base_side, base_root, people, stack)
        except EndpointUnusable as error:
            raise EndpointUnusable(
                f"the endpoint of {base} is not up: {error}. Trials can only alternate where both "
                f"are: run without --against, then evalstab compare {base} {root}"
            ) from error
        sides = [_begun(new, root, stack), _begun(again, base_root, stack)]
        people.announce(f"series {root} in turn with {base_root}")
        problem = _alternate(sides, people)
        score(base_root)
        outcome = running.finished(new, sides[0].folder, people, problem)
    if any(t["outcome"] in ("completed", "failed") for t in outcome.scores["trials"]):
        found = compare_series(base_root, root, ())
        for line in table(found).splitlines():
            people.announce(line)
    return outcome


def _ready(prepared: Prepared, root: Path, people: People, stack: ExitStack) -> Prepared:
    prepared = running.with_simulator(prepared, root, people, stack)
    ready = on_a_loop(running.preflighted(prepared.settings))
    return running.with_provenance(replace(prepared, settings=ready.settings), people.announce)


def _begun(prepared: Prepared, root: Path, stack: ExitStack) -> _Side:
    claim(root)
    keep(prepared, root)
    folder = create_series(root, series_file(prepared), prepared.task.folder)
    stack.enter_context(locked(root))
    return _Side(prepared, folder)


def _alternate(sides: list[_Side], people: People) -> str | None:
    """One trial of each in turn, the first of a pair by turns too; why it ended early, if so."""
    for number in range(1, sides[0].prepared.repeats + 1):
        for one in sides if number % 2 else reversed(sides):
            step = replace(one.prepared, repeats=number)
            try:
                on_a_loop(running.carry_out(step, one.folder, people))
            except EndpointUnusable as error:
                return str(error)
    return None
