"""The page of a comparison: what changed, how sure that is, and both series side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evalstab.report.comparison import comparison_page, comparison_table
from evalstab.report.page import Figure, PairData, Report, Table
from evalstab.report.side_by_side import Both
from evalstab.workflow.compare import compare_series
from evalstab.workflow.reporting import report
from tests.report.ladder_cases import NAMES, STEADY, TORN, ladder_of


@pytest.fixture
def ladder(tmp_path: Path) -> Path:
    ladder_of(tmp_path / "up", [("16k", 16_000, 1, STEADY), ("60k", 60_000, 1, TORN)])
    return tmp_path / "up"


def test_the_page_stands_beside_and_links_to_both(ladder: Path) -> None:
    report(ladder / "16k", "html", None)
    found = compare_series(ladder / "16k", ladder / "60k", ("context",))
    page = Path(found["files"]["html"])
    assert page.parent == ladder / "60k" / "compare"
    html = page.read_text(encoding="utf-8")
    assert '<a href="../../16k/report.html">Base</a>' in html
    assert ">New</a>" not in html
    assert found["summary"].split(".")[0] in html
    markdown = Path(found["files"]["md"]).read_text(encoding="utf-8")
    assert f"]({page.stem}.svg)" in markdown
    assert (page.parent / f"{page.stem}.svg").is_file()


def _report(places: PairData, found: dict[str, Any]) -> Report:
    sides: list[dict[str, Any]] = [{"trials": [], "series": {}, "stability": {}}] * 2
    return comparison_page(found, Both(sides[0], sides[1], places))


def test_places_and_moves_of_each_candidate(ladder: Path) -> None:
    found = compare_series(ladder / "16k", ladder / "60k")
    places = PairData(
        ("b", "a", "lost"), ((2.0, 2.0), (1.0, 3.0), ()), ((1.0,), (4.0, 5.0), (3.0,))
    )
    made = _report(places, found)
    section = made.sections[-1]
    table = next(block for block in section.blocks if isinstance(block, Table))
    assert table.rows == (
        ("a", "2", "1 to 3", "4.5", "4 to 5", "+2.5"),
        ("b", "2", "2 to 2", "1", "1 to 1", "−1"),
        ("lost", "–", "–", "3", "3 to 3", "–"),
    )
    assert any(isinstance(block, Figure) for block in section.blocks)
    side = next(b for b in made.sections[0].blocks if isinstance(b, Table))
    assert ("Kendall tau (95 %)", "not known", "not known") in side.rows


def test_the_terminal_tells_the_tests_alone(ladder: Path) -> None:
    found = compare_series(ladder / "16k", ladder / "60k")
    told = comparison_table(found)
    assert "Has the stability changed?" in told
    assert "Side by side" not in told
    assert not any(name in told.partition("Has the consensus")[0] for name in NAMES)


def test_the_difference_stands_on_top_with_its_interval(ladder: Path) -> None:
    found = compare_series(ladder / "16k", ladder / "60k")
    told = dict(comparison_page(found).headline)
    assert told["difference of tau (95 %)"].startswith("−")
    assert "(" in told["difference of tau (95 %)"]
    few = compare_series(ladder / "60k", ladder / "16k")
    assert dict(comparison_page(few).headline)["difference of tau (95 %)"].startswith("+")


def test_what_moved_is_named_with_its_places(ladder: Path) -> None:
    found = compare_series(ladder / "16k", ladder / "60k")
    moved = found["consensus"]["moved"]
    assert moved
    assert all(one["base"] != one["new"] for one in moved)
    shifts = [abs(one["new"] - one["base"]) for one in moved]
    assert shifts == sorted(shifts, reverse=True)
    told = comparison_table(found)
    assert f"Median places that changed most: {moved[0]['candidate']} " in told


def test_intervals_of_the_difference_say_which_they_are(ladder: Path) -> None:
    told = comparison_table(compare_series(ladder / "60k", ladder / "16k"))
    assert "one-sided test at 5 %, while the one on top is the two-sided 95 % interval" in told
    assert "contradict each other on about 0 % of all pairs of candidates" in told
