"""``evalstab import``: sessions that other agents recorded, as series."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, silent, verb

EXAMPLES = """
Examples:

evalstab import opencode ~/.local/share/opencode/opencode.db --out reports/mine --task eleven-profiles

evalstab import codex ~/.codex/sessions --out reports/codex --task my-task --group-by directory

evalstab import proxy recorded --out reports/recorded --task eleven-profiles
"""  # noqa: E501


SourceName = Annotated[
    str,
    typer.Argument(
        help="opencode, codex, claude-code or proxy.", metavar="FORMAT", show_default=False
    ),
]
Store = Annotated[Path, typer.Argument(help="A store, or a folder of them.", show_default=False)]
Out = Annotated[
    Path,
    typer.Option(
        help="The series folder; several groups become a folder each below it.",
        rich_help_panel=OUTPUT,
        show_default=False,
    ),
]
TaskName = Annotated[
    str | None,
    typer.Option(
        help="The task that the sessions worked on; without one no ranking is judged.",
        rich_help_panel=BASIC,
    ),
]
GroupBy = Annotated[
    str | None,
    typer.Option(
        help="One series for each task-title, directory, or match of a regular expression in "
        "title, prompt or folder.",
        rich_help_panel=BASIC,
        metavar="task-title|directory|REGEX",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the scores.", rich_help_panel=OUTPUT)]
Quiet = Annotated[bool, typer.Option("--quiet", help="No prose.", rich_help_panel=OUTPUT)]


@verb
def command(
    source: SourceName,
    path: Store,
    out: Out,
    task: TaskName = None,
    group_by: GroupBy = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Make series of sessions that agents left; read-only, and judged like our own trials."""
    from evalstab.workflow.imports import ImportRequest, import_sessions
    from evalstab.workflow.score import summary

    request = ImportRequest(source=source, path=path, out=out, task=task, group_by=group_by)
    made = import_sessions(request, silent if quiet else say)
    if as_json:
        scores = [one.scores for one in made]
        answer_json(scores[0] if len(made) == 1 else {"series": scores})
        return
    for one in made:
        if not quiet:
            answer(summary(one.folder))
