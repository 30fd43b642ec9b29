"""One client's connection to the proxy, and the connection to the upstream that answers it.

Each client connection has one upstream connection of its own. Requests are read, because their
address and a few headers are ours; answers are passed on byte by byte before they are looked at,
so that framing, trailers, encodings, interim answers and mistakes arrive as they were sent. What
ends on one side ends on the other in the same way: closed in order, or reset.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, cast
from urllib.parse import urlsplit

import h11

from evalstab.intake.exchange import End
from evalstab.intake.framing import Body, FramingError
from evalstab.intake.grouping import route
from evalstab.intake.passage import RECORDED, Passage, exchange_of, sent_headers
from evalstab.intake.upstream import MOST_AHEAD, Upstream, hold, reset

if TYPE_CHECKING:
    from evalstab.intake.proxy import Proxy

LONGEST_HEAD = 256 << 10
_BLANK = b"\r\n\r\n"

_REFUSAL = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Relay(asyncio.Protocol):
    """The client's side."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._upstream = Upstream(self, proxy.call)
        self._transport: asyncio.Transport | None = None
        self._in = h11.Connection(h11.SERVER, LONGEST_HEAD)
        self._out = h11.Connection(h11.CLIENT, LONGEST_HEAD)
        self._method = b""
        self._head = bytearray()
        self._body: Body | None = None
        self._passage: Passage | None = None
        self._tunnel = False
        self._readable = True
        self._ahead = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._proxy.relays.add(self)

    def data_received(self, data: bytes) -> None:
        if self._tunnel:
            self._upstream.send(data)
            return
        if self._in.their_state not in (h11.IDLE, h11.SEND_BODY):
            self._ahead += len(data)
            if self._ahead > MOST_AHEAD:
                self.hold(reading=False)
        try:
            self._in.receive_data(data)
            self._read_on()
        except h11.ProtocolError as error:
            self._bad_request(str(error))

    def eof_received(self) -> bool:
        """A client that says no more is one that leaves: no agent waits for answers after it."""
        self.connection_lost(None)
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        self._proxy.relays.discard(self)
        self._end("client_closed")
        self._upstream.end(by_reset=exc is not None)
        if self._transport is not None:
            self._transport.abort()
        self._transport = None

    def pause_writing(self) -> None:
        self._upstream.hold(reading=False)

    def resume_writing(self) -> None:
        self._upstream.hold(reading=True)

    def hold(self, *, reading: bool) -> None:
        """Whether the client may go on sending, as the upstream can take it."""
        hold(self._transport, reading=reading)

    def stop(self) -> None:
        """The proxy ends."""
        self._end("proxy_stopped")
        reset(self._transport)
        self._upstream.end(by_reset=False)

    def answered(self, data: bytes) -> None:
        """Bytes from the upstream: passed on first, then read."""
        moment = time.monotonic()
        if self._transport is not None:
            self._transport.write(data)
        if self._tunnel:
            return
        if not self._readable:
            self._kept(data, moment)
            return
        try:
            self._follow(data, moment)
        except (h11.ProtocolError, FramingError) as error:
            self._unreadable(data, moment, str(error))

    def upstream_lost(self, error: Exception | None) -> None:
        """The upstream has ended the connection: so does the proxy, in the same way."""
        if error is None and self._body is not None and self._body.until_close:
            self._whole()
        self._end("upstream_reset", str(error) if error else None)
        if error is not None:
            reset(self._transport)
        elif self._transport is not None:
            self._transport.close()

    def unreachable(self, error: OSError) -> None:
        """Nobody answers at the upstream's address."""
        self._end("upstream_refused", self._proxy.refused(error))
        reset(self._transport)

    def _read_on(self) -> None:
        """Take what the client has sent, as far as it is its turn."""
        while (event := self._in.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Request):
                self._begin(event)
            elif isinstance(event, h11.Data):
                data = bytes(event.data)
                self._send(h11.Data(data=data))
                if self._passage is not None:
                    self._passage.asks(data)
            elif isinstance(event, h11.EndOfMessage):
                self._send(event)
                if self._passage is not None:
                    self._passage.asked()
                self._next()

    def _begin(self, request: h11.Request) -> None:
        target, _, query = request.target.decode("latin-1").partition("?")
        where = route(target)
        exchange = exchange_of(request, where, query, self._proxy.upstream)
        recorded = exchange.method == "POST" and where.path.endswith(RECORDED)
        self._passage = Passage(exchange, self._proxy.scribe if recorded else None)
        self._out = h11.Connection(h11.CLIENT, LONGEST_HEAD)
        self._method = request.method
        address = urlsplit(self._proxy.upstream)
        headers = sent_headers(request, address, self._proxy.added(exchange))
        path = self._proxy.path(where.path) + (f"?{query}" if query else "")
        data = self._out.send(h11.Request(method=request.method, target=path, headers=headers))
        if data is not None and request.http_version == b"1.0":
            data = data.replace(b" HTTP/1.1\r\n", b" HTTP/1.0\r\n", 1)
        self._upstream.send(data or b"")

    def _send(self, event: h11.Data | h11.EndOfMessage) -> None:
        if data := self._out.send(event):
            self._upstream.send(data)

    def _follow(self, data: bytes, moment: float) -> None:
        """Follow an answer: heads until one is no interim answer, then the body to its end."""
        while data and not self._tunnel:
            if self._passage is None:
                raise FramingError("bytes that nobody asked for")
            if self._body is None:
                data = self._head_of(data, moment)
                continue
            body, data = self._body.feed(data)
            if body:
                self._kept(body, moment)
            if self._body.ended:
                self._whole()

    def _head_of(self, data: bytes, moment: float) -> bytes:
        """Take a head, as far as it is there; returns what stands behind it."""
        looked = max(len(self._head) - len(_BLANK) + 1, 0)
        self._head += data
        end = self._head.find(_BLANK, looked)
        if end < 0:
            if len(self._head) > LONGEST_HEAD:
                raise FramingError("the headers have no end")
            return b""
        end += len(_BLANK)
        head, rest = bytes(self._head[:end]), bytes(self._head[end:])
        self._head.clear()
        self._out.receive_data(head)
        event = self._out.next_event()
        if isinstance(event, h11.InformationalResponse):
            if self._out.their_state is h11.SWITCHED_PROTOCOL:
                self._switched()
        elif isinstance(event, h11.Response) and self._passage is not None:
            self._passage.answers(event, moment)
            self._body = Body(self._method, event.status_code, event.headers)
            if self._body.ended:
                self._whole()
        return rest

    def _switched(self) -> None:
        """From here on the connection is another protocol's."""
        self._tunnel = True
        self._end("done")
        if rest := self._in.trailing_data[0]:
            self._upstream.send(rest)

    def _whole(self) -> None:
        """The answer is whole."""
        self._body = None
        if self._passage is not None:
            self._passage.answered_whole = True
            self._next()

    def _kept(self, data: bytes, moment: float) -> None:
        if self._passage is not None:
            self._passage.came(data, moment)

    def _next(self) -> None:
        """Go on with the next request where this one is through on both sides."""
        passage = self._passage
        if passage is None or not (passage.answered_whole and passage.asked_whole):
            return
        self._end("done")
        rest, _ = self._in.trailing_data
        self._in = h11.Connection(h11.SERVER, LONGEST_HEAD)
        if self._ahead > MOST_AHEAD:
            self.hold(reading=True)
        self._ahead = 0
        if rest:
            self.data_received(rest)

    def _unreadable(self, data: bytes, moment: float, why: str) -> None:
        """What came is no HTTP: it is passed on all the same, and kept as it is."""
        self._readable = False
        if self._passage is None:
            # Bytes that nobody asked for: what came after them could not be told apart.
            self._upstream.end(by_reset=False)
            if self._transport is not None:
                self._transport.close()
            return
        self._passage.problem = why
        self._passage.came(data, moment)

    def _bad_request(self, why: str) -> None:
        """What the client sent is no request; what comes too early behind one is left alone."""
        if self._passage is not None and self._passage.asked_whole:
            return
        self._end("client_closed", why)
        self._upstream.end(by_reset=False)
        if self._transport is not None:
            self._transport.write(_REFUSAL)
            self._transport.close()

    def _end(self, end: End, problem: str | None = None) -> None:
        passage = self._passage
        if passage is not None:
            if self._head:
                passage.came(bytes(self._head), time.monotonic())
                self._head.clear()
            passage.ended("done" if passage.answered_whole else end, problem)
            self._passage = None
