"""What the recording proxy costs: direct, through a bare pass-through, and through the recorder.

    python -m benchmarks.proxy                  the table, about two minutes
    python -m benchmarks.proxy --quick          small, for the tests
    python -m benchmarks.proxy --usual          in the usual scheduling class

The server is ``speed/pacer.c``, which stamps every chunk at its own ``send()``; so the lag of a
chunk is known on arrival (one machine, one clock). All ways are measured in turn in one run, with
rests between requests as agents have them, and back to back. Server, proxies and reader run in the
real-time class where that is permitted, so that other programs of the machine are not measured;
the recorder's writer does not, as in use.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import numpy as np
from aiohttp import web

from benchmarks.speed.pacer import Pacer, paced, pacing
from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import Scribe

PROMPT = "x" * 20_000
LAST = b"data: [DONE]\n\n\r\n0\r\n\r\n"
"""How a stream ends, in chunks of whatever sizes."""

_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Case:
    """``streams`` at once, each ``rounds`` requests of ``chunks`` at ``rate`` a second (0: as fast
    as they come), with ``rest`` seconds between two requests."""

    name: str
    streams: int
    rounds: int
    rate: int
    chunks: int
    rest: float = 0.0


CASES = (
    Case("1 at 200/s, rests of 0.1 s", 1, 6, 200, 200, 0.1),
    Case("1 at 200/s, back to back", 1, 6, 200, 200),
    Case("8 at 200/s, rests of 0.1 s", 8, 6, 200, 200, 0.1),
    Case("8 at 200/s, back to back", 8, 6, 200, 200),
    Case("10 at 2,000/s, back to back", 10, 3, 2000, 3000),
    Case("short answers, 8 at once", 8, 60, 0, 20),
    Case("blast, 1 at once", 1, 4, 0, 20_000),
    Case("blast, 8 at once", 8, 2, 0, 20_000),
)
QUICK = (Case("quick", 2, 2, 500, 20), Case("quick blast", 2, 2, 0, 200))


@dataclass(slots=True)
class Seen:
    """One answer: ID, when it was asked and its first byte came, and when each chunk came."""

    id: int
    asked: float
    first: float = 0.0
    chunks: list[float] = field(default_factory=list)


async def bare(upstream: str, told: Any) -> None:
    """The thinnest pass-through: nothing is kept."""
    async with aiohttp.ClientSession(auto_decompress=False) as client:

        async def handle(request: web.BaseRequest) -> web.StreamResponse:
            data = await request.read()
            url = f"{upstream}{request.rel_url}"
            async with client.request(request.method, url, data=data) as answer:
                response = web.StreamResponse(status=answer.status)
                await response.prepare(request)
                async for chunk in answer.content.iter_any():
                    await response.write(chunk)
                await response.write_eof()
                return response

        runner = web.ServerRunner(web.Server(handle, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        told.put(f"http://127.0.0.1:{runner.addresses[0][1]}")
        await asyncio.Event().wait()


async def recorder(upstream: str, told: Any) -> None:
    """The product's proxy, writing into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        async with proxying(Proxy(upstream, Scribe(Path(folder), "benchmark"))) as url:
            told.put(url)
            await asyncio.Event().wait()


def work(kind: str, upstream: str, told: Any) -> None:
    """The work of one process."""
    asyncio.run((bare if kind == "bare" else recorder)(upstream, told))


@contextmanager
def process(kind: str, upstream: str) -> Iterator[tuple[str, int]]:
    """A proxy in a process of its own: its address and its id."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    worker = context.Process(target=work, args=(kind, upstream, told))
    worker.start()
    try:
        assert worker.pid is not None
        yield told.get(timeout=30), worker.pid
    finally:
        worker.terminate()
        worker.join()


def soon(*processes: int) -> None:
    """Put processes into the real-time class; what they start is in the usual one."""
    for one in processes:
        os.sched_setscheduler(one, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))


def cpu_ms(pid: int) -> float:
    """Milliseconds that a process has spent on a processor, without its children."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0]) / 1e6


async def stream(url: str, case: Case) -> list[Seen]:
    """The requests of one stream, one after the other, on one connection."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, limit=1 << 20)
    found = []
    for _ in range(case.rounds):
        await asyncio.sleep(case.rest)
        number = next(_numbers)
        body = {"model": paced(number, case.rate, case.chunks), "stream": True}
        raw = json.dumps(body | {"messages": [{"role": "user", "content": PROMPT}]}).encode()
        head = (
            f"POST /v1/chat/completions HTTP/1.1\r\nHost: x\r\nContent-Length: {len(raw)}\r\n\r\n"
        )
        seen = Seen(number, time.monotonic())
        writer.write(head.encode() + raw)
        await _read(reader, seen)
        found.append(seen)
    writer.close()
    await writer.wait_closed()
    return found


async def _read(reader: asyncio.StreamReader, seen: Seen) -> None:
    rest = ending = b""
    while ending != LAST:
        data = await reader.read(1 << 18)
        moment = time.monotonic()
        assert data, "the answer broke off"
        seen.first = seen.first or moment
        rest += data
        if events := rest.count(b"\n\n"):
            seen.chunks += [moment] * events
            rest = rest[rest.rfind(b"\n\n") + 2 :]
        ending = (ending + data)[-len(LAST) :]
    seen.chunks.pop()


async def measure(url: str, case: Case) -> tuple[float, list[Seen]]:
    """Seconds for all streams of a case, and what they saw."""
    await stream(url, Case("warm", 1, 1, 0, 50))
    began = time.monotonic()
    found = await asyncio.gather(*(stream(url, case) for _ in range(case.streams)))
    return time.monotonic() - began, [seen for one in found for seen in one]


def row(pacer: Pacer, case: Case, url: str, pid: int | None) -> dict[str, float | None]:
    """What one way did in one case; times in milliseconds."""
    before = cpu_ms(pid) if pid is not None else 0.0
    seconds, answers = asyncio.run(measure(url, case))
    total = sum(len(seen.chunks) for seen in answers)
    found: dict[str, float | None] = {
        "first_p50": float(np.median([1e3 * (s.first - s.asked) for s in answers])),
        "lag_p50": None,
        "lag_p99": None,
        "cpu_per_1000": 1e3 * (cpu_ms(pid) - before) / total if pid is not None else None,
        "chunks_a_second": total / seconds,
    }
    if case.rate:
        sends = pacer.sends()
        lags = np.concatenate(
            [1e3 * (np.array(s.chunks[1 : case.chunks + 1]) - sends[s.id][1:]) for s in answers]
        )
        found["lag_p50"], found["lag_p99"] = (float(p) for p in np.percentile(lags, (50, 99)))
    return found


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--quick", action="store_true")
    options.add_argument("--usual", action="store_true")
    asked = options.parse_args()
    print("| case | way | first byte | chunk lag p50 | p99 | CPU of 1,000 chunks | chunks/s |")
    print("|---|---|--:|--:|--:|--:|--:|")
    with ExitStack() as stack:
        pacer = stack.enter_context(pacing())
        upstream = pacer.url.removesuffix("/v1")
        thin, thin_pid = stack.enter_context(process("bare", upstream))
        full, full_pid = stack.enter_context(process("recorder", upstream))
        if not asked.usual:
            try:
                soon(0, pacer.process, thin_pid, full_pid)
            except OSError as error:
                print(f"\nreal-time class: {error}: other programs are measured too\n")
        ways = (("direct", upstream, None), ("bare", thin, thin_pid), ("recorder", full, full_pid))
        for case in QUICK if asked.quick else CASES:
            for name, url, pid in ways:
                _print(case, name, row(pacer, case, url, pid))


def _print(case: Case, way: str, found: dict[str, float | None]) -> None:
    cells = [f"{value:.3g}" if value is not None else "–" for value in list(found.values())[:-1]]
    rate = found["chunks_a_second"]
    print(f"| {case.name} | {way} | {' | '.join(cells)} | {rate:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
