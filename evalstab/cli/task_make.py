"""``evalstab task make``: ranking tasks of any size whose right answer is known."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from evalstab.cli.common import BASIC, CONDITIONS, OUTPUT, answer, verb

EXAMPLES = """
Examples:

evalstab task make ranking --candidates 11 --context 60k --language de --domain applicants
--difficulty hard --seed 7 --out tasks/applicants-60k
"""

app = typer.Typer(
    help="Generate tasks with known truth from a seed.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    rich_markup_mode="rich",
)

Candidates = Annotated[int, typer.Option(help="3 to 60.", rich_help_panel=BASIC)]
Context = Annotated[
    str,
    typer.Option(
        help="Tokens of all documents and the prompt.", rich_help_panel=BASIC, metavar="SIZE"
    ),
]
Language = Annotated[str, typer.Option(help="de or en.", rich_help_panel=BASIC)]
Domain = Annotated[
    str, typer.Option(help="applicants, bids or incidents.", rich_help_panel=CONDITIONS)
]
Difficulty = Annotated[str, typer.Option(help="easy, medium or hard.", rich_help_panel=CONDITIONS)]
Seed = Annotated[int, typer.Option(help="Same seed, same bytes.", rich_help_panel=CONDITIONS)]
CharsPerToken = Annotated[
    float | None,
    typer.Option(
        help="Characters a token, where the language's default does not fit.",
        rich_help_panel=CONDITIONS,
    ),
]
Form = Annotated[
    bool, typer.Option("--form", help="Ask for a third document.", rich_help_panel=CONDITIONS)
]
Out = Annotated[
    Path, typer.Option(help="The task's folder.", rich_help_panel=OUTPUT, show_default=False)
]


@app.command("ranking", epilog=EXAMPLES)
@verb
def ranking(
    ctx: typer.Context,
    out: Out,
    candidates: Candidates = 11,
    context: Context = "60k",
    language: Language = "de",
    domain: Domain = "applicants",
    difficulty: Difficulty = "medium",
    seed: Seed = 1,
    chars_per_token: CharsPerToken = None,
    form: Form = False,
) -> None:
    """Generate a ranking task; the truth stands apart from what the agent sees."""
    from evalstab.task.generate.make import make_task
    from evalstab.task.generate.request import GenerateRequest
    from evalstab.workflow.request import parse_size

    asked: dict[str, Any] = {**ctx.params, "context": parse_size(context)}
    answer(str(make_task(GenerateRequest(**asked))))
