"""A server that closes after each streamed answer although it promised to keep the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.settings import EndpointSettings

REQUESTS = 30
EVENTS = (
    b'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":"Hi"}}]}\n\n'
    b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
    b"data: [DONE]\n\n"
)
ANSWER = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nKeep-Alive: timeout=5, max=100\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(EVENTS), EVENTS)
)


@asynccontextmanager
async def closing_server() -> AsyncIterator[str]:
    """As llama.cpp does it: the answer, its end, and the connection is gone."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-len"))
        await reader.readexactly(int(size.split(b":")[1]))
        writer.write(ANSWER)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def back_to_back() -> list[list[Attempt]]:
    """One request right after the other, without anything in between."""
    async with closing_server() as url:
        client = OpenAIChat(EndpointSettings(base_url=url, model="m"), None)
        history = History()
        history.append({"role": "user", "content": "Hi"})
        fields = {"model": "m", "stream": True}
        request = ChatRequest(history=history, fields=fields, asked=Asked())
        try:
            return [await ask(client, request, RetryPolicy()) for _ in range(REQUESTS)]
        finally:
            await client.close()


def test_a_closed_connection_is_used_again_at_once_and_is_no_dead_server() -> None:
    answered = asyncio.run(back_to_back())
    assert [attempts[-1].action for attempts in answered] == ["accept"] * REQUESTS
    lost = [attempt for attempts in answered for attempt in attempts[:-1]]
    assert {attempt.action for attempt in lost} <= {"repeat"}
    assert {attempt.waited for attempt in lost} <= {0.0}
    codes = {(f.code, f.detail["end"]) for attempt in lost for f in attempt.findings}
    assert codes <= {("stream.dropped", "stale")}
