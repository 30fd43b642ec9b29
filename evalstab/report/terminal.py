"""The first screen for a terminal: the same words as the page, within 100 columns."""

from __future__ import annotations

import io
import os
import shutil
import sys

from rich import box
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.panel import Panel
from rich.table import Table as Grid
from rich.text import Text

from evalstab.report.page import Block, Bullets, Command, Figure, Paragraph, Quotes, Report, Table

WIDTH = 100
MANY_COLUMNS = 8
"""Above this, columns stand close and their titles are broken at every space."""
COLOURS = {"pass": "green", "fail": "red", "undecided": "yellow", "invalid": "magenta"}


def render(report: Report, *, colour: bool | None = None) -> str:
    """The brief sections as text, ending with a line break.

    ``colour`` None: only where stdout is a terminal and NO_COLOR is not set. Words, order and
    numbers are those of the page; strings are shown as they are, never read as markup.
    """
    coloured = wants_colour() if colour is None else colour
    width = min(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns) if colour is None else WIDTH
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=coloured,
        color_system="standard" if coloured else None,
        no_color=not coloured,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        _page(console, report)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def wants_colour() -> bool:
    """Whether stdout is a terminal that may be coloured (https://no-color.org)."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def _page(console: Console, report: Report) -> None:
    answer = report.answer
    console.print(Text(report.title, style="bold"))
    console.print(Text(report.question))
    lines = [Text(answer.line, style="bold"), *map(Text, report.notices)]
    console.print(Panel(Group(*lines), border_style=COLOURS.get(answer.status, "none")))
    console.print(_bullets(answer.points))
    for section in report.sections:
        if section.brief:
            console.print()
            console.print(Text(section.title, style="bold"))
            for block in section.blocks:
                console.print(_block(block))


def _block(block: Block) -> RenderableType:
    match block:
        case Paragraph(text):
            return Text(text)
        case Bullets(items):
            return _bullets(items)
        case Command(lines):
            return Padding(Text("\n".join(lines)), (0, 0, 0, 2))
        case Table():
            return _table(block)
        case Quotes(items):
            return _bullets(tuple(f"{item.where}: {item.text}" for item in items))
        case Figure(name, title, _, _):
            return Text(f"{title}: plots/{name}.svg")


def _bullets(items: tuple[str, ...]) -> Grid:
    grid = Grid.grid(padding=(0, 1))
    for item in items:
        grid.add_row(Text("-"), Text(item))
    return grid


def _table(table: Table) -> Grid:
    many = len(table.header) > MANY_COLUMNS
    grid = Grid(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 0 if many else 1), show_edge=False)
    for title, align in zip(table.header, table.align, strict=True):
        head = Text(title.replace(" ", "\n") if many else title)
        grid.add_column(head, justify=align, overflow="fold", vertical="bottom" if many else "top")
    for row in table.rows:
        grid.add_row(*map(Text, row))
    return grid
