"""Scores as ``scores.json`` has them, from rankings and totals that a test chooses."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from evalstab.sim.persona import load
from evalstab.statistics.block import stability_block
from evalstab.statistics.ranks import places_from_rankings

Json = dict[str, Any]
Ranking = Sequence[str] | None


def people(number: int) -> list[str]:
    """So many candidates."""
    return [f"person_{n:02d}" for n in range(1, number + 1)]


def trial(index: int, ranking: Ranking, **changes: Any) -> Json:
    """One trial's entry; ``changes`` replace keys."""
    groups = None if ranking is None else [[who] for who in ranking]
    top = None if ranking is None else 100.0
    entry: Json = {
        "index": index,
        "attempt": 1,
        "outcome": "completed",
        "reason": "",
        "seconds": 1500.0,
        "steps": 10,
        "resumed": False,
        "deliverables": {"expected": 6, "complete": 6, "missing": [], "invalid": []},
        "ranking": groups,
        "totals": None,
        "winner": ranking[0] if ranking else None,
        "winners": [ranking[0]] if ranking else [],
        "top_score": top,
        "tool_calls": {"total": 20, "completed": 20, "unfinished": 0, "repeated": 0},
        "findings": [],
        "finding_counts": {},
    }
    return entry | changes


def fault(code: str, side: str = "model") -> Json:
    """Keys of a trial with one finding."""
    return {"findings": [{"code": code, "side": side}], "finding_counts": {code: 1}}


def scores_of(
    trials: Sequence[Json],
    candidates: Sequence[str],
    *,
    planned: int | None = None,
    findings: Sequence[Json] = (),
    attrition: Mapping[str, int] | None = None,
) -> Json:
    """The scores of these trials, with a real stability block."""
    judged = [t for t in trials if t["outcome"] in ("completed", "failed")]
    places = places_from_rankings([t["ranking"] for t in judged], candidates)
    totals = np.full(places.shape, math.nan)
    for row, entry in zip(totals, judged, strict=True):
        if entry["top_score"] is not None:
            row[0] = entry["top_score"]
    return {
        "schema_version": 1,
        "series": {
            "id": "series",
            "task": "elf",
            "endpoint": "rig",
            "model": "m2",
            "context_target": None,
            "repeats_planned": planned or len(trials),
            "repeats_done": len(judged),
            "simulated": False,
            "attempts": len(trials),
            "invalid": 0,
            "attrition": dict(attrition or {}),
        },
        "trials": list(trials),
        "findings": list(findings),
        "stability": stability_block(places, totals, candidates).to_dict(),
        "verdict": {"status": "none", "rules": [], "next": []},
    }


def from_places(places: npt.NDArray[np.float64], **changes: Any) -> Json:
    """Scores of trials whose places (trials, candidates) are given."""
    names = people(places.shape[1])
    order = np.argsort(places, axis=1)
    made = [trial(n, [names[i] for i in row]) for n, row in enumerate(order, 1)]
    return scores_of(made, names, **changes)


def same(number: int, candidates: int = 11, **changes: Any) -> Json:
    """So many trials that all give the same order (in other words)."""
    names = people(candidates)
    return scores_of([trial(n, names) for n in range(1, number + 1)], names, **changes)


def five_runs() -> Json:
    """Five trials with the reported maxima, winners and places (the orders of ``sim:drifting``)."""
    pinned = [dict(one.totals) for one in load("drifting").pinned]
    made = []
    for number, totals in enumerate(pinned, 1):
        order = sorted(totals, key=lambda who: -totals[who])
        made.append(trial(number, order, totals=totals, top_score=max(totals.values())))
    return scores_of(made, people(11))
