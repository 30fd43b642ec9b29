"""One request and its answer in the making: stamps, limits, and how it ended."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

from evalstab.endpoint.base import Attempt, ChatRequest, Clock, Reply, encoded_gaps
from evalstab.endpoint.heartbeat import Heartbeat
from evalstab.endpoint.reply import EndKind, ReplyReader, StreamEnd
from evalstab.endpoint.retry import retry_after_seconds
from evalstab.endpoint.unpack import Unpacker
from evalstab.endpoint.wire import Bound, SseReader
from evalstab.findings import Finding
from evalstab.settings import Timeouts

GRACE_SECONDS = 5.0
"""How long usage may still follow once the answer has said that it is finished."""
TAIL_SECONDS = 0.2
"""How long the end of the body may still follow after [DONE], so that the connection is kept."""
SATURATED_SHARE = 0.85
"""Above this share of a core spent reading, the stamps are the reader's and not the server's."""
STOOD_STILL_SHARE = 0.05
"""The same, for the share of time in which the loop stood still: so far may a rate be wrong."""
LEAST_JUDGED = 0.05
"""Seconds below which neither share means anything."""


@dataclass(slots=True)
class Stamps:
    """Times of the reads that brought chunks, and what reading them cost."""

    began: float
    heartbeat: Heartbeat
    first: float | None = None
    last: float | None = None
    chunks: int = 0
    gaps_us: list[int] = field(default_factory=list)
    per_read: list[int] = field(default_factory=list)
    cpu_at_first: float = 0.0
    late_at_first: float = 0.0
    late_at_last: float = 0.0
    first_late: float = 0.0

    def note(self, at: float, chunks: int) -> None:
        """A read at monotonic time ``at`` brought this many chunks."""
        self.late_at_last = self.heartbeat.late
        if self.last is None:
            self.first = at
            self.cpu_at_first = time.thread_time()
            self.late_at_first = self.late_at_last
            self.first_late = self.heartbeat.recent
        else:
            self.gaps_us.append(round((at - self.last) * 1e6))
        self.last = at
        self.chunks += chunks
        self.per_read.append(chunks)

    def unreliable(self) -> str | None:
        """Why the times of this attempt are no measurement, or ``None``."""
        if self.first is None or self.last is None:
            return None
        spans = (
            (self.first_late, self.first - self.began),
            (self.late_at_last - self.late_at_first, self.last - self.first),
        )
        for still, seconds in spans:
            if seconds >= LEAST_JUDGED and still > STOOD_STILL_SHARE * seconds:
                return f"the client stood still for {min(1, still / seconds):.0%} of the time"
        seconds = self.last - self.first
        share = (time.thread_time() - self.cpu_at_first) / seconds if seconds else 0.0
        if seconds >= LEAST_JUDGED and share > SATURATED_SHARE:
            return f"the client was busy for {min(1, share):.0%} of the time it read"
        return None


class Exchange:
    """Reads one answer; every way in which it can end becomes an Attempt."""

    def __init__(self, request: ChatRequest, timeouts: Timeouts, heartbeat: Heartbeat) -> None:
        self.status: int | None = None
        self._request = request
        self._timeouts = timeouts
        self._reader = ReplyReader(request.asked)
        self._wire = SseReader()
        self._at = datetime.now(UTC).isoformat(timespec="milliseconds")
        self._t0 = time.monotonic()
        self._headers: float | None = None
        self._stamps = Stamps(self._t0, heartbeat)
        self._limit: asyncio.Timeout | None = None
        self._deadline = self._t0

    def begin(self, limit: asyncio.Timeout) -> None:
        """Start the clock; the body is already built."""
        self._limit = limit
        self._t0 = time.monotonic()
        self._stamps.began = self._t0
        self._expect(self._timeouts.first(self._request.asked.prompt_estimate))

    def answered(self, status: int) -> None:
        """The status line and headers have arrived."""
        self.status = status
        self._headers = time.monotonic()

    async def read(self, stream: AsyncIterator[bytes], encoding: str) -> Attempt:
        """Read the body to its end, its end mark, or a bound."""
        unpacker = Unpacker(encoding)
        over = False
        async for data in stream:
            at = time.monotonic()
            for piece in unpacker.feed(data):
                if self._take(piece, at):
                    return self.ended("bound")
            if self._reader.done and not over:
                over = True
                self._expect(TAIL_SECONDS)
        self._take_rest()
        return self.ended("closed")

    def _take(self, piece: bytes, at: float) -> bool:
        chunks = 0
        settled = self._reader.settled
        for event in self._wire.feed(piece):
            chunks += self._reader.feed(event)
            if isinstance(event, Bound) or self._reader.bound:
                return True
        if chunks:
            self._stamps.note(at, chunks)
            if self._request.watch:
                self._request.watch(chunks)
        if self._reader.settled and not settled:
            self._expect(min(GRACE_SECONDS, self._timeouts.idle))
        elif chunks and not settled and at + self._timeouts.idle > self._deadline + self._slack:
            self._expect(self._timeouts.idle)
        return False

    def _take_rest(self) -> None:
        chunks = sum(self._reader.feed(event) for event in self._wire.finish())
        if chunks:
            self._stamps.note(time.monotonic(), chunks)

    @property
    def _slack(self) -> float:
        """Deadlines are moved only when it matters, not once a chunk."""
        return min(1.0, self._timeouts.idle / 4)

    def _expect(self, seconds: float) -> None:
        self._deadline = time.monotonic() + seconds
        final = self._request.deadline
        at = self._deadline if final is None else min(self._deadline, final)
        if self._limit is not None:
            loop = asyncio.get_running_loop()
            self._limit.reschedule(loop.time() + at - time.monotonic())

    def timed_out(self) -> Attempt:
        """A limit of ours ended the wait; which one depends on what had come so far."""
        final = self._request.deadline
        if final is not None and time.monotonic() >= final:
            return self.ended("time_limit", "the trial's time limit")
        if self._reader.done:
            return self.ended("closed")
        if self._reader.settled:
            return self.ended("grace")
        return self.ended("stalled", f"nothing for {self._timeouts.idle:g} s")

    def ended(self, kind: EndKind, detail: str | None = None) -> Attempt:
        """The attempt, judged by how the transport ended."""
        if kind in ("reset", "stalled", "time_limit"):
            self._take_rest()
        reply, findings = self._reader.finish(StreamEnd(kind, detail))
        return self._attempt(reply, findings, detail)

    def refused(
        self,
        judged: tuple[Reply | None, str, tuple[Finding, ...]],
        headers: Mapping[str, str],
    ) -> Attempt:
        """The attempt for an answer with another status than 2xx."""
        reply, message, findings = judged
        return self._attempt(
            reply, findings, message, retry_after_seconds(headers.get("retry-after"))
        )

    def _attempt(
        self,
        reply: Reply | None,
        findings: tuple[Finding, ...],
        error: str | None,
        retry_after: float | None = None,
    ) -> Attempt:
        return Attempt(
            number=self._request.number,
            at=self._at,
            status=self.status,
            error=error,
            retry_after=retry_after,
            reply=reply,
            findings=findings,
            clock=self._clock(),
        )

    def _clock(self) -> Clock:
        stamps = self._stamps

        def since(at: float | None) -> float | None:
            return None if at is None else at - self._t0

        return Clock(
            sent=self._t0 - self._request.trial_clock,
            headers=since(self._headers),
            first=since(stamps.first),
            last=since(stamps.last),
            end=time.monotonic() - self._t0,
            chunks=stamps.chunks,
            gaps=encoded_gaps(stamps.gaps_us),
            per_read=tuple(stamps.per_read) if any(n != 1 for n in stamps.per_read) else (),
            unreliable=stamps.unreliable(),
        )
