"""A gate beside a running series: how far it goes, when it looks, what stopping early saved."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from statistics import median

import msgspec

from evalstab.chat import Json
from evalstab.errors import UsageError
from evalstab.gate.looks import looks_of, next_look
from evalstab.gate.next import longer_gate
from evalstab.gate.policy import Policy, parse_policy
from evalstab.gate.verdict import decided, judge
from evalstab.measures.score import LOW_PRIORITY, score_series
from evalstab.series.folder import SeriesFolder, TrialFolder, open_series
from evalstab.series.repeat import Stop
from evalstab.settings import read_config
from evalstab.trial.record import COMPRESSED, opened
from evalstab.workflow.gates import Chosen, choose, gate_of, policy_for, stored_policy, told
from evalstab.workflow.prepare import Prepared
from evalstab.workflow.request import Announce

LAST_LINE = 1 << 20


def gated(
    prepared: Prepared, folder: SeriesFolder, gate: str | None, *, early_stop: bool
) -> Prepared:
    """A recorded series with the gate that it goes on under, and as many trials as that allows."""
    wanted, done = prepared.request.repeats, judged_so_far(folder)
    candidates = prepared.task.candidates
    if gate is not None:
        policy = policy_for(gate, candidates)
        chosen: Chosen | None = choose(folder, policy, done)
    else:
        chosen = gate_of(folder)
    request = replace(prepared.request, early_stop=early_stop)
    if chosen is None:
        return replace(prepared, request=request)
    policy = chosen.policy
    repeats = policy.repeats
    if wanted is not None:
        repeats = _up_to_next_look(folder, policy, done, wanted, len(candidates))
    return replace(prepared, request=request, policy=policy, repeats=repeats)


def wants_more(prepared: Prepared, folder: SeriesFolder) -> bool:
    """Whether trials are missing, and no verdict is in that makes them needless."""
    ended = kept_of(folder)
    if len(ended) >= prepared.repeats:
        return False
    policy = prepared.policy
    if policy is None or not ended or not prepared.request.early_stop:
        return True
    if judged_so_far(folder) not in looks_of(policy, policy.repeats):
        return True
    return not decided(_score_and_judge(str(folder.root), stored_policy(policy)))


def kept_of(folder: SeriesFolder, announce: Announce | None = None) -> frozenset[TrialFolder]:
    """The trials that have ended and are not asked again; ``announce`` is told of them once."""
    ended = [t for t in folder.trials() if not t.spoilt and _outcome(t.record) is not None]
    if ended and announce is not None:
        trials = "trial" if len(ended) == 1 else "trials"
        announce(f"{len(ended)} {trials} kept, {folder.planned} planned")
    return frozenset(ended)


def stop_for(prepared: Prepared, folder: SeriesFolder, announce: Announce) -> Stop | None:
    """What stops this series early, None where nothing does."""
    if prepared.policy is None or not prepared.request.early_stop:
        return None
    return stop_at_looks(folder, prepared.policy, judged_so_far(folder), announce)


def in_time(stop: Stop | None, late: Callable[[], bool]) -> Stop:
    """What stops a series early, or the end of the time that there is."""

    async def ended(done: int) -> bool:
        return late() or (stop is not None and await stop(done))

    return ended


def tell(prepared: Prepared, scores: Json, announce: Announce) -> None:
    """Say the verdict, and what stopping early saved."""
    if prepared.policy is None:
        return
    announce(told(scores["verdict"])[0])
    spared = saved(scores, prepared.policy, prepared.request.concurrency)
    if spared is not None:
        announce(spared)


def _up_to_next_look(
    folder: SeriesFolder, policy: Policy, ended: int, wanted: int, candidates: int
) -> int:
    """How many trials ``resume --repeats`` may bring a series to; UsageError where none is left."""
    if wanted <= ended:
        return wanted
    following = next_look(policy, policy.repeats, ended)
    if following is None:
        longer, hint = "", ""
        if longer_gate(policy, candidates, read_config().gates) is not None:
            longer = ", or judge by a longer gate: "
            hint = f"evalstab resume {folder.root} --gate acceptance --repeats 20"
        raise UsageError(
            f"gate {policy.name!r} has used its planned looks ({policy.repeats} trials); looking "
            f"again after more trials would raise its error. Start a new series{longer}{hint}"
        )
    return min(wanted, following)


def stop_at_looks(folder: SeriesFolder, policy: Policy, already: int, announce: Announce) -> Stop:
    """Ends a series at a planned look once its verdict is in.

    Scoring takes place in another process at low priority, so that the clocks of trials that run
    beside it are not disturbed. Looks at trials that were there before are not taken again.
    """
    looks = set(looks_of(policy, policy.repeats))

    async def stop(done: int) -> bool:
        judged = judged_so_far(folder) if done >= already else 0
        if judged not in looks or judged >= policy.repeats:
            return False
        verdict = await verdict_now(folder, policy)
        if decided(verdict):
            return True
        announce(f"look after {judged} trials: {verdict['status']} ({verdict['reason']})")
        return False

    return stop


def judged_so_far(folder: SeriesFolder) -> int:
    """Judged trials on disk, in order of index up to the first that has not ended."""
    number = 0
    for trial in (t for t in folder.trials() if not t.spoilt):
        outcome = _outcome(trial.record)
        if outcome is None:
            break
        number += outcome in ("completed", "failed")
    return number


def _outcome(record: Path) -> str | None:
    """How a trial ended by the last line of its record; None where it has not or is to go on."""
    try:
        event = msgspec.json.decode(_last_line(record), type=dict)
    except (msgspec.MsgspecError, RecursionError):
        return None
    outcome = event.get("outcome") if event.get("type") == "trial_ended" else None
    return None if outcome == "aborted" else outcome


def _last_line(record: Path) -> bytes:
    """The last line, empty where it is torn: then it is no event, whatever stands in it."""
    with opened(record) as file:
        if record.suffix != COMPRESSED:
            file.seek(max(0, record.stat().st_size - LAST_LINE))
            end = file.read()
        else:
            *_, end = (b"", *file)
    return end[:-1].rpartition(b"\n")[2] if end.endswith(b"\n") else b""


async def verdict_now(folder: SeriesFolder, policy: Policy) -> Json:
    """The verdict of the trials that there are, computed aside."""
    with ProcessPoolExecutor(
        1, mp_context=get_context("spawn"), initializer=os.nice, initargs=(LOW_PRIORITY,)
    ) as pool:
        loop = asyncio.get_running_loop()
        work = (str(folder.root), stored_policy(policy))
        return await loop.run_in_executor(pool, _score_and_judge, *work)


def _score_and_judge(root: str, policy: Json) -> Json:
    folder = open_series(Path(root))
    return judge(parse_policy(policy, root), score_series(folder))


def saved(scores: Json, policy: Policy, concurrency: int) -> str | None:
    """What stopping early saved, in a sentence; None where all planned trials took place."""
    trials = [t for t in scores["trials"] if t["outcome"] in ("completed", "failed")]
    spared = policy.repeats - len(trials)
    seconds = [t["seconds"] for t in trials if t["seconds"] is not None]
    if spared <= 0 or scores["verdict"]["status"] not in ("pass", "fail") or not seconds:
        return None
    hours = spared * median(seconds) / concurrency / 3600
    time = f"{hours:.1f} hours" if hours >= 0.1 else f"{hours * 3600:.0f} seconds"
    return f"stopped after {len(trials)} trials: saved {spared} trials, about {time}"
