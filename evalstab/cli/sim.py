"""``evalstab sim``: the simulated endpoint as a server of its own, and its truth."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, CONDITIONS, OUTPUT, answer, answer_json, verb

EXAMPLES = """
Examples:

evalstab sim --persona steady --port 8000

evalstab sim --persona faulty --dialect llamacpp --truth /tmp/truth

evalstab sim verify reports/SERIES reports/SERIES/truth.json
"""

app = typer.Typer(
    help="Serve a simulated model with known truth, or compare findings with its truth.",
    epilog=EXAMPLES,
    rich_markup_mode="rich",
)


Persona = Annotated[str, typer.Option(help="How the model behaves.", rich_help_panel=BASIC)]
Dialect = Annotated[
    str, typer.Option(help="Which server it seems to run on.", rich_help_panel=BASIC)
]
Port = Annotated[int, typer.Option(help="0: any free port.", rich_help_panel=BASIC)]
Seed = Annotated[
    int | None, typer.Option(help="Default: the persona's own.", rich_help_panel=CONDITIONS)
]
TimeScale = Annotated[
    float, typer.Option(help="Simulated seconds in a real second.", rich_help_panel=CONDITIONS)
]
Rate = Annotated[
    float | None, typer.Option(help="Constant tokens a second.", rich_help_panel=CONDITIONS)
]
Context = Annotated[int, typer.Option(help="Context size in tokens.", rich_help_panel=CONDITIONS)]
TaskTruth = Annotated[
    Path | None,
    typer.Option(help="A task's truth, for personas that go by it.", rich_help_panel=CONDITIONS),
]
Truth = Annotated[
    Path | None,
    typer.Option(help="Where the truth goes: a folder or .json file.", rich_help_panel=OUTPUT),
]


@app.callback(invoke_without_command=True)
@verb
def serve(
    ctx: typer.Context,
    persona: Persona = "drifting",
    dialect: Dialect = "vllm",
    port: Port = 0,
    seed: Seed = None,
    time_scale: TimeScale = 1.0,
    rate: Rate = None,
    context: Context = 262_144,
    task_truth: TaskTruth = None,
    truth: Truth = None,
) -> None:
    """Serve until Ctrl-C; prints ``ready http://127.0.0.1:PORT`` when it listens."""
    if ctx.invoked_subcommand is not None:
        return
    from evalstab.sim.__main__ import main

    given: list[str] = []
    for name, value in ctx.params.items():
        if value is not None:
            given += [f"--{name.replace('_', '-')}", str(value)]
    if code := main(given):
        raise typer.Exit(code)


@app.command("verify")
@verb
def verify(
    folder: Annotated[Path, typer.Argument(help="A scored series folder.", metavar="DIR")],
    truth: Annotated[Path, typer.Argument(help="The simulator's truth file.", metavar="TRUTH")],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Precision and recall of each finding code against what was injected."""
    from evalstab.sim import verify as verification

    rows = verification.verify(folder, truth)
    if as_json:
        answer_json({"codes": rows})
    else:
        answer(verification.table(rows))
