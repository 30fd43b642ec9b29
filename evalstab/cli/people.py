"""Progress on a terminal, prose on stderr, and the simulator's opener for the verbs."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, field

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from evalstab.cli.common import annotate, answer, answer_json, on_github, say
from evalstab.endpoint.base import Attempt
from evalstab.series.folder import SeriesFile
from evalstab.sim.open import open_sim
from evalstab.trial.loop import Watcher
from evalstab.trial.record import Step, TrialEnded
from evalstab.workflow.request import Announce
from evalstab.workflow.run import Outcome, People
from evalstab.workflow.rungs import first_screen

UNDECIDED = 6
"""The exit code of a gate that could not decide."""


def people_for(announce: Announce, *, quiet: bool) -> People:
    """Whom a verb talks to: prose through ``announce``, a live table only on a terminal."""

    def watcher(file: SeriesFile) -> Watcher:
        if quiet:
            return Silence()
        if sys.stderr.isatty():
            return Progress(file.repeats)
        return Lines(file.repeats, announce)

    return People(announce=announce, watcher=watcher, open_sim=open_sim)


def show(outcome: Outcome, *, as_json: bool, quiet: bool) -> None:
    """The answer of ``run`` and ``resume`` on stdout, then the exit code."""
    if as_json:
        answer_json(outcome.scores)
    elif not quiet:
        answer(first_screen(outcome.folder))
    if outcome.problem:
        say(f"error: {outcome.problem}")
    if outcome.exit_code:
        _annotate(outcome)
        raise typer.Exit(outcome.exit_code)


def _annotate(outcome: Outcome) -> None:
    """Why a GitHub job fails here, where one runs."""
    if on_github():
        from evalstab.text.github import Level, annotation

        verdict = outcome.scores.get("verdict") or {}
        told = f"gate {verdict.get('gate')}: {verdict.get('status')}: {verdict.get('reason')}"
        coded = f"it ended with exit code {outcome.exit_code}"
        message = outcome.problem or (told if verdict.get("gate") else coded)
        level: Level = "warning" if outcome.exit_code == UNDECIDED else "error"
        annotate([annotation(level, f"evalstab {outcome.folder}", message)])


class Silence:
    """Shows nothing."""

    def chunks(self, trial: int, count: int) -> None:
        """Nothing."""

    def step(self, trial: int, step: Step) -> None:
        """Nothing."""

    def waiting(self, trial: int, attempt: Attempt, limit: float) -> None:
        """Nothing."""

    def ended(self, trial: int, ended: TrialEnded) -> None:
        """Nothing."""

    def done(self) -> None:
        """Nothing."""


class Lines(Silence):
    """A line for each finished trial, and for each wait, where there is no terminal."""

    def __init__(self, repeats: int, announce: Announce) -> None:
        self._repeats = repeats
        self._announce = announce
        self._steps: dict[int, int] = {}
        self._waiting: set[int] = set()

    def step(self, trial: int, step: Step) -> None:
        """Count it; whatever was waited for has come."""
        self._steps[trial] = step.number
        self._waiting.discard(trial)

    def waiting(self, trial: int, attempt: Attempt, limit: float) -> None:
        """Say once that the server is waited for."""
        if trial not in self._waiting:
            self._waiting.add(trial)
            self._announce(_waited_for(trial, attempt, limit))

    def ended(self, trial: int, ended: TrialEnded) -> None:
        """Say how it ended."""
        steps = self._steps.pop(trial, 0)
        why = "" if ended.outcome == "completed" else f" ({ended.reason})"
        self._announce(
            f"trial {trial} of {self._repeats}: {ended.outcome}{why} after {steps} steps, "
            f"{_clock(ended.seconds)}"
        )


def _waited_for(trial: int, attempt: Attempt, limit: float) -> str:
    why = attempt.error or next((found.code for found in attempt.findings), "no answer")
    return f"trial {trial}: no answer from the server ({why}), waiting up to {_clock(limit)}"


@dataclass(slots=True)
class _Line:
    """What is known of one running trial."""

    step: int = 1
    context: int | None = None
    chunks: int = 0
    since: float = field(default_factory=time.monotonic)
    rate: float | None = None


class Progress:
    """A live table on the terminal: one line a running trial, and the expected remaining time."""

    def __init__(self, repeats: int) -> None:
        self._repeats = repeats
        self._began = time.monotonic()
        self._lines: dict[int, _Line] = {}
        self._live = Live(console=Console(stderr=True), refresh_per_second=4, transient=True)
        self._live.start()

    def chunks(self, trial: int, count: int) -> None:
        """Count chunks; their rate is shown as tokens a second, since servers send one each."""
        line = self._lines.setdefault(trial, _Line())
        line.chunks += count
        seconds = time.monotonic() - line.since
        if seconds >= 1:
            line.rate = line.chunks / seconds
            line.chunks, line.since = 0, time.monotonic()
            self._live.update(self._table())

    def step(self, trial: int, step: Step) -> None:
        """A step was finished."""
        line = self._lines.setdefault(trial, _Line())
        line.step = step.number + 1
        line.context = step.context_tokens or line.context
        self._live.update(self._table())

    def waiting(self, trial: int, attempt: Attempt, limit: float) -> None:
        """Say above the table that the server is waited for."""
        self._live.console.print(_waited_for(trial, attempt, limit), markup=False)

    def ended(self, trial: int, ended: TrialEnded) -> None:
        """Nothing: the next trial's line tells it."""

    def done(self) -> None:
        """Take the table away."""
        self._live.stop()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        newest = max(self._lines)
        elapsed = time.monotonic() - self._began
        for trial, line in sorted(self._lines.items())[-4:]:
            context = f"{line.context:,} tokens" if line.context else "-"
            rate = f"{line.rate:,.0f} chunks/s" if line.rate else "-"
            table.add_row(f"trial {trial} of {self._repeats}", f"step {line.step}", context, rate)
        table.add_row("", f"elapsed {_clock(elapsed)}", self._remaining(newest, elapsed), "")
        return table

    def _remaining(self, newest: int, elapsed: float) -> str:
        finished = newest - 1
        if finished < 1:
            return "remaining: known after the first trial"
        return f"remaining about {_clock(elapsed / finished * (self._repeats - finished))}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
