"""Run a series, or go on with one."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from evalstab.chat import Json
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import Preflight, preflight
from evalstab.errors import EndpointUnusable, Interrupted
from evalstab.series.folder import SeriesFile, SeriesFolder, create_series, locked, open_series
from evalstab.series.repeat import SeriesPlan, Stop, run_series
from evalstab.settings import EndpointSettings
from evalstab.trial.loop import TrialPlan, Watcher
from evalstab.trial.record import TrialEnded
from evalstab.workflow.asking import Asker, stored_ballast
from evalstab.workflow.gates import EXIT_CODES, unjudgeable
from evalstab.workflow.looking import gated, stop_for, tell, wants_more
from evalstab.workflow.prepare import (
    Prepared,
    default_folder,
    max_seconds,
    prepare,
    retry_policy,
    series_file,
)
from evalstab.workflow.recorded import recorded
from evalstab.workflow.request import Announce, RunRequest, SimOpener
from evalstab.workflow.score import score

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Outcome:
    """A series as far as it came: where it stands, what it scored, and how the command exits.

    ``problem`` says in words why the exit code is not 0.
    """

    folder: Path
    scores: Json
    exit_code: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class People:
    """Whom a verb talks to while it works: lines of prose, progress, and a simulator opener."""

    announce: Announce
    watcher: Callable[[SeriesFile], Watcher]
    open_sim: SimOpener


def run(request: RunRequest, people: People) -> Outcome:
    """Start a series in a new folder, carry it to its end, score and report it."""
    prepared = prepare(request)
    root = request.out or default_folder(prepared)
    if prepared.simulated is not None:
        people.announce(
            f"simulated endpoint {prepared.endpoint}, no model was judged "
            "(name one with --endpoint or --base-url)"
        )
    with ExitStack() as stack:
        prepared = with_simulator(prepared, root, people, stack)
        ready = on_a_loop(preflighted(prepared.settings))
        prepared = replace(prepared, settings=ready.settings)
        for note in ready.notes:
            people.announce(note)
        folder = create_series(root, series_file(prepared), prepared.task.folder)
        people.announce(f"series {folder.root}")
        stack.enter_context(locked(root))
        return _finish(prepared, folder, people)


def resume(
    root: Path,
    people: People,
    *,
    repeats: int | None = None,
    gate: str | None = None,
    early_stop: bool = True,
) -> Outcome:
    """Go on with a series from its records; a finished one is only scored again.

    With a gate, more ``repeats`` are done only up to its next planned look. FolderError where the
    task, the endpoint's settings or the loop differ from those the series began with: it names
    what differs.
    """
    folder = open_series(root)
    with ExitStack() as stack:
        stack.enter_context(locked(root))
        prepared = gated(recorded(folder, repeats), folder, gate, early_stop=early_stop)
        if wants_more(prepared, folder):
            prepared = with_simulator(prepared, root, people, stack)
            on_a_loop(preflighted(prepared.settings))
        return _finish(prepared, folder, people)


def _finish(prepared: Prepared, folder: SeriesFolder, people: People) -> Outcome:
    problem: str | None = None
    if wants_more(prepared, folder):
        stop = stop_for(prepared, folder, people.announce)
        try:
            on_a_loop(carry_out(prepared, folder, people, stop))
        except EndpointUnusable as error:
            problem = str(error)
    return finished(prepared, folder, people, problem)


def finished(
    prepared: Prepared, folder: SeriesFolder, people: People, problem: str | None
) -> Outcome:
    """Score and report a series as far as it came; ``problem`` is what ended it early."""
    scores = score(folder.root)
    problem = problem or unjudgeable(scores, folder)
    tell(prepared, scores, people.announce)
    code = EndpointUnusable.exit_code if problem else EXIT_CODES[scores["verdict"]["status"]]
    return Outcome(folder.root, scores, code, problem)


def with_simulator(prepared: Prepared, root: Path, people: People, stack: ExitStack) -> Prepared:
    """The request with a simulated endpoint started for it, where it asks for one."""
    if prepared.simulated is None:
        return prepared
    task = prepared.task
    truth = task.folder / task.spec.truth if task.spec.truth else None
    url = stack.enter_context(
        people.open_sim(
            prepared.simulated,
            seed=prepared.request.seed,
            truth=root / "truth.json",
            task_truth=truth,
        )
    )
    settings = prepared.settings.model_copy(update={"base_url": f"{url}/v1", "trial_header": True})
    return replace(prepared, settings=settings)


async def preflighted(settings: EndpointSettings) -> Preflight:
    """Check, before anything is written, that the endpoint can be measured."""
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    try:
        return await preflight(client, settings)
    finally:
        await client.close()


async def carry_out(
    prepared: Prepared, folder: SeriesFolder, people: People, stop: Stop | None = None
) -> list[TrialEnded]:
    """Run or go on with all trials of a prepared series."""
    settings, task = prepared.settings, prepared.task
    client = OpenAIChat(settings, os.environ.get(settings.api_key_env))
    asker = Asker(prepared, folder.file.id, stored_ballast(folder))
    plan = SeriesPlan(
        folder=folder,
        trial=TrialPlan(
            series=folder.file.id,
            endpoint=client,
            policy=retry_policy(settings),
            max_steps=task.spec.limits.max_steps,
            max_seconds=max_seconds(task, settings),
            replay=settings.replay_reasoning,
            thinking=None if settings.thinking == "auto" else settings.thinking == "on",
            execute_leaked=settings.execute_leaked_calls,
            trial_header=settings.trial_header,
        ),
        ask=asker.ask,
        merge=asker.merge if asker.split else None,
        repeats=prepared.repeats,
        concurrency=prepared.request.concurrency,
    )
    watcher = people.watcher(folder.file)
    try:
        await client.warm()
        return await run_series(plan, watcher, stop or _never)
    finally:
        watcher.done()
        await client.close()


async def _never(_done: int) -> bool:
    return False


def on_a_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Run on a fresh event loop; SIGINT and SIGTERM end it with Interrupted."""

    async def guarded() -> _T:
        task = asyncio.current_task()
        if task is not None:
            asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(guarded())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Interrupted(
            "interrupted: all finished steps are kept; go on with `evalstab resume`"
        ) from None
