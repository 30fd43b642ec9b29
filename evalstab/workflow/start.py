"""Where a request goes: one series, two in turn, or a ladder; and the same for a folder."""

from __future__ import annotations

from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError
from evalstab.series.ladder import is_ladder
from evalstab.workflow import against, ladder
from evalstab.workflow import run as running
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import Outcome, People
from evalstab.workflow.score import report, score, summary


def start(request: RunRequest, people: People) -> Outcome:
    """Carry a request out, whatever it asks for."""
    if not request.several:
        return against.run(request, people)
    if request.against is not None:
        raise UsageError(
            "--against compares one series: give one --concurrency and no --context above 16k"
        )
    return ladder.climb(request, people)


def go_on(
    root: Path,
    people: People,
    *,
    repeats: int | None = None,
    gate: str | None = None,
    early_stop: bool = True,
) -> Outcome:
    """Resume a series, or a ladder."""
    resume = ladder.resume_ladder if is_ladder(root) else running.resume
    return resume(root, people, repeats=repeats, gate=gate, early_stop=early_stop)


def scored(root: Path, *, processes: int = 1) -> Json:
    """The scores of a series or of all rungs of a ladder, from the records."""
    return ladder.score_ladder(root) if is_ladder(root) else score(root, processes=processes)


def first_screen(root: Path) -> str:
    """The terminal summary of a series or a ladder."""
    return ladder.ladder_first_screen(root) if is_ladder(root) else summary(root)


def reported(root: Path, form: str, output: Path | None) -> Path:
    """Write the report of a series in one format, or that of a ladder (Markdown)."""
    if not is_ladder(root):
        return report(root, form, output)
    if form != "md":
        raise FolderError(
            f"{root} is a ladder, whose report is Markdown: name the series of a rung for {form}"
        )
    ladder.score_ladder(root, anew=False)
    made = root / "report.md"
    if output is None or output == made:
        return made
    output.write_bytes(made.read_bytes())
    return output
