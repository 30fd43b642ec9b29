"""Starts a simulated server and keeps it until it is told to stop or its parent is gone."""

from __future__ import annotations

import asyncio
import logging
import os
import selectors
import socket
import sys
import threading

import uvicorn

from evalstab.sim.server import application
from evalstab.sim.world import Settings


class _Server(uvicorn.Server):
    """Says when it really listens."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, then print the one line that whoever started us waits for."""
        await super().startup(sockets)
        port = self.servers[0].sockets[0].getsockname()[1]
        sys.stdout.write(f"ready http://127.0.0.1:{port}\n")
        sys.stdout.flush()


def serve(settings: Settings, port: int, *, with_parent: bool = False) -> None:
    """Serve until SIGTERM or SIGINT; ``with_parent``: also until standard input closes.

    Raises OSError where the port is taken.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    config = uvicorn.Config(
        application(settings),
        log_level="error",
        access_log=False,
        lifespan="off",
        timeout_keep_alive=60,
        timeout_graceful_shutdown=1,
    )
    logging.getLogger("uvicorn.error").addFilter(_unintended)
    server = _Server(config)
    if with_parent:
        threading.Thread(target=_stop_with_parent, args=(server,), daemon=True).start()
    # An answer is decided in a thread while others are being sent: it must give way quickly.
    sys.setswitchinterval(2e-4)
    # select() waits with microseconds where epoll rounds up to milliseconds.
    with asyncio.Runner(
        loop_factory=lambda: asyncio.SelectorEventLoop(selectors.SelectSelector())
    ) as runner:
        runner.run(server.serve(sockets=[listener]))


def _unintended(record: logging.LogRecord) -> bool:
    """Leaves out what is said of answers that are broken off on purpose."""
    return "without completing response" not in record.getMessage()


def _stop_with_parent(server: uvicorn.Server) -> None:
    while os.read(0, 4096):
        pass
    server.should_exit = True
