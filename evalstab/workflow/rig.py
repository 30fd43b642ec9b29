"""The rig beside a running series: hardware and server process, as one watch for the trials."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from evalstab.endpoint.base import Refusal
from evalstab.endpoint.metrics import metrics_page
from evalstab.endpoint.openai_chat import OpenAIChat
from evalstab.errors import EndpointUnusable
from evalstab.findings import Finding, finding
from evalstab.hardware.model import Event
from evalstab.hardware.watch import HARDWARE_FILE, Watch
from evalstab.launch.capture import log_tail
from evalstab.launch.mark import mark_now, restarted
from evalstab.launch.model import Mark
from evalstab.launch.process import pid_listening
from evalstab.workflow.prepare import Prepared
from evalstab.workflow.provenance import Provenance, require_same_server

TICK = 0.5
LOOK_EVERY = 15.0
METRICS_READ = 3
BACK_WITHIN = 1200.0


class SeriesRig:
    """Hardware watch and server marks of one series; see ``evalstab.trial.rig.Rig``.

    ``same`` is awaited when a restarted server answers again; EndpointUnusable says that it is
    another one, and ends the series before the next request.
    """

    def __init__(
        self,
        client: OpenAIChat,
        known: Provenance,
        watch: Watch | None,
        host: str | None,
        same: Callable[[], Awaitable[None]],
    ) -> None:
        self._client, self._watch, self._host, self._same = client, watch, host, same
        self._another: EndpointUnusable | None = None
        self._placement: dict[str, Any] = dict(known.launch.placement)
        if not known.launch.captured:
            self._placement = {}
        self._port = self._placement.get("port")
        self._mark = Mark()
        self._metrics = False
        self._restarts: list[tuple[float, str]] = []
        self._looking = asyncio.Lock()
        self._looked = time.monotonic()

    async def begin(self) -> bool:
        """Take the first mark; whether there is anything to watch at all."""
        self._metrics = await self._one_process()
        page = await metrics_page(self._client) if self._metrics else None
        self._mark = await asyncio.to_thread(mark_now, self._placement, self._host, page)
        return self._watch is not None or self._mark != Mark()

    async def _one_process(self) -> bool:
        """Whether the metrics are there, and of one process: behind a balancer they jump about."""
        marks = []
        for _ in range(METRICS_READ):
            page = await metrics_page(self._client)
            if page is None:
                return False
            marks.append(mark_now({}, None, page))
        jumps = any(restarted(one, other) for one, other in pairwise(marks))
        return not jumps and bool(marks[0].counters or marks[0].process_started)

    async def broken(self, since: float) -> Finding:
        """Return as soon as the time from ``since`` on is spoilt."""
        if self._another is not None:
            raise self._another
        while True:
            if time.monotonic() - self._looked >= LOOK_EVERY:
                await self._look()
            if (found := await self._found(since)) is not None:
                return found
            await asyncio.sleep(TICK)

    async def spoilt(self, since: float) -> Finding | None:
        """What spoilt the time from ``since`` until now, after one more look at everything."""
        end = time.time()
        await self._look()
        watch = self._watch
        if watch is not None:
            patience = time.monotonic() + watch.patience
            while watch.latest() < end and time.monotonic() < patience:
                if watch.fault(since) is not None:
                    break
                await asyncio.sleep(TICK / 5)
            await asyncio.to_thread(watch.note_window, since, end)
        return await self._found(since)

    async def _found(self, since: float) -> Finding | None:
        fault = self._watch.fault(since) if self._watch else None
        if fault is not None:
            return _hardware(fault)
        for at, reason in self._restarts:
            if at >= since:
                await self._back()
                return finding("server.restarted", detail={"reason": reason, "at": at})
        return None

    async def _look(self) -> None:
        """Is it still the same process of the server."""
        async with self._looking:
            self._looked = time.monotonic()
            page = await metrics_page(self._client) if self._metrics else None
            mark = await asyncio.to_thread(mark_now, self._placement, self._host, page)
            reason = restarted(self._mark, mark)
            if reason is None:
                return
            at = time.time()
            self._restarts.append((at, reason))
            self._note(at, reason)
            await self._find_again()

    async def _find_again(self) -> None:
        """What runs now is what later trials are held against."""
        place = self._placement
        bare = place.get("pid") and not place.get("container") and not place.get("unit")
        if bare and isinstance(self._port, int) and self._host is None:
            place["pid"] = await asyncio.to_thread(pid_listening, self._port)
        page = await metrics_page(self._client) if self._metrics else None
        self._mark = await asyncio.to_thread(mark_now, place, self._host, page)

    async def _back(self) -> None:
        """Wait until the server answers again, so that the next attempt does not meet its start."""
        until = time.monotonic() + BACK_WITHIN
        while time.monotonic() < until:
            with contextlib.suppress(Refusal, OSError):
                await self._client.get("/models")
                break
            await asyncio.sleep(TICK * 4)
        await self._find_again()
        try:
            await self._same()
        except EndpointUnusable as error:
            self._another = error

    def _note(self, at: float, reason: str) -> None:
        if self._watch is not None:
            event = Event(at=at, kind="server.restarted", status="failed", detail=reason)
            taken = server_log(self._placement, self._host)
            self._watch.note(msgspec.structs.replace(event, evidence=taken))


@asynccontextmanager
async def rig_beside(
    client: OpenAIChat, prepared: Prepared, root: Path
) -> AsyncIterator[SeriesRig | None]:
    """The rig of a series while its trials run; None where there is nothing to watch."""
    known = prepared.provenance
    if known is None or prepared.simulated is not None:
        yield None
        return
    settings = prepared.settings
    host = settings.launch.ssh if settings.launch else None
    watch = _watch(known, root, host) if settings.hardware.watch else None
    rig = SeriesRig(client, known, watch, host, lambda: require_same_server(prepared, root))
    try:
        if watch is not None:
            watch.start()
        yield rig if await rig.begin() else None
    finally:
        if watch is not None:
            await asyncio.to_thread(watch.close)


def _watch(known: Provenance, root: Path, host: str | None) -> Watch | None:
    fitness = known.fitness
    if fitness is None or not fitness.present or fitness.reading is None:
        return None
    place = dict(known.launch.placement)
    return Watch(
        root / HARDWARE_FILE,
        fitness.reading,
        host=host,
        evidence=lambda: server_log(place, host),
    )


def server_log(placement: dict[str, Any], host: str | None) -> dict[str, Any]:
    """The last lines of the server's log as evidence; nothing where there is no log."""
    lines = log_tail(placement, host)
    return {"server_log": lines} if lines else {}


def _hardware(event: Event) -> Finding:
    detail = {
        "reason": event.detail,
        "kind": event.kind,
        "card": event.card,
        "at": event.at,
        "last_good": event.last_good,
    }
    return finding("series.hardware_unhealthy", channel="series", detail=detail)
