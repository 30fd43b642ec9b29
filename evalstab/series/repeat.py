"""N trials, one after the other or a few at a time, until all are done or somebody says stop.

When to stop is handed in as a function, so that this room knows nothing of gates.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from evalstab.errors import EndpointUnusable, EvalstabError
from evalstab.series.converse import Asking, converse
from evalstab.series.folder import SeriesFolder, TrialFolder
from evalstab.series.grouped import converse_in_groups
from evalstab.trial.loop import TrialPlan, Watcher
from evalstab.trial.record import TrialEnded

BREAKER = 2

Stop = Callable[[int], Awaitable[bool]]
"""Asked with the number of trials finished so far; true ends the series."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesPlan:
    """A series ready to run.

    ``ask`` says what an attempt at a trial asks: one conversation, or one for each group of
    candidates, whose rankings ``merge`` then joins. ``kept`` as of ``Repeats``.
    """

    folder: SeriesFolder
    trial: TrialPlan
    ask: Callable[[TrialFolder], tuple[Asking, ...]]
    merge: Callable[[Sequence[Asking], Sequence[TrialFolder]], dict[str, bytes]] | None = None
    repeats: int
    concurrency: int = 1
    attempts: int = 3
    kept: frozenset[TrialFolder] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often, and how many at once; ``attempts`` at one trial before it stays spoilt.

    ``kept`` had ended before: they are read, and nobody is told that they end.
    """

    folder: SeriesFolder
    number: int
    concurrency: int = 1
    attempts: int = 3
    kept: frozenset[TrialFolder] = frozenset()


async def run_series(plan: SeriesPlan, watcher: Watcher, stop: Stop) -> list[TrialEnded]:
    """Run or resume all trials by our own loop; returns the endings in order of index."""

    async def attempt(folder: TrialFolder) -> TrialEnded:
        return await _attempt(plan, folder, watcher)

    repeats = Repeats(
        folder=plan.folder,
        number=plan.repeats,
        concurrency=plan.concurrency,
        attempts=plan.attempts,
        kept=plan.kept,
    )
    return await repeat(repeats, attempt, watcher.ended, stop)


async def repeat(
    repeats: Repeats,
    attempt: Callable[[TrialFolder], Awaitable[TrialEnded]],
    ended: Callable[[int, TrialEnded], None],
    stop: Stop,
) -> list[TrialEnded]:
    """All trials, whoever carries an attempt out; returns the endings in order of index.

    A trial that the rig or a restarted server spoilt is set aside and repeated; two spoilt
    attempts in a row end the series with EndpointUnusable (circuit breaker), and so does an
    endpoint that answers nothing at all: its trial is aborted and goes on when the series does.
    """
    endings: dict[int, TrialEnded] = {}
    queue = list(range(1, repeats.number + 1))
    breaker = _Breaker(repeats.folder.root)
    stopped = False

    async def worker() -> None:
        nonlocal stopped
        while queue and not stopped:
            index = queue.pop(0)
            endings[index] = await _trial(repeats, index, attempt, ended, breaker)
            stopped = stopped or await stop(len(endings))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(repeats.concurrency, repeats.number)):
                group.create_task(worker())
    except* EvalstabError as errors:
        raise errors.exceptions[0] from None
    return [endings[index] for index in sorted(endings)]


@dataclass(slots=True)
class _Breaker:
    """Counts spoilt attempts in a row."""

    root: Path
    row: int = 0

    def note(self, ended: TrialEnded) -> None:
        self.row = self.row + 1 if ended.outcome == "invalid" else 0
        if self.row >= BREAKER:
            raise EndpointUnusable(
                f"{self.row} attempts in a row were spoilt ({ended.reason}): "
                "the series stops here; mend the rig and run "
                f"`evalstab resume {self.root}`"
            )


async def _trial(
    repeats: Repeats,
    index: int,
    attempt: Callable[[TrialFolder], Awaitable[TrialEnded]],
    tell: Callable[[int, TrialEnded], None],
    breaker: _Breaker,
) -> TrialEnded:
    while True:
        folder = repeats.folder.trial(index)
        ended = await attempt(folder)
        if folder not in repeats.kept:
            tell(index, ended)
        if ended.outcome != "invalid":
            if ended.outcome == "aborted" and ended.ending == "endpoint":
                raise EndpointUnusable(
                    f"the endpoint can answer nothing any more ({ended.reason}): mend it and run "
                    f"`evalstab resume {repeats.folder.root}`"
                )
            breaker.note(ended)
            return ended
        if folder.attempt >= repeats.attempts:
            return ended
        repeats.folder.set_aside(folder)
        breaker.note(ended)


async def _attempt(plan: SeriesPlan, folder: TrialFolder, watcher: Watcher) -> TrialEnded:
    asked = plan.ask(folder)
    if plan.merge is None:
        return await converse(plan.trial, folder, asked[0], watcher)
    return await converse_in_groups(plan.trial, folder, asked, (plan.merge, watcher))
