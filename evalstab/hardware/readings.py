"""Readings from another process, with a deadline on every call that it makes."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import msgspec

from evalstab.hardware.model import Reading
from evalstab.hardware.sampler import Orders

_PACKAGE = Path(__file__).resolve().parent.parent
DEADLINE = 10.0
START = 60.0
"""Longest wait for the other process to come up, in seconds: a busy machine is no dead card."""


class Kernel(msgspec.Struct, frozen=True):
    """New lines of the kernel log, None with the reason where it cannot be read."""

    lines: list[str] | None = None
    problem: str | None = None


class Hang(msgspec.Struct, frozen=True):
    """The sampler did not answer in time; ``doing`` is the call that it was in."""

    doing: str
    seconds: float


class Ended(msgspec.Struct, frozen=True):
    """The sampler ended by itself, well (``problem`` None) or not."""

    problem: str | None = None


Heard = Reading | Kernel | Hang | Ended


class Sampler:
    """The other process; end it with ``close``. ``hear`` is for one thread at a time."""

    def __init__(self, orders: Orders, deadline: float = DEADLINE) -> None:
        self._deadline = deadline
        self._wait = orders.interval
        self._doing = "start"
        words = [sys.executable, "-m", "evalstab.hardware.sampler"]
        places = [str(_PACKAGE.parent), *filter(None, [os.environ.get("PYTHONPATH")])]
        self._process = subprocess.Popen(
            [*words, msgspec.json.encode(orders).decode()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            # The child must find this very package, wherever we were imported from.
            env=os.environ | {"PYTHONPATH": os.pathsep.join(places)},
        )
        assert self._process.stdout is not None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(target=_pump, args=(self._process.stdout, self._lines))
        reader.daemon = True
        reader.start()
        self._reader = reader

    def hear(self) -> Iterator[Heard]:
        """What the sampler says, as it says it; the last is a ``Hang`` or ``Ended``."""
        while True:
            patience = self._deadline + (self._wait if self._doing == "waiting" else 0.0)
            if self._doing == "start":
                patience = max(patience, START)
            try:
                line = self._lines.get(timeout=patience)
            except queue.Empty:
                yield Hang(self._doing, patience)
                return
            if line is None:
                yield Ended(self._last_words())
                return
            said = _read(line)
            if isinstance(said, str):
                self._doing = said
            elif said is not None:
                yield said

    def close(self) -> None:
        """Kill the process and wait for it."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2)
        self._reader.join(timeout=2)
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()

    def _last_words(self) -> str | None:
        try:
            code = self._process.wait(timeout=2)
        except subprocess.TimeoutExpired:
            return "the sampler closed its output"
        if code == 0 or self._process.stderr is None:
            return None
        try:
            said = self._process.stderr.read(4000).decode("utf-8", "replace").strip().splitlines()
        except (ValueError, OSError):
            return None
        return f"the sampler ended with code {code}: {said[-1] if said else 'no word'}"


def _pump(stream: IO[bytes], lines: queue.SimpleQueue[bytes | None]) -> None:
    with contextlib.suppress(ValueError, OSError):
        for line in stream:
            lines.put(line)
    lines.put(None)


def _read(line: bytes) -> Reading | Kernel | str | None:
    try:
        said: dict[str, Any] = msgspec.json.decode(line, type=dict)
    except msgspec.MsgspecError:
        return None
    if "reading" in said:
        return msgspec.convert(said["reading"], Reading)
    if "kernel" in said:
        return msgspec.convert(said["kernel"], Kernel)
    return str(said.get("doing"))


def few_readings(orders: Orders, deadline: float = DEADLINE) -> tuple[list[Heard], Hang | None]:
    """All that a sampler of a few readings says, and whether it had to be killed."""
    sampler = Sampler(orders, deadline)
    heard: list[Heard] = []
    try:
        for said in sampler.hear():
            if isinstance(said, Hang):
                return heard, said
            heard.append(said)
    finally:
        sampler.close()
    return heard, None
