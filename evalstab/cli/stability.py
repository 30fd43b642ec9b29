"""``evalstab stability``: the stability block for a table of one's own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, verb
from evalstab.errors import UsageError

EXAMPLES = """
Examples:

evalstab stability totals.csv [dim]# columns trial, candidate, total (and/or place)[/dim]

evalstab stability wide.csv --values total --json
"""


@verb
def command(
    table: Annotated[Path, typer.Argument(help="CSV or JSON; - reads stdin.", show_default=False)],
    values: Annotated[
        str | None,
        typer.Option(help="What a wide table holds: total or place.", rich_help_panel=BASIC),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the block as JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """How far trials agree that you already have: the block that scores.json calls stability."""
    from evalstab.workflow.stability import stability_of, stability_text

    if values not in (None, "total", "place"):
        raise UsageError(f"--values {values!r}: write total or place")
    if as_json:
        answer_json(stability_of(table, values, say))  # type: ignore[arg-type]
    else:
        answer(stability_text(table, values, say))  # type: ignore[arg-type]
