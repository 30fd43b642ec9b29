"""What makes a series something else than N identical, independent trials.

Declared variations (shuffled reading order, cold caches, a seed for each trial) are no fault; what
differs without having been declared is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from evalstab.findings import Finding, finding
from evalstab.measures.base import Measured, SeriesMeasure
from evalstab.measures.facts import TrialFacts
from evalstab.measures.series_view import ScoredTrial, SeriesView

LAUNCH_FILE = "launch.json"
WARM_SHARE = 0.5
COLD_SHARE = 0.1
REASONS_SHOWN = 3
TRIALS_SHOWN = 20


def compute(series: SeriesView) -> Measured:
    """Findings of the series as a whole."""
    checks = (_no_variation, _fixed_seed, _mixed, _cold_first, _saturated, _unproven)
    return Measured({}, [found for check in checks for found in check(series)])


def _series_finding(code: str, **detail: Any) -> Finding:
    return finding(code, channel="series", detail=detail)


def _no_variation(series: SeriesView) -> Iterator[Finding]:
    outputs = {trial.facts.output for trial in series.answered}
    if len(series.answered) > 1 and len(outputs) == 1:
        yield _series_finding("series.no_variation", trials=len(series.answered))


def _fixed_seed(series: SeriesView) -> Iterator[Finding]:
    seeds = [trial.facts.seed for trial in series.trials]
    if seeds and seeds[0] is not None and all(seed == seeds[0] for seed in seeds):
        yield _series_finding("series.fixed_seed", seed=seeds[0])


def _mixed(series: SeriesView) -> Iterator[Finding]:
    differing = {
        name: values
        for name, values in _conditions(series).items()
        if len({repr(value) for value in values.values()}) > 1
    }
    if differing:
        detail = {name: _by_value(values) for name, values in sorted(differing.items())}
        yield _series_finding("series.mixed_conditions", differing=detail)


def _conditions(series: SeriesView) -> dict[str, dict[int, Any]]:
    """What should be identical, by name: its value in each trial that states one."""
    conditions: dict[str, dict[int, Any]] = {}
    for trial in series.trials:
        for name, value in _stated(trial.facts):
            conditions.setdefault(name, {})[trial.index] = value
    for name in {key for trial in series.trials for key in trial.facts.fields}:
        conditions[f"fields.{name}"] = {
            trial.index: trial.facts.fields.get(name, "not set") for trial in series.trials
        }
    return conditions


def _stated(facts: TrialFacts) -> Iterator[tuple[str, Any]]:
    if not facts.varied:
        yield "tools", facts.tools
        yield "opening", facts.opening
    if facts.models:
        yield "model", facts.models
    if facts.providers:
        yield "provider", facts.providers
    if facts.fingerprints:
        yield "system_fingerprint", facts.fingerprints


def _by_value(values: dict[int, Any]) -> dict[str, list[int]]:
    """Which trials have which value; texts are shortened, for people to read."""
    found: dict[str, list[int]] = {}
    for index, value in values.items():
        text = ", ".join(value) if isinstance(value, tuple) else str(value)
        found.setdefault(text[:80], []).append(index)
    return {value: indices[:TRIALS_SHOWN] for value, indices in found.items()}


def cold_first(series: SeriesView) -> bool:
    """Whether the first trial alone had a cold prefix cache, without that having been asked for."""
    if series.condition("cache") == "cold" or len(series.trials) < 2:
        return False
    first, *later = sorted(series.trials, key=lambda trial: trial.index)
    shares = [_cached_share(trial) for trial in later]
    if any(share is None or share < WARM_SHARE for share in shares):
        return False
    if first.index != 1 or first.facts.first_prompt is None:
        return False
    return (_cached_share(first) or 0.0) <= COLD_SHARE


def _cold_first(series: SeriesView) -> Iterator[Finding]:
    if not cold_first(series):
        return
    first, *later = sorted(series.trials, key=lambda trial: trial.index)
    yield _series_finding(
        "series.cold_first_run",
        first_cached=first.facts.first_cached or 0,
        later_cached=[trial.facts.first_cached for trial in later[:20]],
        first_output_differs=_differs_alone(first, later),
    )


def _cached_share(trial: ScoredTrial) -> float | None:
    facts = trial.facts
    if not facts.first_prompt or facts.first_cached is None:
        return None
    return facts.first_cached / facts.first_prompt


def _differs_alone(first: ScoredTrial, later: list[ScoredTrial]) -> bool:
    """Whether all later trials agree word for word and the first alone does not."""
    outputs = {trial.facts.output for trial in later}
    return len(later) > 1 and len(outputs) == 1 and first.facts.output not in outputs


def _saturated(series: SeriesView) -> Iterator[Finding]:
    reasons = Counter(reason for trial in series.trials for reason in trial.facts.unreliable)
    if reasons:
        hit = [t for t in series.trials if t.facts.unreliable][:TRIALS_SHOWN]
        most = dict(reasons.most_common(REASONS_SHOWN))
        yield _series_finding(
            "series.saturated",
            trials=[t.index for t in hit],
            answers=[len(t.facts.unreliable) for t in hit],
            reasons=most,
        )


def _unproven(series: SeriesView) -> Iterator[Finding]:
    if series.simulated:
        return
    launch = _launch(series)
    if launch is None or launch.get("captured") is False:
        reason = str((launch or {}).get("reason") or f"there is no {LAUNCH_FILE}")
        yield _series_finding("series.unproven_launch", reason=reason[:300])


def _launch(series: SeriesView) -> dict[str, Any] | None:
    try:
        return msgspec.json.decode((series.root / LAUNCH_FILE).read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


MEASURE = SeriesMeasure(
    name="conditions",
    meaning="Whether the trials are identical, independent, and measured under known conditions.",
    facts=(),
    compute=compute,
    codes=(
        "series.no_variation",
        "series.fixed_seed",
        "series.mixed_conditions",
        "series.cold_first_run",
        "series.saturated",
        "series.unproven_launch",
    ),
)
