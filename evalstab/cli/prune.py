"""``evalstab prune``: raw records compressed, old ones taken away."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstab.cli.common import BASIC, LIMITS, OUTPUT, answer, answer_json, verb

if TYPE_CHECKING:
    from evalstab.chat import Json

EXAMPLES = """
Examples:

evalstab prune --dry-run --older-than 90 --keep 5

evalstab prune [dim]# only compresses what is finished[/dim]
"""


@verb
def command(
    older_than: Annotated[
        float | None,
        typer.Option(
            help="Take raw records away that are older than so many days.",
            min=0,
            rich_help_panel=LIMITS,
            metavar="DAYS",
        ),
    ] = None,
    keep: Annotated[
        int | None,
        typer.Option(
            help="Of every task, endpoint and context keep the newest so many as they are.",
            min=0,
            rich_help_panel=LIMITS,
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would go.", rich_help_panel=BASIC)
    ] = False,
    reports: Annotated[
        Path, typer.Option(help="The folder that holds the series.", rich_help_panel=BASIC)
    ] = Path("reports"),
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)
    ] = False,
) -> None:
    """Compress finished records; take old ones away. Scores, reports and baselines stay."""
    from evalstab.workflow.disk import Pruning, prune

    found = prune(reports, Pruning(older_than, keep, dry_run))
    if as_json:
        answer_json(found)
    else:
        _tell(found, "would be" if dry_run else "are")


def _tell(found: Json, word: str) -> None:
    from evalstab.workflow.disk import CHANGED, LEFT

    told = [one for one in found["series"] if one["action"].partition(":")[0] in (*CHANGED, LEFT)]
    for one in told:
        answer(_line(one))
    if same := len(found["series"]) - len(told):
        answer(f"nothing to do in {same} of {len(found['series'])} series")
    answer(f"{_size(found['bytes'])} {word} now {_size(found['bytes_after'])}")


def _line(one: Json) -> str:
    before, after = _size(one["bytes"]), _size(one["bytes_after"])
    size = before if one["bytes"] == one["bytes_after"] else f"{before} → {after}"
    action, _, why = one["action"].partition(": ")
    return f"{action:<18} {size:>22}  {one['folder']}{f': {why}' if why else ''}"


def _size(number: int) -> str:
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{number / size:,.1f} {unit}"
    return f"{number} B"
