"""The recording proxy as a verb: it serves until it is told to stop."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import urlsplit

from evalstab.errors import EndpointUnusable, FolderError, UsageError
from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import NotWritten, Scribe
from evalstab.series.files import make_folder


@dataclass(frozen=True, slots=True)
class Recorded:
    """Exchanges by session, as far as this start of the proxy saw them."""

    folder: Path
    sessions: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordRequest:
    """What is to be recorded: ``upstream`` answers, ``ca_file`` says whom to trust that it does."""

    upstream: str
    out: Path
    port: int = 0
    ca_file: Path | None = None


def record(
    request: RecordRequest, ready: Callable[[str], None], tell: Callable[[str], None]
) -> Recorded:
    """Pass requests on to the upstream and write them below ``out`` until SIGINT or SIGTERM.

    ``ready`` is told the address, ``tell`` why the upstream cannot be
    reached, or exchanges not be written. UsageError for an
    address or a certificate that is none; EndpointUnusable where the port is taken; FolderError
    where exchanges cannot be written.
    """
    upstream = request.upstream
    try:
        parts = urlsplit(upstream)
        good = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(f"--upstream {upstream!r}: write an address such as http://localhost:8000")
    tls = _trusting(request.ca_file)
    make_folder(request.out)
    scribe = Scribe(request.out, datetime.now().strftime("%Y%m%d-%H%M%S"), tell)
    asyncio.run(_serve(Proxy(upstream, scribe, tls=tls, tell=tell), request.port, ready))
    return Recorded(request.out, dict(scribe.sessions))


def _trusting(ca_file: Path | None) -> ssl.SSLContext | None:
    if ca_file is None:
        return None
    try:
        return ssl.create_default_context(cafile=str(ca_file))
    except OSError as error:
        raise UsageError(f"--ca-file {ca_file}: {error}. Name a file of certificates") from error


async def _serve(proxy: Proxy, port: int, ready: Callable[[str], None]) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    try:
        async with proxying(proxy, port) as url:
            ready(url)
            with contextlib.suppress(asyncio.CancelledError):
                await stopped.wait()
    except NotWritten as error:
        raise FolderError(f"{error}. Mend that, and let the agent ask again") from error
    except OSError as error:
        raise EndpointUnusable(
            f"cannot listen on port {port}: {error.strerror or error}. Choose another with --port"
        ) from error
