"""``evalstab resume``: go on with a series."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli import options as opt
from evalstab.cli.common import BASIC, OUTPUT, say, silent, verb

EXAMPLES = """
Examples:

evalstab resume reports/20261130-021400-eleven-profiles-rig-natural
"""


@verb
def command(
    folder: Annotated[Path, typer.Argument(help="The series folder.", show_default=False)],
    repeats: Annotated[
        int | None,
        typer.Option(
            help="More trials than planned; with a gate up to its next planned look.",
            rich_help_panel=BASIC,
        ),
    ] = None,
    gate: opt.Gate = None,
    no_early_stop: opt.NoEarlyStop = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print scores.json.", rich_help_panel=OUTPUT)
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress, no prose.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Go on where a series stopped, from its records; a finished one is scored again."""
    from evalstab.cli.people import people_for, show
    from evalstab.workflow.start import go_on

    outcome = go_on(
        folder,
        people_for(silent if quiet else say, quiet=quiet),
        repeats=repeats,
        gate=gate,
        early_stop=not no_early_stop,
    )
    show(outcome, as_json=as_json, quiet=quiet)
