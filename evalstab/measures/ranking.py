"""Ranking: the declared order, its totals and points, and what is wrong with them.

The stated ranking counts, whatever the totals say; where they disagree it is a contradiction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from evalstab.findings import Finding, finding
from evalstab.measures.base import Fact, Measured, TrialMeasure, put, put_all
from evalstab.measures.view import TrialView
from evalstab.task.ranking import StatedRanking
from evalstab.task.unasked import NO_TASK

LEAST_FOR_ECHO = 3
LEAST_FOR_REVERSE = 5
"""With fewer candidates an honest order too often is the reverse of another by chance."""

SHOWN = 20
_KEYS = ("ranking", "totals", "criteria", "winner", "winners", "top_score")


def compute(trial: TrialView) -> Measured:
    """Read the declared ranking and hold it against the task and the other deliverables."""
    found = Measured()
    ranking = trial.ranking
    if ranking is None:
        put_all(found.values, _KEYS, _why_none(trial))
        return found
    put_ranking(found.values, ranking)
    found.findings += [*_naming(trial, ranking), *_numbers(trial), *_contradictions(trial)]
    if _constant(ranking):
        found.findings.append(_finding(trial, "trial.constant_scores", total=_top(ranking)))
    elif (echoed := _echo(trial, ranking)) is not None:
        chance = 1 / math.factorial(min(len(trial.task.candidates), 20))
        found.findings.append(_finding(trial, "trial.order_echo", order=echoed, chance=chance))
    return found


def put_ranking(values: dict[str, Any], ranking: StatedRanking) -> None:
    """The values of a ranking that could be read."""
    first = ranking.groups[0]
    values["ranking"] = [list(group) for group in ranking.groups]
    put(values, "totals", ranking.totals or None, "no totals are stated")
    put(values, "criteria", ranking.criteria or None, "no points by criterion are stated")
    put(values, "winner", first[0] if len(first) == 1 else None, "the first place is tied")
    values["winners"] = list(first)
    put(values, "top_score", _top(ranking), "no totals are stated")


def _why_none(trial: TrialView) -> str:
    path = trial.task.ranking.path
    if not trial.task.candidates:
        return NO_TASK
    return trial.open_reason or trial.delivered.invalid.get(path, f"{path} was not written")


def _top(ranking: StatedRanking) -> float | None:
    return max(ranking.totals.values(), default=None)


def _finding(trial: TrialView, code: str, **detail: Any) -> Finding:
    """A finding about the ranking, at the step that delivered it."""
    step = trial.delivery_step
    return finding(
        code,
        step=step.number if step else None,
        channel="file",
        context_tokens=step.known_context if step else None,
        excerpt=detail.pop("excerpt", None),
        detail=detail,
    )


def _naming(trial: TrialView, ranking: StatedRanking) -> Iterator[Finding]:
    if ranking.missing:
        yield _finding(trial, "trial.incomplete_ranking", missing=list(ranking.missing[:SHOWN]))
    if ranking.unknown:
        yield _finding(trial, "trial.unknown_candidate", unknown=list(ranking.unknown[:SHOWN]))


def _numbers(trial: TrialView) -> Iterator[Finding]:
    for path, slips in trial.delivered.arithmetic.items():
        shown = [
            {
                "kind": slip.kind,
                "candidate": slip.candidate,
                "criterion": slip.criterion,
                "stated": slip.stated,
                "expected": slip.expected,
            }
            for slip in slips[:SHOWN]
        ]
        yield _finding(trial, "trial.arithmetic", path=path, count=len(slips), slips=shown)


def _contradictions(trial: TrialView) -> Iterator[Finding]:
    """One finding for each kind and pair of deliverables."""
    ordered = sorted(trial.delivered.contradictions, key=lambda c: (c.kind, c.paths))
    for (kind, paths), group in groupby(ordered, key=lambda c: (c.kind, c.paths)):
        same = list(group)
        named = dict.fromkeys(candidate for one in same for candidate in one.candidates)
        yield _finding(
            trial,
            "trial.contradiction",
            excerpt=same[0].text,
            kind=kind,
            paths=list(paths),
            candidates=list(named)[:SHOWN],
            count=len(same),
        )


def _constant(ranking: StatedRanking) -> bool:
    totals = list(ranking.totals.values())
    return len(totals) > 1 and all(math.isclose(t, totals[0], rel_tol=1e-9) for t in totals)


def _echo(trial: TrialView, ranking: StatedRanking) -> str | None:
    """Which order the ranking only repeats, None where it is its own (or the true one)."""
    order = [group[0] for group in ranking.groups if len(group) == 1]
    if len(order) < max(LEAST_FOR_ECHO, len(trial.task.candidates)):
        return None
    truth = trial.task.truth
    if truth is not None and [tuple(group) for group in truth.order] == list(ranking.groups):
        return None
    for name, echoed in _orders(trial):
        if order == echoed:
            return name
        if order == echoed[::-1] and len(order) >= LEAST_FOR_REVERSE:
            return f"{name}, reversed"
    return None


def _orders(trial: TrialView) -> Iterator[tuple[str, list[str]]]:
    candidates = list(trial.task.candidates)
    declared = trial.started.variation.get("order") if trial.started else None
    if isinstance(declared, list):
        yield "reading order", declared
    read = _read_order(trial)
    if len(read) == len(candidates):
        yield "reading order", read
    yield "order of the task", candidates
    yield "alphabet", sorted(candidates)
    names = {c.id: (c.name or c.id).casefold() for c in trial.task.spec.candidates}
    yield "alphabet of the names", sorted(candidates, key=names.__getitem__)


def _read_order(trial: TrialView) -> list[str]:
    """Candidates in the order in which their files were first read."""
    by_file = {c.file: c.id for c in trial.task.spec.candidates if c.file}
    paths = (result.path for step in trial.steps for result in step.event.results)
    return list(dict.fromkeys(by_file[path] for path in paths if path in by_file))


MEASURE = TrialMeasure(
    name="ranking",
    meaning="The judgement itself: who stands where, with how many points.",
    facts=(
        Fact("ranking", "Tie groups of candidates, best first.", "list", ""),
        Fact("totals", "Total of each candidate, as stated.", "points", "the task's range"),
        Fact("criteria", "Points of each candidate by criterion.", "points", "the rubric's range"),
        Fact("winner", "The first place; null where it is tied.", "candidate", ""),
        Fact("winners", "All candidates on the first place.", "list", ""),
        Fact("top_score", "Highest total awarded.", "points", "the task's range"),
    ),
    compute=compute,
    codes=(
        "trial.incomplete_ranking",
        "trial.unknown_candidate",
        "trial.arithmetic",
        "trial.contradiction",
        "trial.order_echo",
        "trial.constant_scores",
    ),
)
