"""``evalstab gate``: the verdict about a series, as an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli import options as opt
from evalstab.cli.common import OUTPUT, annotate, answer, answer_json, on_github, say, verb

EXAMPLES = """
Examples:

evalstab gate reports/20261130-021400-eleven-profiles-rig-natural

evalstab gate DIR --gate acceptance --junit gate.xml
"""


@verb
def command(
    folder: Annotated[
        Path, typer.Argument(help="The folder of a series or a ladder.", show_default=False)
    ],
    gate: opt.Gate = None,
    junit: Annotated[
        Path | None, typer.Option(help="Also write JUnit XML.", rich_help_panel=OUTPUT)
    ] = None,
    as_json: opt.AsJson = False,
) -> None:
    """Judge a series, or every rung of a ladder: 0 passed, 5 failed, 6 undecided, 4 not judged."""
    from evalstab.workflow.gates import EXIT_CODES
    from evalstab.workflow.judging import judge_folder

    found = judge_folder(folder, gate, say, junit_file=junit)
    if on_github():
        from evalstab.text.github import LEVELS, annotation

        level = LEVELS.get(found.status, "notice")
        annotate([annotation(level, f"evalstab gate {folder}", "\n".join(found.lines))])
    if as_json:
        answer_json(found.document)
    else:
        answer("\n".join(found.lines))
    if code := EXIT_CODES[found.status]:
        raise typer.Exit(code)
