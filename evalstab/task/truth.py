"""Reads the known truth of a task and holds it against the task's candidates and rubric."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain, pairwise

from pydantic import ValidationError

from evalstab.task.draft import Draft
from evalstab.task.folder import TaskFolder
from evalstab.task.model import Truth
from evalstab.task.words import mistakes_of

Problem = tuple[str, str, str]


def read_truth(folder: TaskFolder, draft: Draft, relative: str) -> Truth | None:
    """The truth file (JSON), ``None`` where it is broken; every mistake goes to the folder."""
    text = folder.text(relative, "truth")
    if text is None:
        return None
    try:
        truth = Truth.model_validate(json.loads(text))
    except ValidationError as error:
        folder.mistakes += mistakes_of(error, relative, Truth)
        return None
    except (ValueError, RecursionError) as error:
        folder.complain(relative, "", f"this is no JSON: {error}", "Correct it")
        return None
    for key, problem, mend in chain(_order(truth, draft), _totals(truth, draft)):
        folder.complain(relative, key, problem, mend)
    return truth


def _order(truth: Truth, draft: Draft) -> Iterator[Problem]:
    known = {candidate.id for candidate in draft.candidates.values()}
    listed = [candidate for group in truth.order for candidate in group]
    yield from _names("order", set(listed), known)
    if len(set(listed)) < len(listed):
        yield "order", "a candidate stands twice", "Name each candidate once"
    totals = [[truth.totals[c] for c in group if c in truth.totals] for group in truth.order]
    filled = [group for group in totals if group]
    if any(min(above) <= max(below) for above, below in pairwise(filled)) or any(
        max(group) > min(group) for group in filled
    ):
        yield "order", "the order does not follow the totals", "Put the highest total first"


def _totals(truth: Truth, draft: Draft) -> Iterator[Problem]:
    known = {candidate.id for candidate in draft.candidates.values()}
    yield from _names("totals", set(truth.totals), known)
    low_high = draft.spec.total_range if draft.spec else None
    for candidate, total in truth.totals.items():
        if low_high and not low_high[0] <= total <= low_high[1]:
            problem = f"{total:g} lies outside {low_high[0]:g} to {low_high[1]:g}"
            yield f"totals.{candidate}", problem, "Correct it"
    if truth.criteria is None:
        return
    yield from _names("criteria", set(truth.criteria), known)
    rubric = {criterion.id: criterion for criterion in draft.criteria.values()}
    for candidate, points in truth.criteria.items():
        key = f"criteria.{candidate}"
        yield from _names(key, set(points), set(rubric))
        for name, value in points.items():
            if name in rubric and not rubric[name].min <= value <= rubric[name].max:
                yield f"{key}.{name}", f"{value:g} lies outside the criterion's range", "Correct it"
        if abs(sum(points.values()) - truth.totals.get(candidate, sum(points.values()))) > 1e-6:
            yield key, "the points do not add up to the total", "Correct points or total"


def _names(key: str, given: set[str], known: set[str]) -> Iterator[Problem]:
    if unknown := sorted(given - known):
        yield key, f"task.toml does not know {', '.join(unknown)}", "Remove or correct them"
    if absent := sorted(known - given):
        yield key, f"{', '.join(absent)} missing", "Add them"
