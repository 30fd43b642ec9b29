"""``evalstab history``: nights in a row, steps in them, and drift."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, verb

if TYPE_CHECKING:
    from evalstab.chat import Json

USUAL = Path("reports")
REPORTS = typer.Option(help="The folder that holds the series.", rich_help_panel=BASIC)

EXAMPLES = """
Examples:

evalstab history --endpoint rig

evalstab history --table [dim]# one line for each endpoint and quantisation[/dim]
"""


@verb
def command(
    endpoint: Annotated[
        str | None, typer.Option(help="This endpoint only.", rich_help_panel=BASIC)
    ] = None,
    task: Annotated[str | None, typer.Option(help="This task only.", rich_help_panel=BASIC)] = None,
    table: Annotated[
        bool,
        typer.Option(
            "--table",
            help="One line for each endpoint and quantisation, as Markdown.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option("--rebuild", help="Read every series folder again.", rich_help_panel=BASIC),
    ] = False,
    reports: Annotated[Path, REPORTS] = USUAL,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Nights in a row, steps in them, and drift from the baseline and from last night."""
    from evalstab.workflow.trends import Chosen, drawn, history

    _check_folder(reports)
    found = history(Chosen(endpoint, task, reports), rebuild=rebuild)
    if as_json:
        answer_json(found)
    elif table:
        from evalstab.report.standing import standing_table

        answer(standing_table(found["tracks"]))
    elif not found["tracks"]:
        answer(f"No scored series in {reports} yet: evalstab nightly, or evalstab run, makes some.")
    else:
        _show_all(found["tracks"])
        for place in drawn(found, reports):
            say(f"plot {place}")


def _check_folder(reports: Path) -> None:
    """FolderError for a folder that was named and is not there."""
    from evalstab.errors import FolderError

    if reports != USUAL and not reports.is_dir():
        raise FolderError(f"{reports}: there is no such folder. Name one that holds series")


def _show_all(tracks: list[Json]) -> None:
    for track in tracks:
        _show(track)


def _show(track: Json) -> None:
    import sys

    from evalstab.text.excerpt import for_terminal

    answer(
        for_terminal(track["name"])
        + (" (simulated: no model was judged)" if track["simulated"] else "")
    )
    cells = [_cells(night) for night in track["nights"][-30:]]
    if len(track["nights"]) > 30:
        answer(f"  the latest 30 of {len(track['nights'])} nights")
    if sys.stdout.isatty():
        _rich(cells)
    else:
        rows = [HEADER, *cells]
        widths = [max(len(row[i]) for row in rows) for i in range(len(HEADER))]
        for row in rows:
            line = "  ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True))
            answer(f"  {line}".rstrip())
    for mark in track["marks"]:
        night = track["nights"][mark["at"]]["created"][:10]
        answer(f"  changed before {night}: {for_terminal(mark['what'])}")
    for step in track["steps"]:
        answer(f"  {for_terminal(_step(step))}")
    answer(f"  {track['reading']}")
    answer("")


HEADER = (
    "night", "trials", "verdict", "tau", "95 % interval", "winner", "scale CV", "leaks",
    "unfinished", "reasoning", "tok/s", "launch",
)  # fmt: skip


def _cells(night: Json) -> tuple[str, ...]:
    from evalstab.text.excerpt import for_terminal

    def two(value: float | None) -> str:
        return "-" if value is None else f"{value:.2f}"

    def whole(value: float | None) -> str:
        return "-" if value is None else f"{value:,.0f}"

    low, high = night["tau_low"], night["tau_high"]
    return (
        night["created"][:16].replace("T", " "),
        f"{night['judged']} of {night['planned']}",
        night["verdict"] + (f" ({for_terminal(gate)})" if (gate := night["gate"]) else ""),
        two(night["tau"]),
        "-" if low is None or high is None else f"{low:.2f} to {high:.2f}",
        two(night["winner"]),
        two(night["scale"]),
        two(night["leaks"]),
        two(night["unfinished"]),
        whole(night["reasoning"]),
        whole(night["decode"]),
        for_terminal(night["launch"])[:12],
    )


def _rich(cells: list[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(pad_edge=False)
    for name in HEADER:
        table.add_column(name)
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console().print(table)


def _step(step: dict[str, Any]) -> str:
    def plain(value: float) -> str:
        return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"

    why = f"; changed then: {'; '.join(step['changed_then'])}" if step["changed_then"] else ""
    return (
        f"step {step['night'][:10]}: {step['what']} {plain(step['before'])} → "
        f"{plain(step['after'])} ({step['direction']}, p {step['p']:.2g}){why}"
    )
