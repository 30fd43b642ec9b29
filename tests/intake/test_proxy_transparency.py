"""Odd and hostile upstreams and clients: what passes the proxy is, byte for byte, what was sent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from evalstab.intake.exchange_reply import attempt_of
from evalstab.intake.proxy import Proxy
from evalstab.intake.scribe import Scribe
from tests.cli.program import environment
from tests.intake.proxy_making import exchanges, recording_for

Answer = Callable[[bytes, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
OK = b"HTTP/1.1 200 OK\r\n"
UPGRADE = b"Upgrade: echo\r\nConnection: Upgrade\r\n\r\n"
FRAME = 'data: {"choices":[{"index":0,"delta":{"content":"größer 评"}}]}\r\n\r\n'.encode()


def post(body: bytes = b"{}", path: bytes = b"/v1/chat/completions", *lines: bytes) -> bytes:
    head = [b"POST %b HTTP/1.1" % path, b"Host: x", b"Content-Length: %d" % len(body), *lines]
    return b"\r\n".join([*head, b"", body])


def says(*pieces: bytes, abort: bool = False) -> Answer:
    """An upstream that writes these pieces whatever it is asked, and ends the connection."""

    async def answer(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
            await asyncio.sleep(0.01)
        if abort:
            raw: socket.socket = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()

    return answer


async def continues(
    head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    if b"100-continue" in head:
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    body = await reader.readexactly(2)
    writer.write(OK + b"Content-Length: 2\r\n\r\n" + body)
    await writer.drain()


async def switches(_: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n"
    )
    writer.write(b"echo:" + await reader.readexactly(4))
    await writer.drain()


async def never_ends_its_headers(
    _: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    writer.write(OK)
    for number in range(20_000):
        writer.write(b"X-Odd-%d: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n" % number)
    await writer.drain()


def chunked(*pieces: bytes) -> bytes:
    return b"".join(b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)


STREAM = OK + b"Content-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
CASES: dict[str, tuple[Answer, bytes, str | None]] = {
    "a plain answer": (says(OK + b"X-WeIrD: a\r\ncontent-length: 2\r\n\r\nhi"), post(), "done"),
    "less than it says": (
        says(OK + b"Content-Length: 9\r\n\r\nhi"), post(), "upstream_reset",
    ),
    "more than it says": (says(OK + b"Content-Length: 2\r\n\r\nhi there"), post(), "done"),
    "HTTP/1.0": (
        says(b"HTTP/1.0 200 OK\r\n\r\n", b"until the end"), post().replace(b"1.1", b"1.0"), "done",
    ),
    "no HTTP": (says(b"\x00\x01 no HTTP\r\n\r\n"), post(), "upstream_reset"),
    "nothing": (says(b""), post(), "upstream_reset"),
    "headers without end": (never_ends_its_headers, post(), "upstream_reset"),
    "HEAD": (says(OK + b"Content-Length: 9\r\n\r\n"), b"HEAD /x HTTP/1.1\r\nHost: x\r\n\r\n", None),
    "OPTIONS": (
        says(b"HTTP/1.1 204 No Content\r\nAllow: GET\r\n\r\n"),
        b"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", None,
    ),
    "PUT": (continues, post(path=b"/files/1?a=b").replace(b"POST", b"PUT"), None),
    "100-continue": (continues, post(b"{}", b"/v1/messages", b"Expect: 100-continue"), "done"),
    "101": (
        switches, b"GET /ws HTTP/1.1\r\nHost: x\r\n" + UPGRADE + b"here",
        None,
    ),
    "trailers": (
        says(STREAM + b"Trailer: X-T\r\n\r\n", chunked(b"hello"), b"0\r\nX-T: 1\r\n\r\n"), post(),
        "done",
    ),
    "bytes one by one": (
        says(STREAM + b"\r\n", *(chunked(bytes([byte])) for byte in FRAME[40:]), b"0\r\n\r\n"),
        post(), "done",
    ),
    "a chunk without size": (says(STREAM + b"\r\n", b"zz\r\nhello\r\n"), post(), "upstream_reset"),
    "cut chunks": (says(STREAM + b"\r\n", b"ff\r\nhello"), post(), "upstream_reset"),
    "an error that says 200": (
        says(OK + b"Content-Length: 27\r\n\r\n" + b'{"error":{"message":"odd"}}'), post(), "done",
    ),
    "a body that is no JSON": (says(OK + b"Content-Length: 0\r\n\r\n"), post(b"\xff\x00"), "done"),
    "brotli": (
        says(OK + b"Content-Encoding: br\r\nContent-Length: 3\r\n\r\n\x8b\x00\x80"), post(), "done",
    ),
}  # fmt: skip


@contextlib.asynccontextmanager
async def upstream(answer: Answer) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            await answer(await reader.readuntil(b"\r\n\r\n"), reader, writer)
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


async def heard(url: str, request: bytes) -> tuple[bytes, str]:
    """All that comes back, and how the connection ended."""
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    writer.write(request)
    got = b""
    end = "closed"
    try:
        async with asyncio.timeout(20):
            while data := await reader.read(1 << 16):
                got += data
    except ConnectionResetError:
        end = "reset"
    writer.transport.abort()
    return got, end


def test_what_comes_through_is_what_comes_directly(tmp_path: Path) -> None:
    async def go() -> dict[str, tuple[object, object]]:
        found: dict[str, tuple[object, object]] = {}
        proxy = Proxy("", Scribe(tmp_path, "test"))
        async with recording_for(proxy) as url:
            for name, (answer, request, _) in CASES.items():
                async with upstream(answer) as direct:
                    proxy.upstream = direct
                    session = f"/s/{name.replace(' ', '-').replace('/', '-')}/v1/".encode()
                    there = request.replace(b"/v1/", session, 1)
                    found[name] = await heard(direct, request), await heard(url, there)
        return found

    for name, (direct, through) in asyncio.run(go()).items():
        assert direct == through, name
    recorded = {name: end for name, (_, _, end) in CASES.items() if end is not None}
    seen = {exchange.session: exchange for exchange in exchanges(tmp_path)}
    ends = {name: seen[name.replace(" ", "-").replace("/", "-")].end for name in recorded}
    assert ends == recorded
    text = "".join(text for _, text in seen["bytes-one-by-one"].chunks)
    assert text.encode() == FRAME[40:]
    assert "packed as br" in str(seen["brotli"].problem)
    assert seen["an-error-that-says-200"].assembled is None
    assert attempt_of(seen["an-error-that-says-200"]).findings


def test_what_is_no_request_is_refused_and_keeps_nobody_waiting(tmp_path: Path) -> None:
    async def go() -> list[tuple[bytes, str]]:
        async with (
            upstream(continues) as direct,
            recording_for(Proxy(direct, Scribe(tmp_path, "test"))) as url,
        ):
            chunked_head = post().partition(b"Content-Length")[0] + b"Transfer-Encoding: chunked"
            odd = (
                b"nonsense\r\n\r\n",
                chunked_head + b"\r\n\r\nzz\r\n{}\r\n",
                post(b"{}", b"/v1/chat/completions", b"Content-Length: 9"),
                post(b"{}", b"/v1/chat/completions", b"X-Odd: \x00"),
            )
            return [await heard(url, request) for request in odd]

    for got, _ in asyncio.run(go()):
        assert got.startswith(b"HTTP/1.1 400 ")
    assert [e.end for e in exchanges(tmp_path)] == ["client_closed"]


def test_a_reset_in_the_middle_is_a_reset(tmp_path: Path) -> None:
    async def go() -> tuple[bytes, str]:
        pieces = (STREAM + b"\r\n", chunked(FRAME))
        async with upstream(says(*pieces, abort=True)) as direct:
            proxy = Proxy(direct, Scribe(tmp_path, "test"))
            async with recording_for(proxy) as url:
                return await heard(url, post())

    got, end = asyncio.run(go())
    assert end == "reset"
    assert got == STREAM + b"\r\n" + chunked(FRAME)
    assert [e.end for e in exchanges(tmp_path)] == ["upstream_reset"]


def test_one_connection_serves_many_requests_also_sent_ahead(tmp_path: Path) -> None:
    async def answer(
        head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while True:
            body = await reader.readexactly(7)
            writer.write(OK + b"Content-Length: 7\r\n\r\n" + body)
            await writer.drain()
            await reader.readuntil(b"\r\n\r\n")

    async def go() -> bytes:
        async with (
            upstream(answer) as direct,
            recording_for(Proxy(direct, Scribe(tmp_path, "test"))) as url,
        ):
            parts = urlsplit(url)
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(b"".join(post(b'{"n":%d}' % n) for n in range(5)))
            got = await reader.readexactly(5 * (len(OK) + 28))
            writer.transport.abort()
            return got

    got = asyncio.run(go())
    assert [got.count(b'{"n":%d}' % n) for n in range(5)] == [1] * 5
    assert [e.req_body for e in exchanges(tmp_path)] == [{"n": n} for n in range(5)]
    assert {e.end for e in exchanges(tmp_path)} == {"done"}


def test_an_upstream_that_comes_up_later_is_reached(tmp_path: Path) -> None:
    told: list[str] = []

    async def go() -> list[str]:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        proxy = Proxy(f"http://127.0.0.1:{port}/prefix", Scribe(tmp_path, "test"), tell=told.append)
        ends = []
        async with recording_for(proxy) as url:
            ends.append((await heard(url, post()))[1])
            ends.append((await heard(url, post()))[1])
            async with upstream(says(OK + b"Content-Length: 0\r\n\r\n")) as direct:
                proxy.upstream = f"{direct}/prefix"
                ends.append((await heard(url, post()))[1])
        return ends

    assert asyncio.run(go()) == ["reset", "reset", "closed"]
    assert len(told) == 1
    assert "is the server up?" in told[0]
    assert [e.end for e in exchanges(tmp_path)] == ["upstream_refused", "upstream_refused", "done"]
    assert "nobody answers" in str(exchanges(tmp_path)[0].problem)


def test_a_client_that_leaves_at_once_leaves_a_record(tmp_path: Path) -> None:
    async def silent(_: bytes, reader: asyncio.StreamReader, __: asyncio.StreamWriter) -> None:
        await reader.read()

    async def go() -> None:
        async with (
            upstream(silent) as direct,
            recording_for(Proxy(direct, Scribe(tmp_path, "test"))) as url,
        ):
            parts = urlsplit(url)
            for request in (post(), post()[:-1]):
                _, writer = await asyncio.open_connection(parts.hostname, parts.port)
                writer.write(request)
                await writer.drain()
                await asyncio.sleep(0.05)
                writer.transport.abort()
            await asyncio.sleep(0.05)

    asyncio.run(go())
    assert [e.end for e in exchanges(tmp_path)] == ["client_closed"] * 2


def test_a_killed_proxy_leaves_what_it_had_passed_on(tmp_path: Path) -> None:
    async def go() -> None:
        async def hangs(_: bytes, reader: asyncio.StreamReader, w: asyncio.StreamWriter) -> None:
            w.write(STREAM + b"\r\n" + chunked(FRAME))
            await w.drain()
            await asyncio.sleep(0.3)
            w.write(chunked(FRAME))
            await w.drain()
            await reader.read()
            await reader.read()

        async with upstream(hangs) as direct:
            command = [sys.executable, "-m", "evalstab", "record", "--upstream", direct]
            process = subprocess.Popen(
                [*command, "--out", str(tmp_path / "out")],
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=environment(),
            )
            assert process.stdout is not None
            url = (await asyncio.to_thread(process.stdout.readline)).split()[1].decode()
            asking = asyncio.create_task(heard(url, post()))
            await asyncio.sleep(1.5)
            os.kill(process.pid, signal.SIGKILL)
            got, _ = await asking
            assert got.endswith(chunked(FRAME) * 2)
            process.wait()
            process.stdout.close()

    asyncio.run(go())
    for _ in range(200):
        if exchanges(tmp_path):
            break
        time.sleep(0.05)
    (exchange,) = exchanges(tmp_path)
    assert (exchange.end, exchange.status) == ("proxy_stopped", 200)
    assert "".join(text for _, text in exchange.chunks).encode() == FRAME * 2
    assert not attempt_of(exchange).findings


@pytest.mark.nightly
def test_a_huge_body_passes_and_the_memory_stays_small(tmp_path: Path) -> None:
    size = 5 << 30
    piece = b"a" * (1 << 20)

    async def pours(_: bytes, __: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(OK + b"Content-Length: %d\r\n\r\n" % size)
        for _number in range(size // len(piece)):
            writer.write(piece)
            await writer.drain()

    async def go() -> int:
        async with (
            upstream(pours) as direct,
            recording_for(Proxy(direct, Scribe(tmp_path, "test"))) as url,
        ):
            parts = urlsplit(url)
            reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
            writer.write(post())
            await reader.readuntil(b"\r\n\r\n")
            got = 0
            while got < size:
                got += len(await reader.read(1 << 20))
            writer.transport.abort()
            return got

    assert asyncio.run(go()) == size
    (exchange,) = exchanges(tmp_path)
    kept = sum(len(text) for _, text in exchange.chunks)
    assert 0 < kept < 1 << 27
    assert kept + exchange.omitted == size
    peak = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
    assert peak < 1 << 20, "KiB"
