"""The kernel's words on cards, links and memory; consequences are not counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from evalstab.hardware.kernel_log import around, events, parse, read_log
from evalstab.reach import Reach
from tests.hardware.rig import FIXTURES

LINES = (FIXTURES / "kernel_log.txt").read_text().splitlines()


def test_the_sample_log() -> None:
    expected = json.loads((FIXTURES / "kernel_log_expected.json").read_text())
    found: dict[str, Any] = {"xid": {}}
    names = {"iommu_fault": "iommu_fault", "gpu_reset": "amdgpu_reset"}
    lines = parse(LINES)
    for line in lines:
        if line.xid is not None:
            found["xid"].setdefault(line.bus, []).append(line.xid)
        elif line.kind == "oom":
            found.setdefault("oom_kill_pids", []).append(line.pid)
        elif line.kind == "fallen_off":
            continue
        elif line.bus not in found.setdefault(names.get(line.kind, line.kind), []):
            found[names.get(line.kind, line.kind)].append(line.bus)
    gone = {line.bus for line in lines if line.xid == 79}
    found["fallen_off_without_xid"] = [
        line.bus for line in lines if line.kind == "fallen_off" and line.bus not in gone
    ]
    assert found == expected


def test_what_the_lines_mean_for_a_trial() -> None:
    made = events(parse(LINES), frozenset({41822}))
    failed = {event.card for event in made if event.status == "failed"}
    assert failed == {"0000:61:00", "0000:41:00", "0000:62:00", "0000:42:00", "0000:03:00", None}
    assert not [event for event in made if event.card == "0000:22:00"], "Xid 45 is a consequence"
    engine = [event for event in made if event.card == "0000:21:00"]
    assert {event.status for event in engine} == {"degraded"}
    assert [e.detail for e in made if e.kind == "kernel.oom"] == [
        "memory ran out: the server (41822) was killed"
    ]


def test_memory_of_a_cgroup_and_of_somebody_else() -> None:
    text = "2026-11-29T02:19:00+00:00 rig kernel: Memory cgroup out of memory: Killed process 7 (x)"
    (event,) = events(parse([text]))
    assert (event.status, event.at) == ("degraded", 1795918740.0)


def test_a_slice_around_a_moment_is_taken_without_secrets() -> None:
    stamp = "2026-11-29T02:19:{:02d}+00:00 rig kernel: "
    lines = [stamp.format(n) + "x" for n in range(3)]
    lines.append("2026-11-29T05:00:00+00:00 rig kernel: later")
    lines.append(stamp.format(5) + "cmdline --api-key hunter22")
    near = around(lines, 1795918740.0)
    assert len(near) == 4
    assert "hunter22" not in "".join(near)


def test_an_unreadable_log_is_unknown_not_quiet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("journalctl", "dmesg"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho '{name}: Operation not permitted' >&2\nexit 1\n")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    lines, problem = read_log(0.0, Reach())
    assert lines is None
    assert "Operation not permitted" in str(problem)


def test_the_journal_is_read_from_a_moment_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "journalctl"
    program.write_text(
        f'#!/bin/sh\necho "$@" >> "{tmp_path}/asked"\ncat {FIXTURES}/kernel_log.txt\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    lines, problem = read_log(1795918740.0, Reach())
    assert problem is None
    assert lines == LINES
    assert "--since=2026-11-29 02:19:00 UTC" in (tmp_path / "asked").read_text()


def test_hostile_lines_are_read_in_linear_time() -> None:
    parse(["NVRM: Xid (PCI:" + "0:" * 400, "AER: " + "error " * 200, "x" * 1_000_000] * 200)
