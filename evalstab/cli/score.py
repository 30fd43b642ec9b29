"""``evalstab score``: measures again from the records, without a network."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import OUTPUT, answer, answer_json, verb

EXAMPLES = """
Examples:

evalstab score reports/*eleven-profiles*

evalstab score --json reports/20261130-021400-eleven-profiles-rig-natural
"""


@verb
def command(
    folders: Annotated[list[Path], typer.Argument(help="Series folders.", show_default=False)],
    processes: Annotated[
        int, typer.Option(min=1, help="Processes to score with.", rich_help_panel=OUTPUT)
    ] = 1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the scores.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Compute all measures again from the records and rewrite scores.json and the report."""
    from evalstab.workflow.rungs import first_screen, scored

    all_scores = [scored(folder, processes=processes) for folder in folders]
    if as_json:
        answer_json(all_scores[0] if len(all_scores) == 1 else {"series": all_scores})
        return
    for folder in folders:
        answer(first_screen(folder))
