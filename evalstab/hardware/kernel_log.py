"""What the kernel said of cards, links and memory. A log that cannot be read is unknown, not quiet.

Xid classes: NVIDIA's catalogue, as leptonai/gpud keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import Literal

import msgspec

from evalstab.hardware.model import Event, Health, bus_id
from evalstab.reach import Reach
from evalstab.redact import redactor

LINES = 20_000
SLICE_SECONDS = 60

GONE = frozenset({48, 54, 64, 79, 92, 95, 140, 143, 158, 167, 171, 172})
RESET = frozenset({46, 62, 109, 119, 120, 154})
ENGINE = frozenset({13, 31, 32, 43, 68, 69, 70, 71, 72, 94})
CONSEQUENCE = frozenset({45})
INFORMATION = frozenset({63, 168})
NVLINK = 74

Kind = Literal[
    "xid", "fallen_off", "aer_correctable", "aer_uncorrectable", "iommu_fault", "oom", "gpu_reset"
]


class Line(msgspec.Struct, frozen=True, kw_only=True):
    """One line that means something: ``xid`` or ``pid`` where it names one."""

    kind: Kind
    text: str
    at: float | None = None
    bus: str | None = None
    xid: int | None = None
    pid: int | None = None


_STAMP = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?)\s")
_BUS = r"([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2})"
_XID = re.compile(rf"NVRM: Xid \((?:PCI:)?{_BUS}[0-9a-fA-F:.]*\): (\d{{1,5}})")
_NAMED_GPU = re.compile(rf"NVRM: (?:The NVIDIA )?GPU (?:at )?(?:PCI:)?{_BUS}")
_AER = re.compile(
    rf"AER: .{{0,60}}?(Corrected|Correctable|Uncorrectable|Uncorrected).{{0,60}}?(?:error|message) "
    rf"(?:message )?received:?(?: from)? {_BUS}"
)
_SEVERITY = re.compile(rf"{_BUS}\.\d: PCIe Bus Error: severity=(\w{{1,20}})")
_UNRECOVERED = re.compile(rf"{_BUS}\.\d: AER: can't recover")
_IOMMU = re.compile(rf"{_BUS}\.\d: .{{0,80}}?IO_PAGE_FAULT")
_OOM = re.compile(r"(?:Memory cgroup out|Out) of memory: Killed process (\d{1,9})")
_AMD = re.compile(rf"amdgpu {_BUS}\.\d: .{{0,120}}?(?:ring \S{{1,40}} timeout|GPU reset begin)")
_FALLEN = "fallen off the bus"


def parse(lines: Iterable[str]) -> list[Line]:
    """The lines that mean something, in order."""
    found: list[Line] = []
    named: str | None = None
    for whole in lines:
        text = whole[:1000]
        at = _time(text)
        if gpu := _NAMED_GPU.search(text):
            named = bus_id(gpu[1])
        if _FALLEN in text and not _XID.search(text):
            found.append(Line(kind="fallen_off", text=text, at=at, bus=named))
        for reader in _READERS:
            found += (msgspec.structs.replace(line, at=at, text=text) for line in reader(text))
    return found


def events(lines: Iterable[Line], server_pids: frozenset[int] = frozenset()) -> list[Event]:
    """What the lines mean for the rig; consequences of another line are left out."""
    made = []
    explained = {line.bus for line in lines if line.xid in GONE}
    for line in lines:
        if line.kind == "fallen_off" and line.bus in explained:
            continue
        status, detail = _meaning(line, server_pids)
        if status is not None:
            made.append(
                Event(
                    at=line.at or 0.0,
                    kind=f"kernel.{line.kind}",
                    status=status,
                    detail=detail,
                    card=line.bus,
                    evidence={"line": redactor().text(line.text)},
                )
            )
    return made


def read_log(since: float, reach: Reach) -> tuple[list[str] | None, str | None]:
    """Kernel log lines from a time on (seconds since 1970); None with the reason if unreadable."""
    stamp = datetime.fromtimestamp(since, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    words = ["journalctl", "-k", "-o", "short-iso-precise", "--no-pager", "-q"]
    ran = reach.run([*words, f"--since={stamp}", f"--lines={LINES}"])
    if ran.well and ran.out.strip():
        return ran.out.splitlines()[-LINES:], None
    quiet = ran.well
    other = reach.run(["dmesg", "--time-format", "iso"])
    if other.well and other.out.strip():
        lines = (
            line for line in other.out.splitlines()[-LINES:] if (_time(line) or since) >= since
        )
        return list(lines), None
    if quiet and reach.run([*words, "--lines=1"]).out.strip():
        return [], None
    return None, other.problem or ran.problem or "the kernel log is empty or not readable"


def around(lines: Iterable[str], at: float) -> list[str]:
    """The lines within a minute of a moment, redacted: evidence, taken while it is there."""
    clean = redactor()
    near = (line for line in lines if abs((_time(line) or at) - at) <= SLICE_SECONDS)
    return [clean.text(line[:500]) for line in near][-200:]


_MEANING: dict[str, tuple[Health, str]] = {
    "fallen_off": ("failed", "card {bus} has fallen off the bus"),
    "aer_uncorrectable": ("failed", "uncorrectable PCIe error at {bus}"),
    "gpu_reset": ("failed", "card {bus} was reset"),
    "iommu_fault": ("degraded", "IOMMU fault at {bus}"),
    "aer_correctable": ("degraded", "correctable PCIe error at {bus}"),
}

_XIDS: tuple[tuple[frozenset[int], Health, str], ...] = (
    (GONE, "failed", "hardware or bus fault"),
    (RESET, "failed", "driver fault, a reset is needed"),
    (ENGINE, "degraded", "the engine crashed on it, hardware is possible"),
    (frozenset({NVLINK}), "degraded", "NVLink error"),
)


def _meaning(line: Line, server_pids: frozenset[int]) -> tuple[Health | None, str]:
    if line.kind == "xid":
        return _xid(line)
    if line.kind == "oom":
        known = line.pid in server_pids
        whose = "the server" if known else "a process"
        told = f"memory ran out: {whose} ({line.pid}) was killed"
        return ("failed" if known else "degraded"), told
    status, told = _MEANING[line.kind]
    return status, told.format(bus=line.bus)


def _xid(line: Line) -> tuple[Health | None, str]:
    if line.xid in CONSEQUENCE | INFORMATION:
        return None, ""
    for codes, status, told in _XIDS:
        if line.xid in codes:
            return status, f"Xid {line.xid} on card {line.bus}: {told}"
    return "degraded", f"Xid {line.xid} on card {line.bus}"


def _xids(text: str) -> Iterator[Line]:
    if found := _XID.search(text):
        yield Line(kind="xid", text="", bus=bus_id(found[1]), xid=int(found[2]))


def _aer(text: str) -> Iterator[Line]:
    if found := _AER.search(text):
        mild = found[1].startswith("Correct")
        kind: Kind = "aer_correctable" if mild else "aer_uncorrectable"
        yield Line(kind=kind, text="", bus=bus_id(found[2]))
    elif found := _SEVERITY.search(text):
        mild = found[2].startswith("Correct")
        yield Line(
            kind="aer_correctable" if mild else "aer_uncorrectable", text="", bus=bus_id(found[1])
        )
    elif found := _UNRECOVERED.search(text):
        yield Line(kind="aer_uncorrectable", text="", bus=bus_id(found[1]))


def _others(text: str) -> Iterator[Line]:
    if found := _IOMMU.search(text):
        yield Line(kind="iommu_fault", text="", bus=bus_id(found[1]))
    if found := _OOM.search(text):
        yield Line(kind="oom", text="", pid=int(found[1]))
    if found := _AMD.search(text):
        yield Line(kind="gpu_reset", text="", bus=bus_id(found[1]))


_READERS: tuple[Callable[[str], Iterator[Line]], ...] = (_xids, _aer, _others)


def _time(text: str) -> float | None:
    found = _STAMP.match(text)
    if found is None:
        return None
    try:
        moment = datetime.fromisoformat(found[1].replace(",", "."))
    except ValueError:
        return None
    return moment.replace(tzinfo=moment.tzinfo or UTC).timestamp()
