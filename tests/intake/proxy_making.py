"""The recording proxy in front of something, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from evalstab.intake.exchange import LOG_NAME, Exchange, read_exchanges
from evalstab.intake.exchange_log import ExchangeLog
from evalstab.intake.proxy import Proxy, proxying


@asynccontextmanager
async def recording(upstream: str, folder: Path) -> AsyncIterator[str]:
    """The address of a proxy that writes below a folder."""
    async with proxying(Proxy(upstream, ExchangeLog(folder, "test"))) as url:
        yield url


def exchanges(folder: Path) -> list[Exchange]:
    """All exchanges below a folder, in the order of their beginning."""
    found = [e for log in sorted(folder.rglob(LOG_NAME)) for e in read_exchanges(log)]
    return sorted(found, key=lambda e: e.t_req)
