"""How late the event loop wakes: whoever reads late stamps late.

A timer asks to be woken every 10 ms while an answer is read. What it is late beyond 5 ms is time in
which nothing was read: the loop was saturated, something blocked it, or other processes held the
cores. Chunks that the kernel kept meanwhile get the time of reading, and nothing can repair that.
"""

from __future__ import annotations

import asyncio

EVERY_SECONDS = 0.01
FREE_SECONDS = 0.005


class Heartbeat:
    """One for all answers that a loop reads; beats only while there are any."""

    def __init__(self) -> None:
        self._late = 0.0
        self._readers = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def begin(self) -> None:
        """An answer is waited for from now on."""
        self._readers += 1
        if self._readers == 1:
            self._wait()

    def end(self) -> None:
        """It has ended."""
        self._readers -= 1
        if self._readers == 0 and self._timer is not None:
            self._timer.cancel()
            self._timer = None

    @property
    def late(self) -> float:
        """Seconds in which the loop stood still so far; the beat that is due included."""
        if self._timer is None:
            return self._late
        return self._late + _beyond(asyncio.get_running_loop().time() - self._due)

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + EVERY_SECONDS
        self._timer = loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._late = self.late
        self._wait()


def _beyond(late: float) -> float:
    return late if late > FREE_SECONDS else 0.0
