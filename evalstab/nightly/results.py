"""What the series of one entry came to, with drift against the baseline and against last night."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from evalstab.chat import Json
from evalstab.gate.keys import find_number
from evalstab.history.baseline import SCORES
from evalstab.history.drift import BASELINE, LAST, told_apart
from evalstab.history.rows import JUDGED, Row
from evalstab.nightly.night import Result
from evalstab.series.folder import SERIES_FILE
from evalstab.series.ladder import is_ladder, open_ladder
from evalstab.workflow.trends import REPORTS, drifted, last_night

LEAST = 2
"""Judged trials below which nothing is compared."""


def results_of(root: Path, baseline: str | None, rows: Sequence[Row]) -> tuple[Result, ...]:
    """A result for every scored series in this folder: one, or one for each rung of a ladder."""
    places = [root / rung.name for rung in open_ladder(root).rungs] if is_ladder(root) else [root]
    scored = [p for p in places if (p / SERIES_FILE).is_file() and (p / SCORES).is_file()]
    return tuple(
        _result(place, (baseline, _base_of(place, root, baseline)), rows) for place in scored
    )


def scores_of(folder: str | Path) -> Json | None:
    """The scores of a series; None where they cannot be read."""
    try:
        found: Json = msgspec.json.decode((Path(folder) / SCORES).read_bytes(), type=dict)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None
    return found


def _base_of(place: Path, root: Path, baseline: str | None) -> Path | None:
    """The baseline of this series: of the rung of the same name, where it is that of a ladder."""
    if baseline is None:
        return None
    base = Path(baseline)
    rung = base / place.name
    if place != root and rung.is_dir():
        return rung
    return base if base.is_file() or (base / SCORES).is_file() else None


def not_set(baseline: str) -> str:
    """What is said of a baseline that is named and not there."""
    name = Path(baseline).name
    return f"baseline {baseline} is not set yet: evalstab baseline set DIR --name {name}"


def _result(place: Path, named: tuple[str | None, Path | None], rows: Sequence[Row]) -> Result:
    baseline, base = named
    scores = scores_of(place) or {}
    series, verdict = scores.get("series") or {}, scores.get("verdict") or {}
    judged = sum(t["outcome"] in JUDGED for t in scores.get("trials") or ())
    earlier = last_night(place, rows, REPORTS) if judged >= LEAST else None
    drift: dict[str, Json | None] = {BASELINE: None, LAST: None}
    if judged >= LEAST and base is not None:
        drift[BASELINE] = drifted(base, place)
    elif baseline is not None and base is None:
        drift[BASELINE] = {"problem": not_set(baseline)}
    if earlier is not None:
        drift[LAST] = drifted(earlier, place)
    usable = {key: one for key, one in drift.items() if one is None or "problem" not in one}
    return Result(
        folder=str(place),
        id=str(series.get("id")),
        context=series.get("context_target"),
        verdict=str(verdict.get("status") or "none"),
        reason=verdict.get("reason"),
        judged=judged,
        planned=int(series.get("repeats_planned") or 0),
        tau=find_number(scores, "stability.kendall_tau.mean"),
        tau_low=find_number(scores, "stability.kendall_tau.ci_low"),
        tau_high=find_number(scores, "stability.kendall_tau.ci_high"),
        drift=drift,
        reading=told_apart(usable),
        provisional=bool(verdict.get("provisional")),
    )
