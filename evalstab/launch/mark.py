"""Is it still the same process of the server? Container, unit, process and metrics are asked."""

from __future__ import annotations

import re

import msgspec

from evalstab.launch import container as containers
from evalstab.launch.model import Json, Mark
from evalstab.launch.process import PROC
from evalstab.launch.process import mark_of as process_mark
from evalstab.launch.unit import parse_show
from evalstab.reach import Reach

METRICS_LIMIT = 4 << 20
COUNTERS_KEPT = 400
_SAMPLE = re.compile(r"^([a-zA-Z_:][\w:]{0,200})(\{[^\n]{0,1000}?\})?\s+([0-9.eE+-]{1,40})\s*\d*$")
_STARTED = "process_start_time_seconds"
_GAUGE = re.compile(r"^# TYPE ([a-zA-Z_:][\w:]{0,200}) gauge$", re.M)
_GROWING = re.compile(r"(?:_total|_count|_sum)$")


def mark_now(placement: Json, host: str | None, metrics: str | None) -> Mark:
    """What tells the process that runs now from others; asks docker, systemd or /proc again."""
    reach = Reach(host)
    mark = Mark()
    if name := placement.get("container"):
        engine = str(placement.get("container_engine", "docker"))
        shown, _ = containers.inspect(engine, ("inspect", str(name)), reach)
        mark = containers.mark_of(shown) if shown else Mark()
    elif unit := placement.get("unit"):
        ran = reach.run(["systemctl", "show", str(unit), "-p", "NRestarts,MainPID"])
        told = parse_show(ran.out) if ran.well else {}
        mark = Mark(unit_restarts=_whole(told.get("NRestarts")), pid=_whole(told.get("MainPID")))
    elif (pid := placement.get("pid")) and host is None:
        mark = process_mark(int(pid), PROC)
    started, counters = read_metrics(metrics or "")
    return msgspec.structs.replace(mark, process_started=started, counters=counters)


def read_metrics(text: str) -> tuple[float | None, dict[str, float]]:
    """The server's start time and its counters, out of Prometheus text; bounded, never raises.

    Counters of one name and different labels are added up, so that a new label is no reset.
    """
    started: float | None = None
    counters: dict[str, float] = {}
    text = text[:METRICS_LIMIT]
    gauges = set(_GAUGE.findall(text))
    for line in text.splitlines():
        found = _SAMPLE.match(line[:1400])
        if found is None:
            continue
        try:
            value = float(found[3])
        except ValueError:
            continue
        if found[1] == _STARTED:
            started = value
        elif found[1] in gauges or not _GROWING.search(found[1]):
            continue
        elif found[1] in counters or len(counters) < COUNTERS_KEPT:
            counters[found[1]] = counters.get(found[1], 0.0) + value
    return started, counters


def restarted(before: Mark, after: Mark) -> str | None:
    """Why ``after`` is another process than ``before``, in words; None where nothing says so."""
    if after.running is False:
        return f"the server's container is not running ({after.ended or 'no reason stated'})"
    checks = (
        ("container", "the container is another one"),
        ("container_started", "the container was started again"),
        ("unit_restarts", "systemd has restarted the unit"),
        ("pid", "the server's pid is another one"),
        ("pid_started", "the server's process is another one"),
    )
    if _grew(before.restart_count, after.restart_count):
        return f"the container's restart count grew to {after.restart_count}"
    for field, told in checks:
        one, other = getattr(before, field), getattr(after, field)
        if one is not None and other is not None and one != other:
            return f"{told}: {one}, now {other}"
    if before.pid_started is not None and after.pid is not None and after.pid_started is None:
        return f"the server's process {before.pid} is gone"
    return _by_metrics(before, after)


def _by_metrics(before: Mark, after: Mark) -> str | None:
    one, other = before.process_started, after.process_started
    if one is not None and other is not None and abs(one - other) > 1.0:
        return f"the server says that its process started at {other:.0f}, before it was {one:.0f}"
    fallen = [n for n, v in before.counters.items() if after.counters.get(n, v) < v]
    if fallen:
        name = fallen[0]
        was, now = before.counters[name], after.counters[name]
        return f"the server's counter {name} fell from {was:g} to {now:g}"
    return None


def _grew(one: int | None, other: int | None) -> bool:
    return one is not None and other is not None and other > one


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() and text != "0" else None
