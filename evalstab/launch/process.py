"""A server as a bare process: from its port to its pid, command line, environment and container."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evalstab.launch.model import Found, Mark
from evalstab.launch.start import start_evidence
from evalstab.redact import redactor

PROC = Path("/proc")
_LISTEN = "0A"
_SOCKET = re.compile(r"^socket:\[(\d+)\]$")
_CONTAINER = re.compile(r"(?:docker|libpod|cri-containerd|crio)[-/]([0-9a-f]{64})")
_UNIT = re.compile(r"/([^/]+\.service)(?:/|$)")
_FORWARDERS = frozenset({"docker-proxy", "rootlessport", "pasta", "slirp4netns", "ssh", "sshd"})


@dataclass(frozen=True, slots=True)
class Home:
    """Where a process lives: the container or the system unit that its cgroup names."""

    container: str | None = None
    unit: str | None = None


def pid_listening(port: int, proc: Path = PROC) -> int | None:
    """The process that listens on a port of this machine; None where that cannot be seen."""
    wanted = set(_listening_sockets(port, proc))
    if not wanted:
        return None
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        try:
            links = list((folder / "fd").iterdir())
        except OSError:
            continue
        for link in links:
            try:
                found = _SOCKET.match(str(link.readlink()))
            except OSError:
                continue
            if found and found[1] in wanted:
                return int(folder.name)
    return None


def _listening_sockets(port: int, proc: Path) -> Iterator[str]:
    for name in ("tcp", "tcp6"):
        try:
            lines = (proc / "net" / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        for line in lines.splitlines()[1:]:
            parts = line.split()
            if len(parts) < 10 or parts[3] != _LISTEN:
                continue
            if int(parts[1].rpartition(":")[2], 16) == port and parts[9] != "0":
                yield parts[9]


def home_of(pid: int, proc: Path = PROC) -> Home:
    """The container or unit that a process belongs to, by its cgroup."""
    try:
        text = (proc / str(pid) / "cgroup").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Home()
    if found := _CONTAINER.search(text):
        return Home(container=found[1])
    units = [m[1] for m in _UNIT.finditer(text) if not m[1].startswith("user@")]
    return Home(unit=units[-1] if units else None)


def look_at_process(pid: int, proc: Path = PROC) -> Found | None:
    """What a process was started with; None where it is gone or its command line is empty."""
    argv = command_line(pid, proc)
    if not argv:
        return None
    env = environment(pid, proc)
    evidence, made = start_evidence("configured", f"process {pid}", argv, env)
    name = _comm(pid, proc)
    found = Found(
        method="process",
        evidence=[evidence],
        command=shlex.join(redactor().argv(argv)),
        placement={"pid": pid, "program": name, "folder": _link(pid, "cwd", proc)},
        incomplete=list(made.incomplete),
        mark=mark_of(pid, proc),
    )
    if executable := _link(pid, "exe", proc):
        found.placement["executable"] = executable
    if env is None:
        found.incomplete.append("the environment of the process cannot be read: another user's")
    if name in _FORWARDERS:
        found.notes.append(f"the listener is {name}, which only passes on: not the server itself")
    return found


def command_line(pid: int, proc: Path = PROC) -> list[str]:
    """The arguments of a process as they were given; empty where it is gone."""
    try:
        raw = (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return []
    return [word.decode("utf-8", "replace") for word in raw.removesuffix(b"\0").split(b"\0") if raw]


def environment(pid: int, proc: Path = PROC) -> dict[str, str] | None:
    """The environment at its start; None where it may not be read."""
    try:
        raw = (proc / str(pid) / "environ").read_bytes()
    except OSError:
        return None
    pairs = (word.decode("utf-8", "replace").partition("=") for word in raw.split(b"\0") if word)
    return {name: value for name, equals, value in pairs if equals}


def mark_of(pid: int, proc: Path = PROC) -> Mark:
    """Pid and start time (clock ticks after boot): a pid that was used again is told apart."""
    started = None
    try:
        text = (proc / str(pid) / "stat").read_text(encoding="utf-8", errors="replace")
        started = int(text.rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        started = None
    return Mark(pid=pid, pid_started=started)


def _comm(pid: int, proc: Path) -> str | None:
    try:
        return (proc / str(pid) / "comm").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None


def _link(pid: int, name: str, proc: Path) -> str | None:
    try:
        return str((proc / str(pid) / name).readlink())
    except OSError:
        return None
