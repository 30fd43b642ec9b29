"""NVIDIA cards by ``nvidia-smi``: where NVML cannot be loaded, and on other machines over ssh."""

from __future__ import annotations

import csv
import re
import time
from collections.abc import Callable

from evalstab.hardware.model import Card, Link, Loss, Reading, bus_id
from evalstab.reach import Ran, Reach

FIELDS = (
    "index",
    "name",
    "uuid",
    "pci.bus_id",
    "driver_version",
    "pstate",
    "pcie.link.gen.gpucurrent",
    "pcie.link.gen.max",
    "pcie.link.gen.gpumax",
    "pcie.link.width.current",
    "pcie.link.width.max",
    "clocks_event_reasons.active",
    "temperature.gpu",
    "temperature.memory",
    "power.draw",
    "enforced.power.limit",
    "utilization.gpu",
    "ecc.errors.uncorrected.volatile.total",
    "remapped_rows.failure",
    "reset_status.reset_required",
)
_OLDER = {
    "pcie.link.gen.gpucurrent": "pcie.link.gen.current",
    "clocks_event_reasons.active": "clocks_throttle_reasons.active",
}
_BAD_FIELD = re.compile(r'Field "([^"]{1,80})" is not a valid field')
_HANDLE = re.compile(r"device handle for (?:GPU ?\d*:? ?)([0-9A-Fa-f:.]{7,20})")
_NOT_HERE = ("couldn't communicate with the NVIDIA driver",)
_LOSS: dict[str, Loss] = {
    "gpu is lost": "lost",
    "gpu requires reset": "reset required",
    "unknown error": "unknown error",
}
_UNKNOWN = ("n/a", "not supported", "insufficient permissions", "requested functionality")
NOT_FOUND = 127


def read_smi(reach: Reach, doing: Callable[[str], None], seconds: float = 10.0) -> Reading | None:
    """All NVIDIA cards, None where there is no nvidia-smi or no driver."""
    fields = list(FIELDS)
    doing("nvidia-smi")
    for _ in range(len(FIELDS)):
        ran = reach.run(
            ["nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"],
            seconds=seconds,
        )
        bad = _BAD_FIELD.search(ran.out + ran.err)
        if bad is None or bad[1] not in fields:
            return _reading(ran, fields)
        place = fields.index(bad[1])
        fields[place : place + 1] = [_OLDER[bad[1]]] if bad[1] in _OLDER else []
    return None


def _reading(ran: Ran, fields: list[str]) -> Reading | None:
    reading = Reading(at=time.time(), source="nvidia-smi")
    said = ran.out + ran.err
    if ran.code is None or ran.code == NOT_FOUND:
        if ran.problem and "did not answer" in ran.problem:
            reading.problem, reading.failed = ran.problem, True
            return reading
        return None
    if any(text in said for text in _NOT_HERE) or "No devices were found" in said:
        return None
    if "version mismatch" in said:
        reading.problem, reading.failed = "driver and library versions differ", True
        reading.advice = "reboot, or reload the driver"
        return reading
    if found := _HANDLE.search(said):
        reading.cards = [Card(bus=bus_id(found[1]), lost="unknown error")]
        reading.problem, reading.failed = said.strip().splitlines()[0][:300], True
        return reading
    for row in csv.reader(ran.out.splitlines(), skipinitialspace=True):
        if len(row) == len(fields):
            card, driver = _card(dict(zip(fields, row, strict=True)))
            reading.cards.append(card)
            reading.driver = reading.driver or driver
    if not reading.cards:
        reading.problem = ran.problem or "nvidia-smi said nothing that can be read"
    return reading


def _card(row: dict[str, str]) -> tuple[Card, str | None]:
    card = Card()

    def number(field: str) -> float | None:
        text = _cell(card, field, row.get(field))
        if text is None:
            return None
        try:
            return float(int(text, 16)) if text.startswith("0x") else float(text.lstrip("P"))
        except ValueError:
            card.unreadable[field] = f"cannot be read: {text[:40]}"
            return None

    def whole(field: str) -> int | None:
        value = number(field)
        return None if value is None else int(value)

    card.index, card.pstate = whole("index"), whole("pstate")
    card.name, card.uuid = (_cell(card, key, row.get(key)) for key in ("name", "uuid"))
    card.bus = bus_id(row.get("pci.bus_id", ""))
    gens = [g for g in (whole("pcie.link.gen.max"), whole("pcie.link.gen.gpumax")) if g is not None]
    current = "pcie.link.gen.gpucurrent"
    card.link = Link(
        gen=whole(current if current in row else "pcie.link.gen.current"),
        gen_max=min(gens) if gens else None,
        width=whole("pcie.link.width.current"),
        width_max=whole("pcie.link.width.max"),
    )
    reasons = "clocks_event_reasons.active"
    card.reasons = whole(reasons if reasons in row else "clocks_throttle_reasons.active")
    card.temperature = number("temperature.gpu")
    card.memory_temperature = number("temperature.memory")
    card.power, card.power_limit = number("power.draw"), number("enforced.power.limit")
    card.busy = number("utilization.gpu")
    card.ecc_uncorrected = whole("ecc.errors.uncorrected.volatile.total")
    failure = _cell(card, "remapped_rows.failure", row.get("remapped_rows.failure"))
    card.remap_failure = None if failure is None else failure.lower() in ("1", "yes")
    if (row.get("reset_status.reset_required") or "").lower() == "yes":
        card.lost = "reset required"
    return card, _cell(card, "driver_version", row.get("driver_version"))


def _cell(card: Card, field: str, text: str | None) -> str | None:
    """A cell's text, None where it holds one of the many ways of saying that there is no value."""
    if text is None:
        return None
    said = text.strip("[] ").lower()
    if said in _LOSS:
        if card.lost != "lost":
            card.lost = _LOSS[said]
        card.unreadable[field] = said
        return None
    if said.startswith(_UNKNOWN) or said in ("err!", ""):
        card.unreadable[field] = "not reported by this card" if said != "err!" else "error"
        return None
    return text.strip()
