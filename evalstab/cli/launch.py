"""``evalstab launch``: how a server was started."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, verb

if TYPE_CHECKING:
    from evalstab.workflow.launching import Subject

EXAMPLES = """
Examples:

evalstab launch show reports/SERIES

evalstab launch show --base-url http://localhost:8000/v1

evalstab launch recover --base-url http://localhost:8000/v1 --container my-server
"""

app = typer.Typer(
    help="Show how a server was started, compare two starts, recover a lost start command.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Endpoint = Annotated[
    str | None, typer.Option(help="A name from evalstab.toml.", rich_help_panel=BASIC)
]
BaseUrl = Annotated[str | None, typer.Option(help="The endpoint's address.", rich_help_panel=BASIC)]
Container = Annotated[
    str | None, typer.Option(help="The container that it runs in.", rich_help_panel=BASIC)
]
On = Annotated[
    str | None,
    typer.Option(help="The server's machine, by its ssh name.", rich_help_panel=BASIC),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


@app.command("show")
@verb
def show(
    folder: Annotated[
        Path | None,
        typer.Argument(help="A series folder; without it the server is looked at now."),
    ] = None,
    endpoint: Endpoint = None,
    base_url: BaseUrl = None,
    container: Container = None,
    on: On = None,
    as_json: AsJson = False,
) -> None:
    """The start command, ready to paste, and everything that is known, by rank of evidence."""
    from evalstab.workflow.launching import launch_now, launch_of, told_launch

    launch = (
        launch_of(folder) if folder else launch_now(_subject(endpoint, base_url, container, on))
    )
    if as_json:
        answer_json(launch)
    else:
        answer(told_launch(launch))


@app.command("diff")
@verb
def diff(
    base: Annotated[Path, typer.Argument(help="A series folder or a launch.json.")],
    new: Annotated[Path, typer.Argument(help="Another one.")],
    as_json: AsJson = False,
) -> None:
    """What two starts differ in; where one of them is not known: cannot tell."""
    from evalstab.workflow.launching import launch_differences, told_differences

    found = launch_differences(base, new)
    if as_json:
        answer_json({"differences": found})
    else:
        answer(told_differences(found))


@app.command("recover")
@verb
def recover(
    endpoint: Endpoint = None,
    base_url: BaseUrl = None,
    container: Container = None,
    on: On = None,
    home: Annotated[
        Path | None,
        typer.Option(help="Whose stores to search (default: yours).", rich_help_panel=BASIC),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Search agents' stores and shell history for the command that started this server."""
    from evalstab.workflow.launching import recovered, told_candidates

    found = recovered(_subject(endpoint, base_url, container, on), home)
    if as_json:
        answer_json({"candidates": found})
    else:
        answer(told_candidates(found))


def _subject(
    endpoint: str | None, base_url: str | None, container: str | None, on: str | None
) -> Subject:
    from evalstab.workflow.launching import Subject

    flags: dict[str, Any] = {"base_url": base_url} if base_url else {}
    return Subject(endpoint=endpoint, flags=flags, container=container, host=on)
