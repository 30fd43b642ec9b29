"""nvidia-smi in ten modes, a hang among them; no cell is ever read blindly."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from evalstab.hardware.judge import Expected, checks, overall
from evalstab.hardware.model import Health, Reading
from evalstab.hardware.preflight import preflight
from evalstab.hardware.smi import read_smi
from evalstab.reach import Reach
from evalstab.settings import Hardware
from tests.hardware.rig import fake_smi
from tests.launch.programs import put_on_path


@pytest.fixture
def smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{fake_smi(tmp_path)}{os.pathsep}{os.environ['PATH']}")


def _read(mode: str, monkeypatch: pytest.MonkeyPatch, seconds: float = 20) -> Reading | None:
    monkeypatch.setenv("FAKE_SMI", mode)
    return read_smi(Reach(), lambda _what: None, seconds)


@pytest.mark.parametrize(
    ("mode", "status"),
    [
        ("ok_idle", "ok"),
        ("ok_loaded", "ok"),
        ("gen1_loaded", "degraded"),
        ("lost", "failed"),
        ("reset", "failed"),
        ("unknown", "failed"),
        ("handle", "failed"),
    ],
)
def test_modes_with_cards(
    smi: None, monkeypatch: pytest.MonkeyPatch, mode: str, status: Health
) -> None:
    reading = _read(mode, monkeypatch)
    assert reading is not None
    assert overall(checks([reading] * 3, Expected(cards=8))) == status


@pytest.mark.parametrize("mode", ["no_devices", "no_driver"])
def test_modes_without_cards(smi: None, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    assert _read(mode, monkeypatch) is None


def test_a_hang_ends_at_the_deadline(smi: None, monkeypatch: pytest.MonkeyPatch) -> None:
    reading = _read("hang", monkeypatch, seconds=0.5)
    assert reading is not None
    assert reading.failed
    assert "did not answer within 0.5 s" in str(reading.problem)


def test_cells_without_a_value_are_none_with_a_reason(
    smi: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading = _read("ok_loaded", monkeypatch)
    assert reading is not None
    card = reading.cards[5]
    assert (card.bus, card.index, card.pstate, card.busy) == ("0000:42:00", 5, 2, 99.0)
    assert (card.link.gen, card.link.width, card.power) == (4, 16, 268.11)
    assert (card.memory_temperature, card.ecc_uncorrected) == (None, None)
    assert card.unreadable["temperature.memory"] == "not reported by this card"
    assert reading.driver == "580.95.05"


def test_which_card_is_lost(smi: None, monkeypatch: pytest.MonkeyPatch) -> None:
    lost = {}
    for mode in ("lost", "reset", "unknown", "handle"):
        reading = _read(mode, monkeypatch)
        assert reading is not None
        lost[mode] = [(card.bus, card.lost) for card in reading.cards if card.lost]
    assert lost == {
        "lost": [("0000:61:00", "lost")],
        "reset": [("0000:22:00", "reset required")],
        "unknown": [("0000:21:00", "unknown error")],
        "handle": [("0000:61:00", "unknown error")],
    }


def test_without_the_program_there_is_no_reading(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    assert read_smi(Reach(), lambda _what: None) is None


def test_fields_that_an_older_driver_does_not_know_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        '#!/bin/sh\ncase "$1" in\n'
        "*gpucurrent*) echo 'Field \"pcie.link.gen.gpucurrent\" is not a valid field';"
        " exit 2;;\n"
        "*reset_status*) echo 'Field \"reset_status.reset_required\" is not a valid field';"
        " exit 2;;\n"
        "esac\n"
        "echo '0, Card, GPU-1, 00000000:01:00.0, 470.1, P0, 3, 4, 4, 16, 16, 0x4, 60, N/A, 100.0,"
        " 200.0, 90, [N/A], [N/A]'\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    reading = read_smi(Reach(), lambda _what: None)
    assert reading is not None
    assert (reading.cards[0].link.gen, reading.cards[0].name) == (3, "Card")


def test_another_machine_over_ssh(
    smi: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_on_path(tmp_path, "ssh")
    monkeypatch.setenv("PATH", path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("FAKE_SMI", "lost")
    fitness = preflight(Hardware(), host="rig1", interval=0.01)
    assert fitness.status == "failed"
    assert "61:00: lost" in fitness.checks[0].detail
    monkeypatch.setenv("FAKE_SMI", "no_devices")
    assert preflight(Hardware(), host="rig1").status == "unknown"
    nowhere = preflight(Hardware(), host="rig2")
    assert nowhere.status == "unknown"
    assert "Could not resolve hostname rig2" in nowhere.checks[0].detail
