"""Holds what an agent delivered against what its task asks for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from evalstab.task.documents import faults_in_document
from evalstab.task.model import ANSWER_FILE, Deliverable, Task, TaskFile
from evalstab.task.ranking import TOLERANCE, Slip, StatedRanking, Unreadable
from evalstab.task.ranking_json import read_json
from evalstab.task.ranking_text import read_list, read_table

MAX_RANKING_BYTES = 1_000_000
MAX_DOCUMENT_BYTES = 4_000_000


@dataclass(frozen=True, slots=True)
class Contradiction:
    """Two statements of one trial that cannot both hold.

    ``totals_against_order``: within one deliverable the totals do not follow the stated order.
    ``order``: two deliverables place a pair of candidates differently. ``totals``: they give a
    candidate different totals. ``text`` says it in words.
    """

    kind: Literal["totals_against_order", "order", "totals"]
    paths: tuple[str, ...]
    candidates: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class DeliverableReport:
    """What was delivered of a task.

    ``expected`` and ``complete`` count deliverables. ``missing`` are paths not written,
    ``invalid`` those written but not in the form asked for, with the reason: a ranking is in form
    when it names every candidate once and no other, with the totals and points asked for.
    ``rankings`` holds every ranking that could be read, the invalid ones included. ``arithmetic``
    are points that are wrong in themselves, by path.
    """

    expected: int
    complete: int
    missing: tuple[str, ...]
    invalid: dict[str, str]
    rankings: dict[str, StatedRanking]
    contradictions: tuple[Contradiction, ...]
    arithmetic: dict[str, tuple[Slip, ...]]


def check_deliverables(task: Task, files: Mapping[str, bytes]) -> DeliverableReport:
    """Check the files that an agent left (workspace path → bytes) against its task.

    Without tools the ranking is read from the answer (``ANSWER_FILE``). Raises nothing for any
    contents.
    """
    missing: list[str] = []
    invalid: dict[str, str] = {}
    rankings: dict[str, StatedRanking] = {}
    asked = task.spec.asked
    for deliverable in asked:
        without_tools = task.spec.tools == "none"
        data = files.get(ANSWER_FILE if without_tools else deliverable.path)
        if data is None:
            missing.append(deliverable.path)
            continue
        ranking, faults = _examined(deliverable, data, task.spec)
        if ranking is not None:
            rankings[deliverable.path] = ranking
        if faults:
            invalid[deliverable.path] = "; ".join(faults)
    return DeliverableReport(
        expected=len(asked),
        complete=len(asked) - len(missing) - len(invalid),
        missing=tuple(missing),
        invalid=invalid,
        rankings=rankings,
        contradictions=_contradictions(task, rankings),
        arithmetic={path: r.arithmetic for path, r in rankings.items() if r.arithmetic},
    )


def read_ranking(text: str, deliverable: Deliverable, spec: TaskFile) -> tuple[StatedRanking, bool]:
    """The ranking that a deliverable states, in its declared format; raises Unreadable.

    The second value is false where text stands around a ranking in JSON.
    """
    match deliverable.format:
        case "markdown-table":
            return read_table(text, spec), True
        case "numbered-list":
            return read_list(text, spec), True
        case _:
            return read_json(text, spec)


def _examined(
    deliverable: Deliverable, data: bytes, spec: TaskFile
) -> tuple[StatedRanking | None, list[str]]:
    limit = MAX_RANKING_BYTES if deliverable.kind == "ranking" else MAX_DOCUMENT_BYTES
    if len(data) > limit:
        return None, [f"larger than {limit} bytes"]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None, ["it is not UTF-8 text"]
    if not text.strip():
        return None, ["it is empty"]
    faults = [] if deliverable.kind == "ranking" else faults_in_document(text, deliverable)
    if deliverable.format is None:
        return None, faults
    try:
        ranking, whole = read_ranking(text, deliverable, spec)
    except Unreadable as error:
        return None, [*faults, str(error)]
    faults += _form_faults(ranking, spec, deliverable)
    if deliverable.kind == "ranking" and deliverable.format == "json" and spec.tools != "none":
        faults += [] if whole else ["text stands around the JSON"]
    return ranking, faults


def _form_faults(ranking: StatedRanking, spec: TaskFile, deliverable: Deliverable) -> list[str]:
    named = {
        "not ranked": ranking.missing,
        "ranked more than once": ranking.duplicates,
        "no such candidate": ranking.unknown,
    }
    if deliverable.kind == "ranking" and spec.total_range is not None:
        ranked = [candidate for group in ranking.groups for candidate in group]
        named["without a total"] = tuple(c for c in ranked if c not in ranking.totals)
        if deliverable.format == "json":
            named["without points on every criterion"] = tuple(
                c for c in ranked if len(ranking.criteria.get(c, {})) < len(spec.criteria)
            )
    return [f"{fault}: {_listed(names)}" for fault, names in named.items() if names]


def _listed(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _contradictions(task: Task, rankings: Mapping[str, StatedRanking]) -> tuple[Contradiction, ...]:
    found = []
    for path, ranking in rankings.items():
        for above, below in ranking.against_totals:
            high, low = ranking.totals[below], ranking.totals[above]
            text = f"{path} places {above} (total {low:g}) no lower than {below} (total {high:g})"
            found.append(Contradiction("totals_against_order", (path,), (above, below), text))
    declared = task.ranking.path
    others = [path for path in rankings if path != declared]
    if declared in rankings:
        for path in others:
            found += _between((declared, path), rankings[declared], rankings[path])
    return tuple(found)


def _between(
    paths: tuple[str, str], one: StatedRanking, other: StatedRanking
) -> list[Contradiction]:
    first, second = one.places, other.places
    common = [candidate for candidate in first if candidate in second]
    found = []
    moved = [
        (a, b)
        for a, b in combinations(common, 2)
        if _sign(first[a] - first[b]) != _sign(second[a] - second[b])
    ]
    if moved:
        a, b = moved[0]
        text = (
            f"{paths[0]} and {paths[1]} order {len(moved)} pairs differently, such as {a} and {b}"
        )
        affected = {candidate for pair in moved for candidate in pair}
        names = tuple(c for c in common if c in affected)
        found.append(Contradiction("order", paths, names, text))
    for candidate in common:
        mine, theirs = one.totals.get(candidate), other.totals.get(candidate)
        if mine is not None and theirs is not None and abs(mine - theirs) > TOLERANCE:
            text = (
                f"{candidate} has a total of {mine:g} in {paths[0]} and of {theirs:g} in {paths[1]}"
            )
            found.append(Contradiction("totals", paths, (candidate,), text))
    return found


def _sign(difference: int) -> int:
    return (difference > 0) - (difference < 0)
