"""A recording proxy on loopback: it passes on what comes, as it comes, and writes down what came.

Nothing is buffered, repeated or mended. An upstream that breaks off reaches the client as a reset,
a client that goes away is taken away from the upstream, and the exchange is written in every case.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import aiohttp
import msgspec
from aiohttp import web
from multidict import CIMultiDict

from evalstab.endpoint.unpack import Unpacker
from evalstab.intake.exchange import Exchange, digest
from evalstab.intake.exchange_log import ExchangeLog
from evalstab.intake.grouping import Grouping, named_session, route

HOST = "127.0.0.1"
LARGEST_BODY = 512 << 20
KEEPALIVE = 3.0
"""Seconds for which an idle connection is used again: less than any known server keeps it, so that
no request is lost on a connection that the server has just closed."""

SWITCH = 0.0005
"""Seconds for which writing one exchange down may keep the next one waiting (Python: 0.005)."""

_HOP = frozenset(
    {
        "connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection",
        "te", "trailer", "transfer-encoding", "upgrade", "host", "content-length",
        "accept-encoding", "expect",
    }
)  # fmt: skip
_ANSWER_HOP = _HOP - {"content-length", "host", "accept-encoding"}
_OWN = ("User-Agent", "Accept", "Accept-Encoding", "Content-Type")
_RECORDED = ("/chat/completions", "/responses", "/messages", "/completions")


@dataclass(slots=True)
class Proxy:
    """``headers`` are added to the requests of a session, by its name (for our own endpoints)."""

    upstream: str
    log: ExchangeLog
    headers: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _grouping: Grouping = field(default_factory=Grouping)
    _running: Counter[str] = field(default_factory=Counter)
    _writing: set[asyncio.Task[None]] = field(default_factory=set)
    _client: aiohttp.ClientSession | None = None

    async def handle(self, request: web.BaseRequest) -> web.StreamResponse:
        """Pass one request on, and its answer back."""
        began, at = time.monotonic(), time.time()
        raw = await request.read()
        where = route(request.rel_url.raw_path)
        seen = _Seen(began, self._exchange(request, where.path, at), raw, where.session or "")
        recorded = request.method == "POST" and where.path.endswith(_RECORDED)
        self._running[seen.named] += 1
        try:
            return await self._pass(request, where.path, raw, seen)
        except asyncio.CancelledError:
            seen.exchange.end = "client_closed"
            raise
        finally:
            seen.exchange.t_end = time.monotonic() - seen.began
            # On its own, since a client that leaves ends this function at any moment.
            task = asyncio.create_task(self._done(seen, recorded=recorded))
            self._writing.add(task)
            task.add_done_callback(self._writing.discard)

    async def _done(self, seen: _Seen, *, recorded: bool) -> None:
        """An exchange is over: find its session, and write it down."""
        exchange = seen.exchange
        try:
            if recorded:
                exchange.req_body = _json(seen.raw)
                exchange.req_sha256 = digest(seen.raw)
                exchange.session = (
                    seen.named
                    or named_session(exchange.req_headers, exchange.req_body)
                    or self._grouping.session(exchange.req_body)
                )
                self._grouping.ended(exchange.session, failed=seen.failed)
                await asyncio.to_thread(self.log.write, exchange, seen.texts())
        finally:
            self._running[seen.named] -= 1

    async def written(self) -> None:
        """Wait until all that has ended is written; OSError where the disk refuses."""
        await asyncio.gather(*self._writing)

    async def quiet(self, session: str, seconds: float) -> None:
        """Wait until nothing of a session is under way any more, at most so long."""
        until = time.monotonic() + seconds
        while self._running[session] > 0 and time.monotonic() < until:
            await asyncio.sleep(0.01)

    async def _pass(
        self, request: web.BaseRequest, path: str, raw: bytes, seen: _Seen
    ) -> web.StreamResponse:
        query = f"?{request.rel_url.raw_query_string}" if request.rel_url.raw_query_string else ""
        assert self._client is not None
        try:
            answer = await self._client.request(
                request.method,
                _url(self.upstream, path + query),
                data=raw or None,
                headers=self._sent(request, seen.named),
                allow_redirects=False,
            )
        except (aiohttp.ClientError, OSError) as error:
            refused = isinstance(error, aiohttp.ClientConnectorError)
            seen.exchange.end = "upstream_refused" if refused else "upstream_reset"
            return _broken(request)
        try:
            return await self._stream(request, answer, seen)
        finally:
            answer.close() if seen.exchange.end != "done" else answer.release()

    async def _stream(
        self, request: web.BaseRequest, answer: aiohttp.ClientResponse, seen: _Seen
    ) -> web.StreamResponse:
        seen.answered(answer)
        response = web.StreamResponse(status=answer.status, reason=answer.reason)
        response.headers.clear()
        for name, value in answer.headers.items():
            if name.lower() not in _ANSWER_HOP:
                response.headers.add(name, value)
        try:
            await response.prepare(request)
            async for chunk in answer.content.iter_any():
                seen.chunks.append((time.monotonic() - seen.began, chunk))
                await response.write(chunk)
            await response.write_eof()
        except (aiohttp.ClientPayloadError, aiohttp.ServerConnectionError):
            seen.exchange.end = "upstream_reset"
            return _broken(request)
        except (ConnectionResetError, aiohttp.ClientConnectionError) as error:
            # Writing to a client that left raises the one, reading from a lost upstream the other.
            gone = request.transport is None or request.transport.is_closing()
            seen.exchange.end = "client_closed" if gone else "upstream_reset"
            del error
            return _broken(request)
        return response

    def _sent(self, request: web.BaseRequest, session: str) -> CIMultiDict[str]:
        sent: CIMultiDict[str] = CIMultiDict()
        for name, value in request.headers.items():
            if name.lower() not in _HOP:
                sent.add(name, value)
        sent["Accept-Encoding"] = "identity"
        sent.update(self.headers.get(session, {}))
        return sent

    def _exchange(self, request: web.BaseRequest, path: str, at: float) -> Exchange:
        return Exchange(
            t_req=at,
            method=request.method,
            path=path,
            upstream=self.upstream,
            req_headers={name.lower(): value for name, value in request.headers.items()},
        )


@dataclass(slots=True)
class _Seen:
    """What came so far of one exchange; ``named`` is the session that its path names, if any."""

    began: float
    exchange: Exchange
    raw: bytes
    named: str
    chunks: list[tuple[float, bytes]] = field(default_factory=list)

    @property
    def failed(self) -> bool:
        status = self.exchange.status
        return self.exchange.end != "done" or status is None or status >= 400

    def answered(self, answer: aiohttp.ClientResponse) -> None:
        """Status and headers have come."""
        self.exchange.status = answer.status
        self.exchange.t_headers = time.monotonic() - self.began
        self.exchange.resp_headers = {k.lower(): v for k, v in answer.headers.items()}

    def texts(self) -> list[tuple[float, bytes]]:
        """The answer's pieces, unpacked where the upstream packed them unasked."""
        unpacker = Unpacker(self.exchange.resp_headers.get("content-encoding", ""))
        return [(at, b"".join(unpacker.feed(chunk))) for at, chunk in self.chunks]


@asynccontextmanager
async def proxying(proxy: Proxy, port: int = 0) -> AsyncIterator[str]:
    """Serve on loopback for as long as the context lasts; gives the address.

    OSError where the port is taken.
    """
    connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=KEEPALIVE)
    async with aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        timeout=aiohttp.ClientTimeout(total=None, connect=30),
        skip_auto_headers=_OWN,
    ) as client:
        proxy._client = client
        before = sys.getswitchinterval()
        sys.setswitchinterval(SWITCH)
        server = web.Server(proxy.handle, handler_cancellation=True, access_log=None)
        runner = web.ServerRunner(server, shutdown_timeout=1.0)
        await runner.setup()
        try:
            site = web.TCPSite(runner, HOST, port)
            await site.start()
            bound = runner.addresses[0][1]
            yield f"http://{HOST}:{bound}"
        finally:
            await runner.cleanup()
            await proxy.written()
            sys.setswitchinterval(before)


def _url(upstream: str, path: str) -> str:
    """The upstream's address of a path; what both end and begin with (``/v1``) is not doubled."""
    base = upstream.rstrip("/")
    names = urlsplit(base).path.split("/")[1:]
    for number in range(len(names)):
        tail = "/" + "/".join(names[number:])
        if path.startswith(f"{tail}/"):
            return base.removesuffix(tail) + path
    return base + path


def _broken(request: web.BaseRequest) -> web.StreamResponse:
    """End the client's connection with a reset: nothing that comes after could be true."""
    transport = request.transport
    if transport is not None:
        with contextlib.suppress(OSError, AttributeError):
            linger = struct.pack("ii", 1, 0)
            transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
        transport.abort()
    raise ConnectionResetError("the upstream broke off, and so does the proxy")


def _json(raw: bytes) -> object:
    try:
        return msgspec.json.decode(raw) if raw else None
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return None
