"""What the recording proxy costs: direct, through a bare pass-through, and through the recorder.

    python benchmarks/proxy.py

An upstream in a process of its own streams 200 chunks, one every 5 ms, each with the moment at
which it was sent; so the lag of a chunk is known on arrival (one machine, one clock). The three
ways are measured in turn in one run. TTFT and lags are milliseconds.
"""

import asyncio
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import numpy as np
from aiohttp import web

from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import Scribe

CHUNKS = 200
PAUSE = 0.005
REST = 0.1
"""Seconds between two requests, as agents run tools between them."""
BODY = {"stream": True, "messages": [{"role": "user", "content": "x" * 20_000}]}


async def stream(request: web.BaseRequest) -> web.StreamResponse:
    """200 chunks that say when they were sent."""
    await request.read()
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    for _ in range(CHUNKS):
        event = f'data: {{"choices":[{{"delta":{{"content":"{time.monotonic():.7f}"}}}}]}}\n\n'
        await response.write(event.encode())
        await asyncio.sleep(PAUSE)
    await response.write(b"data: [DONE]\n\n")
    await response.write_eof()
    return response


async def serve(handler: Any, told: Any) -> None:
    """Serve a handler on a free port until the process is ended."""
    runner = web.ServerRunner(web.Server(handler, access_log=None))
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    told.put(f"http://127.0.0.1:{runner.addresses[0][1]}")
    await asyncio.Event().wait()


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

        await serve(handle, told)


async def recorder(upstream: str, told: Any) -> None:
    """The product's proxy, writing into a folder that is thrown away."""
    with tempfile.TemporaryDirectory() as folder:
        async with proxying(Proxy(upstream, Scribe(Path(folder), "benchmark"))) as url:
            told.put(url)
            await asyncio.Event().wait()


def run(kind: str, upstream: str, told: Any) -> None:
    """The work of one process."""
    works = {"upstream": lambda: serve(stream, told), "bare": lambda: bare(upstream, told)}
    asyncio.run(works.get(kind, lambda: recorder(upstream, told))())


@contextmanager
def process(kind: str, upstream: str = "") -> Iterator[str]:
    """A server in a process of its own; gives its address."""
    context = multiprocessing.get_context("spawn")
    told = context.Queue()
    worker = context.Process(target=run, args=(kind, upstream, told), daemon=True)
    worker.start()
    try:
        yield told.get(timeout=30)
    finally:
        worker.terminate()
        worker.join()


async def one(client: aiohttp.ClientSession, url: str) -> tuple[float, list[float]]:
    """TTFT and lags of one stream, in milliseconds."""
    began, first, lags = time.monotonic(), 0.0, []
    async with client.post(f"{url}/v1/chat/completions", json=BODY) as answer:
        async for line in answer.content:
            now = time.monotonic()
            if b'content":"' in line:
                first = first or now
                lags.append((now - float(line.split(b'"')[-2])) * 1000)
    return (first - began) * 1000, lags


async def measure(url: str, streams: int, rounds: int) -> tuple[float, float, float]:
    """Median TTFT, and the median and 99th percentile of the lags."""
    firsts: list[float] = []
    lags: list[float] = []
    async with aiohttp.ClientSession() as client:
        await one(client, url)
        for _ in range(rounds):
            await asyncio.sleep(REST)
            for first, found in await asyncio.gather(*(one(client, url) for _ in range(streams))):
                firsts.append(first)
                lags += found
    p50, p99 = np.percentile(lags, (50, 99))
    return float(np.median(firsts)), float(p50), float(p99)


def main() -> None:
    """Print the table."""
    print("| streams | way | TTFT | chunk lag p50 | p99 |\n|--:|---|--:|--:|--:|")
    with process("upstream") as up, process("bare", up) as thin, process("recorder", up) as full:
        for streams, rounds in ((1, 5), (8, 4)):
            for name, url in (("direct", up), ("bare pass-through", thin), ("recorder", full)):
                ttft, p50, p99 = asyncio.run(measure(url, streams, rounds))
                print(f"| {streams} | {name} | {ttft:.2f} | {p50:.2f} | {p99:.2f} |")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
