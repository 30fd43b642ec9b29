"""The terminal summary: the same words as the page, within 100 columns, colour only where asked."""

from __future__ import annotations

import pytest
from rich.cells import cell_len

from evalstab.report import terminal
from evalstab.report.model import build_report
from evalstab.report.write import terminal_summary
from tests.report.report_cases import five_run, folder_at, scores_of


def joined(text: str) -> str:
    return " ".join(text.replace("│", " ").split())


def test_it_says_the_same_words() -> None:
    folder, scores = five_run()
    report = build_report(folder, scores)
    summary = joined(terminal_summary(folder, scores, colour=False))
    for text in (report.title, report.question, report.answer.line, *report.answer.points):
        assert joined(text) in summary
    assert "5 → 6 → 3 → 1 → 7" in summary


def test_it_fits_and_has_no_escape_sequence() -> None:
    summary = terminal_summary(*five_run(), colour=False)
    assert max(map(cell_len, summary.splitlines())) <= 100
    assert "\x1b" not in summary


def test_colour_where_asked() -> None:
    assert "\x1b[1m" in terminal_summary(*five_run(), colour=True)


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_no_colour_without_a_terminal(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "dumb")
    assert not terminal.wants_colour()
    assert "\x1b" not in terminal_summary(*five_run())


def test_many_trials_with_long_names_fit(tmp_path: object) -> None:
    names = [f"a_very_long_candidate_name_that_goes_on_and_on_{n:02d}" for n in range(60)]
    totals: list[list[float | None]] = [[(n * t) % 61 for n in range(60)] for t in range(1, 21)]
    folder = folder_at(tmp_path / "series")  # type: ignore[operator]
    summary = terminal_summary(folder, scores_of(totals, names), colour=False)
    assert max(map(cell_len, summary.splitlines())) <= 100


def test_markup_of_rich_is_text() -> None:
    folder, scores = five_run()
    scores["series"]["task"] = "[bold red]boo[/] :smile:"
    assert "[bold red]boo[/] :smile: on" in terminal_summary(folder, scores, colour=False)
