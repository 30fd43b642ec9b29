"""Section 2: CPU a chunk, and CPU of a request with a long history."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
import openai

from benchmarks.speed import floors, own
from benchmarks.speed.pacer import Pacer, paced
from benchmarks.speed.result import Goal, Section, cpu_seconds

HELLO = [{"role": "user", "content": "Write."}]
HISTORY_BYTES = 400_000
MESSAGES = 61


def run(pacer: Pacer, quick: bool) -> Section:
    """Chunks as fast as they come, chunks one by one, and requests of two sizes."""
    section = Section("client")
    blast = _chunks(pacer, 0, 2_000 if quick else 20_000, 1 if quick else 5)
    slow = _chunks(pacer, 1000, 200 if quick else 1_500, 1 if quick else 2)
    for name, rows in (("blast", blast), ("paced", slow)):
        for client, seconds in rows.items():
            section.rows.append(
                {
                    "what": f"1,000 chunks, {name}",
                    "client": client,
                    "cpu_ms": seconds * 1e3,
                    "x_floor": seconds / rows["floor, dicts"],
                }
            )
    small, large = _requests(pacer, 5 if quick else 40)
    for client, seconds in large.items():
        section.rows.append(
            {
                "what": "request, 400 KB history",
                "client": client,
                "cpu_ms": seconds * 1e3,
                "small_cpu_ms": small[client] * 1e3,
                "x_floor": seconds / large["floor, dicts"],
            }
        )
    section.goals = [
        Goal(
            "CPU a chunk (blast) over the aiohttp and fast JSON floor",
            blast["own"] / blast["floor, dicts"],
            2.5,
        ),
        Goal("CPU a chunk (blast) over SDK objects", blast["own"] / blast["SDK objects"], 1 / 8),
        Goal(
            "CPU of a 400 KB request over the SDK's create()",
            large["own"] / large["SDK objects"],
            1 / 6,
        ),
    ]
    return section


def _chunks(pacer: Pacer, rate: int, chunks: int, repeats: int) -> dict[str, float]:
    """CPU seconds for each 1,000 chunks, by client."""
    model = paced(1, rate, chunks)
    few = paced(1, rate, chunks // 10) if rate == 0 else model
    found: dict[str, float] = {}
    for name, ask in _clients(pacer).items():
        wanted = few if name == "SDK objects" else model
        count = chunks // 10 if wanted is few and rate == 0 else chunks
        seconds = cpu_seconds(lambda ask=ask, wanted=wanted: asyncio.run(ask(wanted, 1)), repeats)
        empty = cpu_seconds(lambda ask=ask: asyncio.run(ask(paced(1, 0, 1), 1)), repeats)
        found[name] = (seconds - empty) / count * 1000
    return found


def _requests(pacer: Pacer, count: int) -> tuple[dict[str, float], dict[str, float]]:
    """CPU seconds of one request with a one-chunk answer: small, and with a 400 KB history."""
    found = []
    for messages in (HELLO, long_history()):
        by_client = {}
        for name, ask in _clients(pacer, messages).items():
            one = cpu_seconds(lambda ask=ask: asyncio.run(ask(paced(1, 0, 1), 1)))
            many = cpu_seconds(
                lambda ask=ask: asyncio.run(ask(paced(1, 0, 1), 1 + count)),
            )
            by_client[name] = (many - one) / count
        found.append(by_client)
    return found[0], found[1]


def long_history() -> list[dict[str, Any]]:
    """61 messages of 400 KB together."""
    text = "The report names seven rooms and two halls, each with a door. "
    content = (text * (HISTORY_BYTES // MESSAGES // len(text) + 1))[: HISTORY_BYTES // MESSAGES]
    roles = ("user", "assistant")
    return [{"role": roles[n % 2], "content": content} for n in range(MESSAGES)]


def _clients(
    pacer: Pacer, messages: list[dict[str, Any]] = HELLO
) -> dict[str, Callable[[str, int], Awaitable[None]]]:
    """Each asks a model so many times over one connection."""

    async def floor(model: str, times: int, take: Any) -> None:
        body = floors.body_of(model, messages)
        async with aiohttp.ClientSession() as session:
            for _ in range(times):
                await floors.ask(session, pacer.url, body, take)

    async def ours(model: str, times: int) -> None:
        client = own.client(pacer.url)
        request = own.request(model, messages)
        for _ in range(times):
            assert (await client.attempt(request)).reply is not None
        await client.close()

    async def sdk(model: str, times: int) -> None:
        client = openai.AsyncOpenAI(base_url=pacer.url, api_key="none")
        for _ in range(times):
            stream: Any = await client.chat.completions.create(
                model=model, messages=messages, stream=True
            )
            async for _chunk in stream:
                pass
        await client.close()

    return {
        "floor, typed": lambda model, times: floor(model, times, floors.typed),
        "floor, dicts": lambda model, times: floor(model, times, floors.dicts),
        "own": ours,
        "SDK objects": sdk,
    }
