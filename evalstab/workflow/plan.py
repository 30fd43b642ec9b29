"""``evalstab plan``: hours, tokens, money, and what the gate could decide with them."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from evalstab.chat import Json
from evalstab.errors import EvalstabError
from evalstab.gate.deciding import deciding
from evalstab.gate.keys import find_number
from evalstab.gate.policy import load_policy
from evalstab.measures.series_view import context_target
from evalstab.report.numbers import plural
from evalstab.series.folder import SERIES_FILE, SeriesFolder, open_series
from evalstab.settings import Price, endpoint_settings, read_config
from evalstab.task.load import find_task, load_task
from evalstab.trial.record import Step, read_events
from evalstab.workflow.request import RunRequest
from evalstab.workflow.run import People, run
from evalstab.workflow.score import SCORES, read_scores

CONTROL = 16_000
PROBE_TASK = "three-notes"
PROBE_OUTPUT = 12_000
"""Output tokens of a rating trial where nothing is known: reported runs wrote 7 to 13 thousand."""

MOST_SERIES = 200


@dataclass(frozen=True, slots=True)
class Wanted:
    """What somebody wants a plan for."""

    task: str
    endpoint: str | None
    gate: str
    contexts: tuple[int, ...] = ()
    repeats: int | None = None
    reports: Path = Path("reports")


@dataclass(frozen=True, slots=True)
class Cost:
    """What one trial took: its active context, seconds, and tokens in and out.

    ``groups`` and ``target`` (None: the natural size) are the conditions that it was measured in.
    """

    context: float
    seconds: float
    input: float | None
    output: float | None
    source: str
    groups: int = 1
    target: int | None = None

    def unlike(self, size: int | None) -> tuple[bool, bool, float]:
        """How far these conditions are from trials of one group at this size; least is nearest."""
        padded = size is None and self.target is not None
        return self.groups > 1, padded, abs(self.context - (size or 0))

    def told(self, size: int | None) -> str:
        """Where this comes from, and in which conditions, where they are not those planned for."""
        others = [f"in {self.groups} groups"] if self.groups > 1 else []
        if size is None and self.target is not None:
            others.append(f"at {self.target:,} tokens, not the natural size")
        return f"{self.source}, run {' and '.join(others)}" if others else self.source


def plan(wanted: Wanted, people: People | None = None) -> Json:
    """The plan as plain data. ``people``: whom to probe with, None for no probe."""
    config = read_config()
    task = load_task(find_task(wanted.task))
    policy = load_policy(wanted.gate, config.gates).with_repeats(wanted.repeats)
    name, settings = endpoint_settings(wanted.endpoint, {}, os.environ, config)
    known = list(_history(wanted.reports, name, task.name))
    if not known and people is not None:
        known = [_probe(wanted, people)]
    rungs = [
        _rung(size, policy.repeats, known, settings.price) for size in _ladder(wanted.contexts)
    ]
    found: Json = {"schema_version": 1, "task": task.name, "endpoint": name, "rungs": rungs}
    for key in ("minutes", "input_tokens", "output_tokens", "money"):
        values = [rung[key] for rung in rungs]
        found[f"total_{key}"] = None if None in values else sum(values)
    return found | {"decides": deciding(policy, len(task.candidates))}


def told(found: Json) -> str:
    """A plan for people."""
    decides = found["decides"]
    lines = [f"{found['task']} on {found['endpoint']}, gate {decides['gate']}:"]
    lines += [f"  {_line(rung)}" for rung in found["rungs"]]
    if found["total_minutes"] is not None and len(found["rungs"]) > 1:
        lines.append(f"  together about {_minutes(found['total_minutes'])}")
    if found["total_money"] is not None:
        lines.append(f"  about {_money(found['total_money'])} at the endpoint's price")
    looks = ", ".join(str(look) for look in decides["looks"])
    lines.append(f"looks after {looks} trials; a clear failure ends the series early")
    width = max(len(rule["name"]) for rule in decides["rules"])
    lines += [f"  {rule['name']:<{width}}  {rule['sentence']}" for rule in decides["rules"]]
    return "\n".join([*lines, decides["unseen"]])


def _ladder(contexts: Sequence[int]) -> list[int | None]:
    """The rungs, a control in front; None is the task's natural size."""
    if not contexts:
        return [None]
    control = [] if min(contexts) <= CONTROL else [CONTROL]
    return [*control, *sorted(contexts)]


def _rung(size: int | None, repeats: int, known: Sequence[Cost], price: Price | None) -> Json:
    rung: Json = {"context": size, "trials": repeats}
    near = min(known, key=lambda cost: cost.unlike(size), default=None)
    if near is None:
        keys = ("minutes", "input_tokens", "output_tokens", "money")
        reason = "no series of this task and endpoint in reports/; --probe asks the endpoint"
        return rung | dict.fromkeys(keys) | {"source": reason}
    scale = size / near.context if size else 1.0
    rung["minutes"] = repeats * near.seconds * scale / 60
    read = near.input * scale * repeats if near.input is not None else None
    written = near.output * repeats if near.output is not None else None
    rung["input_tokens"], rung["output_tokens"] = read, written
    rung["money"] = None
    if price is not None and read is not None and written is not None:
        rung["money"] = (read * price.input + written * price.output) / 1e6
    scaled = f", scaled from {near.context:,.0f} tokens" if size and abs(scale - 1) > 0.1 else ""
    return rung | {"source": near.told(size) + scaled}


def _history(reports: Path, endpoint: str, task: str) -> Iterator[Cost]:
    """Costs of scored series of this task on this endpoint, the newest first."""
    places = sorted(reports.glob(f"*/{SERIES_FILE}"), reverse=True)[:MOST_SERIES]
    for place in places:
        try:
            folder = open_series(place.parent)
            same = folder.file.endpoint.get("name") == endpoint
            if same and folder.file.task.get("name") == task and (folder.root / SCORES).is_file():
                yield from _costs(folder)
        except EvalstabError:
            continue


def _costs(folder: SeriesFolder) -> Iterator[Cost]:
    trials = read_scores(folder)["trials"]
    valid = [t for t in trials if t["outcome"] in ("completed", "failed") and t["seconds"]]
    contexts = [find_number(t, "active_context_tokens") for t in valid]
    known = [context for context in contexts if context]
    if not valid or not known:
        return
    usage = [used for t in valid if (used := _usage(folder, int(t["index"]))) is not None]
    whole = len(usage) == len(valid)
    gap = "" if whole else "; tokens unknown: records pruned, or answers that were not counted"
    yield Cost(
        context=median(known),
        seconds=median(float(t["seconds"]) for t in valid),
        input=median(read for read, _ in usage) if whole else None,
        output=median(out for _, out in usage) if whole else None,
        source=f"median of {plural(len(valid), 'trial')} in {folder.root.name}{gap}",
        groups=int(folder.file.conditions.get("groups") or 1),
        target=context_target(folder.file),
    )


def _usage(folder: SeriesFolder, index: int) -> tuple[int, int] | None:
    """Prompt and completion tokens of all requests of a trial, cached ones included.

    None where the record was pruned, or the server did not count every answer.
    """
    record = folder.trial(index).record
    if not record.is_file():
        return None
    read = written = 0
    for event in read_events(record):
        if not isinstance(event, Step) or event.reply is None:
            continue
        usage = event.reply.usage
        if usage is None or usage.prompt_tokens is None or usage.completion_tokens is None:
            return None
        read += usage.prompt_tokens
        written += usage.completion_tokens
    return read, written


def _probe(wanted: Wanted, people: People) -> Cost:
    """One trial of a tiny task: its rates, carried over to a rating trial of 16,000 tokens."""
    with tempfile.TemporaryDirectory() as place:
        request = RunRequest(
            task=PROBE_TASK, endpoint=wanted.endpoint, repeats=1, out=Path(place) / "probe"
        )
        speed = run(request, replace(people)).scores["trials"][0]["speed"]
    decode = find_number(speed, "decode_tok_s.p50")
    prefill = find_number(speed, "prefill_tok_s.p50")
    reading = CONTROL / prefill if prefill else 0.0
    writing = PROBE_OUTPUT / decode if decode else 0.0
    return Cost(
        context=CONTROL,
        seconds=reading + writing,
        input=None,
        output=PROBE_OUTPUT,
        source=f"probe: {PROBE_OUTPUT:,} tokens at the rates of {PROBE_TASK}; rates fall with "
        "context, so expect more",
    )


def _line(rung: Json) -> str:
    size = f"{rung['context']:,} tokens" if rung["context"] else "natural size"
    if rung["minutes"] is None:
        return f"{size}: {rung['trials']} trials, time unknown ({rung['source']})"
    tokens = ""
    if rung["input_tokens"] is not None and rung["output_tokens"] is not None:
        tokens = (
            f", {rung['input_tokens']:,.0f} tokens read (cached ones too), "
            f"{rung['output_tokens']:,.0f} written"
        )
    time = _minutes(rung["minutes"])
    return f"{size}: {rung['trials']} trials, about {time}{tokens} ({rung['source']})"


def _money(money: float) -> str:
    return f"{money:,.2f}" if money >= 1 or money == 0 else f"{money:.2g}"


def _minutes(minutes: float) -> str:
    if minutes < 2:
        return f"{minutes * 60:.0f} seconds"
    return f"{minutes:.0f} minutes" if minutes < 120 else f"{minutes / 60:.1f} hours"
