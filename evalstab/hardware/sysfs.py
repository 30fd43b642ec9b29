"""Cards of every vendor by the kernel's own files: links, error counters, the way to the root."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

from evalstab.hardware.model import Card, Link, Port, Reading, bus_id

SYS = Path("/sys")
VENDORS = {"0x10de": "NVIDIA", "0x1002": "AMD", "0x8086": "Intel"}
GHOST_WIDTH = 63
_ADDRESS = re.compile(r"^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$")
_GENERATIONS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_AER = ("correctable", "nonfatal", "fatal")
_ROOT_TOTALS = ("cor", "nonfatal", "fatal")


def read_sysfs(root: Path = SYS) -> Reading | None:
    """All cards that the PCI tree shows; None without a tree."""
    devices = root / "bus/pci/devices"
    if not devices.is_dir():
        return None
    reading = Reading(at=time.time(), source="sysfs")
    for place in sorted(devices.iterdir()):
        if _is_card(place) and (bus := bus_id(place.name)):
            path = path_to_root(place)
            reading.paths[bus] = path
            reading.cards.append(_card(place, bus, path[place.name]))
    return reading


def paths_for(reading: Reading, root: Path = SYS) -> dict[str, dict[str, Port]]:
    """For cards that another source found: their way to the root port, where sysfs shows it."""
    shown = read_sysfs(root)
    known = {card.bus for card in reading.cards}
    return {bus: path for bus, path in shown.paths.items() if bus in known} if shown else {}


def path_to_root(place: Path) -> dict[str, Port]:
    """The PCI devices from a card upwards, the card first."""
    real = Path(os.path.realpath(place))
    path = {}
    for folder in (real, *real.parents):
        if not _ADDRESS.match(folder.name):
            break
        path[folder.name] = _port(folder)
    return path


def _is_card(place: Path) -> bool:
    kind, vendor = _read(place / "class"), _read(place / "vendor")
    if vendor not in VENDORS or kind is None:
        return False
    integrated = vendor == "0x8086" and place.name.startswith("0000:00:")
    return kind.startswith(("0x03", "0x12")) and not integrated


def _card(place: Path, bus: str, port: Port) -> Card:
    vendor = VENDORS[_read(place / "vendor") or ""]
    card = Card(bus=bus, name=f"{vendor} {_read(place / 'device')}", link=port.link)
    if port.ghost:
        card.lost = "lost"
    busy = _number(_read(place / "gpu_busy_percent"))
    card.busy = busy
    for monitor in sorted((place / "hwmon").glob("hwmon*")):
        for label, field in (("edge", "temperature"), ("mem", "memory_temperature")):
            setattr(card, field, _temperature(monitor, label) or getattr(card, field))
        if (power := _number(_read(monitor / "power1_average"))) is not None:
            card.power = power / 1e6
    return card


def _temperature(monitor: Path, label: str) -> float | None:
    for place in sorted(monitor.glob("temp*_label")):
        if _read(place) == label:
            value = _number(_read(place.with_name(place.name.replace("_label", "_input"))))
            return None if value is None else value / 1000
    return None


def _port(folder: Path) -> Port:
    width = _number(_read(folder / "current_link_width"))
    speed = _read(folder / "current_link_speed")
    ghost = width == GHOST_WIDTH
    return Port(
        link=Link(
            gen=_generation(speed),
            gen_max=_generation(_read(folder / "max_link_speed")),
            width=None if width is None or ghost else int(width),
            width_max=_whole(_read(folder / "max_link_width")),
        ),
        errors=_errors(folder),
        ghost=ghost,
    )


def _errors(folder: Path) -> dict[str, int] | None:
    counts: dict[str, int] = {}
    for kind in _AER:
        text = _read(folder / f"aer_dev_{kind}")
        if text is not None:
            counts[kind] = counted(text)
    for kind in _ROOT_TOTALS:
        total = _whole(_read(folder / f"aer_rootport_total_err_{kind}"))
        if total is not None:
            counts[f"root_{kind}"] = total
    return counts or None


def counted(text: str) -> int:
    """The errors of one AER file: lines ``NAME COUNT``, names may hold blanks; totals left out."""
    total = 0
    for line in text.splitlines():
        parts = line.rsplit(None, 1)
        if len(parts) == 2 and parts[1].isdecimal() and not parts[0].startswith("TOTAL"):
            total += int(parts[1])
    return total


def _generation(speed: str | None) -> int | None:
    if speed is None:
        return None
    number = _number(speed.split(" ")[0])
    return None if number is None else _GENERATIONS.get(number)


def _whole(text: str | None) -> int | None:
    value = _number(text)
    return None if value is None or value == GHOST_WIDTH else int(value)


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()[:20_000]
    except OSError:
        return None
