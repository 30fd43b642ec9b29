"""A ladder's result: one row a rung, and each rung against the control.

Stability is compared by Welch's test on atanh(tau) and by the difference with its interval
(``statistics/compare.py``). An absence of evidence is said to be one: with few trials on either
side only large changes can be seen.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

import numpy as np

from evalstab.chat import Json
from evalstab.measures.base import put
from evalstab.series.ladder import Rung
from evalstab.statistics.compare import non_inferiority, stability_difference, stability_test
from evalstab.statistics.ranks import FloatArray, places_from_rankings

LEAST_TRIALS = 3
"""Ranked trials on each side below which nothing can be compared."""

FEW_TRIALS = 5
MARGIN = 0.10
"""Loss of mean tau up to which a rung counts as not worse than the control."""

WORST = ("invalid", "fail", "undecided", "none", "pass")
"""Verdicts, the one that says most against passing first."""

_SPEED = ("decode_tok_s", "prefill_tok_s", "ttft_s", "latency_s", "gap_p99_ms")


def ladder_result(rungs: Sequence[tuple[Rung, Json]], missing: Sequence[Rung] = ()) -> Json:
    """Rows and comparisons of the rungs that have scores, in order; ``change`` is against the
    control, ``gate`` what their verdicts say together. ``missing`` rungs have no scores."""
    control = next((scores for rung, scores in rungs if rung.control), None)
    rows = [_row(rung, scores) for rung, scores in rungs]
    for row, (rung, scores) in zip(rows, rungs, strict=True):
        if control is None or rung.control:
            put(row, "change", None, "the control" if rung.control else "no control was measured")
        else:
            row["change"] = _change(control, scores)
    result: Json = {"control": next((r.name for r, _ in rungs if r.control), None), "rungs": rows}
    result["answer"] = _answer(rows)
    result["gate"] = _gate(rows, missing)
    return result


def _gate(rows: Sequence[Json], missing: Sequence[Rung]) -> Json | None:
    """The worst verdict, and the largest step that passes with all below it; None: no gate.

    A step is one size, or one level of load where the sizes are equal; it passes when all its rungs
    do. What passes above a step that does not is no promise: ``passes_up_to`` ends below it.
    """
    if all(row["verdict"] == "none" for row in rows):
        return None
    sizes = {row["context_target"] for row in rows} | {rung.context_target for rung in missing}
    cause = "context" if len(sizes) > 1 else "load"
    steps: dict[int, list[Json]] = {}
    for row in [*rows, *(_not_run(rung) for rung in missing)]:
        step = row["context_target"] or 0 if cause == "context" else row["concurrency"]
        steps.setdefault(step, []).append(row)
    passed, stopped = None, None
    for step in sorted(steps):
        stopped = next((row for row in steps[step] if row["verdict"] != "pass"), None)
        if stopped is not None:
            break
        passed = steps[step][-1]
    found = {row["verdict"] for step in steps.values() for row in step}
    status = next(status for status in WORST if status in found)
    every = [row for step in sorted(steps) for row in steps[step]]
    return {
        "status": status,
        "gate": next((row["gate"] for row in rows if row["gate"] is not None), None),
        "provisional": any(row["provisional"] for row in rows),
        "cause": cause,
        "passes_up_to": _step(passed),
        "stopped_by": _step(stopped),
        "worst": _step(next(row for row in every if row["verdict"] == status)),
    }


def _not_run(rung: Rung) -> Json:
    return {
        "name": rung.name,
        "context_target": rung.context_target,
        "concurrency": rung.concurrency,
        "active_context": None,
        "verdict": "invalid",
        "told": "not run",
        "gate": None,
    }


def _step(row: Json | None) -> Json | None:
    """What is kept of the rung that stands for a step."""
    if row is None:
        return None
    active = row["active_context"]
    return {
        "rung": row["name"],
        "status": row.get("told", row["verdict"]),
        "context_target": row["context_target"],
        "active_context": None if active is None else active["median"],
        "concurrency": row["concurrency"],
    }


def _row(rung: Rung, scores: Json) -> Json:
    trials = [t for t in scores["trials"] if t["outcome"] in ("completed", "failed")]
    stability = scores["stability"]
    tau, winner, scale = (stability[key] for key in ("kendall_tau", "winner", "scale"))
    row: Json = {
        "name": rung.name,
        "context_target": rung.context_target,
        "concurrency": rung.concurrency,
        "trials": len(trials),
        "ranked": stability["trials_ranked"],
        "complete": sum(_complete(t) for t in trials),
        "active_context": _spread([t.get("active_context_tokens") for t in trials]),
        "deviation": _spread([t.get("context_deviation") for t in trials]),
        "target_missed": sum("context.target_missed" in t["finding_counts"] for t in trials),
        "kendall_tau": {key: tau.get(key) for key in ("mean", "ci_low", "ci_high")},
        "winners": winner.get("distinct"),
        "scale_cv": scale.get("cv"),
        "findings": sum(_model_findings(t) for t in trials),
        "accuracy": _accuracy(trials),
        "verdict": scores["verdict"]["status"],
        "gate": scores["verdict"].get("gate"),
        "provisional": bool(scores["verdict"].get("provisional")),
    }
    speed: Mapping[str, Any] = scores.get("speed") or {}
    row["speed"] = {key: speed.get(key) for key in _SPEED}
    row["speed"]["context_tokens"] = speed.get("context_tokens")
    row["speed"]["cold_first"] = speed.get("cold_first")
    row["speed"]["sources"] = speed.get("sources")
    return row


def _complete(trial: Json) -> bool:
    delivered = trial["deliverables"]
    return bool(delivered["complete"] == delivered["expected"])


def _model_findings(trial: Json) -> bool:
    return any(found["side"] == "model" for found in trial["findings"])


def _spread(values: Sequence[float | None]) -> Json | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    return {"median": float(median(known)), "min": min(known), "max": max(known)}


def _accuracy(trials: Sequence[Json]) -> Json | None:
    known = [t["accuracy"] for t in trials if t.get("accuracy")]
    taus = [a["kendall_tau_truth"] for a in known if a["kendall_tau_truth"] is not None]
    errors = [a["mean_abs_error"] for a in known if a["mean_abs_error"] is not None]
    if not known:
        return None
    return {
        "kendall_tau_truth": float(median(taus)) if taus else None,
        "mean_abs_error": float(median(errors)) if errors else None,
        "winner_right": sum(a["winner_right"] for a in known) / len(known),
    }


def _places(scores: Json, candidates: Sequence[str]) -> FloatArray:
    trials = [t for t in scores["trials"] if t["outcome"] in ("completed", "failed")]
    return places_from_rankings([t["ranking"] for t in trials], tuple(candidates))


def _change(control: Json, scores: Json) -> Json:
    """The rung's mean tau less the control's, its interval, the test, and what that means."""
    candidates = sorted(
        {
            candidate
            for one in (control, scores)
            for trial in one["trials"]
            for group in trial["ranking"] or ()
            for candidate in group
        }
    )
    change: Json = {}
    base, new = (_places(one, candidates) for one in (control, scores))
    ranked = [int((~np.isnan(side)).any(axis=1).sum()) if side.size else 0 for side in (base, new)]
    if min(ranked) < LEAST_TRIALS or len(candidates) < 2:
        reason = f"needs {LEAST_TRIALS} ranked trials on both sides, there are {min(ranked)}"
        for key in ("difference", "ci_low", "ci_high", "p"):
            put(change, key, None, reason)
        return change | {"reading": "too few trials"}
    difference, interval = stability_difference(base, new)
    test = stability_test(base, new)
    put(change, "difference", difference.value, difference.reason or "")
    put(change, "ci_low", interval.low, interval.reason or "")
    put(change, "ci_high", interval.high, interval.reason or "")
    put(change, "p", test.p, test.reason or "")
    change["reading"] = _reading(change, non_inferiority(base, new, MARGIN), min(ranked))
    return change


def _reading(change: Json, inferior: str, trials: int) -> str:
    if change["ci_high"] is not None and change["ci_high"] < 0:
        return "less stable"
    if change["ci_low"] is not None and change["ci_low"] > 0:
        return "more stable"
    if inferior == "not_worse":
        return "not less stable"
    return "too few trials" if trials <= FEW_TRIALS else "undecided"


def _answer(rows: Sequence[Json]) -> Json:
    """What the rungs say together: the first rung that is less stable than the control."""
    compared = [row for row in rows if row["change"] is not None]
    if not compared:
        return {"reading": "too few trials", "rung": None}
    for row in compared:
        if row["change"]["reading"] == "less stable":
            return {"reading": "less stable", "rung": row["name"]}
    last = compared[-1]
    return {"reading": last["change"]["reading"], "rung": last["name"]}
