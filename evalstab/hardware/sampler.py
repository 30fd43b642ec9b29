"""Reads cards again and again in a process of its own: ``python -m evalstab.hardware.sampler``.

A driver call may never return when a card dies. This process says before each call what it is
about to do and may be killed at any time; whoever started it (``readings.py``) keeps the clock.
One JSON object a line: ``{"doing": …}``, ``{"reading": …}``, ``{"kernel": …}``.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from evalstab.hardware.kernel_log import read_log
from evalstab.hardware.model import Reading
from evalstab.hardware.nvml import read_nvml
from evalstab.hardware.smi import read_smi
from evalstab.hardware.sysfs import paths_for, read_sysfs
from evalstab.reach import Reach


class Orders(msgspec.Struct, frozen=True, kw_only=True):
    """What to read: ``count`` readings (0: for ever), ``interval`` seconds apart.

    ``kernel_every`` readings the kernel log is read too (0: never), from ``since`` on.
    """

    interval: float = 1.0
    count: int = 1
    host: str | None = None
    sysfs: str = "/sys"
    kernel_every: int = 0
    since: float | None = None


def take_reading(orders: Orders, doing: Callable[[str], None]) -> Reading:
    """All cards, by the best source that there is: NVML, nvidia-smi, the kernel's own files."""
    root = Path(orders.sysfs)
    reach = Reach(orders.host)
    reading = read_nvml(doing) if orders.host is None else None
    reading = reading or read_smi(reach, doing)
    if orders.host is not None:
        return reading or Reading(at=time.time())
    doing("sysfs")
    if reading is None:
        return read_sysfs(root) or Reading(at=time.time())
    reading.paths = paths_for(reading, root)
    return reading


def main() -> None:
    """Carry out the orders given as JSON in the first argument, until nobody listens any more."""
    orders = msgspec.json.decode(sys.argv[1], type=Orders)
    parent = os.getppid()
    encoder = msgspec.json.Encoder()

    def write(kind: str, value: Any) -> None:
        sys.stdout.buffer.write(encoder.encode({kind: value}) + b"\n")
        sys.stdout.buffer.flush()

    number, since = 0, orders.since or time.time()
    while True:
        if orders.kernel_every and number % orders.kernel_every == 0:
            write("doing", "kernel log")
            asked = time.time()
            lines, problem = read_log(since, Reach(orders.host))
            write("kernel", {"lines": lines, "problem": problem})
            since = asked
        write("reading", take_reading(orders, lambda what: write("doing", what)))
        number += 1
        if number == orders.count:
            return
        write("doing", "waiting")
        time.sleep(orders.interval)
        if os.getppid() != parent:
            return


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, KeyboardInterrupt):
        sys.stderr.close()
