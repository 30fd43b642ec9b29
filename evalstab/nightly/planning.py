"""Before the first trial of a night: who answers, how long each series takes, what fits."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from evalstab.errors import EndpointUnusable, UsageError
from evalstab.history.rows import Row
from evalstab.nightly.night import Item
from evalstab.report.numbers import duration
from evalstab.series.ladder import CONTROL
from evalstab.workflow.expected import look_ahead
from evalstab.workflow.loop import on_a_loop
from evalstab.workflow.prepare import Prepared, prepare
from evalstab.workflow.provenance import look_at_rig
from evalstab.workflow.run import People, preflighted, with_simulator

NEAR = 0.25
"""A size at most this far from one that was timed takes its time, in proportion."""


@dataclass(frozen=True, slots=True)
class Look:
    """What looking at an endpoint brought: why it cannot be used, or None; probed seconds."""

    problem: str | None = None
    seconds: float | None = None


def prepared(item: Item) -> Prepared:
    """The request of an entry, looked up; its mistakes are errors here, before any trial."""
    return prepare(item.settings.request())


def with_times(item: Item, asked: Prepared, rows: Sequence[Row]) -> Item:
    """The item with what history knows: when it was last tested, and how long it took."""
    same = [
        row
        for row in rows
        if row.task == asked.task.name and row.endpoint == asked.endpoint and row.judged
    ]
    sizes: list[int | None] = [*asked.request.rungs] or [None]
    times = [_known(size, same) for size in sizes]
    newest = max((row.created for row in same if row.context in sizes), default=None)
    known = None if None in times else sum(t for t in times if t is not None) * asked.repeats
    return msgspec.structs.replace(
        item,
        last_tested=newest,
        expected_seconds=known,
        expected_from="history" if known is not None else None,
    )


def look(asked: Prepared, people: People, *, timed: bool) -> Look:
    """Is anybody there, is the rig well; where no time is known, a probe of a few tokens."""
    with ExitStack() as stack:
        place = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        try:
            opened = with_simulator(asked, place, people, stack)
            ready = on_a_loop(preflighted(opened.settings))
            opened = replace(opened, settings=ready.settings)
        except (EndpointUnusable, UsageError) as error:
            return Look(str(error))
        if asked.simulated is None and (unfit := _unfit(opened)):
            return Look(unfit)
        if timed:
            return Look()
        rungs: list[int | None] = [*asked.request.rungs] or [None]
        return Look(seconds=on_a_loop(look_ahead(opened, rungs)).seconds)


def in_order(items: Sequence[Item], left: float) -> list[Item]:
    """The items, untested longest first; what does not fit into the seconds left is left out.

    An item without any known time is tried as long as there is time.
    """
    ordered = sorted(items, key=lambda item: (item.status != "running", item.last_tested or ""))
    planned: list[Item] = []
    for item in ordered:
        needed = item.expected_seconds or 0.0
        if item.status == "planned" and needed > left:
            planned.append(left_out(item, left))
        else:
            left -= needed
            planned.append(item)
    return planned


def left_out(item: Item, left: float) -> Item:
    """The item, left out for want of time, with the reason."""
    tested = f"last tested {item.last_tested[:10]}" if item.last_tested else "never tested"
    known = item.expected_seconds is not None
    time = f"takes about {duration(item.expected_seconds or 0.0)}" if known else "time unknown"
    problem = f"{time}, {duration(max(0.0, left))} of the budget left; {tested}"
    return msgspec.structs.replace(item, status="left_out", problem=problem)


def _known(size: int | None, rows: Sequence[Row]) -> float | None:
    """Seconds of a trial at this size: of the newest series at it, or near it in proportion."""
    exact = [row for row in rows if row.context == size and row.seconds is not None]
    if exact:
        return max(exact, key=lambda row: row.created).seconds
    near = [
        (row, size / row.context)
        for row in rows
        if size and row.context and row.seconds and abs(size / row.context - 1) <= NEAR
    ]
    if near:
        row, scale = max(near, key=lambda pair: pair[0].created)
        return (row.seconds or 0.0) * scale
    if size is not None and size <= CONTROL:
        return _known(None, rows)
    return None


def _unfit(opened: Prepared) -> str | None:
    fitness = look_at_rig(opened.settings)
    if fitness is None or fitness.status != "failed":
        return None
    found = [check.detail for check in fitness.checks if check.status == "failed"]
    return f"the hardware is not fit to judge a model on: {'; '.join(found[:6])}"
