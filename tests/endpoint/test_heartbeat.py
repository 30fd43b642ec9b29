"""A reader that stands still says so, and its rates are no measurement."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer

from evalstab.endpoint.base import Asked, Attempt, ChatRequest, History
from evalstab.endpoint.heartbeat import Heartbeat
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.settings import EndpointSettings
from tests.endpoint.streams import DONE, delta, finish, usage

CHUNKS = 40
PAUSE = 0.01


def test_time_in_which_the_loop_is_blocked_is_late() -> None:
    async def blocked() -> float:
        heartbeat = Heartbeat()
        heartbeat.begin()
        await asyncio.sleep(0.03)
        time.sleep(0.3)
        await asyncio.sleep(0.03)
        heartbeat.end()
        return heartbeat.late

    assert asyncio.run(blocked()) > 0.25


def test_a_heart_beats_only_while_somebody_reads() -> None:
    async def idle() -> float:
        heartbeat = Heartbeat()
        heartbeat.begin()
        heartbeat.end()
        await asyncio.sleep(0.01)
        time.sleep(0.2)
        await asyncio.sleep(0.01)
        return heartbeat.late

    assert asyncio.run(idle()) < 0.2


class _Paced(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        for _ in range(CHUNKS):
            self.wfile.write(delta(content="word "))
            time.sleep(PAUSE)
        self.wfile.write(finish() + usage(10, CHUNKS) + DONE)

    def log_message(self, format: str, *args: object) -> None:
        """Stay silent."""


@contextmanager
def paced_server() -> Iterator[str]:
    """A server in a thread of its own that sends a chunk every 10 ms."""
    server = HTTPServer(("127.0.0.1", 0), _Paced)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def ask(url: str, blocked: float) -> Attempt:
    """One answer read while something else holds the loop for so long."""

    async def both() -> Attempt:
        client = OpenAIChat(EndpointSettings(base_url=url, model="demo"), None)
        fields = {"model": "demo", "stream": True}
        request = ChatRequest(history=History(), fields=fields, asked=Asked())
        asking = asyncio.create_task(client.attempt(request))
        await asyncio.sleep(10 * PAUSE)
        time.sleep(blocked)
        attempt = await asking
        await client.close()
        return attempt

    return asyncio.run(both())


def test_an_answer_read_by_a_loop_that_was_blocked_has_no_rates() -> None:
    with paced_server() as url:
        clock = ask(url, CHUNKS * PAUSE).clock
    assert clock is not None
    assert clock.unreliable is not None
    assert "stood still" in clock.unreliable
    assert clock.chunks == CHUNKS
    assert sum(clock.per_read) == CHUNKS, "chunks that were read together are marked"
    assert len(clock.gaps_us) == len(clock.per_read) - 1
