"""Is the rig well while a trial runs: asked by functions, so that a trial knows no hardware."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, Protocol, TypeVar

from evalstab.findings import Finding

_T = TypeVar("_T")


class Rig(Protocol):
    """Watches hardware and server. ``since`` is seconds since 1970."""

    async def broken(self, since: float) -> Finding:
        """Return as soon as the time from ``since`` on is spoilt; never, where it is not."""
        ...

    async def spoilt(self, since: float) -> Finding | None:
        """Look once more, at the end of a trial: what spoilt the time from ``since`` until now."""
        ...


async def unless_broken(
    rig: Rig | None, since: float, work: Coroutine[Any, Any, _T]
) -> _T | Finding:
    """The result of the work, or what broke the rig before the work was done."""
    if rig is None:
        return await work
    guard = asyncio.create_task(rig.broken(since))
    task = asyncio.create_task(work)
    try:
        await asyncio.wait({task, guard}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        return guard.result()
    finally:
        for one in (task, guard):
            one.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await one
