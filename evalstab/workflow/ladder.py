"""A ladder: one series for each size or level of load, under one parent."""

from __future__ import annotations

import tempfile
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import Json
from evalstab.errors import EndpointUnusable, FolderError
from evalstab.series.folder import RESTORE, SERIES_FILE, locked, open_series
from evalstab.series.ladder import (
    LADDER_FILE,
    LadderFile,
    Rung,
    create_ladder,
    open_ladder,
    write_ladder,
)
from evalstab.workflow.expected import Ahead, look_ahead
from evalstab.workflow.loop import on_a_loop, resumable
from evalstab.workflow.prepare import Prepared, default_folder, prepare
from evalstab.workflow.recorded import recorded
from evalstab.workflow.request import RunRequest, once, rung_name
from evalstab.workflow.run import (
    Outcome,
    People,
    begin_or_go_on,
    preflighted,
    resume,
    run,
    with_simulator,
)
from evalstab.workflow.rungs import score_ladder
from evalstab.workflow.score import SCORES
from evalstab.workflow.sizing import (
    CALIBRATION,
    Learnt,
    calibration,
    is_generated,
    learnt_from,
)

NEAR = 0.03
"""A rung at most this far below the task's natural size is that size."""

_EXIT_ORDER = (EndpointUnusable.exit_code, 5, 6)


def climb(request: RunRequest, people: People) -> Outcome:
    """Run every rung, control first, and report them together."""
    prepared = prepare(request)
    root = request.out or default_folder(prepared)
    people = replace(people, announce=once(people.announce))
    ahead = _ahead(prepared, people)
    file = LadderFile(
        id=root.name,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        task=prepared.task.name,
        endpoint=prepared.endpoint,
        simulated=prepared.simulated is not None,
        repeats=prepared.repeats,
        seed=prepared.seed,
        request=_stored(request),
        expected=ahead.as_json(),
    )
    create_ladder(root, file)
    people.announce(f"ladder {root}")
    return _walk(root, replace(request, own_seed=prepared.seed), people)


def resume_ladder(
    root: Path,
    people: People,
    *,
    repeats: int | None = None,
    gate: str | None = None,
    early_stop: bool = True,
) -> Outcome:
    """Go on with a ladder: unfinished rungs, then those that were not begun.

    FolderError where what was asked has changed since, as for a series: rungs must be comparable.
    """
    file = open_ladder(root)
    for name in (CALIBRATION, *(rung.name for rung in file.rungs)):
        if (root / name / SERIES_FILE).is_file():
            recorded(open_series(root / name))
    people = replace(people, announce=once(people.announce))
    request = replace(_restored(root, file.request), own_seed=file.seed, early_stop=early_stop)
    if repeats is not None or gate is not None:
        again = tuple(msgspec.structs.replace(rung, status="planned") for rung in file.rungs)
        repeats = max(file.repeats, repeats) if repeats else request.repeats
        request = replace(request, repeats=repeats, gate=gate or request.gate)
        # Under a gate its looks say how far each rung goes, and may refuse more.
        asked = file.request if request.gate else file.request | {"repeats": repeats}
        write_ladder(root, msgspec.structs.replace(file, rungs=again, request=asked))
    return _walk(root, request, people)


def _ahead(prepared: Prepared, people: People) -> Ahead:
    """Look at the endpoint before the first trial, and say what to expect."""
    if prepared.simulated is not None:
        people.announce(
            f"simulated endpoint, no model was judged: {prepared.endpoint} "
            "(name one with --endpoint or --base-url)"
        )
    request = prepared.request
    sizes: list[int | None] = [*request.rungs] or [None]
    with ExitStack() as stack:
        aside = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        opened = with_simulator(prepared, aside, people, stack)
        ready = on_a_loop(preflighted(opened.settings))
        opened = replace(opened, settings=ready.settings)
        ahead = on_a_loop(look_ahead(opened, sizes, len(request.levels)))
    for line in ahead.lines:
        people.announce(line)
    return ahead


def _walk(root: Path, request: RunRequest, people: People) -> Outcome:
    with resumable(root), locked(root):
        learnt = _learnt(root, request, people)
        file = open_ladder(root)
        if not file.rungs:
            rungs, notes = _planned(request, learnt)
            file = msgspec.structs.replace(file, rungs=rungs, notes=notes)
            write_ladder(root, file)
            for note in notes:
                people.announce(note)
        for rung in file.rungs:
            if rung.status != "done":
                if people.late():
                    break
                outcome = _series(root, rung, request, people, learnt)
                _note(root, rung, outcome)
                if outcome.exit_code == EndpointUnusable.exit_code:
                    break
            # A rung that was done before an interruption teaches the next one just as well.
            learnt = learnt_from(root / rung.name) or learnt
        scores = score_ladder(root, anew=False)
    return _outcome(root, scores)


def _learnt(root: Path, request: RunRequest, people: People) -> Learnt | None:
    """What the calibration trial showed; None for a ladder of load alone."""
    if not request.contexts:
        return None
    place = root / CALIBRATION
    if not (place / SCORES).is_file():
        people.announce("calibration: one trial shows what the model adds of its own")
    aside = replace(people, announce=lambda _line: None)
    prepared = prepare(request)
    return calibration(prepared, request.rungs[0], place, lambda one: begin_or_go_on(one, aside))


def _planned(
    request: RunRequest, learnt: Learnt | None
) -> tuple[tuple[Rung, ...], tuple[str, ...]]:
    """The rungs in the order in which they are run, and what must be said about them."""
    sizes: list[int | None] = list(request.rungs) or [None]
    notes: list[str] = []
    fixed = is_generated(prepare(request).task) is None
    if fixed and learnt is not None:
        natural = learnt.active - learnt.ballast
        small = [size for size in sizes if size and size < natural * (1 + NEAR)]
        if small:
            below = ", ".join(f"{size // 1000}k" for size in small)
            notes.append(
                f"{below} left out: the task alone comes to about {round(natural):,} tokens and "
                "cannot be made smaller; it is measured once at that natural size instead"
            )
            sizes = [None, *(size for size in sizes if size not in small)]
    rungs = [
        Rung(
            name=rung_name(size, level, many=len(request.levels) > 1, sized=bool(request.contexts)),
            context_target=size,
            concurrency=level,
            control=(number, place) == (0, 0),
        )
        for number, size in enumerate(sizes)
        for place, level in enumerate(request.levels)
    ]
    return tuple(rungs), tuple(notes)


def _series(
    root: Path, rung: Rung, request: RunRequest, people: People, learnt: Learnt | None
) -> Outcome:
    place = root / rung.name
    people.announce(f"rung {rung.name}")
    if (place / SERIES_FILE).is_file():
        return resume(
            place,
            people,
            repeats=request.repeats,
            gate=request.gate,
            early_stop=request.early_stop,
        )
    contexts = () if rung.context_target is None else (rung.context_target,)
    own = replace(request, contexts=contexts, levels=(rung.concurrency,), out=place)
    return run(own, people, learnt)


def _note(root: Path, rung: Rung, outcome: Outcome) -> None:
    """Keep how far a rung came."""
    stopped = outcome.exit_code == EndpointUnusable.exit_code
    done = msgspec.structs.replace(
        rung,
        status="stopped" if stopped else "done",
        exit_code=outcome.exit_code,
        problem=outcome.problem,
    )
    file = open_ladder(root)
    rungs = tuple(done if one.name == rung.name else one for one in file.rungs)
    write_ladder(root, msgspec.structs.replace(file, rungs=rungs))


def _outcome(root: Path, scores: Json) -> Outcome:
    rungs = scores["ladder"]["rungs"]
    codes = {rung["exit_code"] for rung in rungs}
    code = next((code for code in _EXIT_ORDER if code in codes), 0)
    problem = next((f"{r['name']}: {r['problem']}" for r in rungs if r["problem"]), None)
    return Outcome(root, scores, code, problem)


def _stored(request: RunRequest) -> Json:
    """The request as JSON; headers may hold a key and are left out."""
    stored: dict[str, Any] = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in asdict(request).items()
    }
    stored["flags"] = {k: v for k, v in request.flags.items() if not k.startswith("headers")}
    task = Path(request.task)
    stored["task"] = str(task.resolve()) if task.is_dir() else request.task
    return stored


def _restored(root: Path, stored: Json) -> RunRequest:
    """What was asked for when the ladder began; FolderError where the file does not say it."""
    try:
        return msgspec.convert(stored, RunRequest, dec_hook=lambda kind, found: kind(found))
    except (msgspec.ValidationError, TypeError) as error:
        told = f"{root / LADDER_FILE} does not say what was asked for ({error})"
        raise FolderError(f"{told}; {RESTORE}") from error
