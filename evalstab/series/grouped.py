"""A trial whose candidates are judged in groups: one conversation each, then one ranking.

Each group has a record and a workspace of its own below ``groups/``; from them the trial's record
is written, whole, when the last group has ended: all steps in order, as if it had been one
conversation that forgot everything in between.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import replace

import msgspec

from evalstab.findings import Finding
from evalstab.series.converse import Asking, converse
from evalstab.series.files import make_folder, write_whole
from evalstab.series.folder import TrialFolder
from evalstab.trial.loop import TrialPlan, Watcher, now
from evalstab.trial.record import Step, TrialEnded, TrialResumed, TrialStarted, read_events

Merge = Callable[[Sequence[Asking], Sequence[TrialFolder]], dict[str, bytes]]
"""The files of the joined trial out of the groups' workspaces; empty where one has no ranking."""

_encoder = msgspec.json.Encoder()


async def converse_in_groups(
    plan: TrialPlan,
    folder: TrialFolder,
    asked: Sequence[Asking],
    merging: tuple[Merge, Watcher],
) -> TrialEnded:
    """Ask one group after the other; a group that does not complete ends the trial."""
    merge, watcher = merging
    if folder.record.exists():
        *_, last = read_events(folder.record)
        if isinstance(last, TrialEnded) and last.outcome != "aborted":
            return last
    parts = [
        TrialFolder(folder.index, folder.attempt, folder.path / "groups" / str(number))
        for number in range(1, len(asked) + 1)
    ]
    done: list[TrialFolder] = []
    ended = None
    for number, (part, asking) in enumerate(zip(parts, asked, strict=True), 1):
        named = replace(plan, series=f"{plan.series}.group-{number}")
        ended = await converse(named, part, asking, watcher)
        done.append(part)
        if ended.outcome != "completed":
            break
    assert ended is not None
    if ended.outcome == "aborted":
        return ended
    complete = ended.outcome == "completed"
    return _join(folder, done, merge(asked, parts) if complete else {})


def _join(folder: TrialFolder, parts: Sequence[TrialFolder], files: dict[str, bytes]) -> TrialEnded:
    """Write the joined record and workspace; the ending is that of the last group."""
    lines: list[bytes] = []
    steps = 0
    seconds = 0.0
    ended = None
    groups: list[object] = []
    for part in parts:
        before, began = steps, seconds
        for event in read_events(part.record):
            if isinstance(event, TrialStarted):
                groups.append(event.variation.get("group"))
                if part is parts[0]:
                    lines.append(b"")
                    first = event
            elif isinstance(event, Step):
                steps = before + event.number
                lines.append(_encoder.encode(_moved(event, before, began)))
            elif isinstance(event, TrialResumed):
                after = msgspec.structs.replace(event, after_step=before + event.after_step)
                lines.append(_encoder.encode(after))
            elif isinstance(event, TrialEnded):
                ended = event
                seconds = began + event.seconds
    assert ended is not None
    variation = {key: value for key, value in first.variation.items() if key != "group"}
    lines[0] = _encoder.encode(
        msgspec.structs.replace(first, variation=variation | {"groups": groups})
    )
    ended = msgspec.structs.replace(ended, at=now(), seconds=seconds)
    lines.append(_encoder.encode(ended))
    shutil.rmtree(folder.workspace, ignore_errors=True)
    make_folder(folder.workspace)
    for path, data in files.items():
        write_whole(folder.workspace / path, data)
    write_whole(folder.record, b"".join(line + b"\n" for line in lines))
    return ended


def _moved(step: Step, steps: int, seconds: float) -> Step:
    """A group's step at its place in the joined trial."""
    return msgspec.structs.replace(
        step,
        number=step.number + steps,
        started=step.started + seconds,
        attempts=tuple(
            msgspec.structs.replace(a, findings=_renumbered(a.findings, steps))
            for a in step.attempts
        ),
        findings=_renumbered(step.findings, steps),
    )


def _renumbered(findings: tuple[Finding, ...], steps: int) -> tuple[Finding, ...]:
    return tuple(
        f if f.step is None else msgspec.structs.replace(f, step=f.step + steps) for f in findings
    )
