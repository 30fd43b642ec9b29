"""The recording proxy as a verb: it serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from evalstab.errors import EndpointUnusable, UsageError
from evalstab.intake.exchange_log import ExchangeLog
from evalstab.intake.proxy import Proxy, proxying
from evalstab.series.files import make_folder


@dataclass(frozen=True, slots=True)
class Recorded:
    """Exchanges by session, as far as this start of the proxy saw them."""

    folder: Path
    sessions: dict[str, int]


def record(upstream: str, out: Path, port: int, ready: Callable[[str], None]) -> Recorded:
    """Pass requests on to ``upstream`` and write them below ``out`` until SIGINT or SIGTERM.

    ``ready`` is told the address. UsageError for an address that is none; EndpointUnusable where
    the port is taken.
    """
    parts = urlsplit(upstream)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise UsageError(f"--upstream {upstream!r}: write an address such as http://localhost:8000")
    make_folder(out)
    log = ExchangeLog(out, datetime.now().strftime("%Y%m%d-%H%M%S"))
    try:
        asyncio.run(_serve(Proxy(upstream, log), port, ready))
    except OSError as error:
        raise EndpointUnusable(
            f"cannot listen on port {port}: {error.strerror or error}. Choose another with --port"
        ) from error
    return Recorded(out, dict(log.sessions))


async def _serve(proxy: Proxy, port: int, ready: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    async with proxying(proxy, port) as url:
        ready(url)
        with contextlib.suppress(asyncio.CancelledError):
            await stopped.wait()
