"""Writes real series folders: a small task, records through ``Record``, workspace files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from evalstab.chat import ServerTimings, ToolCall, Usage
from evalstab.endpoint.base import Attempt, Clock, Reply
from evalstab.findings import Finding
from evalstab.series.folder import SeriesFile, SeriesFolder, create_series
from evalstab.trial.record import (
    Event,
    Outcome,
    Record,
    Step,
    ToolResult,
    TrialEnded,
    TrialStarted,
)

PEOPLE = tuple(f"person_{number:02d}" for number in range(1, 12))
CRITERIA = tuple(f"K{number:02d}" for number in range(1, 17))
AT = "2026-11-30T02:00:00.000+00:00"


def make_task(
    folder: Path,
    *,
    language: str = "de",
    truth: Mapping[str, float] | None = None,
    people: Sequence[str] = PEOPLE,
    extra: str = "",
) -> Path:
    """A ranking task with sixteen criteria of at most ten points."""
    (folder / "inputs" / "profiles").mkdir(parents=True)
    lines = [
        "schema_version = 1",
        'name = "elf"',
        f'language = "{language}"',
        'prompt = "prompt.md"',
        "candidates = [",
        *(f'  {{ id = "{p}", file = "profiles/{p}.md" }},' for p in people),
        "]",
        "criteria = [",
        *(f'  {{ id = "{k}", title = "Kriterium {k}" }},' for k in CRITERIA),
        "]",
    ]
    if truth is not None:
        lines.append('truth = "truth.json"')
        order = sorted(truth, key=lambda person: -truth[person])
        groups = [[person] for person in order]
        encoded = msgspec.json.encode({"order": groups, "totals": dict(truth)})
        (folder / "truth.json").write_bytes(encoded)
    lines += [
        "[[deliverables]]",
        'path = "ranking.json"',
        'kind = "ranking"',
        'format = "json"',
        extra,
    ]
    (folder / "task.toml").write_text("\n".join(lines))
    (folder / "prompt.md").write_text("Bewerte alle Personen und schreibe die Rangfolge.")
    for person in people:
        text = f"Profil von {person}. Bewirbt sich um die Leitung der Werkstatt.\n"
        (folder / "inputs" / "profiles" / f"{person}.md").write_text(text)
    return folder


def make_series(root: Path, task: Path, **changes: Any) -> SeriesFolder:
    """An empty series folder; ``changes`` replace fields of ``series.json``."""
    fields: dict[str, Any] = {
        "id": root.name,
        "created": AT,
        "task": {"name": "elf"},
        "endpoint": {"name": "rig", "model": "m2", "simulated": False},
        "work": {},
        "conditions": {"context": None, "concurrency": 1},
        "repeats": 5,
        "seed": 1,
        "settings": {},
    }
    return create_series(root, SeriesFile(**(fields | changes)), task)


@dataclass
class Written:
    """A trial to be written: steps, files of the workspace, ending."""

    steps: list[Step] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    outcome: Outcome | None = "completed"
    reason: str = "a turn without a tool call"
    seconds: float = 1500.0
    ending: Any = "no_call"
    fields: dict[str, Any] = field(default_factory=lambda: {"model": "m2"})
    opening: str = "Bewerte alle Personen."
    findings: tuple[Finding, ...] = ()
    variation: dict[str, Any] = field(default_factory=dict)


def write_trial(series: SeriesFolder, index: int, trial: Written, *, name: str = "") -> Path:
    """Write one trial of a series through the real store; returns its folder."""
    path = series.root / "trials" / (name or f"{index:03d}")
    opening = msgspec.Raw(msgspec.json.encode({"role": "user", "content": trial.opening}))
    events: list[Event] = [
        TrialStarted(
            series=series.file.id,
            trial=index,
            attempt=1,
            at=AT,
            fields=trial.fields,
            messages=(opening,),
            variation=trial.variation,
        ),
        *trial.steps,
    ]
    if trial.outcome is not None:
        events.append(
            TrialEnded(
                at=AT,
                outcome=trial.outcome,
                ending=trial.ending,
                reason=trial.reason,
                seconds=trial.seconds,
                findings=trial.findings,
            )
        )
    record = Record(path / "events.jsonl")
    for event in events:
        record.append(event)
    record.close()
    (path / "workspace").mkdir()
    for relative, text in trial.files.items():
        target = path / "workspace" / relative
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return path


def call(name: str, *, id_: str = "c1", complete: bool = True, **arguments: Any) -> ToolCall:
    """A tool call with these arguments."""
    encoded = msgspec.json.encode(arguments).decode()
    return ToolCall(id=id_, name=name, arguments=encoded, complete=complete)


def make_step(
    number: int,
    *,
    reasoning: str | None = None,
    content: str | None = None,
    calls: Sequence[ToolCall] = (),
    results: Sequence[ToolResult] = (),
    given: Sequence[str] = (),
    usage: Usage | None = None,
    timings: ServerTimings | None = None,
    clock: Clock | None = None,
    findings: Sequence[Finding] = (),
    **changes: Any,
) -> Step:
    """One step with one accepted attempt; ``given`` are the texts of its tool results."""
    reply = Reply(
        reasoning=reasoning,
        content=content,
        tool_calls=tuple(calls),
        usage=usage,
        timings=timings,
        finish="tool_calls" if calls else "stop",
        **changes,
    )
    attempt = Attempt(
        number=1, at=AT, status=200, reply=reply, clock=clock, findings=tuple(findings)
    )
    ids = [c.id for c in calls] + ["c1"] * len(given)
    messages = [
        {"role": "tool", "tool_call_id": id_, "content": text}
        for id_, text in zip(ids, given, strict=False)
    ]
    return Step(
        number=number,
        started=float(number),
        seconds=1.0,
        attempts=(attempt,),
        results=tuple(results),
        append=tuple(msgspec.Raw(msgspec.json.encode(m)) for m in messages),
    )


def counted(
    prompt: int, completion: int, reasoning: int | None = None, cached: int | None = None
) -> Usage:
    """Token counts as a server states them."""
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        reasoning_tokens=reasoning,
        cached_tokens=cached,
    )


def ranking_json(totals: Mapping[str, float], *, spread: bool = True) -> str:
    """A ranking file: best first by total, criteria that add up to it."""
    order = sorted(totals, key=lambda person: -totals[person])
    entries = []
    for place, person in enumerate(order, 1):
        entry: dict[str, Any] = {"candidate": person, "place": place, "total": totals[person]}
        if spread:
            whole, rest = divmod(totals[person], len(CRITERIA))
            entry["criteria"] = {k: whole + (1 if i < rest else 0) for i, k in enumerate(CRITERIA)}
        entries.append(entry)
    return msgspec.json.encode({"ranking": entries}).decode()


def writes(path: str, text: str, *, id_: str = "c1") -> tuple[ToolCall, ToolResult]:
    """A successful write and its result."""
    result = ToolResult(call_id=id_, name="write_file", path=path, wrote=True)
    return call("write_file", id_=id_, path=path, content=text), result
