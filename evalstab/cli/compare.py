"""``evalstab compare``: two series side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, verb

EXAMPLES = """
Examples:

evalstab compare reports/AWQ reports/GPTQ --vary quant

evalstab compare reports/baselines/rig reports/TONIGHT --json
"""


@verb
def command(
    base: Annotated[
        Path, typer.Argument(help="A series folder, or frozen scores.", show_default=False)
    ],
    new: Annotated[Path, typer.Argument(help="The series to compare.", show_default=False)],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="What is meant to differ: quant, launch, context, groups, sampling …; repeatable.",
            rich_help_panel=BASIC,
            metavar="FACTOR",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for pages and plot (default: compare/ in NEW, or in BASE where NEW is a "
            "baseline).",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the comparison as JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Has the stability changed, has the consensus moved, is the new one worse?"""
    from evalstab.workflow.compare import compare_series, table

    found = compare_series(base, new, vary or (), output)
    if as_json:
        answer_json(found)
    else:
        answer(table(found))
    if not found["files"]:
        say("no page: nothing is written into a baseline; name a folder with --output")
    elif not as_json:
        say(f"page: {found['files']['html']}, the same as Markdown: {found['files']['md']}")
