"""Ends a program with all that it started, also what has left its group and its session."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterable
from pathlib import Path

MARK = "EVALSTAB_ERRAND"
"""The variable by which what a program started is known again; it is handed on to all of them."""

PATIENCE = 5.0
"""Seconds between asking a program to end and ending it."""

_ROUNDS = 20
_PROC = Path("/proc")


async def end_all(process: asyncio.subprocess.Process, mark: str) -> None:
    """End the group of a program that was started in a session of its own with ``MARK=mark`` in its
    environment: first asked, then not; then whatever of its session or with its mark is left.

    Daemons that forked twice and began a session of their own carry the mark; one that also cleared
    its environment is not found.
    """
    if process.returncode is None:
        _signal_group(process.pid, signal.SIGTERM)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(process.wait(), PATIENCE)
    _signal_group(process.pid, signal.SIGKILL)
    await process.wait()
    for _ in range(_ROUNDS):
        left = list(_left(process.pid, mark))
        if not left:
            return
        for pid in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        await asyncio.sleep(0.02)


def _signal_group(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


def _left(session: int, mark: str) -> Iterable[int]:
    """Processes of a session, or that carry a mark; those that have ended already are none."""
    wanted = f"{MARK}={mark}".encode()
    for place in _PROC.glob("[0-9]*"):
        try:
            fields = (place / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] == b"Z" or int(place.name) == os.getpid():
                continue
            if int(fields[3]) == session or wanted in (place / "environ").read_bytes().split(b"\0"):
                yield int(place.name)
        except (OSError, ValueError, IndexError):
            continue
