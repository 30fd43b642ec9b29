"""``evalstab task``: the tasks there are, and new ones out of files of your own."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli import task_make
from evalstab.cli.common import BASIC, CONDITIONS, answer, say, verb

EXAMPLES = """
Examples:

evalstab task list

evalstab task new my-task --from ~/applications --prompt ask.md --language de

evalstab task check my-task
"""

app = typer.Typer(
    help="List, show, check and make tasks.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
)

app.add_typer(task_make.app, name="make")

Ref = Annotated[str, typer.Argument(help="A task's name or folder.", metavar="TASK")]


@app.command("list")
@verb
def list_tasks() -> None:
    """The tasks of this folder and those that come with evalstab."""
    from evalstab.workflow.tasks import listing

    answer(listing())


@app.command("show")
@verb
def show(task: Ref) -> None:
    """What the model is sent, word for word, and what is expected of it."""
    from evalstab.workflow.tasks import shown

    answer(shown(task))


@app.command("check")
@verb
def check(task: Ref) -> None:
    """Every mistake in a task at once, each with file, key and mend; exit code 3 if any."""
    from evalstab.workflow.tasks import checked

    answer(checked(task))


Folder = Annotated[Path, typer.Argument(help="The new task's folder.", metavar="FOLDER")]
Source = Annotated[
    Path | None,
    typer.Option(
        "--from",
        help="A folder with one file a candidate, or a text file with one candidate a line. "
        "Without it: the files in FOLDER, or an example to edit if there are none.",
        rich_help_panel=BASIC,
    ),
]
Prompt = Annotated[
    Path | None, typer.Option(help="A file with what is asked.", rich_help_panel=BASIC)
]
Language = Annotated[str, typer.Option(help="Language of the answers.", rich_help_panel=CONDITIONS)]
Ranking = Annotated[
    str,
    typer.Option(
        help="Where the ranking will stand: json, markdown-table or numbered-list.",
        rich_help_panel=CONDITIONS,
    ),
]
Tools = Annotated[
    str,
    typer.Option(
        help="free, typed (submit_ranking), or none (one turn, files inline).",
        rich_help_panel=CONDITIONS,
    ),
]


@app.command("new")
@verb
def new(
    folder: Folder,
    source: Source = None,
    prompt: Prompt = None,
    language: Language = "en",
    ranking: Ranking = "json",
    tools: Tools = "free",
) -> None:
    """Make a task out of files of your own; nothing is overwritten."""
    from evalstab.workflow.tasks import NewTask, make_new

    made = make_new(NewTask(folder, source, prompt, language, ranking, tools))
    answer(str(made))
    say(f"read {made / 'task.toml'}, then: evalstab run {made}")
