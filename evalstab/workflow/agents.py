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
from evalstab.endpoint.openai_chat import trusted
from evalstab.errors import EndpointUnusable, FolderError, UsageError
from evalstab.intake.agent import Errand, carry_out, template
from evalstab.intake.exchange import LOG_NAME, read_exchanges
from evalstab.intake.proxied import session_of
from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import NotWritten, Scribe
from evalstab.intake.session import Session
from evalstab.redact import remember
from evalstab.series.files import make_folder, write_whole
from evalstab.series.folder import (
    SeriesFile,
    SeriesFolder,
    TrialFolder,
    claim,
    create_series,
    locked,
    open_series,
)
from evalstab.series.repeat import Repeats, repeat
from evalstab.task.brief import opening_messages
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.tools.workspace import Workspace
from evalstab.trial.record import Record, TrialEnded, read_events
from evalstab.workflow.agent_ending import ending_of
from evalstab.workflow.looking import gated, kept_of, stop_for, wants_more
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
_LOOPS = (
    "sampling.",
    "thinking",
    "stream",
    "replay_reasoning",
    "tool_choice",
    "extra_body",
    "retries",
    "timeouts.idle",
    "timeouts.first_token",
    "execute_leaked_calls",
    "proxy",
)
"""Settings that are the agent's own, and have no effect on it."""


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
    if odd := [name for name in request.flags if name.startswith(_LOOPS)]:
        raise UsageError(
            f"--agent: {', '.join(odd)} would have no effect: sampling, streaming and repeats of "
            "requests are the agent's own; set them there, and leave them out here"
        )
    prepared = prepare(request)
    root = request.out or default_folder(prepared)
    if prepared.simulated is not None:
        people.announce(f"simulated endpoint, no model was judged: {prepared.endpoint}")
    with resumable(root), ExitStack() as stack:
        prepared = with_simulator(prepared, root, people, stack)
        ready = on_a_loop(preflighted(prepared.settings))
        prepared = with_provenance(replace(prepared, settings=ready.settings), people.announce)
        claim(root)
        keep(prepared, root)
        folder = create_series(root, _file(prepared, request.agent), prepared.task.folder)
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
        return _finish(prepared, folder.extended(prepared.repeats if repeats else 0), people)


def _as_own(folder: SeriesFolder) -> SeriesFolder:
    """The folder as if our own loop had begun it, whose work can be compared with today's."""
    work = folder.file.work | folder.file.work.get("asked_by_loop", {})
    work.pop("asked_by_loop", None)
    work.pop("agent", None)
    return SeriesFolder(folder.root, msgspec.structs.replace(folder.file, work=work))


def _file(prepared: Prepared, agent: str) -> SeriesFile:
    file = series_file(prepared)
    own = {key: file.work[key] for key in ("tools", "loop_version", "max_tokens")}
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
    folder.stopped(problem)
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
    scribe = Scribe(folder.root / EXCHANGES, folder.file.id, people.announce)
    parts = urlsplit(settings.base_url)
    address = f"{parts.scheme}://{parts.netloc}"
    proxy = Proxy(address, scribe, headers, trusted(settings), people.announce)
    stop = stop_for(prepared, folder, people.announce)
    repeats = Repeats(
        folder=folder,
        number=prepared.repeats,
        concurrency=prepared.request.concurrency,
        kept=kept_of(folder, people.announce),
    )
    desks = [folder.root / f"{DESK}-{number + 1}" for number in range(repeats.concurrency)]

    async def attempt(trial: TrialFolder) -> TrialEnded:
        if (ended := _ended(trial)) is not None:
            return ended
        desk = desks.pop(0)
        try:
            return await _trial(site, trial, desk)
        finally:
            desks.insert(0, desk)

    def tell(index: int, ended: TrialEnded) -> None:
        people.announce(f"trial {index}: {ended.outcome}, {ended.reason}")

    try:
        async with proxying(proxy) as url:
            words = template(str(folder.file.conditions["agent"]))
            site = _Site(prepared, folder, proxy, url, words, headers)
            await repeat(repeats, attempt, tell, stop or _go_on)
    except NotWritten as error:
        raise FolderError(f"{error}. Mend that and run `evalstab resume {folder.root}`") from error


async def _go_on(_done: int) -> bool:
    return False


def _ended(trial: TrialFolder) -> TrialEnded | None:
    """How a trial ended; one that was aborted has not, and is done again."""
    events = list(read_events(trial.record)) if trial.record.exists() else []
    last = events[-1] if events else None
    return last if isinstance(last, TrialEnded) and last.outcome != "aborted" else None


async def _trial(site: _Site, trial: TrialFolder, desk: Path) -> TrialEnded:
    """One trial from an empty folder to its record.

    All trials work at the same place, since agents tell their model where they are.
    """
    task, settings = site.prepared.task, site.prepared.settings
    name = f"{trial.index:03d}" + (f".{trial.attempt}" if trial.attempt > 1 else "")
    log = site.proxy.scribe.folder(name) / LOG_NAME
    for place in (trial.path, desk):
        shutil.rmtree(place, ignore_errors=True)
    log.unlink(missing_ok=True)
    make_folder(trial.path)
    Workspace.create(desk / "workspace", task.inputs)
    site.headers[name] = dict(settings.headers) | _own_header(site, trial)
    limit = site.proxy.scribe.limit(name, task.spec.limits.max_steps)
    errand = replace(_errand(site, name, (desk / "workspace").resolve()), stop=limit.reached)
    try:
        end = await carry_out(site.words, errand, trial.path / AGENT_LOG)
    finally:
        shutil.copytree(desk, trial.path, symlinks=True, dirs_exist_ok=True)
        shutil.rmtree(desk, ignore_errors=True)
    await site.proxy.scribe.quiet(name, 10.0)
    exchanges = list(read_exchanges(log)) if log.exists() else []
    session = session_of(name, exchanges, str(errand.workspace))
    if session is None:
        said = end.last_words.rstrip(". ")
        raise EndpointUnusable(
            f"the agent asked the endpoint nothing (exit code {end.code}): {said}. Its "
            f"output is in {trial.path / AGENT_LOG}; does it use {{base_url}} or OPENAI_BASE_URL?"
        )
    # An agent may be quicker than the word that its limit is reached.
    beyond = len(session.steps) > limit.most
    session = replace(session, steps=session.steps[: limit.most])
    end = replace(end, stopped=end.stopped or beyond)
    session = replace(session, ended=ending_of(session, end, limit.most))
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
