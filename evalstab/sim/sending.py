"""Sends an answer at its appointed times: an absolute schedule, so that nothing adds up."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from starlette.types import Receive, Send

from evalstab.sim.answering import Plan

_AT_ONCE = 128
_EARLY = 20e-6


@dataclass(slots=True)
class Clock:
    """When things really happened, in seconds on the monotonic clock of this machine.

    ``sends`` has one pair for each write: its time and how many tokens had then left in all.
    """

    received: float
    sends: list[tuple[float, int]] = field(default_factory=list)


@dataclass(slots=True)
class Wire:
    """One HTTP answer under way; ``gone`` is set when the client went away."""

    send: Send
    gone: asyncio.Event = field(default_factory=asyncio.Event)

    async def start(self, status: int, kind: str, extra: dict[str, str] | None = None) -> None:
        """Send status and headers."""
        headers = [(b"content-type", kind.encode())]
        headers += [(k.encode(), v.encode()) for k, v in (extra or {}).items()]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def write(self, data: bytes) -> None:
        """Send a part of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, data: bytes = b"") -> None:
        """Send the last part of the body."""
        await self.send({"type": "http.response.body", "body": data, "more_body": False})


async def watch(receive: Receive, wire: Wire) -> None:
    """Set ``gone`` when the client disconnects."""
    while (await receive())["type"] != "http.disconnect":
        pass
    wire.gone.set()


def due_times(plan: Plan) -> tuple[float, ...] | None:
    """Real seconds after arrival at which each token is due; ``None``: as fast as possible."""
    settings = plan.admitted.settings
    if settings.rate is not None:
        return plan.schedule.due
    if settings.persona.pace.instant:
        return None
    return tuple(due / settings.time_scale for due in plan.schedule.due)


async def send_frames(wire: Wire, frames: Iterator[bytes], plan: Plan, clock: Clock) -> None:
    """Send frames, one a token, at their times; returns early when the client is gone."""
    due = due_times(plan)
    if due is None:
        await _blast(wire, frames, clock)
        return
    sent = 0
    waiting: list[bytes] = []
    for frame in frames:
        waiting.append(frame)
        at = clock.received + due[min(sent + len(waiting), len(due)) - 1]
        if (delay := at - time.monotonic()) > _EARLY:
            if len(waiting) > 1:
                late, waiting = waiting[:-1], waiting[-1:]
                sent += len(late)
                await _write(wire, late, clock, sent)
                delay = at - time.monotonic()
            await asyncio.sleep(max(delay, 0))
            if wire.gone.is_set():
                return
            sent += 1
            await _write(wire, waiting, clock, sent)
            waiting = []
    if waiting:
        await _write(wire, waiting, clock, sent + len(waiting))


async def _blast(wire: Wire, frames: Iterator[bytes], clock: Clock) -> None:
    waiting: list[bytes] = []
    sent = 0
    for frame in frames:
        waiting.append(frame)
        if len(waiting) == _AT_ONCE:
            sent += len(waiting)
            await _write(wire, waiting, clock, sent)
            waiting = []
            await asyncio.sleep(0)
            if wire.gone.is_set():
                return
    if waiting:
        await _write(wire, waiting, clock, sent + len(waiting))


async def _write(wire: Wire, frames: list[bytes], clock: Clock, sent: int) -> None:
    clock.sends.append((time.monotonic(), sent))
    await wire.write(b"".join(frames))


async def wait_for_all(plan: Plan, clock: Clock) -> None:
    """Wait until the last token of an answer that is not streamed is due."""
    due = due_times(plan)
    if due:
        await asyncio.sleep(max(clock.received + due[-1] - time.monotonic(), 0))
