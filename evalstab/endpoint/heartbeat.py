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
        self._last = (0.0, 0.0)
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

    @property
    def recent(self) -> float:
        """Seconds by which what is read just now may have been read too late."""
        now = asyncio.get_running_loop().time()
        at, late = self._last
        return max(_beyond(now - self._due), late if now - at < EVERY_SECONDS else 0.0)

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._due = loop.time() + EVERY_SECONDS
        self._timer = loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        now = asyncio.get_running_loop().time()
        late = _beyond(now - self._due)
        self._late += late
        self._last = (now, late)
        self._wait()


def _beyond(late: float) -> float:
    return late if late > FREE_SECONDS else 0.0
