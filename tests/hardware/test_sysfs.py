"""The kernel's own files, for cards of every vendor."""

from __future__ import annotations

from pathlib import Path

import pytest

from evalstab.hardware.changes import changes
from evalstab.hardware.judge import Expected, checks, overall
from evalstab.hardware.model import Health, Reading
from evalstab.hardware.sysfs import counted, read_sysfs
from tests.hardware.rig import fake_sysfs


def _read(folder: Path, scenario: str) -> Reading:
    reading = read_sysfs(fake_sysfs(folder, scenario))
    assert reading is not None
    return reading


@pytest.mark.parametrize(
    ("scenario", "status"),
    [
        ("idle", "ok"),
        ("loaded", "ok"),
        ("gen1", "degraded"),
        ("missing", "failed"),
        ("ghost", "failed"),
        ("aer", "ok"),
    ],
)
def test_six_scenarios_under_a_load_that_the_caller_knows_of(
    tmp_path: Path, scenario: str, status: Health
) -> None:
    readings = [_read(tmp_path, scenario)] * 3
    made = checks(readings, Expected(cards=8), loaded=scenario != "idle")
    assert overall(made) == status


def test_without_a_sign_of_load_links_are_unknown(tmp_path: Path) -> None:
    made = checks([_read(tmp_path, "gen1")] * 3, Expected(cards=8))
    links = [check for check in made if check.name.startswith("link")]
    assert {check.status for check in links} == {"unknown"}
    assert len(links) == 8


def test_missing_and_ghost_are_different_causes(tmp_path: Path) -> None:
    first = _read(tmp_path, "loaded")
    missing = changes(first, first, _read(tmp_path, "missing"))
    assert [event.status for event in missing] == ["failed", "failed"]
    assert "left the PCI tree" in missing[-1].detail
    ghost = changes(first, first, _read(tmp_path, "ghost"))
    assert [event.detail for event in ghost] == ["card 61:00 no longer answers: lost"]


def test_error_counters_count_by_their_growth_up_to_the_root_port(tmp_path: Path) -> None:
    first, later = _read(tmp_path, "loaded"), _read(tmp_path, "aer")
    found = changes(first, first, later)
    assert {event.status for event in found} == {"failed", "degraded"}
    told = {event.detail: event.status for event in found}
    way = "on the way to 0000:22:00"
    assert told == {
        f"PCIe errors at 0000:22:00.0 {way}: 20 correctable, 1 nonfatal": "failed",
        f"PCIe errors at 0000:00:04.1 {way}: 20 root_cor": "degraded",
    }
    assert changes(later, later, later) == []


def test_a_path_leads_from_the_card_to_its_root_port(tmp_path: Path) -> None:
    assert list(_read(tmp_path, "loaded").paths["0000:42:00"]) == ["0000:42:00.0", "0000:00:06.1"]


def test_names_with_blanks_are_counted_and_totals_are_not() -> None:
    assert counted("Receiver Error 3\nBad TLP 1\nTOTAL_ERR_COR 9\nbroken\n") == 4


def test_without_counters_nothing_is_claimed(tmp_path: Path) -> None:
    place = fake_sysfs(tmp_path, "loaded")
    for path in place.rglob("aer_*"):
        path.unlink()
    reading = read_sysfs(place)
    assert reading is not None
    assert reading.paths["0000:42:00"]["0000:42:00.0"].errors is None


def test_without_a_tree_there_is_no_reading(tmp_path: Path) -> None:
    assert read_sysfs(tmp_path / "none") is None


def test_a_virtual_display_is_no_card(tmp_path: Path) -> None:
    place = tmp_path / "bus/pci/devices/0000:00:02.0"
    place.mkdir(parents=True)
    (place / "class").write_text("0x030000\n")
    (place / "vendor").write_text("0x1234\n")
    reading = read_sysfs(tmp_path)
    assert reading is not None
    assert reading.cards == []
