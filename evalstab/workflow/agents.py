"""Series whose trials a real agent program carries out, by way of the recording proxy."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import quote, urlsplit

import msgspec

from evalstab.chat import Json
from evalstab.errors import EndpointUnusable, EvalstabError, UsageError
from evalstab.findings import finding
from evalstab.intake.agent import AgentEnd, Errand, carry_out, template
from evalstab.intake.exchange import LOG_NAME, read_exchanges
from evalstab.intake.proxied import session_of
from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import Scribe
from evalstab.intake.session import Session
from evalstab.redact import remember
from evalstab.series.files import make_folder, write_whole
from evalstab.series.folder import (
    SeriesFile,
    SeriesFolder,
    TrialFolder,
    create_series,
    locked,
    open_series,
)
from evalstab.task.brief import opening_messages
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.tools.workspace import Workspace
from evalstab.trial.record import Record, TrialEnded, read_events
from evalstab.workflow.looking import gated, stop_for, wants_more
from evalstab.workflow.loop import on_a_loop, resumable
from evalstab.workflow.prepare import (
    Prepared,
    default_folder,
    max_seconds,
    prepare,
    series_file,
)
from evalstab.workflow.provenance import keep
from evalstab.workflow.recorded import recorded
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import (
    Outcome,
    People,
    finished,
    preflighted,
    with_provenance,
    with_simulator,
)

EXCHANGES = "exchanges"
AGENT_LOG = "agent.log"
DESK = "at-work"
_ALIKE = ("shuffle", "cache", "groups", "contexts", "against")


def run(request: RunRequest, people: People) -> Outcome:
    """Start a series whose trials an agent's own program carries out.

    The task is the agent's first prompt, its inputs lie in a fresh workspace, its requests pass a
    proxy that records them. UsageError where the command is none, or a condition is asked for
    that only our own loop can bring about.
    """
    assert request.agent is not None
    template(request.agent)
    plain = RunRequest(task=request.task)
    if odd := [name for name in _ALIKE if getattr(request, name) != getattr(plain, name)]:
        raise UsageError(f"--agent: {', '.join(odd)} can only be asked of our own loop; leave out")
    prepared = prepare(request)
    root = request.out or default_folder(prepared)
    if prepared.simulated is not None:
        people.announce(f"simulated endpoint {prepared.endpoint}, no model was judged")
    with resumable(root), ExitStack() as stack:
        prepared = with_simulator(prepared, root, people, stack)
        ready = on_a_loop(preflighted(prepared.settings))
        prepared = with_provenance(replace(prepared, settings=ready.settings), people.announce)
        folder = create_series(root, _file(prepared, request.agent), prepared.task.folder)
        keep(prepared, root)
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
    """Go on with such a series: trials without an end are done again from their beginning."""
    folder = open_series(root)
    with ExitStack() as stack:
        stack.enter_context(locked(root))
        before = recorded(_as_own(folder), repeats)
        prepared = gated(before, folder, gate, early_stop=early_stop)
        if wants_more(prepared, folder):
            prepared = with_simulator(prepared, root, people, stack)
            on_a_loop(preflighted(prepared.settings))
        return _finish(prepared, folder, people)


def _as_own(folder: SeriesFolder) -> SeriesFolder:
    """The folder as if our own loop had begun it, whose work can be compared with today's."""
    work = folder.file.work | folder.file.work.get("asked_by_loop", {})
    work.pop("asked_by_loop", None)
    work.pop("agent", None)
    return SeriesFolder(folder.root, msgspec.structs.replace(folder.file, work=work))


def _file(prepared: Prepared, agent: str) -> SeriesFile:
    file = series_file(prepared)
    own = {key: file.work[key] for key in ("tools", "loop_version", "max_steps", "max_tokens")}
    work = file.work | dict.fromkeys(own, "the agent's own") | {"asked_by_loop": own}
    sampling = {"sampling": {}, "sampling_not_set": [], "agent": agent}
    return msgspec.structs.replace(file, work=work, conditions=file.conditions | sampling)


def _finish(prepared: Prepared, folder: SeriesFolder, people: People) -> Outcome:
    problem: str | None = None
    if wants_more(prepared, folder):
        try:
            on_a_loop(_carry_out(prepared, folder, people))
        except EndpointUnusable as error:
            problem = str(error)
    return finished(prepared, folder, people, problem)


@dataclass(slots=True)
class _Site:
    """What all trials of a series share."""

    prepared: Prepared
    folder: SeriesFolder
    proxy: Proxy
    url: str
    words: tuple[str, ...]
    headers: dict[str, Mapping[str, str]]


async def _carry_out(prepared: Prepared, folder: SeriesFolder, people: People) -> None:
    settings = prepared.settings
    headers: dict[str, Mapping[str, str]] = {}
    scribe = Scribe(folder.root / EXCHANGES, folder.file.id)
    parts = urlsplit(settings.base_url)
    proxy = Proxy(f"{parts.scheme}://{parts.netloc}", scribe, headers)
    stop = stop_for(prepared, folder, people.announce)
    words = template(str(folder.file.conditions["agent"]))
    queue = [i for i in range(1, prepared.repeats + 1) if not _ended(folder.trial(i))]
    done = prepared.repeats - len(queue)
    stopped = False

    async def worker(desk: Path) -> None:
        nonlocal done, stopped
        while queue and not stopped:
            trial = folder.trial(queue.pop(0))
            ended = await _trial(site, trial, desk)
            done += 1
            people.announce(f"trial {trial.index}: {ended.outcome}, {ended.reason}")
            stopped = stopped or (stop is not None and await stop(done))

    async with proxying(proxy) as url:
        site = _Site(prepared, folder, proxy, url, words, headers)
        try:
            async with asyncio.TaskGroup() as group:
                for number in range(min(prepared.request.concurrency, len(queue))):
                    group.create_task(worker(folder.root / f"{DESK}-{number + 1}"))
        except* EvalstabError as errors:
            raise errors.exceptions[0] from None


def _ended(trial: TrialFolder) -> bool:
    events = list(read_events(trial.record)) if trial.record.exists() else []
    return bool(events) and isinstance(events[-1], TrialEnded)


async def _trial(site: _Site, trial: TrialFolder, desk: Path) -> TrialEnded:
    """One trial from an empty folder to its record.

    All trials work at the same place, since agents tell their model where they are.
    """
    task, settings = site.prepared.task, site.prepared.settings
    name = f"{trial.index:03d}"
    log = site.proxy.scribe.folder(name) / LOG_NAME
    for place in (trial.path, desk):
        shutil.rmtree(place, ignore_errors=True)
    log.unlink(missing_ok=True)
    make_folder(trial.path)
    Workspace.create(desk / "workspace", task.inputs)
    site.headers[name] = dict(settings.headers) | _own_header(site, trial)
    errand = _errand(site, name, (desk / "workspace").resolve())
    try:
        end = await carry_out(site.words, errand, trial.path / AGENT_LOG)
    except OSError as error:
        raise UsageError(f"--agent: {site.words[0]} cannot be started: {error.strerror}") from error
    finally:
        shutil.copytree(desk, trial.path, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(desk, ignore_errors=True)
    await site.proxy.scribe.quiet(name, 10.0)
    exchanges = list(read_exchanges(log)) if log.exists() else []
    session = session_of(name, exchanges, str(errand.workspace))
    if session is None:
        raise EndpointUnusable(
            f"the agent asked the endpoint nothing (exit code {end.code}): {end.last_words}. Its "
            f"output is in {trial.path / AGENT_LOG}; does it use {{base_url}} or OPENAI_BASE_URL?"
        )
    session = replace(session, ended=_ending(session, end))
    await asyncio.to_thread(_keep, session, site, trial)
    return session.ended


def _errand(site: _Site, name: str, workspace: Path) -> Errand:
    task, settings = site.prepared.task, site.prepared.settings
    key = os.environ.get(settings.api_key_env) or "none"
    remember(key)
    return Errand(
        prompt=_prompt(task),
        base_url=f"{site.url}/s/{name}{urlsplit(settings.base_url).path.rstrip('/')}",
        model=settings.model,
        workspace=workspace,
        api_key=key,
        seconds=max_seconds(task, settings),
    )


def _keep(session: Session, site: _Site, trial: TrialFolder) -> None:
    """Write the record, and the answer of a task without tools."""
    if site.prepared.task.spec.tools == "none" and session.answer:
        write_whole(trial.workspace / ANSWER_FILE, session.answer.encode("utf-8", "replace"))
    record = Record(trial.record)
    try:
        session.write(record, site.folder.file.id, trial.index)
    finally:
        record.close()


def _own_header(site: _Site, trial: TrialFolder) -> Json:
    if not site.prepared.settings.trial_header:
        return {}
    place = f"{quote(site.folder.file.id)}/{trial.index}/{trial.attempt}"
    return {"X-Evalstab-Trial": place}


def _prompt(task: Task) -> str:
    """What our own loop would send, as one prompt."""
    return "\n\n".join(str(message["content"]).strip("\n") for message in opening_messages(task))


def _ending(session: Session, end: AgentEnd) -> TrialEnded:
    """How the trial ended, by what the program itself did and by its last answer."""
    ended = session.ended
    if end.timed_out:
        return msgspec.structs.replace(
            ended,
            outcome="failed",
            ending="time_limit",
            reason="the agent did not end within the time limit",
            findings=(finding("trial.time_limit"),),
        )
    if end.code and ended.outcome == "completed":
        reason = f"the agent ended with exit code {end.code}: {end.last_words}"
        return msgspec.structs.replace(ended, outcome="failed", ending="agent", reason=reason)
    return ended
