"""``evalstab task``: the tasks there are, and new ones from files of your own."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstab.cli.common import answer, verb

app = typer.Typer(help="List, show, check and make tasks.", no_args_is_help=True)


@app.command("list")
@verb
def list_tasks() -> None:
    """The tasks of this folder and those shipped with evalstab."""
    from evalstab.workflow.tasks import listing

    answer(listing())


@app.command("show")
@verb
def show(task: Annotated[str, typer.Argument(help="A task's name or folder.")]) -> None:
    """What the model is sent, word for word, and what the task expects of it."""
    from evalstab.workflow.tasks import shown

    answer(shown(task))
