"""Run a series, or go on with one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.endpoint.counting import TokenCounter
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.preflight import Preflight, preflight
from evalstab.errors import EndpointUnusable
from evalstab.series.files import write_json
from evalstab.series.folder import (
    SERIES_FILE,
    SeriesFile,
    SeriesFolder,
    claim,
    create_series,
    locked,
    open_series,
)
from evalstab.series.pruned import require_records
from evalstab.series.repeat import SeriesPlan, Stop, run_series
from evalstab.settings import EndpointSettings
from evalstab.trial.loop import TrialPlan, Watcher
from evalstab.trial.record import TrialEnded
from evalstab.workflow.asking import BALLAST_FILE, Asker, stored_ballast
from evalstab.workflow.checking.sizes import shortages
from evalstab.workflow.counters import counted
from evalstab.workflow.expected import look_ahead
from evalstab.workflow.gates import EXIT_CODES, unjudgeable
from evalstab.workflow.looking import gated, in_time, kept_of, stop_for, tell, wants_more
from evalstab.workflow.loop import on_a_loop, resumable
from evalstab.workflow.prepare import (
    Prepared,
    default_folder,
    fields_for,
    max_seconds,
    prepare,
    retry_policy,
    series_file,
)
from evalstab.workflow.provenance import keep, learn, require_same_launch, served
from evalstab.workflow.recorded import recorded
from evalstab.workflow.request import Announce, RunRequest, SimOpener
from evalstab.workflow.rig import rig_beside
from evalstab.workflow.score import score
from evalstab.workflow.sizing import (
    CALIBRATION,
    Learnt,
    Measure,
    Sized,
    calibration,
    sized,
    told_sizing,
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """A series as far as it came; ``problem`` says in words why the exit code is not 0."""

    folder: Path
    scores: Json
    exit_code: int = 0
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class People:
    """Whom a verb talks to while it works: lines of prose, progress, and a simulator opener.

    ``late`` is asked between trials: whether no further one may begin.
    """

    announce: Announce
    watcher: Callable[[SeriesFile], Watcher]
    open_sim: SimOpener
    late: Callable[[], bool] = lambda: False


def run(request: RunRequest, people: People, learnt: Learnt | None = None) -> Outcome:
    """Start a series in a new folder, carry it to its end, score and report it.

    ``learnt`` is what earlier trials showed of the model's own share of the context; a series with
    a target that lacks it begins with one calibration trial.
    """
    prepared = prepare(request)
    root = request.out or default_folder(prepared)
    if prepared.simulated is not None:
        people.announce(
            f"simulated endpoint, no model was judged: {prepared.endpoint} "
            "(name one with --endpoint or --base-url)"
        )
    with resumable(root), ExitStack() as stack:
        prepared = with_simulator(prepared, root, people, stack)
        ready = on_a_loop(preflighted(prepared.settings))
        prepared = replace(prepared, settings=ready.settings)
        for note in ready.notes:
            people.announce(note)
        made = Sized(prepared)
        if request.contexts:
            made = _at_target(prepared, root, people, (learnt, stack))
        made = replace(made, prepared=with_provenance(made.prepared, people.announce))
        folder = _created(made, root)
        people.announce(f"series {folder.root}")
        stack.enter_context(locked(root))
        return _finish(made.prepared, folder, people)


def begin_or_go_on(request: RunRequest, people: People) -> Outcome:
    """Start a series, or go on with it where its folder holds it already."""
    if request.out is not None and (request.out / SERIES_FILE).is_file():
        return resume(request.out, people)
    return run(request, people)


def _at_target(
    prepared: Prepared, root: Path, people: People, known: tuple[Learnt | None, ExitStack]
) -> Sized:
    """Make the task, or ballast, so that trials land on the target."""
    learnt, stack = known
    target = prepared.request.contexts[0]
    ratio = None
    if learnt is None:
        ahead = on_a_loop(look_ahead(prepared, [target]))
        for line in ahead.lines:
            people.announce(line)
        ratio = ahead.characters_a_token
        people.announce("calibration: one trial shows what the model adds of its own")
        aside = replace(people, announce=lambda _line: None)
        place = root / CALIBRATION
        learnt = calibration(prepared, target, place, lambda one: begin_or_go_on(one, aside))
    draft = Path(stack.enter_context(tempfile.TemporaryDirectory()))
    made = on_a_loop(_sized(prepared, learnt, ratio, draft))
    people.announce(told_sizing(made.prepared.sizing))
    return made


async def _sized(
    prepared: Prepared, learnt: Learnt | None, ratio: float | None, draft: Path
) -> Sized:
    client = OpenAIChat(prepared.settings, os.environ.get(prepared.settings.api_key_env))
    try:
        counter = TokenCounter(client, fields_for(prepared.task, prepared.settings, 1))
        measure = Measure(counter, ratio)
        return await sized(prepared, prepared.request.contexts[0], learnt, measure, draft)
    finally:
        await client.close()


def _created(made: Sized, root: Path) -> SeriesFolder:
    file = series_file(made.prepared)
    if made.prepared.sizing.get("made_from"):
        own = {"folder": str((root / "task").resolve())}
        file = msgspec.structs.replace(file, task=file.task | own)
    claim(root)
    keep(made.prepared, root)
    if made.ballast:
        write_json(root / BALLAST_FILE, {"schema_version": 1, "messages": made.ballast})
    return create_series(root, file, made.prepared.task.folder)


def resume(
    root: Path,
    people: People,
    *,
    repeats: int | None = None,
    gate: str | None = None,
    early_stop: bool = True,
) -> Outcome:
    """Go on with a series from its records; a finished one, or one nobody answers, is scored again.

    With a gate, more ``repeats`` are done only up to its next planned look. FolderError names what
    differs where task, settings of the endpoint or loop are not those the series began with.
    """
    folder = open_series(root)
    require_records(root)
    with resumable(root), ExitStack() as stack:
        stack.enter_context(locked(root))
        prepared = gated(recorded(folder, repeats), folder, gate, early_stop=early_stop)
        if wants_more(prepared, folder):
            prepared = with_simulator(prepared, root, people, stack)
            try:
                on_a_loop(preflighted(prepared.settings))
                prepared = with_provenance(prepared, people.announce)
            except EndpointUnusable as error:
                return finished(prepared, folder, people, str(error))
            require_same_launch(prepared, root, people.announce)
        return _finish(prepared, folder.extended(prepared.repeats if repeats else 0), people)


def _finish(prepared: Prepared, folder: SeriesFolder, people: People) -> Outcome:
    problem: str | None = None
    if wants_more(prepared, folder):
        stop = in_time(stop_for(prepared, folder, people.announce), people.late)
        try:
            on_a_loop(carry_out(prepared, folder, people, stop))
        except EndpointUnusable as error:
            problem = str(error)
        if problem is None and people.late() and wants_more(prepared, folder):
            problem = f"the time was up: go on with `evalstab resume {folder.root}`"
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


def with_provenance(prepared: Prepared, announce: Announce) -> Prepared:
    """The request with what can be learnt of its server's start and of its rig."""
    facts = None if prepared.simulated is not None else on_a_loop(served(prepared.settings))
    for line in shortages(facts, prepared.request.contexts, prepared.request.concurrency):
        announce(line)
    return learn(prepared, facts, announce)


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
            context_size=prepared.provenance.context_size if prepared.provenance else None,
        ),
        ask=asker.ask,
        merge=asker.merge if asker.split else None,
        repeats=prepared.repeats,
        concurrency=prepared.request.concurrency,
        kept=kept_of(folder, people.announce),
    )
    watcher = people.watcher(folder.file)
    try:
        await client.warm()
        async with counted(client, folder.root), rig_beside(client, prepared, folder.root) as rig:
            plan = replace(plan, trial=replace(plan.trial, rig=rig))
            return await run_series(plan, watcher, stop or _never)
    finally:
        watcher.done()
        await client.close()


async def _never(_done: int) -> bool:
    return False
