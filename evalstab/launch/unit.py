"""A server as a systemd unit, by what ``systemctl show`` says of it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path

from evalstab.launch.model import Found, Json, Mark
from evalstab.launch.process import PROC, command_line, environment
from evalstab.launch.process import mark_of as process_mark
from evalstab.launch.start import start_evidence
from evalstab.reach import Reach
from evalstab.redact import redactor

PROPERTIES = (
    "Id,ExecStart,ExecMainPID,MainPID,Environment,EnvironmentFiles,FragmentPath,DropInPaths,"
    "NRestarts,ActiveEnterTimestamp,ControlGroup,User,WorkingDirectory,LimitMEMLOCK"
)
_ARGV = re.compile(r"argv\[\]=(.*?) ; ignore_errors=")


def look_at_unit(unit: str, reach: Reach, proc: Path = PROC) -> tuple[Found | None, str]:
    """What systemd knows of a unit; None with the reason where it knows nothing."""
    ran = reach.run(["systemctl", "show", unit, "-p", PROPERTIES])
    if not ran.well:
        return None, ran.problem or "systemctl failed"
    shown = parse_show(ran.out)
    if not shown.get("ExecStart"):
        return None, f"systemd knows no unit {unit}"
    return found_in(shown, reach, proc), ""


def parse_show(text: str) -> dict[str, str]:
    """``Name=value`` lines."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value for name, equals, value in pairs if equals}


def found_in(shown: dict[str, str], reach: Reach, proc: Path = PROC) -> Found:
    """What the shown properties, and the running process behind them, say."""
    unit = shown.get("Id") or "unit"
    pid = _whole(shown.get("MainPID")) or None
    argv, env, incomplete = _start(shown, pid, reach, proc)
    evidence, made = start_evidence("configured", f"systemd {unit}", argv, env)
    local = reach.host is None and pid is not None
    mark = process_mark(pid, proc) if local and pid else Mark()
    return Found(
        method="unit",
        evidence=[evidence],
        command=shlex.join(redactor().argv(argv)),
        placement=_placement(shown, unit, pid),
        files=_files(shown, reach.read),
        incomplete=[*incomplete, *made.incomplete],
        mark=Mark(
            unit_restarts=_whole(shown.get("NRestarts")),
            pid=pid,
            pid_started=mark.pid_started,
        ),
    )


def _start(
    shown: dict[str, str], pid: int | None, reach: Reach, proc: Path
) -> tuple[list[str], dict[str, str] | None, list[str]]:
    """argv and environment: those of the process itself where it runs here, else the unit's."""
    incomplete = []
    argv = command_line(pid, proc) if pid and reach.host is None else []
    env = environment(pid, proc) if argv and pid else None
    if pid and reach.host is not None and (raw := reach.read(f"/proc/{pid}/cmdline")):
        argv = [word for word in raw.split("\0") if word]
    if not argv:
        found = _ARGV.search(shown["ExecStart"])
        argv = found[1].split() if found else []
        incomplete.append("quoting of ExecStart is lost: arguments with blanks may be split")
    if env is None:
        env = dict(pair.partition("=")[::2] for pair in _quoted(shown.get("Environment", "")))
        if shown.get("EnvironmentFiles"):
            place = shown["EnvironmentFiles"].split(" (")[0]
            incomplete.append(f"variables also stand in {place}, which was not read")
    return argv, env, incomplete


def _quoted(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _placement(shown: dict[str, str], unit: str, pid: int | None) -> Json:
    return {
        "unit": unit,
        "pid": pid,
        "started": shown.get("ActiveEnterTimestamp"),
        "restarts": _whole(shown.get("NRestarts")),
        "user": shown.get("User") or None,
        "folder": shown.get("WorkingDirectory") or None,
    }


def _files(shown: dict[str, str], read: Callable[[str], str | None]) -> Json:
    paths = [shown.get("FragmentPath", ""), *shown.get("DropInPaths", "").split()]
    files: Json = {}
    for path in filter(None, paths):
        text = read(path)
        files[path] = redactor().text(text) if text is not None else "unreadable"
    return files


def _whole(text: str | None) -> int | None:
    return int(text) if text and text.isdecimal() else None
