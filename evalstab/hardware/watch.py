"""The rig while a series runs: read again and again by another process, written down, judged.

A thread listens to the sampler, so that nothing here ever blocks a trial. What it sees is kept as
events; who wants to know whether a span of time was spoilt asks ``fault``.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evalstab.hardware import rig
from evalstab.hardware.changes import changes, slow_links
from evalstab.hardware.judge import SAMPLES
from evalstab.hardware.kernel_log import around, events, parse
from evalstab.hardware.model import Event, Reading
from evalstab.hardware.readings import DEADLINE, Hang, Heard, Kernel, Sampler
from evalstab.hardware.sampler import Orders
from evalstab.redact import scrub

HARDWARE_FILE = "hardware.jsonl"
SCHEMA_VERSION = 1
INTERVAL = 2.0
REMOTE_INTERVAL = 10.0
KERNEL_EVERY = 10
AGAIN_AFTER = 30.0
WRITTEN_EVERY = 5
EVENTS_KEPT = 1000

Evidence = Callable[[], dict[str, Any]]
"""Slices of other logs, taken at the event; called on the watch's own thread, bounded in time."""


class Watch:
    """Watches from ``start`` to ``close``; ``first`` is the reading that all is held against."""

    def __init__(
        self,
        file: Path,
        first: Reading,
        *,
        host: str | None = None,
        evidence: Evidence | None = None,
        orders: Orders | None = None,
        deadline: float = DEADLINE,
    ) -> None:
        self._file, self._first, self._before = file, first, first
        self._evidence = evidence
        self._rig_file = rig.rig_file(host)
        self._rig = rig.read_rig(self._rig_file)
        self._recent: list[Reading] = []
        self._told: list[Event] = []
        self._number = 0
        self._orders = orders or Orders(
            interval=INTERVAL if host is None else REMOTE_INTERVAL,
            count=0,
            host=host,
            kernel_every=KERNEL_EVERY,
        )
        self._deadline = deadline
        self._lock = threading.Lock()
        self._open: dict[str, Event] = {}
        self._failed: list[Event] = []
        self._latest = first.at
        self._kernel: list[str] = []
        self._kernel_told = False
        self._stop = threading.Event()
        self._sampler: Sampler | None = None
        self._thread = threading.Thread(target=self._run, name="hardware-watch", daemon=True)

    def start(self) -> None:
        """Begin; the first reading is written as the one that all is held against."""
        self._write("sample", self._first)
        self._thread.start()

    def close(self) -> None:
        """End the sampler and the thread."""
        self._stop.set()
        with self._lock:
            sampler = self._sampler
        if sampler is not None:
            sampler.close()
        if self._thread.is_alive():
            self._thread.join(timeout=10)

    def fault(self, since: float) -> Event | None:
        """What spoilt the time from ``since`` (seconds since 1970) until now, None where nothing.

        A fault that began earlier counts as of now once a reading after ``since`` shows it again.
        """
        with self._lock:
            found = next((event for event in self._failed if event.at >= since), None)
            if found is not None:
                return found
            lasting = None
            if self._latest >= since:
                lasting = next((e for e in self._open.values() if e.status == "failed"), None)
        return msgspec.structs.replace(lasting, at=time.time()) if lasting else None

    def latest(self) -> float:
        """When the last reading came in, seconds since 1970."""
        with self._lock:
            return self._latest

    @property
    def patience(self) -> float:
        """Within how many seconds a new reading, or the news that there is none, must come."""
        return self._orders.interval + self._deadline + 1.0

    def note(self, event: Event) -> None:
        """Write down an event that somebody else saw."""
        with self._lock:
            self._told = [*self._told, event][-EVENTS_KEPT:]
        self._write("event", event)

    def note_window(self, begin: float, end: float) -> None:
        """Write down a span of time, with the events in it."""
        with self._lock:
            inside = [event for event in self._told if begin <= event.at <= end]
        told = [{"kind": e.kind, "status": e.status, "detail": e.detail} for e in inside]
        self._write("window", {"from": begin, "to": end, "events": told})

    def _run(self) -> None:
        while not self._stop.is_set():
            sampler = Sampler(self._orders, self._deadline)
            with self._lock:
                self._sampler = sampler
            try:
                for said in sampler.hear():
                    if self._stop.is_set():
                        return
                    self._take(said)
            finally:
                sampler.close()
            self._stop.wait(AGAIN_AFTER)

    def _take(self, said: Heard) -> None:
        if isinstance(said, Reading):
            self._recent = [*self._recent, said][-SAMPLES:]
            found = changes(self._first, self._before, said)
            found += slow_links(self._recent, self._rig.links)
            if found or self._number % WRITTEN_EVERY == 0:
                self._write("sample", said)
            self._number += 1
            self._happened(found)
            self._before = said
            self._rig = rig.remember(self._rig_file, self._rig, [said])
            with self._lock:
                self._latest = said.at
        elif isinstance(said, Kernel):
            self._take_kernel(said)
        elif isinstance(said, Hang):
            told = f"no answer within {said.seconds:g} s from: {said.doing}"
            self._happened([])
            hang = Event(at=time.time(), kind="monitor_hang", status="failed", detail=told)
            self._happened([hang])
        elif said.problem is not None:
            told = f"the monitor ended: {said.problem}"
            self._happened([Event(at=time.time(), kind="monitor", status="unknown", detail=told)])

    def _take_kernel(self, said: Kernel) -> None:
        if said.lines is None:
            if not self._kernel_told:
                told = f"kernel log not readable: {said.problem}"
                self.note(Event(at=time.time(), kind="kernel_log", status="unknown", detail=told))
            self._kernel_told = True
            return
        self._kernel = [*self._kernel, *said.lines][-2000:]
        made = [
            msgspec.structs.replace(event, at=event.at or time.time())
            for event in events(parse(said.lines))
        ]
        for event in made:
            self._record(event)

    def _happened(self, found: list[Event]) -> None:
        """Keep what is new; what was seen in the reading before and still is goes on."""
        seen = {f"{event.kind} {event.detail}": event for event in found}
        with self._lock:
            fresh = [event for key, event in seen.items() if key not in self._open]
            self._open = {key: self._open.get(key, event) for key, event in seen.items()}
        for event in fresh:
            self._record(event)

    def _record(self, event: Event) -> None:
        event = msgspec.structs.replace(event, last_good=event.last_good or self._before.at)
        if event.status == "failed":
            with self._lock:
                self._failed.append(event)
            taken: dict[str, Any] = dict(event.evidence)
            taken["kernel_log"] = around(self._kernel, event.at)
            if self._evidence is not None:
                taken |= self._evidence()
            event = msgspec.structs.replace(event, evidence=taken)
        self.note(event)

    def _write(self, kind: str, value: Any) -> None:
        line = {"schema_version": SCHEMA_VERSION, "type": kind, **msgspec.to_builtins(value)}
        try:
            handle = os.open(self._file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.write(handle, scrub(msgspec.json.encode(line)) + b"\n")
            finally:
                os.close(handle)
        except OSError:
            return
