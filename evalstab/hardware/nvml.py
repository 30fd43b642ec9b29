"""NVIDIA cards through NVML. Every call may fail on its own, or never return: call it elsewhere
(``sampler.py``), in a process that can be killed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from evalstab.hardware.model import Card, Link, Loss, Reading, bus_id

NOT_HERE = {9: "the NVIDIA driver is not loaded", 12: "NVML is not installed"}
MISMATCH = 18
NOT_FOUND = 13
LOST: dict[int, Loss] = {15: "lost", 16: "reset required", 28: "lost", 999: "unknown error"}
WORDS = {
    2: "bad argument",
    3: "not supported by this card",
    4: "no permission",
    8: "insufficient external power",
    10: "time-out",
    13: "not known to this driver",
    15: "the card is lost",
    16: "the card requires a reset",
    999: "unknown error",
}
_MEMORY_TEMPERATURE = 82
_REPLAYS = 94
_RECOVERY = 230
_THROTTLED = {"power_cap": 74, "sw_thermal": 269, "hw_thermal": 270, "power_brake": 271}
_FIELDS = (_MEMORY_TEMPERATURE, _REPLAYS, _RECOVERY, *_THROTTLED.values())


def read_nvml(doing: Callable[[str], None]) -> Reading | None:
    """All NVIDIA cards, None without NVIDIA monitoring; ``doing`` is told before each call."""
    import pynvml  # noqa: PLC0415

    reading = Reading(at=time.time(), source="nvml")
    doing("nvml init")
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        return _no_driver(reading, int(error.value))
    try:
        doing("nvml count")
        count = int(pynvml.nvmlDeviceGetCount())
        reading.driver = _said(pynvml.nvmlSystemGetDriverVersion)
    except pynvml.NVMLError as error:
        return _no_driver(reading, int(error.value))
    for index in range(count):
        doing(f"nvml card {index}")
        reading.cards.append(_card(pynvml, index))
    return reading


def _no_driver(reading: Reading, code: int) -> Reading | None:
    if code in NOT_HERE:
        return None
    reading.failed = code == MISMATCH or code in LOST
    reading.problem = f"NVML error {code}"
    if code == MISMATCH:
        reading.problem = "the driver was updated and does not match the loaded kernel module"
        reading.advice = "reboot, or reload the driver"
    return reading


def _card(nvml: Any, index: int) -> Card:
    card = Card(index=index)
    try:
        handle = nvml.nvmlDeviceGetHandleByIndex(index)
    except nvml.NVMLError as error:
        _failed(card, "handle", int(error.value))
        return card

    def ask(field: str, call: Callable[..., Any], *more: Any) -> Any:
        try:
            return call(handle, *more)
        except (nvml.NVMLError, nvml.NVMLLibraryMismatchError) as error:
            _failed(card, field, int(getattr(error, "value", NOT_FOUND)))
            return None

    card.name = _text(ask("name", nvml.nvmlDeviceGetName))
    card.uuid = _text(ask("uuid", nvml.nvmlDeviceGetUUID))
    if (pci := ask("bus", nvml.nvmlDeviceGetPciInfo)) is not None:
        card.bus = bus_id(_text(pci.busId) or "")
    card.pstate = ask("pstate", nvml.nvmlDeviceGetPerformanceState)
    if (rates := ask("busy", nvml.nvmlDeviceGetUtilizationRates)) is not None:
        card.busy = float(rates.gpu)
    card.temperature = ask("temperature", nvml.nvmlDeviceGetTemperature, 0)
    card.power = _watts(ask("power", nvml.nvmlDeviceGetPowerUsage))
    card.power_limit = _watts(ask("power_limit", nvml.nvmlDeviceGetEnforcedPowerLimit))
    card.link = _link(nvml, ask)
    card.reasons = ask("reasons", nvml.nvmlDeviceGetCurrentClocksEventReasons)
    card.replays = ask("replays", nvml.nvmlDeviceGetPcieReplayCounter)
    card.ecc_uncorrected = ask("ecc", nvml.nvmlDeviceGetTotalEccErrors, 1, 0)
    if (rows := ask("remapped_rows", nvml.nvmlDeviceGetRemappedRows)) is not None:
        card.remap_failure = bool(rows[3])
    if (running := ask("processes", nvml.nvmlDeviceGetComputeRunningProcesses)) is not None:
        card.processes = sorted(int(process.pid) for process in running)
    _read_fields(card, ask("fields", nvml.nvmlDeviceGetFieldValues, list(_FIELDS)) or ())
    return card


def _link(nvml: Any, ask: Callable[..., Any]) -> Link:
    slot = ask("gen_max", nvml.nvmlDeviceGetMaxPcieLinkGeneration)
    own = ask("gen_gpu_max", nvml.nvmlDeviceGetGpuMaxPcieLinkGeneration)
    known = [value for value in (slot, own) if value is not None]
    return Link(
        gen=ask("gen", nvml.nvmlDeviceGetCurrPcieLinkGeneration),
        gen_max=min(known) if known else None,
        width=ask("width", nvml.nvmlDeviceGetCurrPcieLinkWidth),
        width_max=ask("width_max", nvml.nvmlDeviceGetMaxPcieLinkWidth),
    )


def _read_fields(card: Card, values: Any) -> None:
    said: dict[int, int] = {}
    for value in values:
        if value.nvmlReturn == 0:
            said[int(value.fieldId)] = _number(value)
        else:
            card.unreadable.setdefault(f"field {value.fieldId}", _words(int(value.nvmlReturn)))
    if _MEMORY_TEMPERATURE in said:
        card.memory_temperature = said[_MEMORY_TEMPERATURE]
    if card.replays is None:
        card.replays = said.get(_REPLAYS)
    card.recovery_action = said.get(_RECOVERY)
    card.throttled_ns = {name: said[f] for name, f in _THROTTLED.items() if f in said}


def _number(value: Any) -> int:
    """A field's value by its stated type: 0 double, 1 uint, 2 ulong, 3 ulonglong, 4 signed."""
    fields = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")
    kind = int(value.valueType)
    return int(getattr(value.value, fields[kind] if kind < len(fields) else "ullVal"))


def _failed(card: Card, field: str, code: int) -> None:
    card.unreadable[field] = _words(code)
    if code in LOST and (card.lost is None or code in (15, 28)):
        card.lost = LOST[code]


def _words(code: int) -> str:
    return WORDS.get(code, f"NVML error {code}")


def _said(call: Callable[[], Any]) -> str | None:
    return _text(call())


def _text(value: Any) -> str | None:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
