"""``evalstab view``: reports and transcripts in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import answer, verb

EXAMPLES = """
Examples:

evalstab view reports/

evalstab view reports/20261130-021400-eleven-profiles-rig-natural --port 8765
"""


@verb
def command(
    folder: Annotated[
        Path, typer.Argument(help="A series or ladder, or the folder of several.")
    ] = Path("reports"),
    port: Annotated[int, typer.Option(min=0, max=65535, help="0: any free port.")] = 0,
) -> None:
    """Reports and transcripts in the browser, served on loopback until Ctrl-C."""
    from evalstab.view import Server
    from evalstab.workflow.reporting import page_of

    with Server(folder, page_of, port) as server:
        answer(f"ready {server.url}")
        server.serve_forever()
