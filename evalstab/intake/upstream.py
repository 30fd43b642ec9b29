"""The connection to the upstream that belongs to one client connection."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable
from typing import Protocol, cast

MOST_AHEAD = 1 << 20
"""Bytes that a client may send ahead of its turn, or before the upstream is reached."""

Call = Callable[[Callable[[], asyncio.BaseProtocol]], Awaitable[object]]
"""Connects a protocol with the upstream; OSError where nobody answers there."""


class Client(Protocol):
    """What the upstream's side needs of the client's."""

    def hold(self, *, reading: bool) -> None:
        """Whether the client may go on sending, as the upstream can take it."""

    def answered(self, data: bytes) -> None:
        """Bytes have come from the upstream."""

    def upstream_lost(self, error: Exception | None) -> None:
        """The upstream has ended the connection, in order or by a reset."""

    def unreachable(self, error: OSError) -> None:
        """Nobody answers at the upstream's address."""


class Upstream(asyncio.Protocol):
    """It is called when there is something to send."""

    def __init__(self, client: Client, call: Call) -> None:
        self._client = client
        self._call = call
        self._transport: asyncio.Transport | None = None
        self._calling: asyncio.Task[None] | None = None
        self._waiting = bytearray()
        self._ended = False

    def send(self, data: bytes) -> None:
        """Pass bytes on, once the upstream is reached."""
        if self._transport is not None:
            self._transport.write(data)
            return
        self._waiting += data
        if len(self._waiting) > MOST_AHEAD:
            self._client.hold(reading=False)
        if self._calling is None:
            self._calling = asyncio.create_task(self._reach())

    def hold(self, *, reading: bool) -> None:
        """Whether the upstream may go on sending, as the client can take it."""
        hold(self._transport, reading=reading)

    def end(self, *, by_reset: bool) -> None:
        """The client has gone."""
        self._ended = True
        if self._calling is not None:
            self._calling.cancel()
        if by_reset:
            reset(self._transport)
        elif self._transport is not None:
            self._transport.abort()

    async def _reach(self) -> None:
        try:
            await self._call(lambda: self)
        except OSError as error:
            self._client.unreachable(error)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if self._ended:
            self._transport.abort()
            return
        self._transport.write(bytes(self._waiting))
        if len(self._waiting) > MOST_AHEAD:
            self._client.hold(reading=True)
        self._waiting.clear()

    def data_received(self, data: bytes) -> None:
        self._client.answered(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        if not self._ended:
            self._ended = True
            self._client.upstream_lost(exc)

    def pause_writing(self) -> None:
        self._client.hold(reading=False)

    def resume_writing(self) -> None:
        self._client.hold(reading=True)


def hold(transport: asyncio.Transport | None, *, reading: bool) -> None:
    """Let a connection be read, or not for now."""
    if transport is None or transport.is_closing():
        return
    if reading:
        transport.resume_reading()
    else:
        transport.pause_reading()


def reset(transport: asyncio.Transport | None) -> None:
    """End a connection with a reset: nothing that comes after could be true."""
    if transport is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        raw = transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
