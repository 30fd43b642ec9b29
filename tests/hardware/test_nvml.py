"""The real NVML binding against the fake library, in another process, as in a series."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalstab.hardware.model import Check, Health
from evalstab.hardware.preflight import Fitness, preflight, summary
from evalstab.hardware.readings import Hang, Sampler
from evalstab.hardware.sampler import Orders
from evalstab.settings import Hardware
from tests.hardware.rig import fake_nvml, play

CARD = "GPU-00000006-0000-4000-8000-000000000000"


@pytest.fixture
def rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, value in fake_nvml(tmp_path, "loaded_8").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def _look(rig: Path, scenario: str, expect: int | None = 8) -> Fitness:
    play(rig, scenario)
    no_tree = str(rig / "no-sysfs")
    return preflight(Hardware(expect_gpus=expect), sysfs=no_tree, interval=0.01)


def _named(fitness: Fitness, name: str) -> Check:
    return next(check for check in fitness.checks if check.name == name)


@pytest.mark.parametrize(
    ("scenario", "status"),
    [
        ("idle_8", "ok"),
        ("loaded_8", "ok"),
        ("gen1_under_load", "degraded"),
        ("lost_gpu", "failed"),
        ("lost_late", "failed"),
        ("seven_of_eight", "failed"),
        ("reset_required", "failed"),
        ("thermal", "degraded"),
    ],
)
def test_eight_scenarios(rig: Path, scenario: str, status: Health) -> None:
    assert _look(rig, scenario).status == status


def test_idle_links_are_not_judged(rig: Path) -> None:
    fitness = _look(rig, "idle_8")
    assert _named(fitness, "link 42:00").status == "unknown"
    assert "idle" in _named(fitness, "link 42:00").detail


def test_two_links_that_are_slow_under_load(rig: Path) -> None:
    fitness = _look(rig, "gen1_under_load")
    slow = [c.name for c in fitness.checks if c.name.startswith("link") and c.status != "ok"]
    assert slow == ["link 21:00", "link 42:00"]
    assert "generation 1, x16" in _named(fitness, "link 42:00").detail
    assert "generation 4, x4" in _named(fitness, "link 21:00").detail


def test_what_a_rig_has_shown_is_what_it_is_judged_by(rig: Path) -> None:
    first = _look(rig, "gen1_under_load")
    assert "first time that this rig is seen" in _named(first, "link 21:00").detail
    again = _look(rig, "gen1_under_load")
    assert _named(again, "link 21:00").status == "ok"
    assert "as always on this rig" in _named(again, "link 21:00").detail
    assert _look(rig, "loaded_8").status == "ok"
    worse = _look(rig, "gen1_under_load")
    assert _named(worse, "link 42:00").status == "degraded"
    assert "best seen on this rig is generation 4" in _named(worse, "link 42:00").detail


def test_a_card_that_was_here_before_is_missed_by_its_uuid(rig: Path) -> None:
    assert _look(rig, "loaded_8", None).status == "ok"
    fitness = _look(rig, "seven_of_eight", None)
    assert (fitness.status, _named(fitness, "cards").status) == ("degraded", "degraded")
    assert "62:00" in _named(fitness, "cards").detail


def test_heat_is_told_by_the_reason_of_the_clocks(rig: Path) -> None:
    check = _named(_look(rig, "thermal"), "clocks 02:00")
    assert (check.status, "its temperature" in check.detail) == ("degraded", True)


def test_a_power_cap_is_normal_and_what_cannot_be_measured_is_unknown(rig: Path) -> None:
    fitness = _look(rig, "loaded_8")
    assert _named(fitness, "clocks 01:00").detail == "held by its power cap, which is normal"
    assert _named(fitness, "temperature").status == "unknown"
    assert "memory temperature: not measurable on 8" in _named(fitness, "temperature").detail
    assert _named(fitness, "memory").status == "unknown"


def test_the_condition_names_cards_power_and_driver(rig: Path) -> None:
    told = summary(_look(rig, "loaded_8").reading)
    assert told == "8x NVIDIA GeForce RTX 3090 at 280 W, driver 580.95.05"


@pytest.mark.parametrize(
    ("code", "status", "told"),
    [(9, "unknown", "no graphics card"), (18, "failed", "does not match"), (999, "failed", "999")],
)
def test_a_driver_that_does_not_start(rig: Path, code: int, status: Health, told: str) -> None:
    (rig / "scenario.txt").write_text(f"-1 init ERR:{code}\n")
    fitness = preflight(Hardware(), sysfs=str(rig / "none"))
    assert fitness.status == status
    assert told in fitness.checks[0].detail


def test_a_call_that_never_returns_is_a_failure(rig: Path) -> None:
    (rig / "scenario.txt").unlink()
    os.mkfifo(rig / "scenario.txt")
    fitness = preflight(Hardware(), sysfs=str(rig / "none"), deadline=1.0)
    assert fitness.status == "failed"
    assert "from: nvml init" in fitness.checks[0].detail


def test_a_hang_in_the_middle_names_the_call(rig: Path) -> None:
    sampler = Sampler(Orders(count=0, interval=0.05, sysfs=str(rig / "none")), deadline=1.0)
    try:
        heard = sampler.hear()
        next(heard)
        blocked = rig / "blocked"
        os.mkfifo(blocked)
        blocked.replace(rig / "scenario.txt")
        last = list(heard)[-1]
    finally:
        sampler.close()
    assert isinstance(last, Hang)
    assert last.doing.startswith("nvml")
