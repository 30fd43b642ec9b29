"""Answers that are hardly HTTP: one finding, one line, no crash."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.endpoint.retry import RetryPolicy, ask
from evalstab.settings import EndpointSettings, Timeouts

CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    "another protocol": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    "terminal codes for a status line": b"\x1b[2J\x9b31m\xff\xfe" * 400 + b"\r\n\r\n",
    "a chunk of no size": CHUNKED + b"zz\x1b[31m\r\nhello\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhi",
    "cut in a chunk": CHUNKED + b"ffff\r\ndata: {",
}


@asynccontextmanager
async def blunt_server(answer: bytes) -> AsyncIterator[str]:
    """Gives the same bytes to whoever asks, and closes."""

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        size = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-len"))
        await reader.readexactly(int(size.split(b":")[1]))
        writer.write(answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(give, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def asked(answer: bytes) -> list[Attempt]:
    """What comes of one request to such a server."""
    async with blunt_server(answer) as url:
        timeouts = Timeouts(first_token=5, idle=2)
        client = OpenAIChat(EndpointSettings(base_url=url, model="m", timeouts=timeouts), None)
        history = History()
        history.append({"role": "user", "content": "Hi"})
        request = ChatRequest(history=history, fields={"model": "m"}, asked=Asked())
        try:
            return await ask(client, request, RetryPolicy(retries=1, first_pause=0.01))
        finally:
            await client.close()


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_that_is_hardly_http_is_a_finding_in_one_line(name: str) -> None:
    attempts = asyncio.run(asked(ANSWERS[name]))
    assert attempts[-1].action in ("end_trial", "end_series")
    for attempt in attempts:
        assert attempt.findings
        assert {found.side for found in attempt.findings} == {"endpoint"}
        text = attempt.error or ""
        assert text.isprintable()
        assert len(text) <= 200


async def _answered_by_a_server_that_goes_on() -> Attempt:
    """Comments without end behind an answer that is over."""
    answer = (
        b'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'
    )

    async def give(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n" + answer)
        try:
            while not writer.is_closing():
                writer.write(b": still here\n\n")
                await writer.drain()
                await asyncio.sleep(0.02)
        except ConnectionError:
            return
        finally:
            writer.close()

    server = await asyncio.start_server(give, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        client = OpenAIChat(EndpointSettings(base_url=url, model="m"), None)
        history = History()
        history.append({"role": "user", "content": "Hi"})
        request = ChatRequest(history=history, fields={"model": "m", "stream": True}, asked=Asked())
        try:
            return (await ask(client, request, RetryPolicy()))[-1]
        finally:
            await client.close()


def test_what_is_sent_behind_the_end_mark_does_not_keep_the_answer_open() -> None:
    attempt = asyncio.run(asyncio.wait_for(_answered_by_a_server_that_goes_on(), 60))
    assert attempt.action == "accept"
    assert attempt.error is None
    assert attempt.reply is not None
    assert attempt.reply.content == "Hi"
