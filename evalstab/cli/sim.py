"""``evalstab sim``: a server to try things on, simulated or with a small real model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, CONDITIONS, OUTPUT, answer, answer_json, say, verb
from evalstab.errors import UsageError

REAL = "A real model"

EXAMPLES = """
Examples:

evalstab sim --persona steady --port 8000

evalstab sim --persona faulty --dialect llamacpp --truth /tmp/truth

evalstab sim --real-model --port 8000 [dim]# needs evalstab\\[local][/dim]

evalstab sim verify reports/SERIES reports/SERIES/truth.json
"""

_OF_BOTH = {"port", "context"}
_OF_REAL = {"real_model", "model_file", "thinking", "threads"}

app = typer.Typer(
    help="Serve a simulated model with known truth (or a small real one), or verify findings.",
    epilog=EXAMPLES,
    rich_markup_mode="rich",
    add_completion=False,
)


Persona = Annotated[
    str,
    typer.Option(
        help="How the model behaves: cold-first, drifting, echo, faulty, loaded, perfect, slowing "
        "(paced, about an hour a series: see --time-scale), steady, or a .toml file of your own. "
        "Only perfect goes by a task's truth, steady by opinions of its own.",
        rich_help_panel=BASIC,
    ),
]
Dialect = Annotated[
    str,
    typer.Option(
        help="Which server it seems to run on: vllm, sglang, llamacpp, ik_llamacpp, minimax or "
        "ollama.",
        rich_help_panel=BASIC,
    ),
]
Port = Annotated[int, typer.Option(help="0: any free port.", rich_help_panel=BASIC)]
Seed = Annotated[
    int | None, typer.Option(help="Default: the persona's own.", rich_help_panel=CONDITIONS)
]
TimeScale = Annotated[
    float,
    typer.Option(
        help="Simulated seconds in a real second; 60 makes an hour of slowing or loaded a minute.",
        rich_help_panel=CONDITIONS,
    ),
]
Rate = Annotated[
    float | None, typer.Option(help="Constant tokens a second.", rich_help_panel=CONDITIONS)
]
Context = Annotated[
    int | None,
    typer.Option(
        help="Context size in tokens: 262144, real model 8192.", min=1, rich_help_panel=CONDITIONS
    ),
]
TaskTruth = Annotated[
    Path | None,
    typer.Option(help="A task's truth, for personas that go by it.", rich_help_panel=CONDITIONS),
]
Truth = Annotated[
    Path | None,
    typer.Option(help="Where the truth goes: a folder or .json file.", rich_help_panel=OUTPUT),
]
RealModel = Annotated[
    bool,
    typer.Option(
        "--real-model", help="Serve a real 135M model with llama.cpp.", rich_help_panel=REAL
    ),
]
ModelFile = Annotated[
    Path | None,
    typer.Option(help="Another GGUF file, with its own template.", rich_help_panel=REAL),
]
Thinking = Annotated[
    bool, typer.Option("--thinking", help="Answers begin by thinking.", rich_help_panel=REAL)
]
Threads = Annotated[
    int, typer.Option(help="More are slower on a busy machine.", min=1, rich_help_panel=REAL)
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
    context: Context = None,
    task_truth: TaskTruth = None,
    truth: Truth = None,
    real_model: RealModel = False,
    model_file: ModelFile = None,
    thinking: Thinking = False,
    threads: Threads = 1,
) -> None:
    """Serve until Ctrl-C; prints ``ready http://127.0.0.1:PORT`` when it listens."""
    if ctx.invoked_subcommand is not None:
        return
    _require_fitting(ctx, real_model=real_model)
    if real_model:
        _serve_real_model(ctx)
        return
    from evalstab.sim.__main__ import main

    given: list[str] = []
    for name, value in ctx.params.items():
        if value is not None and name not in _OF_REAL:
            given += [f"--{name.replace('_', '-')}", str(value)]
    if code := main(given):
        raise typer.Exit(code)


def _serve_real_model(ctx: typer.Context) -> None:
    from evalstab.sim.local import serve as local

    given = ctx.params
    asked = local.LocalModel(
        file=given["model_file"],
        port=given["port"],
        context=given["context"] or local.DEFAULT_CONTEXT,
        threads=given["threads"],
        thinking=given["thinking"],
    )
    local.serve(asked, say)


def _require_fitting(ctx: typer.Context, *, real_model: bool) -> None:
    """Refuse options that say nothing to the kind of server asked for."""
    given = {name for name in ctx.params if _stated(ctx, name)}
    if real_model and (odd := given - _OF_BOTH - _OF_REAL):
        raise UsageError(f"{_flags(odd)}: only for simulated models, leave it out")
    if not real_model and (odd := given & _OF_REAL):
        raise UsageError(f"{_flags(odd)}: only with --real-model")
    if {"model_file", "thinking"} <= given:
        raise UsageError("--thinking goes with our own template, --model-file brings another")


def _stated(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _flags(names: set[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in sorted(names))


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
