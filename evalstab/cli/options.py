"""The options of ``evalstab run``, each declared once, in four panels."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evalstab.cli.common import BASIC, CONDITIONS, LIMITS, OUTPUT

TaskArgument = Annotated[
    str, typer.Argument(help="A task's name or folder.", show_default=False, metavar="TASK")
]
Endpoint = Annotated[
    str | None,
    typer.Option(help="A name from evalstab.toml, or sim:PERSONA.", rich_help_panel=BASIC),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(help="The endpoint, as http://localhost:8000/v1.", rich_help_panel=BASIC),
]
Model = Annotated[
    str | None,
    typer.Option(help="The model's id; the only one served if not given.", rich_help_panel=BASIC),
]
ApiKeyEnv = Annotated[
    str | None, typer.Option(help="The variable that holds the key.", rich_help_panel=BASIC)
]
Repeats = Annotated[
    int | None, typer.Option(help="Trials (default: 5, or the gate's).", rich_help_panel=BASIC)
]
Gate = Annotated[
    str | None,
    typer.Option(
        help="nightly, acceptance, one of evalstab.toml, or a file.", rich_help_panel=BASIC
    ),
]
NoEarlyStop = Annotated[
    bool,
    typer.Option(
        "--no-early-stop", help="All trials, even if the verdict is in.", rich_help_panel=LIMITS
    ),
]
Against = Annotated[
    Path | None,
    typer.Option(
        help="Alternate trials with the conditions of this series, then compare.",
        rich_help_panel=BASIC,
        metavar="DIR",
    ),
]
Agent = Annotated[
    str | None,
    typer.Option(
        help="A program that carries the trials out, such as 'opencode run', 'codex exec', "
        "'claude -p', mini, or any command with {prompt} {base_url} {model} {workspace}.",
        rich_help_panel=BASIC,
        metavar="CMD",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(help="Seed of this tool itself; never sent.", rich_help_panel=CONDITIONS),
]
Context = Annotated[
    list[str] | None,
    typer.Option(
        help="Active context to reach, such as 60k; several sizes (16k,60k,100k) make a ladder.",
        rich_help_panel=CONDITIONS,
        metavar="SIZE,…",
    ),
]
Concurrency = Annotated[
    str,
    typer.Option(
        help="Trials at once; several levels (1,4,8) make one series each.",
        rich_help_panel=CONDITIONS,
        metavar="N,…",
    ),
]
Shuffle = Annotated[
    bool,
    typer.Option(
        "--shuffle",
        help="Another reading order for every two trials: tells position effects from noise.",
        rich_help_panel=CONDITIONS,
    ),
]
Cache = Annotated[
    str,
    typer.Option(
        help="warm, or cold: no trial begins with text the server has read.",
        rich_help_panel=CONDITIONS,
    ),
]
Groups = Annotated[
    int,
    typer.Option(
        help="Split the candidates into 2 or 3 conversations and join the rankings.",
        rich_help_panel=CONDITIONS,
    ),
]
Thinking = Annotated[str | None, typer.Option(help="on, off or auto.", rich_help_panel=CONDITIONS)]
Language = Annotated[
    str | None,
    typer.Option(help="Expected language of what the model writes.", rich_help_panel=CONDITIONS),
]
NoStream = Annotated[
    bool,
    typer.Option("--no-stream", help="Ask for whole answers.", rich_help_panel=CONDITIONS),
]
Set = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        help="Any setting as key=value, such as sampling.temperature=0.6, extra_body.top_k=40, "
        "task.tools=typed; may be repeated.",
        rich_help_panel=CONDITIONS,
        metavar="KEY=VALUE",
    ),
]
MaxSteps = Annotated[int | None, typer.Option(help="Steps a trial.", rich_help_panel=LIMITS)]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens a response.", rich_help_panel=LIMITS)]
Retries = Annotated[
    int | None, typer.Option(help="Repeats of a failed request.", rich_help_panel=LIMITS)
]
IdleTimeout = Annotated[
    float | None,
    typer.Option(help="Seconds of silence that end a request.", rich_help_panel=LIMITS),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The series folder (default: a new one in reports/).", rich_help_panel=OUTPUT
    ),
]
AsJson = Annotated[
    bool,
    typer.Option("--json", help="Print scores.json instead of text.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="No progress and no prose.", rich_help_panel=OUTPUT)
]
