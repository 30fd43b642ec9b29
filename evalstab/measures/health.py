"""Whether the hardware was well while the trials ran, as far as a monitor watched it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import msgspec

from evalstab.findings import Finding, finding
from evalstab.measures.base import Measured, SeriesMeasure
from evalstab.measures.series_view import SeriesView

HARDWARE_FILE = "hardware.jsonl"
READ_LIMIT = 256 << 20
KINDS_TOLD = 20
_UNWELL = ("failed", "degraded")
_SERVER = "server.restarted"


def compute(series: SeriesView) -> Measured:
    """A finding for each kind of event that was not well; nothing where no monitor ran."""
    by: dict[str, list[dict[str, Any]]] = {}
    for event in _events(series):
        if event.get("status") in _UNWELL and event.get("kind") != _SERVER:
            by.setdefault(str(event.get("kind")), []).append(event)
    return Measured({}, [_found(kind, events) for kind, events in list(by.items())[:KINDS_TOLD]])


def _found(kind: str, events: list[dict[str, Any]]) -> Finding:
    first = events[0]
    failed = any(event.get("status") == "failed" for event in events)
    return finding(
        "series.hardware_unhealthy",
        channel="series",
        detail={
            "kind": kind,
            "status": "failed" if failed else "degraded",
            "times": len(events),
            "first": str(first.get("detail"))[:300],
            "first_bad": first.get("at"),
            "last_good": first.get("last_good"),
        },
    )


def _events(series: SeriesView) -> Iterator[dict[str, Any]]:
    path = series.root / HARDWARE_FILE
    try:
        with path.open("rb") as file:
            if os.fstat(file.fileno()).st_size > READ_LIMIT:
                file.seek(-READ_LIMIT, os.SEEK_END)
            for line in file:
                if b'"type":"event"' in line[:80]:
                    yield from _event(line)
    except OSError:
        return


def _event(line: bytes) -> Iterator[dict[str, Any]]:
    try:
        yield msgspec.json.decode(line, type=dict)
    except (msgspec.MsgspecError, RecursionError):
        return


MEASURE = SeriesMeasure(
    name="health",
    meaning="Whether cards, links and clocks stayed well while the trials ran.",
    facts=(),
    compute=compute,
    codes=("series.hardware_unhealthy",),
)
