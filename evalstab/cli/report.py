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
"""


@verb
def command(
    folder: Annotated[Path, typer.Argument(help="The series folder.", show_default=False)],
    form: Annotated[
        str, typer.Option("--format", help="md or json.", rich_help_panel=OUTPUT)
    ] = "md",
    output: Annotated[
        str | None,
        typer.Option(
            help="A file, or - for stdout; else the series folder.", rich_help_panel=OUTPUT
        ),
    ] = None,
) -> None:
    """Write the report of a series again (Markdown with plots, or the scores as JSON)."""
    from evalstab.workflow.start import reported

    written = reported(folder, form, None if output in (None, "-") else Path(str(output)))
    if output == "-":
        answer(written.read_text(encoding="utf-8"))
    else:
        answer(str(written))
