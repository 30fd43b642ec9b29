"""Who else works on the cards: a foreign process makes times no measurement of this server."""

from __future__ import annotations

from pathlib import Path

from evalstab.hardware.model import Check, Reading

PROC = Path("/proc")
NAME = "other processes"


def foreign_check(reading: Reading, server_pid: int | None, proc: Path = PROC) -> Check | None:
    """Whether only the server's own processes work on the cards; None where no card lists any."""
    listed = [card.processes for card in reading.cards if card.processes is not None]
    if not listed:
        return None
    pids = {pid for some in listed for pid in some}
    if not pids:
        return Check(name=NAME, status="ok", detail="no process works on the cards")
    if server_pid is None:
        told = f"{len(pids)} processes work on the cards; which are the server's is not known"
        return Check(name=NAME, status="unknown", detail=told)
    others = sorted(pids - family(server_pid, proc))
    if not others:
        return Check(name=NAME, status="ok", detail="only the server's own")
    named = ", ".join(f"{pid} ({_name(pid, proc)})" for pid in others[:5])
    return Check(
        name=NAME,
        status="degraded",
        detail=f"also on the cards: {named}",
        advice="end them, or take no times from this rig",
    )


def family(pid: int, proc: Path = PROC) -> set[int]:
    """A process, its descendants, and all that share its container (the same cgroup)."""
    parents = {number: _parent(number, proc) for number in _numbers(proc)}
    found = {pid}
    grown = True
    while grown:
        more = {number for number, parent in parents.items() if parent in found} - found
        found |= more
        grown = bool(more)
    group = _group(pid, proc)
    if group is not None and any(mark in group for mark in ("docker", "libpod", ".service", "cri")):
        found |= {number for number in parents if _group(number, proc) == group}
    return found


def _numbers(proc: Path) -> list[int]:
    return [int(place.name) for place in proc.iterdir() if place.name.isdigit()]


def _parent(pid: int, proc: Path) -> int | None:
    text = _text(proc / str(pid) / "stat")
    parts = text.rpartition(")")[2].split() if text else []
    return int(parts[1]) if len(parts) > 1 and parts[1].isdigit() else None


def _group(pid: int, proc: Path) -> str | None:
    return _text(proc / str(pid) / "cgroup")


def _name(pid: int, proc: Path) -> str:
    return (_text(proc / str(pid) / "comm") or "gone").strip()


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
