"""``evalstab history``: the store brought up to date, tracks with steps, drift, pages and plots."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from evalstab.chat import Json
from evalstab.errors import EvalstabError, UsageError, nearest
from evalstab.gate.keys import find_number
from evalstab.history.baseline import Baseline, baselines, freeze
from evalstab.history.drift import BASELINE, LAST, drift_of, told_apart
from evalstab.history.rows import Row, variation_of
from evalstab.history.store import open_store
from evalstab.history.tracks import FOLLOWED, Track, before, tracks_of
from evalstab.series.files import write_whole
from evalstab.workflow.compare import compared, side

if TYPE_CHECKING:
    from evalstab.report.trends import TrendData

REPORTS = Path("reports")
PAGES = "history"
_BASELINE_KEYS = {
    "tau": "stability.kendall_tau.mean",
    "winner": "stability.winner.pair_agreement",
    "scale": "stability.scale.cv",
    "leaks": "language.leak_rate.value",
    "reasoning": "reasoning.tokens.p50",
    "decode": "speed.decode_tok_s.p50",
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which tracks are asked for; None for all."""

    endpoint: str | None = None
    task: str | None = None
    reports: Path = REPORTS


def history(chosen: Chosen, *, rebuild: bool = False) -> Json:
    """All tracks asked for, as plain data, newest first; the store is brought up to date first.

    UsageError for an endpoint or task that no series is of.
    """
    with open_store(chosen.reports) as store:
        rows = store.rebuild() if rebuild else store.sync()
    tracks = tracks_of(_of(rows, chosen))
    known = baselines(chosen.reports)
    return {
        "schema_version": 1,
        "tracks": [_track(track, known, chosen.reports) for track in tracks],
    }


def drawn(found: Json, reports: Path = REPORTS) -> list[Path]:
    """Write the trend plot of every track into ``reports/history/``; returns the files."""
    from evalstab.report.trends import trend_plot  # noqa: PLC0415

    made = []
    for track in found["tracks"]:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", track["name"])[:120]
        own = hashlib.sha256(f"{track['name']} {track['digest']}".encode()).hexdigest()
        place = reports / PAGES / f"{name}-{own[:6]}.svg"
        write_whole(place, trend_plot(_trend(track)))
        made.append(place)
    return made


def set_baseline(root: Path, name: str | None, reports: Path = REPORTS) -> list[Path]:
    """Freeze the scores of a series or a ladder as a baseline; returns the folders made."""
    return freeze(root, reports, name)


def known_baselines(reports: Path = REPORTS) -> list[Json]:
    """All baselines as plain data, the newest first."""
    return [
        {
            "name": str(one.path.relative_to(reports / "baselines")),
            "path": str(one.path),
            "set_at": one.set_at,
            "judged": one.judged,
            "task": one.scores["series"].get("task"),
            "endpoint": one.scores["series"].get("endpoint"),
            "context": one.scores["series"].get("context_target"),
            "kendall_tau": find_number(one.scores, "stability.kendall_tau.mean"),
        }
        for one in baselines(reports)
    ]


def last_night(folder: Path, rows: Sequence[Row], reports: Path = REPORTS) -> Path | None:
    """The series of the same track before this one, None where this is the first."""
    place = str(folder.resolve().relative_to(reports.resolve()))
    own = next((row for row in rows if row.folder == place), None)
    earlier = before(rows, own) if own is not None else None
    return reports / earlier.folder if earlier is not None else None


def drifted(base: Path, new: Path) -> Json:
    """What comparing two series says of drift; ``problem`` alone where they cannot be compared."""
    try:
        return drift_of(compared(side(base), side(new))[0])
    except EvalstabError as error:
        return {"problem": str(error)}


def _of(rows: Sequence[Row], chosen: Chosen) -> list[Row]:
    for what in ("endpoint", "task"):
        wanted = getattr(chosen, what)
        names = {str(getattr(row, what)) for row in rows}
        if wanted is not None and wanted not in names:
            raise UsageError(f"no series of {what} {wanted!r}. {nearest(wanted, names)}")
    return [
        row
        for row in rows
        if chosen.endpoint in (None, row.endpoint) and chosen.task in (None, row.task)
    ]


def _track(track: Track, known: Sequence[Baseline], reports: Path) -> Json:
    base = next((one for one in known if _fits(one, track)), None)
    newest = track.rows[-1]
    earlier = before(track.rows, newest)
    drifts: dict[str, Json | None] = {BASELINE: None, LAST: None}
    if base is not None and newest.judged > 1:
        drifts[BASELINE] = drifted(base.path, reports / newest.folder)
    if earlier is not None and newest.judged > 1:
        drifts[LAST] = drifted(reports / earlier.folder, reports / newest.folder)
    usable = {key: one for key, one in drifts.items() if one is None or "problem" not in one}
    return {
        "name": track.key.name,
        "task": track.key.task,
        "endpoint": track.key.endpoint,
        "context": track.key.context or None,
        "digest": track.key.digest,
        "simulated": newest.simulated,
        "nights": [asdict(row) for row in track.rows],
        "marks": [asdict(mark) for mark in track.marks],
        "steps": [
            {
                "key": shift.number.key,
                "what": shift.number.name,
                "night": track.rows[shift.at].created,
                "at": shift.at,
                "before": shift.step.before,
                "after": shift.step.after,
                "p": shift.step.p,
                "direction": shift.word,
                "changed_then": list(shift.marks),
            }
            for shift in track.shifts
        ],
        "baseline": None if base is None else _numbers(base),
        "drift": {"baseline": drifts[BASELINE], "last_night": drifts[LAST]},
        "reading": told_apart(usable),
    }


def _fits(base: Baseline, track: Track) -> bool:
    series, work = base.scores["series"], base.scores.get("work") or {}
    conditions = base.scores.get("conditions") or {}
    return (
        series.get("endpoint") == track.key.endpoint
        and work.get("task_digest") == track.key.digest
        and (series.get("context_target") or 0) == track.key.context
        and int(conditions.get("concurrency") or 1) == track.key.concurrency
        and variation_of(conditions) == track.key.variation
    )


def _numbers(base: Baseline) -> Json:
    found: Json = {"path": str(base.path), "set_at": base.set_at, "judged": base.judged}
    return found | {key: find_number(base.scores, place) for key, place in _BASELINE_KEYS.items()}


def _trend(track: Json) -> TrendData:
    from evalstab.report.trends import TrendData, TrendPanel  # noqa: PLC0415

    nights = track["nights"]
    panels = []
    for number in FOLLOWED:
        values = tuple(night[number.key] for night in nights)
        between = [
            (night["tau_low"], night["tau_high"])
            if number.key == "tau" and None not in (night["tau_low"], night["tau_high"])
            else None
            for night in nights
        ]
        panels.append(
            TrendPanel(
                name=number.name,
                values=values,
                intervals=tuple(between),
                levels=tuple(_levels(track, number.key)),
                baseline=(track["baseline"] or {}).get(number.key),
            )
        )
    return TrendData(
        title=track["name"],
        nights=tuple(night["created"][:10] for night in nights),
        panels=tuple(panels),
        changes=tuple(sorted({mark["at"] for mark in track["marks"]})),
    )


def _levels(track: Json, key: str) -> list[tuple[int, int, float]]:
    """The levels on both sides of each step of a number."""
    found = [step for step in track["steps"] if step["key"] == key]
    edges = [0, *(step["at"] for step in found), len(track["nights"])]
    levels = [found[0]["before"], *(step["after"] for step in found)] if found else []
    return [(edges[i], edges[i + 1] - 1, level) for i, level in enumerate(levels)]
