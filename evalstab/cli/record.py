"""``evalstab record``: a recording proxy for any agent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, say, verb

EXAMPLES = """
Examples:

evalstab record --upstream http://localhost:8000 --out recorded --port 8900

OPENAI_BASE_URL=http://127.0.0.1:8900/s/first-try/v1 some-agent [dim]# one session by its path[/dim]

evalstab import proxy recorded --out reports/recorded --task eleven-profiles
"""


@verb
def command(
    upstream: Annotated[
        str,
        typer.Option(
            help="The server that answers, such as http://localhost:8000.",
            rich_help_panel=BASIC,
            show_default=False,
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="Where exchanges are written, a folder a session.",
            rich_help_panel=OUTPUT,
            show_default=False,
        ),
    ],
    port: Annotated[int, typer.Option(help="0: any free port.", rich_help_panel=BASIC)] = 0,
    ca_file: Annotated[
        Path | None,
        typer.Option(
            help="Certificates to trust, such as a self-signed one of the server.",
            rich_help_panel=BASIC,
            show_default=False,
        ),
    ] = None,
) -> None:
    """Pass an agent's requests on as they are, and write down what came back, until Ctrl-C."""
    from evalstab.workflow.record import RecordRequest, record

    request = RecordRequest(upstream=upstream, out=out, port=port, ca_file=ca_file)
    recorded = record(request, lambda url: answer(f"ready {url}"), say)
    exchanges = sum(recorded.sessions.values())
    say(f"{exchanges} exchanges in {len(recorded.sessions)} sessions below {out}")
    if exchanges:
        say(f"score them: evalstab import proxy {out} --out FOLDER --task TASK")
