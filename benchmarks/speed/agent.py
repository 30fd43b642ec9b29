"""Section 4: a scripted agent of 30 steps, 20 trials, each chunk stamped and each step synced."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.speed import floors, own
from benchmarks.speed.pacer import Pacer, scripted
from benchmarks.speed.peers import Peers
from benchmarks.speed.result import Goal, Section
from evalstab.endpoint.fields import request_fields
from evalstab.endpoint.retry import RetryPolicy
from evalstab.series.converse import Asking, converse
from evalstab.series.folder import TrialFolder
from evalstab.settings import EndpointSettings
from evalstab.task.load import find_task, load_task
from evalstab.tools.toolbox import offered_tools
from evalstab.trial.loop import TrialPlan
from evalstab.trial.record import Step

PROMPT = "List the files again and again."


class Silent:
    """Watches nothing."""

    def chunks(self, trial: int, count: int) -> None:
        """Chunks of the running response came in."""

    def step(self, trial: int, step: Step) -> None:
        """A step was recorded."""

    def done(self) -> None:
        """The series ended."""


def run(pacer: Pacer, peers: Peers, quick: bool) -> Section:
    """Own loop beside a floor and inspect, one trial after the other and ten at once."""
    section = Section("agent")
    trials, steps, chunks = (2, 4, 40) if quick else (20, 30, 320)
    model = scripted(steps, chunks)
    walls: dict[str, float] = {}
    for parallel in (1, 10):
        for name, work in _ours(pacer, model, trials, parallel).items():
            wall, cpu = _measured(work)
            walls[f"{name} {parallel}"] = wall
            section.rows.append(_row(name, parallel, wall, cpu))
    if quick:
        section.skipped["inspect"] = "quick mode"
        return section
    for stream in (True, False):
        told = peers.inspect(pacer.url, model, trials, stream=stream)
        name = f"inspect, stream={stream}"
        if isinstance(told, str):
            section.skipped[name] = told
            continue
        walls[f"{name} 1"] = told["wall_s"]
        section.rows.append(_row(name, 1, told["wall_s"], told["cpu_s"]))
        goal = 1 / 12 if stream else 1 / 3
        section.goals.append(
            Goal(f"agent, wall time over {name}", walls["own 1"] / told["wall_s"], goal)
        )
    for row in section.rows:
        row["x_floor"] = row["wall_s"] / walls["floor 1"]
    return section


def _row(client: str, parallel: int, wall: float, cpu: float) -> dict[str, Any]:
    return {"client": client, "at once": parallel, "wall_s": wall, "cpu_s": cpu}


def _measured(work: Callable[[], Coroutine[Any, Any, None]]) -> tuple[float, float]:
    asyncio.run(work())
    wall, cpu = time.perf_counter(), time.process_time()
    asyncio.run(work())
    return time.perf_counter() - wall, time.process_time() - cpu


def _ours(
    pacer: Pacer, model: str, trials: int, parallel: int
) -> dict[str, Callable[[], Coroutine[Any, Any, None]]]:
    async def floor() -> None:
        async with aiohttp.ClientSession() as session:
            gate = asyncio.Semaphore(parallel)
            await asyncio.gather(*(_floor(session, pacer.url, model, gate) for _ in range(trials)))

    async def loop() -> None:
        with tempfile.TemporaryDirectory() as place:
            await _loop(pacer.url, model, trials, parallel, Path(place))

    return {"floor": floor, "own": loop}


async def _floor(
    session: aiohttp.ClientSession, url: str, model: str, gate: asyncio.Semaphore
) -> None:
    """No record, no files, no limits: messages kept encoded, asked until no call comes."""
    async with gate:
        messages = [json.dumps({"role": "user", "content": PROMPT})]
        while True:
            joined = ",".join(messages)
            body = f'{{"model":"{model}","stream":true,"messages":[{joined}]}}'
            heard = await floors.ask(session, url, body.encode())
            if not heard.calls:
                return
            call = heard.calls[0]
            text = "".join(heard.text)
            said = {"role": "assistant", "content": text, "tool_calls": [call]}
            answer = {"role": "tool", "tool_call_id": call["id"], "content": "note.md"}
            messages += [json.dumps(said), json.dumps(answer)]


async def _loop(url: str, model: str, trials: int, parallel: int, place: Path) -> None:
    client = own.client(url, model)
    task = load_task(find_task("three-notes"))
    fields = request_fields(EndpointSettings(base_url=url, model=model), offered_tools(task))
    asking = Asking(task=task, fields=fields, messages=({"role": "user", "content": PROMPT},))
    plan = TrialPlan(
        series="bench",
        endpoint=client,
        policy=RetryPolicy(retries=0),
        max_steps=1000,
        max_seconds=3600,
    )
    gate = asyncio.Semaphore(parallel)

    async def one(index: int) -> None:
        async with gate:
            folder = TrialFolder(index, 1, place / f"{index:03}")
            ended = await converse(plan, folder, asking, Silent())
            assert ended.ending == "no_call", ended

    await client.warm()
    await asyncio.gather(*(one(index) for index in range(1, trials + 1)))
    await client.close()
