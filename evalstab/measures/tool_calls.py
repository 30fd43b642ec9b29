"""Tool calls: how many came, how many did not end, and the same call again and again."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import msgspec

from evalstab.chat import ToolCall
from evalstab.findings import EXCERPT_LIMIT, UNFINISHED, Finding, finding
from evalstab.measures.base import Fact, Measured, TrialMeasure, put
from evalstab.measures.texts import WRITES, call_arguments
from evalstab.measures.view import StepView, TrialView
from evalstab.text.excerpt import visible
from evalstab.trial.record import ToolResult

REPEATS = 3
STORM_WINDOW = 6
STORM_ATTEMPTS = 4
STORM_IN_VAIN = 2

_STATED_PATH = re.compile(r'"path"\s*:\s*"([^"\\]{1,200})"')
_sorted = msgspec.json.Encoder(order="deterministic")


@dataclass(frozen=True, slots=True)
class _Made:
    """One call of an accepted reply, with what became of it."""

    call: ToolCall
    step: StepView
    result: ToolResult | None

    @property
    def key(self) -> tuple[str, bytes]:
        arguments = call_arguments(self.call)
        if arguments is None:
            return self.call.name, self.call.arguments.encode("utf-8", "replace")
        return self.call.name, _sorted.encode(arguments)


@dataclass(frozen=True, slots=True)
class _Write:
    """One attempt to write: ``vain`` where it failed or restored what stood before."""

    path: str
    place: int
    vain: bool


@dataclass(slots=True)
class _Files:
    """What stood in each file, as far as the record tells: digests of all its states."""

    now: dict[str, str] = field(default_factory=dict)
    seen: dict[str, set[int]] = field(default_factory=dict)

    def write(self, path: str, text: str | None) -> bool:
        """Take over a new content; true where the file goes back to what it held earlier.

        Writing what stands there already changes nothing and brings nothing back.
        """
        if text is None:
            self.now.pop(path, None)
            return False
        states = self.seen.setdefault(path, set())
        if path in self.now:
            states.add(hash(self.now[path]))
        again = hash(text) in states and text != self.now.get(path)
        self.now[path] = text
        states.add(hash(text))
        return again


def compute(trial: TrialView) -> Measured:
    """Count calls and unfinished ones, and find repetitions and retry storms."""
    answers = [reply for step in trial.steps for reply in step.answers]
    calls = [call for reply in answers for call in reply.tool_calls]
    made = list(_made(trial))
    runs = list(_repeated(made))
    values: dict[str, Any] = {
        "total": len(calls),
        "completed": sum(call.complete for call in calls),
    }
    unfinished = sum(f.code in UNFINISHED for f in trial.recorded)
    unknown = trial.started.unknown.get("arguments") if trial.started else None
    put(values, "unfinished", None if unknown and not unfinished else unfinished, unknown or "")
    values["repeated"] = sum(len(run) - 1 for run in runs)
    findings = [_repetition(run) for run in runs] + list(_storms(trial, made))
    return Measured({"tool_calls": values}, findings)


def _made(trial: TrialView) -> Iterator[_Made]:
    for step in trial.steps:
        results = {result.call_id: result for result in step.event.results}
        for call in step.reply.tool_calls if step.reply else ():
            yield _Made(call, step, results.get(call.id))


def _repeated(made: Sequence[_Made]) -> Iterator[list[_Made]]:
    for _, group in groupby(made, key=lambda one: one.key):
        run = list(group)
        if len(run) >= REPEATS:
            yield run


def _repetition(run: Sequence[_Made]) -> Finding:
    first, last = run[0], run[-1]
    return finding(
        "tool.repeated",
        step=run[REPEATS - 1].step.number,
        channel="arguments",
        context_tokens=first.step.known_context,
        excerpt=visible(f"{first.call.name} {first.call.arguments[:EXCERPT_LIMIT]}"),
        detail={
            "name": first.call.name,
            "count": len(run),
            "first_step": first.step.number,
            "last_step": last.step.number,
        },
    )


def _storms(trial: TrialView, made: Sequence[_Made]) -> Iterator[Finding]:
    """One finding for each stretch of calls in which a path is written again and again."""
    files = _Files({path: data.decode("utf-8", "replace") for path, data in _texts(trial)})
    window: deque[_Write | None] = deque(maxlen=STORM_WINDOW)
    open_until: dict[str, int] = {}
    for place, one in enumerate(made):
        write = _write(one, place, files)
        window.append(write)
        if write is None:
            continue
        attempts = [w for w in window if w is not None and w.path == write.path]
        in_vain = sum(w.vain for w in attempts)
        if len(attempts) < STORM_ATTEMPTS or in_vain < STORM_IN_VAIN:
            continue
        if open_until.get(write.path, -1) < attempts[0].place:
            yield _storm(made, attempts, in_vain)
        open_until[write.path] = place


def _storm(made: Sequence[_Made], attempts: Sequence[_Write], in_vain: int) -> Finding:
    first, last = made[attempts[0].place], made[attempts[-1].place]
    return finding(
        "tool.retry_storm",
        step=last.step.number,
        channel="arguments",
        context_tokens=first.step.known_context,
        excerpt=visible(f"{last.call.name} {attempts[0].path}"),
        detail={
            "path": attempts[0].path,
            "attempts": len(attempts),
            "in_vain": in_vain,
            "first_step": first.step.number,
            "last_step": last.step.number,
        },
    )


def _texts(trial: TrialView) -> Iterator[tuple[str, bytes]]:
    return iter(trial.task.inputs.items())


def _write(one: _Made, place: int, files: _Files) -> _Write | None:
    if one.call.name not in WRITES:
        return None
    arguments = call_arguments(one.call) or {}
    path = _path(one, arguments)
    if one.result is None or one.result.error is not None:
        return _Write(path, place, vain=True)
    return _Write(path, place, vain=files.write(path, _content(one.call, arguments, files, path)))


def _path(one: _Made, arguments: dict[str, object]) -> str:
    if one.result is not None and one.result.path:
        return one.result.path
    named = arguments.get("path")
    if isinstance(named, str) and named:
        return named
    stated = _STATED_PATH.search(one.call.arguments, 0, 2000)
    return stated[1] if stated else "?"


def _content(call: ToolCall, arguments: dict[str, object], files: _Files, path: str) -> str | None:
    """The file's text after a successful write, or None where the record does not tell."""
    text = arguments.get(WRITES[call.name])
    if not isinstance(text, str):
        return None
    if call.name == "write_file":
        return text
    old, before = arguments.get("old"), files.now.get(path)
    if before is None or not isinstance(old, str) or old not in before:
        return None
    return before.replace(old, text, 1)


MEASURE = TrialMeasure(
    name="tool_calls",
    meaning="Whether the model's tool calls arrive whole, and whether it goes round in circles.",
    facts=(
        Fact(
            "tool_calls.total",
            "Calls that arrived as calls, in replies that were repeated too.",
            "calls",
            "0 and more",
        ),
        Fact(
            "tool_calls.completed",
            "Those of them that arrived whole, with a JSON object as arguments.",
            "calls",
            "0 to total",
            "higher is better",
        ),
        Fact(
            "tool_calls.unfinished",
            "Calls that were cut, broken, leaked as text, or announced and never came.",
            "findings",
            "0 and more",
            "lower is better",
        ),
        Fact(
            "tool_calls.repeated",
            "Calls that only repeat the one before, in rows of three and more.",
            "calls",
            "0 and more",
            "lower is better",
        ),
    ),
    compute=compute,
    codes=("tool.repeated", "tool.retry_storm"),
)
