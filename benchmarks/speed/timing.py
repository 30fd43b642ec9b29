"""Section 3: what the client says of time, held against the times at which the server sent."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.speed import own
from benchmarks.speed.client import HELLO, long_history
from benchmarks.speed.pacer import Pacer, paced
from benchmarks.speed.result import Goal, Section
from evalstab.endpoint.base import Attempt
from evalstab.endpoint.openai_chat import OpenAIChat

FIRST_MS = 200
REAL_TIME = 1
LOW_PRIORITY = 19
SCORER = """
import os, tempfile
from pathlib import Path
os.nice({nice})
from benchmarks.speed import series
from evalstab.measures.score import score_series
with tempfile.TemporaryDirectory() as place:
    folder = series.make(Path(place) / "s", 2)
    print("ready", flush=True)
    while True:
        score_series(folder)
"""

_numbers = count(1)


def run(pacer: Pacer, quick: bool) -> Section:
    """Own client alone, with 16 other streams, with a scorer, and at 17 times 2,000 a second.

    Reader and pacer run in the real-time class where that is permitted, so that other programs of
    the machine are not measured; the scorer does not.
    """
    section = Section("timing")
    with _before_others(pacer) as refused:
        if refused:
            section.skipped["real-time class"] = f"{refused}: other programs are measured too"
        _cases(section, pacer, quick)
    return section


@contextmanager
def _before_others(pacer: Pacer) -> Iterator[str]:
    usual = os.sched_param(0)
    soon = os.sched_param(REAL_TIME)
    try:
        os.sched_setscheduler(pacer.process, os.SCHED_RR, soon)
        os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, soon)
    except OSError as error:
        yield str(error)
        return
    try:
        yield ""
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, usual)


def _cases(section: Section, pacer: Pacer, quick: bool) -> None:
    seconds = 0.3 if quick else 2.5
    _first_token(section, pacer, 3 if quick else 40)
    for name, rate, others, scorer in (
        ("alone", 100, 0, False),
        ("alone", 2000, 0, False),
        ("16 others at 100/s", 100, 100, False),
        ("16 others at 100/s, scorer at low priority", 100, 100, True),
        ("16 others at 2,000/s", 2000, 2000, False),
    ):
        row = {"case": f"{rate}/s, {name}", **_case(pacer, rate, others, scorer, seconds)}
        section.rows.append(row)
        if scorer:
            section.goals.append(Goal("ITL error p99 with a scorer, ms", row["itl_p99_ms"], 1))
        if others == 2000:
            section.goals += [
                Goal("decode rate error at 17 × 2,000/s, %", row["decode_error_pct"], 0.1)
            ]
    _ten_streams(section, pacer, 400 if quick else 8000)


def _first_token(section: Section, pacer: Pacer, times: int) -> None:
    async def ask(messages: list[dict[str, Any]]) -> list[float]:
        client = own.client(pacer.url)
        await client.warm()
        errors = []
        for _ in range(times):
            number = next(_numbers)
            attempt = await client.attempt(
                own.request(paced(number, 100, 5, FIRST_MS // 10), messages)
            )
            errors.append(own.stamps(attempt)[0] - _true_first(pacer, number, attempt))
        await client.close()
        return errors

    for name, messages in (("small", HELLO), ("400 KB history", long_history())):
        errors = 1e3 * np.array(asyncio.run(ask(messages)))
        row = {"case": f"first token, {name}", "ttft_p50_ms": float(np.median(errors))}
        row["ttft_p99_ms"] = float(np.percentile(errors, 99))
        section.rows.append(row)
    section.goals.append(Goal("TTFT error p50 at 400 KB, ms", row["ttft_p50_ms"], 1))


def _true_first(pacer: Pacer, number: int, attempt: Attempt) -> float:
    """Seconds from our sending to the server's first send, on the clock that both share."""
    assert attempt.clock is not None
    return pacer.sends()[number][1] - attempt.clock.sent


def _case(pacer: Pacer, rate: int, others: int, scorer: bool, seconds: float) -> dict[str, Any]:
    async def streams() -> list[tuple[int, Attempt]]:
        client = own.client(pacer.url)
        await client.warm()
        rates = [rate] + [others] * (16 if others else 0)
        numbers = [next(_numbers) for _ in rates]
        asked = [
            client.attempt(own.request(paced(n, r, int(r * seconds), FIRST_MS), HELLO))
            for n, r in zip(numbers, rates, strict=True)
        ]
        attempts = await asyncio.gather(*asked)
        await client.close()
        return list(zip(numbers, attempts, strict=True))

    with _scoring(scorer):
        found = asyncio.run(streams())
    sends = pacer.sends()
    return _errors(found[0][1], sends[found[0][0]])


def _errors(attempt: Attempt, sends: list[float]) -> dict[str, Any]:
    clock = attempt.clock
    assert clock is not None
    true = np.array(sends[1:]) - clock.sent
    seen = np.array(own.stamps(attempt))
    assert len(seen) == len(true), (len(seen), len(true))
    lag = 1e3 * (seen - true)
    single = alone(clock.per_read, len(seen))
    gaps = 1e3 * np.abs(np.diff(seen) - np.diff(true))[single[1:] & single[:-1]]
    rate = (seen[-1] - seen[0]) / (true[-1] - true[0])
    return {
        "lag_p50_ms": float(np.median(lag)),
        "lag_p99_ms": float(np.percentile(lag, 99)),
        "itl_p99_ms": float(np.percentile(gaps, 99)) if len(gaps) else None,
        "bunched_pct": 100 * float(1 - single.mean()),
        "decode_error_pct": 100 * abs(1 / rate - 1),
        "flag": clock.unreliable or "",
    }


def alone(per_read: tuple[int, ...], chunks: int) -> np.ndarray:
    """Which chunks came alone in their read; those that came together have no gap of their own."""
    counts = per_read or (1,) * chunks
    return np.array([n == 1 for n in counts for _ in range(n)])


def _ten_streams(section: Section, pacer: Pacer, chunks: int) -> None:
    async def streams() -> float:
        client: OpenAIChat = own.client(pacer.url)
        await client.warm()
        loop = asyncio.get_running_loop()
        start = loop.time()
        asked = (own.request(paced(next(_numbers), 2000, chunks), HELLO) for _ in range(10))
        await asyncio.gather(*(client.attempt(request) for request in asked))
        wall = loop.time() - start
        await client.close()
        return wall

    ideal = (chunks - 1) / 2000
    over = asyncio.run(streams()) / ideal
    section.rows.append({"case": "10 streams at 2,000/s, wall over ideal", "ratio": over})
    section.goals.append(Goal("10 streams at 2,000/s, wall over ideal", over, 1.02))


@contextmanager
def _scoring(wanted: bool) -> Iterator[None]:
    """Another process that scores a series over and over at low priority."""
    if not wanted:
        yield
        return
    code = SCORER.format(nice=LOW_PRIORITY)
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) as scorer:
        try:
            assert scorer.stdout is not None
            assert scorer.stdout.readline() == b"ready\n"
            yield
        finally:
            scorer.kill()
