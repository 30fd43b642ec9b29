"""``evalstab check``: can this model be tested as asked."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evalstab.cli import options as opt
from evalstab.cli.common import BASIC, CONDITIONS, OUTPUT, answer, answer_json, say, verb

if TYPE_CHECKING:
    from evalstab.workflow.checking.model import Checked, CheckRequest

EXAMPLES = """
Examples:

evalstab check --base-url http://localhost:8000/v1

evalstab check --endpoint rig --context 60k --concurrency 4 --task eleven-profiles

evalstab check --endpoint rig --context 100k --model-config ~/models/m/config.json --on rig1
"""

COLOURS = {"ok": "green", "warning": "yellow", "failed": "bold red", "unknown": "cyan"}

Task = Annotated[
    str | None, typer.Option(help="The task that is to be run.", rich_help_panel=BASIC)
]
ModelConfig = Annotated[
    Path | None,
    typer.Option(
        help="The model's config.json: what its KV cache costs.",
        rich_help_panel=CONDITIONS,
        metavar="FILE",
    ),
]
On = Annotated[
    str | None,
    typer.Option(help="The server's machine, as ssh knows it.", rich_help_panel=CONDITIONS),
]
Save = Annotated[
    bool,
    typer.Option("--save", help="Keep the answer in reports/checks/.", rich_help_panel=OUTPUT),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


@verb
def command(
    endpoint: opt.Endpoint = None,
    base_url: opt.BaseUrl = None,
    model: opt.Model = None,
    api_key_env: opt.ApiKeyEnv = None,
    task: Task = None,
    context: opt.Context = None,
    concurrency: opt.Concurrency = "1",
    thinking: opt.Thinking = None,
    settings: opt.Set = None,
    model_config: ModelConfig = None,
    on: On = None,
    save: Save = False,
    as_json: AsJson = False,
) -> None:
    """Look at an endpoint and ask it a few small requests: can it be tested as asked?"""
    from evalstab.workflow.checking.model import CheckRequest
    from evalstab.workflow.request import parse_levels, parse_sizes

    flags = {
        "base_url": base_url,
        "model": model,
        "api_key_env": api_key_env,
        "thinking": thinking,
    }
    request = CheckRequest(
        endpoint=endpoint,
        flags=_flags(flags, settings or []),
        task=task,
        contexts=parse_sizes(context or []),
        levels=parse_levels(concurrency),
        model_config=model_config,
        on=on,
        save=save,
    )
    _answer(request, as_json=as_json)


def _flags(given: dict[str, Any], pairs: list[str]) -> dict[str, Any]:
    from evalstab.settings import parse_assignment

    named = {key: value for key, value in given.items() if value is not None}
    return named | dict(parse_assignment(pair) for pair in pairs)


def _answer(request: CheckRequest, *, as_json: bool) -> None:
    from evalstab.sim.open import open_sim
    from evalstab.workflow.check import as_json as plain
    from evalstab.workflow.check import check

    checked = check(request, open_sim, say)
    if as_json:
        answer_json(plain(checked))
    else:
        _show(checked)
    if checked.saved:
        say(f"saved {checked.saved}")
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)


def _show(checked: Checked) -> None:
    """The rows: a table on a terminal, lines elsewhere."""
    import sys

    if checked.simulated:
        say(f"simulated endpoint {checked.endpoint} (name one with --endpoint or --base-url)")
    if sys.stdout.isatty():
        _table(checked)
        return
    width = max(len(row.subject) for row in checked.rows)
    for row in checked.rows:
        answer(f"{row.status:<8} {_safe(row.subject):<{width}}  {_safe(row.found)}")
        if row.advice:
            answer(f"{'':<8} {'':<{width}}  -> {_safe(row.advice)}")
    answer(_last(checked))


def _table(checked: Checked) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(show_lines=False, pad_edge=False)
    for column in ("", "what", "found", "what to do"):
        table.add_column(column, overflow="fold")
    for row in checked.rows:
        table.add_row(
            Text(row.status, style=COLOURS[row.status]),
            Text(_safe(row.subject)),
            Text(_safe(row.found)),
            Text(_safe(row.advice or "")),
        )
    console = Console()
    console.print(table)
    console.print(Text(_last(checked)))


def _safe(text: str) -> str:
    """What a server said, without our key and anything that a terminal would obey."""
    from evalstab.redact import scrub_text
    from evalstab.text.excerpt import for_terminal

    return for_terminal(scrub_text(text))


def _last(checked: Checked) -> str:
    count = dict.fromkeys(COLOURS, 0)
    for row in checked.rows:
        count[row.status] += 1
    told = ", ".join(f"{number} {status}" for status, number in count.items() if number)
    end = "cannot be tested as asked" if checked.exit_code else "can be tested as asked"
    unknown = "; what is unknown was not seen to be well" if count["unknown"] else ""
    return f"{told}: {checked.model or checked.endpoint} {end}{unknown}"
