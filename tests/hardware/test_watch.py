"""The watch beside a series: events once each, last-good times, evidence, windows, a memory."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evalstab.hardware import rig as memory
from evalstab.hardware.model import Card, Reading
from evalstab.hardware.preflight import preflight
from evalstab.hardware.processes import family, foreign_check
from evalstab.hardware.sampler import Orders
from evalstab.hardware.watch import Watch
from evalstab.settings import Hardware
from tests.hardware.rig import fake_nvml, play


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in fake_nvml(tmp_path, "loaded_8").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def _watch(rig: Path, deadline: float = 30.0) -> Watch:
    first = preflight(Hardware(), sysfs=str(rig / "none"), interval=0.01).reading
    assert first is not None
    orders = Orders(interval=0.05, count=0, sysfs=str(rig / "none"))
    watch = Watch(
        rig / "hardware.jsonl",
        first,
        orders=orders,
        deadline=deadline,
        evidence=lambda: {"server_log": ["last words"]},
    )
    watch.start()
    return watch


def _until(there: Callable[[], bool]) -> None:
    limit = time.monotonic() + 60
    while not there():
        assert time.monotonic() < limit, "waited in vain"
        time.sleep(0.02)


def _lines(rig: Path, kind: str) -> list[dict[str, Any]]:
    text = (rig / "hardware.jsonl").read_text()
    return [line for line in map(json.loads, text.splitlines()) if line["type"] == kind]


def test_a_lost_card_is_one_event_with_evidence(rig: Path) -> None:
    watch = _watch(rig)
    try:
        since = time.time()
        _until(lambda: watch.latest() > since)
        assert watch.fault(since) is None
        play(rig, "lost_late")
        _until(lambda: watch.fault(since) is not None)
        later = time.time()
        _until(lambda: watch.latest() > later)
        assert watch.fault(later) is not None, "it goes on"
        play(rig, "loaded_8")
        _until(lambda: watch.fault(time.time()) is None)
        after = time.time()
        _until(lambda: watch.latest() > after)
        assert watch.fault(after) is None
        watch.note_window(since, later)
    finally:
        watch.close()
    (event,) = _lines(rig, "event")
    assert event["detail"] == "card 61:00 no longer answers: lost"
    assert event["last_good"] < event["at"]
    assert event["evidence"]["server_log"] == ["last words"]
    (window,) = _lines(rig, "window")
    assert [told["status"] for told in window["events"]] == ["failed"]
    assert (rig / "hardware.jsonl").stat().st_mode & 0o777 == 0o600


def test_heat_and_slow_links_do_not_spoil_but_are_told(rig: Path) -> None:
    watch = _watch(rig)
    try:
        since = time.time()
        play(rig, "thermal")
        _until(lambda: len(_lines(rig, "event")) > 0)
        play(rig, "gen1_under_load")
        _until(lambda: any(e["kind"] == "slow_link" for e in _lines(rig, "event")))
        fault = watch.fault(since)
    finally:
        watch.close()
    events = _lines(rig, "event")
    assert [e["card"] for e in events if e["kind"] == "throttled"] == ["02:00"]
    slow = {e["card"] for e in events if e["kind"] == "slow_link"}
    assert slow == {"21:00", "42:00"}
    assert fault is not None, "a link that falls with replays under load is a failure"
    assert "fell to generation 1" in fault.detail


def test_a_call_that_never_returns_is_an_event_that_names_it(rig: Path) -> None:
    watch = _watch(rig, deadline=1.0)
    try:
        since = time.time()
        _until(lambda: watch.latest() > since)
        blocked = rig / "blocked"
        os.mkfifo(blocked)
        blocked.replace(rig / "scenario.txt")
        _until(lambda: watch.fault(since) is not None)
    finally:
        watch.close()
    (event,) = _lines(rig, "event")
    assert event["kind"] == "monitor_hang"
    assert "from: nvml" in event["detail"]


def test_what_is_seen_under_load_is_remembered(rig: Path) -> None:
    play(rig, "idle_8")
    watch = _watch(rig)
    try:
        place = memory.rig_file(None)
        assert memory.read_rig(place).links == {}
        play(rig, "loaded_8")
        _until(lambda: len(memory.read_rig(place).links) == 8)
    finally:
        watch.close()
    best = memory.read_rig(place).links["GPU-00000002-0000-4000-8000-000000000000"]
    assert (best.gen, best.width) == (4, 16)


def test_foreign_processes_are_told_from_the_servers_own() -> None:
    words = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(words) as own, subprocess.Popen(words) as other:
        try:
            assert own.pid in family(os.getpid())
            reading = Reading(at=0, cards=[Card(uuid="a", processes=[own.pid])])
            told = foreign_check(reading, own.pid)
            assert told is not None
            assert told.status == "ok"
            reading.cards[0].processes = [own.pid, other.pid]
            told = foreign_check(reading, own.pid)
            assert told is not None
            assert (told.status, str(other.pid) in told.detail) == ("degraded", True)
            told = foreign_check(reading, None)
            assert told is not None
            assert told.status == "unknown"
        finally:
            own.kill()
            other.kill()
    assert foreign_check(Reading(at=0, cards=[Card(uuid="a")]), 1) is None
