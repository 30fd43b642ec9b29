"""``evalstab export``: one flat table a trial."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import OUTPUT, say, verb

EXAMPLES = """
Examples:

evalstab export csv reports/SERIES --output trials.csv

evalstab export parquet reports/LADDER --output trials.parquet
"""


@verb
def command(
    form: Annotated[
        str, typer.Argument(help="csv or parquet.", metavar="FORMAT", show_default=False)
    ],
    folder: Annotated[
        Path, typer.Argument(help="A series or a ladder.", metavar="DIR", show_default=False)
    ],
    output: Annotated[
        Path,
        typer.Option(help="The file to write.", rich_help_panel=OUTPUT, show_default=False),
    ],
) -> None:
    """Write the trials of a series as one flat table, a row a trial, for notebooks."""
    from evalstab.workflow.export import export

    rows = export(form, folder, output)
    say(f"{rows} trials in {output}")
