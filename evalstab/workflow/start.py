"""Where a request goes: one series, two in turn, or a ladder; and the same for a folder."""

from __future__ import annotations

from pathlib import Path

from evalstab.chat import Json
from evalstab.errors import FolderError, UsageError
from evalstab.series.files import write_whole
from evalstab.series.ladder import is_ladder
from evalstab.workflow import against, ladder, reporting
from evalstab.workflow import run as running
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import Outcome, People
from evalstab.workflow.score import score, summary


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


def reported(root: Path, form: str, output: Path | None, *, share: bool = False) -> Path:
    """Write the report of a series in one format, or that of a ladder (page or Markdown)."""
    if not is_ladder(root):
        return reporting.report(root, form, output, share=share)
    made = _of_ladder(root, form, share=share)
    if output is None or output == made:
        return made
    write_whole(output, made.read_bytes())
    return output


def printed(root: Path, form: str, *, share: bool = False) -> str:
    """The same as text, for stdout."""
    if is_ladder(root):
        return _of_ladder(root, form, share=share).read_text(encoding="utf-8")
    return reporting.printed(root, form, share=share)


def _of_ladder(root: Path, form: str, *, share: bool) -> Path:
    if form not in ("md", "html") or share:
        what = "--share" if share else form
        raise FolderError(
            f"{root} is a ladder, whose report is html or md: name the series of a rung for {what}"
        )
    ladder.score_ladder(root, anew=False)
    return root / f"report.{form}"
