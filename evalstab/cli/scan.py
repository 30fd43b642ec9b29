"""``evalstab scan``: leaks and loops of any text."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evalstab.cli.common import BASIC, OUTPUT, answer, answer_json, say, verb

if TYPE_CHECKING:
    from evalstab.findings import Finding
    from evalstab.workflow.scan import Scanned

EXAMPLES = """
Examples:

evalstab scan answer.md --language de

evalstab scan workspace/ --language de --inputs applications/

some-agent | evalstab scan - --language en --channel reasoning --json
"""


Place = Annotated[
    str, typer.Argument(help="A text file, a folder, or - for standard input.", metavar="FILE")
]
Language = Annotated[
    str | None,
    typer.Option(
        help="The language it should be in, such as de or pt-BR (default: the text's own).",
        rich_help_panel=BASIC,
        metavar="TAG",
    ),
]
Inputs = Annotated[
    list[Path] | None,
    typer.Option(
        help="A file or folder that the writer was given: what stands there is no leak.",
        rich_help_panel=BASIC,
        metavar="PATH",
    ),
]
Channel = Annotated[
    str | None,
    typer.Option(
        help="What the text is: reasoning, content, arguments (JSON) or file.",
        rich_help_panel=BASIC,
        metavar="NAME",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.", rich_help_panel=OUTPUT)]


@verb
def command(
    place: Place,
    language: Language = None,
    inputs: Inputs = None,
    channel: Channel = None,
    as_json: AsJson = False,
) -> None:
    """Find foreign scripts, foreign languages, broken characters and loops in any text."""
    from evalstab.workflow.scan import scan

    scanned = scan(place, sys.stdin.buffer, language=language, inputs=inputs or [], channel=channel)
    if scanned.guessed:
        say(f"no --language: judged as {scanned.language}, which most of it is written in")
    if scanned.skipped:
        say(f"{len(scanned.skipped)} files that are no text were left out")
    if as_json:
        answer_json(scanned.as_json())
    elif sys.stdout.isatty() and scanned.findings:
        _table(scanned)
    else:
        _lines(scanned)


def _lines(scanned: Scanned) -> None:
    for path, one in scanned.findings:
        where = f"{path}:" if path else ""
        answer(
            f"{_safe(where)}{one.start}-{one.end}  {one.code}  {_kind(one)}  {_safe(_shown(one))}"
        )
    answer(_last(scanned))


def _table(scanned: Scanned) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(pad_edge=False)
    files = any(path for path, _ in scanned.findings)
    for column in (*(["file"] if files else []), "place", "finding", "kind", "text"):
        table.add_column(column, overflow="fold")
    for path, one in scanned.findings:
        cells = [_safe(path or "")] if files else []
        cells += [f"{one.start}-{one.end}", one.code, _kind(one), _safe(_shown(one))]
        table.add_row(*map(Text, cells))
    console = Console()
    console.print(table)
    console.print(Text(_last(scanned)))


def _kind(one: Finding) -> str:
    """The script and language of a leak, period and copies of a loop."""
    detail = one.detail
    if "copies" in detail:
        return _safe(f"{detail.get('kind')} x{detail['copies']}")
    named = [detail.get(key) for key in ("script", "language", "kind")]
    return _safe(" ".join(str(name) for name in named if name)) or "-"


def _shown(one: Finding) -> str:
    return one.excerpt or ""


def _safe(text: str) -> str:
    """Hostile text, without anything that a terminal would obey."""
    from evalstab.text.excerpt import for_terminal

    return for_terminal(text)


def _last(scanned: Scanned) -> str:
    number, texts = len(scanned.findings), scanned.texts
    found = "1 finding" if number == 1 else f"{number} findings"
    return (
        f"{found} in {'1 text' if texts == 1 else f'{texts} texts'}, judged as {scanned.language}"
    )
