"""Where asyncio begins and ends: verbs are synchronous, what they wait for is not."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any, TypeVar

from evalstab.errors import Interrupted

_T = TypeVar("_T")


def on_a_loop(work: Coroutine[Any, Any, _T]) -> _T:
    """Run on a fresh event loop; SIGINT, SIGTERM and a lost terminal end it with Interrupted."""

    async def guarded() -> _T:
        task = asyncio.current_task()
        if task is not None:
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGTERM, task.cancel)
            if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
                loop.add_signal_handler(signal.SIGHUP, task.cancel)
        return await work

    try:
        return asyncio.run(guarded())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Interrupted(
            "interrupted: all finished steps are kept; go on with `evalstab resume`"
        ) from None
