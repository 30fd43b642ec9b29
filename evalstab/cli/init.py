"""``evalstab init``: a configuration to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, answer, say, verb

EXAMPLES = """
Examples:

evalstab init

evalstab init --base-url http://rig1:8000/v1
"""


@verb
def command(
    base_url: Annotated[
        str | None,
        typer.Option(
            help="Your server, where it is not on a usual port of this machine.",
            rich_help_panel=BASIC,
        ),
    ] = None,
) -> None:
    """Write a commented evalstab.toml for the server found here; never overwrites one."""
    from evalstab.text.excerpt import for_terminal
    from evalstab.workflow.init import init

    made = init(Path(), base_url)
    for one in made.found:
        say(f"found {one.base_url}: {for_terminal(one.model or 'a server that wants a key')}")
    if not made.found:
        say("no server found on the usual ports; the file uses the simulated endpoint")
    answer(str(made.path))
    say("next: evalstab nightly --dry-run")
