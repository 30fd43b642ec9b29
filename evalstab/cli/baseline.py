"""``evalstab baseline``: what later nights are compared with, set by an explicit act."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, verb

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Set and show what later nights are compared with.",
)


@app.command("set", epilog="Example: evalstab baseline set reports/DIR --name minimax-awq")
@verb
def set_(
    folder: Annotated[
        Path, typer.Argument(help="A series folder, or a ladder.", show_default=False)
    ],
    name: Annotated[
        str | None,
        typer.Option(
            help="Its name in reports/baselines/ (default: task, endpoint and context).",
            rich_help_panel=BASIC,
        ),
    ] = None,
) -> None:
    """Freeze the scores of a series as a baseline; one of the same name is replaced."""
    from evalstab.history.baseline import GOOD
    from evalstab.workflow.trends import known_baselines, set_baseline

    made = {str(place) for place in set_baseline(folder, name)}
    for one in known_baselines():
        if one["path"] in made:
            answer(one["path"])
            if one["judged"] < GOOD:
                say(
                    f"{one['judged']} trials: small changes will not be told from noise; "
                    f"{GOOD} and more make a good baseline"
                )


@app.command(epilog="Example: evalstab baseline show")
@verb
def show(
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """All baselines: name, task, endpoint, context, trials, tau, and when they were set."""
    from evalstab.workflow.trends import known_baselines

    found = known_baselines()
    if as_json:
        answer_json({"schema_version": 1, "baselines": found})
        return
    if not found:
        answer("No baseline is set: evalstab baseline set DIR")
    for one in found:
        tau = "-" if one["kendall_tau"] is None else f"{one['kendall_tau']:.2f}"
        size = f"{one['context']:,} tokens" if one["context"] else "natural size"
        answer(
            f"{one['name']}: {one['task']} on {one['endpoint']}, {size}, "
            f"{one['judged']} trials, tau {tau}, set {one['set_at'][:16]}"
        )
