"""``evalstab run``: a series from start to report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalstab.cli.common import BASIC, CONDITIONS, LIMITS, OUTPUT, say, silent, verb

EXAMPLES = """
Examples:

evalstab run eleven-profiles [dim]# simulated endpoint, nothing to set up[/dim]

evalstab run eleven-profiles --base-url http://localhost:8000/v1 --model my-model

evalstab run eleven-profiles --endpoint minimax-awq --repeats 5 --gate nightly

evalstab run three-notes --endpoint small --set task.tools=typed --set tool_choice=required
"""


@verb
def command(
    task: Annotated[str, typer.Argument(help="A task's name or folder.", show_default=False)],
    endpoint: Annotated[
        str | None,
        typer.Option(help="A name from evalstab.toml, or sim:PERSONA.", rich_help_panel=BASIC),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="The endpoint, for example http://localhost:8000/v1.", rich_help_panel=BASIC
        ),
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The model's id.", rich_help_panel=BASIC)
    ] = None,
    api_key_env: Annotated[
        str | None,
        typer.Option(help="The variable that holds the key.", rich_help_panel=BASIC),
    ] = None,
    repeats: Annotated[int, typer.Option(help="Trials.", rich_help_panel=BASIC)] = 5,
    seed: Annotated[
        int | None,
        typer.Option(help="Seed of this tool; never sent.", rich_help_panel=CONDITIONS),
    ] = None,
    concurrency: Annotated[
        int, typer.Option(help="Trials at once.", rich_help_panel=CONDITIONS)
    ] = 1,
    thinking: Annotated[
        str | None, typer.Option(help="on, off or auto.", rich_help_panel=CONDITIONS)
    ] = None,
    no_stream: Annotated[
        bool, typer.Option("--no-stream", help="Ask for whole answers.", rich_help_panel=CONDITIONS)
    ] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", help="Any setting, key=value; may be repeated.", rich_help_panel=CONDITIONS
        ),
    ] = None,
    max_steps: Annotated[
        int | None, typer.Option(help="Steps a trial.", rich_help_panel=LIMITS)
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option(help="Tokens a response.", rich_help_panel=LIMITS)
    ] = None,
    retries: Annotated[
        int | None, typer.Option(help="Repeats of a failed request.", rich_help_panel=LIMITS)
    ] = None,
    idle_timeout: Annotated[
        float | None,
        typer.Option(help="Seconds of silence that end a request.", rich_help_panel=LIMITS),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The series folder.", rich_help_panel=OUTPUT)
    ] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print scores.json instead of the summary.", rich_help_panel=OUTPUT
        ),
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", help="No progress, no prose.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Run a task N times against an endpoint, score how stable it was, and report it."""
    flags: dict[str, Any] = {
        "base_url": base_url,
        "model": model,
        "api_key_env": api_key_env,
        "thinking": thinking,
        "stream": False if no_stream else None,
        "sampling.max_tokens": max_tokens,
        "retries": retries,
        "timeouts.idle": idle_timeout,
    }
    overrides: dict[str, Any] = {"limits.max_steps": max_steps}
    _assign(settings or [], flags, overrides)
    from evalstab.cli.people import people_for, show
    from evalstab.workflow.request import RunRequest
    from evalstab.workflow.run import run

    outcome = run(
        RunRequest(
            task=task,
            endpoint=endpoint,
            flags={key: value for key, value in flags.items() if value is not None},
            task_overrides={key: value for key, value in overrides.items() if value is not None},
            repeats=repeats,
            concurrency=concurrency,
            seed=seed,
            out=out,
        ),
        people_for(silent if quiet else say, quiet=quiet),
    )
    show(outcome, as_json=as_json, quiet=quiet)


def _assign(pairs: list[str], flags: dict[str, Any], overrides: dict[str, Any]) -> None:
    from evalstab.settings import parse_assignment

    for pair in pairs:
        key, value = parse_assignment(pair)
        if key.startswith("task."):
            overrides[key.removeprefix("task.")] = value
        else:
            flags[key] = value
