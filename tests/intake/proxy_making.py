"""The recording proxy in front of something, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from evalstab.intake.exchange import LOG_NAME, Exchange, read_exchanges
from evalstab.intake.proxy import Proxy, proxying
from evalstab.intake.scribe import Scribe


@asynccontextmanager
async def recording(upstream: str, folder: Path) -> AsyncIterator[str]:
    """The address of a proxy that writes below a folder."""
    async with recording_for(Proxy(upstream, Scribe(folder, "test"))) as url:
        yield url


@asynccontextmanager
async def recording_for(proxy: Proxy) -> AsyncIterator[str]:
    """The address of this proxy, whose upstream may become another one between connections."""
    async with proxying(proxy) as url:
        yield url


def exchanges(folder: Path) -> list[Exchange]:
    """All exchanges below a folder, in the order of their beginning."""
    found = [e for log in sorted(folder.rglob(LOG_NAME)) for e in read_exchanges(log)]
    return sorted(found, key=lambda e: e.t_req)
