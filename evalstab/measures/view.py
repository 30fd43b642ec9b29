"""One trial as the measures see it: its record read once, its workspace files, its inputs.

A view holds one trial, never the series. The record is decoded line by line; a damaged line ends
the reading there, and what stands before it is still measured.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import msgspec

from evalstab.endpoint.base import Reply
from evalstab.errors import FolderError
from evalstab.findings import Finding
from evalstab.measures.texts import Piece, given_texts, message_text, step_pieces
from evalstab.measures.tokens import Scale, TokenCount, context_tokens, scale_of
from evalstab.series.folder import TrialFolder
from evalstab.task.deliverables import DeliverableReport, check_deliverables
from evalstab.task.model import ANSWER_FILE, Task
from evalstab.task.ranking import StatedRanking
from evalstab.trial.record import (
    Event,
    Step,
    TrialEnded,
    TrialResumed,
    TrialStarted,
    read_events,
)

MAX_FILE_BYTES = 4 << 20
"""A deliverable longer than this is not read as one: 4 MiB of text is no report."""


@dataclass(frozen=True)
class StepView:
    """One step: the event, its active context, what was written and what was given to read.

    ``prompt`` is the tokens of the request, ``context`` those of request and answer together.
    """

    event: Step
    pieces: tuple[Piece, ...]
    given: tuple[str, ...]
    prompt: TokenCount
    context: TokenCount

    @property
    def number(self) -> int:
        """The step's number, from 1."""
        return self.event.number

    @property
    def known_context(self) -> int | None:
        """Active context as somebody counted it, None where it is our estimate."""
        return None if self.context.source == "estimate" else self.context.count

    def context_at(self, piece: Piece, start: int) -> int | None:
        """Active context where a place in a text of this step was written, None if not counted.

        Tokens of the request, and of the answer the share of characters written before the place,
        in the order reasoning, content, calls.
        """
        if self.context.source == "estimate":
            return None
        before = total = 0
        for other in self.pieces:
            if other.attempt == piece.attempt:
                before += total if other is piece else 0
                total += len(other.text)
        share = (before + start) / total if total else 0.0
        return self.prompt.count + round((self.context.count - self.prompt.count) * share)

    @property
    def reply(self) -> Reply | None:
        """The accepted reply."""
        return self.event.reply

    @property
    def answers(self) -> tuple[Reply, ...]:
        """All replies of the step, those that were repeated included."""
        return tuple(a.reply for a in self.event.attempts if a.reply is not None)


@dataclass(frozen=True)
class TrialView:
    """One trial. ``files`` maps deliverable paths to their bytes, as the agent left them.

    ``damage`` says where and why the record could not be read to its end; ``target`` is the
    context that was asked for, None where the task has its natural size. ``detect_languages``
    false leaves out the sentence-wise language scan.
    """

    index: int
    attempt: int
    task: Task
    steps: tuple[StepView, ...]
    started: TrialStarted | None = None
    ended: TrialEnded | None = None
    resumed: bool = False
    damage: str | None = None
    files: Mapping[str, bytes] = field(default_factory=dict)
    target: int | None = None
    detect_languages: bool = True

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """Texts that the model was given before its first answer."""
        if self.started is None:
            return ()
        texts = (message_text(message)[1] for message in self.started.messages)
        return tuple(text for text in texts if text)

    @cached_property
    def delivered(self) -> DeliverableReport:
        """What the agent delivered, held against the task."""
        return check_deliverables(self.task, self.files)

    @property
    def open_reason(self) -> str | None:
        """Why what stands in the workspace is not the trial's last word; None where it is."""
        if self.damage is not None:
            return "the record is damaged: the trial counts as one that has not ended"
        if self.ended is None or self.ended.outcome == "aborted":
            return "the trial has not ended"
        return "the attempt was spoilt" if self.ended.outcome == "invalid" else None

    @property
    def ranking(self) -> StatedRanking | None:
        """The declared ranking; None where none could be read, or the trial has not ended."""
        if self.open_reason is not None:
            return None
        return self.delivered.rankings.get(self.task.ranking.path)

    @cached_property
    def recorded(self) -> tuple[Finding, ...]:
        """Findings that the record itself holds: of transport, loop and ending.

        Those of an attempt get the step they belong to and the context, where they lack them.
        """
        return tuple(self._recorded())

    def _recorded(self) -> Iterator[Finding]:
        for step in self.steps:
            event = step.event
            for attempt in event.attempts:
                yield from (_placed(finding, step) for finding in attempt.findings)
            yield from (_placed(finding, step) for finding in event.findings)
        if self.ended is not None:
            yield from self.ended.findings

    @cached_property
    def _told(self) -> frozenset[tuple[str, int | None]]:
        places = {(found.code, found.step) for found in self.recorded}
        return frozenset(places | {(code, None) for code, _ in places})

    def has_finding(self, code: str, step: int | None = None) -> bool:
        """Whether the record already holds a finding of this code (in this step, if given)."""
        return (code, step) in self._told

    @property
    def delivery_step(self) -> StepView | None:
        """The step in which the final ranking was delivered: written, or handed in."""
        path = self.task.ranking.path
        for step in reversed(self.steps):
            if self.task.spec.tools == "none" and step.reply and step.reply.content:
                return step
            for result in step.event.results:
                if result.error is None and (
                    result.terminal or (result.wrote and result.path == path)
                ):
                    return step
        return None


def read_trial(
    folder: TrialFolder, task: Task, target: int | None = None, *, detect_languages: bool = True
) -> TrialView:
    """Read a trial's record and deliverables; never raises for a damaged record."""
    reading = _Reading()
    damage = None
    try:
        for event in read_events(folder.record):
            reading.take(event)
    except (FolderError, OSError, RecursionError) as error:
        damage = str(error).replace(str(folder.record), folder.record.name)
    return TrialView(
        index=folder.index,
        attempt=folder.attempt,
        task=task,
        steps=reading.views(),
        started=reading.started,
        ended=reading.ended,
        resumed=reading.resumed,
        damage=damage,
        files=_deliverables(folder.workspace, task),
        target=target,
        detect_languages=detect_languages,
    )


class _Reading:
    """Collects the events of one record."""

    def __init__(self) -> None:
        self.started: TrialStarted | None = None
        self.ended: TrialEnded | None = None
        self.resumed = False
        self._steps: list[Step] = []

    def take(self, event: Event) -> None:
        if isinstance(event, Step):
            self._take_step(event)
        elif isinstance(event, TrialStarted):
            self.started = self.started or event
        elif isinstance(event, TrialEnded):
            self.ended = event
        elif isinstance(event, TrialResumed):
            self.resumed = True
            self.ended = None

    def _take_step(self, step: Step) -> None:
        """A step that was asked again after an interruption is one step with more attempts."""
        if self._steps and self._steps[-1].number == step.number:
            before = self._steps.pop()
            step = msgspec.structs.replace(step, attempts=before.attempts + step.attempts)
        self._steps.append(step)

    def views(self) -> tuple[StepView, ...]:
        scale = scale_of(self._steps)
        sent = Scale.length_sent(self.started)
        written: set[str] = set()
        views: list[StepView] = []
        for step in self._steps:
            prompt, context = context_tokens(step, sent, scale)
            views.append(
                StepView(step, step_pieces(step), given_texts(step, written), prompt, context)
            )
            sent += sum(len(bytes(message)) for message in step.append)
        return tuple(views)


def _placed(finding: Finding, step: StepView) -> Finding:
    changes = {}
    if finding.step is None:
        changes["step"] = step.number
    if finding.context_tokens is None and step.known_context is not None:
        changes["context_tokens"] = step.known_context
    return msgspec.structs.replace(finding, **changes) if changes else finding


def _deliverables(workspace: Path, task: Task) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    asked = [deliverable.path for deliverable in task.spec.asked]
    root = os.path.realpath(workspace)
    for name in [ANSWER_FILE] if task.spec.tools == "none" else asked:
        try:
            path = os.path.realpath(os.path.join(root, name))
            facts = os.stat(path) if path.startswith(root + os.sep) else None
            if facts and stat.S_ISREG(facts.st_mode) and facts.st_size <= MAX_FILE_BYTES:
                found[name] = Path(path).read_bytes()
        except (OSError, ValueError):
            continue
    return found
