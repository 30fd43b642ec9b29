"""Where asyncio begins and ends: verbs are synchronous, what they wait for is not."""

from __future__ import annotations

import asyncio
import shlex
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from evalstab.errors import DiskError, Interrupted
from evalstab.series.files import disk_error, is_refusal
from evalstab.series.folder import SERIES_FILE
from evalstab.series.ladder import is_ladder

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

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        return asyncio.run(guarded())
    except (KeyboardInterrupt, asyncio.CancelledError):
        raise Interrupted("interrupted") from None
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


@contextmanager
def resumable(root: Path) -> Iterator[None]:
    """An interruption or a full disk within says how to go on with what stands in ``root``; the
    outermost one has the last word, so that a ladder is named and not its rung."""
    try:
        yield
    except (KeyboardInterrupt, Interrupted):
        raise Interrupted(_how_to_go_on(root)) from None
    except DiskError as error:
        raise _on_the_disk(error, root) from error
    except OSError as error:
        if not is_refusal(error):
            raise
        raise _on_the_disk(disk_error(Path(error.filename or root), error), root) from error


def _is_begun(root: Path) -> bool:
    return is_ladder(root) or (root / SERIES_FILE).is_file()


def _on_the_disk(error: DiskError, root: Path) -> DiskError:
    place = shlex.quote(str(root))
    if _is_begun(root):
        return error.begun(f"evalstab resume {place}")
    if root.is_dir():
        return DiskError(error.where, error.mend, f"give the same command with `--out {place}`")
    return error


def _how_to_go_on(root: Path) -> str:
    place = shlex.quote(str(root))
    if _is_begun(root):
        return f"interrupted: all finished steps are kept; go on with `evalstab resume {place}`"
    if root.is_dir():
        return f"interrupted before the series began: give the same command with `--out {place}`"
    return "interrupted before anything was written: give the same command again"
