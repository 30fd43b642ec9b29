"""The command tree: one line a command; a command's module is imported when it is named.

Help of the whole program is plain text, since importing rich's panels would take longer than all
the rest of it; the help of each command has panels.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

COMMANDS = {
    "run": "Run a task N times against an endpoint, score how stable it was, and report it.",
    "resume": "Go on where a series stopped, from its records; a finished one is scored again.",
    "score": "Compute all measures again from the records; rewrite scores.json and the report.",
    "gate": "Judge a series: exit 0 passed, 5 failed, 6 undecided, 4 not to be judged.",
    "compare": "Has the stability changed, has the consensus moved, is the new one worse?",
    "stability": "How far trials agree that you already have, from a table of your own.",
    "check": "Can this model be tested as asked? Server, context, tools, parameters, settings.",
    "scan": "Leaks and loops in any text: foreign scripts and languages, repetition.",
    "plan": "Trials, hours, tokens and money before they are spent; what N trials can decide.",
    "init": "Write a commented evalstab.toml for the server found here; never overwrites one.",
    "nightly": "Run every series of the night: history, comparison, pages; a cut night goes on.",
    "history": "Nights in a row, steps in them, and drift from the baseline and from last night.",
    "baseline": "Set and show what later nights are compared with.",
    "prune": "Compress finished records; take old ones away. Scores, reports and baselines stay.",
    "report": "Write the report of a series again: page, Markdown, JSON, JUnit or a card.",
    "launch": "How a server was started: show it, compare two starts, recover the command.",
    "view": "Reports and transcripts in the browser, served on loopback until Ctrl-C.",
    "sim": "Serve a simulated model with known truth (or a small real one), or verify findings.",
    "record": "A recording proxy for any agent: requests pass as they are, exchanges are kept.",
    "import": "Series out of sessions that OpenCode, Codex, Claude Code or the proxy recorded.",
    "export": "One flat table, a row a trial, for notebooks: CSV, or Parquet.",
    "task": "List, show, check and make tasks.",
}
"""Every command with what it is for; ``evalstab.cli.NAME`` holds it as ``command`` or ``app``."""


class Commands(TyperGroup):
    """A group that imports the module of a command only when that command is used."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = {name: TyperCommand(name) for name in COMMANDS}
        for name, meaning in COMMANDS.items():
            self.commands[name].short_help = meaning

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command with all of its options."""
        del ctx
        return _load(cmd_name) if cmd_name in COMMANDS else None

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Usage, options and commands in plain text."""
        super(TyperGroup, self).format_help(ctx, formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table of commands, none of them imported."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def _load(name: str) -> Any:
    module = import_module(f"evalstab.cli.{name}")
    own: typer.Typer | None = getattr(module, "app", None)
    if own is None:
        own = typer.Typer(add_completion=False, rich_markup_mode="rich")
        own.command(name, epilog=module.EXAMPLES)(module.command)
    return typer.main.get_command(own)


app = typer.Typer(
    name="evalstab",
    cls=Commands,
    help=(
        "Is a model's judgement the same when it is asked again? evalstab runs one agentic "
        "ranking task N times against an OpenAI-compatible endpoint and scores how stable it was."
    ),
    epilog=(
        "Start with: evalstab run eleven-profiles (simulated endpoint), then "
        "evalstab run eleven-profiles --base-url http://localhost:8000/v1"
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
