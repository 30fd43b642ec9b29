"""A task split into groups of candidates, and the rankings of the groups joined again.

Some candidates, the anchors, stand in every group: they tie the groups' scales together
(``statistics/merging.py``). The split depends on seed and candidates alone and is the same in all
trials. A group is asked for its ranking only: every other document would be about all candidates.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evalstab.errors import UsageError
from evalstab.statistics.merging import Merged, merge_groups
from evalstab.task.deliverables import check_deliverables
from evalstab.task.generate.chance import Chance
from evalstab.task.model import ANSWER_FILE, Points, Task
from evalstab.task.ranking import StatedRanking
from evalstab.task.variation import ranking_only

MANY = 12
"""From so many candidates on, three of them are anchors."""

_WIDEST = Points(min=-1e6, max=1e6)


@dataclass(frozen=True, slots=True)
class Split:
    """Candidates of each group, anchors included, in reading order; and the anchors."""

    groups: tuple[tuple[str, ...], ...]
    anchors: tuple[str, ...]


def split(candidates: Sequence[str], groups: int, seed: int) -> Split:
    """Deal the candidates out; UsageError where there are too few of them."""
    anchors = 3 if len(candidates) >= MANY else 2 if len(candidates) >= 2 + 2 * groups else 1
    if len(candidates) < anchors + groups:
        raise UsageError(
            f"--groups {groups}: {len(candidates)} candidates are too few; every group needs one "
            "of its own beside the anchor"
        )
    dealt = Chance("groups", seed, groups, *candidates).shuffled(candidates)
    shared, rest = set(dealt[:anchors]), dealt[anchors:]
    parts = [shared | set(rest[number::groups]) for number in range(groups)]
    return Split(
        tuple(tuple(c for c in candidates if c in part) for part in parts),
        tuple(c for c in candidates if c in shared),
    )


def judged_whole(task: Task) -> Task:
    """The task by which a joined ranking is read: JSON, any totals, no points by criterion."""
    whole = ranking_only(task)
    ranking = whole.ranking.model_copy(update={"format": "json"})
    spec = whole.spec.model_copy(
        update={"deliverables": (ranking,), "criteria": (), "points": _WIDEST}
    )
    return replace(whole, spec=spec)


def joined_files(
    task: Task, parts: Sequence[tuple[Task, Mapping[str, bytes]]], anchors: Sequence[str]
) -> dict[str, bytes]:
    """The joined ranking as a file; empty where a group has no ranking of all its candidates.

    ``parts`` are the groups as they were asked, with the files that each left.
    """
    stated = [_stated(part, files) for part, files in parts]
    rankings = [ranking for ranking in stated if ranking is not None]
    if len(rankings) < len(stated):
        return {}
    merged = merge_groups(_scores(rankings), anchors)
    path = ANSWER_FILE if task.spec.tools == "none" else task.ranking.path
    return {path: _as_json(merged, totals=_with_totals(rankings))}


def _stated(part: Task, files: Mapping[str, bytes]) -> StatedRanking | None:
    ranking = check_deliverables(part, files).rankings.get(part.ranking.path)
    return None if ranking is None or ranking.missing else ranking


def _with_totals(rankings: Sequence[StatedRanking]) -> bool:
    """Whether every group states totals that follow its order."""
    return all(
        set(r.totals) >= {c for group in r.groups for c in group} and not r.against_totals
        for r in rankings
    )


def _scores(rankings: Sequence[StatedRanking]) -> list[dict[str, float]]:
    """Totals where all groups state usable ones, else how far from the group's end each stands."""
    if _with_totals(rankings):
        return [{c: r.totals[c] for group in r.groups for c in group} for r in rankings]
    return [
        {c: float(1 + len(r.places) - place) for c, place in r.places.items()} for r in rankings
    ]


def _as_json(merged: Merged, *, totals: bool) -> bytes:
    entries = []
    place = 1
    for group in merged.groups:
        for candidate in group:
            entry: dict[str, object] = {"candidate": candidate, "place": place}
            if totals:
                entry["total"] = round(merged.scores[candidate], 6)
            entries.append(entry)
        place += len(group)
    text = json.dumps({"ranking": entries, "scales": list(merged.rules)}, indent=2)
    return f"{text}\n".encode()
