"""``evalstab nightly``: every series of the configuration, one night."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstab.cli.common import (
    BASIC,
    OUTPUT,
    annotate,
    answer,
    answer_json,
    on_github,
    say,
    silent,
    verb,
)

if TYPE_CHECKING:
    from evalstab.nightly.night import Night

EXAMPLES = """
Examples:

evalstab nightly --dry-run [dim]# what would run, in which order, and how long[/dim]

evalstab nightly --quiet [dim]# for cron: says nothing when all is well[/dim]

evalstab nightly /srv/evalstab/evalstab.toml --json
"""


@verb
def command(
    config: Annotated[
        Path | None,
        typer.Argument(help="An evalstab.toml (default: that of this folder)."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Order, times and what is left out.", rich_help_panel=BASIC),
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print night.json.", rich_help_panel=OUTPUT)
    ] = False,
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="Nothing when all is well.", rich_help_panel=OUTPUT),
    ] = False,
) -> None:
    """Run every series of the night: history, comparison, pages; a cut night goes on."""
    from evalstab.cli.people import people_for
    from evalstab.nightly.conduct import nightly, preview
    from evalstab.nightly.config import nightly_settings
    from evalstab.settings import CONFIG_NAME, read_config

    if config is not None:
        os.environ["EVALSTAB_CONFIG"] = str(config)
    where = str(config or os.environ.get("EVALSTAB_CONFIG", CONFIG_NAME))
    settings = nightly_settings(read_config(config), where)
    people = people_for(silent if quiet or dry_run else say, quiet=quiet)
    if dry_run:
        _show_plan(preview(settings, people, say), as_json=as_json)
        return
    night = nightly(settings, people, say)
    if as_json:
        answer_json(_plain(night))
    if not quiet or night.exit_code:
        _show(night, as_json=as_json)
    if night.exit_code:
        raise typer.Exit(night.exit_code)


def _plain(night: Night) -> dict[str, object]:
    import msgspec

    found: dict[str, object] = msgspec.to_builtins(night)
    return found | {"exit_code": night.exit_code}


def _show(night: Night, *, as_json: bool) -> None:
    from evalstab.nightly.annotations import night_annotations
    from evalstab.nightly.summary import headline
    from evalstab.text.excerpt import for_terminal

    if on_github():
        annotate(night_annotations(night))
    if as_json:
        return
    answer(headline(night))
    for item in night.items:
        for result in item.results:
            size = f" at {result.context // 1000}k" if result.context else ""
            answer(f"  {item.name}{size}: {result.state}. {result.reading}")
        if not item.results:
            told = for_terminal(item.problem or "")
            answer(f"  {item.name}: {item.status.replace('_', ' ')}. {told}".rstrip())
    answer(f"  page: {night.root / 'summary.md'}")


def _show_plan(night: Night, *, as_json: bool) -> None:
    from evalstab.report.numbers import duration

    if as_json:
        answer_json(_plain(night))
        return
    for item in night.items:
        known = item.expected_seconds is not None
        time = duration(item.expected_seconds or 0.0) if known else "time unknown"
        tested = f"last tested {item.last_tested[:16]}" if item.last_tested else "never tested"
        source = item.expected_from or "no series yet; the probe told no rates"
        told = item.problem or f"{time} ({source}), {tested}"
        told = f"left out: {told}" if item.status == "left_out" else told
        answer(f"{item.name}: {told}")
