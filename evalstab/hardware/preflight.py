"""Before a series: is the rig fit to judge a model on."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from evalstab.hardware import rig
from evalstab.hardware.judge import checks, overall, presence, under_load
from evalstab.hardware.kernel_log import events, parse
from evalstab.hardware.model import Check, Health, Reading, worst
from evalstab.hardware.processes import foreign_check
from evalstab.hardware.readings import DEADLINE, Ended, Heard, Kernel, few_readings
from evalstab.hardware.sampler import Orders
from evalstab.settings import Hardware

LOOK_BACK = 3600.0
NO_CARDS = "no graphics card on this machine: nothing to watch"


@dataclass(frozen=True, slots=True)
class Fitness:
    """What the preflight found. ``present`` is False where there is no card to be watched."""

    status: Health
    checks: tuple[Check, ...]
    reading: Reading | None = None
    present: bool = False
    notes: tuple[str, ...] = field(default=())


def preflight(
    wanted: Hardware,
    *,
    host: str | None = None,
    server_pid: int | None = None,
    sysfs: str = "/sys",
    deadline: float = DEADLINE,
    interval: float = 1.0,
) -> Fitness:
    """Look at the rig once, under load three times; never raises for what the rig does.

    Takes a moment where the cards are idle and two intervals where they are busy. ``failed`` means
    that no trial should be run; ``unknown`` blocks nothing and is never ``ok``. ``server_pid``
    tells the server's processes on the cards from others.
    """
    orders = Orders(count=1, host=host, sysfs=sysfs, kernel_every=1, since=time.time() - LOOK_BACK)
    heard, hang = few_readings(orders, deadline)
    if hang is not None:
        told = f"no answer within {hang.seconds:g} s from: {hang.doing}"
        advice = "a card that died hangs its driver: look at the kernel log, reboot"
        check = Check(name="monitor", status="failed", detail=told, advice=advice)
        return Fitness("failed", (check,), present=True)
    readings = _readings(heard)
    if not readings:
        ended = next((one.problem for one in heard if isinstance(one, Ended)), None)
        check = Check(name="monitor", status="unknown", detail=ended or "nothing was read")
        return Fitness("unknown", (check,))
    place = rig.rig_file(host)
    known = rig.read_rig(place)
    expected = rig.expected(known, wanted.expect_gpus)
    if not readings[-1].cards and not readings[-1].problem:
        return _without_cards(readings[-1], wanted, host)
    if any(under_load(card) for card in readings[-1].cards):
        more = Orders(count=2, interval=interval, host=host, sysfs=sysfs)
        readings += _readings(few_readings(more, deadline)[0])
    made = [*checks(readings, expected), *kernel_checks(heard)]
    if host is None and (others := foreign_check(readings[-1], server_pid)):
        made.append(others)
    rig.remember(place, known, readings)
    return Fitness(overall(made), tuple(made), readings[-1], present=True)


def _without_cards(reading: Reading, wanted: Hardware, host: str | None) -> Fitness:
    if wanted.expect_gpus:
        check = presence(reading, rig.expected(rig.Rig(), wanted.expect_gpus))
        return Fitness("failed", (check,), reading)
    told = NO_CARDS if host is None else f"nvidia-smi shows no graphics card on {host}"
    check = Check(name="cards", status="unknown", detail=told)
    return Fitness("unknown", (check,), reading)


def kernel_checks(heard: Sequence[Heard]) -> list[Check]:
    """What the kernel said lately, one line for each card and kind; unreadable is unknown."""
    logs = [one for one in heard if isinstance(one, Kernel)]
    unreadable = [one for one in logs if one.lines is None]
    if not logs or unreadable:
        why = unreadable[0].problem if unreadable else "it was not read"
        return [Check(name="kernel log", status="unknown", detail=f"not readable: {why}")]
    found = events(parse(line for log in logs for line in log.lines or ()))
    if not found:
        return [Check(name="kernel log", status="ok", detail="quiet for the last hour")]
    by: dict[str, list[Health]] = {}
    for event in found:
        by.setdefault(event.detail, []).append(event.status)
    return [
        Check(
            name="kernel log", status=_lately(worst(kinds)), detail=f"{detail} ({len(kinds)} times)"
        )
        for detail, kinds in by.items()
    ]


def _lately(status: Health) -> Health:
    """What lies behind and left all cards answering is a warning, not a failure of this moment."""
    return "degraded" if status == "failed" else status


def _readings(heard: Sequence[Heard]) -> list[Reading]:
    return [one for one in heard if isinstance(one, Reading)]


def summary(reading: Reading | None) -> str:
    """The rig in a line, as a condition of a series: cards, driver, power limit; or "unknown"."""
    cards = [card for card in (reading.cards if reading else []) if card.lost is None]
    if reading is None or not cards:
        return "unknown"
    names: dict[str, int] = {}
    for card in cards:
        limit = f" at {card.power_limit:.0f} W" if card.power_limit else ""
        names[f"{card.name or 'unnamed card'}{limit}"] = (
            names.get(f"{card.name or 'unnamed card'}{limit}", 0) + 1
        )
    told = ", ".join(f"{number}x {name}" for name, number in sorted(names.items()))
    return f"{told}, driver {reading.driver}" if reading.driver else told
