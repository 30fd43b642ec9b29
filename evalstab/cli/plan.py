"""``evalstab plan``: what a series will cost, and what it can decide."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstab.cli import options as opt
from evalstab.cli.common import BASIC, CONDITIONS, OUTPUT, answer, answer_json, say, verb

EXAMPLES = """
Examples:

evalstab plan --gate acceptance --endpoint rig

evalstab plan --endpoint rig --context 60k,80k,100k --probe
"""


@verb
def command(
    gate: opt.Gate = "nightly",
    endpoint: opt.Endpoint = None,
    task: Annotated[
        str, typer.Option(help="The task to plan for.", rich_help_panel=BASIC)
    ] = "eleven-profiles",
    repeats: opt.Repeats = None,
    context: Annotated[
        str | None,
        typer.Option(help="Rungs, such as 60k,100k.", rich_help_panel=CONDITIONS),
    ] = None,
    probe: Annotated[
        bool,
        typer.Option(
            "--probe", help="Ask the endpoint where no series is known.", rich_help_panel=BASIC
        ),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the plan as JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Trials, hours, tokens and money before they are spent, and what N trials can decide."""
    from evalstab.cli.people import people_for
    from evalstab.workflow.plan import Wanted, plan, told
    from evalstab.workflow.request import parse_size

    contexts = tuple(parse_size(part) for part in context.split(",")) if context else ()
    wanted = Wanted(
        task=task,
        endpoint=endpoint,
        gate=gate or "nightly",
        contexts=contexts,
        repeats=repeats,
    )
    found = plan(wanted, people_for(say, quiet=True) if probe else None)
    if as_json:
        answer_json(found)
    else:
        answer(told(found))
