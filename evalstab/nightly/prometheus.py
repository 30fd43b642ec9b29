"""A night for Prometheus' textfile collector: gauges without times, scores only when valid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from evalstab.gate.keys import find_number
from evalstab.history.rows import Row
from evalstab.nightly.night import Item, Night, Result
from evalstab.nightly.results import scores_of
from evalstab.workflow.request import parse_sizes

_SCORES = {
    "kendall_tau": ("Mean pairwise Kendall tau of the trials.", "stability.kendall_tau.mean"),
    "kendall_tau_low": ("Lower end of its 95 % interval.", "stability.kendall_tau.ci_low"),
    "kendall_tau_high": ("Upper end of its 95 % interval.", "stability.kendall_tau.ci_high"),
    "winner_agreement": (
        "Share of trial pairs with one winner.",
        "stability.winner.pair_agreement",
    ),
    "scale_cv": ("CV of the highest totals.", "stability.scale.cv"),
    "leak_rate": ("Share of trials with a foreign script.", "language.leak_rate.value"),
    "decode_tokens_per_second": ("Median decode rate.", "speed.decode_tok_s.p50"),
}
_ENDED = "# HELP evalstab_{0} {1}\n# TYPE evalstab_{0} gauge\n"


def night_metrics(night: Night, rows: Sequence[Row]) -> bytes:
    """The text file, ending with a line break.

    Where two entries of the night ask for the same, the first has the sample: a collector refuses
    a file that names one twice.
    """
    lines: dict[str, tuple[str, dict[str, str]]] = {}
    for name, meaning, labels, value in _samples(night, rows):
        lines.setdefault(name, (meaning, {}))[1].setdefault(labels, value)
    parts = [
        _ENDED.format(name, meaning)
        + "".join(f"evalstab_{name}{labels} {value}\n" for labels, value in samples.items())
        for name, (meaning, samples) in lines.items()
    ]
    return "".join(parts).encode()


def _samples(night: Night, rows: Sequence[Row]) -> Iterator[tuple[str, str, str, str]]:
    yield "exit_code", "Exit code of the last night.", "", str(night.exit_code)
    if night.ended:
        at = _unix(night.ended)
        yield "last_run_timestamp_seconds", "When the last night ended.", "", at
    for item in night.items:
        mine = _labels(item)
        meaning = "Exit code of a series of the last night; absent where it was left out."
        if item.status != "left_out":
            yield "series_exit_code", meaning, mine, str(item.exit_code)
        for result in item.results:
            yield from _of(item, result)
        yield from _successes(item, rows)


def _successes(item: Item, rows: Sequence[Row]) -> Iterator[tuple[str, str, str, str]]:
    """Also of a series that was left out or whose endpoint was dead: that is what alarms ask."""
    entry = item.settings
    asked: tuple[int | None, ...] = parse_sizes(entry.context) or (None,)
    sizes = {*asked, *(result.context for result in item.results)}
    own = {result.id for result in item.results}
    names = {entry.task, Path(entry.task).name, *(row.task for row in rows if row.id in own)}
    for size in sorted(sizes, key=lambda size: size or 0):
        whole = [
            row.created
            for row in rows
            if row.task in names and row.endpoint == entry.endpoint and row.context == size
            if row.complete and row.verdict != "invalid"
            if row.concurrency == 1 and not row.variation
        ]
        if whole:
            meaning = "When the last complete series began."
            yield "last_success_timestamp_seconds", meaning, _labels(item, size), _unix(max(whole))


def _of(item: Item, result: Result) -> Iterator[tuple[str, str, str, str]]:
    labels = _labels(item, result.context)
    counts = {"judged": result.judged, "missing": max(0, result.planned - result.judged)}
    for outcome, number in counts.items():
        own = f'{labels[:-1]},outcome="{outcome}"}}'
        yield "trials", "Trials of the last night by outcome.", own, str(number)
    if result.partial or result.verdict == "invalid" or item.status in ("stopped", "cut"):
        return
    scores = scores_of(result.folder) or {}
    for name, (meaning, key) in _SCORES.items():
        value = find_number(scores, key)
        if value is not None:
            yield name, meaning, labels, repr(float(value))


def _labels(item: Item, *size: int | None) -> str:
    """Those of a whole entry, or of its series at one size."""
    entry = item.settings
    sizes = " ".join(entry.context) if not size else str(size[0] or "")
    pairs = {"task": entry.task, "endpoint": entry.endpoint, "context": sizes or "natural"}
    return "{" + ",".join(f'{key}="{_escaped(value)}"' for key, value in pairs.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _unix(text: str) -> str:
    return str(datetime.fromisoformat(text).timestamp())
