"""A night from its lock to its notification."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from evalstab.errors import DiskError, EndpointUnusable, EvalstabError, Interrupted
from evalstab.history.store import rows_of
from evalstab.nightly import outputs, planning
from evalstab.nightly.config import Entry, NightlySettings
from evalstab.nightly.night import (
    Item,
    Night,
    alone,
    digest_of,
    folder_for,
    new_night,
    unfinished,
)
from evalstab.nightly.results import not_set, results_of
from evalstab.report.numbers import duration
from evalstab.series.folder import SERIES_FILE
from evalstab.series.ladder import is_ladder
from evalstab.workflow.disk import compress_finished
from evalstab.workflow.prepare import Prepared
from evalstab.workflow.request import Announce
from evalstab.workflow.run import Outcome, People
from evalstab.workflow.start import go_on, start
from evalstab.workflow.trends import REPORTS

CUT = "the time was up"


@dataclass(slots=True)
class _Clock:
    """Wall-clock time of a night, over all its interruptions."""

    began: float
    before: float
    budget: float

    @property
    def spent(self) -> float:
        """Seconds worked on the night so far."""
        return self.before + time.monotonic() - self.began

    @property
    def left(self) -> float:
        """Seconds of the budget that are left, 0 at least."""
        return max(0.0, self.budget - self.spent)


def nightly(settings: NightlySettings, people: People, complain: Announce) -> Night:
    """Run every series of the night, or go on with one that was cut off; returns how it went.

    ``complain`` takes the lines that must be seen even by those who asked for quiet: a dead
    endpoint, a series cut off. ConfigError before any trial for what is wrong in the entries;
    EndpointUnusable where another night runs; Interrupted after Ctrl-C, everything kept.
    """
    with alone(settings):
        asked = {entry.name: planning.prepared(_item(entry, "")) for entry in settings.series}
        for entry in settings.series:
            if entry.baseline is not None and not Path(entry.baseline).exists():
                people.announce(f"{entry.name}: {not_set(entry.baseline)}")
        night, clock = _begun(settings, people)
        complain = _once(complain)
        people = replace(people, late=lambda: clock.left <= 0)
        try:
            night = _planned(night, asked, people, complain)
            night = _walk(night, people, complain, clock)
            now = datetime.now(UTC).isoformat(timespec="seconds")
            night = msgspec.structs.replace(night, ended=now, spent=clock.spent)
            rows = rows_of(REPORTS, complain)
            # Ended is what has its pages and was told of: a kill before that is gone on with.
            outputs.write(night, settings, rows, complain)
            night.write()
        except (Interrupted, KeyboardInterrupt):
            _kept(night.root, clock, settings)
            raise Interrupted(
                "interrupted: all finished steps are kept; `evalstab nightly` goes on with them"
            ) from None
        except DiskError as error:
            _told(night.root, clock, settings, error)
            raise error.begun("evalstab nightly") from error
        own = {Path(result.folder) for item in night.items for result in item.results}
        compress_finished(REPORTS, rows, own)
        return night


def preview(settings: NightlySettings, people: People, complain: Announce) -> Night:
    """The night as it would be run now: order, times, and what is left out; nothing is kept.

    ``complain`` is told of a history that cannot be used; a dead endpoint stands in its items.
    """
    asked = {entry.name: planning.prepared(_item(entry, "")) for entry in settings.series}
    night = new_night(settings)
    items = _items(settings)
    night = msgspec.structs.replace(night, items=tuple(items))
    rows, looks = rows_of(REPORTS, complain), dict[str, planning.Look]()
    timed = [
        _timed(planning.with_times(item, asked[item.name], rows), asked[item.name], people, looks)
        for item in night.items
    ]
    return msgspec.structs.replace(night, items=tuple(planning.in_order(timed, settings.seconds)))


def _item(entry: Entry, folder: str) -> Item:
    return Item(entry=entry.model_dump(mode="json"), name=entry.name, folder=folder)


def _items(settings: NightlySettings) -> list[Item]:
    taken: set[str] = set()
    return [_item(entry, folder_for(entry, taken)) for entry in settings.series]


def _begun(settings: NightlySettings, people: People) -> tuple[Night, _Clock]:
    night = unfinished(settings)
    if night is None:
        night = new_night(settings)
    else:
        people.announce(f"going on with the night of {night.started[:16].replace('T', ' ')} UTC")
        night = msgspec.structs.replace(night, ended=None)
    if not night.items:
        night = msgspec.structs.replace(night, items=tuple(_items(settings)))
    night.write()
    assert night.digest == digest_of(settings)
    return night, _Clock(time.monotonic(), night.spent, settings.seconds)


def _planned(night: Night, asked: dict[str, Prepared], people: People, complain: Announce) -> Night:
    """Look at every endpoint once; put the series in order; leave out what does not fit."""
    looks: dict[str, planning.Look] = {}
    rows = rows_of(REPORTS, complain)
    items = [
        _timed(planning.with_times(item, asked[item.name], rows), asked[item.name], people, looks)
        if item.open
        else item
        for item in night.items
    ]
    for item in items:
        if item.status == "stopped":
            complain(f"{item.settings.endpoint}: {item.problem}")
    left = night.budget - night.spent
    night = msgspec.structs.replace(night, items=tuple(planning.in_order(items, left)))
    for item in night.items:
        if item.status == "left_out" and item.problem:
            people.announce(f"{item.name}: left out: {item.problem}")
    night.write()
    return night


def _timed(item: Item, asked: Prepared, people: People, looks: dict[str, planning.Look]) -> Item:
    """The item with its expected time; stopped at once where nobody answers or the rig is unfit."""
    key = asked.endpoint
    if key not in looks or (looks[key].problem is None and item.expected_seconds is None):
        looks[key] = planning.look(asked, people, timed=item.expected_seconds is not None)
    seen = looks[key]
    if seen.problem is not None:
        return msgspec.structs.replace(
            item, status="stopped", exit_code=EndpointUnusable.exit_code, problem=seen.problem
        )
    if item.status == "stopped":
        item = msgspec.structs.replace(item, status="running", problem=None, exit_code=0)
    if item.expected_seconds is None and seen.seconds is not None:
        return msgspec.structs.replace(
            item, expected_seconds=seen.seconds, expected_from="probe (at least)"
        )
    return item


def _walk(night: Night, people: People, complain: Announce, clock: _Clock) -> Night:
    """One series after the other; the file says what is being done before it is done."""
    for number, item in enumerate(night.items):
        if item.status not in ("planned", "running"):
            continue
        late = clock.left <= 0 or (item.expected_seconds or 0.0) > clock.left
        if item.status == "planned" and late:
            left = planning.left_out(item, clock.left)
            people.announce(f"{item.name}: left out: {left.problem}")
            night = _noted(night, number, left, clock)
            continue
        running = msgspec.structs.replace(item, status="running")
        night = _noted(night, number, running, clock)
        night = _noted(night, number, _done(running, people, complain), clock)
    return night


def _noted(night: Night, number: int, item: Item, clock: _Clock) -> Night:
    """The night with this item, written down."""
    night = msgspec.structs.replace(night.with_item(number, item), spent=clock.spent)
    night.write()
    return night


def _done(item: Item, people: People, complain: Announce) -> Item:
    """Carry one series (or ladder) as far as it goes tonight."""
    began = time.monotonic()
    expected = f", about {duration(item.expected_seconds)}" if item.expected_seconds else ""
    people.announce(f"{item.name}{expected}")
    try:
        outcome = _carried(item, people)
    except (Interrupted, DiskError):
        raise
    except EvalstabError as error:
        complain(f"{item.settings.endpoint}: {error}")
        return msgspec.structs.replace(
            item, status="stopped", exit_code=error.exit_code, problem=str(error)
        )
    cut = outcome.problem is not None and CUT in outcome.problem
    stopped = outcome.exit_code == EndpointUnusable.exit_code
    if outcome.problem is not None:
        complain(f"{item.settings.endpoint}: {outcome.problem}")
    return msgspec.structs.replace(
        item,
        status="cut" if cut else "stopped" if stopped else "done",
        exit_code=outcome.exit_code,
        problem=outcome.problem,
        seconds=item.seconds + time.monotonic() - began,
        results=results_of(outcome.folder, item.settings.baseline, rows_of(REPORTS, complain)),
    )


def _carried(item: Item, people: People) -> Outcome:
    root = Path(item.folder)
    if (root / SERIES_FILE).is_file() or is_ladder(root):
        return go_on(root, people)
    return start(item.settings.request(root), people)


def _kept(root: Path, clock: _Clock, settings: NightlySettings) -> None:
    """After Ctrl-C: the time that was spent, and the pages as far as they are known."""
    night = unfinished(settings)
    if night is not None and night.root == root:
        night = msgspec.structs.replace(night, spent=clock.spent)
        night.write()
        rows = rows_of(REPORTS, _unheard)
        outputs.write(night, settings, rows, _unheard, ended=False)


def _told(root: Path, clock: _Clock, settings: NightlySettings, error: DiskError) -> None:
    """After a full disk: as much of pages and notification as there is room for."""
    night = unfinished(settings)
    if night is None or night.root != root:
        return
    stopped = {"status": "stopped", "exit_code": error.exit_code, "problem": error.where}
    items = tuple(
        msgspec.structs.replace(item, **stopped) if item.status == "running" else item
        for item in night.items
    )
    night = msgspec.structs.replace(night, items=items, spent=clock.spent)
    with suppress(DiskError):
        night.write()
    with suppress(DiskError):
        outputs.write(night, settings, rows_of(REPORTS, _unheard), _unheard)


def _unheard(_line: str) -> None:
    """Nobody is told: the interruption itself is."""


def _once(say: Announce) -> Callable[[str], None]:
    said: set[str] = set()

    def once(line: str) -> None:
        if line not in said:
            said.add(line)
            say(line)

    return once
