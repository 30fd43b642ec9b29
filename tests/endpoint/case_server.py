"""A server that answers with the exact bytes of a case, on a real socket.

Each POST gets the next response; chunks are separate writes with their pauses, and the connection
ends as the case says: closed in good order, reset, left hanging until the client goes, or (stale)
kept until the next request comes and dropped then.
Requests are kept for inspection. Other paths (models, health) get 404.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.endpoint.cases import Response

HTTP_REASONS = {200: "OK", 400: "Bad Request", 402: "Payment Required", 429: "Too Many Requests"}


@dataclass(slots=True)
class CaseServer:
    """Answers with ``responses`` in order; keeps the bodies that came and when they came."""

    responses: Sequence[Response]
    requests: list[dict[str, Any]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    base_url: str = ""
    connections: int = 0
    _stale: set[asyncio.StreamWriter] = field(default_factory=set)
    _gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection; several requests where the responses allow it."""
        self.connections += 1
        try:
            while await self._one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    async def _go_stale(self, writer: asyncio.StreamWriter) -> bool:
        """End the body in good order, and drop the connection once the next request is there."""
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        self._stale.add(writer)
        return True

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        if writer in self._stale:
            writer.transport.abort()
            return False
        method, _, rest = head.decode("latin-1").partition(" ")
        body = await reader.readexactly(_content_length(head))
        if method != "POST":
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            await writer.drain()
            return True
        assert rest.startswith("/v1/chat/completions ")
        self.requests.append(json.loads(body))
        self.times.append(asyncio.get_running_loop().time())
        place = min(len(self.requests), len(self.responses)) - 1
        return await self._answer(self.responses[place], writer)

    async def _answer(self, response: Response, writer: asyncio.StreamWriter) -> bool:
        reason = HTTP_REASONS.get(response.status, "Status")
        lines = [f"HTTP/1.1 {response.status} {reason}", "Transfer-Encoding: chunked"]
        lines += [f"{name}: {value}" for name, value in response.headers.items()]
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1"))
        for number, chunk in enumerate(response.chunks):
            pause = response.pauses[number] if number < len(response.pauses) else 0
            if pause:
                await asyncio.sleep(pause / 1000)
            if chunk:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await writer.drain()
        if response.end == "close":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            return True
        if response.end == "stale":
            return await self._go_stale(writer)
        if response.end == "reset":
            await asyncio.sleep(0.02)
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        await self._gone.wait()
        return False

    def release(self) -> None:
        """Let go of connections that hang."""
        self._gone.set()


def _content_length(head: bytes) -> int:
    for line in head.decode("latin-1").split("\r\n"):
        name, _, value = line.partition(":")
        if name.lower() == "content-length":
            return int(value)
    return 0


@contextlib.asynccontextmanager
async def case_server(responses: Sequence[Response]) -> AsyncIterator[CaseServer]:
    """A running server for these responses on a free port of the loopback."""
    served = CaseServer(responses)
    server = await asyncio.start_server(served.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    served.base_url = f"http://127.0.0.1:{port}/v1"
    try:
        yield served
    finally:
        served.release()
        server.close()
        await server.wait_closed()
