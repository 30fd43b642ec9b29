"""``evalstab report``: the report of a series, from its scores."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import OUTPUT, answer, verb

EXAMPLES = """
Examples:

evalstab report reports/20261130-021400-eleven-profiles-rig-natural

evalstab report DIR --output - > report.md

evalstab report DIR --format html --share --output shared.html

evalstab report DIR --format card --output card.png
"""


@verb
def command(
    folder: Annotated[
        Path, typer.Argument(help="The folder of a series or a ladder.", show_default=False)
    ],
    form: Annotated[
        str,
        typer.Option("--format", help="md, html, json, junit or card.", rich_help_panel=OUTPUT),
    ] = "md",
    share: Annotated[
        bool,
        typer.Option(
            "--share",
            help="Without any text of the task or the model; candidates bear pseudonyms.",
            rich_help_panel=OUTPUT,
        ),
    ] = False,
    output: Annotated[
        str | None,
        typer.Option(
            help="A file, or - for stdout; else the series folder. A card ending in .png is one.",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Write the report of a series or a ladder again: page, Markdown, JSON, JUnit or a card."""
    from evalstab.workflow.reporting import printed, report

    if output == "-":
        answer(printed(folder, form, share=share))
    else:
        answer(str(report(folder, form, Path(output) if output else None, share=share)))
