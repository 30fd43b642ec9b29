"""The command tree. Commands import what they need when they run, so that help is instant."""

from __future__ import annotations

from typing import Annotated

import typer

from evalstab.cli import compare, gate, plan, report, resume, run, score, sim, stability, task

app = typer.Typer(
    name="evalstab",
    help=(
        "Is a model's judgement the same when it is asked again? evalstab runs one agentic "
        "ranking task N times against an OpenAI-compatible endpoint and scores how stable it was."
    ),
    epilog=(
        "Start with: [bold]evalstab run eleven-profiles[/bold] (simulated endpoint), then "
        "[bold]evalstab run eleven-profiles --base-url http://localhost:8000/v1[/bold]"
    ),
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"evalstab {version('evalstab')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


app.command("run", epilog=run.EXAMPLES)(run.command)
app.command("resume", epilog=resume.EXAMPLES)(resume.command)
app.command("score", epilog=score.EXAMPLES)(score.command)
app.command("gate", epilog=gate.EXAMPLES)(gate.command)
app.command("compare", epilog=compare.EXAMPLES)(compare.command)
app.command("stability", epilog=stability.EXAMPLES)(stability.command)
app.command("plan", epilog=plan.EXAMPLES)(plan.command)
app.command("report", epilog=report.EXAMPLES)(report.command)
app.add_typer(sim.app, name="sim")
app.add_typer(task.app, name="task")
